/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory. Every allocation is a mapping of its own, at rising addresses of one window, the same in
 * each process: what the GPU reads and writes is the process's memory. Virtual memory
 * (hsa_amd_vmem) gives addresses that are asked for.
 */
#include "base/array.h"
#include "emu/hsa/runtime.h"
#include "emu/hsa/sandbox/sandbox.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE         4096u
#define WINDOW_START 0x5c0000000000u

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

struct block {
    struct emu_hsa_block block;
    bool is_reserved; /* an address range of virtual memory */
    int file;         /* whose pages it is, plus 1; 0: none */
    void *userdata;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct block *blocks; /* by address */
static size_t block_count, block_capacity;
static uint64_t next_address = WINDOW_START;

static uint64_t pages(uint64_t size)
{
    return (size + PAGE - 1) & ~(uint64_t)(PAGE - 1);
}

/* ---- the list; the lock is held ----------------------------------------------------------------
 */

static size_t after(uint64_t address)
{
    size_t at;

    TSM_BISECT(at, block_count, blocks[at].block.address > address);
    return at;
}

static struct block *find(uint64_t address)
{
    size_t at = after(address);

    if (!at || address - blocks[at - 1].block.address >= blocks[at - 1].block.size)
        return NULL;
    return &blocks[at - 1];
}

static bool add(const struct block *block)
{
    size_t at = after(block->block.address);

    return TSM_ARRAY_INSERT(blocks, block_count, block_capacity, at, *block);
}

/* Kinds of memory at an address: memory of a pool may be locked as well. */
enum kind { OF_POOL, LOCKED, RESERVED };

static enum kind kind_of(const struct block *block)
{
    return block->is_reserved ? RESERVED : block->block.pool ? OF_POOL : LOCKED;
}

static bool take(uint64_t address, enum kind kind, struct block *out)
{
    size_t at = after(address);

    while (at && blocks[at - 1].block.address == address && kind_of(&blocks[at - 1]) != kind)
        at--;
    if (!at || blocks[at - 1].block.address != address)
        return false;
    *out = blocks[at - 1];
    memmove(&blocks[at - 1], &blocks[at], (block_count - at) * sizeof(*blocks));
    block_count--;
    return true;
}

/* ---- pages -------------------------------------------------------------------------------------
 */

static bool map_at(uint64_t address, uint64_t size, int protection)
{
    void *wanted = (void *)(uintptr_t)address;
    void *got = mmap(wanted, size, protection,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);

    if (got == wanted)
        return true;
    if (got != MAP_FAILED)
        munmap(got, size);
    return false;
}

/* Something lies in these bytes: where to look next. A reserved range, and what is mapped in it,
 * overlap. */
static uint64_t behind(uint64_t address, uint64_t size)
{
    uint64_t end = address + size;

    for (size_t i = 0; i < block_count && blocks[i].block.address < address + size; i++) {
        uint64_t block_end = blocks[i].block.address + pages(blocks[i].block.size);
        if (block_end > end)
            end = block_end;
    }
    return end;
}

/* The lock is held. 0: none. */
static uint64_t map_anywhere(uint64_t size, uint64_t alignment, int protection)
{
    for (unsigned attempt = 0; attempt < 4096; attempt++) {
        uint64_t address = (next_address + alignment - 1) & ~(alignment - 1);
        bool ok = map_at(address, size, protection);
        next_address = ok ? address + size : behind(address, size);
        if (ok)
            return address;
    }
    return 0;
}

uint64_t emu_hsa_window_map(uint64_t size)
{
    pthread_mutex_lock(&lock);
    uint64_t address = map_anywhere(pages(size), PAGE, PROT_NONE);
    pthread_mutex_unlock(&lock);
    return address;
}

static bool add_locked(const struct block *block)
{
    pthread_mutex_lock(&lock);
    bool ok = add(block);
    pthread_mutex_unlock(&lock);
    return ok;
}

static hsa_status_t release(void *ptr, enum kind kind);

static hsa_status_t allocate(const struct emu_hsa_pool *pool, size_t size, void **ptr)
{
    struct block block = {.block = {.size = size, .pool = pool}};

    if (!ptr || !size)
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    if (!pool->allocatable)
        return HSA_STATUS_ERROR_INVALID_ALLOCATION;
    if (size > EMU_HSA_MEMORY_SIZE)
        return HSA_STATUS_ERROR_INVALID_ALLOCATION;
    pthread_mutex_lock(&lock);
    block.block.address = map_anywhere(pages(size), PAGE, PROT_READ | PROT_WRITE);
    bool ok = block.block.address && add(&block);
    pthread_mutex_unlock(&lock);
    *ptr = ok ? (void *)(uintptr_t)block.block.address : NULL;
    if (ok && emu_hsa_sandbox_is_used() && !emu_hsa_sandbox_back(block.block.address, size)) {
        release(*ptr, OF_POOL);
        ok = false;
    }
    return ok ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_OUT_OF_RESOURCES;
}

bool emu_hsa_block_find(uint64_t address, struct emu_hsa_block *out)
{
    const struct block *block;

    pthread_mutex_lock(&lock);
    block = find(address);
    if (block)
        *out = block->block;
    pthread_mutex_unlock(&lock);
    return block != NULL;
}

static hsa_status_t release(void *ptr, enum kind kind)
{
    struct block block;
    bool ok;

    pthread_mutex_lock(&lock);
    ok = take((uint64_t)(uintptr_t)ptr, kind, &block);
    pthread_mutex_unlock(&lock);
    if (!ok)
        return HSA_STATUS_ERROR_INVALID_ALLOCATION;
    emu_hsa_notify_destroyed(block.block.address, block.block.size);
    if (kind != LOCKED && emu_hsa_sandbox_is_used())
        emu_hsa_sandbox_drop(block.block.address, block.block.size);
    if (kind != LOCKED)
        munmap(ptr, pages(block.block.size));
    if (block.file)
        close(block.file - 1);
    return HSA_STATUS_SUCCESS;
}

/* Bytes of the pools of the GPU, or of the CPU, that are given out. */
uint64_t emu_hsa_taken(bool of_gpu)
{
    uint64_t taken = 0;

    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < block_count; i++) {
        const struct emu_hsa_pool *pool = blocks[i].block.pool;
        if (pool && (pool->agent.handle == emu_hsa_gpu().handle) == of_gpu)
            taken += pages(blocks[i].block.size);
    }
    pthread_mutex_unlock(&lock);
    return taken;
}

/* ---- for other processes -----------------------------------------------------------------------
 */

/* The lock is held. False: no file. */
static bool move_to_file(struct block *block)
{
    void *at = (void *)(uintptr_t)block->block.address;
    uint64_t size = pages(block->block.size);
    int file = emu_hsa_ipc_file(size, emu_hsa_pool_number(block->block.pool));
    void *view =
        file < 0 ? MAP_FAILED : mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);

    if (view != MAP_FAILED) {
        memcpy(view, at, size);
        munmap(view, size);
    }
    if (view == MAP_FAILED ||
        mmap(at, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) != at) {
        if (file >= 0)
            close(file);
        return false;
    }
    block->file = file + 1;
    return true;
}

hsa_status_t emu_hsa_block_share(uint64_t address, uint64_t size, int *file, uint64_t *offset,
                                 uint32_t *pool)
{
    struct block *block;
    bool known, ok;

    pthread_mutex_lock(&lock);
    block = find(address);
    known = block && block->block.pool &&
            size <= pages(block->block.size) - (address - block->block.address);
    ok = known && (block->file || (!emu_hsa_sandbox_is_used() && move_to_file(block)));
    if (ok) {
        *file = block->file - 1;
        *pool = emu_hsa_pool_number(block->block.pool);
        *offset = address - block->block.address;
    }
    pthread_mutex_unlock(&lock);
    return ok      ? HSA_STATUS_SUCCESS
           : known ? HSA_STATUS_ERROR_OUT_OF_RESOURCES
                   : HSA_STATUS_ERROR_INVALID_ARGUMENT;
}

hsa_status_t emu_hsa_block_attach(int file, uint64_t size, uint32_t pool, void **ptr)
{
    struct block block = {.block = {.size = size, .pool = emu_hsa_pool_at(pool)}};
    void *at;
    bool ok;

    if (!block.block.pool)
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    pthread_mutex_lock(&lock);
    block.block.address = map_anywhere(pages(size), PAGE, PROT_NONE);
    at = (void *)(uintptr_t)block.block.address;
    ok = at &&
         mmap(at, pages(size), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) == at &&
         add(&block);
    pthread_mutex_unlock(&lock);
    *ptr = ok ? at : NULL;
    return ok ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_OUT_OF_RESOURCES;
}

/* ---- pools and regions -------------------------------------------------------------------------
 */

EMU_HSA_EXPORT hsa_status_t hsa_amd_memory_pool_allocate(hsa_amd_memory_pool_t memory_pool,
                                                         size_t size, uint32_t flags, void **ptr)
{
    const struct emu_hsa_pool *pool = emu_hsa_pool_of(memory_pool.handle);

    return pool ? allocate(pool, size, ptr) : HSA_STATUS_ERROR_INVALID_ARGUMENT;
}

EMU_HSA_EXPORT hsa_status_t hsa_amd_memory_pool_free(void *ptr)
{
    return ptr ? release(ptr, OF_POOL) : HSA_STATUS_SUCCESS;
}

EMU_HSA_EXPORT hsa_status_t hsa_memory_allocate(hsa_region_t region, size_t size, void **ptr)
{
    const struct emu_hsa_pool *pool = emu_hsa_pool_of(region.handle);

    return pool ? allocate(pool, size, ptr) : HSA_STATUS_ERROR_INVALID_REGION;
}

EMU_HSA_EXPORT hsa_status_t hsa_memory_free(void *ptr)
{
    return ptr ? release(ptr, OF_POOL) : HSA_STATUS_SUCCESS;
}

/* Everything is reachable anyway. */
EMU_HSA_EXPORT hsa_status_t hsa_amd_agents_allow_access(uint32_t num_agents,
                                                        const hsa_agent_t *agents,
                                                        const uint32_t *flags, const void *ptr)
{
    struct emu_hsa_block block;

    if (!num_agents || !agents || flags)
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    for (uint32_t i = 0; i < num_agents; i++)
        if (!emu_hsa_is_agent(agents[i]))
            return HSA_STATUS_ERROR_INVALID_AGENT;
    return emu_hsa_block_find((uint64_t)(uintptr_t)ptr, &block) ? HSA_STATUS_SUCCESS
                                                                : HSA_STATUS_ERROR;
}

/* ---- memory of the program ---------------------------------------------------------------------
 */

static hsa_status_t adopt(void *ptr, size_t size)
{
    struct block block = {.block = {(uint64_t)(uintptr_t)ptr, size, NULL}};
    bool ok;

    /* Nothing is at the first page, whoever may map it. */
    if ((uintptr_t)ptr < 4096 || !size)
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    ok = (!emu_hsa_sandbox_is_used() || emu_hsa_sandbox_adopt(block.block.address, size)) &&
         add_locked(&block);
    return ok ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_OUT_OF_RESOURCES;
}

EMU_HSA_EXPORT hsa_status_t hsa_amd_memory_lock(void *host_ptr, size_t size, hsa_agent_t *agents,
                                                int num_agent, void **agent_ptr)
{
    hsa_status_t status;

    if (!agent_ptr || (agents != NULL) != (num_agent != 0))
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    status = adopt(host_ptr, size);
    *agent_ptr = status == HSA_STATUS_SUCCESS ? host_ptr : NULL;
    return status;
}

EMU_HSA_EXPORT hsa_status_t hsa_amd_memory_lock_to_pool(void *host_ptr, size_t size,
                                                        hsa_agent_t *agents, int num_agent,
                                                        hsa_amd_memory_pool_t pool, uint32_t flags,
                                                        void **agent_ptr)
{
    const struct emu_hsa_pool *found = emu_hsa_pool_of(pool.handle);

    if (!found || !found->host_access || flags)
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    return hsa_amd_memory_lock(host_ptr, size, agents, num_agent, agent_ptr);
}

EMU_HSA_EXPORT hsa_status_t hsa_amd_memory_unlock(void *host_ptr)
{
    struct emu_hsa_block known;
    hsa_status_t status = release(host_ptr, LOCKED);

    if (status != HSA_STATUS_SUCCESS && emu_hsa_block_find((uint64_t)(uintptr_t)host_ptr, &known) &&
        known.pool)
        return HSA_STATUS_SUCCESS; /* memory of a pool needs no lock */
    return status == HSA_STATUS_SUCCESS ? status : HSA_STATUS_ERROR_INVALID_ARGUMENT;
}

EMU_HSA_EXPORT hsa_status_t hsa_memory_register(void *ptr, size_t size)
{
    return adopt(ptr, size);
}

EMU_HSA_EXPORT hsa_status_t hsa_memory_deregister(void *ptr, size_t size)
{
    return release(ptr, LOCKED) == HSA_STATUS_SUCCESS ? HSA_STATUS_SUCCESS
                                                      : HSA_STATUS_ERROR_INVALID_ARGUMENT;
}

EMU_HSA_EXPORT hsa_status_t hsa_memory_assign_agent(void *ptr, hsa_agent_t agent,
                                                    hsa_access_permission_t access)
{
    return emu_hsa_is_agent(agent) ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_INVALID_AGENT;
}

/* Nothing is anywhere else. */
EMU_HSA_EXPORT hsa_status_t hsa_amd_memory_migrate(const void *ptr,
                                                   hsa_amd_memory_pool_t memory_pool,
                                                   uint32_t flags)
{
    const struct emu_hsa_pool *pool = emu_hsa_pool_of(memory_pool.handle);
    struct emu_hsa_block block;

    return pool && pool->allocatable && !flags &&
                   emu_hsa_block_find((uint64_t)(uintptr_t)ptr, &block)
               ? HSA_STATUS_SUCCESS
               : HSA_STATUS_ERROR_INVALID_ARGUMENT;
}

/* ---- what is there -----------------------------------------------------------------------------
 */

static hsa_status_t list_agents(void *(*alloc)(size_t), uint32_t *count, hsa_agent_t **accessible)
{
    if (!count)
        return HSA_STATUS_SUCCESS;
    *count = 2;
    if (!alloc || !accessible)
        return HSA_STATUS_SUCCESS;
    *accessible = alloc(2 * sizeof(hsa_agent_t));
    if (!*accessible)
        return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    (*accessible)[0] = emu_hsa_cpu();
    (*accessible)[1] = emu_hsa_gpu();
    return HSA_STATUS_SUCCESS;
}

EMU_HSA_EXPORT hsa_status_t hsa_amd_pointer_info(const void *ptr, hsa_amd_pointer_info_t *info,
                                                 hsa_alloc_callback_t alloc,
                                                 uint32_t *num_agents_accessible,
                                                 hsa_agent_t **accessible)
{
    hsa_amd_pointer_info_t found = {.size = sizeof(found)};
    struct block *block;

    if (!ptr || !info || !info->size)
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    pthread_mutex_lock(&lock);
    block = find((uint64_t)(uintptr_t)ptr);
    if (block) {
        void *base = (void *)(uintptr_t)block->block.address;
        bool is_locked = !block->block.pool && !block->is_reserved;
        found.type = is_locked ? HSA_EXT_POINTER_TYPE_LOCKED : HSA_EXT_POINTER_TYPE_HSA;
        found.agentBaseAddress = base;
        found.hostBaseAddress =
            is_locked || (block->block.pool && block->block.pool->host_access) ? base : NULL;
        found.sizeInBytes = block->block.size;
        found.userData = block->userdata;
        found.agentOwner = block->block.pool ? block->block.pool->agent : emu_hsa_cpu();
        found.global_flags = block->block.pool ? block->block.pool->flags : 0;
    }
    pthread_mutex_unlock(&lock);
    if (found.size > info->size)
        found.size = info->size;
    memcpy(info, &found, found.size);
    return found.type ? list_agents(alloc, num_agents_accessible, accessible) : HSA_STATUS_SUCCESS;
}

EMU_HSA_EXPORT hsa_status_t hsa_amd_pointer_info_set_userdata(const void *ptr, void *userdata)
{
    struct block *block;

    pthread_mutex_lock(&lock);
    block = find((uint64_t)(uintptr_t)ptr);
    if (block)
        block->userdata = userdata;
    pthread_mutex_unlock(&lock);
    return block ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_INVALID_ARGUMENT;
}

/* ---- virtual memory ----------------------------------------------------------------------------
 */

static hsa_status_t reserve(void **va, size_t size, uint64_t address, uint64_t alignment,
                            uint64_t flags)
{
    struct block block = {.block = {address, size, NULL}, .is_reserved = true};
    bool ok;

    if (!va || !size || size % PAGE || address % PAGE || flags || (alignment & (alignment - 1)))
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    pthread_mutex_lock(&lock);
    if (!address || !map_at(address, size, PROT_NONE))
        block.block.address = map_anywhere(size, alignment > PAGE ? alignment : PAGE, PROT_NONE);
    ok = block.block.address && add(&block);
    pthread_mutex_unlock(&lock);
    *va = ok ? (void *)(uintptr_t)block.block.address : NULL;
    return ok ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_OUT_OF_RESOURCES;
}

EMU_HSA_EXPORT hsa_status_t hsa_amd_vmem_address_reserve(void **va, size_t size, uint64_t address,
                                                         uint64_t flags)
{
    return reserve(va, size, address, 0, flags);
}

EMU_HSA_EXPORT hsa_status_t hsa_amd_vmem_address_reserve_align(void **va, size_t size,
                                                               uint64_t address, uint64_t alignment,
                                                               uint64_t flags)
{
    return reserve(va, size, address, alignment, flags);
}

EMU_HSA_EXPORT hsa_status_t hsa_amd_vmem_address_free(void *va, size_t size)
{
    const struct block *block;
    bool ok;

    if (!va)
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    pthread_mutex_lock(&lock);
    block = find((uint64_t)(uintptr_t)va);
    ok = block && block->block.size == size;
    pthread_mutex_unlock(&lock);
    return ok ? release(va, RESERVED) : HSA_STATUS_ERROR_INVALID_ALLOCATION;
}

bool emu_hsa_is_reserved(uint64_t address, uint64_t size)
{
    const struct block *block;
    bool ok;

    pthread_mutex_lock(&lock);
    block = find(address);
    ok =
        block && block->is_reserved && size <= block->block.size - (address - block->block.address);
    pthread_mutex_unlock(&lock);
    return ok;
}

/* ---- shared virtual memory: all memory is ------------------------------------------------------
 */

EMU_HSA_EXPORT hsa_status_t hsa_amd_svm_attributes_set(void *ptr, size_t size,
                                                       hsa_amd_svm_attribute_pair_t *attribute_list,
                                                       size_t attribute_count)
{
    return ptr && size && (attribute_list || !attribute_count) ? HSA_STATUS_SUCCESS
                                                               : HSA_STATUS_ERROR_INVALID_ARGUMENT;
}

/* Nothing is kept: each agent may use everything, and nothing is anywhere else. */
EMU_HSA_EXPORT hsa_status_t hsa_amd_svm_attributes_get(void *ptr, size_t size,
                                                       hsa_amd_svm_attribute_pair_t *attribute_list,
                                                       size_t attribute_count)
{
    if (!ptr || !size || !attribute_list)
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    for (size_t i = 0; i < attribute_count; i++) {
        if (attribute_list[i].attribute == HSA_AMD_SVM_ATTRIB_ACCESS_QUERY)
            attribute_list[i].attribute = HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE;
        else
            attribute_list[i].value = 0;
    }
    return HSA_STATUS_SUCCESS;
}
