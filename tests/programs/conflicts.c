/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands that access the same bytes, for `tracesmith graph --memory`; what they compute does not
 * matter, and some of it depends on chance.
 *
 * conflicts race      a fill and a copy of the same bytes, on streams that do not wait for each
 * other ordered   the same with an event between them stored    a kernel that reaches memory by an
 * address in memory variable  a kernel and a variable of its module random SEED STEPS   copies,
 * fills, kernels, events, waits many N    N allocations, each filled, and copied from parts N   N
 * fills within one allocation, and kernels that reach all of it written   the program writes what
 * a copy has read, between two waits
 */
#include "tests/programs/program.h"

enum { STREAMS = 4, SIZE = 16384, KINDS = 4 };

static CUstream streams[STREAMS];
static CUevent event;
static CUfunction fill, copy, mix;
static CUdeviceptr memories[KINDS];
static unsigned char *pinned, pageable[SIZE];
static uint64_t state;

static unsigned below(unsigned limit)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (unsigned)(state >> 11) % limit;
}

static void begin(CUmodule module)
{
    fill = program_function(module, "fill");
    copy = program_function(module, "copy");
    mix = program_function(module, "mix");
    for (unsigned i = 0; i < STREAMS; i++)
        CU(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
    CU(cuEventCreate(&event, 0));
    for (unsigned i = 0; i < KINDS - 1; i++)
        CU(cuMemAlloc_v2(&memories[i], SIZE));
    CU(cuMemHostAlloc((void **)&pinned, SIZE, CU_MEMHOSTALLOC_DEVICEMAP));
    memories[KINDS - 1] = (CUdeviceptr)(uintptr_t)pinned;
}

static void launch_fill(CUdeviceptr to, CUstream stream)
{
    unsigned count = 64, value = 7;

    program_launch(fill, count, stream, (void *[]){&count, &value, &to});
}

static void race(int is_ordered)
{
    CU(cuMemsetD8Async(memories[0], 1, 12344, streams[0]));
    if (is_ordered) {
        CU(cuEventRecord(event, streams[0]));
        CU(cuStreamWaitEvent(streams[1], event, 0));
    }
    CU(cuMemcpyDtoDAsync_v2(memories[1], memories[0] + 100, 200, streams[1]));
}

/* memories[0] leads to memories[1], and that to memories[2]. */
static void stored(void)
{
    CU(cuMemcpyHtoD_v2(memories[0] + 40, &memories[1], 8));
    CU(cuMemcpyHtoD_v2(memories[1] + 8, &memories[2], 8));
    launch_fill(memories[0], streams[0]);
    CU(cuMemsetD8Async(memories[2], 1, 8, streams[1]));
}

static void written(void)
{
    CU(cuMemcpyDtoDAsync_v2(memories[0], memories[KINDS - 1], SIZE, streams[1]));
    CU(cuStreamSynchronize(streams[1]));
    memset(pinned, 7, SIZE);
    CU(cuCtxSynchronize());
    CU(cuMemcpyDtoDAsync_v2(memories[1], memories[KINDS - 1], SIZE, streams[1]));
}

static void variable(CUmodule module)
{
    CUdeviceptr address;
    size_t size;

    CU(cuModuleGetGlobal_v2(&address, &size, module, "global_table"));
    launch_fill(memories[0], streams[0]);
    CU(cuMemsetD8Async(address + 4, 1, 8, streams[1]));
}

static void random_step(void)
{
    const unsigned size = 1 + below(below(2) ? SIZE / 2 : 64), to = below(SIZE - size),
                   from = below(SIZE - size), count = 32, value = 1;
    CUstream stream = below(8) ? streams[below(STREAMS)] : NULL;
    CUdeviceptr a = memories[below(KINDS)], b = memories[below(KINDS)];

    switch (below(11)) {
    case 0:
    case 1:
        CU(cuMemsetD8Async(a + to, 3, size, stream));
        break;
    case 2:
        CU(cuMemcpyDtoDAsync_v2(a + to, b + from, size, stream));
        break;
    case 3:
        CU(cuMemcpyHtoDAsync_v2(memories[below(KINDS - 1)] + to, pinned + from, size, stream));
        break;
    case 4:
        CU(cuMemcpyDtoHAsync_v2(below(2) ? pinned + to : pageable + to, b + from, size, stream));
        break;
    case 5:
        program_launch(copy, count, stream, (void *[]){(void *)&count, &a, &b});
        break;
    case 6:
        program_launch(mix, count, stream, (void *[]){(void *)&count, (void *)&value, &a});
        break;
    case 7:
        CU(cuEventRecord(event, stream));
        CU(cuStreamWaitEvent(streams[below(STREAMS)], event, 0));
        break;
    case 8:
        CU(cuMemsetD2D8Async(a + to / 2, 64, 1, 16, 1 + below(100), stream));
        break;
    case 9:
        if (below(6))
            break;
        CU(cuCtxSynchronize());
        CU(cuMemFree_v2(memories[1]));
        CU(cuMemAlloc_v2(&memories[1], SIZE));
        break;
    default:
        if (below(3))
            CU(cuStreamSynchronize(streams[below(STREAMS)]));
        else if (below(2))
            pinned[below(SIZE)]++;
        else
            CU(cuMemcpyHtoD_v2(a + to, pageable + from, size));
    }
}

static void many(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        CUdeviceptr address;

        CU(cuMemAlloc_v2(&address, 256));
        CU(cuMemsetD8Async(address, 1, 256, streams[i % STREAMS]));
        CU(cuMemcpyDtoDAsync_v2(memories[0], address, 256, streams[i % STREAMS]));
    }
}

static void parts(unsigned count)
{
    CUdeviceptr address;

    CU(cuMemAlloc_v2(&address, (size_t)count * 8));
    for (unsigned i = 0; i < count; i++)
        CU(cuMemsetD8Async(address + i * 8, 1, 4, streams[i % STREAMS]));
    CU(cuMemsetD8Async(address + 4, 1, 4, streams[1])); /* which nothing else has written */
    for (unsigned i = 0; i < count; i++)
        launch_fill(address, streams[i % STREAMS]);
    CU(cuCtxSynchronize());
    CU(cuMemsetD8Async(address, 1, (size_t)count * 8, streams[0]));
    launch_fill(address, streams[0]);
    CU(cuMemsetD8Async(address + 4, 1, 4, streams[1]));
}

static void do_nothing(void *user)
{
    (void)user;
}

static void function(void)
{
    CU(cuMemsetD8Async(memories[0], 1, 8, streams[0]));
    CU(cuMemsetD8Async(memories[1], 1, 8, streams[0]));
    CU(cuLaunchHostFunc(streams[0], do_nothing, NULL));
    CU(cuMemcpyDtoDAsync_v2(memories[0] + 8, memories[2], 8, streams[0]));
}

int main(int argc, char **argv)
{
    const char *kind = argc > 1 ? argv[1] : "race";
    CUcontext context;
    CUmodule module = program_begin(&context);

    begin(module);
    if (!strcmp(kind, "stored"))
        stored();
    else if (!strcmp(kind, "variable"))
        variable(module);
    else if (!strcmp(kind, "written"))
        written();
    else if (!strcmp(kind, "function"))
        function();
    else if (!strcmp(kind, "many"))
        many((unsigned)atoi(argv[2]));
    else if (!strcmp(kind, "parts"))
        parts((unsigned)atoi(argv[2]));
    else if (strcmp(kind, "random") != 0)
        race(!strcmp(kind, "ordered"));
    else
        for (int i = (state = 77777u + (uint64_t)atoi(argv[2]), atoi(argv[3])); i > 0; i--)
            random_step();
    CU(cuCtxSynchronize());
    program_end(module, context);
    printf("done\n");
    return 0;
}
