/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/command.h"

#include "base/text.h"
#include "tools/selection.h"
#include "tools/terminal.h"
#include "tools/text/difference.h"
#include "tools/trace_open.h"
#include "tracesmith/analysis.h"

#include <inttypes.h>
#include <string.h>

struct diff_values {
    struct tsm_selection_streams streams;
    bool ignore_addresses, readbacks_only, json;
};

static const struct tsm_option options[] = {
    {.name = "streams",
     .type = TSM_OPTION_PARSED,
     .offset = TSM_FIELD(diff_values, streams),
     .argument = "LIST",
     .parse = tsm_selection_parse_streams,
     .help = "Compare only these streams: 0,2 or 0-3 or none (records of no stream)."},
    {.name = "ignore-addresses",
     .type = TSM_OPTION_FLAG,
     .offset = TSM_FIELD(diff_values, ignore_addresses),
     .help = "Do not compare device addresses. Without this they must map one to one."},
    {.name = "readbacks-only",
     .type = TSM_OPTION_FLAG,
     .offset = TSM_FIELD(diff_values, readbacks_only),
     .help = "Compare what the GPU gave back, not what was sent to it."},
    {.name = "json",
     .type = TSM_OPTION_FLAG,
     .offset = TSM_FIELD(diff_values, json),
     .help = "One JSON object, schema \"tsdiff/1\"."},
    {0},
};

struct pair {
    struct sbt_reader *a, *b;
    struct tsm_symbols *symbols; /* of a */
    struct tsm_diff_result result;
};

static void print_json(struct pair *p)
{
    const struct tsm_diff_result *r = &p->result;
    struct tsm_json j = {.out = stdout};

    tsm_json_begin(&j, "tsdiff/1");
    tsm_json_put_string(&j, "a", sbt_reader_name(p->a));
    tsm_json_put_string(&j, "b", sbt_reader_name(p->b));
    tsm_json_put_string(&j, "verdict", tsm_verdict_name(r->verdict));
    tsm_json_put_string(&j, "why", r->why);
    tsm_json_put_u64(&j, "compared_count", r->compared_count);
    if (r->verdict == TSM_DIFFERENT) {
        tsm_json_put_u64(&j, "seq_a", r->seq_a);
        tsm_json_put_u64(&j, "seq_b", r->seq_b);
        tsm_json_put_string(&j, "field", r->field);
        tsm_json_put_string(&j, "value_a", r->value_a);
        tsm_json_put_string(&j, "value_b", r->value_b);
        tsm_json_name(&j, "first");
        tsm_difference_json(&j, &r->first, p->a, p->symbols);
    }
    tsm_json_end(&j);
}

static void print_text(struct pair *p)
{
    const struct tsm_diff_result *r = &p->result;

    if (r->verdict == TSM_SAME) {
        printf("%ssame%s: %" PRIu64 " commands and readbacks are equal\n",
               tsm_paint(TSM_PAINT_GOOD), tsm_paint(TSM_PAINT_NONE), r->compared_count);
        if (*r->why)
            printf("  note        %s\n", tsm_clean(r->why));
        return;
    }
    if (r->verdict == TSM_CANNOT_TELL) {
        printf("%scannot tell%s: %s\n", tsm_paint(TSM_PAINT_WARN), tsm_paint(TSM_PAINT_NONE),
               tsm_clean(r->why));
        return;
    }
    tsm_difference_print(&r->first, p->a, p->symbols);
    printf("  a           record %" PRIu64 " of %s\n", r->seq_a, tsm_clean(sbt_reader_name(p->a)));
    printf("  b           record %" PRIu64 " of %s\n", r->seq_b, tsm_clean(sbt_reader_name(p->b)));
    if (r->field[0])
        printf("  %-11s %s in a, %s in b\n", tsm_clean(r->field), tsm_clean(r->value_a),
               tsm_clean(r->value_b));
    printf("%sdifferent%s: %s (after %" PRIu64 " equal ones)\n", tsm_paint(TSM_PAINT_BAD),
           tsm_paint(TSM_PAINT_NONE), tsm_clean(r->why), r->compared_count);
}

static int compare(const struct diff_values *v, struct pair *p)
{
    const struct tsm_diff_options diff = {
        .streams = v->streams.count ? v->streams.numbers : NULL,
        .stream_count = v->streams.count,
        .ignore_addresses = v->ignore_addresses,
        .readbacks_only = v->readbacks_only,
    };
    size_t noted = 0;
    int error;

    tsm_trace_show_progress(p->a, "comparing");
    tsm_trace_show_progress(p->b, "comparing");
    error = tsm_diff(&p->result, p->a, p->b, &diff);
    tsm_trace_show_progress(p->a, NULL);
    tsm_trace_show_progress(p->b, NULL);
    if (error < 0 || tsm_symbols_create(&p->symbols, p->a) < 0)
        return tsm_complain_error();
    if (v->json)
        print_json(p);
    else
        print_text(p);
    tsm_trace_note_damage(p->a, &noted);
    noted = 0;
    tsm_trace_note_damage(p->b, &noted);
    return (int)p->result.verdict;
}

static int run(const struct tsm_command *command, void *values, const struct tsm_words *words)
{
    struct pair p = {0};
    int status = TSM_EXIT_ERROR;

    p.a = tsm_trace_open(words->words[0]);
    p.b = p.a ? tsm_trace_open(words->words[1]) : NULL;
    if (p.a && p.b)
        status = compare(values, &p);
    tsm_symbols_destroy(p.symbols);
    sbt_reader_destroy(p.b);
    sbt_reader_destroy(p.a);
    return status;
}

const struct tsm_command tsm_command_diff = {
    .name = "diff",
    .alias = "tsdiff",
    .summary = "find the first command in which two traces differ",
    .synopsis = "[OPTION]... TRACE_A TRACE_B",
    .description =
        "Compares two traces stream by stream: the same commands with the same arguments and "
        "bytes, in the same order on each stream, giving the same results. Order between streams "
        "may differ, as may times, threads and addresses in the program; device addresses must "
        "map one to one. The first difference is shown. Queries and waits are not compared: how "
        "often a program polls is chance. When nothing differs but a trace lacks something (lost, "
        "filtered, cut off, recovered, damaged, not modelled), or holds what cannot be compared, "
        "the answer is \"cannot tell\", with the reason.",
    .examples = "tsdiff good.sbt bad.sbt\n"
                "tsdiff --readbacks-only driver-1.sbt driver-2.sbt\n",
    .exit_status = "0|same\n1|different\n2|cannot tell, or an error",
    .options = options,
    .values_size = sizeof(struct diff_values),
    .operand = "TRACE",
    .word_min = 2,
    .word_max = 2,
    .run = run,
};
