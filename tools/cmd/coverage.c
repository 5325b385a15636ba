/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/command.h"

#ifdef TSM_DRM
#include "api/drm/describe.h"
#endif
#ifdef TSM_VULKAN
#include "api/vulkan/tables/describe.h"
#endif
#include "api/cuda/view/help_examples.h"
#include "api/hip/hip_calls.h"
#include "emu/emu_support.inc"
#include "replay/backend.h"
#include "tools/terminal.h"
#include "tools/text/json_out.h"
#include "tools/text/line.h"
#include "tools/trace_open.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct coverage_values {
    const char *api, *family, *calls;
    int status; /* 0 all, else 1 + enum tsm_call_status */
    bool emu;
    bool json;
};

static const struct tsm_option options[] = {
    {.name = "api",
     .letter = 'a',
     .type = TSM_OPTION_TEXT,
     .offset = TSM_FIELD(coverage_values, api),
     .argument = "NAME",
     .help = "Only this API: cuda, vulkan, hsa, hip, drm."},
    {.name = "family",
     .letter = 'f',
     .type = TSM_OPTION_TEXT,
     .offset = TSM_FIELD(coverage_values, family),
     .argument = "PATTERN",
     .help = "Only calls of such families: memcpy, 'graph*', ..."},
    {.name = "calls",
     .letter = 'c',
     .type = TSM_OPTION_TEXT,
     .offset = TSM_FIELD(coverage_values, calls),
     .argument = "PATTERN",
     .help = "Only calls with such names: '" CUDA_EXAMPLE_COPIES "'."},
    {.name = "status",
     .letter = 's',
     .type = TSM_OPTION_CHOICE,
     .offset = TSM_FIELD(coverage_values, status),
     .argument = "all|generated|hooked|unmodelled",
     .help = "Only calls of this status."},
    {.name = "emu",
     .type = TSM_OPTION_FLAG,
     .offset = TSM_FIELD(coverage_values, emu),
     .help = "The calls that the software GPU lacks: they return CUDA_ERROR_NOT_SUPPORTED."},
    {.name = "json",
     .type = TSM_OPTION_FLAG,
     .offset = TSM_FIELD(coverage_values, json),
     .help = "One JSON object, schema \"tscoverage/1\"."},
    {0},
};

static const char *const status_names[] = {"generated", "hooked", "unmodelled"};

/* ---- APIs of this build ------------------------------------------------------------------------
 */

/* Recorded, whether or not there is a backend yet. */
static const struct tsm_api_description *const recorded[] = {
    &hip_description,
#ifdef TSM_DRM
    &drm_description,
#endif
#ifdef TSM_VULKAN
    &vulkan_description,
#endif
    NULL,
};

/* Returns the APIs with a backend, then the others; NULL after the last. */
static const struct tsm_api_description *api_at(size_t place)
{
    size_t backends = 0;

    for (; tsm_backends[backends]; backends++)
        if (backends == place)
            return tsm_backends[backends]->description;
    place -= backends;
    for (size_t i = 0; recorded[i]; i++) {
        bool known = false;
        for (size_t j = 0; j < backends; j++)
            known |= tsm_backends[j]->description == recorded[i];
        if (!known && place-- == 0)
            return recorded[i];
    }
    return NULL;
}

/* ---- the table of this build ----------------------------------------------------------------- */

struct sums {
    uint64_t calls, by_status[3], taints;
};

static bool call_taints(const struct tsm_call_description *call)
{
    return call->status == TSM_CALL_UNMODELLED && (call->schema->flags & SBT_SCHEMA_TAINTS);
}

static bool wanted(const struct coverage_values *v, const struct tsm_call_description *call)
{
    if (v->status && call->status != (enum tsm_call_status)(v->status - 1))
        return false;
    if (v->family && fnmatch(v->family, call->family, 0) != 0)
        return false;
    return !v->calls || fnmatch(v->calls, call->schema->name, 0) == 0;
}

static void print_call(struct tsm_text_line *line, const struct tsm_call_description *call)
{
    static const enum tsm_paint paints[] = {TSM_PAINT_GOOD, TSM_PAINT_GOOD, TSM_PAINT_WARN};

    tsm_text_line_escape(line, tsm_paint(paints[call->status]));
    tsm_text_line_text(line, status_names[call->status]);
    tsm_text_line_escape(line, tsm_paint(TSM_PAINT_NONE));
    tsm_text_line_pad(line, 12);
    tsm_text_line_text(line, call_taints(call) ? "taints" : "");
    tsm_text_line_pad(line, 20);
    tsm_text_line_text(line, call->family);
    tsm_text_line_pad(line, 36);
    tsm_text_line_text(line, call->schema->name);
    tsm_text_line_write(line, stdout);
}

static void json_call(struct tsm_json *j, const struct tsm_api_description *api,
                      const struct tsm_call_description *call)
{
    tsm_json_open(j, '{');
    tsm_json_put_string(j, "api", api->name);
    tsm_json_put_string(j, "call", call->schema->name);
    tsm_json_put_string(j, "family", call->family);
    tsm_json_put_string(j, "status", status_names[call->status]);
    tsm_json_put_bool(j, "taints", call_taints(call));
    tsm_json_close(j, '}');
}

static void list_api(const struct coverage_values *v, const struct tsm_api_description *api,
                     struct tsm_json *j, struct sums *sums)
{
    struct tsm_text_line line = {.width = tsm_terminal_width()};

    for (size_t i = 0; i < api->call_count; i++) {
        const struct tsm_call_description *call = &api->calls[i];
        if (!wanted(v, call))
            continue;
        sums->calls++;
        sums->by_status[call->status]++;
        sums->taints += call_taints(call);
        if (j)
            json_call(j, api, call);
        else
            print_call(&line, call);
    }
    tsm_text_line_finish(&line);
}

static int list_build(const struct coverage_values *v)
{
    struct tsm_json json = {.out = stdout}, *j = v->json ? &json : NULL;
    bool found = false;

    if (j) {
        tsm_json_begin(j, "tscoverage/1");
        tsm_json_name(j, "calls");
        tsm_json_open(j, '[');
    }
    for (size_t i = 0; api_at(i); i++) {
        const struct tsm_api_description *api = api_at(i);
        struct sums sums = {0};
        if (v->api && strcmp(v->api, api->name) != 0)
            continue;
        found = true;
        list_api(v, api, j, &sums);
        if (!j && (sums.calls || v->api))
            printf("%s%s: %" PRIu64 " calls: %" PRIu64 " generated, %" PRIu64 " hooked, %" PRIu64
                   " unmodelled, of which %" PRIu64 " taint%s\n",
                   tsm_paint(TSM_PAINT_BOLD), api->name, sums.calls, sums.by_status[0],
                   sums.by_status[1], sums.by_status[2], sums.taints, tsm_paint(TSM_PAINT_NONE));
    }
    if (j) {
        tsm_json_close(j, ']');
        tsm_json_end(j);
    }
    if (!found)
        return tsm_complain("this build knows no API%s%s", v->api ? " " : "", v->api ? v->api : "");
    return TSM_EXIT_OK;
}

/* ---- a trace --------------------------------------------------------------------------------- */

/* Names repeat: a program has few unmodelled calls, but may make them often. */
#define FOUND_COUNT_MAX 4096

struct found {
    const char *name; /* the reader's */
    uint64_t count;
    bool taints;
};

struct trace_sums {
    struct found *found;
    size_t count;
    bool full;
};

static enum tsm_call_status find_status(uint32_t type)
{
    for (size_t i = 0; api_at(i); i++) {
        const struct tsm_api_description *api = api_at(i);
        if ((uint32_t)api->api != SBT_TYPE_API(type))
            continue;
        for (size_t j = 0; j < api->call_count; j++) {
            if (api->calls[j].schema->type == type)
                return api->calls[j].status;
        }
    }
    return TSM_CALL_GENERATED; /* an API that this build does not know says so by its flags */
}

/* A trace has few types, in a million records. */
static enum tsm_call_status status_of(uint32_t type)
{
    static struct {
        uint32_t type;
        enum tsm_call_status status;
    } cache[1024]; /* a type is never 0 */
    uint32_t i = type % 1024;

    if (cache[i].type != type) {
        cache[i].status = find_status(type);
        cache[i].type = type;
    }
    return cache[i].status;
}

static void add_found(struct trace_sums *sums, const char *name, bool taints)
{
    struct found *f = sums->found;

    for (; f < sums->found + sums->count; f++) {
        if (strcmp(f->name, name) == 0)
            break;
    }
    if (f == sums->found + sums->count) {
        sums->full = sums->count == FOUND_COUNT_MAX;
        if (sums->full)
            return;
        *f = (struct found){.name = name};
        sums->count++;
    }
    f->count++;
    f->taints |= taints;
}

static void look_at(struct trace_sums *sums, struct sbt_reader *reader,
                    const struct sbt_record *record)
{
    const struct sbt_schema *schema = sbt_reader_schema(reader, record->type);
    bool taints = (record->flags & SBT_RECORD_TAINTS) != 0;

    if (!schema)
        return;
    if (record->type == SBT_TYPE(SBT_API_CORE, SBT_CORE_UNMODELLED)) {
        uint64_t id = sbt_record_role(schema, record, SBT_ROLE_NAME, 0);
        const char *name = sbt_reader_string(reader, (uint32_t)id);
        add_found(sums, name ? name : "?", taints);
        return;
    }
    if (taints || (schema->flags & SBT_SCHEMA_TAINTS) ||
        status_of(record->type) == TSM_CALL_UNMODELLED)
        add_found(sums, schema->name, taints || (schema->flags & SBT_SCHEMA_TAINTS));
}

static int by_count(const void *a, const void *b)
{
    const struct found *x = a, *y = b;

    if (x->taints != y->taints)
        return x->taints ? -1 : 1;
    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    return strcmp(x->name, y->name);
}

static void print_found(const struct trace_sums *sums, bool wants_json)
{
    struct tsm_json j = {.out = stdout};
    struct tsm_text_line line = {.width = tsm_terminal_width()};

    if (wants_json) {
        tsm_json_begin(&j, "tscoverage/1");
        tsm_json_name(&j, "unmodelled");
        tsm_json_open(&j, '[');
    }
    for (size_t i = 0; i < sums->count; i++) {
        const struct found *f = &sums->found[i];
        if (wants_json) {
            tsm_json_open(&j, '{');
            tsm_json_put_string(&j, "call", f->name);
            tsm_json_put_u64(&j, "count", f->count);
            tsm_json_put_bool(&j, "taints", f->taints);
            tsm_json_close(&j, '}');
            continue;
        }
        tsm_text_line_right(&line, f->count, 10);
        tsm_text_line_pad(&line, 12);
        tsm_text_line_text(&line, f->taints ? "taints" : "");
        tsm_text_line_pad(&line, 20);
        tsm_text_line_clean(&line, f->name);
        tsm_text_line_write(&line, stdout);
    }
    if (wants_json) {
        tsm_json_close(&j, ']');
        tsm_json_end(&j);
    } else if (sums->count == 0) {
        printf("every call of this trace is modelled\n");
    }
    tsm_text_line_finish(&line);
}

static int list_trace(const struct coverage_values *v, const char *path)
{
    struct trace_sums sums = {.found = calloc(FOUND_COUNT_MAX, sizeof(*sums.found))};
    struct sbt_reader *reader = tsm_trace_open(path);
    struct sbt_cursor *cursor = NULL;
    const struct sbt_record *record;
    int more = -1;
    size_t noted = 0;

    if (reader && sums.found)
        more = sbt_cursor_create(&cursor, reader, NULL, 1);
    while (more >= 0 && (more = sbt_cursor_next(cursor, &record)) > 0) {
        look_at(&sums, reader, record);
        if (record->seq % 4096 == 0)
            tsm_progress("reading", record->seq, sbt_reader_totals(reader)->record_count);
    }
    tsm_progress_end();
    if (more == 0) {
        qsort(sums.found, sums.count, sizeof(*sums.found), by_count);
        print_found(&sums, v->json);
        tsm_trace_note_damage(reader, &noted);
    } else if (reader) {
        tsm_complain_error();
    }
    if (sums.full)
        tsm_note("more than %d different calls; the rest is not listed", FOUND_COUNT_MAX);
    bool taints = sums.count > 0 && sums.found[0].taints;
    sbt_cursor_destroy(cursor);
    sbt_reader_destroy(reader);
    free(sums.found);
    return more < 0 ? TSM_EXIT_ERROR : taints ? TSM_EXIT_NO : TSM_EXIT_OK;
}

/* ---- the software GPU ------------------------------------------------------------------------ */

static int list_emu(const struct coverage_values *v)
{
#define NAME(call) #call,
    static const char *const missing[] = {EMU_MISSING_CALLS(NAME)};
#undef NAME
    struct tsm_json j = {.out = stdout};

    if (v->json) {
        tsm_json_begin(&j, "tscoverage/1");
        tsm_json_put_u64(&j, "emu_calls", EMU_CALL_COUNT);
        tsm_json_name(&j, "emu_missing");
        tsm_json_open(&j, '[');
    }
    for (size_t i = 0; i < sizeof(missing) / sizeof(*missing); i++) {
        if (v->calls && fnmatch(v->calls, missing[i], 0) != 0)
            continue;
        if (v->json)
            tsm_json_string(&j, missing[i]);
        else
            printf("%s\n", missing[i]);
    }
    if (v->json) {
        tsm_json_close(&j, ']');
        tsm_json_end(&j);
    } else {
        printf("%ssoftware GPU: %d of %d calls, %d lacking%s\n", tsm_paint(TSM_PAINT_BOLD),
               EMU_CALL_COUNT - EMU_MISSING_COUNT, EMU_CALL_COUNT, EMU_MISSING_COUNT,
               tsm_paint(TSM_PAINT_NONE));
    }
    return TSM_EXIT_OK;
}

static int run(const struct tsm_command *command, void *values, const struct tsm_words *words)
{
    for (size_t i = 0; api_at(i); i++)
        tsm_description_fill(api_at(i));
    if (((const struct coverage_values *)values)->emu)
        return list_emu(values);
    return words->count ? list_trace(values, words->words[0]) : list_build(values);
}

const struct tsm_command tsm_command_coverage = {
    .name = "coverage",
    .summary = "list the API calls that are recorded and replayed, and those that are not",
    .synopsis = "[OPTION]...\n[--json] TRACE",
    .description =
        "Without a trace, lists every call of every API that this build knows: generated "
        "(recorded and replayed from its description), hooked (a special case, by hand) or "
        "unmodelled (passed through and recorded by name only). An unmodelled call that can "
        "change the GPU's state taints a trace: it may not replay.\n\n"
        "With a trace, lists the unmodelled calls in it and how often they were made.",
    .examples = "tracesmith coverage --status=unmodelled\n"
                "tracesmith coverage --family='graph*'\n"
                "tracesmith coverage --emu           what the software GPU lacks\n"
                "tracesmith coverage trace.sbt       why can't this be replayed?\n",
    .exit_status = "0|listed; a trace has nothing that taints it\n"
                   "1|the trace has calls that taint it\n"
                   "2|the trace cannot be read, or there is no such API",
    .options = options,
    .values_size = sizeof(struct coverage_values),
    .operand = "TRACE",
    .word_max = 1,
    .run = run,
};
