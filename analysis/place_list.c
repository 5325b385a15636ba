/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/place_list.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

void tsm_place_list_finish(struct tsm_place_list *list)
{
    tsm_graph_functions_finish(&list->functions);
    free(list->streams);
    *list = (struct tsm_place_list){0};
}

static int grow(struct tsm_place_list *list, uint32_t stream)
{
    return TSM_ARRAY_EXTEND(list->streams, list->count, (size_t)stream + 1)
               ? 0
               : tsm_fail(TSM_E_MEMORY, "no memory for streams");
}

int tsm_place_list_watch(struct tsm_place_list *list, struct sbt_reader *reader,
                         const struct sbt_record *record)
{
    return tsm_graph_functions_note(&list->functions, reader, record);
}

int tsm_place_list_note(struct tsm_place_list *list, const struct sbt_record *record)
{
    int error;

    if (record->stream >= TSM_STREAM_COUNT_MAX)
        return 0;
    error = grow(list, record->stream);
    if (!error)
        tsm_places_note(&list->streams[record->stream], record,
                        tsm_graph_functions_count(&list->functions, record));
    return error;
}

/* Notes the place of the command that a result belongs to. */
static int note_result(struct tsm_place_list *list, struct sbt_reader *reader,
                       const struct sbt_record *record)
{
    const struct sbt_schema *schema = sbt_reader_schema(reader, record->type);
    uint64_t stream, position;
    int error;

    if (record->type != SBT_TYPE(SBT_API_CORE, SBT_CORE_READBACK) &&
        record->type != SBT_TYPE(SBT_API_CORE, SBT_CORE_CHECKSUM))
        return 0;
    if (!schema)
        schema = sbt_core_schema(SBT_TYPE_CALL(record->type));
    stream = sbt_record_role(schema, record, SBT_ROLE_OF_STREAM, SBT_STREAM_NONE);
    position = sbt_record_role(schema, record, SBT_ROLE_OF_POSITION, 0);
    if (stream >= TSM_STREAM_COUNT_MAX || !position)
        return 0;
    error = grow(list, (uint32_t)stream);
    if (!error && position > list->streams[stream].named)
        list->streams[stream].named = position;
    return error;
}

bool tsm_place_list_reaches(const struct tsm_place_list *list, const struct sbt_record *record,
                            bool or_last)
{
    const struct tsm_places *p =
        record->stream < list->count ? &list->streams[record->stream] : NULL;

    return p && p->count && (or_last ? record->position < p->last : record->position > p->first);
}

/* Finds the start of a late recording: earlier records have no order. */
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

/* Notes the record's place, and that of the command that it is a result of. */
static int note_places(struct tsm_place_list *list, struct sbt_reader *reader,
                       const struct sbt_record *record)
{
    int error = tsm_place_list_note(list, record);

    return error ? error : note_result(list, reader, record);
}

int tsm_place_list_read(struct tsm_place_list *out, struct sbt_reader *reader, uint64_t seq_end)
{
    struct sbt_cursor *cursor = NULL;
    const struct sbt_record *record;
    uint64_t start = 0;
    bool has_start = find_start(reader, &start);
    int error = sbt_cursor_create(&cursor, reader, NULL, 1);

    while (error >= 0 && (error = sbt_cursor_next(cursor, &record)) == 1) {
        bool is_wanted =
            (!has_start || record->seq > start) &&
            (!seq_end || record->seq < seq_end || tsm_place_list_reaches(out, record, true));
        error = tsm_place_list_watch(out, reader, record);
        if (!error && is_wanted)
            error = note_places(out, reader, record);
    }
    sbt_cursor_destroy(cursor);
    return error < 0 ? error : 0;
}

/* Counts the places up to that of the last result that no record has. Where recording began late, a
 * stream without commands may have had that one before. */
static uint64_t missing_at_end(const struct tsm_places *p, bool from_first)
{
    uint64_t places = p->named > p->last ? p->named - p->last : 0;

    return places > p->more && (p->count || from_first) ? places - p->more : 0;
}

uint64_t tsm_place_list_missing(const struct tsm_place_list *list, struct sbt_reader *reader,
                                uint32_t *stream)
{
    uint64_t start, count = 0;
    bool from_first = !find_start(reader, &start);

    for (uint32_t i = 0; i < list->count; i++) {
        uint64_t missing = tsm_places_missing(&list->streams[i], from_first) +
                           missing_at_end(&list->streams[i], from_first);
        uint64_t known = missing ? tsm_places_known(reader, i) : 0;
        if (missing > known && !count)
            *stream = i;
        count += missing > known ? missing - known : 0;
    }
    return count;
}
