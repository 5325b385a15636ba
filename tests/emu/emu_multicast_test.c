/* SPDX-License-Identifier: Apache-2.0
 *
 * Multicast objects of two devices: what multimem instructions of each kind do to both, and what is
 * refused.
 */
#include "tests/emu/emu_test.h"

#include <stdlib.h>
#include <string.h>

enum { SIZE = 2 << 20 };

static const char text[] = ".version 8.1\n.target sm_90\n.address_size 64\n"
#define HEAD(name)                                                                                 \
    ".visible .entry " name "(.param .u64 to, .param .u64 out)\n{\n"                               \
    ".reg .b32 %r<9>; .reg .b64 %d<9>; .reg .f32 %f<9>;\n"                                         \
    "ld.param.u64 %d1, [to]; ld.param.u64 %d2, [out];\n"
    HEAD(
        "loads") "multimem.ld_reduce.weak.global.add.f32 %f1, [%d1];\n"
                 "st.global.f32 [%d2], %f1;\n"
                 "multimem.ld_reduce.weak.global.max.u32 %r1, [%d1+4];\n"
                 "st.global.u32 [%d2+4], %r1;\n"
                 "multimem.ld_reduce.weak.global.min.s64 %d3, [%d1+8];\n"
                 "st.global.u64 [%d2+8], %d3;\n"
                 "multimem.ld_reduce.weak.global.add.acc::f32.v4.f16x2 {%r1,%r2,%r3,%r4}, "
                 "[%d1+16];\n"
                 "st.global.v4.u32 [%d2+16], {%r1,%r2,%r3,%r4};\n"
                 "multimem.ld_reduce.weak.global.and.b32 %r1, [%d1+4];\n"
                 "st.global.u32 [%d2+32], %r1;\nret;\n}\n" HEAD(
                     "stores") "mov.f32 %f1, 0f3f800000; mov.f32 %f2, 0f40000000; mov.u64 %d3, "
                               "77;\n"
                               "mov.u32 %r1, 12;\n"
                               "multimem.st.weak.global.v2.f32 [%d1+64], {%f1, %f2};\n"
                               "multimem.st.relaxed.sys.global.u64 [%d1+72], %d3;\n"
                               "multimem.red.relaxed.sys.global.add.v2.f32 [%d1+64], {%f2, %f2};\n"
                               "multimem.red.relaxed.sys.global.max.u64 [%d1+72], 80;\n"
                               "multimem.red.relaxed.sys.global.or.b32 [%d1+4], "
                               "%r1;\nret;\n}\n" HEAD(
                                   "plain") "ld.global.u32 %r1, [%d1]; st.global.u32 [%d2], "
                                            "%r1;\nret;\n}\n" HEAD("outside") "multimem.st.weak."
                                                                              "global.u32 [%d2], "
                                                                              "1;\nret;\n}\n" HEAD("skewed") "multimem.st.weak.global.u32 [%d1+2], 1;\nret;\n}\n";

static CUmemGenericAllocationHandle object, memory[2];
static CUdeviceptr address, own[2], out;
static CUcontext context, other;
static CUmodule module;

static CUdeviceptr map(CUmemGenericAllocationHandle handle)
{
    CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, 0}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUdeviceptr at = 0;

    OK(cuMemAddressReserve(&at, SIZE, 0, 0, 0));
    OK(cuMemMap(at, SIZE, 0, handle, 0));
    OK(cuMemSetAccess(at, SIZE, &access, 1));
    return at;
}

static CUresult run(const char *name)
{
    CUfunction function;

    OK(cuModuleGetFunction(&function, module, name));
    OK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, (void *[]){&address, &out}, NULL));
    return cuCtxSynchronize();
}

static uint32_t word(CUdeviceptr from, unsigned at)
{
    uint32_t value = 0;

    OK(cuMemcpyDtoH_v2(&value, from + at, 4));
    return value;
}

static void set(unsigned device, unsigned at, uint32_t value)
{
    OK(cuMemcpyHtoD_v2(own[device] + at, &value, 4));
}

static void make(void)
{
    CUmulticastObjectProp p = {.numDevices = 3, .size = SIZE};
    size_t granularity = 0;

    FAILS(cuMulticastCreate(&object, &p), CUDA_ERROR_INVALID_DEVICE);
    p.numDevices = 2;
    p.size = 100;
    FAILS(cuMulticastCreate(&object, &p), CUDA_ERROR_INVALID_VALUE);
    OK(cuMulticastGetGranularity(&granularity, &p, CU_MULTICAST_GRANULARITY_MINIMUM));
    CHECK_EQ_INT(granularity, SIZE);
    p.size = SIZE;
    OK(cuMulticastCreate(&object, &p));
    for (int i = 0; i < 2; i++) {
        CUmemAllocationProp m = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                 .location = {CU_MEM_LOCATION_TYPE_DEVICE, i}};
        OK(cuMemCreate(&memory[i], SIZE, &m, 0));
        own[i] = map(memory[i]);
        FAILS(cuMulticastBindMem(object, 0, memory[i], 0, SIZE, 0), CUDA_ERROR_INVALID_VALUE);
    }
    OK(cuMemAddressReserve(&address, SIZE, 0, 0, 0));
    FAILS(cuMemMap(address, SIZE, 0, object, 0), CUDA_ERROR_INVALID_VALUE); /* nobody is there */
    for (int i = 0; i < 2; i++)
        OK(cuMulticastAddDevice(object, i));
    FAILS(cuMulticastAddDevice(object, 0), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemAddressFree(address, SIZE));
    address = map(object);
    OK(cuMulticastBindMem(object, 0, memory[0], 0, SIZE, 0));
    FAILS(cuMulticastBindMem(object, 0, memory[0], 0, SIZE, 0), CUDA_ERROR_INVALID_VALUE);
    OK(cuMulticastBindAddr(object, 0, own[1], SIZE, 0));
}

static void test_loads(void)
{
    for (unsigned i = 0; i < 2; i++) {
        set(i, 0, i ? 0x3f000000 : 0x3fc00000); /* 0.5, 1.5 */
        set(i, 4, i ? 0xf0 : 0xff);
        set(i, 8, i ? 5 : 0xfffffffe); /* 5, -2 */
        set(i, 12, i ? 0 : 0xffffffff);
        for (unsigned k = 0; k < 4; k++)
            set(i, 16 + k * 4, 0x3c003c00 + i * 0x0400); /* 1 and 1, 1 and 2 */
    }
    CHECK_EQ_INT(run("loads"), CUDA_SUCCESS);
    CHECK_EQ_INT(word(out, 0), 0x40000000);
    CHECK_EQ_INT(word(out, 4), 0xff);
    CHECK_EQ_INT(word(out, 8), 0xfffffffe);
    CHECK_EQ_INT(word(out, 12), 0xffffffff);
    CHECK_EQ_INT(word(out, 16), 0x40004200);
    CHECK_EQ_INT(word(out, 28), 0x40004200);
    CHECK_EQ_INT(word(out, 32), 0xf0);
}

static void test_stores(void)
{
    CHECK_EQ_INT(run("stores"), CUDA_SUCCESS);
    for (unsigned i = 0; i < 2; i++) {
        CHECK_EQ_INT(word(own[i], 64), 0x40400000); /* 1 + 2 */
        CHECK_EQ_INT(word(own[i], 68), 0x40800000); /* 2 + 2 */
        CHECK_EQ_INT(word(own[i], 72), 80);
        CHECK_EQ_INT(word(own[i], 4), i ? 0xfc : 0xff);
    }
}

/* A fault leaves the context unusable: each has one of its own. */
static void fails(const char *name, CUresult expected)
{
    OK(cuCtxDestroy_v2(context));
    OK(cuCtxCreate_v2(&context, 0, 0));
    OK(cuModuleLoadData(&module, text));
    OK(cuMemAlloc_v2(&out, 256));
    CHECK_EQ_INT(run(name), expected);
}

int main(void)
{
    setenv("TS_EMU_DEVICES", "2", 1);
    setenv("TS_EMU_CC", "9.0", 1);
    OK(cuInit(0));
    OK(cuCtxCreate_v2(&other, 0, 1));
    OK(cuCtxCreate_v2(&context, 0, 0));
    OK(cuModuleLoadData(&module, text));
    OK(cuMemAlloc_v2(&out, 256));
    make();
    test_loads();
    test_stores();
    fails("plain", CUDA_ERROR_ILLEGAL_ADDRESS);
    fails("outside", CUDA_ERROR_ILLEGAL_ADDRESS);
    fails("skewed", CUDA_ERROR_MISALIGNED_ADDRESS);
    fails("stores", CUDA_SUCCESS);
    OK(cuMulticastUnbind(object, 1, 0, SIZE));
    FAILS(cuMulticastUnbind(object, 1, 0, SIZE), CUDA_ERROR_INVALID_VALUE);
    fails("stores", CUDA_ERROR_ILLEGAL_ADDRESS); /* of one device nothing is bound */
    OK(cuMemRelease(object));
    OK(cuMemRelease(memory[0]));
    OK(cuMemUnmap(address, SIZE)); /* the last of the object, and of that memory but its own map */
    OK(cuMemUnmap(own[0], SIZE));
    return check_result();
}
