/* SPDX-License-Identifier: Apache-2.0
 *
 * Addresses of buffers, as recorded and here.
 */
#ifndef API_VULKAN_REPLAY_MEMORY_ADDRESS_H
#define API_VULKAN_REPLAY_MEMORY_ADDRESS_H

#include "api/vulkan/replay/common.h"
#include "api/vulkan/replay/object.h"

struct vkr_addresses {
    struct tsm_map recorded; /* buffer id -> recorded address */
    struct tsm_map sizes;    /* buffer id -> size */
    struct vkr_moved {
        uint64_t recorded, size, actual;
    } * moved;
    size_t count, capacity;
    uint64_t moved_ever;
};

int vkr_address_plan(struct vkr *r, struct vkr_call *c);
/* Asks where a buffer lies to which memory was bound. */
int vkr_address_bound(struct vkr *r, const struct vkr_object *buffer);
uint64_t vkr_address_translate(const struct vkr *r, uint64_t recorded);
void vkr_addresses_finish(struct vkr *r);

#endif
