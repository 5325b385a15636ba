/* SPDX-License-Identifier: Apache-2.0
 *
 * One small program for each awkward thing that programs do, chosen by name. Each prints what it
 * computed.
 */
#include "tests/vulkan/vk_small.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void fill(const struct words *w, uint32_t seed)
{
    for (uint32_t i = 0; i < WORDS; i++)
        w->map[i] = i * seed;
}

static void say(const char *what, const struct words *w)
{
    printf("%s %08x\n", what, words_sum(w));
    fflush(stdout);
}

static VkCommandBuffer primary(const struct small *s)
{
    return small_command_buffer(s, s->pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
}

/* Write into coherent memory, dispatch, look; twice, never flushing. */
static void plain(void)
{
    struct small s;
    struct words w;
    VkCommandBuffer commands;

    small_init(&s, 0);
    words_init(&s, &w);
    commands = primary(&s);
    small_begin(commands);
    small_dispatch(&s, commands, small_set(&s, w.buffer), 7);
    TRY(vkEndCommandBuffer(commands));
    for (uint32_t round = 1; round < 3; round++) {
        fill(&w, round);
        small_run(&s, commands);
        say("plain", &w);
        w.map[5] = 99; /* beside what the device wrote */
        small_run(&s, commands);
        say("again", &w);
    }
    words_finish(&s, &w);
    small_finish(&s);
}

/* The same buffers filled by read(2). */
static void by_read(void)
{
    struct small s;
    struct words w;
    VkCommandBuffer commands;
    int fd = open("/proc/self/exe", O_RDONLY);

    small_init(&s, 0);
    words_init(&s, &w);
    commands = primary(&s);
    if (read(fd, w.map, WORDS * 4) != WORDS * 4)
        perror("read");
    small_begin(commands);
    small_dispatch(&s, commands, small_set(&s, w.buffer), 1);
    TRY(vkEndCommandBuffer(commands));
    small_run(&s, commands);
    printf("read %d\n", w.map[0] == 0x464c457fu * 3 + 1);
    words_finish(&s, &w);
    small_finish(&s);
    close(fd);
}

static VkDescriptorUpdateTemplate make_template(const struct small *s, int push)
{
    VkDescriptorUpdateTemplateEntry entry = {.descriptorCount = 1,
                                             .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                             .offset = 16,
                                             .stride = 24};
    VkDescriptorUpdateTemplateCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_UPDATE_TEMPLATE_CREATE_INFO,
        .descriptorUpdateEntryCount = 1,
        .pDescriptorUpdateEntries = &entry,
        .templateType = push ? VK_DESCRIPTOR_UPDATE_TEMPLATE_TYPE_PUSH_DESCRIPTORS_KHR
                             : VK_DESCRIPTOR_UPDATE_TEMPLATE_TYPE_DESCRIPTOR_SET,
        .descriptorSetLayout = s->set_layout,
        .pipelineBindPoint = VK_PIPELINE_BIND_POINT_COMPUTE,
        .pipelineLayout = s->layout};
    VkDescriptorUpdateTemplate template;

    TRY(vkCreateDescriptorUpdateTemplate(s->device, &info, NULL, &template));
    return template;
}

struct template_data {
    char other[16];
    VkDescriptorBufferInfo buffer;
};

static void by_template(void)
{
    struct small s;
    struct words w, unused;
    struct template_data data = {.other = "not looked at"};
    VkDescriptorUpdateTemplate template;
    VkCommandBuffer commands;
    VkDescriptorSet set;

    small_init(&s, 0);
    words_init(&s, &w);
    words_init(&s, &unused);
    template = make_template(&s, 0);
    set = small_set(&s, unused.buffer);
    data.buffer = (VkDescriptorBufferInfo){w.buffer, 0, VK_WHOLE_SIZE};
    vkUpdateDescriptorSetWithTemplate(s.device, set, template, &data);
    commands = primary(&s);
    fill(&w, 3);
    small_begin(commands);
    small_dispatch(&s, commands, set, 4);
    TRY(vkEndCommandBuffer(commands));
    small_run(&s, commands);
    say("template", &w);
    vkDestroyDescriptorUpdateTemplate(s.device, template, NULL);
    words_finish(&s, &unused);
    words_finish(&s, &w);
    small_finish(&s);
}

static void by_push(void)
{
    struct small s;
    struct words w;
    struct template_data data = {.other = "not looked at"};
    VkDescriptorBufferInfo *what = &data.buffer;
    VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                  .descriptorCount = 1,
                                  .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                  .pBufferInfo = what};
    PFN_vkCmdPushDescriptorSetKHR push;
    PFN_vkCmdPushDescriptorSetWithTemplateKHR push_template;
    VkCommandBuffer commands;

    small_init(&s, 1);
    words_init(&s, &w);
    memset(&write.dstSet, 0x5a, sizeof(write.dstSet)); /* ignored */
    *what = (VkDescriptorBufferInfo){w.buffer, 0, VK_WHOLE_SIZE};
    push =
        (PFN_vkCmdPushDescriptorSetKHR)vkGetDeviceProcAddr(s.device, "vkCmdPushDescriptorSetKHR");
    push_template = (PFN_vkCmdPushDescriptorSetWithTemplateKHR)vkGetDeviceProcAddr(
        s.device, "vkCmdPushDescriptorSetWithTemplateKHR");
    commands = primary(&s);
    fill(&w, 5);
    small_begin(commands);
    push(commands, VK_PIPELINE_BIND_POINT_COMPUTE, s.layout, 0, 1, &write);
    small_dispatch(&s, commands, VK_NULL_HANDLE, 4);
    push_template(commands, make_template(&s, 1), s.layout, 0, &data);
    small_dispatch(&s, commands, VK_NULL_HANDLE, 5);
    TRY(vkEndCommandBuffer(commands));
    small_run(&s, commands);
    say("push", &w);
    words_finish(&s, &w);
    small_finish(&s);
}

static void secondary(void)
{
    struct small s;
    struct words w;
    VkCommandBuffer commands, inner;

    small_init(&s, 0);
    words_init(&s, &w);
    commands = primary(&s);
    inner = small_command_buffer(&s, s.pool, VK_COMMAND_BUFFER_LEVEL_SECONDARY);
    fill(&w, 9);
    small_begin_secondary(inner);
    small_dispatch(&s, inner, small_set(&s, w.buffer), 6);
    TRY(vkEndCommandBuffer(inner));
    small_begin(commands);
    vkCmdExecuteCommands(commands, 1, &inner);
    TRY(vkEndCommandBuffer(commands));
    small_run(&s, commands);
    say("secondary", &w);
    words_finish(&s, &w);
    small_finish(&s);
}

/* Two instances with a device each, used in turn. */
static void instances(void)
{
    struct small s[2];
    struct words w[2];
    VkCommandBuffer commands;

    for (int i = 0; i < 2; i++) {
        small_init(&s[i], 0);
        words_init(&s[i], &w[i]);
        fill(&w[i], 11 + (uint32_t)i);
    }
    for (int i = 0; i < 2; i++) {
        commands = primary(&s[i]);
        small_begin(commands);
        small_dispatch(&s[i], commands, small_set(&s[i], w[i].buffer), 8);
        TRY(vkEndCommandBuffer(commands));
        small_run(&s[i], commands);
    }
    for (int i = 0; i < 2; i++) {
        say("instance", &w[i]);
        words_finish(&s[i], &w[i]);
        small_finish(&s[i]);
    }
}

/* ---- threads -------------------------------------------------------------------------------- */

#define THREADS  4
#define COMMANDS 200

struct worker {
    const struct small *s;
    const struct words *w;
    VkDescriptorSet set;
    VkCommandBuffer commands;
};

static void *work(void *argument)
{
    struct worker *worker = argument;
    VkCommandPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
    VkCommandPool pool;

    TRY(vkCreateCommandPool(worker->s->device, &info, NULL, &pool));
    worker->commands = small_command_buffer(worker->s, pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
    small_begin(worker->commands);
    for (uint32_t i = 0; i < COMMANDS; i++)
        small_dispatch(worker->s, worker->commands, worker->set, i);
    TRY(vkEndCommandBuffer(worker->commands));
    return NULL;
}

static void threads(void)
{
    struct small s;
    struct words w[THREADS];
    struct worker workers[THREADS];
    pthread_t ids[THREADS];

    small_init(&s, 0);
    for (int i = 0; i < THREADS; i++) {
        words_init(&s, &w[i]);
        fill(&w[i], 13 + (uint32_t)i);
        workers[i] = (struct worker){&s, &w[i], small_set(&s, w[i].buffer), NULL};
    }
    for (int i = 0; i < THREADS; i++)
        pthread_create(&ids[i], NULL, work, &workers[i]);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(ids[i], NULL);
        small_run(&s, workers[i].commands);
        say("thread", &w[i]);
    }
    exit(0); /* and leave all as it is */
}

/* ---- threads that each wait for their own work ---- */

#define ROUNDS 60

static pthread_mutex_t queue_mutex = PTHREAD_MUTEX_INITIALIZER;

static void send_and_wait(const struct worker *worker, VkFence fence)
{
    VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                           .commandBufferCount = 1,
                           .pCommandBuffers = &worker->commands};

    pthread_mutex_lock(&queue_mutex);
    TRY(vkQueueSubmit(worker->s->queue, 1, &submit, fence));
    pthread_mutex_unlock(&queue_mutex);
    TRY(vkWaitForFences(worker->s->device, 1, &fence, VK_TRUE, UINT64_MAX));
    TRY(vkResetFences(worker->s->device, 1, &fence));
}

static void *rounds(void *argument)
{
    struct worker *worker = argument;
    VkFenceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    uintptr_t wrong = 0;
    VkFence fence;

    TRY(vkCreateFence(worker->s->device, &info, NULL, &fence));
    for (uint32_t round = 1; round <= ROUNDS; round++) {
        fill(worker->w, round);
        send_and_wait(worker, fence);
        for (uint32_t i = 0; i < WORDS; i++)
            wrong += worker->w->map[i] != i * round * 3 + 2;
    }
    return (void *)wrong;
}

static void together(void)
{
    struct small s;
    struct words w[THREADS];
    struct worker workers[THREADS];
    pthread_t ids[THREADS];
    void *wrong;

    small_init(&s, 0);
    for (int i = 0; i < THREADS; i++) {
        words_init(&s, &w[i]);
        workers[i] = (struct worker){&s, &w[i], small_set(&s, w[i].buffer), primary(&s)};
        small_begin(workers[i].commands);
        small_dispatch(&s, workers[i].commands, workers[i].set, 2);
        TRY(vkEndCommandBuffer(workers[i].commands));
    }
    for (int i = 0; i < THREADS; i++)
        pthread_create(&ids[i], NULL, rounds, &workers[i]);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(ids[i], &wrong);
        printf("%lu words are wrong\n", (unsigned long)(uintptr_t)wrong);
    }
    exit(0);
}

/* ---- the end of a process ------------------------------------------------------------------- */

static struct small at_exit;

static void wait_at_exit(void)
{
    printf("at exit %d\n", vkDeviceWaitIdle(at_exit.device));
    small_finish(&at_exit);
}

__attribute__((destructor)) static void after_everything(void)
{
    if (at_exit.device)
        wait_at_exit();
}

static void in_destructor(void)
{
    small_init(&at_exit, 0);
    printf("destructor\n");
}

static void child(void)
{
    pid_t pid = fork();

    if (pid == 0) {
        plain();
        exit(0);
    }
    waitpid(pid, NULL, 0);
    plain();
}

static void cleared(void)
{
    clearenv();
    plain();
}

/* Names an object, and says what it is doing. */
static void labels(void)
{
    static const char *const extensions[] = {"VK_EXT_debug_utils"};
    VkDebugUtilsLabelEXT label = {.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_LABEL_EXT,
                                  .pLabelName = "frame"};
    struct small s;

    small_extensions = extensions;
    small_init(&s, 0);
    ((PFN_vkQueueBeginDebugUtilsLabelEXT)vkGetInstanceProcAddr(
        s.instance, "vkQueueBeginDebugUtilsLabelEXT"))(s.queue, &label);
    TRY(vkQueueSubmit(s.queue, 0, NULL, VK_NULL_HANDLE));
    ((PFN_vkQueueEndDebugUtilsLabelEXT)vkGetInstanceProcAddr(
        s.instance, "vkQueueEndDebugUtilsLabelEXT"))(s.queue);
    TRY(vkQueueWaitIdle(s.queue));
    small_finish(&s);
    puts("labels");
}

/* Ends as if it were killed, while it has something under way. */
static void killed(void)
{
    struct small s;
    struct words w;

    small_init(&s, 0);
    words_init(&s, &w);
    fill(&w, 1);
    TRY(vkQueueSubmit(s.queue, 0, NULL, VK_NULL_HANDLE));
    puts("killed");
    fflush(stdout);
    kill(getpid(), SIGKILL);
}

/* Asks for a layer itself, forgetting who did so before. */
static void layers(void)
{
    setenv("VK_INSTANCE_LAYERS", "VK_LAYER_KHRONOS_validation", 1);
    unsetenv("VK_ADD_LAYER_PATH");
    plain();
}

static const struct {
    const char *name;
    void (*run)(void);
} modes[] = {{"plain", plain},          {"read", by_read},
             {"template", by_template}, {"push", by_push},
             {"secondary", secondary},  {"instances", instances},
             {"threads", threads},      {"destructor", in_destructor},
             {"fork", child},           {"cleared", cleared},
             {"layers", layers},        {"labels", labels},
             {"together", together},    {"killed", killed}};

int main(int argc, char **argv)
{
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        if (argc == 2 && strcmp(argv[1], modes[i].name) == 0) {
            modes[i].run();
            return 0;
        }
    }
    fprintf(stderr, "which?\n");
    return 2;
}
