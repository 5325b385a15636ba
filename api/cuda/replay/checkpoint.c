/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory gets the content that a checkpoint saved: the replay goes on from there.
 */
#include "api/cuda/replay/state.h"

#include "api/cuda/physical_window.h"

#include <stdlib.h>
#include <string.h>

#include "replay/region.h"

#define PART_SIZE ((uint64_t)4 << 20)

/* A MEMORY record. */
struct saved {
    uint64_t kind, object, name, address, offset, size;
    struct sbt_blob bytes;
};

static int read_saved(struct saved *out, const struct sbt_record *record)
{
    const uint64_t *s = record->slots;

    if (record->slot_count < 8 || !sbt_record_blob(record, 7, &out->bytes) ||
        out->bytes.size != s[6] || s[6] == 0)
        return tsm_fail(TSM_E_FORMAT, "is malformed");
    out->kind = s[1];
    out->object = s[2];
    out->name = s[3];
    out->address = s[4];
    out->offset = s[5];
    out->size = s[6];
    return 0;
}

/* To device memory of the replay; a context is current. */
static int send(struct cuda_replay *replay, const struct saved *saved, CUdeviceptr to)
{
    const struct cuda_real *driver = &replay->library.calls;
    uint64_t part = saved->size < PART_SIZE ? saved->size : PART_SIZE;
    void *bytes = malloc(part);
    int error = bytes ? 0 : tsm_fail(TSM_E_MEMORY, "no memory to load a checkpoint");

    for (uint64_t at = 0; at < saved->size && !error; at += part) {
        uint64_t size = saved->size - at < part ? saved->size - at : part;
        error = sbt_reader_blob(replay->reader, &saved->bytes, at, bytes, size);
        error = error < 0 ? error : 0;
        if (!error)
            cuda_translate_sent(replay, saved->address + saved->offset + at, bytes, size);
        CUresult result = error ? CUDA_SUCCESS : driver->cuMemcpyHtoD_v2(to + at, bytes, size);
        if (result != CUDA_SUCCESS)
            error = cuda_fail(driver, "cuMemcpyHtoD_v2", result);
    }
    free(bytes);
    return error;
}

static int send_through_window(struct cuda_replay *replay, const struct saved *saved,
                               CUmemGenericAllocationHandle handle)
{
    const struct cuda_real *driver = &replay->library.calls;
    uint64_t size = (saved->offset + saved->size + CUDA_PAGE - 1) & ~(CUDA_PAGE - 1);
    struct cuda_window window;
    CUresult result = cuda_window_open(&window, driver, handle, size);

    if (result != CUDA_SUCCESS)
        return cuda_fail(driver, "mapping physical memory to fill it", result);
    int error = send(replay, saved, window.start + saved->offset);
    cuda_window_close(&window, driver);
    return error;
}

static int load_physical(struct cuda_replay *replay, const struct saved *saved)
{
    CUmemGenericAllocationHandle handle;
    int error = cuda_physical_find(replay, saved->address, &handle);

    return error ? error : send_through_window(replay, saved, handle);
}

/* Loads physical memory that the program had mapped, and whose handle it had released. */
static int load_mapping(struct cuda_replay *replay, const struct saved *saved)
{
    const struct cuda_real *driver = &replay->library.calls;
    CUmemGenericAllocationHandle handle;

    if (driver->cuMemRetainAllocationHandle(&handle, (void *)(uintptr_t)saved->address) !=
        CUDA_SUCCESS)
        return tsm_fail(TSM_E_FORMAT, "speaks of memory at 0x%llx, which no record made",
                        (unsigned long long)saved->address);
    int error = send_through_window(replay, saved, handle);
    driver->cuMemRelease(handle);
    return error;
}

static int load_host(struct cuda_replay *replay, const struct saved *saved, void *to)
{
    int error = sbt_reader_blob(replay->reader, &saved->bytes, 0, to, saved->size);

    if (error >= 0)
        cuda_translate_sent(replay, saved->address + saved->offset, to, saved->size);
    return error < 0 ? error : 0;
}

/* Memory that graphs use has no record of its own. Of what was saved together not all may be there:
 * other APIs' memory, or what was released meanwhile. */
static int load_program(struct cuda_replay *replay, const struct saved *saved, uint64_t start)
{
    void *whole = cuda_program_find(replay, start, saved->size);
    int error = whole ? load_host(replay, saved, whole) : 0;

    for (uint64_t at = 0, size; !whole && at < saved->size && !error; at += size) {
        size = 4096 - ((start + at) & 4095);
        size = size < saved->size - at ? size : saved->size - at;
        void *part = cuda_program_find(replay, start + at, size);
        int got = part ? sbt_reader_blob(replay->reader, &saved->bytes, at, part, size) : 0;
        error = got < 0 ? got : 0;
    }
    return error;
}

static int load_allocation(struct cuda_replay *replay, const struct saved *saved)
{
    const struct cuda_memory *memory = &replay->memory;
    const struct tsm_region *region = cuda_memory_find(memory, saved->address);
    uint64_t start = saved->address + saved->offset;

    if (!region && saved->kind == SBT_MEMORY_HOST)
        return load_program(replay, saved, start);
    if (!region && saved->address >> 63)
        return 0; /* of another API */
    if (!region)
        return load_mapping(replay, saved);
    if (!tsm_range_holds(region->address, region->size, start, saved->size))
        return tsm_fail(TSM_E_FORMAT, "speaks of memory at 0x%llx, which no record made",
                        (unsigned long long)start);
    if (region->is_host)
        return load_host(replay, saved,
                         (void *)(uintptr_t)(region->actual + (start - region->address)));
    CUresult result =
        replay->library.calls.cuCtxSetCurrent(memory->contexts[region - memory->regions]);
    if (result != CUDA_SUCCESS)
        return cuda_fail(&replay->library.calls, "cuCtxSetCurrent", result);
    return send(replay, saved, cuda_memory_translate(memory, start));
}

static int load_variable(struct cuda_replay *replay, const struct saved *saved)
{
    const struct cuda_real *driver = &replay->library.calls;
    bool is_module = saved->kind == SBT_MEMORY_GLOBAL;
    void *owner = cuda_object_find(replay, is_module ? CUDA_OBJECT_MODULE : CUDA_OBJECT_LIBRARY,
                                   saved->object);
    const char *name = sbt_reader_string(replay->reader, (uint32_t)saved->name);
    CUdeviceptr start = 0;
    size_t size = 0;

    if (!owner || !name)
        return tsm_fail(TSM_E_FORMAT, "speaks of a variable of nothing that a record made");
    CUresult result = is_module ? driver->cuModuleGetGlobal_v2(&start, &size, owner, name)
                                : driver->cuLibraryGetGlobal(&start, &size, owner, name);
    if (result != CUDA_SUCCESS)
        return cuda_fail(driver, name, result);
    if (saved->offset > size || saved->size > size - saved->offset)
        return tsm_fail(TSM_E_FORMAT, "variable %s has %zu bytes here, %llu were recorded", name,
                        size, (unsigned long long)(saved->offset + saved->size));
    return send(replay, saved, start + saved->offset);
}

static int load_array(struct cuda_replay *replay, const struct saved *saved)
{
    uint64_t part = saved->size < PART_SIZE ? saved->size : PART_SIZE;
    void *bytes = malloc(part);
    int error = bytes ? 0 : tsm_fail(TSM_E_MEMORY, "no memory to load an array");

    cuda_context_wait(replay); /* tiles of sparse arrays are mapped in a stream's order */
    for (uint64_t at = 0; at < saved->size && error >= 0; at += part) {
        uint64_t size = saved->size - at < part ? saved->size - at : part;
        error = sbt_reader_blob(replay->reader, &saved->bytes, at, bytes, size);
        if (error >= 0)
            error = cuda_array_write(replay, saved->object, saved->offset + at, bytes, size);
    }
    free(bytes);
    return error < 0 ? error : 0;
}

int cuda_checkpoint_load(struct cuda_replay *replay, const struct sbt_record *record)
{
    CUcontext context = cuda_context_of(replay, record->thread);
    struct saved saved;
    int error = read_saved(&saved, record);

    if (error)
        return error;
    if (!context)
        context = cuda_context_any(replay);
    if (context)
        replay->library.calls.cuCtxSetCurrent(context);
    switch (saved.kind) {
    case SBT_MEMORY_DEVICE:
    case SBT_MEMORY_HOST:
        return load_allocation(replay, &saved);
    case SBT_MEMORY_GLOBAL:
    case SBT_MEMORY_LIBRARY_GLOBAL:
        return load_variable(replay, &saved);
    case SBT_MEMORY_PHYSICAL:
        return load_physical(replay, &saved);
    case SBT_MEMORY_ARRAY:
        return load_array(replay, &saved);
    default:
        return tsm_fail(TSM_E_UNSUPPORTED, "is of a kind of memory (%llu) that this build lacks",
                        (unsigned long long)saved.kind);
    }
}
