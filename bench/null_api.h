/* SPDX-License-Identifier: Apache-2.0
 *
 * An API whose driver does nothing, with wrappers of the usual shape: what is measured is capture
 * alone. One session a process; TS_OUTPUT names the trace.
 */
#ifndef BENCH_NULL_API_H
#define BENCH_NULL_API_H

#include "bench/measure.h"
#include "capture/session.h"

/* The "driver". */
void null_real(const uint64_t *words);

/* A call that is no command; a command of `stream`; the same with a host stack. */
void null_call(const uint64_t *words);
void null_command(struct tsm_stream *stream, const uint64_t *words);
void null_launch(struct tsm_stream *stream, const uint64_t *words);

/* Starts the session. Ends the program when the trace cannot be written. */
struct tsm_stream *null_stream(void);

#endif
