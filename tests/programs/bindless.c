/* SPDX-License-Identifier: Apache-2.0 -- an image that is reached without an argument of the
 * launch: by a handle in memory, by a texture reference, and by one of each beside an argument.
 */
#include "tests/programs/program.h"

enum { SIDE = 16 };

/* NAME(a, b, out) */
#define KERNEL(name, what)                                                                         \
    ".visible .entry " name "(.param .u64 a, .param .u64 b, .param .u64 out)\n{\n"                 \
    ".reg .b32 %r<9>; .reg .b64 %d<9>;\n"                                                          \
    "ld.param.u64 %d1, [a]; ld.param.u64 %d2, [b]; ld.param.u64 %d3, [out]; mov.u32 %r1, "         \
    "3;\n" what " ret;\n}\n"
#define TEXEL "{%r3, %r4, %r5, %r6}, "
static const char text[] =
    ".version 6.0\n.target sm_70\n.address_size 64\n.visible .global .texref bound;\n" KERNEL(
        "by_memory", "ld.global.u64 %d4, [%d2]; tex.2d.v4.u32.s32 " TEXEL "[%d4, {%r1, %r1}];\n"
                     "st.global.u32 [%d3], %r3;\n")
        KERNEL("by_reference", "tex.2d.v4.u32.s32 " TEXEL "[bound, {%r1, %r1}];\n"
                               "st.global.u32 [%d3], %r3;\n")
            KERNEL("beside", "tex.2d.v4.u32.s32 " TEXEL "[%d1, {%r1, %r1}];\n"
                             "ld.global.u64 %d4, [%d2]; mov.u32 %r2, %r3;\n"
                             "tex.2d.v4.u32.s32 " TEXEL "[%d4, {%r1, %r1}];\n"
                             "add.u32 %r3, %r3, %r2; st.global.u32 [%d3], %r3;\n");

static CUarray array(void)
{
    CUDA_ARRAY_DESCRIPTOR d = {SIDE, SIDE, CU_AD_FORMAT_UNSIGNED_INT32, 1};
    CUarray made;

    CU(cuArrayCreate_v2(&made, &d));
    return made;
}

static CUtexObject texture(CUarray of)
{
    CUDA_RESOURCE_DESC r = {.resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = of};
    CUDA_TEXTURE_DESC how = {.flags = CU_TRSF_READ_AS_INTEGER};
    CUtexObject made;

    CU(cuTexObjectCreate(&made, &r, &how, NULL));
    return made;
}

static void upload(CUarray to, CUdeviceptr from, CUstream stream)
{
    CUDA_MEMCPY2D copy = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                          .srcDevice = from,
                          .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                          .dstArray = to,
                          .WidthInBytes = SIDE * 4,
                          .Height = SIDE};

    CU(cuMemcpy2DAsync_v2(&copy, stream));
}

int main(void)
{
    static const char *const names[] = {"by_memory", "by_reference", "beside"};
    CUcontext context;
    CUmodule kernels = program_begin(&context), module;
    CUdeviceptr image, handle, out;
    CUarray first = array(), second = array();
    CUtexObject a = texture(first), b = texture(second);
    CUstream streams[2];
    CUtexref reference;
    uint32_t found;

    CU(cuModuleLoadData(&module, text));
    CU(cuMemAlloc_v2(&image, SIDE * SIDE * 4));
    CU(cuMemAlloc_v2(&handle, sizeof(b)));
    CU(cuMemAlloc_v2(&out, 4));
    CU(cuModuleGetTexRef(&reference, module, "bound"));
    CU(cuTexRefSetArray(reference, second, CU_TRSA_OVERRIDE_FORMAT));
    CU(cuTexRefSetFlags(reference, CU_TRSF_READ_AS_INTEGER));
    CU(cuMemcpyHtoD_v2(handle, &b, sizeof(b)));
    CU(cuMemsetD32_v2(image, 7, SIDE * SIDE));
    for (unsigned i = 0; i < 2; i++)
        CU(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
    upload(first, image, NULL);
    CU(cuCtxSynchronize());
    for (unsigned i = 0; i < 3; i++) {
        void *arguments[] = {&a, &handle, &out};

        upload(second, image, streams[0]);
        CU(cuLaunchKernel(program_function(module, names[i]), 1, 1, 1, 1, 1, 1, 0, streams[1],
                          arguments, NULL));
        CU(cuCtxSynchronize());
        CU(cuMemcpyDtoH_v2(&found, out, 4));
        printf("%s: %u\n", names[i], found);
    }
    CU(cuTexObjectDestroy(a));
    CU(cuTexObjectDestroy(b));
    CU(cuModuleUnload(module));
    program_end(kernels, context);
    return 0;
}
