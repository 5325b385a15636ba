/* SPDX-License-Identifier: Apache-2.0
 *
 * Measures the cost of changing mapped memory to the program: 64 MiB of it, a part of its pages
 * changed before each of 50 submits. Milliseconds for a submit and its wait; without and with
 * libts_capture.so preloaded, for the difference. Arguments: every how many pages one is changed;
 * how many different contents there are, which come in turn (without: each is new); how many
 * submits there are; if there is a fourth, the device copies all of it to other memory each time.
 */
#include "tests/vulkan/vk_small.h"

#include <string.h>
#include <time.h>

#define PAGE    4096u
#define SIZE    (64u << 20)
#define SUBMITS 50

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static uint8_t *map_memory(const struct small *s, VkDeviceMemory *memory)
{
    VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                 .allocationSize = SIZE};
    void *map;

    TRY(vkAllocateMemory(s->device, &info, NULL, memory));
    TRY(vkMapMemory(s->device, *memory, 0, VK_WHOLE_SIZE, 0, &map));
    return map;
}

/* Nothing that could be compressed, and some more than is needed. */
static uint8_t *make_source(void)
{
    uint32_t *words = malloc(SIZE + SUBMITS * 64), state = 1;

    for (uint32_t i = 0; words && i < (SIZE + SUBMITS * 64) / 4; i++)
        words[i] = state = state * 1664525u + 1013904223u;
    if (!words)
        exit(1);
    return (uint8_t *)words;
}

static VkBuffer make_buffer(const struct small *s, VkDeviceMemory memory)
{
    VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                               .size = SIZE,
                               .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                        VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    VkBuffer buffer;

    TRY(vkCreateBuffer(s->device, &info, NULL, &buffer));
    TRY(vkBindBufferMemory(s->device, buffer, memory, 0));
    return buffer;
}

/* Records a copy: what the device reads becomes its own result, in buffers[1]. */
static void record_copy(const struct small *s, VkCommandBuffer commands, VkDeviceMemory memory,
                        VkDeviceMemory *other, VkBuffer buffers[2])
{
    const VkBufferCopy all = {.size = SIZE};

    map_memory(s, other);
    buffers[0] = make_buffer(s, memory);
    buffers[1] = make_buffer(s, *other);
    vkCmdCopyBuffer(commands, buffers[0], buffers[1], 1, &all);
}

int main(int argc, char **argv)
{
    uint32_t step = argc > 1 ? (uint32_t)atoi(argv[1]) : 1;
    uint32_t contents = argc > 2 ? (uint32_t)atoi(argv[2]) : SUBMITS;
    int submits = argc > 3 ? atoi(argv[3]) : SUBMITS;
    uint8_t *source = make_source();
    struct small s;
    VkDeviceMemory memory, other = VK_NULL_HANDLE;
    VkBuffer buffers[2] = {VK_NULL_HANDLE, VK_NULL_HANDLE};
    VkCommandBuffer commands;
    double begun;
    uint8_t *map;

    small_init(&s, 0);
    map = map_memory(&s, &memory);
    commands = small_command_buffer(&s, s.pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
    small_begin(commands);
    if (argc > 4)
        record_copy(&s, commands, memory, &other, buffers);
    TRY(vkEndCommandBuffer(commands));
    begun = now();
    for (int i = 0; i < submits; i++) {
        for (uint32_t page = 0; page < SIZE / PAGE; page += step)
            memcpy(map + page * PAGE, source + page * PAGE + (uint32_t)i % contents * 64, PAGE);
        small_run(&s, commands);
    }
    printf("%.2f ms\n", (now() - begun) / submits);
    free(source);
    vkDestroyBuffer(s.device, buffers[0], NULL);
    vkDestroyBuffer(s.device, buffers[1], NULL);
    vkFreeMemory(s.device, other, NULL);
    vkFreeMemory(s.device, memory, NULL);
    small_finish(&s);
    return 0;
}
