/* SPDX-License-Identifier: Apache-2.0 */
#include "format/events/rows.h"

#include "base/bytes.h"
#include "format/events/column.h"
#include "format/limits.h"
#include "format/events/position.h"
#include "format/events/turn.h"
#include "tracesmith/error.h"

#include <stdlib.h>
#include <string.h>

void sbt_batch_finish(struct sbt_batch *b)
{
    free(b->columns[0]);
    tsm_buffer_finish(&b->slots);
    tsm_buffer_finish(&b->data);
    tsm_buffer_finish(&b->groups);
    tsm_buffer_finish(&b->places);
    *b = (struct sbt_batch){0};
}

void sbt_batch_clear(struct sbt_batch *b)
{
    tsm_buffer_clear(&b->slots);
    tsm_buffer_clear(&b->data);
    tsm_buffer_clear(&b->groups);
    tsm_buffer_clear(&b->places);
    b->count = b->varied = 0;
    b->row_bytes = 0;
}

static int no_memory(void)
{
    return tsm_fail(TSM_E_MEMORY, "out of memory for records");
}

#define STEADY_COLUMNS                                                                             \
    (1u << SBT_COMMON_GROUP | 1u << SBT_COMMON_THREAD | 1u << SBT_COMMON_STREAM |                  \
     1u << SBT_COMMON_RESULT | 1u << SBT_COMMON_FLAGS | 1u << SBT_COMMON_STACK)

static bool is_steady(const struct sbt_batch *b, unsigned column)
{
    return (STEADY_COLUMNS & ~b->varied) >> column & 1;
}

/* A cache line between columns: powers of two apart they would all lie in one set of the cache, and
 * each record would evict what the next one needs. */
#define COLUMN_GAP 8u

static size_t batch_size(uint32_t capacity)
{
    return (capacity + (size_t)COLUMN_GAP) * (8 * (size_t)SBT_COMMON_COUNT + 3 * sizeof(uint32_t));
}

/* Point the columns into `memory`, of batch_size(capacity) bytes. */
static void batch_lay_out(struct sbt_batch *b, uint64_t *memory, uint32_t capacity)
{
    size_t stride = capacity + (size_t)COLUMN_GAP;
    uint32_t *words = (uint32_t *)(memory + SBT_COMMON_COUNT * stride);

    for (size_t c = 0; c < SBT_COMMON_COUNT; c++)
        b->columns[c] = memory + c * stride;
    b->slot_at = words;
    b->data_at = words + stride;
    b->data_size = words + 2 * stride;
    b->capacity = capacity;
}

static int batch_grow(struct sbt_batch *b)
{
    uint32_t capacity = b->capacity ? 2 * b->capacity : 256;
    struct sbt_batch old = *b;
    uint64_t *memory = malloc(batch_size(capacity));

    if (!memory)
        return no_memory();
    batch_lay_out(b, memory, capacity);
    for (size_t c = 0; c < SBT_COMMON_COUNT && old.count; c++) {
        if (!is_steady(b, (unsigned)c))
            memcpy(b->columns[c], old.columns[c], old.count * sizeof(uint64_t));
    }
    if (old.count) {
        memcpy(b->slot_at, old.slot_at, old.count * sizeof(uint32_t));
        memcpy(b->data_at, old.data_at, old.count * sizeof(uint32_t));
        memcpy(b->data_size, old.data_size, old.count * sizeof(uint32_t));
    }
    free(old.columns[0]);
    return 0;
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
            return no_memory();
        memset(at, 0, grow);
        b->places.size += grow;
    }
    places = (uint32_t *)(void *)b->places.data;
    if (!places[schema]) {
        struct sbt_group made = {.type = record->type, .slot_count = record->slot_count};
        tsm_buffer_add(&b->groups, &made, sizeof(made));
        if (b->groups.failed)
            return no_memory();
        places[schema] = (uint32_t)(b->groups.size / sizeof(made));
    }
    *group = places[schema] - 1;
    return 0;
}

/* The value of a column that rarely changes within a chunk. While it never did nothing is stored:
 * half of what a record writes to memory, and no search for constant columns afterwards. */
static inline void add_steady(struct sbt_batch *b, unsigned column, uint32_t at, uint64_t value)
{
    if (!(b->varied >> column & 1)) {
        if (at == 0)
            b->first[column] = value;
        if (value == b->first[column])
            return;
        for (uint32_t i = 0; i < at; i++)
            b->columns[column][i] = b->first[column];
        b->varied |= 1u << column;
    }
    b->columns[column][at] = value;
}

/* The record's common values, at the batch's end. */
static void add_common(struct sbt_batch *b, uint32_t group, const struct sbt_record *record)
{
    uint32_t at = b->count++;

    b->columns[SBT_COMMON_TIME][at] = record->time_ns;
    b->columns[SBT_COMMON_DURATION][at] = record->duration_ns;
    b->columns[SBT_COMMON_POSITION][at] = record->position;
    add_steady(b, SBT_COMMON_GROUP, at, group);
    add_steady(b, SBT_COMMON_THREAD, at, record->thread);
    add_steady(b, SBT_COMMON_STREAM, at, record->stream);
    add_steady(b, SBT_COMMON_RESULT, at, tsm_zigzag(record->result));
    add_steady(b, SBT_COMMON_FLAGS, at, record->flags);
    add_steady(b, SBT_COMMON_STACK, at, record->stack);
    b->slot_at[at] = (uint32_t)(b->slots.size / 8);
    b->data_at[at] = (uint32_t)b->data.size;
    b->data_size[at] = (uint32_t)record->data_size;
}

int sbt_batch_add(struct sbt_batch *b, uint32_t schema, const struct sbt_record *record)
{
    size_t slot_size = 8 * (size_t)record->slot_count;
    struct sbt_group *group;
    uint32_t number = 0;
    uint8_t *slots;
    int error = batch_group(b, schema, record, &number);

    if (!error && b->count == b->capacity)
        error = batch_grow(b);
    if (error)
        return error;
    slots = tsm_buffer_reserve(&b->slots, slot_size);
    if (!slots || !tsm_buffer_reserve(&b->data, record->data_size))
        return no_memory();
    add_common(b, number, record);
    if (slot_size)
        memcpy(slots, record->slots, slot_size);
    b->slots.size += slot_size;
    if (record->data_size)
        tsm_buffer_add(&b->data, record->data, record->data_size);
    group = (struct sbt_group *)(void *)b->groups.data + number;
    group->count++;
    group->data_size += (uint32_t)record->data_size;
    return 0;
}

static bool position_differences(const struct sbt_batch *b, uint64_t *values)
{
    const uint64_t *positions = b->columns[SBT_COMMON_POSITION];
    const uint64_t *streams = b->columns[SBT_COMMON_STREAM];
    bool one_stream = is_steady(b, SBT_COMMON_STREAM), ok = true;
    struct sbt_positions last = {0};

    for (uint32_t i = 0; i < b->count && ok; i++) {
        uint64_t *before =
            one_stream ? &last.none : sbt_positions_last(&last, (uint32_t)streams[i]);
        ok = before != NULL;
        if (ok) {
            values[i] = tsm_zigzag((int64_t)(positions[i] - *before));
            *before = positions[i];
        }
    }
    sbt_positions_finish(&last);
    return ok;
}

/* Begin of each record, counted from the end of the one before: a begin that is counted from a
 * begin would tell the duration in between a second time. Type by type, as calls of one type take
 * similar times. */
static void gaps_by_group(const struct sbt_batch *b, const uint32_t *members, uint64_t *values)
{
    const uint64_t *begin = b->columns[SBT_COMMON_TIME];
    const uint64_t *duration = b->columns[SBT_COMMON_DURATION];

    for (uint32_t i = 0; i < b->count; i++) {
        uint32_t at = members[i];
        uint64_t before = at ? begin[at - 1] + duration[at - 1] : 0;
        values[i] = tsm_zigzag((int64_t)(begin[at] - before));
    }
}

static void durations_by_group(const struct sbt_batch *b, const uint32_t *members, uint64_t *values)
{
    for (uint32_t i = 0; i < b->count; i++)
        values[i] = b->columns[SBT_COMMON_DURATION][members[i]];
}

/* In the order of enum sbt_common_column. */
static void encode_common(const struct sbt_batch *b, const uint32_t *members, uint64_t *values,
                          struct tsm_buffer *out)
{
    for (unsigned c = 0; c < SBT_COMMON_COUNT; c++) {
        if (is_steady(b, c)) {
            sbt_column_put_constant(out, b->first[c]);
        } else if (c == SBT_COMMON_TIME) {
            gaps_by_group(b, members, values);
            sbt_column_put(out, values, b->count, SBT_COLUMN_NOISE);
        } else if (c == SBT_COMMON_DURATION) {
            durations_by_group(b, members, values);
            sbt_column_put(out, values, b->count, SBT_COLUMN_NOISE);
        } else if (c != SBT_COMMON_POSITION) {
            sbt_column_put(out, b->columns[c], b->count, SBT_COLUMN_PLAIN);
        } else if (position_differences(b, values)) {
            sbt_column_put(out, values, b->count, SBT_COLUMN_SMALL);
        } else {
            out->failed = true;
        }
    }
}

/* Records of each group in order: members[group's start ...]. Counting sort, because it is linear.
 */
static void sort_by_group(const struct sbt_batch *b, const struct sbt_group *groups,
                          size_t group_count, uint32_t *next, uint32_t *members)
{
    const uint64_t *group = b->columns[SBT_COMMON_GROUP];
    uint32_t start = 0;

    for (size_t g = 0; g < group_count; g++) {
        next[g] = start;
        start += groups[g].count;
    }
    if (group_count == 1) {
        for (uint32_t i = 0; i < b->count; i++)
            members[i] = i;
        next[0] = b->count;
        return;
    }
    for (uint32_t i = 0; i < b->count; i++)
        members[next[group[i]]++] = i;
}

/* Columns that are gathered together: a record's slots lie side by side, so each cache line of them
 * is read once instead of once a column. */
#define TILE 8u

/* A whole tile of one record. */
static inline void scatter(const uint64_t *from, uint64_t *to, size_t stride)
{
    to[0] = from[0];
    to[stride] = from[1];
    to[2 * stride] = from[2];
    to[3 * stride] = from[3];
    to[4 * stride] = from[4];
    to[5 * stride] = from[5];
    to[6 * stride] = from[6];
    to[7 * stride] = from[7];
}

/* Slots [first, first + width) of the group's records, column by column. */
static void gather(const struct sbt_batch *b, const uint32_t *members, uint32_t count,
                   uint32_t first, uint32_t width, uint64_t *values)
{
    const uint64_t *slots = (const uint64_t *)(const void *)b->slots.data + first;
    size_t stride = count + (size_t)COLUMN_GAP;

    if (width == TILE) {
        for (uint32_t i = 0; i < count; i++)
            scatter(slots + b->slot_at[members[i]], values + i, stride);
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t *from = slots + b->slot_at[members[i]];
        for (uint32_t k = 0; k < width; k++)
            values[k * stride + i] = from[k];
    }
}

static void encode_group(const struct sbt_batch *b, const struct sbt_group *group,
                         const uint32_t *members, uint64_t *values, struct tsm_buffer *out)
{
    if (group->data_size == 0) {
        sbt_column_put_constant(out, 0);
    } else {
        for (uint32_t i = 0; i < group->count; i++)
            values[i] = b->data_size[members[i]];
        sbt_column_put(out, values, group->count, SBT_COLUMN_PLAIN);
    }
    for (uint32_t first = 0; first < group->slot_count; first += TILE) {
        uint32_t left = group->slot_count - first, width = left < TILE ? left : TILE;
        gather(b, members, group->count, first, width, values);
        for (uint32_t k = 0; k < width; k++)
            sbt_column_put(out, values + k * (group->count + (size_t)COLUMN_GAP), group->count,
                           SBT_COLUMN_PLAIN);
    }
}

static const uint8_t *data_of(const struct sbt_batch *b, uint32_t record)
{
    return b->data.data + b->data_at[record];
}

/* Bytes [k, k + 8) of all records. */
static void put_eight(const struct sbt_batch *b, const uint32_t *members, uint32_t count,
                      uint32_t k, uint8_t *to)
{
    uint64_t v[8];
    uint32_t i = 0;

    for (; count - i >= 8; i += 8) {
        for (uint32_t j = 0; j < 8; j++)
            v[j] = tsm_get_u64(data_of(b, members[i + j]) + k);
        sbt_turn_eight(v);
        for (uint32_t j = 0; j < 8; j++)
            tsm_put_u64(to + (size_t)j * count + i, v[j]);
    }
    for (; i < count; i++)
        for (uint32_t j = 0; j < 8; j++)
            to[(size_t)j * count + i] = data_of(b, members[i])[k + j];
}

/* Byte k of all records side by side. */
static void put_turned(const struct sbt_batch *b, const uint32_t *members, uint32_t count,
                       uint32_t size, uint8_t *to)
{
    uint32_t k = 0;

    for (; size - k >= 8; k += 8, to += 8 * (size_t)count)
        put_eight(b, members, count, k, to);
    for (; k < size; k++, to += count)
        for (uint32_t i = 0; i < count; i++)
            to[i] = data_of(b, members[i])[k];
}

static bool have_size(const struct sbt_batch *b, const uint32_t *members, uint32_t count,
                      uint32_t size)
{
    uint32_t i = 0;

    while (i < count && b->data_size[members[i]] == size)
        i++;
    return i == count;
}

static void encode_data(const struct sbt_batch *b, const struct sbt_group *group,
                        const uint32_t *members, struct tsm_buffer *out)
{
    uint8_t *to = tsm_buffer_reserve(out, group->data_size);
    uint32_t first = b->data_size[members[0]];

    if (!to)
        return;
    out->size += group->data_size;
    if (first <= SBT_TURNED_MAX && have_size(b, members, group->count, first)) {
        put_turned(b, members, group->count, first, to);
        return;
    }
    for (uint32_t i = 0; i < group->count; i++) {
        uint32_t size = b->data_size[members[i]];
        if (size)
            memcpy(to, data_of(b, members[i]), size);
        to += size;
    }
}

void sbt_batch_encode(const struct sbt_batch *b, struct tsm_buffer *scratch, struct tsm_buffer *out)
{
    const struct sbt_group *groups = (const struct sbt_group *)(const void *)b->groups.data;
    size_t group_count = b->groups.size / sizeof(*groups);
    size_t tile_size = (b->count + (size_t)COLUMN_GAP) * TILE;
    uint32_t *members, *next;
    uint64_t *values;

    tsm_buffer_clear(scratch);
    values = (uint64_t *)(void *)tsm_buffer_reserve(scratch, 8 * tile_size + 4 * (size_t)b->count +
                                                                 4 * group_count);
    if (!values) {
        out->failed = true;
        return;
    }
    members = (uint32_t *)(values + tile_size);
    next = members + b->count;
    sort_by_group(b, groups, group_count, next, members);
    tsm_buffer_add_u32(out, (uint32_t)group_count);
    tsm_buffer_add_u32(out, SBT_COMMON_COUNT);
    for (size_t g = 0; g < group_count; g++) {
        tsm_buffer_add_u32(out, groups[g].type);
        tsm_buffer_add_u32(out, groups[g].slot_count);
        tsm_buffer_add_u32(out, groups[g].count);
        tsm_buffer_add_u32(out, groups[g].data_size);
    }
    encode_common(b, members, values, out);
    for (size_t g = 0; g < group_count; g++)
        encode_group(b, &groups[g], members + next[g] - groups[g].count, values, out);
    for (size_t g = 0; g < group_count; g++)
        if (groups[g].data_size)
            encode_data(b, &groups[g], members + next[g] - groups[g].count, out);
}
