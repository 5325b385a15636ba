/* SPDX-License-Identifier: Apache-2.0
 *
 * CPU events as kernel records in a trace, and back.
 */
#include "analysis/cpu/events.h"

#include "analysis/ring/jobs.h"
#include "base/bytes.h"
#include "base/text.h"
#include "format/kernel_events.h"
#include "tracesmith/error.h"

#include <string.h>

/* ---- from records ---- */

static bool is_task(uint8_t type)
{
    return type == GRTRACE_CPU_SWITCH || type == GRTRACE_CPU_WAKEUP;
}

static struct tsm_cpu_event from_record(const struct tsm_ring_record *r)
{
    struct tsm_cpu_event e = {.ts_ns = r->ts_ns,
                              .type = r->type,
                              .cpu = r->cpu,
                              .tid = r->tid,
                              .pid = r->pid,
                              .cgroup = r->ctx};
    size_t size = r->body_size < GRTRACE_CPU_NAME_SIZE ? r->body_size : GRTRACE_CPU_NAME_SIZE;

    if (is_task(r->type)) {
        e.other_tid = (uint32_t)r->seqno;
        e.other_pid = (uint32_t)(r->seqno >> 32);
        e.state = (uint32_t)r->value;
    } else if (r->type == GRTRACE_CPU_IRQ_ENTER || r->type == GRTRACE_CPU_IRQ_EXIT) {
        e.number = r->value;
    } else {
        e.number = r->seqno;
        e.device = (uint32_t)r->value;
    }
    if (size)
        memcpy(e.name, r->body, size);
    return e;
}

static bool has_feature(const struct tsm_ring_record *r, uint64_t feature)
{
    return r->type == GRTRACE_STREAM_INFO && r->body_size >= 32 &&
           (tsm_get_u64(r->body + 24) & feature) != 0;
}

int tsm_cpu_events_take(struct tsm_cpu_events *events, const struct tsm_ring_jobs *jobs)
{
    const struct tsm_ring_record *records = (const void *)jobs->records.data;
    uint32_t next[TSM_CPU_MAX], session = UINT32_MAX; /* there is no such session */
    int error = 0;

    for (size_t i = 0; i < jobs->records.size / sizeof(*records) && !error; i++) {
        const struct tsm_ring_record *r = &records[i];
        struct tsm_cpu_event lost = {.ts_ns = r->ts_ns, .type = TSM_CPU_LOST, .cpu = r->cpu};
        struct tsm_cpu_event event = from_record(r);

        if (!r->of_cpus || r->cpu >= TSM_CPU_MAX)
            continue;
        if (r->session != session)
            memset(next, 0, sizeof(next));
        session = r->session;
        events->filtered |= has_feature(r, GRTRACE_FEATURE_FILTERED);
        events->all_kinds |= has_feature(r, GRTRACE_FEATURE_BPF);
        lost.number = (uint32_t)(r->cseq - next[r->cpu]);
        next[r->cpu] = r->cseq + 1;
        if (lost.number)
            error = tsm_cpu_events_add(events, &lost);
        if (!error && r->type >= GRTRACE_CPU_SWITCH && r->type < GRTRACE_CPU_TYPE_END)
            error = tsm_cpu_events_add(events, &event);
    }
    return error ? error : tsm_cpu_events_align(events, TSM_CLOCK_MONO, 0, 0);
}

/* ---- to records ---- */

static void put_record(struct tsm_cpu_encoder *c, uint8_t type, const struct tsm_cpu_event *e,
                       const uint64_t numbers[2], const void *body, size_t size)
{
    struct tsm_buffer *out = c->out;

    tsm_buffer_add_u16(out, (uint16_t)(SBT_KERNEL_RECORD_SIZE + size));
    tsm_buffer_add_u8(out, type);
    tsm_buffer_add_u8(out, 0);
    tsm_buffer_add_u16(out, e->cpu);
    tsm_buffer_add_u16(out, 0);
    tsm_buffer_add_u64(out, e->ts_ns);
    tsm_buffer_add_u64(out, c->gseq++);
    tsm_buffer_add_u32(out, 0);
    tsm_buffer_add_u32(out, e->pid);
    tsm_buffer_add_u32(out, c->cseq[e->cpu]++);
    tsm_buffer_add_u32(out, e->tid);
    tsm_buffer_add_u64(out, e->cgroup);
    tsm_buffer_add_u64(out, numbers[0]);
    tsm_buffer_add_u64(out, numbers[1]);
    tsm_buffer_add(out, body, size);
    c->lost[e->cpu] = false;
}

static void put_stream_info(struct tsm_cpu_encoder *c, uint64_t ts_ns, uint64_t features)
{
    const struct tsm_cpu_event head = {.ts_ns = ts_ns};
    uint8_t body[sizeof(struct grtrace_stream_info)] = {0};

    tsm_put_u32(body, GRTRACE_MAGIC);
    tsm_put_u16(body + 4, GRTRACE_VERSION_MAJOR);
    tsm_put_u16(body + 6, GRTRACE_VERSION_MINOR);
    tsm_put_u64(body + 24, GRTRACE_FEATURE_CPU | features);
    tsm_put_u64(body + 32, ts_ns);
    tsm_put_u32(body + 48, GRTRACE_CLOCK_MONOTONIC);
    put_record(c, GRTRACE_STREAM_INFO, &head, (const uint64_t[2]){0}, body, sizeof(body));
}

static void put_metadata(struct tsm_cpu_encoder *c, uint16_t cpu, uint64_t ts_ns, uint32_t kind,
                         const char *text)
{
    const struct tsm_cpu_event head = {.ts_ns = ts_ns, .cpu = cpu};
    uint8_t body[sizeof(struct grtrace_metadata)] = {0};

    tsm_put_u32(body, kind);
    tsm_format((char *)body + 8, GRTRACE_TEXT_SIZE, "%s", text);
    put_record(c, GRTRACE_METADATA, &head, (const uint64_t[2]){0}, body, sizeof(body));
}

static void put_event(struct tsm_cpu_encoder *c, const struct tsm_cpu_event *e)
{
    uint64_t numbers[2] = {e->number, e->device};
    bool has_name = is_task(e->type) || e->type == GRTRACE_CPU_IRQ_ENTER;

    if (is_task(e->type)) {
        numbers[0] = (uint64_t)e->other_pid << 32 | e->other_tid;
        numbers[1] = e->state;
    } else if (e->type == GRTRACE_CPU_IRQ_ENTER || e->type == GRTRACE_CPU_IRQ_EXIT) {
        numbers[0] = 0;
        numbers[1] = e->number;
    }
    put_record(c, e->type, e, numbers, e->name, has_name ? GRTRACE_CPU_NAME_SIZE : 0);
}

void tsm_cpu_encode_begin(struct tsm_cpu_encoder *c, uint64_t ts_ns, uint64_t features,
                          const char *source)
{
    put_stream_info(c, ts_ns, features);
    put_metadata(c, 0, ts_ns, GRTRACE_METADATA_CONFIG, source);
}

void tsm_cpu_encode_lost(struct tsm_cpu_encoder *c, uint16_t cpu, uint64_t count)
{
    if (cpu >= TSM_CPU_MAX || !count)
        return;
    c->cseq[cpu] += (uint32_t)count;
    c->lost[cpu] = true;
}

void tsm_cpu_encode_record(struct tsm_cpu_encoder *c, uint8_t *record, size_t size)
{
    uint16_t cpu = tsm_get_u16(record + 4);

    if (cpu >= TSM_CPU_MAX)
        return;
    tsm_put_u64(record + 16, c->gseq++);
    tsm_put_u32(record + 32, c->cseq[cpu]++);
    tsm_buffer_add(c->out, record, size);
    c->lost[cpu] = false;
}

void tsm_cpu_encode_end(struct tsm_cpu_encoder *c, uint64_t ts_ns)
{
    for (uint16_t cpu = 0; cpu < TSM_CPU_MAX; cpu++) {
        if (cpu == 0 || c->lost[cpu])
            put_metadata(c, cpu, ts_ns, GRTRACE_METADATA_STOP, "");
    }
}

int tsm_cpu_events_encode(struct tsm_buffer *out, const struct tsm_cpu_events *events,
                          const char *source)
{
    struct tsm_cpu_encoder c = {.out = out};
    size_t count = tsm_cpu_events_count(events);
    uint64_t first_ns = count ? tsm_cpu_events_at(events, 0)->ts_ns : 0;
    uint64_t last_ns = count ? tsm_cpu_events_at(events, count - 1)->ts_ns : 0;

    tsm_cpu_encode_begin(&c, first_ns, events->filtered ? GRTRACE_FEATURE_FILTERED : 0, source);
    for (size_t i = 0; i < count; i++) {
        const struct tsm_cpu_event *e = tsm_cpu_events_at(events, i);

        if (e->type == TSM_CPU_LOST)
            tsm_cpu_encode_lost(&c, e->cpu, e->number ? e->number : 1);
        else
            put_event(&c, e);
    }
    tsm_cpu_encode_end(&c, last_ns);
    return out->failed ? tsm_fail(TSM_E_MEMORY, "out of memory for CPU events") : 0;
}
