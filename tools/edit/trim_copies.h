/* SPDX-License-Identifier: Apache-2.0
 *
 * Begins a part of a trace early enough for results in it that belong to commands before it.
 */
#ifndef TOOLS_EDIT_TRIM_COPIES_H
#define TOOLS_EDIT_TRIM_COPIES_H

#include "tracesmith/reader.h"

/* Moves part->seq_first to the first command whose bytes were read back within the part, and that
 * was sent before: a copy that completes there. Not before record `floor`. Returns 0 or a negative
 * tsm_error. */
int tsm_trim_begin_with_copies(struct sbt_filter *part, struct sbt_reader *reader, uint64_t floor);

#endif
