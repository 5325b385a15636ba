/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory that the program writes with plain stores and the GPU reads by itself: mapped and
 * registered host memory. With the argument "callback" a host function writes it too, in the
 * stream's order.
 */
#include "tests/programs/program.h"

enum { COUNT = 8192 };

static unsigned *mapped;

static void add_on_host(void *argument)
{
    for (int i = 0; i < COUNT; i++)
        mapped[i] += *(unsigned *)argument;
}

int main(int argc, char **argv)
{
    static unsigned registered[COUNT] __attribute__((aligned(4096))), out[COUNT], ten = 10;
    CUdeviceptr device_mapped, device_registered, device_out;
    CUcontext context;
    CUmodule module = program_begin(&context);
    CUfunction copy = program_function(module, "copy");
    uint32_t digest = 0;
    int count = COUNT;
    CUstream stream;

    CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CU(cuMemHostAlloc((void **)&mapped, COUNT * 4, CU_MEMHOSTALLOC_DEVICEMAP));
    CU(cuMemHostGetDevicePointer_v2(&device_mapped, mapped, 0));
    CU(cuMemHostRegister_v2(registered, sizeof(registered), CU_MEMHOSTREGISTER_DEVICEMAP));
    CU(cuMemHostGetDevicePointer_v2(&device_registered, registered, 0));
    CU(cuMemAlloc_v2(&device_out, sizeof(out)));
    for (int round = 0; round < 8; round++) {
        mapped[round * 1024] = (unsigned)round + 1; /* one page of eight */
        registered[round] = (unsigned)round * 3;
        if (argc > 1 && strcmp(argv[1], "callback") == 0)
            CU(cuLaunchHostFunc(stream, add_on_host, &ten));
        program_launch(copy, COUNT, stream, (void *[]){&count, &device_mapped, &device_out});
        CU(cuMemcpyDtoHAsync_v2(out, device_out, sizeof(out), stream));
        CU(cuStreamSynchronize(stream));
        digest = digest * 31 + program_digest(out, sizeof(out));
        program_launch(copy, COUNT, stream, (void *[]){&count, &device_registered, &device_out});
        CU(cuMemcpyDtoHAsync_v2(out, device_out, sizeof(out), stream));
        CU(cuStreamSynchronize(stream));
        digest = digest * 31 + program_digest(out, sizeof(out));
    }
    CU(cuMemHostUnregister(registered));
    CU(cuMemFreeHost(mapped));
    CU(cuMemFree_v2(device_out));
    CU(cuStreamDestroy_v2(stream));
    program_end(module, context);
    printf("hostmem: %08x\n", digest);
    return 0;
}
