/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/verify.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "analysis/diff/difference.h"

#define VERIFY_CHUNK (16 * SBT_PIECE_SIZE) /* read from the device at once */

int tsm_verify_init(struct tsm_verify *v)
{
    v->chunk = malloc(VERIFY_CHUNK);
    v->digest = tsm_hasher_init(&v->digest_storage);
    return v->chunk ? 0 : tsm_fail(TSM_E_MEMORY, "no memory to verify with");
}

void tsm_verify_finish(struct tsm_verify *v)
{
    free(v->chunk);
    v->chunk = NULL;
    tsm_map_finish(&v->parts);
    tsm_map_finish(&v->skipped);
    tsm_map_finish(&v->skipped_bytes);
}

/* ---- observations ------------------------------------------------------------------------- */

static int observe_begin(struct tsm_verify *v, const struct tsm_observation *o)
{
    uint8_t head[28];

    tsm_put_u32(head, (uint32_t)o->kind);
    tsm_put_u64(head + 4, o->seq);
    tsm_put_u64(head + 12, o->address);
    tsm_put_u64(head + 20, o->size);
    tsm_hasher_add(v->digest, head, sizeof(head));
    return v->observer.begin ? v->observer.begin(v->observer.user, o) : 0;
}

static int observe_bytes(struct tsm_verify *v, const uint8_t *bytes, uint64_t size)
{
    int error = 0;

    for (uint64_t base = 0; base < size && error >= 0; base += SBT_PIECE_SIZE) {
        size_t length = size - base < SBT_PIECE_SIZE ? (size_t)(size - base) : SBT_PIECE_SIZE;
        struct sbt_key key = tsm_hash_key(bytes + base, length);
        tsm_hasher_add(v->digest, &key, sizeof(key));
        if (v->observer.piece)
            error = v->observer.piece(v->observer.user, &key, bytes + base, length);
    }
    return error;
}

/* Returns how many addresses were moved by now, if they can be the reason of a difference. Where
 * they are translated in results, too, bytes that differ are not those of addresses; of a hash
 * nobody can tell. */
static uint64_t translated_now(const struct tsm_verify *v, bool has_bytes)
{
    const struct tsm_backend_report *report = v->backend->report;
    const bool is_translated = has_bytes && v->backend->compare && v->backend->compare->match_moved;

    if (!report || (is_translated && !(report->doubtful && report->doubtful(v->state))))
        return 0;
    return report->translated(v->state);
}

static uint64_t mixed_now(const struct tsm_verify *v)
{
    const struct tsm_backend_compare *compare = v->backend->compare;

    return v->used_count + (compare && compare->mixed ? compare->mixed(v->state) : 0);
}

static void report(struct tsm_verify *v, struct tsm_difference *d, uint64_t before_seq,
                   bool has_bytes)
{
    tsm_difference_locate(d, v->reader, before_seq);
    if (!v->difference_count++) {
        v->first = *d;
        v->first_result_seq = before_seq;
        v->first_translated = translated_now(v, has_bytes);
        v->first_mixed = mixed_now(v);
    }
    if (v->on_difference)
        v->on_difference(v->user, d);
}

/* ---- bytes read back ---------------------------------------------------------------------- */

static void describe_command(struct tsm_difference *d, const struct sbt_record *record,
                             const struct sbt_schema *schema)
{
    *d = (struct tsm_difference){.seq = record->seq, .call = "", .function = ""};
    d->stream = (uint32_t)sbt_record_role(schema, record, SBT_ROLE_OF_STREAM, SBT_STREAM_NONE);
    d->position = sbt_record_role(schema, record, SBT_ROLE_OF_POSITION, 0);
}

/* Tests whether each byte that differs still holds what was there before the command: then it was
 * lost, or it was the program that had changed it when it was recorded. Bytes alone do not say
 * which. */
static bool are_left(const uint8_t *expected, const uint8_t *actual, const uint8_t *left,
                     uint64_t size)
{
    for (uint64_t i = 0; i < size; i++)
        if (actual[i] != left[i] && actual[i] != expected[i])
            return false;
    return true;
}

/* The next readback is of this command. One with bytes of which it is not known who changed them is
 * left_count's. */
static void turn_to(struct tsm_verify *v, uint32_t stream, uint64_t position)
{
    if (v->last.stream == stream && v->last.position == position)
        return;
    v->left_count += v->last.has_left;
    v->last = (struct tsm_verify_last){.stream = stream, .position = position};
}

uint64_t tsm_verify_uncompared(const struct tsm_verify *v)
{
    uint64_t count = v->left_count;

    for (int i = 0; i < TSM_UNCOMPARED_COUNT; i++)
        count += v->uncompared_counts[i];
    return count;
}

static uint64_t command_key(uint64_t stream, uint64_t position)
{
    return stream << 40 | (position & 0xffffffffff);
}

/* Drops commands of `parts` whose other bytes come later: they lie outside of what was replayed. */
static void drop_continued(struct tsm_verify *v)
{
    const struct sbt_schema *schema = sbt_core_schema(SBT_CORE_READBACK);
    const struct sbt_filter filter = {.seq_first = v->parts_seq};
    struct sbt_cursor *cursor = NULL;
    const struct sbt_record *record;

    if (sbt_cursor_create(&cursor, v->reader, &filter, 1) < 0)
        return;
    while (v->parts.count && sbt_cursor_next(cursor, &record) == 1)
        if (record->type == SBT_TYPE(SBT_API_CORE, SBT_CORE_READBACK))
            tsm_map_remove(&v->parts,
                           command_key(sbt_record_role(schema, record, SBT_ROLE_OF_STREAM, 0),
                                       sbt_record_role(schema, record, SBT_ROLE_OF_POSITION, 0)));
    sbt_cursor_destroy(cursor);
}

void tsm_verify_end(struct tsm_verify *v)
{
    turn_to(v, SBT_STREAM_NONE, 0);
    if (v->parts.count)
        drop_continued(v);
    for (size_t i = 0; i < v->parts.capacity; i++)
        if (v->parts.slots[i].used)
            tsm_verify_pass_over(v, TSM_UNCOMPARED_CUT); /* the rest was never asked for */
    tsm_map_finish(&v->parts);
}

int tsm_verify_skip(struct tsm_verify *v, const struct sbt_record *record,
                    const struct sbt_schema *schema)
{
    const uint64_t key = command_key(sbt_record_role(schema, record, SBT_ROLE_OF_STREAM, 0),
                                     sbt_record_role(schema, record, SBT_ROLE_OF_POSITION, 0));
    int index = sbt_schema_role(schema, SBT_ROLE_PAYLOAD);
    bool added;
    uint64_t *last = tsm_map_insert(&v->skipped, record->thread, &added);
    uint64_t *bytes = tsm_map_insert(&v->skipped_bytes, record->thread, &added);
    struct sbt_blob blob;

    if (!last || !bytes)
        return tsm_fail(TSM_E_MEMORY, "no memory for what is read back");
    if (*last != key)
        *bytes = 0;
    *last = key;
    if (index >= 0 && sbt_record_blob(record, (uint32_t)index, &blob))
        *bytes += blob.size;
    return 0;
}

/* Returns how many bytes of a command's result have been passed: compared, or skipped. */
static uint64_t bytes_before(const struct tsm_verify *v, uint64_t key, uint32_t thread)
{
    const uint64_t *done = tsm_map_find(&v->parts, key);
    const uint64_t *last = tsm_map_find(&v->skipped, thread);

    if (done)
        return *done;
    return last && *last == key ? *tsm_map_find(&v->skipped_bytes, thread) : 0;
}

/* Chooses what to compare of a command's `size` bytes, of which the record has `wanted`: what
 * follows the bytes that earlier records had. Returns its offset. */
static int64_t next_part(struct tsm_verify *v, const struct sbt_record *record,
                         const struct tsm_difference *d, uint64_t wanted, uint64_t size)
{
    const uint64_t key = command_key(d->stream, d->position);
    uint64_t *done = tsm_map_find(&v->parts, key), from = bytes_before(v, key, record->thread);
    bool added;

    if (from >= size)
        from = 0; /* not a part of the same bytes */
    if (done && wanted >= size - from)
        tsm_map_remove(&v->parts, key);
    if (wanted >= size - from)
        return (int64_t)from;
    done = tsm_map_insert(&v->parts, key, &added);
    if (!done)
        return tsm_fail(TSM_E_MEMORY, "no memory for what is read back");
    *done = from + wanted;
    v->parts_seq = record->seq + 1;
    return (int64_t)from;
}

/* Tests whether bytes that differ from the recorded ones may be left from the program, so that the
 * device did not write them. Returns 1 if so. */
static int is_left(struct tsm_verify *v, const struct sbt_blob *expected,
                   const struct tsm_difference *d, const uint8_t *actual, uint64_t size)
{
    const struct tsm_backend_compare *compare = v->backend->compare;
    const uint8_t *left = compare && compare->last_host_bytes && size == expected->size
                              ? compare->last_host_bytes(v->state, d->buffer, size)
                              : NULL;

    for (uint64_t done = 0; left && done < size; done += VERIFY_CHUNK) {
        uint64_t length = size - done < VERIFY_CHUNK ? size - done : VERIFY_CHUNK;
        int got = sbt_reader_blob(v->reader, expected, done, v->chunk, length);
        if (got < 0)
            return got == TSM_E_NOT_FOUND ? 0 : got; /* hashes alone */
        if (!are_left(v->chunk, actual + done, left + done, length))
            return 0;
    }
    v->last.has_left |= left != NULL;
    return left != NULL;
}

/* Tests whether bytes that differ are addresses of memory that lies elsewhere in this replay.
 * Returns 1 if so. */
static int is_moved(struct tsm_verify *v, const struct sbt_blob *expected, const uint8_t *actual,
                    uint64_t size)
{
    const struct tsm_backend_compare *compare = v->backend->compare;

    if (!compare || !compare->match_moved || size != expected->size)
        return 0;
    for (uint64_t done = 0, equal; done < size; done += equal) {
        uint64_t length = size - done < VERIFY_CHUNK ? size - done : VERIFY_CHUNK;
        int got = sbt_reader_blob(v->reader, expected, done, v->chunk, length);
        if (got < 0)
            return got == TSM_E_NOT_FOUND ? 0 : got; /* hashes alone */
        const bool has_more = done + length < size;
        equal = compare->match_moved(v->state, v->chunk, actual + done, length, has_more);
        if (equal + (has_more ? 7 : 0) < length)
            return 0;
    }
    return 1;
}

/* Tests whether bytes that differ may come from a later command that wrote there before the program
 * saw them. Returns 1 if the recorded bytes are there now. */
static int is_later(struct tsm_verify *v, const struct sbt_blob *expected,
                    const struct tsm_difference *d, uint64_t size)
{
    struct tsm_difference unused = *d;
    uint64_t there;
    int result;

    if (!v->backend->shared || !v->backend->shared(v->state, d->buffer, size, &there))
        return 0;
    result = tsm_difference_blob(&unused, v->reader, expected, (const uint8_t *)(uintptr_t)there,
                                 size); /* NOLINT */
    return result < 0 ? result : !result;
}

/* Bytes that the replay has for a readback of which the trace may hold the beginning only. */
static int compare_readback(struct tsm_verify *v, struct tsm_difference *d,
                            const struct sbt_record *record, const struct sbt_blob *expected,
                            const uint8_t *actual, uint64_t size)
{
    const uint64_t seq = record->seq;
    struct tsm_observation o = {TSM_OBSERVED_READBACK, seq,       d->stream,
                                d->position,           d->buffer, size};
    int result = v->has_failed ? 0 : observe_begin(v, &o);

    if (result >= 0 && !v->has_failed) /* else they may not have come */
        result = observe_bytes(v, actual, size);
    if (result >= 0)
        result = tsm_difference_blob(d, v->reader, expected, actual, size);
    if (result > 0) {
        const int moved = is_moved(v, expected, actual, size);
        result = moved < 0 ? moved : !moved;
    }
    if (result < 0)
        return result;
    turn_to(v, d->stream, d->position);
    if (result && (record->flags & SBT_RECORD_HELD)) {
        int later = is_later(v, expected, d, size);
        if (!later) {
            tsm_verify_pass_over(v, TSM_UNCOMPARED_SHARED);
            v->used_count += (record->flags & SBT_RECORD_LATE) != 0;
        }
        v->comparison_count += later > 0;
        return later < 0 ? later : 1;
    }
    if (result) {
        int left = is_left(v, expected, d, actual, size);
        if (left)
            return left;
        if (v->has_failed) {
            tsm_verify_pass_over(v, TSM_UNCOMPARED_FAILED);
            return 1;
        }
        report(v, d, seq, d->shown > 0);
    }
    v->last_seq = seq;
    v->comparison_count++;
    return !result;
}

static bool is_cut(const struct sbt_record *record)
{
    return record->flags & (SBT_RECORD_TRUNCATED | SBT_RECORD_UNFINISHED);
}

int tsm_verify_readback(struct tsm_verify *v, const struct sbt_record *record,
                        const struct sbt_schema *schema)
{
    int index = sbt_schema_role(schema, SBT_ROLE_PAYLOAD);
    uint64_t whole = sbt_record_role(schema, record, SBT_ROLE_SIZE, 0), size;
    struct tsm_difference d;
    struct sbt_blob expected;
    const uint8_t *actual;
    int result;

    describe_command(&d, record, schema);
    if (index < 0 || !sbt_record_blob(record, (uint32_t)index, &expected))
        return tsm_fail(TSM_E_FORMAT, "record %llu: readback without bytes",
                        (unsigned long long)record->seq);
    if (is_cut(record) || expected.size < whole)
        tsm_verify_pass_over(v, TSM_UNCOMPARED_CUT);
    if (!expected.size)
        return 1;
    d.buffer = sbt_record_role(schema, record, SBT_ROLE_HOST_DST, 0);
    size = whole > expected.size ? whole : expected.size;
    result = v->backend->readback(v->state, d.stream, d.position, d.buffer, &actual, &size);
    if (result == TSM_E_NOT_FOUND) {
        tsm_verify_pass_over(v, TSM_UNCOMPARED_ABSENT);
        return 1;
    }
    if (result < 0)
        return result;
    if (expected.size < whole && size > expected.size)
        size = expected.size;
    if (size != expected.size) {
        int64_t from = next_part(v, record, &d, expected.size, size);
        if (from < 0)
            return (int)from;
        actual += from;
        size -= (uint64_t)from;
        if (size > expected.size)
            size = expected.size;
    }
    d.buffer_size = expected.size;
    return compare_readback(v, &d, record, &expected, actual, size);
}

/* ---- memory ------------------------------------------------------------------------------- */

/* Bytes that may differ: the hash includes them, the observation has zeroes in their place. */
struct masked {
    bool any;
    uint64_t times; /* bytes of it that are times of the GPU's */
};

static int hash_memory(struct tsm_verify *v, uint64_t address, uint64_t size, struct sbt_key *out,
                       struct masked *masked)
{
    struct tsm_hasher_storage storage;
    struct tsm_hasher *hasher = tsm_hasher_init(&storage);
    const struct tsm_backend_compare *compare = v->backend->compare;
    int error = 0;

    for (uint64_t done = 0; done < size && error >= 0; done += VERIFY_CHUNK) {
        uint64_t length = size - done < VERIFY_CHUNK ? size - done : VERIFY_CHUNK;
        error = v->backend->read(v->state, address + done, v->chunk, length);
        if (error >= 0)
            tsm_hasher_add(hasher, v->chunk, length);
        if (error >= 0 && compare && compare->ignore_timestamps)
            masked->any |= compare->ignore_timestamps(v->state, address + done, v->chunk, length,
                                                      &masked->times);
        if (error >= 0)
            error = observe_bytes(v, v->chunk, length);
    }
    *out = tsm_hasher_key(hasher);
    return error < 0 ? error : 0;
}

/* Bytes of a CHECKSUM record: what they belong to, and the hash. */
struct checksum {
    uint64_t address, size;
    const uint8_t *expected;
    struct sbt_key actual;
    struct masked masked;
    struct tsm_difference d;
};

static int read_checksum(struct checksum *c, const struct sbt_record *record,
                         const struct sbt_schema *schema)
{
    size_t key_size = 0;

    *c = (struct checksum){.address = sbt_record_role(schema, record, SBT_ROLE_SRC, 0),
                           .size = sbt_record_role(schema, record, SBT_ROLE_SIZE, 0)};
    for (uint32_t i = 0; i < schema->field_count; i++)
        if (schema->fields[i].type == SBT_FIELD_BYTES)
            sbt_record_bytes(record, i, &c->expected, &key_size);
    if (!c->expected || key_size != sizeof(c->actual))
        return tsm_fail(TSM_E_FORMAT, "record %llu: checksum without a hash",
                        (unsigned long long)record->seq);
    describe_command(&c->d, record, schema);
    c->d.buffer = c->address;
    c->d.buffer_size = c->size;
    return 0;
}

static int hash_checksum(struct tsm_verify *v, struct checksum *c, const struct sbt_record *record)
{
    struct tsm_observation o = {TSM_OBSERVED_REGION, record->seq, c->d.stream,
                                c->d.position,       c->address,  c->size};
    int error = observe_begin(v, &o);

    return error < 0 ? error : hash_memory(v, c->address, c->size, &c->actual, &c->masked);
}

static bool is_equal(const struct checksum *c)
{
    return memcmp(&c->actual, c->expected, sizeof(c->actual)) == 0;
}

int tsm_verify_checksum(struct tsm_verify *v, const struct sbt_record *record,
                        const struct sbt_schema *schema)
{
    struct checksum c;
    int error = read_checksum(&c, record, schema);

    if (error < 0)
        return error;
    if (is_cut(record) || !c.size) {
        tsm_verify_pass_over(v, TSM_UNCOMPARED_CUT);
        return 1;
    }
    if (v->has_failed) {
        tsm_verify_pass_over(v, TSM_UNCOMPARED_FAILED);
        return 1;
    }
    error = hash_checksum(v, &c, record);
    if (error == TSM_E_NOT_FOUND) {
        tsm_verify_pass_over(v, TSM_UNCOMPARED_ABSENT);
        return 1;
    }
    if (error < 0)
        return error;
    if (c.masked.any && !is_equal(&c)) {
        if (c.masked.times == c.size)
            v->timed_count++;
        else
            tsm_verify_pass_over(v, TSM_UNCOMPARED_TIMES);
        return 1;
    }
    v->last_seq = record->seq;
    v->comparison_count++;
    if (is_equal(&c))
        return 1;
    if (v->backend->compare && v->backend->compare->describe_address)
        v->backend->compare->describe_address(v->state, c.address, c.d.place, sizeof(c.d.place));
    report(v, &c.d, record->seq, false);
    return 0;
}

/* ---- spot checks -------------------------------------------------------------------------- */

int tsm_verify_spot(struct tsm_verify *v, const struct sbt_record *record,
                    const struct sbt_schema *schema)
{
    struct tsm_verify_spots *s = &v->spots;
    struct checksum c;
    int error = read_checksum(&c, record, schema);

    if (error < 0 || is_cut(record) || !c.size)
        return error;
    error = hash_checksum(v, &c, record);
    if (error == TSM_E_NOT_FOUND || error == TSM_E_DEVICE || (error == 0 && c.masked.any))
        return 0; /* whoever needs the device finds its errors */
    if (error < 0)
        return error;
    s->count++;
    if (!is_equal(&c) && !s->difference_count++) {
        s->first = c.d;
        s->first_result_seq = record->seq;
        s->first_translated = translated_now(v, false);
        s->first_mixed = mixed_now(v);
    }
    return 0;
}

void tsm_verify_adopt_spots(struct tsm_verify *v)
{
    struct tsm_verify_spots *s = &v->spots;

    v->comparison_count = s->count;
    v->difference_count = s->difference_count;
    if (!s->difference_count)
        return;
    tsm_difference_locate(&s->first, v->reader, s->first_result_seq);
    v->first = s->first;
    v->first_result_seq = s->first_result_seq;
    v->first_translated = s->first_translated;
    v->first_mixed = s->first_mixed;
    if (v->on_difference)
        v->on_difference(v->user, &v->first);
}

int tsm_verify_regions(struct tsm_verify *v, const struct sbt_record *record)
{
    const struct tsm_region *regions;
    size_t count;
    int error = v->backend->regions(v->state, &regions, &count);

    for (size_t i = 0; i < count && error >= 0; i++) {
        struct tsm_observation o = {TSM_OBSERVED_REGION, record->seq,        record->stream,
                                    record->position,    regions[i].address, regions[i].size};
        struct sbt_key key;
        struct masked masked = {0};
        error = observe_begin(v, &o);
        if (error >= 0)
            error = hash_memory(v, regions[i].address, regions[i].size, &key, &masked);
    }
    return error < 0 ? error : 0;
}
