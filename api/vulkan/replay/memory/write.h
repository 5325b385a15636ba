/* SPDX-License-Identifier: Apache-2.0
 *
 * Bytes of the trace that are brought to memory by threads.
 */
#ifndef API_VULKAN_REPLAY_MEMORY_WRITE_H
#define API_VULKAN_REPLAY_MEMORY_WRITE_H

#include "api/vulkan/replay/common.h"

/* Plans a write of the first `size` bytes of a blob to `out`. One thread at a time adds, and none
 * waits meanwhile. */
int vkr_writes_add(struct vkr *r, const struct sbt_blob *blob, uint8_t *out, uint64_t size,
                   uint64_t seq);
/* Starts the thread that writes, where the trace has many bytes, to work while the driver is
 * opened. */
void vkr_writes_prepare(struct vkr *r);
/* Waits until all that was added is written. Returns the first error. */
int vkr_writes_wait(struct vkr *r);
/* Ends the writes; bytes not read yet are not written. */
void vkr_writes_finish(struct vkr *r);

#endif
