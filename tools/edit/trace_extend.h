/* SPDX-License-Identifier: Apache-2.0
 *
 * Something put after the end of a trace that is whole.
 */
#ifndef TOOLS_EDIT_TRACE_EXTEND_H
#define TOOLS_EDIT_TRACE_EXTEND_H

#include "tracesmith/writer.h"

/* A new trace `path`, whose session begins now. Metadata comes first. */
int tsm_trace_begin(struct sbt_writer **out, const char *path);

/* Call `add` with a writer that appends to the trace `path`. How the trace ended, and what it lost, stays
 * as it was. */
int tsm_trace_extend(const char *path, int (*add)(struct sbt_writer *writer, void *user),
                     void *user);

/* Copy the file `from`, byte for byte, to `to`, which must not be there yet. */
int tsm_trace_duplicate(const char *to, const char *from);

#endif
