/* SPDX-License-Identifier: Apache-2.0
 *
 * Smallest Vulkan that a compute program needs. Everything ends the program with a message when it
 * fails; status 77 where there is no driver. Functions are found through the loader that the
 * program is linked with, unless vk_get is set before.
 */
#ifndef TESTS_VULKAN_VK_SMALL_H
#define TESTS_VULKAN_VK_SMALL_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <vulkan/vulkan.h>

#define WORDS 1024u

#define TRY(call)                                                                                  \
    do {                                                                                           \
        VkResult result_ = (call);                                                                 \
        if (result_ != VK_SUCCESS) {                                                               \
            fprintf(stderr, "%s:%d: %s: %d\n", __FILE__, __LINE__, #call, result_);                \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

struct small {
    VkInstance instance;
    VkPhysicalDevice physical;
    VkDevice device;
    VkQueue queue;
    VkCommandPool pool;
    VkDescriptorSetLayout set_layout;
    VkPipelineLayout layout;
    VkPipeline pipeline; /* word[i] = word[i] * 3 + push constant */
    VkDescriptorPool sets;
};

/* A buffer of WORDS words in mapped, coherent memory. */
struct words {
    VkBuffer buffer;
    VkDeviceMemory memory;
    uint32_t *map;
};

/* One extension that the next instance is made with; NULL: none. */
extern const char *const *small_extensions;
/* Changes what the device is made with; NULL: nothing. */
extern void (*small_device)(VkDeviceCreateInfo *info);
/* The pNext of the next device; NULL: none. */
extern const void *small_features;
/* The pNext of memory that words are made in; NULL: none. */
extern const void *small_memory;

/* `push`: descriptors are pushed, so the set layout is for that. */
void small_init(struct small *s, int push);
void small_finish(struct small *s);
/* The shader of the pipeline. */
VkShaderModule small_module(const struct small *s);

/* Words are made in memory that is not mapped. */
extern int small_unmapped;
void words_init(const struct small *s, struct words *w);
void words_finish(const struct small *s, struct words *w);

/* An image of one level and layer, `side` texels wide and high, bound to memory of the first type
 * that it can have. */
VkImage small_image(const struct small *s, VkFormat format, uint32_t side, VkImageUsageFlags usage,
                    VkDeviceMemory *memory);

VkCommandBuffer small_command_buffer(const struct small *s, VkCommandPool pool,
                                     VkCommandBufferLevel level);
/* Begin, or begin as part of another one. */
void small_begin(VkCommandBuffer commands);
void small_begin_secondary(VkCommandBuffer commands);

VkDescriptorSet small_set(const struct small *s, VkBuffer buffer);

/* Bind the pipeline and set (if any), push the constant, dispatch, make it visible to the host. */
void small_dispatch(const struct small *s, VkCommandBuffer commands, VkDescriptorSet set,
                    uint32_t constant);

/* Submit, with a fence; wait for it, and destroy it. */
VkFence small_send(const struct small *s, VkCommandBuffer commands);
void small_await(const struct small *s, VkFence fence);
/* Both. */
void small_run(const struct small *s, VkCommandBuffer commands);

/* Timeline semaphores: one at 0; a submit that waits for a value of one and signals a value; the
 * host waits. */
VkSemaphore timeline_make(const struct small *s);
void timeline_send(VkQueue queue, VkCommandBuffer commands, VkSemaphore from, uint64_t wait,
                   VkSemaphore to, uint64_t signal);
void timeline_await(const struct small *s, VkSemaphore semaphore, uint64_t value);

/* A number that says what is there. */
uint32_t words_sum(const struct words *w);

#endif
