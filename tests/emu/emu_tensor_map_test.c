/* SPDX-License-Identifier: Apache-2.0
 *
 * Tensor maps through the driver API: what is accepted, and kernels that get them by value.
 */
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/emu/emu_test.h"

/* The map is an argument by value; thread 0 loads a box of 512 bytes, all write it out. */
#define LOAD(name, instruction)                                                                    \
    ".visible .entry " name "(.param .align 64 .b8 map[128], .param .u64 out) {\n"                 \
    ".reg .b32 %r<9>; .reg .b64 %d<6>; .reg .pred %p<3>; .reg .b16 %h<3>;\n"                       \
    ".shared .align 128 .b8 s[512]; .shared .align 8 .b64 bar;\n"                                  \
    "mov.b64 %d1, map; cvta.param.u64 %d1, %d1; ld.param.u64 %d2, [out]; mov.u32 %r0, %tid.x;\n"   \
    "setp.ne.u32 %p1, %r0, 0; mov.u32 %r1, 4; mov.u32 %r2, -1; mov.u32 %r5, 0; mov.u16 %h1, 1;\n"  \
    "@%p1 bra W; mbarrier.init.shared::cta.b64 [bar], 1;\n"                                        \
    "mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 512;\n" instruction "\n"                  \
    "W: bar.sync 0;\nV: mbarrier.try_wait.parity.shared::cta.b64 %p2, [bar], 0; @!%p2 bra V;\n"    \
    "mov.u32 %r3, s; mad.lo.u32 %r3, %r0, 4, %r3; ld.shared.u32 %r4, [%r3];\n"                     \
    "mad.wide.u32 %d2, %r0, 4, %d2; st.global.u32 [%d2], %r4; ret;\n}\n"
static const char ptx[] = ".version 8.0\n.target sm_90\n.address_size 64\n" LOAD(
    "tiled", "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [s], "
             "[%d1, {%r1, %r2}], [bar];")
    LOAD("im2col", "cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::"
                   "complete_tx::bytes [s], [%d1, {%r5, %r2, %r5}], [bar], {%h1};");

/* Arguments of cuTensorMapEncodeTiled, and of Im2col. */
struct arguments {
    CUtensorMapDataType type;
    cuuint32_t rank;
    uint64_t address;
    cuuint64_t size[5], strides[5];
    cuuint32_t box[5], steps[5];
    int lower[3], upper[3];
    cuuint32_t channels, pixels;
    CUtensorMapInterleave interleave;
    CUtensorMapSwizzle swizzle;
    CUtensorMapL2promotion promotion;
    CUtensorMapFloatOOBfill fill;
};

static CUtensorMap map;
static CUdeviceptr memory, result;
static uint32_t words[4096], out[128];

static struct arguments tiled(void)
{
    return (struct arguments){.type = CU_TENSOR_MAP_DATA_TYPE_UINT32,
                              .rank = 2,
                              .address = memory,
                              .size = {30, 10},
                              .strides = {128},
                              .box = {16, 8},
                              .steps = {1, 1}};
}

static CUresult encode(CUtensorMap *to, const struct arguments *a)
{
    return cuTensorMapEncodeTiled(to, a->type, a->rank, (void *)(uintptr_t)a->address, a->size,
                                  a->strides, a->box, a->steps, a->interleave, a->swizzle,
                                  a->promotion, a->fill);
}

static struct arguments im2col(void)
{
    return (struct arguments){.type = CU_TENSOR_MAP_DATA_TYPE_UINT32,
                              .rank = 3,
                              .address = memory,
                              .size = {16, 5, 4},
                              .strides = {64, 320},
                              .steps = {1, 1, 1},
                              .lower = {-1},
                              .upper = {-1},
                              .channels = 16,
                              .pixels = 8};
}

static CUresult encode_im2col(CUtensorMap *to, const struct arguments *a)
{
    return cuTensorMapEncodeIm2col(to, a->type, a->rank, (void *)(uintptr_t)a->address, a->size,
                                   a->strides, a->lower, a->upper, a->channels, a->pixels, a->steps,
                                   a->interleave, a->swizzle, a->promotion, a->fill);
}

#define TILED_FAILS(why, change)                                                                   \
    do {                                                                                           \
        struct arguments a = tiled();                                                              \
        change;                                                                                    \
        FAILS(encode(&map, &a), why);                                                              \
    } while (0)
#define IM2COL_FAILS(why, change)                                                                  \
    do {                                                                                           \
        struct arguments a = im2col();                                                             \
        change;                                                                                    \
        FAILS(encode_im2col(&map, &a), why);                                                       \
    } while (0)
#define INVALID CUDA_ERROR_INVALID_VALUE

static void test_tiled_arguments(void)
{
    struct arguments good = tiled();

    OK(encode(&map, &good));
    FAILS(encode(NULL, &good), INVALID);
    FAILS(encode((CUtensorMap *)(void *)((char *)&map + 16), &good), INVALID);
    TILED_FAILS(INVALID, a.rank = 0);
    TILED_FAILS(INVALID, a.rank = 6);
    TILED_FAILS(INVALID, a.type = (CUtensorMapDataType)16);
    TILED_FAILS(INVALID, a.address = 0);
    TILED_FAILS(INVALID, a.address += 8);
    TILED_FAILS(INVALID, a.size[1] = 0);
    TILED_FAILS(INVALID, a.size[1] = (1ull << 32) + 1);
    TILED_FAILS(INVALID, a.strides[0] = 120);
    TILED_FAILS(INVALID, a.strides[0] = 1ull << 40);
    TILED_FAILS(INVALID, a.box[1] = 0);
    TILED_FAILS(INVALID, a.box[1] = 257);
    TILED_FAILS(INVALID, a.box[0] = 3);
    TILED_FAILS(INVALID, a.steps[1] = 0);
    TILED_FAILS(INVALID, a.steps[1] = 9);
    TILED_FAILS(INVALID, a.swizzle = CU_TENSOR_MAP_SWIZZLE_32B);
    TILED_FAILS(INVALID, a.swizzle = (CUtensorMapSwizzle)7);
    TILED_FAILS(INVALID, a.promotion = (CUtensorMapL2promotion)4);
    TILED_FAILS(INVALID, a.fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA);
    TILED_FAILS(INVALID, a.interleave = (CUtensorMapInterleave)3);
    TILED_FAILS(CUDA_ERROR_NOT_SUPPORTED, a.interleave = CU_TENSOR_MAP_INTERLEAVE_16B);
    TILED_FAILS(INVALID, a.type = CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN16B);
    TILED_FAILS(CUDA_SUCCESS, a.type = CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN16B; a.size[0] = 256;
                a.box[0] = 128);
    TILED_FAILS(CUDA_SUCCESS, a.size[0] = a.size[1] = 1ull << 32);
    TILED_FAILS(CUDA_SUCCESS, a.swizzle = CU_TENSOR_MAP_SWIZZLE_64B);
}

static void test_im2col_arguments(void)
{
    struct arguments good = im2col();

    OK(encode_im2col(&map, &good));
    IM2COL_FAILS(INVALID, a.rank = 2);
    IM2COL_FAILS(INVALID, a.channels = 0);
    IM2COL_FAILS(INVALID, a.channels = 260);
    IM2COL_FAILS(INVALID, a.pixels = 0);
    IM2COL_FAILS(INVALID, a.pixels = 1025);
    IM2COL_FAILS(INVALID, a.lower[0] = -32769);
    IM2COL_FAILS(INVALID, a.upper[0] = 32768);
    IM2COL_FAILS(INVALID, a.upper[0] = -6);
    IM2COL_FAILS(CUDA_ERROR_NOT_SUPPORTED, a.interleave = CU_TENSOR_MAP_INTERLEAVE_32B;
                 a.swizzle = CU_TENSOR_MAP_SWIZZLE_32B);
    FAILS(cuTensorMapEncodeIm2colWide(&map, good.type, 3, (void *)(uintptr_t)memory, good.size,
                                      good.strides, -1, -1, 16, 8, good.steps, good.interleave,
                                      CU_TENSOR_MAP_IM2COL_WIDE_MODE_W, CU_TENSOR_MAP_SWIZZLE_128B,
                                      good.promotion, good.fill),
          CUDA_ERROR_NOT_SUPPORTED);
}

static void launch(CUmodule module, const char *name)
{
    CUfunction f;
    void *arguments[] = {&map, &result};

    OK(cuModuleGetFunction(&f, module, name));
    OK(cuMemsetD8_v2(result, 0xee, sizeof(out)));
    OK(cuLaunchKernel(f, 1, 1, 1, 128, 1, 1, 0, NULL, arguments, NULL));
    OK(cuCtxSynchronize());
    OK(cuMemcpyDtoH_v2(out, result, sizeof(out)));
}

/* A box of 8 rows of 16 words from (4, -1) on, `words` after the start of memory. */
static void check_tile(unsigned from)
{
    for (unsigned k = 0; k < 128; k++) {
        int y = (int)(k / 16) - 1;
        bool inside = y >= 0 && y < 10;
        if (!CHECK_EQ_INT(out[k], inside ? words[from + 32u * (unsigned)y + 4 + k % 16] : 0))
            return;
    }
}

static void test_kernels(CUmodule module)
{
    struct arguments a = tiled();

    OK(encode(&map, &a));
    launch(module, "tiled");
    check_tile(0);
    OK(cuTensorMapReplaceAddress(&map, (void *)(uintptr_t)(memory + 1024)));
    launch(module, "tiled");
    check_tile(256);
    FAILS(cuTensorMapReplaceAddress(&map, (void *)(uintptr_t)(memory + 8)), INVALID);
    FAILS(cuTensorMapReplaceAddress(NULL, (void *)(uintptr_t)memory), INVALID);
    /* Filters at -1, 0, 1, 2, 3 of an image of five, of which the second place is read. */
    a = im2col();
    OK(encode_im2col(&map, &a));
    launch(module, "im2col");
    for (unsigned k = 0; k < 128; k++)
        if (!CHECK_EQ_INT(out[k], words[k]))
            break;
}

/* Other bytes are no map, and the context keeps the error. */
static void test_no_map(CUmodule module)
{
    CUfunction f;
    void *arguments[] = {&map, &result};

    memset(&map, 0x5a, sizeof(map));
    FAILS(cuTensorMapReplaceAddress(&map, (void *)(uintptr_t)memory), INVALID);
    OK(cuModuleGetFunction(&f, module, "tiled"));
    OK(cuLaunchKernel(f, 1, 1, 1, 128, 1, 1, 0, NULL, arguments, NULL));
    FAILS(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_INSTRUCTION);
}

/* Older devices have none. */
static void test_old_device(void)
{
    pid_t child = fork();

    if (child == 0) {
        int has = 1;
        setenv("TS_EMU_CC", "8.9", 1);
        test_context();
        OK(cuMemAlloc_v2(&memory, 1 << 16));
        struct arguments a = tiled();
        FAILS(encode(&map, &a), CUDA_ERROR_NOT_SUPPORTED);
        OK(cuDeviceGetAttribute(&has, CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED, 0));
        CHECK_EQ_INT(has, 0);
        _exit(check_result());
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
}

int main(void)
{
    CUmodule module;
    int has = 0;

    test_old_device();
    setenv("TS_EMU_CC", "9.0", 1);
    test_context();
    OK(cuDeviceGetAttribute(&has, CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED, 0));
    CHECK_EQ_INT(has, 1);
    for (unsigned k = 0; k < 4096; k++)
        words[k] = k * 2654435761u;
    OK(cuMemAlloc_v2(&memory, sizeof(words)));
    OK(cuMemAlloc_v2(&result, sizeof(out)));
    OK(cuMemcpyHtoD_v2(memory, words, sizeof(words)));
    OK(cuModuleLoadData(&module, ptx));
    test_tiled_arguments();
    test_im2col_arguments();
    test_kernels(module);
    test_no_map(module);
    return check_result();
}
