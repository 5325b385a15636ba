/* SPDX-License-Identifier: Apache-2.0
 *
 * One place where bytes differ, for people and for programs. Used by replay and diff.
 */
#ifndef TOOLS_TEXT_DIFFERENCE_H
#define TOOLS_TEXT_DIFFERENCE_H

#include "tools/text/json_out.h"
#include "tools/text/symbol.h"
#include "tracesmith/replay.h"

/* Several lines on stdout: command, stream, kernel, HIP call, buffer, offset, bytes, and the host stack of
 * the program that sent the command. `symbols` may be NULL: then without the stack. */
void tsm_difference_print(const struct tsm_difference *d, struct sbt_reader *reader,
                          struct tsm_symbols *symbols);

/* An object. */
void tsm_difference_json(struct tsm_json *j, const struct tsm_difference *d,
                         struct sbt_reader *reader, struct tsm_symbols *symbols);

/* Orders verdicts: of two the one with the higher rank counts. Nothing to compare is the lowest. */
int tsm_verdict_rank(enum tsm_verdict verdict);

/* "same", "different", "cannot_tell", "nothing_to_compare" */
const char *tsm_verdict_name(enum tsm_verdict verdict);

#endif
