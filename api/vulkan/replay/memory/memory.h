/* SPDX-License-Identifier: Apache-2.0
 *
 * Device memory, its mappings, and copies of it.
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

int vkr_allocate_memory(struct vkr_call *c);
int vkr_free_memory(struct vkr_call *c);
int vkr_map_memory(struct vkr_call *c);
int vkr_unmap_memory(struct vkr_call *c);
/* Bytes of the trace, of record `seq`, into memory. They may be there only when vkr_writes_wait()
 * has returned, which before anything but another write must be called. */
int vkr_memory_write(struct vkr *r, struct vkr_memory *m, const struct sbt_blob *blob,
                     uint64_t offset, uint64_t seq);
/* All of it, of ours; it can be mapped. */
void vkr_memory_put(const struct vkr_memory *m, const uint8_t *bytes);
/* Memory in which an address of the program's lies; NULL: none. */
struct vkr_memory *vkr_memory_written(const struct vkr *r, uint64_t address, uint64_t *offset);
int vkr_host_write(struct vkr *r, const struct sbt_record *record, const struct sbt_schema *schema);
int vkr_read(struct vkr *r, uint64_t address, void *out, uint64_t size);
int vkr_regions(struct vkr *r, const struct tsm_region **regions, size_t *count);
struct vkr_memory *vkr_memory_find(const struct vkr *r, uint64_t place);
/* The driver has it already: map it, fill it, keep it. Takes over `m`, also when it fails. */
int vkr_memory_keep(struct vkr *r, struct vkr_memory *m, bool fill);
/* Gives it back to the driver, too. */
void vkr_memory_drop(struct vkr *r, struct vkr_memory *m);
void vkr_memories_finish(struct vkr *r);
/* A type here that is as good as one with `flags`, among `allowed`. -1: there is none. */
int vkr_memory_type(const VkPhysicalDeviceMemoryProperties *memory, VkMemoryPropertyFlags flags,
                    uint32_t allowed);
/* Coherent memory for a buffer to copy through, bound and mapped. What was made of it when this
 * fails is in *memory all the same: the caller's. (api/vulkan/replay/memory/copy.c) */
VkResult vkr_host_memory(struct vkr_device *device, VkBuffer buffer, VkDeviceMemory *memory,
                         uint8_t **mapped);

/* Makes all bytes of mapped memory this one; zeros that are there already stay as they are.
 * (api/vulkan/replay/memory/poison_fill.c) */
void vkr_poison_fill(uint8_t *out, uint64_t size, uint8_t value);

/* The first `size` bytes of a blob will be at `out` when they are settled; one thread at a time
 * adds, and none settles meanwhile. (api/vulkan/replay/memory/write.c) */
int vkr_writes_add(struct vkr *r, const struct sbt_blob *blob, uint8_t *out, uint64_t size,
                   uint64_t seq);
/* Before the driver is opened, which takes a while: what can be done for them meanwhile. */
void vkr_writes_prepare(struct vkr *r);
/* All that was added is there, or the error of what is not. */
int vkr_writes_wait(struct vkr *r);
/* Ends the writes; bytes not read yet are not written. */
void vkr_writes_finish(struct vkr *r);

/* From what other systems memory is imported; NULL: from none. */
const char *vkr_import_foreign(const void *chain);
/* If it is imported from the program, memory of ours takes its place in `info`, and is m's. */
int vkr_import_host(struct vkr_call *c, const VkMemoryAllocateInfo *info, struct vkr_memory *m);
int vkr_import_plan(struct vkr *r, struct vkr_call *c);
void vkr_imports_finish(struct vkr *r);

/* Commands of our own, on the device's queue: begin them, after everything that was sent; end,
 * send and free them, and wait. */
VkResult vkr_commands_begin(struct vkr_device *device, VkCommandBuffer *out);
VkResult vkr_commands_run(struct vkr_device *device, VkCommandBuffer commands);

/* Between the host and memory that it cannot map. Waits for the copy. */
int vkr_copy_out(struct vkr_memory *m, uint64_t offset, void *out, uint64_t size);
int vkr_copy_in(struct vkr_memory *m, uint64_t offset, const void *data, uint64_t size);
/* All of it, but for the last bytes of a size that is no multiple of 4. */
int vkr_copy_fill(struct vkr_memory *m, uint8_t value);
/* May copies reach it? Makes the alias. */
void vkr_copy_prepare(struct vkr_memory *m);

#endif
