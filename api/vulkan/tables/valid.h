/* SPDX-License-Identifier: Apache-2.0
 *
 * When a pointer or handle that the registry calls "noautovalidity" means something: a rule each,
 * by hand, which vulkan.api names with "if". Each says the part of the Vulkan specification that it
 * is from. A rule reads members that are always valid, and those of the structs around.
 */
#ifndef API_VULKAN_TABLES_VALID_H
#define API_VULKAN_TABLES_VALID_H

#include "api/vulkan/tables/tables.h"

/* Facts that rules need and no struct has. A function that is absent answers false. Handles are
 * raw. Defined by the encoder: in the traced program api/vulkan/source/note.c, elsewhere nobody. */
struct vk_facts {
    bool (*secondary)(uint64_t command_buffer);
    bool (*no_depth)(uint64_t render_pass, uint32_t subpass); /* no depth/stencil attachment */
    bool (*no_color)(uint64_t render_pass, uint32_t subpass);
    /* Tests whether the layout has samplers of its own in the binding. `set` 0: of a pushed set. */
    bool (*immutable)(uint64_t set, uint64_t pipeline_layout, uint32_t binding);
};

extern const struct vk_facts vk_facts;

#endif
