/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory without an address: what is mapped where, several times if need be, and memory as a file,
 * which goes to others or comes from them. A file that this process has made itself is memory that
 * the trace knows already; another one is recorded as it is when it is mapped.
 */
#include "api/hsa/source/source.h"

#include "api/hsa/hsa_hooks.h"
#include "api/hsa/hsa_wrappers.h"
#include "api/hsa/source/encode.h"
#include "capture/lock.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- handles -----------------------------------------------------------------------------------
 */

/* Bits of a handle's `user`: its pool's facts, and how it is mapped. */
#define IS_FOREIGN 0x100u
#define WAS_MAPPED 0x200u
#define COUNT_UNIT 0x10000u /* its mappings now */

static void note(struct tsm_handle *handle, uint64_t facts)
{
    handle->user = (void *)(uintptr_t)facts;
}

static uint64_t facts_of(const struct tsm_handle *handle)
{
    return handle ? (uint64_t)(uintptr_t)handle->user : 0;
}

void hsa_after_vmem(struct tsm_call *call, bool ok, hsa_amd_memory_pool_t pool,
                    hsa_vmem_handle_t *memory_handle)
{
    struct tsm_handle *made = ok ? hsa_find(HSA_OBJECT_VMEM, memory_handle->handle) : NULL;

    if (made)
        note(made, facts_of(hsa_find(HSA_OBJECT_POOL, pool.handle)));
}

void hsa_after_map(struct tsm_call *call, bool ok, void *va, size_t size,
                   hsa_vmem_handle_t memory_handle)
{
    struct tsm_handle *handle = ok ? hsa_find(HSA_OBJECT_VMEM, memory_handle.handle) : NULL;
    uint64_t facts = facts_of(handle);

    if (!ok)
        return;
    if (handle)
        note(handle, (facts | WAS_MAPPED) + COUNT_UNIT);
    else
        tsm_call_flag(call, SBT_RECORD_TAINTS);
    hsa_memory_mapped(HSA_SLOT(va), size, memory_handle.handle, facts,
                      (facts & IS_FOREIGN) && !(facts & WAS_MAPPED));
}

void hsa_virtual_unmapped(uint64_t vmem)
{
    struct tsm_handle *handle = hsa_find(HSA_OBJECT_VMEM, vmem);

    if (handle && facts_of(handle) >= COUNT_UNIT)
        note(handle, facts_of(handle) - COUNT_UNIT);
}

/* Tracks the memory in [start, end) that waited and can be reached now. */
static void reach(uint64_t start, uint64_t end)
{
    struct hsa_awake now;

    while (start < end && hsa_memory_awake(&start, end, &now)) {
        if (now.is_hosts)
            tsm_hostmem_track(now.start, now.size);
        else if (now.is_foreign)
            hsa_memory_found((const void *)(uintptr_t)now.start, now.size);
    }
}

static bool has_host(const hsa_memory_access_t *desc, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (hsa_agent_is_host(desc[i].agent_handle))
            return true;
    return false;
}

void hsa_after_access(struct tsm_call *call, bool ok, void *va, const hsa_memory_access_t *desc,
                      size_t count)
{
    tsm_call_slot(call, ok && has_host(desc, count) && hsa_memory_may_be_hosts(HSA_SLOT(va)));
}

void hsa_then_access(void *va, size_t size, const hsa_memory_access_t *desc, size_t count)
{
    reach(HSA_SLOT(va), HSA_SLOT(va) + size);
    if (has_host(desc, count))
        hsa_memory_allowed(HSA_SLOT(va), size);
}

static bool is_there(uint64_t vmem)
{
    hsa_amd_memory_pool_t pool;
    uint32_t type;

    return hsa_runtime.hsa_amd_vmem_get_alloc_properties_from_handle(
               (hsa_vmem_handle_t){vmem}, &pool, &type) == HSA_STATUS_SUCCESS;
}

/* Released handles of which no mapping is left hold nothing that anybody could see. */
static bool is_reachable(void *user, const struct tsm_handle *handle)
{
    uint64_t facts = facts_of(handle);

    return !(facts & WAS_MAPPED) || facts >= COUNT_UNIT || !is_there(handle->raw);
}

bool hsa_virtual_is_mapped(void)
{
    return tsm_handle_each(SBT_API_HSA, HSA_OBJECT_VMEM, is_reachable, NULL);
}

/* ---- files that this process has made of its memory --------------------------------------------
 */

#define EXPORT_MAX 256u

struct exported {
    dev_t device;
    ino_t number;
    uint64_t address; /* of an allocation; 0: */
    uint64_t vmem;    /* memory without one; 0: the place is free */
};

static struct {
    struct tsm_lock lock;
    uint32_t count;
    struct exported all[EXPORT_MAX];
} exports;

void hsa_virtual_forked(void)
{
    memset(&exports, 0, sizeof(exports));
}

/* The lock is held. */
static struct exported *free_place(void)
{
    for (uint32_t i = 0; i < exports.count; i++)
        if (!exports.all[i].address && !exports.all[i].vmem)
            return &exports.all[i];
    return exports.count < EXPORT_MAX ? &exports.all[exports.count++] : NULL;
}

/* Notes an export. One that does not fit is taken for another process's when it comes back. */
static void note_export(int file, uint64_t address, uint64_t vmem)
{
    int saved_errno = errno;
    struct exported *place;
    struct stat about;

    if (fstat(file, &about) == 0 && (address || vmem)) {
        tsm_lock_take(&exports.lock);
        place = free_place();
        if (place)
            *place = (struct exported){about.st_dev, about.st_ino, vmem ? 0 : address, vmem};
        tsm_lock_give(&exports.lock);
    }
    errno = saved_errno;
}

static struct exported find_export(int file)
{
    int saved_errno = errno;
    struct exported found = {0};
    struct stat about;

    if (fstat(file, &about) == 0) {
        tsm_lock_take(&exports.lock);
        for (uint32_t i = 0; i < exports.count; i++)
            if (exports.all[i].device == about.st_dev && exports.all[i].number == about.st_ino &&
                (exports.all[i].address || exports.all[i].vmem))
                found = exports.all[i];
        tsm_lock_give(&exports.lock);
    }
    errno = saved_errno;
    return found;
}

void hsa_virtual_forget(uint64_t address)
{
    if (!__atomic_load_n(&exports.count, __ATOMIC_RELAXED))
        return;
    tsm_lock_take(&exports.lock);
    for (uint32_t i = 0; i < exports.count; i++)
        if (exports.all[i].address == address)
            exports.all[i].address = 0;
    tsm_lock_give(&exports.lock);
}

void hsa_after_released(struct tsm_call *call, bool ok, hsa_vmem_handle_t memory_handle)
{
    if (!ok || !__atomic_load_n(&exports.count, __ATOMIC_RELAXED) || is_there(memory_handle.handle))
        return;
    tsm_lock_take(&exports.lock);
    for (uint32_t i = 0; i < exports.count; i++)
        if (exports.all[i].vmem == memory_handle.handle)
            exports.all[i].vmem = 0;
    tsm_lock_give(&exports.lock);
}

void hsa_after_exported(struct tsm_call *call, bool ok, const void *ptr, int *dmabuf)
{
    uint64_t vmem = 0, start = ok ? hsa_memory_start(HSA_SLOT(ptr), &vmem) : 0;

    if (ok)
        note_export(*dmabuf, start, vmem);
}

void hsa_after_exported_handle(struct tsm_call *call, bool ok, hsa_vmem_handle_t handle,
                               int *dmabuf)
{
    if (ok)
        note_export(*dmabuf, 0, handle.handle);
}

/* ---- files that became memory ------------------------------------------------------------------
 */

static uint64_t file_size(int file)
{
    off_t size = lseek(file, 0, SEEK_END);

    return size > 0 ? (uint64_t)size : 0;
}

/* Returns the id of imported memory: its handle's, where the memory has one here already. */
static uint64_t imported_id(int file, const struct exported *own, hsa_vmem_handle_t handle,
                            hsa_amd_memory_pool_t pool)
{
    struct tsm_handle *made =
        own->vmem == handle.handle ? hsa_find(HSA_OBJECT_VMEM, handle.handle) : NULL;

    if (made)
        return made->id;
    made = tsm_handle_add(SBT_API_HSA, HSA_OBJECT_VMEM, handle.handle);
    note(made, facts_of(hsa_find(HSA_OBJECT_POOL, pool.handle)) | (own->address ? 0 : IS_FOREIGN));
    if (!own->address)
        note_export(file, 0, handle.handle);
    return made->id;
}

hsa_status_t hook_hsa_amd_vmem_import_shareable_handle(int dmabuf_fd, hsa_vmem_handle_t *handle)
{
    hsa_amd_memory_pool_t pool = {0};
    struct exported own = {0};
    hsa_status_t status;
    struct tsm_call call;
    uint32_t type;
    bool ok;

    if (!tsm_call_begin(&call, TYPE_hsa_amd_vmem_import_shareable_handle))
        return hsa_runtime.hsa_amd_vmem_import_shareable_handle(dmabuf_fd, handle);
    status = hsa_runtime.hsa_amd_vmem_import_shareable_handle(dmabuf_fd, handle);
    ok = status == HSA_STATUS_SUCCESS;
    if (ok) {
        own = find_export(dmabuf_fd);
        hsa_runtime.hsa_amd_vmem_get_alloc_properties_from_handle(*handle, &pool, &type);
    }
    tsm_call_returned(&call, status, !ok);
    tsm_call_slot(&call, (uint64_t)(int64_t)dmabuf_fd);
    tsm_call_slot(&call, ok ? imported_id(dmabuf_fd, &own, *handle, pool) : 0);
    tsm_call_slot(&call, hsa_id(HSA_OBJECT_POOL, pool.handle));
    tsm_call_slot(&call, ok ? file_size(dmabuf_fd) : 0);
    tsm_call_slot(&call, own.address);
    tsm_call_commit(&call);
    return status;
}

/* Records an import: one more mapping of the process's own memory, or an allocation of
 * another's. */
void hsa_after_interop(struct tsm_call *call, bool ok, int file, size_t *size, void **ptr)
{
    const struct exported own = ok ? find_export(file) : (struct exported){0};
    hsa_amd_memory_pool_t pool = {0};

    if (ok)
        pool = hsa_memory_pool(*ptr);
    tsm_call_slot(call, hsa_id(HSA_OBJECT_POOL, pool.handle));
    tsm_call_slot(call, own.address);
    tsm_call_slot(call, hsa_id(HSA_OBJECT_VMEM, own.vmem));
    if (ok)
        hsa_memory_mapped(HSA_SLOT(*ptr), *size, 0,
                          facts_of(hsa_find(HSA_OBJECT_POOL, pool.handle)),
                          !own.address && !own.vmem);
}

void hsa_then_found(void **ptr, size_t *size)
{
    reach(HSA_SLOT(*ptr), HSA_SLOT(*ptr) + *size);
}
