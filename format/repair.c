/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"
#include "format/reader_state.h"
#include "tracesmith/writer.h"

#include <string.h>
#include <unistd.h>

/* What a repair has to know of the trace before it is opened for writing. */
struct finding {
    enum sbt_end end;
    uint64_t lost_bytes;
    bool is_whole, has_metadata;
};

static int inspect(const char *path, struct finding *out)
{
    struct sbt_reader *r;
    size_t sound = 0;
    int error = sbt_reader_open(&r, path);

    if (error)
        return error;
    if (r->more_sessions)
        error = tsm_fail(TSM_E_UNSUPPORTED, "%s: holds several sessions; split it first", path);
    if (!error)
        error = sbt_reader_sound_count(r, &sound);
    if (!error) {
        uint64_t end =
            sound < r->entry_count ? sbt_entry_end(&r->entries[sound - 1]) : r->whole_end;
        out->end = r->totals_known ? r->end : SBT_END_CUT;
        out->lost_bytes = r->size - end;
        out->is_whole = r->has_trailer && sound == r->entry_count;
    }
    for (size_t i = 0; i < sound; i++)
        out->has_metadata |= r->entries[i].head.type == SBT_CHUNK_METADATA;
    sbt_reader_destroy(r);
    return error;
}

/* What is beside the trace goes into it first, or is lost. */
static int check_alone(const char *path)
{
    char lanes[4200];

    if (tsm_format(lanes, sizeof(lanes), "%s.lanes", path) != strlen(path) + 6 ||
        access(lanes, F_OK) != 0)
        return 0;
    return tsm_fail(
        TSM_E_STATE,
        "%s: holds records that are not in the trace yet; look at the trace with tsview "
        "first",
        lanes);
}

int sbt_repair(const char *path, uint64_t *lost_bytes)
{
    struct sbt_writer_options options = {.append = true, .durable = true};
    struct finding found = {0};
    struct sbt_writer *w;
    int error = check_alone(path);

    *lost_bytes = 0;
    if (!error)
        error = inspect(path, &found);
    if (error || found.is_whole)
        return error;
    *lost_bytes = found.lost_bytes;
    error = sbt_writer_create(&w, path, NULL, &options);
    if (error)
        return error;
    if (!found.has_metadata)
        error = sbt_writer_metadata(w, "trace.recovered", "true");
    if (!error)
        error = sbt_writer_finish(w, NULL, found.end);
    sbt_writer_destroy(w);
    return error ? error : 1;
}
