/* SPDX-License-Identifier: Apache-2.0
 *
 * CHECKSUM records of what the device has left in a memory. Under the lock of mapped memory
 * (memory.c), outside of a call.
 */
#ifndef API_VULKAN_SOURCE_MEMORY_REPORT_H
#define API_VULKAN_SOURCE_MEMORY_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#define VK_TIMES_MAX 8u

/* Parts of memory that hold timestamps. */
struct vk_times {
    struct vk_times_part {
        uint64_t from, to;
    } list[VK_TIMES_MAX];
    uint32_t count;
};

/* Adds a part. With more than VK_TIMES_MAX parts the last one becomes wider. */
void vk_times_add(struct vk_times *times, uint64_t from, uint64_t size);

/* Copies the parts as the bytes are copied. */
void vk_times_copy(const struct vk_times *from, uint64_t from_offset, struct vk_times *to,
                   uint64_t to_offset, uint64_t size);

struct vk_report {
    uint32_t stream; /* of the command whose results they are */
    uint64_t position;
    uint64_t memory;   /* id */
    uint64_t from, to; /* offsets that count */
    const struct vk_times *times;
};

/* Hashes `size` bytes, which lie at `offset` of the memory. `user`: a struct vk_report. Times are
 * others in each run: they get hashes of their own, so that all around them can be compared. */
void vk_report_change(void *user, uint64_t offset, const void *bytes, uint64_t size);

/* Hashes the memory, at `real`, as far as the kernel has given it pages; of a large one both ends.
 * `zeros`: also parts of zeros, where nothing says that the device has written them. */
void vk_report_whole(const struct vk_report *report, const void *real, uint64_t size, bool zeros);

#endif
