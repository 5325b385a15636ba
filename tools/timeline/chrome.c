/* SPDX-License-Identifier: Apache-2.0
 *
 * A merged time line as Chrome's trace events. Processes of it: CPUS has a track for each CPU and
 * one for its interrupts; RINGS has tracks for each ring, since jobs may overlap (one waits in the
 * ring, or was put aside); threads of programs are tracks of theirs.
 */
#include "tools/timeline/report.h"

#include "base/text.h"
#include "tools/kernel/report.h"
#include "tools/timeline/chrome_out.h"
#include "tracesmith/error.h"

#include <stdlib.h>
#include <string.h>

/* Numbers that no process has (pid_max is below 2^22). */
#define CPUS  (1ull << 24)
#define RINGS (CPUS + 1)
#define DISKS (CPUS + 2)

#define IRQ_TRACKS  (1u << 16) /* added to a CPU's number */
#define RING_TRACKS 16u        /* of one ring; further jobs that overlap are left to the last */

static bool in_time(const struct tsm_timeline *m, uint64_t begin_ns, uint64_t end_ns)
{
    uint64_t start_ns = m->requests.start_ns;

    return (!m->filter.since_ns || end_ns >= start_ns + m->filter.since_ns) &&
           (!m->filter.until_ns || begin_ns < start_ns + m->filter.until_ns);
}

static void name_track(struct tsm_json *j, uint64_t process, uint64_t thread, const char *format,
                       unsigned number)
{
    char text[64];

    tsm_format(text, sizeof(text), format, number);
    tsm_chrome_name(j, "thread_name", process, thread, text);
}

/* ---- CPUs ---- */

static void put_slices(struct tsm_json *j, const struct tsm_timeline *m)
{
    const struct tsm_cpu_slice *slices = (const void *)m->time.slices.data;
    char text[64];

    for (size_t i = 0; i < m->time.slices.size / sizeof(*slices); i++) {
        const struct tsm_cpu_slice *s = &slices[i];
        const char *name = tsm_cpu_time_name(&m->time, &m->events, s->tid);

        if (!in_time(m, s->begin_ns, s->end_ns))
            continue;
        tsm_format(text, sizeof(text), "%s %u", name ? name : "?", s->tid);
        tsm_chrome_slice(j, text, CPUS, s->cpu, s->begin_ns, s->end_ns);
        tsm_json_close(j, '}');
    }
}

static void put_irqs(struct tsm_json *j, const struct tsm_timeline *m, bool *cpus)
{
    const struct tsm_cpu_irq *irqs = (const void *)m->time.irqs.data;

    for (size_t i = 0; i < m->time.irqs.size / sizeof(*irqs); i++) {
        char text[32];

        if (!in_time(m, irqs[i].begin_ns, irqs[i].end_ns))
            continue;
        tsm_format(text, sizeof(text), "irq %llu", (unsigned long long)irqs[i].number);
        tsm_chrome_slice(j, text, CPUS, IRQ_TRACKS + irqs[i].cpu, irqs[i].begin_ns, irqs[i].end_ns);
        tsm_json_close(j, '}');
        cpus[irqs[i].cpu] = true;
    }
}

static void put_cpus(struct tsm_json *j, const struct tsm_timeline *m)
{
    bool irqs[TSM_CPU_MAX] = {false}, any[TSM_CPU_MAX] = {false};

    for (size_t i = 0; i < tsm_cpu_events_count(&m->events); i++)
        any[tsm_cpu_events_at(&m->events, i)->cpu] = true;
    tsm_chrome_name(j, "process_name", CPUS, 0, "CPUs");
    put_slices(j, m);
    put_irqs(j, m, irqs);
    for (unsigned cpu = 0; cpu < TSM_CPU_MAX; cpu++) {
        if (any[cpu])
            name_track(j, CPUS, cpu, "CPU %u", cpu);
        if (irqs[cpu])
            name_track(j, CPUS, IRQ_TRACKS + cpu, "CPU %u: interrupts", cpu);
    }
}

/* Requests to block devices overlap: as pairs of begin and end, which may. */
static void put_ios(struct tsm_json *j, const struct tsm_timeline *m)
{
    const struct tsm_cpu_io *ios = (const void *)m->time.ios.data;
    size_t count = m->time.ios.size / sizeof(*ios);

    if (count)
        tsm_chrome_name(j, "process_name", DISKS, 0, "block devices");
    for (size_t i = 0; i < count; i++) {
        uint64_t end_ns = ios[i].end_ns == UINT64_MAX ? m->time.last_ns : ios[i].end_ns;
        char text[64];

        if (!in_time(m, ios[i].begin_ns, end_ns))
            continue;
        tsm_format(text, sizeof(text), "%u:%u sector %llu", ios[i].device >> 20,
                   ios[i].device & 0xfffff, (unsigned long long)ios[i].sector);
        for (int end = 0; end < 2; end++) {
            tsm_chrome_open(j, end ? "e" : "b", text, DISKS, ios[i].device);
            tsm_json_put_string(j, "cat", "block");
            tsm_json_put_u64(j, "id", i);
            tsm_chrome_time(j, "ts", end ? end_ns : ios[i].begin_ns);
            tsm_json_close(j, '}');
        }
    }
}

/* ---- requests ---- */

struct ring_track {
    uint32_t ring;
    uint64_t free_ns[RING_TRACKS]; /* until when each is taken; 0: it has no name yet */
};

struct tracks {
    struct tsm_buffer rings; /* struct ring_track */
};

static struct ring_track *find_ring(struct tracks *t, uint32_t ring)
{
    struct ring_track made = {.ring = ring};
    size_t count = t->rings.size / sizeof(made);
    struct ring_track *all = (void *)t->rings.data;

    for (size_t i = 0; i < count; i++) {
        if (all[i].ring == ring)
            return &all[i];
    }
    tsm_buffer_add(&t->rings, &made, sizeof(made));
    return t->rings.failed ? NULL : (struct ring_track *)(void *)t->rings.data + count;
}

/* A track of the ring that is free then, named when it is the first time. */
static uint64_t ring_track(struct tsm_json *j, struct tracks *t, const struct tsm_timeline *m,
                           const struct tsm_request *r)
{
    uint32_t number = r->job ? r->job->ring : 0;
    const struct tsm_ring *ring = r->job ? tsm_ring_find(&m->jobs, number) : NULL;
    struct ring_track *track = find_ring(t, number);
    unsigned i = 0;
    char text[96];

    if (!track)
        return 0;
    while (i < RING_TRACKS - 1 && track->free_ns[i] > r->exec_begin_ns)
        i++;
    if (!track->free_ns[i]) {
        tsm_format(text, sizeof(text), "%s%s",
                   !r->job ? "GPU's clock"
                   : ring  ? ring->name
                           : "ring",
                   i ? " (overlapping)" : "");
        tsm_chrome_name(j, "thread_name", RINGS, (uint64_t)number * RING_TRACKS + i, text);
    }
    track->free_ns[i] = r->exec_end_ns;
    return (uint64_t)number * RING_TRACKS + i;
}

static void put_flow(struct tsm_json *j, const char *phase, size_t id, uint64_t process,
                     uint64_t thread, uint64_t ns)
{
    tsm_chrome_open(j, phase, "request", process, thread);
    tsm_json_put_string(j, "cat", "request");
    tsm_json_put_u64(j, "id", id);
    if (*phase == 'f')
        tsm_json_put_string(j, "bp", "e");
    tsm_chrome_time(j, "ts", ns);
    tsm_json_close(j, '}');
}

static void put_args(struct tsm_json *j, const struct tsm_request *r)
{
    tsm_json_name(j, "args");
    tsm_json_open(j, '{');
    if (r->name)
        tsm_json_put_u64(j, "seq", r->seq);
    if (r->parent) {
        tsm_json_put_u64(j, "parent", r->parent_seq);
        tsm_json_put_string(j, "parent_call", r->parent);
    }
    for (int s = 0; s < TSM_STAGE_COUNT; s++) {
        char name[32];

        if (r->stages[s] == TSM_CPU_NA)
            continue;
        tsm_format(name, sizeof(name), "%s_ns", tsm_stage_name((enum tsm_stage)s));
        tsm_json_put_u64(j, name, r->stages[s]);
    }
    tsm_json_close(j, '}');
    tsm_json_close(j, '}');
}

static void put_request(struct tsm_json *j, struct tracks *t, const struct tsm_timeline *m,
                        const struct tsm_request *r, size_t id)
{
    bool ran = r->exec_begin_ns && r->exec_end_ns >= r->exec_begin_ns;
    char text[96];
    uint64_t track;

    if (r->call_begin_ns) {
        tsm_chrome_slice(j, r->name, r->pid, r->tid, r->call_begin_ns, r->call_end_ns);
        put_args(j, r);
    }
    if (!ran)
        return;
    track = ring_track(j, t, m, r);
    if (r->job)
        tsm_format(text, sizeof(text), "%s#%llu pid %u", r->name ? r->name : "",
                   (unsigned long long)r->job->seqno, r->pid);
    else
        tsm_format(text, sizeof(text), "%s", r->name);
    tsm_chrome_slice(j, text, RINGS, track, r->exec_begin_ns, r->exec_end_ns);
    put_args(j, r);
    if (r->call_begin_ns) {
        put_flow(j, "s", id, r->pid, r->tid, r->call_begin_ns);
        put_flow(j, "f", id, RINGS, track, r->exec_begin_ns);
    }
}

void tsm_timeline_chrome(const struct tsm_timeline *m, FILE *out)
{
    struct tsm_json j = {.out = out};
    struct tracks tracks = {0};

    tsm_chrome_begin(&j);
    put_cpus(&j, m);
    put_ios(&j, m);
    tsm_chrome_name(&j, "process_name", RINGS, 0, "GPU");
    for (size_t i = 0; i < tsm_requests_count(&m->requests); i++) {
        const struct tsm_request *r = tsm_requests_at(&m->requests, i);

        if (tsm_timeline_wants(m, r))
            put_request(&j, &tracks, m, r, i);
    }
    tsm_timeline_calls(m, &j);
    tsm_chrome_end(&j);
    tsm_buffer_finish(&tracks.rings);
}
