/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/cpu/events.h"

#include "base/array.h"
#include "tracesmith/error.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EVENT_MAX UINT32_MAX /* places are numbers of 32 bits */
#define MARK_MAX  65536u

static struct tsm_cpu_event *event_at(const struct tsm_cpu_events *e, size_t index)
{
    return (struct tsm_cpu_event *)(void *)e->events.data + index;
}

size_t tsm_cpu_events_count(const struct tsm_cpu_events *e)
{
    return e->events.size / sizeof(struct tsm_cpu_event);
}

const struct tsm_cpu_event *tsm_cpu_events_at(const struct tsm_cpu_events *e, size_t index)
{
    return event_at(e, index);
}

int tsm_cpu_events_add(struct tsm_cpu_events *e, const struct tsm_cpu_event *event)
{
    struct tsm_cpu_event copy = *event;

    if (copy.cpu >= TSM_CPU_MAX || tsm_cpu_events_count(e) == EVENT_MAX) {
        e->unread_count++;
        return 0;
    }
    copy.place = (uint32_t)tsm_cpu_events_count(e);
    if (copy.type == TSM_CPU_LOST)
        e->lost_count += copy.number;
    tsm_buffer_add(&e->events, &copy, sizeof(copy));
    return e->events.failed ? tsm_fail(TSM_E_MEMORY, "out of memory for CPU events") : 0;
}

void tsm_cpu_events_finish(struct tsm_cpu_events *e)
{
    tsm_buffer_finish(&e->events);
    tsm_buffer_finish(&e->marks);
}

/* ---- clocks ---- */

/* "12.345678" as nanoseconds; 0 when it is no such number. */
static uint64_t seconds_ns(const char *text)
{
    uint64_t whole = 0, part = 0, scale = 1000000000;
    const char *at = text;

    for (; *at >= '0' && *at <= '9' && whole < 1000000000; at++)
        whole = whole * 10 + (uint64_t)(*at - '0');
    if (at == text)
        return 0;
    if (*at == '.')
        for (at++; *at >= '0' && *at <= '9' && scale > 1; at++) {
            scale /= 10;
            part += (uint64_t)(*at - '0') * scale;
        }
    return whole * 1000000000 + part;
}

void tsm_cpu_events_mark(struct tsm_cpu_events *e, uint64_t clock_ns, const char *text, size_t size)
{
    static const char seconds[] = "trace_event_clock_sync: parent_ts=";
    static const char exact[] = "tracesmith_monotonic_ns=";
    struct tsm_clock_mark mark = {.clock_ns = clock_ns};
    char copy[96];
    const char *found;

    size = size < sizeof(copy) ? size : sizeof(copy) - 1;
    memcpy(copy, text, size);
    copy[size] = 0;
    if ((found = strstr(copy, exact)) != NULL)
        mark.monotonic_ns = strtoull(found + sizeof(exact) - 1, NULL, 10);
    else if ((found = strstr(copy, seconds)) != NULL)
        mark.monotonic_ns = seconds_ns(found + sizeof(seconds) - 1);
    if (mark.monotonic_ns && e->marks.size / sizeof(mark) < MARK_MAX)
        tsm_buffer_add(&e->marks, &mark, sizeof(mark));
}

static int by_clock(const void *a, const void *b)
{
    const struct tsm_clock_mark *x = a, *y = b;

    return x->clock_ns < y->clock_ns ? -1 : x->clock_ns > y->clock_ns;
}

/* A mark's time was read before the tracer wrote it down: of marks in a row the one that took least
 * says most. Keeps that one of each row; how many. */
#define ROW_NS 100000000u

static size_t best_marks(struct tsm_clock_mark *marks, size_t count)
{
    size_t kept = 0;
    uint64_t row_ns = 0;

    for (size_t i = 0; i < count; i++) {
        int64_t offset = (int64_t)(marks[i].monotonic_ns - marks[i].clock_ns);

        if (!kept || marks[i].clock_ns - row_ns > ROW_NS) {
            row_ns = marks[i].clock_ns;
            marks[kept++] = marks[i];
        } else if (offset > (int64_t)(marks[kept - 1].monotonic_ns - marks[kept - 1].clock_ns)) {
            marks[kept - 1] = marks[i];
        }
    }
    return kept;
}

/* A clock that runs by itself drifts: between two marks the offset goes from one's to the other's.
 */
static int64_t offset_at(const struct tsm_clock_mark *marks, size_t count, uint64_t ns)
{
    size_t at;
    int64_t before, after;

    TSM_BISECT(at, count, marks[at].clock_ns > ns);
    before = (int64_t)(marks[at ? at - 1 : 0].monotonic_ns - marks[at ? at - 1 : 0].clock_ns);
    if (at == 0 || at == count)
        return before;
    after = (int64_t)(marks[at].monotonic_ns - marks[at].clock_ns);
    return before + (int64_t)((double)(after - before) *
                              ((double)(ns - marks[at - 1].clock_ns) /
                               (double)(marks[at].clock_ns - marks[at - 1].clock_ns)));
}

static int named_offset(int64_t *out, const char *clock, int64_t boot_offset_ns)
{
    if (strcmp(clock, "boot") == 0 || strcmp(clock, "boottime") == 0)
        *out = -boot_offset_ns;
    else if (!*clock || strcmp(clock, "mono") == 0)
        *out = 0;
    else
        return tsm_fail(TSM_E_UNSUPPORTED,
                        "its clock '%.32s' says nothing of CLOCK_MONOTONIC: record with the clock "
                        "mono (trace-cmd record -C mono, perf record -k mono), or with marks, or "
                        "give --offset",
                        clock);
    return 0;
}

static int by_time(const void *a, const void *b)
{
    const struct tsm_cpu_event *x = a, *y = b;

    if (x->ts_ns != y->ts_ns)
        return x->ts_ns < y->ts_ns ? -1 : 1;
    return x->place < y->place ? -1 : x->place > y->place;
}

static void count_disorder(struct tsm_cpu_events *e)
{
    uint64_t last[TSM_CPU_MAX] = {0};

    for (size_t i = 0; i < tsm_cpu_events_count(e); i++) {
        const struct tsm_cpu_event *event = event_at(e, i);

        if (event->ts_ns < last[event->cpu])
            e->disorder_count++;
        else
            last[event->cpu] = event->ts_ns;
    }
}

int tsm_cpu_events_align(struct tsm_cpu_events *e, enum tsm_clock_way way, int64_t offset_ns,
                         int64_t boot_offset_ns)
{
    struct tsm_clock_mark *marks = (void *)e->marks.data;
    size_t mark_count = way == TSM_CLOCK_AUTO ? e->marks.size / sizeof(*marks) : 0;
    int64_t fixed = way == TSM_CLOCK_OFFSET ? offset_ns : 0;
    int error =
        way == TSM_CLOCK_AUTO && !mark_count ? named_offset(&fixed, e->clock, boot_offset_ns) : 0;

    if (error)
        return error;
    if (mark_count) {
        qsort(marks, mark_count, sizeof(*marks), by_clock);
        mark_count = best_marks(marks, mark_count);
    }
    for (size_t i = 0; i < tsm_cpu_events_count(e); i++) {
        struct tsm_cpu_event *event = event_at(e, i);
        int64_t offset = mark_count ? offset_at(marks, mark_count, event->ts_ns) : fixed;

        if (i == 0)
            e->offset_ns = offset;
        event->ts_ns += (uint64_t)offset;
    }
    count_disorder(e);
    if (tsm_cpu_events_count(e))
        qsort(e->events.data, tsm_cpu_events_count(e), sizeof(struct tsm_cpu_event), by_time);
    return 0;
}
