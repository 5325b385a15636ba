/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared parts of the generated wrappers (vulkan_wrappers.c) and hooks. Everything runs inside the
 * traced program, by the rules of capture/capture.h.
 *
 * A wrapper of a command that has only scalars and handles writes them straight into its record.
 * Any other puts its arguments into struct vk_args_NAME and leaves the rest to vk_record(), which
 * goes by the tables. The arguments of destroying commands are recorded before the call, those of
 * all others after it; outputs only where the call succeeded.
 */
#ifndef API_VULKAN_SOURCE_SOURCE_H
#define API_VULKAN_SOURCE_SOURCE_H

#include "api/vulkan/tables/dispatch.h"
#include "api/vulkan/tables/tables.h"
#include "api/vulkan/vulkan_ids.h"
#include "capture/capture.h"

#include <string.h>

/* Any handle or pointer as a number; any result. */
#define VK_RAW(handle)    ((uint64_t)(uintptr_t)(handle))
#define VK_NUMBER(result) ((int64_t)(uintptr_t)(result))

static inline uint64_t vk_id(enum vk_object type, uint64_t raw)
{
    return tsm_handle_id(SBT_API_VULKAN, type, raw);
}

/* The command buffer whose id this thread has asked for last: mostly it is the same one again. A
 * lane is a thread's in one session; the generation changes when a command buffer comes or goes. */
struct vk_last_buffer {
    uint64_t raw, id;
    const struct tsm_lane *lane;
    uint64_t generation;
};
extern __thread struct vk_last_buffer vk_last_buffer __attribute__((tls_model("initial-exec")));
extern _Atomic uint64_t vk_buffer_generation;

static inline uint64_t vk_buffer_id(const struct tsm_call *call, VkCommandBuffer buffer)
{
    struct vk_last_buffer *last = &vk_last_buffer;
    uint64_t generation = atomic_load_explicit(&vk_buffer_generation, memory_order_acquire);

    if (last->raw != VK_RAW(buffer) || last->lane != call->lane || last->generation != generation)
        *last = (struct vk_last_buffer){VK_RAW(buffer),
                                        vk_id(VK_OBJECT_VkCommandBuffer, VK_RAW(buffer)),
                                        call->lane, generation};
    return last->id;
}

static inline uint64_t vk_slot_f32(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

static inline uint64_t vk_slot_f64(double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

/* Tests whether an error has left some of the handles; the others are VK_NULL_HANDLE. */
static inline bool vk_any_created(const void *handles, uint32_t count)
{
    const uint64_t *raw = handles;

    for (uint32_t i = 0; i < count; i++)
        if (raw[i])
            return true;
    return false;
}

/* Appends all fields of a command (place in vk_commands) with these arguments. `ok`: outputs are
 * there. The call must be committed while `args` is valid. Unknown structs in pNext chains are
 * noted as unmodelled, once for each VkStructureType. */
void vk_record(struct tsm_call *call, uint32_t command, const void *args, bool ok);

/* Returns the stream of a queue, as capture knows it; creates one for a queue that nobody has asked
 * for. */
struct tsm_stream *vk_stream(VkQueue queue);

/* Records changes of memory that the program and the device share, marked as possible results where
 * the device may have written. */
void vk_memory_publish_written(void);

/* Records host memory that the GPU can read, before a command may read it. */
static inline void vk_publish(void)
{
    vk_memory_publish_written();
    tsm_hostmem_publish();
}

/* Notes that the host knows all of a queue (NULL: of all) to be complete. Call it after commit. */
static inline void vk_synchronised(struct tsm_stream *stream)
{
    tsm_synchronised(SBT_API_VULKAN, stream);
}

/* Tests whether this thread has asked the same before, and got the same answer "not yet". */
bool vk_polled_again(uint32_t command, const void *args, int64_t result);

/* Facts about a command buffer or a render pass, in its tsm_handle's `user`: bits. */
enum vk_note {
    VK_NOTE_SECONDARY = 1, /* a command buffer */
    /* A render pass has at most 31 subpasses whose attachments are known; bit 2 * n + 1: subpass n
     * has no depth/stencil attachment, bit 2 * n + 2: no colour attachment. */
};

#endif
