/* SPDX-License-Identifier: Apache-2.0 -- arrays of odd formats, each read texel by texel and
 * downloaded: blocks, also by a view and with levels, packed ones, planes. */
#include <stdbool.h>

#include "tests/programs/program.h"

enum { SIDE = 32, TEXELS = SIDE * SIDE };

/* fetch(texture, float (*out)[4]): out[i] is texel (i % 32, i / 32). */
static const char text[] =
    ".version 6.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry fetch(.param .u64 t, .param .u64 out)\n{\n"
    ".reg .b32 %r<8>; .reg .f32 %f<4>; .reg .b64 %d<5>; .reg .pred %p;\n"
    "ld.param.u64 %d1, [t]; ld.param.u64 %d2, [out];\n"
    "mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;\n"
    "mad.lo.u32 %r4, %r1, %r2, %r3; setp.ge.u32 %p, %r4, 1024; @%p ret;\n"
    "shr.u32 %r5, %r4, 5; and.b32 %r6, %r4, 31;\n"
    "tex.2d.v4.f32.s32 {%f0, %f1, %f2, %f3}, [%d1, {%r6, %r5}];\n"
    "mad.wide.u32 %d4, %r4, 16, %d2; st.global.v4.f32 [%d4], {%f0, %f1, %f2, %f3};\nret;\n}\n";

static CUdeviceptr out;
static CUmodule module;
static uint8_t image[4 * TEXELS];

static void show(const char *what, const CUDA_RESOURCE_DESC *r, const CUDA_RESOURCE_VIEW_DESC *view)
{
    static float values[TEXELS][4];
    CUDA_TEXTURE_DESC t = {.flags = 0};
    CUtexObject texture;
    void *arguments[] = {&texture, &out};

    CU(cuTexObjectCreate(&texture, r, &t, view));
    CU(cuMemsetD32_v2(out, 0, TEXELS * 4));
    program_launch(program_function(module, "fetch"), TEXELS, NULL, arguments);
    CU(cuTexObjectDestroy(texture));
    CU(cuMemcpyDtoH_v2(values, out, sizeof(values)));
    printf("%s: %08x\n", what, program_digest(values, sizeof(values)));
}

static void move(CUarray array, bool is_up, size_t width, size_t height)
{
    static uint8_t bytes[sizeof(image)];
    CUDA_MEMCPY2D up = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                        .srcHost = image,
                        .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                        .dstArray = array,
                        .WidthInBytes = width,
                        .Height = height};
    CUDA_MEMCPY2D down = {.srcMemoryType = CU_MEMORYTYPE_ARRAY,
                          .srcArray = array,
                          .dstMemoryType = CU_MEMORYTYPE_HOST,
                          .dstHost = bytes,
                          .WidthInBytes = width,
                          .Height = height};

    if (is_up) {
        CU(cuMemcpy2DAsync_v2(&up, NULL));
        return;
    }
    CU(cuMemcpy2D_v2(&down));
    printf("  down: %08x\n", program_digest(bytes, width * height));
}

static void from_array(const char *what, CUarray_format format, unsigned channels, size_t width,
                       size_t height, const CUDA_RESOURCE_VIEW_DESC *view)
{
    CUDA_ARRAY3D_DESCRIPTOR d = {.Width = view ? SIDE / 4 : SIDE,
                                 .Height = view ? SIDE / 4 : SIDE,
                                 .Format = format,
                                 .NumChannels = channels};
    CUDA_RESOURCE_DESC r = {.resType = CU_RESOURCE_TYPE_ARRAY};

    CU(cuArray3DCreate_v2(&r.res.array.hArray, &d));
    move(r.res.array.hArray, true, width, height);
    show(what, &r, view);
    move(r.res.array.hArray, false, width, height);
    CU(cuArrayDestroy(r.res.array.hArray));
}

static void from_levels(void)
{
    CUDA_ARRAY3D_DESCRIPTOR d = {
        .Width = SIDE, .Height = SIDE, .Format = CU_AD_FORMAT_BC3_UNORM_SRGB, .NumChannels = 4};
    CUDA_RESOURCE_DESC r = {.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY};
    CUarray level;

    CU(cuMipmappedArrayCreate(&r.res.mipmap.hMipmappedArray, &d, 3));
    for (unsigned k = 0; k < 3; k++) {
        CU(cuMipmappedArrayGetLevel(&level, r.res.mipmap.hMipmappedArray, k));
        move(level, true, (size_t)(SIDE / 4 >> k) * 16, (size_t)SIDE / 4 >> k);
    }
    show("levels of blocks", &r, NULL);
    CU(cuMipmappedArrayDestroy(r.res.mipmap.hMipmappedArray));
}

static void from_planes(void)
{
    CUDA_ARRAY3D_DESCRIPTOR d = {
        .Width = SIDE, .Height = SIDE, .Format = CU_AD_FORMAT_NV12, .NumChannels = 3};
    CUDA_RESOURCE_DESC r = {.resType = CU_RESOURCE_TYPE_ARRAY};
    CUarray whole;

    CU(cuArray3DCreate_v2(&whole, &d));
    for (unsigned k = 0; k < 2; k++) {
        CU(cuArrayGetPlane(&r.res.array.hArray, whole, k));
        move(r.res.array.hArray, true, SIDE, (size_t)SIDE >> k);
        show(k ? "chroma" : "luma", &r, NULL);
        move(r.res.array.hArray, false, SIDE, (size_t)SIDE >> k);
    }
    CU(cuArrayDestroy(whole));
}

int main(void)
{
    const CUDA_RESOURCE_VIEW_DESC view = {
        .format = CU_RES_VIEW_FORMAT_SIGNED_BC6H, .width = SIDE, .height = SIDE};
    CUcontext context;
    CUmodule kernels = program_begin(&context);

    for (size_t i = 0; i < sizeof(image); i++)
        image[i] = (uint8_t)(i * i / 7 + i * 3);
    CU(cuModuleLoadData(&module, text));
    CU(cuMemAlloc_v2(&out, TEXELS * 16));
    from_array("BC7", CU_AD_FORMAT_BC7_UNORM, 4, SIDE / 4 * 16, SIDE / 4, NULL);
    from_array("BC1", CU_AD_FORMAT_BC1_UNORM, 4, SIDE / 4 * 8, SIDE / 4, NULL);
    from_array("a view as BC6H", CU_AD_FORMAT_UNSIGNED_INT32, 4, SIDE / 4 * 16, SIDE / 4, &view);
    from_array("10:10:10:2", CU_AD_FORMAT_UNORM_INT_101010_2, 4, SIDE * 4, SIDE, NULL);
    from_levels();
    from_planes();
    CU(cuMemFree_v2(out));
    CU(cuModuleUnload(module));
    program_end(kernels, context);
    return 0;
}
