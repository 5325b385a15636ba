/* SPDX-License-Identifier: Apache-2.0
 *
 * Command buffers of all kinds that have commands to be timed: one after the other, again, while
 * they are under way, in each other, begun anew, long ones, by several threads. Each kind says what
 * its words come to.
 *
 *   vk_timed [LONG]             LONG: fills in the long command buffer
 *   vk_timed rounds ROUNDS COUNT WORK
 *                               what it costs: a command buffer of so many fills (WORK fill) or
 * dispatches, recorded, sent and waited for so often; prints nanoseconds per command of both
 */
#include "tests/vulkan/vk_small.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#define THREADS 3u
#define ROUNDS  4u

static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;

static VkCommandPool make_pool(const struct small *s)
{
    VkCommandPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                    .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT};
    VkCommandPool pool;

    TRY(vkCreateCommandPool(s->device, &info, NULL, &pool));
    return pool;
}

static void begin(VkCommandBuffer commands, VkCommandBufferUsageFlags flags)
{
    VkCommandBufferInheritanceInfo inheritance = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_INFO};
    VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                     .flags = flags,
                                     .pInheritanceInfo = &inheritance};

    TRY(vkBeginCommandBuffer(commands, &info));
}

static void order(VkCommandBuffer commands)
{
    VkMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                               .srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT,
                               .dstAccessMask =
                                   VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT};

    vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                         VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 1, &barrier, 0, NULL, 0, NULL);
}

/* One of each: fill, update, copy, and two dispatches. */
static void put_all(const struct small *s, VkCommandBuffer commands, const struct words *w,
                    VkDescriptorSet set)
{
    const uint32_t three = 3;
    const VkBufferCopy half = {0, WORDS * 2, WORDS * 2};

    vkCmdFillBuffer(commands, w->buffer, 0, WORDS * 4, 2);
    order(commands);
    vkCmdUpdateBuffer(commands, w->buffer, 4, 4, &three);
    order(commands);
    vkCmdCopyBuffer(commands, w->buffer, w->buffer, 1, &half);
    order(commands);
    small_dispatch(s, commands, set, 5);
    small_dispatch(s, commands, set, 6);
    order(commands);
}

static void say(const char *what, const struct words *w)
{
    printf("%s %08x\n", what, words_sum(w));
}

/* ---- kinds -------------------------------------------------------------------------------- */

struct kind {
    const struct small *s;
    VkCommandPool pool;
    struct words w;
    VkDescriptorSet set;
};

static void plain(const struct kind *k)
{
    VkCommandBuffer commands = small_command_buffer(k->s, k->pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY);

    begin(commands, 0);
    put_all(k->s, commands, &k->w, k->set);
    TRY(vkEndCommandBuffer(commands));
    for (uint32_t i = 0; i < ROUNDS; i++)
        small_run(k->s, commands);
    say("plain", &k->w);
    begin(commands, VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT);
    small_dispatch(k->s, commands, k->set, 1);
    TRY(vkEndCommandBuffer(commands));
    small_run(k->s, commands);
    say("again", &k->w);
    TRY(vkResetCommandBuffer(commands, 0));
    TRY(vkResetCommandPool(k->s->device, k->pool, 0));
    begin(commands, 0);
    small_dispatch(k->s, commands, k->set, 2);
    TRY(vkEndCommandBuffer(commands));
    small_run(k->s, commands);
    say("reset", &k->w);
    vkFreeCommandBuffers(k->s->device, k->pool, 1, &commands);
}

/* Twice in a batch, in two batches, and in another submit, all at once. */
static void together(const struct kind *k)
{
    VkCommandBuffer commands = small_command_buffer(k->s, k->pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
    VkCommandBuffer list[2] = {commands, commands};
    VkSubmitInfo submits[3] = {
        {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO},
        {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 2, .pCommandBuffers = list},
        {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = list}};

    begin(commands, VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT);
    small_dispatch(k->s, commands, k->set, 5);
    TRY(vkEndCommandBuffer(commands));
    TRY(vkQueueSubmit(k->s->queue, 3, submits, VK_NULL_HANDLE));
    TRY(vkQueueSubmit(k->s->queue, 1, &submits[2], VK_NULL_HANDLE));
    TRY(vkQueueWaitIdle(k->s->queue));
    say("together", &k->w);
}

static void nested(const struct kind *k, VkCommandBufferUsageFlags flags, uint32_t times)
{
    VkCommandBuffer outer = small_command_buffer(k->s, k->pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
    VkCommandBuffer inner = small_command_buffer(k->s, k->pool, VK_COMMAND_BUFFER_LEVEL_SECONDARY);

    begin(inner, flags);
    small_dispatch(k->s, inner, k->set, 1);
    small_dispatch(k->s, inner, k->set, 2);
    TRY(vkEndCommandBuffer(inner));
    begin(outer, 0);
    small_dispatch(k->s, outer, k->set, 3);
    for (uint32_t i = 0; i < times; i++) {
        order(outer);
        vkCmdExecuteCommands(outer, 1, &inner);
    }
    order(outer);
    small_dispatch(k->s, outer, k->set, 4);
    TRY(vkEndCommandBuffer(outer));
    small_run(k->s, outer);
    small_run(k->s, outer);
    say(times > 1 ? "repeated" : "nested", &k->w);
}

/* More than a block of queries has, also above what there is. */
static void many(const struct kind *k, uint32_t count)
{
    VkCommandBuffer commands = small_command_buffer(k->s, k->pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY);

    begin(commands, 0);
    for (uint32_t i = 0; i < count; i++)
        vkCmdFillBuffer(commands, k->w.buffer, (i % WORDS) * 4, 4, i);
    TRY(vkEndCommandBuffer(commands));
    small_run(k->s, commands);
    say("many", &k->w);
}

/* ---- threads ------------------------------------------------------------------------------ */

static void *thread(void *user)
{
    const struct kind *k = user;
    VkFenceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    VkCommandBuffer commands = small_command_buffer(k->s, k->pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
    VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                           .commandBufferCount = 1,
                           .pCommandBuffers = &commands};
    VkFence fence;

    TRY(vkCreateFence(k->s->device, &info, NULL, &fence));
    for (uint32_t round = 0; round < 8 * ROUNDS; round++) {
        for (uint32_t i = 0; i < 40; i++) { /* the recorder looks the others' up again */
            VkCommandBuffer other =
                small_command_buffer(k->s, k->pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY);

            vkFreeCommandBuffers(k->s->device, k->pool, 1, &other);
        }
        begin(commands, 0);
        put_all(k->s, commands, &k->w, k->set);
        TRY(vkEndCommandBuffer(commands));
        pthread_mutex_lock(&queue_lock);
        TRY(vkQueueSubmit(k->s->queue, 1, &submit, fence));
        pthread_mutex_unlock(&queue_lock);
        TRY(vkWaitForFences(k->s->device, 1, &fence, VK_TRUE, UINT64_MAX));
        TRY(vkResetFences(k->s->device, 1, &fence));
    }
    vkDestroyFence(k->s->device, fence, NULL);
    return NULL;
}

static void kind_init(struct kind *k, const struct small *s)
{
    *k = (struct kind){.s = s, .pool = make_pool(s)};
    words_init(s, &k->w);
    memset(k->w.map, 0, WORDS * 4);
    k->set = small_set(s, k->w.buffer);
}

static void kind_finish(struct kind *k)
{
    vkDestroyCommandPool(k->s->device, k->pool, NULL);
    words_finish(k->s, &k->w);
}

static void threads(const struct small *s)
{
    pthread_t list[THREADS];
    struct kind kinds[THREADS];

    for (uint32_t i = 0; i < THREADS; i++) {
        kind_init(&kinds[i], s);
        pthread_create(&list[i], NULL, thread, &kinds[i]);
    }
    for (uint32_t i = 0; i < THREADS; i++) {
        pthread_join(list[i], NULL);
        say("thread", &kinds[i].w);
        kind_finish(&kinds[i]);
    }
}

/* ---- cost --------------------------------------------------------------------------------- */

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void rounds(const struct kind *k, uint32_t round_count, uint32_t count, bool fills)
{
    VkCommandBuffer commands = small_command_buffer(k->s, k->pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
    uint64_t recording = 0, running = 0, start, middle;

    for (uint32_t round = 0; round < round_count; round++) {
        start = now_ns();
        begin(commands, 0);
        for (uint32_t i = 0; i < count; i++)
            if (fills)
                vkCmdFillBuffer(commands, k->w.buffer, 0, WORDS * 4, i);
            else
                small_dispatch(k->s, commands, k->set, i);
        TRY(vkEndCommandBuffer(commands));
        middle = now_ns();
        small_run(k->s, commands);
        running += now_ns() - middle;
        recording += middle - start;
    }
    printf("%.1f %.1f\n", (double)recording / round_count / count,
           (double)running / round_count / count);
}

int main(int argc, char **argv)
{
    struct small s;
    struct kind k;

    small_init(&s, 0);
    kind_init(&k, &s);
    if (argc == 5) {
        rounds(&k, (uint32_t)atoi(argv[2]), (uint32_t)atoi(argv[3]), strcmp(argv[4], "fill") == 0);
        return 0;
    }
    plain(&k);
    together(&k);
    nested(&k, 0, 1);
    nested(&k, VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT, 2);
    many(&k, argc > 1 ? (uint32_t)atoi(argv[1]) : 500);
    threads(&s);
    kind_finish(&k);
    small_finish(&s);
    return 0;
}
