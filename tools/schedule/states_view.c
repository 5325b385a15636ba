/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/schedule/states_view.h"

#include "analysis/model/work.h"
#include "analysis/schedule/states.h"
#include "base/text.h"
#include "tools/schedule/load.h"
#include "tools/terminal.h"
#include "tools/text/table.h"
#include "tracesmith/error.h"

#include <inttypes.h>

#define ROWS_MAX 10000u

struct view {
    struct sbt_reader *reader;
    struct tsm_workload w;
    struct tsm_prediction s; /* at the recorded times */
    struct tsm_outcomes outcomes;
    struct tsm_states states;
};

static const char *name_of(const struct tsm_workload_command *c)
{
    return c->kernel ? c->kernel : c->schema->name;
}

/* "stream 2", "command 12", "cuda 0 kernels", "cuda 0". */
static void subject(const struct view *v, const struct tsm_state_interval *i, char *out,
                    size_t size)
{
    char device[TSM_DEVICE_NAME_MAX];
    const char *name = tsm_device_name(device, &v->w.devices[i->device]);

    switch (i->of) {
    case TSM_STATE_OF_COMMAND:
        tsm_format(out, size, "command %" PRIu64, v->w.commands[i->place].seq);
        return;
    case TSM_STATE_OF_STREAM:
        tsm_format(out, size, "stream %u", v->w.streams[i->place].number);
        return;
    case TSM_STATE_OF_ENGINE:
        tsm_format(out, size, "%s %s", name ? name : "device", tsm_engine_name(i->place));
        return;
    default:
        tsm_format(out, size, "%s", name ? name : "device");
    }
}

static void put_seq(struct tsm_table *t, const struct view *v, uint32_t command)
{
    tsm_table_number_or_unknown(t, command != TSM_WORKLOAD_NONE,
                                command != TSM_WORKLOAD_NONE ? v->w.commands[command].seq : 0);
}

static void put_interval(struct tsm_table *t, const struct view *v,
                         const struct tsm_state_interval *i)
{
    char text[TSM_DEVICE_NAME_MAX + 32];

    subject(v, i, text, sizeof(text));
    tsm_table_text(t, text);
    tsm_table_text(t, tsm_state_name(i->state));
    tsm_table_number(t, i->begin_ns);
    tsm_table_number(t, i->end_ns);
    tsm_table_number(t, i->end_ns - i->begin_ns);
    tsm_table_text(t, i->reason ? tsm_state_reason_name(i->reason) : NULL);
    put_seq(t, v, i->by);
    tsm_table_number_or_unknown(t, i->step != TSM_WORKLOAD_NONE,
                                i->step != TSM_WORKLOAD_NONE ? v->w.steps[i->step].seq : 0);
    put_seq(t, v, i->command);
    tsm_table_text(t, i->command != TSM_WORKLOAD_NONE ? name_of(&v->w.commands[i->command]) : NULL);
}

static void begin_table(struct tsm_table *t)
{
    tsm_table_column(t, "of", "of", TSM_CELL_TEXT);
    tsm_table_column(t, "state", "state", TSM_CELL_TEXT);
    tsm_table_column(t, "begin_ns", "begin", TSM_CELL_NS);
    tsm_table_column(t, "end_ns", "end", TSM_CELL_NS);
    tsm_table_column(t, "duration_ns", "time", TSM_CELL_NS);
    tsm_table_column(t, "reason", "reason", TSM_CELL_TEXT);
    tsm_table_column(t, "by", "by record", TSM_CELL_COUNT);
    tsm_table_column(t, "until", "until call", TSM_CELL_COUNT);
    tsm_table_column(t, "seq", "record", TSM_CELL_COUNT);
    tsm_table_column(t, "name", "name", TSM_CELL_NAME);
}

static void make_findings(struct tsm_table *t, const struct view *v)
{
    tsm_table_column(t, "seq", "record", TSM_CELL_COUNT);
    tsm_table_column(t, "before", "before the end of", TSM_CELL_COUNT);
    tsm_table_column(t, "by_ns", "by", TSM_CELL_NS);
    for (size_t i = 0; i < v->states.finding_count; i++) {
        put_seq(t, v, v->states.findings[i].command);
        put_seq(t, v, v->states.findings[i].before);
        tsm_table_number(t, v->states.findings[i].by_ns);
    }
}

/* Lists calls that said first that their context had failed, and the command if it can only be one.
 */
static void make_failures(struct tsm_table *t, const struct view *v)
{
    tsm_table_column(t, "seq", "record", TSM_CELL_COUNT);
    tsm_table_column(t, "call", "call", TSM_CELL_TEXT);
    tsm_table_column(t, "result", "result", TSM_CELL_TEXT);
    tsm_table_column(t, "told_ns", "known at", TSM_CELL_NS);
    tsm_table_column(t, "candidates", "commands it may be", TSM_CELL_COUNT);
    tsm_table_column(t, "command", "it is", TSM_CELL_COUNT);
    for (size_t i = 0; i < v->outcomes.failure_count; i++) {
        const struct tsm_failure *f = &v->outcomes.failures[i];

        tsm_table_number(t, f->seq);
        tsm_table_text(t, f->schema->name);
        tsm_table_text(t, f->result);
        tsm_table_number(t, f->told_ns);
        tsm_table_number(t, f->count);
        put_seq(t, v, f->count == 1 ? f->first : TSM_WORKLOAD_NONE);
    }
}

static void make_rejected(struct tsm_table *t, const struct view *v)
{
    char number[24];

    tsm_table_column(t, "seq", "record", TSM_CELL_COUNT);
    tsm_table_column(t, "stream", "stream", TSM_CELL_COUNT);
    tsm_table_column(t, "call_ns", "at", TSM_CELL_NS);
    tsm_table_column(t, "call", "call", TSM_CELL_TEXT);
    tsm_table_column(t, "result", "result", TSM_CELL_TEXT);
    for (size_t i = 0; i < v->outcomes.rejected_count; i++) {
        const struct tsm_rejected *r = &v->outcomes.rejected[i];

        tsm_format(number, sizeof(number), "%" PRId64, r->number);
        tsm_table_number(t, r->seq);
        tsm_table_number(t, r->stream);
        tsm_table_number(t, r->call_ns);
        tsm_table_text(t, r->schema->name);
        tsm_table_text(t, r->result ? r->result : number);
    }
}

static const char *const kinds[TSM_STATE_OF_COUNT] = {"commands", "streams", "engines", "devices"};

/* A table needs all of its rows in memory: for people the first ones of each kind. */
static void print_table(const struct view *v, enum tsm_state_of of)
{
    struct tsm_table t = {.name = kinds[of], .title = kinds[of]};
    size_t left = 0;

    begin_table(&t);
    for (size_t i = 0; i < v->states.count; i++) {
        if (v->states.list[i].of != of)
            continue;
        if (t.row_count < ROWS_MAX)
            put_interval(&t, v, &v->states.list[i]);
        else
            left++;
    }
    if (t.row_count) {
        if (of)
            putchar('\n');
        tsm_table_print(&t, 0);
        if (left)
            printf("  ... %zu more; --json shows all\n", left);
    }
    tsm_table_finish(&t);
}

static void json_seq(struct tsm_json *j, const char *name, bool is_known, uint64_t seq)
{
    tsm_json_name(j, name);
    if (is_known)
        tsm_json_u64(j, seq);
    else
        tsm_json_string(j, NULL);
}

static void json_interval(struct tsm_json *j, const struct view *v,
                          const struct tsm_state_interval *i)
{
    const struct tsm_workload_command *commands = v->w.commands;
    const bool has_command = i->command != TSM_WORKLOAD_NONE, has_by = i->by != TSM_WORKLOAD_NONE,
               has_step = i->step != TSM_WORKLOAD_NONE;
    char text[TSM_DEVICE_NAME_MAX + 32];

    subject(v, i, text, sizeof(text));
    tsm_json_open(j, '{');
    tsm_json_put_string(j, "of", text);
    tsm_json_put_string(j, "state", tsm_state_name(i->state));
    tsm_json_put_u64(j, "begin_ns", i->begin_ns);
    tsm_json_put_u64(j, "end_ns", i->end_ns);
    tsm_json_put_u64(j, "duration_ns", i->end_ns - i->begin_ns);
    tsm_json_put_string(j, "reason", i->reason ? tsm_state_reason_name(i->reason) : NULL);
    json_seq(j, "by", has_by, has_by ? commands[i->by].seq : 0);
    json_seq(j, "until", has_step, has_step ? v->w.steps[i->step].seq : 0);
    json_seq(j, "seq", has_command, has_command ? commands[i->command].seq : 0);
    tsm_json_put_string(j, "name", has_command ? name_of(&commands[i->command]) : NULL);
    tsm_json_close(j, '}');
}

static void json_kind(struct tsm_json *j, const struct view *v, enum tsm_state_of of)
{
    tsm_json_put_open(j, kinds[of], '[');
    for (size_t i = 0; i < v->states.count; i++)
        if (v->states.list[i].of == of)
            json_interval(j, v, &v->states.list[i]);
    tsm_json_close(j, ']');
}

static void print(const struct view *v, bool json)
{
    struct tsm_table tables[] = {
        {.name = "failures", .title = "failures"},
        {.name = "rejected", .title = "never sent: their calls failed"},
        {.name = "findings", .title = "began too early"},
    };
    const size_t count = sizeof(tables) / sizeof(tables[0]);
    struct tsm_json j = {.out = stdout};

    make_failures(&tables[0], v);
    make_rejected(&tables[1], v);
    make_findings(&tables[2], v);
    if (json) {
        tsm_json_begin(&j, "tsstates/1");
        tsm_json_put_string(&j, "trace", sbt_reader_name(v->reader));
        tsm_json_put_bool(&j, "virtual", v->w.is_virtual);
        tsm_json_put_u64(&j, "begin_ns", v->s.begin_ns);
        tsm_json_put_u64(&j, "end_ns", v->s.end_ns);
        tsm_json_put_u64(&j, "passed_count", v->w.passed_count);
        for (int of = 0; of < TSM_STATE_OF_COUNT; of++)
            json_kind(&j, v, (enum tsm_state_of)of);
        for (size_t i = 0; i < count; i++)
            tsm_table_print_json(&tables[i], &j, 0);
        tsm_json_end(&j);
    } else {
        for (int of = 0; of < TSM_STATE_OF_COUNT; of++)
            print_table(v, (enum tsm_state_of)of);
        for (size_t i = 0; i < count; i++)
            if (tables[i].row_count) {
                putchar('\n');
                tsm_table_print(&tables[i], 0);
            }
    }
    for (size_t i = 0; i < count; i++)
        tsm_table_finish(&tables[i]);
}

/* Leaves commands without an end out of those for which a time was to be had. */
static void count_timeless(struct view *v)
{
    for (size_t i = 0; i < v->w.command_count; i++)
        if (v->outcomes.list[i].outcome != TSM_OUTCOME_FINISHED && v->w.untimed_count &&
            tsm_work_of_type(v->w.commands[i].schema).work != TSM_WORK_ORDER)
            v->w.untimed_count--;
}

static int make(struct view *v)
{
    int error = tsm_workload_load(&v->w, v->reader);

    if (!error)
        error = tsm_prediction_learn(&v->s, &v->w);
    if (!error)
        error = tsm_outcomes_make(&v->outcomes, &v->w, v->reader);
    if (!error && !v->w.is_virtual)
        count_timeless(v);
    /* Commands that have not finished last until the recording ends. */
    if (!error && v->outcomes.unfinished_count && !v->w.is_virtual &&
        v->s.end_ns < v->outcomes.last_ns)
        v->s.end_ns = v->outcomes.last_ns;
    return error ? error : tsm_states_make(&v->states, &v->w, &v->s, &v->outcomes);
}

int tsm_states_view(struct sbt_reader *reader, bool json)
{
    struct view v = {.reader = reader};
    const int error = make(&v);

    if (!error)
        print(&v, json);
    if (!error)
        tsm_workload_note(&v.w, reader);
    tsm_states_finish(&v.states);
    tsm_outcomes_finish(&v.outcomes);
    tsm_prediction_finish(&v.s);
    tsm_workload_finish(&v.w);
    return error ? tsm_complain_error() : TSM_EXIT_OK;
}
