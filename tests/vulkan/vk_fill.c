/* SPDX-License-Identifier: Apache-2.0
 *
 * Measures the cost of a vkCmdFillBuffer to the program, in nanoseconds: the smallest of some
 * rounds. Without and with libts_capture.so preloaded, for the difference. Not a test.
 */
#include "tests/vulkan/vk_small.h"

#include <time.h>
#include <unistd.h>

/* Short bursts with rests between them: what is behind the call is not to be measured here. */
#define ROUNDS   300
#define COMMANDS 500
#define REST_US  2000

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(void)
{
    struct small s;
    struct words w;
    VkCommandBuffer commands;
    double best = 1e18;

    small_init(&s, 0);
    words_init(&s, &w);
    commands = small_command_buffer(&s, s.pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
    for (int round = 0; round < ROUNDS; round++) {
        double begun, took;
        small_begin(commands);
        begun = now();
        for (int i = 0; i < COMMANDS; i++)
            vkCmdFillBuffer(commands, w.buffer, 0, 4, (uint32_t)i);
        took = (now() - begun) / COMMANDS;
        best = took < best ? took : best;
        TRY(vkEndCommandBuffer(commands));
        usleep(REST_US);
    }
    printf("%.1f ns\n", best);
    words_finish(&s, &w);
    small_finish(&s);
    return 0;
}
