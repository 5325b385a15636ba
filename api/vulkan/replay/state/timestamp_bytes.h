/* SPDX-License-Identifier: Apache-2.0
 *
 * Times that the device has written to memory.
 */
#ifndef API_VULKAN_REPLAY_STATE_TIMESTAMP_BYTES_H
#define API_VULKAN_REPLAY_STATE_TIMESTAMP_BYTES_H

#include "api/vulkan/replay/common.h"

/* Effect of a command on a part of a buffer. Ids of buffers. */
struct vkr_spread {
    enum vkr_spread_kind {
        VKR_SPREAD_TIMES, /* `count` times are written there, `size` bytes each, `stride` apart */
        VKR_SPREAD_COPY,  /* what is in `from` is written there, times too */
        VKR_SPREAD_OTHER, /* something else is written there */
    } kind;
    uint32_t count;
    uint64_t from, from_offset, to, to_offset, size, stride;
};
struct vk_args_vkCmdCopyQueryPoolResults;
/* Finds the timestamps that a copy writes. Returns false if it writes none that is known. */
bool vkr_timestamp_bytes_results(struct vkr *r, const struct vk_args_vkCmdCopyQueryPoolResults *a,
                                 struct vkr_spread *out);
void vkr_timestamp_bytes_apply(struct vkr *r, const struct vkr_spread *s);
/* The host has written there: it holds no times any more. */
void vkr_timestamp_bytes_clear(struct vkr *r, uint64_t start, uint64_t size);
/* Zeroes the times in what was read from `address`, and adds their number to *times. Returns
 * whether the bytes may differ from the recorded ones: for those, or because images lie there in a
 * layout of another driver. */
bool vkr_ignore_timestamps(const struct vkr *r, uint64_t address, uint8_t *bytes, uint64_t size,
                           uint64_t *times);

#endif
