/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions that the program wants to be called: when memory goes, at once on a thread of the
 * runtime's, when the GPU is in trouble.
 */
#include "emu/hsa/runtime.h"

#include "base/thread.h"

#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- memory that goes --------------------------------------------------------------------------
 */

struct notifier {
    struct notifier *next;
    uint64_t address;
    hsa_amd_deallocation_callback_t callback;
    void *user_data;
};

static struct notifier *notifiers; /* the newest first */

EMU_HSA_EXPORT hsa_status_t hsa_amd_register_deallocation_callback(
    void *ptr, hsa_amd_deallocation_callback_t callback, void *user_data)
{
    struct emu_hsa_block block;
    struct notifier *made;

    if (!ptr || !callback)
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    if (!emu_hsa_block_find((uint64_t)(uintptr_t)ptr, &block) || !block.pool)
        return HSA_STATUS_ERROR_INVALID_ALLOCATION;
    made = malloc(sizeof(*made));
    if (!made)
        return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    pthread_mutex_lock(&lock);
    *made = (struct notifier){notifiers, (uint64_t)(uintptr_t)ptr, callback, user_data};
    notifiers = made;
    pthread_mutex_unlock(&lock);
    return HSA_STATUS_SUCCESS;
}

/* Out of the list: one in [start, end), with that callback unless it is NULL. */
static struct notifier *take(uint64_t start, uint64_t end, hsa_amd_deallocation_callback_t callback)
{
    struct notifier **link = &notifiers, *found;

    pthread_mutex_lock(&lock);
    while ((found = *link) != NULL && (found->address < start || found->address >= end ||
                                       (callback && found->callback != callback)))
        link = &found->next;
    if (found)
        *link = found->next;
    pthread_mutex_unlock(&lock);
    return found;
}

EMU_HSA_EXPORT hsa_status_t
hsa_amd_deregister_deallocation_callback(void *ptr, hsa_amd_deallocation_callback_t callback)
{
    uint64_t address = (uint64_t)(uintptr_t)ptr;
    struct notifier *gone = callback ? take(address, address + 1, callback) : NULL;

    if (!gone)
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    free(gone);
    return HSA_STATUS_SUCCESS;
}

void emu_hsa_notify_destroyed(uint64_t address, uint64_t size)
{
    struct notifier *due;

    while ((due = take(address, address + size, NULL)) != NULL) {
        due->callback((void *)(uintptr_t)due->address, due->user_data);
        free(due);
    }
}

/* ---- functions to call -------------------------------------------------------------------------
 */

struct function {
    hsa_async_callback_t callback;
    void *argument;
};

static void *run_function(void *argument)
{
    const struct function function = *(struct function *)argument;

    free(argument);
    function.callback(function.argument);
    return NULL;
}

EMU_HSA_EXPORT hsa_status_t hsa_amd_async_function(hsa_async_callback_t callback, void *arg)
{
    struct function *function = callback ? malloc(sizeof(*function)) : NULL;
    pthread_t thread;

    if (!callback)
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    if (!function)
        return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    *function = (struct function){callback, arg};
    if (tsm_thread_create(&thread, run_function, function) != 0) {
        free(function);
        return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    }
    pthread_detach(thread);
    return HSA_STATUS_SUCCESS;
}

/* ---- trouble: one function may be told of it. There is none: a kernel's fault is the process's.
 */

static hsa_amd_system_event_callback_t told;

EMU_HSA_EXPORT hsa_status_t
hsa_amd_register_system_event_handler(hsa_amd_system_event_callback_t callback, void *data)
{
    bool ok;

    pthread_mutex_lock(&lock);
    ok = !told || !callback;
    if (ok)
        told = callback;
    pthread_mutex_unlock(&lock);
    return ok ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR;
}
