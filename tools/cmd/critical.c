/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/command.h"

#include "analysis/schedule/copies_alone.h"
#include "base/array.h"
#include "base/text.h"
#include "tools/schedule/causes.h"
#include "tools/schedule/load.h"
#include "tools/schedule/loose_critical_view.h"
#include "tools/schedule/stacks.h"
#include "tools/schedule/wait_table.h"
#include "tools/terminal.h"
#include "tools/trace_open.h"
#include "tracesmith/error.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define TOP_DEFAULT 20u
#define GAINS_MAX   10u /* causes whose gain is computed: each takes a simulation */

struct critical_values {
    struct tsm_table_top top;
    bool list, slack, memory, stacks, json;
};

static const struct tsm_option options[] = {
    {.name = "list",
     .letter = 'l',
     .type = TSM_OPTION_FLAG,
     .offset = TSM_FIELD(critical_values, list),
     .help = "The critical path itself, piece by piece, the first one first."},
    {.name = "slack",
     .letter = 's',
     .type = TSM_OPTION_FLAG,
     .offset = TSM_FIELD(critical_values, slack),
     .help = "By how much each command could have ended later without a later end of all, the "
             "least first. CUDA."},
    {.name = "memory",
     .type = TSM_OPTION_FLAG,
     .offset = TSM_FIELD(critical_values, memory),
     .help = "Say of each wait in the table of waits whether something needs it: the first "
             "conflict in memory that it alone orders, and how sure that is (declared, reachable, "
             "unknown: see 'tracesmith graph --memory'); result, if the program could read what a "
             "command gave back; or nothing. CUDA."},
    {.name = "stacks",
     .type = TSM_OPTION_FLAG,
     .offset = TSM_FIELD(critical_values, stacks),
     .help = "The program's stacks of the calls that the tables of causes and waits name. --json "
             "always has them."},
    {.name = "top",
     .letter = 't',
     .type = TSM_OPTION_PARSED,
     .offset = TSM_FIELD(critical_values, top),
     .argument = "N",
     .parse = tsm_table_top_parse,
     .help = "The first N rows of a table, 0 for all. Default 20, and all with --json."},
    {.name = "json",
     .type = TSM_OPTION_FLAG,
     .offset = TSM_FIELD(critical_values, json),
     .help = "One JSON object, schema \"tscritical/1\"."},
    {0},
};

struct critical {
    const struct critical_values *v;
    struct sbt_reader *reader;
    struct tsm_workload w;
    struct tsm_prediction s;
    struct tsm_critical_path path;
    struct tsm_table *tables;
    size_t table_count, table_capacity;
    struct tsm_copies_alone *alone; /* by device */
    struct tsm_named_records named; /* whose stacks are printed */
    size_t wait_count, all_wait_count;
    struct tsm_loose_critical loose;
};

static uint64_t span_ns(const struct critical *run)
{
    return run->s.end_ns - run->s.begin_ns;
}

/* Returns how many rows of a table are printed; 0: all. */
static size_t top_of(const struct critical *run)
{
    return tsm_table_top_rows(&run->v->top, run->v->json ? 0 : TOP_DEFAULT);
}

/* Notes the record of a row. */
static int note_row(struct critical *run, size_t row, uint64_t seq)
{
    const size_t top = top_of(run);
    const uint32_t place = tsm_workload_find_step(&run->w, seq);
    const struct tsm_workload_step *step = place == TSM_WORKLOAD_NONE ? NULL : &run->w.steps[place];

    return step && (!top || row < top)
               ? tsm_named_records_add(
                     &run->named, &(struct tsm_named_record){seq, step->schema->name, step->stack})
               : 0;
}

/* Returns NULL when out of memory. */
static struct tsm_table *add_table(struct critical *run, const char *name, const char *title)
{
    if (!TSM_ARRAY_PUSH(run->tables, run->table_count, run->table_capacity,
                        (struct tsm_table){.name = name, .title = title})) {
        tsm_fail(TSM_E_MEMORY, "no memory for tables");
        return NULL;
    }
    return &run->tables[run->table_count - 1];
}

/* ---- tables ---------------------------------------------------------------------------------- */

/* `span`: what shares are of. with_gain: of the greatest causes. */
static int put_causes(struct critical *run, struct tsm_table *t,
                      const struct tsm_critical_path *path, uint64_t span, bool with_gain)
{
    struct tsm_cause_sums sums;
    int error = tsm_cause_sums_make(&sums, &run->w, path);

    tsm_cause_columns(t, with_gain);
    for (size_t i = 0; i < sums.count && !error; i++) {
        const struct tsm_cause_sum *sum = &sums.list[i];
        uint64_t gain_ns = 0;

        if (with_gain && i < GAINS_MAX)
            error = tsm_cause_gain(&gain_ns, &run->w, &run->s, sum);
        tsm_cause_row(t, sum, span);
        if (with_gain)
            tsm_table_number_or_unknown(t, i < GAINS_MAX, gain_ns);
        if (!error)
            error = note_row(run, i, sum->longest_seq);
    }
    tsm_cause_sums_finish(&sums);
    return error;
}

static int make_path(struct critical *run)
{
    struct tsm_table *t = add_table(run, "critical_path", "the critical path");

    return t ? put_causes(run, t, &run->path, span_ns(run), true) : TSM_E_MEMORY;
}

static int make_waits(struct critical *run)
{
    struct tsm_table *t = add_table(run, "waits",
                                    "single waits, and how much earlier all would "
                                    "end without each of them alone");
    struct tsm_wait_costs costs;
    int error = t ? 0 : TSM_E_MEMORY;

    if (error)
        return error;
    error = tsm_wait_costs_make(&costs, &run->w, &run->s);
    if (!error)
        error = tsm_wait_table_make(t, &costs, &run->w, run->v->memory ? run->reader : NULL);
    for (size_t i = 0; i < costs.count && !error; i++)
        error = note_row(run, i, costs.list[i].seq);
    run->wait_count = costs.count;
    run->all_wait_count = costs.all_count;
    tsm_wait_costs_finish(&costs);
    return error;
}

static int make_idle(struct critical *run)
{
    run->alone = calloc(run->w.device_count + 1, sizeof(*run->alone));
    if (!run->alone)
        return tsm_fail(TSM_E_MEMORY, "no memory for tables");
    for (uint32_t i = 0; i < run->w.device_count; i++) {
        struct tsm_critical_path idle;
        struct tsm_table *t;
        char title[TSM_DEVICE_NAME_MAX + 32];
        char name[TSM_DEVICE_NAME_MAX];
        int error = tsm_critical_idle(&idle, &run->w, &run->s, i);

        tsm_format(title, sizeof(title), "what %s waited for while it did nothing",
                   tsm_device_name(name, &run->w.devices[i]) ? name : "the device");
        t = error ? NULL : add_table(run, "idle", strdup(title));
        if (!error)
            error = t ? put_causes(run, t, &idle, span_ns(run), false) : TSM_E_MEMORY;
        if (!error)
            error = tsm_copies_alone_find(&run->alone[i], &run->w, &run->s, i);
        tsm_critical_path_finish(&idle);
        if (error)
            return error;
    }
    return 0;
}

static int make_list(struct critical *run)
{
    struct tsm_table *t = add_table(run, "pieces", "the critical path, piece by piece");

    if (!t)
        return TSM_E_MEMORY;
    tsm_table_column(t, "begin_ns", "begin", TSM_CELL_NS);
    tsm_table_column(t, "end_ns", "end", TSM_CELL_NS);
    tsm_table_column(t, "duration_ns", "time", TSM_CELL_NS);
    tsm_table_column(t, "cause", "cause", TSM_CELL_TEXT);
    tsm_table_column(t, "seq", "record", TSM_CELL_COUNT);
    tsm_table_column(t, "name", "name", TSM_CELL_NAME);
    for (size_t i = run->path.count; i-- > 0;) {
        const struct tsm_critical_piece *piece = &run->path.pieces[i];

        tsm_table_number(t, piece->begin_ns);
        tsm_table_number(t, piece->end_ns);
        tsm_table_number(t, piece->end_ns - piece->begin_ns);
        tsm_table_text(t, tsm_piece_cause(&run->w, piece));
        tsm_table_number(t, tsm_piece_seq(&run->w, piece));
        tsm_table_text(t, tsm_piece_name(&run->w, piece));
    }
    return 0;
}

struct slack_row {
    uint64_t slack_ns, start_ns, end_ns;
    uint32_t command;
};

static int by_slack(const void *a, const void *b)
{
    const struct slack_row *x = a, *y = b;

    if (x->slack_ns != y->slack_ns)
        return x->slack_ns < y->slack_ns ? -1 : 1;
    return x->command < y->command ? -1 : x->command > y->command;
}

/* Lists the commands that do something, by the slack of their part that has least. */
static struct slack_row *slack_rows(size_t *count, const struct critical *run,
                                    const uint64_t *slack)
{
    struct slack_row *list = malloc((run->w.command_count + 1) * sizeof(*list));

    *count = 0;
    for (size_t i = 0; list && i < run->w.command_count; i++) {
        const struct tsm_workload_command *c = &run->w.commands[i];
        struct slack_row row = {
            .slack_ns = UINT64_MAX, .start_ns = UINT64_MAX, .command = (uint32_t)i};

        for (uint32_t k = c->first_part; k < c->first_part + c->part_count; k++) {
            const struct tsm_scheduled_part *p = &run->s.parts[k];

            if (tsm_workload_kind(&run->w, k) == TSM_DEVICE_NONE || !p->is_done)
                continue;
            row.slack_ns = slack[k] < row.slack_ns ? slack[k] : row.slack_ns;
            row.start_ns = p->start_ns < row.start_ns ? p->start_ns : row.start_ns;
            row.end_ns = p->end_ns > row.end_ns ? p->end_ns : row.end_ns;
        }
        if (row.slack_ns != UINT64_MAX)
            list[(*count)++] = row;
    }
    if (list)
        qsort(list, *count, sizeof(*list), by_slack);
    return list;
}

static int make_slack(struct critical *run)
{
    struct tsm_table *t = add_table(run, "slack", "how much later commands could have ended");
    uint64_t *slack = NULL;
    struct slack_row *list;
    size_t count;
    int error = t ? tsm_critical_slack(&slack, &run->w, &run->s) : TSM_E_MEMORY;

    if (error)
        return error;
    list = slack_rows(&count, run, slack);
    free(slack);
    if (!list)
        return tsm_fail(TSM_E_MEMORY, "no memory for tables");
    tsm_slack_columns(t);
    for (size_t i = 0; i < count; i++) {
        const struct tsm_workload_command *c = &run->w.commands[list[i].command];

        tsm_slack_row(t, &(struct tsm_slack_row){.slack_ns = list[i].slack_ns,
                                                 .seq = c->seq,
                                                 .start_ns = list[i].start_ns,
                                                 .end_ns = list[i].end_ns,
                                                 .stream = run->w.streams[c->stream].number,
                                                 .name = c->kernel ? c->kernel : c->schema->name});
    }
    free(list);
    return 0;
}

/* ---- the command ----------------------------------------------------------------------------- */

static bool is_of_device(const struct tsm_table *t)
{
    return !strcmp(t->name, "idle");
}

static const struct tsm_workload_command *longest_copy(const struct critical *run,
                                                       const struct tsm_copies_alone *alone)
{
    return &run->w.commands[run->w.parts[alone->longest].command];
}

static void print_alone(const struct critical *run, const struct tsm_copies_alone *alone)
{
    char total[32], longest[32];

    if (!alone->total_ns)
        return;
    tsm_duration_text(total, sizeof(total), alone->total_ns);
    tsm_duration_text(longest, sizeof(longest), alone->longest_ns);
    printf("copies ran, and no kernel although one was sent: %s; longest %s, record %" PRIu64
           ", %s\n",
           total, longest, longest_copy(run, alone)->seq, longest_copy(run, alone)->schema->name);
}

static void print_in_order(const struct critical *run)
{
    const struct tsm_copies_alone *alone = run->alone;
    char text[32];

    tsm_duration_text(text, sizeof(text), span_ns(run));
    printf("%zu commands in %s%s\n", run->w.command_count, text,
           run->w.is_virtual ? " of virtual time" : ", simulated");
    for (size_t i = 0; i < run->table_count; i++) {
        putchar('\n');
        tsm_table_print(&run->tables[i], top_of(run));
        if (is_of_device(&run->tables[i]))
            print_alone(run, alone++);
    }
}

static int print_text(const struct critical *run)
{
    if (run->w.command_count)
        print_in_order(run);
    if (run->w.command_count && run->loose.loose.command_count)
        putchar('\n');
    if (run->loose.loose.command_count)
        tsm_loose_critical_print(&run->loose);
    return run->v->stacks ? tsm_stacks_print(&run->named, run->reader) : 0;
}

static void print_devices_json(const struct critical *run, struct tsm_json *j)
{
    const struct tsm_copies_alone *alone = run->alone;

    tsm_json_put_open(j, "devices", '[');
    for (size_t i = 0; i < run->table_count; i++) {
        if (!is_of_device(&run->tables[i]))
            continue;
        tsm_json_open(j, '{');
        tsm_table_print_json(&run->tables[i], j, top_of(run));
        tsm_json_put_u64(j, "copies_alone_ns", alone->total_ns);
        tsm_json_put_u64(j, "copies_alone_longest_ns", alone->longest_ns);
        tsm_json_name(j, "copies_alone_longest_seq");
        if (alone->longest_ns)
            tsm_json_u64(j, longest_copy(run, alone)->seq);
        else
            tsm_json_string(j, NULL);
        tsm_json_close(j, '}');
        alone++;
    }
    tsm_json_close(j, ']');
}

static int print_json(const struct critical *run)
{
    struct tsm_json j = {.out = stdout};
    int error;

    tsm_json_begin(&j, "tscritical/1");
    tsm_json_put_string(&j, "trace", sbt_reader_name(run->reader));
    tsm_json_put_bool(&j, "virtual", run->w.is_virtual);
    tsm_json_put_u64(&j, "command_count", run->w.command_count);
    tsm_json_put_u64(&j, "untimed_count", run->w.untimed_count);
    tsm_json_put_u64(&j, "passed_count", run->loose.loose.passed_count);
    tsm_json_put_u64(&j, "begin_ns", run->s.begin_ns);
    tsm_json_put_u64(&j, "span_ns", span_ns(run));
    tsm_json_put_u64(&j, "wait_count", run->all_wait_count);
    for (size_t i = 0; i < run->table_count; i++)
        if (!is_of_device(&run->tables[i]))
            tsm_table_print_json(&run->tables[i], &j, top_of(run));
    print_devices_json(run, &j);
    tsm_loose_critical_print_json(&run->loose, &j);
    error = tsm_stacks_print_json(&run->named, run->reader, &j);
    tsm_json_end(&j);
    return error;
}

/* Simulates commands that their streams keep in order. */
static int simulate(struct critical *run)
{
    int error = tsm_workload_calibrate(&run->w);

    if (!error)
        error = tsm_prediction_make(&run->s, &run->w);
    if (!error)
        error = tsm_critical_path_find(&run->path, &run->w, &run->s);
    if (!error)
        error = make_path(run);
    if (!error)
        error = make_waits(run);
    if (!error)
        error = make_idle(run);
    if (!error && run->v->slack)
        error = make_slack(run);
    if (!error && run->v->list)
        error = make_list(run);
    return error;
}

/* Makes empty tables for a trace without such commands. */
static int make_empty(struct critical *run)
{
    const char *const names[] = {"critical_path", "waits", run->v->slack ? "slack" : NULL,
                                 run->v->list ? "pieces" : NULL};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (names[i] && !add_table(run, names[i], ""))
            return TSM_E_MEMORY;
    return 0;
}

static int make(struct critical *run)
{
    int error = tsm_workload_make(&run->w, run->reader);

    if (!error)
        error = run->w.command_count ? simulate(run) : make_empty(run);
    if (!error && run->w.passed_count) /* of other APIs */
        error = tsm_loose_critical_make(
            &run->loose, run->reader, run->w.command_count,
            &(struct tsm_loose_critical_options){top_of(run), run->v->list, run->v->slack},
            &run->named);
    if (!error && !run->w.command_count && !run->loose.loose.command_count)
        error = tsm_fail(TSM_E_NOT_FOUND, "%s: no commands of CUDA, Vulkan, HSA or DRM",
                         tsm_clean(sbt_reader_name(run->reader)));
    return error;
}

static void finish(struct critical *run)
{
    for (size_t i = 0; i < run->table_count; i++) {
        if (is_of_device(&run->tables[i]))
            free((void *)(uintptr_t)run->tables[i].title);
        tsm_table_finish(&run->tables[i]);
    }
    free(run->tables);
    free(run->alone);
    tsm_named_records_finish(&run->named);
    tsm_critical_path_finish(&run->path);
    tsm_prediction_finish(&run->s);
    tsm_workload_finish(&run->w);
    tsm_loose_critical_finish(&run->loose);
}

/* Notes what is not known of commands that are not simulated. */
static void note_loose(const struct critical *run)
{
    const char *name = tsm_clean(sbt_reader_name(run->reader));

    tsm_loose_critical_note(&run->loose, run->reader);
    if (!run->loose.loose.command_count)
        return;
    if (run->v->memory)
        tsm_note("%s: commands of Vulkan, HSA and DRM are not simulated: --memory is for those of "
                 "CUDA",
                 name);
    if (run->w.is_virtual && run->w.command_count)
        tsm_note("%s: commands of CUDA are in virtual time, the others are not: their times cannot "
                 "be compared",
                 name);
}

static void note(struct critical *run)
{
    run->w.passed_count = 0;
    tsm_workload_note(&run->w, run->reader);
    note_loose(run);
    if (run->wait_count < run->all_wait_count)
        tsm_note("%s: %zu of %zu waits were left out, the longest ones, to find their gain",
                 tsm_clean(sbt_reader_name(run->reader)), run->wait_count, run->all_wait_count);
}

static int run_critical(const struct tsm_command *command, void *values,
                        const struct tsm_words *words)
{
    struct critical run = {.v = values};
    size_t noted = 0;
    int error;

    run.reader = tsm_trace_open(words->words[0]);
    if (!run.reader)
        return TSM_EXIT_ERROR;
    tsm_trace_show_progress(run.reader, "reading commands");
    error = make(&run);
    tsm_trace_show_progress(run.reader, NULL);
    if (!error)
        error = run.v->json ? print_json(&run) : print_text(&run);
    if (!error)
        note(&run);
    tsm_trace_note_damage(run.reader, &noted);
    finish(&run);
    sbt_reader_destroy(run.reader);
    return error ? tsm_complain_error() : TSM_EXIT_OK;
}

const struct tsm_command tsm_command_critical = {
    .name = "critical",
    .summary = "show what bounds the time of all, and what devices waited for",
    .synopsis = "[OPTION]... TRACE",
    .description =
        "Finds the critical path of the recorded schedule: the chain of commands, calls of the "
        "host and waits that leads from the last end back to the begin. It covers all the time; "
        "its pieces are summed up by cause, and for the greatest ones the gain is computed: how "
        "much earlier all would end if their work took no time, or their calls returned at once. "
        "The same is done for the times in which a device did nothing, and for single waits, of "
        "the host and of streams for events: the longest ones are left out in turn, one at a "
        "time.\n\n"
        "Times of CUDA's commands are those of 'tracesmith whatif', which says how near to the "
        "recording they are.\n\n"
        "Commands of Vulkan, HSA and DRM are not simulated. Their times are those that were "
        "recorded (tsrecord --gpu-time=1; of DRM those of the kernel's rings, --kernel), and what "
        "they waited for is what 'tracesmith graph' says. They have a path of their own, without "
        "gains, and slack. DRM's are left out where the trace has others, whose drivers send them.",
    .examples = "tracesmith critical trace.sbt\n"
                "tracesmith critical --memory --stacks trace.sbt\n"
                "tracesmith critical --list trace.sbt\n"
                "tracesmith critical --slack --top=50 trace.sbt\n",
    .exit_status = "0|done\n"
                   "2|the trace cannot be read, or has no commands of CUDA, Vulkan, HSA or DRM",
    .options = options,
    .values_size = sizeof(struct critical_values),
    .operand = "TRACE",
    .word_min = 1,
    .word_max = 1,
    .run = run_critical,
};
