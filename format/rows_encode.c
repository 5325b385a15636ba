/* SPDX-License-Identifier: Apache-2.0 */
#include "format/rows.h"

#include "base/bytes.h"
#include "format/column.h"
#include "format/position.h"
#include "tracesmith/error.h"

#include <string.h>

void sbt_batch_finish(struct sbt_batch *b)
{
    tsm_buffer_finish(&b->rows);
    tsm_buffer_finish(&b->slots);
    tsm_buffer_finish(&b->data);
    tsm_buffer_finish(&b->groups);
    tsm_buffer_finish(&b->places);
    *b = (struct sbt_batch){0};
}

void sbt_batch_clear(struct sbt_batch *b)
{
    tsm_buffer_clear(&b->rows);
    tsm_buffer_clear(&b->slots);
    tsm_buffer_clear(&b->data);
    tsm_buffer_clear(&b->groups);
    tsm_buffer_clear(&b->places);
    b->count = 0;
    b->row_bytes = 0;
}

/* Group of schema number `schema`, made at its first record in this chunk. */
static int batch_group(struct sbt_batch *b, uint32_t schema, const struct sbt_record *record,
                       uint32_t *group)
{
    uint32_t *places;

    if (b->places.size <= 4 * (size_t)schema) {
        size_t grow = 4 * ((size_t)schema + 1) - b->places.size;
        uint8_t *at = tsm_buffer_reserve(&b->places, grow);
        if (!at)
            return tsm_fail(TSM_E_MEMORY, "out of memory for records");
        memset(at, 0, grow);
        b->places.size += grow;
    }
    places = (uint32_t *)(void *)b->places.data;
    if (!places[schema]) {
        struct sbt_group made = {.type = record->type, .slot_count = record->slot_count};
        tsm_buffer_add(&b->groups, &made, sizeof(made));
        if (b->groups.failed)
            return tsm_fail(TSM_E_MEMORY, "out of memory for records");
        places[schema] = (uint32_t)(b->groups.size / sizeof(made));
    }
    *group = places[schema] - 1;
    return 0;
}

int sbt_batch_add(struct sbt_batch *b, uint32_t schema, const struct sbt_record *record)
{
    struct sbt_group *group;
    struct sbt_row *row;
    uint32_t number = 0;
    int error = batch_group(b, schema, record, &number);

    if (error)
        return error;
    if (!tsm_buffer_reserve(&b->rows, sizeof(*row)) ||
        !tsm_buffer_reserve(&b->slots, 8 * (size_t)record->slot_count) ||
        !tsm_buffer_reserve(&b->data, record->data_size))
        return tsm_fail(TSM_E_MEMORY, "out of memory for records");
    row = (struct sbt_row *)(void *)(b->rows.data + b->rows.size);
    *row = (struct sbt_row){
        .time = record->time_ns,
        .duration = record->duration_ns,
        .position = record->position,
        .result = record->result,
        .thread = record->thread,
        .stream = record->stream,
        .stack = record->stack,
        .flags = record->flags,
        .group = number,
        .slot_at = (uint32_t)(b->slots.size / 8),
        .data_at = (uint32_t)b->data.size,
        .data_size = (uint32_t)record->data_size,
    };
    b->rows.size += sizeof(*row);
    tsm_buffer_add(&b->slots, record->slots, 8 * (size_t)record->slot_count);
    tsm_buffer_add(&b->data, record->data, record->data_size);
    group = (struct sbt_group *)(void *)b->groups.data + number;
    group->count++;
    group->data_size += (uint32_t)record->data_size;
    b->count++;
    return 0;
}

static bool position_differences(const struct sbt_row *rows, size_t count, uint64_t *values)
{
    struct sbt_positions positions = {0};
    bool ok = true;

    for (size_t i = 0; i < count && ok; i++) {
        uint64_t *last = sbt_positions_last(&positions, rows[i].stream);
        ok = last != NULL;
        if (ok) {
            values[i] = tsm_zigzag((int64_t)(rows[i].position - *last));
            *last = rows[i].position;
        }
    }
    sbt_positions_finish(&positions);
    return ok;
}

#define PUT_COMMON(value, hint)                                                                    \
    do {                                                                                           \
        for (size_t i = 0; i < count; i++)                                                         \
            values[i] = (value);                                                                   \
        sbt_column_put(out, values, count, hint);                                                  \
    } while (0)

/* In the order of enum sbt_common_column. */
static void encode_common(const struct sbt_row *rows, size_t count, uint64_t *values,
                          struct tsm_buffer *out)
{
    PUT_COMMON(rows[i].group, SBT_COLUMN_PLAIN);
    PUT_COMMON(rows[i].time, SBT_COLUMN_RISING);
    PUT_COMMON(rows[i].duration, SBT_COLUMN_PLAIN);
    PUT_COMMON(rows[i].thread, SBT_COLUMN_PLAIN);
    PUT_COMMON(rows[i].stream, SBT_COLUMN_PLAIN);
    if (position_differences(rows, count, values))
        sbt_column_put(out, values, count, SBT_COLUMN_SMALL);
    else
        out->failed = true;
    PUT_COMMON(tsm_zigzag(rows[i].result), SBT_COLUMN_PLAIN);
    PUT_COMMON(rows[i].flags, SBT_COLUMN_PLAIN);
    PUT_COMMON(rows[i].stack, SBT_COLUMN_PLAIN);
}

/* Rows of each group in order: members[group's start ...]. Counting sort, because it is linear. */
static void sort_by_group(const struct sbt_row *rows, size_t count, const struct sbt_group *groups,
                          size_t group_count, uint32_t *next, uint32_t *members)
{
    uint32_t start = 0;

    for (size_t g = 0; g < group_count; g++) {
        next[g] = start;
        start += groups[g].count;
    }
    for (size_t i = 0; i < count; i++)
        members[next[rows[i].group]++] = (uint32_t)i;
}

/* Columns that are gathered together: a row's slots lie side by side, so each cache line of them is
 * read once instead of once a column. */
#define TILE 8u

static void encode_group(const struct sbt_batch *b, const struct sbt_group *group,
                         const uint32_t *members, uint64_t *values, struct tsm_buffer *out)
{
    const struct sbt_row *rows = (const struct sbt_row *)(const void *)b->rows.data;
    const uint64_t *slots = (const uint64_t *)(const void *)b->slots.data;

    for (uint32_t i = 0; i < group->count; i++)
        values[i] = rows[members[i]].data_size;
    sbt_column_put(out, values, group->count, SBT_COLUMN_PLAIN);
    for (uint32_t first = 0; first < group->slot_count; first += TILE) {
        uint32_t left = group->slot_count - first, width = left < TILE ? left : TILE;
        for (uint32_t i = 0; i < group->count; i++) {
            const uint64_t *from = slots + rows[members[i]].slot_at + first;
            for (uint32_t k = 0; k < width; k++)
                values[(size_t)k * group->count + i] = from[k];
        }
        for (uint32_t k = 0; k < width; k++)
            sbt_column_put(out, values + (size_t)k * group->count, group->count, SBT_COLUMN_PLAIN);
    }
}

static void encode_data(const struct sbt_batch *b, const uint32_t *members, struct tsm_buffer *out)
{
    const struct sbt_row *rows = (const struct sbt_row *)(const void *)b->rows.data;

    for (uint32_t i = 0; i < b->count; i++) {
        const struct sbt_row *row = &rows[members[i]];
        if (row->data_size)
            tsm_buffer_add(out, b->data.data + row->data_at, row->data_size);
    }
}

void sbt_batch_encode(const struct sbt_batch *b, struct tsm_buffer *scratch, struct tsm_buffer *out)
{
    const struct sbt_group *groups = (const struct sbt_group *)(const void *)b->groups.data;
    const struct sbt_row *rows = (const struct sbt_row *)(const void *)b->rows.data;
    size_t group_count = b->groups.size / sizeof(*groups);
    uint32_t *members, *next;
    uint64_t *values;

    tsm_buffer_clear(scratch);
    values = (uint64_t *)(void *)tsm_buffer_reserve(scratch, b->count * (size_t)(8 * TILE + 4) +
                                                                 group_count * 4);
    if (!values) {
        out->failed = true;
        return;
    }
    members = (uint32_t *)(values + b->count * (size_t)TILE);
    next = members + b->count;
    sort_by_group(rows, b->count, groups, group_count, next, members);
    tsm_buffer_add_u32(out, (uint32_t)group_count);
    tsm_buffer_add_u32(out, SBT_COMMON_COUNT);
    for (size_t g = 0; g < group_count; g++) {
        tsm_buffer_add_u32(out, groups[g].type);
        tsm_buffer_add_u32(out, groups[g].slot_count);
        tsm_buffer_add_u32(out, groups[g].count);
        tsm_buffer_add_u32(out, groups[g].data_size);
    }
    encode_common(rows, b->count, values, out);
    for (size_t g = 0; g < group_count; g++)
        encode_group(b, &groups[g], members + next[g] - groups[g].count, values, out);
    encode_data(b, members, out);
}
