/* SPDX-License-Identifier: Apache-2.0 */
#include "emu/hsa/group.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

#define PAGE           4096u
#define STACK_SIZE_MIN 32768u /* a kernel may use the C library */
#define STACK_SIZE_MAX (1u << 20)
#define ITEM_MAX       4096u /* of a group */

/* A work-item that runs in turns. */
struct turn {
    struct tracesmith_work_item item; /* first: its barrier has its address */
    struct emu_hsa_group *group;
    ucontext_t context;
    bool has_ended;
};

struct emu_hsa_stacks {
    ucontext_t scheduler;
    struct turn *turns;
    uint8_t *memory; /* of each a page that nobody can reach, then the stack */
    size_t turn_count, each;
};

static void barrier(const struct tracesmith_work_item *item)
{
    struct turn *turn = (struct turn *)(uintptr_t)item;

    swapcontext(&turn->context, &turn->group->stacks->scheduler);
}

/* makecontext() passes on ints. */
static void enter(unsigned high, unsigned low)
{
    struct turn *turn = (struct turn *)((uintptr_t)high << 32 | low);

    turn->group->kernel->entry(turn->group->arguments, &turn->item);
    turn->has_ended = true;
}

static bool map_stacks(struct emu_hsa_stacks *stacks)
{
    void *got = mmap(NULL, stacks->turn_count * stacks->each, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (got == MAP_FAILED)
        return false;
    stacks->memory = got;
    for (size_t i = 0; i < stacks->turn_count; i++)
        if (mprotect(stacks->memory + i * stacks->each, PAGE, PROT_NONE) != 0)
            return false;
    return true;
}

bool emu_hsa_group_init(struct emu_hsa_group *group)
{
    uint64_t count =
        (uint64_t)group->item.group_size[0] * group->item.group_size[1] * group->item.group_size[2];
    uint32_t size = group->kernel->private_size;

    if (count > ITEM_MAX || size > STACK_SIZE_MAX)
        return false;
    group->stacks = calloc(1, sizeof(*group->stacks));
    if (!group->stacks)
        return false;
    size = size < STACK_SIZE_MIN ? STACK_SIZE_MIN : size;
    group->stacks->turn_count = (size_t)count;
    group->stacks->each = PAGE + ((size + PAGE - 1) & ~(size_t)(PAGE - 1));
    group->stacks->turns = calloc(count, sizeof(*group->stacks->turns));
    return group->stacks->turns && map_stacks(group->stacks);
}

void emu_hsa_group_finish(struct emu_hsa_group *group)
{
    struct emu_hsa_stacks *stacks = group->stacks;

    if (!stacks)
        return;
    if (stacks->memory)
        munmap(stacks->memory, stacks->turn_count * stacks->each);
    free(stacks->turns);
    free(stacks);
    group->stacks = NULL;
}

static void begin_turn(struct emu_hsa_group *group, size_t at, const uint32_t local[3])
{
    struct emu_hsa_stacks *stacks = group->stacks;
    struct turn *turn = &stacks->turns[at];

    turn->item = group->item;
    turn->item.barrier = barrier;
    emu_hsa_group_item(group, local, &turn->item);
    turn->group = group;
    turn->has_ended = false;
    getcontext(&turn->context);
    turn->context.uc_stack.ss_sp = stacks->memory + at * stacks->each + PAGE;
    turn->context.uc_stack.ss_size = stacks->each - PAGE;
    turn->context.uc_link = &stacks->scheduler;
    makecontext(&turn->context, (void (*)(void))enter, 2, (unsigned)((uintptr_t)turn >> 32),
                (unsigned)(uintptr_t)turn);
}

void emu_hsa_group_run(struct emu_hsa_group *group)
{
    struct emu_hsa_stacks *stacks = group->stacks;
    size_t count = 0;
    bool goes_on = true;

    for (uint32_t z = 0; z < group->count[2]; z++)
        for (uint32_t y = 0; y < group->count[1]; y++)
            for (uint32_t x = 0; x < group->count[0]; x++)
                begin_turn(group, count++, (uint32_t[3]){x, y, z});
    while (goes_on) {
        goes_on = false;
        for (size_t i = 0; i < count; i++) {
            if (stacks->turns[i].has_ended)
                continue;
            swapcontext(&stacks->scheduler, &stacks->turns[i].context);
            goes_on |= !stacks->turns[i].has_ended;
        }
    }
}
