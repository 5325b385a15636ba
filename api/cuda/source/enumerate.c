/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions that a program gets without naming them. The driver tells their names, and the trace
 * gets the calls that would have given the same functions by name: replay knows no other way.
 */
#include "api/cuda/source/source.h"

#include "api/cuda/cuda_hooks.h"
#include "api/cuda/cuda_wrappers.h"
#include "api/cuda/source/encode.h"

static const char *name_of_kernel(CUkernel kernel)
{
    const char *name = NULL;

    tsm_inside_enter();
    if (real.cuKernelGetName(&name, kernel) != CUDA_SUCCESS)
        name = NULL;
    tsm_inside_leave();
    return name;
}

static const char *name_of_function(CUfunction function)
{
    const char *name = NULL;

    tsm_inside_enter();
    if (real.cuFuncGetName(&name, function) != CUDA_SUCCESS)
        name = NULL;
    tsm_inside_leave();
    return name;
}

static void record_kernel(CUlibrary library, CUkernel kernel)
{
    const char *name = name_of_kernel(kernel);
    struct tsm_call call;
    uint64_t owner;

    if (!name || !tsm_call_begin(&call, TYPE_cuLibraryGetKernel))
        return;
    tsm_call_returned(&call, CUDA_SUCCESS, false);
    owner = cuda_id(CUDA_OBJECT_LIBRARY, CUDA_SLOT(library));
    tsm_call_slot(&call, cuda_id_shared(CUDA_OBJECT_FUNCTION, CUDA_SLOT(kernel), owner, name));
    tsm_call_slot(&call, owner);
    tsm_call_string(&call, name);
    cuda_after_kernel(&call, true, &kernel, library, name);
    tsm_call_commit(&call);
}

static void record_function(CUmodule module, CUfunction function)
{
    const char *name = name_of_function(function);
    struct tsm_call call;
    uint64_t owner;

    if (!name || !tsm_call_begin(&call, TYPE_cuModuleGetFunction))
        return;
    tsm_call_returned(&call, CUDA_SUCCESS, false);
    owner = cuda_id(CUDA_OBJECT_MODULE, CUDA_SLOT(module));
    tsm_call_slot(&call, cuda_id_shared(CUDA_OBJECT_FUNCTION, CUDA_SLOT(function), owner, name));
    tsm_call_slot(&call, owner);
    tsm_call_string(&call, name);
    cuda_after_function(&call, true, &function, module, name);
    tsm_call_commit(&call);
}

CUresult hook_cuLibraryEnumerateKernels(CUkernel *kernels, unsigned int numKernels, CUlibrary lib)
{
    unsigned int count = 0;
    struct tsm_call call;
    CUresult returned;

    if (!tsm_call_begin(&call, TYPE_cuLibraryEnumerateKernels))
        return real.cuLibraryEnumerateKernels(kernels, numKernels, lib);
    returned = real.cuLibraryEnumerateKernels(kernels, numKernels, lib);
    tsm_call_returned(&call, returned, returned != CUDA_SUCCESS);
    if (returned == CUDA_SUCCESS && real.cuLibraryGetKernelCount(&count, lib) != CUDA_SUCCESS)
        count = 0;
    tsm_call_slot(&call, CUDA_SLOT(kernels));
    tsm_call_slot(&call, numKernels);
    tsm_call_slot(&call, cuda_id(CUDA_OBJECT_LIBRARY, CUDA_SLOT(lib)));
    tsm_call_commit(&call);
    for (unsigned int i = 0; i < count && i < numKernels; i++)
        record_kernel(lib, kernels[i]);
    return returned;
}

CUresult hook_cuModuleEnumerateFunctions(CUfunction *functions, unsigned int numFunctions,
                                         CUmodule mod)
{
    unsigned int count = 0;
    struct tsm_call call;
    CUresult returned;

    if (!tsm_call_begin(&call, TYPE_cuModuleEnumerateFunctions))
        return real.cuModuleEnumerateFunctions(functions, numFunctions, mod);
    returned = real.cuModuleEnumerateFunctions(functions, numFunctions, mod);
    tsm_call_returned(&call, returned, returned != CUDA_SUCCESS);
    if (returned == CUDA_SUCCESS && real.cuModuleGetFunctionCount(&count, mod) != CUDA_SUCCESS)
        count = 0;
    tsm_call_slot(&call, CUDA_SLOT(functions));
    tsm_call_slot(&call, numFunctions);
    tsm_call_slot(&call, cuda_id(CUDA_OBJECT_MODULE, CUDA_SLOT(mod)));
    tsm_call_commit(&call);
    for (unsigned int i = 0; i < count && i < numFunctions; i++)
        record_function(mod, functions[i]);
    return returned;
}
