/* SPDX-License-Identifier: Apache-2.0
 *
 * Texture and surface references, samplers of the independent mode, and what descriptors are
 * refused with.
 */
#include "tests/emu/emu_kernels.h"
#include "tests/emu/emu_test.h"

#define BODY(name, what)                                                                           \
    ".visible .entry " name "(.param .u64 out)\n"                                                  \
    "{\n"                                                                                          \
    "    .reg .b32 %r<5>; .reg .f32 %f<3>; .reg .b64 %d<4>; .reg .b32 %x;\n"                       \
    "    ld.param.u64 %d1, [out]; mov.u32 %x, %tid.x; cvt.rn.f32.u32 %f1, %x;\n"                   \
    "    mad.wide.u32 %d2, %x, 4, %d1;\n" what "    st.global.b32 [%d2], %r1;\n    ret;\n}\n"
#define R "{%r1, %r2, %r3, %r4}, "
#define UNIFIED                                                                                    \
    PTX_HEAD                                                                                       \
    ".visible .global .texref image;\n.visible .global .surfref paper;\n"                          \
    ".global .u32 number = 3;\n" BODY("read", "tex.1d.v4.u32.s32 " R "[image, {%x}];\n")           \
        BODY("read_by_address", "mov.u64 %d3, image; tex.1d.v4.u32.f32 " R "[%d3, {%f1}];\n")      \
            BODY("write", "shl.b32 %r2, %x, 2; add.u32 %r1, %x, 70;\n"                             \
                          "sust.b.1d.b32.trap [paper, {%r2}], {%r1};\n")
#define INDEPENDENT                                                                                \
    ".version 6.0\n.target sm_70, texmode_independent\n.address_size 64\n"                         \
    ".global .texref image;\n"                                                                     \
    ".global .samplerref smooth = { addr_mode_0 = clamp_to_edge, filter_mode = linear,\n"          \
    "    force_unnormalized_coords = 1 };\n"                                                       \
    ".global .samplerref around = { addr_mode_0 = wrap, filter_mode = nearest };\n" BODY(          \
        "smoothly", "add.f32 %f1, %f1, 0f3F800000;\n"                                              \
                    "tex.1d.v4.f32.f32 " R "[image, smooth, {%f1}];\n")                            \
        BODY("around_it", "add.f32 %f1, %f1, 0f3F600000;\n"                                        \
                          "tex.1d.v4.f32.f32 " R "[image, around, {%f1}];\n")
/* Before PTX 1.5. */
#define ANCIENT                                                                                    \
    ".version 1.4\n.target sm_10, map_f64_to_f32\n.tex .u64 image;\n" BODY(                        \
        "read", "tex.1d.v4.u32.s32 " R "[image, {%x, %x, %x, %x}];\n")

static CUdeviceptr out, memory;
static uint32_t got[8];

static void run(CUmodule m, const char *kernel)
{
    CUfunction f;
    void *params[] = {&out};

    OK(cuModuleGetFunction(&f, m, kernel));
    OK(cuLaunchKernel(f, 1, 1, 1, 8, 1, 1, 0, NULL, params, NULL));
    OK(cuMemcpyDtoH_v2(got, out, sizeof(got)));
}

static CUarray make_line(CUarray_format format, const void *bytes, unsigned flags)
{
    CUDA_ARRAY3D_DESCRIPTOR d = {8, 0, 0, format, 1, flags};
    CUarray array = NULL;

    OK(cuArray3DCreate_v2(&array, &d));
    OK(cuMemcpyHtoA_v2(array, 0, bytes, 32));
    return array;
}

static void test_memory(CUmodule m)
{
    static const uint32_t words[8] = {20, 21, 22, 23, 24, 25, 26, 27};
    CUtexref ref, again;
    CUdeviceptr address;
    size_t offset = 9;

    OK(cuMemcpyHtoD_v2(memory, words, sizeof(words)));
    OK(cuModuleGetTexRef(&ref, m, "image"));
    OK(cuModuleGetTexRef(&again, m, "image"));
    CHECK(ref == again);
    FAILS(cuModuleGetTexRef(&again, m, "number"), CUDA_ERROR_NOT_FOUND);
    FAILS(cuModuleGetTexRef(&again, m, "paper"), CUDA_ERROR_NOT_FOUND);
    FAILS(cuModuleGetGlobal_v2(&address, &offset, m, "image"), CUDA_ERROR_NOT_FOUND);
    FAILS(cuTexRefGetAddress_v2(&address, ref), CUDA_ERROR_INVALID_VALUE);
    OK(cuTexRefSetFormat(ref, CU_AD_FORMAT_UNSIGNED_INT32, 1));
    OK(cuTexRefSetFlags(ref, CU_TRSF_READ_AS_INTEGER));
    OK(cuTexRefSetAddress_v2(&offset, ref, memory, sizeof(words)));
    CHECK_EQ_INT(offset, 0);
    OK(cuTexRefGetAddress_v2(&address, ref));
    CHECK(address == memory);
    run(m, "read");
    CHECK_EQ_INT(got[5], 25);
    run(m, "read_by_address");
    CHECK_EQ_INT(got[7], 27);
    FAILS(cuTexRefSetAddress_v2(NULL, ref, memory + 4, 8), CUDA_ERROR_INVALID_VALUE);
    OK(cuTexRefSetAddress_v2(&offset, ref, memory + 4, 28));
    CHECK_EQ_INT(offset, 4);
    run(m, "read"); /* rounded down: the offset is the program's business */
    CHECK_EQ_INT(got[0], 20);
    FAILS(cuTexRefDestroy(ref), CUDA_ERROR_INVALID_VALUE);
}

static void test_array(CUmodule m)
{
    static const uint32_t words[8] = {90, 91, 92, 93, 94, 95, 96, 97};
    CUarray array = make_line(CU_AD_FORMAT_UNSIGNED_INT32, words, CUDA_ARRAY3D_SURFACE_LDST);
    CUarray plain = make_line(CU_AD_FORMAT_UNSIGNED_INT32, words, 0), bound;
    CUtexref ref;
    CUsurfref paper;
    CUdeviceptr address;

    OK(cuModuleGetTexRef(&ref, m, "image"));
    FAILS(cuTexRefSetArray(ref, array, 0), CUDA_ERROR_INVALID_VALUE);
    OK(cuTexRefSetArray(ref, array, CU_TRSA_OVERRIDE_FORMAT));
    OK(cuTexRefGetArray(&bound, ref));
    CHECK(bound == array);
    FAILS(cuTexRefGetAddress_v2(&address, ref), CUDA_ERROR_INVALID_VALUE);
    run(m, "read");
    CHECK_EQ_INT(got[3], 93);
    OK(cuModuleGetSurfRef(&paper, m, "paper"));
    FAILS(cuSurfRefSetArray(paper, plain, 0), CUDA_ERROR_INVALID_VALUE);
    OK(cuSurfRefSetArray(paper, array, 0));
    OK(cuSurfRefGetArray(&bound, paper));
    CHECK(bound == array);
    run(m, "write");
    run(m, "read");
    CHECK_EQ_INT(got[3], 73);
    OK(cuArrayDestroy(array));
    OK(cuArrayDestroy(plain));
}

/* Properties that were set are returned. */
static void test_properties(void)
{
    float border[4] = {1, 2, 3, 4}, color[4], least, most, bias;
    CUtexref ref;
    CUaddress_mode mode;
    CUfilter_mode filter;
    CUarray_format format;
    int channels, anisotropy;
    unsigned flags;

    OK(cuTexRefCreate(&ref));
    OK(cuTexRefSetAddressMode(ref, 1, CU_TR_ADDRESS_MODE_MIRROR));
    OK(cuTexRefGetAddressMode(&mode, ref, 1));
    CHECK_EQ_INT(mode, CU_TR_ADDRESS_MODE_MIRROR);
    FAILS(cuTexRefSetAddressMode(ref, 3, CU_TR_ADDRESS_MODE_WRAP), CUDA_ERROR_INVALID_VALUE);
    OK(cuTexRefSetFilterMode(ref, CU_TR_FILTER_MODE_LINEAR));
    OK(cuTexRefGetFilterMode(&filter, ref));
    CHECK_EQ_INT(filter, CU_TR_FILTER_MODE_LINEAR);
    OK(cuTexRefSetBorderColor(ref, border));
    OK(cuTexRefGetBorderColor(color, ref));
    CHECK_EQ_MEM(color, border, sizeof(border));
    OK(cuTexRefSetMipmapLevelClamp(ref, 1, 2));
    OK(cuTexRefGetMipmapLevelClamp(&least, &most, ref));
    CHECK(least == 1 && most == 2);
    OK(cuTexRefSetMipmapLevelBias(ref, -0.5f));
    OK(cuTexRefGetMipmapLevelBias(&bias, ref));
    CHECK(bias == -0.5f);
    OK(cuTexRefSetMaxAnisotropy(ref, 8));
    OK(cuTexRefGetMaxAnisotropy(&anisotropy, ref));
    CHECK_EQ_INT(anisotropy, 8);
    OK(cuTexRefSetFormat(ref, CU_AD_FORMAT_HALF, 4));
    OK(cuTexRefGetFormat(&format, &channels, ref));
    CHECK_EQ_INT(format, CU_AD_FORMAT_HALF);
    CHECK_EQ_INT(channels, 4);
    FAILS(cuTexRefSetFormat(ref, CU_AD_FORMAT_HALF, 3), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuTexRefSetFlags(ref, 0x1000), CUDA_ERROR_INVALID_VALUE);
    OK(cuTexRefSetFlags(ref, CU_TRSF_SRGB));
    OK(cuTexRefGetFlags(&flags, ref));
    CHECK_EQ_INT(flags, CU_TRSF_SRGB);
    OK(cuTexRefDestroy(ref));
    FAILS(cuTexRefGetFlags(&flags, ref), CUDA_ERROR_INVALID_HANDLE);
}

static void test_samplers(void)
{
    static const float values[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    CUarray array = make_line(CU_AD_FORMAT_FLOAT, values, 0);
    CUtexref ref;
    CUmodule m;
    float v[8];

    OK(cuModuleLoadData(&m, INDEPENDENT));
    OK(cuModuleGetTexRef(&ref, m, "image"));
    OK(cuTexRefSetArray(ref, array, CU_TRSA_OVERRIDE_FORMAT));
    run(m, "smoothly");
    memcpy(v, got, sizeof(v));
    CHECK(v[0] == 0.5f && v[6] == 6.5f && v[7] == 7);
    run(m, "around_it"); /* 7/8 of the way, again and again */
    memcpy(v, got, sizeof(v));
    CHECK(v[0] == 7 && v[3] == 7);
    OK(cuModuleUnload(m));
    OK(cuArrayDestroy(array));
    FAILS(cuModuleLoadData(&m, PTX_HEAD ".global .samplerref s = { filter_mode = best };\n"),
          CUDA_ERROR_INVALID_PTX);
}

static void test_ancient(void)
{
    static const uint32_t words[8] = {40, 41, 42, 43, 44, 45, 46, 47};
    CUtexref ref;
    CUmodule m;

    OK(cuModuleLoadData(&m, ANCIENT));
    OK(cuMemcpyHtoD_v2(memory, words, sizeof(words)));
    OK(cuModuleGetTexRef(&ref, m, "image"));
    OK(cuTexRefSetFormat(ref, CU_AD_FORMAT_UNSIGNED_INT32, 1));
    OK(cuTexRefSetAddress_v2(NULL, ref, memory, sizeof(words)));
    run(m, "read");
    CHECK_EQ_INT(got[2], 42);
    OK(cuModuleUnload(m));
}

/* ---- descriptors ---- */

static void test_linear(void)
{
    CUDA_RESOURCE_DESC good = {.resType = CU_RESOURCE_TYPE_LINEAR,
                               .res.linear = {memory, CU_AD_FORMAT_FLOAT, 1, 64}},
                       r = good, back;
    CUDA_TEXTURE_DESC t = {0}, bad = {.flags = 0x4000};
    CUDA_RESOURCE_VIEW_DESC v = {.width = 16};
    CUtexObject o;

    OK(cuTexObjectCreate(&o, &good, &t, NULL));
    OK(cuTexObjectGetResourceDesc(&back, o));
    CHECK(back.res.linear.devPtr == memory && back.res.linear.sizeInBytes == 64);
    FAILS(cuTexObjectGetResourceViewDesc(&v, o), CUDA_ERROR_INVALID_VALUE);
    OK(cuTexObjectDestroy(o));
    FAILS(cuTexObjectGetResourceDesc(&back, o), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuTexObjectCreate(&o, &good, &bad, NULL), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuTexObjectCreate(&o, &good, &t, &v), CUDA_ERROR_INVALID_VALUE);
    r.res.linear.devPtr += 4;
    FAILS(cuTexObjectCreate(&o, &r, &t, NULL), CUDA_ERROR_INVALID_VALUE);
    r = good;
    r.res.linear.sizeInBytes = 1u << 20; /* beyond the allocation */
    FAILS(cuTexObjectCreate(&o, &r, &t, NULL), CUDA_ERROR_INVALID_VALUE);
    r = good;
    r.res.linear.numChannels = 3;
    FAILS(cuTexObjectCreate(&o, &r, &t, NULL), CUDA_ERROR_INVALID_VALUE);
    r = good;
    r.flags = 1;
    FAILS(cuTexObjectCreate(&o, &r, &t, NULL), CUDA_ERROR_INVALID_VALUE);
    r.resType = (CUresourcetype)9;
    FAILS(cuTexObjectCreate(&o, &r, &t, NULL), CUDA_ERROR_INVALID_VALUE);
}

static void test_pitch(void)
{
    CUDA_RESOURCE_DESC good = {.resType = CU_RESOURCE_TYPE_PITCH2D,
                               .res.pitch2D = {memory, CU_AD_FORMAT_UNSIGNED_INT8, 4, 8, 4, 64}},
                       r = good;
    CUDA_TEXTURE_DESC t = {0};
    CUtexObject o;

    OK(cuTexObjectCreate(&o, &good, &t, NULL));
    OK(cuTexObjectDestroy(o));
    r.res.pitch2D.pitchInBytes = 40; /* not a multiple of the alignment */
    FAILS(cuTexObjectCreate(&o, &r, &t, NULL), CUDA_ERROR_INVALID_VALUE);
    r.res.pitch2D.pitchInBytes = 32;
    r.res.pitch2D.width = 9; /* wider than the pitch */
    FAILS(cuTexObjectCreate(&o, &r, &t, NULL), CUDA_ERROR_INVALID_VALUE);
    r = good;
    r.res.pitch2D.height = 65001; /* the device's limit is 65000 */
    FAILS(cuTexObjectCreate(&o, &r, &t, NULL), CUDA_ERROR_INVALID_VALUE);
}

static void test_arrays(void)
{
    static const struct {
        CUDA_ARRAY3D_DESCRIPTOR d;
        CUresult result;
    } cases[] = {
        {{64, 0, 0, CU_AD_FORMAT_HALF, 2, 0}, CUDA_SUCCESS},
        {{64, 0, 2, CU_AD_FORMAT_HALF, 2, 0}, CUDA_ERROR_INVALID_VALUE},
        {{64, 0, 2, CU_AD_FORMAT_HALF, 2, CUDA_ARRAY3D_LAYERED}, CUDA_SUCCESS},
        {{64, 0, 0, CU_AD_FORMAT_HALF, 2, CUDA_ARRAY3D_LAYERED}, CUDA_ERROR_INVALID_VALUE},
        {{64, 64, 0, CU_AD_FORMAT_HALF, 3, 0}, CUDA_ERROR_INVALID_VALUE},
        {{0, 64, 0, CU_AD_FORMAT_HALF, 1, 0}, CUDA_ERROR_INVALID_VALUE},
        {{131073, 0, 0, CU_AD_FORMAT_FLOAT, 1, 0}, CUDA_ERROR_INVALID_VALUE},
        {{32769, 0, 0, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_SURFACE_LDST}, CUDA_ERROR_INVALID_VALUE},
        {{8, 8, 6, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_CUBEMAP}, CUDA_SUCCESS},
        {{8, 8, 12, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_CUBEMAP}, CUDA_ERROR_INVALID_VALUE},
        {{8, 8, 12, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_CUBEMAP | CUDA_ARRAY3D_LAYERED},
         CUDA_SUCCESS},
        {{8, 9, 6, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_CUBEMAP}, CUDA_ERROR_INVALID_VALUE},
        {{8, 8, 8, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_TEXTURE_GATHER}, CUDA_ERROR_INVALID_VALUE},
        {{8, 8, 0, CU_AD_FORMAT_UNORM_INT8X4, 4, 0}, CUDA_SUCCESS},
        {{8, 8, 0, CU_AD_FORMAT_UNORM_INT8X4, 2, 0}, CUDA_ERROR_INVALID_VALUE},
        {{8, 8, 0, CU_AD_FORMAT_NV12, 3, 0}, CUDA_SUCCESS},
        {{8, 8, 0, CU_AD_FORMAT_NV12, 1, 0}, CUDA_ERROR_INVALID_VALUE},
        {{8, 8, 0, CU_AD_FORMAT_BC1_UNORM, 4, 0}, CUDA_SUCCESS},
        {{8, 8, 0, CU_AD_FORMAT_YUY2, 4, 0}, CUDA_ERROR_NOT_SUPPORTED},
        {{8, 8, 0, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_DEFERRED_MAPPING}, CUDA_ERROR_NOT_SUPPORTED},
    };
    CUDA_RESOURCE_DESC r = {.resType = CU_RESOURCE_TYPE_ARRAY};
    CUarray array, plane;
    CUsurfObject s;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        CUresult result = cuArray3DCreate_v2(&array, &cases[i].d);
        if (!CHECK_EQ_INT(result, cases[i].result))
            fprintf(stderr, "    in case %zu\n", i);
        if (result)
            continue;
        r.res.array.hArray = array;
        FAILS(cuSurfObjectCreate(&s, &r), CUDA_ERROR_INVALID_VALUE); /* no SURFACE_LDST */
        result = cuArrayGetPlane(&plane, array, 0);
        CHECK_EQ_INT(result, cases[i].d.Format == CU_AD_FORMAT_NV12 ? CUDA_SUCCESS
                                                                    : CUDA_ERROR_INVALID_VALUE);
        OK(cuArrayDestroy(array));
    }
}

int main(void)
{
    CUcontext context = test_context();
    CUmodule m;

    OK(cuMemAlloc_v2(&out, sizeof(got)));
    OK(cuMemAlloc_v2(&memory, 4096));
    OK(cuModuleLoadData(&m, UNIFIED));
    test_memory(m);
    test_array(m);
    OK(cuModuleUnload(m));
    test_properties();
    test_samplers();
    test_ancient();
    test_linear();
    test_pitch();
    test_arrays();
    cuCtxDestroy_v2(context);
    return check_result();
}
