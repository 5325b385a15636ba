/* SPDX-License-Identifier: Apache-2.0 */
#include "format/events/rows.h"

#include "base/bytes.h"
#include "format/events/column.h"
#include "format/limits.h"
#include "format/events/position.h"
#include "format/events/turn.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct decoder {
    const struct sbt_chunk *chunk;
    struct sbt_rows *rows;
    struct tsm_view in;
    struct sbt_group *groups;
    uint32_t group_count;
    uint32_t common_count;
    uint64_t *values;  /* one column */
    uint32_t *members; /* record numbers, group by group, each ascending */
    const char *wrong; /* first thing found wrong */
};

void sbt_rows_finish(struct sbt_rows *r)
{
    free(r->records);
    free(r->slots);
    free(r->payload);
    *r = (struct sbt_rows){0};
}

static bool fail(struct decoder *d, const char *wrong)
{
    if (!d->wrong)
        d->wrong = wrong;
    return false;
}

static bool take_column(struct decoder *d, size_t count)
{
    return sbt_column_get(&d->in, d->values, count, &d->rows->storages);
}

/* The table of groups. Everything that is allocated later is bounded by what is summed here. */
static bool take_groups(struct decoder *d, uint64_t *slot_total)
{
    uint64_t count = 0, size = 0;

    d->group_count = tsm_view_u32(&d->in);
    d->common_count = tsm_view_u32(&d->in);
    if (d->in.failed || d->group_count == 0 || d->group_count > tsm_view_left(&d->in) / 16)
        return fail(d, "the table of record types is malformed");
    if (d->common_count < SBT_COMMON_COUNT || d->common_count > 255)
        return fail(d, "common columns are missing");
    d->groups = calloc(d->group_count, sizeof(*d->groups));
    if (!d->groups)
        return fail(d, sbt_no_memory);
    *slot_total = 0;
    for (uint32_t g = 0; g < d->group_count; g++) {
        struct sbt_group *group = &d->groups[g];
        group->type = tsm_view_u32(&d->in);
        group->slot_count = tsm_view_u32(&d->in);
        group->count = tsm_view_u32(&d->in);
        group->data_size = tsm_view_u32(&d->in);
        if (group->slot_count > SBT_FIELD_COUNT_MAX || group->count == 0 ||
            group->count > d->chunk->count)
            return fail(d, "a record type's counts are out of range");
        count += group->count;
        *slot_total += (uint64_t)group->count * group->slot_count;
        size += SBT_ROW_SIZE(group->slot_count, 0) * group->count + group->data_size;
        if (size > SBT_CHUNK_ROWS_MAX)
            return fail(d, "its records are over the size limit");
    }
    return count == d->chunk->count || fail(d, "the record types' counts do not add up");
}

static bool allocate(struct decoder *d, uint64_t slot_total)
{
    struct sbt_rows *r = d->rows;
    size_t count = d->chunk->count;

    r->count = count;
    r->records = calloc(count, sizeof(*r->records));
    r->slots = calloc(slot_total ? slot_total : 1, 8);
    d->values = calloc(count, sizeof(*d->values));
    d->members = calloc(count, sizeof(*d->members));
    return (r->records && r->slots && d->values && d->members) || fail(d, sbt_no_memory);
}

/* Destination of the values of a common column: a field of 4 or of 8 bytes. */
static const struct {
    size_t offset;
    bool is_small;
} common[SBT_COMMON_COUNT] = {
    [SBT_COMMON_TIME] = {offsetof(struct sbt_record, time_ns), false},
    [SBT_COMMON_DURATION] = {offsetof(struct sbt_record, duration_ns), false},
    [SBT_COMMON_THREAD] = {offsetof(struct sbt_record, thread), true},
    [SBT_COMMON_STREAM] = {offsetof(struct sbt_record, stream), true},
    [SBT_COMMON_POSITION] = {offsetof(struct sbt_record, position), false},
    [SBT_COMMON_RESULT] = {offsetof(struct sbt_record, result), false},
    [SBT_COMMON_FLAGS] = {offsetof(struct sbt_record, flags), true},
    [SBT_COMMON_STACK] = {offsetof(struct sbt_record, stack), true},
};

/* Value i is that of record places[i]; NULL: of record i. False: one is out of range. */
static bool set_common(struct decoder *d, unsigned column, const uint32_t *places)
{
    uint8_t *first = (uint8_t *)d->rows->records + common[column].offset;
    uint64_t all = 0;

    for (uint32_t i = 0; i < d->chunk->count; i++) {
        uint8_t *at = first + sizeof(struct sbt_record) * (places ? places[i] : i);
        all |= d->values[i];
        if (common[column].is_small)
            *(uint32_t *)(void *)at = (uint32_t)d->values[i];
        else
            *(uint64_t *)(void *)at = d->values[i];
    }
    return !common[column].is_small || all <= UINT32_MAX;
}

/* The first column says which type each record is; members[] is its inverse. */
static bool take_order(struct decoder *d)
{
    uint32_t *next = calloc(d->group_count, sizeof(*next));
    uint32_t start = 0;
    bool ok = false;

    if (!next)
        return fail(d, sbt_no_memory);
    for (uint32_t g = 0; g < d->group_count; start += d->groups[g++].count)
        next[g] = start;
    if (!take_column(d, d->chunk->count))
        goto out;
    start = 0;
    for (uint32_t i = 0; i < d->chunk->count; i++) {
        if (d->values[i] >= d->group_count)
            goto out;
        next[d->values[i]]++;
        if (next[d->values[i]] > d->chunk->count)
            goto out;
        d->members[next[d->values[i]] - 1] = i;
    }
    /* Each group has got exactly its count, or one has run into its neighbour. */
    ok = true;
    for (uint32_t g = 0; g < d->group_count; g++) {
        start += d->groups[g].count;
        ok &= next[g] == start;
    }
out:
    free(next);
    return ok || fail(d, "the order column is malformed");
}

/* Positions are stored as differences; records[] have their streams by then. */
static bool add_positions(struct decoder *d)
{
    struct sbt_positions positions = {0};
    bool ok = true;

    for (uint32_t i = 0; i < d->chunk->count && ok; i++) {
        uint64_t *last = sbt_positions_last(&positions, d->rows->records[i].stream);
        ok = last != NULL;
        if (ok)
            d->values[i] = *last += (uint64_t)tsm_unzigzag(d->values[i]);
    }
    sbt_positions_finish(&positions);
    return ok || fail(d, sbt_no_memory);
}

static bool is_compact(const struct decoder *d)
{
    return (d->chunk->flags & SBT_CHUNK_COMPACT) != 0;
}

/* Stored are the gaps between a record's end and the next one's begin. */
static void add_gaps(struct decoder *d)
{
    struct sbt_record *records = d->rows->records;
    uint64_t end = 0;

    for (uint32_t i = 0; i < d->chunk->count; i++) {
        records[i].time_ns = end + (uint64_t)tsm_unzigzag(records[i].time_ns);
        end = records[i].time_ns + records[i].duration_ns;
    }
}

static void from_zigzag(uint64_t *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        values[i] = (uint64_t)tsm_unzigzag(values[i]);
}

static bool take_common(struct decoder *d)
{
    for (unsigned column = SBT_COMMON_TIME; column < SBT_COMMON_COUNT; column++) {
        bool by_group =
            is_compact(d) && (column == SBT_COMMON_TIME || column == SBT_COMMON_DURATION);

        if (!take_column(d, d->chunk->count))
            return fail(d, "a common column is malformed");
        if (column == SBT_COMMON_POSITION && !add_positions(d))
            return false;
        if (column == SBT_COMMON_RESULT)
            from_zigzag(d->values, d->chunk->count);
        if (!set_common(d, column, by_group ? d->members : NULL))
            return fail(d, "a common column has a value out of range");
    }
    if (is_compact(d))
        add_gaps(d);
    d->rows->unknown_columns = d->common_count - SBT_COMMON_COUNT;
    for (uint32_t column = SBT_COMMON_COUNT; column < d->common_count; column++) {
        if (!sbt_column_skip(&d->in))
            return fail(d, "a common column is malformed");
    }
    return true;
}

/* Sizes of data areas first, then the slots, into the rows that belong to the group. */
static bool take_group(struct decoder *d, const struct sbt_group *group, const uint32_t *members,
                       uint64_t *slots)
{
    struct sbt_record *records = d->rows->records;
    uint64_t size = 0;

    if (!take_column(d, group->count))
        return fail(d, "a column of data sizes is malformed");
    for (uint32_t i = 0; i < group->count; i++) {
        struct sbt_record *record = &records[members[i]];
        if (d->values[i] > group->data_size - size)
            return fail(d, "a record's data is over its limit");
        record->data_size = d->values[i];
        size += d->values[i];
        record->type = group->type;
        record->slot_count = group->slot_count;
        record->slots = slots + (size_t)i * group->slot_count;
    }
    if (size != group->data_size)
        return fail(d, "a record type's data sizes do not add up");
    for (uint32_t slot = 0; slot < group->slot_count; slot++) {
        if (!take_column(d, group->count))
            return fail(d, "a column is malformed");
        for (uint32_t i = 0; i < group->count; i++)
            slots[(size_t)i * group->slot_count + slot] = d->values[i];
    }
    return true;
}

/* Tests whether the group's records have small data areas of one size, whose bytes k are then
 * stored side by side. */
static bool is_turned(const struct decoder *d, const struct sbt_group *group,
                      const uint32_t *members)
{
    size_t size = d->rows->records[members[0]].data_size;
    bool same = is_compact(d) && size > 0 && size <= SBT_TURNED_MAX;

    for (uint32_t i = 1; same && i < group->count; i++)
        same = d->rows->records[members[i]].data_size == size;
    return same;
}

/* Bytes [0, 8) of all data areas. */
static void get_eight(const uint8_t *turned, size_t count, uint8_t *data, size_t size)
{
    uint64_t v[8];
    size_t i = 0;

    for (; count - i >= 8; i += 8) {
        for (size_t j = 0; j < 8; j++)
            v[j] = tsm_get_u64(turned + j * count + i);
        sbt_turn_eight(v);
        for (size_t j = 0; j < 8; j++)
            tsm_put_u64(data + (i + j) * size, v[j]);
    }
    for (; i < count; i++)
        for (size_t j = 0; j < 8; j++)
            data[i * size + j] = turned[j * count + i];
}

/* Put the group's data areas, at `data`, one after the other. */
static bool turn_back(struct decoder *d, const struct sbt_group *group, uint8_t *data)
{
    uint8_t *turned = malloc(group->data_size);
    size_t count = group->count, size = group->data_size / count, k = 0;

    if (!turned)
        return fail(d, sbt_no_memory);
    memcpy(turned, data, group->data_size);
    for (; size - k >= 8; k += 8)
        get_eight(turned + k * count, count, data + k, size);
    for (; k < size; k++)
        for (size_t i = 0; i < count; i++)
            data[i * size + k] = turned[k * count + i];
    free(turned);
    return true;
}

static bool take_data(struct decoder *d, const struct sbt_group *group, const uint32_t *members)
{
    size_t at = d->chunk->raw_size - tsm_view_left(&d->in);

    if (group->data_size > tsm_view_left(&d->in))
        return fail(d, "the data area is too short");
    if (is_turned(d, group, members) && !turn_back(d, group, d->rows->payload + at))
        return false;
    for (uint32_t i = 0; i < group->count; i++) {
        struct sbt_record *record = &d->rows->records[members[i]];
        record->data = tsm_view_take(&d->in, record->data_size);
    }
    return true;
}

static bool decode(struct decoder *d)
{
    uint64_t slot_total, *slots;
    const uint32_t *members;

    if (!take_groups(d, &slot_total) || !allocate(d, slot_total) || !take_order(d) ||
        !take_common(d))
        return false;
    slots = d->rows->slots;
    members = d->members;
    for (uint32_t g = 0; g < d->group_count; g++) {
        const struct sbt_group *group = &d->groups[g];
        if (!take_group(d, group, members, slots))
            return false;
        members += group->count;
        slots += (size_t)group->count * group->slot_count;
    }
    members = d->members;
    for (uint32_t g = 0; g < d->group_count; members += d->groups[g++].count) {
        if (!take_data(d, &d->groups[g], members))
            return false;
    }
    for (uint32_t i = 0; i < d->chunk->count; i++)
        d->rows->records[i].seq = d->chunk->first_seq + i;
    return tsm_view_left(&d->in) == 0 || fail(d, "there are bytes after the last data area");
}

const char *sbt_rows_decode(struct sbt_rows *out, const struct sbt_chunk *chunk, uint8_t *payload)
{
    struct decoder d = {.chunk = chunk, .rows = out};

    *out = (struct sbt_rows){.payload = payload};
    /* Before anything is allocated for them: a count that cannot be true. */
    if (chunk->count > SBT_CHUNK_ROWS_MAX / SBT_ROW_FIXED)
        d.wrong = "its records are over the size limit";
    d.in = tsm_view_init(payload, chunk->raw_size);
    if (d.wrong || !decode(&d))
        sbt_rows_finish(out);
    free(d.groups);
    free(d.values);
    free(d.members);
    return d.wrong;
}
