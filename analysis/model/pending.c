/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/model/pending.h"

#include "base/array.h"
#include "tracesmith/error.h"

#include <stdlib.h>

#define CAPACITY_FIRST 256u

static struct tsm_pending_entry *entry_at(const struct tsm_pending *p, size_t index)
{
    return &p->ring[(p->first + index) & (p->capacity - 1)];
}

static bool grow(struct tsm_pending *p)
{
    const size_t capacity = p->capacity ? p->capacity * 2 : CAPACITY_FIRST;
    struct tsm_pending_entry *ring = calloc(capacity, sizeof(*ring));

    if (!ring)
        return false;
    for (size_t i = 0; i < p->count; i++)
        ring[i] = *entry_at(p, i);
    free(p->ring);
    p->ring = ring;
    p->first = 0;
    p->capacity = capacity;
    return true;
}

/* Removes the oldest entry; reports it if nothing of it was. */
static int remove_first(struct tsm_pending *p)
{
    const struct tsm_pending_entry entry = *entry_at(p, 0);
    const uint64_t key = tsm_position_key(entry.node.stream, entry.node.position);

    if (tsm_map_get(&p->places, key, UINT64_MAX) == p->removed_count)
        tsm_map_remove(&p->places, key);
    p->first = (p->first + 1) & (p->capacity - 1);
    p->count--;
    p->removed_count++;
    if (entry.is_timed)
        return 0;
    p->untimed_count--;
    return p->report(p->user, &entry.node);
}

/* A part of a submit may get its time after another one; all else gets one at most in each run, and
 * times of all runs before the next command comes. */
static bool is_over(const struct tsm_pending_entry *entry)
{
    return entry->is_timed && entry->node.work != TSM_WORK_SUBMIT;
}

int tsm_pending_add(struct tsm_pending *p, const struct tsm_command_node *command)
{
    int error = 0;

    while (p->count && is_over(entry_at(p, 0)))
        remove_first(p);
    if (p->count == TSM_PENDING_MAX)
        error = remove_first(p);
    if (error)
        return error;
    if ((p->count == p->capacity && !grow(p)) ||
        !tsm_map_set(&p->places, tsm_position_key(command->stream, command->position),
                     p->removed_count + p->count))
        return tsm_fail(TSM_E_MEMORY, "out of memory for commands that wait for their times");
    *entry_at(p, p->count++) = (struct tsm_pending_entry){.node = *command};
    p->untimed_count++;
    return 0;
}

/* Tests whether a time is one that the command can still get. */
static bool lacks(const struct tsm_pending_entry *entry, const struct tsm_command_time *time)
{
    return entry->node.stream == time->stream && entry->node.position == time->position &&
           (!is_over(entry) || time->run > entry->run);
}

static struct tsm_pending_entry *find(const struct tsm_pending *p, uint32_t stream,
                                      uint64_t position)
{
    const uint64_t *number = tsm_map_find(&p->places, tsm_position_key(stream, position));

    if (!number || *number < p->removed_count || *number - p->removed_count >= p->count)
        return NULL;
    return entry_at(p, *number - p->removed_count);
}

const struct tsm_command_node *tsm_pending_find(const struct tsm_pending *p, uint32_t stream,
                                                uint64_t position)
{
    const struct tsm_pending_entry *entry = find(p, stream, position);

    return entry && entry->node.stream == stream && entry->node.position == position ? &entry->node
                                                                                     : NULL;
}

int tsm_pending_time(struct tsm_pending *p, const struct tsm_command_time *time)
{
    struct tsm_pending_entry *entry = find(p, time->stream, time->position);
    struct tsm_command_node node;

    if (!entry || !lacks(entry, time))
        return 1;
    p->untimed_count -= !entry->is_timed;
    entry->is_timed = true;
    entry->run = time->run;
    node = entry->node;
    node.part = time->part;
    node.run = time->run;
    node.gpu = time->span;
    node.inner_ns = time->inner_ns;
    return p->report(p->user, &node);
}

int tsm_pending_end(struct tsm_pending *p)
{
    int error = 0;

    while (p->count && !error)
        error = remove_first(p);
    return error;
}

void tsm_pending_finish(struct tsm_pending *p)
{
    free(p->ring);
    tsm_map_finish(&p->places);
    *p = (struct tsm_pending){0};
}
