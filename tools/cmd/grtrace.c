/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/command.h"

#include "tools/kernel/backend.h"
#include "tools/kernel/nvidia.h"
#include "tools/kernel/report.h"
#include "tools/kernel/session.h"
#include "tools/named_output.h"
#include "tools/terminal.h"
#include "tools/text/json_out.h"
#include "tools/trace_open.h"
#include "tracesmith/error.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct grtrace_values {
    int backend;
    const char *output, *layout;
    bool force, json;
    double seconds;
    struct tsm_report_values report;
};

static bool parse_seconds(void *field, const char *text)
{
    char *end;
    double value = strtod(text, &end);

    *(double *)field = value;
    return end != text && *end == '\0' && value >= 0 && value < 1e12;
}

#define REPORT(member)                                                                             \
    (offsetof(struct grtrace_values, report) + TSM_FIELD(tsm_report_values, member))

static const struct tsm_option options[] = {
    {.name = "backend",
     .type = TSM_OPTION_CHOICE,
     .offset = TSM_FIELD(grtrace_values, backend),
     .argument = TSM_KERNEL_BACKENDS,
     .help = "What records: the module grtrace.ko, or eBPF programs where modules are forbidden. "
             "auto: the module where it is loaded. Default: auto."},
    {.name = "output",
     .letter = 'o',
     .type = TSM_OPTION_NEW,
     .offset = TSM_FIELD(grtrace_values, output),
     .argument = "FILE",
     .help = "record: the trace to write. An older one of this name is replaced. Default: "
             "grtrace.sbt."},
    TSM_OUTPUT_FORCE(grtrace_values, force),
    {.name = "seconds",
     .letter = 's',
     .type = TSM_OPTION_PARSED,
     .offset = TSM_FIELD(grtrace_values, seconds),
     .argument = "SECONDS",
     .parse = parse_seconds,
     .help = "record: stop by itself after so long. Default: at ^C."},
    {.name = "layout",
     .type = TSM_OPTION_TEXT,
     .offset = TSM_FIELD(grtrace_values, layout),
     .argument = "FILE",
     .help = "nvidia record: where the driver's structs have what is read, where the module's own "
             "types (BTF) do not say: lines 'STRUCT.MEMBER OFFSET SIZE'."},
    {.name = "by",
     .letter = 'b',
     .type = TSM_OPTION_CHOICE,
     .offset = REPORT(by),
     .argument = TSM_REPORT_BY,
     .help = "report: a line for each job, or sums for each ring, engine class or context. "
             "Default: job."},
    {.name = "format",
     .letter = 'f',
     .type = TSM_OPTION_CHOICE,
     .offset = REPORT(format),
     .argument = TSM_REPORT_FORMAT,
     .help =
         "report: for people, for spreadsheets, or one JSON object, schema \"grtrace-jobs/1\" or "
         "\"grtrace-sums/1\". Default: text."},
    {.name = "json",
     .type = TSM_OPTION_FLAG,
     .offset = TSM_FIELD(grtrace_values, json),
     .help = "report: the same as --format=json."},
    {.name = "span",
     .type = TSM_OPTION_CHOICE,
     .offset = REPORT(span),
     .argument = TSM_REPORT_SPANS,
     .help = "report: the time that --top and --histogram look at."},
    {.name = "top",
     .letter = 't',
     .type = TSM_OPTION_NUMBER,
     .offset = REPORT(top),
     .argument = "COUNT",
     .help = "report: the COUNT jobs with the longest --span, longest first."},
    {.name = "histogram",
     .type = TSM_OPTION_FLAG,
     .offset = REPORT(histogram),
     .help = "report: how often each ring's --span was between which bounds, as CSV."},
    {.name = "overhead",
     .type = TSM_OPTION_FLAG,
     .offset = REPORT(overhead),
     .help = "report: what recording cost: records a second, losses, the time of a write."},
    {.name = "since",
     .type = TSM_OPTION_PARSED,
     .offset = REPORT(since_s),
     .argument = "SECONDS",
     .parse = parse_seconds,
     .help = "report: only jobs that begin so long after the trace's start, or later."},
    {.name = "until",
     .type = TSM_OPTION_PARSED,
     .offset = REPORT(until_s),
     .argument = "SECONDS",
     .parse = parse_seconds,
     .help = "report: only jobs that begin before that."},
    {.name = "limit",
     .letter = 'n',
     .type = TSM_OPTION_NUMBER,
     .offset = REPORT(limit),
     .argument = "COUNT",
     .help = "report: at most COUNT jobs."},
    {.name = "queue-above",
     .type = TSM_OPTION_NUMBER,
     .offset = REPORT(queue_ns),
     .argument = "NS",
     .help = "report: a longer t_queue is labelled long-queue. Default: 10000000."},
    {.name = "exec-above",
     .type = TSM_OPTION_NUMBER,
     .offset = REPORT(exec_ns),
     .argument = "NS",
     .help = "report: a longer t_exec is labelled slow-exec. Default: 10000000."},
    {0},
};

/* ---- the kernel ---- */

static const struct tsm_kernel_backend *backend;

/* Writes all words at once: the kernel takes all or none. */
static int write_words(const char *file, char **words)
{
    struct tsm_buffer text = {0};
    int error = 0;

    for (; *words && !error; words++) {
        if (!strchr(*words, '='))
            error = tsm_fail(TSM_E_ARGUMENT, "'%s' is no KEY=VALUE", *words);
        tsm_buffer_add(&text, *words, strlen(*words));
        tsm_buffer_add_u8(&text, '\n');
    }
    tsm_buffer_add_u8(&text, 0);
    if (!error && text.failed)
        error = tsm_fail(TSM_E_MEMORY, "out of memory");
    if (!error && text.size > 1)
        error = backend->write(file, (const char *)text.data);
    tsm_buffer_finish(&text);
    return error;
}

static int configure(char **words)
{
    return write_words("config", words);
}

/* Lines of a file that begin with one of two words; all of them when `first` is NULL. */
static int show_lines(const char *file, const char *first, const char *second)
{
    struct tsm_buffer text = {0};
    int error = backend->read(&text, file);
    char *rest = (char *)text.data, *line;

    while (!error && (line = strsep(&rest, "\n")) != NULL) {
        if (*line && (!first || strncmp(line, first, strlen(first)) == 0 ||
                      strncmp(line, second, strlen(second)) == 0))
            puts(line);
    }
    tsm_buffer_finish(&text);
    return error;
}

static int run_start(const struct grtrace_values *v, char **words)
{
    int error = configure(words);

    return error ? error : backend->write("control", "start");
}

static int run_stop(const struct grtrace_values *v, char **words)
{
    return backend->write("control", "stop");
}

/* Files by name, or what is asked for most. */
static int run_status(const struct grtrace_values *v, char **words)
{
    int error = 0;

    for (size_t i = 0; words[i] && !error; i++)
        error = strchr(words[i], '/') ? tsm_fail(TSM_E_ARGUMENT,
                                                 "'%s' is no name of a file of "
                                                 "grtrace",
                                                 words[i])
                                      : show_lines(words[i], NULL, NULL);
    if (words[0])
        return error;
    error = show_lines("stats", NULL, NULL);

    return error ? error : show_lines("events_by_type", NULL, NULL);
}

static int run_config(const struct grtrace_values *v, char **words)
{
    return *words ? configure(words) : show_lines("config", NULL, NULL);
}

static int run_emit(const struct grtrace_values *v, char **words)
{
    return *words ? write_words("emit", words)
                  : tsm_fail(TSM_E_ARGUMENT, "emit takes at least type=NUMBER");
}

static int run_list(const struct grtrace_values *v, char **words)
{
    return show_lines("stats", "ring ", "probe ");
}

/* Signals that end a recording: blocked from before it begins, so that none ends the tool while the
 * module runs. */
static void block_ends(sigset_t *ends)
{
    sigemptyset(ends);
    sigaddset(ends, SIGINT);
    sigaddset(ends, SIGTERM);
    sigaddset(ends, SIGHUP);
    sigprocmask(SIG_BLOCK, ends, NULL);
}

static void wait_for_end(const sigset_t *ends, double seconds)
{
    double whole = (double)(time_t)seconds;
    const struct timespec limit = {(time_t)seconds, (long)((seconds - whole) * 1e9)};

    while ((seconds > 0 ? sigtimedwait(ends, NULL, &limit) : sigwaitinfo(ends, NULL)) < 0 &&
           errno == EINTR)
        ;
}

static int run_record(const struct grtrace_values *v, char **words)
{
    static struct tsm_kernel_session session;
    const char *name = v->output ? v->output : "grtrace.sbt";
    struct tsm_output output;
    int error = tsm_output_begin(&output, name, NULL, v->force);
    sigset_t ends;

    if (!error)
        error = configure(words);
    block_ends(&ends);
    if (!error)
        error = tsm_kernel_session_begin(&session, backend, output.written);
    if (error)
        return error;
    /* From here on it may be read under its name while it grows. */
    if (tsm_output_end(&output, 0) < 0) {
        tsm_kernel_session_end(&session);
        return TSM_E_IO;
    }
    tsm_note("recording%s", v->seconds > 0 ? "" : "; ^C ends it");
    wait_for_end(&ends, v->seconds);
    error = tsm_kernel_session_end(&session);
    if (!error)
        tsm_note("%s: %" PRIu64 " kernel records; 'grtrace report %s' shows them", name,
                 session.collect.record_count, name);
    return error;
}

/* ---- reports ---- */

/* The trace that `words` name alone, and its kernel records. NULL: an error says why. */
static struct sbt_reader *load(struct tsm_ring_jobs *jobs, char **words)
{
    static char buffer[1 << 18];
    struct sbt_reader *reader;
    int error;

    if (!words[0] || words[1]) {
        tsm_fail(TSM_E_ARGUMENT, "report takes one TRACE");
        return NULL;
    }
    if (tsm_trace_try(&reader, words[0]) < 0)
        return NULL;
    setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
    error = tsm_report_load(jobs, reader);
    if (!error && jobs->records.size == 0)
        error = tsm_fail(TSM_E_NOT_FOUND,
                         "%s: has no kernel records; 'tsrecord --kernel' or 'grtrace record' makes "
                         "such traces",
                         words[0]);
    if (!error)
        return reader;
    tsm_ring_jobs_finish(jobs);
    sbt_reader_destroy(reader);
    return NULL;
}

static int run_report(const struct grtrace_values *v, char **words)
{
    struct tsm_ring_jobs jobs = {0};
    struct sbt_reader *reader = load(&jobs, words);
    int error;

    if (!reader)
        return TSM_E_IO;
    error = tsm_report_print(&jobs, reader, &v->report);
    if (!error && jobs.lost_count)
        tsm_note("%s: kernel records that were lost: %" PRIu64 "; what is missing is NA", words[0],
                 jobs.lost_count);
    tsm_ring_jobs_finish(&jobs);
    sbt_reader_destroy(reader);
    return error;
}

/* ---- NVIDIA ---- */

static int nvidia_report(const struct grtrace_values *v, char **words)
{
    struct tsm_ring_jobs jobs = {0};
    struct sbt_reader *reader = load(&jobs, words);
    int error;

    if (!reader)
        return TSM_E_IO;
    error =
        tsm_nvidia_report(&jobs, sbt_reader_session(reader)->start_monotonic_ns, v->report.format);
    tsm_ring_jobs_finish(&jobs);
    sbt_reader_destroy(reader);
    return error;
}

static int nvidia_record(const struct grtrace_values *v, char **words)
{
#ifdef TSM_BPF
    int error = v->layout ? tsm_nvidia_layout_read(v->layout) : 0;

    if (error)
        return error;
    if (access("/sys/module/nvidia", F_OK) != 0)
        return tsm_fail(TSM_E_NOT_FOUND, "NVIDIA's kernel module is not loaded");
    if (access("/sys/kernel/btf/nvidia", R_OK) != 0 && !v->layout)
        tsm_note("nvidia.ko does not describe its types: events will have no numbers of groups, "
                 "but with --layout");
    backend = tsm_kernel_backend(TSM_KERNEL_BPF);
    return backend ? run_record(v, words) : TSM_E_UNSUPPORTED;
#else
    return tsm_kernel_backend(TSM_KERNEL_BPF) ? 0 : TSM_E_UNSUPPORTED;
#endif
}

static int run_nvidia(const struct grtrace_values *v, char **words)
{
    if (words[0] && strcmp(words[0], "record") == 0)
        return nvidia_record(v, words + 1);
    if (words[0] && strcmp(words[0], "report") == 0)
        return nvidia_report(v, words + 1);
    return tsm_fail(TSM_E_ARGUMENT, "nvidia takes record or report");
}

/* ---- the command ---- */

static const struct action {
    const char *name;
    bool offline;
    int (*run)(const struct grtrace_values *v, char **words);
} actions[] = {
    {"start", false, run_start},   {"stop", false, run_stop},     {"status", false, run_status},
    {"config", false, run_config}, {"record", false, run_record}, {"report", true, run_report},
    {"list", false, run_list},     {"emit", false, run_emit},     {"nvidia", true, run_nvidia},
};

static int run(const struct tsm_command *command, void *values, const struct tsm_words *words)
{
    struct grtrace_values *v = values;
    int error;

    if (v->json)
        v->report.format = TSM_REPORT_JSON;
    for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++) {
        if (strcmp(words->words[0], actions[i].name) != 0)
            continue;
        if (!actions[i].offline && !(backend = tsm_kernel_backend(v->backend)))
            return tsm_complain_error();
        error = actions[i].run(v, words->words + 1);
        return error ? tsm_complain_error() : TSM_EXIT_OK;
    }
    return tsm_complain("'%s' is none of start, stop, status, config, record, report, list, "
                        "emit, nvidia",
                        words->words[0]);
}

const struct tsm_command tsm_command_grtrace = {
    .name = "grtrace",
    .alias = "grtrace",
    .summary = "times at which the kernel's GPU rings took and completed jobs",
    .synopsis = "start|config [KEY=VALUE]...\n"
                "stop|list\n"
                "status [FILE]...\n"
                "emit type=NUMBER [KEY=VALUE]...\n"
                "record [-o FILE] [-s SECONDS] [KEY=VALUE]...\n"
                "report [OPTION]... TRACE\n"
                "nvidia record [-o FILE] [-s SECONDS] [--layout=FILE]\n"
                "nvidia report [--format=FORMAT] TRACE",
    .description =
        "Controls the kernel module grtrace.ko, or eBPF programs that record the same "
        "(--backend=bpf), and reports on what was recorded. 'record' runs a "
        "session and collects it into a trace, 'tsrecord --kernel' does so beside a program; "
        "'report' needs neither the module nor root. 'start' and 'stop' leave the reading to "
        "others. 'config' shows or changes settings, which kernel/README.md explains; 'list' shows "
        "rings and tracepoints, and which of them are attached. 'status' shows the counters, or, "
        "of "
        "both backends alike, the files that are named: stats, events_by_type, latency_hist, "
        "result_hist, size_hist, sec_stats, pc_stats, pc_cseq. 'emit' injects records, to try "
        "settings: of type (a number of kernel/include/grtrace.h), ring, engine, pid, ctx, seqno, "
        "value, and count of them.\n\n"
        "A job's times: t_submit_host from being made to being queued, t_queue until its ring took "
        "it, t_exec until the ring was done, t_complete until those who wait were informed; "
        "t_gpu_wait "
        "is how long threads waited for it. NA: a record is missing. Labels: failed, unfinished, "
        "preempted, long-queue, slow-exec.\n\n"
        "'nvidia' is about NVIDIA's open kernel module, by eBPF: groups of channels are made, "
        "bound to "
        "a runlist, asked for tokens, and ended. A token lets a program submit without the kernel, "
        "so "
        "launches are not among the events.",
    .examples = "grtrace record -o gpu.sbt -s 10\n"
                "grtrace record --backend=bpf -o gpu.sbt     without a kernel module\n"
                "grtrace report gpu.sbt | less\n"
                "grtrace report --by=ring gpu.sbt\n"
                "grtrace report --top=20 --span=t_queue gpu.sbt\n"
                "grtrace report --format=csv --since=1 --until=2 gpu.sbt\n"
                "grtrace config filter_ring_id=3 max_events_per_sec=10000\n",
    .exit_status = "0|done\n"
                   "2|not done; the message says why",
    .options = options,
    .values_size = sizeof(struct grtrace_values),
    .operand = "start|stop|status|config|record|report|list|emit|nvidia",
    .word_min = 1,
    .word_max = -1,
    .run = run,
};
