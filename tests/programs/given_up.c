/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory that the program gives up while a copy into it may be under way, or before anything has
 * said that it is not: given_up WAY WHEN. The memory is used for something else at once.
 *
 * WAY: free, register. WHEN: early (the copy has not begun), late (the bytes are there, as the
 * program finds in its memory; it calls nothing that says so).
 */
#include "tests/programs/program.h"

#include <stdbool.h>
#include <unistd.h>

enum { COUNT = 4096, SIZE = COUNT * 4 };

static uint32_t *take(bool is_own)
{
    void *memory;

    if (!is_own) {
        CU(cuMemAllocHost_v2(&memory, SIZE));
        return memory;
    }
    memory = aligned_alloc(4096, SIZE);
    CU(cuMemHostRegister_v2(memory, SIZE, 0));
    return memory;
}

static void give_up(uint32_t *memory, bool is_own)
{
    if (is_own)
        CU(cuMemHostUnregister(memory));
    else
        CU(cuMemFreeHost(memory));
}

int main(int argc, char **argv)
{
    const bool is_own = argc > 1 && !strcmp(argv[1], "register");
    const bool is_late = argc > 2 && !strcmp(argv[2], "late");
    int count = COUNT, rounds = is_late ? 1 : 20000;
    CUcontext context;
    CUmodule module = program_begin(&context);
    CUfunction mix = program_function(module, "mix");
    CUdeviceptr device;
    CUstream stream;
    uint32_t sum = 0;

    CU(cuMemAlloc_v2(&device, SIZE));
    CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t *memory = take(is_own), *other;

        memset(memory, 0, SIZE);
        CU(cuMemsetD32Async(device, i + 1, COUNT, stream));
        program_launch(mix, COUNT, stream, (void *[]){&count, &rounds, &device});
        CU(cuMemcpyDtoHAsync_v2(memory, device, SIZE, stream));
        if (is_late) {
            while (!__atomic_load_n(&memory[COUNT - 1], __ATOMIC_ACQUIRE))
                usleep(1000);
            usleep(100000); /* between the last byte and the end of the copy are microseconds */
            sum = sum * 31 + memory[COUNT - 1];
        }
        give_up(memory, is_own);
        other = is_own ? memory : take(false);
        memset(other, 0xa5, SIZE);
        CU(cuStreamSynchronize(stream));
        if (!is_own)
            give_up(other, false);
        else
            free(memory);
    }
    CU(cuStreamDestroy_v2(stream));
    CU(cuMemFree_v2(device));
    printf("given_up: %08x\n", sum);
    program_end(module, context);
    return 0;
}
