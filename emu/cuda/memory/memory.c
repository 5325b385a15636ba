/* SPDX-License-Identifier: Apache-2.0 */
#include "emu/cuda/memory/memory.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "emu/cuda/check/host_stack.h"
#include "emu/cuda/check/quarantine.h"
#include "emu/cuda/check/report.h"
#include "emu/cuda/check/written.h"
#include "emu/cuda/core/emu.h"
#include "emu/cuda/memory/near.h"
#include "emu/cuda/memory/ranges.h"

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static struct emu_ranges entries; /* items: struct emu_memory, owned */

static _Atomic size_t used[EMU_DEVICE_COUNT_MAX];

/* ---- entries ---- */

static struct emu_memory *memory_of(const struct emu_range *range)
{
    return range ? range->item : NULL;
}

static struct emu_memory *holder(uint64_t address)
{
    return memory_of(emu_ranges_holder(&entries, address));
}

static CUresult insert(const struct emu_memory *what)
{
    const struct emu_range *next =
        emu_ranges_at(&entries, emu_ranges_find(&entries, what->address));
    struct emu_memory *memory;

    if (next && next->start < what->address + what->size)
        return CUDA_ERROR_ALREADY_MAPPED;
    memory = malloc(sizeof(*memory));
    if (!memory ||
        !emu_ranges_add(&entries, (struct emu_range){what->address, what->size, memory})) {
        free(memory);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *memory = *what;
    memory->id = emu_next_id();
    return CUDA_SUCCESS;
}

/* Removes the entry and returns it. */
static struct emu_memory take(struct emu_range_place at)
{
    struct emu_memory *memory = memory_of(emu_ranges_at(&entries, at)), taken = *memory;

    emu_ranges_remove(&entries, at);
    free(memory);
    return taken;
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

static _Thread_local uint64_t wish;

void emu_memory_wish(uint64_t address)
{
    wish = address;
}

uint64_t emu_memory_take_wish(void)
{
    const uint64_t wished = wish;

    wish = 0;
    return wished;
}

/* Takes a place: the wished one, or any. */
static uint64_t take_place(enum emu_window window, size_t size)
{
    const uint64_t wished =
        window == EMU_WINDOW_DEVICE || window == EMU_WINDOW_MODULE ? emu_memory_take_wish() : 0;
    uint64_t address = 0;

    if (wished) {
        address = emu_va_allocator_take_at(wished, size, emu_settings.fill);
        if (!address && emu_quarantine_release())
            address = emu_va_allocator_take_at(wished, size, emu_settings.fill);
    }
    if (!address)
        address = emu_va_allocator_take(window, size, emu_settings.fill);
    if (!address && emu_quarantine_release())
        address = emu_va_allocator_take(window, size, emu_settings.fill);
    return address;
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
    memory.address = take_place(window, size);
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
    struct emu_range_place at = emu_ranges_find(&entries, address);
    const struct emu_memory *memory = memory_of(emu_ranges_at(&entries, at));
    if (memory && memory->address == address && (kinds >> memory->kind & 1))
        gone = take(at);
    pthread_rwlock_unlock(&lock);
    if (!gone.size)
        return CUDA_ERROR_INVALID_VALUE;
    release(&gone);
    return CUDA_SUCCESS;
}

void emu_context_free_memory(CUcontext context)
{
    struct emu_memory gone;
    const struct emu_memory *memory;

    pthread_rwlock_wrlock(&lock);
    /* From the end, where removing moves least. */
    for (struct emu_range_place at = emu_ranges_find(&entries, UINT64_MAX);
         (memory = memory_of(emu_ranges_before(&entries, at)));) {
        at = emu_ranges_find(&entries, memory->address);
        if (memory->context != context || memory->kind == EMU_MEMORY_MAPPED)
            continue;
        gone = take(at);
        release(&gone);
        at = emu_ranges_find(&entries, gone.address);
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
    const struct emu_range *range;
    uint64_t at = address;

    if (address + size < address)
        return false;
    pthread_rwlock_rdlock(&lock);
    for (struct emu_range_place i = emu_ranges_find(&entries, at);
         (range = emu_ranges_at(&entries, i)) && range->start <= at && at < address + size;
         emu_ranges_next(&entries, &i))
        at = range->start + range->size;
    pthread_rwlock_unlock(&lock);
    return at >= address + size;
}

bool emu_memory_is_accessible(void *user, uint64_t address, uint64_t size, bool write,
                              uint64_t *run_start, uint64_t *run_size)
{
    const struct emu_memory *m;
    uint64_t start = 0, end = 0;

    (void)user;
    pthread_rwlock_rdlock(&lock);
    for (struct emu_range_place i = emu_ranges_find(&entries, address);
         (m = memory_of(emu_ranges_at(&entries, i))); emu_ranges_next(&entries, &i)) {
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

static void consider(struct emu_near *best, const struct emu_memory *memory, uint64_t address)
{
    struct emu_near one = {0};

    if (!memory)
        return;
    one.memory = *memory;
    emu_near_measure(&one, address);
    one.distance += one.where != EMU_NEAR_INSIDE;
    if (is_better(&one, best))
        *best = one;
}

bool emu_memory_near(struct emu_near *out, uint64_t address)
{
    *out = (struct emu_near){.distance = UINT64_MAX};
    pthread_rwlock_rdlock(&lock);
    struct emu_range_place at = emu_ranges_find(&entries, address);
    consider(out, memory_of(emu_ranges_at(&entries, at)), address);
    consider(out, memory_of(emu_ranges_before(&entries, at)), address);
    pthread_rwlock_unlock(&lock);
    emu_quarantine_near(out, address);
    if (out->distance == UINT64_MAX)
        return false;
    emu_near_measure(out, address);
    return true;
}

void emu_context_each_leak(CUcontext context, void (*leak)(const struct emu_memory *memory))
{
    const struct emu_memory *m;

    pthread_rwlock_rdlock(&lock);
    for (struct emu_range_place i = {0, 0}; (m = memory_of(emu_ranges_at(&entries, i)));
         emu_ranges_next(&entries, &i))
        if (m->context == context && m->kind != EMU_MEMORY_MODULE && !m->free_stack)
            leak(m);
    pthread_rwlock_unlock(&lock);
}
