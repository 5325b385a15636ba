/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory, copies, streams and events of any libamdhip64 that is here, opened by name. No kernels:
 * those of AMD's GPUs do not run on the software GPU. Exits with 77 where there is no HIP.
 */
#include "api/hip/hip_prototypes.h"
#include "tests/programs/opened.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(hipError_t error, const char *what)
{
    if (error == 0)
        return;
    fprintf(stderr, "%s: %u\n", what, error);
    exit(1);
}

#define CALL(name, ...) check(F(name)(__VA_ARGS__), #name)

static unsigned char sent[2][1 << 20], back[2][1 << 20];

static int work(size_t size)
{
    void *memory[2] = {NULL, NULL};
    hipStream_t stream;
    hipEvent_t event;

    for (size_t i = 0; i < size; i++) {
        sent[0][i] = (unsigned char)(i * 7);
        sent[1][i] = (unsigned char)(i * 13 + size);
    }
    memset(back, 0, sizeof(back));
    CALL(hipStreamCreate, &stream);
    CALL(hipEventCreate, &event);
    CALL(hipMalloc, &memory[0], size);
    CALL(hipMalloc, &memory[1], size);
    CALL(hipMemcpy, memory[0], sent[0], size, 1);
    CALL(hipMemcpyAsync, memory[1], sent[1], size, 1, stream);
    CALL(hipEventRecord, event, stream);
    CALL(hipEventSynchronize, event);
    CALL(hipMemcpyAsync, back[0], memory[0], size, 2, stream);
    CALL(hipStreamSynchronize, stream);
    CALL(hipMemcpy, back[1], memory[1], size, 2);
    CALL(hipFree, memory[0]);
    CALL(hipFree, memory[1]);
    CALL(hipEventDestroy, event);
    CALL(hipStreamDestroy, stream);
    return memcmp(sent[0], back[0], size) || memcmp(sent[1], back[1], size);
}

int main(void)
{
    static const char *const names[] = {"libamdhip64.so.5", "libamdhip64.so.6", "libamdhip64.so"};
    int count = 0, bad;

    for (unsigned i = 0; i < 3 && !library; i++)
        library = dlopen(names[i], RTLD_NOW);
    if (!library)
        return 77;
    CALL(hipInit, 0);
    if (F(hipGetDeviceCount)(&count) != 0 || !count) {
        printf("no device\n");
        return 1;
    }
    bad = work(4096) | work(1 << 20);
    printf(bad ? "wrong\n" : "right\n");
    fflush(stdout);
    _Exit(bad); /* what HIP's own end does, is not looked at */
}
