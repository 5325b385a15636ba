/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the parameters of the kernels that a trace launches, so that a launch can be shown with
 * values instead of the bytes of its argument block. The parameters stand in the code objects of
 * the trace: PTX, cubins, fatbins, HSA code objects. Code that is missing or not understood makes
 * the arguments stay bytes; code that cannot be read also makes a note on standard error.
 *
 * One thread at a time.
 */
#ifndef TOOLS_TEXT_KERNEL_ARGUMENTS_H
#define TOOLS_TEXT_KERNEL_ARGUMENTS_H

#include "base/json.h"
#include "tools/text/line.h"
#include "tracesmith/reader.h"

struct tsm_kernel_arguments;

/* Creates a finder for the trace of `reader`, which must live longer. `notes_all`: the caller hands
 * every record of the trace to tsm_kernel_arguments_note(); else the finder reads the records
 * before a launch itself. Returns 0, or a negative enum tsm_error with *out = NULL. */
int tsm_kernel_arguments_create(struct tsm_kernel_arguments **out, struct sbt_reader *reader,
                                bool notes_all);
/* Accepts NULL. */
void tsm_kernel_arguments_destroy(struct tsm_kernel_arguments *k);

/* Remembers what `record` says of code objects and kernels. Does nothing if `k` is NULL. */
void tsm_kernel_arguments_note(struct tsm_kernel_arguments *k, const struct sbt_record *record);

/* Appends the argument block in slot `index` of the launch `record` to `line`: "(4096,
 * 0x200000000410 #7+0x10)". Values of 64 bits, and values without a known type, are hexadecimal;
 * other values have the type of their parameter. "#7+0x10": the value is the address of byte 16 of
 * live memory that record 7 allocated. "0x40200000 ~2.5": what 32 bits without a type may be.
 * Returns false and appends nothing if the parameters are not known or do not fit the block.
 * Accepts NULL. */
bool tsm_kernel_arguments_put(struct tsm_kernel_arguments *k, const struct sbt_record *record,
                              uint32_t index, struct tsm_text_line *line);

/* Writes the arguments of the launch `record` as a member "arguments" of an object: docs/tools.md,
 * "JSON". Returns false and writes nothing as above, also for a record that launches nothing. */
bool tsm_kernel_arguments_json(struct tsm_kernel_arguments *k, const struct sbt_record *record,
                               struct tsm_json *j);

#endif
