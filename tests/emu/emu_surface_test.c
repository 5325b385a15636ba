/* SPDX-License-Identifier: Apache-2.0
 *
 * Surfaces: what is read and written where, and what lies outside.
 */
#include "tests/emu/emu_kernels.h"
#include "tests/emu/emu_test.h"

/* NAME(uint64_t surface, int x, int y, int z, uint32_t (*io)[4]): values come from and go to io. */
#define SURF(name, what)                                                                           \
    ".visible .entry " name "(.param .u64 s, .param .u32 x, .param .u32 y, .param .u32 z,\n"       \
    "    .param .u64 io)\n"                                                                        \
    "{\n"                                                                                          \
    "    .reg .b16 %h<4>; .reg .b32 %r<8>; .reg .b64 %d<4>; .reg .b64 %s; .reg .b32 %x, %y, %z;\n" \
    "    ld.param.u64 %s, [s]; ld.param.u32 %x, [x]; ld.param.u32 %y, [y];\n"                      \
    "    ld.param.u32 %z, [z]; ld.param.u64 %d1, [io];\n"                                          \
    "    ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%d1];\n" what                                     \
    "    st.global.v4.u32 [%d1], {%r1, %r2, %r3, %r4};\n"                                          \
    "    ret;\n"                                                                                   \
    "}\n"
#define KERNELS                                                                                    \
    SURF("load8", "suld.b.2d.b8.clamp {%h1}, [%s, {%x, %y}]; cvt.u32.u16 %r1, %h1;\n")             \
    SURF("load_v2", "suld.b.2d.v2.b16.zero {%h1, %h2}, [%s, {%x, %y}]; cvt.u32.u16 %r1, %h1;\n"    \
                    "cvt.u32.u16 %r2, %h2;\n")                                                     \
    SURF("load_v4", "suld.b.3d.v4.b32.trap {%r1, %r2, %r3, %r4}, [%s, {%x, %y, %z, %z}];\n")       \
    SURF("load64", "suld.b.1d.b64.zero {%d2}, [%s, {%x}]; mov.b64 {%r1, %r2}, %d2;\n")             \
    SURF("load_layer", "suld.b.a2d.b32.zero {%r1}, [%s, {%z, %x, %y, %y}];\n")                     \
    SURF("load_line", "suld.b.a1d.b32.clamp {%r1}, [%s, {%z, %x}];\n")                             \
    SURF("store8", "cvt.u16.u32 %h1, %r1; sust.b.2d.b8.trap [%s, {%x, %y}], {%h1};\n")             \
    SURF("store_zero", "sust.b.2d.b32.zero [%s, {%x, %y}], {%r1};\n")                              \
    SURF("store_clamp", "sust.b.2d.b32.clamp [%s, {%x, %y}], {%r1};\n")                            \
    SURF("store_v4", "sust.b.3d.v4.b32.trap [%s, {%x, %y, %z, %z}], {%r1, %r2, %r3, %r4};\n")      \
    SURF("store_p", "sust.p.2d.v4.b32.trap [%s, {%x, %y}], {%r1, %r2, %r3, %r4};\n")               \
    SURF("reduce", "sured.b.add.2d.u32.trap [%s, {%x, %y}], %r1;\n")                               \
    SURF("reduce_min", "sured.p.min.2d.b32.zero [%s, {%x, %y}], %r1;\n")                           \
    SURF("load_word", "suld.b.2d.b32.trap {%r1}, [%s, {%x, %y}];\n")                               \
    SURF("query", "suq.width.b32 %r1, [%s]; suq.height.b32 %r2, [%s]; suq.depth.b32 %r3, [%s];\n"  \
                  "suq.channel_data_type.b32 %r4, [%s];\n")

static CUmodule module;
static CUdeviceptr io;
static uint32_t got[4];

static CUresult try(const char *kernel, CUsurfObject s, int x, int y, int z)
{
    CUfunction f;
    void *params[] = {&s, &x, &y, &z, &io};

    OK(cuModuleGetFunction(&f, module, kernel));
    OK(cuMemcpyHtoD_v2(io, got, sizeof(got)));
    OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    return cuMemcpyDtoH_v2(got, io, sizeof(got));
}

static void run(const char *kernel, CUsurfObject s, int x, int y, int z)
{
    OK(try(kernel, s, x, y, z));
}

static CUarray make(CUDA_ARRAY3D_DESCRIPTOR d, CUsurfObject *s, const void *bytes)
{
    static const unsigned sizes[33] = {
        [CU_AD_FORMAT_UNSIGNED_INT8] = 1,  [CU_AD_FORMAT_UNSIGNED_INT16] = 2,
        [CU_AD_FORMAT_UNSIGNED_INT32] = 4, [CU_AD_FORMAT_SIGNED_INT32] = 4,
        [CU_AD_FORMAT_HALF] = 2,           [CU_AD_FORMAT_FLOAT] = 4};
    CUarray array = NULL;
    CUDA_RESOURCE_DESC r = {.resType = CU_RESOURCE_TYPE_ARRAY};
    CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                          .srcHost = bytes,
                          .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                          .WidthInBytes = d.Width * sizes[d.Format] * d.NumChannels,
                          .Height = d.Height ? d.Height : 1,
                          .Depth = d.Depth ? d.Depth : 1};

    d.Flags |= CUDA_ARRAY3D_SURFACE_LDST;
    OK(cuArray3DCreate_v2(&array, &d));
    copy.dstArray = r.res.array.hArray = array;
    OK(cuMemcpy3D_v2(&copy));
    OK(cuSurfObjectCreate(s, &r));
    return array;
}

static void drop(CUarray array, CUsurfObject s)
{
    OK(cuSurfObjectDestroy(s));
    FAILS(cuSurfObjectDestroy(s), CUDA_ERROR_INVALID_VALUE);
    OK(cuArrayDestroy(array));
}

static void test_bytes(void)
{
    uint8_t bytes[4][8];
    CUsurfObject s;

    for (int i = 0; i < 32; i++)
        bytes[i / 8][i % 8] = (uint8_t)(i * 3);
    CUarray a =
        make((CUDA_ARRAY3D_DESCRIPTOR){8, 4, 0, CU_AD_FORMAT_UNSIGNED_INT8, 1, 0}, &s, bytes);
    run("load8", s, 5, 2, 0);
    CHECK_EQ_INT(got[0], bytes[2][5]);
    run("load8", s, 99, -3, 0);
    CHECK_EQ_INT(got[0], bytes[0][7]);
    run("load_v2", s, 4, 1, 0);
    CHECK_EQ_INT(got[0], bytes[1][4] | bytes[1][5] << 8);
    CHECK_EQ_INT(got[1], bytes[1][6] | bytes[1][7] << 8);
    run("load_v2", s, 8, 1, 0);
    CHECK_EQ_INT(got[0] | got[1], 0);
    got[0] = 0x1a5;
    run("store8", s, 3, 3, 0);
    run("load8", s, 3, 3, 0);
    CHECK_EQ_INT(got[0], 0xa5);
    run("load8", s, 2, 3, 0);
    CHECK_EQ_INT(got[0], bytes[3][2]);
    run("query", s, 0, 0, 0);
    CHECK_EQ_INT(got[0], 8);
    CHECK_EQ_INT(got[1], 4);
    CHECK_EQ_INT(got[2], 0);
    CHECK_EQ_INT(got[3], 0x10da);
    drop(a, s);
}

static void test_words(void)
{
    uint32_t words[3][2][4];
    CUsurfObject s;

    for (int i = 0; i < 24; i++)
        (&words[0][0][0])[i] = (uint32_t)i + 100;
    /* Two layers and the like of the same bytes. */
    CUarray a = make(
        (CUDA_ARRAY3D_DESCRIPTOR){4, 2, 3, CU_AD_FORMAT_UNSIGNED_INT32, 1, CUDA_ARRAY3D_LAYERED},
        &s, words);
    run("load_layer", s, 8, 1, 2);
    CHECK_EQ_INT(got[0], words[2][1][2]);
    run("load_layer", s, 8, 1, 3);
    CHECK_EQ_INT(got[0], 0);
    drop(a, s);
    a = make(
        (CUDA_ARRAY3D_DESCRIPTOR){4, 0, 3, CU_AD_FORMAT_UNSIGNED_INT32, 1, CUDA_ARRAY3D_LAYERED},
        &s, words);
    run("load_line", s, 40, 0, 9);
    CHECK_EQ_INT(got[0], (&words[0][0][0])[11]);
    drop(a, s);
    a = make((CUDA_ARRAY3D_DESCRIPTOR){1, 2, 3, CU_AD_FORMAT_UNSIGNED_INT32, 4, 0}, &s, words);
    run("load_v4", s, 0, 1, 2);
    CHECK_EQ_INT(got[3], words[2][1][3]);
    got[0] = 7;
    run("store_v4", s, 0, 0, 1);
    run("load_v4", s, 0, 0, 1);
    CHECK_EQ_INT(got[0], 7);
    CHECK_EQ_INT(got[3], words[2][1][3]);
    drop(a, s);
    a = make((CUDA_ARRAY3D_DESCRIPTOR){8, 0, 0, CU_AD_FORMAT_UNSIGNED_INT32, 1, 0}, &s, words);
    run("load64", s, 24, 0, 0);
    CHECK_EQ_INT(got[0], words[0][1][2]);
    CHECK_EQ_INT(got[1], words[0][1][3]);
    drop(a, s);
}

static void test_outside(void)
{
    uint32_t words[2][4] = {{1, 2, 3, 4}, {5, 6, 7, 8}};
    CUsurfObject s;
    CUarray a =
        make((CUDA_ARRAY3D_DESCRIPTOR){4, 2, 0, CU_AD_FORMAT_UNSIGNED_INT32, 1, 0}, &s, words);

    got[0] = 50;
    run("store_zero", s, 16, 0, 0);
    run("store_zero", s, 0, 2, 0);
    run("store_clamp", s, 16, 7, 0);
    run("reduce", s, 4, 0, 0);
    run("reduce", s, 4, 0, 0);
    got[0] = (uint32_t)-9;
    run("reduce_min", s, 1, 1, 0);
    run("reduce_min", s, 4, 1, 0);
    CUDA_MEMCPY2D copy = {.srcMemoryType = CU_MEMORYTYPE_ARRAY,
                          .srcArray = a,
                          .dstMemoryType = CU_MEMORYTYPE_HOST,
                          .dstHost = words,
                          .WidthInBytes = 16,
                          .Height = 2};
    OK(cuMemcpy2D_v2(&copy));
    CHECK_EQ_INT(words[0][0], 1);
    CHECK_EQ_INT(words[0][1], 102);
    CHECK_EQ_INT(words[1][0], 5);
    CHECK_EQ_INT(words[1][1], 6); /* the surface says that -9 is a large number */
    CHECK_EQ_INT(words[1][3], 50);
    drop(a, s);
}

/* sured.p takes the sign of what it compares from the surface. */
static void test_reduced_by_format(void)
{
    static const CUarray_format formats[] = {CU_AD_FORMAT_UNSIGNED_INT32,
                                             CU_AD_FORMAT_SIGNED_INT32};

    for (unsigned k = 0; k < 2; k++) {
        uint32_t words[2][4] = {{1, 2, 3, 4}, {5, 6, 7, 8}};
        CUsurfObject s;
        CUarray a = make((CUDA_ARRAY3D_DESCRIPTOR){4, 2, 0, formats[k], 1, 0}, &s, words);

        got[0] = (uint32_t)-9;
        run("reduce_min", s, 1, 1, 0);
        run("load_word", s, 4, 1, 0);
        CHECK_EQ_INT(got[0], k ? (uint32_t)-9 : 6);
        drop(a, s);
    }
}

/* sust.p converts to the surface's format. */
static void test_formatted(void)
{
    static const uint16_t zero[8];
    uint16_t half[8];
    CUsurfObject s;
    CUarray a = make((CUDA_ARRAY3D_DESCRIPTOR){2, 1, 0, CU_AD_FORMAT_HALF, 4, 0}, &s, zero);
    float values[4] = {1, -2, 0.5f, 65504};
    CUDA_MEMCPY2D copy = {.srcMemoryType = CU_MEMORYTYPE_ARRAY,
                          .srcArray = a,
                          .dstMemoryType = CU_MEMORYTYPE_HOST,
                          .dstHost = half,
                          .WidthInBytes = 16,
                          .Height = 1};

    memcpy(got, values, sizeof(got));
    run("store_p", s, 1, 0, 0);
    OK(cuMemcpy2D_v2(&copy));
    CHECK_EQ_INT(half[3], 0);
    CHECK_EQ_INT(half[4], 0x3c00);
    CHECK_EQ_INT(half[5], 0xc000);
    CHECK_EQ_INT(half[6], 0x3800);
    CHECK_EQ_INT(half[7], 0x7bff);
    drop(a, s);
}

/* Each ends its context. */
static void test_trap(const char *kernel, int x, int y, CUresult why)
{
    CUcontext context;
    CUsurfObject s;
    static const uint32_t words[32];

    OK(cuCtxCreate_v2(&context, 0, 0));
    OK(cuModuleLoadData(&module, PTX_HEAD KERNELS));
    OK(cuMemAlloc_v2(&io, sizeof(got)));
    make((CUDA_ARRAY3D_DESCRIPTOR){4, 2, 4, CU_AD_FORMAT_UNSIGNED_INT32, 1, 0}, &s, words);
    FAILS(try(kernel, s, x, y, 0), why);
    cuCtxDestroy_v2(context);
}

int main(void)
{
    CUcontext context = test_context();

    OK(cuModuleLoadData(&module, PTX_HEAD KERNELS));
    OK(cuMemAlloc_v2(&io, sizeof(got)));
    test_bytes();
    test_words();
    test_outside();
    test_reduced_by_format();
    test_formatted();
    cuCtxDestroy_v2(context);
    test_trap("load_v4", 16, 0, CUDA_ERROR_ILLEGAL_ADDRESS);
    test_trap("store8", 0, -1, CUDA_ERROR_ILLEGAL_ADDRESS);
    test_trap("store_zero", 2, 0, CUDA_ERROR_MISALIGNED_ADDRESS);
    test_trap("store8", 3, 0, CUDA_SUCCESS);
    return check_result();
}
