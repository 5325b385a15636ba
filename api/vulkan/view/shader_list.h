/* SPDX-License-Identifier: Apache-2.0
 *
 * The SPIR-V modules of a trace, each once, named by the hash of its bytes (XXH3-128, 32 digits).
 */
#ifndef API_VULKAN_VIEW_SHADER_LIST_H
#define API_VULKAN_VIEW_SHADER_LIST_H

#include "base/map.h"
#include "tracesmith/reader.h"

#define TSM_SHADER_MODULE "VkShaderModule" /* type of the objects that hold modules */

struct tsm_shader {
    struct sbt_key key;
    char hash[33];
    uint32_t *words; /* its own */
    size_t size;     /* bytes */
    uint64_t seq;    /* of the first record that has it */
    uint64_t module; /* id of the VkShaderModule made by that record; 0: it lies in a pipeline's */
    uint64_t count;  /* records that have it */
};

struct tsm_shader_list {
    struct tsm_shader *shaders; /* in the order in which they were first seen */
    size_t count, capacity;
    struct tsm_map places; /* first 8 bytes of the key -> place + 1 */
};

/* Reads the whole trace. Finish in any case. */
int tsm_shader_list_init(struct tsm_shader_list *list, struct sbt_reader *reader);
void tsm_shader_list_finish(struct tsm_shader_list *list);

/* Put the shaders of a record (NULL schema: none) into the list. */
int tsm_shader_list_note(struct tsm_shader_list *list, struct sbt_reader *reader,
                         const struct sbt_record *record, const struct sbt_schema *schema);

#endif
