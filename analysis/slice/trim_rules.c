/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/slice/trim_rules.h"

#include "api/traits.h"

/* The first one that a call has counts. */
static const struct {
    uint64_t traits;
    enum tsm_trim_how how;
} rules[] = {
    {TSM_TRAIT_GLOBAL, TSM_TRIM_KEEP_ALWAYS},
    {TSM_TRAIT_TRANSIENT, TSM_TRIM_KEEP_NEVER},
    {TSM_TRAIT_MAPS, TSM_TRIM_KEEP_LAST},
    {TSM_TRAIT_BEGINS, TSM_TRIM_KEEP_BEGIN},
    {TSM_TRAIT_RESETS, TSM_TRIM_KEEP_RESET},
    {TSM_TRAIT_BINDS | TSM_TRAIT_WRITES, TSM_TRIM_KEEP_TARGET},
    {TSM_TRAIT_ADDRESS, TSM_TRIM_KEEP_ROOT},
    {TSM_TRAIT_NAMES, TSM_TRIM_KEEP_NAME},
};

static enum tsm_trim_how core_how(uint32_t call)
{
    switch (call) {
    case SBT_CORE_LOST:
    case SBT_CORE_STOPPED:
    case SBT_CORE_UNMODELLED:
    case SBT_CORE_THREAD:
    case SBT_CORE_FILTERED:
        return TSM_TRIM_KEEP_ALWAYS;
    default: /* of memory and of commands */
        return TSM_TRIM_KEEP_NEVER;
    }
}

struct tsm_trim_rule tsm_trim_rule_of(const struct sbt_schema *schema)
{
    const struct tsm_call_traits call = tsm_call_traits(schema);

    if (SBT_TYPE_API(schema->type) == SBT_API_CORE)
        return (struct tsm_trim_rule){core_how(SBT_TYPE_CALL(schema->type)), NULL};
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
        if (call.traits & rules[i].traits)
            return (struct tsm_trim_rule){
                rules[i].how, *call.target && call.traits & (TSM_TRAIT_BINDS | TSM_TRAIT_WRITES)
                                  ? call.target
                                  : NULL};
    switch (schema->kind) {
    case SBT_KIND_COMMAND:
    case SBT_KIND_SIGNAL:
    case SBT_KIND_WAIT:
    case SBT_KIND_SYNC:
    case SBT_KIND_META:
        return (struct tsm_trim_rule){TSM_TRIM_KEEP_NEVER, NULL};
    case SBT_KIND_QUERY:
        return (struct tsm_trim_rule){sbt_schema_role(schema, SBT_ROLE_ADDRESS) >= 0
                                          ? TSM_TRIM_KEEP_ROOT
                                          : TSM_TRIM_KEEP_NEVER,
                                      NULL};
    case SBT_KIND_CREATE:
        return (struct tsm_trim_rule){TSM_TRIM_KEEP_CREATED, NULL};
    case SBT_KIND_DESTROY:
        return (struct tsm_trim_rule){TSM_TRIM_KEEP_DESTROYED, NULL};
    case SBT_KIND_INIT:
        return (struct tsm_trim_rule){TSM_TRIM_KEEP_ALWAYS, NULL};
    default:
        return (struct tsm_trim_rule){TSM_TRIM_KEEP_TARGET, NULL};
    }
}

bool tsm_trim_is_ground(const char *type)
{
    return tsm_object_traits(type) & TSM_OBJECT_GROUND;
}

bool tsm_trim_may_drop(const char *type)
{
    return tsm_object_traits(type) & TSM_OBJECT_DROPPABLE;
}
