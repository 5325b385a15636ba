/* SPDX-License-Identifier: Apache-2.0
 *
 * Launches of a kernel that does nothing, in batches that are waited for outside of what is timed:
 * CPU time of the thread that sends them, and of the whole process, waits included. With the
 * argument `events`, two event records in place of each launch.
 */
#include "bench/measure.h"

#include "api/cuda/abi.h"
#include "api/cuda/cuda_prototypes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CU(call)                                                                                   \
    do {                                                                                           \
        CUresult result_ = (call);                                                                 \
        if (result_ != CUDA_SUCCESS) {                                                             \
            fprintf(stderr, "bench_gpu_times: %s = %d\n", #call, (int)result_);                    \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

#define BATCH   256u
#define BATCHES 200u

static const char nothing[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                              ".visible .entry nothing()\n{\n    ret;\n}\n";

static struct bench_samples sent, all;
static CUevent events[2];
static CUfunction function;

static void send(bool is_events, CUstream stream)
{
    if (is_events) {
        CU(cuEventRecord(events[0], stream));
        CU(cuEventRecord(events[1], stream));
    } else {
        CU(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
    }
}

static void batch(bool is_events, CUstream stream, bool is_counted)
{
    const uint64_t thread = bench_thread_ns(), process = bench_process_ns();

    for (unsigned i = 0; i < BATCH; i++)
        send(is_events, stream);
    if (is_counted)
        bench_add(&sent, (double)(bench_thread_ns() - thread) / BATCH);
    CU(cuStreamSynchronize(stream));
    if (is_counted)
        bench_add(&all, (double)(bench_process_ns() - process) / BATCH);
}

int main(int argc, char **argv)
{
    const bool is_events = argc > 1 && strcmp(argv[1], "events") == 0;
    CUcontext context;
    CUmodule module;
    CUstream stream;

    CU(cuInit(0));
    CU(cuCtxCreate_v2(&context, 0, 0));
    CU(cuModuleLoadData(&module, nothing));
    CU(cuModuleGetFunction(&function, module, "nothing"));
    CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (unsigned i = 0; i < 2; i++)
        CU(cuEventCreate(&events[i], 0));
    for (unsigned i = 0; i < BATCHES; i++)
        batch(is_events, stream, i >= BATCHES / 10);
    bench_print("sent_ns", &sent);
    bench_print("all_ns", &all);
    CU(cuCtxDestroy_v2(context));
    return 0;
}
