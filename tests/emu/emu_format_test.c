/* SPDX-License-Identifier: Apache-2.0
 *
 * Formats of arrays beyond plain components: packed, of planes, and block-compressed with values
 * worked out by hand (tests/vulkan/vk_blocks.c compares with another decoder); views; multisampled
 * geometry.
 */
#include <math.h>

#include "tests/emu/emu_test.h"
#include "tests/emu/emu_texture_kernels.h"

enum { POINTS = 64 };

static CUmodule module;
static CUdeviceptr in, out;
static float points[POINTS][16], got[POINTS][4];

static CUarray make(CUarray_format format, size_t width, size_t height, size_t depth,
                    unsigned channels, unsigned flags)
{
    CUDA_ARRAY3D_DESCRIPTOR d = {width, height, depth, format, channels, flags};
    CUarray array = NULL;

    OK(cuArray3DCreate_v2(&array, &d));
    return array;
}

static CUresult refusal(CUarray_format format, size_t width, size_t height, unsigned channels,
                        unsigned flags)
{
    CUDA_ARRAY3D_DESCRIPTOR d = {width, height, 0, format, channels, flags};
    CUarray array;

    return cuArray3DCreate_v2(&array, &d);
}

/* Rows of `width` bytes, of texels or of blocks. */
static void copy(CUarray array, const void *to, void *from, size_t width, size_t height)
{
    CUDA_MEMCPY2D c = {.WidthInBytes = width, .Height = height};

    if (to) {
        c.srcMemoryType = CU_MEMORYTYPE_HOST;
        c.srcHost = to;
        c.dstMemoryType = CU_MEMORYTYPE_ARRAY;
        c.dstArray = array;
    } else {
        c.dstMemoryType = CU_MEMORYTYPE_HOST;
        c.dstHost = from;
        c.srcMemoryType = CU_MEMORYTYPE_ARRAY;
        c.srcArray = array;
    }
    OK(cuMemcpy2D_v2(&c));
}

static CUtexObject bind(CUarray array, const CUDA_RESOURCE_VIEW_DESC *view, unsigned flags)
{
    CUDA_RESOURCE_DESC r = {.resType = CU_RESOURCE_TYPE_ARRAY};
    CUDA_TEXTURE_DESC t = {.flags = flags};
    CUtexObject object = 0;

    r.res.array.hArray = array;
    OK(cuTexObjectCreate(&object, &r, &t, view));
    return object;
}

/* Point i: texel (i % 8, i / 8), layer 1. */
static void sample(const char *kernel, CUtexObject texture)
{
    void *arguments[] = {&texture, &in, &out};
    CUfunction f = NULL;
    uint32_t layer = 1;

    for (unsigned i = 0; i < POINTS; i++) {
        points[i][0] = (float)(i % 8);
        points[i][1] = (float)(i / 8);
        memcpy(&points[i][3], &layer, 4);
    }
    OK(cuMemcpyHtoD_v2(in, points, sizeof(points)));
    OK(cuModuleGetFunction(&f, module, kernel));
    OK(cuLaunchKernel(f, 1, 1, 1, POINTS, 1, 1, 0, NULL, arguments, NULL));
    OK(cuMemcpyDtoH_v2(got, out, sizeof(got)));
    OK(cuTexObjectDestroy(texture));
}

static bool is_near(float a, double b)
{
    return fabs((double)a - b) < 1e-6;
}

static void check_texel(unsigned i, double r, double g, double b, double a)
{
    CHECK(is_near(got[i][0], r) && is_near(got[i][1], g) && is_near(got[i][2], b) &&
          is_near(got[i][3], a));
}

/* ---- blocks ---- */

/* Ends red and blue; texels 0 to 3 have the four codes. */
static const uint8_t falling[8] = {0x00, 0xf8, 0x1f, 0x00, 0xe4, 0, 0, 0};
static const uint8_t rising[8] = {0x1f, 0x00, 0x00, 0xf8, 0xe4, 0, 0, 0};

static void test_colors(void)
{
    CUarray array = make(CU_AD_FORMAT_BC1_UNORM, 6, 3, 0, 4, 0);
    uint8_t both[16], back[16];

    memcpy(both, falling, 8);
    memcpy(both + 8, rising, 8);
    copy(array, both, NULL, 16, 1);
    copy(array, NULL, back, 16, 1);
    CHECK_EQ_MEM(back, both, 16);
    sample("fetch2d", bind(array, NULL, 0));
    check_texel(0, 1, 0, 0, 1);
    check_texel(1, 0, 0, 1, 1);
    check_texel(2, 2 / 3.0, 0, 1 / 3.0, 1);
    check_texel(3, 1 / 3.0, 0, 2 / 3.0, 1);
    check_texel(4, 0, 0, 1, 1); /* the second block, of two columns */
    check_texel(5, 1, 0, 0, 1);
    CHECK_EQ_MEM(got[6], got[5], sizeof(got[5])); /* clamped: the array is no wider */
    CHECK_EQ_MEM(got[24], got[16], sizeof(got[16]));
    OK(cuArrayDestroy(array));
}

/* A hole, and sRGB by the format: the middle of red and blue is half of each, before it is made
 * linear. */
static void test_hole(void)
{
    const double half = pow((0.5 + 0.055) / 1.055, 2.4);
    CUarray array = make(CU_AD_FORMAT_BC1_UNORM_SRGB, 4, 4, 0, 4, 0);

    copy(array, rising, NULL, 8, 1);
    sample("fetch2d", bind(array, NULL, 0));
    check_texel(2, half, 0, half, 1);
    check_texel(3, 0, 0, 0, 0);
    OK(cuArrayDestroy(array));
}

static void test_single(void)
{
    static const uint8_t unsigned_block[8] = {210, 0, 0x88, 0xc6, 0xfa, 0, 0, 0};
    static const uint8_t signed_block[8] = {0x80, 0x7f, 0x88, 0xc6, 0xfa, 0, 0, 0};
    CUarray array = make(CU_AD_FORMAT_BC4_UNORM, 4, 4, 0, 1, 0);

    /* codes 0, 1, 2, 3, 4, 5, 6, 7 of the first two rows */
    copy(array, unsigned_block, NULL, 8, 1);
    sample("fetch2d", bind(array, NULL, 0));
    check_texel(0, 210 / 255.0, 0, 0, 1);
    check_texel(1, 0, 0, 0, 1);
    check_texel(2, 180 / 255.0, 0, 0, 1);
    check_texel(8 + 3, 30 / 255.0, 0, 0, 1);
    OK(cuArrayDestroy(array));

    array = make(CU_AD_FORMAT_BC4_SNORM, 4, 4, 0, 1, 0);
    copy(array, signed_block, NULL, 8, 1);
    sample("fetch2d", bind(array, NULL, 0));
    check_texel(0, -1, 0, 0, 1);
    check_texel(1, 1, 0, 0, 1);
    check_texel(2, -0.6, 0, 0, 1);
    check_texel(8 + 2, -1, 0, 0, 1);
    check_texel(8 + 3, 1, 0, 0, 1);
    OK(cuArrayDestroy(array));
}

/* Blocks in place of pairs of 32-bit integers: four times as wide and high. */
static void test_view(void)
{
    CUDA_RESOURCE_VIEW_DESC view = {
        .format = CU_RES_VIEW_FORMAT_UNSIGNED_BC1, .width = 8, .height = 4};
    CUarray array = make(CU_AD_FORMAT_UNSIGNED_INT32, 2, 1, 0, 2, 0);
    CUDA_RESOURCE_DESC r = {.resType = CU_RESOURCE_TYPE_ARRAY};
    CUDA_TEXTURE_DESC t = {.flags = 0};
    CUtexObject object;
    uint8_t both[16];

    memcpy(both, rising, 8);
    memcpy(both + 8, falling, 8);
    copy(array, both, NULL, 16, 1);
    sample("fetch2d", bind(array, &view, 0));
    check_texel(2, 0.5, 0, 0.5, 1);
    check_texel(4, 1, 0, 0, 1);
    check_texel(6, 2 / 3.0, 0, 1 / 3.0, 1);

    r.res.array.hArray = array;
    view.width = 2;
    FAILS(cuTexObjectCreate(&object, &r, &t, &view), CUDA_ERROR_INVALID_VALUE);
    view.width = 8;
    view.format = CU_RES_VIEW_FORMAT_UNSIGNED_BC7; /* blocks of 16 bytes */
    FAILS(cuTexObjectCreate(&object, &r, &t, &view), CUDA_ERROR_INVALID_VALUE);
    OK(cuArrayDestroy(array));
}

/* ---- packed, planes ---- */

static void test_packed(void)
{
    CUarray array = make(CU_AD_FORMAT_UNORM_INT_101010_2, 2, 1, 0, 4, 0);
    uint32_t texels[2] = {1023u | 1u << 30, 341u << 10 | 682u << 20 | 3u << 30};

    copy(array, texels, NULL, 8, 1);
    sample("fetch2d", bind(array, NULL, 0));
    check_texel(0, 1, 0, 0, 1 / 3.0);
    check_texel(1, 0, 1 / 3.0, 2 / 3.0, 1);
    OK(cuArrayDestroy(array));
}

static void check_plane(CUarray whole, unsigned index, CUarray_format format, size_t width,
                        size_t height, unsigned channels)
{
    CUDA_ARRAY_DESCRIPTOR d = {0};
    CUarray plane = NULL, again = NULL;

    OK(cuArrayGetPlane(&plane, whole, index));
    OK(cuArrayGetPlane(&again, whole, index));
    CHECK(plane == again);
    OK(cuArrayGetDescriptor_v2(&d, plane));
    CHECK_EQ_INT(d.Format, format);
    CHECK_EQ_INT(d.Width, width);
    CHECK_EQ_INT(d.Height, height);
    CHECK_EQ_INT(d.NumChannels, channels);
    FAILS(cuArrayDestroy(plane), CUDA_ERROR_INVALID_VALUE);
}

static void test_planes(void)
{
    const CUarray_format u8 = CU_AD_FORMAT_UNSIGNED_INT8, u16 = CU_AD_FORMAT_UNSIGNED_INT16;
    CUarray array = make(CU_AD_FORMAT_NV12, 8, 4, 0, 3, 0), plane = NULL;
    CUDA_RESOURCE_DESC r = {.resType = CU_RESOURCE_TYPE_ARRAY};
    CUDA_TEXTURE_DESC t = {.flags = 0};
    uint8_t luma[32], chroma[16];
    CUtexObject object;

    check_plane(array, 0, u8, 8, 4, 1);
    check_plane(array, 1, u8, 4, 2, 2);
    FAILS(cuArrayGetPlane(&plane, array, 2), CUDA_ERROR_INVALID_VALUE);
    r.res.array.hArray = array;
    FAILS(cuTexObjectCreate(&object, &r, &t, NULL), CUDA_ERROR_INVALID_VALUE);
    for (unsigned i = 0; i < 32; i++)
        luma[i] = (uint8_t)i;
    for (unsigned i = 0; i < 16; i++)
        chroma[i] = (uint8_t)(200 + i);
    OK(cuArrayGetPlane(&plane, array, 0));
    copy(plane, luma, NULL, 8, 4);
    OK(cuArrayGetPlane(&plane, array, 1));
    copy(plane, chroma, NULL, 8, 2);
    sample("fetch2d", bind(plane, NULL, 0));
    check_texel(8 + 3, 214 / 255.0, 215 / 255.0, 0, 1);
    OK(cuArrayGetPlane(&plane, array, 0));
    sample("fetch2d", bind(plane, NULL, 0));
    check_texel(31, 31 / 255.0, 0, 0, 1);
    OK(cuArrayDestroy(array));
    FAILS(cuArrayGetPlane(&plane, array, 0), CUDA_ERROR_INVALID_HANDLE);

    array = make(CU_AD_FORMAT_P210, 8, 4, 0, 3, 0);
    check_plane(array, 1, u16, 4, 4, 2);
    OK(cuArrayDestroy(array));
    array = make(CU_AD_FORMAT_Y444_PLANAR10, 8, 4, 0, 3, 0);
    check_plane(array, 2, u16, 8, 4, 1);
    OK(cuArrayDestroy(array));
}

/* ---- what is refused, and one sample ---- */

static void test_refused(void)
{
    const CUresult value = CUDA_ERROR_INVALID_VALUE;

    FAILS(refusal(CU_AD_FORMAT_YUY2, 8, 4, 2, 0), CUDA_ERROR_NOT_SUPPORTED);
    FAILS(refusal(CU_AD_FORMAT_NV12, 7, 4, 3, 0), value);
    FAILS(refusal(CU_AD_FORMAT_NV12, 8, 4, 1, 0), value);
    FAILS(refusal(CU_AD_FORMAT_BC1_UNORM, 8, 0, 4, 0), value);
    FAILS(refusal(CU_AD_FORMAT_BC1_UNORM, 8, 8, 2, 0), value);
    FAILS(refusal(CU_AD_FORMAT_BC7_UNORM, 8, 8, 4, CUDA_ARRAY3D_SURFACE_LDST), value);
    FAILS(refusal(CU_AD_FORMAT_UNSIGNED_INT8, 8, 8, 3, 0), value);
}

static void test_samples(void)
{
    CUarray array = make(CU_AD_FORMAT_FLOAT, 8, 8, 2, 1, CUDA_ARRAY3D_LAYERED);
    CUDA_MEMCPY3D c = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                       .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                       .dstArray = array,
                       .WidthInBytes = 32,
                       .Height = 8,
                       .Depth = 2};
    float texels[128];

    for (unsigned i = 0; i < 128; i++)
        texels[i] = (float)i;
    c.srcHost = texels;
    OK(cuMemcpy3D_v2(&c));
    sample("samplea2d", bind(array, NULL, 0));
    check_texel(9, 64 + 10, 0, 0, 1); /* the layer, and an offset of 1 */
    sample("sample2d", bind(array, NULL, 0));
    check_texel(9, 9, 0, 0, 1);
    OK(cuArrayDestroy(array));
}

int main(void)
{
    CUcontext context = test_context();

    OK(cuModuleLoadData(&module, PTX_HEAD_TEXTURES TEX_KERNELS));
    OK(cuMemAlloc_v2(&in, sizeof(points)));
    OK(cuMemAlloc_v2(&out, sizeof(got)));
    test_colors();
    test_hole();
    test_single();
    test_view();
    test_packed();
    test_planes();
    test_refused();
    test_samples();
    cuCtxDestroy_v2(context);
    return check_result();
}
