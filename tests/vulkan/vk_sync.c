/* SPDX-License-Identifier: Apache-2.0
 *
 * A program that learns by a sync file that the device is done, and does at once what it may do
 * then: it reads what the device wrote, and writes what the device has read.
 *
 *   vk_sync fence|semaphore|batch|stages WAY
 *
 * batch: the semaphore is signalled by the first batch of a submit, whose second one waits for what
 * the program does only when it has learnt that; stages: it is signalled behind some stages only.
 * WAY: poll, select, epoll, syscall; dup: poll of a duplicate; merge: of a merged one; info: an
 * ioctl that asks; import: into another fence or semaphore, and waits with that; signal: poll, and
 * a signal handler polls, too, whatever the program is doing; vfork: poll, after a child of vfork()
 * has closed its descriptors; sandbox: epoll, with ppoll forbidden (seccomp).
 */
#include "tests/vulkan/vk_small.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/sync_file.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define FIND(device, name) ((PFN_##name)vkGetDeviceProcAddr(device, #name))
#define ROUNDS             4u

static void with_fds(VkDeviceCreateInfo *info)
{
    static VkPhysicalDeviceSynchronization2Features both = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SYNCHRONIZATION_2_FEATURES,
        .synchronization2 = VK_TRUE};
    static const char *const names[] = {"VK_KHR_external_semaphore_fd", "VK_KHR_external_fence_fd",
                                        VK_KHR_SYNCHRONIZATION_2_EXTENSION_NAME};

    info->pNext = &both;
    info->enabledExtensionCount = 3;
    info->ppEnabledExtensionNames = names;
}

static VkFence make_fence(const struct small *s)
{
    VkExportFenceCreateInfo export = {.sType = VK_STRUCTURE_TYPE_EXPORT_FENCE_CREATE_INFO,
                                      .handleTypes = VK_EXTERNAL_FENCE_HANDLE_TYPE_SYNC_FD_BIT};
    VkFenceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO, .pNext = &export};
    VkFence fence;

    TRY(vkCreateFence(s->device, &info, NULL, &fence));
    return fence;
}

static VkSemaphore make_semaphore(const struct small *s)
{
    VkExportSemaphoreCreateInfo export = {.sType = VK_STRUCTURE_TYPE_EXPORT_SEMAPHORE_CREATE_INFO,
                                          .handleTypes =
                                              VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_SYNC_FD_BIT};
    VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO,
                                  .pNext = &export};
    VkSemaphore semaphore;

    TRY(vkCreateSemaphore(s->device, &info, NULL, &semaphore));
    return semaphore;
}

static int fence_fd(const struct small *s, VkFence fence)
{
    VkFenceGetFdInfoKHR get = {VK_STRUCTURE_TYPE_FENCE_GET_FD_INFO_KHR, NULL, fence,
                               VK_EXTERNAL_FENCE_HANDLE_TYPE_SYNC_FD_BIT};
    int fd;

    TRY(FIND(s->device, vkGetFenceFdKHR)(s->device, &get, &fd));
    return fd;
}

static int semaphore_fd(const struct small *s, VkSemaphore semaphore)
{
    VkSemaphoreGetFdInfoKHR get = {VK_STRUCTURE_TYPE_SEMAPHORE_GET_FD_INFO_KHR, NULL, semaphore,
                                   VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_SYNC_FD_BIT};
    int fd;

    TRY(FIND(s->device, vkGetSemaphoreFdKHR)(s->device, &get, &fd));
    return fd;
}

/* ---- waiting ----------------------------------------------------------------------------------
 */

static void check(int result)
{
    if (result < 1) {
        perror("waiting for a sync file");
        exit(1);
    }
}

static void wait_poll(int fd)
{
    struct pollfd p = {fd, POLLIN, 0};

    check(poll(&p, 1, -1));
}

static void wait_select(int fd)
{
    fd_set set;

    FD_ZERO(&set);
    FD_SET(fd, &set);
    check(select(fd + 1, &set, NULL, NULL, NULL));
}

static void wait_epoll(int fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = 77};
    int epoll = epoll_create1(EPOLL_CLOEXEC);

    check(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0);
    check(epoll_wait(epoll, &event, 1, -1));
    close(epoll);
}

static void wait_syscall(int fd)
{
    struct pollfd p = {fd, POLLIN, 0};

    check((int)syscall(SYS_ppoll, &p, 1, NULL, NULL, 0));
}

static void wait_dup(int fd)
{
    int other = fcntl(fd, F_DUPFD_CLOEXEC, 200);

    wait_poll(other);
    close(other);
}

static void wait_merge(int fd)
{
    struct sync_merge_data data = {.name = "both", .fd2 = fd};

    check(ioctl(fd, SYNC_IOC_MERGE, &data) == 0);
    wait_poll(data.fence);
    close(data.fence);
}

static int polled; /* by the handler */

static void on_alarm(int number)
{
    struct pollfd p = {polled, POLLIN, 0};

    poll(&p, 1, 0);
}

/* From here on. How often it comes is of no importance. */
static void wait_signal(int fd)
{
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    struct itimerval often = {{0, 50}, {0, 50}};
    struct pollfd p = {fd, POLLIN, 0};

    while (poll(&p, 1, -1) < 0 && errno == EINTR)
        ;
    if (polled)
        return;
    polled = fcntl(fd, F_DUPFD_CLOEXEC, 200);
    check(sigaction(SIGALRM, &action, NULL) == 0);
    check(setitimer(ITIMER_REAL, &often, NULL) == 0);
}

static void wait_info(int fd)
{
    struct sync_file_info info;

    do {
        usleep(1000);
        memset(&info, 0, sizeof(info));
        check(ioctl(fd, SYNC_IOC_FILE_INFO, &info) == 0);
    } while (info.status == 0);
}

/* A child of vfork() closes its descriptors, not ours. */
static void wait_vfork(int fd)
{
    pid_t child = vfork();

    if (child == 0) {
        close(fd);
        for (int other = 3; other < 300; other++)
            close(other);
        _exit(0);
    }
    check(waitpid(child, NULL, 0) == child);
    wait_poll(fd);
}

/* On pain of death no call of those that this program does not make itself. */
static void forbid_poll(void)
{
    static bool done;
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ppoll, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof(code) / sizeof(*code), .filter = code};

    if (done)
        return;
    done = true;
    check(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    check(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

static void wait_sandbox(int fd)
{
    forbid_poll();
    wait_epoll(fd);
}

static const struct {
    const char *name;
    void (*wait)(int fd);
} ways[] = {{"poll", wait_poll},       {"select", wait_select}, {"epoll", wait_epoll},
            {"dup", wait_dup},         {"merge", wait_merge},   {"info", wait_info},
            {"syscall", wait_syscall}, {"signal", wait_signal}, {"vfork", wait_vfork},
            {"sandbox", wait_sandbox}};

static void import_and_wait(const struct small *s, int fd)
{
    VkFence fence = make_fence(s);
    VkImportFenceFdInfoKHR info = {.sType = VK_STRUCTURE_TYPE_IMPORT_FENCE_FD_INFO_KHR,
                                   .fence = fence,
                                   .flags = VK_FENCE_IMPORT_TEMPORARY_BIT,
                                   .handleType = VK_EXTERNAL_FENCE_HANDLE_TYPE_SYNC_FD_BIT,
                                   .fd = fd};

    TRY(FIND(s->device, vkImportFenceFdKHR)(s->device, &info));
    TRY(vkWaitForFences(s->device, 1, &fence, VK_TRUE, UINT64_MAX));
    vkDestroyFence(s->device, fence, NULL);
}

/* Another submit waits for it; its fence is waited for. */
static void import_and_send(const struct small *s, int fd)
{
    VkPipelineStageFlags stage = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    VkSemaphore semaphore = make_semaphore(s);
    VkImportSemaphoreFdInfoKHR info = {.sType = VK_STRUCTURE_TYPE_IMPORT_SEMAPHORE_FD_INFO_KHR,
                                       .semaphore = semaphore,
                                       .flags = VK_SEMAPHORE_IMPORT_TEMPORARY_BIT,
                                       .handleType = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_SYNC_FD_BIT,
                                       .fd = fd};
    VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                           .waitSemaphoreCount = 1,
                           .pWaitSemaphores = &semaphore,
                           .pWaitDstStageMask = &stage};
    VkFence fence = make_fence(s);

    TRY(FIND(s->device, vkImportSemaphoreFdKHR)(s->device, &info));
    TRY(vkQueueSubmit(s->queue, 1, &submit, fence));
    TRY(vkWaitForFences(s->device, 1, &fence, VK_TRUE, UINT64_MAX));
    vkDestroyFence(s->device, fence, NULL);
    vkDestroySemaphore(s->device, semaphore, NULL);
}

static void await(const struct small *s, int fd, const char *way, int is_fence)
{
    size_t i = 0;

    if (strcmp(way, "import") == 0) {
        (is_fence ? import_and_wait : import_and_send)(s, fd);
        return;
    }
    while (strcmp(ways[i].name, way) != 0)
        if (++i == sizeof(ways) / sizeof(ways[0]))
            exit(2);
    if (fd >= 0) {
        ways[i].wait(fd);
        close(fd);
    }
}

/* ---- rounds -----------------------------------------------------------------------------------
 */

static void copy(VkCommandBuffer commands, const struct words *from, const struct words *to)
{
    VkMemoryBarrier all = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                           .srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT,
                           .dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT};
    VkBufferCopy whole = {.size = WORDS * 4};
    const VkPipelineStageFlags stages =
        VK_PIPELINE_STAGE_ALL_COMMANDS_BIT | VK_PIPELINE_STAGE_HOST_BIT;

    vkCmdPipelineBarrier(commands, stages, stages, 0, 1, &all, 0, NULL, 0, NULL);
    vkCmdCopyBuffer(commands, from->buffer, to->buffer, 1, &whole);
    vkCmdPipelineBarrier(commands, stages, stages, 0, 1, &all, 0, NULL, 0, NULL);
}

/* The second batch waits for it. */
static VkEvent gate;
static VkCommandBuffer gated;

static void make_gate(const struct small *s)
{
    VkEventCreateInfo info = {.sType = VK_STRUCTURE_TYPE_EVENT_CREATE_INFO};

    TRY(vkCreateEvent(s->device, &info, NULL, &gate));
    gated = small_command_buffer(s, s->pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
    small_begin(gated);
    vkCmdWaitEvents(gated, 1, &gate, VK_PIPELINE_STAGE_HOST_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT, 0,
                    NULL, 0, NULL, 0, NULL);
    TRY(vkEndCommandBuffer(gated));
}

static int send_two(const struct small *s, VkCommandBuffer commands, VkSemaphore semaphore)
{
    const VkSubmitInfo infos[2] = {{.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                                    .commandBufferCount = 1,
                                    .pCommandBuffers = &commands,
                                    .signalSemaphoreCount = 1,
                                    .pSignalSemaphores = &semaphore},
                                   {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                                    .commandBufferCount = 1,
                                    .pCommandBuffers = &gated}};

    TRY(vkResetEvent(s->device, gate));
    TRY(vkQueueSubmit(s->queue, 2, infos, VK_NULL_HANDLE));
    return semaphore_fd(s, semaphore);
}

static int send_stages(const struct small *s, VkCommandBuffer commands, VkSemaphore semaphore)
{
    VkCommandBufferSubmitInfo buffer = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO,
                                        .commandBuffer = commands};
    VkSemaphoreSubmitInfo signal = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO,
                                    .semaphore = semaphore,
                                    .stageMask = VK_PIPELINE_STAGE_2_TRANSFER_BIT |
                                                 VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT};
    VkSubmitInfo2 info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2,
                          .commandBufferInfoCount = 1,
                          .pCommandBufferInfos = &buffer,
                          .signalSemaphoreInfoCount = 1,
                          .pSignalSemaphoreInfos = &signal};

    TRY(FIND(s->device, vkQueueSubmit2KHR)(s->queue, 1, &info, VK_NULL_HANDLE));
    return semaphore_fd(s, semaphore);
}

static int send_one(const struct small *s, VkCommandBuffer commands, VkFence fence,
                    VkSemaphore semaphore, int is_fence)
{
    VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                         .commandBufferCount = 1,
                         .pCommandBuffers = &commands,
                         .signalSemaphoreCount = !is_fence,
                         .pSignalSemaphores = &semaphore};

    TRY(vkQueueSubmit(s->queue, 1, &info, is_fence ? fence : VK_NULL_HANDLE));
    return is_fence ? fence_fd(s, fence) : semaphore_fd(s, semaphore);
}

static int send(const char *of, const struct small *s, VkCommandBuffer commands, VkFence fence,
                VkSemaphore semaphore)
{
    if (strcmp(of, "batch") == 0)
        return send_two(s, commands, semaphore);
    if (strcmp(of, "stages") == 0)
        return send_stages(s, commands, semaphore);
    return send_one(s, commands, fence, semaphore, strcmp(of, "fence") == 0);
}

/* Overwrites what the device has read, and lets the second batch end. */
static void open_gate(const struct small *s, const struct words *in)
{
    for (uint32_t i = 0; i < WORDS; i++)
        in->map[i] = 0xdead;
    TRY(vkSetEvent(s->device, gate));
    TRY(vkQueueWaitIdle(s->queue));
}

int main(int argc, char **argv)
{
    int is_fence = argc == 3 && strcmp(argv[1], "fence") == 0;
    int is_batch = argc == 3 && strcmp(argv[1], "batch") == 0;
    VkFence fences[ROUNDS];
    VkSemaphore semaphore;
    VkCommandBuffer commands;
    struct words in, work, out;
    struct small s;

    if (argc != 3)
        return 2;
    small_device = with_fds;
    small_init(&s, 0);
    words_init(&s, &in);
    words_init(&s, &work);
    words_init(&s, &out);
    make_gate(&s);
    semaphore = make_semaphore(&s);
    commands = small_command_buffer(&s, s.pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
    small_begin(commands);
    copy(commands, &in, &work);
    small_dispatch(&s, commands, small_set(&s, work.buffer), 7);
    copy(commands, &work, &out);
    TRY(vkEndCommandBuffer(commands));
    for (uint32_t round = 0; round < ROUNDS; round++) {
        fences[round] = make_fence(&s);
        for (uint32_t i = 0; i < WORDS; i++)
            in.map[i] = i * (round + 1);
        await(&s, send(argv[1], &s, commands, fences[round], semaphore), argv[2], is_fence);
        printf("round %u: %u, sum %08x\n", round, out.map[5], words_sum(&out));
        if (is_batch)
            open_gate(&s, &in);
    }
    for (uint32_t i = 0; polled && i < 4000; i++) {
        vkGetFenceStatus(s.device, fences[i % ROUNDS]);
        if (i % 16 == 0)
            TRY(vkDeviceWaitIdle(s.device));
    }
    for (uint32_t round = 0; round < ROUNDS; round++)
        vkDestroyFence(s.device, fences[round], NULL);
    vkDestroySemaphore(s.device, semaphore, NULL);
    vkDestroyEvent(s.device, gate, NULL);
    words_finish(&s, &out);
    words_finish(&s, &work);
    words_finish(&s, &in);
    small_finish(&s);
    return 0;
}
