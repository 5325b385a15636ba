/* SPDX-License-Identifier: Apache-2.0
 *
 * Modules and libraries: their bytes, and what is known of the functions in them.
 */
#include "api/cuda/source/module.h"

#include "api/cuda/cuda_hooks.h"
#include "api/cuda/cuda_wrappers.h"
#include "api/cuda/source/encode.h"
#include "capture/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- layouts ------------------------------------------------------------------------------------
 */

struct cuda_layout *cuda_layout_make(uint32_t count)
{
    struct cuda_layout *layout = cuda_keep(sizeof(*layout) + count * sizeof(layout->params[0]));

    if (layout)
        layout->count = count;
    return layout;
}

void cuda_layout_set(struct cuda_layout *layout, uint32_t index, uint16_t offset, uint16_t size)
{
    layout->params[index] = (struct cuda_param){offset, size, CUDA_PARAM_BITS};
    if ((uint32_t)offset + size > layout->size)
        layout->size = (uint32_t)offset + size;
}

struct cuda_function *cuda_function_of(struct tsm_handle *handle)
{
    struct cuda_function *function = __atomic_load_n(&handle->user, __ATOMIC_ACQUIRE);

    if (!function) {
        function = cuda_keep(sizeof(*function));
        __atomic_store_n(&handle->user, function, __ATOMIC_RELEASE);
    }
    return function;
}

/* ---- images -------------------------------------------------------------------------------------
 */

/* The functions of one image, kept by its module for drivers that cannot be asked. */
struct known_function {
    struct known_function *next;
    uint32_t name; /* interned */
    struct cuda_layout *layout;
};

static void keep_function(void *context, const struct cuda_signature *signature)
{
    struct known_function **list = context, *known = cuda_keep(sizeof(*known));
    struct cuda_layout *layout = cuda_layout_make(signature->count);

    if (!known || !layout)
        return;
    for (uint32_t i = 0; i < signature->count; i++)
        cuda_layout_set(layout, i, signature->params[i].offset, signature->params[i].size);
    known->name = tsm_intern(signature->name, signature->name_size);
    known->layout = layout;
    known->next = *list;
    *list = known;
}

static void keep_functions(uint32_t object, uint64_t raw, const void *data, uint64_t size)
{
    struct tsm_handle *handle = tsm_handle_find(SBT_API_CUDA, object, raw);
    struct known_function *list = NULL;

    cuda_checkpoint_image(object, raw, data, size);
    if (!handle || cuda_driver_has("cuFuncGetParamInfo"))
        return;
    cuda_image_functions(data, size, keep_function, &list);
    handle->user = list;
}

/* The driver need not have read all that the image says of itself: an entry that it does not want
 * may be longer than the program's memory is. What cannot be read is not recorded. */
static bool measure(const void *image, struct cuda_image *out)
{
    return cuda_image_measure(image, out) &&
           tsm_memory_is_readable((uintptr_t)out->data, out->size);
}

uint64_t cuda_image_size(const void *image)
{
    struct cuda_image measured;

    return measure(image, &measured) ? measured.size : 0;
}

const void *cuda_image_data(const void *image)
{
    struct cuda_image measured;

    return measure(image, &measured) ? measured.data : NULL;
}

/* ---- after loads --------------------------------------------------------------------------------
 */

void cuda_after_load(struct tsm_call *call, bool ok, const CUmodule *module, const void *image)
{
    struct cuda_image measured;

    if (!ok)
        return;
    if (measure(image, &measured))
        keep_functions(CUDA_OBJECT_MODULE, CUDA_SLOT(*module), measured.data, measured.size);
    else
        tsm_call_flag(call, SBT_RECORD_TRUNCATED | SBT_RECORD_TAINTS);
}

void cuda_after_library(struct tsm_call *call, bool ok, const CUlibrary *library, const void *image)
{
    struct cuda_image measured;

    if (!ok)
        return;
    if (measure(image, &measured))
        keep_functions(CUDA_OBJECT_LIBRARY, CUDA_SLOT(*library), measured.data, measured.size);
    else
        tsm_call_flag(call, SBT_RECORD_TRUNCATED | SBT_RECORD_TAINTS);
}

static void *map_file(const char *path, size_t *size)
{
    struct stat status;
    void *data = MAP_FAILED;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return NULL;
    if (fstat(fd, &status) == 0 && status.st_size > 0)
        data = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (data == MAP_FAILED)
        return NULL;
    *size = (size_t)status.st_size;
    return data;
}

static void after_file(struct tsm_call *call, bool ok, const char *path, uint32_t object,
                       uint64_t raw)
{
    int saved_errno = errno;
    size_t size = 0;
    void *data = ok ? map_file(path, &size) : NULL;

    tsm_call_blob(call, data, size);
    if (data) {
        keep_functions(object, raw, data, size);
        munmap(data, size);
    } else if (ok) {
        tsm_call_flag(call, SBT_RECORD_TRUNCATED | SBT_RECORD_TAINTS);
    }
    errno = saved_errno;
}

void cuda_after_file(struct tsm_call *call, bool ok, const CUmodule *module, const char *path)
{
    after_file(call, ok, path, CUDA_OBJECT_MODULE, ok ? CUDA_SLOT(*module) : 0);
}

void cuda_after_library_file(struct tsm_call *call, bool ok, const CUlibrary *library,
                             const char *path)
{
    after_file(call, ok, path, CUDA_OBJECT_LIBRARY, ok ? CUDA_SLOT(*library) : 0);
}

/* ---- after functions were asked for
 * --------------------------------------------------------------- */

static struct cuda_layout *known_layout(uint32_t object, uint64_t raw, uint32_t name)
{
    const struct tsm_handle *handle = tsm_handle_find(SBT_API_CUDA, object, raw);
    const struct known_function *known = handle ? handle->user : NULL;

    while (known && known->name != name)
        known = known->next;
    return known ? known->layout : NULL;
}

/* The driver may give a function of another module the same value: what was known is forgotten. */
static void function_made(CUfunction value, bool is_kernel, struct cuda_layout *layout)
{
    struct tsm_handle *handle =
        tsm_handle_find(SBT_API_CUDA, CUDA_OBJECT_FUNCTION, CUDA_SLOT(value));
    struct cuda_function *function = cuda_keep(sizeof(*function));

    if (!handle || !function)
        return;
    function->is_kernel = is_kernel;
    function->layout = layout;
    __atomic_store_n(&handle->user, function, __ATOMIC_RELEASE);
}

static uint32_t name_id(const char *name)
{
    return tsm_intern(name, strlen(name));
}

void cuda_after_function(struct tsm_call *call, bool ok, const CUfunction *function,
                         CUmodule module, const char *name)
{
    if (ok)
        function_made(*function, false,
                      known_layout(CUDA_OBJECT_MODULE, CUDA_SLOT(module), name_id(name)));
}

void cuda_after_kernel(struct tsm_call *call, bool ok, const CUkernel *kernel, CUlibrary library,
                       const char *name)
{
    if (ok)
        function_made((CUfunction)*kernel, true,
                      known_layout(CUDA_OBJECT_LIBRARY, CUDA_SLOT(library), name_id(name)));
}

/* A kernel's function in the current context has the kernel's name and parameters. */
void cuda_after_kernel_function(struct tsm_call *call, bool ok, const CUfunction *function,
                                CUkernel kernel)
{
    struct tsm_handle *from =
        tsm_handle_find(SBT_API_CUDA, CUDA_OBJECT_FUNCTION, CUDA_SLOT(kernel));
    struct tsm_handle *to;

    if (!ok)
        return;
    function_made(*function, false, from && from->user ? cuda_function_of(from)->layout : NULL);
    to = tsm_handle_find(SBT_API_CUDA, CUDA_OBJECT_FUNCTION, CUDA_SLOT(*function));
    if (from && to && !to->name)
        to->name = from->name;
}

/* A library's module knows what the library knows. */
void cuda_after_library_module(struct tsm_call *call, bool ok, const CUmodule *module,
                               CUlibrary library)
{
    const struct tsm_handle *from =
        tsm_handle_find(SBT_API_CUDA, CUDA_OBJECT_LIBRARY, CUDA_SLOT(library));
    struct tsm_handle *to;

    to = ok ? tsm_handle_find(SBT_API_CUDA, CUDA_OBJECT_MODULE, CUDA_SLOT(*module)) : NULL;
    if (from && to)
        to->user = from->user;
}
