/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/slice/trim_rules.h"

#include <string.h>

static const struct {
    const char *name; /* may end with "*" */
    struct tsm_trim_rule rule;
} rules[] = {
    /* One does not go without the other. */
    {"cuStreamBeginCapture*", {TSM_TRIM_KEEP_ALWAYS, NULL}},
    {"cuStreamEndCapture*", {TSM_TRIM_KEEP_ALWAYS, NULL}},
    /* What a checkpoint's STATE records say. */
    {"hsa_signal_create", {TSM_TRIM_KEEP_CREATED, NULL}},
    {"hsa_signal_destroy", {TSM_TRIM_KEEP_DESTROYED, NULL}},
    {"hsa_signal_*", {TSM_TRIM_KEEP_NEVER, NULL}},
    {"vkAcquireNextImage*", {TSM_TRIM_KEEP_NEVER, NULL}},
    {"vkResetFences", {TSM_TRIM_KEEP_NEVER, NULL}},
    {"vkSetEvent", {TSM_TRIM_KEEP_NEVER, NULL}},
    {"vkResetEvent", {TSM_TRIM_KEEP_NEVER, NULL}},
    {"vkResetQueryPool*", {TSM_TRIM_KEEP_NEVER, NULL}},
    {"vkSignalSemaphore*", {TSM_TRIM_KEEP_NEVER, NULL}},
    /* Replay does nothing with them. */
    {"vkUnmapMemory*", {TSM_TRIM_KEEP_NEVER, NULL}},
    {"vkFlushMappedMemoryRanges", {TSM_TRIM_KEEP_NEVER, NULL}},
    {"vkInvalidateMappedMemoryRanges", {TSM_TRIM_KEEP_NEVER, NULL}},
    {"vkQueueBeginDebugUtilsLabelEXT", {TSM_TRIM_KEEP_NEVER, NULL}},
    {"vkQueueInsertDebugUtilsLabelEXT", {TSM_TRIM_KEEP_NEVER, NULL}},
    {"vkQueueEndDebugUtilsLabelEXT", {TSM_TRIM_KEEP_NEVER, NULL}},
    {"vkTrimCommandPool*", {TSM_TRIM_KEEP_NEVER, NULL}},
    {"vkMapMemory*", {TSM_TRIM_KEEP_LAST, NULL}},
    {"vkBeginCommandBuffer", {TSM_TRIM_KEEP_BEGIN, NULL}},
    {"vkResetCommandBuffer", {TSM_TRIM_KEEP_RESET, NULL}},
    {"vkUpdateDescriptorSets", {TSM_TRIM_KEEP_TARGET, "dstSet"}},
    {"vkBindBufferMemory2*", {TSM_TRIM_KEEP_TARGET, "buffer"}},
    {"vkBindImageMemory2*", {TSM_TRIM_KEEP_TARGET, "image"}},
    {"vkQueueBindSparse", {TSM_TRIM_KEEP_ALWAYS, NULL}},
    {"vkGetBufferDeviceAddress*", {TSM_TRIM_KEEP_ROOT, NULL}},
    {"vkGetBufferOpaqueCaptureAddress*", {TSM_TRIM_KEEP_ROOT, NULL}},
    {"vkGetDeviceMemoryOpaqueCaptureAddress*", {TSM_TRIM_KEEP_ROOT, NULL}},
    {"vkGetAccelerationStructureDeviceAddress*", {TSM_TRIM_KEEP_ROOT, NULL}},
    {"vkSetDebugUtilsObjectNameEXT", {TSM_TRIM_KEEP_NAME, NULL}},
    {"vkSetDebugUtilsObjectTagEXT", {TSM_TRIM_KEEP_NEVER, NULL}},
    {"vkDebugMarkerSetObject*", {TSM_TRIM_KEEP_NEVER, NULL}},
};

static bool matches(const char *pattern, const char *name)
{
    size_t size = strlen(pattern);

    return pattern[size - 1] == '*' ? strncmp(pattern, name, size - 1) == 0
                                    : strcmp(pattern, name) == 0;
}

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
    if (SBT_TYPE_API(schema->type) == SBT_API_CORE)
        return (struct tsm_trim_rule){core_how(SBT_TYPE_CALL(schema->type)), NULL};
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
        if (matches(rules[i].name, schema->name))
            return rules[i].rule;
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

static bool is_among(const char *type, const char *const *list)
{
    while (*list && strcmp(type, *list) != 0)
        list++;
    return *list;
}

bool tsm_trim_is_ground(const char *type)
{
    static const char *const ground[] = {
        "VkInstance", "VkPhysicalDevice", "VkDevice", "VkQueue", "context", "device", "agent",
        "pool",       "region",           NULL};

    return is_among(type, ground);
}

bool tsm_trim_may_drop(const char *type)
{
    static const char *const cuda[] = {"module", "library", "function", "kernel", "event", NULL};

    return strncmp(type, "Vk", 2) == 0 || is_among(type, cuda);
}
