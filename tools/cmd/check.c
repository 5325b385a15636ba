/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/command.h"

#include "format/check/counts.h"
#include "tools/terminal.h"
#include "tools/text/json_out.h"
#include "tracesmith/reader.h"

#include <inttypes.h>

struct check_values {
    bool json;
};

static const struct tsm_option options[] = {
    {.name = "json",
     .type = TSM_OPTION_FLAG,
     .offset = TSM_FIELD(check_values, json),
     .help = "One JSON object for each trace, one a line, schema \"tscheck/1\"."},
    {0},
};

/* Violations shown of a trace: one fault can break a rule in every later record. */
#define REPORTED_MAX 100

struct report {
    const char *path;
    struct tsm_json *json; /* NULL: text */
    int count;
};

static void report(void *user, uint64_t offset, const char *text)
{
    struct report *r = user;

    if (++r->count > REPORTED_MAX)
        return;
    tsm_progress_end();
    if (!r->json) {
        printf("%s: byte %" PRIu64 ": %s%s%s\n", tsm_clean(r->path), offset,
               tsm_paint(TSM_PAINT_BAD), tsm_clean(text), tsm_paint(TSM_PAINT_NONE));
        return;
    }
    tsm_json_open(r->json, '{');
    tsm_json_put_u64(r->json, "offset", offset);
    tsm_json_put_string(r->json, "text", text);
    tsm_json_close(r->json, '}');
}

static void print_ok(const char *path, const struct sbt_check_counts *counts)
{
    printf("%s: %sok%s", tsm_clean(path), tsm_paint(TSM_PAINT_GOOD), tsm_paint(TSM_PAINT_NONE));
    if (counts->lost_chunks)
        printf("; lost, as a repair has noted: %" PRIu64 " chunk%s, %" PRIu64 " record%s",
               counts->lost_chunks, counts->lost_chunks == 1 ? "" : "s", counts->lost_records,
               counts->lost_records == 1 ? "" : "s");
    putchar('\n');
}

static void show_progress(uint64_t done, uint64_t total)
{
    tsm_progress("checking", done, total);
}

static int check(const char *path, bool wants_json)
{
    struct tsm_json json = {.out = stdout};
    struct sbt_check_counts counts;
    struct report r = {path, wants_json ? &json : NULL, 0};

    if (wants_json) {
        tsm_json_begin(&json, "tscheck/1");
        tsm_json_put_string(&json, "trace", path);
        tsm_json_name(&json, "violations");
        tsm_json_open(&json, '[');
    }
    int count = sbt_check_and_count(path, report, &r, &counts, show_progress);
    tsm_progress_end();
    if (wants_json) {
        tsm_json_close(&json, ']');
        tsm_json_put_u64(&json, "violation_count", (uint64_t)r.count);
        tsm_json_put_u64(&json, "record_count", counts.records);
        tsm_json_put_u64(&json, "lost_chunks", counts.lost_chunks);
        tsm_json_put_u64(&json, "lost_records", counts.lost_records);
        tsm_json_put_string(&json, "error", count < 0 ? tsm_error_message() : NULL);
        tsm_json_end(&json);
    }
    if (count < 0)
        return tsm_complain_error();
    if (!wants_json && count > REPORTED_MAX)
        printf("%s: ... %d more\n", tsm_clean(path), count - REPORTED_MAX);
    if (!wants_json && count == 0)
        print_ok(path, &counts);
    return count > 0 ? TSM_EXIT_NO : TSM_EXIT_OK;
}

static int run(const struct tsm_command *command, void *values, const struct tsm_words *words)
{
    const struct check_values *v = values;
    int worst = TSM_EXIT_OK;

    for (int i = 0; i < words->count; i++) {
        int status = check(words->words[i], v->json);
        if (status > worst)
            worst = status;
    }
    return worst;
}

const struct tsm_command tsm_command_check = {
    .name = "check",
    .summary = "check that a file keeps the rules of the trace format",
    .synopsis = "[OPTION]... TRACE...",
    .description =
        "Reads each TRACE completely and checks every rule of docs/FORMAT.md that can be checked "
        "from the file alone: checksums, lengths, order, references, the index. Each violation is "
        "reported with its place in the file, the first 100 one by one; after damage the check "
        "goes "
        "on with the "
        "next chunk that is whole. Whether the recorded commands can be replayed is not "
        "asked: see 'tsreplay --dry-run'. What a repair has noted as lost is no violation; it is "
        "told.",
    .examples = "tracesmith check trace.sbt\n",
    .exit_status = "0|no violation\n"
                   "1|at least one violation\n"
                   "2|a file cannot be read, or is no trace",
    .options = options,
    .values_size = sizeof(struct check_values),
    .operand = "TRACE",
    .word_min = 1,
    .word_max = -1,
    .run = run,
};
