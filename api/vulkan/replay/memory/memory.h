/* SPDX-License-Identifier: Apache-2.0
 *
 * Device memory that lives.
 */
#ifndef API_VULKAN_REPLAY_MEMORY_MEMORY_H
#define API_VULKAN_REPLAY_MEMORY_MEMORY_H

#include "api/vulkan/replay/common.h"
#include "api/vulkan/replay/device.h"

struct vkr_memory {
    uint64_t place; /* VKR_PLACE | ... | id << VKR_PLACE_ID_SHIFT */
    uint64_t size;  /* as recorded */
    uint64_t made_seq;
    struct vkr_device *device;
    VkDeviceMemory raw;
    uint32_t type;               /* here */
    VkMemoryPropertyFlags flags; /* of its type */
    uint8_t *mapped;             /* all of it, for as long as it lives; NULL: the host cannot */
    void *imported;              /* memory of ours that stands for the program's; not its own */
    uint64_t imported_address;   /* where that was; 0: it is placed, and not the program's */
    VkBuffer alias;              /* over all of it, for copies; 0: none is possible */
    uint64_t fresh_at; /* 1 + sent_count when it got what fresh memory has; 0: not, or no more */
    bool has_image;    /* bound to an image at some time */
    bool is_dedicated; /* made for one buffer or image: nothing else may be bound to it */
    bool is_shared;    /* with other memory of the trace, which it was imported from */
    int shared_fd;
};

/* The program's addresses [start, start + size) were memory from `offset` on. */
struct vkr_mapping {
    uint64_t start, size, offset, memory; /* memory: its id */
};

struct vkr_memories {
    struct vkr_memory **list; /* live, by place */
    size_t count, capacity;
    struct vkr_mapping *mappings; /* a later one stands before an earlier one */
    size_t mapping_count, mapping_capacity;
    struct tsm_address_space
        program;                /* addresses of the program that were imported, once at least */
    struct tsm_region *regions; /* of the last vkr_regions() */
};

/* Fills memory with zeros that the program maps before any work may have written there, whatever
 * --check fills fresh memory with: zeros that it writes over zeros are not recorded. */
void vkr_memory_begin_with_zeros(const struct vkr *r, struct vkr_memory *m);
/* Writes bytes of the trace, of record `seq`, into memory. They may be there only when
 * vkr_writes_wait() has returned, which must be called before anything but another write. */
int vkr_memory_write(struct vkr *r, struct vkr_memory *m, const struct sbt_blob *blob,
                     uint64_t offset, uint64_t seq);
/* Overwrites all of mapped memory. */
void vkr_memory_put(const struct vkr_memory *m, const uint8_t *bytes);
/* Reads bytes at a place in memory. Returns TSM_E_NOT_FOUND if no such memory lives. */
int vkr_read(struct vkr *r, uint64_t address, void *out, uint64_t size);
int vkr_regions(struct vkr *r, const struct tsm_region **regions, size_t *count);
struct vkr_memory *vkr_memory_find(const struct vkr *r, uint64_t place);
/* Maps memory that the driver has allocated, fills it, and adds it to the list. Takes over `m`,
 * also when it fails. */
int vkr_memory_keep(struct vkr *r, struct vkr_memory *m, bool fill);
/* Frees the memory, in the driver, too. */
void vkr_memory_drop(struct vkr *r, struct vkr_memory *m);
void vkr_memories_finish(struct vkr *r);

#endif
