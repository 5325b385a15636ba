/* SPDX-License-Identifier: Apache-2.0
 *
 * Saves what a checkpoint at this moment would hold: allocations, host memory that the device can
 * read, arrays, variables of modules and libraries.
 */
#include "api/cuda/replay/state.h"

#include <string.h>

#include "api/cuda/array_bytes.h"
#include "api/cuda/image.h"

int cuda_read(struct cuda_replay *replay, uint64_t address, void *out, uint64_t size)
{
    const struct cuda_real *driver = &replay->library.calls;
    const struct cuda_memory *memory = &replay->memory;
    const struct tsm_region *region = cuda_memory_find(memory, address);
    CUcontext context =
        region ? memory->contexts[region - memory->regions] : cuda_context_any(replay);

    if (address & CUDA_ARRAY_PLACES)
        return cuda_array_read(replay, address, out, size);
    if (region && region->is_host) {
        memcpy(out, (const void *)(uintptr_t)(region->actual + (address - region->address)), size);
        return 0;
    }
    CUresult result = driver->cuCtxSetCurrent(context);
    if (result == CUDA_SUCCESS)
        result = driver->cuMemcpyDtoH_v2(out, cuda_memory_translate(memory, address), size);
    return result == CUDA_SUCCESS ? 0 : cuda_fail(driver, "reading device memory", result);
}

struct save {
    struct cuda_replay *replay;
    const struct tsm_saver *saver;
    /* of the code object that is looked at */
    bool is_library;
    uint64_t id;
    void *object;
    int error;
};

static int read_region(const struct tsm_saved *saved, uint64_t offset, void *out, uint64_t size)
{
    const struct save *s = saved->user;
    uint64_t place =
        saved->kind == SBT_MEMORY_ARRAY ? CUDA_ARRAY_PLACE(saved->object) : saved->address;

    return cuda_read(s->replay, place + offset, out, size);
}

static int save_region(struct save *s, const struct tsm_region *region)
{
    struct tsm_saved saved = {.kind = region->is_host ? SBT_MEMORY_HOST : SBT_MEMORY_DEVICE,
                              .address = region->address,
                              .size = region->size,
                              .read = read_region,
                              .user = s};

    if (region->address & CUDA_ARRAY_PLACES) {
        saved.kind = SBT_MEMORY_ARRAY;
        saved.object = CUDA_ARRAY_ID(region->address);
        saved.address = 0;
    }
    return s->saver->memory(s->saver->user, &saved);
}

/* The program's own memory that graphs and late commands read. */
static int read_program(const struct tsm_saved *saved, uint64_t offset, void *out, uint64_t size)
{
    memcpy(out, (const uint8_t *)saved->user + offset, size);
    return 0;
}

static int save_program(void *user, uint64_t address, const uint8_t *bytes, uint64_t size)
{
    struct save *s = user;
    const struct tsm_saved saved = {.kind = SBT_MEMORY_HOST,
                                    .address = address,
                                    .size = size,
                                    .read = read_program,
                                    .user = (void *)bytes};

    return s->saver->memory(s->saver->user, &saved);
}

/* ---- variables ---------------------------------------------------------------------------- */

static int read_variable(const struct tsm_saved *saved, uint64_t offset, void *out, uint64_t size)
{
    const CUdeviceptr *start = saved->user;
    const struct save *s = saved->user_state;
    const struct cuda_real *driver = &s->replay->library.calls;
    CUresult result = driver->cuMemcpyDtoH_v2(out, *start + offset, size);

    return result == CUDA_SUCCESS ? 0 : cuda_fail(driver, "reading a variable", result);
}

/* The same name may come several times, of a fatbin's members: it is saved as often, and is the
 * same. Variables that the driver does not give out (it may have dropped unused ones) are left out.
 */
static void save_variable(void *context, const char *text, size_t text_size)
{
    struct save *s = context;
    const struct cuda_real *driver = &s->replay->library.calls;
    char name[512];
    CUdeviceptr start = 0;
    size_t size = 0;
    CUresult result;

    if (s->error || text_size >= sizeof(name))
        return;
    memcpy(name, text, text_size);
    name[text_size] = '\0';
    result = s->is_library ? driver->cuLibraryGetGlobal(&start, &size, s->object, name)
                           : driver->cuModuleGetGlobal_v2(&start, &size, s->object, name);
    if (result != CUDA_SUCCESS || !start || !size)
        return;
    const struct tsm_saved saved = {.kind = s->is_library ? SBT_MEMORY_LIBRARY_GLOBAL
                                                          : SBT_MEMORY_GLOBAL,
                                    .object = s->id,
                                    .name = name,
                                    .owner = s->is_library ? "library" : "module",
                                    .owner_id = s->id,
                                    .size = size,
                                    .read = read_variable,
                                    .user = &start,
                                    .user_state = s};
    s->error = s->saver->memory(s->saver->user, &saved);
}

static int save_code(void *user, bool is_library, uint64_t id, const uint8_t *image, uint64_t size)
{
    struct save *s = user;

    s->is_library = is_library;
    s->id = id;
    s->object =
        cuda_object_find(s->replay, is_library ? CUDA_OBJECT_LIBRARY : CUDA_OBJECT_MODULE, id);
    if (s->object)
        cuda_image_variables(image, size, save_variable, s);
    return s->error;
}

int cuda_save(struct cuda_replay *replay, const struct tsm_saver *saver)
{
    struct save s = {.replay = replay, .saver = saver};
    CUcontext context = cuda_context_any(replay);
    const struct tsm_region *regions;
    size_t count;
    int error;

    if (cuda_physical_any(replay))
        return tsm_fail(TSM_E_UNSUPPORTED,
                        "physical memory (cuMemCreate) cannot be saved by replay: "
                        "record with --checkpoint");
    error = cuda_arrays_regions(replay, &regions, &count);
    for (size_t i = 0; i < count && !error; i++)
        error = save_region(&s, &regions[i]);
    if (!error)
        error = cuda_program_each(replay, save_program, &s);
    if (context)
        replay->library.calls.cuCtxSetCurrent(context);
    return error ? error : cuda_code_each(replay, save_code, &s);
}
