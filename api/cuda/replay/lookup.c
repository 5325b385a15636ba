/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds what records name by numbers: the replay's objects by their recorded ids, schemas by types
 * of records.
 */
#include "api/cuda/replay/state.h"

const struct sbt_schema *cuda_schema(uint32_t type)
{
    const struct tsm_api_description *d = &cuda_description;
    uint32_t id = SBT_TYPE_CALL(type);

    /* Calls are numbered from 1, without gaps so far. */
    if (id && id <= d->call_count && d->calls[id - 1].schema->type == type)
        return d->calls[id - 1].schema;
    for (size_t i = 0; i < d->call_count; i++)
        if (d->calls[i].schema->type == type)
            return d->calls[i].schema;
    return NULL;
}

#define ID_END (1ull << 56) /* a higher one would be an object of another type */

static uint64_t object_key(enum cuda_object object, uint64_t id)
{
    return (uint64_t)object << 56 | id;
}

void *cuda_object_find(const struct cuda_replay *replay, enum cuda_object object, uint64_t id)
{
    const uint64_t *raw =
        id < ID_END ? tsm_map_find(&replay->objects, object_key(object, id)) : NULL;

    return raw ? (void *)(uintptr_t)*raw : NULL;
}

int cuda_object_set(struct cuda_replay *replay, enum cuda_object object, uint64_t id,
                    const void *raw)
{
    if (id >= ID_END)
        return tsm_fail(TSM_E_FORMAT, "%llx is no number of an object", (unsigned long long)id);
    return tsm_map_set(&replay->objects, object_key(object, id), (uintptr_t)raw)
               ? 0
               : tsm_fail(TSM_E_MEMORY, "no memory for objects");
}
