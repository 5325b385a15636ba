/* SPDX-License-Identifier: Apache-2.0
 *
 * Text for host stacks: function, source file and line of each frame, from the files that the trace
 * says were mapped, as far as they are still on this machine. A file with another build-id is not
 * believed.
 *
 * Threads: one at a time.
 */
#ifndef TRACESMITH_SYMBOLS_H
#define TRACESMITH_SYMBOLS_H

#include "tracesmith/reader.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tsm_symbols;

/* The reader must outlive it. */
int tsm_symbols_create(struct tsm_symbols **out, struct sbt_reader *reader);
void tsm_symbols_destroy(struct tsm_symbols *s);

/* Writes the frames of a stack (id of sbt_record.stack), innermost first, each on a line of its
 * own: "main at saxpy.c:42 (saxpy+0x11d9)\n". Like snprintf: `out` gets at most `size` bytes with
 * the final NUL, and the result is the length of the whole text, which may be more; 0 for stack 0.
 * TSM_E_NOT_FOUND: the trace has no such stack. */
int64_t tsm_symbols_stack(struct tsm_symbols *s, uint32_t stack, char *out, size_t size);

#ifdef __cplusplus
}
#endif
#endif
