/* SPDX-License-Identifier: Apache-2.0
 *
 * A random program without races: staging SEED STEPS. Bytes are passed on between memory of all kinds
 * by copies, memsets and kernels, each ordered after the one before, on streams that take turns; most
 * of them are not waited for. Only after a wait does the host write there, or read.
 */
#include "tests/programs/program.h"

enum { COUNT = 6000, SIZE = COUNT * 4, STREAMS = 3 };

enum kind { DEVICE, OTHER_DEVICE, PINNED, REGISTERED, MANAGED, PAGEABLE, KINDS };

struct memory {
    unsigned *host; /* NULL: of the device */
    CUdeviceptr device; /* 0: the device cannot reach it by itself */
};

static struct memory memories[KINDS];
static CUstream streams[STREAMS];
static CUstream now; /* where the last command went */
static CUevent event;
static CUfunction fill, copy, mix;
static uint64_t state;
static unsigned kernels = PAGEABLE; /* so many kinds of memory are written by kernels */
static unsigned digest;

static unsigned below(unsigned limit)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (unsigned)(state >> 11) % limit;
}

/* ---- what the GPU does --------------------------------------------------------------------- */

/* Continues on another stream, after the work that was sent. */
static void change_stream(void)
{
    CUstream next = streams[below(STREAMS)];

    CU(cuEventRecord(event, now));
    CU(cuStreamWaitEvent(next, event, 0));
    now = next;
}

static void wait_for_all(void)
{
    switch (below(3)) {
    case 0:
        CU(cuStreamSynchronize(now));
        break;
    case 1:
        CU(cuEventRecord(event, now));
        CU(cuEventSynchronize(event));
        break;
    default:
        CU(cuCtxSynchronize());
    }
}

struct part {
    unsigned first, count;
};

static struct part any_part(void)
{
    struct part part = {below(COUNT), 0};

    part.count = 1 + below(COUNT - part.first);
    return part;
}

static CUdeviceptr unified(const struct memory *m)
{
    return m->device && below(2) ? m->device
                                 : m->host ? (CUdeviceptr)(uintptr_t)m->host : m->device;
}

static void copy_rows(const struct memory *to, const struct memory *from, struct part part)
{
    CUDA_MEMCPY2D c = {.srcMemoryType = from->host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE,
                       .srcHost = from->host,
                       .srcDevice = from->device,
                       .srcXInBytes = 16,
                       .srcPitch = 400,
                       .dstMemoryType = to->host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE,
                       .dstHost = to->host,
                       .dstDevice = to->device,
                       .dstPitch = 400,
                       .dstY = 2,
                       .WidthInBytes = 40 + 4 * below(60),
                       .Height = 1 + part.count * 4 / 400 / 2};

    CU(cuMemcpy2DAsync_v2(&c, now));
}

static void copy_linear(const struct memory *to, const struct memory *from, struct part part)
{
    const size_t at = part.first * 4, size = part.count * 4;
    unsigned way = below(4);

    if (way == 0 && from->host && to->device)
        CU(cuMemcpyHtoDAsync_v2(to->device + at, from->host + part.first, size, now));
    else if (way == 0 && to->host && from->device)
        CU(cuMemcpyDtoHAsync_v2(to->host + part.first, from->device + at, size, now));
    else if (way == 1 && to->device && from->device)
        CU(cuMemcpyDtoDAsync_v2(to->device + at, from->device + at, size, now));
    else
        CU(cuMemcpyAsync(unified(to) + at, unified(from) + at, size, now));
}

static void any_copy(void)
{
    unsigned to = below(KINDS), from = below(KINDS);

    if (to == from)
        return;
    /* Rows of both sides are placed differently: not for memory that the two would share. */
    if (below(4) == 0)
        copy_rows(&memories[to], &memories[from], any_part());
    else
        copy_linear(&memories[to], &memories[from], any_part());
}

static void any_memset(void)
{
    const struct memory *m = &memories[below(PAGEABLE)];
    struct part part = any_part();

    switch (below(3)) {
    case 0:
        CU(cuMemsetD8Async(m->device + part.first * 4, (unsigned char)below(256), part.count * 4, now));
        break;
    case 1:
        CU(cuMemsetD32Async(m->device + part.first * 4, below(1u << 30), part.count, now));
        break;
    default:
        CU(cuMemsetD2D16Async(m->device, 200, (unsigned short)below(65536), 33, 1 + below(100), now));
    }
}

static void any_kernel(void)
{
    const struct memory *m = &memories[below(kernels)], *from = &memories[below(PAGEABLE)];
    struct part part = any_part();
    CUdeviceptr at = m->device + part.first * 4, source = from->device + part.first * 4;
    int count = (int)part.count, rounds = 1 + (int)below(3);
    unsigned value = below(1u << 30);

    switch (below(3)) {
    case 0:
        program_launch(fill, part.count, now, (void *[]){&count, &value, &at});
        break;
    case 1:
        program_launch(mix, part.count, now, (void *[]){&count, &rounds, &at});
        break;
    default:
        program_launch(copy, part.count, now, (void *[]){&count, &source, &at});
    }
}

/* ---- what the host does --------------------------------------------------------------------- */

static void write_some(void)
{
    struct memory *m = &memories[PINNED + below(KINDS - PINNED)];
    struct part part = any_part();

    wait_for_all();
    for (unsigned i = 0; i < part.count; i++)
        m->host[part.first + i] = below(1u << 30);
}

static void read_some(void)
{
    static unsigned own[COUNT];
    const struct memory *m = &memories[below(KINDS)];

    if (m->host) {
        wait_for_all();
        memcpy(own, m->host, SIZE);
    } else if (below(2)) {
        CU(cuMemcpyDtoHAsync_v2(own, m->device, SIZE, now));
        wait_for_all();
    } else {
        wait_for_all();
        CU(cuMemcpyDtoH_v2(own, m->device, SIZE));
    }
    digest = digest * 31 + program_digest(own, SIZE);
}

static void step(void)
{
    switch (below(12)) {
    case 0:
        change_stream();
        break;
    case 1:
        write_some();
        break;
    case 2:
        read_some();
        break;
    case 3:
    case 4:
        any_memset();
        break;
    case 5:
    case 6:
    case 7:
        any_kernel();
        break;
    default:
        any_copy();
    }
}

static void make_memory(void)
{
    static unsigned registered[COUNT + 1024] __attribute__((aligned(4096)));

    CU(cuMemAlloc_v2(&memories[DEVICE].device, SIZE));
    CU(cuMemAlloc_v2(&memories[OTHER_DEVICE].device, SIZE));
    CU(cuMemHostAlloc((void **)&memories[PINNED].host, SIZE, CU_MEMHOSTALLOC_DEVICEMAP));
    CU(cuMemHostGetDevicePointer_v2(&memories[PINNED].device, memories[PINNED].host, 0));
    memories[REGISTERED].host = registered;
    CU(cuMemHostRegister_v2(registered, SIZE, CU_MEMHOSTREGISTER_DEVICEMAP));
    CU(cuMemHostGetDevicePointer_v2(&memories[REGISTERED].device, registered, 0));
    CU(cuMemAllocManaged(&memories[MANAGED].device, SIZE, CU_MEM_ATTACH_GLOBAL));
    memories[MANAGED].host = (unsigned *)(uintptr_t)memories[MANAGED].device; /* NOLINT: an address */
    memories[PAGEABLE].host = calloc(1, SIZE);
    CU(cuMemsetD8_v2(memories[DEVICE].device, 1, SIZE));
    CU(cuMemsetD8_v2(memories[OTHER_DEVICE].device, 2, SIZE));
    CU(cuCtxSynchronize());
}

int main(int argc, char **argv)
{
    CUcontext context;
    CUmodule module = program_begin(&context);
    unsigned long steps = strtoul(argc > 2 ? argv[2] : "60", NULL, 10);

    if (argc > 3)
        kernels = (unsigned)strtoul(argv[3], NULL, 10);
    state = 0x9e3779b97f4a7c15u * (strtoul(argc > 1 ? argv[1] : "1", NULL, 10) + 1);
    fill = program_function(module, "fill");
    copy = program_function(module, "copy");
    mix = program_function(module, "mix");
    CU(cuStreamCreate(&streams[0], CU_STREAM_NON_BLOCKING));
    CU(cuStreamCreate(&streams[1], CU_STREAM_NON_BLOCKING));
    CU(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    now = streams[0]; /* the third is the default one */
    make_memory();
    for (unsigned long i = 0; i < steps; i++)
        step();
    for (int i = 0; i < 12; i++)
        read_some();
    wait_for_all();
    CU(cuMemHostUnregister(memories[REGISTERED].host));
    CU(cuMemFreeHost(memories[PINNED].host));
    CU(cuMemFree_v2(memories[MANAGED].device));
    CU(cuMemFree_v2(memories[DEVICE].device));
    CU(cuMemFree_v2(memories[OTHER_DEVICE].device));
    free(memories[PAGEABLE].host);
    program_end(module, context);
    printf("staging: %08x\n", digest);
    return 0;
}
