/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/dependencies/scratch_memory.h"

#include <stdlib.h>

#include "analysis/model/pass.h"
#include "base/array.h"
#include "tracesmith/error.h"

/* ---- collecting --------------------------------------------------------------------------- */

struct collecting {
    struct tsm_scratch_memory *out;
    struct sbt_reader *reader;
};

static int collect_call(void *user, const struct tsm_call_node *call)
{
    struct collecting *c = user;

    return tsm_command_accesses_note(&c->out->commands, c->reader, call);
}

static int collect_core(void *user, const struct sbt_record *record)
{
    struct collecting *c = user;

    c->out->has_results |= SBT_TYPE_CALL(record->type) == SBT_CORE_READBACK;
    return tsm_command_accesses_note_core(&c->out->commands, record);
}

static int collect_change(void *user, const struct tsm_memory_node *change)
{
    struct tsm_scratch_memory *s = ((struct collecting *)user)->out;
    const struct tsm_placed placed = {change->seq, change->address, change->address + change->size,
                                      change->place == TSM_PLACE_DEVICE};

    tsm_command_accesses_change(&s->commands, change);
    return change->is_free || TSM_ARRAY_PUSH(s->placed, s->placed_count, s->placed_capacity, placed)
               ? 0
               : tsm_fail(TSM_E_MEMORY, "no memory for scratch memory");
}

int tsm_scratch_memory_collect(struct tsm_scratch_memory *out, struct sbt_reader *reader)
{
    struct collecting c = {out, reader};
    const struct tsm_model_visitor visitor = {
        .user = &c, .call = collect_call, .core = collect_core, .memory = collect_change};
    struct tsm_model_counts counts;
    int error;

    *out = (struct tsm_scratch_memory){0};
    error = tsm_accesses_begin(&out->commands.accesses, reader);
    return error ? error : tsm_model_pass(&counts, reader, NULL, &visitor);
}

void tsm_scratch_memory_finish(struct tsm_scratch_memory *s)
{
    tsm_command_accesses_finish(&s->commands);
    free(s->placed);
    *s = (struct tsm_scratch_memory){0};
}

/* ---- asking ------------------------------------------------------------------------------- */

#define RANGES_MAX 4096u

/* Bytes that may differ: those asked for, and what commands made of them; but for those that have
 * been overwritten. In order and apart. */
struct pending {
    struct tsm_scratch_memory_range *list;
    size_t count, capacity;
};

static size_t first_behind(const struct pending *p, uint64_t start)
{
    size_t at;

    TSM_BISECT(at, p->count, p->list[at].end > start);
    return at;
}

static bool meets(const struct pending *p, uint64_t start, uint64_t end)
{
    const size_t at = first_behind(p, start);

    return at < p->count && p->list[at].start < end;
}

static bool add(struct pending *p, uint64_t start, uint64_t end)
{
    size_t at = first_behind(p, start);

    while (at < p->count && p->list[at].start < end) {
        start = p->list[at].start < start ? p->list[at].start : start;
        end = p->list[at].end > end ? p->list[at].end : end;
        TSM_ARRAY_REMOVE(p->list, p->count, at);
    }
    return p->count < RANGES_MAX &&
           TSM_ARRAY_INSERT(p->list, p->count, p->capacity, at,
                            ((struct tsm_scratch_memory_range){start, end}));
}

/* Takes bytes away. Returns false if out of memory. */
static bool take(struct pending *p, uint64_t start, uint64_t end)
{
    size_t at = first_behind(p, start);

    while (at < p->count && p->list[at].start < end) {
        const struct tsm_scratch_memory_range r = p->list[at];

        TSM_ARRAY_REMOVE(p->list, p->count, at);
        if (r.start < start && !add(p, r.start, start))
            return false;
        if (end < r.end && !add(p, end, r.end))
            return false;
        at = first_behind(p, start);
    }
    return true;
}

static uint64_t end_of(const struct tsm_access *a)
{
    return a->size > UINT64_MAX - a->start ? UINT64_MAX : a->start + a->size;
}

/* Tests whether it is device memory: the program can read other memory without a record. */
static bool is_device(const struct tsm_scratch_memory *s, uint64_t seq, uint64_t start,
                      uint64_t end)
{
    for (size_t i = s->placed_count; i-- > 0;)
        if (s->placed[i].seq <= seq && s->placed[i].start <= start && start < s->placed[i].end)
            return s->placed[i].is_device && end <= s->placed[i].end;
    return false;
}

static bool reads_some(const struct tsm_access *ranges, size_t count, const struct pending *p)
{
    for (size_t i = 0; i < count; i++)
        if (!ranges[i].is_object && ranges[i].reads && !ranges[i].is_own &&
            meets(p, ranges[i].start, end_of(&ranges[i])))
            return true;
    return false;
}

/* Notes that what the command writes may differ, too. Returns false where it leaves the device:
 * then it is a result. */
static bool spread(const struct tsm_scratch_memory *s, const struct tsm_accessing *c,
                   const struct tsm_access *ranges, struct pending *p)
{
    bool has_written = false;

    for (size_t i = 0; i < c->count; i++) {
        if (!ranges[i].writes)
            continue;
        if (ranges[i].is_object || !is_device(s, c->seq, ranges[i].start, end_of(&ranges[i])) ||
            !add(p, ranges[i].start, end_of(&ranges[i])))
            return false;
        has_written = true;
    }
    return has_written;
}

/* Follows the bytes through a command. Returns false where they may come to a result. */
static bool follow(const struct tsm_scratch_memory *s, const struct tsm_accessing *c,
                   struct pending *p)
{
    const struct tsm_access *ranges = &s->commands.ranges[c->first];

    if (c->is_unknown)
        return false;
    if (reads_some(ranges, c->count, p))
        return spread(s, c, ranges, p);
    for (size_t i = 0; i < c->count; i++)
        if (!ranges[i].is_object && ranges[i].writes && tsm_access_is_exact(ranges[i].kind) &&
            !take(p, ranges[i].start, end_of(&ranges[i])))
            return false;
    return true;
}

static bool follow_all(const struct tsm_scratch_memory *s, uint64_t seq, struct pending *p)
{
    const struct tsm_command_accesses *c = &s->commands;
    size_t at, freed;

    TSM_BISECT(at, c->count, c->list[at].seq > seq);
    TSM_BISECT(freed, c->freed_count, c->freed[freed].seq > seq);
    for (; at < c->count && p->count; at++) {
        for (; freed < c->freed_count && c->freed[freed].seq < c->list[at].seq; freed++)
            if (!take(p, c->freed[freed].start, c->freed[freed].end))
                return false;
        if (p->count && !follow(s, &c->list[at], p))
            return false;
    }
    return true;
}

bool tsm_scratch_memory_has(const struct tsm_scratch_memory *s, uint64_t seq,
                            const struct tsm_scratch_memory_range *ranges, size_t count)
{
    struct pending p = {0};
    bool is_scratch = s->has_results && s->commands.accesses.observed.count;

    for (size_t i = 0; i < count && is_scratch; i++)
        is_scratch = is_device(s, seq, ranges[i].start, ranges[i].end) &&
                     add(&p, ranges[i].start, ranges[i].end);
    is_scratch = is_scratch && follow_all(s, seq, &p);
    free(p.list);
    return is_scratch;
}
