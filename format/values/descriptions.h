/* SPDX-License-Identifier: Apache-2.0
 *
 * Descriptions of records: schemas, structs and value tables.
 */
#ifndef FORMAT_DESCRIPTIONS_H
#define FORMAT_DESCRIPTIONS_H

#include "tracesmith/reader.h"
#include "tracesmith/writer.h"

/* Write all that `from` has; what the trace has already is not written again. 0 or an error. */
int sbt_descriptions_copy(struct sbt_writer *to, const struct sbt_reader *from);

#endif
