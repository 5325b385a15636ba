/* SPDX-License-Identifier: Apache-2.0 */
#include "base/bytes.h"
#include "base/hash.h"
#include "format/events/record.h"
#include "format/events/rows.h"
#include "tracesmith/error.h"
#include "tracesmith/trace.h"

#include <string.h>

bool sbt_record_bytes(const struct sbt_record *record, uint32_t index, const uint8_t **data,
                      size_t *size)
{
    uint64_t slot, offset, length;

    if (index >= record->slot_count)
        return false;
    slot = record->slots[index];
    offset = slot >> 32;
    length = slot & 0xffffffffu;
    if (offset > record->data_size || length > record->data_size - offset)
        return false;
    *data = offset ? record->data + offset : record->data; /* NULL: there is none */
    *size = length;
    return true;
}

static bool blob_get(const uint8_t *data, size_t size, struct sbt_blob *out)
{
    uint64_t total, pieces;

    if (size < 8)
        return false;
    total = tsm_get_u64(data);
    if (total & SBT_BLOB_INLINE) {
        total &= ~SBT_BLOB_INLINE;
        *out = (struct sbt_blob){.size = total, .bytes = data + 8};
        return total == size - 8 && total > 0 && total <= SBT_INLINE_MAX;
    }
    pieces = total / SBT_PIECE_SIZE + (total % SBT_PIECE_SIZE != 0);
    if (pieces != (size - 8) / 16 || (size - 8) % 16 != 0)
        return false;
    *out = (struct sbt_blob){.size = total, .piece_count = pieces, .keys = data + 8};
    return true;
}

static bool is_zero(const uint8_t *bytes, uint64_t size)
{
    return bytes[0] == 0 && memcmp(bytes, bytes + 1, size - 1) == 0;
}

struct sbt_key sbt_blob_key(const struct sbt_blob *blob, uint64_t i)
{
    struct sbt_key key = {{0}};

    if (!blob->bytes)
        memcpy(key.bytes, blob->keys + 16 * i, sizeof(key.bytes));
    else if (!is_zero(blob->bytes, blob->size))
        key = tsm_hash_key(blob->bytes, blob->size);
    return key;
}

bool sbt_record_blob(const struct sbt_record *record, uint32_t index, struct sbt_blob *out)
{
    const uint8_t *data;
    size_t size;

    if (!sbt_record_bytes(record, index, &data, &size))
        return false;
    if (size != 0)
        return blob_get(data, size, out);
    *out = (struct sbt_blob){0}; /* no reference at all: the same as a blob of no bytes */
    return true;
}

int sbt_record_struct(const struct sbt_record *record, uint32_t index, const uint8_t **data,
                      size_t *size, struct sbt_blob *blob)
{
    const uint8_t *at;
    size_t left;

    if (!sbt_record_bytes(record, index, &at, &left))
        return tsm_fail(TSM_E_FORMAT, "a structured value lies outside its record's data");
    if (left == 0)
        return 0;
    if (at[0] == 0) {
        *data = at + 1;
        *size = left - 1;
        return 1; /* no record is larger than a value may be */
    }
    if (at[0] != 1 || !blob_get(at + 1, left - 1, blob) || blob->size > SBT_VALUE_MAX)
        return tsm_fail(TSM_E_FORMAT, "a structured value is kept in no way that there is");
    return 2;
}

int sbt_schema_role(const struct sbt_schema *schema, enum sbt_role role)
{
    for (uint32_t i = 0; schema && i < schema->field_count; i++) {
        if (schema->fields[i].role == role)
            return (int)i;
    }
    return -1;
}

uint64_t sbt_record_role(const struct sbt_schema *schema, const struct sbt_record *record,
                         enum sbt_role role, uint64_t absent)
{
    int i = sbt_schema_role(schema, role);

    return i >= 0 && (uint32_t)i < record->slot_count && schema->fields[i].type != SBT_FIELD_BYTES
               ? record->slots[i]
               : absent;
}

const uint8_t *sbt_record_role_list(const struct sbt_schema *schema,
                                    const struct sbt_record *record, enum sbt_role role,
                                    size_t *count)
{
    int i = sbt_schema_role(schema, role);
    const uint8_t *bytes;
    size_t size;

    *count = 0;
    if (i < 0 || schema->fields[i].type != SBT_FIELD_BYTES ||
        !sbt_record_bytes(record, (uint32_t)i, &bytes, &size))
        return NULL;
    *count = size / sizeof(uint64_t);
    return bytes;
}

bool sbt_record_taints(uint32_t schema_flags, uint32_t record_flags)
{
    return (record_flags & SBT_RECORD_TAINTS) ||
           ((schema_flags & SBT_SCHEMA_TAINTS) && !(record_flags & SBT_RECORD_FAILED));
}
