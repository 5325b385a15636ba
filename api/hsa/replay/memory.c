/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory at its recorded addresses. With virtual memory (hsa_amd_vmem) the runtime puts it there.
 * Without, the host's memory is pages of this process, at those addresses, which are locked; memory
 * of a GPU is then wherever the runtime puts it, and addresses of it are translated in what the
 * trace says are addresses.
 */
#include "api/hsa/hsa_replay_calls.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/array.h"
#include "replay/region.h"

static uint64_t page_start(uint64_t address)
{
    return address & ~(uint64_t)(HSA_PAGE - 1);
}

static uint64_t page_end(uint64_t address)
{
    return page_start(address + HSA_PAGE - 1);
}

static void *pointer(uint64_t address)
{
    return (void *)(uintptr_t)address;
}

/* ---- ranges ------------------------------------------------------------------------------------
 */

int hsa_memory_plan(struct hsa_memory *m, uint64_t address, uint64_t size)
{
    uint64_t start = page_start(address), end = page_end(address + size);

    return address && size && end > start ? tsm_address_space_add(&m->space, start, end) : 0;
}

static uint64_t reserve(void *user, uint64_t start, uint64_t size)
{
    const struct hsa_replay *replay = user;
    void *got = NULL;

    return replay->calls.hsa_amd_vmem_address_reserve(&got, size, start, 0) == HSA_STATUS_SUCCESS
               ? (uintptr_t)got
               : 0;
}

static void give_back(void *user, uint64_t start, uint64_t size)
{
    const struct hsa_replay *replay = user;

    replay->calls.hsa_amd_vmem_address_free(pointer(start), size);
}

void hsa_memory_reserve(struct hsa_replay *replay)
{
    if (replay->has_virtual)
        tsm_address_space_reserve(&replay->memory.space,
                                  &(struct tsm_address_driver){replay, reserve, give_back});
}

/* ---- regions -----------------------------------------------------------------------------------
 */

const struct tsm_region *hsa_memory_find(const struct hsa_memory *m, uint64_t address)
{
    return tsm_region_find(m->regions, m->region_count, address);
}

bool hsa_memory_next_part(const struct hsa_memory *m, uint64_t address, uint64_t size,
                          struct hsa_region_part *part)
{
    const struct tsm_region *there = hsa_memory_find(m, address);
    size_t at = part->region ? (size_t)(part->region - m->regions) + 1
                : there      ? (size_t)(there - m->regions)
                             : tsm_region_after(m->regions, m->region_count, address);
    const struct tsm_region *region;
    uint64_t inside;

    if (at == m->region_count || m->regions[at].address >= address + size)
        return false;
    region = &m->regions[at];
    inside = address > region->address ? address - region->address : 0;
    part->region = region;
    part->address = region->address + inside;
    part->actual = region->actual + inside;
    part->size = address + size - part->address;
    if (part->size > region->size - inside)
        part->size = region->size - inside;
    return true;
}

bool hsa_memory_holds(const struct hsa_memory *m, uint64_t address, uint64_t size)
{
    return tsm_regions_hold(m->regions, m->region_count, address, size);
}

bool hsa_memory_holds_box(const struct hsa_memory *m, uint64_t address, const uint64_t box[5])
{
    const struct tsm_extent extent = {box[0], box[1], box[2], box[3], box[4]};
    uint64_t size;

    return tsm_extent_size(&extent, &size) && size && hsa_memory_holds(m, address, size);
}

uint64_t hsa_memory_translate(const struct hsa_memory *m, uint64_t address)
{
    const struct tsm_region *region = hsa_memory_find(m, address);

    return region ? region->actual + (address - region->address) : address;
}

bool hsa_memory_is_constant(const struct hsa_memory *m, const struct tsm_region *region)
{
    return m->placed[region - m->regions].how == HSA_HOW_CONSTANT;
}

static int add_region(struct hsa_memory *m, const struct tsm_region *region,
                      const struct hsa_placed *placed)
{
    size_t at = tsm_region_after(m->regions, m->region_count, region->address);
    size_t count = m->region_count, capacity = m->region_capacity;

    if (!TSM_ARRAY_RESERVE(m->placed, capacity, count + 1) ||
        !TSM_ARRAY_INSERT(m->regions, m->region_count, m->region_capacity, at, *region))
        return tsm_fail(TSM_E_MEMORY, "no memory for %zu allocations", count + 1);
    (void)TSM_ARRAY_INSERT(m->placed, count, capacity, at, *placed);
    m->is_elsewhere |= region->actual != region->address;
    m->moved_count += region->actual != region->address && placed->how != HSA_HOW_VARIABLE &&
                      placed->how != HSA_HOW_CONSTANT;
    return 0;
}

/* ---- what the program left ---------------------------------------------------------------------
 */

/* Returns the placed memory of the region that holds [address, address + size), if it is the
 * host's. */
static struct hsa_placed *host_placed(const struct hsa_memory *m, uint64_t address, uint64_t size,
                                      const struct tsm_region **region)
{
    *region = hsa_memory_find(m, address);
    if (!*region || !(*region)->is_host ||
        !tsm_range_holds((*region)->address, (*region)->size, address, size))
        return NULL;
    return &m->placed[*region - m->regions];
}

int hsa_memory_leave(struct hsa_replay *replay, uint64_t address, uint64_t size)
{
    const struct tsm_region *region;
    struct hsa_placed *placed = host_placed(&replay->memory, address, size, &region);

    if (!placed || !replay->keeps_left)
        return 0;
    if (!placed->left)
        placed->left = calloc(1, region->size);
    if (!placed->left)
        return tsm_fail(TSM_E_MEMORY, "no memory for %llu bytes", (unsigned long long)region->size);
    memcpy(placed->left + (address - region->address),
           pointer(region->actual + (address - region->address)), size);
    return 0;
}

const uint8_t *hsa_memory_left(const struct hsa_memory *m, uint64_t address, uint64_t size)
{
    const struct tsm_region *region;
    const struct hsa_placed *placed = host_placed(m, address, size, &region);

    return placed && placed->left ? placed->left + (address - region->address) : NULL;
}

/* ---- making ------------------------------------------------------------------------------------
 */

static hsa_status_t allow_all(struct hsa_replay *replay, void *memory)
{
    hsa_agent_t agents[HSA_AGENT_MAX];
    uint32_t count = replay->here.agent_count;

    for (uint32_t i = 0; i < count; i++)
        agents[i].handle = replay->here.agents[i].raw;
    return replay->calls.hsa_amd_agents_allow_access(count, agents, NULL, memory);
}

/* Memory without an address at an address that is reserved: all agents may use it. */
static hsa_status_t map_handle(struct hsa_replay *replay, uint64_t handle, uint64_t offset,
                               uint64_t address, uint64_t size)
{
    const struct hsa_real *calls = &replay->calls;
    hsa_memory_access_t access[HSA_AGENT_MAX];
    hsa_status_t status;

    for (uint32_t i = 0; i < replay->here.agent_count; i++)
        access[i] = (hsa_memory_access_t){HSA_ACCESS_PERMISSION_RW, {replay->here.agents[i].raw}};
    status =
        calls->hsa_amd_vmem_map(pointer(address), size, offset, (hsa_vmem_handle_t){handle}, 0);
    if (status != HSA_STATUS_SUCCESS)
        return status;
    status =
        calls->hsa_amd_vmem_set_access(pointer(address), size, access, replay->here.agent_count);
    if (status != HSA_STATUS_SUCCESS)
        calls->hsa_amd_vmem_unmap(pointer(address), size);
    return status;
}

static hsa_status_t map_virtual(struct hsa_replay *replay, const struct hsa_part *pool,
                                uint64_t address, struct hsa_placed *placed)
{
    const struct hsa_real *calls = &replay->calls;
    hsa_vmem_handle_t handle;
    hsa_status_t status;

    status = calls->hsa_amd_vmem_handle_create((hsa_amd_memory_pool_t){pool->raw}, placed->mapped,
                                               0, 0, &handle);
    if (status != HSA_STATUS_SUCCESS)
        return status;
    placed->handle = handle.handle;
    status = map_handle(replay, handle.handle, 0, address, placed->mapped);
    if (status != HSA_STATUS_SUCCESS)
        calls->hsa_amd_vmem_handle_release(handle);
    return status;
}

/* New memory of the software GPU is zero, and nothing as long as nobody looks. */
static int fill(struct hsa_replay *replay, const struct hsa_part *pool,
                const struct tsm_region *region, uint64_t size)
{
    uint32_t value = 0x01010101u * replay->options->fresh_memory;
    hsa_status_t status;

    if (pool->host_access ||
        (!value && hsa_agents_are_software(replay, hsa_agents_agent(replay, pool->agent))))
        return 0;
    status =
        replay->calls.hsa_amd_memory_fill(pointer(region->actual), value, size / sizeof(value));
    return status == HSA_STATUS_SUCCESS ? 0 : hsa_fail(replay, "filling fresh memory", status);
}

static int allocate_anywhere(struct hsa_replay *replay, const struct hsa_part *pool,
                             struct tsm_region *region)
{
    void *got = NULL;
    hsa_status_t status = replay->calls.hsa_amd_memory_pool_allocate(
        (hsa_amd_memory_pool_t){pool->raw}, page_end(region->size), 0, &got);

    if (status != HSA_STATUS_SUCCESS)
        return hsa_fail(replay, "hsa_amd_memory_pool_allocate", status);
    allow_all(replay, got); /* what cannot be allowed is allowed anyway, or not needed */
    region->actual = (uintptr_t)got;
    return 0;
}

static int lock_range(struct hsa_replay *replay, uint64_t address, uint64_t size, bool is_svm,
                      uint64_t seq);

int hsa_memory_place(struct hsa_replay *replay, const struct hsa_part *pool, uint64_t address,
                     uint64_t size, uint64_t seq)
{
    const struct tsm_address_range *range =
        tsm_address_space_find(&replay->memory.space, address, size);
    struct tsm_region region = {address, address, size, seq, pool->host_access};
    struct hsa_placed placed = {.how = HSA_HOW_VIRTUAL, .mapped = page_end(size)};
    int error = 0;

    if (!range || !range->is_reserved || address % HSA_PAGE ||
        map_virtual(replay, pool, address, &placed) != HSA_STATUS_SUCCESS) {
        if (pool->host_access && range && range->is_kept)
            return lock_range(replay, address, size, true, seq); /* until it is freed */
        placed.how = HSA_HOW_POOL;
        error = allocate_anywhere(replay, pool, &region);
    }
    if (!error)
        error = fill(replay, pool, &region, placed.mapped);
    return error ? error : add_region(&replay->memory, &region, &placed);
}

int hsa_memory_map(struct hsa_replay *replay, const struct hsa_view *view, uint64_t seq)
{
    const struct tsm_address_range *range =
        tsm_address_space_find(&replay->memory.space, view->address, view->size);
    struct tsm_region region = {view->address, view->address, view->size, seq,
                                view->pool->host_access};
    struct hsa_placed placed = {.how = HSA_HOW_VIEW, .mapped = page_end(view->size)};
    hsa_status_t status = HSA_STATUS_SUCCESS;
    void *got = NULL;
    int error;

    if (!range || !range->is_reserved || view->address % HSA_PAGE) {
        status = replay->calls.hsa_amd_vmem_address_reserve(&got, placed.mapped, 0, 0);
        region.actual = (uintptr_t)got;
    }
    if (status == HSA_STATUS_SUCCESS)
        status = map_handle(replay, view->handle, view->offset, region.actual, placed.mapped);
    if (status != HSA_STATUS_SUCCESS)
        return hsa_fail(replay, "hsa_amd_vmem_map", status);
    error = view->is_fresh ? fill(replay, view->pool, &region, placed.mapped) : 0;
    return error ? error : add_region(&replay->memory, &region, &placed);
}

bool hsa_memory_is_mapped(const struct hsa_memory *m, const struct tsm_region *region)
{
    enum hsa_how how = m->placed[region - m->regions].how;

    return how == HSA_HOW_VIRTUAL || how == HSA_HOW_VIEW;
}

/* Pages of this process for memory of the recorded one. */
static bool map_host(struct hsa_memory *m, uint64_t address, uint64_t size, uint64_t *actual)
{
    const struct tsm_address_range *range = tsm_address_space_find(&m->space, address, size);
    uint64_t start = page_start(address), length = page_end(address + size) - start;
    void *got;

    if (range && (range->is_kept || range->is_reserved) &&
        mprotect(pointer(start), length, PROT_READ | PROT_WRITE) == 0) {
        memset(pointer(address), 0, size);
        *actual = address;
        return true;
    }
    got = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *actual = (uintptr_t)got + (address - start);
    return got != MAP_FAILED;
}

static int lock_pages(struct hsa_replay *replay, uint64_t address, uint64_t actual, uint64_t size,
                      bool is_svm)
{
    struct hsa_memory *m = &replay->memory;
    void *agent_pointer = NULL;
    hsa_status_t status;

    if (!TSM_ARRAY_PUSH(m->locks, m->lock_count, m->lock_capacity,
                        (struct hsa_lock){address, size, is_svm}))
        return tsm_fail(TSM_E_MEMORY, "no memory for %zu locks", m->lock_count + 1);
    status = replay->calls.hsa_amd_memory_lock(pointer(actual), size, NULL, 0, &agent_pointer);
    if (status == HSA_STATUS_SUCCESS)
        return 0;
    m->lock_count--;
    return hsa_fail(replay, "hsa_amd_memory_lock", status);
}

static void remove_region(struct hsa_memory *m, size_t at)
{
    size_t count = m->region_count;

    TSM_ARRAY_REMOVE(m->placed, count, at);
    TSM_ARRAY_REMOVE(m->regions, m->region_count, at);
}

/* Takes a region that overlaps the new one into it: its bytes stay what they are. */
static int take_in(struct hsa_replay *replay, size_t at, struct tsm_region *region,
                   struct hsa_placed *placed)
{
    struct hsa_memory *m = &replay->memory;
    const struct tsm_region old = m->regions[at];
    const struct hsa_placed *old_placed = &m->placed[at];
    uint64_t start = region->address < old.address ? region->address : old.address;
    uint64_t end = region->address + region->size;

    if (old.address + old.size > end)
        end = old.address + old.size;
    if (old_placed->how != HSA_HOW_HOST || old.actual != old.address)
        return tsm_fail(TSM_E_UNSUPPORTED,
                        "locks memory that is partly locked, and lies elsewhere");
    if (placed->left || old_placed->left) {
        uint8_t *left = calloc(1, end - start);
        if (!left)
            return tsm_fail(TSM_E_MEMORY, "no memory for host memory");
        if (placed->left)
            memcpy(left + (region->address - start), placed->left, region->size);
        if (old_placed->left)
            memcpy(left + (old.address - start), old_placed->left, old.size);
        free(placed->left);
        free(old_placed->left);
        placed->left = left;
    }
    region->address = start;
    region->size = end - start;
    remove_region(m, at);
    return 0;
}

/* Zeroes what no region has yet: the gaps between those that begin in [from, end). */
static int map_gaps(struct hsa_memory *m, uint64_t from, uint64_t end)
{
    uint64_t actual;

    while (from < end) {
        const struct tsm_region *there = hsa_memory_find(m, from);
        size_t next = tsm_region_after(m->regions, m->region_count, from);
        uint64_t until = there ? there->address + there->size : end;
        if (!there && next < m->region_count && m->regions[next].address < until)
            until = m->regions[next].address;
        if (!there && (!map_host(m, from, until - from, &actual) || actual != from))
            return tsm_fail(TSM_E_UNSUPPORTED, "locks memory beside memory that lies elsewhere");
        from = until;
    }
    return 0;
}

/* More of what is partly there. */
static int lock_more(struct hsa_replay *replay, uint64_t address, uint64_t size, bool is_svm,
                     uint64_t seq)
{
    struct hsa_memory *m = &replay->memory;
    struct tsm_region region = {address, 0, size, seq, true};
    struct hsa_placed placed = {.how = HSA_HOW_HOST};
    int error = map_gaps(m, address, address + size);

    for (size_t at = m->region_count; at-- > 0 && !error;)
        if (m->regions[at].address < address + size &&
            address < m->regions[at].address + m->regions[at].size)
            error = take_in(replay, at, &region, &placed);
    region.actual = region.address;
    placed.mapped = region.size;
    if (!error)
        error = lock_pages(replay, address, address, size, is_svm);
    return error ? error : add_region(m, &region, &placed);
}

static int lock_range(struct hsa_replay *replay, uint64_t address, uint64_t size, bool is_svm,
                      uint64_t seq)
{
    struct hsa_memory *m = &replay->memory;
    struct tsm_region region = {address, 0, size, seq, true};
    struct hsa_placed placed = {.how = HSA_HOW_HOST, .mapped = size};
    const struct tsm_region *there = hsa_memory_find(m, address);
    size_t next = tsm_region_after(m->regions, m->region_count, address);
    int error;

    if (!size || address + size < address)
        return tsm_fail(TSM_E_FORMAT, "locks no memory");
    if (there && tsm_range_holds(there->address, there->size, address, size))
        return m->placed[there - m->regions].how == HSA_HOW_HOST
                   ? lock_pages(replay, address, hsa_memory_translate(m, address), size, is_svm)
                   : 0; /* memory that needs no lock */
    if (there || (next < m->region_count && m->regions[next].address < address + size))
        return lock_more(replay, address, size, is_svm, seq);
    if (!map_host(m, address, size, &region.actual))
        return tsm_fail(TSM_E_MEMORY, "no host memory for 0x%llx", (unsigned long long)address);
    error = lock_pages(replay, address, region.actual, size, is_svm);
    return error ? error : add_region(m, &region, &placed);
}

int hsa_memory_lock(struct hsa_replay *replay, uint64_t address, uint64_t size, uint64_t seq)
{
    return lock_range(replay, address, size, false, seq);
}

/* Takes out the newest lock that begins there, and can be given back. */
static bool take_lock(struct hsa_memory *m, uint64_t address, struct hsa_lock *out)
{
    for (size_t i = m->lock_count; i-- > 0;) {
        if (m->locks[i].address != address || m->locks[i].is_svm)
            continue;
        *out = m->locks[i];
        TSM_ARRAY_REMOVE(m->locks, m->lock_count, i);
        return true;
    }
    return false;
}

static bool is_locked(const struct hsa_memory *m, const struct tsm_region *region)
{
    for (size_t i = 0; i < m->lock_count; i++)
        if (m->locks[i].address - region->address < region->size)
            return true;
    return false;
}

/* Returns how far [from, end) is free of locks, or, `*is_held`, within one. */
static uint64_t next_border(const struct hsa_memory *m, uint64_t from, uint64_t end, bool *is_held)
{
    *is_held = false;
    for (size_t i = 0; i < m->lock_count; i++) {
        const struct hsa_lock *lock = &m->locks[i];
        const uint64_t lock_end = lock->address + lock->size;

        if (lock->address <= from && from < lock_end) {
            *is_held = true;
            return lock_end < end ? lock_end : end;
        }
        if (lock->address > from && lock->address < end)
            end = lock->address;
    }
    return end;
}

/* Bytes that no lock holds any more are the program's alone: when they are locked again,
 * the trace has what is not zero there. */
static void clear_unlocked(struct hsa_memory *m, const struct tsm_region *region, uint8_t *left,
                           const struct hsa_lock *lock)
{
    const uint64_t region_end = region->address + region->size;
    const uint64_t lock_end = lock->address + lock->size;
    const uint64_t end = lock_end < region_end ? lock_end : region_end;
    uint64_t until;

    for (uint64_t from = lock->address; from < end; from = until) {
        const uint64_t inside = from - region->address;
        bool is_held;

        until = next_border(m, from, end, &is_held);
        if (is_held)
            continue;
        memset(pointer(region->actual + inside), 0, until - from);
        if (left)
            memset(left + inside, 0, until - from);
    }
}

/* The region stays as long as any lock of it does. */
static int unlock(struct hsa_replay *replay, uint64_t address)
{
    struct hsa_memory *m = &replay->memory;
    const struct tsm_region *there = hsa_memory_find(m, address);
    struct hsa_placed *placed = there ? &m->placed[there - m->regions] : NULL;
    struct hsa_lock lock;

    if (!placed || placed->how != HSA_HOW_HOST || !take_lock(m, address, &lock))
        return 0;
    replay->calls.hsa_amd_memory_unlock(pointer(hsa_memory_translate(m, address)));
    if (!is_locked(m, there))
        return hsa_memory_release(replay, there->address);
    clear_unlocked(m, there, placed->left, &lock);
    return 0;
}

int hsa_memory_variable(struct hsa_replay *replay, uint64_t address, uint64_t actual, uint64_t size,
                        bool is_const, uint64_t seq)
{
    struct tsm_region region = {address, actual, size, seq, false};
    struct hsa_placed placed = {.how = is_const ? HSA_HOW_CONSTANT : HSA_HOW_VARIABLE};

    return size ? add_region(&replay->memory, &region, &placed) : 0;
}

/* ---- release -----------------------------------------------------------------------------------
 */

/* Gives back all locks that are left within the region. */
static hsa_status_t give_locks_back(struct hsa_replay *replay, const struct tsm_region *region)
{
    struct hsa_memory *m = &replay->memory;
    hsa_status_t status = HSA_STATUS_SUCCESS;

    for (size_t i = m->lock_count; i-- > 0;) {
        const uint64_t inside = m->locks[i].address - region->address;
        hsa_status_t one;

        if (inside >= region->size)
            continue;
        one = replay->calls.hsa_amd_memory_unlock(pointer(region->actual + inside));
        status = status == HSA_STATUS_SUCCESS ? one : status;
        TSM_ARRAY_REMOVE(m->locks, m->lock_count, i);
    }
    return status;
}

static hsa_status_t release(struct hsa_replay *replay, const struct tsm_region *region,
                            const struct hsa_placed *placed)
{
    const struct hsa_real *calls = &replay->calls;
    hsa_status_t status;

    free(placed->left);
    switch (placed->how) {
    case HSA_HOW_VIRTUAL:
        status = calls->hsa_amd_vmem_unmap(pointer(region->actual), placed->mapped);
        calls->hsa_amd_vmem_handle_release((hsa_vmem_handle_t){placed->handle});
        return status;
    case HSA_HOW_VIEW:
        status = calls->hsa_amd_vmem_unmap(pointer(region->actual), placed->mapped);
        if (region->actual != region->address)
            calls->hsa_amd_vmem_address_free(pointer(region->actual), placed->mapped);
        return status;
    case HSA_HOW_POOL:
        return calls->hsa_amd_memory_pool_free(pointer(region->actual));
    case HSA_HOW_HOST: /* the pages stay: others may share them */
        return give_locks_back(replay, region);
    case HSA_HOW_VARIABLE:
    case HSA_HOW_CONSTANT:
        break;
    }
    return HSA_STATUS_SUCCESS;
}

int hsa_memory_release(struct hsa_replay *replay, uint64_t address)
{
    struct hsa_memory *m = &replay->memory;
    size_t at = tsm_region_after(m->regions, m->region_count, address);
    hsa_status_t status;

    if (!at || m->regions[at - 1].address != address)
        return 0;
    status = release(replay, &m->regions[at - 1], &m->placed[at - 1]);
    remove_region(m, at - 1);
    return status == HSA_STATUS_SUCCESS ? 0 : hsa_fail(replay, "freeing memory", status);
}

void hsa_memory_finish(struct hsa_replay *replay)
{
    struct hsa_memory *m = &replay->memory;

    for (; m->region_count; m->region_count--)
        release(replay, &m->regions[m->region_count - 1], &m->placed[m->region_count - 1]);
    tsm_address_space_release(&m->space, &(struct tsm_address_driver){replay, reserve, give_back});
    tsm_address_space_finish(&m->space);
    free(m->regions);
    free(m->placed);
    free(m->locks);
    memset(m, 0, sizeof(*m));
}

/* ---- records -----------------------------------------------------------------------------------
 */

int replay_hsa_amd_memory_pool_allocate(struct hsa_replay *replay, const struct sbt_record *record)
{
    const struct hsa_part *pool =
        hsa_agents_pool(replay, hsa_slot(record, SLOT_hsa_amd_memory_pool_allocate_memory_pool));

    if (!pool)
        return tsm_fail(TSM_E_FORMAT, "memory of a pool that the trace does not describe");
    return hsa_memory_place(replay, pool, hsa_slot(record, SLOT_hsa_amd_memory_pool_allocate_ptr),
                            hsa_slot(record, SLOT_hsa_amd_memory_pool_allocate_size), record->seq);
}

int replay_hsa_amd_memory_pool_free(struct hsa_replay *replay, const struct sbt_record *record)
{
    return hsa_memory_release(replay, hsa_slot(record, SLOT_hsa_amd_memory_pool_free_ptr));
}

/* A pool of the region's agent with the same properties is the same memory. */
int replay_hsa_memory_allocate(struct hsa_replay *replay, const struct sbt_record *record)
{
    const struct hsa_part *region =
        hsa_agents_region(replay, hsa_slot(record, SLOT_hsa_memory_allocate_region));

    for (uint32_t i = 0; region && i < replay->recorded.pool_count; i++) {
        const struct hsa_part *pool = &replay->recorded.pools[i];
        if (pool->agent == region->agent && pool->flags == region->flags && pool->raw)
            return hsa_memory_place(replay, pool, hsa_slot(record, SLOT_hsa_memory_allocate_ptr),
                                    hsa_slot(record, SLOT_hsa_memory_allocate_size), record->seq);
    }
    return tsm_fail(TSM_E_UNSUPPORTED, "memory of a region that no pool is like");
}

int replay_hsa_memory_free(struct hsa_replay *replay, const struct sbt_record *record)
{
    return hsa_memory_release(replay, hsa_slot(record, SLOT_hsa_memory_free_ptr));
}

void hsa_memory_allow_host(struct hsa_memory *m, uint64_t address, uint64_t size)
{
    for (size_t i = 0; i < m->region_count; i++)
        if (m->regions[i].address < address + size &&
            address < m->regions[i].address + m->regions[i].size)
            m->regions[i].is_host = true;
}

/* All agents were allowed when it was made; but whose it is makes a difference. */
int replay_hsa_amd_agents_allow_access(struct hsa_replay *replay, const struct sbt_record *record)
{
    if (hsa_slot(record, SLOT_hsa_amd_agents_allow_access_host))
        hsa_memory_allow_host(&replay->memory,
                              hsa_slot(record, SLOT_hsa_amd_agents_allow_access_ptr), 1);
    return 0;
}

int replay_hsa_amd_memory_lock(struct hsa_replay *replay, const struct sbt_record *record)
{
    return hsa_memory_lock(replay, hsa_slot(record, SLOT_hsa_amd_memory_lock_host_ptr),
                           hsa_slot(record, SLOT_hsa_amd_memory_lock_size), record->seq);
}

int replay_hsa_amd_memory_lock_to_pool(struct hsa_replay *replay, const struct sbt_record *record)
{
    return hsa_memory_lock(replay, hsa_slot(record, SLOT_hsa_amd_memory_lock_to_pool_host_ptr),
                           hsa_slot(record, SLOT_hsa_amd_memory_lock_to_pool_size), record->seq);
}

/* Such memory is locked here: the same to whoever reads and writes it. */
int replay_hsa_amd_svm_attributes_set(struct hsa_replay *replay, const struct sbt_record *record)
{
    uint64_t address = hsa_slot(record, SLOT_hsa_amd_svm_attributes_set_ptr);
    uint64_t size = hsa_slot(record, SLOT_hsa_amd_svm_attributes_set_size);

    for (size_t i = 0; i < replay->memory.lock_count; i++) {
        const struct hsa_lock *lock = &replay->memory.locks[i];
        if (lock->is_svm && tsm_range_holds(lock->address, lock->size, address, size))
            return 0;
    }
    return lock_range(replay, address, size, true, record->seq);
}

int replay_hsa_amd_memory_unlock(struct hsa_replay *replay, const struct sbt_record *record)
{
    return unlock(replay, hsa_slot(record, SLOT_hsa_amd_memory_unlock_host_ptr));
}

int replay_hsa_memory_register(struct hsa_replay *replay, const struct sbt_record *record)
{
    return hsa_memory_lock(replay, hsa_slot(record, SLOT_hsa_memory_register_ptr),
                           hsa_slot(record, SLOT_hsa_memory_register_size), record->seq);
}

int replay_hsa_memory_deregister(struct hsa_replay *replay, const struct sbt_record *record)
{
    return unlock(replay, hsa_slot(record, SLOT_hsa_memory_deregister_ptr));
}

int hsa_memory_read(struct hsa_replay *replay, uint64_t address, void *out, uint64_t size)
{
    const struct tsm_region *region = hsa_memory_find(&replay->memory, address);
    const void *from = (const void *)(uintptr_t)hsa_memory_translate(&replay->memory, address);
    hsa_status_t status;

    if (!region || !hsa_memory_holds(&replay->memory, address, size))
        return tsm_fail(TSM_E_NOT_FOUND, "nothing at 0x%llx", (unsigned long long)address);
    if (region->is_host) {
        memcpy(out, from, size);
        return 0;
    }
    status = replay->calls.hsa_memory_copy(out, from, size);
    return status == HSA_STATUS_SUCCESS ? 0 : hsa_fail(replay, "reading memory", status);
}
