/* SPDX-License-Identifier: Apache-2.0
 *
 * Objects by their recorded ids, and what all replay functions read of a record.
 */
#include "api/hsa/replay/replay.h"

#include <stdlib.h>


uint64_t hsa_slot(const struct sbt_record *record, uint32_t slot)
{
    return slot < record->slot_count ? record->slots[slot] : 0;
}

static uint64_t object_key(enum hsa_object object, uint64_t id)
{
    return (uint64_t)object << 32 | (uint32_t)id;
}

uint64_t hsa_object_find(const struct hsa_replay *replay, enum hsa_object object, uint64_t id)
{
    const uint64_t *found = id ? tsm_map_find(&replay->objects, object_key(object, id)) : NULL;

    return found ? *found : 0;
}

int hsa_object_add(struct hsa_replay *replay, enum hsa_object object, uint64_t id, uint64_t value)
{
    bool added;
    uint64_t *place = id ? tsm_map_insert(&replay->objects, object_key(object, id), &added) : NULL;

    if (!id)
        return tsm_fail(TSM_E_FORMAT, "an object without an id");
    if (!place)
        return tsm_fail(TSM_E_MEMORY, "no memory for objects");
    if (!added)
        return tsm_fail(TSM_E_FORMAT, "an object that is there already");
    *place = value;
    return 0;
}

int hsa_blob_read(struct hsa_replay *replay, const struct sbt_record *record, uint32_t slot,
                  uint8_t **out, uint64_t *size)
{
    struct sbt_blob blob;
    int got;

    *out = NULL;
    *size = 0;
    if (slot >= record->slot_count || !sbt_record_blob(record, slot, &blob))
        return tsm_fail(TSM_E_FORMAT, "has no bytes");
    if (!blob.size)
        return 0;
    *out = malloc(blob.size);
    if (!*out)
        return tsm_fail(TSM_E_MEMORY, "no memory for %llu bytes", (unsigned long long)blob.size);
    got = sbt_reader_blob(replay->reader, &blob, 0, *out, blob.size);
    *size = blob.size;
    if (got >= 0)
        return 0;
    free(*out);
    *out = NULL;
    return got;
}

int hsa_fail(const struct hsa_replay *replay, const char *call, hsa_status_t status)
{
    char why[512] = "";

    if (replay->sandbox_why)
        replay->sandbox_why(why, sizeof(why));
    if (*why)
        return tsm_fail(TSM_E_DEVICE, "%s: %s", call, why);
    for (size_t i = 0; i < hsa_description.enums[0].value_count; i++)
        if (hsa_description.enums[0].values[i].value == (int64_t)status)
            return tsm_fail(TSM_E_DEVICE, "%s: %s", call, hsa_description.enums[0].values[i].name);
    return tsm_fail(TSM_E_DEVICE, "%s: error 0x%x", call, (unsigned)status);
}
