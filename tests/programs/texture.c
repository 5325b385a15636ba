/* SPDX-License-Identifier: Apache-2.0 -- one image read through every kind of texture: linear and
 * pitched memory, an array, a mipmapped array with a view, a reference; a stretched copy of each.
 */
#include "tests/programs/program.h"

enum { WIDTH = 64, HEIGHT = 32, OUT = 96 * 48 };

/* NAME(texture, float *out): out[i] of 96 x 48 pixels, coordinates of [0, 1). */
#define HEAD ".version 6.0\n.target sm_70\n.address_size 64\n.visible .global .texref bound;\n"
#define KERNEL(name, what)                                                                         \
    ".visible .entry " name "(.param .u64 t, .param .u64 out)\n{\n"                                \
    ".reg .b32 %r<8>; .reg .f32 %f<8>; .reg .b64 %d<5>; .reg .pred %p<2>;\n"                       \
    "ld.param.u64 %d1, [t]; ld.param.u64 %d2, [out];\n"                                            \
    "mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;\n"                          \
    "mad.lo.u32 %r4, %r1, %r2, %r3; setp.ge.u32 %p1, %r4, 4608; @%p1 ret;\n"                       \
    "div.u32 %r5, %r4, 96; rem.u32 %r6, %r4, 96;\n"                                                \
    "cvt.rn.f32.u32 %f1, %r6; add.f32 %f1, %f1, 0f3F000000; div.rn.f32 %f1, %f1, 0f42C00000;\n"    \
    "cvt.rn.f32.u32 %f2, %r5; add.f32 %f2, %f2, 0f3F000000; div.rn.f32 %f2, %f2, "                 \
    "0f42400000;\n" what "mad.wide.u32 %d4, %r4, 4, %d2; st.global.f32 [%d4], %f4;\nret;\n}\n"
#define RESULT "{%f4, %f5, %f6, %f7}, "
static const char text[] =
    HEAD KERNEL("stretch", "tex.2d.v4.f32.f32 " RESULT "[%d1, {%f1, %f2}];\n")
        KERNEL("far", "tex.level.2d.v4.f32.f32 " RESULT "[%d1, {%f1, %f2}], 0f3FC00000;\n")
            KERNEL("line", "rem.u32 %r5, %r4, 2000; tex.1d.v4.f32.s32 " RESULT "[%d1, {%r5}];\n")
                KERNEL("by_reference", "tex.2d.v4.f32.f32 " RESULT "[bound, {%f1, %f2}];\n");

static CUdeviceptr out;
static CUmodule module;

static void show(const char *what, const char *kernel, CUtexObject texture)
{
    static float values[OUT];
    void *arguments[] = {&texture, &out};

    CU(cuMemsetD32_v2(out, 0, OUT));
    program_launch(program_function(module, kernel), OUT, NULL, arguments);
    if (texture) /* it may go when the kernel has been sent */
        CU(cuTexObjectDestroy(texture));
    CU(cuMemcpyDtoH_v2(values, out, sizeof(values)));
    printf("%s: %08x\n", what, program_digest(values, sizeof(values)));
}

static CUtexObject make(const CUDA_RESOURCE_DESC *r, const CUDA_RESOURCE_VIEW_DESC *view)
{
    CUDA_TEXTURE_DESC t = {.filterMode = CU_TR_FILTER_MODE_LINEAR,
                           .mipmapFilterMode = CU_TR_FILTER_MODE_LINEAR,
                           .addressMode = {CU_TR_ADDRESS_MODE_MIRROR, CU_TR_ADDRESS_MODE_BORDER},
                           .borderColor = {0.5f, 0.25f},
                           .maxMipmapLevelClamp = 9,
                           .flags = CU_TRSF_NORMALIZED_COORDINATES};
    CUtexObject texture;

    CU(cuTexObjectCreate(&texture, r, &t, view));
    return texture;
}

static void from_memory(const uint8_t *image)
{
    CUDA_RESOURCE_DESC r = {.resType = CU_RESOURCE_TYPE_LINEAR};
    CUDA_MEMCPY2D copy = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                          .srcHost = image,
                          .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                          .WidthInBytes = WIDTH,
                          .Height = HEIGHT};
    CUdeviceptr memory;
    size_t pitch;

    CU(cuMemAllocPitch_v2(&memory, &pitch, WIDTH, HEIGHT, 4));
    copy.dstDevice = memory;
    copy.dstPitch = pitch;
    CU(cuMemcpy2D_v2(&copy));
    r.res.linear.devPtr = memory;
    r.res.linear.format = CU_AD_FORMAT_SIGNED_INT16;
    r.res.linear.numChannels = 2;
    r.res.linear.sizeInBytes = pitch * HEIGHT / 2;
    show("linear", "line", make(&r, NULL));
    r = (CUDA_RESOURCE_DESC){
        .resType = CU_RESOURCE_TYPE_PITCH2D,
        .res.pitch2D = {memory, CU_AD_FORMAT_UNSIGNED_INT8, 1, WIDTH, HEIGHT, pitch}};
    show("pitched", "stretch", make(&r, NULL));
    CU(cuMemFree_v2(memory));
}

static void upload(CUarray array, const uint8_t *image, size_t width, size_t height)
{
    CUDA_MEMCPY2D copy = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                          .srcHost = image,
                          .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                          .dstArray = array,
                          .WidthInBytes = width,
                          .Height = height};

    CU(cuMemcpy2DAsync_v2(&copy, NULL));
}

static void from_array(const uint8_t *image)
{
    CUDA_ARRAY_DESCRIPTOR d = {WIDTH / 2, HEIGHT, CU_AD_FORMAT_UNSIGNED_INT8, 2};
    CUDA_RESOURCE_DESC r = {.resType = CU_RESOURCE_TYPE_ARRAY};
    CUtexref reference;
    CUarray array;

    CU(cuArrayCreate_v2(&array, &d));
    upload(array, image, WIDTH, HEIGHT);
    r.res.array.hArray = array;
    show("array", "stretch", make(&r, NULL));
    CU(cuModuleGetTexRef(&reference, module, "bound"));
    CU(cuTexRefSetArray(reference, array, CU_TRSA_OVERRIDE_FORMAT));
    CU(cuTexRefSetFilterMode(reference, CU_TR_FILTER_MODE_LINEAR));
    CU(cuTexRefSetFlags(reference, CU_TRSF_NORMALIZED_COORDINATES));
    show("reference", "by_reference", 0);
    CU(cuTexRefSetAddressMode(reference, 0, CU_TR_ADDRESS_MODE_WRAP));
    show("reference, around", "by_reference", 0);
    CU(cuArrayDestroy(array));
}

static void from_mipmap(const uint8_t *image)
{
    CUDA_ARRAY3D_DESCRIPTOR d = {WIDTH, HEIGHT, 0, CU_AD_FORMAT_UNSIGNED_INT8, 1, 0};
    CUDA_RESOURCE_DESC r = {.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY};
    CUDA_RESOURCE_VIEW_DESC view = {.format = CU_RES_VIEW_FORMAT_SINT_1X8,
                                    .width = WIDTH,
                                    .height = HEIGHT,
                                    .firstMipmapLevel = 1,
                                    .lastMipmapLevel = 3};
    CUmipmappedArray mipmap;
    uint8_t smallest[8 * 4];

    CU(cuMipmappedArrayCreate(&mipmap, &d, 4));
    for (unsigned level = 0; level < 4; level++) {
        CUarray array;
        CU(cuMipmappedArrayGetLevel(&array, mipmap, level));
        upload(array, image + level * 9, WIDTH >> level, HEIGHT >> level);
    }
    r.res.mipmap.hMipmappedArray = mipmap;
    show("mipmap", "far", make(&r, NULL));
    show("view", "far", make(&r, &view));

    CUDA_MEMCPY2D copy = {.srcMemoryType = CU_MEMORYTYPE_ARRAY,
                          .dstMemoryType = CU_MEMORYTYPE_HOST,
                          .dstHost = smallest,
                          .WidthInBytes = 8,
                          .Height = 4};
    CU(cuMipmappedArrayGetLevel(&copy.srcArray, mipmap, 3));
    CU(cuMemcpy2D_v2(&copy));
    printf("level 3: %08x\n", program_digest(smallest, sizeof(smallest)));
    CU(cuMipmappedArrayDestroy(mipmap));
}

int main(void)
{
    static uint8_t image[WIDTH * HEIGHT];
    CUcontext context;
    CUmodule kernels = program_begin(&context);

    for (size_t i = 0; i < sizeof(image); i++)
        image[i] = (uint8_t)(i * i / 7 + i);
    CU(cuModuleLoadData(&module, text));
    CU(cuMemAlloc_v2(&out, OUT * 4));
    from_memory(image);
    from_array(image);
    from_mipmap(image);
    CU(cuMemFree_v2(out));
    CU(cuModuleUnload(module));
    program_end(kernels, context);
    return 0;
}
