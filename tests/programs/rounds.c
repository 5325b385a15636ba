/* SPDX-License-Identifier: Apache-2.0
 *
 * A program whose every result depends on all that came before, in each kind of memory: a variable
 * that only kernels touch, constant memory, an array, buffers that live long and buffers that come
 * and go, mapped host memory that a kernel writes. Two streams hand work to each other.
 * Arguments: rounds, milliseconds between them.
 */
#include "tests/programs/program.h"

enum { COUNT = 512, RING = 3, ARRAY_WIDTH = 24, ARRAY_HEIGHT = 5 };

static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                          ".visible .global .align 4 .u32 total = 5;\n"
                          ".const .align 4 .u32 table[4];\n"
                          ".visible .entry tick(.param .u32 p_salt)\n{\n"
                          " .reg .u32 %r<4>;\n"
                          " ld.param.u32 %r1, [p_salt];\n"
                          " ld.global.u32 %r2, [total];\n"
                          " mad.lo.u32 %r3, %r2, 31, %r1;\n"
                          " st.global.u32 [total], %r3;\n"
                          " ret;\n}\n"
                          ".visible .entry step(.param .u64 p_from, .param .u64 p_to)\n{\n"
                          " .reg .u32 %r<9>; .reg .u64 %rd<9>;\n"
                          " ld.param.u64 %rd1, [p_from];\n"
                          " ld.param.u64 %rd2, [p_to];\n"
                          " mov.u32 %r1, %tid.x;\n"
                          " mul.wide.u32 %rd3, %r1, 4;\n"
                          " add.u64 %rd4, %rd1, %rd3;\n"
                          " add.u64 %rd5, %rd2, %rd3;\n"
                          " ld.global.u32 %r2, [%rd4];\n"
                          " ld.global.u32 %r3, [%rd5];\n"
                          " ld.global.u32 %r4, [total];\n"
                          " and.b32 %r5, %r1, 3;\n"
                          " mul.wide.u32 %rd6, %r5, 4;\n"
                          " mov.u64 %rd7, table;\n"
                          " add.u64 %rd8, %rd7, %rd6;\n"
                          " ld.const.u32 %r6, [%rd8];\n"
                          " mad.lo.u32 %r7, %r2, 1664525, %r3;\n"
                          " add.u32 %r7, %r7, %r4;\n"
                          " xor.b32 %r8, %r7, %r6;\n"
                          " st.global.u32 [%rd5], %r8;\n"
                          " ret;\n}\n";

static struct {
    CUfunction tick, step;
    CUstream compute, download;
    CUevent computed, downloaded;
    CUdeviceptr state, given, mapped_device, ring[RING];
    unsigned *mapped, *result;
    CUarray array;
} all;

static void fill_array(unsigned salt)
{
    unsigned char bytes[ARRAY_WIDTH * ARRAY_HEIGHT];

    for (unsigned i = 0; i < sizeof(bytes); i++)
        bytes[i] = (unsigned char)(i * salt);
    CUDA_MEMCPY2D copy = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                          .srcHost = bytes,
                          .srcPitch = ARRAY_WIDTH,
                          .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                          .dstArray = all.array,
                          .WidthInBytes = ARRAY_WIDTH,
                          .Height = ARRAY_HEIGHT};
    CU(cuMemcpy2D_v2(&copy));
}

/* The device's copy of the array becomes a part of the state. Such a copy does not wait by itself.
 */
static void use_array(void)
{
    CUDA_MEMCPY2D copy = {.srcMemoryType = CU_MEMORYTYPE_ARRAY,
                          .srcArray = all.array,
                          .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                          .dstDevice = all.given,
                          .dstPitch = ARRAY_WIDTH,
                          .WidthInBytes = ARRAY_WIDTH,
                          .Height = ARRAY_HEIGHT};
    CU(cuMemcpy2D_v2(&copy));
    CU(cuStreamSynchronize(NULL));
}

static void begin(void)
{
    const CUDA_ARRAY_DESCRIPTOR shape = {.Width = ARRAY_WIDTH,
                                         .Height = ARRAY_HEIGHT,
                                         .Format = CU_AD_FORMAT_UNSIGNED_INT8,
                                         .NumChannels = 1};
    const unsigned table[4] = {0x11, 0x2200, 0x330000, 0x44000000};
    CUdeviceptr address;
    CUcontext context;
    CUmodule module;
    CUdevice device;
    size_t size;

    CU(cuInit(0));
    CU(cuDeviceGet(&device, 0));
    CU(cuCtxCreate_v2(&context, 0, device));
    CU(cuModuleLoadData(&module, ptx));
    all.tick = program_function(module, "tick");
    all.step = program_function(module, "step");
    CU(cuModuleGetGlobal_v2(&address, &size, module, "table"));
    CU(cuMemcpyHtoD_v2(address, table, sizeof(table)));
    CU(cuStreamCreate(&all.compute, CU_STREAM_NON_BLOCKING));
    CU(cuStreamCreate(&all.download, CU_STREAM_NON_BLOCKING));
    CU(cuEventCreate(&all.computed, CU_EVENT_DISABLE_TIMING));
    CU(cuEventCreate(&all.downloaded, CU_EVENT_DISABLE_TIMING));
    CU(cuMemAlloc_v2(&all.state, COUNT * 4));
    CU(cuMemsetD32_v2(all.state, 1, COUNT));
    CU(cuMemAlloc_v2(&all.given, COUNT * 4));
    CU(cuMemsetD32_v2(all.given, 2, COUNT));
    CU(cuMemHostAlloc((void **)&all.result, COUNT * 4, 0));
    CU(cuMemHostAlloc((void **)&all.mapped, COUNT * 4, CU_MEMHOSTALLOC_DEVICEMAP));
    memset(all.mapped, 3, COUNT * 4);
    CU(cuMemHostGetDevicePointer_v2(&all.mapped_device, all.mapped, 0));
    CU(cuArrayCreate_v2(&all.array, &shape));
    fill_array(7);
}

static void step(CUdeviceptr from, CUdeviceptr to, CUstream stream)
{
    CU(cuLaunchKernel(all.step, 1, 1, 1, COUNT, 1, 1, 0, stream, (void *[]){&from, &to}, NULL));
}

static void do_round(unsigned round)
{
    CUdeviceptr *fresh = &all.ring[round % RING];

    CU(cuLaunchKernel(all.tick, 1, 1, 1, 1, 1, 1, 0, all.compute, (void *[]){&round}, NULL));
    if (*fresh)
        CU(cuMemFree_v2(*fresh));
    CU(cuMemAlloc_v2(fresh, COUNT * 4));
    CU(cuMemcpyDtoDAsync_v2(*fresh, all.state, COUNT * 4, all.compute));
    step(*fresh, all.given, all.compute);
    step(all.given, all.state, all.compute);
    step(all.mapped_device, all.state, all.compute);
    CU(cuEventRecord(all.computed, all.compute));
    CU(cuStreamWaitEvent(all.download, all.computed, 0));
    CU(cuMemcpyDtoHAsync_v2(all.result, all.state, COUNT * 4, all.download));
    CU(cuEventRecord(all.downloaded, all.download));
    step(all.state, all.mapped_device, all.download); /* last: nothing is sent while it runs */
}

int main(int argc, char **argv)
{
    unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 40, digest = 0;
    unsigned pause_ms = argc > 2 ? (unsigned)atoi(argv[2]) : 0;

    begin();
    for (unsigned round = 0; round < rounds; round++) {
        do_round(round);
        if (round % 2) /* the last kernel may still run, and what was downloaded is held */
            CU(cuEventSynchronize(all.downloaded));
        CU(cuStreamSynchronize(all.download));
        digest = digest * 31 + program_digest(all.result, COUNT * 4);
        if (round % 8 == 5)
            use_array();
        if (round == rounds * 3 / 4)
            fill_array(11);
        if (pause_ms) {
            printf("%u\n", round);
            fflush(stdout);
            usleep(pause_ms * 1000);
        }
    }
    CU(cuCtxSynchronize());
    digest = digest * 31 + program_digest(all.mapped, COUNT * 4);
    printf("%u rounds: %08x\n", rounds, digest);
    return 0;
}
