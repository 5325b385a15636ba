/* SPDX-License-Identifier: Apache-2.0
 *
 * A copy of a trace that can be given to somebody else.
 */
#include "tools/command.h"

#include "tools/edit/redact.h"
#include "tools/edit/trace_copy.h"
#include "tools/named_output.h"
#include "tools/terminal.h"
#include "tools/text/json_out.h"
#include "tools/trace_open.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

struct redact_values {
    const char *output;
    unsigned what; /* 0: the default */
    bool force, lossy, json;
};

static bool parse_what(void *field, const char *text)
{
    return tsm_redact_parse(field, text);
}

static const struct tsm_option options[] = {
    {.name = "output",
     .letter = 'o',
     .type = TSM_OPTION_NEW,
     .offset = TSM_FIELD(redact_values, output),
     .argument = "FILE",
     .help = "The new trace. An older one of this name is replaced."},
    TSM_OUTPUT_FORCE(redact_values, force),
    {.name = "remove",
     .type = TSM_OPTION_PARSED,
     .offset = TSM_FIELD(redact_values, what),
     .argument = "LIST",
     .help =
         "What to take out, separated by commas, or 'all'. contents: bytes of memory and code; "
         "their hashes stay. command: the command line, names of threads and processes. host: the "
         "machine's name, serial numbers of devices. user: names of home folders. paths: of files "
         "that no distribution has. names: all other texts, such as those of kernels and labels, "
         "by which "
         "a replay finds functions. "
         "values: short values of calls, such as the arguments of kernels. hashes: numbers in "
         "place "
         "of them, without which whoever guesses some bytes can see whether he is right; bytes "
         "that "
         "are few, or one of a few values, are guessed by trying all. Build ids of files stay. "
         "Default: "
         "contents,command,host,user,paths.",
     .parse = parse_what},
    {.name = "lossy",
     .type = TSM_OPTION_FLAG,
     .offset = TSM_FIELD(redact_values, lossy),
     .help = "Also from a trace of which a part cannot be read: the new one says so."},
    {.name = "json",
     .type = TSM_OPTION_FLAG,
     .offset = TSM_FIELD(redact_values, json),
     .help = "One JSON object, schema \"tsredact/1\"."},
    {0},
};

static int copy_records(struct tsm_trace_copy *copy)
{
    const struct sbt_record *record;
    struct sbt_cursor *cursor = NULL;
    const uint64_t total = sbt_reader_totals(copy->reader)->record_count;
    int error = sbt_cursor_create(&cursor, copy->reader, NULL, 1);

    while (error >= 0 && (error = sbt_cursor_next(cursor, &record)) == 1) {
        error = tsm_trace_copy_record(copy, record);
        if (record->seq % 4096 == 0)
            tsm_progress("copying", record->seq, total);
    }
    sbt_cursor_destroy(cursor);
    tsm_progress_end();
    return error < 0 ? error : 0;
}

static int copy_kernel(struct tsm_trace_copy *copy)
{
    uint8_t *records;
    size_t size;
    int error = 0;

    for (size_t i = 0; !error; i++) {
        error = sbt_reader_kernel_events(copy->reader, i, &records, &size);
        if (error == TSM_E_CHECKSUM) { /* sbt_reader_missing() counts it */
            error = 0;
            continue;
        }
        if (error)
            break;
        tsm_redact_kernel(copy->redact, records, size);
        error = sbt_writer_kernel_events(copy->writer, records, size);
        free(records);
    }
    return error == TSM_E_NOT_FOUND ? 0 : error;
}

/* Fails when a part of the trace cannot be read, unless the user accepts that. */
static int check_whole(const struct tsm_trace_copy *copy, bool lossy, uint64_t *missing)
{
    bool lacks_end;

    *missing = tsm_trace_copy_missing(copy, 0, &lacks_end);
    if (lossy || !*missing)
        return 0;
    return tsm_fail(TSM_E_LOSSY,
                    "%s: %" PRIu64 " records or other parts cannot be read; --lossy copies what is "
                    "there and notes the loss",
                    sbt_reader_name(copy->reader), *missing);
}

static int write_copy(struct tsm_redact *redact, const struct tsm_output *output, bool lossy,
                      uint64_t *missing)
{
    struct tsm_trace_copy copy;
    char list[128];
    int error = tsm_trace_copy_begin(&copy, redact->reader, output->written, redact);

    tsm_redact_list(list, sizeof(list), redact->what);
    if (!copy.writer)
        return error;
    if (!error)
        error = sbt_writer_metadata(copy.writer, SBT_METADATA_REDACTED, list);
    if (!error)
        error = copy_records(&copy);
    if (!error)
        error = copy_kernel(&copy);
    if (!error)
        error = check_whole(&copy, lossy, missing);
    return tsm_output_end(output, tsm_trace_copy_end(&copy, 0, error));
}

static void tell(const struct redact_values *v, const struct sbt_reader *reader, uint64_t missing)
{
    uint64_t count = sbt_reader_totals(reader)->record_count;
    struct tsm_json json = {.out = stdout};
    char list[128];

    tsm_redact_list(list, sizeof(list), v->what);
    if (!v->json) {
        printf("%s: %" PRIu64 " records without %s", tsm_clean(v->output), count, list);
        printf(missing ? "; %" PRIu64 " could not be read\n" : "\n", missing);
        return;
    }
    tsm_json_begin(&json, "tsredact/1");
    tsm_json_put_string(&json, "trace", sbt_reader_name(reader));
    tsm_json_put_string(&json, "output", v->output);
    tsm_json_put_string(&json, "removed", list);
    tsm_json_put_u64(&json, "record_count", count);
    tsm_json_put_u64(&json, "missing_count", missing);
    tsm_json_end(&json);
}

static int run(const struct tsm_command *command, void *values, const struct tsm_words *words)
{
    struct redact_values *v = values;
    struct tsm_redact redact = {0};
    struct tsm_output output;
    uint64_t missing = 0;
    size_t noted = 0;
    int error;

    if (!v->output)
        return tsm_complain("no --output; say where the new trace is to be written");
    if (!v->what)
        v->what = TSM_REDACT_DEFAULT;
    redact.reader = tsm_trace_open(words->words[0]);
    if (!redact.reader)
        return TSM_EXIT_ERROR;
    v->what |= tsm_redacted(redact.reader);
    redact.what = v->what;
    error = tsm_output_begin(&output, v->output, words->words[0], v->force);
    if (!error)
        error = tsm_redact_begin(&redact);
    if (!error)
        error = write_copy(&redact, &output, v->lossy, &missing);
    if (!error)
        tell(v, redact.reader, missing);
    tsm_trace_note_damage(redact.reader, &noted);
    sbt_reader_destroy(redact.reader);
    tsm_redact_finish(&redact);
    return error ? tsm_complain_error() : TSM_EXIT_OK;
}

const struct tsm_command tsm_command_redact = {
    .name = "redact",
    .summary = "copy a trace without what is nobody else's affair",
    .synopsis = "--output=FILE [--remove=LIST] [--lossy] TRACE",
    .description =
        "A trace holds what the program held: treat it like a core dump. The copy has the same "
        "records, times, hashes and stacks, so that it can be viewed, compared with another such "
        "copy and drawn, but it cannot be replayed. Of a text that is removed each letter becomes "
        "another one; the same word becomes the same letters everywhere in the trace, so that what "
        "belongs together still does. 'tracesmith info' says what a trace reveals. Numbers in "
        "calls "
        "(sizes, addresses, the value of a memset) stay in any case.",
    .examples =
        "tracesmith redact -o public.sbt trace.sbt\n"
        "tracesmith redact --remove=all -o public.sbt trace.sbt\n"
        "tracesmith redact --remove=paths,user -o replays.sbt trace.sbt   with its contents\n",
    .exit_status =
        "0|the new trace is there\n2|error, or a part of TRACE cannot be read (see --lossy)",
    .options = options,
    .values_size = sizeof(struct redact_values),
    .operand = "TRACE",
    .word_min = 1,
    .word_max = 1,
    .run = run,
};
