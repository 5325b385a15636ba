/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/schedule/spread.h"

#include "base/array.h"
#include "tracesmith/error.h"

#include <stdlib.h>

#define CLOCKS_MAX (1u << 25)          /* entries of all clocks */
#define STEPS_MAX  (UINT64_C(1) << 32) /* streams times commands: some seconds */
#define NEAR_MAX   2048u               /* commands of a stream that one is compared with */

/* A new stream. */
struct lane {
    uint32_t *list; /* commands, in their order */
    size_t count, capacity;
    uint64_t end_ns; /* of the last one */
};

/* Conflict with the last command of a lane that there is one with. */
struct last_conflict {
    uint32_t number; /* in the lane, from 1; 0: none */
    enum tsm_access_kind access;
};

/* A clock says how many commands of each lane are over: `count` numbers. Lanes of all contexts have
 * places; a clock is of those of one context. */
struct spreading {
    struct tsm_spread *out;
    struct tsm_workload *w;
    const struct tsm_command_accesses *accesses;
    const struct tsm_prediction *s;
    uint32_t count;    /* lanes of a context */
    uint32_t *owners;  /* of the old streams: number of the context */
    uint64_t *keys;    /* of contexts */
    uint32_t *devices; /* likewise */
    uint32_t owner_count;
    struct lane *lanes;      /* of the first context, the second... */
    uint32_t *clocks;        /* of commands: before it; of an event: what it stands for */
    uint32_t *old_clocks;    /* of old streams: all that was sent there, or that it waited for */
    uint32_t *thread_clocks; /* of threads, for each context */
    uint32_t *numbers;       /* of commands: in their lane, from 1 */
    uint64_t *ends_ns;       /* of commands, by the estimate */
    struct tsm_workload_event *events; /* the new list */
    size_t event_count, event_capacity;
    bool *is_recorded; /* of commands: an event is recorded behind it */
    uint64_t *gaps_ns; /* of steps, before events and waits for them were added */
};

static int no_memory(void)
{
    return tsm_fail(TSM_E_MEMORY, "no memory to spread commands over streams");
}

static void join(const struct spreading *p, uint32_t *to, const uint32_t *from)
{
    for (uint32_t k = 0; k < p->count; k++)
        if (to[k] < from[k])
            to[k] = from[k];
}

static struct tsm_workload_event end_of(const struct spreading *p, uint32_t command)
{
    return (struct tsm_workload_event){command, tsm_workload_last_part(p->w, command)};
}

static uint32_t *clock_of(const struct spreading *p, uint32_t *clocks, size_t place)
{
    return clocks + place * p->count;
}

static uint32_t *thread_clock(const struct spreading *p, uint32_t thread, uint32_t owner)
{
    return clock_of(p, p->thread_clocks, (size_t)thread * p->owner_count + owner);
}

/* ---- what the program ordered -----------------------------------------------------------------
 */

/* Tells an old stream what its command waits for: events, and a default stream. */
static void follow_old(const struct spreading *p, const struct tsm_workload_command *c)
{
    uint32_t *own = clock_of(p, p->old_clocks, c->stream);
    const struct tsm_workload_stream *stream = &p->w->streams[c->stream];

    for (uint32_t i = 0; i < c->event_count; i++) {
        const uint32_t event = p->w->events[c->first_event + i].command;

        if (c->event && p->owners[p->w->commands[event].stream] == p->owners[c->stream])
            join(p, own, clock_of(p, p->clocks, event));
    }
    for (size_t i = 0; i < p->w->stream_count; i++) {
        const struct tsm_workload_stream *other = &p->w->streams[i];

        if (other->owner == stream->owner && !other->is_apart && !stream->is_apart &&
            (other->is_default || stream->is_default))
            join(p, own, clock_of(p, p->old_clocks, i));
    }
}

/* ---- placing ----------------------------------------------------------------------------------
 */

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Finds the last command of a lane, behind the first `over` ones, that conflicts with a command.
 * More than a few thousand back are not compared: it has to wait for them. So it has to where
 * nothing is known that one of the two accesses. */
static struct last_conflict find_conflict(const struct spreading *p, const struct lane *lane,
                                          uint32_t over, const struct tsm_accessing *to)
{
    size_t left = NEAR_MAX;

    for (size_t i = lane->count; i > over; i--) {
        const struct tsm_accessing *from =
            tsm_command_accesses_find(p->accesses, p->w->commands[lane->list[i - 1]].seq);
        struct tsm_access_conflict conflict;

        if (!left-- || !from || !to)
            return (struct last_conflict){(uint32_t)i, TSM_ACCESS_UNKNOWN};
        if (tsm_command_accesses_conflict(&conflict, p->accesses, from, to))
            return (struct last_conflict){(uint32_t)i, conflict.access};
    }
    return (struct last_conflict){0, TSM_ACCESS_DECLARED};
}

static uint64_t duration_of(const struct spreading *p, const struct tsm_workload_command *c)
{
    uint64_t start_ns = UINT64_MAX, end_ns = 0;

    for (uint32_t i = c->first_part; i < c->first_part + c->part_count; i++) {
        start_ns = p->s->parts[i].start_ns < start_ns ? p->s->parts[i].start_ns : start_ns;
        end_ns = later(end_ns, p->s->parts[i].end_ns);
    }
    return end_ns > start_ns ? end_ns - start_ns : 0;
}

/* Returns what the command would know on the lane `k` without waits. */
static uint32_t known_on(const struct spreading *p, const struct lane *lanes,
                         const uint32_t *thread, uint32_t k, uint32_t other)
{
    const struct lane *lane = &lanes[k];
    uint32_t known = thread[other];

    if (k == other)
        return (uint32_t)lane->count;
    if (lane->count) {
        const uint32_t of = clock_of(p, p->clocks, lane->list[lane->count - 1])[other];

        known = of > known ? of : known;
    }
    return known;
}

/* Chooses the lane on which the command can begin first. */
static uint32_t choose(const struct spreading *p, uint32_t command, const struct lane *lanes,
                       const uint32_t *thread, const struct last_conflict *conflicts)
{
    const struct tsm_workload_command *c = &p->w->commands[command];
    uint64_t ready_ns = p->s->parts[c->first_part].sent_ns + p->w->machine.launch_latency_ns;
    uint64_t best_ns = UINT64_MAX;
    uint32_t best = 0, best_waits = UINT32_MAX;

    for (uint32_t k = 0; k < p->count; k++)
        if (conflicts[k].number)
            ready_ns = later(ready_ns, p->ends_ns[lanes[k].list[conflicts[k].number - 1]]);
    for (uint32_t k = 0; k < p->count; k++) {
        const uint64_t begin_ns = later(ready_ns, lanes[k].end_ns);
        uint32_t waits = 0;

        for (uint32_t other = 0; other < p->count; other++)
            waits += conflicts[other].number > known_on(p, lanes, thread, k, other);
        if (begin_ns > best_ns || (begin_ns == best_ns && waits >= best_waits))
            continue;
        best_ns = begin_ns;
        best = k;
        best_waits = waits;
    }
    return best;
}

static uint64_t event_ns(const struct spreading *p)
{
    return p->w->is_virtual ? p->w->machine.call_ns : 0;
}

/* Makes the command wait for one of another lane. */
static bool add_wait(struct spreading *p, struct tsm_workload_command *c, uint32_t *clock,
                     const struct lane *lanes, uint32_t lane, const struct last_conflict *conflict)
{
    const uint32_t from = lanes[lane].list[conflict->number - 1];
    const uint32_t next = p->w->steps[p->w->commands[from].step].next;

    join(p, clock, clock_of(p, p->clocks, from));
    if (clock[lane] < conflict->number)
        clock[lane] = conflict->number;
    p->w->steps[c->step].gap_ns += event_ns(p);
    if (!p->is_recorded[from] && next != TSM_WORKLOAD_NONE)
        p->w->steps[next].gap_ns += event_ns(p);
    p->out->event_count += !p->is_recorded[from];
    p->is_recorded[from] = true;
    p->out->kinds[conflict->access]++;
    c->event_count++;
    return TSM_ARRAY_PUSH(
               p->out->waits, p->out->wait_count, p->out->wait_capacity,
               (struct tsm_spread_wait){from, (uint32_t)(c - p->w->commands), conflict->access}) &&
           TSM_ARRAY_PUSH(p->events, p->event_count, p->event_capacity, end_of(p, from));
}

/* Adds the waits of a command, those for what ends last first: they may say as much as others. */
static bool add_waits(struct spreading *p, uint32_t command, uint32_t *clock,
                      const struct lane *lanes, const struct last_conflict *conflicts)
{
    for (;;) {
        uint32_t chosen = TSM_WORKLOAD_NONE;
        uint64_t latest_ns = 0;

        for (uint32_t k = 0; k < p->count; k++) {
            if (conflicts[k].number <= clock[k])
                continue;
            if (chosen == TSM_WORKLOAD_NONE ||
                p->ends_ns[lanes[k].list[conflicts[k].number - 1]] > latest_ns) {
                chosen = k;
                latest_ns = p->ends_ns[lanes[k].list[conflicts[k].number - 1]];
            }
        }
        if (chosen == TSM_WORKLOAD_NONE)
            return true;
        if (!add_wait(p, &p->w->commands[command], clock, lanes, chosen, &conflicts[chosen]))
            return false;
    }
}

/* Notes the events that the command waited for by itself: launches of one graph. */
static bool keep_events(struct spreading *p, struct tsm_workload_command *c)
{
    const uint32_t first = c->first_event, count = c->event_count;

    c->first_event = (uint32_t)p->event_count;
    for (uint32_t i = 0; i < count; i++)
        if (!TSM_ARRAY_PUSH(p->events, p->event_count, p->event_capacity, p->w->events[first + i]))
            return false;
    return true;
}

static bool place(struct spreading *p, uint32_t command)
{
    struct tsm_workload_command *c = &p->w->commands[command];
    const uint32_t owner = p->owners[c->stream];
    const struct tsm_accessing *to = tsm_command_accesses_find(p->accesses, c->seq);
    struct lane *lanes = &p->lanes[(size_t)owner * p->count];
    uint32_t *thread = thread_clock(p, p->w->steps[c->step].thread, owner),
             *clock = clock_of(p, p->clocks, command), chosen;
    uint64_t begin_ns = p->s->parts[c->first_part].sent_ns + p->w->machine.launch_latency_ns;
    struct last_conflict conflicts[TSM_SPREAD_STREAMS_MAX];

    for (uint32_t k = 0; k < p->count; k++)
        conflicts[k] = find_conflict(p, &lanes[k], thread[k], to);
    chosen = choose(p, command, lanes, thread, conflicts);
    for (uint32_t k = 0; k < p->count; k++) {
        clock[k] = known_on(p, lanes, thread, chosen, k);
        if (conflicts[k].number)
            begin_ns = later(begin_ns, p->ends_ns[lanes[k].list[conflicts[k].number - 1]]);
    }
    begin_ns = later(begin_ns, lanes[chosen].end_ns);
    if (!keep_events(p, c) || !add_waits(p, command, clock, lanes, conflicts) ||
        !TSM_ARRAY_PUSH(lanes[chosen].list, lanes[chosen].count, lanes[chosen].capacity, command))
        return false;
    p->ends_ns[command] = lanes[chosen].end_ns = begin_ns + duration_of(p, c);
    p->numbers[command] = (uint32_t)lanes[chosen].count;
    c->previous =
        lanes[chosen].count > 1 ? lanes[chosen].list[lanes[chosen].count - 2] : TSM_WORKLOAD_NONE;
    clock_of(p, p->old_clocks, c->stream)[chosen] = p->numbers[command];
    if (p->w->steps[c->step].waits) {
        join(p, thread, clock);
        thread[chosen] = p->numbers[command];
    }
    c->stream = owner * p->count + chosen; /* of the new ones */
    return true;
}

/* ---- calls ------------------------------------------------------------------------------------
 */

/* An event and a wait for one are no calls any more; the event stands for what was before it. */
static void drop_mark(struct spreading *p, uint32_t command)
{
    struct tsm_workload_command *c = &p->w->commands[command];

    memcpy(clock_of(p, p->clocks, command), clock_of(p, p->old_clocks, c->stream),
           p->count * sizeof(*p->clocks));
    c->is_dropped = true;
    c->event_count = 0;
    p->w->steps[c->step].is_dropped = true;
}

/* Lets the host wait for the last commands that a clock has. */
static bool aim(struct spreading *p, struct tsm_workload_step *step, const uint32_t *clock,
                uint32_t owner)
{
    const struct lane *lanes = &p->lanes[(size_t)owner * p->count];

    join(p, thread_clock(p, step->thread, owner), clock);
    step->target = TSM_TARGET_LIST;
    step->of = p->event_count;
    step->of_count = 0;
    for (uint32_t k = 0; k < p->count; k++) {
        if (!clock[k])
            continue;
        if (!TSM_ARRAY_PUSH(p->events, p->event_count, p->event_capacity,
                            end_of(p, lanes[k].list[clock[k] - 1])))
            return false;
        step->of_count++;
    }
    return true;
}

/* Notes that the host has waited for all of a context. */
static void know_all(struct spreading *p, uint32_t thread, uint32_t owner)
{
    for (uint32_t k = 0; k < p->count; k++)
        thread_clock(p, thread, owner)[k] = (uint32_t)p->lanes[(size_t)owner * p->count + k].count;
}

/* `old`: of commands, the streams that they were on. */
static bool wait(struct spreading *p, struct tsm_workload_step *step, const uint32_t *old)
{
    uint32_t stream = 0;

    switch (step->target) {
    case TSM_TARGET_COMMAND:
        stream = old[step->of];
        return aim(p, step, clock_of(p, p->clocks, (size_t)step->of), p->owners[stream]);
    case TSM_TARGET_STREAM:
        stream = (uint32_t)step->of;
        return aim(p, step, clock_of(p, p->old_clocks, stream), p->owners[stream]);
    case TSM_TARGET_OWNER:
    case TSM_TARGET_ALL:
        for (uint32_t i = 0; i < p->owner_count; i++)
            if (step->target == TSM_TARGET_ALL || p->keys[i] == step->of)
                know_all(p, step->thread, i);
        return true;
    default:
        return true;
    }
}

static bool take_steps(struct spreading *p, const uint32_t *old)
{
    struct tsm_workload *w = p->w;
    bool ok = true;

    for (size_t i = 0; i < w->step_count && ok; i++) {
        struct tsm_workload_step *step = &w->steps[i];
        struct tsm_workload_command *c =
            step->kind == TSM_STEP_SEND ? &w->commands[step->command] : NULL;

        if (step->is_dropped && !c)
            continue;
        if (!c) {
            ok = wait(p, step, old);
            continue;
        }
        if (!step->is_dropped)
            follow_old(p, c);
        if (c->event || step->is_dropped)
            drop_mark(p, step->command);
        else
            ok = place(p, step->command);
    }
    return ok;
}

/* Has values of the program be seen by the first call behind them, which may be one for an event
 * now. */
static void move_values(const struct spreading *p)
{
    const struct tsm_workload *w = p->w;

    for (size_t i = 0; i < w->value_count; i++) {
        struct tsm_workload_value *v = &w->values[i];
        uint32_t step = v->host_step;

        while (step != TSM_WORKLOAD_NONE && w->steps[step].is_dropped)
            step = w->steps[step].next;
        if (step != TSM_WORKLOAD_NONE)
            v->host_ago_ns += w->steps[step].gap_ns - p->gaps_ns[step];
    }
}

/* ---- streams ----------------------------------------------------------------------------------
 */

static bool find_owners(struct spreading *p)
{
    const struct tsm_workload *w = p->w;

    p->owners = calloc(w->stream_count + 1, sizeof(*p->owners));
    p->keys = calloc(w->stream_count + 1, sizeof(*p->keys));
    p->devices = calloc(w->stream_count + 1, sizeof(*p->devices));
    if (!p->owners || !p->keys || !p->devices)
        return false;
    for (size_t i = 0; i < w->stream_count; i++) {
        uint32_t owner = 0;

        while (owner < p->owner_count && p->keys[owner] != w->streams[i].owner)
            owner++;
        p->owners[i] = owner;
        if (owner < p->owner_count)
            continue;
        p->devices[owner] = w->streams[i].device;
        p->keys[p->owner_count++] = w->streams[i].owner;
    }
    return true;
}

/* Puts the new streams into the place of the old ones. */
static bool replace_streams(struct spreading *p)
{
    const size_t count = (size_t)p->owner_count * p->count;
    struct tsm_workload_stream *streams = calloc(count + 1, sizeof(*streams));

    for (size_t i = 0; i < count && streams; i++)
        streams[i] = (struct tsm_workload_stream){.number = (uint32_t)i,
                                                  .owner = p->keys[i / p->count],
                                                  .is_apart = true,
                                                  .device = p->devices[i / p->count],
                                                  .queue = i};
    if (!streams)
        return false;
    for (size_t i = 0; i < p->w->command_count; i++) /* nobody sends these */
        if (p->w->commands[i].is_dropped)
            p->w->commands[i].stream = 0;
    free(p->w->streams);
    free(p->w->events);
    p->w->streams = streams;
    p->w->stream_count = count;
    p->w->events = p->events;
    p->w->event_count = p->event_count;
    p->events = NULL;
    return true;
}

static bool begin(struct spreading *p, uint32_t **old)
{
    const struct tsm_workload *w = p->w;

    if (!find_owners(p))
        return false;
    p->lanes = calloc((size_t)p->owner_count * p->count + 1, sizeof(*p->lanes));
    p->clocks = calloc(w->command_count * p->count + 1, sizeof(*p->clocks));
    p->old_clocks = calloc(w->stream_count * p->count + 1, sizeof(*p->old_clocks));
    p->thread_clocks =
        calloc((size_t)w->thread_count * p->owner_count * p->count + 1, sizeof(*p->thread_clocks));
    p->numbers = calloc(w->command_count + 1, sizeof(*p->numbers));
    p->ends_ns = calloc(w->command_count + 1, sizeof(*p->ends_ns));
    p->is_recorded = calloc(w->command_count + 1, sizeof(*p->is_recorded));
    p->gaps_ns = calloc(w->step_count + 1, sizeof(*p->gaps_ns));
    *old = calloc(w->command_count + 1, sizeof(**old));
    if (!p->lanes || !p->clocks || !p->old_clocks || !p->thread_clocks || !p->numbers ||
        !p->ends_ns || !p->is_recorded || !p->gaps_ns || !*old)
        return false;
    for (size_t i = 0; i < w->step_count; i++)
        p->gaps_ns[i] = w->steps[i].gap_ns;
    for (size_t i = 0; i < w->command_count; i++)
        (*old)[i] = w->commands[i].stream;
    return true;
}

static void finish(struct spreading *p)
{
    for (size_t i = 0; p->lanes && i < (size_t)p->owner_count * p->count; i++)
        free(p->lanes[i].list);
    free(p->lanes);
    free(p->owners);
    free(p->keys);
    free(p->devices);
    free(p->clocks);
    free(p->old_clocks);
    free(p->thread_clocks);
    free(p->numbers);
    free(p->ends_ns);
    free(p->is_recorded);
    free(p->gaps_ns);
    free(p->events);
}

int tsm_spread(struct tsm_spread *out, struct tsm_workload *w,
               const struct tsm_command_accesses *accesses, const struct tsm_prediction *s,
               uint32_t count)
{
    struct spreading p = {.out = out, .w = w, .accesses = accesses, .s = s, .count = count};
    uint32_t *old = NULL;
    bool ok;

    *out = (struct tsm_spread){0};
    if ((w->command_count + w->stream_count) * count > CLOCKS_MAX ||
        (uint64_t)w->thread_count * w->stream_count * count > CLOCKS_MAX ||
        (uint64_t)w->command_count * w->stream_count > STEPS_MAX)
        return tsm_fail(TSM_E_LIMIT, "%zu commands are too many to spread them over %u streams",
                        w->command_count, count);
    ok = begin(&p, &old) && take_steps(&p, old) && replace_streams(&p);
    if (ok)
        move_values(&p);
    free(old);
    finish(&p);
    return ok ? 0 : no_memory();
}

void tsm_spread_finish(struct tsm_spread *spread)
{
    free(spread->waits);
    *spread = (struct tsm_spread){0};
}
