/* SPDX-License-Identifier: Apache-2.0
 *
 * Opens the trace that a user named, and reports what is wrong with it.
 */
#ifndef TOOLS_TRACE_OPEN_H
#define TOOLS_TRACE_OPEN_H

#include "tracesmith/reader.h"

/* Opens `path`, after it has salvaged the records that a dead program left in the trace's lanes
 * file, with a note. Returns NULL after a complaint. */
struct sbt_reader *tsm_trace_open(const char *path);

/* Opens `path` without complaining: returns 0, or an error that the caller reports. */
int tsm_trace_try(struct sbt_reader **out, const char *path);

/* Salvages the records in the lanes file before a tool writes to the trace, with a note.
 * TSM_E_STATE: its program still runs. Fails also if the lanes file cannot be read: an end written
 * to the trace would give its records up. */
int tsm_trace_recover(const char *path);

/* Shows on a terminal's stderr how far cursors of the reader have come, as tsm_progress() does;
 * `what` is a constant, NULL: no more. One thread moves them meanwhile. */
void tsm_trace_show_progress(struct sbt_reader *reader, const char *what);

/* Notes damage, losses and unmodelled calls on stderr. Call again when reading is over: it may have
 * found more. `*noted` counts the lines of damage that were noted; it begins as 0. */
void tsm_trace_note_damage(const struct sbt_reader *reader, size_t *noted);

/* Writes "complete", or why it is not ("12 lost, 1 tainted, no clean end"), to out. Returns true
 * when complete. Tainted records changed the GPU in a way that is not recorded. */
bool tsm_trace_completeness(struct sbt_reader *reader, char *out, size_t size);

#endif
