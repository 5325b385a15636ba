/* SPDX-License-Identifier: Apache-2.0
 *
 * Opening the trace that a user named, and telling what is wrong with it.
 */
#ifndef TOOLS_TRACE_OPEN_H
#define TOOLS_TRACE_OPEN_H

#include "tracesmith/reader.h"

/* Open `path`. Records that a dead program left in the lanes file beside it are put into the trace
 * first, with a note. NULL: complained about. */
struct sbt_reader *tsm_trace_open(const char *path);

/* The same without the complaint: returns 0, or an error that the caller reports. */
int tsm_trace_try(struct sbt_reader **out, const char *path);

/* Brings a trace to rest before a tool writes to it: puts what a dead program left in its lanes
 * file into it, with a note. TSM_E_STATE: its program still runs. Fails also where the lanes file
 * cannot be read: writing an end to the trace would give it up. */
int tsm_trace_recover(const char *path);

/* Shows on a terminal's stderr how far cursors of the reader have come, as tsm_progress() does;
 * `what` is a constant, NULL: no more. One thread moves them meanwhile. */
void tsm_trace_show_progress(struct sbt_reader *reader, const char *what);

/* Notes on stderr: damage, losses, what is unmodelled. Also call when reading is over: it may have
 * found more. Each line of damage is told once per `*told`, which begins as 0. */
void tsm_trace_note_damage(const struct sbt_reader *reader, size_t *told);

/* "complete", or why not: "12 lost, 1 tainted, no clean end", into out. True when complete. Tainted
 * records changed the GPU in a way that is not recorded. */
bool tsm_trace_completeness(struct sbt_reader *reader, char *out, size_t size);

#endif
