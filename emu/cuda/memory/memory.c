/* SPDX-License-Identifier: Apache-2.0 */
#include "emu/cuda/memory/memory.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "emu/cuda/check/host_stack.h"
#include "emu/cuda/check/quarantine.h"
#include "emu/cuda/check/report.h"
#include "emu/cuda/check/written.h"
#include "emu/cuda/core/emu.h"
#include "emu/cuda/memory/near.h"

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static struct emu_memory *entries; /* sorted by address */
static size_t count;
static size_t capacity;

static _Atomic size_t used[EMU_DEVICE_COUNT_MAX];

/* ---- the sorted array ---- */

/* The first entry that ends after `address`. */
static size_t find(uint64_t address)
{
    size_t at;

    TSM_BISECT(at, count, entries[at].address + entries[at].size > address);
    return at;
}

static struct emu_memory *holder(uint64_t address)
{
    size_t at = find(address);

    return at < count && entries[at].address <= address ? &entries[at] : NULL;
}

static CUresult insert(const struct emu_memory *what)
{
    size_t at = find(what->address);

    if (at < count && entries[at].address < what->address + what->size)
        return CUDA_ERROR_ALREADY_MAPPED;
    if (!TSM_ARRAY_INSERT(entries, count, capacity, at, *what))
        return CUDA_ERROR_OUT_OF_MEMORY;
    entries[at].id = emu_next_id();
    return CUDA_SUCCESS;
}

static void erase(size_t at)
{
    count--;
    memmove(&entries[at], &entries[at + 1], (count - at) * sizeof(*entries));
}

/* ---- kinds ---- */

static bool is_on_device(enum emu_memory_kind kind)
{
    return kind <= EMU_MEMORY_ARRAY;
}

static bool is_placed_by_us(enum emu_memory_kind kind)
{
    return is_on_device(kind) || kind == EMU_MEMORY_HOST;
}

/* Releases the memory of an entry that was removed from the register. */
static void release(const struct emu_memory *memory)
{
    if (is_on_device(memory->kind))
        emu_memory_discharge(memory->device, memory->size);
    if (memory->release)
        memory->release(memory);
    emu_quarantine_add(memory, is_placed_by_us(memory->kind));
}

bool emu_memory_charge(CUdevice device, size_t size)
{
    size_t before = atomic_load(&used[device]);

    do {
        if (size > emu_settings.memory_size - before)
            return false;
    } while (!atomic_compare_exchange_weak(&used[device], &before, before + size));
    return true;
}

void emu_memory_discharge(CUdevice device, size_t size)
{
    atomic_fetch_sub(&used[device], size);
}

size_t emu_memory_used(CUdevice device)
{
    return atomic_load(&used[device]);
}

/* ---- changes ---- */

/* The program cannot write to these behind the driver's back, nor through another address. */
static bool is_watched(enum emu_memory_kind kind)
{
    return kind == EMU_MEMORY_DEVICE || kind == EMU_MEMORY_POOL || kind == EMU_MEMORY_ARRAY;
}

CUresult emu_memory_add(const struct emu_memory *what)
{
    struct emu_memory memory = *what;

    memory.stack = emu_stack_take();
    pthread_rwlock_wrlock(&lock);
    CUresult result = insert(&memory);
    pthread_rwlock_unlock(&lock);
    if (!result && is_watched(what->kind))
        emu_written_none(what->address, what->size);
    else if (!result)
        emu_written_all(what->address, what->size);
    return result;
}

CUresult emu_memory_allocate(uint64_t *address_out, enum emu_window window, size_t size,
                             const struct emu_memory *what)
{
    struct emu_memory memory = *what;
    CUresult result = CUDA_ERROR_OUT_OF_MEMORY;

    memory.size = size;
    if (is_on_device(memory.kind) && !emu_memory_charge(memory.device, size)) {
        emu_report_memory(size, emu_memory_used(memory.device));
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    memory.address = emu_va_allocator_take(window, size, emu_settings.fill);
    if (!memory.address && emu_quarantine_release())
        memory.address = emu_va_allocator_take(window, size, emu_settings.fill);
    if (memory.address)
        result = emu_memory_add(&memory);
    if (!result)
        *address_out = memory.address;
    else if (memory.address)
        release(&memory);
    else if (is_on_device(memory.kind))
        emu_memory_discharge(memory.device, size);
    return result;
}

CUresult emu_memory_remove(uint64_t address, unsigned kinds)
{
    struct emu_memory gone = {0};

    pthread_rwlock_wrlock(&lock);
    size_t at = find(address);
    if (at < count && entries[at].address == address && (kinds >> entries[at].kind & 1)) {
        gone = entries[at];
        erase(at);
    }
    pthread_rwlock_unlock(&lock);
    if (!gone.size)
        return CUDA_ERROR_INVALID_VALUE;
    release(&gone);
    return CUDA_SUCCESS;
}

void emu_context_free_memory(CUcontext context)
{
    pthread_rwlock_wrlock(&lock);
    for (size_t i = count; i-- > 0;) {
        struct emu_memory gone = entries[i];
        if (gone.context != context || gone.kind == EMU_MEMORY_MAPPED)
            continue;
        erase(i);
        release(&gone);
    }
    pthread_rwlock_unlock(&lock);
}

bool emu_memory_change(uint64_t address, void (*change)(struct emu_memory *memory, void *user),
                       void *user)
{
    pthread_rwlock_wrlock(&lock);
    struct emu_memory *memory = holder(address);
    if (memory)
        change(memory, user);
    pthread_rwlock_unlock(&lock);
    return memory != NULL;
}

/* ---- questions ---- */

bool emu_memory_find(struct emu_memory *out, uint64_t address)
{
    pthread_rwlock_rdlock(&lock);
    struct emu_memory *memory = holder(address);
    if (memory)
        *out = *memory;
    pthread_rwlock_unlock(&lock);
    return memory != NULL;
}

/* Neighbours that touch count as one: mappings side by side in a reservation. */
bool emu_memory_covers(uint64_t address, uint64_t size)
{
    uint64_t at = address;

    if (address + size < address)
        return false;
    pthread_rwlock_rdlock(&lock);
    for (size_t i = find(at); i < count && entries[i].address <= at && at < address + size; i++)
        at = entries[i].address + entries[i].size;
    pthread_rwlock_unlock(&lock);
    return at >= address + size;
}

bool emu_memory_is_accessible(void *user, uint64_t address, uint64_t size, bool write,
                              uint64_t *run_start, uint64_t *run_size)
{
    uint64_t start = 0, end = 0;

    (void)user;
    pthread_rwlock_rdlock(&lock);
    for (size_t i = find(address); i < count; i++) {
        struct emu_memory *m = &entries[i];
        if (!(write ? m->is_writable : m->is_readable) ||
            (end ? m->address != end : m->address > address))
            break;
        start = end ? start : m->address;
        end = m->address + m->size;
        if (end >= address + size)
            break;
    }
    pthread_rwlock_unlock(&lock);
    if (!end || end - address < size)
        return false;
    *run_start = start;
    *run_size = end - start;
    return true;
}

/* Compares two candidates. One that touches the address is as near as can be but does not hold it:
 * freed memory that held it is what the program meant. */
static bool is_better(const struct emu_near *a, const struct emu_near *b)
{
    return b->distance == UINT64_MAX || a->distance < b->distance;
}

static void consider(struct emu_near *best, size_t at, uint64_t address)
{
    struct emu_near one = {0};

    if (at >= count)
        return;
    one.memory = entries[at];
    emu_near_measure(&one, address);
    one.distance += one.where != EMU_NEAR_INSIDE;
    if (is_better(&one, best))
        *best = one;
}

bool emu_memory_near(struct emu_near *out, uint64_t address)
{
    *out = (struct emu_near){.distance = UINT64_MAX};
    pthread_rwlock_rdlock(&lock);
    size_t at = find(address);
    consider(out, at, address);
    if (at > 0)
        consider(out, at - 1, address);
    pthread_rwlock_unlock(&lock);
    emu_quarantine_near(out, address);
    if (out->distance == UINT64_MAX)
        return false;
    emu_near_measure(out, address);
    return true;
}

void emu_context_each_leak(CUcontext context, void (*leak)(const struct emu_memory *memory))
{
    pthread_rwlock_rdlock(&lock);
    for (size_t i = 0; i < count; i++)
        if (entries[i].context == context && entries[i].kind != EMU_MEMORY_MODULE &&
            !entries[i].free_stack)
            leak(&entries[i]);
    pthread_rwlock_unlock(&lock);
}
