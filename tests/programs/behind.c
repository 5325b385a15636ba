/* SPDX-License-Identifier: Apache-2.0
 *
 * A function of the program behind a command of the device, on its stream or on another one,
 * changes what that has written where it lies; then the device reads it: behind FIRST HOW LAST
 * ROUNDS. FIRST: memset, kernel, copy (between device addresses), download; big: all of it, else
 * the first half HOW: one (stream), event, legacy (the function is on the default stream, which
 * joins), waited LAST: pinned, pageable, device (where the copy behind the function goes), in_place
 * (none)
 */
#include "tests/programs/program.h"

#include <stdbool.h>

enum { SIZE = 8192, COUNT = SIZE / 4, ROUNDS_MAX = 64 };

static uint32_t *memory; /* of two pages, and mapped */

static void change(void *user)
{
    const uint32_t round = *(const uint32_t *)user;

    for (uint32_t i = 0; i < COUNT; i++)
        memory[i] = memory[i] * 3 + round + i;
}

static void *pinned(void)
{
    void *start;

    CU(cuMemHostAlloc(&start, (size_t)2 * SIZE, CU_MEMHOSTALLOC_DEVICEMAP));
    return (void *)(((uintptr_t)start + 4095) & ~(uintptr_t)4095);
}

static void send_first(const char *first, CUfunction fill, CUdeviceptr to, CUdeviceptr source,
                       uint32_t round, CUstream stream)
{
    uint32_t count = strstr(first, "big") ? COUNT : COUNT / 2, value = 1000 * round + 1;

    if (strstr(first, "memset"))
        CU(cuMemsetD32Async(to, value, count, stream));
    else if (strstr(first, "kernel"))
        program_launch(fill, count, stream, (void *[]){&count, &value, &to});
    else
        program_launch(fill, count, stream, (void *[]){&count, &value, &source});
    if (strstr(first, "copy"))
        CU(cuMemcpyDtoDAsync_v2(to, source, (size_t)4 * count, stream));
    if (strstr(first, "download"))
        CU(cuMemcpyDtoHAsync_v2(memory, source, (size_t)4 * count, stream));
}

int main(int argc, char **argv)
{
    const char *first = argc > 1 ? argv[1] : "kernel", *how = argc > 2 ? argv[2] : "one";
    const char *last = argc > 3 ? argv[3] : "pinned";
    const bool is_legacy = !strcmp(how, "legacy"), has_two = is_legacy || !strcmp(how, "event");
    const uint32_t rounds = argc > 4 ? (uint32_t)atoi(argv[4]) % ROUNDS_MAX : 4;
    static uint32_t numbers[ROUNDS_MAX];
    CUcontext context;
    CUmodule module = program_begin(&context);
    CUfunction fill = program_function(module, "fill");
    CUdeviceptr mapped, device, source;
    CUstream stream, other = NULL;
    CUevent before, behind;
    uint32_t *out, digest = 1;

    memory = pinned();
    out = !strcmp(last, "pageable") ? malloc(SIZE) : pinned();
    CU(cuMemHostGetDevicePointer_v2(&mapped, memory, 0));
    CU(cuMemAlloc_v2(&device, SIZE));
    CU(cuMemAlloc_v2(&source, SIZE));
    CU(cuStreamCreate(&stream, is_legacy ? CU_STREAM_DEFAULT : CU_STREAM_NON_BLOCKING));
    if (has_two && !is_legacy)
        CU(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    CU(cuEventCreate(&before, CU_EVENT_DISABLE_TIMING));
    CU(cuEventCreate(&behind, CU_EVENT_DISABLE_TIMING));
    for (uint32_t i = 0; i < rounds; i++) {
        numbers[i] = i;
        send_first(first, fill, mapped, source, i, stream);
        if (!strcmp(how, "waited"))
            CU(cuStreamSynchronize(stream));
        if (has_two && !is_legacy) {
            CU(cuEventRecord(before, stream));
            CU(cuStreamWaitEvent(other, before, 0));
        }
        CU(cuLaunchHostFunc(has_two ? other : stream, change, &numbers[i]));
        if (has_two && !is_legacy) {
            CU(cuEventRecord(behind, other));
            CU(cuStreamWaitEvent(stream, behind, 0));
        }
        if (!strcmp(last, "pinned") || !strcmp(last, "pageable"))
            CU(cuMemcpyDtoHAsync_v2(out, mapped, SIZE, stream));
        if (!strcmp(last, "device"))
            CU(cuMemcpyDtoDAsync_v2(device, mapped, SIZE, stream));
        CU(cuStreamSynchronize(stream));
        if (is_legacy)
            CU(cuStreamSynchronize(NULL));
        if (!strcmp(last, "device"))
            CU(cuMemcpyDtoH_v2(out, device, SIZE));
        digest = digest * 31 + program_digest(!strcmp(last, "in_place") ? memory : out, SIZE);
    }
    program_end(module, context);
    printf("behind %s %s %s: %08x\n", first, how, last, digest);
    return 0;
}
