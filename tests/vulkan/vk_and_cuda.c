/* SPDX-License-Identifier: Apache-2.0
 *
 * Uses two APIs: it fills memory by CUDA, dispatches by Vulkan, and waits for both, twice. With an
 * argument it hangs in both then, and says "hangs" before: a stream of CUDA waits for a value that
 * nothing writes, a batch of Vulkan for a value of a timeline that only the batch itself brings.
 */
#include "api/cuda/abi.h"
#include "api/cuda/cuda_prototypes.h"
#include "tests/vulkan/vk_small.h"

#include <stdbool.h>

#define CU(call)                                                                                   \
    do {                                                                                           \
        CUresult status_ = (call);                                                                 \
        if (status_ != CUDA_SUCCESS) {                                                             \
            fprintf(stderr, "%s:%d: %s: %d\n", __FILE__, __LINE__, #call, (int)status_);           \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static struct small s;
static VkSemaphore gate;

static void with_timelines(VkDeviceCreateInfo *info)
{
    static VkPhysicalDeviceTimelineSemaphoreFeatures timeline = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES,
        .timelineSemaphore = VK_TRUE};

    info->pNext = &timeline;
}

static VkCommandBuffer make_commands(const struct words *w)
{
    const VkCommandBufferBeginInfo again = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    VkCommandBuffer commands = small_command_buffer(&s, s.pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY);

    TRY(vkBeginCommandBuffer(commands, &again));
    small_dispatch(&s, commands, small_set(&s, w->buffer), 7);
    TRY(vkEndCommandBuffer(commands));
    return commands;
}

int main(int argc, char **argv)
{
    const bool is_hanging = argc > 1;
    VkCommandBuffer commands;
    CUdeviceptr memory;
    CUcontext context;
    CUstream stream;
    struct words w;

    (void)argv;
    CU(cuInit(0));
    CU(cuCtxCreate_v2(&context, 0, 0));
    CU(cuStreamCreate(&stream, 0));
    CU(cuMemAlloc_v2(&memory, 1 << 16));
    small_device = with_timelines;
    small_init(&s, 0);
    words_init(&s, &w);
    commands = make_commands(&w);
    gate = timeline_make(&s);
    for (unsigned i = 0; i < 2; i++) {
        CU(cuMemsetD32Async(memory, i, 1 << 14, stream));
        small_run(&s, commands);
        CU(cuStreamSynchronize(stream));
    }
    if (!is_hanging)
        return 0;
    CU(cuStreamWaitValue32_v2(stream, memory + 4, 77, CU_STREAM_WAIT_VALUE_EQ));
    timeline_send(s.queue, commands, gate, 5, gate, 6);
    puts("hangs");
    fflush(stdout);
    CU(cuStreamSynchronize(stream));
    return 0;
}
