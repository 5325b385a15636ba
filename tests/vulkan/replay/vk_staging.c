/* SPDX-License-Identifier: Apache-2.0
 *
 * vk_staging COUNT WAIT: sends bytes to the GPU as most programs do. Each round fills staging
 * memory, submits a copy of it behind work that takes a while, learns that the copy is done, and
 * then overwrites or frees the staging memory at once. WAIT says how the host learns it: fence,
 * fence_status, queue, device, value, counter, event, query, query_wait, partial, availability.
 */
#include "tests/vulkan/vk_small.h"

#include <string.h>

#define SCRATCH (8u << 20) /* filled so often that what does not wait comes too early */
#define FILLS   16u

struct buffer {
    VkBuffer buffer;
    VkDeviceMemory memory;
};

struct staging {
    struct small s;
    struct buffer scratch, sums; /* never mapped */
    struct words kept, result;
    VkSemaphore timeline;
    VkEvent event;
    VkQueryPool queries;
    VkFence fence;
    const char *wait;
    int frees; /* WAIT says that a whole submit is done, so that what it used can be freed */
};

static void buffer_init(const struct small *s, struct buffer *b, VkDeviceSize size)
{
    VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                               .size = size,
                               .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                        VK_BUFFER_USAGE_TRANSFER_DST_BIT |
                                        VK_BUFFER_USAGE_STORAGE_BUFFER_BIT};
    VkMemoryAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
    VkMemoryRequirements needs;

    TRY(vkCreateBuffer(s->device, &info, NULL, &b->buffer));
    vkGetBufferMemoryRequirements(s->device, b->buffer, &needs);
    allocate.allocationSize = needs.size;
    TRY(vkAllocateMemory(s->device, &allocate, NULL, &b->memory));
    TRY(vkBindBufferMemory(s->device, b->buffer, b->memory, 0));
}

static void buffer_finish(const struct small *s, struct buffer *b)
{
    vkDestroyBuffer(s->device, b->buffer, NULL);
    vkFreeMemory(s->device, b->memory, NULL);
}

static void make(struct staging *t)
{
    VkEventCreateInfo event = {.sType = VK_STRUCTURE_TYPE_EVENT_CREATE_INFO};
    VkQueryPoolCreateInfo queries = {.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                                     .queryType = VK_QUERY_TYPE_TIMESTAMP,
                                     .queryCount = 1};
    VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};

    small_init(&t->s, 0);
    buffer_init(&t->s, &t->scratch, SCRATCH);
    buffer_init(&t->s, &t->sums, WORDS * 4);
    words_init(&t->s, &t->kept);
    words_init(&t->s, &t->result);
    t->timeline = timeline_make(&t->s);
    TRY(vkCreateEvent(t->s.device, &event, NULL, &t->event));
    TRY(vkCreateQueryPool(t->s.device, &queries, NULL, &t->queries));
    TRY(vkCreateFence(t->s.device, &fence, NULL, &t->fence));
}

static void finish(struct staging *t)
{
    vkDestroyFence(t->s.device, t->fence, NULL);
    vkDestroyQueryPool(t->s.device, t->queries, NULL);
    vkDestroyEvent(t->s.device, t->event, NULL);
    vkDestroySemaphore(t->s.device, t->timeline, NULL);
    words_finish(&t->s, &t->result);
    words_finish(&t->s, &t->kept);
    buffer_finish(&t->s, &t->sums);
    buffer_finish(&t->s, &t->scratch);
    small_finish(&t->s);
}

/* ---- one round ---------------------------------------------------------------------------- */

static void barrier(VkCommandBuffer commands)
{
    const VkMemoryBarrier all = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                 .srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT,
                                 .dstAccessMask =
                                     VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT};

    vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                         VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 1, &all, 0, NULL, 0, NULL);
}

static void fill(const struct staging *t, VkCommandBuffer commands, const struct words *from)
{
    const VkBufferCopy low = {0, 0, WORDS * 2}, high = {0, WORDS * 2, WORDS * 2};

    small_begin(commands);
    vkCmdResetQueryPool(commands, t->queries, 0, 1);
    for (uint32_t i = 0; i < FILLS; i++)
        vkCmdFillBuffer(commands, t->scratch.buffer, 0, SCRATCH, i);
    barrier(commands);
    small_dispatch(&t->s, commands, small_set(&t->s, t->sums.buffer), 1);
    barrier(commands);
    vkCmdCopyBuffer(commands, from->buffer, t->sums.buffer, 1, &low);
    vkCmdCopyBuffer(commands, t->kept.buffer, t->sums.buffer, 1, &high);
    barrier(commands);
    vkCmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, t->queries, 0);
    vkCmdSetEvent(commands, t->event, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT);
    TRY(vkEndCommandBuffer(commands));
}

static void submit(const struct staging *t, VkCommandBuffer commands, uint64_t value)
{
    VkTimelineSemaphoreSubmitInfo values = {.sType =
                                                VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
                                            .signalSemaphoreValueCount = 1,
                                            .pSignalSemaphoreValues = &value};
    VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                         .pNext = &values,
                         .commandBufferCount = 1,
                         .pCommandBuffers = &commands,
                         .signalSemaphoreCount = 1,
                         .pSignalSemaphores = &t->timeline};
    int fenced = !strncmp(t->wait, "fence", 5);

    TRY(vkQueueSubmit(t->s.queue, 1, &info, fenced ? t->fence : VK_NULL_HANDLE));
}

static int is(const struct staging *t, const char *wait)
{
    return !strcmp(t->wait, wait);
}

/* Until the result is there, or the word after it says that it is. */
static void poll_query(const struct staging *t)
{
    VkQueryResultFlags flags = VK_QUERY_RESULT_64_BIT;
    uint64_t result[2] = {0, 1};
    VkResult got;

    flags |= is(t, "query_wait") ? VK_QUERY_RESULT_WAIT_BIT : 0;
    flags |= is(t, "partial") ? VK_QUERY_RESULT_PARTIAL_BIT : 0;
    flags |= !strncmp(t->wait, "query", 5) ? 0 : VK_QUERY_RESULT_WITH_AVAILABILITY_BIT;
    do
        got = vkGetQueryPoolResults(t->s.device, t->queries, 0, 1, sizeof(result), result,
                                    sizeof(result), flags);
    while (got == VK_NOT_READY || !result[1]);
    TRY(got);
}

static void poll_counter(const struct staging *t, uint64_t value)
{
    uint64_t seen = 0;

    while (seen < value)
        TRY(vkGetSemaphoreCounterValue(t->s.device, t->timeline, &seen));
}

static void learn(struct staging *t, uint64_t value)
{
    if (is(t, "fence"))
        TRY(vkWaitForFences(t->s.device, 1, &t->fence, VK_TRUE, UINT64_MAX));
    while (is(t, "fence_status") && vkGetFenceStatus(t->s.device, t->fence) == VK_NOT_READY)
        ;
    while (is(t, "event") && vkGetEventStatus(t->s.device, t->event) == VK_EVENT_RESET)
        ;
    if (is(t, "queue"))
        TRY(vkQueueWaitIdle(t->s.queue));
    else if (is(t, "device"))
        TRY(vkDeviceWaitIdle(t->s.device));
    else if (is(t, "value"))
        timeline_await(&t->s, t->timeline, value);
    else if (is(t, "counter"))
        poll_counter(t, value);
    else if (!t->frees && !is(t, "event"))
        poll_query(t);
}

static void run_round(struct staging *t, uint32_t round)
{
    VkCommandBuffer commands =
        small_command_buffer(&t->s, t->s.pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
    struct words from = t->kept;

    if (t->frees)
        words_init(&t->s, &from);
    for (uint32_t i = 0; i < WORDS; i++)
        from.map[i] = t->kept.map[i] = i * (round + 1);
    fill(t, commands, &from);
    submit(t, commands, round + 1);
    learn(t, round + 1);
    memset(t->kept.map, 0xee, WORDS * 4);
    TRY(vkResetEvent(t->s.device, t->event));
    if (!t->frees)
        return;
    words_finish(&t->s, &from);
    vkFreeCommandBuffers(t->s.device, t->s.pool, 1, &commands);
    TRY(vkResetDescriptorPool(t->s.device, t->s.sets, 0));
    TRY(vkResetFences(t->s.device, 1, &t->fence));
}

static void read_back(struct staging *t)
{
    const VkBufferCopy all = {0, 0, WORDS * 4};
    VkCommandBuffer commands =
        small_command_buffer(&t->s, t->s.pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY);

    small_begin(commands);
    barrier(commands);
    vkCmdCopyBuffer(commands, t->sums.buffer, t->result.buffer, 1, &all);
    barrier(commands);
    TRY(vkEndCommandBuffer(commands));
    small_run(&t->s, commands);
    printf("%08x\n", words_sum(&t->result));
}

int main(int argc, char **argv)
{
    uint32_t count = argc > 1 ? (uint32_t)atoi(argv[1]) : 8;
    struct staging t = {.wait = argc > 2 ? argv[2] : "fence"};

    t.frees = is(&t, "fence") || is(&t, "fence_status") || is(&t, "queue") || is(&t, "device") ||
              is(&t, "value") || is(&t, "counter");
    make(&t);
    for (uint32_t i = 0; i < count; i++)
        run_round(&t, i);
    read_back(&t);
    finish(&t);
    return 0;
}
