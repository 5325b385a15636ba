/* SPDX-License-Identifier: Apache-2.0
 *
 * Work that is sent before the host signals what it waits for, when what it signals itself looks as
 * if it was given already. `vk_chain self`: each submit waits for a value of the host's, and makes
 * the same semaphore one more. `vk_chain queues`: the second queue waits for what the first signals
 * after a wait for the host; then the first, by a value between two of the second's. A thread of
 * its own signals. Each prints what it computed.
 */
#include "tests/vulkan/vk_small.h"

#include <pthread.h>
#include <string.h>

static VkPhysicalDeviceTimelineSemaphoreFeatures timeline = {
    .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES,
    .timelineSemaphore = VK_TRUE};
static const float priority = 1;
static const VkDeviceQueueCreateInfo two_queues[] = {
    {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
     .queueFamilyIndex = 0,
     .queueCount = 1,
     .pQueuePriorities = &priority},
    {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
     .queueFamilyIndex = 1,
     .queueCount = 1,
     .pQueuePriorities = &priority}};

/* All of a run; `commands` computes with the words once. */
static struct chain {
    struct small s;
    struct words w;
    VkCommandBuffer commands;
    VkQueue second;
    VkSemaphore start, semaphore;
} chain;

static void with_timelines(VkDeviceCreateInfo *info)
{
    info->pNext = &timeline;
}

static void with_queues(VkDeviceCreateInfo *info)
{
    info->pNext = &timeline;
    info->queueCreateInfoCount = 2;
    info->pQueueCreateInfos = two_queues;
}

static void begin(void (*device)(VkDeviceCreateInfo *info))
{
    struct chain *c = &chain;

    small_device = device;
    small_init(&c->s, 0);
    words_init(&c->s, &c->w);
    for (uint32_t i = 0; i < WORDS; i++)
        c->w.map[i] = i * 71;
    c->start = timeline_make(&c->s);
    c->semaphore = timeline_make(&c->s);
    c->commands = small_command_buffer(&c->s, c->s.pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
    small_begin(c->commands);
    small_dispatch(&c->s, c->commands, small_set(&c->s, c->w.buffer), 3);
    TRY(vkEndCommandBuffer(c->commands));
}

static void end(void)
{
    TRY(vkDeviceWaitIdle(chain.s.device));
    vkDestroySemaphore(chain.s.device, chain.start, NULL);
    vkDestroySemaphore(chain.s.device, chain.semaphore, NULL);
    words_finish(&chain.s, &chain.w);
    small_finish(&chain.s);
}

/* The queue waits for `from`, computes, and signals `semaphore`. */
static void send(VkQueue queue, VkSemaphore from, uint64_t wait, uint64_t signal)
{
    timeline_send(queue, chain.commands, from, wait, chain.semaphore, signal);
}

static void signal_value(VkSemaphore semaphore, uint64_t value)
{
    VkSemaphoreSignalInfo info = {
        .sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO, .semaphore = semaphore, .value = value};

    TRY(vkSignalSemaphore(chain.s.device, &info));
}

static void await(uint64_t value)
{
    timeline_await(&chain.s, chain.semaphore, value);
    printf("%llu %08x\n", (unsigned long long)value, words_sum(&chain.w));
}

/* ---- one semaphore -------------------------------------------------------------------------- */

static void *signal_odd(void *unused)
{
    for (uint64_t value = 1; value < 6; value += 2) {
        signal_value(chain.semaphore, value);
        await(value + 1);
    }
    return NULL;
}

static void self(void)
{
    pthread_t thread;

    begin(with_timelines);
    for (uint64_t value = 1; value < 6; value += 2)
        send(chain.s.queue, chain.semaphore, value, value + 1);
    if (pthread_create(&thread, NULL, signal_odd, NULL))
        exit(1);
    await(6);
    pthread_join(thread, NULL);
    end();
}

/* ---- two queues ----------------------------------------------------------------------------- */

static void *signal_both(void *unused)
{
    signal_value(chain.start, 1);
    await(2);
    signal_value(chain.semaphore, 3);
    return NULL;
}

static void queues(void)
{
    pthread_t thread;

    begin(with_queues);
    vkGetDeviceQueue(chain.s.device, 1, 0, &chain.second);
    send(chain.s.queue, chain.start, 1, 1);
    send(chain.second, chain.semaphore, 1, 2);
    send(chain.s.queue, chain.semaphore, 3, 4);
    if (pthread_create(&thread, NULL, signal_both, NULL))
        exit(1);
    await(4);
    pthread_join(thread, NULL);
    send(chain.second, chain.semaphore, 4, 5);
    await(5);
    end();
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "self") == 0)
        self();
    else if (argc == 2 && strcmp(argv[1], "queues") == 0)
        queues();
    else
        return 2;
    return 0;
}
