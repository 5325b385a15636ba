/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory, copies, streams and events of any libamdhip64 that is here, opened by name. No kernels:
 * those of AMD's GPUs do not run on the software GPU. Exits with 77 where there is no HIP.
 */
#include "tests/hip/hip_opened.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* Memory with rows, and an array, which is an image, with a texture. What is in an array only
 * kernels can tell. */
static int work_on_rows(void)
{
    const struct {
        int x, y, z, w, kind;
    } channels = {32, 0, 0, 0, 2}; /* one float */
    struct {
        uint32_t type;
        hipArray_t array;
        uint64_t rest[16];
    } resource = {0};
    struct {
        uint32_t type;
        void *memory;
        int channels[5];
        size_t size;
        uint64_t rest[16];
    } linear;
    static const uint64_t how[32]; /* a texture's description: nothing special */
    hipTextureObject_t texture;
    size_t pitch = 0;
    void *memory;

    memset(back, 0, sizeof(back));
    CALL(hipMallocPitch, &memory, &pitch, 400, 20);
    CALL(hipMemcpy2D, memory, pitch, sent[0], 400, 400, 20, 1);
    CALL(hipMemcpy2D, back[0], 400, memory, pitch, 400, 20, 2);
    CALL(hipFree, memory);
    CALL(hipMallocArray, &resource.array, &channels, 100, 20, 0);
    CALL(hipCreateTextureObject, &texture, &resource, how, NULL);
    CALL(hipDestroyTextureObject, texture);
    memset(&linear, 0, sizeof(linear));
    linear.type = 2;
    linear.channels[0] = 32;
    linear.channels[4] = 2;
    linear.size = 64; /* less than a row of the GPU's */
    CALL(hipMalloc, &linear.memory, linear.size);
    CALL(hipCreateTextureObject, &texture, &linear, how, NULL);
    CALL(hipDestroyTextureObject, texture);
    CALL(hipFree, linear.memory);
    CALL(hipFreeArray, resource.array);
    return pitch < 400 || memcmp(sent[0], back[0], 8000);
}

/* Calls that compilers put around launches, and the runtime compiler: each answers, whatever it
 * does. */
static int work_on_code(void)
{
    const dim3 grid = {3, 2, 1}, block = {64, 1, 1};
    dim3 back_grid, back_block;
    hiprtcProgram program;
    hipStream_t stream;
    size_t shared = 0;

    CALL(__hipPushCallConfiguration, grid, block, 128, NULL);
    CALL(__hipPopCallConfiguration, &back_grid, &back_block, &shared, &stream);
    if (F(hiprtcCreateProgram)(&program, "no code", "none.cu", 0, NULL, NULL) != 0)
        return 1;
    if (F(hiprtcCompileProgram)(program, 0, NULL) == 0)
        return 1;
    return F(hiprtcDestroyProgram)(&program) != 0 || back_grid.y != 2 || shared != 128;
}

int main(void)
{
    int count = 0, bad;

    if (!hip_open())
        return 77;
    CALL(hipInit, 0);
    if (F(hipGetDeviceCount)(&count) != 0 || !count) {
        printf("no device\n");
        return 1;
    }
    bad = work(4096) | work(1 << 20) | work_on_rows() | work_on_code();
    printf(bad ? "wrong\n" : "right\n");
    fflush(stdout);
    _Exit(bad); /* what HIP's own end does, is not looked at */
}
