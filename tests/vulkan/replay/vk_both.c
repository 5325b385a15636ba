/* SPDX-License-Identifier: Apache-2.0
 *
 * CUDA and Vulkan in one program, in turn: what the one has computed goes through the program's
 * memory to the other.
 */
#include "tests/vulkan/vk_small.h"

#include <dlfcn.h>
#include <string.h>

static void *library;

#define CUDA(name, ...)                                                                            \
    do {                                                                                           \
        int (*function)(VA_TYPES_##name) = (int (*)(VA_TYPES_##name))dlsym(library, #name);        \
        int result = function ? function(__VA_ARGS__) : -1;                                        \
        if (result) {                                                                              \
            fprintf(stderr, "%s: %d\n", #name, result);                                            \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)
#define VA_TYPES_cuInit          unsigned
#define VA_TYPES_cuDeviceGet     int *, int
#define VA_TYPES_cuCtxCreate_v2  void **, unsigned, int
#define VA_TYPES_cuMemAlloc_v2   uint64_t *, size_t
#define VA_TYPES_cuMemsetD8_v2   uint64_t, unsigned char, size_t
#define VA_TYPES_cuMemcpyHtoD_v2 uint64_t, const void *, size_t
#define VA_TYPES_cuMemcpyDtoH_v2 void *, uint64_t, size_t

int main(void)
{
    struct small s;
    struct words w;
    VkCommandBuffer commands;
    uint32_t bytes[WORDS];
    uint64_t memory;
    void *context;
    int device;

    library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library)
        return 77;
    CUDA(cuInit, 0);
    CUDA(cuDeviceGet, &device, 0);
    CUDA(cuCtxCreate_v2, &context, 0, device);
    CUDA(cuMemAlloc_v2, &memory, WORDS * 4);
    CUDA(cuMemsetD8_v2, memory, 3, WORDS * 4);
    small_init(&s, 0);
    words_init(&s, &w);
    memset(w.map, 0, WORDS * 4);
    commands = small_command_buffer(&s, s.pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
    small_begin(commands);
    small_dispatch(&s, commands, small_set(&s, w.buffer), 7);
    TRY(vkEndCommandBuffer(commands));
    for (int round = 0; round < 8; round++) {
        CUDA(cuMemcpyDtoH_v2, bytes, memory, sizeof(bytes));
        for (uint32_t i = 0; i < WORDS; i++)
            w.map[i] += bytes[i];
        small_run(&s, commands);
        memcpy(bytes, w.map, sizeof(bytes));
        CUDA(cuMemcpyHtoD_v2, memory, bytes, sizeof(bytes));
    }
    printf("%08x\n", words_sum(&w));
    return 0;
}
