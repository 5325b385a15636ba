/* SPDX-License-Identifier: Apache-2.0 */
#include "emu/cuda/stream/accesses.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "emu/cuda/memory/memory.h"

#define LIST_MAX (1u << 16) /* ranges that are kept as they came; then near ones are joined */

enum { ADDRESS, SIZE, FLAGS, PARTS };

void emu_accesses_finish(struct emu_accesses *a)
{
    free(a->list);
    *a = (struct emu_accesses){0};
}

uint64_t emu_accesses_of_array(uint64_t address)
{
    struct emu_memory memory;

    return emu_memory_find(&memory, address) && memory.kind == EMU_MEMORY_ARRAY ? SBT_ACCESS_ARRAY
                                                                                : 0;
}

static int by_address(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;

    if (x[ADDRESS] != y[ADDRESS])
        return x[ADDRESS] < y[ADDRESS] ? -1 : 1;
    return (x[FLAGS] > y[FLAGS]) - (x[FLAGS] < y[FLAGS]);
}

/* Joins each range with the one before it where no more than `gap` bytes lie between; if `gap` is
 * 0, only where that changes nothing of what is said of their bytes. */
static void join(struct emu_accesses *a, uint64_t gap)
{
    size_t kept = 0;

    for (size_t i = 1; i < a->count; i++) {
        uint64_t *last = a->list[kept];
        const uint64_t *next = a->list[i];
        const uint64_t end = last[ADDRESS] + last[SIZE], next_end = next[ADDRESS] + next[SIZE];
        const bool is_like = last[FLAGS] == next[FLAGS];

        if (next[ADDRESS] > end + gap || (!gap && !is_like)) {
            memmove(a->list[++kept], next, sizeof(a->list[0]));
            continue;
        }
        if (!is_like || next[ADDRESS] > end)
            last[FLAGS] =
                ((last[FLAGS] | next[FLAGS]) & ~(uint64_t)SBT_ACCESS_OWN) | SBT_ACCESS_SOME;
        if (next_end > end)
            last[SIZE] = next_end - last[ADDRESS];
    }
    a->count = a->count ? kept + 1 : 0;
}

static bool is_in_order(const struct emu_accesses *a)
{
    size_t i = 1;

    while (i < a->count && by_address(a->list[i - 1], a->list[i]) <= 0)
        i++;
    return i >= a->count;
}

void emu_accesses_settle(struct emu_accesses *a)
{
    if (!is_in_order(a))
        qsort(a->list, a->count, sizeof(*a->list), by_address);
    join(a, 0);
    for (uint64_t gap = 1; a->count > TSM_EMU_ACCESSES_MAX; gap *= 2)
        join(a, gap);
}

/* ---- adding ---- */

/* Makes few of many: a launch may have millions, and the list is to have but some in the end. */
static void keep_short(struct emu_accesses *a)
{
    if (a->count >= LIST_MAX)
        emu_accesses_settle(a);
}

bool emu_accesses_add(struct emu_accesses *a, uint64_t address, uint64_t size, uint64_t flags)
{
    if (!TSM_ARRAY_RESERVE(a->list, a->capacity, a->count + 1))
        return false;
    memcpy(a->list[a->count], (const uint64_t[PARTS]){address, size, flags}, sizeof(a->list[0]));
    a->count += size != 0;
    keep_short(a);
    return true;
}

bool emu_accesses_add_all(struct emu_accesses *a, const struct emu_accesses *others)
{
    if (!TSM_ARRAY_RESERVE(a->list, a->capacity, a->count + others->count))
        return false;
    if (others->count)
        memcpy(a->list[a->count], others->list, others->count * sizeof(a->list[0]));
    a->count += others->count;
    keep_short(a);
    return true;
}

bool emu_accesses_none(const struct emu_command *command, struct emu_accesses *out)
{
    (void)command, (void)out;
    return true;
}
