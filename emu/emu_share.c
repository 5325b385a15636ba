/* SPDX-License-Identifier: Apache-2.0 */
#include "emu/emu_share.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "emu/emu.h"
#include "emu/emu_context.h"
#include "emu/emu_memory.h"
#include "emu/emu_page.h"
#include "emu/emu_stream.h"

#define MAGIC      0x306d656d75736d74ull /* "tmsumem0" */
#define SLOT_COUNT (EMU_PAGE_FRONT / sizeof(uint64_t))

/* An opened handle: struct emu_memory's owner. */
struct import {
    struct emu_share_handle handle;
    CUcontext context;
    CUmemoryPool pool;
    uint64_t address;
    uint64_t mapping; /* where its pages begin */
    uint64_t mapping_size;
    unsigned references;
    struct import *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t slots[SLOT_COUNT]; /* ids of what is exported now; the file begins with a copy */
static struct import *imports;

/* ---- processes and their files ---- */

/* What /proc/PID/stat says behind the name, which may hold anything: from the 2nd field's end on.
 * NULL: no such process. */
static const char *read_stat(char *text, size_t room, uint32_t process)
{
    char path[64];
    ssize_t size = -1;

    tsm_format(path, sizeof(path), "/proc/%u/stat", process);
    int stat = open(path, O_RDONLY | O_CLOEXEC);
    if (stat >= 0) {
        size = read(stat, text, room - 1);
        close(stat);
    }
    if (size <= 0)
        return NULL;
    text[size] = 0;
    return strrchr(text, ')');
}

/* The 22nd field: when it began. 0: no such process. */
static uint64_t born(uint32_t process)
{
    char text[1024];
    const char *at = read_stat(text, sizeof(text), process);

    for (unsigned field = 2; at && field < 22; field++)
        at = strchr(at + 1, ' ');
    return at ? strtoull(at, NULL, 10) : 0;
}

/* One that ended and whose parent did not ask for its status yet is there, but in state Z. */
bool emu_share_is_alive(uint32_t process)
{
    char text[1024];
    const char *at = read_stat(text, sizeof(text), process);

    return at && at[1] && at[2] != 'Z' && at[2] != 'X';
}

struct emu_share_file emu_share_own(int file)
{
    uint32_t process = (uint32_t)getpid();

    return (struct emu_share_file){process, file, born(process)};
}

bool emu_share_is_own(const struct emu_share_file *file)
{
    return file->process == (uint32_t)getpid() && file->born == born(file->process);
}

int emu_share_open(const struct emu_share_file *file)
{
    char path[64], target[64];

    if (!file->born || born(file->process) != file->born)
        return -1;
    tsm_format(path, sizeof(path), "/proc/%u/fd/%d", file->process, file->file);
    ssize_t size = readlink(path, target, sizeof(target) - 1);
    static const char known[] = "/memfd:tracesmith-emu";
    if (size < (ssize_t)sizeof(known) - 1 || memcmp(target, known, sizeof(known) - 1) != 0)
        return -1;
    return open(path, O_RDWR | O_CLOEXEC);
}

/* ---- exporting ---- */

/* Under the lock. The slot's number plus one, 0 when there is none. */
static uint32_t take_slot(uint64_t id)
{
    for (uint32_t i = 0; i < SLOT_COUNT; i++)
        if (!slots[i] && pwrite(emu_page_file(), &id, sizeof(id), i * sizeof(id)) == sizeof(id)) {
            slots[i] = id;
            return i + 1;
        }
    return 0;
}

static void set_shared(struct emu_memory *memory, void *user)
{
    const struct emu_memory *wanted = user;

    if (memory->id == wanted->id)
        memory->shared = wanted->shared;
}

/* Under the lock. */
static CUresult share(struct emu_memory *memory)
{
    CUresult result = emu_pause();

    if (result) {
        emu_report("memory at 0x%llx cannot be shared: something on the device writes for too long",
                   (unsigned long long)memory->address);
        return result;
    }
    if (!emu_place_share(memory->address, memory->size))
        result = CUDA_ERROR_OUT_OF_MEMORY;
    emu_resume();
    if (!result && !(memory->shared = take_slot(memory->id)))
        result = CUDA_ERROR_OUT_OF_MEMORY;
    if (!result)
        emu_memory_change(memory->address, set_shared, memory);
    return result;
}

CUresult emu_share_export(struct emu_share_handle *out, uint64_t address, unsigned kinds)
{
    struct emu_memory memory;
    CUresult result = CUDA_SUCCESS;

    pthread_mutex_lock(&lock);
    if (!emu_memory_find(&memory, address) || !(kinds >> memory.kind & 1))
        result = CUDA_ERROR_INVALID_VALUE;
    else if (!memory.shared)
        result = share(&memory);
    pthread_mutex_unlock(&lock);
    if (!result)
        *out = (struct emu_share_handle){.magic = MAGIC,
                                         .file = emu_share_own(emu_page_file()),
                                         .address = memory.address,
                                         .size = memory.size,
                                         .id = memory.id,
                                         .slot = memory.shared - 1,
                                         .device = memory.device};
    return result;
}

void emu_share_withdraw(uint32_t slot)
{
    static const uint64_t none;

    pthread_mutex_lock(&lock);
    slots[slot - 1] = 0;
    /* Should it fail, a handle that must not be used any more shows zeros. */
    if (pwrite(emu_page_file(), &none, sizeof(none), (off_t)((slot - 1) * sizeof(none))) < 0)
        slots[slot - 1] = UINT64_MAX;
    pthread_mutex_unlock(&lock);
}

/* ---- importing ---- */

uint64_t emu_share_map(int file, uint64_t offset, uint64_t size)
{
    uint64_t room = (size + EMU_GRANULARITY - 1) & ~(EMU_GRANULARITY - 1);
    uint64_t address = size <= room ? emu_place_reserve(0, room, 0) : 0;
    void *p = (void *)(uintptr_t)address;

    if (!address)
        return 0;
    if (mmap(p, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED, file,
             (off_t)offset) == MAP_FAILED) {
        emu_place_unreserve(address, room);
        return 0;
    }
    madvise(p, size, MADV_DONTFORK);
    return address;
}

void emu_share_unmap(uint64_t address, uint64_t size)
{
    emu_place_unreserve(address, (size + EMU_GRANULARITY - 1) & ~(EMU_GRANULARITY - 1));
}

static bool is_live(int file, const struct emu_share_handle *h)
{
    uint64_t id = 0;
    struct stat st;

    return h->slot < SLOT_COUNT && fstat(file, &st) == 0 && h->size <= (uint64_t)st.st_size &&
           h->address <= (uint64_t)st.st_size - h->size &&
           pread(file, &id, sizeof(id), (off_t)(h->slot * sizeof(id))) == sizeof(id) && id == h->id;
}

/* Under the lock: map it, and say where in *out. */
static CUresult open_handle(struct import *out)
{
    const struct emu_share_handle *h = &out->handle;
    uint64_t start = h->address & ~(EMU_PAGE - 1);
    int file = emu_share_open(&h->file);
    CUresult result = CUDA_ERROR_INVALID_HANDLE;

    if (file < 0)
        return result;
    if (h->size && is_live(file, h)) {
        out->mapping_size = (h->address + h->size - start + EMU_PAGE - 1) & ~(EMU_PAGE - 1);
        out->mapping = emu_share_map(file, start, out->mapping_size);
        out->address = out->mapping + (h->address - start);
        result = out->mapping ? CUDA_SUCCESS : CUDA_ERROR_MAP_FAILED;
    }
    close(file);
    return result;
}

static struct import *find(const struct emu_share_handle *handle, CUcontext context,
                           CUmemoryPool pool)
{
    struct import *i = imports;

    while (i && (memcmp(&i->handle, handle, sizeof(*handle)) != 0 || i->context != context ||
                 i->pool != pool))
        i = i->next;
    return i;
}

/* Under the lock. */
static CUresult add_import(uint64_t *address_out, const struct emu_share_handle *handle,
                           struct emu_memory what)
{
    struct import *i = calloc(1, sizeof(*i));
    CUresult result = CUDA_ERROR_OUT_OF_MEMORY;

    if (!i)
        return result;
    *i = (struct import){.handle = *handle, .context = what.context, .references = 1};
    i->pool = what.owner;
    result = open_handle(i);
    if (!result) {
        what.kind = EMU_MEMORY_IMPORTED;
        what.address = i->address;
        what.size = handle->size;
        what.device = handle->device;
        what.is_readable = what.is_writable = true;
        what.owner = i;
        result = emu_memory_add(&what);
        if (result)
            emu_share_unmap(i->mapping, i->mapping_size);
    }
    if (result) {
        free(i);
        return result;
    }
    i->next = imports;
    imports = i;
    *address_out = i->address;
    return CUDA_SUCCESS;
}

CUresult emu_share_import(uint64_t *address_out, const struct emu_share_handle *handle,
                          const struct emu_memory *what)
{
    CUresult result = CUDA_SUCCESS;

    if (handle->magic != MAGIC)
        return CUDA_ERROR_INVALID_HANDLE;
    if (emu_share_is_own(&handle->file))
        return CUDA_ERROR_INVALID_CONTEXT;
    if (handle->device < 0 || handle->device >= emu_settings.device_count)
        return CUDA_ERROR_INVALID_DEVICE;
    pthread_mutex_lock(&lock);
    struct import *i = find(handle, what->context, what->owner);
    if (i) {
        i->references++;
        *address_out = i->address;
    } else {
        result = add_import(address_out, handle, *what);
    }
    pthread_mutex_unlock(&lock);
    return result;
}

CUresult emu_share_close(uint64_t address, CUmemoryPool pool)
{
    pthread_mutex_lock(&lock);
    struct import *i = imports;
    while (i && (i->address != address || i->pool != pool))
        i = i->next;
    bool is_last = i && --i->references == 0;
    pthread_mutex_unlock(&lock);
    if (is_last)
        return emu_memory_remove(address, 1u << EMU_MEMORY_IMPORTED);
    return i ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

void emu_share_release(const struct emu_memory *memory)
{
    struct import *import = memory->owner;

    pthread_mutex_lock(&lock);
    struct import **at = &imports;
    while (*at && *at != import)
        at = &(*at)->next;
    if (*at)
        *at = import->next;
    pthread_mutex_unlock(&lock);
    emu_share_unmap(import->mapping, import->mapping_size);
    free(import);
}
