/* SPDX-License-Identifier: Apache-2.0
 *
 * Libraries and their kernels.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "emu/cuda/core/context.h"
#include "emu/cuda/core/device.h"
#include "emu/cuda/core/emu.h"
#include "emu/cuda/core/object.h"
#include "emu/cuda/module/fatbin.h"
#include "emu/cuda/module/function.h"
#include "emu/cuda/stream/stream.h"

struct CUkern_st {
    CUlibrary library;
    const struct ptx_function *ptx; /* of the library's own parse */
    int dynamic_shared_max;         /* 0: not asked for */
    struct emu_cluster_settings cluster;
};

/* The library's modules, one per context that used it. */
struct instance {
    CUmodule module;
    unsigned long long context_id; /* a context's address may be used again, its id is not */
    struct instance *next;
};

struct CUlib_st {
    char *text;
    size_t size;
    struct ptx_module *ptx; /* for names and parameters; never placed */
    struct CUkern_st *kernels;
    size_t kernel_count;
    struct instance *instances;
    struct emu_module_wish wish; /* of the first instance */
};

/* Guards the instances; held while one is made, so that two threads do not make it twice. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- modules of a library ---- */

static struct instance *find_instance(CUlibrary library, CUcontext context)
{
    for (struct instance *i = library->instances; i; i = i->next)
        if (i->context_id == context->id)
            return i;
    return NULL;
}

static CUresult make_instance(struct instance **out, CUlibrary library, CUcontext context)
{
    struct instance *made = calloc(1, sizeof(*made));
    CUresult result;

    if (!made)
        return CUDA_ERROR_OUT_OF_MEMORY;
    emu_module_wish(library->wish.variable, library->wish.address);
    library->wish.variable = NULL;
    result = emu_module_create(&made->module, context, library, library->text, library->size, NULL);
    if (result) {
        free(made);
        return result;
    }
    made->context_id = context->id;
    made->next = library->instances;
    library->instances = made;
    *out = made;
    return CUDA_SUCCESS;
}

CUresult emu_library_module(CUmodule *out, CUlibrary library, CUcontext context)
{
    struct instance *instance;
    CUresult result = CUDA_SUCCESS;

    pthread_mutex_lock(&lock);
    instance = find_instance(library, context);
    if (!instance)
        result = make_instance(&instance, library, context);
    pthread_mutex_unlock(&lock);
    if (!result)
        *out = instance->module;
    return result;
}

CUresult emu_kernel_function(CUfunction *out, CUkernel kernel, CUcontext context)
{
    CUmodule module;
    CUresult result = emu_library_module(&module, kernel->library, context);

    if (result)
        return result;
    *out = emu_module_find(module, kernel->ptx->name);
    if (!*out)
        return CUDA_ERROR_NOT_FOUND;
    if (kernel->dynamic_shared_max > atomic_load(&(*out)->dynamic_shared_max))
        atomic_store(&(*out)->dynamic_shared_max, kernel->dynamic_shared_max);
    emu_cluster_copy(&(*out)->cluster, &kernel->cluster);
    return CUDA_SUCCESS;
}

/* ---- life ---- */

static void library_destroy(CUlibrary library)
{
    for (struct instance *i = library->instances, *next; i; i = next) {
        next = i->next;
        /* Modules of contexts that are gone went with them. */
        if (emu_object_is(EMU_MODULE, i->module) && i->module->library == library) {
            emu_context_synchronize(i->module->context);
            emu_module_destroy(i->module);
        }
        free(i);
    }
    for (size_t i = 0; i < library->kernel_count; i++)
        emu_object_remove(&library->kernels[i]);
    emu_object_remove(library);
    free(library->kernels);
    if (library->ptx)
        ptx_module_destroy(library->ptx);
    free(library->text);
    free(library);
}

static CUresult collect_kernels(CUlibrary library)
{
    size_t count = ptx_module_function_count(library->ptx);

    library->kernels = calloc(count ? count : 1, sizeof(*library->kernels));
    if (!library->kernels)
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; i < count; i++) {
        const struct ptx_function *ptx = ptx_module_function(library->ptx, i);
        if (!ptx->is_entry)
            continue;
        struct CUkern_st *k = &library->kernels[library->kernel_count++];
        *k = (struct CUkern_st){.library = library, .ptx = ptx};
        if (!emu_object_add(EMU_KERNEL, k))
            return CUDA_ERROR_OUT_OF_MEMORY;
    }
    return CUDA_SUCCESS;
}

static CUresult library_init(CUlibrary library, const struct emu_text *text, struct ptx_log *log)
{
    CUresult result;

    library->text = malloc(text->size + 1);
    if (!library->text)
        return CUDA_ERROR_OUT_OF_MEMORY;
    memcpy(library->text, text->text, text->size);
    library->size = text->size;
    result = emu_ptx_result(ptx_module_create(&library->ptx, library->text, library->size,
                                              emu_settings.capability, log));
    if (!result)
        result = collect_kernels(library);
    if (!result && !emu_object_add(EMU_LIBRARY, library))
        result = CUDA_ERROR_OUT_OF_MEMORY;
    return result;
}

static CUresult load(CUlibrary *out, const void *code, struct emu_jit *jit)
{
    struct emu_text text = {0};
    CUlibrary library = calloc(1, sizeof(*library));
    CUresult result;

    if (!library)
        return CUDA_ERROR_OUT_OF_MEMORY;
    library->wish = emu_module_take_wish();
    result = emu_image_text(&text, code, emu_settings.capability, &jit->error);
    if (!result)
        result = library_init(library, &text, &jit->error);
    if (result)
        library_destroy(library);
    else
        *out = library;
    emu_text_finish(&text);
    return result;
}

CUresult cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *jitOptions,
                           void **jitOptionsValues, unsigned int numJitOptions,
                           CUlibraryOption *libraryOptions, void **libraryOptionValues,
                           unsigned int numLibraryOptions)
{
    CUresult result = emu_ready();
    struct emu_jit jit;

    if (!result && (!library || !code || (numLibraryOptions && !libraryOptions)))
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result)
        result = emu_jit_init(&jit, numJitOptions, jitOptions, jitOptionsValues);
    if (result)
        return result;
    result = load(library, code, &jit);
    emu_jit_finish(&jit);
    return result;
}

CUresult cuLibraryLoadFromFile(CUlibrary *library, const char *fileName, CUjit_option *jitOptions,
                               void **jitOptionsValues, unsigned int numJitOptions,
                               CUlibraryOption *libraryOptions, void **libraryOptionValues,
                               unsigned int numLibraryOptions)
{
    char *image = NULL;
    size_t size = 0;
    CUresult result = emu_ready();

    if (!result && !fileName)
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result)
        result = emu_file_read(&image, &size, fileName);
    if (!result && !emu_image_fits(image, size))
        result = CUDA_ERROR_INVALID_IMAGE;
    if (!result)
        result = cuLibraryLoadData(library, image, jitOptions, jitOptionsValues, numJitOptions,
                                   libraryOptions, libraryOptionValues, numLibraryOptions);
    free(image);
    return result;
}

static CUresult enter_library(CUlibrary library)
{
    CUresult result = emu_ready();

    return !result && !emu_object_is(EMU_LIBRARY, library) ? CUDA_ERROR_INVALID_HANDLE : result;
}

static CUresult enter_kernel(CUkernel kernel)
{
    CUresult result = emu_ready();

    return !result && !emu_object_is(EMU_KERNEL, kernel) ? CUDA_ERROR_INVALID_HANDLE : result;
}

CUresult cuLibraryUnload(CUlibrary library)
{
    CUresult result = enter_library(library);

    if (!result)
        library_destroy(library);
    return result;
}

/* ---- looking inside ---- */

CUresult cuLibraryGetKernel(CUkernel *pKernel, CUlibrary library, const char *name)
{
    CUresult result = enter_library(library);

    if (!result && (!pKernel || !name))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result)
        return result;
    for (size_t i = 0; i < library->kernel_count; i++) {
        if (strcmp(library->kernels[i].ptx->name, name) == 0) {
            *pKernel = &library->kernels[i];
            return CUDA_SUCCESS;
        }
    }
    return CUDA_ERROR_NOT_FOUND;
}

CUresult cuLibraryGetKernelCount(unsigned int *count, CUlibrary lib)
{
    CUresult result = enter_library(lib);

    if (!result && !count)
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result)
        *count = (unsigned)lib->kernel_count;
    return result;
}

CUresult cuLibraryEnumerateKernels(CUkernel *kernels, unsigned int numKernels, CUlibrary lib)
{
    CUresult result = enter_library(lib);

    if (!result && (!kernels || !numKernels))
        result = CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; !result && i < numKernels && i < lib->kernel_count; i++)
        kernels[i] = &lib->kernels[i];
    return result;
}

CUresult cuLibraryGetModule(CUmodule *pMod, CUlibrary library)
{
    CUcontext context;
    CUresult result = emu_enter(&context);

    if (!result)
        result = enter_library(library);
    if (!result && !pMod)
        result = CUDA_ERROR_INVALID_VALUE;
    return result ? result : emu_library_module(pMod, library, context);
}

CUresult cuLibraryGetGlobal(CUdeviceptr *dptr, size_t *bytes, CUlibrary library, const char *name)
{
    CUmodule module;
    CUresult result = cuLibraryGetModule(&module, library);

    if (!result && (!name || (!dptr && !bytes)))
        result = CUDA_ERROR_INVALID_VALUE;
    return result ? result : emu_module_variable(module, name, dptr, bytes);
}

static bool is_managed(CUlibrary library, const char *name)
{
    for (size_t i = 0; i < ptx_module_variable_count(library->ptx); i++) {
        const struct ptx_variable *v = ptx_module_variable(library->ptx, i);
        if (v->is_managed && strcmp(v->name, name) == 0)
            return true;
    }
    return false;
}

/* All variables lie where the host reaches them. */
CUresult cuLibraryGetManaged(CUdeviceptr *dptr, size_t *bytes, CUlibrary library, const char *name)
{
    CUresult result = enter_library(library);

    if (!result && !name)
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result && !is_managed(library, name))
        result = CUDA_ERROR_NOT_FOUND;
    return result ? result : cuLibraryGetGlobal(dptr, bytes, library, name);
}

/* ---- kernels ---- */

CUresult cuKernelGetFunction(CUfunction *pFunc, CUkernel kernel)
{
    CUcontext context;
    CUresult result = emu_enter(&context);

    if (!result)
        result = enter_kernel(kernel);
    if (!result && !pFunc)
        result = CUDA_ERROR_INVALID_VALUE;
    return result ? result : emu_kernel_function(pFunc, kernel, context);
}

CUresult cuKernelGetLibrary(CUlibrary *pLib, CUkernel kernel)
{
    CUresult result = enter_kernel(kernel);

    if (!result && !pLib)
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result)
        *pLib = kernel->library;
    return result;
}

CUresult cuKernelGetName(const char **name, CUkernel hfunc)
{
    CUresult result = enter_kernel(hfunc);

    if (!result && !name)
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result)
        *name = hfunc->ptx->name;
    return result;
}

CUresult cuKernelGetParamInfo(CUkernel kernel, size_t paramIndex, size_t *paramOffset,
                              size_t *paramSize)
{
    CUresult result = enter_kernel(kernel);

    if (!result && (!paramOffset || paramIndex >= kernel->ptx->param_count))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result)
        return result;
    *paramOffset = kernel->ptx->params[paramIndex].offset;
    if (paramSize)
        *paramSize = kernel->ptx->params[paramIndex].size;
    return CUDA_SUCCESS;
}

CUresult cuKernelGetAttribute(int *pi, CUfunction_attribute attrib, CUkernel kernel, CUdevice dev)
{
    CUresult result = emu_enter_device(dev);
    struct CUfunc_st f = {0};

    if (!result)
        result = enter_kernel(kernel);
    if (!result && !pi)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result)
        return result;
    f.ptx = kernel->ptx;
    f.dynamic_shared_max = kernel->dynamic_shared_max
                               ? kernel->dynamic_shared_max
                               : EMU_SHARED_DEFAULT - (int)kernel->ptx->shared_size;
    f.carveout = -1;
    emu_cluster_copy(&f.cluster, &kernel->cluster);
    return emu_function_attribute(pi, attrib, &f);
}

CUresult cuKernelSetAttribute(CUfunction_attribute attrib, int val, CUkernel kernel, CUdevice dev)
{
    CUresult result = emu_enter_device(dev);

    if (!result)
        result = enter_kernel(kernel);
    if (!result)
        result = emu_function_check_setting(attrib, val, kernel->ptx);
    if (!result && attrib == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
        kernel->dynamic_shared_max = val;
    else if (!result && emu_cluster_has(attrib))
        emu_cluster_set(&kernel->cluster, attrib, val);
    return result;
}

CUresult cuKernelSetCacheConfig(CUkernel kernel, CUfunc_cache config, CUdevice dev)
{
    CUresult result = emu_enter_device(dev);

    if (!result)
        result = enter_kernel(kernel);
    return !result && (unsigned)config > CU_FUNC_CACHE_PREFER_EQUAL ? CUDA_ERROR_INVALID_VALUE
                                                                    : result;
}
