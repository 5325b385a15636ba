/* SPDX-License-Identifier: Apache-2.0 */
#include "format/check/state.h"

#include "base/hash.h"
#include "format/chunk/chunk.h"
#include "format/events/column.h"
#include "format/limits.h"
#include "format/read/state.h"
#include "format/events/rows.h"
#include "format/chunk/table.h"

#include <string.h>

/* Tests whether the pieces that a record of this type names need not be there. */
static bool may_lack_pieces(const struct sbt_checker *c, uint32_t type)
{
    const uint64_t features = c->header.optional_features;

    return features & SBT_OPTIONAL_NO_CONTENTS ||
           (features & SBT_OPTIONAL_NO_READBACKS &&
            type == SBT_TYPE(SBT_API_CORE, SBT_CORE_READBACK));
}

static void check_pieces(struct sbt_checker *c, const struct sbt_record *r, uint32_t slot,
                         const struct sbt_blob *blob)
{
    struct sbt_key key;

    if (blob->bytes && !sbt_check_is_compact(c))
        sbt_check_say(c, "record %llu: slot %u holds its bytes, which takes feature 1",
                      (unsigned long long)r->seq, slot);
    if (may_lack_pieces(c, r->type))
        return;
    for (uint64_t i = 0; i < blob->piece_count; i++) {
        memcpy(key.bytes, blob->keys + 16 * i, sizeof(key.bytes));
        if (tsm_key_is_zero(&key) || sbt_keyset_has(&c->pieces, &key))
            continue;
        sbt_check_say_missing(c, "record %llu: slot %u names a piece that is not there before it",
                              (unsigned long long)r->seq, slot);
        return;
    }
}

static void check_blob(struct sbt_checker *c, const struct sbt_record *r, uint32_t slot)
{
    struct sbt_blob blob;

    if (sbt_record_blob(r, slot, &blob))
        check_pieces(c, r, slot, &blob);
    else
        sbt_check_say(c, "record %llu: slot %u is no blob", (unsigned long long)r->seq, slot);
}

/* ---- structured values ---- */

static int walk_through(struct sbt_checker *c, const char *name, const void *data, size_t size)
{
    struct sbt_walk walk;
    struct sbt_step step;
    int got = sbt_walk_init(&walk, &c->structs, name, data, size);

    while (got >= 0 && (got = sbt_walk_next(&walk, &step)) == 1)
        ;
    return got;
}

static void say_value(struct sbt_checker *c, uint64_t seq, uint32_t slot)
{
    sbt_check_say_missing(c, "record %llu: slot %u: %s", (unsigned long long)seq, slot,
                          tsm_error_message());
}

static void check_value(struct sbt_checker *c, const struct sbt_record *r, uint32_t slot,
                        size_t name)
{
    const char *text = (const char *)c->details.data + name;
    const struct sbt_check_kept kept = {c->offset, r->seq, slot, name};
    const uint8_t *data;
    struct sbt_blob blob;
    size_t size;
    int got = sbt_record_struct(r, slot, &data, &size, &blob);

    if (got == 1) {
        got = walk_through(c, text, data, size);
    } else if (got == 2) {
        check_pieces(c, r, slot, &blob);
        tsm_buffer_add(&c->values, &kept, sizeof(kept));
    }
    if (got < 0)
        say_value(c, r->seq, slot);
}

static void check_values(struct sbt_checker *c, const struct sbt_check_schema *s,
                         const struct sbt_record *r)
{
    size_t name = s->details;

    for (uint64_t left = s->structs; left; left &= left - 1) {
        check_value(c, r, (uint32_t)__builtin_ctzll(left), name);
        name += strlen((const char *)c->details.data + name) + 1;
    }
}

/* Missing pieces were reported before. */
static void check_kept(struct sbt_checker *c, struct sbt_reader *r, struct sbt_cursor *cursor,
                       const struct sbt_check_kept *kept)
{
    const struct sbt_record *record;
    struct sbt_value value;

    if (sbt_cursor_seek(cursor, kept->seq) < 0 || sbt_cursor_next(cursor, &record) != 1 ||
        record->seq != kept->seq)
        return;
    c->offset = kept->offset;
    if (sbt_reader_value(r, record, kept->slot, &value) == 1 &&
        walk_through(c, (const char *)c->details.data + kept->name, value.data, value.size) < 0)
        say_value(c, kept->seq, kept->slot);
    sbt_value_finish(&value);
}

/* Pieces are found by a reader, which cannot open every file that can be checked. */
int sbt_check_kept_values(struct sbt_checker *c)
{
    const struct sbt_check_kept *list = (const void *)c->values.data;
    size_t count = c->values.size / sizeof(*list);
    struct sbt_cursor *cursor = NULL;
    struct sbt_reader *r;
    int error = 0;

    if (c->values.failed)
        return tsm_fail(TSM_E_MEMORY, "%s: out of memory", c->name);
    if (count == 0 || sbt_reader_open(&r, c->name) < 0)
        return 0;
    if (sbt_cursor_create(&cursor, r, NULL, 0) == 0) {
        for (size_t i = 0; i < count && !error; i++) {
            check_kept(c, r, cursor, &list[i]);
            error = sbt_reader_values_check(r);
        }
    }
    sbt_cursor_destroy(cursor);
    sbt_reader_destroy(r);
    return error;
}

/* ---- records ---- */

static void check_slots(struct sbt_checker *c, const struct sbt_check_schema *s,
                        const struct sbt_record *r)
{
    const uint8_t *data;
    size_t size;

    for (uint32_t i = 0; i < r->slot_count; i++) {
        if ((s->strings >> i & 1) && r->slots[i] && !tsm_map_find(&c->strings, r->slots[i]))
            sbt_check_say_missing(
                c, "record %llu: slot %u names string %llu, which is not there before it",
                (unsigned long long)r->seq, i, (unsigned long long)r->slots[i]);
        if ((s->bytes >> i & 1) && !sbt_record_bytes(r, i, &data, &size))
            sbt_check_say(c, "record %llu: slot %u is outside its data", (unsigned long long)r->seq,
                          i);
        if (s->blobs >> i & 1)
            check_blob(c, r, i);
    }
    if (s->structs)
        check_values(c, s, r);
}

static const struct sbt_check_schema *schema_of(struct sbt_checker *c, const struct sbt_record *r)
{
    const struct sbt_check_schema *s;

    if (!c->last_place || c->last_type != r->type) {
        const uint64_t *place = tsm_map_find(&c->types, r->type);
        c->last_place = place ? (size_t)*place : 0;
        c->last_type = r->type;
    }
    if (!c->last_place) {
        sbt_check_say_missing(c, "record %llu: type %#x has no schema before it",
                              (unsigned long long)r->seq, r->type);
        return NULL;
    }
    s = (const struct sbt_check_schema *)(const void *)c->schemas.data + c->last_place - 1;
    if (s->field_count == r->slot_count)
        return s;
    sbt_check_say(c, "record %llu: %u slots, its schema has %u", (unsigned long long)r->seq,
                  r->slot_count, s->field_count);
    return NULL;
}

static void check_record(struct sbt_checker *c, const struct sbt_record *r, struct sbt_chunk *span)
{
    const struct sbt_check_schema *s = schema_of(c, r);
    bool taints = sbt_record_taints(s ? s->flags : 0, r->flags);
    bool lost = r->type == SBT_TYPE(SBT_API_CORE, SBT_CORE_LOST);
    bool filtered = r->type == SBT_TYPE(SBT_API_CORE, SBT_CORE_FILTERED);

    if (s)
        check_slots(c, s, r);
    if (r->stack && !tsm_map_find(&c->stacks, r->stack))
        sbt_check_say_missing(c, "record %llu names stack %u, which is not there before it",
                              (unsigned long long)r->seq, r->stack);
    span->first_time = r->time_ns < span->first_time ? r->time_ns : span->first_time;
    span->last_time = r->time_ns > span->last_time ? r->time_ns : span->last_time;
    span->stream_set |= sbt_stream_bit(r->stream);
    if (r->stream != SBT_STREAM_NONE && r->stream >= span->stream_end)
        span->stream_end = r->stream + 1;
    if (taints || lost || filtered)
        span->flags |= SBT_CHUNK_NOTABLE;
    c->totals.tainted_count += taints;
    if (lost && r->slot_count)
        c->totals.lost_count += r->slots[0];
    if (filtered && r->slot_count)
        c->totals.filtered_count += r->slots[0];
    c->has_last_end = sbt_checkpoint_of(r, &c->last_end); /* a CHECKPOINT chunk must follow */
}

static void check_span(struct sbt_checker *c, const struct sbt_chunk *span)
{
    const struct sbt_chunk *h = &c->head;

    if (span->first_time != h->first_time || span->last_time != h->last_time)
        sbt_check_say(c, "the chunk header's times are not those of its records");
    if (span->stream_set != h->stream_set || span->stream_end != h->stream_end)
        sbt_check_say(c, "the chunk header's streams are not those of its records");
    if ((span->flags ^ h->flags) & SBT_CHUNK_NOTABLE)
        sbt_check_say_missing(c, "the chunk header's flag for notable records is wrong");
    if (h->first_seq != c->next_seq)
        sbt_check_say_following(c, "the chunk starts with record %llu where %llu is due",
                                (unsigned long long)h->first_seq, (unsigned long long)c->next_seq);
    if (h->first_seq < c->next_seq)
        return; /* a reader passes over them */
    c->next_seq = h->last_seq + 1;
    c->totals.record_count += h->count;
    if (span->stream_end > c->totals.stream_count)
        c->totals.stream_count = span->stream_end;
}

/* A few hundred bytes can stand for a chunk of records with 64 slots each. */
static int count_rows(struct sbt_checker *c, const struct sbt_rows *rows)
{
    for (size_t i = 0; i < rows->count; i++)
        c->rows_size += SBT_ROW_SIZE(rows->records[i].slot_count, rows->records[i].data_size);
    return sbt_unpacked_check(c->name, c->rows_size, c->size);
}

int sbt_check_events(struct sbt_checker *c)
{
    struct sbt_chunk span = {.first_time = UINT64_MAX};
    struct sbt_rows rows;
    const char *wrong = sbt_rows_decode(&rows, &c->head, c->payload);
    int error;

    c->payload = NULL; /* the rows have it */
    if (wrong == sbt_no_memory)
        return tsm_fail(TSM_E_MEMORY, "%s: out of memory", c->name);
    if (wrong) {
        sbt_check_say_damaged(c, "EVENTS chunk: %s", wrong);
        c->next_seq = c->head.last_seq + 1;
        c->has_last_end = false;
        return 0;
    }
    if (rows.unknown_columns && c->header.minor == 0)
        sbt_check_say(c, "there are %u common columns that this version does not have",
                      rows.unknown_columns);
    if ((rows.storages & SBT_COLUMNS_COMPACT) && !sbt_check_is_compact(c))
        sbt_check_say(c, "EVENTS chunk: a column is stored in planes, which takes feature 1");
    error = count_rows(c, &rows);
    for (size_t i = 0; i < rows.count && !error; i++)
        check_record(c, &rows.records[i], &span);
    check_span(c, &span);
    sbt_rows_finish(&rows);
    return error;
}
