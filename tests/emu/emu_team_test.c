/* SPDX-License-Identifier: Apache-2.0
 *
 * TS_EMU_THREADS=3: a long kernel of independent blocks runs on three host threads.
 */
#include "tests/emu/emu_test.h"

#include <dirent.h>

static const char text[] =
    ".version 6.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry turns(.param .u64 out, .param .u32 count)\n{\n"
    ".reg .pred %p; .reg .b32 %r<6>; .reg .b64 %d<4>;\n"
    "ld.param.u64 %d0, [out]; ld.param.u32 %r0, [count];\n"
    "mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mad.lo.u32 %r3, %r1, 32, %r2;\n"
    "mul.wide.u32 %d1, %r3, 4; add.u64 %d1, %d0, %d1; mov.u32 %r4, 0;\n"
    "L: add.u32 %r4, %r4, %r3; sub.u32 %r0, %r0, 1;\n"
    "setp.ne.u32 %p, %r0, 0; @%p bra L;\n"
    "st.global.u32 [%d1], %r4; ret;\n}\n";

static int count_threads(void)
{
    DIR *tasks = opendir("/proc/self/task");
    int count = 0;

    while (tasks && readdir(tasks))
        count++;
    if (tasks)
        closedir(tasks);
    return count - 2; /* . and .. */
}

int main(void)
{
    enum { BLOCKS = 256, TURNS = 5000 };
    static uint32_t out[BLOCKS * 32];
    CUcontext context = test_context();
    CUmodule module;
    CUfunction f;
    CUdeviceptr p;
    unsigned turns = TURNS;
    void *args[] = {&p, &turns};
    int most = 0;

    OK(cuModuleLoadData(&module, text));
    OK(cuModuleGetFunction(&f, module, "turns"));
    OK(cuMemAlloc_v2(&p, sizeof(out)));
    /* On a busy machine they may come too late to one launch. */
    for (int i = 0; i < 50 && most < 4; i++) {
        OK(cuLaunchKernel(f, BLOCKS, 1, 1, 32, 1, 1, 0, NULL, args, NULL));
        while (cuStreamQuery(NULL) == CUDA_ERROR_NOT_READY) {
            int now = count_threads();
            most = now > most ? now : most;
        }
    }
    CHECK(most >= 4); /* this one, the stream's, two that help it */
    OK(cuMemcpyDtoH_v2(out, p, sizeof(out)));
    for (uint32_t k = 0; k < BLOCKS * 32; k++)
        if (!CHECK_EQ_INT(out[k], k * TURNS))
            break;
    OK(cuCtxDestroy_v2(context));
    return check_result();
}
