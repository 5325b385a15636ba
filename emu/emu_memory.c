/* SPDX-License-Identifier: Apache-2.0 */
#include "emu/emu_memory.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "emu/emu.h"

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static struct emu_memory *entries; /* sorted by address */
static size_t count;
static size_t capacity;

static _Atomic size_t used[EMU_DEVICE_COUNT_MAX];

/* ---- the sorted array ---- */

/* The first entry that ends after `address`. */
static size_t find(uint64_t address)
{
    size_t low = 0, high = count;

    while (low < high) {
        size_t middle = (low + high) / 2;
        if (entries[middle].address + entries[middle].size > address)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
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
    if (count == capacity) {
        size_t more = capacity ? capacity * 2 : 256;
        struct emu_memory *grown = realloc(entries, more * sizeof(*grown));
        if (!grown)
            return CUDA_ERROR_OUT_OF_MEMORY;
        entries = grown;
        capacity = more;
    }
    memmove(&entries[at + 1], &entries[at], (count - at) * sizeof(*entries));
    entries[at] = *what;
    entries[at].id = emu_next_id();
    count++;
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

/* What remains when an entry is out of the register. */
static void release(const struct emu_memory *memory)
{
    if (is_on_device(memory->kind))
        emu_memory_discharge(memory->device, memory->size);
    if (is_placed_by_us(memory->kind))
        emu_place_give(memory->address);
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

CUresult emu_memory_add(const struct emu_memory *what)
{
    pthread_rwlock_wrlock(&lock);
    CUresult result = insert(what);
    pthread_rwlock_unlock(&lock);
    return result;
}

CUresult emu_memory_allocate(uint64_t *address_out, enum emu_window window, size_t size,
                             const struct emu_memory *what)
{
    struct emu_memory memory = *what;
    CUresult result = CUDA_ERROR_OUT_OF_MEMORY;

    memory.size = size;
    if (is_on_device(memory.kind) && !emu_memory_charge(memory.device, size))
        return CUDA_ERROR_OUT_OF_MEMORY;
    memory.address = emu_place_take(window, size, emu_settings.fill);
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

static const char *kind_name(enum emu_memory_kind kind)
{
    static const char *const names[] = {
        [EMU_MEMORY_DEVICE] = "device memory",
        [EMU_MEMORY_MANAGED] = "managed memory",
        [EMU_MEMORY_POOL] = "pool memory",
        [EMU_MEMORY_MODULE] = "module variables",
        [EMU_MEMORY_ARRAY] = "an array",
        [EMU_MEMORY_HOST] = "host memory",
        [EMU_MEMORY_REGISTERED] = "registered host memory",
        [EMU_MEMORY_MAPPED] = "mapped memory",
    };
    return names[kind];
}

void emu_memory_describe(char *out, size_t size, uint64_t address)
{
    pthread_rwlock_rdlock(&lock);
    size_t at = find(address);
    const struct emu_memory *after = at < count ? &entries[at] : NULL;
    const struct emu_memory *before = at > 0 ? &entries[at - 1] : NULL;
    uint64_t gap_before = before ? address - (before->address + before->size) : UINT64_MAX;
    uint64_t gap_after = after && after->address > address ? after->address - address : UINT64_MAX;

    if (after && after->address <= address)
        tsm_format(out, size, "byte %llu of %llu bytes of %s at 0x%llx%s",
                   (unsigned long long)(address - after->address), (unsigned long long)after->size,
                   kind_name(after->kind), (unsigned long long)after->address,
                   after->is_writable   ? ""
                   : after->is_readable ? ", read-only"
                                        : ", not accessible now");
    else if (before && gap_before <= gap_after)
        tsm_format(out, size, "%llu bytes after the end of %llu bytes of %s at 0x%llx",
                   (unsigned long long)gap_before, (unsigned long long)before->size,
                   kind_name(before->kind), (unsigned long long)before->address);
    else if (after)
        tsm_format(out, size, "%llu bytes before %llu bytes of %s at 0x%llx",
                   (unsigned long long)gap_after, (unsigned long long)after->size,
                   kind_name(after->kind), (unsigned long long)after->address);
    else
        tsm_format(out, size, "nothing is allocated");
    pthread_rwlock_unlock(&lock);
}
