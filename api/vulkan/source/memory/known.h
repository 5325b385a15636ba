/* SPDX-License-Identifier: Apache-2.0
 *
 * The memories that are known, shared by memory.c (which brings bytes to the device
 * and back) and results.c (which records what the device has left there).
 */
#ifndef API_VULKAN_SOURCE_MEMORY_KNOWN_H
#define API_VULKAN_SOURCE_MEMORY_KNOWN_H

#include "api/vulkan/source/memory/memory.h"
#include "api/vulkan/source/memory/report.h"
#include "api/vulkan/source/origin.h"
#include "api/vulkan/source/lock.h"

#define VK_BUCKET_COUNT 4096u

struct memory {
    VkDeviceMemory handle;
    const struct vk_device_state *device;
    uint64_t size;
    uint32_t type;
    uint64_t imported; /* address of the program's that it is; 0: none */
    uint64_t tracked;  /* address of the driver's mapping, which capture follows; 0: none */
    uint64_t tracked_size;
    struct tsm_shadow *shadow; /* from the first mapping on, until the memory is freed */
    bool mapped;
    bool results; /* imported, only the device writes there; the shadow says what was there */
    uint64_t results_from, results_to; /* offsets; elsewhere it is the program's */
    bool device_writes;                /* something that the device may write is bound to it */
    bool looked_into;                  /* mapped by us */
    const uint8_t
        *peeked; /* mapped by us, without a shadow, and was zero: only the device writes there */
    bool filled; /* somebody else may have written there before */
    bool is_dedicated;        /* made for one buffer or image: nothing else may be bound to it */
    uint64_t allocated;       /* vk_completion_sends() then */
    bool exported, fd_import; /* others may have it, too */
    bool shared;              /* ... and the program works on the driver's mapping */
    bool is_lent;             /* ... another API of the program has it */
    struct vk_origin from;    /* fd_import: whose it is */
    struct vk_times times;
    VkBuffer alias;               /* ours, over memory that cannot be mapped, to copy it */
    uint64_t *hashes;             /* of its parts, when it was hashed last */
    bool has_hashes;              /* ... it was */
    bool is_unfilled;             /* ... and is to be filled with zeros */
    struct memory *next;          /* in its bucket; of those that are free */
    struct memory *next_shadow;   /* in the list of those that have one */
    struct memory *next_followed; /* in the list of imported and tracked ones */
};

/* Other locks that are taken while this one is held: those of shadows, of
 * api/vulkan/source/completion/completion.c. */
extern struct tsm_lock vk_memory_lock; /* of all below */
extern struct memory *vk_memory_buckets[VK_BUCKET_COUNT];
extern struct memory *vk_memory_shadows;
extern uint64_t vk_memory_quiet; /* vk_completion_sends() when all shadows were last pulled with
                                    nothing under way; atomic */

/* The lock is held. NULL: not known. */
struct memory *vk_memory_find(const struct vk_device_state *device, VkDeviceMemory handle);

/* ---- results.c; the lock is held ---------------------------------------------- */

/* Without TS_CHECKSUM, where looking costs little. What the device leaves in memory that the
 * program does not map is hashed at some waits, when it maps it after all, and when the memory is
 * freed. Of a GPU not large memory: it has to be filled with zeros. */
bool vk_wants_peek(const struct memory *m, const VkMemoryAllocateInfo *info);
/* Fills it, as far as the kernel has given it pages. */
void vk_zero(void *memory, uint64_t size);
void vk_peek(struct memory *m, VkDevice device);
/* The program maps it itself. `m` may be NULL. */
void vk_end_peek(struct memory *m, VkDevice device);

/* The memory is mapped, or another API of the program has got it: where the program works on the
 * driver's mapping, nobody knows what is the other API's. */
void vk_mapped_lent(const struct memory *m);

/* Tests whether waits bring what the device has written to the shadow. */
bool vk_is_pulled_at_waits(const struct memory *m);

/* The memory is about to be freed: nothing uses it any more, whatever else is under way. */
void vk_report_last(struct memory *m);

/* ---- dedicated.c ----------------------------------------------------------------
 */

/* Calls vkAllocateMemory. *is_dedicated: the memory takes one buffer or image alone. */
VkResult vk_dedicated_allocate(const struct vk_device_state *d, const VkMemoryAllocateInfo *info,
                               const VkAllocationCallbacks *allocator, VkDeviceMemory *out,
                               bool *is_dedicated);

/* ---- hidden.c; the lock is held ------------------------------------------------ */

/* TS_CHECKSUM: memory that cannot be mapped was allocated. False: there is no way to look there. */
bool vk_hidden_allocated(struct memory *m, const VkMemoryAllocateInfo *info);
/* Others can write it from now on: who has is not known. */
void vk_hidden_exported(struct memory *m);
/* It is about to be freed. */
void vk_hidden_freed(struct memory *m);

#endif
