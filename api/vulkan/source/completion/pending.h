/* SPDX-License-Identifier: Apache-2.0
 *
 * Fences of ours after what was sent.
 */
#ifndef API_VULKAN_SOURCE_COMPLETION_PENDING_H
#define API_VULKAN_SOURCE_COMPLETION_PENDING_H

#include "api/vulkan/source/layer.h"

struct tsm_stream;

/* Sends a fence at a checkpoint, while the program's threads are held back. Returns false if none
 * could be sent. */
bool vk_pending_send(VkQueue queue);
/* Waits for all that were sent. Returns false if they are not signalled in time; they stay, and are
 * waited for the next time. */
bool vk_pending_wait(uint64_t until_ns);
/* TS_CHECKSUM=submit: waits for the command that was just sent to the queue. Returns false if it
 * waits, as far as can be known, for what the program does next; the next call asks for it again.
 */
bool vk_pending_look(VkQueue queue, struct tsm_stream *stream, uint64_t position);
/* Drops the fences of a device, which has nothing under way. */
void vk_pending_device_destroyed(const struct vk_device_state *device);
/* In the child of a fork. */
void vk_pending_forget(void);

#endif
