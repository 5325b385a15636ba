/* SPDX-License-Identifier: Apache-2.0
 *
 * Records of Vulkan in scenes.
 */
#include "api/vulkan/tables/describe.h"
#include "api/vulkan/tables/tables.h"
#include "tests/fuzz/scene_record.h"

#include <stdio.h>
#include <stdlib.h>

static const struct sbt_schema **schemas; /* by place in vk_commands */

void scene_describe(void)
{
    if (schemas)
        return;
    vulkan_describe();
    schemas = calloc(vk_command_count, sizeof(*schemas));
    for (size_t i = 0; schemas && i < vulkan_description.call_count; i++) {
        const struct sbt_schema *schema = vulkan_description.calls[i].schema;
        const struct vk_command *command = vk_command_of(SBT_TYPE_CALL(schema->type));
        if (command)
            schemas[command - vk_commands] = schema;
    }
}

const struct sbt_schema *scene_schema(uint32_t number)
{
    if (number >= SCENE_CORE)
        return sbt_core_schema(number - SCENE_CORE);
    return schemas && number < vk_command_count ? schemas[number] : NULL;
}

uint32_t scene_number(uint32_t type)
{
    const struct vk_command *command;

    if (SBT_TYPE_API(type) == SBT_API_CORE)
        return SCENE_CORE + SBT_TYPE_CALL(type);
    command = SBT_TYPE_API(type) == SBT_API_VULKAN ? vk_command_of(SBT_TYPE_CALL(type)) : NULL;
    return command ? (uint32_t)(command - vk_commands) : SCENE_METADATA;
}

/* Writes the facts about devices: replay takes structs and their members from its own tables. */
void scene_facts(struct sbt_writer *w)
{
    static const char *const facts[] = {"heap 0, flags 0xf", "heap 0, flags 0x6",
                                        "heap 0, flags 0x1"};
    char name[64];

    for (int device = 1; device < 3; device++) {
        snprintf(name, sizeof(name), "vulkan.device.%d.name", device);
        scene_must(sbt_writer_metadata(w, name, "recorded"));
        for (int i = 0; i < 3; i++) {
            snprintf(name, sizeof(name), "vulkan.device.%d.memory.%d", device, i);
            scene_must(sbt_writer_metadata(w, name, facts[i]));
        }
    }
}

void scene_schema_facts(struct sbt_writer *w, const struct sbt_schema *schema) {}
