/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies. Asynchronous ones run on one thread, each as soon as the signals that it waits for are 0,
 * so in no order of their own.
 */
#include "emu/hsa/emu_hsa.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define NAP_NS 100000000u

struct copy {
    struct copy *next;
    void *dst;
    const void *src;
    size_t size;
    hsa_signal_t completion;
    uint32_t dep_count;
    hsa_signal_t deps[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct copy *waiting; /* oldest first */
static bool running;

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
    pthread_mutex_unlock(&lock);
    return found;
}

static void *run_copies(void *unused)
{
    for (;;) {
        uint32_t now = emu_hsa_now();
        struct copy *copy = take_ready();
        uint64_t start = emu_hsa_time();

        if (!copy) {
            emu_hsa_await(now, NAP_NS);
            continue;
        }
        memmove(copy->dst, copy->src, copy->size);
        emu_hsa_signal_times(copy->completion, start, emu_hsa_time());
        emu_hsa_signal_decrement(copy->completion);
        free(copy);
    }
    return NULL;
}

/* The lock is held. */
static bool add(struct copy *copy)
{
    struct copy **link = &waiting;
    pthread_t thread;

    if (!running && pthread_create(&thread, NULL, run_copies, NULL) == 0) {
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

EMU_HSA_EXPORT hsa_status_t hsa_amd_memory_async_copy(void *dst, hsa_agent_t dst_agent,
                                                      const void *src, hsa_agent_t src_agent,
                                                      size_t size, uint32_t num_dep_signals,
                                                      const hsa_signal_t *dep_signals,
                                                      hsa_signal_t completion_signal)
{
    struct copy *copy;
    bool ok;

    if (!dst || !src || !completion_signal.handle || (num_dep_signals > 0) != (dep_signals != NULL))
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    if (!emu_hsa_is_agent(dst_agent) || !emu_hsa_is_agent(src_agent))
        return HSA_STATUS_ERROR_INVALID_AGENT;
    copy = malloc(sizeof(*copy) + num_dep_signals * sizeof(copy->deps[0]));
    if (!copy)
        return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    *copy = (struct copy){NULL, dst, src, size, completion_signal, num_dep_signals};
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

EMU_HSA_EXPORT hsa_status_t hsa_amd_memory_async_copy_on_engine(
    void *dst, hsa_agent_t dst_agent, const void *src, hsa_agent_t src_agent, size_t size,
    uint32_t num_dep_signals, const hsa_signal_t *dep_signals, hsa_signal_t completion_signal,
    uint32_t engine_id, bool force_copy_on_sdma)
{
    return hsa_amd_memory_async_copy(dst, dst_agent, src, src_agent, size, num_dep_signals,
                                     dep_signals, completion_signal);
}
