/* SPDX-License-Identifier: Apache-2.0 */
#include "format/write/state.h"

#include "base/bytes.h"
#include "base/hash.h"
#include "format/limits.h"
#include "format/events/record.h"

#include <string.h>

/* ---- bytes ---- */

static bool all_zero(const uint8_t *p, size_t size)
{
    return size == 0 || (p[0] == 0 && memcmp(p, p + 1, size - 1) == 0);
}

static int store_piece(struct sbt_writer *w, const struct sbt_key *key, const void *data,
                       size_t size)
{
    uint8_t *entry;
    int error;

    if (tsm_key_is_zero(key) || sbt_keyset_has(&w->pieces, key))
        return 0;
    /* A full or failed set only costs duplicates. */
    sbt_keyset_add(&w->pieces, key);
    entry = tsm_buffer_reserve(&w->blob_directory, SBT_PIECE_ENTRY_SIZE);
    tsm_buffer_add(&w->blob_bytes, data, size);
    if (!entry || w->blob_bytes.failed)
        return sbt_writer_stick(
            w, tsm_fail(TSM_E_MEMORY, "%s: out of memory for bytes", w->queue.path));
    memcpy(entry, key->bytes, sizeof(key->bytes));
    tsm_put_u32(entry + 16, (uint32_t)size);
    w->blob_directory.size += SBT_PIECE_ENTRY_SIZE;
    if (w->blob_bytes.size < w->chunk_size)
        return 0;
    error = sbt_writer_blobs_flush(w);
    return sbt_writer_stick(w, error ? error : sbt_writer_leaf_if_due(w));
}

int sbt_writer_piece(struct sbt_writer *w, const struct sbt_key *key, const void *data, size_t size)
{
    int error = sbt_writer_check_begun(w);

    if (error)
        return error;
    if (size == 0 || size > SBT_PIECE_SIZE)
        return tsm_fail(TSM_E_ARGUMENT, "%s: a piece of %zu bytes", w->queue.path, size);
    return w->has_no_contents ? 0 : store_piece(w, key, data, size);
}

int sbt_writer_blob(struct sbt_writer *w, const void *data, uint64_t size, uint8_t *out)
{
    const uint8_t *at = data;
    uint64_t left = size;
    int error;

    sbt_blob_put_size(out, size);
    out += 8;
    if (sbt_blob_is_inline(size)) {
        memcpy(out, data, size);
        return 0;
    }
    error = sbt_writer_check_begun(w);
    while (left && !error) {
        size_t piece = left < SBT_PIECE_SIZE ? (size_t)left : SBT_PIECE_SIZE;
        struct sbt_key key = {{0}};
        if (!all_zero(at, piece)) {
            key = tsm_hash_key(at, piece);
            error = store_piece(w, &key, at, piece);
        }
        memcpy(out, key.bytes, sizeof(key.bytes));
        out += sizeof(key.bytes);
        at += piece;
        left -= piece;
    }
    return error;
}

/* ---- records ---- */

static bool slot_is_sound(const struct sbt_writer_schema *schema, const struct sbt_record *r,
                          uint32_t i)
{
    const uint8_t *bytes;
    struct sbt_blob blob;
    size_t size;

    if (schema->blobs >> i & 1)
        return sbt_record_blob(r, i, &blob);
    if (schema->structs >> i & 1)
        return sbt_record_struct(r, i, &bytes, &size, &blob) >= 0;
    return sbt_record_bytes(r, i, &bytes, &size);
}

static int record_check(const struct sbt_writer *w, const struct sbt_writer_schema *schema,
                        const struct sbt_record *r)
{
    if (!w->compact)
        return tsm_fail(
            TSM_E_UNSUPPORTED,
            "%s: was begun by an earlier version: no records can be added; copy it first",
            w->queue.path);
    if (r->seq != w->next_seq)
        return tsm_fail(TSM_E_ARGUMENT, "%s: record %llu where %llu was due", w->queue.path,
                        (unsigned long long)r->seq, (unsigned long long)w->next_seq);
    if (r->slot_count != schema->field_count)
        return tsm_fail(TSM_E_ARGUMENT, "%s: record of type %#x with %u slots, its schema has %u",
                        w->queue.path, r->type, r->slot_count, schema->field_count);
    if (r->data_size > SBT_RECORD_DATA_MAX)
        return tsm_fail(TSM_E_LIMIT, "%s: a record with %zu bytes of data, over the limit of %u",
                        w->queue.path, r->data_size, SBT_RECORD_DATA_MAX);
    for (uint64_t left = schema->variable; left; left &= left - 1) {
        uint32_t i = (uint32_t)__builtin_ctzll(left);
        if (!slot_is_sound(schema, r, i))
            return tsm_fail(TSM_E_ARGUMENT, "%s: record of type %#x: field %u is malformed",
                            w->queue.path, r->type, i);
    }
    return 0;
}

static void span_add_stream(struct sbt_writer *w, uint32_t stream)
{
    struct sbt_chunk *span = &w->span;

    span->stream_set |= sbt_stream_bit(stream);
    if (stream != SBT_STREAM_NONE && stream >= span->stream_end)
        span->stream_end = stream + 1;
    if (span->stream_end > w->totals.stream_count)
        w->totals.stream_count = span->stream_end;
    w->span_stream = stream;
}

static void span_add(struct sbt_writer *w, const struct sbt_writer_schema *schema,
                     const struct sbt_record *r)
{
    struct sbt_chunk *span = &w->span;
    bool first = w->batch.count == 1, taints = sbt_record_taints(schema->flags, r->flags);

    if (first || r->time_ns < span->first_time)
        span->first_time = r->time_ns;
    if (r->time_ns > span->last_time)
        span->last_time = r->time_ns;
    if (first || r->stream != w->span_stream)
        span_add_stream(w, r->stream);
    if (taints || r->type == SBT_TYPE(SBT_API_CORE, SBT_CORE_LOST) ||
        r->type == SBT_TYPE(SBT_API_CORE, SBT_CORE_FILTERED))
        span->flags |= SBT_CHUNK_NOTABLE;
    w->totals.tainted_count += taints;
    if (r->slot_count && r->type == SBT_TYPE(SBT_API_CORE, SBT_CORE_LOST))
        w->said_lost += r->slots[0];
    if (r->slot_count && r->type == SBT_TYPE(SBT_API_CORE, SBT_CORE_FILTERED))
        w->said_filtered += r->slots[0];
}

/* A schema's number, from the few that were asked for last if it is there; negative when there is
 * none. A program has a handful of calls that it makes all the time. */
static int64_t schema_number(struct sbt_writer *w, uint32_t type)
{
    struct sbt_writer_recent *recent = &w->recent[type % SBT_RECENT_COUNT];
    const uint64_t *place;

    if (recent->used && recent->type == type)
        return recent->number;
    place = tsm_map_find(&w->types, type);
    if (!place)
        return -1;
    *recent = (struct sbt_writer_recent){type, (uint32_t)*place, true};
    return recent->number;
}

/* The hash of each blob in place of its bytes, which some records hold themselves. */
static int take_contents(struct sbt_writer *w, const struct sbt_writer_schema *schema,
                         struct sbt_record *r, uint64_t slots[SBT_FIELD_COUNT_MAX])
{
    memcpy(slots, r->slots, r->slot_count * sizeof(*slots));
    tsm_buffer_clear(&w->without);
    tsm_buffer_add(&w->without, r->data, r->data_size);
    for (uint64_t left = schema->blobs; left && !w->without.failed; left &= left - 1) {
        uint32_t i = (uint32_t)__builtin_ctzll(left);
        uint64_t at = w->without.size;
        struct sbt_blob blob;
        struct sbt_key key;

        if (!sbt_record_blob(r, i, &blob) || !blob.bytes)
            continue;
        key = sbt_blob_key(&blob, 0);
        memset(w->without.data + (blob.bytes - r->data), 0, blob.size);
        tsm_buffer_add_u64(&w->without, blob.size);
        tsm_buffer_add(&w->without, key.bytes, sizeof(key.bytes));
        slots[i] = at << 32 | (w->without.size - at);
    }
    if (w->contents && !w->without.failed)
        sbt_contents_hide(w->contents, r, slots, w->without.data);
    r->slots = slots;
    r->data = w->without.data;
    r->data_size = w->without.size;
    return w->without.failed
               ? tsm_fail(TSM_E_MEMORY, "%s: out of memory for a record", w->queue.path)
               : 0;
}

int sbt_writer_record(struct sbt_writer *w, const struct sbt_record *r)
{
    uint64_t slots[SBT_FIELD_COUNT_MAX];
    struct sbt_record without = *r;
    uint64_t size = SBT_ROW_SIZE(r->slot_count, r->data_size);
    const struct sbt_writer_schema *schema;
    struct sbt_checkpoint checkpoint;
    int64_t number;
    int error = w->error || w->finished || !w->has_metadata ? sbt_writer_check_begun(w) : 0;

    if (error)
        return error;
    number = schema_number(w, r->type);
    if (number < 0)
        return tsm_fail(TSM_E_ARGUMENT, "%s: record of type %#x has no schema", w->queue.path,
                        r->type);
    schema = (const struct sbt_writer_schema *)(const void *)w->schemas.data + number;
    error = record_check(w, schema, r);
    if (!error && w->has_no_contents) {
        error = take_contents(w, schema, &without, slots);
        size = SBT_ROW_SIZE(without.slot_count, without.data_size);
        r = &without;
    }
    if (error)
        return error;
    if (w->batch.count && w->batch.row_bytes + size > w->chunk_size) {
        error = sbt_writer_flush_all(w);
        if (!error)
            error = sbt_writer_leaf_if_due(w);
        if (error)
            return sbt_writer_stick(w, error);
    }
    error = sbt_batch_add(&w->batch, (uint32_t)number, r);
    if (error)
        return sbt_writer_stick(w, error);
    w->batch.row_bytes += size;
    w->next_seq++;
    w->totals.record_count++;
    span_add(w, schema, r);
    if (sbt_checkpoint_of(r, &checkpoint))
        return sbt_writer_stick(w, sbt_writer_checkpoint(w, &checkpoint));
    return 0;
}

uint64_t sbt_writer_record_count(const struct sbt_writer *w)
{
    return w->next_seq;
}

int sbt_writer_shape(const struct sbt_writer *w, uint32_t type, uint64_t *blobs)
{
    const uint64_t *place = tsm_map_find(&w->types, type);
    const struct sbt_writer_schema *schema;

    if (!place)
        return tsm_fail(TSM_E_NOT_FOUND, "%s: type %#x has no schema", w->queue.path, type);
    schema = (const struct sbt_writer_schema *)(const void *)w->schemas.data + *place;
    *blobs = schema->blobs;
    return (int)schema->field_count;
}
