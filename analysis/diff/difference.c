/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/diff/difference.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/text.h"

bool tsm_difference_bytes(struct tsm_difference *d, uint64_t base, const uint8_t *expected,
                          const uint8_t *actual, size_t size)
{
    size_t first = 0, count = 0;

    while (first < size && expected[first] == actual[first])
        first++;
    if (first == size)
        return false;
    for (size_t i = first; i < size; i++)
        count += expected[i] != actual[i];
    if (!d->byte_count && !d->shown) {
        size_t shown = size - first < sizeof(d->expected) ? size - first : sizeof(d->expected);
        d->offset = base + first;
        d->shown = (uint32_t)shown;
        memcpy(d->expected, expected + first, shown);
        memcpy(d->actual, actual + first, shown);
    }
    d->byte_count += count;
    return true;
}

static bool is_zero(const uint8_t *bytes, size_t size)
{
    return !size || (!bytes[0] && !memcmp(bytes, bytes + 1, size - 1));
}

static bool key_equal(const struct sbt_key *key, const uint8_t *actual, size_t size)
{
    if (tsm_key_is_zero(key))
        return is_zero(actual, size);
    struct sbt_key have = tsm_hash_key(actual, size);
    return tsm_key_equal(key, &have);
}

/* Compares one piece by its bytes; `piece` has room for them. Returns 1 if they differ. Sets
 * *unknown if the recording holds the piece's key only. */
static int compare_piece(struct tsm_difference *d, struct sbt_reader *reader,
                         const struct sbt_blob *blob, uint64_t base, const uint8_t *actual,
                         size_t size, uint8_t *piece, bool *unknown)
{
    int error = sbt_reader_blob(reader, blob, base, piece, size);

    if (!error)
        return tsm_difference_bytes(d, base, piece, actual, size);
    if (error != TSM_E_NOT_FOUND)
        return error;
    struct sbt_key key = sbt_blob_key(blob, base / SBT_PIECE_SIZE);
    if (key_equal(&key, actual, size))
        return 0;
    *unknown = true;
    if (!d->shown)
        d->offset = base;
    return 1;
}

int tsm_difference_blob(struct tsm_difference *d, struct sbt_reader *reader,
                        const struct sbt_blob *expected, const uint8_t *actual, uint64_t size)
{
    uint64_t common = size < expected->size ? size : expected->size;
    uint8_t *piece = malloc(SBT_PIECE_SIZE);
    bool differs = false, unknown = false;
    int result = 0;

    if (!piece)
        return tsm_fail(TSM_E_MEMORY, "no memory for a piece");
    for (uint64_t base = 0; base < common && result >= 0; base += SBT_PIECE_SIZE) {
        size_t length = common - base < SBT_PIECE_SIZE ? (size_t)(common - base) : SBT_PIECE_SIZE;
        result = compare_piece(d, reader, expected, base, actual + base, length, piece, &unknown);
        differs |= result > 0;
    }
    free(piece);
    if (result >= 0 && !differs && size != expected->size) {
        d->offset = common;
        differs = true;
    }
    if (unknown) /* a count of some would mislead */
        d->byte_count = 0;
    return result < 0 ? result : differs;
}

/* ---- names -------------------------------------------------------------------------------- */

static void take_names(struct tsm_difference *d, struct sbt_reader *reader,
                       const struct sbt_record *record)
{
    const struct sbt_schema *schema = sbt_reader_schema(reader, record->type);
    uint64_t name;

    d->seq = record->seq;
    d->stream = record->stream;
    d->position = record->position;
    d->stack = record->stack;
    if (!schema)
        return;
    d->call = schema->name;
    name = sbt_record_role(schema, record, SBT_ROLE_FUNCTION_NAME, 0);
    if (name && sbt_reader_string(reader, (uint32_t)name))
        d->function = sbt_reader_string(reader, (uint32_t)name);
}

static void init_names(struct tsm_difference *d)
{
    d->call = d->call ? d->call : "";
    d->function = d->function ? d->function : "";
}

void tsm_difference_locate(struct tsm_difference *d, struct sbt_reader *reader, uint64_t before_seq)
{
    struct sbt_filter filter = {.streams = &d->stream, .stream_count = 1};
    const struct sbt_record *record;
    struct sbt_cursor *cursor;

    init_names(d);
    if (d->stream == SBT_STREAM_NONE || sbt_cursor_create(&cursor, reader, &filter, 0) < 0)
        return;
    if (sbt_cursor_seek(cursor, before_seq) >= 0) {
        while (sbt_cursor_previous(cursor, &record) == 1) {
            if (record->position == d->position) {
                take_names(d, reader, record);
                break;
            }
        }
    }
    sbt_cursor_destroy(cursor);
}

struct place {
    uint64_t address, size;
};

static bool overlaps(const struct place *place, uint64_t address, uint64_t size)
{
    return address && (address - place->address < place->size || place->address - address < size);
}

static bool may_write(const struct place *place, const struct sbt_record *record,
                      const struct sbt_schema *schema)
{
    const enum sbt_role roles[] = {SBT_ROLE_DST, SBT_ROLE_HOST_DST};
    const uint64_t size = sbt_record_role(schema, record, SBT_ROLE_SIZE, 0);
    const int arguments = sbt_schema_role(schema, SBT_ROLE_ARGUMENTS);
    const uint8_t *bytes = NULL;
    size_t length = 0;
    bool is_open = arguments < 0 && schema->kind == SBT_KIND_COMMAND; /* nothing says where */

    if (record->type == SBT_TYPE(SBT_API_CORE, SBT_CORE_HOST_WRITE))
        return overlaps(place, sbt_record_role(schema, record, SBT_ROLE_HOST_SRC, 0), size);
    if (record->stream == SBT_STREAM_NONE)
        return false;
    for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++) {
        if (overlaps(place, sbt_record_role(schema, record, roles[i], 0), size))
            return true;
        is_open &= sbt_schema_role(schema, roles[i]) < 0;
    }
    if (is_open) /* a graph */
        return true;
    if (arguments < 0 || !sbt_record_bytes(record, (uint32_t)arguments, &bytes, &length))
        return false;
    for (size_t at = 0; at + 8 <= length; at += 8)
        if (overlaps(place, tsm_get_u64(bytes + at), 1))
            return true;
    return false;
}

uint64_t tsm_difference_overwrites(struct sbt_reader *reader, const struct sbt_record *result,
                                   const struct sbt_schema *schema, uint64_t *steps)
{
    const uint64_t stream = sbt_record_role(schema, result, SBT_ROLE_OF_STREAM, SBT_STREAM_NONE);
    const uint64_t position = sbt_record_role(schema, result, SBT_ROLE_OF_POSITION, 0);
    const struct place place = {sbt_record_role(schema, result, SBT_ROLE_SRC, 0),
                                sbt_record_role(schema, result, SBT_ROLE_SIZE, 0)};
    const struct sbt_record *record;
    struct sbt_cursor *cursor;
    uint64_t count = 0;

    if (sbt_cursor_create(&cursor, reader, NULL, 0) < 0)
        return 0;
    if (sbt_cursor_seek(cursor, result->seq) >= 0)
        while (*steps && (*steps)-- && sbt_cursor_previous(cursor, &record) == 1 &&
               (record->stream != stream || record->position != position)) {
            schema = sbt_reader_schema(reader, record->type);
            count += schema && record->stream != stream && may_write(&place, record, schema);
        }
    sbt_cursor_destroy(cursor);
    return count;
}

void tsm_difference_name(struct tsm_difference *d, struct sbt_reader *reader)
{
    struct sbt_filter filter = {.seq_first = d->seq, .seq_end = d->seq + 1};
    const struct sbt_record *record;
    struct sbt_cursor *cursor;

    init_names(d);
    if (sbt_cursor_create(&cursor, reader, &filter, 0) < 0)
        return;
    if (sbt_cursor_next(cursor, &record) == 1)
        take_names(d, reader, record);
    sbt_cursor_destroy(cursor);
}

void tsm_difference_command_text(char *out, size_t size, struct sbt_reader *reader, uint64_t seq)
{
    struct tsm_difference d = {.seq = seq};

    tsm_difference_name(&d, reader);
    tsm_format(out, size, "record %llu, %s%s%s on stream %u", (unsigned long long)seq, d.call,
               *d.function ? " of " : "", d.function, d.stream);
}
