/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory without an address: how often it is mapped, and which files this process has made of it.
 */
#include "api/hsa/source/vmem.h"

#include "capture/lock.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

void hsa_vmem_unmapped(uint64_t vmem)
{
    struct tsm_handle *handle = hsa_find(HSA_OBJECT_VMEM, vmem);

    if (handle && hsa_vmem_facts(handle) >= HSA_VMEM_COUNT_UNIT)
        hsa_vmem_note(handle, hsa_vmem_facts(handle) - HSA_VMEM_COUNT_UNIT);
}

/* ---- files that this process has made of its memory --------------------------------------------
 */

#define EXPORT_MAX 256u

static struct {
    struct tsm_lock lock;
    uint32_t count;
    struct hsa_exported all[EXPORT_MAX];
} exports;

void hsa_exported_forked(void)
{
    memset(&exports, 0, sizeof(exports));
}

/* The lock is held. */
static struct hsa_exported *free_place(void)
{
    for (uint32_t i = 0; i < exports.count; i++)
        if (!exports.all[i].address && !exports.all[i].vmem)
            return &exports.all[i];
    return exports.count < EXPORT_MAX ? &exports.all[exports.count++] : NULL;
}

void hsa_exported_add(int file, uint64_t address, uint64_t vmem)
{
    int saved_errno = errno;
    struct hsa_exported *place;
    struct stat about;

    if (fstat(file, &about) == 0 && (address || vmem)) {
        tsm_lock_take(&exports.lock);
        place = free_place();
        if (place)
            *place = (struct hsa_exported){about.st_dev, about.st_ino, vmem ? 0 : address, vmem};
        tsm_lock_give(&exports.lock);
    }
    errno = saved_errno;
}

struct hsa_exported hsa_exported_find(int file)
{
    int saved_errno = errno;
    struct hsa_exported found = {0};
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

void hsa_exported_forget(uint64_t address)
{
    if (!__atomic_load_n(&exports.count, __ATOMIC_RELAXED))
        return;
    tsm_lock_take(&exports.lock);
    for (uint32_t i = 0; i < exports.count; i++)
        if (exports.all[i].address == address)
            exports.all[i].address = 0;
    tsm_lock_give(&exports.lock);
}

bool hsa_exported_any(void)
{
    return __atomic_load_n(&exports.count, __ATOMIC_RELAXED) != 0;
}

void hsa_exported_forget_vmem(uint64_t vmem)
{
    tsm_lock_take(&exports.lock);
    for (uint32_t i = 0; i < exports.count; i++)
        if (exports.all[i].vmem == vmem)
            exports.all[i].vmem = 0;
    tsm_lock_give(&exports.lock);
}
