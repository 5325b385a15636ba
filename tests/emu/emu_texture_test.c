/* SPDX-License-Identifier: Apache-2.0
 *
 * The sampler, against one written here from the formulas of the CUDA programming guide ("Texture
 * Fetching"): coordinates are folded as the guide writes it, and sums are exact.
 */
#include <math.h>

#include "tests/emu/emu_test.h"
#include "tests/emu/emu_texture_kernels.h"

enum { POINTS = 256 };

static CUmodule module;
static CUdeviceptr in, out;
static float points[POINTS][16];
static uint32_t got[POINTS][4];

/* ---- what is sampled ---- */

struct subject {
    unsigned width, height, depth; /* 0: not that dimension */
    unsigned flags;                /* of the array */
    CUarray_format format;
    unsigned channels;
};

static uint32_t noise(uint32_t x, uint32_t y, uint32_t z, uint32_t c)
{
    uint32_t h = x * 0x9e3779b1u ^ y * 0x85ebca77u ^ z * 0xc2b2ae3du ^ (c + 1) * 0x27d4eb2fu;

    h = (h ^ h >> 15) * 0x2c1b3c6du;
    return h ^ h >> 13;
}

static unsigned channel_size(CUarray_format f)
{
    switch (f) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8:
        return 1;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF:
        return 2;
    default:
        return 4;
    }
}

/* A component: its bytes, and its value when nothing is promoted. Halves are small integers, whose
 * bits are made here by hand. */
static double component(const struct subject *s, unsigned x, unsigned y, unsigned z, unsigned c,
                        void *bytes)
{
    uint32_t n = noise(x, y, z, c);
    static const uint16_t halves[] = {0, 0x3c00, 0x4000, 0x4200, 0x4400, 0x4500, 0x4600, 0x4700};
    float f = (float)(int)(n % 2001) / 8 - 100;
    uint16_t h = (uint16_t)(halves[n % 8] | (n & 8 && n % 8 ? 0x8000 : 0));

    switch (s->format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
        return *(uint8_t *)bytes = (uint8_t)n;
    case CU_AD_FORMAT_SIGNED_INT8:
        return *(int8_t *)bytes = (int8_t)n;
    case CU_AD_FORMAT_UNSIGNED_INT16:
        return *(uint16_t *)bytes = (uint16_t)n;
    case CU_AD_FORMAT_SIGNED_INT16:
        return *(int16_t *)bytes = (int16_t)n;
    case CU_AD_FORMAT_UNSIGNED_INT32:
        return *(uint32_t *)bytes = n;
    case CU_AD_FORMAT_SIGNED_INT32:
        return *(int32_t *)bytes = (int32_t)n;
    case CU_AD_FORMAT_HALF:
        memcpy(bytes, &h, 2);
        return h & 0x8000 ? -(double)(n % 8) : n % 8;
    default:
        memcpy(bytes, &f, 4);
        return (double)f;
    }
}

static void fill(const struct subject *s, CUarray array)
{
    unsigned size = channel_size(s->format) * s->channels;
    unsigned height = s->height ? s->height : 1, depth = s->depth ? s->depth : 1;
    uint8_t *bytes = malloc((size_t)s->width * height * depth * size), *at = bytes;
    CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                          .srcHost = bytes,
                          .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                          .dstArray = array,
                          .WidthInBytes = (size_t)s->width * size,
                          .Height = height,
                          .Depth = depth};

    for (unsigned z = 0; z < depth; z++)
        for (unsigned y = 0; y < height; y++)
            for (unsigned x = 0; x < s->width; x++)
                for (unsigned c = 0; c < s->channels; c++, at += channel_size(s->format))
                    component(s, x, y, z, c, at);
    OK(cuMemcpy3D_v2(&copy));
    free(bytes);
}

static CUarray make(const struct subject *s)
{
    CUDA_ARRAY3D_DESCRIPTOR d = {.Width = s->width,
                                 .Height = s->height,
                                 .Depth = s->depth,
                                 .Format = s->format,
                                 .NumChannels = s->channels,
                                 .Flags = s->flags};
    CUarray array = NULL;

    OK(cuArray3DCreate_v2(&array, &d));
    fill(s, array);
    return array;
}

/* ---- the guide's sampler ---- */

/* x of [0, 1) where the address mode leads; -1: to the border. */
static double fold(CUaddress_mode mode, double x, double size)
{
    double whole = floor(x), part = x - whole;

    switch (mode) {
    case CU_TR_ADDRESS_MODE_WRAP:
        return part;
    case CU_TR_ADDRESS_MODE_MIRROR:
        return fmod(fabs(whole), 2) == 0 ? part : 1 - part;
    case CU_TR_ADDRESS_MODE_CLAMP:
        return x < 0 ? 0 : x >= 1 ? 1 - 1 / size : x;
    default:
        return x < 0 || x >= 1 ? -1 : x;
    }
}

struct guide {
    const struct subject *s;
    const CUDA_TEXTURE_DESC *t;
    unsigned dimensions;
    unsigned layer;
    bool is_float; /* promoted, or of a float format */
};

/* Folded by its centre, so that rounding cannot move it to a neighbour. */
static int place(const struct guide *g, unsigned axis, double texel)
{
    double size = axis == 0 ? g->s->width : axis == 1 ? g->s->height : g->s->depth;
    CUaddress_mode mode = g->t->addressMode[axis];
    bool is_unit = mode == CU_TR_ADDRESS_MODE_WRAP || mode == CU_TR_ADDRESS_MODE_MIRROR;

    if (!(g->t->flags & CU_TRSF_NORMALIZED_COORDINATES) && is_unit)
        mode = CU_TR_ADDRESS_MODE_CLAMP;
    double at = fold(mode, (texel + 0.5) / size, size);
    return at < 0 ? -1 : (int)floor(at * size);
}

static void guide_texel(const struct guide *g, const double texel[3], double v[4])
{
    int at[3] = {0, 0, (int)g->layer};
    double scale = 1;
    uint8_t bytes[4];

    for (unsigned k = 0; k < g->dimensions; k++) {
        at[k] = place(g, k, texel[k]);
        if (at[k] < 0) {
            for (unsigned c = 0; c < 4; c++)
                v[c] = (double)g->t->borderColor[c];
            return;
        }
    }
    v[0] = v[1] = v[2] = 0;
    v[3] = 1;
    if (g->is_float && channel_size(g->s->format) < 4 && g->s->format != CU_AD_FORMAT_HALF)
        scale = g->s->format == CU_AD_FORMAT_UNSIGNED_INT8    ? 255
                : g->s->format == CU_AD_FORMAT_SIGNED_INT8    ? 127
                : g->s->format == CU_AD_FORMAT_UNSIGNED_INT16 ? 65535
                                                              : 32767;
    for (unsigned c = 0; c < g->s->channels; c++) {
        v[c] = component(g->s, (unsigned)at[0], (unsigned)at[1], (unsigned)at[2], c, bytes) / scale;
        if (scale > 1 && v[c] < -1)
            v[c] = -1;
        if (scale == 255 && g->t->flags & CU_TRSF_SRGB && c < 3)
            v[c] = v[c] <= 0.04045 ? v[c] / 12.92 : pow((v[c] + 0.055) / 1.055, 2.4);
    }
}

static double texels(const struct guide *g, unsigned axis, float coordinate)
{
    double size = axis == 0 ? g->s->width : axis == 1 ? g->s->height : g->s->depth;

    return g->t->flags & CU_TRSF_NORMALIZED_COORDINATES ? (double)coordinate * size
                                                        : (double)coordinate;
}

static void guide_linear(const struct guide *g, const float *coord, double v[4])
{
    long double sum[4] = {0};
    double low[3] = {0}, weight[3] = {0}, texel[3], corner[4];

    for (unsigned k = 0; k < g->dimensions; k++) {
        double b = texels(g, k, coord[k]) - 0.5;
        low[k] = floor(b);
        weight[k] = floor((b - low[k]) * 256 + 0.5) / 256;
    }
    for (unsigned n = 0; n < 1u << g->dimensions; n++) {
        long double share = 1;
        for (unsigned k = 0; k < g->dimensions; k++) {
            texel[k] = low[k] + (n >> k & 1);
            share *= n >> k & 1 ? weight[k] : 1 - weight[k];
        }
        guide_texel(g, texel, corner);
        for (unsigned c = 0; c < 4; c++)
            sum[c] += share * corner[c];
    }
    for (unsigned c = 0; c < 4; c++)
        v[c] = g->is_float ? (double)sum[c] : (double)floorl(sum[c] + 0.5L);
}

static void guide_sample(const struct guide *g, const float *coord, uint32_t words[4])
{
    bool is_wide =
        g->s->format == CU_AD_FORMAT_UNSIGNED_INT32 || g->s->format == CU_AD_FORMAT_SIGNED_INT32;
    double v[4], texel[3];

    if (g->t->filterMode == CU_TR_FILTER_MODE_LINEAR && !is_wide) {
        guide_linear(g, coord, v);
    } else {
        for (unsigned k = 0; k < g->dimensions; k++)
            texel[k] = floor(texels(g, k, coord[k]));
        guide_texel(g, texel, v);
    }
    for (unsigned c = 0; c < 4; c++) {
        float f = (float)v[c];
        words[c] = (uint32_t)(int64_t)v[c];
        if (g->is_float)
            memcpy(&words[c], &f, 4);
    }
}

/* ---- running ---- */

static CUtexObject bind(CUarray array, const CUDA_TEXTURE_DESC *t)
{
    CUDA_RESOURCE_DESC r = {.resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = array};
    CUtexObject object = 0;

    OK(cuTexObjectCreate(&object, &r, t, NULL));
    return object;
}

static void run(const char *kernel, CUtexObject object)
{
    CUfunction f;
    void *params[] = {&object, &in, &out};

    OK(cuModuleGetFunction(&f, module, kernel));
    OK(cuMemcpyHtoD_v2(in, points, sizeof(points)));
    OK(cuLaunchKernel(f, 1, 1, 1, POINTS, 1, 1, 0, NULL, params, NULL));
    OK(cuMemcpyDtoH_v2(got, out, sizeof(got)));
}

/* From well below 0 to well above the size, with texels' centres and edges among them. */
static void make_points(const struct subject *s, bool normalized)
{
    unsigned size[3] = {s->width, s->height ? s->height : 1, s->depth ? s->depth : 1};

    for (unsigned i = 0; i < POINTS; i++) {
        uint32_t layer = i % 5;
        for (unsigned k = 0; k < 3; k++) {
            float at = (float)(noise(i, k, 7, 7) % (size[k] * 3 * 64)) / 64 - (float)size[k];
            if (i % 3 == 0)
                at += (float)(noise(i, k, 8, 8) % 1000) / 100000;
            points[i][k] = normalized ? at / (float)size[k] : at;
        }
        memcpy(&points[i][3], &layer, 4);
    }
}

/* A mirrored edge between two texels belongs to either: the guide's 1 - frac(x) lies in the one
 * before. Points on an edge are left out there. */
static bool is_on_edge(const struct guide *g, const float *coord)
{
    for (unsigned k = 0; k < g->dimensions; k++) {
        double t = texels(g, k, coord[k]);
        double place = g->t->filterMode == CU_TR_FILTER_MODE_LINEAR ? t - 0.5 : t;
        if (fabs(place - floor(place + 0.5)) < 1e-4)
            return true;
    }
    return false;
}

static void compare(const char *kernel, const struct guide *g)
{
    for (unsigned i = 0; i < POINTS; i++) {
        struct guide here = *g;
        uint32_t wanted[4];
        if (g->s->flags & CUDA_ARRAY3D_LAYERED) {
            memcpy(&here.layer, &points[i][3], 4);
            here.layer = here.layer < g->s->depth ? here.layer : g->s->depth - 1;
        }
        if (g->t->addressMode[0] == CU_TR_ADDRESS_MODE_MIRROR && is_on_edge(g, points[i]))
            continue;
        guide_sample(&here, points[i], wanted);
        if (memcmp(got[i], wanted, sizeof(wanted)) == 0)
            continue;
        fprintf(stderr,
                "%s, format %d x %u, mode %d, filter %d, flags %x, at %.9g %.9g %.9g:\n"
                "    %08x %08x %08x %08x, not %08x %08x %08x %08x\n",
                kernel, (int)g->s->format, g->s->channels, (int)g->t->addressMode[0],
                (int)g->t->filterMode, g->t->flags, (double)points[i][0], (double)points[i][1],
                (double)points[i][2], got[i][0], got[i][1], got[i][2], got[i][3], wanted[0],
                wanted[1], wanted[2], wanted[3]);
        check_failures++;
        return;
    }
}

static void check_modes(const char *kernel, const struct subject *s, unsigned dimensions)
{
    bool is_real = s->format == CU_AD_FORMAT_FLOAT || s->format == CU_AD_FORMAT_HALF;
    bool is_wide = channel_size(s->format) == 4;
    CUarray array = make(s);

    for (unsigned n = 0; n < 4 * 2 * 2 * 2; n++) {
        CUDA_TEXTURE_DESC t = {.filterMode =
                                   n >> 2 & 1 ? CU_TR_FILTER_MODE_LINEAR : CU_TR_FILTER_MODE_POINT,
                               .flags = (n >> 3 & 1 ? CU_TRSF_NORMALIZED_COORDINATES : 0) |
                                        (n >> 4 & 1 ? CU_TRSF_READ_AS_INTEGER : 0),
                               .borderColor = {0.25f, 2, -1, 8}};
        for (unsigned k = 0; k < 3; k++)
            t.addressMode[k] = (CUaddress_mode)(n & 3);
        struct guide g = {.s = s,
                          .t = &t,
                          .dimensions = dimensions,
                          .is_float =
                              is_real || (!is_wide && !(t.flags & CU_TRSF_READ_AS_INTEGER))};
        /* A border of fractions makes no integers. */
        if (!g.is_float && t.addressMode[0] == CU_TR_ADDRESS_MODE_BORDER)
            memset(t.borderColor, 0, sizeof(t.borderColor));
        CUtexObject object = bind(array, &t);
        make_points(s, t.flags & CU_TRSF_NORMALIZED_COORDINATES);
        run(kernel, object);
        compare(kernel, &g);
        OK(cuTexObjectDestroy(object));
    }
    OK(cuArrayDestroy(array));
}

static void test_formats(void)
{
    static const CUarray_format formats[] = {
        CU_AD_FORMAT_UNSIGNED_INT8, CU_AD_FORMAT_UNSIGNED_INT16, CU_AD_FORMAT_UNSIGNED_INT32,
        CU_AD_FORMAT_SIGNED_INT8,   CU_AD_FORMAT_SIGNED_INT16,   CU_AD_FORMAT_SIGNED_INT32,
        CU_AD_FORMAT_HALF,          CU_AD_FORMAT_FLOAT};
    static const unsigned channels[] = {1, 2, 4};

    for (unsigned f = 0; f < 8; f++)
        for (unsigned c = 0; c < 3; c++)
            check_modes("tex2d", &(struct subject){13, 6, 0, 0, formats[f], channels[c]}, 2);
}

static void test_shapes(void)
{
    const CUarray_format f = CU_AD_FORMAT_FLOAT, u = CU_AD_FORMAT_UNSIGNED_INT8;

    check_modes("tex1d", &(struct subject){17, 0, 0, 0, f, 1}, 1);
    check_modes("tex1d", &(struct subject){16, 0, 0, 0, u, 4}, 1);
    check_modes("tex3d", &(struct subject){7, 5, 4, 0, f, 2}, 3);
    check_modes("tex3d", &(struct subject){8, 4, 2, 0, u, 4}, 3);
    check_modes("texa1d", &(struct subject){9, 0, 3, CUDA_ARRAY3D_LAYERED, u, 2}, 1);
    check_modes("texa2d", &(struct subject){9, 4, 3, CUDA_ARRAY3D_LAYERED, f, 4}, 2);
    check_modes("tex2d", &(struct subject){1, 1, 0, 0, f, 1}, 2);
}

/* ---- one thing each ---- */

static void set_point(unsigned i, float x, float y, float z)
{
    points[i][0] = x;
    points[i][1] = y;
    points[i][2] = z;
}

static float real(uint32_t word)
{
    float f;

    memcpy(&f, &word, 4);
    return f;
}

static void test_srgb(void)
{
    const struct subject s = {13, 6, 0, 0, CU_AD_FORMAT_UNSIGNED_INT8, 4};
    CUDA_TEXTURE_DESC t = {.flags = CU_TRSF_SRGB, .filterMode = CU_TR_FILTER_MODE_LINEAR};
    struct guide g = {.s = &s, .t = &t, .dimensions = 2, .is_float = true};
    CUarray array = make(&s);
    CUtexObject object = bind(array, &t);

    make_points(&s, false);
    run("tex2d", object);
    compare("tex2d", &g);
    OK(cuTexObjectDestroy(object));
    OK(cuArrayDestroy(array));
}

/* Integer coordinates name the texel, whatever the filter; the layout of linear memory ends. */
static void test_fetch(void)
{
    const struct subject s = {8, 4, 0, 0, CU_AD_FORMAT_UNSIGNED_INT32, 1};
    CUDA_TEXTURE_DESC t = {.filterMode = CU_TR_FILTER_MODE_LINEAR,
                           .flags = CU_TRSF_NORMALIZED_COORDINATES,
                           .addressMode = {CU_TR_ADDRESS_MODE_CLAMP, CU_TR_ADDRESS_MODE_CLAMP}};
    CUarray array = make(&s);
    CUtexObject object = bind(array, &t);
    CUdeviceptr memory;
    uint32_t words[8] = {10, 11, 12, 13, 14, 15, 16, 17};
    CUDA_RESOURCE_DESC r = {.resType = CU_RESOURCE_TYPE_LINEAR};

    set_point(0, 3, 2, 0);
    set_point(1, -5, 9, 0);
    run("fetch2d", object);
    CHECK_EQ_INT(got[0][0], noise(3, 2, 0, 0));
    CHECK_EQ_INT(got[1][0], noise(0, 3, 0, 0));
    OK(cuTexObjectDestroy(object));
    OK(cuArrayDestroy(array));

    OK(cuMemAlloc_v2(&memory, sizeof(words)));
    OK(cuMemcpyHtoD_v2(memory, words, sizeof(words)));
    r.res.linear.devPtr = memory;
    r.res.linear.format = CU_AD_FORMAT_UNSIGNED_INT32;
    r.res.linear.numChannels = 1;
    r.res.linear.sizeInBytes = sizeof(words) - 4;
    OK(cuTexObjectCreate(&object, &r, &t, NULL));
    set_point(0, 6, 0, 0);
    set_point(1, 7, 0, 0);
    set_point(2, -1, 0, 0);
    run("fetch1d", object);
    CHECK_EQ_INT(got[0][0], 16);
    CHECK_EQ_INT(got[1][0], 0);
    CHECK_EQ_INT(got[2][0], 0);
    OK(cuTexObjectDestroy(object));
    OK(cuMemFree_v2(memory));
}

/* A cube whose faces hold their numbers, the guide's table of faces, and a place within one. */
static void test_cube(void)
{
    static const float directions[6][3] = {{1, .2f, .3f},  {-1, .2f, .3f}, {.2f, 1, .3f},
                                           {.2f, -1, .3f}, {.2f, .3f, 1},  {.2f, .3f, -1}};
    /* s and t of these: ((s / m) + 1) / 2 of four texels */
    static const float sc[6] = {-.3f, .3f, .2f, .2f, .2f, -.2f};
    static const float tc[6] = {-.2f, -.2f, .3f, -.3f, -.3f, -.3f};
    CUDA_ARRAY3D_DESCRIPTOR d = {
        4, 4, 12, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_CUBEMAP | CUDA_ARRAY3D_LAYERED};
    CUDA_TEXTURE_DESC t = {.flags = CU_TRSF_NORMALIZED_COORDINATES};
    float texels_of[12][4][4];
    uint32_t cube = 1;
    CUarray array;
    CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                          .srcHost = texels_of,
                          .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                          .WidthInBytes = 16,
                          .Height = 4,
                          .Depth = 12};

    for (int n = 0; n < 12 * 16; n++)
        texels_of[n / 16][n / 4 % 4][n % 4] = (float)n;
    OK(cuArray3DCreate_v2(&array, &d));
    copy.dstArray = array;
    OK(cuMemcpy3D_v2(&copy));
    CUtexObject object = bind(array, &t);
    for (unsigned i = 0; i < 6; i++) {
        set_point(i, 5 * directions[i][0], 5 * directions[i][1], 5 * directions[i][2]);
        memcpy(&points[i][3], &cube, 4);
    }
    run("texacube", object);
    for (unsigned i = 0; i < 6; i++) {
        int x = (int)((sc[i] + 1) / 2 * 4), y = (int)((tc[i] + 1) / 2 * 4);
        CHECK_EQ_INT((int)real(got[i][0]), (int)texels_of[6 + i][y][x]);
    }
    OK(cuTexObjectDestroy(object));
    OK(cuArrayDestroy(array));
}

static CUmipmappedArray make_mipmap(void)
{
    CUDA_ARRAY3D_DESCRIPTOR d = {16, 8, 0, CU_AD_FORMAT_FLOAT, 1, 0}, level;
    CUmipmappedArray mipmap;
    CUarray array, again;

    OK(cuMipmappedArrayCreate(&mipmap, &d, 100)); /* more than there can be: 16 8 4 2 1 */
    for (unsigned k = 0; k < 5; k++) {
        float values[128];
        OK(cuMipmappedArrayGetLevel(&array, mipmap, k));
        OK(cuMipmappedArrayGetLevel(&again, mipmap, k));
        CHECK(array == again);
        OK(cuArray3DGetDescriptor_v2(&level, array));
        CHECK_EQ_INT(level.Width, 16 >> k);
        CHECK_EQ_INT(level.Height, k < 4 ? 8 >> k : 1);
        for (unsigned n = 0; n < 128; n++)
            values[n] = (float)(k * 10);
        CUDA_MEMCPY2D copy = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                              .srcHost = values,
                              .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                              .dstArray = array,
                              .WidthInBytes = level.Width * 4,
                              .Height = level.Height};
        OK(cuMemcpy2D_v2(&copy));
        FAILS(cuArrayDestroy(array), CUDA_ERROR_INVALID_VALUE);
    }
    FAILS(cuMipmappedArrayGetLevel(&array, mipmap, 5), CUDA_ERROR_INVALID_VALUE);
    return mipmap;
}

static void test_levels(void)
{
    CUmipmappedArray mipmap = make_mipmap();
    CUDA_RESOURCE_DESC r = {.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY,
                            .res.mipmap.hMipmappedArray = mipmap};
    CUDA_TEXTURE_DESC t = {.flags = CU_TRSF_NORMALIZED_COORDINATES,
                           .mipmapFilterMode = CU_TR_FILTER_MODE_LINEAR,
                           .maxMipmapLevelClamp = 3,
                           .minMipmapLevelClamp = 0.5f,
                           .mipmapLevelBias = 0.25f};
    static const float lods[] = {-4, 1, 1.5f, 9};
    static const float linear[] = {5, 12.5f, 17.5f, 30}; /* biased, clamped */
    static const float nearest[] = {10, 10, 20, 30};
    CUtexObject object;

    for (unsigned i = 0; i < 4; i++)
        points[i][7] = lods[i];
    OK(cuTexObjectCreate(&object, &r, &t, NULL));
    run("level2d", object);
    for (unsigned i = 0; i < 4; i++)
        CHECK(real(got[i][0]) == linear[i]);
    run("base2d", object);
    CHECK(real(got[0][0]) == 0);
    run("query", object);
    CHECK_EQ_INT(got[0][0], 16);
    CHECK_EQ_INT(got[0][1], 8);
    CHECK_EQ_INT(got[0][2], 5);
    CHECK_EQ_INT(got[0][3], 0x10de);
    run("query_more", object);
    CHECK_EQ_INT(got[0][0], 8);
    CHECK_EQ_INT(got[0][2], 0x10b0);
    OK(cuTexObjectDestroy(object));

    t.mipmapFilterMode = CU_TR_FILTER_MODE_POINT;
    OK(cuTexObjectCreate(&object, &r, &t, NULL));
    run("level2d", object);
    for (unsigned i = 0; i < 4; i++)
        CHECK(real(got[i][0]) == nearest[i]);
    OK(cuTexObjectDestroy(object));

    /* Four texels of the first level a pixel: level 2. */
    t.mipmapLevelBias = t.minMipmapLevelClamp = 0;
    OK(cuTexObjectCreate(&object, &r, &t, NULL));
    points[0][4] = 4.0f / 16;
    points[0][5] = points[0][8] = 0;
    points[0][9] = 1.0f / 8;
    run("grad2d", object);
    CHECK(real(got[0][0]) == 20);
    OK(cuTexObjectDestroy(object));

    /* A view that begins at level 1 and ends at 2. */
    CUDA_RESOURCE_VIEW_DESC v = {.format = CU_RES_VIEW_FORMAT_UINT_1X32,
                                 .width = 16,
                                 .height = 8,
                                 .firstMipmapLevel = 1,
                                 .lastMipmapLevel = 2};
    OK(cuTexObjectCreate(&object, &r, &t, &v));
    run("query", object);
    CHECK_EQ_INT(got[0][0], 8);
    CHECK_EQ_INT(got[0][2], 2);
    CHECK_EQ_INT(got[0][3], 0x10dc);
    OK(cuTexObjectDestroy(object));
    v.lastMipmapLevel = 5;
    FAILS(cuTexObjectCreate(&object, &r, &t, &v), CUDA_ERROR_INVALID_VALUE);
    OK(cuMipmappedArrayDestroy(mipmap));
    FAILS(cuMipmappedArrayDestroy(mipmap), CUDA_ERROR_INVALID_HANDLE);
}

/* The footprint's four texels from the lower left one counterclockwise. */
static void test_gather(void)
{
    static const char *const kernels[] = {"gather_r", "gather_g", "gather_b", "gather_a"};
    const struct subject s = {8, 8, 0, CUDA_ARRAY3D_TEXTURE_GATHER, CU_AD_FORMAT_UNSIGNED_INT32, 4};
    CUDA_TEXTURE_DESC t = {0};
    CUarray array = make(&s);
    CUtexObject object = bind(array, &t);

    set_point(0, 3.2f, 4.9f, 0); /* between 2 and 3, 4 and 5 */
    for (unsigned c = 0; c < 4; c++) {
        run(kernels[c], object);
        CHECK_EQ_INT(got[0][0], noise(2, 5, 0, c));
        CHECK_EQ_INT(got[0][1], noise(3, 5, 0, c));
        CHECK_EQ_INT(got[0][2], noise(3, 4, 0, c));
        CHECK_EQ_INT(got[0][3], noise(2, 4, 0, c));
    }
    OK(cuTexObjectDestroy(object));
    OK(cuArrayDestroy(array));
}

static void test_operands(void)
{
    const struct subject s = {8, 8, 0, 0, CU_AD_FORMAT_FLOAT, 2};
    CUDA_TEXTURE_DESC t = {.addressMode = {CU_TR_ADDRESS_MODE_CLAMP, CU_TR_ADDRESS_MODE_CLAMP}};
    CUarray array = make(&s);
    CUtexObject object = bind(array, &t);
    uint8_t bytes[4];

    set_point(0, 5.5f, 2.5f, 0);
    run("offset2d", object);
    CHECK(real(got[0][0]) == (float)component(&s, 3, 5, 0, 0, bytes));
    run("resident2d", object);
    CHECK(real(got[0][1]) == (float)component(&s, 5, 2, 0, 1, bytes));
    CHECK_EQ_INT(got[0][3], 7);
    float value = (float)component(&s, 5, 2, 0, 0, bytes);
    points[0][11] = value + 0.5f;
    run("compare2d", object);
    CHECK(real(got[0][0]) == 0);
    points[0][11] = value;
    run("compare2d", object);
    CHECK(real(got[0][0]) == 1);
    OK(cuTexObjectDestroy(object));
    OK(cuArrayDestroy(array));

    const struct subject h = {8, 8, 0, 0, CU_AD_FORMAT_HALF, 4};
    array = make(&h);
    object = bind(array, &t);
    set_point(0, 1.5f, 6.5f, 0);
    run("half2d", object);
    for (unsigned c = 0; c < 4; c++) {
        component(&h, 1, 6, 0, c, bytes);
        CHECK_EQ_INT(got[0][c / 2] >> c % 2 * 16 & 0xffff, bytes[0] | bytes[1] << 8);
    }
    OK(cuTexObjectDestroy(object));
    OK(cuArrayDestroy(array));
}

/* Every launch of a graph sees what its kernel node was given, also after the object went. */
static void test_graph(void)
{
    const struct subject s = {8, 8, 0, 0, CU_AD_FORMAT_FLOAT, 1};
    CUDA_TEXTURE_DESC t = {0};
    CUarray array = make(&s);
    CUtexObject object = bind(array, &t);
    CUfunction f;
    CUgraph graph;
    CUgraphNode node;
    CUgraphExec exec;
    uint8_t bytes[4];
    void *params[] = {&object, &in, &out};

    set_point(0, 2, 1, 0);
    OK(cuMemcpyHtoD_v2(in, points, sizeof(points)));
    OK(cuModuleGetFunction(&f, module, "tex2d"));
    CUDA_KERNEL_NODE_PARAMS_v2 kernel = {.func = f,
                                         .gridDimX = 1,
                                         .gridDimY = 1,
                                         .gridDimZ = 1,
                                         .blockDimX = 1,
                                         .blockDimY = 1,
                                         .blockDimZ = 1,
                                         .kernelParams = params};
    OK(cuGraphCreate(&graph, 0));
    OK(cuGraphAddKernelNode_v2(&node, graph, NULL, 0, &kernel));
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    OK(cuGraphDestroy(graph));
    OK(cuTexObjectDestroy(object));
    for (unsigned i = 0; i < 2; i++) {
        OK(cuMemsetD8_v2(out, 0, sizeof(got)));
        OK(cuGraphLaunch(exec, NULL));
        OK(cuMemcpyDtoH_v2(got, out, sizeof(got)));
        CHECK(real(got[0][0]) == (float)component(&s, 2, 1, 0, 0, bytes));
    }
    OK(cuGraphExecDestroy(exec));
    OK(cuArrayDestroy(array));
}

/* The object may go when the kernel has been sent; one that is gone stops the next kernel. */
static void test_handles(void)
{
    const struct subject s = {8, 8, 0, 0, CU_AD_FORMAT_FLOAT, 1};
    CUDA_TEXTURE_DESC t = {0};
    CUarray array = make(&s);
    CUtexObject object = bind(array, &t);
    CUfunction f;
    uint8_t bytes[4];
    void *params[] = {&object, &in, &out};

    set_point(0, 1, 1, 0);
    OK(cuMemcpyHtoD_v2(in, points, sizeof(points)));
    OK(cuModuleGetFunction(&f, module, "tex2d"));
    OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    OK(cuTexObjectDestroy(object));
    OK(cuMemcpyDtoH_v2(got, out, sizeof(got)));
    CHECK(real(got[0][0]) == (float)component(&s, 1, 1, 0, 0, bytes));
    FAILS(cuTexObjectDestroy(object), CUDA_ERROR_INVALID_VALUE);
    OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    FAILS(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
}

int main(void)
{
    CUcontext context = test_context();

    OK(cuModuleLoadData(&module, PTX_HEAD_TEXTURES TEX_KERNELS));
    OK(cuMemAlloc_v2(&in, sizeof(points)));
    OK(cuMemAlloc_v2(&out, sizeof(got)));
    test_formats();
    test_shapes();
    test_srgb();
    test_fetch();
    test_cube();
    test_levels();
    test_gather();
    test_operands();
    test_graph();
    test_handles();
    cuCtxDestroy_v2(context);
    return check_result();
}
