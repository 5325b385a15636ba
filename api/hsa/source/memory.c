/* SPDX-License-Identifier: Apache-2.0
 *
 * Allocations, sorted by address. The host's are watched: what the program changed there is
 * recorded before each command that could see it.
 */
#include "api/hsa/source/source.h"

#include "api/hsa/hsa_hooks.h"
#include "api/hsa/hsa_wrappers.h"
#include "api/hsa/source/encode.h"
#include "base/array.h"
#include "capture/call/streams.h"
#include "capture/lock.h"

#include <string.h>

#define ALLOCATION_MAX 65536u

struct allocation {
    uint64_t start, size;
    enum hsa_memory_kind kind;
    bool is_tracked;
    bool waits;        /* mapped memory: nobody can reach it yet */
    bool is_hosts;     /* of what waits: the host will */
    bool may_be_hosts; /* a GPU\'s: the host can, when it is allowed to */
    bool is_foreign;   /* of another process, and never seen before */
    bool is_constant;
    uint64_t vmem;  /* of a mapping: the handle of its memory */
    uint64_t owner; /* of a variable: its executable's handle */
    /* The newest kernel with its address in the arguments, since all were complete; NULL: none. */
    const struct tsm_stream *given_to;
    uint64_t given_at;
    uint32_t large_count; /* of results there that were too many bytes for a wait */
};

static struct {
    struct tsm_lock lock;
    struct allocation *all; /* by start; ALLOCATION_MAX places */
    uint32_t count;
    uint32_t hidden_count; /* of kind KERNARG, not tracked */
} table;

/* ---- the lock is held --------------------------------------------------------------------------
 */

static uint32_t after(uint64_t address)
{
    size_t at;

    TSM_BISECT(at, table.count, table.all[at].start > address);
    return at;
}

static struct allocation *find(uint64_t address)
{
    uint32_t at = after(address);

    if (!at || address - table.all[at - 1].start >= table.all[at - 1].size)
        return NULL;
    return &table.all[at - 1];
}

static bool insert(const struct allocation *allocation)
{
    uint32_t at = after(allocation->start);

    if (!table.all)
        table.all = hsa_keep(ALLOCATION_MAX * sizeof(*table.all));
    if (!table.all || table.count == ALLOCATION_MAX)
        return false;
    memmove(&table.all[at + 1], &table.all[at], (table.count - at) * sizeof(*table.all));
    table.all[at] = *allocation;
    table.count++;
    table.hidden_count += allocation->kind == HSA_MEMORY_KERNARG;
    return true;
}

/* ---- */

static void add_whole(const struct allocation *allocation)
{
    bool ok;

    tsm_lock_take(&table.lock);
    ok = insert(allocation);
    tsm_lock_give(&table.lock);
    if (!ok)
        tsm_session_unmodelled("more than 65536 allocations of HSA memory", true);
}

static void add_of(uint64_t start, uint64_t size, enum hsa_memory_kind kind, bool may_be_hosts)
{
    const struct allocation allocation = {.start = start,
                                          .size = size,
                                          .kind = kind,
                                          .is_tracked = kind == HSA_MEMORY_HOST,
                                          .may_be_hosts = may_be_hosts};

    add_whole(&allocation);
    if (kind == HSA_MEMORY_HOST)
        tsm_hostmem_track(start, size);
}

static void add(uint64_t start, uint64_t size, enum hsa_memory_kind kind)
{
    add_of(start, size, kind, false);
}

/* ---- */

bool hsa_memory_remove(uint64_t address, uint64_t *vmem)
{
    struct allocation gone = {0};
    uint32_t at;

    tsm_lock_take(&table.lock);
    at = after(address);
    if (at && table.all[at - 1].start == address) {
        gone = table.all[at - 1];
        memmove(&table.all[at - 1], &table.all[at], (table.count - at) * sizeof(*table.all));
        table.count--;
        hsa_uses_forget(gone.start, gone.start + gone.size);
        table.hidden_count -= gone.kind == HSA_MEMORY_KERNARG && !gone.is_tracked;
    }
    tsm_lock_give(&table.lock);
    if (gone.is_tracked)
        tsm_hostmem_untrack(address);
    *vmem = gone.vmem;
    return gone.size != 0;
}

enum hsa_memory_kind hsa_memory_kind_of(uint64_t address)
{
    const struct allocation *found;
    enum hsa_memory_kind kind;

    tsm_lock_take(&table.lock);
    found = find(address);
    kind = found ? found->kind : HSA_MEMORY_NONE;
    tsm_lock_give(&table.lock);
    return kind;
}

/* An address that is used: memory for arguments that holds something else as well is watched. */
static bool reveal(uint64_t address)
{
    struct allocation revealed = {0};
    struct allocation *found;

    tsm_lock_take(&table.lock);
    found = find(address);
    if (found && found->kind == HSA_MEMORY_KERNARG && !found->is_tracked) {
        found->is_tracked = true;
        table.hidden_count--;
        revealed = *found;
    }
    tsm_lock_give(&table.lock);
    if (revealed.size)
        tsm_hostmem_track(revealed.start, revealed.size);
    return revealed.size != 0;
}

bool hsa_memory_reveal(const void *arguments, size_t size)
{
    const uint8_t *bytes = arguments;
    bool revealed = false;
    uint64_t word;

    if (!__atomic_load_n(&table.hidden_count, __ATOMIC_RELAXED))
        return false;
    for (size_t i = 0; i + sizeof(word) <= size; i += sizeof(word)) {
        memcpy(&word, bytes + i, sizeof(word));
        revealed |= word && reveal(word);
    }
    return revealed;
}

/* ---- what kernels may have written -------------------------------------------------------------
 */

static bool is_under_way(uint64_t start)
{
    const struct allocation *found;
    bool is_used;

    tsm_lock_take(&table.lock);
    found = find(start);
    is_used = found && found->given_to && hsa_count_may_run(found->given_to, found->given_at);
    tsm_lock_give(&table.lock);
    return is_used;
}

void hsa_memory_given(const void *arguments, size_t size, const struct tsm_call *call,
                      bool in_order)
{
    const bool checks = tsm_session_settings()->checksum != TSM_CHECKSUM_OFF;
    const uint8_t *bytes = arguments;
    uint64_t word;

    if (!call->stream || (!checks && !tsm_hostmem_any()))
        return; /* a command that is not kept has no place */
    if (checks)
        tsm_hostmem_shared(is_under_way);
    tsm_lock_take(&table.lock);
    for (size_t i = 0; i + sizeof(word) <= size; i += sizeof(word)) {
        memcpy(&word, bytes + i, sizeof(word));
        struct allocation *found = find(word);
        if (!found)
            continue;
        if (found->is_tracked) {
            tsm_readback_overwritten(call, word, found->start + found->size);
            hsa_use_add(word, found->start + found->size, call, in_order);
        }
        if (!checks)
            continue;
        found->given_to = call->stream;
        found->given_at = call->position;
    }
    tsm_lock_give(&table.lock);
}

static bool was_given(uint64_t start, uint32_t *stream, uint64_t *position)
{
    struct allocation *found;
    const struct tsm_stream *by;

    tsm_lock_take(&table.lock);
    found = find(start);
    by = found ? found->given_to : NULL;
    if (by) {
        *stream = tsm_stream_number(by);
        *position = found->given_at;
        found->given_to = NULL;
    }
    tsm_lock_give(&table.lock);
    return by != NULL;
}

/* Notes one more result that is too large to be read each time. Returns whether it is its turn. */
static bool takes_turn(uint64_t address)
{
    struct allocation *found;
    uint32_t count = 0;

    tsm_lock_take(&table.lock);
    found = find(address);
    if (found)
        count = ++found->large_count;
    tsm_lock_give(&table.lock);
    return count && (count & (count - 1)) == 0;
}

void hsa_memory_results(void)
{
    hsa_uses_results(takes_turn);
}

void hsa_memory_written(void)
{
    tsm_hostmem_written(was_given);
}

bool hsa_memory_each(bool (*visit)(uint64_t start, uint64_t size, enum hsa_memory_kind kind))
{
    for (uint64_t from = 0;;) {
        struct allocation next = {0};
        uint32_t at;

        tsm_lock_take(&table.lock);
        at = from ? after(from) : 0;
        if (at < table.count)
            next = table.all[at];
        tsm_lock_give(&table.lock);
        if (!next.size)
            return true;
        if (!next.waits && !next.is_constant &&
            !visit(next.start, next.size, next.is_tracked ? HSA_MEMORY_HOST : next.kind))
            return false;
        from = next.start;
    }
}

void hsa_memory_forked(void)
{
    memset(&table, 0, sizeof(table));
    hsa_uses_forked();
}

/* ---- calls -------------------------------------------------------------------------------------
 */

void hsa_memory_created(enum hsa_object object, uint64_t pool, const void *memory, size_t size)
{
    const struct tsm_handle *handle = hsa_find(object, pool);
    uintptr_t facts = handle ? (uintptr_t)handle->user : 0;

    if (!memory)
        return;
    add_of(HSA_SLOT(memory), size,
           !(facts & HSA_POOL_HOST_ACCESS) ? HSA_MEMORY_DEVICE
           : facts & HSA_POOL_KERNARG      ? HSA_MEMORY_KERNARG
                                           : HSA_MEMORY_HOST,
           facts & HSA_POOL_MAY_ALLOW);
}

/* The next one in [*start, end) with which something happens; *start is after it then. */
static bool take_next(uint64_t *start, uint64_t end, bool (*happens)(struct allocation *allocation),
                      struct allocation *out)
{
    bool found = false;

    tsm_lock_take(&table.lock);
    for (uint32_t at = after(*start - 1); at < table.count && !found; at++) {
        struct allocation *next = &table.all[at];

        if (next->start >= end)
            break;
        found = happens(next);
        if (found) {
            *out = *next;
            *start = next->start + next->size;
        }
    }
    tsm_lock_give(&table.lock);
    return found;
}

static bool becomes_hosts(struct allocation *allocation)
{
    if (!allocation->may_be_hosts || allocation->waits || allocation->kind != HSA_MEMORY_DEVICE)
        return false;
    allocation->kind = HSA_MEMORY_HOST;
    allocation->is_tracked = true;
    return true;
}

bool hsa_memory_may_be_hosts(uint64_t address)
{
    const struct allocation *found;
    bool may;

    tsm_lock_take(&table.lock);
    found = find(address);
    may = found && found->may_be_hosts;
    tsm_lock_give(&table.lock);
    return may;
}

void hsa_memory_allowed(uint64_t start, uint64_t size)
{
    uint64_t end = start + size;
    struct allocation now;

    while (start < end && take_next(&start, end, becomes_hosts, &now))
        tsm_hostmem_track(now.start, now.size);
}

void hsa_after_allow(struct tsm_call *call, bool ok, uint32_t count, const hsa_agent_t *agents,
                     const void *ptr)
{
    uint64_t vmem, start = ok ? hsa_memory_start(HSA_SLOT(ptr), &vmem) : 0;
    bool host = false;

    for (uint32_t i = 0; ok && i < count; i++)
        host |= hsa_agent_is_host(agents[i]);
    host = host && hsa_memory_may_be_hosts(start);
    tsm_call_slot(call, host);
    if (host)
        hsa_memory_allowed(start, 1);
}

void hsa_after_region(struct tsm_call *call, bool ok, hsa_region_t region, size_t size, void **ptr)
{
    if (ok)
        hsa_memory_created(HSA_OBJECT_REGION, region.handle, *ptr, size);
}

void hsa_after_pool(struct tsm_call *call, bool ok, hsa_amd_memory_pool_t memory_pool, size_t size,
                    void **ptr)
{
    if (ok)
        hsa_memory_created(HSA_OBJECT_POOL, memory_pool.handle, *ptr, size);
}

bool hsa_memory_in_one(uint64_t start, uint64_t size)
{
    const struct allocation *found;
    bool is_known;

    tsm_lock_take(&table.lock);
    found = find(start);
    is_known = found && size <= found->size - (start - found->start);
    tsm_lock_give(&table.lock);
    return is_known;
}

void hsa_memory_add_hosts(uint64_t start, uint64_t size)
{
    add(start, size, HSA_MEMORY_HOST);
}

/* ---- variables of executables ------------------------------------------------------------------
 */

void hsa_memory_variable(uint64_t address, uint64_t size, hsa_executable_t executable,
                         bool is_constant)
{
    const struct allocation allocation = {.start = address,
                                          .size = size,
                                          .kind = HSA_MEMORY_DEVICE,
                                          .is_constant = is_constant,
                                          .owner = executable.handle};

    add_whole(&allocation);
}

void hsa_after_unload(struct tsm_call *call, bool ok, hsa_executable_t executable)
{
    uint32_t kept = 0;

    tsm_lock_take(&table.lock);
    for (uint32_t i = 0; ok && i < table.count; i++)
        if (!table.all[i].owner || table.all[i].owner != executable.handle)
            table.all[kept++] = table.all[i];
    if (ok)
        table.count = kept;
    tsm_lock_give(&table.lock);
}

/* ---- mappings (virtual.c) ------------------------------------------------------------
 */

void hsa_memory_mapped(uint64_t start, uint64_t size, uint64_t vmem, uintptr_t pool_facts,
                       bool is_foreign)
{
    const struct allocation allocation = {.start = start,
                                          .size = size,
                                          .kind = HSA_MEMORY_DEVICE,
                                          .waits = true,
                                          .is_hosts = pool_facts & HSA_POOL_HOST_ACCESS,
                                          .may_be_hosts = pool_facts & HSA_POOL_MAY_ALLOW,
                                          .is_foreign = is_foreign,
                                          .vmem = vmem};

    add_whole(&allocation);
}

static bool wakes(struct allocation *allocation)
{
    if (!allocation->waits)
        return false;
    allocation->waits = false;
    if (allocation->is_hosts)
        allocation->kind = HSA_MEMORY_HOST;
    allocation->is_tracked = allocation->is_hosts;
    return true;
}

bool hsa_memory_awake(uint64_t *start, uint64_t end, struct hsa_awake *out)
{
    struct allocation next;
    bool found = take_next(start, end, wakes, &next);

    if (found)
        *out = (struct hsa_awake){next.start, next.size, next.is_hosts, next.is_foreign};
    return found;
}

uint64_t hsa_memory_start(uint64_t address, uint64_t *vmem)
{
    const struct allocation *found;
    uint64_t start = 0;

    tsm_lock_take(&table.lock);
    found = find(address);
    if (found)
        start = found->start;
    *vmem = found ? found->vmem : 0;
    tsm_lock_give(&table.lock);
    return start;
}
