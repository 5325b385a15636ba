/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/command.h"

#include "analysis/dependencies/graph.h"
#include "analysis/dependencies/stream_commands.h"
#include "tools/selection.h"
#include "tools/terminal.h"
#include "tools/text/json_out.h"
#include "tools/text/edge.h"
#include "tools/text/memory_edge.h"
#include "tools/trace_open.h"
#include "tracesmith/error.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define CODE_SIZE_MAX (64u << 20) /* that is shown */
#define HASH_MAX      36u

struct stream_values {
    bool code, json;
    struct tsm_selection_range range;
};

static const struct tsm_option options[] = {
    {.name = "code",
     .letter = 'c',
     .type = TSM_OPTION_FLAG,
     .offset = TSM_FIELD(stream_values, code),
     .help = "Also show the code that the commands run, where the trace has it as text: PTX."},
    TSM_SELECTION_RANGE(stream_values, range),
    {.name = "json",
     .type = TSM_OPTION_FLAG,
     .offset = TSM_FIELD(stream_values, json),
     .help = "One JSON object, schema \"tsstream/1\"."},
    {0},
};

struct run {
    const struct stream_values *v;
    struct sbt_reader *reader;
    struct sbt_filter filter;
    uint64_t number;
    struct tsm_stream_commands commands;
    struct tsm_dependency_graph graph;
};

static bool is_selected(const struct run *run, const struct tsm_stream_command *command)
{
    const struct sbt_filter *f = &run->filter;

    return command->seq >= f->seq_first && (!f->seq_end || command->seq < f->seq_end);
}

static const char *call_name(const struct tsm_stream_command *command)
{
    return command->schema ? command->schema->name : "unknown";
}

static bool is_signal(const struct tsm_stream_command *command)
{
    return command->event && command->schema->kind == SBT_KIND_SIGNAL;
}

/* Calls `visit` for each edge of order to a record. */
static void each_wait(const struct run *run, uint64_t seq,
                      void (*visit)(void *user, const struct tsm_dependency *edge), void *user)
{
    const struct tsm_dependency_graph *g = &run->graph;
    const struct tsm_dependency_node *node = tsm_dependency_graph_find(g, seq);

    for (size_t e = node ? node->first_edge : 0; node && e < node[1].first_edge; e++)
        if (!tsm_dependency_is_memory(&g->edges[e]))
            visit(user, &g->edges[e]);
}

/* ---- code ------------------------------------------------------------------------------------ */

/* Returns the hash of its first 64 KiB, of all bytes where they are no more. */
static const char *code_hash(char out[HASH_MAX], const struct tsm_stream_code *code)
{
    const struct sbt_key key = sbt_blob_key(&code->blob, 0);

    for (size_t i = 0; i < sizeof(key.bytes); i++)
        snprintf(out + 2 * i, 3, "%02x", key.bytes[i]);
    return out;
}

/* Returns the text of code, with a 0 behind it, in *out, from malloc: NULL for what is no text, or
 * is not there. Returns 0 or a negative tsm_error. */
static int code_text(char **out, struct sbt_reader *reader, const struct tsm_stream_code *code)
{
    size_t size = (size_t)code->blob.size;
    char *text;

    *out = NULL;
    if (code->blob.size > CODE_SIZE_MAX)
        return 0;
    text = malloc(size + 1);
    if (!text)
        return tsm_fail(TSM_E_MEMORY, "no memory for code");
    if (sbt_reader_blob(reader, &code->blob, 0, text, size) < 0)
        size = 0;
    text[size] = '\0';
    while (size && !text[size - 1]) /* as a string that was loaded ends */
        size--;
    if (!size || strlen(text) != size || (!isspace((unsigned char)*text) && !isprint(*text))) {
        free(text);
        return 0;
    }
    *out = text;
    return 0;
}

static int print_code(const struct run *run, const struct tsm_stream_code *code)
{
    char hash[HASH_MAX], *text;
    const int error = code_text(&text, run->reader, code);

    if (error)
        return error;
    printf("\n%s%s#%" PRIu64 "%s  %s, %" PRIu64 " bytes, record %" PRIu64 "%s\n",
           tsm_paint(TSM_PAINT_BOLD), tsm_clean(code->type), code->id, tsm_paint(TSM_PAINT_NONE),
           code_hash(hash, code), code->blob.size, code->seq, text ? "" : ", no text");
    if (text)
        tsm_put_lines(stdout, text);
    free(text);
    return 0;
}

/* ---- text ------------------------------------------------------------------------------------ */

/* The command before it on the stream is in the line above. */
static void print_wait(void *user, const struct tsm_dependency *edge)
{
    bool *is_begun = user;
    char object[TSM_EDGE_OBJECT_MAX];

    if (edge->is_redundant || edge->reason == TSM_DEPENDS_STREAM)
        return;
    printf(*is_begun ? ", " : "          after     ");
    *is_begun = true;
    printf("%" PRIu64 " (%s", edge->from, tsm_dependency_reason_name(edge->reason));
    if (tsm_edge_object(object, edge))
        printf(", %s", object);
    printf(")");
}

static void print_range(const struct tsm_stream_range *range)
{
    const struct tsm_access *a = &range->access;

    printf("          %-9s ", a->reads && a->writes
                                  ? (tsm_access_is_exact(a->kind) ? "uses" : "may use")
                              : a->reads ? (tsm_access_is_exact(a->kind) ? "reads" : "may read")
                                         : (tsm_access_is_exact(a->kind) ? "writes" : "may write"));
    if (a->is_object) {
        printf("array %" PRIu64 "\n", a->start & TSM_ACCESS_ID_MASK);
        return;
    }
    printf("0x%" PRIx64 "  %" PRIu64 " bytes", a->start, a->size);
    if (range->allocation_size)
        printf("  at %" PRIu64 " of 0x%" PRIx64 " (%" PRIu64 ")", a->start - range->allocation,
               range->allocation, range->allocation_size);
    printf("\n");
}

static void print_command(const struct run *run, const struct tsm_stream_command *command)
{
    const struct tsm_stream_commands *c = &run->commands;
    char duration[32] = "-", hash[HASH_MAX];
    bool is_begun = false;

    if (command->gpu.kind != TSM_TIME_UNKNOWN)
        tsm_duration_text(duration, sizeof(duration), tsm_span_ns(&command->gpu));
    printf("%8" PRIu64 "  %8" PRIu64 "  %10s  %s", command->seq, command->position, duration,
           tsm_clean(call_name(command)));
    if (command->kernel)
        printf(" %s%s%s", tsm_paint(TSM_PAINT_NAME), tsm_clean(command->kernel),
               tsm_paint(TSM_PAINT_NONE));
    printf("\n");
    each_wait(run, command->seq, print_wait, &is_begun);
    if (is_begun)
        printf("\n");
    if (is_signal(command))
        printf("          signals   event %" PRIu64 "\n", command->event);
    if (command->is_unknown)
        printf("          may use   anything of its context\n");
    for (size_t i = 0; i < command->access_count; i++)
        print_range(&c->ranges[command->first_access + i]);
    if (command->code)
        printf("          runs      %s#%" PRIu64 " %s\n",
               tsm_clean(c->codes[command->code - 1].type), c->codes[command->code - 1].id,
               code_hash(hash, &c->codes[command->code - 1]));
}

static int print_text(const struct run *run)
{
    const struct tsm_stream_commands *c = &run->commands;
    int error = 0;

    if (c->count)
        printf("  record  position        time  call\n");
    for (size_t i = 0; i < c->count; i++)
        if (is_selected(run, &c->list[i]))
            print_command(run, &c->list[i]);
    for (size_t i = 0; i < c->code_count && run->v->code && !error; i++)
        if (c->codes[i].is_used)
            error = print_code(run, &c->codes[i]);
    return error;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void json_number(struct tsm_json *j, const char *name, bool is_known, uint64_t value)
{
    tsm_json_name(j, name);
    if (is_known)
        tsm_json_u64(j, value);
    else
        tsm_json_string(j, NULL);
}

static void json_wait(void *user, const struct tsm_dependency *edge)
{
    struct tsm_json *j = user;

    tsm_json_open(j, '{');
    tsm_edge_json(j, edge);
    tsm_json_close(j, '}');
}

static void json_range(struct tsm_json *j, const struct tsm_stream_range *range)
{
    const struct tsm_access *a = &range->access;
    const bool is_in = range->allocation_size != 0;
    char space[TSM_ADDRESS_TEXT_MAX];

    tsm_json_open(j, '{');
    tsm_json_put_string(j, "access", tsm_access_kind_name(a->kind));
    tsm_json_put_bool(j, "reads", a->reads);
    tsm_json_put_bool(j, "writes", a->writes);
    tsm_json_put_string(j, "start", a->is_object ? NULL : tsm_address_text(space, a->start));
    json_number(j, "size", !a->is_object, a->size);
    json_number(j, "array", a->is_object, a->start & TSM_ACCESS_ID_MASK);
    tsm_json_put_string(j, "allocation", is_in ? tsm_address_text(space, range->allocation) : NULL);
    json_number(j, "offset", is_in, a->start - range->allocation);
    tsm_json_close(j, '}');
}

static void json_time(struct tsm_json *j, const struct tsm_span *gpu)
{
    tsm_json_put_string(j, "time", tsm_time_kind_name(gpu->kind));
    tsm_json_name(j, "start_ns");
    if (gpu->kind == TSM_TIME_UNKNOWN)
        tsm_json_string(j, NULL);
    else
        tsm_json_i64(j, gpu->start_ns);
    json_number(j, "duration_ns", gpu->kind != TSM_TIME_UNKNOWN, tsm_span_ns(gpu));
}

static void json_command(struct tsm_json *j, const struct run *run,
                         const struct tsm_stream_command *command)
{
    const struct tsm_stream_commands *c = &run->commands;
    char hash[HASH_MAX];

    tsm_json_open(j, '{');
    tsm_json_put_u64(j, "seq", command->seq);
    tsm_json_put_u64(j, "position", command->position);
    tsm_json_put_u64(j, "thread", command->thread);
    tsm_json_put_string(j, "call", call_name(command));
    tsm_json_put_string(j, "kernel", command->kernel);
    tsm_json_put_open(j, "waits", '[');
    each_wait(run, command->seq, json_wait, j);
    tsm_json_close(j, ']');
    json_number(j, "signals", is_signal(command), command->event);
    tsm_json_put_bool(j, "unknown", command->is_unknown);
    tsm_json_put_open(j, "accesses", '[');
    for (size_t i = 0; i < command->access_count; i++)
        json_range(j, &c->ranges[command->first_access + i]);
    tsm_json_close(j, ']');
    tsm_json_put_string(j, "code",
                        command->code ? code_hash(hash, &c->codes[command->code - 1]) : NULL);
    json_time(j, &command->gpu);
    tsm_json_close(j, '}');
}

static int json_code(struct tsm_json *j, const struct run *run, const struct tsm_stream_code *code)
{
    char hash[HASH_MAX], *text = NULL;
    const int error = run->v->code ? code_text(&text, run->reader, code) : 0;

    tsm_json_open(j, '{');
    tsm_json_put_string(j, "type", code->type);
    tsm_json_put_u64(j, "id", code->id);
    tsm_json_put_u64(j, "seq", code->seq);
    tsm_json_put_string(j, "hash", code_hash(hash, code));
    tsm_json_put_u64(j, "size", code->blob.size);
    tsm_json_put_string(j, "text", text);
    tsm_json_close(j, '}');
    free(text);
    return error;
}

static int print_json(const struct run *run)
{
    const struct tsm_stream_commands *c = &run->commands;
    struct tsm_json j = {.out = stdout};
    int error = 0;

    tsm_json_begin(&j, "tsstream/1");
    tsm_json_put_string(&j, "trace", sbt_reader_name(run->reader));
    tsm_json_put_u64(&j, "stream", run->number);
    tsm_json_put_open(&j, "commands", '[');
    for (size_t i = 0; i < c->count; i++)
        if (is_selected(run, &c->list[i]))
            json_command(&j, run, &c->list[i]);
    tsm_json_close(&j, ']');
    tsm_json_put_open(&j, "code", '[');
    for (size_t i = 0; i < c->code_count && !error; i++)
        if (c->codes[i].is_used)
            error = json_code(&j, run, &c->codes[i]);
    tsm_json_close(&j, ']');
    tsm_json_end(&j);
    return error;
}

/* ---- the command ----------------------------------------------------------------------------- */

static int collect(struct run *run)
{
    const struct tsm_selection_streams all = {0};
    int error = tsm_selection_filter(&run->filter, run->reader, &all, &run->v->range);

    if (!error)
        error = tsm_selection_seqs(&run->filter, run->reader);
    if (!error)
        error = tsm_stream_commands_collect(&run->commands, run->reader, (uint32_t)run->number);
    return error ? error : tsm_dependency_graph_make(&run->graph, run->reader, false);
}

static int show(struct run *run)
{
    const int error = run->v->json ? print_json(run) : print_text(run);

    if (!run->commands.count)
        tsm_note("%s: stream %" PRIu64 " has no commands; 'tracesmith streams' lists those that do",
                 tsm_clean(sbt_reader_name(run->reader)), run->number);
    if (error)
        return tsm_complain_error();
    return run->commands.count ? TSM_EXIT_OK : TSM_EXIT_NO;
}

static int run_stream(const struct tsm_command *command, void *values,
                      const struct tsm_words *words)
{
    struct run run = {.v = values};
    const char *number = words->words[0];
    size_t noted = 0;
    int status;

    if (!tsm_selection_take_number(&run.number, &number) || *number ||
        run.number >= SBT_STREAM_NONE)
        return tsm_complain("%s: is no number of a stream; 'tracesmith streams TRACE' lists them",
                            words->words[0]);
    run.reader = tsm_trace_open(words->words[1]);
    if (!run.reader)
        return TSM_EXIT_ERROR;
    tsm_trace_show_progress(run.reader, "following a stream");
    status = collect(&run) < 0 ? tsm_complain_error() : TSM_EXIT_OK;
    tsm_trace_show_progress(run.reader, NULL);
    if (!status)
        status = show(&run);
    tsm_trace_note_damage(run.reader, &noted);
    tsm_stream_commands_finish(&run.commands);
    tsm_dependency_graph_finish(&run.graph);
    sbt_reader_destroy(run.reader);
    return status;
}

const struct tsm_command tsm_command_stream = {
    .name = "stream",
    .summary = "list what a stream did: what it waited for, read and wrote, ran",
    .synopsis = "[OPTION]... STREAM TRACE",
    .description =
        "Prints each command of the stream, in the stream's order: its record, place, how long it "
        "took on the device if the trace says so, call and kernel; then what it came after beside "
        "the command before it (see 'tracesmith graph'), the event that it signals, the memory "
        "that it reads and writes, and the code that it runs, by object and hash. A copy or a fill "
        "says its bytes; a kernel may use all that its arguments lead to.\n\n"
        "Order is known of CUDA, Vulkan, HSA and DRM, memory of CUDA.",
    .examples = "tracesmith stream 3 trace.sbt\n"
                "tracesmith stream --code --range=100:200 3 trace.sbt\n",
    .exit_status = "0|shown\n"
                   "1|the stream has no commands\n"
                   "2|the trace cannot be read",
    .options = options,
    .values_size = sizeof(struct stream_values),
    .operand = "TRACE",
    .word_min = 2,
    .word_max = 2,
    .run = run_stream,
};
