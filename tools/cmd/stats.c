/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/command.h"

#include "base/text.h"
#include "tools/selection.h"
#include "tools/stats/changes.h"
#include "tools/stats/tables.h"
#include "tools/terminal.h"
#include "tools/trace_open.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define TOP_DEFAULT       10u
#define THRESHOLD_DEFAULT 0.05
#define SITES             (1u << TSM_STATS_SITES)
#define CHANCE            0.01 /* of all decisions together to be wrong */

struct stats_values {
    bool json, csv, markdown, compare;
    double threshold;
    bool has_threshold;
    unsigned by;       /* enum tsm_time_by */
    unsigned sections; /* bits by enum tsm_stats_section; 0: all */
    struct tsm_table_top top;
    struct tsm_selection_streams streams;
    struct tsm_selection_range range;
};

/* ---- options ------------------------------------------------------------------------------- */

/* Sets the bit of each word of a list. Returns false at a word that `names` has not. */
static bool parse_words(unsigned *bits, const char *text, const char *const *names)
{
    *bits = 0;
    while (*text) {
        const size_t size = strcspn(text, ",");
        unsigned i = 0;

        while (names[i] && (strlen(names[i]) != size || memcmp(names[i], text, size) != 0))
            i++;
        if (!names[i])
            return false;
        *bits |= 1u << i;
        text += size + (text[size] == ',');
    }
    return *bits != 0;
}

static bool parse_by(void *field, const char *text)
{
    static const char *const names[] = {"grid", "stream", "thread", "label",
                                        "site", "name",   "device", NULL};

    return parse_words(field, text, names);
}

static bool parse_sections(void *field, const char *text)
{
    const char *names[TSM_STATS_COUNT + 1] = {NULL};

    for (unsigned i = 0; i < TSM_STATS_COUNT; i++)
        names[i] = tsm_stats_section_name((enum tsm_stats_section)i);
    return parse_words(field, text, names);
}

/* "5%" or "5", of 0 to 1000. */
static bool parse_threshold(void *field, const char *text)
{
    struct stats_values *v =
        (struct stats_values *)(void *)((char *)field - offsetof(struct stats_values, threshold));
    char *end;
    const double percent = strtod(text, &end);

    v->threshold = percent / 100;
    v->has_threshold = true;
    end += *end == '%';
    return *text >= '0' && *text <= '9' && !*end && percent >= 0 && percent <= 1000;
}

static const struct tsm_option options[] = {
    {.name = "section",
     .letter = 's',
     .type = TSM_OPTION_PARSED,
     .offset = TSM_FIELD(stats_values, sections),
     .argument = "LIST",
     .parse = parse_sections,
     .help = "Only these tables: kernels, commands, copies, calls, waits, memory, streams, "
             "engines, rings, devices; or, "
             "alone, sites: functions of the host, with the time of all that was sent in them "
             "(inclusive) and by them (exclusive)."},
    {.name = "by",
     .letter = 'b',
     .type = TSM_OPTION_PARSED,
     .offset = TSM_FIELD(stats_values, by),
     .argument = "LIST",
     .parse = parse_by,
     .help = "What the members of a row have in common, beside their name: grid (and block), "
             "stream, device, thread, label, site (where the host sent it from, if stacks were "
             "recorded)."},
    {.name = "top",
     .letter = 't',
     .type = TSM_OPTION_PARSED,
     .offset = TSM_FIELD(stats_values, top),
     .argument = "N",
     .parse = tsm_table_top_parse,
     .help =
         "The first N rows of each table, 0 for all. Default 10, and all with --csv and --json."},
    TSM_SELECTION_OPTIONS(stats_values, streams, range),
    {.name = "compare",
     .letter = 'c',
     .type = TSM_OPTION_FLAG,
     .offset = TSM_FIELD(stats_values, compare),
     .help = "Compare two traces: what got slower or faster from A to B. The exit status is 1 when "
             "something got slower."},
    {.name = "threshold",
     .type = TSM_OPTION_PARSED,
     .offset = TSM_FIELD(stats_values, threshold),
     .argument = "PERCENT",
     .parse = parse_threshold,
     .help = "With --compare: medians that differ by less are the same. Default 5%."},
    {.name = "markdown",
     .type = TSM_OPTION_FLAG,
     .offset = TSM_FIELD(stats_values, markdown),
     .help = "Tables of Markdown, for a pull request."},
    {.name = "csv",
     .type = TSM_OPTION_FLAG,
     .offset = TSM_FIELD(stats_values, csv),
     .help = "CSV, a line with names first; an empty line between tables."},
    {.name = "json",
     .type = TSM_OPTION_FLAG,
     .offset = TSM_FIELD(stats_values, json),
     .help = "One JSON object, schema \"tsstats/1\"; with --compare \"tscompare/1\"."},
    {0},
};

/* ---- traces ------------------------------------------------------------------------------- */

/* A trace that was read, and its sums. */
struct opened {
    struct tsm_summary summary;
    struct tsm_stats_source source;
    size_t told;
};

static int collect(struct opened *o, const struct stats_values *v)
{
    struct sbt_reader *reader = o->source.reader;
    struct sbt_filter filter;
    int error;

    tsm_trace_show_progress(reader, "summing up");
    error = tsm_selection_filter(&filter, reader, &v->streams, &v->range);
    o->source.is_part = !error && (filter.streams || filter.seq_first || filter.seq_end ||
                                   filter.time_first_ns || filter.time_end_ns);
    if (!error)
        error = tsm_summary_collect(&o->summary, reader, &filter, v->by);
    tsm_trace_show_progress(reader, NULL);
    if (!error && v->by & TSM_TIME_BY_SITE)
        error = tsm_symbols_create(&o->source.symbols, reader);
    return error ? tsm_complain_error() : 0;
}

/* Returns 0, or an exit status after a complaint. Close it in any case. */
static int open_trace(struct opened *o, const struct stats_values *v, const char *path)
{
    *o = (struct opened){.source = {.summary = &o->summary, .by = v->by}};
    o->source.reader = tsm_trace_open(path);
    return o->source.reader ? collect(o, v) : TSM_EXIT_ERROR;
}

static bool has_inner(const struct opened *o)
{
    return o->summary.counts.inner_count;
}

/* Makes submits the same in both: where one trace has no times of commands inside of them, a submit
 * of the other one is all of it, too. */
static int make_comparable(struct opened *o, struct stats_values *v)
{
    struct opened *with = has_inner(&o[0]) ? &o[0] : &o[1];

    if (has_inner(&o[0]) == has_inner(&o[1]))
        return 0;
    tsm_note("%s: no times of commands inside of submits: submits are compared as a whole",
             sbt_reader_name(o[with == &o[0]].source.reader));
    tsm_summary_finish(&with->summary);
    v->by |= TSM_TIME_WHOLE;
    return collect(with, v);
}

static void note_missing(const struct opened *o, const struct stats_values *v)
{
    const struct tsm_model_counts *c = &o->summary.counts;

    if (!c->record_count)
        tsm_selection_note_nothing(o->source.reader);
    else if (v->sections & 1u << TSM_STATS_COMMANDS && !has_inner(o) && !(v->by & TSM_TIME_WHOLE))
        tsm_note("%s: no times of commands inside of submits; 'tsrecord --gpu-time=commands' "
                 "records those of Vulkan",
                 sbt_reader_name(o->source.reader));
    else if (c->unknown_count && !c->measured_count)
        tsm_note("%s: no times of the device; 'tsrecord --gpu-time=1' records them",
                 sbt_reader_name(o->source.reader));
}

static void close_trace(struct opened *o)
{
    if (!o->source.reader)
        return;
    tsm_symbols_destroy(o->source.symbols);
    tsm_trace_note_damage(o->source.reader, &o->told);
    tsm_summary_finish(&o->summary);
    sbt_reader_destroy(o->source.reader);
}

/* ---- output ------------------------------------------------------------------------------- */

static void print_head(const struct tsm_stats_source *source)
{
    const struct tsm_model_counts *c = &source->summary->counts;
    char span[32];

    tsm_duration_text(span, sizeof(span), (uint64_t)c->last_ns - (uint64_t)c->first_ns);
    printf("%s%s%s: %s, %" PRIu64 " records, %" PRIu64 " commands\n", tsm_paint(TSM_PAINT_BOLD),
           tsm_clean(sbt_reader_name(source->reader)), tsm_paint(TSM_PAINT_NONE), span,
           c->record_count, c->command_count);
    printf("times on the device: %" PRIu64 " measured, %" PRIu64 " derived from the call, %" PRIu64
           " unknown; %" PRIu64 " events and waits\n",
           c->measured_count, c->derived_count, c->unknown_count, c->order_count);
    if (!c->virtual_count)
        return;
    tsm_duration_text(span, sizeof(span),
                      (uint64_t)c->virtual_last_ns - (uint64_t)c->virtual_first_ns);
    printf("virtual time: %" PRIu64
           " commands in %s, by the machine description of the software GPU\n",
           c->virtual_count, span);
}

static void json_counts(struct tsm_json *j, const struct tsm_stats_source *source)
{
    const struct tsm_model_counts *c = &source->summary->counts;

    tsm_json_put_string(j, "trace", sbt_reader_name(source->reader));
    tsm_json_put_u64(j, "span_ns", (uint64_t)c->last_ns - (uint64_t)c->first_ns);
    tsm_json_put_u64(j, "record_count", c->record_count);
    tsm_json_put_u64(j, "command_count", c->command_count);
    tsm_json_put_u64(j, "order_count", c->order_count);
    tsm_json_put_u64(j, "measured_count", c->measured_count);
    tsm_json_put_u64(j, "derived_count", c->derived_count);
    tsm_json_put_u64(j, "unknown_count", c->unknown_count);
    tsm_json_put_u64(j, "stray_time_count", c->stray_time_count);
    tsm_json_put_u64(j, "virtual_count", c->virtual_count);
    tsm_json_put_u64(j, "virtual_span_ns",
                     (uint64_t)c->virtual_last_ns - (uint64_t)c->virtual_first_ns);
}

static bool is_for_programs(const struct stats_values *v)
{
    return v->csv || v->json || v->markdown;
}

/* Prints one more table and empties it. */
static void put_table(const struct stats_values *v, struct tsm_json *j, struct tsm_table *table)
{
    const size_t top = tsm_table_top_rows(&v->top, is_for_programs(v) ? 0 : TOP_DEFAULT);

    if (v->json)
        tsm_table_print_json(table, j, top);
    else if (v->csv)
        tsm_table_print_csv(table, top);
    else if (v->markdown && table->row_count)
        tsm_table_print_markdown(table, top);
    else if (table->row_count)
        tsm_table_print(table, top);
    tsm_table_finish(table);
}

static bool is_wanted(const struct stats_values *v, unsigned section, unsigned by_default)
{
    return (v->sections ? v->sections : by_default) & 1u << section;
}

/* A table of one device says what the one before says, too. */
static bool is_worth(const struct stats_values *v, unsigned section, const struct tsm_table *table)
{
    return section != TSM_STATS_DEVICES || v->sections || is_for_programs(v) ||
           table->row_count > 1;
}

static void put_gap(const struct stats_values *v, bool *is_first)
{
    if ((v->csv && !*is_first) || !is_for_programs(v))
        putchar('\n');
    *is_first = false;
}

static int print_tables(const struct stats_values *v, const struct tsm_stats_source *source)
{
    const unsigned by_default = SITES - 1;
    struct tsm_json j = {.out = stdout};
    bool is_first = true;
    int error = 0;

    if (v->json) {
        tsm_json_begin(&j, "tsstats/1");
        json_counts(&j, source);
    } else if (!is_for_programs(v)) {
        print_head(source);
    }
    for (unsigned i = 0; i < TSM_STATS_COUNT && !error; i++) {
        struct tsm_table table = {0};

        if (!is_wanted(v, i, by_default))
            continue;
        error = tsm_stats_table(&table, source, (enum tsm_stats_section)i);
        if (!is_worth(v, i, &table)) {
            tsm_table_finish(&table);
            continue;
        }
        if (v->csv || table.row_count)
            put_gap(v, &is_first);
        put_table(v, &j, &table);
    }
    if (v->json)
        tsm_json_end(&j);
    return error ? tsm_complain_error() : TSM_EXIT_OK;
}

/* ---- two traces --------------------------------------------------------------------------- */

static void json_traces(struct tsm_json *j, const struct opened *o)
{
    tsm_json_begin(j, "tscompare/1");
    for (unsigned i = 0; i < 2; i++) {
        tsm_json_name(j, i ? "b" : "a");
        tsm_json_open(j, '{');
        json_counts(j, &o[i].source);
        tsm_json_close(j, '}');
    }
}

static void json_sums(struct tsm_json *j, const size_t *counts)
{
    tsm_json_name(j, "counts");
    tsm_json_open(j, '{');
    for (unsigned i = 0; i < TSM_CHANGE_COUNT; i++)
        tsm_json_put_u64(j, tsm_change_name((enum tsm_change)i), counts[i]);
    tsm_json_close(j, '}');
}

static void print_sums(const struct stats_values *v, const size_t *counts)
{
    printf("%s%zu slower, %zu faster, %zu unsure, %zu unchanged (by less than %g %%), %zu in one "
           "trace "
           "only, %zu without times to compare\n",
           v->markdown ? "" : "\n", counts[TSM_CHANGE_SLOWER], counts[TSM_CHANGE_FASTER],
           counts[TSM_CHANGE_UNSURE], counts[TSM_CHANGE_NONE], v->threshold * 100,
           counts[TSM_CHANGE_ONLY_A] + counts[TSM_CHANGE_ONLY_B], counts[TSM_CHANGE_UNKNOWN]);
}

/* Times of a machine description have no noise. */
static bool is_exact(const struct opened *o)
{
    const struct tsm_model_counts *c = &o->summary.counts;

    return c->virtual_count && c->virtual_count == c->measured_count && !c->derived_count;
}

static int print_changes(const struct stats_values *v, const struct opened *o)
{
    const unsigned by_default = 1u << TSM_STATS_KERNELS | 1u << TSM_STATS_COPIES |
                                (unsigned)(has_inner(&o[0]) && has_inner(&o[1]))
                                    << TSM_STATS_COMMANDS;
    const struct tsm_compare_options how = {.threshold = v->threshold,
                                            .chance = CHANCE,
                                            .is_exact = is_exact(&o[0]) && is_exact(&o[1])};
    size_t counts[TSM_CHANGE_COUNT] = {0};
    struct tsm_json j = {.out = stdout};
    bool is_first = true;
    int error = 0;

    if (v->json)
        json_traces(&j, o);
    for (unsigned i = 0; i <= TSM_STATS_WAITS && !error; i++) {
        struct tsm_table table = {0};

        if (!is_wanted(v, i, by_default))
            continue;
        error = tsm_stats_changes(&table, &o[0].source, &o[1].source, (enum tsm_stats_section)i,
                                  &how, counts);
        if (!error && (v->csv || (table.row_count && !is_first)))
            put_gap(v, &is_first);
        is_first = false;
        if (!error)
            put_table(v, &j, &table);
        tsm_table_finish(&table);
    }
    if (error)
        return tsm_complain_error();
    if (v->json) {
        json_sums(&j, counts);
        tsm_json_end(&j);
    } else if (!v->csv) {
        print_sums(v, counts);
    }
    return counts[TSM_CHANGE_SLOWER] ? TSM_EXIT_NO : TSM_EXIT_OK;
}

/* ---- the command -------------------------------------------------------------------------- */

/* Returns 0, or an exit status after a complaint. */
static int check_options(const struct stats_values *v, const struct tsm_words *words)
{
    const unsigned compared = (1u << (TSM_STATS_WAITS + 1)) - 1;

    if (v->csv + v->json + v->markdown > 1)
        return tsm_complain("--csv, --json and --markdown exclude one another");
    if (v->compare != (words->count == 2))
        return tsm_complain(v->compare ? "--compare needs two traces"
                                       : "two traces are compared with --compare");
    if (v->compare && v->by & TSM_TIME_BY_SITE)
        return tsm_complain("--compare: --by=site: addresses of two runs are not the same");
    if (v->sections & SITES && (v->sections != SITES || v->by))
        return tsm_complain("--section=sites goes alone, and without --by");
    if (v->compare && v->sections & ~compared)
        return tsm_complain("--compare compares kernels, commands, copies, calls and waits");
    return 0;
}

static int run(const struct tsm_command *command, void *values, const struct tsm_words *words)
{
    struct stats_values *v = values;
    struct opened o[2] = {{.source = {.by = 0}}};
    int status = check_options(v, words);

    if (status)
        return status;
    if (!v->has_threshold)
        v->threshold = THRESHOLD_DEFAULT;
    if (v->sections == SITES)
        v->by = TSM_TIME_BY_SITE;
    for (int i = 0; i < words->count && !status; i++)
        status = open_trace(&o[i], v, words->words[i]);
    if (!status && v->compare)
        status = make_comparable(o, v);
    if (!status && v->compare)
        status = print_changes(v, o);
    else if (!status)
        status = print_tables(v, &o[0].source);
    for (int i = 0; i < words->count; i++) {
        if (status != TSM_EXIT_ERROR)
            note_missing(&o[i], v);
        close_trace(&o[i]);
    }
    return status;
}

const struct tsm_command tsm_command_stats = {
    .name = "stats",
    .summary = "sum up where time went: kernels, commands, copies, calls, waits, memory, streams, "
               "engines, "
               "rings",
    .synopsis = "[OPTION]... TRACE\n--compare [OPTION]... A B",
    .description =
        "Prints a table for each: work on the device (kernels, launches of graphs, submits), "
        "commands inside of submits ('tsrecord --gpu-time=commands') by call and pipeline, copies "
        "by direction with their rate, calls of the host, calls that waited for the device, "
        "memory, "
        "how busy streams, and all of them together, were, and the rings of the GPU, if 'tsrecord "
        "--kernel' has recorded their jobs.\n\n"
        "Times on the device are measured ('tsrecord --gpu-time=1'), derived from the call where "
        "it "
        "returns when the command is complete, or unknown: such commands are counted, and are in "
        "no "
        "time. The column timed counts the measured ones. A median of an even count is the mean of "
        "the two in the middle; p99 is the smallest time that 99 of 100 are not above.\n\n"
        "Where commands inside of submits have times, a submit has what is left in the first "
        "table: both "
        "tables together are the time of all submits. A command's time is from when all before it "
        "was "
        "complete to when it is, too.\n\n"
        "A stream is busy while at least one of its commands with a measured time runs. "
        "'both' is how long it computed and copied at once.\n\n"
        "With --compare, two traces: what has the same name (and grid, stream, ... with --by) in "
        "both is "
        "slower or faster when the medians of its durations differ by the threshold or more and a "
        "test of "
        "Mann and Whitney finds that it is hardly chance (less than 1 % for all rows together: "
        "each row "
        "gets its share); else it is unsure, as anything with only a few occurrences is. The "
        "column "
        "chance is what the test says. Virtual times (TS_EMU_TIME=virtual) have no noise: there "
        "every "
        "difference counts. Kernels and copies are compared by default, and commands inside of "
        "submits "
        "where both traces have their times; where one has, submits are compared as a whole.",
    .examples = "tsrecord --gpu-time=1 -o t.sbt -- ./app\n"
                "tracesmith stats t.sbt\n"
                "tsrecord --gpu-time=commands -o t.sbt -- ./app\n"
                "tracesmith stats --section=kernels,commands t.sbt\n"
                "tracesmith stats --section=kernels --by=grid,stream --top=0 t.sbt\n"
                "tracesmith stats --section=waits --by=site t.sbt\n"
                "tracesmith stats --csv --section=copies t.sbt >copies.csv\n"
                "tracesmith stats --compare --threshold=10% --markdown before.sbt after.sbt\n",
    .exit_status = "0|shown; with --compare: nothing is slower\n"
                   "1|with --compare: something is slower\n"
                   "2|a trace cannot be read",
    .options = options,
    .values_size = sizeof(struct stats_values),
    .operand = "TRACE",
    .word_min = 1,
    .word_max = 2,
    .run = run,
};
