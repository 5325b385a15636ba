/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/kernel/nvidia.h"

#include "base/text.h"
#include "kernel/include/grtrace.h"
#include "tools/kernel/report.h"
#include "tools/text/json_out.h"
#include "tracesmith/error.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Ours, and the words by which others know these events. */
static const struct {
    const char *name, *known_as, *what;
} kinds[GRTRACE_GROUP_END] = {
    [GRTRACE_GROUP_CREATE] = {"create", "TASK_INIT", "groups made"},
    [GRTRACE_GROUP_BIND] = {"bind", "SCHEDULE", "groups allowed on a runlist, or taken off it"},
    [GRTRACE_GROUP_TOKEN] = {"token", "WORK_SUBMIT", "requests for a token; not launches"},
    [GRTRACE_GROUP_DESTROY] = {"destroy", "TASK_DESTROY", "groups ended"},
    [GRTRACE_GROUP_CHANGE] = {"change", "-", "timeslices and interleave levels set"},
};

/* Columns after those that each event has. */
static const struct column {
    const char *name;
    size_t offset;
    uint32_t bit; /* of `known` */
} columns[] = {
#define COLUMN(field, bit_)                                                                        \
    {                                                                                              \
#field, offsetof(struct grtrace_channel_group, field), bit_                                \
    }
    COLUMN(tsg, GRTRACE_GROUP_HAS_TSG),           COLUMN(runlist, GRTRACE_GROUP_HAS_RUNLIST),
    COLUMN(engine, GRTRACE_GROUP_HAS_ENGINE),     COLUMN(interleave, GRTRACE_GROUP_HAS_INTERLEAVE),
    COLUMN(channels, GRTRACE_GROUP_HAS_CHANNELS), COLUMN(channel, GRTRACE_GROUP_HAS_CHANNEL),
    COLUMN(token, GRTRACE_GROUP_HAS_TOKEN),       COLUMN(allow, GRTRACE_GROUP_HAS_ALLOW),
};
#define COLUMN_COUNT (sizeof(columns) / sizeof(columns[0]))

struct group_event {
    const struct tsm_ring_record *record;
    struct grtrace_channel_group group;
    unsigned kind;
    double time_s;
};

static bool decode(struct group_event *out, const struct tsm_ring_record *record, uint64_t start_ns)
{
    if (record->type != GRTRACE_CHANNEL_GROUP || record->body_size < sizeof(out->group))
        return false;
    out->record = record;
    out->kind = record->value < GRTRACE_GROUP_END ? (unsigned)record->value : 0;
    memcpy(&out->group, record->body, sizeof(out->group));
    out->group.comm[sizeof(out->group.comm) - 1] = 0;
    out->time_s = ((double)record->ts_ns - (double)start_ns) / 1e9;
    return kinds[out->kind].name;
}

static void number(char out[16], const struct group_event *e, const struct column *column)
{
    uint32_t value;

    memcpy(&value, (const char *)&e->group + column->offset, sizeof(value));
    if (e->group.known & column->bit)
        tsm_format(out, 16, "%u", value);
    else
        tsm_format(out, 16, "NA");
}

static void timeslice(char out[24], const struct group_event *e)
{
    if (e->group.known & GRTRACE_GROUP_HAS_TIMESLICE)
        tsm_format(out, 24, "%" PRIu64, (uint64_t)e->group.timeslice_us);
    else
        tsm_format(out, 24, "NA");
}

/* ---- an event ---- */

static void show_line(const struct group_event *e, bool csv)
{
    char text[24];

    printf(csv ? "%.6f,%s,%s,%u,%u," : "%12.6f %-7s %-12s %7u %7u ", e->time_s, kinds[e->kind].name,
           kinds[e->kind].known_as, e->record->pid, e->record->tid);
    for (const char *c = e->group.comm; *c; c++)
        putchar((unsigned char)*c < ' ' || *c == 127 || (csv && *c == ',') ? '?' : *c);
    if (!csv)
        printf("%*s", (int)(sizeof(e->group.comm) - strlen(e->group.comm)), "");
    for (size_t i = 0; i < COLUMN_COUNT; i++) {
        number(text, e, &columns[i]);
        printf(csv ? ",%s" : " %10s", text);
    }
    timeslice(text, e);
    printf(csv ? ",%u,%s\n" : " %10u %12s\n", e->group.generation, text);
}

static void show_head(bool csv)
{
    printf(csv ? "time_s,event,known_as,pid,tid,comm" : "%12s %-7s %-12s %7s %7s %-16s", "time_s",
           "event", "known as", "pid", "tid", "comm");
    for (size_t i = 0; i < COLUMN_COUNT; i++)
        printf(csv ? ",%s" : " %10s", columns[i].name);
    printf(csv ? ",%s,%s\n" : " %10s %12s\n", "generation", "timeslice_us");
}

static void show_json(struct tsm_json *j, const struct group_event *e)
{
    tsm_json_open(j, '{');
    tsm_json_put_u64(j, "monotonic_ns", e->record->ts_ns);
    tsm_json_put_string(j, "event", kinds[e->kind].name);
    tsm_json_put_string(j, "known_as", kinds[e->kind].known_as);
    tsm_json_put_u64(j, "pid", e->record->pid);
    tsm_json_put_u64(j, "tid", e->record->tid);
    tsm_json_put_string(j, "comm", e->group.comm);
    for (size_t i = 0; i < COLUMN_COUNT; i++) {
        uint32_t value;

        memcpy(&value, (const char *)&e->group + columns[i].offset, sizeof(value));
        if (e->group.known & columns[i].bit)
            tsm_json_put_u64(j, columns[i].name, value);
    }
    tsm_json_put_u64(j, "generation", e->group.generation);
    if (e->group.known & GRTRACE_GROUP_HAS_TIMESLICE)
        tsm_json_put_u64(j, "timeslice_us", e->group.timeslice_us);
    tsm_json_close(j, '}');
}

/* ---- the sums ---- */

static void show_sums(const uint64_t counts[GRTRACE_GROUP_END], uint64_t lost)
{
    printf("\nstatistics\n");
    for (unsigned kind = 1; kind < GRTRACE_GROUP_END; kind++)
        printf("%-8s %-12s %8" PRIu64 "  %s\n", kinds[kind].name, kinds[kind].known_as,
               counts[kind], kinds[kind].what);
    printf("%-8s %-12s %8" PRIu64 "  kernel records that were lost\n", "lost", "-", lost);
}

static void json_sums(struct tsm_json *j, const uint64_t counts[GRTRACE_GROUP_END], uint64_t lost)
{
    tsm_json_close(j, ']');
    tsm_json_name(j, "statistics");
    tsm_json_open(j, '{');
    for (unsigned kind = 1; kind < GRTRACE_GROUP_END; kind++)
        tsm_json_put_u64(j, kinds[kind].name, counts[kind]);
    tsm_json_put_u64(j, "lost", lost);
    tsm_json_close(j, '}');
    tsm_json_end(j);
}

int tsm_nvidia_report(const struct tsm_ring_jobs *jobs, uint64_t start_ns, int format)
{
    const struct tsm_ring_record *records = (const void *)jobs->records.data;
    uint64_t counts[GRTRACE_GROUP_END] = {0};
    struct tsm_json j = {.out = stdout};
    struct group_event event;

    if (format == TSM_REPORT_JSON) {
        tsm_json_begin(&j, "grtrace-nvidia/1");
        tsm_json_name(&j, "events");
        tsm_json_open(&j, '[');
    } else {
        show_head(format == TSM_REPORT_CSV);
    }
    for (size_t i = 0; i < jobs->records.size / sizeof(*records); i++) {
        if (!decode(&event, &records[i], start_ns))
            continue;
        counts[event.kind]++;
        if (format == TSM_REPORT_JSON)
            show_json(&j, &event);
        else
            show_line(&event, format == TSM_REPORT_CSV);
    }
    if (format == TSM_REPORT_JSON)
        json_sums(&j, counts, jobs->lost_count);
    else if (format == TSM_REPORT_TEXT)
        show_sums(counts, jobs->lost_count);
    return 0;
}
