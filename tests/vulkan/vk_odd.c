/* SPDX-License-Identifier: Apache-2.0
 *
 * More small programs, one awkward thing each: what takes other features or another driver than
 * vk_modes.c does. Each prints what it computed.
 */
#include "tests/vulkan/vk_small.h"

#include <string.h>
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

static VkCommandBuffer dispatching(const struct small *s, const struct words *w, uint32_t constant)
{
    VkCommandBuffer commands = primary(s);

    small_begin(commands);
    small_dispatch(s, commands, small_set(s, w->buffer), constant);
    TRY(vkEndCommandBuffer(commands));
    return commands;
}

/* ---- several queues ------------------------------------------------------------------------- */

static const float priorities[] = {1, 1};
static const VkDeviceQueueCreateInfo three_queues[] = {
    {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
     .queueFamilyIndex = 1,
     .queueCount = 1,
     .pQueuePriorities = priorities},
    {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
     .queueFamilyIndex = 2,
     .queueCount = 1,
     .pQueuePriorities = priorities},
    {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
     .queueFamilyIndex = 0,
     .queueCount = 2,
     .pQueuePriorities = priorities}};
static VkPhysicalDeviceTimelineSemaphoreFeatures timeline = {
    .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES,
    .timelineSemaphore = VK_TRUE};

static void with_queues(VkDeviceCreateInfo *info)
{
    info->pNext = &timeline;
    info->queueCreateInfoCount = 3;
    info->pQueueCreateInfos = three_queues;
}

/* Waits for `step`, and makes it `step` + 1. */
static void send_step(VkQueue queue, VkCommandBuffer commands, VkSemaphore semaphore, uint64_t step)
{
    timeline_send(queue, commands, semaphore, step, semaphore, step + 1);
}

/* Each of four queues changes the same words in turn. */
static void in_turn(void)
{
    static const uint32_t places[4][2] = {{0, 0}, {1, 0}, {2, 0}, {0, 1}};
    struct small s;
    struct words w;
    VkCommandBuffer commands[4];
    VkSemaphore semaphore;
    uint64_t step = 0;
    VkQueue queue;

    small_device = with_queues;
    small_init(&s, 0);
    words_init(&s, &w);
    semaphore = timeline_make(&s);
    fill(&w, 21);
    for (uint32_t i = 0; i < 4; i++)
        commands[i] = dispatching(&s, &w, i);
    for (uint32_t round = 0; round < 3; round++) {
        for (uint32_t i = 0; i < 4; i++) {
            vkGetDeviceQueue(s.device, places[i][0], places[i][1], &queue);
            send_step(queue, commands[i], semaphore, step++);
        }
        timeline_await(&s, semaphore, step);
        say("queues", &w);
        w.map[round] = 77;
    }
    TRY(vkDeviceWaitIdle(s.device));
    vkDestroySemaphore(s.device, semaphore, NULL);
    words_finish(&s, &w);
    small_finish(&s);
}

/* Two queues work on words of their own; each waits, now and then, for the other one all the same.
 * A query of the second is asked for. */
static void apart(void)
{
    VkQueryPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                                  .queryType = VK_QUERY_TYPE_TIMESTAMP,
                                  .queryCount = 1};
    VkCommandBuffer commands[2];
    VkSemaphore semaphore;
    VkQueue queues[2];
    VkQueryPool pool;
    uint64_t when, step = 0;
    struct words w[2];
    struct small s;

    small_device = with_queues;
    small_init(&s, 0);
    semaphore = timeline_make(&s);
    TRY(vkCreateQueryPool(s.device, &info, NULL, &pool));
    for (uint32_t i = 0; i < 2; i++) {
        vkGetDeviceQueue(s.device, i, 0, &queues[i]);
        words_init(&s, &w[i]);
        fill(&w[i], 25 + i);
        commands[i] = primary(&s);
        small_begin(commands[i]);
        if (i) {
            vkCmdResetQueryPool(commands[i], pool, 0, 1);
            vkCmdWriteTimestamp(commands[i], VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, pool, 0);
        }
        small_dispatch(&s, commands[i], small_set(&s, w[i].buffer), 9 + i);
        TRY(vkEndCommandBuffer(commands[i]));
    }
    for (uint32_t round = 0; round < 3; round++) {
        for (uint32_t i = 0; i < 2; i++) {
            send_step(queues[i], commands[i], semaphore, step++);
            timeline_await(&s, semaphore, step);
            say(i ? "second" : "first", &w[i]);
        }
        TRY(vkGetQueryPoolResults(s.device, pool, 0, 1, sizeof(when), &when, 8,
                                  VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT));
    }
    TRY(vkDeviceWaitIdle(s.device));
    vkDestroyQueryPool(s.device, pool, NULL);
    vkDestroySemaphore(s.device, semaphore, NULL);
    for (uint32_t i = 0; i < 2; i++)
        words_finish(&s, &w[i]);
    small_finish(&s);
}

/* ---- several devices ------------------------------------------------------------------------ */

/* A device's work is under way when another one is waited for; it is never waited for itself but by
 * a fence that came with other work. Then devices come and go. */
static void devices(void)
{
    struct small s[2];
    struct words w[2];
    VkCommandBuffer commands[2];

    for (uint32_t i = 0; i < 2; i++) {
        small_init(&s[i], 0);
        words_init(&s[i], &w[i]);
        fill(&w[i], 31 + i);
        commands[i] = dispatching(&s[i], &w[i], i);
    }
    for (uint32_t round = 0; round < 3; round++) {
        VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                               .commandBufferCount = 1,
                               .pCommandBuffers = &commands[0]};
        TRY(vkQueueSubmit(s[0].queue, 1, &submit, VK_NULL_HANDLE));
        small_run(&s[1], commands[1]);
        TRY(vkDeviceWaitIdle(s[1].device));
        say("second", &w[1]);
        TRY(vkQueueWaitIdle(s[0].queue));
        say("first", &w[0]);
    }
    for (uint32_t i = 0; i < 2; i++) {
        words_finish(&s[i], &w[i]);
        small_finish(&s[i]);
    }
    for (uint32_t i = 0; i < 6; i++) {
        small_init(&s[0], 0);
        words_init(&s[0], &w[0]);
        fill(&w[0], 41 + i);
        small_run(&s[0], dispatching(&s[0], &w[0], i));
        say("again", &w[0]);
        if (i % 2) /* else it leaves what it made, which a driver may give out again */
            words_finish(&s[0], &w[0]);
        small_finish(&s[0]);
    }
}

/* ---- handles -------------------------------------------------------------------------------- */

/* Two equal samplers, of which the first ends while the second is in use. */
static void same(void)
{
    VkSamplerCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO};
    VkDescriptorSetLayoutBinding binding = {.descriptorType = VK_DESCRIPTOR_TYPE_SAMPLER,
                                            .descriptorCount = 1,
                                            .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT};
    VkDescriptorSetLayoutCreateInfo layout = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
        .bindingCount = 1,
        .pBindings = &binding};
    VkDescriptorSetLayout made;
    VkSampler samplers[2];
    struct small s;
    struct words w;

    small_init(&s, 0);
    words_init(&s, &w);
    for (int i = 0; i < 2; i++)
        TRY(vkCreateSampler(s.device, &info, NULL, &samplers[i]));
    printf("same %d\n", samplers[0] == samplers[1]);
    vkDestroySampler(s.device, samplers[0], NULL);
    binding.pImmutableSamplers = &samplers[1];
    TRY(vkCreateDescriptorSetLayout(s.device, &layout, NULL, &made));
    vkDestroyDescriptorSetLayout(s.device, made, NULL);
    vkDestroySampler(s.device, samplers[1], NULL);
    fill(&w, 51);
    small_run(&s, dispatching(&s, &w, 2));
    say("same", &w);
    words_finish(&s, &w);
    small_finish(&s);
}

/* Destroys in unusual orders what may go before objects created from it: layouts, modules; memory
 * before its buffer. */
static void order(void)
{
    struct small s;
    struct words w;
    VkCommandBuffer commands;
    VkDescriptorSet set;

    small_init(&s, 0);
    words_init(&s, &w);
    set = small_set(&s, w.buffer);
    vkDestroyDescriptorSetLayout(s.device, s.set_layout, NULL);
    s.set_layout = VK_NULL_HANDLE;
    commands = primary(&s);
    fill(&w, 61);
    small_begin(commands);
    small_dispatch(&s, commands, set, 5);
    TRY(vkEndCommandBuffer(commands));
    vkDestroyPipelineLayout(s.device, s.layout, NULL);
    s.layout = VK_NULL_HANDLE;
    small_run(&s, commands);
    say("order", &w);
    vkDestroyPipeline(s.device, s.pipeline, NULL);
    vkFreeMemory(s.device, w.memory, NULL);
    vkDestroyBuffer(s.device, w.buffer, NULL);
    vkDestroyCommandPool(s.device, s.pool, NULL);
    vkDestroyDescriptorPool(s.device, s.sets, NULL);
    vkDestroyDevice(s.device, NULL);
    vkDestroyInstance(s.instance, NULL);
}

/* Names an object with a function of the instance's, as a program does that has no need for the
 * loader's own functions; nobody has switched the extension on. */
static void named(void)
{
    VkDebugUtilsObjectNameInfoEXT info = {.sType =
                                              VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT,
                                          .objectType = VK_OBJECT_TYPE_DEVICE,
                                          .pObjectName = "named"};
    PFN_vkGetInstanceProcAddr get;
    PFN_vkSetDebugUtilsObjectNameEXT name;
    struct small s;

    small_init(&s, 0);
    info.objectHandle = (uint64_t)(uintptr_t)s.device;
    get = (PFN_vkGetInstanceProcAddr)vkGetInstanceProcAddr(s.instance, "vkGetInstanceProcAddr");
    name = (PFN_vkSetDebugUtilsObjectNameEXT)get(s.instance, "vkSetDebugUtilsObjectNameEXT");
    if (name)
        name(s.device, &info);
    small_finish(&s);
    puts("named");
}

/* ---- queries -------------------------------------------------------------------------------- */

static void queries(void)
{
    VkQueryPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                                  .queryType = VK_QUERY_TYPE_TIMESTAMP,
                                  .queryCount = 2};
    VkCommandBuffer commands;
    uint64_t times[2];
    VkQueryPool pool;
    struct small s;
    struct words w;

    small_init(&s, 0);
    words_init(&s, &w);
    TRY(vkCreateQueryPool(s.device, &info, NULL, &pool));
    commands = primary(&s);
    fill(&w, 71);
    small_begin(commands);
    vkCmdResetQueryPool(commands, pool, 0, 2);
    vkCmdWriteTimestamp(commands, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, pool, 0);
    small_dispatch(&s, commands, small_set(&s, w.buffer), 3);
    vkCmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, pool, 1);
    TRY(vkEndCommandBuffer(commands));
    small_run(&s, commands);
    TRY(vkGetQueryPoolResults(s.device, pool, 0, 2, sizeof(times), times, 8,
                              VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT));
    printf("later %d\n", times[1] >= times[0]);
    say("queries", &w);
    vkDestroyQueryPool(s.device, pool, NULL);
    words_finish(&s, &w);
    small_finish(&s);
}

/* Times that the device writes into memory, where the program reads them, and copies of them. */
static void times(void)
{
    VkQueryPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                                  .queryType = VK_QUERY_TYPE_TIMESTAMP,
                                  .queryCount = 2};
    VkBufferCopy copy = {.srcOffset = 8, .dstOffset = 128, .size = 8};
    VkCommandBuffer commands;
    struct words w, own;
    VkQueryPool pool;
    struct small s;

    small_init(&s, 0);
    words_init(&s, &w);
    words_init(&s, &own);
    TRY(vkCreateQueryPool(s.device, &info, NULL, &pool));
    commands = primary(&s);
    fill(&own, 72);
    small_begin(commands);
    vkCmdResetQueryPool(commands, pool, 0, 2);
    vkCmdWriteTimestamp(commands, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, pool, 0);
    small_dispatch(&s, commands, small_set(&s, own.buffer), 3);
    vkCmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, pool, 1);
    vkCmdCopyQueryPoolResults(commands, pool, 0, 2, w.buffer, 64, 16,
                              VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT);
    vkCmdCopyBuffer(commands, w.buffer, w.buffer, 1,
                    &(VkBufferCopy){.srcOffset = 64, .dstOffset = 1024, .size = 24});
    TRY(vkEndCommandBuffer(commands));
    small_run(&s, commands);
    printf("later %d\n", memcmp(&w.map[16], &w.map[20], 8) <= 0 || w.map[16] != w.map[20]);
    copy.srcOffset = 1024;
    small_begin(commands);
    vkCmdCopyBuffer(commands, w.buffer, own.buffer, 1, &copy);
    TRY(vkEndCommandBuffer(commands));
    small_run(&s, commands);
    memset(&own.map[32], 0, 8);
    say("times", &own);
    vkDestroyQueryPool(s.device, pool, NULL);
    words_finish(&s, &own);
    words_finish(&s, &w);
    small_finish(&s);
}

/* Times in memory, and then something else in the same place. */
static void times_over(void)
{
    VkQueryPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                                  .queryType = VK_QUERY_TYPE_TIMESTAMP,
                                  .queryCount = 1};
    VkCommandBuffer commands[2];
    VkQueryPool pool;
    struct small s;
    struct words w;

    small_init(&s, 0);
    words_init(&s, &w);
    TRY(vkCreateQueryPool(s.device, &info, NULL, &pool));
    fill(&w, 73);
    commands[0] = primary(&s);
    small_begin(commands[0]);
    vkCmdResetQueryPool(commands[0], pool, 0, 1);
    vkCmdWriteTimestamp(commands[0], VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, pool, 0);
    small_dispatch(&s, commands[0], small_set(&s, w.buffer), 3);
    vkCmdCopyQueryPoolResults(commands[0], pool, 0, 1, w.buffer, 64, 8,
                              VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT);
    TRY(vkEndCommandBuffer(commands[0]));
    small_run(&s, commands[0]);
    commands[1] = primary(&s);
    small_begin(commands[1]);
    vkCmdFillBuffer(commands[1], w.buffer, 64, 8, 0x55);
    TRY(vkEndCommandBuffer(commands[1]));
    small_run(&s, commands[1]);
    say("times_over", &w);
    vkDestroyQueryPool(s.device, pool, NULL);
    words_finish(&s, &w);
    small_finish(&s);
}

/* ---- many commands -------------------------------------------------------------------------- */

#define BATCH 1000u

static uint32_t many_count = BATCH;

static void print_peak(void)
{
    char line[128];
    FILE *status = fopen("/proc/self/status", "re");

    while (status && fgets(line, sizeof(line), status))
        if (strncmp(line, "VmHWM:", 6) == 0)
            fputs(line, stderr);
    if (status)
        fclose(status);
}

/* So many, submitted and waited for now and then; how much memory that took goes to stderr. */
static void many(void)
{
    VkCommandBuffer commands;
    struct small s;
    struct words w;

    small_init(&s, 0);
    words_init(&s, &w);
    commands = primary(&s);
    for (uint32_t done = 0; done < many_count; done += BATCH) {
        small_begin(commands);
        for (uint32_t i = 0; i < BATCH; i++)
            vkCmdFillBuffer(commands, w.buffer, 4 * (i % WORDS), 4, done + i);
        TRY(vkEndCommandBuffer(commands));
        small_run(&s, commands);
    }
    say("many", &w);
    print_peak();
    words_finish(&s, &w);
    small_finish(&s);
}

/* ---- what needs the driver of the tests ----------------------------------------------------- */

/* The device is lost at a submit. */
static void lost(void)
{
    VkCommandBuffer commands;
    struct small s;
    struct words w;
    VkResult result;

    small_init(&s, 0);
    words_init(&s, &w);
    commands = dispatching(&s, &w, 9);
    for (uint32_t round = 0; round < 3; round++) {
        VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                               .commandBufferCount = 1,
                               .pCommandBuffers = &commands};
        fill(&w, 81 + round);
        result = vkQueueSubmit(s.queue, 1, &submit, VK_NULL_HANDLE);
        printf("submit %d, wait %d\n", result, vkQueueWaitIdle(s.queue));
    }
    words_finish(&s, &w);
    small_finish(&s);
}

static VkPhysicalDeviceFeatures sparse_feature = {.sparseBinding = VK_TRUE};

static void with_sparse(VkDeviceCreateInfo *info)
{
    with_queues(info);
    info->pEnabledFeatures = &sparse_feature;
}

/* The words' buffer without memory, which it gets from a queue. */
static void sparse(void)
{
    VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                               .flags = VK_BUFFER_CREATE_SPARSE_BINDING_BIT,
                               .size = WORDS * 4,
                               .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT};
    VkSparseMemoryBind bind = {.size = WORDS * 4};
    VkSparseBufferMemoryBindInfo buffer = {.bindCount = 1, .pBinds = &bind};
    VkBindSparseInfo binds = {
        .sType = VK_STRUCTURE_TYPE_BIND_SPARSE_INFO, .bufferBindCount = 1, .pBufferBinds = &buffer};
    VkQueue queue;
    struct small s;
    struct words w, bound;

    small_device = with_sparse;
    small_init(&s, 0);
    words_init(&s, &w); /* its memory is the sparse buffer's, too */
    bound = w;
    TRY(vkCreateBuffer(s.device, &info, NULL, &bound.buffer));
    bind.memory = w.memory;
    buffer.buffer = bound.buffer;
    vkGetDeviceQueue(s.device, 2, 0, &queue);
    TRY(vkQueueBindSparse(queue, 1, &binds, VK_NULL_HANDLE));
    TRY(vkQueueWaitIdle(queue));
    vkGetDeviceQueue(s.device, 0, 0, &s.queue);
    fill(&w, 91);
    small_run(&s, dispatching(&s, &bound, 6));
    say("sparse", &w);
    vkDestroyBuffer(s.device, bound.buffer, NULL);
    words_finish(&s, &w);
    small_finish(&s);
}

static const char *const ray_extensions[] = {"VK_KHR_acceleration_structure",
                                             "VK_KHR_deferred_host_operations"};
static VkPhysicalDeviceAccelerationStructureFeaturesKHR ray_feature = {
    .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ACCELERATION_STRUCTURE_FEATURES_KHR,
    .accelerationStructure = VK_TRUE};

static void with_rays(VkDeviceCreateInfo *info)
{
    info->pNext = &ray_feature;
    info->enabledExtensionCount = 2;
    info->ppEnabledExtensionNames = ray_extensions;
}

#define FIND(device, name) ((PFN_##name)vkGetDeviceProcAddr(device, #name))

/* Arrays of pointers to arrays, unions, chains. */
static void rays(void)
{
    VkAccelerationStructureGeometryKHR geometries[2] = {
        {.sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_GEOMETRY_KHR,
         .geometryType = VK_GEOMETRY_TYPE_TRIANGLES_KHR},
        {.sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_GEOMETRY_KHR,
         .geometryType = VK_GEOMETRY_TYPE_AABBS_KHR}};
    const VkAccelerationStructureGeometryKHR *list[2] = {&geometries[1], &geometries[0]};
    VkAccelerationStructureBuildRangeInfoKHR ranges[2] = {{.primitiveCount = 11},
                                                          {.primitiveCount = 12}};
    const VkAccelerationStructureBuildRangeInfoKHR *rows[1] = {ranges};
    VkAccelerationStructureBuildGeometryInfoKHR build = {
        .sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_BUILD_GEOMETRY_INFO_KHR,
        .geometryCount = 2,
        .ppGeometries = list};
    VkAccelerationStructureCreateInfoKHR info = {
        .sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_CREATE_INFO_KHR, .size = 256};
    VkCommandBuffer commands;
    struct small s;
    struct words w;

    geometries[0].geometry.triangles = (VkAccelerationStructureGeometryTrianglesDataKHR){
        .sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_GEOMETRY_TRIANGLES_DATA_KHR,
        .maxVertex = 99};
    geometries[1].geometry.aabbs = (VkAccelerationStructureGeometryAabbsDataKHR){
        .sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_GEOMETRY_AABBS_DATA_KHR, .stride = 24};
    small_device = with_rays;
    small_init(&s, 0);
    words_init(&s, &w);
    info.buffer = w.buffer;
    TRY(FIND(s.device, vkCreateAccelerationStructureKHR)(s.device, &info, NULL,
                                                         &build.dstAccelerationStructure));
    memset(&build.srcAccelerationStructure, 0x5a, sizeof(build.srcAccelerationStructure));
    commands = primary(&s);
    small_begin(commands);
    FIND(s.device, vkCmdBuildAccelerationStructuresKHR)(commands, 1, &build, rows);
    TRY(vkEndCommandBuffer(commands));
    small_run(&s, commands);
    FIND(s.device, vkDestroyAccelerationStructureKHR)
    (s.device, build.dstAccelerationStructure, NULL);
    words_finish(&s, &w);
    small_finish(&s);
    puts("rays");
}

/* ---- file descriptors ----------------------------------------------------------------------- */

static const char *const memory_fd[] = {"VK_KHR_external_memory_fd"};

static void with_fds(VkDeviceCreateInfo *info)
{
    info->enabledExtensionCount = 1;
    info->ppEnabledExtensionNames = memory_fd;
}

/* Memory that goes out through a descriptor, and comes back as another one. */
static void descriptors(void)
{
    VkExportMemoryAllocateInfo export = {.sType = VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO,
                                         .handleTypes =
                                             VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                 .pNext = &export,
                                 .allocationSize = 1 << 16};
    VkImportMemoryFdInfoKHR import = {.sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR,
                                      .handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    VkMemoryGetFdInfoKHR get = {.sType = VK_STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR,
                                .handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    VkDeviceMemory memory[2];
    struct small s;

    small_device = with_fds;
    small_init(&s, 0);
    TRY(vkAllocateMemory(s.device, &info, NULL, &memory[0]));
    get.memory = memory[0];
    TRY(FIND(s.device, vkGetMemoryFdKHR)(s.device, &get, &import.fd));
    info.pNext = &import;
    TRY(vkAllocateMemory(s.device, &info, NULL, &memory[1]));
    for (int i = 0; i < 2; i++)
        vkFreeMemory(s.device, memory[i], NULL);
    small_finish(&s);
    puts("descriptors");
}

/* Takes liberties that the specification forbids and the driver lets pass: a buffer that is bound
 * askew, an image with samples that the driver says it has not. */
static void liberties(void)
{
    VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                               .size = WORDS * 2,
                               .usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    VkImageCreateInfo samples = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                                 .imageType = VK_IMAGE_TYPE_2D,
                                 .format = VK_FORMAT_R8G8B8A8_UNORM,
                                 .extent = {16, 16, 1},
                                 .mipLevels = 1,
                                 .arrayLayers = 1,
                                 .samples = VK_SAMPLE_COUNT_2_BIT,
                                 .usage = VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT};
    VkCommandBuffer commands;
    VkBuffer buffer;
    VkImage image;
    struct small s;
    struct words w;

    small_init(&s, 0);
    words_init(&s, &w);
    fill(&w, 3);
    TRY(vkCreateImage(s.device, &samples, NULL, &image));
    TRY(vkCreateBuffer(s.device, &info, NULL, &buffer));
    TRY(vkBindBufferMemory(s.device, buffer, w.memory, 4));
    commands = primary(&s);
    small_begin(commands);
    vkCmdFillBuffer(commands, buffer, 0, VK_WHOLE_SIZE, 11);
    TRY(vkEndCommandBuffer(commands));
    small_run(&s, commands);
    say("liberties", &w);
    vkDestroyImage(s.device, image, NULL);
    vkDestroyBuffer(s.device, buffer, NULL);
    words_finish(&s, &w);
    small_finish(&s);
}

static const struct {
    const char *name;
    void (*run)(void);
} modes[] = {{"queues", in_turn}, {"apart", apart},           {"devices", devices},
             {"same", same},      {"order", order},           {"queries", queries},
             {"times", times},    {"times_over", times_over}, {"lost", lost},
             {"many", many},      {"named", named},           {"sparse", sparse},
             {"rays", rays},      {"liberties", liberties},   {"descriptors", descriptors}};

int main(int argc, char **argv)
{
    if (argc == 3) {
        many_count = (uint32_t)atoi(argv[2]);
        argc = 2;
    }
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        if (argc == 2 && strcmp(argv[1], modes[i].name) == 0) {
            modes[i].run();
            return 0;
        }
    }
    fprintf(stderr, "which?\n");
    return 2;
}
