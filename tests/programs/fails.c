/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands that fail, or that never end: fails WAY. WAY:
 *
 *   alone     a kernel that writes where no memory is, behind one that was waited for
 *   behind    ... with a kernel and an event behind it on its stream
 *   among     ... with kernels before it and on another stream, none of them waited for
 *   other     ... in a context of its own, while another context goes on
 *   rejected  a launch with blocks that are too large, among others
 *   unwaited  a kernel that nobody waits for
 *   forever   a kernel that does not end, with work behind it, on its stream and on another one
 */
#include "tests/programs/program.h"

#include <stdbool.h>
#include <unistd.h>

static const char forever[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                              ".visible .entry forever(.param .u64 word)\n"
                              "{\n"
                              "  .reg .pred %p1; .reg .u32 %r1; .reg .u64 %d1;\n"
                              "  ld.param.u64 %d1, [word];\n"
                              "SPIN:\n"
                              "  ld.volatile.global.u32 %r1, [%d1];\n"
                              "  setp.eq.u32 %p1, %r1, 0; @%p1 bra SPIN;\n"
                              "  ret;\n"
                              "}\n";

struct setup {
    CUmodule module;
    CUstream stream, other;
    CUdeviceptr memory, wild;
};

static void make(struct setup *s, CUmodule module)
{
    s->module = module;
    CU(cuStreamCreate(&s->stream, CU_STREAM_NON_BLOCKING));
    CU(cuStreamCreate(&s->other, CU_STREAM_NON_BLOCKING));
    CU(cuMemAlloc_v2(&s->memory, 4096));
    s->wild = 64;
}

static void fill(const struct setup *s, CUstream stream)
{
    unsigned count = 64, value = 7;
    CUdeviceptr memory = s->memory;

    program_launch(program_function(s->module, "fill"), count, stream,
                   (void *[]){&count, &value, &memory});
}

static void write_at(const struct setup *s, CUdeviceptr where)
{
    program_launch(program_function(s->module, "write_wild"), 1, s->stream, (void *[]){&where});
}

static void run_forever(const struct setup *s)
{
    CUdeviceptr memory = s->memory;
    CUmodule module;
    CUevent event;

    CU(cuModuleLoadData(&module, forever));
    CU(cuEventCreate(&event, 0));
    CU(cuCtxSynchronize());
    CU(cuMemsetD32_v2(memory, 0, 1));
    CU(cuCtxSynchronize());
    program_launch(program_function(module, "forever"), 1, s->stream, (void *[]){&memory});
    CU(cuEventRecord(event, s->stream));
    CU(cuStreamWaitEvent(s->other, event, 0));
    fill(s, s->other);
    puts("sent");
    fflush(stdout);
    CU(cuStreamSynchronize(s->other));
}

static void send(const struct setup *s, const char *way)
{
    CUevent event;

    CU(cuEventCreate(&event, 0));
    fill(s, s->stream);
    fill(s, s->other);
    if (strcmp(way, "among"))
        CU(cuCtxSynchronize());
    else
        CU(cuStreamSynchronize(s->other));
    if (!strcmp(way, "among"))
        fill(s, s->other);
    write_at(s, s->wild);
    if (strcmp(way, "behind"))
        return;
    fill(s, s->stream);
    CU(cuEventRecord(event, s->stream));
}

static int fail(const char *way, CUcontext context, CUmodule module)
{
    struct setup s, apart;
    CUcontext another;
    CUresult result;
    bool has_other = !strcmp(way, "other");

    make(&s, module);
    if (has_other) {
        const char *path = getenv("TS_TEST_PTX");
        CU(cuCtxCreate_v2(&another, 0, 0));
        CU(cuModuleLoad(&module, path));
        make(&apart, module);
        CU(cuCtxSetCurrent(context));
    }
    send(&s, way);
    result = cuStreamSynchronize(s.stream);
    printf("fails %s: %d\n", way, (int)result);
    if (result != CUDA_ERROR_ILLEGAL_ADDRESS)
        return 1;
    if (has_other) {
        CU(cuCtxSetCurrent(another));
        fill(&apart, apart.stream);
        CU(cuStreamSynchronize(apart.stream));
    }
    return 0;
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "alone";
    CUcontext context;
    CUmodule module = program_begin(&context);
    struct setup s;

    if (strcmp(way, "rejected") && strcmp(way, "forever") && strcmp(way, "unwaited"))
        return fail(way, context, module);
    make(&s, module);
    fill(&s, s.stream);
    if (!strcmp(way, "forever"))
        run_forever(&s);
    if (!strcmp(way, "rejected")) {
        CUdeviceptr memory = s.memory;
        if (cuLaunchKernel(program_function(module, "write_wild"), 1, 1, 1, 4096, 1, 1, 0, s.stream,
                           (void *[]){&memory}, NULL) == CUDA_SUCCESS)
            return 1;
        CU(cuCtxSynchronize());
    }
    return 0;
}
