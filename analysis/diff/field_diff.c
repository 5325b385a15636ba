/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/diff/field_diff.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/diff/difference.h"
#include "base/bytes.h"
#include "base/hash.h"
#include "base/text.h"

int tsm_field_diff_texts(struct tsm_field_diff *out, const char *field, const char *a,
                         const char *b)
{
    out->field = field;
    tsm_format(out->value_a, sizeof(out->value_a), "%s", a ? a : "");
    tsm_format(out->value_b, sizeof(out->value_b), "%s", b ? b : "");
    return 1;
}

int tsm_field_diff_unknown(struct tsm_field_diff *out, const char *field, const char *why)
{
    tsm_field_diff_texts(out, field, why, why);
    return TSM_FIELDS_UNKNOWN;
}

static int numbers_differ(struct tsm_field_diff *out, const char *field, bool is_hex, uint64_t a,
                          uint64_t b)
{
    out->field = field;
    if (is_hex) {
        tsm_format(out->value_a, sizeof(out->value_a), "0x%llx", (unsigned long long)a);
        tsm_format(out->value_b, sizeof(out->value_b), "0x%llx", (unsigned long long)b);
    } else {
        tsm_format(out->value_a, sizeof(out->value_a), "%lld", (long long)a);
        tsm_format(out->value_b, sizeof(out->value_b), "%lld", (long long)b);
    }
    return 1;
}

/* ---- bytes -------------------------------------------------------------------------------- */

static int bytes_differ(struct tsm_field_diff *out, const char *field)
{
    const struct tsm_difference *d = &out->difference;

    out->field = field;
    if (!d->shown)
        return tsm_field_diff_texts(out, field, "other bytes", "other bytes");
    tsm_format(out->value_a, sizeof(out->value_a), "byte %llu is %02x",
               (unsigned long long)d->offset, d->expected[0]);
    tsm_format(out->value_b, sizeof(out->value_b), "byte %llu is %02x",
               (unsigned long long)d->offset, d->actual[0]);
    return 1;
}

static int sizes_differ(struct tsm_field_diff *out, const char *field, uint64_t a, uint64_t b)
{
    out->difference.offset = a < b ? a : b;
    out->field = field;
    tsm_format(out->value_a, sizeof(out->value_a), "%llu bytes", (unsigned long long)a);
    tsm_format(out->value_b, sizeof(out->value_b), "%llu bytes", (unsigned long long)b);
    return 1;
}

#define ADDRESS_MIN 65536u /* no allocation lies below */

/* A word of an argument block may be an address. */
static int compare_word(const struct tsm_field_diff_input *in, uint64_t a, uint64_t b)
{
    uint64_t seq_a = in->records[0]->seq, seq_b = in->records[1]->seq;

    if (tsm_pairing_is_opaque(in->pairing, a, b))
        return TSM_FIELDS_AGREE;
    if (!in->ignore_addresses)
        return tsm_pairing_address(in->pairing, a, seq_a, b, seq_b) ? TSM_FIELDS_AGREE
                                                                    : TSM_FIELDS_DIFFER;
    if (tsm_pairing_knows(in->pairing, 0, a, seq_a) && tsm_pairing_knows(in->pairing, 1, b, seq_b))
        return TSM_FIELDS_AGREE;
    return a < ADDRESS_MIN || b < ADDRESS_MIN ? TSM_FIELDS_DIFFER : TSM_FIELDS_UNKNOWN;
}

/* Tests whether a word that both have is an address in both: of the same place only if allocations
 * say so. */
static bool is_place(const struct tsm_field_diff_input *in, uint64_t word)
{
    return !in->ignore_addresses && tsm_pairing_knows(in->pairing, 0, word, in->records[0]->seq) &&
           tsm_pairing_knows(in->pairing, 1, word, in->records[1]->seq);
}

/* Tests whether a word that both have is an address in one of them only, as of memory that the
 * other one has freed, or a number by chance. */
static bool is_place_once(const struct tsm_field_diff_input *in, uint64_t word)
{
    return !in->ignore_addresses &&
           tsm_pairing_knows(in->pairing, 0, word, in->records[0]->seq) !=
               tsm_pairing_knows(in->pairing, 1, word, in->records[1]->seq);
}

/* Compares bytes that may hold addresses. `base`: their offset. */
static int compare_words(struct tsm_field_diff *out, const struct tsm_field_diff_input *in,
                         const char *field, uint64_t base, const uint8_t *a, const uint8_t *b,
                         size_t size)
{
    int result = TSM_FIELDS_AGREE;

    for (size_t at = 0; at < size; at += 8) {
        size_t length = size - at < 8 ? size - at : 8;
        int word = TSM_FIELDS_DIFFER;
        const bool is_equal = !memcmp(a + at, b + at, length);
        if (is_equal && length == 8 && is_place_once(in, tsm_get_u64(a + at)))
            result = tsm_field_diff_unknown(out, field, "an address in one trace only");
        if (is_equal && (length < 8 || !is_place(in, tsm_get_u64(a + at))))
            continue;
        if (length == 8)
            word = compare_word(in, tsm_get_u64(a + at), tsm_get_u64(b + at));
        if (word == TSM_FIELDS_UNKNOWN)
            result = tsm_field_diff_unknown(out, field, "a word that may be an address");
        if (word != TSM_FIELDS_DIFFER)
            continue;
        if (!tsm_difference_bytes(&out->difference, base + at, a + at, b + at, length))
            return tsm_field_diff_texts(out, field, "an address", "the same, of other memory");
        return bytes_differ(out, field);
    }
    return result;
}

int tsm_field_diff_bytes(struct tsm_field_diff *out, const char *field, const uint8_t *a,
                         size_t size_a, const uint8_t *b, size_t size_b)
{
    if (size_a != size_b)
        return sizes_differ(out, field, size_a, size_b);
    if (!size_a || !tsm_difference_bytes(&out->difference, 0, a, b, size_a))
        return 0;
    return bytes_differ(out, field);
}

/* Tests whether all elements name the same objects, and say the same of them. */
static bool names_same(const struct tsm_field_diff_input *in, const char *detail, const uint8_t *a,
                       const uint8_t *b, size_t size)
{
    const size_t stride = tsm_pairing_list(detail);
    size_t at = 0;

    for (; at + stride <= size; at += stride)
        if (!tsm_pairing_handle(in->pairing, detail, tsm_get_u32(a + at), tsm_get_u32(b + at)) ||
            memcmp(a + at + 4, b + at + 4, stride - 4) != 0)
            return false;
    return !memcmp(a + at, b + at, size - at);
}

static int compare_objects(struct tsm_field_diff *out, const struct tsm_field_diff_input *in,
                           const struct sbt_field *field, const uint8_t *a, const uint8_t *b,
                           size_t size)
{
    if (names_same(in, field->detail, a, b, size))
        return TSM_FIELDS_AGREE;
    if (tsm_field_diff_bytes(out, field->name, a, size, b, size))
        return TSM_FIELDS_DIFFER;
    return tsm_field_diff_texts(out, field->name, "objects", "other objects of the same numbers");
}

static int compare_bytes(struct tsm_field_diff *out, const struct tsm_field_diff_input *in,
                         uint32_t index)
{
    const struct sbt_field *field = &in->schemas[0]->fields[index];
    const uint8_t *a = NULL, *b = NULL;
    size_t size_a = 0, size_b = 0;

    if (!sbt_record_bytes(in->records[0], index, &a, &size_a) ||
        !sbt_record_bytes(in->records[1], index, &b, &size_b))
        return tsm_field_diff_unknown(out, field->name, "malformed");
    if (size_a == size_b && tsm_pairing_list(field->detail))
        return compare_objects(out, in, field, a, b, size_a);
    if (field->role == SBT_ROLE_ARGUMENTS && size_a == size_b)
        return compare_words(out, in, field->name, 0, a, b, size_a);
    return tsm_field_diff_bytes(out, field->name, a, size_a, b, size_b);
}

/* ---- blobs -------------------------------------------------------------------------------- */

/* Tests whether all words that differ, or are addresses in both, lead to the same places. */
static bool is_moved(const struct tsm_field_diff_input *in, const uint8_t *a, const uint8_t *b,
                     size_t size)
{
    for (size_t at = 0; at < size; at += 8) {
        size_t length = size - at < 8 ? size - at : 8;
        if ((memcmp(a + at, b + at, length) != 0 ||
             (length == 8 && is_place(in, tsm_get_u64(a + at)))) &&
            (length < 8 ||
             compare_word(in, tsm_get_u64(a + at), tsm_get_u64(b + at)) != TSM_FIELDS_AGREE))
            return false;
    }
    return true;
}

/* Compares pieces with other keys, of which a trace may hold the keys only, and bytes in records:
 * equal ones may be addresses of other memory. */
static int compare_piece(struct tsm_field_diff *out, const struct tsm_field_diff_input *in,
                         const char *detail, const struct sbt_blob *a, const struct sbt_blob *b,
                         uint64_t base, size_t size)
{
    uint8_t *bytes = malloc(2 * SBT_PIECE_SIZE);
    const struct sbt_key key_a = sbt_blob_key(a, base / SBT_PIECE_SIZE);
    const struct sbt_key key_b = sbt_blob_key(b, base / SBT_PIECE_SIZE);
    const bool is_same = tsm_key_equal(&key_a, &key_b);
    bool agrees = false;
    int error;

    if (!bytes)
        return tsm_fail(TSM_E_MEMORY, "no memory to compare with");
    error = sbt_reader_blob(in->readers[0], a, base, bytes, size);
    if (error >= 0)
        error = sbt_reader_blob(in->readers[1], b, base, bytes + SBT_PIECE_SIZE, size);
    if (error >= 0)
        agrees = tsm_pairing_list(detail)
                     ? names_same(in, detail, bytes, bytes + SBT_PIECE_SIZE, size)
                     : is_moved(in, bytes, bytes + SBT_PIECE_SIZE, size);
    if (error >= 0 && !agrees)
        tsm_difference_bytes(&out->difference, base, bytes, bytes + SBT_PIECE_SIZE, size);
    else if (error == TSM_E_NOT_FOUND)
        out->difference.offset = base;
    free(bytes);
    if (error == TSM_E_NOT_FOUND)
        return !is_same;
    return error < 0 ? error : !agrees;
}

static int compare_blobs(struct tsm_field_diff *out, const struct tsm_field_diff_input *in,
                         uint32_t index)
{
    const struct sbt_field *field = &in->schemas[0]->fields[index];
    struct sbt_blob a, b;
    int result = 0;

    if (!sbt_record_blob(in->records[0], index, &a) || !sbt_record_blob(in->records[1], index, &b))
        return tsm_field_diff_unknown(out, field->name, "malformed");
    if (a.size != b.size)
        return sizes_differ(out, field->name, a.size, b.size);
    for (uint64_t base = 0; base < a.size && !result; base += SBT_PIECE_SIZE) {
        size_t size = a.size - base < SBT_PIECE_SIZE ? (size_t)(a.size - base) : SBT_PIECE_SIZE;
        struct sbt_key key_a = sbt_blob_key(&a, base / SBT_PIECE_SIZE);
        struct sbt_key key_b = sbt_blob_key(&b, base / SBT_PIECE_SIZE);
        if (tsm_pairing_list(field->detail) || !tsm_key_equal(&key_a, &key_b) ||
            (a.bytes && b.bytes && !is_moved(in, a.bytes, b.bytes, size)))
            result = compare_piece(out, in, field->detail, &a, &b, base, size);
    }
    return result == 1 ? bytes_differ(out, field->name) : result;
}

/* ---- fields ------------------------------------------------------------------------------- */

static int compare_strings(struct tsm_field_diff *out, const struct tsm_field_diff_input *in,
                           const char *field, uint64_t a, uint64_t b)
{
    const char *text_a = sbt_reader_string(in->readers[0], (uint32_t)a);
    const char *text_b = sbt_reader_string(in->readers[1], (uint32_t)b);

    if (text_a && text_b && !strcmp(text_a, text_b))
        return 0;
    if (!text_a || !text_b)
        return tsm_field_diff_unknown(out, field, "a text that is not there");
    return tsm_field_diff_texts(out, field, text_a, text_b);
}

/* Compares addresses that a command is given. One that no allocation holds may be of memory of the
 * program: pages must correspond there, and where they do not, it is unknown where they lead. */
static int compare_address(struct tsm_field_diff *out, const struct tsm_field_diff_input *in,
                           const char *field, uint64_t a, uint64_t b)
{
    uint64_t seq_a = in->records[0]->seq, seq_b = in->records[1]->seq;

    if (in->ignore_addresses || tsm_pairing_address(in->pairing, a, seq_a, b, seq_b))
        return TSM_FIELDS_AGREE;
    if (a < ADDRESS_MIN || b < ADDRESS_MIN || tsm_pairing_knows(in->pairing, 0, a, seq_a) ||
        tsm_pairing_knows(in->pairing, 1, b, seq_b))
        return numbers_differ(out, field, true, a, b);
    if (tsm_pairing_host(in->pairing, a, seq_a, b, seq_b))
        return TSM_FIELDS_AGREE;
    numbers_differ(out, field, true, a, b);
    return TSM_FIELDS_UNKNOWN;
}

/* Compares the addresses of a list of copies. */
static int compare_addresses(struct tsm_field_diff *out, const struct tsm_field_diff_input *in,
                             const struct sbt_field *field)
{
    size_t count_a, count_b;
    const uint8_t *a = sbt_record_role_list(in->schemas[0], in->records[0],
                                            (enum sbt_role)field->role, &count_a),
                  *b = sbt_record_role_list(in->schemas[1], in->records[1],
                                            (enum sbt_role)field->role, &count_b);
    int result = TSM_FIELDS_AGREE;

    if (count_a != count_b)
        return numbers_differ(out, field->name, false, count_a, count_b);
    for (size_t i = 0; i < count_a && result != TSM_FIELDS_DIFFER; i++) {
        const int other =
            compare_address(out, in, field->name, tsm_get_u64(a + i * 8), tsm_get_u64(b + i * 8));

        result = other == TSM_FIELDS_AGREE ? result : other;
    }
    return result;
}

int tsm_field_diff_number(struct tsm_field_diff *out, const struct tsm_field_diff_input *in,
                          const char *field, enum sbt_field_type type, const char *detail,
                          uint64_t a, uint64_t b)
{
    switch (type) {
    case SBT_FIELD_HOSTPTR:
        return 0;
    case SBT_FIELD_INT:
        if (a == b || !strcmp(detail, SBT_DETAIL_FD))
            return 0;
        return numbers_differ(out, field, false, a, b);
    case SBT_FIELD_HANDLE:
        if (tsm_pairing_handle(in->pairing, detail, a, b))
            return 0;
        return numbers_differ(out, field, false, a, b);
    case SBT_FIELD_DEVPTR:
        return compare_address(out, in, field, a, b);
    case SBT_FIELD_HEX:
        if (*detail ? tsm_pairing_opaque(in->pairing, detail, a, b) : a == b)
            return 0;
        return numbers_differ(out, field, true, a, b);
    default:
        return a == b ? 0
                      : numbers_differ(out, field, type == SBT_FIELD_HEX || type == SBT_FIELD_FLAGS,
                                       a, b);
    }
}

/* Two positions that must stand for the same command. */
static int compare_positions(struct tsm_field_diff *out, const struct tsm_field_diff_input *in,
                             const char *field, uint64_t a, uint64_t b)
{
    if (in->ignore_positions || tsm_pairing_position(in->pairing, in->strand, a, b))
        return TSM_FIELDS_AGREE;
    return tsm_field_diff_unknown(out, field, "another command");
}

/* Host memory that the device reads is where the program put it: in allocations that map one to
 * one. */
static int compare_written(struct tsm_field_diff *out, const struct tsm_field_diff_input *in,
                           const char *field, uint64_t a, uint64_t b)
{
    const struct sbt_record *const *records = in->records;

    if (in->ignore_addresses ||
        tsm_pairing_host(in->pairing, a, records[0]->seq, b, records[1]->seq))
        return TSM_FIELDS_AGREE;
    if (tsm_pairing_knows(in->pairing, 0, a, records[0]->seq) &&
        tsm_pairing_knows(in->pairing, 1, b, records[1]->seq))
        return numbers_differ(out, field, true, a, b);
    return tsm_field_diff_unknown(out, field, "another address");
}

static int compare_streams(struct tsm_field_diff *out, const struct tsm_field_diff_input *in,
                           const char *field, uint64_t a, uint64_t b)
{
    if (a <= UINT32_MAX && tsm_counterparts_stream(in->counterparts, 1, b) == a)
        return TSM_FIELDS_AGREE;
    return numbers_differ(out, field, false, a, b);
}

static bool same_field(const struct sbt_field *a, const struct sbt_field *b)
{
    return a->type == b->type && a->role == b->role && !strcmp(a->name, b->name) &&
           (a->type == SBT_FIELD_HEX || !strcmp(a->detail, b->detail));
}

/* Tests for an argument of a failed call: an address or handle of nothing, which the program may
 * have taken from anywhere. */
static bool is_refused(const struct tsm_field_diff_input *in, const struct sbt_field *field)
{
    return (in->records[0]->flags & SBT_RECORD_FAILED) &&
           (field->type == SBT_FIELD_DEVPTR || field->type == SBT_FIELD_HANDLE);
}

/* Tests whether only one of the commands was sent before its source was complete: how fast the
 * device is decides that. Its record has no payload. */
static bool is_late_once(const struct tsm_field_diff_input *in)
{
    return (in->records[0]->flags ^ in->records[1]->flags) & SBT_RECORD_LATE;
}

static bool is_stream(const struct sbt_field *field)
{
    return field->role == SBT_ROLE_STREAM_MADE || field->role == SBT_ROLE_OF_STREAM ||
           (field->type == SBT_FIELD_UINT && !strcmp(field->detail, SBT_DETAIL_STREAM));
}

static bool may_name_object(const struct sbt_field *field)
{
    return is_stream(field) || field->type == SBT_FIELD_HANDLE || field->type == SBT_FIELD_DEVPTR ||
           field->type == SBT_FIELD_HEX || field->type == SBT_FIELD_BYTES ||
           field->type == SBT_FIELD_BLOB || field->type == SBT_FIELD_STRUCT;
}

static int compare_field(struct tsm_field_diff *out, const struct tsm_field_diff_input *in,
                         uint32_t index)
{
    const struct sbt_field *field = &in->schemas[0]->fields[index];
    uint64_t a = in->records[0]->slots[index], b = in->records[1]->slots[index];

    if (field->role == SBT_ROLE_PAYLOAD && is_late_once(in))
        return tsm_field_diff_unknown(out, field->name, "bytes that one trace has only");
    if (!same_field(field, &in->schemas[1]->fields[index]))
        return tsm_field_diff_unknown(out, field->name, "another field");
    if (is_refused(in, field))
        return TSM_FIELDS_AGREE;
    out->may_name_object = may_name_object(field);
    if (is_stream(field))
        return compare_streams(out, in, field->name, a, b);
    if (field->role == SBT_ROLE_OF_POSITION)
        return compare_positions(out, in, field->name, a, b);
    if (tsm_field_diff_is_write(in->records[0]) && field->role == SBT_ROLE_HOST_SRC)
        return compare_written(out, in, field->name, a, b);
    switch (field->type) {
    case SBT_FIELD_STRING:
        return compare_strings(out, in, field->name, a, b);
    case SBT_FIELD_BYTES:
        return field->role == SBT_ROLE_DST || field->role == SBT_ROLE_SRC
                   ? compare_addresses(out, in, field)
                   : compare_bytes(out, in, index);
    case SBT_FIELD_BLOB:
        return compare_blobs(out, in, index);
    case SBT_FIELD_STRUCT:
        return tsm_value_diff(out, in, index);
    default:
        return tsm_field_diff_number(out, in, field->name, field->type, field->detail, a, b);
    }
}

/* Slots that both records have and both schemas describe. */
static uint32_t common_count(const struct tsm_field_diff_input *in, bool *all)
{
    uint32_t counts[4] = {in->records[0]->slot_count, in->records[1]->slot_count,
                          in->schemas[0]->field_count, in->schemas[1]->field_count};
    uint32_t least = counts[0];

    *all = true;
    for (int i = 0; i < 4; i++) {
        *all &= counts[i] == counts[0];
        least = counts[i] < least ? counts[i] : least;
    }
    return least;
}

/* Tests whether one of the records may hold less than the call was given. */
static bool is_cut(const struct tsm_field_diff_input *in)
{
    return (in->records[0]->flags | in->records[1]->flags) &
           (SBT_RECORD_TRUNCATED | SBT_RECORD_UNFINISHED);
}

static int compare_fields(struct tsm_field_diff *out, const struct tsm_field_diff_input *in)
{
    struct tsm_field_diff unknown;
    bool all, is_unknown = false;
    uint32_t count = common_count(in, &all);
    int result = TSM_FIELDS_AGREE;

    for (uint32_t i = 0; i < count; i++) {
        result = compare_field(out, in, i);
        if (result == TSM_FIELDS_DIFFER && is_cut(in))
            result = TSM_FIELDS_UNKNOWN;
        if (result < 0 || result == TSM_FIELDS_DIFFER)
            return result;
        if (result == TSM_FIELDS_UNKNOWN && !is_unknown) {
            unknown = *out;
            is_unknown = true;
        }
        /* Skips the bytes: they are the results of two different commands. */
        if (result == TSM_FIELDS_UNKNOWN && in->schemas[0]->fields[i].role == SBT_ROLE_OF_POSITION)
            break;
    }
    if (is_unknown)
        *out = unknown;
    if (all && !is_unknown && is_late_once(in))
        return tsm_field_diff_unknown(out, "flags", "late in one trace only");
    if (is_unknown || all)
        return is_unknown ? TSM_FIELDS_UNKNOWN : TSM_FIELDS_AGREE;
    return tsm_field_diff_unknown(out, "fields", "another number of them");
}

/* Flags that say what the call did. Those that say what the record lacks are not differences. */
#define COMPARED_FLAGS (SBT_RECORD_FAILED | SBT_RECORD_CAPTURED | SBT_RECORD_ORDERED)

int tsm_field_diff(struct tsm_field_diff *out, const struct tsm_field_diff_input *in)
{
    const struct sbt_record *a = in->records[0], *b = in->records[1];

    memset(out, 0, sizeof(*out));
    out->difference.call = out->difference.function = "";
    out->field = "";
    if (a->type != b->type)
        return tsm_field_diff_texts(out, "call", in->schemas[0]->name, in->schemas[1]->name);
    if ((a->flags & SBT_RECORD_FAILED) != (b->flags & SBT_RECORD_FAILED) || a->result != b->result)
        return numbers_differ(out, "result", false, (uint64_t)a->result, (uint64_t)b->result);
    if ((a->flags & COMPARED_FLAGS) != (b->flags & COMPARED_FLAGS))
        return numbers_differ(out, "flags", true, a->flags & COMPARED_FLAGS,
                              b->flags & COMPARED_FLAGS);
    return compare_fields(out, in);
}
