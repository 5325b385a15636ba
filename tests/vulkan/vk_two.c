/* SPDX-License-Identifier: Apache-2.0
 *
 * Two threads, each with a device of its own: they dispatch and wait, one three times, the other
 * five times with some sleep between.
 */
#include "tests/vulkan/vk_small.h"

#include <pthread.h>
#include <unistd.h>

struct part {
    struct small s;
    struct words w;
    VkCommandBuffer commands;
    unsigned count, sleep_us;
};

static void init(struct part *p)
{
    const VkCommandBufferBeginInfo again = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};

    small_init(&p->s, 0);
    words_init(&p->s, &p->w);
    p->commands = small_command_buffer(&p->s, p->s.pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
    TRY(vkBeginCommandBuffer(p->commands, &again));
    small_dispatch(&p->s, p->commands, small_set(&p->s, p->w.buffer), 7);
    TRY(vkEndCommandBuffer(p->commands));
}

static void *run(void *data)
{
    struct part *p = data;

    for (unsigned i = 0; i < p->count; i++) {
        small_run(&p->s, p->commands);
        usleep(p->sleep_us);
    }
    return NULL;
}

int main(void)
{
    static struct part parts[2] = {{.count = 3}, {.count = 5, .sleep_us = 2000}};
    pthread_t threads[2];

    for (unsigned i = 0; i < 2; i++)
        init(&parts[i]);
    for (unsigned i = 0; i < 2; i++)
        if (pthread_create(&threads[i], NULL, run, &parts[i]))
            return 1;
    for (unsigned i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
