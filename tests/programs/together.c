/* SPDX-License-Identifier: Apache-2.0
 *
 * One kernel on two devices at once (TS_EMU_DEVICES=2; of one device on that): each takes what a
 * slow kernel on the other one's stream computes, and a copy behind it what the other one's launch
 * made.
 */
#include "tests/programs/program.h"

enum { DEVICES = 2, WIDTH = 64, SIZE = WIDTH * 4 };

static const char text[] =
    ".version 6.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry take(.param .u64 to, .param .u64 from, .param .u32 more)\n{\n"
    ".reg .b32 %r<5>; .reg .b64 %d<5>;\n"
    "ld.param.u64 %d1, [to]; ld.param.u64 %d2, [from]; ld.param.u32 %r3, [more];\n"
    "mov.u32 %r1, %tid.x; mul.wide.u32 %d3, %r1, 4; add.u64 %d1, %d1, %d3; add.u64 %d2, %d2, %d3;\n"
    "ld.global.u32 %r2, [%d2]; add.u32 %r2, %r2, %r3; st.global.u32 [%d1], %r2;\nret;\n}\n";

static struct member {
    CUcontext context;
    CUmodule module, slow;
    CUstream stream;
    CUdeviceptr memory; /* rows: the slow kernel's, what is taken, a copy of the other's */
} members[DEVICES];
static int count;

static void make(int device)
{
    struct member *m = &members[device];

    CU(cuCtxCreate_v2(&m->context, 0, device));
    CU(cuModuleLoadData(&m->module, text));
    CU(cuModuleLoad(&m->slow, getenv("TS_TEST_PTX")));
    CU(cuStreamCreate(&m->stream, CU_STREAM_NON_BLOCKING));
    CU(cuMemAlloc_v2(&m->memory, 3 * SIZE));
    CU(cuMemsetD32_v2(m->memory, 3 + (unsigned)device, 3 * WIDTH));
    CU(cuCtxSynchronize());
}

static void compute(int device)
{
    struct member *m = &members[device];
    int width = WIDTH, rounds = 2000;

    CU(cuCtxSetCurrent(m->context));
    CU(cuLaunchKernel(program_function(m->slow, "mix"), 1, 1, 1, WIDTH, 1, 1, 0, m->stream,
                      (void *[]){&width, &rounds, &m->memory}, NULL));
}

int main(void)
{
    CUDA_LAUNCH_PARAMS launches[DEVICES];
    CUdeviceptr to[DEVICES], from[DEVICES];
    unsigned more[DEVICES];
    void *params[DEVICES][3];
    uint32_t words[3 * WIDTH];

    CU(cuInit(0));
    CU(cuDeviceGetCount(&count));
    count = count < DEVICES ? count : DEVICES;
    for (int i = 0; i < count; i++)
        make(i);
    for (int i = 0; i < count; i++)
        compute(i);
    for (int i = 0; i < count; i++) {
        struct member *m = &members[i], *other = &members[count - 1 - i];
        to[i] = m->memory + SIZE;
        from[i] = other->memory;
        more[i] = 7 + (unsigned)i;
        memcpy(params[i], (void *[]){&to[i], &from[i], &more[i]}, sizeof(params[i]));
        launches[i] = (CUDA_LAUNCH_PARAMS){
            program_function(m->module, "take"), 1, 1, 1, WIDTH, 1, 1, 0, m->stream, params[i]};
    }
    CU(cuLaunchCooperativeKernelMultiDevice(launches, (unsigned)count, 0));
    launches[0].gridDimX = 0;
    printf("refused: %d\n",
           (int)cuLaunchCooperativeKernelMultiDevice(launches, (unsigned)count, 0) != 0);
    for (int i = 0; i < count; i++) {
        CU(cuCtxSetCurrent(members[i].context));
        CU(cuMemcpyDtoDAsync_v2(members[i].memory + 2 * SIZE, to[count - 1 - i], SIZE,
                                members[i].stream));
    }
    for (int i = 0; i < count; i++) {
        CU(cuCtxSetCurrent(members[i].context));
        CU(cuStreamSynchronize(members[i].stream));
        CU(cuMemcpyDtoH_v2(words, members[i].memory, sizeof(words)));
        printf("%d: %08x\n", i, program_digest(words, sizeof(words)));
    }
    for (int i = 0; i < count; i++)
        CU(cuCtxDestroy_v2(members[i].context));
    return 0;
}
