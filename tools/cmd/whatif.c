/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/command.h"

#include "analysis/schedule/change.h"
#include "analysis/schedule/order.h"
#include "analysis/schedule/spread.h"
#include "base/array.h"
#include "base/text.h"
#include "replay/schedule.h"
#include "tools/schedule/causes.h"
#include "tools/schedule/load.h"
#include "tools/selection.h"
#include "tools/terminal.h"
#include "tools/trace_open.h"
#include "tracesmith/error.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define TOP        10u
#define CHANGE_MAX 64u

/* Texts of an option that may come more than once. */
struct change_list {
    const char *texts[CHANGE_MAX];
    size_t count;
};

struct whatif_values {
    struct change_list waits, kernels, priorities, machine;
    const char *schedule;
    uint64_t streams;
    bool all_waits, redundant, fuse, order, times, json;
};

static bool take_text(void *field, const char *text)
{
    struct change_list *list = field;

    if (list->count == CHANGE_MAX)
        return tsm_fail(TSM_E_LIMIT, "no more than %u times, please", CHANGE_MAX) == 0;
    list->texts[list->count++] = text;
    return *text != 0;
}

static bool take_count(void *field, const char *text)
{
    const char *at = text;

    return tsm_selection_take_number(field, &at) && !*at && *(uint64_t *)field &&
           *(uint64_t *)field <= TSM_SPREAD_STREAMS_MAX;
}

static const struct tsm_option options[] = {
    {.name = "drop-wait",
     .letter = 'w',
     .type = TSM_OPTION_PARSED,
     .offset = TSM_FIELD(whatif_values, waits),
     .argument = "SEQ",
     .parse = take_text,
     .help = "Leave this wait out: of the host, or of a stream for an event, by the number of its "
             "record. May come more than once."},
    {.name = "drop-all-waits",
     .type = TSM_OPTION_FLAG,
     .offset = TSM_FIELD(whatif_values, all_waits),
     .help = "Leave all waits of the host out."},
    {.name = "drop-redundant",
     .type = TSM_OPTION_FLAG,
     .offset = TSM_FIELD(whatif_values, redundant),
     .help = "Leave out waits of streams for events that are known to be over then."},
    {.name = "kernel",
     .letter = 'k',
     .type = TSM_OPTION_PARSED,
     .offset = TSM_FIELD(whatif_values, kernels),
     .argument = "NAME=FACTOR",
     .parse = take_text,
     .help = "Let kernels of this name, which may have * and ?, take FACTOR of their time, 0.5 or "
             "2. May come more than once."},
    {.name = "priority",
     .letter = 'p',
     .type = TSM_OPTION_PARSED,
     .offset = TSM_FIELD(whatif_values, priorities),
     .argument = "STREAM=N",
     .parse = take_text,
     .help = "Give the stream this priority: of commands that are ready at once that with the "
             "lower number goes first. May come more than once."},
    {.name = "machine",
     .letter = 'm',
     .type = TSM_OPTION_PARSED,
     .offset = TSM_FIELD(whatif_values, machine),
     .argument = "KEY=VALUE,...",
     .parse = take_text,
     .help = "Change the machine: the keys of TS_EMU_MACHINE, docs/emu.md; for example "
             "block_slots=128,host_to_device_engines=2."},
    {.name = "fuse",
     .type = TSM_OPTION_FLAG,
     .offset = TSM_FIELD(whatif_values, fuse),
     .help = "Send what a thread sent to one stream without anything in between by one call, as a "
             "graph's launch does."},
    {.name = "order",
     .type = TSM_OPTION_FLAG,
     .offset = TSM_FIELD(whatif_values, order),
     .help = "Search for another order in which the same calls could be sent, so that all ends "
             "earlier: the device keeps its order wherever that is known to matter, and nothing "
             "passes a wait of the host. With the other changes, after them; not with --fuse."},
    {.name = "streams",
     .type = TSM_OPTION_PARSED,
     .offset = TSM_FIELD(whatif_values, streams),
     .argument = "K",
     .parse = take_count,
     .help = "Spread the commands of each context over K streams, 1 to 64: each, in its turn, goes "
             "where it can begin first. Only what they access puts them into an order, by waits "
             "for events. After the other changes; not with --order, --fuse and --priority."},
    {.name = "schedule-out",
     .letter = 'o',
     .type = TSM_OPTION_TEXT,
     .offset = TSM_FIELD(whatif_values, schedule),
     .argument = "FILE",
     .help = "Write the changed schedule, for tsreplay --schedule, which carries it out and says "
             "whether the same bytes come out."},
    {.name = "times",
     .type = TSM_OPTION_FLAG,
     .offset = TSM_FIELD(whatif_values, times),
     .help = "List when each command would begin and end, and the waits of --streams."},
    {.name = "json",
     .type = TSM_OPTION_FLAG,
     .offset = TSM_FIELD(whatif_values, json),
     .help = "One JSON object, schema \"tswhatif/1\"."},
    {0},
};

struct whatif {
    const struct whatif_values *v;
    struct sbt_reader *reader;
    struct tsm_workload w;
    struct tsm_prediction before, after; /* simulated, without and with the changes */
    uint64_t recorded_ns;                /* from the first call to the last end */
    uint64_t off_count;                  /* commands that the simulation has at other times */
    size_t change_count;
    struct tsm_order_search order; /* of --order */
    struct tsm_spread spread;      /* of --streams */
};

/* ---- changes --------------------------------------------------------------------------------- */

/* Reads "0.5", "2", "1.25" as thousandths. */
static bool read_factor(uint64_t *out, const char *text)
{
    char *end;
    const double factor = strtod(text, &end);

    if (end == text || *end || !(factor >= 0 && factor <= 1e6))
        return false;
    *out = (uint64_t)(factor * 1000 + 0.5);
    return true;
}

static int scale(struct whatif *run, const char *text)
{
    const char *equals = strrchr(text, '=');
    char name[256];
    uint64_t permille;

    if (!equals || equals == text || (size_t)(equals - text) >= sizeof(name) ||
        !read_factor(&permille, equals + 1))
        return tsm_fail(TSM_E_ARGUMENT, "--kernel=%s is not NAME=FACTOR, such as scale=0.5", text);
    memcpy(name, text, (size_t)(equals - text));
    name[equals - text] = 0;
    if (!tsm_change_scale(&run->w, name, permille))
        return tsm_fail(TSM_E_NOT_FOUND, "no kernel is called %s; 'tracesmith stats' lists them",
                        name);
    return 0;
}

static int set_priority(struct whatif *run, const char *text)
{
    const char *at = text;
    uint64_t stream;
    char *end;
    long priority;

    if (!tsm_selection_take_number(&stream, &at) || *at++ != '=' || stream >= SBT_STREAM_NONE)
        return tsm_fail(TSM_E_ARGUMENT, "--priority=%s is not STREAM=N, such as 2=-1", text);
    priority = strtol(at, &end, 10);
    if (end == at || *end || priority < -1000000 || priority > 1000000)
        return tsm_fail(TSM_E_ARGUMENT, "--priority=%s is not STREAM=N, such as 2=-1", text);
    return tsm_change_priority(&run->w, (uint32_t)stream, (int32_t)priority);
}

static int drop(struct whatif *run, const char *text)
{
    const char *at = text;
    uint64_t seq;

    if (!tsm_selection_take_number(&seq, &at) || *at)
        return tsm_fail(TSM_E_ARGUMENT, "--drop-wait=%s is not the number of a record", text);
    return tsm_change_drop(&run->w, seq);
}

/* Without virtual time commands take what they took: nothing but latency can be asked for. */
static int set_machine(struct whatif *run, const char *text)
{
    char why[TSM_MACHINE_WHY];

    if (!run->w.is_virtual)
        for (const char *at = text; *at; at += strcspn(at, ","), at += *at == ',')
            if (strncmp(at, "launch_latency_ns=", 18) != 0 &&
                strncmp(at, "host_to_device_engines=", 23) != 0 &&
                strncmp(at, "device_to_host_engines=", 23) != 0)
                return tsm_fail(TSM_E_UNSUPPORTED,
                                "--machine=%s: of a trace that was not recorded in virtual time "
                                "only launch_latency_ns and the numbers of engines can be changed",
                                text);
    if (tsm_machine_parse(&run->w.machine, text, why))
        return tsm_fail(TSM_E_ARGUMENT, "--machine: %s", why);
    return 0;
}

static int each(struct whatif *run, const struct change_list *list,
                int (*change)(struct whatif *run, const char *text))
{
    int error = 0;

    for (size_t i = 0; i < list->count && !error; i++) {
        error = change(run, list->texts[i]);
        run->change_count++;
    }
    return error;
}

static int apply(struct whatif *run)
{
    const struct whatif_values *v = run->v;
    int error = each(run, &v->waits, drop);

    if (!error)
        error = each(run, &v->kernels, scale);
    if (!error)
        error = each(run, &v->priorities, set_priority);
    if (!error)
        error = each(run, &v->machine, set_machine);
    if (v->all_waits && !error)
        tsm_note("--drop-all-waits: %zu waits left out", tsm_change_drop_all(&run->w));
    if (v->redundant && !error)
        tsm_note("--drop-redundant: %zu waits left out", tsm_change_drop_redundant(&run->w));
    if (v->fuse && !error)
        tsm_note("--fuse: %zu calls saved", tsm_change_fuse(&run->w));
    run->change_count += v->all_waits + v->redundant + v->fuse;
    return error;
}

/* Searches for another order, as the options ask. */
static int reorder(struct whatif *run)
{
    struct tsm_command_accesses accesses;
    int error;

    if (run->v->fuse)
        return tsm_fail(TSM_E_ARGUMENT, "--order cannot go with --fuse: a call that sends several "
                                        "commands has no order in itself");
    error = tsm_command_accesses_collect(&accesses, run->reader);
    if (!error)
        error = tsm_order_search(&run->order, &run->w, &accesses);
    tsm_command_accesses_finish(&accesses);
    if (error)
        return error;
    run->change_count++;
    if (run->order.moved_count)
        tsm_note("--order: %zu of %zu calls are made in another place; %zu orders were tried",
                 run->order.moved_count, run->w.step_count, run->order.tried_count);
    else
        tsm_note("--order: no order is better; %zu of %zu calls could change places, %zu orders "
                 "were tried",
                 run->order.free_count, run->w.step_count, run->order.tried_count);
    return 0;
}

/* Returns an option that --streams cannot go with, and why not; NULL: none is there. */
static const char *beside_streams(const struct whatif_values *v)
{
    return v->order              ? "order: it sends them in the order in which they were sent"
           : v->fuse             ? "fuse: one call sends to one stream"
           : v->priorities.count ? "priority: the streams that have one are no more"
                                 : NULL;
}

/* Spreads commands over other streams, as the options ask. */
static int spread(struct whatif *run)
{
    const struct tsm_spread *found = &run->spread;
    const char *other = beside_streams(run->v);
    struct tsm_command_accesses accesses = {0};
    struct tsm_prediction s = {0};
    int error = other ? tsm_fail(TSM_E_ARGUMENT, "--streams cannot go with --%s", other) : 0;

    if (!error)
        error = tsm_prediction_make(&s, &run->w);
    if (!error)
        error = tsm_command_accesses_collect(&accesses, run->reader);
    if (!error)
        error = tsm_spread(&run->spread, &run->w, &accesses, &s, (uint32_t)run->v->streams);
    tsm_command_accesses_finish(&accesses);
    tsm_prediction_finish(&s);
    run->change_count++;
    if (!error)
        tsm_note("--streams: %zu waits for %zu events: %zu because calls say so, %zu for memory "
                 "that was seen to be accessed, %zu for memory that one may reach, %zu for what "
                 "may access anything",
                 found->wait_count, found->event_count, found->kinds[TSM_ACCESS_DECLARED],
                 found->kinds[TSM_ACCESS_OBSERVED], found->kinds[TSM_ACCESS_REACHABLE],
                 found->kinds[TSM_ACCESS_UNKNOWN]);
    return error;
}

/* ---- the recording --------------------------------------------------------------------------- */

/* Times of a command in a schedule: of its parts that do something, else of its marks. */
static bool times_of(const struct tsm_workload *w, const struct tsm_prediction *s,
                     const struct tsm_workload_command *c, uint64_t *start_ns, uint64_t *end_ns)
{
    bool is_any = false;

    for (int marks = 0; marks < 2 && !is_any; marks++)
        for (uint32_t k = c->first_part; k < c->first_part + c->part_count; k++) {
            const struct tsm_scheduled_part *p = &s->parts[k];

            if (!p->is_done || (tsm_workload_kind(w, k) == TSM_DEVICE_NONE) != (marks == 1))
                continue;
            if (!is_any || p->start_ns < *start_ns)
                *start_ns = p->start_ns;
            if (!is_any || p->end_ns > *end_ns)
                *end_ns = p->end_ns;
            is_any = true;
        }
    return is_any;
}

/* Compares the simulation of what was recorded with the recording. */
static void compare(struct whatif *run)
{
    const struct tsm_workload *w = &run->w;
    uint64_t last_ns = w->begin_ns;

    for (size_t i = 0; i < w->command_count; i++) {
        const struct tsm_workload_command *c = &w->commands[i];
        uint64_t start_ns = 0, end_ns = 0;

        if (c->recorded.kind != TSM_TIME_MEASURED ||
            c->recorded.axis != (w->is_virtual ? TSM_AXIS_VIRTUAL : TSM_AXIS_HOST))
            continue;
        if (c->recorded.end_ns > (int64_t)last_ns)
            last_ns = (uint64_t)c->recorded.end_ns;
        if (!times_of(w, &run->before, c, &start_ns, &end_ns) ||
            (int64_t)start_ns != c->recorded.start_ns || (int64_t)end_ns != c->recorded.end_ns)
            run->off_count++;
    }
    for (size_t i = 0; i < w->step_count; i++)
        if (!w->is_virtual && w->steps[i].returned_ns > last_ns)
            last_ns = w->steps[i].returned_ns;
    run->recorded_ns = last_ns - w->begin_ns;
}

/* ---- output ---------------------------------------------------------------------------------- */

static int make_bottleneck(struct tsm_table *t, const struct whatif *run)
{
    const uint64_t all_ns = run->after.end_ns - run->after.begin_ns;
    struct tsm_critical_path path;
    struct tsm_cause_sums sums = {0};
    int error = tsm_critical_path_find(&path, &run->w, &run->after);

    if (!error)
        error = tsm_cause_sums_make(&sums, &run->w, &path);
    tsm_table_column(t, "cause", "cause", TSM_CELL_TEXT);
    tsm_table_column(t, "name", "name", TSM_CELL_NAME);
    tsm_table_column(t, "count", "count", TSM_CELL_COUNT);
    tsm_table_column(t, "total_ns", "time", TSM_CELL_NS);
    tsm_table_column(t, "share_percent", "share", TSM_CELL_PERMILLE);
    for (size_t i = 0; i < sums.count && !error; i++) {
        tsm_table_text(t, tsm_cause_name(&sums.list[i]));
        tsm_table_text(t, sums.list[i].name);
        tsm_table_number(t, sums.list[i].count);
        tsm_table_number(t, sums.list[i].total_ns);
        tsm_table_number(
            t, all_ns ? (uint64_t)((double)sums.list[i].total_ns * 1000 / (double)all_ns) : 0);
    }
    tsm_cause_sums_finish(&sums);
    tsm_critical_path_finish(&path);
    return error;
}

static void make_times(struct tsm_table *t, const struct whatif *run)
{
    t->title = "commands";
    tsm_table_column(t, "seq", "record", TSM_CELL_COUNT);
    tsm_table_column(t, "stream", "stream", TSM_CELL_COUNT);
    tsm_table_column(t, "call", "call", TSM_CELL_TEXT);
    tsm_table_column(t, "sent_ns", "sent", TSM_CELL_NS);
    tsm_table_column(t, "start_ns", "start", TSM_CELL_NS);
    tsm_table_column(t, "end_ns", "end", TSM_CELL_NS);
    for (size_t i = 0; i < run->w.command_count; i++) {
        const struct tsm_workload_command *c = &run->w.commands[i];
        uint64_t start_ns = 0, end_ns = 0;

        if (!times_of(&run->w, &run->after, c, &start_ns, &end_ns))
            continue;
        tsm_table_number(t, c->seq);
        tsm_table_number(t, run->w.streams[c->stream].number);
        tsm_table_text(t, c->schema->name);
        tsm_table_number(t, run->after.parts[c->first_part].sent_ns);
        tsm_table_number(t, start_ns);
        tsm_table_number(t, end_ns);
    }
}

static void make_waits(struct tsm_table *t, const struct whatif *run)
{
    tsm_table_column(t, "from", "from", TSM_CELL_COUNT);
    tsm_table_column(t, "to", "to", TSM_CELL_COUNT);
    tsm_table_column(t, "access", "access", TSM_CELL_TEXT);
    for (size_t i = 0; i < run->spread.wait_count; i++) {
        tsm_table_number(t, run->w.commands[run->spread.waits[i].from].seq);
        tsm_table_number(t, run->w.commands[run->spread.waits[i].to].seq);
        tsm_table_text(t, tsm_access_kind_name(run->spread.waits[i].access));
    }
}

static void print_line(const char *what, uint64_t ns, const char *text)
{
    char duration[32];

    tsm_duration_text(duration, sizeof(duration), ns);
    printf("%-10s %12s%s%s\n", what, duration, *text ? "  " : "", text);
}

static void print_lines(const struct whatif *run)
{
    const uint64_t before_ns = run->before.end_ns - run->before.begin_ns;
    const uint64_t after_ns = run->after.end_ns - run->after.begin_ns;
    char text[160];

    print_line("recorded", run->recorded_ns, "");
    if (run->w.is_virtual)
        tsm_format(text, sizeof(text), "%" PRIu64 " of %zu commands at other times", run->off_count,
                   run->w.command_count);
    else
        tsm_format(text, sizeof(text), "%+.1f %%",
                   run->recorded_ns ? 100.0 * ((double)before_ns - (double)run->recorded_ns) /
                                          (double)run->recorded_ns
                                    : 0.0);
    print_line("simulated", before_ns, text);
    if (!run->change_count)
        return;
    tsm_format(text, sizeof(text), "%+.1f %%",
               before_ns ? 100.0 * ((double)after_ns - (double)before_ns) / (double)before_ns
                         : 0.0);
    print_line("changed", after_ns, text);
}

static void print_json(const struct whatif *run, const struct tsm_table *bottleneck,
                       const struct tsm_table *times, const struct tsm_table *waits)
{
    struct tsm_json j = {.out = stdout};

    tsm_json_begin(&j, "tswhatif/1");
    tsm_json_put_string(&j, "trace", sbt_reader_name(run->reader));
    tsm_json_put_bool(&j, "virtual", run->w.is_virtual);
    tsm_json_put_u64(&j, "command_count", run->w.command_count);
    tsm_json_put_u64(&j, "passed_count", run->w.passed_count);
    tsm_json_put_u64(&j, "untimed_count", run->w.untimed_count);
    tsm_json_put_u64(&j, "off_count", run->off_count);
    tsm_json_put_u64(&j, "recorded_ns", run->recorded_ns);
    tsm_json_put_u64(&j, "simulated_ns", run->before.end_ns - run->before.begin_ns);
    tsm_json_put_u64(&j, "changed_ns", run->after.end_ns - run->after.begin_ns);
    tsm_json_put_bool(&j, "stuck", run->after.is_stuck);
    if (run->v->streams) {
        tsm_json_put_u64(&j, "event_count", run->spread.event_count);
        tsm_json_put_u64(&j, "wait_count", run->spread.wait_count);
        tsm_json_put_u64(&j, "declared_count", run->spread.kinds[TSM_ACCESS_DECLARED]);
        tsm_json_put_u64(&j, "observed_count", run->spread.kinds[TSM_ACCESS_OBSERVED]);
        tsm_json_put_u64(&j, "reachable_count", run->spread.kinds[TSM_ACCESS_REACHABLE]);
        tsm_json_put_u64(&j, "unknown_count", run->spread.kinds[TSM_ACCESS_UNKNOWN]);
    }
    if (run->v->order) {
        tsm_json_put_u64(&j, "moved_count", run->order.moved_count);
        tsm_json_put_u64(&j, "free_count", run->order.free_count);
        tsm_json_put_u64(&j, "tried_count", run->order.tried_count);
        tsm_json_put_u64(&j, "refused_count", run->order.refused_count);
    }
    tsm_table_print_json(bottleneck, &j, 0);
    if (run->v->times)
        tsm_table_print_json(times, &j, 0);
    if (run->v->times && run->v->streams)
        tsm_table_print_json(waits, &j, 0);
    tsm_json_end(&j);
}

static int print(const struct whatif *run)
{
    struct tsm_table bottleneck = {.name = "critical_path", .title = "what bounds it"};
    struct tsm_table times = {.name = "commands"};
    struct tsm_table waits = {.name = "waits", .title = "waits for events"};
    const int error = make_bottleneck(&bottleneck, run);

    if (!error && run->v->times)
        make_times(&times, run);
    make_waits(&waits, run);
    if (!error && run->v->json) {
        print_json(run, &bottleneck, &times, &waits);
    } else if (!error) {
        print_lines(run);
        putchar('\n');
        tsm_table_print(&bottleneck, TOP);
        if (run->v->times) {
            putchar('\n');
            tsm_table_print(&times, 0);
        }
        if (run->v->times && waits.row_count) {
            putchar('\n');
            tsm_table_print(&waits, 0);
        }
    }
    tsm_table_finish(&bottleneck);
    tsm_table_finish(&times);
    tsm_table_finish(&waits);
    return error;
}

/* ---- the schedule ---------------------------------------------------------------------------- */

struct scheduled_call {
    uint64_t ns;
    uint32_t rank, step;
};

static int by_time(const void *a, const void *b)
{
    const struct scheduled_call *x = a, *y = b;

    if (x->ns != y->ns)
        return x->ns < y->ns ? -1 : 1;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* Says what a call of the changed schedule is in the file. `at` is when the call begins: in virtual
 * time it is charged then. */
static struct tsm_schedule_item item_of(const struct whatif *run, uint32_t place)
{
    const struct tsm_workload_step *step = &run->w.steps[place];
    struct tsm_schedule_item item = {.seq = step->seq, .kind = TSM_SCHEDULE_WAIT};
    uint64_t sent_ns;

    if (step->is_dropped) {
        item.kind = TSM_SCHEDULE_DROP;
    } else if (step->kind == TSM_STEP_SEND) {
        const uint64_t call_ns = run->w.is_virtual ? run->w.machine.call_ns : 0;

        sent_ns = run->after.parts[run->w.commands[step->command].first_part].sent_ns;
        item.kind = TSM_SCHEDULE_SEND;
        item.has_at = sent_ns >= call_ns;
        item.at_ns = sent_ns - call_ns - (run->w.is_virtual ? 0 : run->w.begin_ns);
    }
    return item;
}

/* Says which commands of other streams the item comes after. */
static bool add_after(struct tsm_schedule *schedule, struct tsm_schedule_item *item,
                      const struct whatif *run, size_t first, size_t count)
{
    item->first_after = schedule->after_count;
    for (size_t i = 0; i < count; i++) {
        const struct tsm_workload_command *c = &run->w.commands[run->w.events[first + i].command];

        if (!TSM_ARRAY_PUSH(schedule->after, schedule->after_count, schedule->after_capacity,
                            c->seq))
            return false;
        item->after_count++;
    }
    return true;
}

/* Says of an item to which stream it goes, and what it comes after, where the commands are on other
 * streams than they were. */
static bool place_item(struct tsm_schedule *schedule, struct tsm_schedule_item *item,
                       const struct whatif *run, uint32_t place)
{
    const struct tsm_workload_step *step = &run->w.steps[place];
    const struct tsm_workload_command *c;

    if (!run->v->streams || item->kind == TSM_SCHEDULE_DROP)
        return true;
    if (item->kind == TSM_SCHEDULE_WAIT)
        return step->target != TSM_TARGET_LIST ||
               add_after(schedule, item, run, (size_t)step->of, step->of_count);
    c = &run->w.commands[step->command];
    item->has_on = schedule->has_on = true;
    item->on = run->w.streams[c->stream].number;
    return add_after(schedule, item, run, c->first_event, c->event_count);
}

/* The order of a file in which each item comes after those that it waits for: a thread that is
 * ahead may send at an earlier time than another one what has to come later. */
struct filing {
    struct tsm_schedule *schedule;
    const struct whatif *run;
    bool *is_written; /* by step */
    uint32_t *stack;  /* steps that wait for those behind them to be written */
    size_t depth;
};

/* Returns a step that has to be written before, or TSM_WORKLOAD_NONE. */
static uint32_t missing_before(const struct filing *f, uint32_t place)
{
    const struct tsm_workload *w = &f->run->w;
    const struct tsm_workload_step *step = &w->steps[place];
    const bool sends = step->kind == TSM_STEP_SEND, is_list = step->target == TSM_TARGET_LIST;
    const struct tsm_workload_command *c = sends ? &w->commands[step->command] : NULL;
    const size_t first = sends ? c->first_event : (size_t)step->of, count = sends ? c->event_count
                                                                            : is_list
                                                                                ? step->of_count
                                                                                : 0;

    if (!f->run->v->streams || step->is_dropped)
        return TSM_WORKLOAD_NONE;
    for (size_t i = 0; i < count; i++) {
        const uint32_t other = w->commands[w->events[first + i].command].step;

        if (!f->is_written[other])
            return other;
    }
    return sends && c->previous != TSM_WORKLOAD_NONE &&
                   !f->is_written[w->commands[c->previous].step]
               ? w->commands[c->previous].step
               : TSM_WORKLOAD_NONE;
}

static bool write_step(struct filing *f, uint32_t place)
{
    struct tsm_schedule_item item = item_of(f->run, place);

    f->is_written[place] = true;
    return place_item(f->schedule, &item, f->run, place) &&
           TSM_ARRAY_PUSH(f->schedule->items, f->schedule->count, f->schedule->capacity, item);
}

/* Writes a step, and before it what has to come before. Nothing is on the stack twice: what waits
 * for itself gets stuck, and is not written to a file. */
static bool file_step(struct filing *f, uint32_t place, size_t count)
{
    bool ok = true;

    f->stack[f->depth++] = place;
    while (f->depth && ok) {
        const uint32_t top = f->stack[f->depth - 1];
        const uint32_t before = f->is_written[top] ? TSM_WORKLOAD_NONE : missing_before(f, top);

        if (before != TSM_WORKLOAD_NONE && f->depth < count) {
            f->stack[f->depth++] = before;
            continue;
        }
        f->depth--;
        ok = f->is_written[top] || write_step(f, top);
    }
    return ok;
}

static int fill_schedule(struct tsm_schedule *schedule, const struct whatif *run,
                         const struct scheduled_call *calls, size_t count)
{
    struct filing f = {.schedule = schedule,
                       .run = run,
                       .is_written = calloc(count + 1, sizeof(*f.is_written)),
                       .stack = malloc((count + 1) * sizeof(*f.stack))};
    bool ok = f.is_written && f.stack;

    for (size_t i = 0; i < count && ok; i++)
        ok = file_step(&f, calls[i].step, count);
    free(f.is_written);
    free(f.stack);
    return ok ? 0 : tsm_fail(TSM_E_MEMORY, "no memory for the schedule");
}

static int write_schedule(const struct whatif *run)
{
    const size_t count = run->w.step_count;
    struct scheduled_call *calls = malloc((count + 1) * sizeof(*calls));
    struct tsm_schedule schedule = {0};
    int error = calls ? 0 : tsm_fail(TSM_E_MEMORY, "no memory for the schedule");

    for (size_t i = 0; i < count && !error; i++) {
        const struct tsm_workload_step *step = &run->w.steps[i];
        const bool sends = step->kind == TSM_STEP_SEND && !step->is_dropped;

        calls[i] = (struct scheduled_call){
            sends ? run->after.parts[run->w.commands[step->command].first_part].sent_ns
                  : run->after.steps[i].end_ns,
            step->rank, (uint32_t)i};
    }
    if (!error) {
        qsort(calls, count, sizeof(*calls), by_time);
        error = fill_schedule(&schedule, run, calls, count);
    }
    if (!error)
        error = tsm_schedule_write(run->v->schedule, &schedule);
    tsm_schedule_finish(&schedule);
    free(calls);
    return error;
}

/* ---- the command ----------------------------------------------------------------------------- */

static int simulate(struct whatif *run)
{
    int error = tsm_workload_load(&run->w, run->reader);

    if (!error)
        error = tsm_prediction_make(&run->before, &run->w);
    if (error)
        return error;
    compare(run);
    error = apply(run);
    if (!error && run->v->streams)
        error = spread(run);
    if (!error && run->v->order)
        error = reorder(run);
    return error ? error : tsm_prediction_make(&run->after, &run->w);
}

static void note(const struct whatif *run)
{
    tsm_workload_note(&run->w, run->reader);
    if (run->after.is_stuck)
        tsm_note("%s: some calls or commands wait for what never comes",
                 tsm_clean(sbt_reader_name(run->reader)));
}

static int run_whatif(const struct tsm_command *command, void *values,
                      const struct tsm_words *words)
{
    struct whatif run = {.v = values};
    size_t noted = 0;
    int error;

    run.reader = tsm_trace_open(words->words[0]);
    if (!run.reader)
        return TSM_EXIT_ERROR;
    tsm_trace_show_progress(run.reader, "reading commands");
    error = simulate(&run);
    tsm_trace_show_progress(run.reader, NULL);
    if (!error)
        error = print(&run);
    if (!error && run.v->schedule)
        error = run.after.is_stuck
                    ? tsm_fail(TSM_E_UNSUPPORTED, "a schedule that gets stuck is not written")
                    : write_schedule(&run);
    if (!error)
        note(&run);
    tsm_trace_note_damage(run.reader, &noted);
    tsm_prediction_finish(&run.before);
    tsm_prediction_finish(&run.after);
    tsm_spread_finish(&run.spread);
    tsm_workload_finish(&run.w);
    sbt_reader_destroy(run.reader);
    return error ? tsm_complain_error() : TSM_EXIT_OK;
}

const struct tsm_command tsm_command_whatif = {
    .name = "whatif",
    .summary = "predict what a change of the schedule would bring",
    .synopsis = "[OPTION]... TRACE",
    .description =
        "Simulates the recorded commands: streams, engines, the threads that send them and wait "
        "for them. Says how long all takes as it was recorded and with the changes that the "
        "options ask for, and what bounds it then. Whether the program would still compute the "
        "same is not asked: 'tracesmith graph' says what had to wait for what.\n\n"
        "Of a trace that was recorded in virtual time (TS_EMU_TIME=virtual) with --gpu-time the "
        "prediction is exact. Else commands take as long as they took, threads take between calls "
        "what they took, and latencies are the medians of the recording.\n\n"
        "Knows CUDA; commands of other APIs are counted and left out.",
    .examples = "tracesmith whatif trace.sbt\n"
                "tracesmith whatif --drop-wait=812 trace.sbt\n"
                "tracesmith whatif --drop-wait=812 --schedule-out=s.txt trace.sbt\n"
                "tsreplay --schedule=s.txt --device=emu trace.sbt\n"
                "tracesmith whatif --streams=4 trace.sbt\n"
                "tracesmith whatif --order --schedule-out=s.txt trace.sbt\n"
                "tracesmith whatif --kernel='scale*=0.5' --machine=host_to_device_engines=2 "
                "trace.sbt\n",
    .exit_status = "0|done\n"
                   "2|the trace cannot be read, or has nothing of what is to be changed",
    .options = options,
    .values_size = sizeof(struct whatif_values),
    .operand = "TRACE",
    .word_min = 1,
    .word_max = 1,
    .run = run_whatif,
};
