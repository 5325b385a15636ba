/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/command.h"

#include "base/output_file.h"
#include "base/clock.h"
#include "base/text.h"
#include "tools/timeline/report.h"
#include "tools/named_output.h"
#include "tools/selection.h"
#include "tools/terminal.h"
#include "tracesmith/error.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct merge_values {
    const char *output, *perfetto;
    struct tsm_timeline_filter filter;
    struct tsm_timeline_report report;
    int clock;
    struct offset {
        bool given;
        int64_t ns;
    } offset;
    bool force, json, mark;
};

/* "-1.5ms", "+20us", "3s" */
static bool parse_offset(void *field, const char *text)
{
    struct offset *offset = field;
    bool negative = *text == '-';
    uint64_t ns;

    if (!tsm_selection_parse_time(&ns, text + (negative || *text == '+')) || ns > INT64_MAX)
        return false;
    *offset = (struct offset){true, negative ? -(int64_t)ns : (int64_t)ns};
    return true;
}

#define FILTER(member)                                                                             \
    (offsetof(struct merge_values, filter) + TSM_FIELD(tsm_timeline_filter, member))
#define REPORT(member)                                                                             \
    (offsetof(struct merge_values, report) + TSM_FIELD(tsm_timeline_report, member))

static const struct tsm_option options[] = {
    {.name = "output",
     .letter = 'o',
     .type = TSM_OPTION_NEW,
     .offset = TSM_FIELD(merge_values, output),
     .argument = "FILE",
     .help = "Write a trace with both, which needs the other file no more. An older trace of this "
             "name is replaced."},
    TSM_OUTPUT_FORCE(merge_values, force),
    {.name = "perfetto",
     .type = TSM_OPTION_TEXT,
     .offset = TSM_FIELD(merge_values, perfetto),
     .argument = "FILE",
     .help = "Write the time line as trace events, which ui.perfetto.dev and chrome://tracing "
             "load, to FILE. - means standard output."},
    {.name = "above",
     .letter = 'a',
     .type = TSM_OPTION_PARSED,
     .offset = REPORT(above_ns),
     .argument = "TIME",
     .parse = tsm_selection_parse_time,
     .help = "Show requests that took longer (2ms; ns, us, ms, s, m) with all that happened "
             "meanwhile to their threads, interrupts and block I/O."},
    {.name = "list",
     .letter = 'l',
     .type = TSM_OPTION_FLAG,
     .offset = REPORT(list),
     .help = "A line for each request."},
    {.name = "pid",
     .letter = 'p',
     .type = TSM_OPTION_NUMBER,
     .offset = FILTER(pid),
     .argument = "PID",
     .help = "Only requests and threads of this process."},
    {.name = "tid",
     .type = TSM_OPTION_NUMBER,
     .offset = FILTER(tid),
     .argument = "TID",
     .help = "Only requests of this thread."},
    {.name = "cgroup",
     .type = TSM_OPTION_TEXT,
     .offset = FILTER(cgroup),
     .argument = "CGROUP",
     .help = "Only requests of threads in this cgroup: a path below /sys/fs/cgroup, or its number. "
             "Events of 'tsrecord --cpu' tell it."},
    {.name = "device",
     .letter = 'd',
     .type = TSM_OPTION_TEXT,
     .offset = FILTER(device),
     .argument = "DEVICE",
     .help = "Only ring jobs of this device: part of its name, or its number."},
    {.name = "since",
     .type = TSM_OPTION_PARSED,
     .offset = FILTER(since_ns),
     .argument = "TIME",
     .parse = tsm_selection_parse_time,
     .help = "Only what begins so long after the trace's start, or later."},
    {.name = "until",
     .type = TSM_OPTION_PARSED,
     .offset = FILTER(until_ns),
     .argument = "TIME",
     .parse = tsm_selection_parse_time,
     .help = "Only what begins before that."},
    {.name = "clock",
     .type = TSM_OPTION_CHOICE,
     .offset = TSM_FIELD(merge_values, clock),
     .argument = "auto|mono",
     .help = "The other file's clock: as its marks or its name say, or CLOCK_MONOTONIC whatever "
             "they say. Default: auto."},
    {.name = "offset",
     .type = TSM_OPTION_PARSED,
     .offset = TSM_FIELD(merge_values, offset),
     .argument = "TIME",
     .parse = parse_offset,
     .help = "What to add to the other file's times to get CLOCK_MONOTONIC: 1.5s, -20us."},
    {.name = "mark",
     .type = TSM_OPTION_FLAG,
     .offset = TSM_FIELD(merge_values, mark),
     .help = "Write the time into ftrace's marker file, as root, while the tracer runs, and end. "
             "Marks align a clock that says nothing of CLOCK_MONOTONIC; two also its drift."},
    {.name = "json",
     .type = TSM_OPTION_FLAG,
     .offset = TSM_FIELD(merge_values, json),
     .help = "One JSON object, schema \"tsmerge/1\". With --above its requests are those that "
             "took longer, with their events; else all."},
    {0},
};

/* ---- marks ---- */

#define MARKS 32

static int write_mark(void)
{
    static const char *const files[] = {"/sys/kernel/tracing/trace_marker",
                                        "/sys/kernel/debug/tracing/trace_marker"};
    bool good = true;
    char text[64];
    int fd = -1;
    size_t size;

    for (size_t i = 0; i < 2 && fd < 0; i++)
        fd = open(files[i], O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return tsm_fail(TSM_E_IO,
                        "%s: %s; it is root's, and needs 'mount -t tracefs none "
                        "/sys/kernel/tracing'",
                        files[0], strerror(errno));
    /* Some are delayed; the reader takes the one that was not. */
    for (unsigned i = 0; i < MARKS && good; i++) {
        size =
            tsm_format(text, sizeof(text), "tracesmith_monotonic_ns=%" PRIu64, tsm_monotonic_ns());
        good = write(fd, text, size) == (ssize_t)size;
    }
    close(fd);
    return good ? 0 : tsm_fail(TSM_E_IO, "%s: %s", files[0], strerror(errno));
}

/* ---- the command ---- */

static int write_perfetto(const struct tsm_timeline *timeline, const char *path)
{
    struct tsm_output_file out;
    int error = tsm_output_file_begin(&out, path);

    if (error)
        return error;
    tsm_timeline_chrome(timeline, out.file);
    return tsm_output_file_end(&out, false);
}

/* Returns how the events lie if they and the requests have no moment in common; NULL if they have
 * one. */
static const char *apart(const struct tsm_timeline *timeline)
{
    size_t count = tsm_requests_count(&timeline->requests);

    if (timeline->time.last_ns < tsm_requests_at(&timeline->requests, 0)->begin_ns)
        return "before";
    if (timeline->time.first_ns > tsm_requests_at(&timeline->requests, count - 1)->end_ns)
        return "behind";
    return NULL;
}

static void note_losses(const struct tsm_timeline *timeline)
{
    const struct tsm_cpu_events *e = &timeline->events;
    const char *name = timeline->cpu_path ? timeline->cpu_path : timeline->trace_path;

    if (!tsm_cpu_events_count(e))
        tsm_note("%s: no CPU events; what they would tell is NA", name);
    else if (!tsm_requests_count(&timeline->requests))
        tsm_note("%s: has no commands and no ring jobs", timeline->trace_path);
    else if (apart(timeline))
        tsm_note("%s: its events lie %s all requests: another clock? see --offset", name,
                 apart(timeline));
    if (e->lost_count)
        tsm_note("%s: CPU events that were lost: %" PRIu64 "; times that they would tell are NA",
                 name, e->lost_count);
    if (e->unread_count)
        tsm_note("%s: parts that could not be read: %" PRIu64, name, e->unread_count);
}

static int write_trace(const struct tsm_timeline *timeline, const struct tsm_output *output)
{
    int error = tsm_timeline_write(timeline, output->written);

    return error ? error : tsm_output_end(output, 0);
}

/* Checks the outputs before the files are read, which may take long. */
static int check_outputs(struct tsm_output *output, const struct merge_values *v, const char *trace)
{
    int error = v->output ? tsm_output_begin(output, v->output, trace, v->force) : 0;

    if (!error && v->perfetto)
        error = tsm_output_check(v->perfetto, TSM_OUTPUT_OTHER, NULL, v->force);
    return error;
}

static int show(const struct tsm_timeline *timeline, const struct merge_values *v,
                const struct tsm_output *output)
{
    static char buffer[1 << 18];
    int error = 0;

    setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
    note_losses(timeline);
    if (v->output)
        error = write_trace(timeline, output);
    if (!error && v->perfetto)
        error = write_perfetto(timeline, v->perfetto);
    if (!error && v->json)
        tsm_timeline_json(timeline, &v->report);
    else if (!error && ((!v->output && !v->perfetto) || v->report.list || v->report.above_ns))
        tsm_timeline_print(timeline, &v->report);
    return error;
}

static int run(const struct tsm_command *command, void *values, const struct tsm_words *words)
{
    const struct merge_values *v = values;
    struct tsm_timeline timeline = {.filter = v->filter};
    enum tsm_clock_way way = v->offset.given ? TSM_CLOCK_OFFSET
                             : v->clock      ? TSM_CLOCK_MONO
                                             : TSM_CLOCK_AUTO;
    struct tsm_output output;
    int error;

    if (v->mark)
        return write_mark() < 0 ? tsm_complain_error() : TSM_EXIT_OK;
    if (!words->count)
        return tsm_complain("no TRACE is named");
    timeline.trace_path = words->words[0];
    timeline.cpu_path = words->count > 1 ? words->words[1] : NULL;
    if (check_outputs(&output, v, timeline.trace_path) < 0)
        return tsm_complain_error();
    error = tsm_timeline_load(&timeline, way, v->offset.ns);
    if (!error)
        error = show(&timeline, v, &output);
    tsm_timeline_finish(&timeline);
    return error ? tsm_complain_error() : TSM_EXIT_OK;
}

const struct tsm_command tsm_command_merge = {
    .name = "merge",
    .summary = "GPU requests and what the CPUs did meanwhile, on one time line",
    .synopsis = "[OPTION]... TRACE [CPU-FILE]\n"
                "--mark",
    .description =
        "Puts together a trace's commands, the ring jobs that the kernel recorded for them, and "
        "CPU scheduling, interrupts and block I/O, and shows where requests spend their time. CPU "
        "events are in TRACE itself (tsrecord --cpu, merge -o), or in CPU-FILE: trace-cmd's "
        "trace.dat, perf's perf.data, or text of ftrace ('trace', trace-cmd report, perf script). "
        "Wanted are sched_switch, sched_wakeup, irq_handler_entry and _exit, block_rq_issue and "
        "_complete.\n\n"
        "A request's stages: call, the host's call until the job is submitted; queue, until the "
        "ring takes it; exec, until the ring is done; complete, until those who wait are informed; "
        "wake, until the first of them runs; total, all that is known of it. Beside them, of the "
        "thread that submitted it: off_cpu, on no CPU; ready, of that, waiting for one; irq, "
        "interrupted; block_io, block I/O of its process in flight. NA: an event is missing, or "
        "some were lost meanwhile.\n\n"
        "All events are kept in memory.",
    .examples = "trace-cmd record -C mono -e sched_switch -e sched_wakeup -e irq_handler_entry -e "
                "irq_handler_exit -o cpu.dat tsrecord -o t.sbt ./app\n"
                "tracesmith merge t.sbt cpu.dat\n"
                "tracesmith merge --above 2ms t.sbt cpu.dat\n"
                "tracesmith merge --perfetto=t.json t.sbt cpu.dat\n"
                "tracesmith merge -o both.sbt t.sbt cpu.dat\n",
    .exit_status = "0|done\n"
                   "2|not done; the message says why",
    .options = options,
    .values_size = sizeof(struct merge_values),
    .operand = "TRACE",
    .word_min = 0,
    .word_max = 2,
    .run = run,
};
