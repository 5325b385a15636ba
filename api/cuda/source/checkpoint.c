/* SPDX-License-Identifier: Apache-2.0
 *
 * Saves the checkpoint of a CUDA program: allocations, variables of modules and libraries, arrays.
 * Its threads are held back while quiet() and save() run, so objects neither come nor go.
 *
 * A stream that is being captured must not even be asked whether it is idle: that would end the
 * capture. cuStreamIsCapturing() may always be asked, and comes first.
 */
#include "api/cuda/source/source.h"

#include "api/cuda/array_bytes.h"
#include "api/cuda/cuda_hooks.h"
#include "api/cuda/cuda_wrappers.h"
#include "api/cuda/image.h"
#include "api/cuda/source/encode.h"
#include "base/thread.h"
#include "capture/lock.h"

#include <stdatomic.h>
#include <string.h>

/* ---- images: what variables there are ----------------------------------------------------------
 */

struct variable {
    struct variable *next;
    uint32_t name; /* interned */
};

/* A module or library that was loaded. The memory is never freed: programs load few. */
struct code {
    struct code *next;
    uint32_t object; /* enum cuda_object */
    uint32_t id;
    uint64_t raw;
    const struct cuda_context *context;
    struct variable *variables;
    bool is_unread; /* nothing was found in its image */
};

static _Atomic(struct code *) codes;

static const char *text_of(char *out, size_t size, const char *name, size_t name_size)
{
    if (name_size >= size)
        return NULL;
    memcpy(out, name, name_size);
    out[name_size] = '\0';
    return out;
}

static void keep_variable(void *context, const char *name, size_t name_size)
{
    struct code *code = context;
    uint32_t id = tsm_intern(name, name_size);
    struct variable *v;

    for (v = code->variables; v; v = v->next)
        if (v->name == id)
            return;
    v = cuda_keep(sizeof(*v) + name_size + 1);
    if (!v)
        return;
    text_of((char *)(v + 1), name_size + 1, name, name_size);
    v->name = id;
    v->next = code->variables;
    code->variables = v;
}

static void pass_over(void *context, const struct cuda_signature *signature) {}

void cuda_checkpoint_image(uint32_t object, uint64_t raw, const void *data, uint64_t size)
{
    const struct tsm_handle *handle = tsm_handle_find(SBT_API_CUDA, object, raw);
    struct code *code;

    if (!handle || !tsm_checkpoint_possible() || !(code = cuda_keep(sizeof(*code))))
        return;
    code->object = object;
    code->id = handle->id;
    code->raw = raw;
    code->context = cuda_context_current();
    cuda_image_variables(data, size, keep_variable, code);
    code->is_unread = !code->variables && !cuda_image_functions(data, size, pass_over, NULL);
    code->next = atomic_load(&codes);
    while (!atomic_compare_exchange_weak(&codes, &code->next, code))
        ;
}

/* ---- idle? -------------------------------------------------------------------------------------
 */

static bool is_not_captured(CUstream stream)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    CUresult result = real.cuStreamIsCapturing(stream, &status);

    /* An older driver cannot capture. */
    return result == CUDA_ERROR_NOT_FOUND ||
           (result == CUDA_SUCCESS && status == CU_STREAM_CAPTURE_STATUS_NONE);
}

static bool not_captured(void *user, const struct tsm_handle *handle)
{
    return is_not_captured((CUstream)(uintptr_t)handle->raw);
}

static bool stream_idle(void *user, const struct tsm_handle *handle)
{
    const uint64_t *until_ns = user;
    CUresult result;

    while ((result = real.cuStreamQuery((CUstream)(uintptr_t)handle->raw)) == CUDA_ERROR_NOT_READY)
        if (!tsm_nap_until(*until_ns))
            return false;
    return result == CUDA_SUCCESS;
}

/* Work in streams that are destroyed: an event after all of it says when it is over. It may wait
 * for what the program does next, so that nothing may wait for it without a limit. */
#define LEFT_BEHIND_MAX 64u

static struct {
    struct tsm_lock lock;
    CUevent events[LEFT_BEHIND_MAX];
    unsigned count;
    bool is_full; /* there is work of which nobody will know */
} left_behind;

static bool is_over(CUevent event)
{
    if (real.cuEventQuery(event) == CUDA_ERROR_NOT_READY)
        return false;
    real.cuEventDestroy_v2(event); /* its context may be gone: then it is over, too */
    return true;
}

/* The lock is held. */
static void forget_over(void)
{
    unsigned kept = 0;

    for (unsigned i = 0; i < left_behind.count; i++)
        if (!is_over(left_behind.events[i]))
            left_behind.events[kept++] = left_behind.events[i];
    left_behind.count = kept;
}

static void leave_behind(CUstream stream)
{
    CUevent event = NULL;
    bool is_known = real.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS &&
                    real.cuEventRecord(event, stream) == CUDA_SUCCESS;

    tsm_lock_take(&left_behind.lock);
    if (left_behind.count == LEFT_BEHIND_MAX)
        forget_over();
    if (is_known && left_behind.count < LEFT_BEHIND_MAX)
        left_behind.events[left_behind.count++] = event;
    else
        left_behind.is_full = true;
    tsm_lock_give(&left_behind.lock);
}

void cuda_checkpoint_stream_leaves(CUstream stream)
{
    CUcontext context = NULL;

    if ((!tsm_checkpoint_possible() && tsm_session_settings()->checksum == TSM_CHECKSUM_OFF) ||
        !is_not_captured(stream) || real.cuStreamQuery(stream) != CUDA_ERROR_NOT_READY ||
        real.cuStreamGetCtx(stream, &context) != CUDA_SUCCESS ||
        real.cuCtxPushCurrent_v2(context) != CUDA_SUCCESS)
        return;
    leave_behind(stream);
    real.cuCtxPopCurrent_v2(&context);
}

static bool is_nothing_left(void)
{
    tsm_lock_take(&left_behind.lock);
    forget_over();
    bool is_nothing = !left_behind.count && !left_behind.is_full;
    tsm_lock_give(&left_behind.lock);
    return is_nothing;
}

/* The wait for everything has no limit: false while it may be one for work in a destroyed stream.
 */
static bool left_behind_is_over(uint64_t until_ns)
{
    while (!is_nothing_left())
        if (!tsm_nap_until(until_ns))
            return false;
    return true;
}

/* An event on the legacy default stream comes after all that was sent to the streams that join it:
 * also to those of threads, which have no handle. */
static bool default_idle(uint64_t until_ns)
{
    CUevent event;
    CUresult result = real.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING);

    if (result != CUDA_SUCCESS)
        return result == CUDA_ERROR_CONTEXT_IS_DESTROYED || result == CUDA_ERROR_INVALID_CONTEXT;
    result = real.cuEventRecord(event, NULL);
    while (result == CUDA_SUCCESS && (result = real.cuEventQuery(event)) == CUDA_ERROR_NOT_READY &&
           tsm_nap_until(until_ns))
        result = CUDA_SUCCESS;
    real.cuEventDestroy_v2(event);
    /* The rest are streams that were destroyed with work in them. */
    return result == CUDA_SUCCESS && left_behind_is_over(until_ns) &&
           real.cuCtxSynchronize() == CUDA_SUCCESS;
}

static bool context_idle(void *user, const struct tsm_handle *handle)
{
    const uint64_t *until_ns = user;
    const struct cuda_context *context = __atomic_load_n(&handle->user, __ATOMIC_ACQUIRE);
    bool idle;

    if (!cuda_context_enter(context))
        return true; /* a primary one that was reset */
    idle = default_idle(*until_ns);
    cuda_context_leave();
    return idle;
}

void cuda_checkpoint_forked(void)
{
    atomic_store(&codes, NULL);
    memset(&left_behind, 0, sizeof(left_behind));
}

bool cuda_checkpoint_quiet(uint64_t until_ns)
{
    cuda_captures_check();
    return !cuda_capture_runs() &&
           tsm_handle_each(SBT_API_CUDA, CUDA_OBJECT_STREAM, not_captured, NULL) &&
           tsm_handle_each(SBT_API_CUDA, CUDA_OBJECT_STREAM, stream_idle, &until_ns) &&
           tsm_handle_each(SBT_API_CUDA, CUDA_OBJECT_CONTEXT, context_idle, &until_ns);
}

/* ---- memory ------------------------------------------------------------------------------------
 */

static bool read_device(const struct tsm_memory *m, uint64_t offset, void *out, size_t size)
{
    CUdeviceptr start = (CUdeviceptr)(uintptr_t)m->user;

    return real.cuMemcpyDtoH_v2(out, start + offset, size) == CUDA_SUCCESS;
}

/* A context that was reset, or another at the same address, does not have it any more. */
static bool is_there(CUdeviceptr start, uint64_t size)
{
    CUdeviceptr base = 0;
    size_t whole = 0;

    return real.cuMemGetAddressRange_v2(&base, &whole, start) == CUDA_SUCCESS && base == start &&
           whole >= size;
}

static bool save_allocation(CUdeviceptr start, uint64_t size, const struct cuda_context *context)
{
    struct tsm_memory m = {.kind = SBT_MEMORY_DEVICE,
                           .address = start,
                           .size = size,
                           .read = read_device,
                           .user = (const void *)(uintptr_t)start};
    bool saved;

    if (cuda_virtual_holds(start))
        return true; /* see cuda_virtual_save() */
    if (!cuda_context_enter(context))
        return true; /* it went with its context */
    saved = !is_there(start, size) || tsm_checkpoint_memory(&m);
    cuda_context_leave();
    return saved;
}

/* Variables that the driver does not give out (it may have dropped unused ones) are left out. */
static bool save_variable(const struct code *code, const struct variable *v)
{
    const char *name = (const char *)(v + 1);
    bool is_module = code->object == CUDA_OBJECT_MODULE;
    struct tsm_memory m = {.kind = is_module ? SBT_MEMORY_GLOBAL : SBT_MEMORY_LIBRARY_GLOBAL,
                           .object = code->id,
                           .name = v->name,
                           .read = read_device};
    CUdeviceptr start = 0;
    size_t size = 0;
    CUresult result =
        is_module ? real.cuModuleGetGlobal_v2(&start, &size, (CUmodule)(uintptr_t)code->raw, name)
                  : real.cuLibraryGetGlobal(&start, &size, (CUlibrary)(uintptr_t)code->raw, name);

    if (result != CUDA_SUCCESS || !start)
        return true;
    m.size = size;
    m.user = (const void *)(uintptr_t)start;
    return tsm_checkpoint_memory(&m);
}

static bool save_code(const struct code *code)
{
    const struct tsm_handle *handle = tsm_handle_find(SBT_API_CUDA, code->object, code->raw);
    bool saved = true;

    if (!handle || handle->id != code->id || !cuda_context_enter(code->context))
        return true; /* unloaded, or gone with its context */
    if (code->is_unread)
        tsm_session_unmodelled(
            "a checkpoint without the variables of an image that could not be read", true);
    for (const struct variable *v = code->variables; v && saved; v = v->next)
        saved = save_variable(code, v);
    cuda_context_leave();
    return saved;
}

/* ---- arrays ------------------------------------------------------------------------------------
 */

struct readable_array {
    CUarray raw;
    struct cuda_array_shape shape;
};

static bool read_array(const struct tsm_memory *m, uint64_t offset, void *out, size_t size)
{
    const struct readable_array *array = m->user;

    return cuda_array_bytes(real.cuMemcpy3D_v2, array->raw, &array->shape, offset, out, size,
                            false) == CUDA_SUCCESS;
}

static bool save_readable(CUarray raw, uint32_t id)
{
    struct readable_array array = {.raw = raw};
    struct tsm_memory m = {
        .kind = SBT_MEMORY_ARRAY, .object = id, .read = read_array, .user = &array};
    CUDA_ARRAY3D_DESCRIPTOR description;

    if (real.cuArray3DGetDescriptor_v2(&description, raw) != CUDA_SUCCESS)
        return false;
    if (cuda_array_has_planes(&description))
        return true; /* those that the program knows are in the list */
    if (!cuda_array_shape(&array.shape, &description)) {
        tsm_session_unmodelled("a checkpoint without an array of an unknown form, or whose memory is mapped later", true);
        return true;
    }
    m.size = cuda_array_size(&array.shape);
    return tsm_checkpoint_memory(&m);
}

static bool save_array(CUarray raw, uint32_t id, const struct cuda_context *context)
{
    bool saved;

    if (!cuda_context_enter(context))
        return true; /* it went with its context */
    saved = save_readable(raw, id);
    cuda_context_leave();
    return saved;
}

bool cuda_checkpoint_save(void)
{
    if (!cuda_allocations_each(save_allocation) || !cuda_virtual_save())
        return false;
    for (const struct code *code = atomic_load(&codes); code; code = code->next)
        if (!save_code(code))
            return false;
    return cuda_arrays_each(save_array);
}
