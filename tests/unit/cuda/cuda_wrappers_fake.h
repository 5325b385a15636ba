/* SPDX-License-Identifier: Apache-2.0
 *
 * Replacements of capture, of the helpers written by hand and of the driver, for the test of the
 * generated CUDA wrappers. Each writes what it was asked to do into one line of text.
 */
#ifndef TESTS_UNIT_CUDA_CUDA_WRAPPERS_FAKE_H
#define TESTS_UNIT_CUDA_CUDA_WRAPPERS_FAKE_H

#include "capture/capture.h"

/* Events since fake_reset(): words, each followed by a space. */
extern char fake_log[4096];
/* The slots of the record that was committed last, and its type. */
extern struct tsm_call fake_record;
extern uint32_t fake_type;
extern int64_t fake_result;
/* Answer of tsm_call_begin(). */
extern bool fake_recording;
/* Is host memory tracked? */
extern bool fake_is_shared;
/* The handle that any lookup finds, when its raw value is this one. */
extern struct tsm_handle fake_handle;
/* Does cuda_bind() find a driver? */
extern bool fake_driver;

void fake_reset(void);
void fake_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
