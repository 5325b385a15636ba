/* SPDX-License-Identifier: Apache-2.0 */
#include "emu/cuda/memory/share.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "emu/cuda/check/written.h"
#include "emu/cuda/core/context.h"
#include "emu/cuda/core/emu.h"
#include "emu/cuda/memory/memory.h"
#include "emu/cuda/memory/page.h"
#include "emu/cuda/stream/stream.h"

#define MAGIC      0x306d656d75736d74ull /* "tmsumem0" */
#define SLOT_COUNT (EMU_PAGE_FRONT / sizeof(uint64_t))

/* An opened handle: struct emu_memory's owner. */
struct import {
    enum emu_share_origin origin;
    struct emu_share_handle handle; /* all zero when external */
    CUcontext context;
    CUmemoryPool pool;
    uint64_t address;
    uint64_t mapping; /* where its pages begin */
    uint64_t mapping_size;
    unsigned references;
    struct import *next;
};

/* One export or import at a time; taken before the memory's lock. `lock` guards what follows, and
 * is taken inside of that. */
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t slots[SLOT_COUNT]; /* ids of what is exported now; the file begins with a copy */
static struct import *imports;

/* ---- processes and their files ---- */

/* Reads /proc/PID/stat from the end of the 2nd field on, because the name in that field may hold
 * anything. NULL: no such process. */
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

/* The slot's number plus one, 0 when there is none. */
static uint32_t take_slot(uint64_t id)
{
    uint32_t slot = 0;

    pthread_mutex_lock(&lock);
    while (slot < SLOT_COUNT && slots[slot])
        slot++;
    bool ok = slot < SLOT_COUNT &&
              pwrite(emu_page_file(), &id, sizeof(id), slot * sizeof(id)) == sizeof(id);
    if (ok)
        slots[slot] = id;
    pthread_mutex_unlock(&lock);
    return ok ? slot + 1 : 0;
}

/* Withdraws memory that is freed: handles of it open nothing any more. */
static void withdraw(const struct emu_memory *memory)
{
    uint32_t slot = memory->shared - 1;
    static const uint64_t none;

    pthread_mutex_lock(&lock);
    slots[slot] = 0;
    /* Should it fail, a handle that must not be used any more shows zeros. */
    if (pwrite(emu_page_file(), &none, sizeof(none), (off_t)(slot * sizeof(none))) < 0)
        slots[slot] = UINT64_MAX;
    pthread_mutex_unlock(&lock);
}

static void set_shared(struct emu_memory *memory, void *user)
{
    const struct emu_memory *wanted = user;

    if (memory->id != wanted->id)
        return;
    memory->shared = wanted->shared;
    memory->release = withdraw;
}

static CUresult share(struct emu_memory *memory)
{
    CUresult result = emu_pause();

    if (result) {
        emu_warn("memory at 0x%llx cannot be shared: something on the device writes for too long",
                 (unsigned long long)memory->address);
        return result;
    }
    if (!emu_va_allocator_share(memory->address, memory->size))
        result = CUDA_ERROR_OUT_OF_MEMORY;
    emu_resume();
    if (!result && !(memory->shared = take_slot(memory->id)))
        result = CUDA_ERROR_OUT_OF_MEMORY;
    if (!result) {
        emu_memory_change(memory->address, set_shared, memory);
        emu_written_all(memory->address, memory->size); /* by others, unseen */
    }
    return result;
}

CUresult emu_share_export(struct emu_share_handle *out, uint64_t address, unsigned kinds)
{
    struct emu_memory memory;
    CUresult result = CUDA_SUCCESS;

    pthread_mutex_lock(&turn);
    if (!emu_memory_find(&memory, address) || !(kinds >> memory.kind & 1))
        result = CUDA_ERROR_INVALID_VALUE;
    else if (!memory.shared)
        result = share(&memory);
    pthread_mutex_unlock(&turn);
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

/* ---- importing ---- */

static uint64_t room_for(uint64_t size)
{
    return (size + EMU_GRANULARITY - 1) & ~(EMU_GRANULARITY - 1);
}

/* The pages around a range of the file: so that it is at the wished address, or anywhere. */
static CUresult map(struct import *out, int file, uint64_t offset, uint64_t size)
{
    uint64_t start = offset & ~(EMU_PAGE - 1);
    uint64_t end = (offset + size + EMU_PAGE - 1) & ~(EMU_PAGE - 1);
    uint64_t wish = emu_memory_take_wish();
    uint64_t at = wish > offset - start ? wish - (offset - start) : 0;
    uint64_t address = end > start ? emu_va_allocator_reserve(at, room_for(end - start), 0) : 0;
    void *p = (void *)(uintptr_t)address;

    if (!address)
        return CUDA_ERROR_MAP_FAILED;
    if (mmap(p, end - start, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED, file,
             (off_t)start) == MAP_FAILED) {
        emu_va_allocator_unreserve(address, room_for(end - start));
        return CUDA_ERROR_MAP_FAILED;
    }
    madvise(p, end - start, MADV_DONTFORK);
    out->mapping = address;
    out->mapping_size = end - start;
    out->address = address + (offset - start);
    return CUDA_SUCCESS;
}

static bool is_live(int file, const struct emu_share_handle *h)
{
    uint64_t id = 0;
    struct stat st;

    return h->size && h->slot < SLOT_COUNT && fstat(file, &st) == 0 &&
           h->size <= (uint64_t)st.st_size && h->address <= (uint64_t)st.st_size - h->size &&
           pread(file, &id, sizeof(id), (off_t)(h->slot * sizeof(id))) == sizeof(id) && id == h->id;
}

static CUresult map_handle(struct import *out)
{
    int file = emu_share_open(&out->handle.file);
    CUresult result = CUDA_ERROR_INVALID_HANDLE;

    if (file < 0)
        return result;
    if (is_live(file, &out->handle))
        result = map(out, file, out->handle.address, out->handle.size);
    close(file);
    return result;
}

static void unmap(const struct import *import)
{
    emu_va_allocator_unreserve(import->mapping, room_for(import->mapping_size));
}

/* Unmaps imported memory that the register has let go of. */
static void end_import(const struct emu_memory *memory)
{
    struct import *import = memory->owner;

    pthread_mutex_lock(&lock);
    struct import **at = &imports;
    while (*at && *at != import)
        at = &(*at)->next;
    if (*at)
        *at = import->next;
    pthread_mutex_unlock(&lock);
    unmap(import);
    free(import);
}

/* It is mapped: register it, and take over what `mapped` says. */
static CUresult add(uint64_t *address_out, const struct import *mapped, uint64_t size,
                    CUdevice device)
{
    struct import *i = malloc(sizeof(*i));
    struct emu_memory what = {.address = mapped->address,
                              .size = size,
                              .kind = EMU_MEMORY_IMPORTED,
                              .context = mapped->context,
                              .device = device,
                              .is_readable = true,
                              .is_writable = true,
                              .owner = i,
                              .release = end_import};
    CUresult result = i ? emu_memory_add(&what) : CUDA_ERROR_OUT_OF_MEMORY;

    if (result) {
        unmap(mapped);
        free(i);
        return result;
    }
    *i = *mapped;
    i->references = 1;
    pthread_mutex_lock(&lock);
    i->next = imports;
    imports = i;
    pthread_mutex_unlock(&lock);
    *address_out = i->address;
    return CUDA_SUCCESS;
}

/* Open it once more, if it is open. */
static bool reopen(uint64_t *address_out, const struct import *wanted)
{
    pthread_mutex_lock(&lock);
    struct import *i = imports;
    while (i && (memcmp(&i->handle, &wanted->handle, sizeof(i->handle)) != 0 ||
                 i->context != wanted->context || i->pool != wanted->pool))
        i = i->next;
    if (i) {
        i->references++;
        *address_out = i->address;
    }
    pthread_mutex_unlock(&lock);
    return i != NULL;
}

CUresult emu_share_import(uint64_t *address_out, const struct emu_share_handle *handle,
                          CUcontext context, CUmemoryPool pool)
{
    struct import import = {.origin = pool ? EMU_SHARE_POOL : EMU_SHARE_IPC,
                            .handle = *handle,
                            .context = context,
                            .pool = pool};
    CUresult result = CUDA_SUCCESS;

    if (handle->magic != MAGIC)
        return CUDA_ERROR_INVALID_HANDLE;
    if (emu_share_is_own(&handle->file))
        return CUDA_ERROR_INVALID_CONTEXT;
    if (handle->device < 0 || handle->device >= emu_settings.device_count)
        return CUDA_ERROR_INVALID_DEVICE;
    pthread_mutex_lock(&turn);
    if (!reopen(address_out, &import)) {
        result = map_handle(&import);
        if (!result)
            result = add(address_out, &import, handle->size, handle->device);
    }
    pthread_mutex_unlock(&turn);
    return result;
}

CUresult emu_share_import_file(uint64_t *address_out, int file, uint64_t offset, uint64_t size,
                               CUcontext context)
{
    struct import import = {.origin = EMU_SHARE_EXTERNAL, .context = context};
    CUresult result = map(&import, file, offset, size);

    return result ? result : add(address_out, &import, size, context->device);
}

CUresult emu_share_close(uint64_t address, unsigned origins)
{
    pthread_mutex_lock(&lock);
    struct import *i = imports;
    while (i && (i->address != address || !(origins >> i->origin & 1)))
        i = i->next;
    bool is_last = i && --i->references == 0;
    pthread_mutex_unlock(&lock);
    if (is_last)
        return emu_memory_remove(address, 1u << EMU_MEMORY_IMPORTED);
    return i ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUmemoryPool emu_share_pool(const struct emu_memory *memory)
{
    return memory->kind == EMU_MEMORY_IMPORTED ? ((const struct import *)memory->owner)->pool
                                               : NULL;
}
