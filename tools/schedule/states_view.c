/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/schedule/states_view.h"

#include "base/text.h"
#include "tools/schedule/state_lists.h"
#include "tools/terminal.h"
#include "tools/text/table.h"

#include <inttypes.h>

#define ROWS_MAX 10000u

static void put_seq(struct tsm_table *t, const struct tsm_state_lists *v, bool is_loose,
                    uint32_t command)
{
    tsm_table_number_or_unknown(
        t, command != TSM_WORKLOAD_NONE,
        command != TSM_WORKLOAD_NONE ? tsm_state_lists_seq(v, is_loose, command) : 0);
}

static void put_interval(struct tsm_table *t, const struct tsm_state_lists *v, bool is_loose,
                         const struct tsm_state_interval *i)
{
    char text[TSM_DEVICE_NAME_MAX + 32];

    tsm_state_lists_subject(v, is_loose, i, text, sizeof(text));
    tsm_table_text(t, text);
    tsm_table_text(t, tsm_state_name(i->state));
    tsm_table_number(t, i->begin_ns);
    tsm_table_number(t, i->end_ns);
    tsm_table_number(t, i->end_ns - i->begin_ns);
    tsm_table_text(t, i->reason ? tsm_state_reason_name(i->reason) : NULL);
    put_seq(t, v, is_loose, i->by);
    tsm_table_number_or_unknown(
        t, i->step != TSM_WORKLOAD_NONE,
        i->step != TSM_WORKLOAD_NONE ? tsm_state_lists_step(v, is_loose, i->step) : 0);
    put_seq(t, v, is_loose, i->command);
    tsm_table_text(
        t, i->command != TSM_WORKLOAD_NONE ? tsm_state_lists_name(v, is_loose, i->command) : NULL);
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

static void put_findings(struct tsm_table *t, const struct tsm_state_lists *v, bool is_loose)
{
    const struct tsm_states *states = tsm_state_lists_of(v, is_loose);

    for (size_t i = 0; i < states->finding_count; i++) {
        put_seq(t, v, is_loose, states->findings[i].command);
        put_seq(t, v, is_loose, states->findings[i].before);
        tsm_table_number(t, states->findings[i].by_ns);
    }
}

static void make_findings(struct tsm_table *t, const struct tsm_state_lists *v)
{
    tsm_table_column(t, "seq", "record", TSM_CELL_COUNT);
    tsm_table_column(t, "before", "before the end of", TSM_CELL_COUNT);
    tsm_table_column(t, "by_ns", "by", TSM_CELL_NS);
    put_findings(t, v, false);
    put_findings(t, v, true);
}

static void put_failures(struct tsm_table *t, const struct tsm_state_lists *v, bool is_loose)
{
    const struct tsm_failures *failures = is_loose ? &v->loose.failures : &v->outcomes.failures;

    for (size_t i = 0; i < failures->count; i++) {
        const struct tsm_failure *f = &failures->list[i];

        tsm_table_number(t, f->seq);
        tsm_table_text(t, f->schema->name);
        tsm_table_text(t, f->result);
        tsm_table_number(t, f->told_ns);
        tsm_table_number(t, f->count);
        put_seq(t, v, is_loose, f->count == 1 ? f->first : TSM_WORKLOAD_NONE);
    }
}

/* Lists calls that said first that their context had failed, and the command if it can only be one.
 */
static void make_failures(struct tsm_table *t, const struct tsm_state_lists *v)
{
    tsm_table_column(t, "seq", "record", TSM_CELL_COUNT);
    tsm_table_column(t, "call", "call", TSM_CELL_TEXT);
    tsm_table_column(t, "result", "result", TSM_CELL_TEXT);
    tsm_table_column(t, "told_ns", "known at", TSM_CELL_NS);
    tsm_table_column(t, "candidates", "commands it may be", TSM_CELL_COUNT);
    tsm_table_column(t, "command", "it is", TSM_CELL_COUNT);
    put_failures(t, v, false);
    put_failures(t, v, true);
}

static void put_rejected(struct tsm_table *t, const struct tsm_failures *failures)
{
    char number[24];

    for (size_t i = 0; i < failures->rejected_count; i++) {
        const struct tsm_rejected *r = &failures->rejected[i];

        tsm_format(number, sizeof(number), "%" PRId64, r->number);
        tsm_table_number(t, r->seq);
        tsm_table_number(t, r->stream);
        tsm_table_number(t, r->call_ns);
        tsm_table_text(t, r->schema->name);
        tsm_table_text(t, r->result ? r->result : number);
    }
}

static void make_rejected(struct tsm_table *t, const struct tsm_state_lists *v)
{
    tsm_table_column(t, "seq", "record", TSM_CELL_COUNT);
    tsm_table_column(t, "stream", "stream", TSM_CELL_COUNT);
    tsm_table_column(t, "call_ns", "at", TSM_CELL_NS);
    tsm_table_column(t, "call", "call", TSM_CELL_TEXT);
    tsm_table_column(t, "result", "result", TSM_CELL_TEXT);
    put_rejected(t, &v->outcomes.failures);
    put_rejected(t, &v->loose.failures);
}

static const char *const kinds[TSM_STATE_OF_COUNT] = {"commands", "streams", "engines", "devices"};

/* Adds rows up to what people read; returns how many are left. */
static size_t put_intervals(struct tsm_table *t, const struct tsm_state_lists *v, bool is_loose,
                            enum tsm_state_of of)
{
    const struct tsm_states *states = tsm_state_lists_of(v, is_loose);
    size_t left = 0;

    for (size_t i = 0; i < states->count; i++) {
        if (states->list[i].of != of)
            continue;
        if (t->row_count < ROWS_MAX)
            put_interval(t, v, is_loose, &states->list[i]);
        else
            left++;
    }
    return left;
}

/* A table needs all of its rows in memory: for people the first ones of each kind. */
static void print_table(const struct tsm_state_lists *v, enum tsm_state_of of)
{
    struct tsm_table t = {.name = kinds[of], .title = kinds[of]};
    size_t left;

    begin_table(&t);
    left = put_intervals(&t, v, false, of);
    left += put_intervals(&t, v, true, of);
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

static void json_interval(struct tsm_json *j, const struct tsm_state_lists *v, bool is_loose,
                          const struct tsm_state_interval *i)
{
    const bool has_command = i->command != TSM_WORKLOAD_NONE, has_by = i->by != TSM_WORKLOAD_NONE,
               has_step = i->step != TSM_WORKLOAD_NONE;
    char text[TSM_DEVICE_NAME_MAX + 32];

    tsm_state_lists_subject(v, is_loose, i, text, sizeof(text));
    tsm_json_open(j, '{');
    tsm_json_put_string(j, "of", text);
    tsm_json_put_string(j, "state", tsm_state_name(i->state));
    tsm_json_put_u64(j, "begin_ns", i->begin_ns);
    tsm_json_put_u64(j, "end_ns", i->end_ns);
    tsm_json_put_u64(j, "duration_ns", i->end_ns - i->begin_ns);
    tsm_json_put_string(j, "reason", i->reason ? tsm_state_reason_name(i->reason) : NULL);
    json_seq(j, "by", has_by, has_by ? tsm_state_lists_seq(v, is_loose, i->by) : 0);
    json_seq(j, "until", has_step, has_step ? tsm_state_lists_step(v, is_loose, i->step) : 0);
    json_seq(j, "seq", has_command, has_command ? tsm_state_lists_seq(v, is_loose, i->command) : 0);
    tsm_json_put_string(j, "name",
                        has_command ? tsm_state_lists_name(v, is_loose, i->command) : NULL);
    tsm_json_close(j, '}');
}

static void json_intervals(struct tsm_json *j, const struct tsm_state_lists *v, bool is_loose,
                           enum tsm_state_of of)
{
    const struct tsm_states *states = tsm_state_lists_of(v, is_loose);

    for (size_t i = 0; i < states->count; i++)
        if (states->list[i].of == of)
            json_interval(j, v, is_loose, &states->list[i]);
}

static void json_kind(struct tsm_json *j, const struct tsm_state_lists *v, enum tsm_state_of of)
{
    tsm_json_put_open(j, kinds[of], '[');
    json_intervals(j, v, false, of);
    json_intervals(j, v, true, of);
    tsm_json_close(j, ']');
}

static void print(const struct tsm_state_lists *v, bool json)
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
        tsm_json_put_u64(&j, "begin_ns", v->begin_ns);
        tsm_json_put_u64(&j, "end_ns", v->end_ns);
        tsm_json_put_u64(&j, "passed_count", v->loose.passed_count);
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

int tsm_states_view(struct sbt_reader *reader, bool json)
{
    struct tsm_state_lists v = {.reader = reader};
    const int error = tsm_state_lists_make(&v);

    if (!error)
        print(&v, json);
    if (!error)
        tsm_state_lists_note(&v);
    tsm_state_lists_finish(&v);
    return error ? tsm_complain_error() : TSM_EXIT_OK;
}
