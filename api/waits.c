/* SPDX-License-Identifier: Apache-2.0 */
#include "api/waits_of.h"

#include <string.h>

#define WAY(api, place) ((uint32_t)(api) << 16 | ((uint32_t)(place) + 1))

static struct tsm_wait_calls calls_of(uint32_t api)
{
    if (api == SBT_API_VULKAN)
        return tsm_wait_calls_vulkan();
    if (api == SBT_API_HSA)
        return tsm_wait_calls_hsa();
    if (api == SBT_API_DRM)
        return tsm_wait_calls_drm();
    return (struct tsm_wait_calls){NULL, 0};
}

bool tsm_wait_has_calls(uint32_t api)
{
    return calls_of(api).count != 0;
}

struct tsm_wait_object tsm_wait_object_of(uint64_t key)
{
    const uint64_t object = key & (TSM_WAIT_KEY(1, 0) - 1);

    switch (key >> 56) {
    case SBT_API_VULKAN:
        return tsm_wait_object_vulkan(object);
    case SBT_API_HSA:
        return (struct tsm_wait_object){"signal", object};
    case SBT_API_DRM:
        return tsm_wait_object_drm(object);
    default:
        return (struct tsm_wait_object){NULL, key};
    }
}

/* A name that ends with "*" stands for all that begin so. */
static bool is_called(const char *name, const char *pattern)
{
    const size_t size = strlen(pattern);

    return size && pattern[size - 1] == '*' ? strncmp(name, pattern, size - 1) == 0
                                            : strcmp(name, pattern) == 0;
}

uint32_t tsm_wait_way(const struct sbt_schema *schema)
{
    const uint32_t api = SBT_TYPE_API(schema->type);
    const struct tsm_wait_calls calls = calls_of(api);

    for (size_t i = 0; i < calls.count; i++)
        if (is_called(schema->name, calls.list[i].name))
            return WAY(api, i);
    return 0;
}

int tsm_wait_each(uint32_t way, struct sbt_reader *reader, const struct sbt_record *record,
                  const struct sbt_schema *schema,
                  int (*visit)(void *user, const struct tsm_wait_step *step), void *user)
{
    const struct tsm_wait_visit v = {reader, record, schema, visit, user};
    const struct tsm_wait_call *call;

    if (!way)
        return 0;
    call = &calls_of(way >> 16).list[(way & 0xffff) - 1];
    return call->each(&v, call->detail);
}

bool tsm_wait_of_state(const struct sbt_record *record, struct tsm_wait_step *step, uint64_t *key)
{
    if (record->type != SBT_TYPE(SBT_API_CORE, SBT_CORE_STATE) || record->slot_count < 4 ||
        record->slots[1] != SBT_STATE_SIGNAL)
        return false;
    *step = (struct tsm_wait_step){
        .kind = TSM_WAIT_SET, .object = record->slots[2], .value = record->slots[3]};
    *key = TSM_WAIT_KEY(SBT_API_HSA, step->object);
    return true;
}

int tsm_wait_field(const struct sbt_schema *schema, const char *field)
{
    for (uint32_t i = 0; i < schema->field_count; i++)
        if (strcmp(schema->fields[i].name, field) == 0)
            return (int)i;
    return -1;
}

uint64_t tsm_wait_slot(const struct tsm_wait_visit *v, const char *field, uint64_t absent)
{
    const int i = tsm_wait_field(v->schema, field);

    return i >= 0 && (uint32_t)i < v->record->slot_count ? v->record->slots[i] : absent;
}
