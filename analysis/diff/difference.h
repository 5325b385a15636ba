/* SPDX-License-Identifier: Apache-2.0
 *
 * Names the command of a trace that differing bytes belong to, and counts what else may have
 * written them.
 */
#ifndef ANALYSIS_DIFF_DIFFERENCE_H
#define ANALYSIS_DIFF_DIFFERENCE_H

#include "tracesmith/replay.h"

/* Compare bytes. True when they differ: then offset is that of the first one, and expected and
 * actual are filled; byte_count is added to. `base`: offset of the bytes in their buffer. */
bool tsm_difference_bytes(struct tsm_difference *d, uint64_t base, const uint8_t *expected,
                          const uint8_t *actual, size_t size);

/* Compare with a blob, whose bytes the trace may hold or not. True when they differ; negative on an
 * error. Sets offset, byte_count, expected, actual, shown. */
int tsm_difference_blob(struct tsm_difference *d, struct sbt_reader *reader,
                        const struct sbt_blob *expected, const uint8_t *actual, uint64_t size);

/* Fill seq, call, function and stack from the command at (d->stream, d->position), which is found
 * backwards from record `before_seq`. Unknown ones stay as they are. */
void tsm_difference_locate(struct tsm_difference *d, struct sbt_reader *reader,
                           uint64_t before_seq);

/* Count what wrote, or may have written, to the memory of a result after its command was sent and
 * before the result was taken: commands of other streams, and the host. Reads `steps` records at
 * most, and counts it down. */
uint64_t tsm_difference_overwrites(struct sbt_reader *reader, const struct sbt_record *result,
                                   const struct sbt_schema *schema, uint64_t *steps);

/* Fill call, function and stack from the record d->seq. */
void tsm_difference_name(struct tsm_difference *d, struct sbt_reader *reader);

/* Writes the record's number, call, kernel and stream, as for a sentence. */
void tsm_difference_command_text(char *out, size_t size, struct sbt_reader *reader, uint64_t seq);

#endif
