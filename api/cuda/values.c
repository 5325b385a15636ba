/* SPDX-License-Identifier: Apache-2.0 */
#include "api/values.h"

#include "base/text.h"

#include <inttypes.h>
#include <string.h>

#define CONDITION 0x3u /* bits of a wait's flags: CUstreamWaitValue_flags */

/* Calls, by what their names begin with: they have a version and a suffix. */
static const struct {
    const char *name;
    uint32_t size;
    bool is_write;
} calls[] = {
    {"cuStreamWaitValue32", 4, false},
    {"cuStreamWaitValue64", 8, false},
    {"cuStreamWriteValue32", 4, true},
    {"cuStreamWriteValue64", 8, true},
};

static bool find_slot(uint64_t *out, const struct sbt_record *record,
                      const struct sbt_schema *schema, const char *name)
{
    for (uint32_t i = 0; i < schema->field_count && i < record->slot_count; i++)
        if (!strcmp(schema->fields[i].name, name)) {
            *out = record->slots[i];
            return true;
        }
    return false;
}

bool tsm_value_access_of(struct tsm_value_access *out, const struct sbt_record *record,
                         const struct sbt_schema *schema)
{
    uint64_t flags;

    if (SBT_TYPE_API(schema->type) != SBT_API_CUDA)
        return false;
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        if (strncmp(schema->name, calls[i].name, strlen(calls[i].name)) != 0)
            continue;
        out->size = calls[i].size;
        if (!find_slot(&out->address, record, schema, "addr") ||
            !find_slot(&out->value, record, schema, "value") ||
            !find_slot(&flags, record, schema, "flags"))
            return false;
        out->kind = calls[i].is_write
                        ? SBT_VALUE_WRITE
                        : (enum sbt_value_access)(SBT_VALUE_AT_LEAST + (flags & CONDITION));
        return true;
    }
    return false;
}

bool tsm_value_ends(const struct tsm_value_access *wait, uint64_t value)
{
    const uint64_t mask = wait->size == 8 ? UINT64_MAX : UINT32_MAX;
    const uint64_t difference = (value - wait->value) & mask;

    switch (wait->kind) {
    case SBT_VALUE_AT_LEAST:
        return !(difference & (mask ^ mask >> 1));
    case SBT_VALUE_EQUAL:
        return !difference;
    case SBT_VALUE_ANY_BIT:
        return value & wait->value & mask;
    case SBT_VALUE_ZERO_BIT:
        return ~(value | wait->value) & mask;
    default:
        break;
    }
    return false;
}

const char *tsm_value_text(char out[TSM_VALUE_TEXT_MAX], const struct tsm_value_access *access)
{
    static const char *const before[] = {"", "v = ", "v >= ", "v == ", "v & ", "~(v | "};
    static const char *const behind[] = {"", "", "", "", " != 0", ") != 0"};

    tsm_format(out, TSM_VALUE_TEXT_MAX, "%s0x%" PRIx64 "%s", before[access->kind], access->value,
               behind[access->kind]);
    return out;
}
