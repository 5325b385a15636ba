/* SPDX-License-Identifier: Apache-2.0 */
#include "format/reader_state.h"
#include "tracesmith/writer.h"

/* What a repair has to know of the trace before it is opened for writing. */
struct finding {
    struct sbt_totals totals;
    enum sbt_end end;
    uint64_t lost_bytes;
    bool whole, has_metadata;
};

static int inspect(const char *path, struct finding *out)
{
    struct sbt_reader *r;
    int error = sbt_reader_open(&r, path);

    if (error)
        return error;
    if (r->more_sessions)
        error = tsm_fail(TSM_E_UNSUPPORTED, "%s: holds several sessions; split it first", path);
    out->totals = r->totals;
    out->end = r->totals_known ? r->end : SBT_END_CUT;
    out->lost_bytes = r->size - r->whole_end;
    out->whole = r->has_trailer;
    for (size_t i = 0; i < r->entry_count; i++)
        out->has_metadata |= r->entries[i].head.type == SBT_CHUNK_METADATA;
    sbt_reader_destroy(r);
    return error;
}

int sbt_repair(const char *path, uint64_t *lost_bytes)
{
    struct sbt_writer_options options = {.append = true};
    struct finding found = {0};
    struct sbt_writer *w;
    int error = inspect(path, &found);

    if (error)
        return error;
    *lost_bytes = found.whole ? 0 : found.lost_bytes;
    if (found.whole)
        return 0;
    error = sbt_writer_create(&w, path, NULL, &options);
    if (error)
        return error;
    if (!found.has_metadata)
        error = sbt_writer_metadata(w, "trace.recovered", "true");
    if (!error)
        error = sbt_writer_finish(w, &found.totals, found.end);
    sbt_writer_destroy(w);
    return error ? error : 1;
}
