/* SPDX-License-Identifier: Apache-2.0
 *
 * Which object of this program a file descriptor stands for.
 */
#ifndef API_VULKAN_SOURCE_ORIGIN_H
#define API_VULKAN_SOURCE_ORIGIN_H

#include <stdbool.h>
#include <stdint.h>

/* The object that a descriptor stands for, by its id. 0: another process's, or another API's. */
struct vk_origin {
    uint64_t id;
    bool renumbered; /* the descriptor has another number than the one that the driver gave */
};

/* Notes that the driver gave the descriptor for the object. `type`: enum vk_object. */
void vk_origin_give(int fd, uint32_t type, uint64_t id);

/* Call it before the driver takes the descriptor over. */
struct vk_origin vk_origin_of(int fd, uint32_t type);

/* Writes into the trace that what this object imports comes from `from`, where the number of the
 * descriptor does not say so. */
void vk_origin_describe(uint32_t type, uint64_t id, struct vk_origin from);

/* In the child of a fork. */
void vk_origin_forget(void);

#endif
