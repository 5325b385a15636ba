/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory at its recorded addresses. Device memory is mapped into the reserved range in runs of
 * whole pages: small recorded allocations share one. A run whose last allocation died stays mapped
 * until memory runs out: programs that allocate in a loop would otherwise pay for a mapping each
 * time.
 *
 * Fresh memory is filled: what a kernel reads before anybody wrote it must not depend on what was
 * there by chance.
 */
#include "api/cuda/replay/state.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "api/cuda/abi_place.h"
#include "base/array.h"
#include "replay/region.h"

#define HOST_PAGE 4096u

/* Mapped device memory, whole pages. */
struct cuda_page_run {
    uint64_t start, end;
    CUmemGenericAllocationHandle handle;
    size_t use_count; /* live regions that touch it */
};

/* ---- planning ----------------------------------------------------------------------------- */

int cuda_memory_plan_range(struct tsm_address_space *space, uint64_t start, uint64_t size,
                           uint64_t granularity)
{
    uint64_t end = (start + (size ? size : 1) + granularity - 1) & ~(granularity - 1);

    if (end <= (start & ~(granularity - 1)))
        return tsm_fail(TSM_E_FORMAT, "the trace allocates 0x%llx bytes at 0x%llx",
                        (unsigned long long)size, (unsigned long long)start);
    return tsm_address_space_add(space, start & ~(granularity - 1), end);
}

/* Notes the first variable of a module that the program asks for: it places the module's image.
 * `modules`: by the ids of what. */
static int plan_variable(struct cuda_memory *m, struct tsm_map *modules, uint64_t id, uint64_t name,
                         uint64_t address)
{
    const struct cuda_variable variable = {(uint32_t)name, address};
    uint64_t *place;
    bool added;

    if (!address || !id)
        return 0;
    place = tsm_map_insert(modules, id, &added);
    if (place && !added)
        return 0;
    if (!place || !TSM_ARRAY_PUSH(m->variables, m->variable_count, m->variable_capacity, variable))
        return tsm_fail(TSM_E_MEMORY, "no memory for variables of modules");
    *place = m->variable_count;
    return 0;
}

#define PLAN_VARIABLE(call, modules, of)                                                           \
    (memory->has_managed |=                                                                        \
     record->slot_count > SLOT_##call##_managed && record->slots[SLOT_##call##_managed],           \
     record->slot_count > SLOT_##call##_name                                                       \
         ? plan_variable(memory, modules, record->slots[SLOT_##call##_##of],                       \
                         record->slots[SLOT_##call##_name], record->slots[SLOT_##call##_dptr])     \
         : 0)

void cuda_memory_wish_module(struct cuda_replay *replay, const struct sbt_record *record)
{
    const struct sbt_schema *schema = cuda_schema(record->type);
    const int object = schema ? sbt_schema_role(schema, SBT_ROLE_OBJECT) : -1;
    const struct cuda_memory *m = &replay->memory;
    const struct cuda_variable *variable;
    const char *name;
    uint64_t place;

    if (!m->place || object < 0 || (uint32_t)object >= record->slot_count)
        return;
    place =
        tsm_map_get(strcmp(schema->fields[object].detail, "library") ? &m->modules : &m->libraries,
                    record->slots[object], 0);
    variable = place ? &m->variables[place - 1] : NULL;
    name = variable ? sbt_reader_string(replay->reader, variable->name) : NULL;
    m->place->wish_variable(name, name ? variable->address : 0);
}

/* Tests whether another API of the trace has the memory: it comes to its place by itself. */
static bool is_others(const struct sbt_record *record)
{
    return record->type == TYPE_cuExternalMemoryGetMappedBuffer &&
           record->slot_count > SLOT_cuExternalMemoryGetMappedBuffer_origin &&
           record->slots[SLOT_cuExternalMemoryGetMappedBuffer_origin];
}

int cuda_memory_plan(struct cuda_memory *memory, const struct sbt_record *record,
                     const struct sbt_schema *schema)
{
    int index = sbt_schema_role(schema, SBT_ROLE_ADDRESS);
    uint64_t address = sbt_record_role(schema, record, SBT_ROLE_ADDRESS, 0);
    uint64_t size = sbt_record_role(schema, record, SBT_ROLE_SIZE, 0);

    if (record->type == TYPE_cuModuleGetGlobal_v2)
        return PLAN_VARIABLE(cuModuleGetGlobal_v2, &memory->modules, hmod);
    if (record->type == TYPE_cuLibraryGetGlobal)
        return PLAN_VARIABLE(cuLibraryGetGlobal, &memory->libraries, library);
    if (record->type == TYPE_cuLibraryGetManaged)
        return PLAN_VARIABLE(cuLibraryGetManaged, &memory->libraries, library);
    if (schema->kind != SBT_KIND_CREATE || index < 0 || !address || is_others(record))
        return 0;
    if (schema->fields[index].type == SBT_FIELD_HOSTPTR)
        return cuda_memory_plan_range(&memory->host, address, size, HOST_PAGE);
    return cuda_memory_plan_range(&memory->device, address, size, CUDA_PAGE);
}

static uint64_t reserve(void *user, uint64_t start, uint64_t size)
{
    const struct cuda_replay *replay = user;
    const struct cuda_real *driver = &replay->library.calls;
    CUdeviceptr got = 0;

    if (replay->memory.place && replay->memory.place->keep(start, size))
        return start;
    return driver->cuMemAddressReserve(&got, size, 0, start, 0) == CUDA_SUCCESS ? got : 0;
}

static void give_back(void *user, uint64_t start, uint64_t size)
{
    const struct cuda_replay *replay = user;

    if (!replay->memory.place || !replay->memory.place->is_kept(start))
        replay->library.calls.cuMemAddressFree(start, size);
}

void cuda_memory_reserve(struct cuda_replay *replay)
{
    tsm_address_space_reserve(&replay->memory.device,
                              &(struct tsm_address_driver){replay, reserve, give_back});
}

/* ---- live regions ------------------------------------------------------------------------- */

const struct tsm_region *cuda_memory_find(const struct cuda_memory *m, uint64_t address)
{
    return tsm_region_find(m->regions, m->region_count, address);
}

static int grow_regions(struct cuda_memory *m)
{
    size_t need = m->region_count + 1, how = m->region_capacity, contexts = how;

    return TSM_ARRAY_RESERVE(m->how, how, need) && TSM_ARRAY_RESERVE(m->contexts, contexts, need) &&
                   TSM_ARRAY_RESERVE(m->regions, m->region_capacity, need)
               ? 0
               : tsm_fail(TSM_E_MEMORY, "no memory for %zu allocations", need);
}

#define SHIFT(array, to, from, count)                                                              \
    memmove(&(array)[to], &(array)[from], (count) * sizeof((array)[0]))

static void insert_region(struct cuda_memory *m, const struct tsm_region *region, enum cuda_how how,
                          CUcontext context)
{
    size_t at = tsm_region_after(m->regions, m->region_count, region->address),
           behind = m->region_count - at;

    SHIFT(m->regions, at + 1, at, behind);
    SHIFT(m->how, at + 1, at, behind);
    SHIFT(m->contexts, at + 1, at, behind);
    m->regions[at] = *region;
    m->how[at] = how;
    m->contexts[at] = context;
    m->region_count++;
}

static int add_region(struct cuda_memory *m, const struct tsm_region *region, enum cuda_how how,
                      CUcontext context)
{
    int error;

    pthread_mutex_lock(&m->lock);
    error = grow_regions(m);
    if (!error)
        insert_region(m, region, how, context);
    pthread_mutex_unlock(&m->lock);
    return error;
}

static void remove_region(struct cuda_memory *m, size_t at)
{
    size_t behind = m->region_count - at - 1;

    pthread_mutex_lock(&m->lock);
    SHIFT(m->regions, at, at + 1, behind);
    SHIFT(m->how, at, at + 1, behind);
    SHIFT(m->contexts, at, at + 1, behind);
    m->region_count--;
    pthread_mutex_unlock(&m->lock);
}

/* Only memory that was kept for the recorded address stays when the driver is done with it. */
bool cuda_memory_shared(struct cuda_memory *m, uint64_t address, uint64_t size, uint64_t *actual)
{
    const struct tsm_region *region;
    bool is_there;

    pthread_mutex_lock(&m->lock);
    region = cuda_memory_find(m, address);
    is_there = region && region->is_host && m->how[region - m->regions] == CUDA_HOW_REGISTERED &&
               tsm_range_holds(region->address, region->size, address, size);
    if (is_there)
        *actual = region->actual + (address - region->address);
    pthread_mutex_unlock(&m->lock);
    return is_there;
}

/* ---- addresses that are elsewhere --------------------------------------------------------- */

/* The first entry that begins after `address`. */
static size_t moved_after(const struct cuda_memory *m, uint64_t address)
{
    size_t at;

    TSM_BISECT(at, m->moved_count, m->moved[at].recorded > address);
    return at;
}

static const struct cuda_moved *moved_at_or_before(const struct cuda_memory *m, uint64_t address)
{
    const size_t at = moved_after(m, address);

    return at ? &m->moved[at - 1] : NULL;
}

uint64_t cuda_memory_translate(const struct cuda_memory *m, uint64_t address)
{
    const struct cuda_moved *entry = moved_at_or_before(m, address);

    if (!entry || entry->is_freed || address - entry->recorded >= entry->size)
        return address;
    return entry->actual + (address - entry->recorded);
}

/* Programs have the end of an array as an address, too. It is that of what begins there, if
 * anything does; what is no memory (a number of the driver's) has none. */
static bool is_end(const struct cuda_memory *m, const struct cuda_moved *entry, uint64_t word)
{
    return entry->size > 1 && word - entry->recorded == entry->size && !cuda_memory_find(m, word);
}

uint64_t cuda_memory_translate_word(const struct cuda_memory *m, uint64_t word)
{
    const struct cuda_moved *entry = moved_at_or_before(m, word);

    if (!entry || (word - entry->recorded >= entry->size && !is_end(m, entry, word)))
        return word;
    return entry->actual + (word - entry->recorded);
}

/* Its addresses may still lie in memory. */
static void free_moved(struct cuda_memory *m, uint64_t recorded)
{
    const size_t at = moved_after(m, recorded);

    if (at && m->moved[at - 1].recorded == recorded)
        m->moved[at - 1].is_freed = true;
}

/* Forgets what lay there, because something else takes the place, which is at `actual`. Old
 * addresses that still lie in memory would be taken for new ones, which is right only where these
 * moved by the same distance. */
static void forget_moved_in(struct cuda_memory *m, uint64_t start, uint64_t size, uint64_t actual)
{
    size_t end = moved_after(m, start + (size ? size - 1 : 0)), first = end;

    while (first && m->moved[first - 1].recorded + m->moved[first - 1].size > start) {
        first--;
        m->doubtful_count += m->moved[first].actual - m->moved[first].recorded != actual - start;
    }
    if (first == end)
        return;
    SHIFT(m->moved, first, end, m->moved_count - end);
    m->moved_count -= end - first;
}

int cuda_memory_moved(struct cuda_memory *m, uint64_t recorded, uint64_t size, uint64_t actual)
{
    forget_moved_in(m, recorded, size, actual);
    if (recorded == actual)
        return 0;
    size_t at = moved_after(m, recorded);
    if (!TSM_ARRAY_INSERT(m->moved, m->moved_count, m->moved_capacity, at,
                          (struct cuda_moved){recorded, size, actual, false}))
        return tsm_fail(TSM_E_MEMORY, "no memory for translated addresses");
    m->moved_ever++;
    return 0;
}

/* ---- pages -------------------------------------------------------------------------------- */

/* The first run that ends after `address`. */
static size_t run_at(const struct cuda_memory *m, uint64_t address)
{
    size_t at;

    TSM_BISECT(at, m->run_count, m->runs[at].end > address);
    return at;
}

static void unmap_run(struct cuda_memory *m, const struct cuda_real *driver, size_t at)
{
    const struct cuda_page_run *run = &m->runs[at];

    driver->cuMemUnmap(run->start, run->end - run->start);
    driver->cuMemRelease(run->handle);
    TSM_ARRAY_REMOVE(m->runs, m->run_count, at);
}

/* Unmaps memory that nobody uses; only when memory ran out. */
static size_t unmap_idle(struct cuda_replay *replay)
{
    struct cuda_memory *m = &replay->memory;
    size_t freed = 0;

    cuda_context_wait(replay);
    for (size_t i = m->run_count; i-- > 0;) {
        if (!m->runs[i].use_count) {
            unmap_run(m, &replay->library.calls, i);
            freed++;
        }
    }
    return freed;
}

static CUresult create_physical(struct cuda_replay *replay, CUdevice device, uint64_t size,
                                CUmemGenericAllocationHandle *out)
{
    const struct cuda_real *driver = &replay->library.calls;
    CUmemAllocationProp properties = {
        .type = CU_MEM_ALLOCATION_TYPE_PINNED,
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device},
    };
    CUresult result = driver->cuMemCreate(out, size, &properties, 0);

    if (result == CUDA_ERROR_OUT_OF_MEMORY && unmap_idle(replay))
        result = driver->cuMemCreate(out, size, &properties, 0);
    return result;
}

static CUresult map_run(struct cuda_replay *replay, uint64_t start, uint64_t end,
                        CUmemGenericAllocationHandle *handle)
{
    const struct cuda_real *driver = &replay->library.calls;
    CUmemAccessDesc access = {.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUdevice device = 0;
    CUresult result = driver->cuCtxGetDevice(&device);

    if (result == CUDA_SUCCESS)
        result = create_physical(replay, device, end - start, handle);
    if (result != CUDA_SUCCESS)
        return result;
    access.location = (CUmemLocation){.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device};
    result = driver->cuMemMap(start, end - start, 0, *handle, 0);
    if (result == CUDA_SUCCESS) {
        result = driver->cuMemSetAccess(start, end - start, &access, 1);
        if (result != CUDA_SUCCESS)
            driver->cuMemUnmap(start, end - start);
    }
    if (result != CUDA_SUCCESS)
        driver->cuMemRelease(*handle);
    return result;
}

static int add_run(struct cuda_replay *replay, uint64_t start, uint64_t end)
{
    struct cuda_memory *m = &replay->memory;
    CUmemGenericAllocationHandle handle;
    CUresult result = map_run(replay, start, end, &handle);

    if (result != CUDA_SUCCESS)
        return cuda_fail(&replay->library.calls, "cuMemMap at a recorded address", result);
    size_t at = run_at(m, start);
    return TSM_ARRAY_INSERT(m->runs, m->run_count, m->run_capacity, at,
                            (struct cuda_page_run){start, end, handle, 0})
               ? 0
               : tsm_fail(TSM_E_MEMORY, "no memory for mapped pages");
}

/* Map what is not mapped yet of these pages, and count one more user of all of it. */
static int use_pages(struct cuda_replay *replay, uint64_t address, uint64_t size)
{
    struct cuda_memory *m = &replay->memory;
    uint64_t at = address & ~(CUDA_PAGE - 1);
    uint64_t end = (address + size + CUDA_PAGE - 1) & ~(CUDA_PAGE - 1);
    int error = 0;

    while (at < end && !error) {
        size_t i = run_at(m, at);
        if (i < m->run_count && m->runs[i].start <= at) {
            at = m->runs[i].end;
            continue;
        }
        uint64_t until = i < m->run_count && m->runs[i].start < end ? m->runs[i].start : end;
        error = add_run(replay, at, until);
    }
    for (size_t i = run_at(m, address); !error && i < m->run_count && m->runs[i].start < end; i++)
        m->runs[i].use_count++;
    return error;
}

static void leave_pages(struct cuda_memory *m, uint64_t address, uint64_t size)
{
    for (size_t i = run_at(m, address); i < m->run_count && m->runs[i].start < address + size; i++)
        m->runs[i].use_count--;
}

/* ---- device memory ------------------------------------------------------------------------ */

static int fill(struct cuda_replay *replay, uint64_t actual, uint64_t size)
{
    const struct cuda_real *driver = &replay->library.calls;
    CUcontext context = NULL;
    CUstream stream;
    int error;

    driver->cuCtxGetCurrent(&context);
    error = cuda_context_own_stream(replay, context, &stream);
    if (error)
        return error;
    CUresult result = driver->cuMemsetD8Async(actual, replay->options->fresh_memory, size, stream);
    if (result == CUDA_SUCCESS)
        result = driver->cuStreamSynchronize(stream);
    return result == CUDA_SUCCESS ? 0 : cuda_fail(driver, "filling fresh memory", result);
}

/* Tests whether the driver can have memory at that address, to the byte. */
static bool is_exact(const struct cuda_memory *m, uint64_t address)
{
    return m->place && m->place->is_kept(address);
}

/* Allocates where the driver likes, which may be the recorded address. */
static int allocate_anywhere(struct cuda_replay *replay, uint64_t address, uint64_t size,
                             uint64_t *actual)
{
    const struct cuda_real *driver = &replay->library.calls;
    CUdeviceptr got = 0;
    CUresult result;

    if (is_exact(&replay->memory, address))
        replay->memory.place->wish(address);
    result = driver->cuMemAlloc_v2(&got, size);

    if (result != CUDA_SUCCESS)
        return cuda_fail(driver, "cuMemAlloc_v2", result);
    *actual = got;
    return cuda_memory_moved(&replay->memory, address, size, got);
}

int cuda_memory_allocate(struct cuda_replay *replay, uint64_t address, uint64_t size, uint64_t seq)
{
    struct cuda_memory *m = &replay->memory;
    const struct tsm_address_range *range = tsm_address_space_find(&m->device, address, size);
    struct tsm_region region = {address, address, size, seq, false};
    const bool has_pages = range && range->is_reserved && !is_exact(m, address);
    enum cuda_how how = has_pages ? CUDA_HOW_PLACED : CUDA_HOW_ALLOCATED;
    CUcontext context = NULL;
    int error;

    replay->library.calls.cuCtxGetCurrent(&context);
    if (how == CUDA_HOW_PLACED)
        forget_moved_in(m, address, size, address);
    if (how == CUDA_HOW_PLACED)
        error = use_pages(replay, address, size);
    else
        error = allocate_anywhere(replay, address, size, &region.actual);
    if (!error)
        error = fill(replay, region.actual, size);
    return error ? error : add_region(m, &region, how, context);
}

int cuda_memory_adopt(struct cuda_replay *replay, uint64_t address, uint64_t size, uint64_t actual,
                      uint64_t seq)
{
    struct cuda_memory *m = &replay->memory;
    const struct tsm_region region = {address, actual, size, seq, false};
    CUcontext context = NULL;
    int error = cuda_memory_moved(m, address, size, actual);

    replay->library.calls.cuCtxGetCurrent(&context);
    return error ? error : add_region(m, &region, CUDA_HOW_ALLOCATED, context);
}

/* ---- host memory -------------------------------------------------------------------------- */

int cuda_memory_register(struct cuda_replay *replay, uint64_t address, uint64_t size,
                         unsigned flags, uint64_t seq)
{
    struct cuda_memory *m = &replay->memory;
    const struct tsm_address_range *range = tsm_address_space_find(&m->host, address, size);
    struct tsm_region region = {address, address, size, seq, true};
    const struct cuda_real *driver = &replay->library.calls;
    void *actual = (void *)(uintptr_t)address;
    CUcontext context = NULL;
    CUresult result;

    driver->cuCtxGetCurrent(&context);
    if (range && range->is_kept) {
        uint64_t start = address & ~(uint64_t)(HOST_PAGE - 1);
        if (mprotect((void *)(uintptr_t)start, address + size - start, PROT_READ | PROT_WRITE))
            return tsm_fail(TSM_E_MEMORY, "no host memory at 0x%llx", (unsigned long long)address);
        memset(actual, 0, size);
        result = driver->cuMemHostRegister_v2(actual, size, flags);
    } else {
        result = driver->cuMemHostAlloc(&actual, size,
                                        CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
        region.actual = (uintptr_t)actual;
    }
    if (result != CUDA_SUCCESS)
        return cuda_fail(driver, "host memory for the device", result);
    int error = cuda_memory_moved(m, address, size, region.actual);
    return error ? error
                 : add_region(m, &region,
                              range && range->is_kept ? CUDA_HOW_REGISTERED : CUDA_HOW_ALLOCATED,
                              context);
}

/* ---- release ------------------------------------------------------------------------------ */

/* Pages stay mapped, but their next owner fills them: nothing that still runs may see that. Freeing
 * waits for the GPU in the real driver as well. */
static CUresult release_region(struct cuda_replay *replay, size_t at)
{
    struct cuda_memory *m = &replay->memory;
    const struct cuda_real *driver = &replay->library.calls;
    const struct tsm_region *region = &m->regions[at];
    CUresult result;

    switch (m->how[at]) {
    case CUDA_HOW_PLACED:
        result = cuda_context_wait(replay);
        leave_pages(m, region->address, region->size);
        return result;
    case CUDA_HOW_REGISTERED:
        return driver->cuMemHostUnregister((void *)(uintptr_t)region->actual);
    case CUDA_HOW_VARIABLE:
        free_moved(m, region->address);
        return CUDA_SUCCESS;
    case CUDA_HOW_ALLOCATED:
        break;
    }
    free_moved(m, region->address);
    return region->is_host ? driver->cuMemFreeHost((void *)(uintptr_t)region->actual)
                           : driver->cuMemFree_v2(region->actual);
}

/* The address says whose memory it is: the program may have another current context, or none. */
static CUresult release_in_context(struct cuda_replay *replay, size_t at)
{
    const struct cuda_real *driver = &replay->library.calls;
    CUcontext current = NULL, own = replay->memory.contexts[at];
    CUresult result;

    driver->cuCtxGetCurrent(&current);
    if (!own || own == current)
        return release_region(replay, at);
    result = driver->cuCtxSetCurrent(own);
    if (result == CUDA_SUCCESS)
        result = release_region(replay, at);
    driver->cuCtxSetCurrent(current);
    return result;
}

int cuda_memory_release(struct cuda_replay *replay, uint64_t address)
{
    struct cuda_memory *m = &replay->memory;
    size_t at = tsm_region_after(m->regions, m->region_count, address);
    CUresult result;

    if (!at || m->regions[at - 1].address != address)
        return 0;
    result = release_in_context(replay, at - 1);
    remove_region(m, at - 1);
    return result == CUDA_SUCCESS ? 0 : cuda_fail(&replay->library.calls, "freeing memory", result);
}

void cuda_memory_forget(struct cuda_replay *replay, CUcontext context)
{
    struct cuda_memory *m = &replay->memory;

    for (size_t i = m->region_count; i-- > 0;) {
        if (m->contexts[i] != context)
            continue;
        if (m->how[i] == CUDA_HOW_PLACED)
            leave_pages(m, m->regions[i].address, m->regions[i].size);
        free_moved(m, m->regions[i].address);
        remove_region(m, i);
    }
}

/* ---- managed variables --------------------------------------------------------------------- */

static bool is_managed(const struct cuda_real *driver, CUdeviceptr actual)
{
    unsigned value = 0; /* the driver writes one byte, or four */

    return driver->cuPointerGetAttribute(&value, CU_POINTER_ATTRIBUTE_IS_MANAGED, actual) ==
               CUDA_SUCCESS &&
           value;
}

int cuda_memory_variable(struct cuda_replay *replay, uint64_t recorded, uint64_t actual,
                         uint64_t size, uint64_t seq)
{
    struct cuda_memory *m = &replay->memory;
    const struct tsm_region region = {recorded, actual, size, seq, true};
    const struct tsm_region *known = cuda_memory_find(m, recorded);
    const struct cuda_moved variable = {recorded, size, actual, false};
    CUcontext context = NULL;

    if (!is_managed(&replay->library.calls, actual) || (known && known->actual == actual))
        return 0;
    if (!TSM_ARRAY_PUSH(m->managed, m->managed_count, m->managed_capacity, variable))
        return tsm_fail(TSM_E_MEMORY, "no memory for managed variables");
    replay->library.calls.cuCtxGetCurrent(&context);
    return add_region(m, &region, CUDA_HOW_VARIABLE, context);
}

void cuda_memory_sweep(struct cuda_replay *replay)
{
    struct cuda_memory *m = &replay->memory;

    for (size_t i = m->managed_count; i-- > 0;) {
        if (is_managed(&replay->library.calls, m->managed[i].actual))
            continue;
        cuda_memory_release(replay, m->managed[i].recorded);
        TSM_ARRAY_REMOVE(m->managed, m->managed_count, i);
    }
}

/* Frees memory that the trace did not free itself. Errors no longer matter. */
static void release_all(struct cuda_replay *replay)
{
    struct cuda_memory *m = &replay->memory;

    while (m->region_count) {
        size_t at = m->region_count - 1;
        if (replay->library.calls.cuCtxSetCurrent(m->contexts[at]) == CUDA_SUCCESS)
            release_region(replay, at);
        remove_region(m, at);
    }
}

void cuda_memory_finish(struct cuda_replay *replay)
{
    struct cuda_memory *m = &replay->memory;
    const struct cuda_real *driver = &replay->library.calls;

    if (replay->library.handle) {
        release_all(replay);
        while (m->run_count)
            unmap_run(m, driver, m->run_count - 1);
        tsm_address_space_release(&m->device,
                                  &(struct tsm_address_driver){replay, reserve, give_back});
        tsm_address_space_release(&m->host, NULL);
    }
    tsm_address_space_finish(&m->device);
    tsm_address_space_finish(&m->host);
    free(m->runs);
    free(m->regions);
    free(m->how);
    free(m->contexts);
    free(m->moved);
    free(m->variables);
    free(m->managed);
    tsm_map_finish(&m->modules);
    tsm_map_finish(&m->libraries);
    memset(m, 0, sizeof(*m));
}

void *cuda_registered(const struct cuda_replay *replay, uint64_t address, uint64_t size)
{
    const struct tsm_region *region = cuda_memory_find(&replay->memory, address);

    if (!region || !region->is_host ||
        !tsm_range_holds(region->address, region->size, address, size))
        return NULL;
    return (void *)(uintptr_t)(region->actual + (address - region->address));
}
