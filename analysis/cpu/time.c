/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/cpu/time.h"

#include "base/array.h"
#include "tracesmith/error.h"

#include <stdlib.h>
#include <string.h>

/* ---- from events ---- */

/* Intervals that are open on one CPU. */
struct cpu {
    bool known; /* who runs */
    uint32_t tid;
    uint64_t since_ns, ready_ns;
    uint64_t last_ns; /* of any event */
    bool seen;
    bool in_irq;
    uint64_t irq_ns, irq_number;
};

struct building {
    struct tsm_cpu_time *time;
    const struct tsm_cpu_events *events;
    struct cpu cpus[TSM_CPU_MAX];
    struct tsm_map ready; /* tid -> since when it can run, 0: it cannot */
    struct tsm_map open;  /* {device, sector} -> place + 1 of an I/O without end */
    bool failed;
};

static void set(struct building *b, struct tsm_map *map, uint64_t key, uint64_t value)
{
    bool added;
    uint64_t *place = tsm_map_insert(map, key, &added);

    if (place)
        *place = value;
    b->failed |= !place;
}

static uint64_t get(const struct tsm_map *map, uint64_t key)
{
    return tsm_map_get(map, key, 0);
}

static void add_gap(struct building *b, uint64_t begin_ns, uint64_t end_ns)
{
    const struct tsm_cpu_gap gap = {.begin_ns = begin_ns, .end_ns = end_ns};

    tsm_buffer_add(&b->time->gaps, &gap, sizeof(gap));
}

static void end_slice(struct building *b, uint16_t cpu, uint64_t end_ns, bool waits)
{
    const struct cpu *c = &b->cpus[cpu];
    const struct tsm_cpu_slice slice = {.begin_ns = c->since_ns,
                                        .end_ns = end_ns,
                                        .ready_ns = c->ready_ns,
                                        .tid = c->tid,
                                        .cpu = cpu,
                                        .waits = waits};

    if (c->tid) /* 0 is nobody */
        tsm_buffer_add(&b->time->slices, &slice, sizeof(slice));
}

static void note_switch(struct building *b, const struct tsm_cpu_event *e)
{
    struct cpu *c = &b->cpus[e->cpu];
    bool waits = (e->state & 0xff) != 0;

    if (!c->known && !c->seen && !b->events->filtered) /* who goes was there from the beginning */
        *c = (struct cpu){.known = true, .tid = e->tid, .since_ns = b->time->first_ns};
    if (c->known && c->tid == e->tid)
        end_slice(b, e->cpu, e->ts_ns, waits);
    else if (!b->events->filtered)
        add_gap(b, c->last_ns, e->ts_ns);
    set(b, &b->ready, e->tid, waits ? 0 : e->ts_ns);
    c->known = c->seen = true;
    c->tid = e->other_tid;
    c->since_ns = e->ts_ns;
    c->ready_ns = get(&b->ready, e->other_tid);
    b->time->has_switches = true;
}

static void note_irq(struct building *b, const struct tsm_cpu_event *e)
{
    struct cpu *c = &b->cpus[e->cpu];
    const struct tsm_cpu_irq irq = {c->irq_ns, e->ts_ns, c->irq_number, e->cpu};

    if (e->type == GRTRACE_CPU_IRQ_EXIT) {
        if (c->in_irq && c->irq_number == e->number)
            tsm_buffer_add(&b->time->irqs, &irq, sizeof(irq));
        c->in_irq = false;
    } else {
        c->in_irq = true;
        c->irq_ns = e->ts_ns;
        c->irq_number = e->number;
    }
    b->time->has_irqs = true;
}

static void note_io(struct building *b, const struct tsm_cpu_event *e)
{
    uint64_t key = (e->number ^ (uint64_t)e->device << 40) * 0x9e3779b97f4a7c15ull;
    struct tsm_cpu_io io = {.begin_ns = e->ts_ns,
                            .end_ns = UINT64_MAX,
                            .sector = e->number,
                            .device = e->device,
                            .tid = e->tid,
                            .pid = e->pid};
    uint64_t place = get(&b->open, key);

    b->time->has_ios = true;
    if (e->type == GRTRACE_CPU_BLOCK_ISSUE) {
        tsm_buffer_add(&b->time->ios, &io, sizeof(io));
        set(b, &b->open, key, b->time->ios.size / sizeof(io));
    } else if (place && !b->time->ios.failed) {
        ((struct tsm_cpu_io *)(void *)b->time->ios.data)[place - 1].end_ns = e->ts_ns;
        set(b, &b->open, key, 0);
    }
}

static void note_task(struct building *b, uint32_t tid, uint32_t pid)
{
    if (tid && pid)
        set(b, &b->time->processes, tid, pid);
}

static void note_name(struct building *b, const struct tsm_cpu_event *e)
{
    if (e->other_tid && e->name[0])
        set(b, &b->time->names, e->other_tid, (uint64_t)(e - tsm_cpu_events_at(b->events, 0)) + 1);
}

static void note_lost(struct building *b, const struct tsm_cpu_event *e)
{
    struct cpu *c = &b->cpus[e->cpu];

    add_gap(b, c->last_ns ? c->last_ns : b->time->first_ns, e->ts_ns);
    c->known = c->in_irq = false;
    c->seen = true;
}

static void note(struct building *b, const struct tsm_cpu_event *e)
{
    note_task(b, e->tid, e->pid);
    if (e->cgroup && e->tid)
        set(b, &b->time->cgroups, e->tid, e->cgroup);
    switch (e->type) {
    case GRTRACE_CPU_SWITCH:
        note_switch(b, e);
        note_task(b, e->other_tid, e->other_pid);
        note_name(b, e);
        break;
    case GRTRACE_CPU_WAKEUP:
        set(b, &b->ready, e->other_tid, e->ts_ns);
        note_task(b, e->other_tid, e->other_pid);
        note_name(b, e);
        break;
    case GRTRACE_CPU_IRQ_ENTER:
    case GRTRACE_CPU_IRQ_EXIT:
        note_irq(b, e);
        break;
    case GRTRACE_CPU_BLOCK_ISSUE:
    case GRTRACE_CPU_BLOCK_COMPLETE:
        note_io(b, e);
        break;
    case TSM_CPU_LOST:
        note_lost(b, e);
        break;
    }
    b->cpus[e->cpu].last_ns = e->ts_ns;
}

static int by_thread(const void *a, const void *b)
{
    const struct tsm_cpu_slice *x = a, *y = b;

    if (x->tid != y->tid)
        return x->tid < y->tid ? -1 : 1;
    return x->begin_ns < y->begin_ns ? -1 : x->begin_ns > y->begin_ns;
}

static int by_cpu(const void *a, const void *b)
{
    const struct tsm_cpu_irq *x = a, *y = b;

    if (x->cpu != y->cpu)
        return x->cpu < y->cpu ? -1 : 1;
    return x->begin_ns < y->begin_ns ? -1 : x->begin_ns > y->begin_ns;
}

static int by_begin(const void *a, const void *b)
{
    const struct tsm_cpu_gap *x = a, *y = b;

    return x->begin_ns < y->begin_ns ? -1 : x->begin_ns > y->begin_ns;
}

static void sort(struct tsm_buffer *buffer, size_t size, int (*compare)(const void *, const void *))
{
    if (buffer->size)
        qsort(buffer->data, buffer->size / size, size, compare);
}

/* The latest end so far, for each: so a search finds the first that may reach into a time. */
static void set_latest(struct tsm_cpu_time *time)
{
    struct tsm_cpu_io *ios = (void *)time->ios.data;
    struct tsm_cpu_gap *gaps = (void *)time->gaps.data;
    uint64_t latest_ns = 0;

    for (size_t i = 0; i < time->ios.size / sizeof(*ios); i++) {
        latest_ns = ios[i].end_ns > latest_ns ? ios[i].end_ns : latest_ns;
        ios[i].latest_ns = latest_ns;
    }
    latest_ns = 0;
    for (size_t i = 0; i < time->gaps.size / sizeof(*gaps); i++) {
        latest_ns = gaps[i].end_ns > latest_ns ? gaps[i].end_ns : latest_ns;
        gaps[i].latest_ns = latest_ns;
    }
}

int tsm_cpu_time_build(struct tsm_cpu_time *time, const struct tsm_cpu_events *events)
{
    struct building *b = calloc(1, sizeof(*b));
    size_t count = tsm_cpu_events_count(events);
    bool failed;

    if (!b)
        return tsm_fail(TSM_E_MEMORY, "out of memory for CPU events");
    b->time = time;
    b->events = events;
    time->has_irqs = time->has_ios = events->all_kinds;
    if (count) {
        time->first_ns = tsm_cpu_events_at(events, 0)->ts_ns;
        time->last_ns = tsm_cpu_events_at(events, count - 1)->ts_ns;
    }
    for (size_t i = 0; i < count; i++)
        note(b, tsm_cpu_events_at(events, i));
    for (uint16_t cpu = 0; cpu < TSM_CPU_MAX; cpu++) {
        if (b->cpus[cpu].known)
            end_slice(b, cpu, time->last_ns, false);
    }
    sort(&time->slices, sizeof(struct tsm_cpu_slice), by_thread);
    sort(&time->irqs, sizeof(struct tsm_cpu_irq), by_cpu);
    sort(&time->gaps, sizeof(struct tsm_cpu_gap), by_begin);
    set_latest(time);
    failed = b->failed || time->slices.failed || time->irqs.failed || time->ios.failed ||
             time->gaps.failed;
    tsm_map_finish(&b->ready);
    tsm_map_finish(&b->open);
    free(b);
    return failed ? tsm_fail(TSM_E_MEMORY, "out of memory for CPU events") : 0;
}

void tsm_cpu_time_finish(struct tsm_cpu_time *time)
{
    tsm_buffer_finish(&time->slices);
    tsm_buffer_finish(&time->irqs);
    tsm_buffer_finish(&time->ios);
    tsm_buffer_finish(&time->gaps);
    tsm_map_finish(&time->processes);
    tsm_map_finish(&time->cgroups);
    tsm_map_finish(&time->names);
}

/* ---- questions ---- */

/* How much of [begin, end) lies in [from, to). */
static uint64_t overlap(uint64_t begin, uint64_t end, uint64_t from, uint64_t to)
{
    uint64_t low = begin > from ? begin : from, high = end < to ? end : to;

    return high > low ? high - low : 0;
}

/* The thread's first slice that ends after `from_ns`, or the place where it would be. */
static size_t first_slice(const struct tsm_cpu_time *time, uint32_t tid, uint64_t from_ns)
{
    const struct tsm_cpu_slice *slices = (const void *)time->slices.data;
    size_t at;

    TSM_BISECT(at, time->slices.size / sizeof(*slices),
               !(slices[at].tid < tid || (slices[at].tid == tid && slices[at].end_ns <= from_ns)));
    return at;
}

static uint64_t irq_within(const struct tsm_cpu_time *time, uint16_t cpu, uint64_t from_ns,
                           uint64_t to_ns)
{
    const struct tsm_cpu_irq *irqs = (const void *)time->irqs.data;
    size_t count = time->irqs.size / sizeof(*irqs), at;
    uint64_t sum = 0;

    TSM_BISECT(at, count,
               !(irqs[at].cpu < cpu || (irqs[at].cpu == cpu && irqs[at].end_ns <= from_ns)));
    for (; at < count && irqs[at].cpu == cpu && irqs[at].begin_ns < to_ns; at++)
        sum += overlap(irqs[at].begin_ns, irqs[at].end_ns, from_ns, to_ns);
    return sum;
}

/* Tests whether the thread ran during all of [from, to). Lost events do not matter to it then. */
static bool ran_through(const struct tsm_cpu_time *time, uint32_t tid, uint64_t from_ns,
                        uint64_t to_ns)
{
    const struct tsm_cpu_slice *slices = (const void *)time->slices.data;
    size_t at = first_slice(time, tid, from_ns);

    return at < time->slices.size / sizeof(*slices) && slices[at].tid == tid &&
           slices[at].begin_ns <= from_ns && slices[at].end_ns >= to_ns;
}

/* Tests whether events of the thread may be missing within [from, to). `tid` 0: of any thread. */
static bool has_gap(const struct tsm_cpu_time *time, uint32_t tid, uint64_t from_ns, uint64_t to_ns)
{
    const struct tsm_cpu_gap *gaps = (const void *)time->gaps.data;
    size_t count = time->gaps.size / sizeof(*gaps), at;

    TSM_BISECT(at, count, gaps[at].latest_ns > from_ns);
    for (; at < count && gaps[at].begin_ns < to_ns; at++) {
        uint64_t begin_ns = gaps[at].begin_ns > from_ns ? gaps[at].begin_ns : from_ns;
        uint64_t end_ns = gaps[at].end_ns < to_ns ? gaps[at].end_ns : to_ns;

        if (gaps[at].end_ns > from_ns && !(tid && ran_through(time, tid, begin_ns, end_ns)))
            return true;
    }
    return false;
}

/* The first I/O that may not have ended by then. */
static size_t first_io(const struct tsm_cpu_time *time, uint64_t from_ns)
{
    const struct tsm_cpu_io *ios = (const void *)time->ios.data;
    size_t at;

    TSM_BISECT(at, time->ios.size / sizeof(*ios), ios[at].latest_ns > from_ns);
    return at;
}

/* At least one I/O of the process was in flight. */
static uint64_t io_within(const struct tsm_cpu_time *time, uint32_t tid, uint32_t pid,
                          uint64_t from_ns, uint64_t to_ns)
{
    const struct tsm_cpu_io *ios = (const void *)time->ios.data;
    size_t count = time->ios.size / sizeof(*ios);
    uint64_t sum = 0, done_ns = from_ns;

    for (size_t i = first_io(time, from_ns); i < count && ios[i].begin_ns < to_ns; i++) {
        uint32_t owner = ios[i].pid ? ios[i].pid : tsm_cpu_time_process(time, ios[i].tid);

        if (ios[i].tid != tid && (!pid || (owner ? owner : ios[i].tid) != pid))
            continue;
        sum += overlap(ios[i].begin_ns, ios[i].end_ns, done_ns, to_ns);
        if (ios[i].end_ns > done_ns)
            done_ns = ios[i].end_ns;
    }
    return sum;
}

void tsm_cpu_time_sum(struct tsm_cpu_sum *out, const struct tsm_cpu_time *time, uint32_t tid,
                      uint32_t pid, uint64_t from_ns, uint64_t to_ns)
{
    const struct tsm_cpu_slice *slices = (const void *)time->slices.data;
    size_t count = time->slices.size / sizeof(*slices), at = first_slice(time, tid, from_ns);
    size_t any = first_slice(time, tid, 0);
    uint64_t on_ns = 0, ready_ns = 0, irq_ns = 0;

    *out = (struct tsm_cpu_sum){TSM_CPU_NA, TSM_CPU_NA, TSM_CPU_NA, TSM_CPU_NA};
    if (from_ns < time->first_ns || to_ns > time->last_ns || to_ns < from_ns)
        return;
    if (time->has_ios && !has_gap(time, 0, from_ns, to_ns))
        out->io_ns = io_within(time, tid, pid, from_ns, to_ns);
    if (!time->has_switches || any == count || slices[any].tid != tid ||
        has_gap(time, tid, from_ns, to_ns))
        return;
    for (; at < count && slices[at].tid == tid; at++) {
        const struct tsm_cpu_slice *s = &slices[at];
        uint64_t begin_ns = s->begin_ns > from_ns ? s->begin_ns : from_ns;
        uint64_t end_ns = s->end_ns < to_ns ? s->end_ns : to_ns;

        if (s->ready_ns)
            ready_ns += overlap(s->ready_ns, s->begin_ns, from_ns, to_ns);
        if (s->begin_ns >= to_ns)
            break;
        on_ns += overlap(s->begin_ns, s->end_ns, from_ns, to_ns);
        irq_ns += irq_within(time, s->cpu, begin_ns, end_ns);
    }
    out->off_ns = to_ns - from_ns - on_ns;
    out->ready_ns = ready_ns;
    if (time->has_irqs)
        out->irq_ns = irq_ns;
}

uint64_t tsm_cpu_time_runs(const struct tsm_cpu_time *time, uint32_t tid, uint64_t from_ns)
{
    const struct tsm_cpu_slice *slices = (const void *)time->slices.data;
    size_t count = time->slices.size / sizeof(*slices), at = first_slice(time, tid, from_ns);

    if (from_ns < time->first_ns || at == count || slices[at].tid != tid ||
        has_gap(time, 0, from_ns, slices[at].begin_ns))
        return TSM_CPU_NA;
    return slices[at].begin_ns > from_ns ? slices[at].begin_ns : from_ns;
}

uint32_t tsm_cpu_time_process(const struct tsm_cpu_time *time, uint32_t tid)
{
    return (uint32_t)get(&time->processes, tid);
}

const char *tsm_cpu_time_name(const struct tsm_cpu_time *time, const struct tsm_cpu_events *events,
                              uint32_t tid)
{
    uint64_t place = get(&time->names, tid);

    return place ? tsm_cpu_events_at(events, place - 1)->name : NULL;
}

uint64_t tsm_cpu_time_of_name(const struct tsm_cpu_time *time, const struct tsm_cpu_events *events,
                              const char *name)
{
    const struct tsm_cpu_slice *slices = (const void *)time->slices.data;
    uint64_t sum = 0;

    for (size_t i = 0; i < time->slices.size / sizeof(*slices); i++) {
        const char *own = tsm_cpu_time_name(time, events, slices[i].tid);
        if (own && strcmp(own, name) == 0)
            sum += slices[i].end_ns - slices[i].begin_ns;
    }
    return sum;
}
