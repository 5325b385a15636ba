/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory without an address, and its mappings. All of it lies in one file without a name, in which
 * every handle has a part, so that it can be mapped several times and keeps what it holds; one that
 * is given to others gets a file of its own (ipc.c). Mapped pages can be reached when an
 * agent may: it is the same for all of them.
 */
#include "emu/hsa/runtime.h"
#include "emu/hsa/sandbox/sandbox.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE        4096u
#define AGENT_COUNT 2u

/* Its address is the handle. */
struct physical {
    struct physical *next;
    const struct emu_hsa_pool *pool;
    uint64_t size, offset; /* in the file */
    uint32_t type;
    uint32_t holders, mappings;
    int file;       /* plus 1; 0: it is the common one */
    bool is_shared; /* the common one is the sandbox's arena */
};

struct mapping {
    struct mapping *next;
    struct physical *of;
    uint64_t address, size, offset;
    hsa_access_permission_t allowed[AGENT_COUNT]; /* CPU, GPU; 0: none */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct physical *all;
static struct mapping *mappings;
static int common;          /* file, plus 1 */
static uint64_t common_end; /* of what was given out */

/* ---- the lock is held --------------------------------------------------------------------------
 */

static struct physical *physical_of(hsa_vmem_handle_t handle)
{
    struct physical *p = all;

    while (p && (uint64_t)(uintptr_t)p != handle.handle)
        p = p->next;
    return p;
}

static int file_of(const struct physical *p)
{
    return p->is_shared ? emu_hsa_sandbox_arena() : (p->file ? p->file : common) - 1;
}

static void free_physical(struct physical *gone)
{
    struct physical **link = &all;

    if (gone->holders || gone->mappings)
        return;
    while (*link != gone)
        link = &(*link)->next;
    *link = gone->next;
    if (gone->file)
        close(gone->file - 1);
    else if (gone->is_shared)
        emu_hsa_sandbox_give(gone->offset, gone->size);
    else
        fallocate(file_of(gone), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)gone->offset,
                  (off_t)gone->size);
    free(gone);
}

/* A part of the common file. */
static bool take_part(struct physical *p)
{
    if (emu_hsa_sandbox_is_used()) {
        int64_t offset = emu_hsa_sandbox_take(p->size);
        p->offset = (uint64_t)offset;
        p->is_shared = true;
        return offset >= 0;
    }
    if (!common)
        common = emu_hsa_ipc_file(0, 0) + 1;
    if (!common || ftruncate(common - 1, (off_t)(common_end + p->size)) != 0)
        return false;
    p->offset = common_end;
    common_end += p->size;
    return true;
}

static struct physical *make(const struct emu_hsa_pool *pool, uint64_t size, uint32_t type)
{
    struct physical *p = calloc(1, sizeof(*p));

    if (!p)
        return NULL;
    *p = (struct physical){.next = all, .pool = pool, .size = size, .type = type, .holders = 1};
    all = p;
    return p;
}

static int protection(const struct mapping *m)
{
    int bits = 0;

    for (unsigned i = 0; i < AGENT_COUNT; i++)
        bits |= m->allowed[i] == HSA_ACCESS_PERMISSION_RO ? PROT_READ
                : m->allowed[i]                           ? PROT_READ | PROT_WRITE
                                                          : 0;
    return bits;
}

static bool show(const struct mapping *m)
{
    return !m->of->is_shared ||
           emu_hsa_sandbox_show(m->address, m->size, m->of->offset + m->offset, protection(m));
}

static bool map_pages(const struct mapping *m)
{
    void *at = (void *)(uintptr_t)m->address;

    return mmap(at, m->size, protection(m), MAP_SHARED | MAP_NORESERVE | MAP_FIXED, file_of(m->of),
                (off_t)(m->of->offset + m->offset)) == at &&
           show(m);
}

static struct mapping **mapping_at(uint64_t address)
{
    struct mapping **link = &mappings;

    while (*link && (*link)->address != address)
        link = &(*link)->next;
    return link;
}

static bool overlaps(uint64_t address, uint64_t size)
{
    for (const struct mapping *m = mappings; m; m = m->next)
        if (address < m->address + m->size && m->address < address + size)
            return true;
    return false;
}

/* ---- handles -----------------------------------------------------------------------------------
 */

EMU_HSA_EXPORT hsa_status_t hsa_amd_vmem_handle_create(hsa_amd_memory_pool_t pool, size_t size,
                                                       uint32_t type, uint64_t flags,
                                                       hsa_vmem_handle_t *memory_handle)
{
    const struct emu_hsa_pool *found = emu_hsa_pool_of(pool.handle);
    struct physical *p;
    bool ok;

    if (!found || !found->allocatable || !size || size % PAGE || !memory_handle)
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    pthread_mutex_lock(&lock);
    p = make(found, size, type);
    ok = p && take_part(p);
    if (p && !ok) {
        all = p->next;
        free(p);
    }
    pthread_mutex_unlock(&lock);
    memory_handle->handle = ok ? (uint64_t)(uintptr_t)p : 0;
    return ok ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_OUT_OF_RESOURCES;
}

EMU_HSA_EXPORT hsa_status_t hsa_amd_vmem_handle_release(hsa_vmem_handle_t memory_handle)
{
    struct physical *p;
    bool ok;

    pthread_mutex_lock(&lock);
    p = physical_of(memory_handle);
    ok = p && p->holders;
    if (ok) {
        p->holders--;
        free_physical(p);
    }
    pthread_mutex_unlock(&lock);
    return ok ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_INVALID_ALLOCATION;
}

EMU_HSA_EXPORT hsa_status_t hsa_amd_vmem_retain_alloc_handle(hsa_vmem_handle_t *memory_handle,
                                                             void *addr)
{
    const struct mapping *m;

    if (!memory_handle)
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    pthread_mutex_lock(&lock);
    m = *mapping_at((uint64_t)(uintptr_t)addr);
    if (m) {
        m->of->holders++;
        memory_handle->handle = (uint64_t)(uintptr_t)m->of;
    }
    pthread_mutex_unlock(&lock);
    return m ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_INVALID_ALLOCATION;
}

EMU_HSA_EXPORT hsa_status_t hsa_amd_vmem_get_alloc_properties_from_handle(
    hsa_vmem_handle_t memory_handle, hsa_amd_memory_pool_t *pool, uint32_t *type)
{
    const struct physical *p;

    if (!pool || !type)
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    pthread_mutex_lock(&lock);
    p = physical_of(memory_handle);
    if (p) {
        pool->handle = (uint64_t)(uintptr_t)p->pool;
        *type = p->type;
    }
    pthread_mutex_unlock(&lock);
    return p ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_INVALID_ALLOCATION;
}

/* ---- for others --------------------------------------------------------------------------------
 */

/* Copies the content; pages that were never written stay a hole. */
static bool copy_content(const struct physical *p, int file)
{
    uint8_t *from = mmap(NULL, p->size, PROT_READ, MAP_SHARED, common - 1, (off_t)p->offset);
    uint64_t end = p->offset + p->size;
    bool ok = from != MAP_FAILED;

    for (off_t data = (off_t)p->offset; ok;) {
        off_t hole;
        data = lseek(common - 1, data, SEEK_DATA);
        if (data < 0 || (uint64_t)data >= end)
            break;
        hole = lseek(common - 1, data, SEEK_HOLE);
        if ((uint64_t)hole > end)
            hole = (off_t)end;
        ok = pwrite(file, from + (data - (off_t)p->offset), (size_t)(hole - data),
                    data - (off_t)p->offset) == hole - data;
        data = hole;
    }
    if (from != MAP_FAILED)
        munmap(from, p->size);
    return ok;
}

/* A file of its own. As with memory of pools: nothing may be at work there. */
static bool move_to_file(struct physical *p)
{
    struct physical before = *p;
    int file = emu_hsa_ipc_file(p->size, emu_hsa_pool_number(p->pool));
    bool ok = file >= 0 && copy_content(p, file);

    if (!ok) {
        if (file >= 0)
            close(file);
        return false;
    }
    p->file = file + 1;
    p->offset = 0;
    for (const struct mapping *m = mappings; m; m = m->next)
        ok = ok && (m->of != p || map_pages(m));
    fallocate(common - 1, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)before.offset,
              (off_t)before.size);
    return ok;
}

EMU_HSA_EXPORT hsa_status_t hsa_amd_vmem_export_shareable_handle(int *dmabuf_fd,
                                                                 hsa_vmem_handle_t handle,
                                                                 uint64_t flags)
{
    struct physical *p;

    if (!dmabuf_fd || flags)
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    *dmabuf_fd = -1;
    pthread_mutex_lock(&lock);
    p = physical_of(handle);
    if (p && !p->is_shared && (p->file || move_to_file(p)))
        *dmabuf_fd = fcntl(p->file - 1, F_DUPFD_CLOEXEC, 0);
    pthread_mutex_unlock(&lock);
    return *dmabuf_fd >= 0 ? HSA_STATUS_SUCCESS
           : p             ? HSA_STATUS_ERROR_OUT_OF_RESOURCES
                           : HSA_STATUS_ERROR_INVALID_ALLOCATION;
}

/* The lock is held. What this process has given away itself. */
static struct physical *own(int file)
{
    struct stat wanted, there;
    struct physical *p = fstat(file, &wanted) == 0 ? all : NULL;

    while (p && !(p->file && fstat(p->file - 1, &there) == 0 && there.st_ino == wanted.st_ino &&
                  there.st_dev == wanted.st_dev))
        p = p->next;
    return p;
}

/* Imports memory. As with AMD's runtime, the same memory gives the same handle. */
EMU_HSA_EXPORT hsa_status_t hsa_amd_vmem_import_shareable_handle(int dmabuf_fd,
                                                                 hsa_vmem_handle_t *handle)
{
    struct physical *p;
    uint64_t size;
    uint32_t pool;

    if (!handle || !emu_hsa_ipc_is_file(dmabuf_fd, &size, &pool) || !emu_hsa_pool_at(pool))
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    pthread_mutex_lock(&lock);
    p = own(dmabuf_fd);
    if (p) {
        p->holders++;
    } else {
        p = make(emu_hsa_pool_at(pool), size, 0);
        if (p)
            p->file = fcntl(dmabuf_fd, F_DUPFD_CLOEXEC, 0) + 1;
    }
    handle->handle = (uint64_t)(uintptr_t)p;
    pthread_mutex_unlock(&lock);
    return p && p->file ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_OUT_OF_RESOURCES;
}

/* ---- mappings ----------------------------------------------------------------------------------
 */

EMU_HSA_EXPORT hsa_status_t hsa_amd_vmem_map(void *va, size_t size, size_t in_offset,
                                             hsa_vmem_handle_t memory_handle, uint64_t flags)
{
    uint64_t address = (uint64_t)(uintptr_t)va;
    struct mapping *m = malloc(sizeof(*m));
    struct physical *p;
    bool ok;

    pthread_mutex_lock(&lock);
    p = physical_of(memory_handle);
    ok = m && p && size && !flags && !(size % PAGE) && !(in_offset % PAGE) && size <= p->size &&
         in_offset <= p->size - size && emu_hsa_is_reserved(address, size) &&
         !overlaps(address, size);
    if (ok) {
        *m = (struct mapping){mappings, p, address, size, in_offset, {0}};
        ok = map_pages(m);
    }
    if (ok) {
        mappings = m;
        p->mappings++;
    }
    pthread_mutex_unlock(&lock);
    if (!ok)
        free(m);
    return ok ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_INVALID_ARGUMENT;
}

EMU_HSA_EXPORT hsa_status_t hsa_amd_vmem_unmap(void *va, size_t size)
{
    hsa_status_t status = HSA_STATUS_ERROR_INVALID_ALLOCATION;
    struct mapping **link, *gone;

    pthread_mutex_lock(&lock);
    link = mapping_at((uint64_t)(uintptr_t)va);
    gone = *link;
    if (gone && gone->size == size && gone->of->is_shared)
        emu_hsa_sandbox_drop(gone->address, size);
    if (gone && gone->size != size)
        status = HSA_STATUS_ERROR_INVALID_ARGUMENT;
    if (gone && gone->size == size &&
        mmap(va, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) ==
            va) {
        status = HSA_STATUS_SUCCESS;
        *link = gone->next;
        gone->of->mappings--;
        free_physical(gone->of);
        free(gone);
    }
    pthread_mutex_unlock(&lock);
    return status;
}

/* The lock is held. */
static hsa_status_t allow(struct mapping *m, const hsa_memory_access_t *desc, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!emu_hsa_is_agent(desc[i].agent_handle))
            return HSA_STATUS_ERROR_INVALID_AGENT;
        m->allowed[desc[i].agent_handle.handle == emu_hsa_gpu().handle] = desc[i].permissions;
    }
    return mprotect((void *)(uintptr_t)m->address, m->size, protection(m)) == 0 && show(m)
               ? HSA_STATUS_SUCCESS
               : HSA_STATUS_ERROR;
}

EMU_HSA_EXPORT hsa_status_t hsa_amd_vmem_set_access(void *va, size_t size,
                                                    const hsa_memory_access_t *desc,
                                                    size_t desc_cnt)
{
    hsa_status_t status = HSA_STATUS_SUCCESS;
    uint64_t at = (uint64_t)(uintptr_t)va, end = at + size;

    if (!desc || !desc_cnt || !emu_hsa_is_reserved(at, size))
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    pthread_mutex_lock(&lock);
    while (at < end && status == HSA_STATUS_SUCCESS) {
        struct mapping *m = *mapping_at(at);
        status = m ? allow(m, desc, desc_cnt) : HSA_STATUS_ERROR_INVALID_ALLOCATION;
        at += m ? m->size : 0;
    }
    pthread_mutex_unlock(&lock);
    return status;
}

EMU_HSA_EXPORT hsa_status_t hsa_amd_vmem_get_access(void *va, hsa_access_permission_t *perms,
                                                    hsa_agent_t agent_handle)
{
    uint64_t at = (uint64_t)(uintptr_t)va;
    const struct mapping *m;

    if (!perms)
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    if (!emu_hsa_is_agent(agent_handle))
        return HSA_STATUS_ERROR_INVALID_AGENT;
    pthread_mutex_lock(&lock);
    for (m = mappings; m && !(at >= m->address && at - m->address < m->size); m = m->next)
        ;
    if (m)
        *perms = m->allowed[agent_handle.handle == emu_hsa_gpu().handle];
    pthread_mutex_unlock(&lock);
    return m ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_INVALID_ALLOCATION;
}
