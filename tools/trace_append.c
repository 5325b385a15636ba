/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/trace_append.h"

int tsm_append_begin(struct tsm_append *append, const char *path)
{
    const struct sbt_writer_options options = {.append = true};
    struct sbt_reader *reader = NULL;
    int error = sbt_reader_open(&reader, path);

    if (!error) {
        append->totals = *sbt_reader_totals(reader);
        append->end = sbt_reader_end(reader);
    }
    sbt_reader_destroy(reader);
    return error ? error : sbt_writer_create(&append->writer, path, NULL, &options);
}

int tsm_append_end(struct tsm_append *append, int error)
{
    enum sbt_end end = append->end == SBT_END_NONE ? SBT_END_RECOVERED : append->end;

    if (!error)
        error = sbt_writer_finish(append->writer, &append->totals, end);
    sbt_writer_destroy(append->writer);
    append->writer = NULL;
    return error;
}
