/* SPDX-License-Identifier: Apache-2.0
 *
 * vk_steps SEED [STEPS]: a correct program of random steps. It allocates and frees memory, maps and
 * unmaps it at any time, writes there, has the device fill, copy and compute, waits in every way,
 * and reads what it may read. A model says what must be there. Prints what it has read, how often
 * it has read what the device wrote ("read N"), and how many words were wrong.
 *
 * vk_steps remap: maps memory again after each wait, and leaves without freeing it.
 */
#include "tests/vulkan/vk_small.h"

#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#define SLOTS 4u
#define SENT  8u

/* A buffer in memory of its own. */
static struct slot {
    struct words words;
    VkDescriptorSet set; /* kept for the next buffer */
    bool is_there, is_mapped;
    bool is_new;   /* the device has written what the program has not read since */
    uint64_t used; /* the submit that uses it last */
    uint32_t model[WORDS];
} slots[SLOTS];

static struct small s;
static VkFence fences[SENT]; /* of the last submits */
static uint64_t sent_count, done_count, read_count, wrong_count;

static uint32_t below(uint32_t limit)
{
    return (uint32_t)random() % limit;
}

static bool is_busy(const struct slot *m)
{
    return m->used > done_count;
}

/* ---- the device ----------------------------------------------------------------------------- */

static VkCommandBuffer begin(void)
{
    VkMemoryBarrier all = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                           .srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT,
                           .dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT};
    VkCommandBuffer commands = small_command_buffer(&s, s.pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY);

    small_begin(commands);
    vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                         VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 1, &all, 0, NULL, 0, NULL);
    return commands;
}

/* All up to that submit is done. */
static void done(uint64_t count)
{
    for (; done_count < count; done_count++)
        vkDestroyFence(s.device, fences[done_count % SENT], NULL);
}

static void wait_for(uint64_t count)
{
    if (count > done_count)
        TRY(vkWaitForFences(s.device, 1, &fences[(count - 1) % SENT], VK_TRUE, UINT64_MAX));
    done(count);
}

static void send(VkCommandBuffer commands)
{
    TRY(vkEndCommandBuffer(commands));
    if (sent_count - done_count == SENT)
        wait_for(done_count + 1);
    fences[sent_count % SENT] = small_send(&s, commands);
    sent_count++;
}

static void writes(struct slot *m)
{
    m->used = sent_count;
    m->is_new = true;
}

static void fill(struct slot *m, uint32_t from, uint32_t count, uint32_t value)
{
    VkCommandBuffer commands = begin();

    vkCmdFillBuffer(commands, m->words.buffer, from * 4, count * 4, value);
    for (uint32_t i = from; i < from + count; i++)
        m->model[i] = value;
    send(commands);
    writes(m);
}

static void copy(struct slot *from, struct slot *to)
{
    VkCommandBuffer commands = begin();
    uint32_t source = below(WORDS), target = below(WORDS), count = 1 + below(WORDS);
    VkBufferCopy part = {source * 4, target * 4, 0};

    count = count > WORDS - source ? WORDS - source : count;
    count = count > WORDS - target ? WORDS - target : count;
    part.size = count * 4;
    vkCmdCopyBuffer(commands, from->words.buffer, to->words.buffer, 1, &part);
    memcpy(to->model + target, from->model + source, count * 4);
    send(commands);
    from->used = sent_count;
    writes(to);
}

static void triple(struct slot *m)
{
    VkCommandBuffer commands = begin();
    uint32_t constant = below(100);

    small_dispatch(&s, commands, m->set, constant);
    for (uint32_t i = 0; i < WORDS; i++)
        m->model[i] = m->model[i] * 3 + constant;
    send(commands);
    writes(m);
}

/* ---- the host ------------------------------------------------------------------------------- */

static void update(const struct slot *m)
{
    VkDescriptorBufferInfo what = {m->words.buffer, 0, VK_WHOLE_SIZE};
    VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                  .dstSet = m->set,
                                  .descriptorCount = 1,
                                  .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                  .pBufferInfo = &what};

    vkUpdateDescriptorSets(s.device, 1, &write, 0, NULL);
}

static void make(struct slot *m)
{
    words_init(&s, &m->words);
    if (m->set)
        update(m);
    else
        m->set = small_set(&s, m->words.buffer);
    m->is_there = true;
    m->is_mapped = false;
    fill(m, 0, WORDS, below(3)); /* 0, too: the same as what nobody has written */
}

static void map(struct slot *m)
{
    if (m->is_mapped)
        vkUnmapMemory(s.device, m->words.memory);
    else
        TRY(vkMapMemory(s.device, m->words.memory, 0, VK_WHOLE_SIZE, 0, (void **)&m->words.map));
    m->is_mapped = !m->is_mapped;
}

static void write_some(struct slot *m)
{
    for (uint32_t count = below(50); count > 0; count--) {
        uint32_t at = below(WORDS);
        m->words.map[at] = m->model[at] = below(1000);
    }
}

static void read_all(struct slot *m)
{
    uint32_t sum = 0;

    for (uint32_t i = 0; i < WORDS; i++) {
        sum = sum * 31 + m->words.map[i];
        wrong_count += m->words.map[i] != m->model[i];
    }
    read_count += m->is_new;
    m->is_new = false;
    printf("%08x\n", sum);
}

static void wait_somehow(void)
{
    uint64_t count = done_count < sent_count
                         ? done_count + 1 + below((uint32_t)(sent_count - done_count))
                         : done_count;

    switch (below(4)) {
    case 0:
        TRY(vkDeviceWaitIdle(s.device));
        done(sent_count);
        break;
    case 1:
        TRY(vkQueueWaitIdle(s.queue));
        done(sent_count);
        break;
    case 2:
        if (count > done_count &&
            vkGetFenceStatus(s.device, fences[(count - 1) % SENT]) != VK_SUCCESS)
            return wait_for(count);
        done(count);
        break;
    default:
        wait_for(count);
    }
}

static void touch(struct slot *m)
{
    if (!m->is_mapped || is_busy(m))
        map(m);
    else if (below(2))
        write_some(m);
    else
        read_all(m);
}

static void step(void)
{
    struct slot *m = &slots[below(SLOTS)], *other = &slots[below(SLOTS)];

    if (!m->is_there)
        return make(m);
    switch (below(12)) {
    case 0:
        wait_for(m->used);
        words_finish(&s, &m->words);
        m->is_there = false;
        break;
    case 1:
        fill(m, below(WORDS / 2), 1 + below(WORDS / 2), below(5));
        break;
    case 2:
        if (other->is_there && other != m)
            copy(other, m);
        break;
    case 3:
        triple(m);
        break;
    case 4:
    case 5:
        map(m);
        break;
    case 6:
    case 7:
        wait_somehow();
        break;
    default:
        touch(m);
    }
}

static void finish(void)
{
    wait_for(sent_count);
    for (struct slot *m = slots; m < slots + SLOTS; m++) {
        if (m->is_there && !m->is_mapped)
            map(m);
        if (m->is_there)
            read_all(m);
    }
    printf("read %lu\n%lu words are wrong\n", (unsigned long)read_count,
           (unsigned long)wrong_count);
}

static void remap(void)
{
    small_init(&s, 0);
    make(&slots[0]);
    for (uint32_t i = 0; i < 8; i++) {
        wait_for(sent_count);
        map(&slots[0]);
        read_all(&slots[0]);
        map(&slots[0]);
        fill(&slots[0], 0, WORDS, i);
    }
    finish();
}

int main(int argc, char **argv)
{
    small_unmapped = 1;
    if (argc == 2 && strcmp(argv[1], "remap") == 0) {
        remap();
    } else {
        srandom(argc > 1 ? (unsigned)atoi(argv[1]) : 1);
        small_init(&s, 0);
        for (int i = argc > 2 ? atoi(argv[2]) : 300; i > 0; i--)
            step();
        finish();
    }
    fflush(stdout);
    _exit(0); /* what was made stays */
}
