/* SPDX-License-Identifier: Apache-2.0
 *
 * Changes state on the host while work is under way: `vk_host event` sets an event that work waits
 * for, `vk_host write` changes memory that work reads. Each prints what came of it; of the second
 * that is a matter of luck, unless each submit is waited for. `vk_host zeros` writes zeros where
 * there may have been zeros, and computes with them. `vk_host import` writes memory of its own,
 * which it has imported, while work that copies it waits for an event.
 */
#include "tests/vulkan/vk_small.h"

#include <string.h>

#define PAGE      ((size_t)4096)
#define LONG_SIZE ((VkDeviceSize)256 << 20) /* to fill it takes longer than to go on */

static VkCommandBuffer primary(const struct small *s)
{
    return small_command_buffer(s, s->pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
}

static void event(void)
{
    VkEventCreateInfo info = {.sType = VK_STRUCTURE_TYPE_EVENT_CREATE_INFO};
    VkCommandBuffer commands;
    VkEvent event;
    VkFence fence;
    struct small s;
    struct words w;

    small_init(&s, 0);
    words_init(&s, &w);
    TRY(vkCreateEvent(s.device, &info, NULL, &event));
    commands = primary(&s);
    small_begin(commands);
    vkCmdWaitEvents(commands, 1, &event, VK_PIPELINE_STAGE_HOST_BIT,
                    VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0, NULL, 0, NULL, 0, NULL);
    small_dispatch(&s, commands, small_set(&s, w.buffer), 7);
    TRY(vkEndCommandBuffer(commands));
    for (uint32_t round = 0; round < 2; round++) {
        fence = small_send(&s, commands);
        for (uint32_t i = 0; i < WORDS; i++)
            w.map[i] = i * (91 + round);
        TRY(vkSetEvent(s.device, event));
        small_await(&s, fence);
        TRY(vkResetEvent(s.device, event));
        printf("event %08x\n", words_sum(&w));
    }
    vkDestroyEvent(s.device, event, NULL);
    words_finish(&s, &w);
    small_finish(&s);
}

/* ---- writing ------------------------------------------------------------------------------- */

static VkBuffer make_long(const struct small *s, VkDeviceMemory *memory)
{
    VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                               .size = LONG_SIZE,
                               .usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    VkMemoryAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
    VkMemoryRequirements needs;
    VkBuffer buffer;

    TRY(vkCreateBuffer(s->device, &info, NULL, &buffer));
    vkGetBufferMemoryRequirements(s->device, buffer, &needs);
    allocate.allocationSize = needs.size;
    TRY(vkAllocateMemory(s->device, &allocate, NULL, memory));
    TRY(vkBindBufferMemory(s->device, buffer, *memory, 0));
    return buffer;
}

static VkCommandBuffer copying(const struct small *s, VkBuffer first, const struct words *from,
                               const struct words *to)
{
    VkCommandBuffer commands = primary(s);
    VkBufferCopy all = {.size = WORDS * 4};

    small_begin(commands);
    vkCmdFillBuffer(commands, first, 0, LONG_SIZE, 0);
    vkCmdCopyBuffer(commands, from->buffer, to->buffer, 1, &all);
    TRY(vkEndCommandBuffer(commands));
    return commands;
}

static VkCommandBuffer dispatching(const struct small *s, const struct words *w)
{
    VkCommandBuffer commands = primary(s);

    small_begin(commands);
    small_dispatch(s, commands, small_set(s, w->buffer), 7);
    TRY(vkEndCommandBuffer(commands));
    return commands;
}

/* The first submit puts zeros where there are zeros: there is nothing to compare after it. */
static void write_meanwhile(void)
{
    struct words from, to;
    VkDeviceMemory memory;
    VkFence fences[2];
    VkBuffer buffer;
    struct small s;

    small_init(&s, 0);
    words_init(&s, &from);
    words_init(&s, &to);
    buffer = make_long(&s, &memory);
    memset(from.map, 0, WORDS * 4);
    memset(to.map, 0, WORDS * 4);
    fences[0] = small_send(&s, copying(&s, buffer, &from, &to));
    for (uint32_t i = 0; i < WORDS; i++)
        from.map[i] = i * 5;
    fences[1] = small_send(&s, dispatching(&s, &to));
    small_await(&s, fences[0]);
    small_await(&s, fences[1]);
    printf("write %08x\n", words_sum(&to));
    vkDestroyBuffer(s.device, buffer, NULL);
    vkFreeMemory(s.device, memory, NULL);
    words_finish(&s, &to);
    words_finish(&s, &from);
    small_finish(&s);
}

static void zeros(void)
{
    struct small s;
    struct words w;

    small_init(&s, 0);
    words_init(&s, &w);
    memset(w.map, 0, WORDS * 4);
    small_run(&s, dispatching(&s, &w));
    printf("zeros %08x\n", words_sum(&w));
    words_finish(&s, &w);
    small_finish(&s);
}

/* ---- imported memory ----------------------------------------------------------------------- */

static void with_import(VkDeviceCreateInfo *info)
{
    static const char *const name = VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME;

    info->ppEnabledExtensionNames = &name;
    info->enabledExtensionCount = 1;
}

static void import(void)
{
    VkImportMemoryHostPointerInfoEXT own = {
        .sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT,
        .handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT,
        .pHostPointer = aligned_alloc(PAGE, WORDS * 4)};
    VkEventCreateInfo info = {.sType = VK_STRUCTURE_TYPE_EVENT_CREATE_INFO};
    VkBufferCopy all = {.size = WORDS * 4};
    uint32_t *words = own.pHostPointer;
    struct words from, to;
    VkCommandBuffer commands;
    VkEvent event;
    VkFence fence;
    struct small s;

    memset(words, 0, WORDS * 4);
    small_device = with_import;
    small_init(&s, 0);
    small_memory = &own;
    words_init(&s, &from);
    small_memory = NULL;
    words_init(&s, &to);
    TRY(vkCreateEvent(s.device, &info, NULL, &event));
    commands = primary(&s);
    small_begin(commands);
    vkCmdWaitEvents(commands, 1, &event, VK_PIPELINE_STAGE_HOST_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT,
                    0, NULL, 0, NULL, 0, NULL);
    vkCmdCopyBuffer(commands, from.buffer, to.buffer, 1, &all);
    TRY(vkEndCommandBuffer(commands));
    fence = small_send(&s, commands);
    for (uint32_t i = 0; i < WORDS; i++)
        words[i] = i * 93;
    TRY(vkSetEvent(s.device, event));
    small_await(&s, fence);
    printf("import %08x\n", words_sum(&to));
    vkDestroyEvent(s.device, event, NULL);
    words_finish(&s, &to);
    words_finish(&s, &from);
    small_finish(&s);
    free(words);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "event") == 0)
        event();
    else if (argc == 2 && strcmp(argv[1], "write") == 0)
        write_meanwhile();
    else if (argc == 2 && strcmp(argv[1], "zeros") == 0)
        zeros();
    else if (argc == 2 && strcmp(argv[1], "import") == 0)
        import();
    else
        return 2;
    return 0;
}
