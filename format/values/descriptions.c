/* SPDX-License-Identifier: Apache-2.0 */
#include "format/values/descriptions.h"

#include "format/read/state.h"

int sbt_descriptions_copy(struct sbt_writer *to, const struct sbt_reader *from)
{
    int error = 0;

    for (size_t i = 0; i < from->enum_count && !error; i++)
        error = sbt_writer_enum(to, &from->enums[i].table);
    for (size_t i = 0; i < sbt_reader_struct_count(from) && !error; i++)
        error = sbt_writer_struct(to, sbt_reader_struct_at(from, i));
    for (size_t i = 0; i < sbt_reader_schema_count(from) && !error; i++)
        error = sbt_writer_schema(to, sbt_reader_schema_at(from, i));
    return error;
}
