/* SPDX-License-Identifier: Apache-2.0
 *
 * Files whose kernels take the place of recorded ones (struct tsm_kernel_replacement).
 */
#ifndef REPLAY_REPLACEMENT_H
#define REPLAY_REPLACEMENT_H

#include <stddef.h>
#include <stdint.h>

/* Reads a file: *out is the caller's to free, with a 0 behind its *size bytes. */
int tsm_replacement_read(uint8_t **out, size_t *size, const char *path);

#endif
