/* SPDX-License-Identifier: Apache-2.0
 *
 * The generated wrappers with the real capture around them and a driver of a few lines below: what
 * the trace then says, and that its records can be made into arguments again.
 */
#include "api/vulkan/source/layer.h"
#include "api/vulkan/tables/codec.h"
#include "api/vulkan/tables/describe.h"
#include "api/vulkan/vulkan_args.h"
#include "api/vulkan/vulkan_hooks.h"
#include "tests/unit/check.h"
#include "tracesmith/reader.h"

#include <stdlib.h>

#define TRACE "vulkan_capture.sbt"

static const struct tsm_source source = {.description = &vulkan_description};
const struct tsm_source *const tsm_sources[] = {&source, NULL};

/* ---- a driver -----------------------------------------------------------------------------------
 */

static const char key; /* what dispatchable handles begin with */
static struct object {
    const void *key;
} device = {&key}, queue = {&key}, command_buffers[2] = {{&key}, {&key}};

#define DEVICE ((VkDevice)&device)
#define QUEUE  ((VkQueue)&queue)

static struct vk_device_state state;
static VkResult fence_answer = VK_SUCCESS, create_answer = VK_SUCCESS;
static uint64_t next_handle = 0x1000;

static VKAPI_ATTR VkResult VKAPI_CALL create_buffer(VkDevice d, const VkBufferCreateInfo *info,
                                                    const VkAllocationCallbacks *a, VkBuffer *out)
{
    *out = create_answer ? (VkBuffer)0xdead : (VkBuffer)(next_handle += 0x10);
    return create_answer;
}

static VKAPI_ATTR void VKAPI_CALL destroy_buffer(VkDevice d, VkBuffer buffer,
                                                 const VkAllocationCallbacks *a)
{
}

static VKAPI_ATTR VkResult VKAPI_CALL allocate(VkDevice d, const VkCommandBufferAllocateInfo *info,
                                               VkCommandBuffer *out)
{
    for (uint32_t i = 0; i < info->commandBufferCount; i++)
        out[i] = (VkCommandBuffer)&command_buffers[i];
    return VK_SUCCESS;
}

static VKAPI_ATTR void VKAPI_CALL get_queue(VkDevice d, uint32_t family, uint32_t index,
                                            VkQueue *out)
{
    *out = QUEUE;
}

static VKAPI_ATTR VkResult VKAPI_CALL begin(VkCommandBuffer c, const VkCommandBufferBeginInfo *info)
{
    return VK_SUCCESS;
}

static VKAPI_ATTR void VKAPI_CALL fill(VkCommandBuffer c, VkBuffer b, VkDeviceSize offset,
                                       VkDeviceSize size, uint32_t data)
{
}

static VKAPI_ATTR void VKAPI_CALL push(VkCommandBuffer c, VkPipelineLayout l, VkShaderStageFlags f,
                                       uint32_t offset, uint32_t size, const void *values)
{
}

static VKAPI_ATTR VkResult VKAPI_CALL submit(VkQueue q, uint32_t n, const VkSubmitInfo *s,
                                             VkFence f)
{
    return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL fence_status(VkDevice d, VkFence fence)
{
    return fence_answer;
}

static VKAPI_ATTR void VKAPI_CALL free_buffers(VkDevice d, VkCommandPool p, uint32_t n,
                                               const VkCommandBuffer *c)
{
}

#define RESULTS_SIZE 100000

static VKAPI_ATTR VkResult VKAPI_CALL query_results(VkDevice d, VkQueryPool p, uint32_t first,
                                                    uint32_t count, size_t size, void *data,
                                                    VkDeviceSize stride, VkQueryResultFlags flags)
{
    memset(data, 3, size);
    return VK_SUCCESS;
}

static void driver(void)
{
    state.dispatch.f.vkGetQueryPoolResults = query_results;
    state.dispatch.f.vkCreateBuffer = create_buffer;
    state.dispatch.f.vkDestroyBuffer = destroy_buffer;
    state.dispatch.f.vkAllocateCommandBuffers = allocate;
    state.dispatch.f.vkGetDeviceQueue = get_queue;
    state.dispatch.f.vkBeginCommandBuffer = begin;
    state.dispatch.f.vkCmdFillBuffer = fill;
    state.dispatch.f.vkCmdPushConstants = push;
    state.dispatch.f.vkQueueSubmit = submit;
    state.dispatch.f.vkGetFenceStatus = fence_status;
    state.dispatch.f.vkFreeCommandBuffers = free_buffers;
    CHECK(vk_device_add(&state.dispatch, DEVICE));
    CHECK(vk_device_of(QUEUE) == &state.dispatch);
}

/* ---- a program
 * ------------------------------------------------------------------------------------ */

#define CALL(name) ((PFN_##name)vk_wrapper(#name))

static VkBuffer buffer;
static uint8_t results[RESULTS_SIZE];
static uint8_t constants[8] = {1, 2, 3, 4, 5, 6, 7, 8};

static void polls(void)
{
    static const VkResult answers[] = {VK_NOT_READY, VK_NOT_READY, VK_NOT_READY,
                                       VK_SUCCESS,   VK_NOT_READY, VK_SUCCESS};

    for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
        fence_answer = answers[i];
        CHECK_EQ_INT(CALL(vkGetFenceStatus)(DEVICE, (VkFence)7), answers[i]);
    }
}

static void program(void)
{
    uint32_t families[2] = {0, 1};
    VkExternalMemoryBufferCreateInfo external = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
        .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                               .pNext = &external,
                               .size = 4096,
                               .usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT,
                               .sharingMode = VK_SHARING_MODE_CONCURRENT,
                               .queueFamilyIndexCount = 2,
                               .pQueueFamilyIndices = families};
    VkCommandBufferAllocateInfo allocation = {.sType =
                                                  VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                              .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                              .commandBufferCount = 2};
    VkCommandBufferBeginInfo beginning = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                          .pInheritanceInfo = (const void *)0x8}; /* ignored */
    VkCommandBuffer buffers[2];
    VkCommandBufferInheritanceInfo inheritance = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_INFO, .subpass = 5};
    VkBaseInStructure stranger = {.sType = (VkStructureType)1999999999},
                      nobodys = {.sType = VK_STRUCTURE_TYPE_MAX_ENUM};
    VkCommandBufferBeginInfo second = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                       .pInheritanceInfo = &inheritance};
    VkSubmitInfo submission = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                               .commandBufferCount = 2,
                               .pCommandBuffers = buffers};
    VkBuffer failed;
    VkQueue q;

    CHECK(!vk_wrapper("vkNoSuchThing") && !vk_wrapper("vk"));
    CALL(vkCreateBuffer)(DEVICE, &info, NULL, &buffer);
    CALL(vkGetDeviceQueue)(DEVICE, 0, 0, &q);
    CALL(vkAllocateCommandBuffers)(DEVICE, &allocation, buffers);
    CALL(vkBeginCommandBuffer)(buffers[0], &beginning);
    CALL(vkCmdFillBuffer)(buffers[0], buffer, 16, 32, 0xabcd);
    CALL(vkCmdPushConstants)(buffers[1], NULL, 1, 0, sizeof(constants), constants);
    CALL(vkQueueSubmit)(q, 1, &submission, NULL);
    polls();
    CALL(vkGetQueryPoolResults)(DEVICE, (VkQueryPool)9, 0, 1, RESULTS_SIZE, results, 8, 0);
    CALL(vkFreeCommandBuffers)(DEVICE, NULL, 2, buffers);
    allocation.level = VK_COMMAND_BUFFER_LEVEL_SECONDARY;
    allocation.commandBufferCount = 1;
    CALL(vkAllocateCommandBuffers)(DEVICE, &allocation, buffers);
    second.pNext = &nobodys;
    CALL(vkBeginCommandBuffer)(buffers[0], &second);
    second.pNext = &stranger;
    CALL(vkBeginCommandBuffer)(buffers[0], &second);
    CALL(vkDestroyBuffer)(DEVICE, buffer, NULL);
    create_answer = VK_ERROR_OUT_OF_DEVICE_MEMORY;
    CALL(vkCreateBuffer)(DEVICE, &info, NULL, &failed);
}

/* ---- what the trace says
 * --------------------------------------------------------------------------- */

static struct sbt_reader *reader;
static const struct sbt_record *record; /* that is being looked at */
static struct sbt_value values[16];
static uint32_t value_count;

static int value_of(void *user, uint32_t index, const uint8_t **data, size_t *size)
{
    int there = sbt_reader_value(reader, record, index, &values[value_count]);

    *data = values[value_count].data;
    *size = values[value_count].size;
    value_count++;
    return there;
}

static const char *text_of(void *user, uint32_t id)
{
    return sbt_reader_string(reader, id);
}

static const struct vk_record_source *from_record(void)
{
    static struct vk_record_source from = {.value = value_of, .text = text_of};

    from.record = record;
    return &from;
}

static struct vk_arena arena;

static bool decode(const struct vk_command *command, void *args)
{
    struct vk_decoder d;

    vk_decoder_init(&d, &arena, NULL, 0);
    return CHECK(vk_decode_args(&d, command, from_record(), args));
}

static uint64_t made_id, made_raw;

static bool note_made(void *user, uint32_t type, uint64_t id, uint64_t raw)
{
    made_id = made_id * 16 + id;
    made_raw = raw;
    return true;
}

static void check_create(const struct vk_command *command)
{
    static bool second;
    struct vk_args_vkCreateBuffer a;

    decode(command, &a);
    CHECK_EQ_INT(a.pCreateInfo->size, 4096);
    CHECK_EQ_INT(a.pCreateInfo->pQueueFamilyIndices[1], 1);
    CHECK(a.pCreateInfo->pNext && ((const VkBaseInStructure *)a.pCreateInfo->pNext)->sType ==
                                      VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO);
    CHECK_EQ_INT(record->flags, second ? SBT_RECORD_FAILED : 0);
    if (!second) {
        *a.pBuffer = (VkBuffer)0x77;
        CHECK(vk_each_created(command, from_record(), &a, note_made));
        CHECK_EQ_INT(made_id, 1);
        CHECK_EQ_INT(made_raw, 0x77);
    } else {
        CHECK_EQ_INT(record->slots[2], 0); /* nothing was made */
    }
    second = true;
}

static void check_allocate(const struct vk_command *command)
{
    static bool second;
    struct vk_args_vkAllocateCommandBuffers a;

    decode(command, &a);
    CHECK(a.pCommandBuffers && !a.pCommandBuffers[0]);
    made_id = 0;
    CHECK(vk_each_created(command, from_record(), &a, note_made));
    CHECK_EQ_INT(made_id, second ? 3 : 0x12); /* ids are never used again */
    second = true;
}

static void check_submit(const struct vk_command *command)
{
    struct vk_args_vkQueueSubmit a;

    decode(command, &a);
    CHECK_EQ_INT(record->stream, 0);
    CHECK_EQ_INT(record->position, 1);
    CHECK_EQ_INT(a.submitCount, 1);
    CHECK_EQ_INT(a.pSubmits[0].commandBufferCount, 2);
    CHECK_EQ_INT((long long)(uintptr_t)a.pSubmits[0].pCommandBuffers[1], 2); /* its id */
}

static void check_plain(const struct vk_command *command)
{
    struct vk_args_vkCmdFillBuffer f;
    struct vk_args_vkCmdPushConstants p;
    struct vk_args_vkBeginCommandBuffer b;

    if (command == &vk_commands[VK_COMMAND_vkCmdFillBuffer]) {
        decode(command, &f);
        CHECK(f.dstOffset == 16 && f.size == 32 && f.data == 0xabcd);
        CHECK_EQ_INT((long long)(uintptr_t)f.dstBuffer, 1);
    } else if (command == &vk_commands[VK_COMMAND_vkCmdPushConstants]) {
        decode(command, &p);
        CHECK_EQ_MEM(p.pValues, constants, sizeof(constants));
    } else if (command == &vk_commands[VK_COMMAND_vkBeginCommandBuffer]) {
        decode(command, &b);
        if ((uintptr_t)b.commandBuffer == 1) /* a primary one: ignored */
            CHECK(b.pBeginInfo && !b.pBeginInfo->pInheritanceInfo);
        else
            CHECK(b.pBeginInfo->pInheritanceInfo && b.pBeginInfo->pInheritanceInfo->subpass == 0);
    }
}

/* More than a record holds: not cut. */
static void check_results(const struct vk_command *command)
{
    struct vk_args_vkGetQueryPoolResults a;
    struct sbt_blob blob;

    decode(command, &a);
    CHECK_EQ_INT(record->flags, 0);
    CHECK(a.pData && a.dataSize == RESULTS_SIZE);
    CHECK(sbt_record_blob(record, 5, &blob));
    CHECK_EQ_INT(blob.size, RESULTS_SIZE);
}

static void check_free(const struct vk_command *command)
{
    struct vk_args_vkFreeCommandBuffers a;

    decode(command, &a);
    CHECK_EQ_INT((long long)(uintptr_t)a.pCommandBuffers[1], 2);
}

static void check_record(const struct vk_command *command)
{
    if (command == &vk_commands[VK_COMMAND_vkCreateBuffer])
        check_create(command);
    else if (command == &vk_commands[VK_COMMAND_vkAllocateCommandBuffers])
        check_allocate(command);
    else if (command == &vk_commands[VK_COMMAND_vkQueueSubmit])
        check_submit(command);
    else if (command == &vk_commands[VK_COMMAND_vkGetQueryPoolResults])
        check_results(command);
    else if (command == &vk_commands[VK_COMMAND_vkFreeCommandBuffers])
        check_free(command);
    else
        check_plain(command);
    for (uint32_t i = 0; i < value_count; i++)
        sbt_value_finish(&values[i]);
    value_count = 0;
    vk_arena_reset(&arena);
}

/* Only a struct that some driver may know changes something that is not recorded. */
static void check_unknown(uint32_t *unknown)
{
    const char *what = sbt_reader_string(reader, (uint32_t)record->slots[0]);

    if (what && strstr(what, "VkStructureType")) {
        bool taints = record->flags & SBT_RECORD_TAINTS;

        CHECK_EQ_INT(taints, strstr(what, "1999999999") != NULL);
        ++*unknown;
    }
}

static void look(void)
{
    struct sbt_cursor *cursor;
    uint32_t polled = 0, calls = 0, unknown = 0;

    if (!CHECK_EQ_INT(sbt_reader_open(&reader, TRACE), 0))
        return;
    vk_arena_init(&arena, VK_ARENA_LIMIT);
    CHECK_EQ_INT(sbt_cursor_create(&cursor, reader, NULL, 0), 0);
    while (sbt_cursor_next(cursor, &record) == 1) {
        const struct vk_command *command = vk_command_of(SBT_TYPE_CALL(record->type));
        if (record->type == SBT_TYPE(SBT_API_CORE, SBT_CORE_UNMODELLED))
            check_unknown(&unknown);
        if (SBT_TYPE_API(record->type) != SBT_API_VULKAN || !CHECK(command))
            continue;
        CHECK_EQ_STR(sbt_reader_schema(reader, record->type)->name, vk_name(command->name));
        calls++;
        polled += command == &vk_commands[VK_COMMAND_vkGetFenceStatus];
        check_record(command);
    }
    sbt_cursor_destroy(cursor);
    CHECK_EQ_INT(polled, 4); /* not yet (three times), done, not yet, done */
    CHECK_EQ_INT(calls, 14 + 4);
    CHECK_EQ_INT(unknown, 2);
    sbt_reader_destroy(reader);
    vk_arena_finish(&arena);
}

int main(void)
{
    setenv("TS_OUTPUT", TRACE, 1);
    driver();
    program();
    tsm_session_finish();
    look();
    return check_result();
}
