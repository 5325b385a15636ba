/* SPDX-License-Identifier: Apache-2.0
 *
 * pNext chains: linked structs that each begin with their type.
 */
#ifndef API_VULKAN_TABLES_CHAIN_H
#define API_VULKAN_TABLES_CHAIN_H

#include "api/vulkan/tables/headers.h"

#include <stddef.h>
#include <stdint.h>

/* Returns the first struct of this type; NULL: there is none. Change it only where the chain is
 * ours, not the program's. */
void *vk_chain_find(const void *chain, VkStructureType type);

/* Removes all structs of this type from the chain that starts in *next, which must be ours. */
void vk_chain_remove(const void **next, VkStructureType type);

/* Room for copies of the program's structs. */
struct vk_chain_room {
    _Alignas(16) uint8_t bytes[8192];
};

/* Copies the program's chain as far as the struct `type` to `room`, of `room_size` bytes and
 * aligned to 16, and puts the copies into *chain. Returns the copy of that struct; NULL if the
 * chain does not have it, has a struct of unknown size before it, or there is no room. */
void *vk_chain_copy_until(uint8_t *room, size_t room_size, const void **chain,
                          VkStructureType type);

#endif
