/* SPDX-License-Identifier: Apache-2.0
 *
 * A scene as the fuzzer takes it: two bytes of options, then records. A record is the place of its command
 * in vk_commands, or SCENE_CORE and the number of a core record (u16); its stream, or 255 (u8); its result
 * (i8); the size of what follows (u16): for each field of its schema a number (u64), or a length (u16) and
 * so many bytes of a text, a value, or a blob. All of it little endian.
 */
#ifndef TESTS_FUZZ_SCENE_RECORD_H
#define TESTS_FUZZ_SCENE_RECORD_H

#include "api/vulkan/vulkan_describe.h"
#include "api/vulkan/vulkan_tables.h"
#include "tracesmith/trace.h"

#define SCENE_HEAD        2u
#define SCENE_RECORD_HEAD 6u
#define SCENE_CORE        0xff00u
#define SCENE_NO_STREAM   255u
#define SCENE_TEXT_MAX    1000u

/* Bits of the first byte. The second is the record that is dumped, the end of a part. */
#define SCENE_DUMP    1u
#define SCENE_SHOT    2u
#define SCENE_LOOP    4u
#define SCENE_SYNC    8u  /* hash all memory */
#define SCENE_SAVE    16u /* what `tracesmith trim` keeps of it */
#define SCENE_APART   32u /* the host cannot map the device's memory */
#define SCENE_PERMUTE 64u
#define SCENE_WORKS   128u /* nothing is wrong with it: it is not refused. Never of what was changed */

/* NULL: there is no such record. */
static inline const struct sbt_schema *scene_schema(uint32_t number)
{
    if (number >= SCENE_CORE)
        return sbt_core_schema(number - SCENE_CORE);
    for (size_t i = 0; i < vulkan_description.call_count; i++)
        if (number < vk_command_count &&
            SBT_TYPE_CALL(vulkan_description.calls[i].schema->type) == vk_commands[number].id)
            return vulkan_description.calls[i].schema;
    return NULL;
}

static inline bool scene_is_long(const struct sbt_field *field)
{
    return field->type == SBT_FIELD_STRING || field->type == SBT_FIELD_BYTES ||
           field->type == SBT_FIELD_BLOB || field->type == SBT_FIELD_STRUCT;
}

#endif
