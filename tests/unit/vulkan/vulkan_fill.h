/* SPDX-License-Identifier: Apache-2.0
 *
 * Structs full of random but well-formed content, made from the tables: for round trips of any
 * type.
 */
#ifndef TESTS_UNIT_VULKAN_VULKAN_FILL_H
#define TESTS_UNIT_VULKAN_VULKAN_FILL_H

#include "api/vulkan/tables/codec.h"

struct fill {
    uint64_t random;
    struct vk_arena *arena;
    uint32_t depth_max; /* pointers and chains are NULL below */
};

uint64_t fill_random(struct fill *f);

/* `memory` has the struct's size. */
void fill_struct(struct fill *f, const struct vk_struct *type, void *memory, uint32_t depth);

/* The same for struct vk_args_NAME. */
void fill_args(struct fill *f, const struct vk_command *command, void *args);

#endif
