/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/command.h"

#include "analysis/time/clocks.h"
#include "base/text.h"
#include "format/json.h"
#include "tools/kernel/report.h"
#include "tools/selection.h"
#include "tools/terminal.h"
#include "tools/text/table.h"
#include "tools/trace_open.h"

#include <inttypes.h>
#include <stdlib.h>

#define TOP_DEFAULT 10u /* rows of what is contradicted */

struct clocks_values {
    bool json;
    struct tsm_selection_streams streams;
    struct tsm_selection_range range;
};

static const struct tsm_option options[] = {
    TSM_SELECTION_OPTIONS(clocks_values, streams, range),
    {.name = "json",
     .type = TSM_OPTION_FLAG,
     .offset = TSM_FIELD(clocks_values, json),
     .help = "One JSON object, schema \"tsclocks/1\"."},
    {0},
};

static const char *axis_name(enum tsm_time_axis axis)
{
    static const char *const names[] = {
        [TSM_AXIS_DEVICE] = "device", [TSM_AXIS_HOST] = "host", [TSM_AXIS_VIRTUAL] = "virtual"};

    return names[axis];
}

/* Rings name their device by the kernel's number of it. */
static const char *device_name(char out[TSM_DEVICE_NAME_MAX], const struct tsm_clock *clock)
{
    if (!clock->is_ring)
        return tsm_device_name(out, &clock->device);
    tsm_format(out, TSM_DEVICE_NAME_MAX, "device %" PRIu64, clock->device.number);
    return out;
}

/* ---- tables ---------------------------------------------------------------------------------- */

static void put_drift(struct tsm_table *t, const struct tsm_drift_number *number, bool fits)
{
    tsm_table_number_or_unknown(t, fits && number->is_known, (uint64_t)number->value);
}

static void put_clock(struct tsm_table *t, struct tsm_clock *clock)
{
    const bool has_errors = clock->axis == TSM_AXIS_HOST && !clock->is_ring;
    const struct tsm_drift_fit *fit = &clock->fit;
    char space[16], name[TSM_DEVICE_NAME_MAX];

    tsm_table_text(t, clock->is_ring ? "kernel" : sbt_api_name(clock->api, space));
    tsm_table_text(t, device_name(name, clock));
    tsm_table_text(t, clock->is_ring ? "ring" : axis_name(clock->axis));
    tsm_table_number(t, clock->command_count);
    tsm_table_number(t, (uint64_t)clock->last_ns - (uint64_t)clock->first_ns);
    tsm_table_number_or_unknown(t, has_errors, tsm_samples_percentile(&clock->errors, 50));
    tsm_table_number_or_unknown(t, has_errors, clock->errors.max);
    tsm_table_number_or_unknown(t, clock->least.is_known, (uint64_t)clock->least.offset_ns);
    tsm_table_number_or_unknown(t, clock->most.is_known, (uint64_t)clock->most.offset_ns);
    put_drift(t, &fit->least, fit->fits);
    put_drift(t, &fit->most, fit->fits);
    put_drift(t, &fit->offset_least, fit->fits);
    put_drift(t, &fit->offset_most, fit->fits);
    tsm_table_number(t, clock->steps.count);
}

/* Clocks, with the offset to the host's clock that the host's calls allow. */
static void make_clocks(struct tsm_table *t, struct tsm_clocks *clocks)
{
    t->title = "clocks";
    tsm_table_column(t, "api", "API", TSM_CELL_TEXT);
    tsm_table_column(t, "device", "device", TSM_CELL_TEXT);
    tsm_table_column(t, "clock", "clock", TSM_CELL_TEXT);
    tsm_table_column(t, "command_count", "commands", TSM_CELL_COUNT);
    tsm_table_column(t, "span_ns", "span", TSM_CELL_NS);
    tsm_table_column(t, "error_median_ns", "error", TSM_CELL_NS);
    tsm_table_column(t, "error_max_ns", "max", TSM_CELL_NS);
    tsm_table_column(t, "offset_least_ns", "offset", TSM_CELL_OFFSET);
    tsm_table_column(t, "offset_most_ns", "to", TSM_CELL_OFFSET);
    tsm_table_column(t, "drift_least_ppm", "drift, ppm", TSM_CELL_PPM);
    tsm_table_column(t, "drift_most_ppm", "to", TSM_CELL_PPM);
    tsm_table_column(t, "first_offset_least_ns", "at first", TSM_CELL_OFFSET);
    tsm_table_column(t, "first_offset_most_ns", "to", TSM_CELL_OFFSET);
    tsm_table_column(t, "step_count", "back", TSM_CELL_COUNT);
    for (size_t i = 0; i < clocks->count; i++)
        put_clock(t, &clocks->list[i]);
}

static void make_contradictions(struct tsm_table *t, const struct tsm_clocks *clocks)
{
    t->title = "times that contradict a call of the host";
    tsm_table_column(t, "by_ns", "by", TSM_CELL_NS);
    tsm_table_column(t, "error_ns", "beyond error", TSM_CELL_NS);
    tsm_table_column(t, "stream", "stream", TSM_CELL_COUNT);
    tsm_table_column(t, "seq", "record", TSM_CELL_COUNT);
    tsm_table_column(t, "command", "command", TSM_CELL_TEXT);
    tsm_table_column(t, "contradicts", "", TSM_CELL_TEXT);
    tsm_table_column(t, "other_seq", "record", TSM_CELL_COUNT);
    tsm_table_column(t, "other_call", "call", TSM_CELL_TEXT);
    for (size_t i = 0; i < clocks->contradiction_count; i++) {
        const struct tsm_clock_contradiction *b = &clocks->contradictions[i];

        tsm_table_number(t, b->by_ns);
        tsm_table_number(t, b->error_ns);
        tsm_table_number(t, b->stream);
        tsm_table_number(t, b->seq);
        tsm_table_text(t, b->call);
        tsm_table_text(t, b->rule == TSM_CLOCK_CALLED ? "starts before" : "ends after");
        tsm_table_number(t, b->other_seq);
        tsm_table_text(t, b->other_call);
    }
}

/* ---- output ---------------------------------------------------------------------------------- */

static uint64_t count_drifting(const struct tsm_clocks *clocks)
{
    uint64_t count = 0;

    for (size_t i = 0; i < clocks->count; i++)
        count += clocks->list[i].axis == TSM_AXIS_DEVICE && tsm_clock_drifts(&clocks->list[i]);
    return count;
}

static uint64_t count_misfits(const struct tsm_clocks *clocks)
{
    uint64_t count = 0;

    for (size_t i = 0; i < clocks->count; i++)
        count += tsm_clock_misfits(&clocks->list[i]);
    return count;
}

/* Rows of what cannot all be true: bounds from below and from above, of one clock. */
static void put_bound(struct tsm_table *t, const struct tsm_clock *clock,
                      const struct tsm_drift_bound *bound, bool is_least)
{
    char space[16], name[TSM_DEVICE_NAME_MAX];

    if (!bound)
        return;
    tsm_table_text(t, clock->is_ring ? "kernel" : sbt_api_name(clock->api, space));
    tsm_table_text(t, device_name(name, clock));
    tsm_table_number(t, bound->seq);
    tsm_table_text(t, bound->call);
    tsm_table_text(t, is_least ? "starts after it was sent" : "ends before a wait returns");
    tsm_table_number(t, bound->other_seq);
    tsm_table_text(t, bound->other_call);
}

static bool is_told(const struct tsm_drift_fit *fit, const struct tsm_drift_bound *bound,
                    unsigned side)
{
    return bound == fit->of_least[side];
}

static void make_misfits(struct tsm_table *t, const struct tsm_clocks *clocks)
{
    t->title = "what no offset and speed of a clock fit";
    tsm_table_column(t, "api", "API", TSM_CELL_TEXT);
    tsm_table_column(t, "device", "device", TSM_CELL_TEXT);
    tsm_table_column(t, "seq", "record", TSM_CELL_COUNT);
    tsm_table_column(t, "command", "command", TSM_CELL_TEXT);
    tsm_table_column(t, "bound", "", TSM_CELL_TEXT);
    tsm_table_column(t, "other_seq", "record", TSM_CELL_COUNT);
    tsm_table_column(t, "other_call", "call", TSM_CELL_TEXT);
    for (size_t i = 0; i < clocks->count; i++) {
        const struct tsm_clock *clock = &clocks->list[i];
        const struct tsm_drift_fit *fit = &clock->fit;

        for (unsigned side = 0; side < 2 && tsm_clock_misfits(clock); side++) {
            put_bound(t, clock, fit->of_least[side], !side);
            if (!is_told(fit, fit->of_most[side], side))
                put_bound(t, clock, fit->of_most[side], !side);
        }
    }
}

static void print_steps(const struct tsm_clock *c)
{
    const struct tsm_clock_steps *steps = &c->steps;
    char space[16], name[TSM_DEVICE_NAME_MAX], by[32];
    const char *device = device_name(name, c);

    tsm_duration_text(by, sizeof(by), steps->by_ns);
    printf(
        "%s: the clock went back %" PRIu64 " times, first by %s or more, from record %" PRIu64
        " (%s) to record %" PRIu64
        " (%s): its counter began again, or the device was reset; times before and after are not "
        "on one clock\n",
        device ? device : sbt_api_name(c->api, space), steps->count, by, steps->other_seq,
        steps->other_call, steps->seq, steps->call);
}

static void print_misfits(const struct tsm_clocks *clocks)
{
    struct tsm_table table = {0};

    make_misfits(&table, clocks);
    if (table.row_count) {
        putchar('\n');
        tsm_table_print(&table, 0);
    }
    tsm_table_finish(&table);
    for (size_t i = 0; i < clocks->count; i++)
        if (clocks->list[i].steps.count)
            print_steps(&clocks->list[i]);
}

static void print_text(struct tsm_clocks *clocks)
{
    struct tsm_table table = {0}, contradictions = {0};
    char slept[32];

    if (clocks->count) {
        make_clocks(&table, clocks);
        tsm_table_print(&table, 0);
    }
    tsm_table_finish(&table);
    printf("%s%" PRIu64 " commands without a measured time, %" PRIu64
           " of them derived from the call\n",
           clocks->count ? "\n" : "", clocks->unknown_count + clocks->derived_count,
           clocks->derived_count);
    if (clocks->slept_ns) {
        tsm_duration_text(slept, sizeof(slept), clocks->slept_ns);
        printf("the machine slept for %s meanwhile, in which the host's clock stood still\n",
               slept);
    }
    print_misfits(clocks);
    if (!clocks->contradiction_total)
        return;
    make_contradictions(&contradictions, clocks);
    putchar('\n');
    tsm_table_print(&contradictions, TOP_DEFAULT);
    tsm_table_finish(&contradictions);
    printf("%" PRIu64 " in all\n", clocks->contradiction_total);
}

static void print_json(struct tsm_clocks *clocks, const struct sbt_reader *reader)
{
    struct tsm_table table = {.name = "clocks"}, contradictions = {.name = "contradictions"},
                     misfits = {.name = "misfits"};
    struct tsm_json j = {.out = stdout};

    make_clocks(&table, clocks);
    make_contradictions(&contradictions, clocks);
    make_misfits(&misfits, clocks);
    tsm_json_begin(&j, "tsclocks/1");
    tsm_json_put_string(&j, "trace", sbt_reader_name(reader));
    tsm_json_put_u64(&j, "derived_count", clocks->derived_count);
    tsm_json_put_u64(&j, "unknown_count", clocks->unknown_count);
    tsm_json_put_u64(&j, "contradiction_count", clocks->contradiction_total);
    tsm_json_put_u64(&j, "drifting_count", count_drifting(clocks));
    tsm_json_put_u64(&j, "misfit_count", count_misfits(clocks));
    tsm_json_put_u64(&j, "slept_ns", clocks->slept_ns);
    tsm_table_print_json(&table, &j, 0);
    tsm_table_print_json(&contradictions, &j, 0);
    tsm_table_print_json(&misfits, &j, 0);
    tsm_json_end(&j);
    tsm_table_finish(&table);
    tsm_table_finish(&contradictions);
    tsm_table_finish(&misfits);
}

static int collect(struct tsm_clocks *clocks, struct sbt_reader *reader,
                   const struct sbt_filter *filter)
{
    struct tsm_ring_jobs jobs = {.session = 0};
    int error = tsm_clocks_collect(clocks, reader, filter);

    if (!error)
        error = tsm_report_load(&jobs, reader);
    if (!error)
        error = tsm_clocks_add_rings(clocks, reader, &jobs);
    tsm_ring_jobs_finish(&jobs);
    return error;
}

static void note_missing(const struct tsm_clocks *clocks, const struct sbt_reader *reader)
{
    if (clocks->is_replay)
        tsm_note("%s: its times are those of a replay, which no call of the recording bounds",
                 tsm_clean(sbt_reader_name(reader)));
    else if (!clocks->count)
        tsm_note("%s: no times of the device; 'tsrecord --gpu-time=1' records them",
                 tsm_clean(sbt_reader_name(reader)));
}

static int run(const struct tsm_command *command, void *values, const struct tsm_words *words)
{
    const struct clocks_values *v = values;
    struct sbt_reader *reader = tsm_trace_open(words->words[0]);
    struct tsm_clocks clocks = {0};
    struct sbt_filter filter;
    size_t noted = 0;
    int error;

    if (!reader)
        return TSM_EXIT_ERROR;
    tsm_trace_show_progress(reader, "comparing clocks");
    error = tsm_selection_filter(&filter, reader, &v->streams, &v->range);
    if (!error)
        error = collect(&clocks, reader, &filter);
    tsm_trace_show_progress(reader, NULL);
    if (error) {
        error = tsm_complain_error();
    } else {
        error = clocks.contradiction_total || count_misfits(&clocks) ? TSM_EXIT_NO : TSM_EXIT_OK;
        if (v->json)
            print_json(&clocks, reader);
        else
            print_text(&clocks);
        note_missing(&clocks, reader);
    }
    tsm_trace_note_damage(reader, &noted);
    tsm_clocks_finish(&clocks);
    sbt_reader_destroy(reader);
    return error;
}

const struct tsm_command tsm_command_clocks = {
    .name = "clocks",
    .summary = "show which clocks a trace's times are on, and whether they fit",
    .synopsis = "[OPTION]... TRACE",
    .description =
        "Prints the clocks that times of commands are on, for each device: the host's, "
        "with the error of what was "
        "measured; a device's own, where the driver does not tell how it and the host's "
        "belong together; virtual "
        "time. Then it compares them with what the host's calls say: a command starts "
        "after its call began, and has "
        "ended when a call returns by which the host knew that: a wait for its stream, for "
        "a fence, a semaphore or a signal. That gives the least and the most that could be added "
        "to all times of a clock; of a device's own clock it is what is known of its "
        "offset. A time on the host's "
        "clock that contradicts a call by more than its error is shown with both, and "
        "nothing is shifted to hide it. A clock may be slow or fast, too: all offsets that grow "
        "evenly and fit every bound say what the drift, by which its offset grows, can be: at "
        "least and at most so many millionths; with the offset at the first time. Where none "
        "fits the commands are shown that contradict one another, and where a device's clock "
        "went back. Events of the kernel's rings have a clock for each device.",
    .examples = "tracesmith clocks trace.sbt\n"
                "tracesmith clocks --json --streams=1 trace.sbt\n",
    .exit_status = "0|all times fit, or there is none\n"
                   "1|a time contradicts a call of the host, or nothing fits a clock\n"
                   "2|the trace cannot be read",
    .options = options,
    .values_size = sizeof(struct clocks_values),
    .operand = "TRACE",
    .word_min = 1,
    .word_max = 1,
    .run = run,
};
