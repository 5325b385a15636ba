/* SPDX-License-Identifier: Apache-2.0
 *
 * Programs without races whose output a recorder must not change, and that a replay must find
 * equal:
 *
 *   batches SUBMIT  a timeline semaphore that the first of two batches signals is waited for while
 * the second still waits; then fence and device are. SUBMIT: 1 vkQueueSubmit, 2 vkQueueSubmit2
 *   stages          the semaphore is signalled by a batch, after stages that the work does not
 * have bytes SEED      host and device write different bytes of the same words, before, while and
 * after the device is at work threads         four threads, one mapping: each sends work of its
 * own, waits for it, looks and writes on
 *
 *   unread          computes in memory that it never maps, and reads nothing back; `unread keep`
 * does not free it, either same            a submit writes what is there already
 *
 * Each prints sums of what it reads, and what is wrong in it.
 */
#include "tests/vulkan/vk_small.h"

#include <pthread.h>
#include <string.h>

#define LONG_SIZE ((VkDeviceSize)16 << 20) /* to fill it takes a while */

static VkCommandBuffer primary(const struct small *s)
{
    return small_command_buffer(s, s->pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
}

static void with_features(VkDeviceCreateInfo *info)
{
    static VkPhysicalDeviceSynchronization2Features both = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SYNCHRONIZATION_2_FEATURES,
        .synchronization2 = VK_TRUE};
    static VkPhysicalDeviceTimelineSemaphoreFeatures timeline = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES,
        .pNext = &both,
        .timelineSemaphore = VK_TRUE};
    static const char *const name = VK_KHR_SYNCHRONIZATION_2_EXTENSION_NAME;

    info->pNext = &timeline;
    info->enabledExtensionCount = 1;
    info->ppEnabledExtensionNames = &name;
}

static void signal_by_host(const struct small *s, VkSemaphore semaphore, uint64_t value)
{
    VkSemaphoreSignalInfo info = {
        .sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO, .semaphore = semaphore, .value = value};

    TRY(vkSignalSemaphore(s->device, &info));
}

static VkCommandBuffer tripling(const struct small *s, const struct words *w, uint32_t constant)
{
    VkCommandBuffer commands = primary(s);

    small_begin(commands);
    small_dispatch(s, commands, small_set(s, w->buffer), constant);
    TRY(vkEndCommandBuffer(commands));
    return commands;
}

/* ---- batches -------------------------------------------------------------------------------- */

static void submit_batches(const struct small *s, VkSemaphore early, VkSemaphore gate,
                           VkCommandBuffer commands, VkFence fence)
{
    const uint64_t one = 1;
    VkPipelineStageFlags stage = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    VkTimelineSemaphoreSubmitInfo values[2] = {
        {.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
         .signalSemaphoreValueCount = 1,
         .pSignalSemaphoreValues = &one},
        {.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
         .waitSemaphoreValueCount = 1,
         .pWaitSemaphoreValues = &one}};
    VkSubmitInfo batches[2] = {{.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                                .pNext = &values[0],
                                .signalSemaphoreCount = 1,
                                .pSignalSemaphores = &early},
                               {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                                .pNext = &values[1],
                                .waitSemaphoreCount = 1,
                                .pWaitSemaphores = &gate,
                                .pWaitDstStageMask = &stage,
                                .commandBufferCount = 1,
                                .pCommandBuffers = &commands}};

    TRY(vkQueueSubmit(s->queue, 2, batches, fence));
}

static void submit_batches2(const struct small *s, VkSemaphore early, VkSemaphore gate,
                            VkCommandBuffer commands, VkFence fence)
{
    PFN_vkQueueSubmit2KHR submit =
        (PFN_vkQueueSubmit2KHR)vkGetDeviceProcAddr(s->device, "vkQueueSubmit2KHR");
    VkSemaphoreSubmitInfo semaphores[2] = {{.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO,
                                            .semaphore = early,
                                            .value = 1,
                                            .stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT},
                                           {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO,
                                            .semaphore = gate,
                                            .value = 1,
                                            .stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT}};
    VkCommandBufferSubmitInfo buffer = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO,
                                        .commandBuffer = commands};
    VkSubmitInfo2 batches[2] = {{.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2,
                                 .signalSemaphoreInfoCount = 1,
                                 .pSignalSemaphoreInfos = &semaphores[0]},
                                {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2,
                                 .waitSemaphoreInfoCount = 1,
                                 .pWaitSemaphoreInfos = &semaphores[1],
                                 .commandBufferInfoCount = 1,
                                 .pCommandBufferInfos = &buffer}};

    if (!submit)
        exit(77);
    TRY(submit(s->queue, 2, batches, fence));
}

static void batches(const char *which)
{
    VkFenceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    VkSemaphore early, gate;
    struct small s;
    struct words w;
    VkFence fence;

    small_device = with_features;
    small_init(&s, 0);
    words_init(&s, &w);
    early = timeline_make(&s);
    gate = timeline_make(&s);
    TRY(vkCreateFence(s.device, &info, NULL, &fence));
    for (uint32_t i = 0; i < WORDS; i++)
        w.map[i] = 9;
    (*which == '2' ? submit_batches2 : submit_batches)(&s, early, gate, tripling(&s, &w, 0), fence);
    timeline_await(&s, early, 1);
    printf("early %u\n", w.map[5]);
    signal_by_host(&s, gate, 1);
    TRY(vkWaitForFences(s.device, 1, &fence, VK_TRUE, UINT64_MAX));
    printf("fence %u\n", w.map[5]);
    TRY(vkDeviceWaitIdle(s.device));
    printf("device %u, sum %08x\n", w.map[5], words_sum(&w));
    vkDestroyFence(s.device, fence, NULL);
    vkDestroySemaphore(s.device, gate, NULL);
    vkDestroySemaphore(s.device, early, NULL);
    words_finish(&s, &w);
    small_finish(&s);
}

/* ---- stages --------------------------------------------------------------------------------- */

static void stages(void)
{
    PFN_vkQueueSubmit2KHR submit;
    VkFenceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    VkCommandBufferSubmitInfo buffer = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO};
    VkSemaphoreSubmitInfo signal = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO,
                                    .value = 1,
                                    .stageMask = VK_PIPELINE_STAGE_2_TRANSFER_BIT};
    VkSubmitInfo2 batch = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2,
                           .commandBufferInfoCount = 1,
                           .pCommandBufferInfos = &buffer,
                           .signalSemaphoreInfoCount = 1,
                           .pSignalSemaphoreInfos = &signal};
    struct small s;
    struct words w;
    VkFence fence;

    small_device = with_features;
    small_init(&s, 0);
    submit = (PFN_vkQueueSubmit2KHR)vkGetDeviceProcAddr(s.device, "vkQueueSubmit2KHR");
    if (!submit)
        exit(77);
    words_init(&s, &w);
    signal.semaphore = timeline_make(&s);
    TRY(vkCreateFence(s.device, &info, NULL, &fence));
    for (uint32_t i = 0; i < WORDS; i++)
        w.map[i] = i;
    buffer.commandBuffer = tripling(&s, &w, 1);
    TRY(submit(s.queue, 1, &batch, fence));
    timeline_await(&s, signal.semaphore, 1);
    TRY(vkWaitForFences(s.device, 1, &fence, VK_TRUE, UINT64_MAX));
    printf("sum %08x\n", words_sum(&w));
    vkDestroyFence(s.device, fence, NULL);
    vkDestroySemaphore(s.device, signal.semaphore, NULL);
    words_finish(&s, &w);
    small_finish(&s);
}

/* ---- bytes ---------------------------------------------------------------------------------- */

#define BYTES  (WORDS * 4)
#define ROUNDS 8u
#define PIECES 96u

/* Which bytes of the memory the device writes in a round; the host writes others. */
static void choose(uint8_t *is_device, VkBufferCopy *pieces)
{
    memset(is_device, 0, BYTES);
    for (uint32_t i = 0; i < PIECES; i++) {
        uint32_t at = (uint32_t)random() % BYTES, size = 1 + (uint32_t)random() % 13;
        size = size > BYTES - at ? BYTES - at : size;
        while (size > 0 && memchr(is_device + at, 1, size)) /* pieces do not overlap */
            size--;
        pieces[i] = (VkBufferCopy){at, at, size ? size : 1};
        if (!size)
            pieces[i] = pieces[0];
        memset(is_device + pieces[i].dstOffset, 1, pieces[i].size);
    }
}

/* The host writes some of its bytes. */
static void scribble(uint8_t *map, uint8_t *model, const uint8_t *is_device, uint32_t count)
{
    while (count-- > 0) {
        uint32_t at = (uint32_t)random() % BYTES;
        if (!is_device[at])
            ((volatile uint8_t *)map)[at] = model[at] = (uint8_t)(random() % 3);
    }
}

static uint32_t wrong_bytes(const void *map, const uint8_t *model)
{
    const uint8_t *bytes = map;
    uint32_t count = 0;

    for (uint32_t i = 0; i < BYTES; i++)
        count += bytes[i] != model[i];
    return count;
}

struct bytes {
    struct small s;
    struct words source, memory,
        out;        /* the device copies from the first to the second, to the third */
    VkBuffer large; /* that is filled to take time */
    VkEvent event;
    uint8_t model[BYTES], is_device[BYTES];
};

static VkBuffer make_large(const struct small *s)
{
    VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                               .size = LONG_SIZE,
                               .usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    VkMemoryAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
    VkMemoryRequirements needs;
    VkDeviceMemory memory;
    VkBuffer buffer;

    TRY(vkCreateBuffer(s->device, &info, NULL, &buffer));
    vkGetBufferMemoryRequirements(s->device, buffer, &needs);
    allocate.allocationSize = needs.size;
    TRY(vkAllocateMemory(s->device, &allocate, NULL, &memory));
    TRY(vkBindBufferMemory(s->device, buffer, memory, 0));
    return buffer;
}

static VkCommandBuffer copying(const struct bytes *b, const VkBufferCopy *pieces)
{
    VkMemoryBarrier all = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                           .srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT,
                           .dstAccessMask = VK_ACCESS_MEMORY_READ_BIT};
    VkCommandBuffer commands = primary(&b->s);

    small_begin(commands);
    vkCmdWaitEvents(commands, 1, &b->event, VK_PIPELINE_STAGE_HOST_BIT,
                    VK_PIPELINE_STAGE_TRANSFER_BIT, 0, NULL, 0, NULL, 0, NULL);
    for (uint32_t i = 0; i < PIECES; i++) {
        vkCmdCopyBuffer(commands, b->source.buffer, b->memory.buffer, 1, &pieces[i]);
        if (i == PIECES / 2)
            vkCmdFillBuffer(commands, b->large, 0, LONG_SIZE, 0);
    }
    vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT,
                         VK_PIPELINE_STAGE_HOST_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT, 0, 1, &all, 0,
                         NULL, 0, NULL);
    TRY(vkEndCommandBuffer(commands));
    return commands;
}

/* Counts wrong bytes as the device finds them where host and device wrote. */
static uint32_t wrong_on_device(const struct bytes *b)
{
    VkCommandBuffer commands = primary(&b->s);
    VkBufferCopy all = {.size = BYTES};

    small_begin(commands);
    vkCmdCopyBuffer(commands, b->memory.buffer, b->out.buffer, 1, &all);
    TRY(vkEndCommandBuffer(commands));
    small_run(&b->s, commands);
    return wrong_bytes(b->out.map, b->model);
}

static void one_round(struct bytes *b)
{
    VkBufferCopy pieces[PIECES];
    uint8_t *map = (uint8_t *)b->memory.map;
    VkFence fence;

    choose(b->is_device, pieces);
    for (uint32_t i = 0; i < BYTES; i++)
        ((uint8_t *)b->source.map)[i] = (uint8_t)(random() % 3);
    scribble(map, b->model, b->is_device, 200);
    TRY(vkResetEvent(b->s.device, b->event));
    fence = small_send(&b->s, copying(b, pieces));
    scribble(map, b->model, b->is_device, 200); /* the device waits */
    TRY(vkSetEvent(b->s.device, b->event));
    for (uint32_t i = 0; i < 8; i++) { /* the device writes */
        scribble(map, b->model, b->is_device, 20);
        TRY(vkSetEvent(b->s.device, b->event));
        vkGetFenceStatus(b->s.device, fence);
    }
    small_await(&b->s, fence);
    for (uint32_t i = 0; i < BYTES; i++)
        if (b->is_device[i])
            b->model[i] = ((uint8_t *)b->source.map)[i];
}

static void bytes(const char *seed)
{
    VkEventCreateInfo info = {.sType = VK_STRUCTURE_TYPE_EVENT_CREATE_INFO};
    static struct bytes b;
    uint32_t wrong = 0;

    srandom((unsigned)atoi(seed));
    small_init(&b.s, 0);
    words_init(&b.s, &b.source);
    words_init(&b.s, &b.memory);
    words_init(&b.s, &b.out);
    b.large = make_large(&b.s);
    TRY(vkCreateEvent(b.s.device, &info, NULL, &b.event));
    memset(b.memory.map, 0, BYTES);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        one_round(&b);
        wrong += wrong_bytes(b.memory.map, b.model) + wrong_on_device(&b);
        printf("round %08x\n", words_sum(&b.memory));
    }
    printf("%u bytes are wrong\n", wrong);
    vkDestroyEvent(b.s.device, b.event, NULL);
    words_finish(&b.s, &b.out);
    words_finish(&b.s, &b.memory);
    words_finish(&b.s, &b.source);
    vkDestroyBuffer(b.s.device, b.large, NULL);
    exit(0);
}

/* ---- threads -------------------------------------------------------------------------------- */

#define THREADS      4u
#define THREAD_TIMES 40u
#define SHARE        (WORDS / THREADS)

struct thread {
    const struct small *s;
    const struct words *from, *to; /* of all: it has a share */
    VkCommandBuffer commands;
    uint32_t index, wrong;
};

static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;

static VkFence send_locked(const struct thread *t)
{
    VkFence fence;

    pthread_mutex_lock(&queue_lock);
    fence = small_send(t->s, t->commands);
    pthread_mutex_unlock(&queue_lock);
    return fence;
}

static void *rounds(void *user)
{
    struct thread *t = user;
    volatile uint32_t *from = t->from->map + (size_t)t->index * SHARE;
    volatile uint32_t *to = t->to->map + (size_t)t->index * SHARE;

    for (uint32_t round = 0; round < THREAD_TIMES; round++) {
        for (uint32_t i = 0; i < SHARE; i++)
            from[i] = round * 1000 + i;
        small_await(t->s, send_locked(t));
        for (uint32_t i = 0; i < SHARE; i++)
            t->wrong += to[i] != round * 1000 + i;
    }
    return NULL;
}

static void threads(void)
{
    static struct thread workers[THREADS];
    pthread_t ids[THREADS];
    struct words from, to;
    struct small s;

    small_init(&s, 0);
    words_init(&s, &from);
    words_init(&s, &to);
    for (uint32_t i = 0; i < THREADS; i++) {
        VkBufferCopy part = {(VkDeviceSize)i * SHARE * 4, (VkDeviceSize)i * SHARE * 4, SHARE * 4};
        workers[i] = (struct thread){&s, &from, &to, primary(&s), i, 0};
        small_begin(workers[i].commands);
        vkCmdCopyBuffer(workers[i].commands, from.buffer, to.buffer, 1, &part);
        TRY(vkEndCommandBuffer(workers[i].commands));
    }
    for (uint32_t i = 0; i < THREADS; i++)
        pthread_create(&ids[i], NULL, rounds, &workers[i]);
    for (uint32_t i = 0; i < THREADS; i++) {
        pthread_join(ids[i], NULL);
        printf("%u words are wrong\n", workers[i].wrong);
    }
    TRY(vkDeviceWaitIdle(s.device));
    printf("sum %08x\n", words_sum(&to));
    words_finish(&s, &to);
    words_finish(&s, &from);
    small_finish(&s);
}

/* ---- results that nobody reads -------------------------------------------------------------- */

static void copy(const struct small *s, const struct words *from, const struct words *to)
{
    VkCommandBuffer commands = primary(s);
    VkBufferCopy all = {.size = WORDS * 4};

    small_begin(commands);
    vkCmdCopyBuffer(commands, from->buffer, to->buffer, 1, &all);
    TRY(vkEndCommandBuffer(commands));
    small_run(s, commands);
}

static void unread(const char *how)
{
    struct words staging, words;
    VkCommandBuffer commands;
    struct small s;

    small_unmapped = 1;
    small_init(&s, 0);
    words_init(&s, &words);
    small_unmapped = 0;
    words_init(&s, &staging);
    for (uint32_t i = 0; i < WORDS; i++)
        staging.map[i] = i * 7;
    copy(&s, &staging, &words);
    commands = tripling(&s, &words, 3);
    for (uint32_t i = 0; i < 10; i++)
        small_run(&s, commands);
    TRY(vkQueueWaitIdle(s.queue));
    printf("unread\n");
    if (*how)
        return;
    words_finish(&s, &staging);
    words_finish(&s, &words);
    small_finish(&s);
}

static void same(void)
{
    struct words from, to;
    struct small s;

    small_init(&s, 0);
    words_init(&s, &from);
    words_init(&s, &to);
    for (uint32_t i = 0; i < WORDS; i++)
        from.map[i] = to.map[i] = i;
    copy(&s, &from, &to);
    printf("same %08x\n", words_sum(&to));
    words_finish(&s, &to);
    words_finish(&s, &from);
    small_finish(&s);
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "batches") == 0)
        batches(argv[2]);
    else if (argc == 2 && strcmp(argv[1], "stages") == 0)
        stages();
    else if (argc == 3 && strcmp(argv[1], "bytes") == 0)
        bytes(argv[2]);
    else if (argc == 2 && strcmp(argv[1], "threads") == 0)
        threads();
    else if (argc >= 2 && strcmp(argv[1], "unread") == 0)
        unread(argc > 2 ? argv[2] : "");
    else if (argc == 2 && strcmp(argv[1], "same") == 0)
        same();
    else
        return 2;
    return 0;
}
