/* SPDX-License-Identifier: Apache-2.0 */
#include "emu/cuda/module/module.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "emu/cuda/core/emu.h"
#include "emu/cuda/module/cache.h"
#include "emu/cuda/core/context.h"
#include "emu/cuda/core/device.h"
#include "emu/cuda/module/fatbin.h"
#include "emu/cuda/memory/memory.h"
#include "emu/cuda/core/object.h"
#include "emu/cuda/stream/stream.h"
#include "emu/cuda/check/watch.h"
#include "emu/cuda/texture/texture.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static CUmodule modules;

CUresult emu_ptx_result(int status)
{
    switch (status) {
    case PTX_OK:
        return CUDA_SUCCESS;
    case PTX_NO_MEMORY:
        return CUDA_ERROR_OUT_OF_MEMORY;
    case PTX_VERSION:
        return CUDA_ERROR_NO_BINARY_FOR_GPU;
    }
    return CUDA_ERROR_INVALID_PTX;
}

/* ---- the program's log buffers ---- */

CUresult emu_jit_init(struct emu_jit *jit, unsigned count, CUjit_option *options, void **values)
{
    memset(jit, 0, sizeof(*jit));
    if (count && (!options || !values))
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < count; i++) {
        switch ((int)options[i]) {
        case CU_JIT_INFO_LOG_BUFFER:
            jit->info.text = values[i];
            break;
        case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES:
            jit->info.size = (unsigned)(uintptr_t)values[i];
            jit->info_size_out = &values[i];
            break;
        case CU_JIT_ERROR_LOG_BUFFER:
            jit->error.text = values[i];
            break;
        case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES:
            jit->error.size = (unsigned)(uintptr_t)values[i];
            jit->error_size_out = &values[i];
            break;
        case CU_JIT_WALL_TIME:
            jit->wall_time_out = &values[i];
            break;
        }
    }
    if (!jit->info.text)
        jit->info.size = 0;
    if (!jit->error.text || !jit->error.size)
        jit->error = (struct ptx_log){.text = jit->own, .size = sizeof(jit->own)};
    if (jit->info.size)
        jit->info.text[0] = 0;
    if (jit->error.size)
        jit->error.text[0] = 0;
    return CUDA_SUCCESS;
}

void emu_jit_finish(struct emu_jit *jit)
{
    if (jit->info_size_out)
        *jit->info_size_out = (void *)(uintptr_t)jit->info.used;
    if (jit->error_size_out)
        *jit->error_size_out = (void *)(uintptr_t)jit->error.used;
    if (jit->wall_time_out) {
        float ms = (float)jit->wall_ns / 1e6f;
        memcpy(jit->wall_time_out, &ms, sizeof(ms));
    }
    if (jit->error.used)
        tsm_log(TSM_LOG_INFO, "%.*s", (int)strcspn(jit->error.text, "\n"), jit->error.text);
}

/* ---- life ---- */

struct placement {
    CUcontext context;
    const struct ptx_module *ptx;
    uint64_t address;
};

static _Thread_local struct emu_module_wish wish;

void emu_module_wish(const char *variable, uint64_t address)
{
    wish = (struct emu_module_wish){variable, address};
}

struct emu_module_wish emu_module_take_wish(void)
{
    const struct emu_module_wish taken = wish;

    wish.variable = NULL;
    return taken;
}

/* Has the image be where the wished variable comes to its place: so far it has the distance from
 * the image's begin. */
static void wish_image(const struct ptx_module *ptx)
{
    const struct emu_module_wish wished = emu_module_take_wish();

    for (size_t i = 0; wished.variable && i < ptx_module_variable_count(ptx); i++) {
        const struct ptx_variable *v = ptx_module_variable(ptx, i);

        if (!strcmp(v->name, wished.variable) && v->address <= wished.address)
            emu_memory_wish(wished.address - v->address);
    }
}

static void *allocate_variables(void *user, size_t size)
{
    struct placement *p = user;
    struct emu_memory what = {.kind = EMU_MEMORY_MODULE,
                              .context = p->context,
                              .device = p->context->device,
                              .managed_size = ptx_module_managed_size(p->ptx),
                              .is_readable = true,
                              .is_writable = true};

    wish_image(p->ptx);
    if (emu_memory_allocate(&p->address,
                            emu_settings.has_places ? EMU_WINDOW_MODULE : EMU_WINDOW_RESERVED,
                            size ? size : 1, &what))
        return NULL;
    /* Variables without an initialiser are zero by the language, whatever fresh memory holds. */
    return memset((void *)(uintptr_t)p->address, 0, size);
}

static CUresult collect_functions(CUmodule module)
{
    size_t count = ptx_module_function_count(module->ptx);

    module->functions = calloc(count ? count : 1, sizeof(*module->functions));
    if (!module->functions)
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; i < count; i++) {
        const struct ptx_function *ptx = ptx_module_function(module->ptx, i);
        if (!ptx->is_entry)
            continue;
        struct CUfunc_st *f = &module->functions[module->function_count++];
        f->module = module;
        f->ptx = ptx;
        f->dynamic_shared_max = EMU_SHARED_DEFAULT - (int)ptx->shared_size;
        f->carveout = -1;
        if (!emu_object_add(EMU_FUNCTION, f))
            return CUDA_ERROR_OUT_OF_MEMORY;
    }
    return CUDA_SUCCESS;
}

/* Returns the slot of the function of this name, or the free slot where it would go. */
static CUfunction *find_name(const struct CUmod_st *module, const char *name)
{
    size_t at = tsm_hash64(name, strlen(name)) & (module->name_count - 1);

    while (module->names[at] && strcmp(module->names[at]->ptx->name, name) != 0)
        at = (at + 1) & (module->name_count - 1);
    return &module->names[at];
}

static CUresult index_names(CUmodule module)
{
    module->name_count = 4;
    while (module->name_count < 2 * module->function_count)
        module->name_count *= 2;
    module->names = calloc(module->name_count, sizeof(CUfunction));
    if (!module->names)
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (size_t i = module->function_count; i-- > 0;)
        *find_name(module, module->functions[i].ptx->name) = &module->functions[i];
    return CUDA_SUCCESS;
}

static CUresult module_init(CUmodule module, const char *ptx, size_t size, struct ptx_log *log)
{
    struct placement placement = {.context = module->context};
    CUresult result = emu_ptx_result(
        emu_cache_load(&module->ptx, &module->key, ptx, size, emu_settings.capability, log));

    if (!result) {
        placement.ptx = module->ptx;
        emu_writing_begin();
        result = emu_ptx_result(ptx_module_place(module->ptx, allocate_variables, &placement));
        emu_writing_end();
        module->variables = placement.address;
    }
    if (!result)
        result = collect_functions(module);
    if (!result)
        result = index_names(module);
    if (!result && !emu_object_add(EMU_MODULE, module))
        result = CUDA_ERROR_OUT_OF_MEMORY;
    return result;
}

CUresult emu_module_create(CUmodule *out, CUcontext context, CUlibrary library, const char *ptx,
                           size_t size, struct ptx_log *log)
{
    CUmodule module = calloc(1, sizeof(*module));
    CUresult result;

    if (!module)
        return CUDA_ERROR_OUT_OF_MEMORY;
    module->context = context;
    module->library = library;
    result = module_init(module, ptx, size, log);
    if (result) {
        emu_module_destroy(module);
        return result;
    }
    pthread_mutex_lock(&lock);
    module->next = modules;
    modules = module;
    pthread_mutex_unlock(&lock);
    *out = module;
    return CUDA_SUCCESS;
}

void emu_module_destroy(CUmodule module)
{
    CUmodule *at = &modules;

    if (!module)
        return;
    pthread_mutex_lock(&lock);
    while (*at && *at != module)
        at = &(*at)->next;
    if (*at)
        *at = module->next;
    pthread_mutex_unlock(&lock);
    emu_object_remove(module);
    emu_references_destroy(module);
    for (size_t i = 0; i < module->function_count; i++) {
        emu_object_remove(&module->functions[i]);
        free(module->functions[i].old);
    }
    free(module->functions);
    free(module->names);
    if (module->variables)
        emu_memory_remove(module->variables, 1u << EMU_MEMORY_MODULE);
    if (module->ptx) {
        emu_watch_forget(module->ptx);
        ptx_module_destroy(module->ptx);
    }
    free(module);
}

static CUmodule next_of_context(CUcontext context)
{
    CUmodule m;

    pthread_mutex_lock(&lock);
    for (m = modules; m && m->context != context; m = m->next)
        ;
    pthread_mutex_unlock(&lock);
    return m;
}

void emu_context_destroy_modules(CUcontext context)
{
    for (CUmodule m; (m = next_of_context(context));)
        emu_module_destroy(m);
}

CUresult emu_module_prepare(const struct CUfunc_st *f)
{
    char text[256] = "";
    struct ptx_log log = {.text = text, .size = sizeof(text)};
    int status = ptx_module_prepare(f->module->ptx, f->ptx, &log);

    if (status == PTX_OK)
        return CUDA_SUCCESS;
    tsm_log(TSM_LOG_WARN, "%s: what the cache has of its module is wrong, and is dropped: %.*s",
            f->ptx->name, (int)strcspn(text, "\n"), text);
    emu_cache_forget(&f->module->key);
    return emu_ptx_result(status);
}

CUfunction emu_module_find(CUmodule module, const char *name)
{
    return *find_name(module, name);
}

CUresult emu_module_variable(CUmodule module, const char *name, bool only_managed,
                             CUdeviceptr *address, size_t *size)
{
    size_t count = ptx_module_variable_count(module->ptx);

    for (size_t i = 0; i < count; i++) {
        const struct ptx_variable *v = ptx_module_variable(module->ptx, i);
        if (v->is_external || v->kind != PTX_VARIABLE_DATA || (only_managed && !v->is_managed) ||
            strcmp(v->name, name) != 0)
            continue;
        if (address)
            *address = v->address;
        if (size)
            *size = v->size;
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_NOT_FOUND;
}

/* ---- loading ---- */

CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned int numOptions,
                            CUjit_option *options, void **optionValues)
{
    CUcontext context;
    CUresult result = emu_enter(&context);
    struct emu_text text = {0};
    struct emu_jit jit;

    if (!result && (!module || !image))
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result)
        result = emu_jit_init(&jit, numOptions, options, optionValues);
    if (result)
        return result;
    uint64_t start = tsm_monotonic_ns();
    result = emu_image_text(&text, image, emu_settings.capability, &jit.error);
    if (!result)
        result = emu_module_create(module, context, NULL, text.text, text.size, &jit.error);
    jit.wall_ns = tsm_monotonic_ns() - start;
    emu_text_finish(&text);
    emu_jit_finish(&jit);
    return result;
}

CUresult cuModuleLoadData(CUmodule *module, const void *image)
{
    return cuModuleLoadDataEx(module, image, 0, NULL, NULL);
}

CUresult cuModuleLoadFatBinary(CUmodule *module, const void *fatCubin)
{
    return cuModuleLoadDataEx(module, fatCubin, 0, NULL, NULL);
}

CUresult cuModuleLoad(CUmodule *module, const char *fname)
{
    char *image = NULL;
    size_t size = 0;
    CUresult result = emu_ready();

    if (!result && !fname)
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result)
        result = emu_file_read(&image, &size, fname);
    if (!result && !emu_image_fits(image, size))
        result = CUDA_ERROR_INVALID_IMAGE;
    if (!result)
        result = cuModuleLoadData(module, image);
    free(image);
    return result;
}

static CUresult enter_module(CUmodule module)
{
    CUresult result = emu_ready();

    if (!result && !emu_object_is(EMU_MODULE, module))
        result = CUDA_ERROR_INVALID_HANDLE;
    return result ? result : emu_context_error(module->context);
}

CUresult cuModuleUnload(CUmodule hmod)
{
    CUresult result = enter_module(hmod);

    if (!result && hmod->library)
        result = CUDA_ERROR_NOT_PERMITTED;
    if (!result)
        result = emu_context_synchronize(hmod->context);
    if (!result)
        emu_module_destroy(hmod);
    return result;
}

/* ---- looking inside ---- */

CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode *mode)
{
    CUresult result = emu_ready();

    if (!result && !mode)
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result)
        *mode = CU_MODULE_LAZY_LOADING;
    return result;
}

CUresult cuModuleGetFunction(CUfunction *hfunc, CUmodule hmod, const char *name)
{
    CUresult result = enter_module(hmod);
    CUfunction found;

    if (!result && (!hfunc || !name))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result)
        return result;
    found = emu_module_find(hmod, name);
    if (!found)
        return CUDA_ERROR_NOT_FOUND;
    result = emu_module_prepare(found);
    if (!result)
        *hfunc = found;
    return result;
}

CUresult cuModuleGetFunctionCount(unsigned int *count, CUmodule mod)
{
    CUresult result = enter_module(mod);

    if (!result && !count)
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result)
        *count = (unsigned)mod->function_count;
    return result;
}

CUresult cuModuleEnumerateFunctions(CUfunction *functions, unsigned int numFunctions, CUmodule mod)
{
    CUresult result = enter_module(mod);

    if (!result && (!functions || !numFunctions))
        result = CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; !result && i < numFunctions && i < mod->function_count; i++)
        functions[i] = &mod->functions[i];
    return result;
}

CUresult cuModuleGetGlobal_v2(CUdeviceptr *dptr, size_t *bytes, CUmodule hmod, const char *name)
{
    CUresult result = enter_module(hmod);

    if (!result && (!name || (!dptr && !bytes)))
        result = CUDA_ERROR_INVALID_VALUE;
    return result ? result : emu_module_variable(hmod, name, false, dptr, bytes);
}
