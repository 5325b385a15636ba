/* SPDX-License-Identifier: Apache-2.0
 *
 * Mappings of the program, and what it wrote there.
 */
#ifndef API_VULKAN_REPLAY_MEMORY_HOST_WRITE_H
#define API_VULKAN_REPLAY_MEMORY_HOST_WRITE_H

#include "api/vulkan/replay/memory/memory.h"

int vkr_map_memory(struct vkr_call *c);
int vkr_unmap_memory(struct vkr_call *c);
/* Notes that addresses of the program mean memory from now on; mappings that it covers end. */
int vkr_mapping_add(struct vkr_memories *all, struct vkr_mapping mapping);
/* Returns the memory that an address of the program means, and the offset there; NULL: none. */
struct vkr_memory *vkr_memory_written(const struct vkr *r, uint64_t address, uint64_t *offset);
int vkr_host_write(struct vkr *r, const struct sbt_record *record, const struct sbt_schema *schema);
int vkr_host_runs(struct vkr *r, const struct sbt_record *record, const struct sbt_schema *schema);

#endif
