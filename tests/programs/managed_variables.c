/* SPDX-License-Identifier: Apache-2.0
 *
 * Managed variables of a module, of a library, and of code that is linked at run time: written by
 * plain stores and by kernels that name them, read by plain loads, and gone with their code.
 */
#include "tests/programs/program.h"

#define HEAD  ".version 7.0\n.target sm_70\n.address_size 64\n"
#define COUNT 300

static const char whole[] =
    HEAD ".visible .global .align 4 .u32 plain = 3;\n"
         ".visible .global .attribute(.managed) .align 4 .u32 step = 5;\n"
         ".visible .global .attribute(.managed, .unified(17, 4)) .align 8 .b8 values[1200];\n"
         ".visible .entry add()\n{\n"
         "  .reg .pred %p; .reg .b32 %r<5>; .reg .b64 %d<3>;\n"
         "  mov.u32 %r1, %tid.x; setp.ge.u32 %p, %r1, 300; @%p ret;\n"
         "  mul.wide.u32 %d1, %r1, 4; mov.u64 %d2, values; add.u64 %d2, %d2, %d1;\n"
         "  ld.global.u32 %r2, [%d2]; ld.global.u32 %r3, [step]; ld.global.u32 %r4, [plain];\n"
         "  mad.lo.u32 %r2, %r2, %r3, %r4; st.global.u32 [%d2], %r2;\n"
         "  ret;\n}\n";

/* The same in two texts: one has the variables, the other one the kernel. */
static const char owner[] =
    HEAD ".visible .global .align 4 .u32 plain = 3;\n"
         ".visible .global .attribute(.managed) .align 4 .u32 step = 5;\n"
         ".visible .global .attribute(.managed) .align 8 .b8 values[1200];\n";
static const char user[] =
    HEAD ".extern .global .align 4 .u32 plain;\n"
         ".extern .global .attribute(.managed) .align 4 .u32 step;\n"
         ".extern .global .attribute(.managed) .align 8 .b8 values[1200];\n"
         ".visible .entry add()\n{\n"
         "  .reg .pred %p; .reg .b32 %r<5>; .reg .b64 %d<3>;\n"
         "  mov.u32 %r1, %tid.x; setp.ge.u32 %p, %r1, 300; @%p ret;\n"
         "  mul.wide.u32 %d1, %r1, 4; mov.u64 %d2, values; add.u64 %d2, %d2, %d1;\n"
         "  ld.global.u32 %r2, [%d2]; ld.global.u32 %r3, [step]; ld.global.u32 %r4, [plain];\n"
         "  mad.lo.u32 %r2, %r2, %r3, %r4; st.global.u32 [%d2], %r2;\n"
         "  ret;\n}\n";

struct found {
    CUdeviceptr step, values, plain;
};

static unsigned attribute_of(CUdeviceptr address, CUpointer_attribute attribute)
{
    unsigned value = 0;

    CU(cuPointerGetAttribute(&value, attribute, address));
    return value;
}

/* The program counts on in memory that the kernel writes, too. */
static void run(const char *name, CUfunction add, const struct found *at)
{
    volatile unsigned *values = (unsigned *)(uintptr_t)at->values;
    volatile unsigned *step = (unsigned *)(uintptr_t)at->step;
    unsigned result[COUNT];

    for (unsigned round = 0; round < 3; round++) {
        for (unsigned i = round; i < COUNT; i += 7)
            values[i] += i * round + 1;
        *step += round;
        CU(cuLaunchKernel(add, 1, 1, 1, 320, 1, 1, 0, NULL, NULL, NULL));
        CU(cuCtxSynchronize());
    }
    CU(cuMemcpyDtoH_v2(result, at->values, sizeof(result)));
    printf("%s: %08x, step %u from %u; %s, of type %u\n", name,
           program_digest(result, sizeof(result)), *step, values[1],
           attribute_of(at->values, CU_POINTER_ATTRIBUTE_IS_MANAGED) &&
                   attribute_of(at->step, CU_POINTER_ATTRIBUTE_IS_MANAGED) &&
                   !attribute_of(at->plain, CU_POINTER_ATTRIBUTE_IS_MANAGED)
               ? "managed"
               : "not managed",
           attribute_of(at->values, CU_POINTER_ATTRIBUTE_MEMORY_TYPE));
}

static void run_module(const char *name, CUmodule module)
{
    struct found at;
    size_t size;

    CU(cuModuleGetGlobal_v2(&at.values, &size, module, "values"));
    CU(cuModuleGetGlobal_v2(&at.step, NULL, module, "step"));
    CU(cuModuleGetGlobal_v2(&at.plain, NULL, module, "plain"));
    if (size != 4 * COUNT || cuMemFree_v2(at.values) != CUDA_ERROR_INVALID_VALUE)
        exit(1);
    run(name, program_function(module, "add"), &at);
    CU(cuModuleUnload(module));
}

static void run_library(void)
{
    struct found at;
    CUlibrary library;
    CUfunction add;
    CUkernel kernel;

    CU(cuLibraryLoadData(&library, whole, NULL, NULL, 0, NULL, NULL, 0));
    CU(cuLibraryGetKernel(&kernel, library, "add"));
    CU(cuKernelGetFunction(&add, kernel));
    CU(cuLibraryGetManaged(&at.values, NULL, library, "values"));
    CU(cuLibraryGetManaged(&at.step, NULL, library, "step"));
    CU(cuLibraryGetGlobal(&at.plain, NULL, library, "plain"));
    if (cuLibraryGetManaged(&at.plain, NULL, library, "plain") != CUDA_ERROR_NOT_FOUND)
        exit(1);
    run("library", add, &at);
    CU(cuLibraryUnload(library));
}

static CUmodule load_linked(void)
{
    CUlinkState state;
    CUmodule module;
    void *image;

    CU(cuLinkCreate_v2(0, NULL, NULL, &state));
    CU(cuLinkAddData_v2(state, CU_JIT_INPUT_PTX, (void *)(uintptr_t)user, sizeof(user), "user", 0,
                        NULL, NULL));
    CU(cuLinkAddData_v2(state, CU_JIT_INPUT_PTX, (void *)(uintptr_t)owner, sizeof(owner), "owner",
                        0, NULL, NULL));
    CU(cuLinkComplete(state, &image, NULL));
    CU(cuModuleLoadData(&module, image));
    CU(cuLinkDestroy(state));
    return module;
}

int main(void)
{
    CUcontext context;
    CUmodule base = program_begin(&context), module;
    CUdeviceptr memory;

    CU(cuModuleLoadData(&module, whole));
    run_module("module", module);
    CU(cuMemAlloc_v2(&memory, 8192)); /* perhaps where the variables were */
    CU(cuMemsetD8_v2(memory, 1, 8192));
    run_library();
    run_module("linked", load_linked());
    CU(cuMemFree_v2(memory));
    program_end(base, context);
    return 0;
}
