/* SPDX-License-Identifier: Apache-2.0
 *
 * Virtual memory management: reservations of addresses, physical memory, and mappings of one into
 * the other. Physical memory is a file without a name, so that a piece can be mapped several times,
 * and unmapped and mapped again with its content: one file for all, but for the pieces that the
 * program wants to pass on, which have one each.
 */
#include "emu/cuda/core/emu.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <fcntl.h>
#include <unistd.h>

#include "emu/cuda/core/context.h"
#include "emu/cuda/memory/memory.h"
#include "emu/cuda/memory/multicast.h"

/* A piece of physical memory: what CUmemGenericAllocationHandle points to. */
struct physical {
    CUmemAllocationProp properties;
    size_t size;
    int file; /* its own, or that of all */
    bool is_own;
    bool is_imported;    /* counted where it was made */
    off_t offset;        /* in the file */
    unsigned references; /* handles given out, and mappings */
    unsigned handles;
    struct physical *next; /* of those in the one file: sorted by offset */
};

/* The end of a file that is passed on, after the memory. */
struct label {
    uint64_t magic;
    uint64_t size;
    CUmemAllocationProp properties;
};
#define MAGIC      0x306d656d79687074ull
#define LABEL_SIZE 4096

/* Recursive: the last mapping of a multicast object gives up the memory that is bound to it. */
static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static int file = -1;
static struct physical *pieces;
static struct physical *own_pieces; /* with files of their own */

static void *pointer(uint64_t address)
{
    return (void *)(uintptr_t)address;
}

/* ---- physical memory ---- */

/* NULL when the handle is not one, or was given back. */
static struct physical *find(CUmemGenericAllocationHandle handle)
{
    for (unsigned list = 0; list < 2; list++)
        for (struct physical *p = list ? own_pieces : pieces; p; p = p->next)
            if ((uintptr_t)p == handle && p->handles)
                return p;
    return NULL;
}

/* A file of its own, labelled for who imports it. */
static bool insert_own(struct physical *piece)
{
    struct label label = {MAGIC, piece->size, piece->properties};

    piece->file = memfd_create("tracesmith-emu-physical", MFD_CLOEXEC);
    if (piece->file < 0)
        return false;
    if (ftruncate(piece->file, (off_t)piece->size + LABEL_SIZE) ||
        pwrite(piece->file, &label, sizeof(label), (off_t)piece->size) != sizeof(label)) {
        close(piece->file);
        return false;
    }
    piece->next = own_pieces;
    own_pieces = piece;
    return true;
}

/* The first hole of the file that is large enough, or its end. */
static bool insert(struct physical *piece)
{
    struct physical **at = &pieces;
    off_t end = 0;

    if (piece->is_own)
        return insert_own(piece);
    if (file < 0)
        file = memfd_create("tracesmith-emu", MFD_CLOEXEC);
    while (*at && (*at)->offset - end < (off_t)piece->size) {
        end = (*at)->offset + (off_t)(*at)->size;
        at = &(*at)->next;
    }
    piece->file = file;
    piece->offset = end;
    piece->next = *at;
    if (file < 0 || (!*at && ftruncate(file, end + (off_t)piece->size)))
        return false;
    *at = piece;
    return true;
}

/* With the content, so that the next owner finds zeros. */
static void unref(struct physical *piece)
{
    struct physical **at = piece->is_own ? &own_pieces : &pieces;

    if (--piece->references)
        return;
    while (*at != piece)
        at = &(*at)->next;
    *at = piece->next;
    if (piece->is_own)
        close(piece->file); /* others may still have it open */
    else
        fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, piece->offset,
                  (off_t)piece->size);
    if (!piece->is_imported)
        emu_memory_discharge(piece->properties.location.id, piece->size);
    free(piece);
}

static void poison(const struct physical *piece)
{
    void *p;

    if (!emu_settings.fill)
        return;
    p = mmap(NULL, piece->size, PROT_READ | PROT_WRITE, MAP_SHARED, piece->file, piece->offset);
    if (p == MAP_FAILED)
        return;
    memset(p, emu_settings.fill, piece->size);
    munmap(p, piece->size);
}

static CUresult check_properties(const CUmemAllocationProp *prop)
{
    if (!prop || prop->type != CU_MEM_ALLOCATION_TYPE_PINNED)
        return CUDA_ERROR_INVALID_VALUE;
    if (prop->location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
        prop->requestedHandleTypes & ~(unsigned)CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        return CUDA_ERROR_NOT_SUPPORTED;
    return emu_enter_device(prop->location.id);
}

CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size,
                     const CUmemAllocationProp *prop, unsigned long long flags)
{
    CUresult result = emu_ready();
    struct physical *piece;

    if (!result)
        result = check_properties(prop);
    if (!result && (!handle || !size || size % EMU_GRANULARITY || flags))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result)
        return result;
    if (!emu_memory_charge(prop->location.id, size))
        return CUDA_ERROR_OUT_OF_MEMORY;
    piece = calloc(1, sizeof(*piece));
    if (piece)
        *piece = (struct physical){.properties = *prop,
                                   .size = size,
                                   .is_own = prop->requestedHandleTypes != CU_MEM_HANDLE_TYPE_NONE,
                                   .references = 1,
                                   .handles = 1};
    pthread_mutex_lock(&lock);
    if (piece && insert(piece)) {
        poison(piece);
        *handle = (uintptr_t)piece;
    } else {
        emu_memory_discharge(prop->location.id, size);
        free(piece);
        result = CUDA_ERROR_OUT_OF_MEMORY;
    }
    pthread_mutex_unlock(&lock);
    return result;
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
{
    CUresult result = emu_ready();
    struct physical *piece;

    if (result)
        return result;
    pthread_mutex_lock(&lock);
    piece = find(handle);
    if (piece) {
        piece->handles--;
        unref(piece);
    }
    pthread_mutex_unlock(&lock);
    return piece || emu_multicast_release(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *addr)
{
    CUresult result = emu_ready();
    struct emu_memory memory;
    struct physical *piece;

    if (result)
        return result;
    if (!handle || !emu_memory_find(&memory, (uintptr_t)addr) || memory.kind != EMU_MEMORY_MAPPED)
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&lock);
    piece = memory.owner;
    piece->handles++;
    piece->references++;
    pthread_mutex_unlock(&lock);
    *handle = (uintptr_t)piece;
    return CUDA_SUCCESS;
}

CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *prop,
                                                CUmemGenericAllocationHandle handle)
{
    CUresult result = emu_ready();
    struct physical *piece;

    if (result)
        return result;
    pthread_mutex_lock(&lock);
    piece = find(handle);
    if (piece && prop)
        *prop = piece->properties;
    pthread_mutex_unlock(&lock);
    return piece && prop ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemGetAllocationGranularity(size_t *granularity, const CUmemAllocationProp *prop,
                                       CUmemAllocationGranularity_flags option)
{
    CUresult result = emu_ready();

    if (!result)
        result = check_properties(prop);
    if (!result && !granularity)
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result)
        *granularity = EMU_GRANULARITY;
    return result;
}

/* ---- without an address ---- */

void *emu_piece_enter(CUmemGenericAllocationHandle handle, uint64_t offset, uint64_t size,
                      uint8_t **memory, CUdevice *device)
{
    pthread_mutex_lock(&lock);
    struct physical *piece = find(handle);
    if (piece && (offset > piece->size || size > piece->size - offset))
        piece = NULL;
    *memory = piece ? mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, piece->file,
                           piece->offset + (off_t)offset)
                    : MAP_FAILED;
    if (*memory == MAP_FAILED) {
        piece = NULL;
    } else {
        madvise(*memory, size, MADV_DONTFORK);
        piece->references++;
        *device = piece->properties.location.id;
    }
    pthread_mutex_unlock(&lock);
    return piece;
}

void emu_piece_leave(void *piece, uint8_t *memory, uint64_t size)
{
    munmap(memory, size);
    pthread_mutex_lock(&lock);
    unref(piece);
    pthread_mutex_unlock(&lock);
}

/* ---- tile pools ---- */

static bool is_tile_pool(const struct physical *piece)
{
    return piece->properties.allocFlags.usage & CU_MEM_CREATE_USAGE_TILE_POOL;
}

void *emu_tile_pool_hold(CUmemGenericAllocationHandle handle, uint64_t offset, uint64_t size,
                         CUdevice device)
{
    pthread_mutex_lock(&lock);
    struct physical *piece = find(handle);
    if (piece && (!is_tile_pool(piece) || piece->properties.location.id != device ||
                  offset > piece->size || size > piece->size - offset))
        piece = NULL;
    if (piece)
        piece->references++;
    pthread_mutex_unlock(&lock);
    return piece;
}

void emu_tile_pool_release(void *pool)
{
    pthread_mutex_lock(&lock);
    unref(pool);
    pthread_mutex_unlock(&lock);
}

void emu_tile_pool_read(const void *pool, uint64_t offset, void *out, size_t size)
{
    const struct physical *piece = pool;

    if (pread(piece->file, out, size, piece->offset + (off_t)offset) != (ssize_t)size)
        memset(out, 0, size); /* the file is as long as the pool */
}

void emu_tile_pool_write(const void *pool, uint64_t offset, const void *bytes, size_t size)
{
    const struct physical *piece = pool;

    if (pwrite(piece->file, bytes, size, piece->offset + (off_t)offset) != (ssize_t)size)
        emu_warn("a tile of a sparse array was lost: no memory for it");
}

/* ---- passing it on ---- */

CUresult cuMemExportToShareableHandle(void *shareableHandle, CUmemGenericAllocationHandle handle,
                                      CUmemAllocationHandleType handleType,
                                      unsigned long long flags)
{
    CUresult result = emu_ready();
    int copy;

    if (result)
        return result;
    if (!shareableHandle || flags || handleType != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&lock);
    struct physical *piece = find(handle);
    copy = piece && piece->is_own ? fcntl(piece->file, F_DUPFD_CLOEXEC, 3) : -1;
    if (!piece || !piece->is_own)
        result = CUDA_ERROR_INVALID_VALUE;
    else if (copy < 0)
        result = CUDA_ERROR_OPERATING_SYSTEM;
    pthread_mutex_unlock(&lock);
    if (!result)
        memcpy(shareableHandle, &copy, sizeof(copy));
    return result;
}

/* The label is read as if an enemy had written it. */
static CUresult read_label(struct label *label, int from)
{
    struct stat st;

    if (fstat(from, &st) || st.st_size <= LABEL_SIZE ||
        pread(from, label, sizeof(*label), st.st_size - LABEL_SIZE) != sizeof(*label) ||
        label->magic != MAGIC || label->size != (uint64_t)st.st_size - LABEL_SIZE ||
        label->size % EMU_GRANULARITY)
        return CUDA_ERROR_INVALID_VALUE;
    return emu_enter_device(label->properties.location.id);
}

CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *handle, void *osHandle,
                                        CUmemAllocationHandleType shHandleType)
{
    CUresult result = emu_ready();
    struct physical *piece;
    struct label label;

    if (!result && (!handle || shHandleType != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR))
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result)
        result = read_label(&label, (int)(intptr_t)osHandle);
    if (result)
        return result;
    piece = calloc(1, sizeof(*piece));
    if (!piece)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *piece = (struct physical){.properties = label.properties,
                               .size = label.size,
                               .file = fcntl((int)(intptr_t)osHandle, F_DUPFD_CLOEXEC, 3),
                               .is_own = true,
                               .is_imported = true,
                               .references = 1,
                               .handles = 1};
    if (piece->file < 0) {
        free(piece);
        return CUDA_ERROR_OPERATING_SYSTEM;
    }
    pthread_mutex_lock(&lock);
    piece->next = own_pieces;
    own_pieces = piece;
    pthread_mutex_unlock(&lock);
    *handle = (uintptr_t)piece;
    return CUDA_SUCCESS;
}

/* ---- addresses ---- */

CUresult cuMemAddressReserve(CUdeviceptr *ptr, size_t size, size_t alignment, CUdeviceptr addr,
                             unsigned long long flags)
{
    CUresult result = emu_ready();
    uint64_t address;

    if (result)
        return result;
    if (!ptr || !size || size % EMU_GRANULARITY || (alignment & (alignment - 1)) || flags)
        return CUDA_ERROR_INVALID_VALUE;
    address = emu_va_allocator_reserve(addr, size, alignment);
    if (!address)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *ptr = address;
    return CUDA_SUCCESS;
}

CUresult cuMemAddressFree(CUdeviceptr ptr, size_t size)
{
    CUresult result = emu_ready();

    if (result)
        return result;
    /* Mappings must be gone. */
    for (uint64_t at = ptr; at < ptr + size; at += EMU_GRANULARITY) {
        struct emu_memory memory;
        if (emu_memory_find(&memory, at))
            return CUDA_ERROR_INVALID_VALUE;
    }
    return emu_va_allocator_unreserve(ptr, size) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* ---- mappings ---- */

/* The addresses stay as they are reserved: nobody reads or writes there but multimem instructions.
 */
static CUresult map_multicast(struct emu_memory *what, CUmemGenericAllocationHandle handle)
{
    CUresult result;

    what->kind = EMU_MEMORY_MULTICAST;
    what->owner = emu_multicast_map(handle, what->size);
    result = what->owner ? emu_memory_add(what) : CUDA_ERROR_INVALID_VALUE;
    if (result && what->owner)
        emu_multicast_unmap(what->owner);
    return result;
}

CUresult cuMemMap(CUdeviceptr ptr, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
                  unsigned long long flags)
{
    CUresult result = emu_ready();
    struct emu_memory what = {.address = ptr, .size = size, .kind = EMU_MEMORY_MAPPED};

    if (result)
        return result;
    if (!size || size % EMU_GRANULARITY || ptr % EMU_GRANULARITY || offset || flags ||
        !emu_va_allocator_is_reserved(ptr, size))
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&lock);
    struct physical *piece = find(handle);
    if (!piece) {
        pthread_mutex_unlock(&lock);
        return map_multicast(&what, handle);
    }
    if (size > piece->size || is_tile_pool(piece)) {
        result = CUDA_ERROR_INVALID_VALUE;
    } else {
        what.device = piece->properties.location.id;
        what.owner = piece;
        result = emu_memory_add(&what);
    }
    if (!result && mmap(pointer(ptr), size, PROT_NONE, MAP_SHARED | MAP_FIXED, piece->file,
                        piece->offset) == MAP_FAILED) {
        emu_memory_remove(ptr, 1u << EMU_MEMORY_MAPPED);
        result = CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (!result) {
        piece->references++;
        madvise(pointer(ptr), size, MADV_DONTFORK);
    }
    pthread_mutex_unlock(&lock);
    return result;
}

/* The mappings that exactly fill [address, + size), one after another. */
static CUresult each_mapping(uint64_t address, size_t size,
                             CUresult (*callback)(const struct emu_memory *memory, void *user),
                             void *user)
{
    CUresult result = CUDA_SUCCESS;
    struct emu_memory memory;

    for (uint64_t at = address; at < address + size; at = memory.address + memory.size)
        if (!emu_memory_find(&memory, at) ||
            (memory.kind != EMU_MEMORY_MAPPED && memory.kind != EMU_MEMORY_MULTICAST) ||
            memory.address != at || memory.address + memory.size > address + size)
            return CUDA_ERROR_INVALID_VALUE;
    for (uint64_t at = address; at < address + size && !result; at = memory.address + memory.size) {
        if (!emu_memory_find(&memory, at))
            return CUDA_ERROR_INVALID_VALUE;
        result = callback(&memory, user);
    }
    return result;
}

static CUresult unmap(const struct emu_memory *memory, void *user)
{
    if (memory->kind == EMU_MEMORY_MULTICAST) {
        emu_memory_remove(memory->address, 1u << EMU_MEMORY_MULTICAST);
        emu_multicast_unmap(memory->owner);
        return CUDA_SUCCESS;
    }
    mmap(pointer(memory->address), memory->size, PROT_NONE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    emu_memory_remove(memory->address, 1u << EMU_MEMORY_MAPPED);
    unref(memory->owner);
    return CUDA_SUCCESS;
}

CUresult cuMemUnmap(CUdeviceptr ptr, size_t size)
{
    CUresult result = emu_ready();

    if (result)
        return result;
    if (!size)
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&lock);
    result = each_mapping(ptr, size, unmap, NULL);
    pthread_mutex_unlock(&lock);
    return result;
}

static void set_rights(struct emu_memory *memory, void *user)
{
    unsigned flags = *(const unsigned *)user;

    if (memory->kind == EMU_MEMORY_MULTICAST) {
        memory->flags = flags; /* as CUmemAccess_flags has them */
        return;
    }
    memory->is_readable = (flags & CU_MEM_ACCESS_FLAGS_PROT_READ) != 0;
    memory->is_writable = flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
}

static CUresult set_access(const struct emu_memory *memory, void *user)
{
    unsigned flags = *(const unsigned *)user;
    int protection = flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE ? PROT_READ | PROT_WRITE
                     : flags                                     ? PROT_READ
                                                                 : PROT_NONE;

    if (memory->kind != EMU_MEMORY_MULTICAST &&
        mprotect(pointer(memory->address), memory->size, protection))
        return CUDA_ERROR_OUT_OF_MEMORY;
    emu_memory_change(memory->address, set_rights, user);
    return CUDA_SUCCESS;
}

/* One set of rights for all devices: the last of `desc` that names a device counts. */
CUresult cuMemSetAccess(CUdeviceptr ptr, size_t size, const CUmemAccessDesc *desc, size_t count)
{
    CUresult result = emu_ready();

    if (result)
        return result;
    if (!desc || !count || !size)
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count && !result; i++) {
        unsigned flags = desc[i].flags;
        if (desc[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE)
            return CUDA_ERROR_NOT_SUPPORTED;
        result = emu_enter_device(desc[i].location.id);
        if (!result && flags != 0 && flags != 1 && flags != 3)
            result = CUDA_ERROR_INVALID_VALUE;
        if (result)
            break;
        pthread_mutex_lock(&lock);
        result = each_mapping(ptr, size, set_access, &flags);
        pthread_mutex_unlock(&lock);
    }
    return result;
}

CUresult cuMemGetAccess(unsigned long long *flags, const CUmemLocation *location, CUdeviceptr ptr)
{
    CUresult result = emu_ready();
    struct emu_memory memory;

    if (result)
        return result;
    if (!flags || !location || location->type != CU_MEM_LOCATION_TYPE_DEVICE ||
        !emu_memory_find(&memory, ptr))
        return CUDA_ERROR_INVALID_VALUE;
    *flags = memory.is_writable   ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
             : memory.is_readable ? CU_MEM_ACCESS_FLAGS_PROT_READ
                                  : CU_MEM_ACCESS_FLAGS_PROT_NONE;
    return CUDA_SUCCESS;
}
