/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/place_list.h"

#include <stdlib.h>
#include <string.h>

void tsm_place_list_finish(struct tsm_place_list *list)
{
    free(list->streams);
    *list = (struct tsm_place_list){0};
}

int tsm_place_list_note(struct tsm_place_list *list, const struct sbt_record *record)
{
    uint32_t more = list->count ? list->count : 16;
    struct tsm_places *grown;

    if (record->stream >= TSM_STREAM_COUNT_MAX)
        return 0;
    while (more <= record->stream)
        more *= 2;
    if (more > list->count) {
        grown = realloc(list->streams, more * sizeof(*grown));
        if (!grown)
            return tsm_fail(TSM_E_MEMORY, "no memory for streams");
        memset(grown + list->count, 0, (more - list->count) * sizeof(*grown));
        list->streams = grown;
        list->count = more;
    }
    tsm_places_note(&list->streams[record->stream], record);
    return 0;
}

bool tsm_place_list_reaches(const struct tsm_place_list *list, const struct sbt_record *record,
                            bool or_last)
{
    const struct tsm_places *p =
        record->stream < list->count ? &list->streams[record->stream] : NULL;

    return p && p->count && (or_last ? record->position < p->last : record->position > p->first);
}

/* Where recording began late: what comes before has no order. */
static bool find_start(struct sbt_reader *reader, uint64_t *seq)
{
    bool found = false;

    for (size_t i = 0; i < sbt_reader_checkpoint_count(reader); i++) {
        const struct sbt_checkpoint *c = sbt_reader_checkpoint(reader, i);
        if (c->flags & SBT_CHECKPOINT_START) {
            found = true;
            *seq = c->seq;
        }
    }
    return found;
}

int tsm_place_list_read(struct tsm_place_list *out, struct sbt_reader *reader, uint64_t seq_end)
{
    struct sbt_filter filter = {0};
    struct sbt_cursor *cursor = NULL;
    const struct sbt_record *record;
    uint64_t start;
    int error;

    if (find_start(reader, &start))
        filter.seq_first = start + 1;
    error = sbt_cursor_create(&cursor, reader, &filter, 1);
    while (error >= 0 && (error = sbt_cursor_next(cursor, &record)) == 1)
        if (!seq_end || record->seq < seq_end || tsm_place_list_reaches(out, record, true))
            error = tsm_place_list_note(out, record);
    sbt_cursor_destroy(cursor);
    return error < 0 ? error : 0;
}

uint64_t tsm_place_list_missing(const struct tsm_place_list *list, struct sbt_reader *reader,
                                uint32_t *stream)
{
    uint64_t start, count = 0;
    bool from_first = !find_start(reader, &start);

    for (uint32_t i = 0; i < list->count; i++) {
        uint64_t missing = tsm_places_missing(&list->streams[i], from_first);
        uint64_t known = missing ? tsm_places_known(reader, i) : 0;
        if (missing > known && !count)
            *stream = i;
        count += missing > known ? missing - known : 0;
    }
    return count;
}
