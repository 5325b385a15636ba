/* SPDX-License-Identifier: Apache-2.0
 *
 * Labels (VK_EXT_debug_utils) in command buffers: one submit each of "inner" in "outer", of "deep"
 * in a secondary command buffer, of "open", which the third submit behind it ends, with "inner"
 * between.
 */
#include "tests/vulkan/vk_small.h"

static PFN_vkCmdBeginDebugUtilsLabelEXT begin_label;
static PFN_vkCmdEndDebugUtilsLabelEXT end_label;

static void begin(VkCommandBuffer commands, const char *text)
{
    VkDebugUtilsLabelEXT info = {.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_LABEL_EXT,
                                 .pLabelName = text};

    begin_label(commands, &info);
}

static VkCommandBuffer primary(const struct small *s)
{
    VkCommandBuffer out = small_command_buffer(s, s->pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY);

    small_begin(out);
    return out;
}

static void run(const struct small *s, VkCommandBuffer commands)
{
    TRY(vkEndCommandBuffer(commands));
    small_run(s, commands);
}

/* Submits 1 and 5. */
static void nested(const struct small *s, VkDescriptorSet set)
{
    VkCommandBuffer commands = primary(s);

    begin(commands, "outer");
    begin(commands, "inner");
    small_dispatch(s, commands, set, 1);
    end_label(commands);
    end_label(commands);
    run(s, commands);
}

/* Submit 2. */
static void deep(const struct small *s, VkDescriptorSet set)
{
    VkCommandBuffer commands = primary(s);
    VkCommandBuffer part = small_command_buffer(s, s->pool, VK_COMMAND_BUFFER_LEVEL_SECONDARY);

    small_begin_secondary(part);
    begin(part, "deep");
    small_dispatch(s, part, set, 2);
    end_label(part);
    TRY(vkEndCommandBuffer(part));
    vkCmdExecuteCommands(commands, 1, &part);
    run(s, commands);
}

/* Submits 3, 4 and 6. */
static void part(const struct small *s, VkDescriptorSet set, const char *label, int ends)
{
    VkCommandBuffer commands = primary(s);

    if (label)
        begin(commands, label);
    small_dispatch(s, commands, set, 3);
    if (ends)
        end_label(commands);
    run(s, commands);
}

int main(void)
{
    static const char *const extensions[] = {"VK_EXT_debug_utils"};
    struct small s;
    struct words w;
    VkDescriptorSet set;

    small_extensions = extensions;
    small_init(&s, 0);
    begin_label = (PFN_vkCmdBeginDebugUtilsLabelEXT)vkGetInstanceProcAddr(
        s.instance, "vkCmdBeginDebugUtilsLabelEXT");
    end_label = (PFN_vkCmdEndDebugUtilsLabelEXT)vkGetInstanceProcAddr(s.instance,
                                                                      "vkCmdEndDebugUtilsLabelEXT");
    words_init(&s, &w);
    set = small_set(&s, w.buffer);
    nested(&s, set);
    deep(&s, set);
    part(&s, set, "open", 0);
    part(&s, set, NULL, 0);
    nested(&s, set);
    part(&s, set, NULL, 1);
    part(&s, set, NULL, 0);
    printf("%08x\n", words_sum(&w));
    words_finish(&s, &w);
    small_finish(&s);
    return 0;
}
