/* SPDX-License-Identifier: Apache-2.0
 *
 * Vulkan and CUDA in one program, on the same memory: Vulkan gives it away as a file descriptor,
 * CUDA maps it. In each round a shader changes it, then a kernel, then a shader again; a copy of it
 * by Vulkan is what the program reads, and with "cuda" CUDA's, too.
 *
 *   vk_cuda_memory plain     memory that the program does not map
 *   vk_cuda_memory cuda      ... and CUDA reads its end back
 *   vk_cuda_memory mapped    memory that the program maps, reads and writes
 *   vk_cuda_memory parts     two parts of it, of which one is unmapped on the way
 *   vk_cuda_memory late      the memory is given away when it has been used by Vulkan
 *   vk_cuda_memory host      the program writes into it, CUDA changes it, the program reads: Vulkan
 * only has it vk_cuda_memory direct    the same where it is mapped when it has been given away
 *   vk_cuda_memory turns     the two wait for each other at a timeline of Vulkan's that CUDA has,
 * too vk_cuda_memory ahead     ... and CUDA's part of a round is sent first vk_cuda_memory foreign
 * a file of the program's own, which Vulkan does not know
 */
#include "api/cuda/abi.h"
#include "api/cuda/cuda_prototypes.h"
#include "tests/vulkan/vk_small.h"

#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define ROUNDS 3u
#define BYTES  (WORDS * 4u)

#define CU(call)                                                                                   \
    do {                                                                                           \
        CUresult status_ = (call);                                                                 \
        if (status_ != CUDA_SUCCESS) {                                                             \
            fprintf(stderr, "%s:%d: %s: %d\n", __FILE__, __LINE__, #call, (int)status_);           \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

/* word[i] = word[i] * 5 + added */
static const char ptx[] = ".version 6.0\n"
                          ".target sm_70\n"
                          ".address_size 64\n"
                          ".visible .entry change(.param .u64 words, .param .u64 added)\n"
                          "{\n"
                          "    .reg .b32 %r<8>;\n"
                          "    .reg .b64 %rd<4>;\n"
                          "    ld.param.u64 %rd1, [words];\n"
                          "    ld.param.u32 %r1, [added];\n"
                          "    mov.u32 %r2, %ctaid.x;\n"
                          "    mov.u32 %r3, %ntid.x;\n"
                          "    mov.u32 %r4, %tid.x;\n"
                          "    mad.lo.u32 %r5, %r2, %r3, %r4;\n"
                          "    mul.wide.u32 %rd2, %r5, 4;\n"
                          "    add.u64 %rd3, %rd1, %rd2;\n"
                          "    ld.global.u32 %r6, [%rd3];\n"
                          "    mad.lo.u32 %r7, %r6, 5, %r1;\n"
                          "    st.global.u32 [%rd3], %r7;\n"
                          "    ret;\n"
                          "}\n";

static struct small s;
static struct words seen;
static VkBuffer shared;
static VkDeviceMemory memory;
static VkDeviceSize memory_size;
static uint32_t *map;
static CUfunction change;
static CUstream stream;
static CUexternalMemory external;

static bool wants_semaphores;

static void want_descriptors(VkDeviceCreateInfo *info)
{
    static const char *const names[] = {"VK_KHR_external_memory_fd",
                                        "VK_KHR_external_semaphore_fd"};
    static VkPhysicalDeviceTimelineSemaphoreFeatures timeline = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES,
        .timelineSemaphore = VK_TRUE};

    info->enabledExtensionCount = wants_semaphores ? 2 : 1;
    info->ppEnabledExtensionNames = names;
    if (wants_semaphores)
        info->pNext = &timeline;
}

static void make_shared(void)
{
    const VkExternalMemoryBufferCreateInfo external_buffer = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
        .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    const VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                     .pNext = &external_buffer,
                                     .size = BYTES,
                                     .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT |
                                              VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                              VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    const VkExportMemoryAllocateInfo give = {.sType = VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO,
                                             .handleTypes =
                                                 VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    VkMemoryAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                     .pNext = &give};
    VkMemoryRequirements needs;

    TRY(vkCreateBuffer(s.device, &info, NULL, &shared));
    vkGetBufferMemoryRequirements(s.device, shared, &needs);
    allocate.allocationSize = memory_size = needs.size;
    while (!(needs.memoryTypeBits >> allocate.memoryTypeIndex & 1))
        allocate.memoryTypeIndex++;
    TRY(vkAllocateMemory(s.device, &allocate, NULL, &memory));
    TRY(vkBindBufferMemory(s.device, shared, memory, 0));
}

static void import(int fd, uint64_t size)
{
    const CUDA_EXTERNAL_MEMORY_HANDLE_DESC desc = {.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD,
                                                   .handle.fd = fd,
                                                   .size = size,
                                                   .flags = CUDA_EXTERNAL_MEMORY_DEDICATED};

    CU(cuImportExternalMemory(&external, &desc));
}

static void share(void)
{
    const VkMemoryGetFdInfoKHR get = {.sType = VK_STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR,
                                      .memory = memory,
                                      .handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    PFN_vkGetMemoryFdKHR get_fd =
        (PFN_vkGetMemoryFdKHR)vkGetDeviceProcAddr(s.device, "vkGetMemoryFdKHR");
    int fd;

    if (!get_fd)
        exit(77);
    TRY(get_fd(s.device, &get, &fd));
    import(fd, memory_size);
}

static CUdeviceptr map_part(uint64_t offset, uint64_t size)
{
    const CUDA_EXTERNAL_MEMORY_BUFFER_DESC desc = {.offset = offset, .size = size};
    CUdeviceptr address;

    CU(cuExternalMemoryGetMappedBuffer(&address, external, &desc));
    return address;
}

static void send_kernel(CUdeviceptr words, unsigned count, uint64_t added)
{
    void *arguments[] = {&words, &added};

    CU(cuLaunchKernel(change, count / 64, 1, 1, 64, 1, 1, 0, stream, arguments, NULL));
}

static void run_kernel(CUdeviceptr words, unsigned count, unsigned added)
{
    send_kernel(words, count, added);
    CU(cuStreamSynchronize(stream));
}

/* A shader on the shared memory, which is 0 at first, and a copy into what the program reads. */
static VkCommandBuffer make_commands(VkDescriptorSet set, unsigned added, bool is_first)
{
    const VkMemoryBarrier between = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                     .srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT,
                                     .dstAccessMask = VK_ACCESS_MEMORY_READ_BIT};
    const VkBufferCopy all = {.size = BYTES};
    VkCommandBuffer commands = small_command_buffer(&s, s.pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY);

    small_begin(commands);
    if (is_first)
        vkCmdFillBuffer(commands, shared, 0, BYTES, 0);
    vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                         VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 1, &between, 0, NULL, 0, NULL);
    small_dispatch(&s, commands, set, added);
    vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                         VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 1, &between, 0, NULL, 0, NULL);
    vkCmdCopyBuffer(commands, shared, seen.buffer, 1, &all);
    vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_PIPELINE_STAGE_HOST_BIT,
                         0, 1, &between, 0, NULL, 0, NULL);
    TRY(vkEndCommandBuffer(commands));
    return commands;
}

static void run_shader(VkDescriptorSet set, unsigned added, bool is_first)
{
    VkCommandBuffer commands = make_commands(set, added, is_first);

    small_run(&s, commands);
    vkFreeCommandBuffers(s.device, s.pool, 1, &commands);
}

static void init(void)
{
    CUcontext context;
    CUmodule module;

    CU(cuInit(0));
    CU(cuCtxCreate_v2(&context, 0, 0));
    CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CU(cuModuleLoadData(&module, ptx));
    CU(cuModuleGetFunction(&change, module, "change"));
    small_device = want_descriptors;
    small_init(&s, 0);
    words_init(&s, &seen);
    make_shared();
}

static void rounds(const char *mode)
{
    const bool has_parts = strcmp(mode, "parts") == 0, is_late = strcmp(mode, "late") == 0;
    VkDescriptorSet set = small_set(&s, shared);
    CUdeviceptr whole = 0, half = 0;
    uint32_t last[64] = {0};

    if (strcmp(mode, "mapped") == 0)
        TRY(vkMapMemory(s.device, memory, 0, VK_WHOLE_SIZE, 0, (void **)&map));
    if (map)
        memset(map, 0, BYTES);
    for (unsigned i = 0; i < ROUNDS; i++) {
        if (map)
            for (unsigned k = 0; k < WORDS; k += 16)
                map[k] += k + i;
        run_shader(set, 100 + i, i == 0 && !map);
        if (i == is_late) {
            share();
            whole = map_part(0, BYTES);
            half = has_parts ? map_part(BYTES / 2, BYTES / 2) : 0;
        }
        if (whole)
            run_kernel(whole, WORDS, 200 + i);
        if (half)
            run_kernel(half, WORDS / 2, 300 + i);
        if (half && i == 1) {
            CU(cuMemFree_v2(half));
            half = 0;
        }
        run_shader(set, 400 + i, false);
        if (strcmp(mode, "cuda") == 0)
            CU(cuMemcpyDtoH_v2(last, whole + BYTES - sizeof(last), sizeof(last)));
        printf("%08x %08x\n", words_sum(&seen), last[63]);
        if (map)
            printf("%08x\n", map[17]);
    }
    CU(cuMemFree_v2(whole));
    CU(cuDestroyExternalMemory(external));
    vkDestroyBuffer(s.device, shared, NULL);
    vkFreeMemory(s.device, memory, NULL);
}

static uint32_t map_sum(void)
{
    uint32_t sum = 0;

    for (unsigned i = 0; i < WORDS; i++)
        sum = sum * 31 + map[i];
    return sum;
}

/* The program and CUDA in turn; Vulkan is asked for nothing between them, but for the last round.
 */
static void in_turn(bool is_late)
{
    VkDescriptorSet set = small_set(&s, shared);
    CUdeviceptr whole;

    if (!is_late)
        TRY(vkMapMemory(s.device, memory, 0, VK_WHOLE_SIZE, 0, (void **)&map));
    share();
    whole = map_part(0, BYTES);
    if (is_late)
        TRY(vkMapMemory(s.device, memory, 0, VK_WHOLE_SIZE, 0, (void **)&map));
    memset(map, 0, BYTES);
    for (unsigned i = 0; i < ROUNDS; i++) {
        for (unsigned k = i; k < WORDS; k += 7)
            map[k] += k + i;
        run_kernel(whole, WORDS, 200 + i);
        printf("%08x\n", map_sum());
    }
    run_shader(set, 400, false);
    run_kernel(whole, WORDS, 500);
    printf("%08x %08x\n", words_sum(&seen), map_sum());
    CU(cuMemFree_v2(whole));
    CU(cuDestroyExternalMemory(external));
}

static CUexternalSemaphore import_timeline(VkSemaphore timeline)
{
    const VkSemaphoreGetFdInfoKHR get = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_GET_FD_INFO_KHR,
                                         .semaphore = timeline,
                                         .handleType =
                                             VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT};
    PFN_vkGetSemaphoreFdKHR get_fd =
        (PFN_vkGetSemaphoreFdKHR)vkGetDeviceProcAddr(s.device, "vkGetSemaphoreFdKHR");
    CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC desc = {
        .type = CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD};
    CUexternalSemaphore semaphore;

    if (!get_fd)
        exit(77);
    TRY(get_fd(s.device, &get, &desc.handle.fd));
    CU(cuImportExternalSemaphore(&semaphore, &desc));
    return semaphore;
}

/* Waits for a value, changes the memory, signals the next one. */
static void send_turn(CUexternalSemaphore semaphore, uint64_t value, CUdeviceptr words,
                      unsigned added)
{
    const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS wait = {.params.fence.value = value};
    const CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS signal = {.params.fence.value = value + 1};

    CU(cuWaitExternalSemaphoresAsync(&semaphore, &wait, 1, stream));
    send_kernel(words, WORDS, added);
    CU(cuSignalExternalSemaphoresAsync(&semaphore, &signal, 1, stream));
}

/* Three turns a round: a shader, a kernel, a shader. */
static void take_turns(bool is_ahead)
{
    VkDescriptorSet set = small_set(&s, shared);
    VkSemaphore timeline = timeline_make(&s);
    CUexternalSemaphore semaphore = import_timeline(timeline);
    VkCommandBuffer commands[2];
    CUdeviceptr whole;

    share();
    whole = map_part(0, BYTES);
    for (unsigned i = 0; i < ROUNDS; i++) {
        commands[0] = make_commands(set, 100 + i, i == 0);
        commands[1] = make_commands(set, 400 + i, false);
        if (is_ahead)
            send_turn(semaphore, 3 * i + 1, whole, 200 + i);
        timeline_send(s.queue, commands[0], timeline, 3 * i, timeline, 3 * i + 1);
        if (!is_ahead)
            send_turn(semaphore, 3 * i + 1, whole, 200 + i);
        timeline_send(s.queue, commands[1], timeline, 3 * i + 2, timeline, 3 * i + 3);
        timeline_await(&s, timeline, 3 * i + 3);
        printf("%08x\n", words_sum(&seen));
        vkFreeCommandBuffers(s.device, s.pool, 2, commands);
    }
    CU(cuStreamSynchronize(stream));
    CU(cuDestroyExternalSemaphore(semaphore));
    CU(cuMemFree_v2(whole));
    CU(cuDestroyExternalMemory(external));
    vkDestroySemaphore(s.device, timeline, NULL);
}

/* A timeline that the program signals by itself; at the end also from a graph. */
static void foreign_turns(CUdeviceptr whole)
{
    CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC desc = {
        .type = CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD,
        .handle.fd = memfd_create("a timeline", 0)};
    CUexternalSemaphore semaphore;
    volatile uint64_t *value;
    CUgraphExec exec;
    CUgraph graph;

    if (desc.handle.fd < 0 || ftruncate(desc.handle.fd, 8))
        exit(1);
    value = mmap(NULL, 8, PROT_READ | PROT_WRITE, MAP_SHARED, desc.handle.fd, 0);
    CU(cuImportExternalSemaphore(&semaphore, &desc));
    send_turn(semaphore, 1, whole, 11);
    *value = 1;
    CU(cuStreamSynchronize(stream));
    CU(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    send_turn(semaphore, 2, whole, 13);
    CU(cuStreamEndCapture(stream, &graph));
    CU(cuGraphInstantiateWithFlags(&exec, graph, 0));
    CU(cuGraphLaunch(exec, stream));
    CU(cuStreamSynchronize(stream));
    if (*value != 3)
        exit(1);
    CU(cuDestroyExternalSemaphore(semaphore));
}

static void foreign(void)
{
    int file = memfd_create("of the program", 0);
    uint32_t *words, last = 0;
    CUdeviceptr whole;

    if (file < 0 || ftruncate(file, BYTES))
        exit(1);
    words = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    for (unsigned k = 0; k < WORDS; k++)
        words[k] = k;
    import(file, BYTES);
    whole = map_part(0, BYTES);
    run_kernel(whole, WORDS, 7);
    CU(cuMemcpyDtoH_v2(&last, whole + BYTES - 4, 4));
    printf("%08x\n", last);
    foreign_turns(whole);
    CU(cuMemcpyDtoH_v2(&last, whole + BYTES - 4, 4));
    printf("%08x\n", last);
    CU(cuDestroyExternalMemory(external));
    CU(cuMemFree_v2(whole));
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "plain";

    wants_semaphores = strcmp(mode, "turns") == 0 || strcmp(mode, "ahead") == 0;
    init();
    if (strcmp(mode, "foreign") == 0)
        foreign();
    else if (wants_semaphores)
        take_turns(strcmp(mode, "ahead") == 0);
    else if (strcmp(mode, "host") == 0 || strcmp(mode, "direct") == 0)
        in_turn(strcmp(mode, "direct") == 0);
    else
        rounds(mode);
    return 0;
}
