/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies. Asynchronous ones run on one thread, each as soon as the signals that it waits for are 0,
 * so in no order of their own.
 */
#include "emu/hsa/runtime.h"

#include "base/thread.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NAP_NS 100000000u

/* `width` bytes of each row. */
struct shape {
    size_t width, height, depth;
    size_t dst_pitch, dst_slice, src_pitch, src_slice;
};

struct copy {
    struct copy *next;
    uint8_t *dst;
    const uint8_t *src;
    struct shape shape;
    hsa_signal_t completion;
    uint32_t dep_count;
    hsa_signal_t deps[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct copy *waiting; /* oldest first */
static bool running;
static struct copy *current; /* what is carried out now */
static _Thread_local bool is_copying;

EMU_HSA_EXPORT hsa_status_t hsa_memory_copy(void *dst, const void *src, size_t size)
{
    if (!dst || !src)
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    memmove(dst, src, size);
    return HSA_STATUS_SUCCESS;
}

EMU_HSA_EXPORT hsa_status_t hsa_amd_memory_fill(void *ptr, uint32_t value, size_t count)
{
    uint32_t *words = ptr;

    if (!ptr || (uintptr_t)ptr % sizeof(value))
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    for (size_t i = 0; i < count; i++)
        words[i] = value;
    return HSA_STATUS_SUCCESS;
}

static bool is_ready(const struct copy *copy)
{
    for (uint32_t i = 0; i < copy->dep_count; i++)
        if (emu_hsa_signal_load(copy->deps[i]) != 0)
            return false;
    return true;
}

static struct copy *take_ready(void)
{
    struct copy **link = &waiting, *found;

    pthread_mutex_lock(&lock);
    for (; (found = *link) != NULL && !is_ready(found); link = &found->next)
        ;
    if (found)
        *link = found->next;
    current = found;
    pthread_mutex_unlock(&lock);
    return found;
}

static bool uses(const struct copy *copy, hsa_signal_t signal)
{
    bool is_used = copy->completion.handle == signal.handle;

    for (uint32_t i = 0; i < copy->dep_count; i++)
        is_used |= copy->deps[i].handle == signal.handle;
    return is_used;
}

/* Takes off the list what waits for the signal. Returns false while a copy is under way that has
 * it. */
static bool forget(hsa_signal_t signal)
{
    struct copy **link = &waiting;
    bool is_free;

    pthread_mutex_lock(&lock);
    while (*link) {
        struct copy *copy = *link;
        if (uses(copy, signal)) {
            *link = copy->next;
            free(copy);
        } else {
            link = &copy->next;
        }
    }
    is_free = !current || is_copying || !uses(current, signal);
    pthread_mutex_unlock(&lock);
    return is_free;
}

void emu_hsa_copies_forget(hsa_signal_t signal)
{
    const struct timespec nap = {0, 100000};

    while (!forget(signal))
        nanosleep(&nap, NULL);
}

static void carry_out(const struct copy *copy)
{
    const struct shape *s = &copy->shape;

    for (size_t z = 0; z < s->depth; z++)
        for (size_t y = 0; y < s->height; y++)
            memmove(copy->dst + z * s->dst_slice + y * s->dst_pitch,
                    copy->src + z * s->src_slice + y * s->src_pitch, s->width);
}

/* TS_EMU_LATE: the bytes are there, but nobody may know yet. TS_EMU_WRONG: the last thing that it
 * does is to change the first one. Tests look whether that is noticed. */
static void end_badly(const struct copy *copy)
{
    emu_hsa_be_late();
    if (emu_hsa_is_wrong() && copy->shape.width)
        *copy->dst ^= 0xff;
}

static void *run_copies(void *unused)
{
    is_copying = true;
    for (;;) {
        uint32_t now = emu_hsa_now();
        struct copy *copy = take_ready();
        uint64_t start = emu_hsa_time();

        if (!copy) {
            emu_hsa_await(now, NAP_NS);
            continue;
        }
        carry_out(copy);
        end_badly(copy);
        emu_hsa_signal_times(copy->completion, start, emu_hsa_time());
        emu_hsa_signal_decrement(copy->completion);
        pthread_mutex_lock(&lock);
        current = NULL;
        pthread_mutex_unlock(&lock);
        free(copy);
    }
    return NULL;
}

/* The lock is held. */
static bool add(struct copy *copy)
{
    struct copy **link = &waiting;
    pthread_t thread;

    if (!running && tsm_thread_create(&thread, run_copies, NULL) == 0) {
        pthread_detach(thread);
        running = true;
    }
    if (!running)
        return false;
    while (*link)
        link = &(*link)->next;
    *link = copy;
    return true;
}

static hsa_status_t start(void *dst, const void *src, const struct shape *shape,
                          uint32_t num_dep_signals, const hsa_signal_t *dep_signals,
                          hsa_signal_t completion_signal)
{
    struct copy *copy;
    bool ok;

    if (!dst || !src || !completion_signal.handle || (num_dep_signals > 0) != (dep_signals != NULL))
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    copy = malloc(sizeof(*copy) + num_dep_signals * sizeof(copy->deps[0]));
    if (!copy)
        return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    *copy = (struct copy){NULL, dst, src, *shape, completion_signal, num_dep_signals};
    if (num_dep_signals)
        memcpy(copy->deps, dep_signals, num_dep_signals * sizeof(copy->deps[0]));
    pthread_mutex_lock(&lock);
    ok = add(copy);
    pthread_mutex_unlock(&lock);
    if (!ok)
        free(copy);
    emu_hsa_changed();
    return ok ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_OUT_OF_RESOURCES;
}

EMU_HSA_EXPORT hsa_status_t hsa_amd_memory_async_copy(void *dst, hsa_agent_t dst_agent,
                                                      const void *src, hsa_agent_t src_agent,
                                                      size_t size, uint32_t num_dep_signals,
                                                      const hsa_signal_t *dep_signals,
                                                      hsa_signal_t completion_signal)
{
    const struct shape shape = {.width = size, .height = 1, .depth = 1};

    if (!emu_hsa_is_agent(dst_agent) || !emu_hsa_is_agent(src_agent))
        return HSA_STATUS_ERROR_INVALID_AGENT;
    return start(dst, src, &shape, num_dep_signals, dep_signals, completion_signal);
}

EMU_HSA_EXPORT hsa_status_t hsa_amd_svm_prefetch_async(void *ptr, size_t size, hsa_agent_t agent,
                                                       uint32_t num_dep_signals,
                                                       const hsa_signal_t *dep_signals,
                                                       hsa_signal_t completion_signal)
{
    const struct shape nothing = {0};

    if (!emu_hsa_is_agent(agent))
        return HSA_STATUS_ERROR_INVALID_AGENT;
    return start(ptr, ptr, &nothing, num_dep_signals, dep_signals, completion_signal);
}

static void *box_at(const hsa_pitched_ptr_t *memory, const hsa_dim3_t *offset)
{
    return (char *)memory->base + offset->x + offset->y * memory->pitch + offset->z * memory->slice;
}

static bool is_pitched(const hsa_pitched_ptr_t *memory, const hsa_dim3_t *offset)
{
    return memory && offset && memory->base && (uintptr_t)memory->base % 4 == 0 &&
           memory->pitch % 4 == 0 && memory->slice % 4 == 0;
}

EMU_HSA_EXPORT hsa_status_t hsa_amd_memory_async_copy_rect(
    const hsa_pitched_ptr_t *dst, const hsa_dim3_t *dst_offset, const hsa_pitched_ptr_t *src,
    const hsa_dim3_t *src_offset, const hsa_dim3_t *range, hsa_agent_t copy_agent,
    hsa_amd_copy_direction_t dir, uint32_t num_dep_signals, const hsa_signal_t *dep_signals,
    hsa_signal_t completion_signal)
{
    struct shape shape;

    if (!is_pitched(dst, dst_offset) || !is_pitched(src, src_offset) || !range)
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    if (!emu_hsa_is_agent(copy_agent))
        return HSA_STATUS_ERROR_INVALID_AGENT;
    shape = (struct shape){range->x,   range->y,   range->z,  dst->pitch,
                           dst->slice, src->pitch, src->slice};
    return start(box_at(dst, dst_offset), box_at(src, src_offset), &shape, num_dep_signals,
                 dep_signals, completion_signal);
}

EMU_HSA_EXPORT hsa_status_t hsa_amd_memory_async_copy_on_engine(
    void *dst, hsa_agent_t dst_agent, const void *src, hsa_agent_t src_agent, size_t size,
    uint32_t num_dep_signals, const hsa_signal_t *dep_signals, hsa_signal_t completion_signal,
    uint32_t engine_id, bool force_copy_on_sdma)
{
    return hsa_amd_memory_async_copy(dst, dst_agent, src, src_agent, size, num_dep_signals,
                                     dep_signals, completion_signal);
}

/* One engine, which is never busy for long. */
EMU_HSA_EXPORT hsa_status_t hsa_amd_memory_copy_engine_status(hsa_agent_t dst_agent,
                                                              hsa_agent_t src_agent,
                                                              uint32_t *engine_ids_mask)
{
    if (!emu_hsa_is_agent(dst_agent) || !emu_hsa_is_agent(src_agent))
        return HSA_STATUS_ERROR_INVALID_AGENT;
    if (!engine_ids_mask)
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    *engine_ids_mask = 1;
    return HSA_STATUS_SUCCESS;
}
