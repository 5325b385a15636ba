/* SPDX-License-Identifier: Apache-2.0
 *
 * The program of the sandbox (sandbox.h): no library of TraceSmith's is linked to it, and
 * no sanitizer, which would need more system calls than code of a trace may make.
 */
#ifndef EMU_HSA_SANDBOX_CHILD_H
#define EMU_HSA_SANDBOX_CHILD_H

#include "emu/hsa/sandbox/sandbox.h"

/* Lets all threads of this process make only the system calls that computing needs. False: errno.
 */
bool emu_hsa_child_filter(void);

/* Loads the code object of `size` bytes at `data` into the image, which is zero, and runs its
 * constructors. Gives an enum sandbox_result; `text` has SANDBOX_TEXT_SIZE bytes. */
uint32_t emu_hsa_child_load(const uint8_t *data, uint64_t size, uint8_t *image, uint64_t image_size,
                            char *text);

#endif
