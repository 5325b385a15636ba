/* SPDX-License-Identifier: Apache-2.0 */
#include "emu/cuda/check/quarantine.h"

#include <pthread.h>

#include "emu/cuda/check/host_stack.h"
#include "emu/cuda/core/emu.h"

#define FREED_COUNT 4096u
#define HELD_MAX    (256ull << 20) /* bytes */

struct freed {
    struct emu_memory memory;
    bool is_held; /* its place is not given back yet */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct freed ring[FREED_COUNT];
static uint64_t added;
static uint64_t first_held; /* number of the oldest that may be held */
static uint64_t held_size;

static void give_first(void)
{
    struct freed *f = &ring[first_held++ % FREED_COUNT];

    if (!f->is_held)
        return;
    f->is_held = false;
    held_size -= f->memory.size;
    emu_va_allocator_give(f->memory.address);
}

void emu_quarantine_add(const struct emu_memory *memory, bool is_placed_by_us)
{
    uint32_t stack = memory->free_stack ? memory->free_stack : emu_stack_take();
    bool is_held =
        is_placed_by_us && emu_settings.checks & EMU_CHECK_BOUNDS && memory->size <= HELD_MAX;

    pthread_mutex_lock(&lock);
    if (added - first_held == FREED_COUNT)
        give_first();
    struct freed *f = &ring[added++ % FREED_COUNT];
    *f = (struct freed){*memory, is_held};
    f->memory.free_stack = stack;
    if (is_held)
        held_size += memory->size;
    else if (is_placed_by_us)
        emu_va_allocator_give(memory->address);
    while (held_size > HELD_MAX)
        give_first();
    pthread_mutex_unlock(&lock);
}

bool emu_quarantine_release(void)
{
    pthread_mutex_lock(&lock);
    bool any = held_size != 0;
    while (first_held < added)
        give_first();
    pthread_mutex_unlock(&lock);
    return any;
}

void emu_quarantine_near(struct emu_near *near, uint64_t address)
{
    pthread_mutex_lock(&lock);
    uint64_t kept = added < FREED_COUNT ? added : FREED_COUNT;
    for (uint64_t k = 1; k <= kept; k++) { /* the youngest first: it wins among equals */
        struct emu_near one = {.memory = ring[(added - k) % FREED_COUNT].memory, .is_freed = true};
        emu_near_measure(&one, address);
        one.distance += one.where != EMU_NEAR_INSIDE; /* as emu_memory_near() counts */
        if (one.distance < near->distance)
            *near = one;
    }
    pthread_mutex_unlock(&lock);
}
