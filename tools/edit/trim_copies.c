/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/edit/trim_copies.h"

#include <stdbool.h>

#include "analysis/model/node.h"
#include "base/map.h"
#include "tracesmith/error.h"

struct copies {
    struct tsm_map wanted; /* commands whose results lie in the part */
    struct tsm_map inside; /* commands in the part; a result may come before its command's record */
};

static int note(struct copies *c, const struct sbt_record *record, const struct sbt_schema *schema)
{
    const bool is_result = record->type == SBT_TYPE(SBT_API_CORE, SBT_CORE_READBACK);
    const uint64_t stream =
        is_result ? sbt_record_role(schema, record, SBT_ROLE_OF_STREAM, SBT_STREAM_NONE)
                  : record->stream;
    const uint64_t position =
        is_result ? sbt_record_role(schema, record, SBT_ROLE_OF_POSITION, 0) : record->position;

    if (stream == SBT_STREAM_NONE || !position)
        return 0;
    return tsm_map_set(is_result ? &c->wanted : &c->inside,
                       tsm_position_key((uint32_t)stream, position), 1)
               ? 0
               : tsm_fail(TSM_E_MEMORY, "no memory for results");
}

/* Collects commands that have results in the part, but lie elsewhere. */
static int collect(struct copies *c, struct sbt_reader *reader, const struct sbt_filter *part)
{
    const struct sbt_filter filter = {.seq_first = part->seq_first, .seq_end = part->seq_end};
    struct sbt_cursor *cursor = NULL;
    const struct sbt_record *record;
    int error = sbt_cursor_create(&cursor, reader, &filter, 1);

    while (error >= 0 && (error = sbt_cursor_next(cursor, &record)) == 1)
        error = note(c, record, sbt_reader_schema(reader, record->type));
    sbt_cursor_destroy(cursor);
    for (size_t i = 0; i < c->inside.capacity; i++)
        if (c->inside.slots[i].used)
            tsm_map_remove(&c->wanted, c->inside.slots[i].key);
    return error < 0 ? error : 0;
}

/* Goes back until all of them are found. */
static int go_back(struct copies *c, struct sbt_filter *part, struct sbt_reader *reader,
                   uint64_t floor)
{
    const struct sbt_filter before = {.seq_first = floor, .seq_end = part->seq_first};
    struct sbt_cursor *cursor = NULL;
    const struct sbt_record *record;
    int error = sbt_cursor_create(&cursor, reader, &before, 1);

    if (!error)
        error = sbt_cursor_seek(cursor, UINT64_MAX);
    while (error >= 0 && c->wanted.count && (error = sbt_cursor_previous(cursor, &record)) == 1) {
        uint64_t key = tsm_position_key(record->stream, record->position);

        if (record->stream == SBT_STREAM_NONE || !tsm_map_find(&c->wanted, key))
            continue;
        tsm_map_remove(&c->wanted, key);
        part->seq_first = record->seq;
    }
    sbt_cursor_destroy(cursor);
    return error < 0 ? error : 0;
}

int tsm_trim_begin_with_copies(struct sbt_filter *part, struct sbt_reader *reader, uint64_t floor)
{
    struct copies c = {0};
    int error = part->seq_first > floor ? collect(&c, reader, part) : 0;

    if (!error && c.wanted.count)
        error = go_back(&c, part, reader, floor);
    tsm_map_finish(&c.wanted);
    tsm_map_finish(&c.inside);
    return error;
}
