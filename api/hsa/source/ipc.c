/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory and signals of other processes. What they write is not in this trace: memory of theirs is
 * recorded as it is when it is attached, and where the host cannot watch it the trace says that it
 * may have changed since. What they do to a signal shows in the values that the program sees: that
 * is recorded as if the program had stored them; where only the GPU waits, it counts as over.
 */
#include "api/hsa/source/source.h"

#include "api/hsa/condition.h"
#include "api/hsa/hsa_hooks.h"
#include "api/hsa/hsa_wrappers.h"
#include "api/hsa/source/encode.h"
#include "capture/call/streams.h"
#include "capture/lock.h"

#include <sys/mman.h>

#define CONTENT_MAX ((size_t)1 << 30)

/* ---- memory ------------------------------------------------------------------------------------
 */

void hsa_after_shared(struct tsm_call *call, bool ok)
{
    if (ok)
        tsm_session_unmodelled("writes of other processes into memory that this one shared", false);
}

static hsa_status_t first_pool(hsa_amd_memory_pool_t pool, void *data)
{
    hsa_amd_memory_pool_t *out = data;
    bool allocatable = false;

    hsa_runtime.hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED,
                                             &allocatable);
    if (!allocatable)
        return HSA_STATUS_SUCCESS;
    *out = pool;
    return HSA_STATUS_INFO_BREAK;
}

hsa_amd_memory_pool_t hsa_memory_pool(const void *memory)
{
    hsa_amd_pointer_info_t info = {.size = sizeof(info)};
    hsa_amd_memory_pool_t pool = {0};

    hsa_runtime.hsa_amd_pointer_info(memory, &info, NULL, NULL, NULL);
    if (info.agentOwner.handle)
        hsa_runtime.hsa_amd_agent_iterate_memory_pools(info.agentOwner, first_pool, &pool);
    return pool;
}

/* Appends memory of another process. Returns false if it cannot be read. */
static bool append_content(struct tsm_call *call, const void *memory, size_t size)
{
    void *bytes = MAP_FAILED;
    bool ok;

    if (size && size <= CONTENT_MAX)
        bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ok = bytes != MAP_FAILED &&
         hsa_runtime.hsa_memory_copy(bytes, memory, size) == HSA_STATUS_SUCCESS;
    tsm_call_blob(call, ok ? bytes : NULL, ok ? size : 0);
    if (bytes != MAP_FAILED)
        munmap(bytes, size);
    return ok;
}

void hsa_memory_found(const void *memory, size_t size)
{
    struct tsm_stream *stream;
    struct tsm_call call;

    tsm_session_unmodelled("writes of another process into its memory, which this one mapped",
                           true);
    if (!tsm_call_begin(&call, TYPE_hsa_memory_content))
        return;
    stream = hsa_copy_stream();
    tsm_call_on_stream(&call, stream, TSM_BLOCKS);
    tsm_call_returned(&call, HSA_STATUS_SUCCESS, false);
    tsm_call_slot(&call, HSA_SLOT(memory));
    tsm_call_slot(&call, 0);
    tsm_call_slot(&call, size);
    if (!append_content(&call, memory, size))
        tsm_call_flag(&call, SBT_RECORD_TRUNCATED | SBT_RECORD_TAINTS);
    tsm_call_commit(&call);
    hsa_landed(stream, call.position);
}

void hsa_after_attached(struct tsm_call *call, bool ok, size_t len, void **mapped_ptr)
{
    hsa_amd_memory_pool_t pool = {0};

    if (ok)
        pool = hsa_memory_pool(*mapped_ptr);
    tsm_call_slot(call, hsa_id(HSA_OBJECT_POOL, pool.handle));
    if (!ok) {
        tsm_call_blob(call, NULL, 0);
        return;
    }
    hsa_memory_created(HSA_OBJECT_POOL, pool.handle, *mapped_ptr, len);
    if (hsa_memory_kind_of(HSA_SLOT(*mapped_ptr)) == HSA_MEMORY_DEVICE) {
        append_content(call, *mapped_ptr, len);
        tsm_session_unmodelled("writes of another process into its memory, which this one attached",
                               true);
    } else {
        tsm_call_blob(call, NULL, 0); /* it is watched */
        hsa_memory_reveal(mapped_ptr, sizeof(*mapped_ptr));
    }
}

/* ---- signals -----------------------------------------------------------------------------------
 */

/* Count of shared signals. A signal handle's `owner` is its enum hsa_sharing. */
static uint32_t shared_count; /* ever */

static void share(struct tsm_handle *handle, uint32_t how)
{
    if (handle && handle->owner < how)
        handle->owner = how;
    __atomic_fetch_add(&shared_count, 1, __ATOMIC_RELAXED);
}

void hsa_after_signal_given(struct tsm_call *call, bool ok, hsa_signal_t signal)
{
    if (ok)
        share(hsa_find(HSA_OBJECT_SIGNAL, signal.handle), HSA_SIGNAL_GIVEN);
}

void hsa_after_signal_attached(struct tsm_call *call, bool ok, hsa_signal_t *signal)
{
    if (ok)
        share(hsa_find(HSA_OBJECT_SIGNAL, signal->handle), HSA_SIGNAL_ATTACHED);
    tsm_call_slot(call, ok ? (uint64_t)hsa_runtime.hsa_signal_load_scacquire(*signal) : 0);
}

static void record_store(hsa_signal_t signal, hsa_signal_value_t value)
{
    struct tsm_call call;

    if (!tsm_call_begin(&call, TYPE_hsa_signal_store_screlease))
        return;
    tsm_call_returned(&call, 0, false);
    tsm_call_slot(&call, hsa_signal_id(signal));
    tsm_call_slot(&call, (uint64_t)value);
    tsm_call_commit(&call);
}

enum hsa_sharing hsa_signal_sharing(hsa_signal_t signal)
{
    const struct tsm_handle *handle =
        __atomic_load_n(&shared_count, __ATOMIC_RELAXED) && signal.handle
            ? hsa_find(HSA_OBJECT_SIGNAL, signal.handle)
            : NULL;

    return handle ? (enum hsa_sharing)handle->owner : HSA_SIGNAL_OWN;
}

void hsa_signal_counted(hsa_signal_t signal)
{
    hsa_signal_value_t value;

    if (hsa_signal_sharing(signal) != HSA_SIGNAL_POINTED_TO)
        return;
    hsa_look_at(signal);
    if (hsa_count_rearmed(signal, &value))
        record_store(signal, value);
}

bool hsa_signal_is_foreign(hsa_signal_t signal)
{
    const struct tsm_handle *handle;

    if (!__atomic_load_n(&shared_count, __ATOMIC_RELAXED) || !signal.handle)
        return false;
    handle = hsa_find(HSA_OBJECT_SIGNAL, signal.handle);
    /* Commands of this process that count it down are replayed, and do so again. */
    return handle && handle->owner && !handle->stream;
}

/* The handle's position has no other use while it has no stream: the newest value, plus 1. */
void hsa_signal_observed(hsa_signal_t signal, hsa_signal_value_t value)
{
    struct tsm_handle *handle =
        hsa_signal_is_foreign(signal) ? hsa_find(HSA_OBJECT_SIGNAL, signal.handle) : NULL;

    if (!handle || handle->position == (uint64_t)value + 1)
        return;
    handle->position = (uint64_t)value + 1;
    record_store(signal, value);
}

void hsa_signal_changed(hsa_signal_t signal)
{
    struct tsm_handle *handle =
        hsa_signal_is_foreign(signal) ? hsa_find(HSA_OBJECT_SIGNAL, signal.handle) : NULL;

    if (handle)
        handle->position = 0;
}

/* A value with which the condition holds. */
static hsa_signal_value_t satisfying(uint32_t condition, hsa_signal_value_t compare)
{
    switch (condition) {
    case HSA_SIGNAL_CONDITION_NE:
        return compare ^ 1;
    case HSA_SIGNAL_CONDITION_LT:
        return compare - 1;
    default:
        return compare;
    }
}

/* ---- signals that the program sets through a pointer, which commands wait for -------------------
 */

#define POINTER_MAX 64u

static struct tsm_lock pointer_lock;
static struct hsa_wait pointers[POINTER_MAX];
static uint32_t pointer_count;

void hsa_pointers_forked(void)
{
    pointer_lock = (struct tsm_lock){0};
    pointer_count = 0;
}

bool hsa_pointers_any(void)
{
    return __atomic_load_n(&pointer_count, __ATOMIC_ACQUIRE) != 0;
}

static bool add_pointer(const struct hsa_wait *wait)
{
    bool has_room;

    tsm_lock_take(&pointer_lock);
    has_room = pointer_count < POINTER_MAX;
    if (has_room) {
        pointers[pointer_count] = *wait;
        __atomic_store_n(&pointer_count, pointer_count + 1, __ATOMIC_RELEASE);
    }
    tsm_lock_give(&pointer_lock);
    return has_room;
}

/* One that lets its command go on. */
static bool take_pointer(hsa_signal_t *signal, hsa_signal_value_t *value)
{
    bool found = false;

    tsm_lock_take(&pointer_lock);
    for (uint32_t i = 0; i < pointer_count && !found; i++) {
        const struct hsa_wait *p = &pointers[i];
        *signal = p->signal;
        *value = hsa_runtime.hsa_signal_load_scacquire(p->signal);
        found = hsa_condition_holds(*value & p->mask, p->condition, p->compare);
        if (found) {
            pointers[i] = pointers[pointer_count - 1];
            __atomic_store_n(&pointer_count, pointer_count - 1, __ATOMIC_RELEASE);
        }
    }
    tsm_lock_give(&pointer_lock);
    return found;
}

/* Records first what the program wrote before it let the command go on. If it has waited since, the
 * command may have written there, too. */
void hsa_pointers_look(bool is_late)
{
    hsa_signal_value_t value;
    hsa_signal_t signal;

    while (hsa_pointers_any() && take_pointer(&signal, &value)) {
        hsa_memory_opened(signal);
        tsm_hostmem_publish();
        hsa_count_publish_arguments();
        if (is_late && tsm_hostmem_any())
            tsm_session_unmodelled("a signal that was set through a pointer during a wait", true);
        record_store(signal, value);
    }
}

void hsa_pointers_forget(hsa_signal_t signal)
{
    tsm_lock_take(&pointer_lock);
    for (uint32_t i = pointer_count; i-- > 0;)
        if (pointers[i].signal.handle == signal.handle) {
            pointers[i] = pointers[pointer_count - 1];
            __atomic_store_n(&pointer_count, pointer_count - 1, __ATOMIC_RELEASE);
        }
    tsm_lock_give(&pointer_lock);
}

/* Commands that were sent before may wait for the signal. */
void hsa_after_value_pointer(struct tsm_call *call, bool ok, hsa_signal_t signal)
{
    struct tsm_handle *handle = ok ? hsa_find(HSA_OBJECT_SIGNAL, signal.handle) : NULL;
    struct hsa_wait waits[HSA_WAITS_MAX];
    bool has_more = false, is_first = handle && handle->owner != HSA_SIGNAL_POINTED_TO;
    uint32_t count = is_first ? hsa_count_waits(signal, waits, &has_more) : 0;

    share(handle, HSA_SIGNAL_POINTED_TO);
    if (!hsa_signal_is_foreign(signal))
        return;
    for (uint32_t i = 0; i < count; i++)
        has_more |= !add_pointer(&waits[i]);
    if (has_more)
        tsm_session_unmodelled("a signal whose value the program got a pointer to while many "
                               "commands waited for it",
                               true);
}

void hsa_signal_awaited(const struct hsa_wait *wait)
{
    hsa_signal_t signal = wait->signal;
    const struct tsm_handle *handle =
        hsa_signal_is_foreign(signal) ? hsa_find(HSA_OBJECT_SIGNAL, signal.handle) : NULL;

    if (!handle || handle->owner < HSA_SIGNAL_ATTACHED)
        return;
    if (handle->owner == HSA_SIGNAL_POINTED_TO && add_pointer(wait))
        hsa_pointers_look(false);
    else
        record_store(signal, satisfying(wait->condition, wait->compare));
}
