/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernel module's files in debugfs.
 */
#ifndef TOOLS_KERNEL_FILES_H
#define TOOLS_KERNEL_FILES_H

#include "base/buffer.h"

#include <stdbool.h>
#include <stddef.h>

#define TSM_KERNEL_FOLDER "/sys/kernel/debug/grtrace"

/* 0 when the module is there and may be controlled; else an error that says what to do. */
int tsm_kernel_check(void);

/* A name in the folder. */
void tsm_kernel_path(char *out, size_t size, const char *file);

/* Write `text` as a whole. */
int tsm_kernel_write(const char *file, const char *text);

/* Start a session that stops when the descriptor that this returns is closed. */
int tsm_kernel_start(void);

/* Append the whole file and a terminating zero, which is not counted. `out` is zeroed or in use. */
int tsm_kernel_read(struct tsm_buffer *out, const char *file);

#endif
