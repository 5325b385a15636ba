/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/command.h"

#include "analysis/call_nesting.h"
#include "base/text.h"
#include "format/check/counts.h"
#include "format/json.h"
#include "tools/kernel/view.h"
#include "tools/schedule/states_view.h"
#include "tools/selection.h"
#include "tools/terminal.h"
#include "tools/text/json_out.h"
#include "tools/text/kernel_arguments.h"
#include "tools/text/record.h"
#include "tools/text/symbol.h"
#include "tools/trace_open.h"
#include "api/cuda/view/help_examples.h"
#include "api/vulkan/view/submit_tree.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define STACK_COLUMN 43u

struct view_values {
    bool stacks, json, failed, repair, tree, kernel, states, arguments;
    const char *calls, *host;
    uint64_t limit;
    struct tsm_selection_streams streams;
    struct tsm_selection_range range;
};

static const struct tsm_option options[] = {
    TSM_SELECTION_OPTIONS(view_values, streams, range),
    {.name = "calls",
     .letter = 'c',
     .type = TSM_OPTION_TEXT,
     .offset = TSM_FIELD(view_values, calls),
     .argument = "PATTERN",
     .help = "Only calls whose name matches this pattern, e.g. '" CUDA_EXAMPLE_COPIES "'."},
    {.name = "failed",
     .letter = 'f',
     .type = TSM_OPTION_FLAG,
     .offset = TSM_FIELD(view_values, failed),
     .help = "Only calls that returned an error."},
    {.name = "limit",
     .letter = 'n',
     .type = TSM_OPTION_NUMBER,
     .offset = TSM_FIELD(view_values, limit),
     .argument = "COUNT",
     .help = "Stop after COUNT records."},
    {.name = "stacks",
     .letter = 's',
     .type = TSM_OPTION_FLAG,
     .offset = TSM_FIELD(view_values, stacks),
     .help = "Under each record, the program's stack that sent it, with function, source file and "
             "line where the program's files are still here; where neither is known, with the call "
             "instruction (x86-64)."},
    {.name = "kernel",
     .letter = 'k',
     .type = TSM_OPTION_FLAG,
     .offset = TSM_FIELD(view_values, kernel),
     .help =
         "Also what the kernel recorded meanwhile, among the records by time: a line begins with "
         "k, its CPU and the process. Under each submit of a DRM file its job: ring, and how many "
         "microseconds after the call's begin it was submitted, taken, done and reported."},
    {.name = "host",
     .type = TSM_OPTION_TEXT,
     .offset = TSM_FIELD(view_values, host),
     .argument = "LOG",
     .help = "With --kernel, of a trace from a virtual machine: when its host took and answered "
             "each command, too. LOG is QEMU's, run with -trace 'virtio_gpu_fence_*' "
             "-msg timestamp=on -D LOG."},
    {.name = "tree",
     .letter = 't',
     .type = TSM_OPTION_FLAG,
     .offset = TSM_FIELD(view_values, tree),
     .help =
         "Vulkan: what was sent to queues, frame by frame: submits, the command buffers in them, "
         "their commands, nested by the program's labels, with its names for objects, hashes of "
         "shaders (`tracesmith shaders`) and GPU times (TS_GPU_TIME). With --json schema "
         "\"tstree/1\", a line for each."},
    {.name = "states",
     .type = TSM_OPTION_FLAG,
     .offset = TSM_FIELD(view_values, states),
     .help =
         "CUDA, Vulkan, HSA, DRM: the states of commands, streams, engines (CUDA's) and devices "
         "over time, idle, pending, wait, running or sent (no time says when it ran), with the "
         "reason. "
         "Of the whole trace. With --json one object, schema "
         "\"tsstates/1\"."},
    {.name = "json",
     .type = TSM_OPTION_FLAG,
     .offset = TSM_FIELD(view_values, json),
     .help = "One JSON object a line, schema \"tsview/1\": first the trace, then its records, as "
             "docs/FORMAT.md says; with --stacks, each stack before the first record that has it."},
    {.name = "arguments",
     .type = TSM_OPTION_FLAG,
     .offset = TSM_FIELD(view_values, arguments),
     .help = "With --json: launches have a member \"arguments\", too: value, type, place and size "
             "of each argument, by the kernel's parameters in its code, and the record that "
             "allocated what an address points into. Without --json they are shown in any case."},
    {.name = "repair",
     .type = TSM_OPTION_FLAG,
     .offset = TSM_FIELD(view_values, repair),
     .help = "Do not show anything: cut off what a crash left at the end of the file, mark chunks "
             "between others that are damaged, and write the index again. Nothing that can be read "
             "is lost."},
    {0},
};

struct view {
    const struct view_values *values;
    struct sbt_reader *reader;
    struct tsm_record_text text;
    struct tsm_symbols *symbols;
    struct tsm_buffer json;         /* --json: the lines of a record */
    struct tsm_kernel_view *kernel; /* --kernel */
    struct tsm_call_nesting *nest;  /* NULL: nothing is made of anything else */
    struct tsm_buffer shown_stacks; /* --json --stacks: a bit for each stack that was written */
    bool notes_all;                 /* text.arguments gets each record of the trace */
    uint64_t shown;
    uint64_t record_count; /* of the trace, for progress */
};

static bool wanted(const struct view *view, const struct sbt_record *record)
{
    const struct view_values *v = view->values;

    if (v->failed && !(record->flags & SBT_RECORD_FAILED))
        return false;
    if (!v->calls) /* a checkpoint is one line, not one for each part of memory */
        return v->json || record->type != SBT_TYPE(SBT_API_CORE, SBT_CORE_MEMORY);
    const struct sbt_schema *schema = sbt_reader_schema(view->reader, record->type);
    return schema && fnmatch(v->calls, schema->name, 0) == 0;
}

/* True once for each stack. Ids are small; a trace with a huge one repeats its stacks. */
static bool first_time(struct view *view, uint32_t stack)
{
    enum { BYTES_MAX = 16 << 20 };
    size_t byte = stack / 8;
    uint8_t bit = (uint8_t)(1u << stack % 8);

    if (byte >= view->shown_stacks.size && byte < BYTES_MAX) {
        uint8_t *more = tsm_buffer_reserve(&view->shown_stacks, byte + 1 - view->shown_stacks.size);
        if (!more)
            return true;
        memset(more, 0, byte + 1 - view->shown_stacks.size);
        view->shown_stacks.size = byte + 1;
    }
    if (byte >= view->shown_stacks.size)
        return true;
    bool first = !(view->shown_stacks.data[byte] & bit);
    view->shown_stacks.data[byte] |= bit;
    return first;
}

/* {"stack":ID,"frames":[...]}, before the first record that has it. */
static void show_stack_json(struct view *view, uint32_t stack)
{
    struct tsm_json j = {.out = stdout};
    const uint64_t *frames;
    char text[512];
    int count = stack ? sbt_reader_stack(view->reader, stack, &frames) : 0;

    if (count <= 0 || !first_time(view, stack))
        return;
    tsm_json_open(&j, '{');
    tsm_json_put_u64(&j, "stack", stack);
    tsm_json_name(&j, "frames");
    tsm_json_open(&j, '[');
    for (int i = 0; i < count; i++) {
        tsm_symbols_frame_text(view->symbols, frames[i], text, sizeof(text));
        tsm_json_string(&j, text);
    }
    tsm_json_close(&j, ']');
    tsm_json_end(&j);
}

/* The call of the program that made this record's, where that is another one. */
static void put_parent(struct view *view, const struct sbt_record *record)
{
    const struct sbt_schema *schema;
    struct tsm_text_line *line = &view->text.line;
    uint64_t seq;
    uint32_t type;

    if (!tsm_call_nesting_parent(view->nest, record, &seq, &type))
        return;
    schema = sbt_reader_schema(view->reader, type);
    tsm_text_line_text(line, "  < ");
    tsm_text_line_clean(line, schema ? schema->name : "?");
    tsm_text_line_text(line, " #");
    tsm_text_line_u64(line, seq);
}

/* Adds the parent as another member of the line's object. */
static void put_parent_json(struct view *view, const struct sbt_record *record)
{
    const struct sbt_schema *schema;
    uint64_t seq;
    uint32_t type;
    struct tsm_json j = {.buffer = &view->json, .style = TSM_JSON_LETTERS, .comma = true};

    if (!tsm_call_nesting_parent(view->nest, record, &seq, &type) || view->json.size < 2)
        return;
    schema = sbt_reader_schema(view->reader, type);
    view->json.size -= 2; /* "}\n" */
    tsm_json_put_u64(&j, "parent", seq);
    tsm_json_put_string(&j, "parent_call", schema ? schema->name : "?");
    tsm_json_close(&j, '}');
    tsm_buffer_add_u8(&view->json, '\n');
}

/* Adds the launch's arguments as another member of the line's object. */
static void put_arguments_json(struct view *view, const struct sbt_record *record)
{
    struct tsm_json j = {.buffer = &view->json, .style = TSM_JSON_LETTERS, .comma = true};

    if (!view->values->arguments || view->json.size < 2)
        return;
    view->json.size -= 2; /* "}\n" */
    tsm_kernel_arguments_json(view->text.arguments, record, &j);
    tsm_json_close(&j, '}');
    tsm_buffer_add_u8(&view->json, '\n');
}

static void show_json(struct view *view, const struct sbt_record *record)
{
    if (view->values->stacks)
        show_stack_json(view, record->stack);
    tsm_buffer_clear(&view->json);
    sbt_json_record(&view->json, view->reader, record);
    put_arguments_json(view, record);
    put_parent_json(view, record);
    tsm_json_put_lines(&view->json, stdout);
}

static void show(struct view *view, const struct sbt_record *record)
{
    view->shown++;
    if (view->values->json) {
        show_json(view, record);
        return;
    }
    tsm_record_text_put(&view->text, record);
    put_parent(view, record);
    tsm_text_line_write(&view->text.line, stdout);
    if (view->values->stacks)
        tsm_symbols_write_stack(view->symbols, view->reader, record->stack, &view->text.line,
                                STACK_COLUMN, stdout);
}

static void show_header_json(struct view *view)
{
    sbt_json_header(&view->json, view->reader);
    tsm_json_put_lines(&view->json, stdout);
}

static int show_all(struct view *view, struct sbt_cursor *cursor)
{
    const struct sbt_record *record;
    uint64_t limit = view->values->limit;
    int more = 0;

    if (view->values->json)
        show_header_json(view);
    while ((limit == 0 || view->shown < limit) && (more = sbt_cursor_next(cursor, &record)) > 0) {
        tsm_kernel_view_upto(view->kernel, record->time_ns);
        if (view->notes_all)
            tsm_kernel_arguments_note(view->text.arguments, record);
        if (wanted(view, record)) {
            show(view, record);
            tsm_kernel_view_job(view->kernel, record->seq);
        }
        if (record->seq % 4096 == 0)
            tsm_progress("reading", record->seq, view->record_count);
        if (ferror(stdout))
            break;
    }
    if (more == 0)
        tsm_kernel_view_upto(view->kernel, UINT64_MAX);
    fflush(stdout);
    tsm_kernel_view_sum(view->kernel);
    return more < 0 ? tsm_complain_error() : TSM_EXIT_OK;
}

static int view_tree(const struct view_values *v, const char *path)
{
    struct tsm_tree_options tree = {.limit = v->limit, .json = v->json};
    struct sbt_reader *reader = tsm_trace_open(path);
    size_t noted = 0;
    int status;

    if (!reader)
        return TSM_EXIT_ERROR;
    if (tsm_selection_filter(&tree.filter, reader, &v->streams, &v->range) < 0)
        status = tsm_complain_error();
    else
        status = tsm_submit_tree(reader, &tree);
    tsm_trace_note_damage(reader, &noted);
    sbt_reader_destroy(reader);
    return status;
}

static int view_states(const struct view_values *v, const char *path)
{
    struct sbt_reader *reader = tsm_trace_open(path);
    struct sbt_filter filter = {0};
    size_t noted = 0;
    int status;

    if (!reader)
        return TSM_EXIT_ERROR;
    if (tsm_selection_filter(&filter, reader, &v->streams, &v->range))
        status = tsm_complain_error();
    else if (tsm_selection_is_part(&filter) || v->calls || v->failed || v->limit || v->stacks ||
             v->kernel || v->tree)
        status = tsm_complain("--states shows the whole trace, and goes with --json alone");
    else
        status = tsm_states_view(reader, v->json);
    tsm_trace_note_damage(reader, &noted);
    sbt_reader_destroy(reader);
    return status;
}

static int decode_arguments(struct view *view, const struct sbt_filter *filter)
{
    if (view->values->json && !view->values->arguments)
        return 0;
    view->notes_all = !tsm_selection_is_part(filter);
    return tsm_kernel_arguments_create(&view->text.arguments, view->reader, view->notes_all);
}

static int view_trace(const struct view_values *v, const char *path)
{
    struct view view = {.values = v};
    struct sbt_filter filter;
    struct sbt_cursor *cursor = NULL;
    int status = TSM_EXIT_ERROR;
    size_t noted = 0;

    view.reader = tsm_trace_open(path);
    if (!view.reader)
        return TSM_EXIT_ERROR;
    view.record_count = sbt_reader_totals(view.reader)->record_count;
    tsm_trace_note_damage(view.reader, &noted);
    tsm_record_text_init(&view.text, view.reader);
    if (tsm_selection_filter(&filter, view.reader, &v->streams, &v->range) < 0 ||
        (v->stacks && tsm_symbols_create(&view.symbols, view.reader) < 0) ||
        (v->kernel && tsm_kernel_view_create(&view.kernel, view.reader, v->host, v->json) < 0) ||
        tsm_call_nesting_create(&view.nest, view.reader) < 0 ||
        decode_arguments(&view, &filter) < 0 ||
        sbt_cursor_create(&cursor, view.reader, &filter, 1) < 0)
        tsm_complain_error();
    else
        status = show_all(&view, cursor);
    if (!status && !view.shown && !v->json &&
        (tsm_selection_is_part(&filter) || v->calls || v->failed))
        tsm_selection_note_nothing(view.reader);
    tsm_trace_note_damage(view.reader, &noted);
    sbt_cursor_destroy(cursor);
    tsm_symbols_destroy(view.symbols);
    tsm_kernel_view_destroy(view.kernel);
    tsm_call_nesting_destroy(view.nest);
    tsm_kernel_arguments_destroy(view.text.arguments);
    tsm_record_text_finish(&view.text);
    tsm_buffer_finish(&view.json);
    tsm_buffer_finish(&view.shown_stacks);
    sbt_reader_destroy(view.reader);
    return status;
}

/* Reports what a repair has marked between readable chunks. */
static void tell_lost(const char *path)
{
    struct sbt_check_counts counts;

    if (sbt_check_and_count(path, NULL, NULL, &counts, NULL) >= 0 && counts.lost_chunks)
        tsm_note("%s: %" PRIu64 " chunk%s before the end could not be read; lost with %s: %" PRIu64
                 " record%s",
                 path, counts.lost_chunks, counts.lost_chunks == 1 ? "" : "s",
                 counts.lost_chunks == 1 ? "it" : "them", counts.lost_records,
                 counts.lost_records == 1 ? "" : "s");
}

static int repair(const char *path)
{
    uint64_t lost = 0;
    int result = tsm_trace_recover(path);

    if (!result)
        result = sbt_repair(path, &lost);

    if (result < 0)
        return tsm_complain_error();
    if (result == 0)
        tsm_note("%s: nothing to repair", path);
    else
        tsm_note("%s: index written anew; %" PRIu64 " bytes that could not be read were cut off",
                 path, lost);
    if (result > 0)
        tell_lost(path);
    return TSM_EXIT_OK;
}

static int run(const struct tsm_command *command, void *values, const struct tsm_words *words)
{
    static char buffer[1 << 18];
    const struct view_values *v = values;

    if (v->repair)
        return repair(words->words[0]);
    setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
    if (v->states)
        return view_states(v, words->words[0]);
    return v->tree ? view_tree(v, words->words[0]) : view_trace(v, words->words[0]);
}

const struct tsm_command tsm_command_view = {
    .name = "view",
    .alias = "tsview",
    .summary = "show what a trace contains, record by record",
    .synopsis = "[OPTION]... TRACE",
    .description =
        "Prints one line for each recorded call: its sequence number, seconds since the start, "
        "stream (s0, s1, ...; - for none), bytes moved, then the call with its arguments and, "
        "where it is not success, its result. A launch of a GPU kernel reads name<<<grid, "
        "block>>>, with the kernel's arguments by its parameters where the trace has its code. "
        "Calls marked [taints] changed the GPU in a way that is not recorded. What a "
        "checkpoint saved of each memory is shown with --calls=memory only. What a call of HIP "
        "made "
        "through HSA has \"< \", the call and its number after it (JSON: \"parent\").\n\n"
        "On a terminal lines are cut to its width; otherwise they are whole. Memory use does not "
        "grow with the trace, but for 40 bytes a call of HIP.",
    .examples = "tsview trace.sbt | less\n"
                "tsview --calls='" CUDA_EXAMPLE_LAUNCHES "' --limit=20 trace.sbt\n"
                "tsview --range=1.5s:2s --streams=0,2 trace.sbt\n"
                "tsview --failed --stacks trace.sbt        where do errors come from?\n"
                "tsview --json trace.sbt | jq .call\n"
                "tsview --tree trace.sbt | less            what Vulkan queues got\n"
                "tsview --states trace.sbt | less          what ran, and what waited for what?\n"
                "tsview --repair trace.sbt                 after a crash\n",
    .exit_status = "0|shown (damage is reported on stderr)\n"
                   "2|the trace cannot be read",
    .options = options,
    .values_size = sizeof(struct view_values),
    .operand = "TRACE",
    .word_min = 1,
    .word_max = 1,
    .run = run,
};
