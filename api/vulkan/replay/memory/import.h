/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory that is imported from the program or from other systems.
 */
#ifndef API_VULKAN_REPLAY_MEMORY_IMPORT_H
#define API_VULKAN_REPLAY_MEMORY_IMPORT_H

#include "api/vulkan/replay/memory/memory.h"

/* Returns the kind of other system that memory is imported from; NULL: none. */
const char *vkr_import_foreign(const void *chain);
/* Replaces memory of the program that `info` imports by memory of ours, which `m` gets. */
int vkr_import_host(struct vkr_call *c, const VkMemoryAllocateInfo *info, struct vkr_memory *m);
int vkr_import_plan(struct vkr *r, struct vkr_call *c);
void vkr_imports_finish(struct vkr *r);

#endif
