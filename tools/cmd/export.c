/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/command.h"

#include "base/output_file.h"
#include "base/text.h"
#include "export/events.h"
#include "export/sites.h"
#include "tools/named_output.h"
#include "tools/schedule/state_lists.h"
#include "tools/selection.h"
#include "tools/stats/frame_names.h"
#include "tools/text/demangle.h"
#include "tools/text/json_out.h"
#include "tools/terminal.h"
#include "tools/trace_open.h"
#include "tracesmith/error.h"

#include <string.h>
#include <unistd.h>

struct export_values {
    const char *output;
    bool force, json, plain, states;
    struct tsm_selection_streams streams;
    struct tsm_selection_range range;
};

static const struct tsm_option options[] = {
    {.name = "output",
     .letter = 'o',
     .type = TSM_OPTION_TEXT,
     .offset = TSM_FIELD(export_values, output),
     .argument = "FILE",
     .help = "Where to write it. Default: standard output, \"-\"."},
    TSM_OUTPUT_FORCE(export_values, force),
    TSM_SELECTION_OPTIONS(export_values, streams, range),
    {.name = "states",
     .type = TSM_OPTION_FLAG,
     .offset = TSM_FIELD(export_values, states),
     .help =
         "sqlite, perfetto: states of streams, engines and devices, too, as of tsview --states. "
         "All commands "
         "are in memory then. They are of the whole trace, whatever --range and --streams say."},
    {.name = "plain",
     .type = TSM_OPTION_FLAG,
     .offset = TSM_FIELD(export_values, plain),
     .help = "perfetto: do not compress packets. Readers older than Perfetto v58 need it."},
    {.name = "json",
     .type = TSM_OPTION_FLAG,
     .offset = TSM_FIELD(export_values, json),
     .help = "Say what was written as one JSON object, schema \"tsexport/1\". Needs --output."},
    {0},
};

/* ---- formats ------------------------------------------------------------------------------ */

struct exported {
    struct sbt_reader *reader;
    const struct sbt_filter *filter;
    const struct tsm_frame_names *names;
    struct tsm_summary summary; /* of formats of sites */
    struct tsm_sites sites;
    struct tsm_event_counts events; /* of formats of events */
};

static int folded(FILE *out, struct exported *e)
{
    tsm_export_folded(out, &e->sites);
    return 0;
}

static int speedscope(FILE *out, struct exported *e)
{
    tsm_export_speedscope(out, &e->sites, sbt_reader_name(e->reader));
    return 0;
}

static int pprof(FILE *out, struct exported *e)
{
    const struct tsm_model_counts *c = &e->summary.counts;

    return tsm_export_pprof(out, &e->sites, sbt_reader_session(e->reader)->start_realtime_ns,
                            (uint64_t)c->last_ns - (uint64_t)c->first_ns);
}

/* Device time by launch site, or events one by one. A writer has one of the functions. */
static const struct format {
    const char *name;
    int (*sites)(FILE *out, struct exported *e);
    int (*file)(struct tsm_event_counts *out, const char *path, const char *shown,
                const struct tsm_event_source *source); /* events, into an empty file */
    int (*events)(struct tsm_event_counts *out, FILE *file, const struct tsm_event_source *source);
    bool is_binary;
} formats[] = {
    {.name = "folded", .sites = folded},
    {.name = "speedscope", .sites = speedscope},
    {.name = "pprof", .sites = pprof, .is_binary = true},
    {.name = "sqlite", .file = tsm_export_nsys, .is_binary = true},
    {.name = "perfetto", .events = tsm_export_perfetto, .is_binary = true},
    {.name = "chrome", .events = tsm_export_kineto},
    {.name = "csv", .events = tsm_export_csv},
};

#define FORMAT_WORDS "folded|speedscope|pprof|sqlite|perfetto|chrome|csv"

static const struct format *find_format(const char *name)
{
    for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++)
        if (strcmp(formats[i].name, name) == 0)
            return &formats[i];
    return NULL;
}

/* ---- the command -------------------------------------------------------------------------- */

static int collect_sites(struct exported *e)
{
    int error = tsm_summary_collect(&e->summary, e->reader, e->filter, TSM_TIME_BY_SITE);

    return error ? error : tsm_sites_build(&e->sites, &e->summary, e->reader, e->names);
}

/* States of streams, engines and devices, one after the other; those of commands are left out. */
struct state_walk {
    struct tsm_state_lists lists;
    bool is_loose;
    size_t place, finding;
    char text[128];
};

static bool next_state(void *user, struct tsm_state_event *out)
{
    struct state_walk *w = user;
    const struct tsm_states *states = tsm_state_lists_of(&w->lists, w->is_loose);
    const struct tsm_state_interval *i;

    while (w->place < states->count && states->list[w->place].of == TSM_STATE_OF_COMMAND)
        w->place++;
    if (w->place >= states->count) {
        if (w->is_loose)
            return false;
        w->is_loose = true;
        w->place = 0;
        return next_state(w, out);
    }
    i = &states->list[w->place++];
    tsm_state_lists_subject(&w->lists, w->is_loose, i, w->text, sizeof(w->text));
    *out = (struct tsm_state_event){.subject = w->text,
                                    .state = tsm_state_name(i->state),
                                    .reason = i->reason ? tsm_state_reason_name(i->reason) : NULL,
                                    .begin_ns = i->begin_ns,
                                    .end_ns = i->end_ns,
                                    .has_command = i->command != TSM_WORKLOAD_NONE,
                                    .has_by = i->by != TSM_WORKLOAD_NONE};
    if (out->has_command)
        out->command = tsm_state_lists_seq(&w->lists, w->is_loose, i->command);
    if (out->has_by)
        out->by = tsm_state_lists_seq(&w->lists, w->is_loose, i->by);
    return true;
}

static bool next_finding(void *user, struct tsm_finding_event *out)
{
    struct state_walk *w = user;
    const bool is_loose = w->finding >= w->lists.states.finding_count;
    const struct tsm_states *states = tsm_state_lists_of(&w->lists, is_loose);
    const size_t place = is_loose ? w->finding - w->lists.states.finding_count : w->finding;
    const struct tsm_state_finding *f;

    if (place >= states->finding_count)
        return false;
    f = &states->findings[place];
    w->finding++;
    tsm_format(w->text, sizeof(w->text), "record %llu began %llu ns too early",
               (unsigned long long)tsm_state_lists_seq(&w->lists, is_loose, f->command),
               (unsigned long long)f->by_ns);
    *out = (struct tsm_finding_event){.ns = tsm_state_lists_begin(&w->lists, is_loose, f->command),
                                      .text = w->text};
    return true;
}

static int write_source(struct exported *e, const struct format *format,
                        const struct tsm_output_file *out, const struct tsm_event_source *source)
{
    if (format->events)
        return format->events(&e->events, out->file, source);
    if (!out->temporary[0])
        return tsm_fail(TSM_E_ARGUMENT, "%s: %s needs a file of its own; name one with -o",
                        out->path, format->name);
    return format->file(&e->events, out->temporary, out->path, source);
}

static int write_events(struct exported *e, const struct export_values *v,
                        const struct format *format, const struct tsm_output_file *out)
{
    struct state_walk walk = {.lists = {.reader = e->reader}};
    const struct tsm_state_source states = {&walk, next_state, next_finding};
    int error = v->states ? tsm_state_lists_make(&walk.lists) : 0;
    const bool has_states = v->states && !error;
    const struct tsm_event_source source = {.reader = e->reader,
                                            .filter = e->filter,
                                            .names = e->names,
                                            .states = has_states ? &states : NULL,
                                            .is_plain = v->plain,
                                            .demangle = tsm_demangle};

    if (!error || error == TSM_E_NOT_FOUND) /* a trace without commands has no states */
        error = write_source(e, format, out, &source);
    tsm_state_lists_finish(&walk.lists);
    return error;
}

static int write_file(struct exported *e, const struct export_values *v,
                      const struct format *format, const char *path)
{
    struct tsm_output_file out;
    int error = format->sites ? collect_sites(e) : 0;

    if (!error)
        error = tsm_output_file_begin(&out, path);
    if (error)
        return error;
    error = format->sites ? format->sites(out.file, e) : write_events(e, v, format, &out);
    return tsm_output_file_end(&out, error != 0);
}

static int write_selected(struct exported *e, const struct export_values *v,
                          const struct format *format, const char *path)
{
    struct tsm_symbols *symbols = NULL;
    struct tsm_frame_names names;
    struct sbt_filter filter;
    int error = tsm_selection_filter(&filter, e->reader, &v->streams, &v->range);

    if (!error)
        error = tsm_symbols_create(&symbols, e->reader);
    names = tsm_frame_names(symbols);
    e->filter = &filter;
    e->names = &names;
    if (!error)
        error = write_file(e, v, format, path);
    tsm_symbols_destroy(symbols);
    return error;
}

static void print_json(const struct exported *e, const struct format *format, const char *path)
{
    struct tsm_json j = {.out = stdout};

    tsm_json_begin(&j, "tsexport/1");
    tsm_json_put_string(&j, "trace", sbt_reader_name(e->reader));
    tsm_json_put_string(&j, "format", format->name);
    tsm_json_put_string(&j, "output", path);
    if (format->sites) {
        tsm_json_put_u64(&j, "stack_count", e->sites.sample_count);
        tsm_json_put_u64(&j, "command_count",
                         e->summary.counts.command_count - e->summary.counts.order_count);
        tsm_json_put_u64(&j, "total_ns", e->sites.total_ns);
    } else {
        tsm_json_put_u64(&j, "call_count", e->events.call_count);
        tsm_json_put_u64(&j, "command_count", e->events.command_count);
        tsm_json_put_u64(&j, "untimed_count", e->events.untimed_count);
        tsm_json_put_u64(&j, "label_count", e->events.mark_count);
        tsm_json_put_u64(&j, "memory_count", e->events.memory_count);
        tsm_json_put_u64(&j, "state_count", e->events.state_count);
    }
    tsm_json_end(&j);
}

static void note_missing(const struct exported *e, const struct format *format)
{
    const char *name = sbt_reader_name(e->reader);
    const struct tsm_event_counts *events = &e->events;

    if (format->sites ? !e->summary.counts.record_count : !events->model.record_count)
        tsm_selection_note_nothing(e->reader);
    else if (format->sites ? !e->sites.total_ns : !events->command_count && events->untimed_count)
        tsm_note("%s: no times of the device; 'tsrecord --gpu-time=1' records them", name);
    else if (events->untimed_count)
        tsm_note("%s: %llu commands are left out: nobody knows when they ran", name,
                 (unsigned long long)events->untimed_count);
    if (events->rerun_count)
        tsm_note("%s: %llu times of other runs than the first are left out", name,
                 (unsigned long long)events->rerun_count);
    if (events->displaced_count)
        tsm_note("%s: times of %llu commands are on a clock of their own, and are written as they "
                 "are; see 'tracesmith clocks'",
                 name, (unsigned long long)events->displaced_count);
}

static int export_trace(struct exported *e, const struct export_values *v,
                        const struct format *format, const char *path)
{
    size_t told = 0;
    int error;

    tsm_trace_show_progress(e->reader, "exporting");
    error = write_selected(e, v, format, path);
    tsm_trace_show_progress(e->reader, NULL);
    if (error)
        tsm_complain_error();
    else
        note_missing(e, format);
    if (!error && v->json)
        print_json(e, format, path);
    tsm_trace_note_damage(e->reader, &told);
    tsm_sites_finish(&e->sites);
    tsm_summary_finish(&e->summary);
    sbt_reader_destroy(e->reader);
    return error ? TSM_EXIT_ERROR : TSM_EXIT_OK;
}

static int run(const struct tsm_command *command, void *values, const struct tsm_words *words)
{
    const struct export_values *v = values;
    const struct format *format = find_format(words->words[0]);
    const char *path = v->output ? v->output : "-";
    struct exported e = {0};

    if (!format)
        return tsm_complain("unknown format '%s'; there are " FORMAT_WORDS, words->words[0]);
    if (v->json && strcmp(path, "-") == 0)
        return tsm_complain("--json needs --output: standard output has the object");
    if (format->is_binary && strcmp(path, "-") == 0 && isatty(STDOUT_FILENO))
        return tsm_complain("%s is not for a terminal; name a file with -o", format->name);
    if (tsm_output_check(path, TSM_OUTPUT_OTHER, words->words[1], v->force))
        return tsm_complain_error();
    e.reader = tsm_trace_open(words->words[1]);
    return e.reader ? export_trace(&e, v, format, path) : TSM_EXIT_ERROR;
}

const struct tsm_command tsm_command_export = {
    .name = "export",
    .summary = "write a trace in the formats of other tools",
    .synopsis = "[OPTION]... FORMAT TRACE",
    .description =
        "Writes what the model knows of a trace in the format of another tool. Times of the device "
        "need "
        "tsrecord --gpu-time=1; commands without one are left out (but for csv), which is said.\n\n"
        "Events, one by one:\n"
        "perfetto: packets for ui.perfetto.dev and trace_processor (v58 and later; --plain for "
        "older ones). Calls are "
        "slices of their threads, commands are render stages of their stream, with arrows from the "
        "call and from "
        "what they waited for on other streams; labels, memory, stacks, with --states states and "
        "findings.\n"
        "sqlite: the tables of Nsight Systems' exports (schema 3.16), so that scripts for them "
        "read our traces; what "
        "they lack is in tables TRACESMITH_.... Needs --output.\n"
        "chrome: JSON of PyTorch's profiler, for chrome://tracing, TensorBoard and "
        "HolisticTraceAnalysis.\n"
        "csv: a line for each command, with its time, place and size.\n\n"
        "Device time by launch site: for each host stack that sent commands the name of the "
        "kernel, copy or submit and "
        "its time, innermost; needs stacks, which tsrecord takes by default:\n"
        "folded: a line for each stack, for flamegraph.pl and inferno. speedscope: JSON for "
        "www.speedscope.app. "
        "pprof: profile.proto, not compressed, with the number of commands and their nanoseconds.",
    .examples = "tracesmith export perfetto --states -o t.pftrace t.sbt\n"
                "tracesmith export sqlite -o t.sqlite t.sbt && sqlite3 t.sqlite .tables\n"
                "tracesmith export chrome t.sbt | gzip >t.json.gz\n"
                "tracesmith export folded t.sbt | flamegraph.pl --countname=ns >t.svg\n"
                "tracesmith export pprof -o t.pb t.sbt && pprof -top t.pb\n",
    .exit_status = "0|written\n"
                   "2|the trace cannot be read, or the file cannot be written",
    .options = options,
    .values_size = sizeof(struct export_values),
    .operand = FORMAT_WORDS,
    .word_min = 2,
    .word_max = 2,
    .run = run,
};
