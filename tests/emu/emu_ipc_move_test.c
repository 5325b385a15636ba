/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory moves when it is shared: kernels, copies and loading modules beside it lose nothing.
 */
#include <pthread.h>

#include "tests/emu/emu_kernels.h"
#include "tests/emu/emu_test.h"

#define COUNT  16
#define ROUNDS 60
#define LARGE  (16u << 20) /* takes a while to move */

static CUdeviceptr cells[COUNT]; /* three of four are several to a page */
static CUcontext context;

static void *add(void *user)
{
    CUfunction function;
    CUmodule module, other;
    CUdeviceptr counter;
    CUstream stream;
    unsigned one = 1, value;
    size_t size;

    OK(cuCtxSetCurrent(context));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuModuleLoadData(&module, PTX_HEAD PTX_ATOMIC));
    OK(cuModuleGetFunction(&function, module, "atomic_add"));
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (unsigned i = 0; i < COUNT; i++) {
            void *params[] = {&cells[i], &one};
            OK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL));
        }
        if (round % 4)
            continue;
        OK(cuModuleLoadData(&other, PTX_HEAD PTX_BUMP));
        OK(cuModuleGetGlobal_v2(&counter, &size, other, "counter"));
        OK(cuMemcpyDtoH_v2(&value, counter, 4));
        CHECK_EQ_INT(value, 41);
        OK(cuModuleUnload(other));
    }
    OK(cuStreamSynchronize(stream));
    return NULL;
}

int main(void)
{
    CUipcMemHandle handle;
    pthread_t threads[2];
    unsigned value;

    context = test_context();
    for (unsigned i = 0; i < COUNT; i++) {
        OK(cuMemAlloc_v2(&cells[i], i % 4 ? 600 : LARGE));
        OK(cuMemsetD32_v2(cells[i], 0, 150));
    }
    OK(cuCtxSynchronize());
    for (unsigned i = 0; i < 2; i++)
        CHECK_EQ_INT(pthread_create(&threads[i], NULL, add, NULL), 0);
    for (unsigned i = 0; i < COUNT; i += 2)
        OK(cuIpcGetMemHandle(&handle, cells[i]));
    for (unsigned i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    for (unsigned i = 0; i < COUNT; i++) {
        OK(cuMemcpyDtoH_v2(&value, cells[i], 4));
        CHECK_EQ_INT(value, 2 * ROUNDS);
        OK(cuMemFree_v2(cells[i]));
    }
    OK(cuCtxDestroy_v2(context));
    return check_result();
}
