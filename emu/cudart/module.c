/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of the program that stand for kernels and variables: the addresses that the code which nvcc
 * makes for the host registers before main(), or when a library is loaded.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "emu/cudart/cudart.h"
#include "emu/cudart/image.h"

struct symbol {
    struct image *image;
    struct symbol *next; /* of the image */
    const char *name;    /* in the device code */
    const void *host;    /* by which the program names it */
    void **managed;      /* gets the address of a managed variable; else NULL */
    void *managed_at;    /* ... which names it, too, once it is known */
    bool is_kernel;
    CUkernel kernel; /* once it was asked for */
};

struct image {
    const struct cudart_wrapper *wrapper; /* first: a handle points to it */
    CUlibrary library;                    /* NULL: not loaded */
    CUresult result;                      /* why it could not be */
    struct symbol *symbols;
};

/* Guards all of these; held while an image is loaded, so that two threads do not do it twice. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct tsm_map symbols; /* by address in the program */
static CUresult image_result;  /* of the latest image that could not be loaded */

static uint64_t key_of(const void *pointer)
{
    return (uint64_t)(uintptr_t)pointer;
}

/* ---- images ---- */

static CUresult load(struct image *image)
{
    if (image->library || image->result)
        return image->result;
    image->result = cudart_image_load(&image->library, image->wrapper);
    if (image->result)
        image_result = image->result;
    return image->result;
}

static struct image *image_of(void **handle)
{
    return (struct image *)(void *)handle;
}

cudaError_t cudart_image_error(void)
{
    CUresult result;

    pthread_mutex_lock(&lock);
    result = image_result;
    pthread_mutex_unlock(&lock);
    return (cudaError_t)result;
}

/* ---- finding ---- */

static struct symbol *find(const void *name, bool is_kernel)
{
    struct symbol *s = (struct symbol *)(uintptr_t)tsm_map_get(&symbols, key_of(name), 0);

    return s && s->is_kernel == is_kernel ? s : NULL;
}

static CUresult find_kernel(struct symbol *s)
{
    CUresult result = load(s->image);

    if (!result && !s->kernel)
        result = cuLibraryGetKernel(&s->kernel, s->image->library, s->name);
    return result;
}

/* *out is NULL when no kernel of the program has the name. */
static CUresult look_up_kernel(CUkernel *out, const void *name)
{
    CUresult result = CUDA_SUCCESS;
    struct symbol *s;

    *out = NULL;
    pthread_mutex_lock(&lock);
    s = find(name, true);
    if (s)
        result = find_kernel(s);
    if (s && !result)
        *out = s->kernel;
    pthread_mutex_unlock(&lock);
    return result;
}

/* A kernel or function of the driver may be given itself. */
static bool is_driver_handle(const void *name)
{
    int value;

    return name &&
           !cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, (CUfunction)(uintptr_t)name);
}

cudaError_t cudart_kernel(CUkernel *out, const void *name)
{
    CUkernel kernel;
    CUresult result = look_up_kernel(&kernel, name);

    if (result)
        return cudart_result(
            result == CUDA_ERROR_NOT_FOUND ? (CUresult)cudaErrorInvalidDeviceFunction : result);
    if (!kernel && !is_driver_handle(name))
        return cudart_fail(cudaErrorInvalidDeviceFunction);
    *out = kernel ? kernel : (CUkernel)(uintptr_t)name;
    return cudaSuccess;
}

cudaError_t cudart_function(CUfunction *out, const void *name)
{
    CUkernel kernel = NULL;

    if (cudart_kernel(&kernel, name))
        return cudart_last();
    if (cuKernelGetFunction(out, kernel))
        *out = (CUfunction)(void *)kernel; /* it was one already */
    return cudaSuccess;
}

static bool is_function_of(const struct symbol *s, const char *name, CUfunction function)
{
    CUfunction own;

    return s->is_kernel && s->kernel && strcmp(s->name, name) == 0 &&
           !cuKernelGetFunction(&own, s->kernel) && own == function;
}

/* Searches all symbols: programs ask for this seldom. */
void *cudart_name_of(CUfunction function)
{
    const void *found = function;
    const char *name;

    if (cuFuncGetName(&name, function))
        return function;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < symbols.capacity; i++) {
        const struct symbol *s = (const struct symbol *)(uintptr_t)symbols.slots[i].value;
        if (symbols.slots[i].used && is_function_of(s, name, function))
            found = s->host;
    }
    pthread_mutex_unlock(&lock);
    return (void *)(uintptr_t)found;
}

cudaError_t cudart_variable(CUdeviceptr *address, size_t *size, const void *name)
{
    CUresult result = (CUresult)cudaErrorInvalidSymbol;
    struct symbol *s;

    pthread_mutex_lock(&lock);
    s = find(name, false);
    if (s)
        result = load(s->image);
    if (s && !result)
        result = cuLibraryGetGlobal(address, size, s->image->library, s->name);
    pthread_mutex_unlock(&lock);
    return cudart_result(result == CUDA_ERROR_NOT_FOUND ? (CUresult)cudaErrorInvalidSymbol
                                                        : result);
}

/* ---- registering ---- */

void **__cudaRegisterFatBinary(void *fatCubin)
{
    struct image *image = calloc(1, sizeof(*image));

    if (!image) {
        cudart_warn("no memory to register the program's device code");
        abort();
    }
    image->wrapper = fatCubin;
    return (void **)(void *)image;
}

void __cudaRegisterFatBinaryEnd(void **fatCubinHandle) {}

static void add(struct symbol wanted)
{
    struct symbol *s = malloc(sizeof(*s));
    bool added = false;
    uint64_t *place;

    pthread_mutex_lock(&lock);
    place = s ? tsm_map_insert(&symbols, key_of(wanted.host), &added) : NULL;
    if (place && added) {
        *s = wanted;
        s->next = s->image->symbols;
        s->image->symbols = s;
        *place = key_of(s);
    }
    pthread_mutex_unlock(&lock);
    if (!place)
        cudart_warn("no memory to register %s", wanted.name);
    if (!added)
        free(s);
}

void __cudaRegisterFunction(void **fatCubinHandle, const char *hostFun, char *deviceFun,
                            const char *deviceName, int thread_limit, uint3 *tid, uint3 *bid,
                            dim3 *bDim, dim3 *gDim, int *wSize)
{
    add((struct symbol){
        .image = image_of(fatCubinHandle), .name = deviceName, .host = hostFun, .is_kernel = true});
}

void __cudaRegisterVar(void **fatCubinHandle, char *hostVar, char *deviceAddress,
                       const char *deviceName, int ext, size_t size, int constant, int global)
{
    add((struct symbol){.image = image_of(fatCubinHandle), .name = deviceName, .host = hostVar});
}

void __cudaRegisterManagedVar(void **fatCubinHandle, void **hostVarPtrAddress, char *deviceAddress,
                              const char *deviceName, int ext, size_t size, int constant,
                              int global)
{
    add((struct symbol){.image = image_of(fatCubinHandle),
                        .name = deviceName,
                        .host = hostVarPtrAddress,
                        .managed = hostVarPtrAddress});
}

static CUresult place_managed(struct symbol *s)
{
    CUdeviceptr address;
    size_t size;
    CUresult result = cuLibraryGetManaged(&address, &size, s->image->library, s->name);

    if (result)
        return result;
    *s->managed = s->managed_at = (void *)(uintptr_t)address;
    return tsm_map_set(&symbols, address, key_of(s)) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

char __cudaInitModule(void **fatCubinHandle)
{
    struct image *image = image_of(fatCubinHandle);
    CUresult result;

    if (cudart_enter())
        return 0;
    pthread_mutex_lock(&lock);
    result = load(image);
    for (struct symbol *s = image->symbols; s && !result; s = s->next)
        if (s->managed && !s->managed_at)
            result = place_managed(s);
    pthread_mutex_unlock(&lock);
    return !cudart_result(result);
}

static void remove_symbol(struct symbol *s)
{
    tsm_map_remove(&symbols, key_of(s->host));
    if (s->managed_at)
        tsm_map_remove(&symbols, key_of(s->managed_at));
    free(s);
}

/* At the end of the process the library goes with the driver. */
void __cudaUnregisterFatBinary(void **fatCubinHandle)
{
    struct image *image = image_of(fatCubinHandle);

    pthread_mutex_lock(&lock);
    for (struct symbol *s = image->symbols, *next; s; s = next) {
        next = s->next;
        remove_symbol(s);
    }
    pthread_mutex_unlock(&lock);
    if (image->library && !cudart_is_ending())
        cuLibraryUnload(image->library);
    free(image);
}
