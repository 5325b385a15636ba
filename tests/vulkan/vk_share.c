/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory, semaphores and fences that go through file descriptors: between two devices of a program,
 * and from one process to another. Each mode prints what was computed.
 */
#include "tests/vulkan/vk_small.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define FIND(device, name) ((PFN_##name)vkGetDeviceProcAddr(device, #name))
#define OPAQUE_MEMORY      VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT
#define ROUNDS             3u

static const char *const names[] = {"VK_KHR_external_memory_fd", "VK_KHR_external_semaphore_fd",
                                    "VK_KHR_external_fence_fd"};
static uint32_t name_count = 1;
static const VkExportMemoryAllocateInfo exported = {
    .sType = VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO, .handleTypes = OPAQUE_MEMORY};

static void with_fds(VkDeviceCreateInfo *info)
{
    info->enabledExtensionCount = name_count;
    info->ppEnabledExtensionNames = names;
}

static int memory_fd(const struct small *s, const struct words *w)
{
    VkMemoryGetFdInfoKHR get = {.sType = VK_STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR,
                                .memory = w->memory,
                                .handleType = OPAQUE_MEMORY};
    int fd;

    TRY(FIND(s->device, vkGetMemoryFdKHR)(s->device, &get, &fd));
    return fd;
}

/* The words behind a descriptor, which is the driver's from then on. */
static void import_words(const struct small *s, struct words *w, int fd)
{
    VkImportMemoryFdInfoKHR import = {VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR, NULL,
                                      OPAQUE_MEMORY, fd};

    small_memory = &import;
    words_init(s, w);
    small_memory = NULL;
}

static void export_words(const struct small *s, struct words *w)
{
    small_memory = &exported;
    words_init(s, w);
    small_memory = NULL;
}

static VkCommandBuffer dispatching(const struct small *s, const struct words *w, uint32_t constant)
{
    VkCommandBuffer commands = small_command_buffer(s, s->pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY);

    small_begin(commands);
    small_dispatch(s, commands, small_set(s, w->buffer), constant);
    TRY(vkEndCommandBuffer(commands));
    return commands;
}

static VkCommandBuffer copying(const struct small *s, const struct words *from,
                               const struct words *to)
{
    VkMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                               .srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT,
                               .dstAccessMask = VK_ACCESS_HOST_READ_BIT};
    VkBufferCopy all = {.size = WORDS * 4};
    VkCommandBuffer commands = small_command_buffer(s, s->pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY);

    small_begin(commands);
    vkCmdCopyBuffer(commands, from->buffer, to->buffer, 1, &all);
    vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0, 1,
                         &barrier, 0, NULL, 0, NULL);
    TRY(vkEndCommandBuffer(commands));
    return commands;
}

static void fill(const struct words *w, uint32_t seed)
{
    for (uint32_t i = 0; i < WORDS; i++)
        w->map[i] = i * seed;
}

static void say(const char *what, uint32_t round, const struct words *w)
{
    printf("%s %u %08x\n", what, round, words_sum(w));
    fflush(stdout);
}

/* ---- two devices of one program ------------------------------------------------------------- */

/* Two instances, one memory: the first descriptor goes as it is, the second under another number.
 */
static void devices(void)
{
    struct words w[3];
    struct small s[2];
    VkCommandBuffer commands[2];
    int fd;

    small_device = with_fds;
    for (int i = 0; i < 2; i++)
        small_init(&s[i], 0);
    export_words(&s[0], &w[0]);
    import_words(&s[1], &w[1], memory_fd(&s[0], &w[0]));
    fd = memory_fd(&s[0], &w[0]);
    import_words(&s[1], &w[2], dup(fd));
    close(fd);
    commands[0] = dispatching(&s[0], &w[0], 5);
    commands[1] = dispatching(&s[1], &w[1], 7);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        fill(&w[0], 31 + round);
        small_run(&s[0], commands[0]);
        small_run(&s[1], commands[1]);
        say("imported", round, &w[1]);
        say("again", round, &w[2]);
        w[1].map[round] = 9; /* the program writes there, too */
        small_run(&s[1], commands[1]);
        say("written", round, &w[2]);
    }
    words_finish(&s[0], &w[0]); /* the others have it still */
    small_run(&s[1], commands[1]);
    say("left", ROUNDS, &w[2]);
    for (int i = 1; i < 3; i++)
        words_finish(&s[1], &w[i]);
    for (int i = 0; i < 2; i++)
        small_finish(&s[i]);
}

/* ---- two processes -------------------------------------------------------------------------- */

static void send_fd(int socket, int fd)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {{0}};
    char one = 1;
    struct iovec part = {&one, 1};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof(control)};

    control.header = (struct cmsghdr){
        .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
    if (sendmsg(socket, &message, 0) != 1)
        exit(1);
    close(fd);
}

static int receive_fd(int socket)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    char one;
    struct iovec part = {&one, 1};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof(control)};
    int fd;

    if (recvmsg(socket, &message, 0) != 1)
        exit(1);
    memcpy(&fd, CMSG_DATA(&control.header), sizeof(fd));
    return fd;
}

/* Let the other one go on, or wait until that has let us. */
static void pass(int socket)
{
    if (write(socket, "", 1) != 1)
        exit(1);
}

static void await_turn(int socket)
{
    char one;

    if (read(socket, &one, 1) != 1)
        exit(1);
}

static void giver(int socket)
{
    VkCommandBuffer commands;
    struct small s;
    struct words w;

    small_init(&s, 0);
    export_words(&s, &w);
    commands = dispatching(&s, &w, 11);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        fill(&w, 41 + round);
        small_run(&s, commands);
        if (round == 0)
            send_fd(socket, memory_fd(&s, &w));
        else
            pass(socket);
        await_turn(socket);
    }
    words_finish(&s, &w);
    small_finish(&s);
}

/* Looks into the other's memory by a copy, changes it, and in the last round writes there itself.
 */
static void taker(int socket)
{
    VkCommandBuffer commands[2];
    struct words w, own;
    struct small s;

    small_init(&s, 0);
    words_init(&s, &own);
    import_words(&s, &w, receive_fd(socket));
    vkUnmapMemory(s.device, w.memory);
    commands[0] = copying(&s, &w, &own);
    commands[1] = dispatching(&s, &w, 13);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        if (round)
            await_turn(socket);
        small_run(&s, commands[0]);
        say("theirs", round, &own);
        if (round + 1 == ROUNDS) {
            TRY(vkMapMemory(s.device, w.memory, 0, VK_WHOLE_SIZE, 0, (void **)&w.map));
            fill(&w, 51);
        }
        small_run(&s, commands[1]);
        small_run(&s, commands[0]);
        say("changed", round, &own);
        pass(socket);
    }
    words_finish(&s, &w);
    words_finish(&s, &own);
    small_finish(&s);
}

/* ---- semaphores and fences ------------------------------------------------------------------ */

static VkSemaphore make_semaphore(const struct small *s)
{
    VkExportSemaphoreCreateInfo export = {.sType = VK_STRUCTURE_TYPE_EXPORT_SEMAPHORE_CREATE_INFO,
                                          .handleTypes =
                                              VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT};
    VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO,
                                  .pNext = &export};
    VkSemaphore semaphore;

    TRY(vkCreateSemaphore(s->device, &info, NULL, &semaphore));
    return semaphore;
}

static VkFence make_fence(const struct small *s)
{
    VkExportFenceCreateInfo export = {.sType = VK_STRUCTURE_TYPE_EXPORT_FENCE_CREATE_INFO,
                                      .handleTypes = VK_EXTERNAL_FENCE_HANDLE_TYPE_OPAQUE_FD_BIT};
    VkFenceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO, .pNext = &export};
    VkFence fence;

    TRY(vkCreateFence(s->device, &info, NULL, &fence));
    return fence;
}

static int semaphore_fd(const struct small *s, VkSemaphore semaphore)
{
    VkSemaphoreGetFdInfoKHR get = {VK_STRUCTURE_TYPE_SEMAPHORE_GET_FD_INFO_KHR, NULL, semaphore,
                                   VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT};
    int fd;

    TRY(FIND(s->device, vkGetSemaphoreFdKHR)(s->device, &get, &fd));
    return fd;
}

static int fence_fd(const struct small *s, VkFence fence)
{
    VkFenceGetFdInfoKHR get = {VK_STRUCTURE_TYPE_FENCE_GET_FD_INFO_KHR, NULL, fence,
                               VK_EXTERNAL_FENCE_HANDLE_TYPE_OPAQUE_FD_BIT};
    int fd;

    TRY(FIND(s->device, vkGetFenceFdKHR)(s->device, &get, &fd));
    return fd;
}

static void import_both(const struct small *s, VkSemaphore semaphore, int semaphore_from,
                        VkFence fence, int fence_from)
{
    VkImportSemaphoreFdInfoKHR one = {.sType = VK_STRUCTURE_TYPE_IMPORT_SEMAPHORE_FD_INFO_KHR,
                                      .semaphore = semaphore,
                                      .handleType = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT,
                                      .fd = semaphore_from};
    VkImportFenceFdInfoKHR other = {.sType = VK_STRUCTURE_TYPE_IMPORT_FENCE_FD_INFO_KHR,
                                    .fence = fence,
                                    .handleType = VK_EXTERNAL_FENCE_HANDLE_TYPE_OPAQUE_FD_BIT,
                                    .fd = fence_from};

    TRY(FIND(s->device, vkImportSemaphoreFdKHR)(s->device, &one));
    TRY(FIND(s->device, vkImportFenceFdKHR)(s->device, &other));
}

static void send_one(const struct small *s, VkCommandBuffer commands, VkSemaphore wait,
                     VkSemaphore signal, VkFence fence)
{
    VkPipelineStageFlags stage = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                         .waitSemaphoreCount = wait != VK_NULL_HANDLE,
                         .pWaitSemaphores = &wait,
                         .pWaitDstStageMask = &stage,
                         .commandBufferCount = 1,
                         .pCommandBuffers = &commands,
                         .signalSemaphoreCount = signal != VK_NULL_HANDLE,
                         .pSignalSemaphores = &signal};

    TRY(vkQueueSubmit(s->queue, 1, &info, fence));
}

/* Signals one semaphore and waits for the other one; sends one fence and waits for the other
 * one. */
static void signals(void)
{
    VkSemaphore semaphores[2];
    VkCommandBuffer commands;
    VkFence fences[2];
    struct small s;
    struct words w;

    name_count = 3;
    small_device = with_fds;
    small_init(&s, 0);
    words_init(&s, &w);
    for (int i = 0; i < 2; i++) {
        semaphores[i] = make_semaphore(&s);
        fences[i] = make_fence(&s);
    }
    import_both(&s, semaphores[1], semaphore_fd(&s, semaphores[0]), fences[1],
                fence_fd(&s, fences[0]));
    commands = dispatching(&s, &w, 17);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        fill(&w, 61 + round);
        send_one(&s, commands, VK_NULL_HANDLE, semaphores[0], VK_NULL_HANDLE);
        send_one(&s, commands, semaphores[1], VK_NULL_HANDLE, fences[0]);
        TRY(vkWaitForFences(s.device, 1, &fences[1], VK_TRUE, UINT64_MAX));
        TRY(vkQueueWaitIdle(s.queue));
        TRY(vkResetFences(s.device, 1, &fences[0]));
        say("signals", round, &w);
    }
    for (int i = 0; i < 2; i++) {
        vkDestroySemaphore(s.device, semaphores[i], NULL);
        vkDestroyFence(s.device, fences[i], NULL);
    }
    words_finish(&s, &w);
    small_finish(&s);
}

static void signal_giver(int socket)
{
    struct small s;

    small_init(&s, 0);
    send_fd(socket, semaphore_fd(&s, make_semaphore(&s)));
    send_fd(socket, fence_fd(&s, make_fence(&s)));
    await_turn(socket);
    small_finish(&s);
}

/* Waits for what another process signals, and signals, time and again, what that waits for. */
static void signal_taker(int socket)
{
    VkSemaphore theirs, ours;
    VkCommandBuffer commands;
    struct small s;
    struct words w;
    VkFence fence;
    int fd;

    small_init(&s, 0);
    words_init(&s, &w);
    theirs = make_semaphore(&s);
    ours = make_semaphore(&s);
    fence = make_fence(&s);
    fd = receive_fd(socket);
    import_both(&s, theirs, fd, fence, receive_fd(socket));
    close(semaphore_fd(&s, ours));
    commands = dispatching(&s, &w, 19);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        fill(&w, 71 + round);
        send_one(&s, commands, theirs, VK_NULL_HANDLE, VK_NULL_HANDLE);
        TRY(vkWaitForFences(s.device, 1, &fence, VK_TRUE, UINT64_MAX));
        TRY(vkQueueWaitIdle(s.queue));
        say("outside", round, &w);
    }
    send_one(&s, commands, VK_NULL_HANDLE, ours, VK_NULL_HANDLE);
    TRY(vkQueueWaitIdle(s.queue));
    say("outside", ROUNDS, &w);
    pass(socket);
    vkDestroySemaphore(s.device, theirs, NULL);
    vkDestroySemaphore(s.device, ours, NULL);
    vkDestroyFence(s.device, fence, NULL);
    words_finish(&s, &w);
    small_finish(&s);
}

/* A process each, and so a trace each. */
static void apart(void (*give)(int), void (*take)(int))
{
    int sockets[2], status;

    small_device = with_fds;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) != 0)
        exit(1);
    if (fork() == 0) {
        close(sockets[1]);
        give(sockets[0]);
        _exit(0);
    }
    close(sockets[0]);
    take(sockets[1]);
    if (wait(&status) < 0 || status != 0)
        exit(1);
}

/* ---- freed ---------------------------------------------------------------------------------- */

/* Memory that is given out, written and freed, still mapped: its content lives on after the
 * descriptor. */
static void freed(void)
{
    VkBufferCopy all = {.size = WORDS * 4};
    struct words first, second, out;
    VkCommandBuffer commands;
    struct small s;
    int fd;

    small_device = with_fds;
    small_init(&s, 0);
    words_init(&s, &out);
    export_words(&s, &first);
    for (uint32_t i = 0; i < WORDS; i++)
        first.map[i] = 1;
    fd = memory_fd(&s, &first);
    for (uint32_t i = 0; i < WORDS; i++)
        first.map[i] = i;
    words_finish(&s, &first);
    import_words(&s, &second, fd);
    commands = small_command_buffer(&s, s.pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
    small_begin(commands);
    vkCmdCopyBuffer(commands, second.buffer, out.buffer, 1, &all);
    TRY(vkEndCommandBuffer(commands));
    small_run(&s, commands);
    printf("freed %08x\n", words_sum(&out));
    words_finish(&s, &second);
    words_finish(&s, &out);
    small_finish(&s);
}

int main(int argc, char **argv)
{
    const char *mode = argc == 2 ? argv[1] : "";

    if (strcmp(mode, "devices") == 0) {
        devices();
    } else if (strcmp(mode, "freed") == 0) {
        freed();
    } else if (strcmp(mode, "processes") == 0) {
        apart(giver, taker);
    } else if (strcmp(mode, "signals") == 0) {
        signals();
    } else if (strcmp(mode, "outside") == 0) {
        name_count = 3;
        apart(signal_giver, signal_taker);
    } else {
        fprintf(stderr, "which?\n");
        return 2;
    }
    return 0;
}
