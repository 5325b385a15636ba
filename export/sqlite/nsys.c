/* SPDX-License-Identifier: Apache-2.0
 *
 * An SQLite file as `nsys export --type=sqlite` writes it, schema 3.16: tables and columns by
 * NVIDIA's user guide ("SQLite Schema Reference"). Times are ns since the session's start; a call
 * and what it sent have the record's number as correlationId. Calls and commands of other APIs, and
 * what is known of times, are in tables of our own (TRACESMITH_...).
 */
#include "export/sqlite/nsys.h"

#include "base/array.h"
#include "base/text.h"
#include "format/json.h"
#include "tracesmith/error.h"

#include <stdlib.h>
#include <string.h>

/* ---- texts ---------------------------------------------------------------------------------- */

static int64_t string_of(struct tsm_nsys *n, const char *text)
{
    return tsm_database_string(n->d, &n->rows[NSYS_STRINGS], text);
}

/* Returns the number of what comes from the program, without control characters. */
static int64_t name_of(struct tsm_nsys *n, const char *text)
{
    return string_of(n, tsm_event_clean(n->source, text));
}

/* Returns the number of the name of a call. */
static int64_t call_name(struct tsm_nsys *n, uint32_t type, const struct sbt_schema *schema)
{
    bool added = false;
    uint64_t *place = tsm_map_insert(&n->call_names, type, &added);
    int64_t name;

    if (place && !added)
        return (int64_t)*place;
    name = name_of(n, schema ? schema->name : "unknown call");
    if (place)
        *place = (uint64_t)name;
    return name;
}

/* Numbers of the texts that a kernel is called by. */
struct tsm_nsys_kernel {
    int64_t mangled, plain, own;
};

static struct tsm_nsys_kernel make_kernel_name(struct tsm_nsys *n, const char *name)
{
    struct tsm_kernel_names names;
    struct tsm_nsys_kernel made = {0};

    if (tsm_kernel_names_make(&names, n->source, name))
        made = (struct tsm_nsys_kernel){string_of(n, names.mangled), string_of(n, names.plain),
                                        string_of(n, names.own)};
    else if (!n->error)
        n->error = tsm_fail(TSM_E_MEMORY, "out of memory for names of kernels");
    tsm_kernel_names_finish(&names);
    return made;
}

/* Returns the names of a kernel, whose name the trace has once. */
static struct tsm_nsys_kernel find_kernel_name(struct tsm_nsys *n, const char *name)
{
    bool added = false;
    uint64_t *place = tsm_map_insert(&n->kernel_places, (uint64_t)(uintptr_t)name, &added);
    struct tsm_nsys_kernel made;

    if (place && !added)
        return n->kernels[*place];
    made = make_kernel_name(n, name);
    if (place && TSM_ARRAY_PUSH(n->kernels, n->kernel_count, n->kernel_capacity, made))
        *place = n->kernel_count - 1;
    else if (place)
        tsm_map_remove(&n->kernel_places, (uint64_t)(uintptr_t)name);
    return made;
}

/* ---- threads, stacks, streams --------------------------------------------------------------- */

static int64_t thread_id(const struct tsm_nsys *n, uint32_t thread)
{
    return n->process | (int64_t)(thread & 0xffffffu);
}

static void put_frame(struct tsm_nsys *n, uint32_t stack, uint64_t address, int depth)
{
    struct tsm_rows *r = &n->rows[NSYS_CALLCHAINS];
    struct tsm_frame_text text = {0};
    char unknown[32];
    int64_t function, module;

    n->source->names->find(n->source->names->user, address, &text);
    tsm_format(unknown, sizeof(unknown), "0x%llx", (unsigned long long)address);
    function = string_of(n, text.function ? text.function : unknown);
    module = string_of(n, text.module ? text.module : "[Unknown]");
    tsm_row_begin(n->d, r);
    tsm_row_i64(r, stack);
    tsm_row_i64(r, function);
    tsm_row_i64(r, module);
    tsm_row_i64(r, !text.function);
    tsm_row_i64(r, (int64_t)address);
    tsm_row_i64(r, depth);
    tsm_row_end(n->d, r);
}

/* Writes the stack's rows when it comes first. */
static void note_stack(struct tsm_nsys *n, uint32_t stack)
{
    const uint64_t *frames;
    bool added = false;
    int count;

    if (stack)
        tsm_number_of(&n->stacks, stack, &added);
    count = added ? sbt_reader_stack(n->source->reader, stack, &frames) : 0;
    for (int i = 0; i < count; i++)
        put_frame(n, stack, frames[i], i);
}

static void note_context(struct tsm_nsys *n, uint32_t context, uint32_t device)
{
    struct tsm_rows *r = &n->rows[NSYS_CONTEXT];

    tsm_row_begin(n->d, r);
    tsm_row_skip(r, 1);
    tsm_row_i64(r, (int64_t)device);
    tsm_row_i64(r, 0);
    tsm_row_i64(r, n->process >> 24);
    tsm_row_i64(r, (int64_t)device);
    tsm_row_i64(r, (int64_t)context);
    tsm_row_skip(r, 2);
    tsm_row_end(n->d, r);
}

static void note_stream(struct tsm_nsys *n, uint32_t stream, uint32_t context, uint32_t device)
{
    struct tsm_rows *r = &n->rows[NSYS_STREAM];
    bool added;

    tsm_number_of(&n->streams, stream, &added);
    if (!added)
        return;
    tsm_row_begin(n->d, r);
    tsm_row_i64(r, stream);
    tsm_row_i64(r, (int64_t)device);
    tsm_row_i64(r, 0);
    tsm_row_i64(r, n->process >> 24);
    tsm_row_i64(r, (int64_t)context);
    tsm_row_skip(r, 2);
    tsm_row_end(n->d, r);
}

/* ---- calls ---------------------------------------------------------------------------------- */

/* Tests whether Nsight Systems has tables for what this API does. */
static bool is_cuda(uint32_t type)
{
    char space[16];

    return strcmp(sbt_api_name(SBT_TYPE_API(type), space), "cuda") == 0;
}

static void put_runtime(struct tsm_nsys *n, const struct sbt_record *record, int64_t name)
{
    struct tsm_rows *r = &n->rows[NSYS_RUNTIME];

    tsm_row_begin(n->d, r);
    tsm_row_i64(r, (int64_t)record->time_ns);
    tsm_row_i64(r, (int64_t)(record->time_ns + record->duration_ns));
    tsm_row_i64(r, NSYS_CLASS_DRIVER);
    tsm_row_i64(r, thread_id(n, record->thread));
    tsm_row_i64(r, (int64_t)record->seq);
    tsm_row_i64(r, name);
    tsm_row_i64(r, record->result);
    if (record->stack)
        tsm_row_i64(r, record->stack);
    else
        tsm_row_null(r);
    tsm_row_end(n->d, r);
}

static void put_call(struct tsm_nsys *n, const struct sbt_record *record, int64_t name)
{
    struct tsm_rows *r = &n->rows[NSYS_OWN_CALL];
    char space[16];

    tsm_row_begin(n->d, r);
    tsm_row_i64(r, (int64_t)record->seq);
    tsm_row_i64(r, (int64_t)record->time_ns);
    tsm_row_i64(r, (int64_t)(record->time_ns + record->duration_ns));
    tsm_row_text(r, sbt_api_name(SBT_TYPE_API(record->type), space));
    tsm_row_i64(r, thread_id(n, record->thread));
    tsm_row_i64(r, name);
    tsm_row_i64(r, record->result);
    if (record->stack)
        tsm_row_i64(r, record->stack);
    else
        tsm_row_null(r);
    tsm_row_end(n->d, r);
}

static bool names_event(const struct tsm_call_node *call)
{
    const int slot = sbt_schema_role(call->schema, SBT_ROLE_OBJECT);

    return slot >= 0 && strcmp(call->schema->fields[slot].detail, "event") == 0;
}

/* Writes the columns that tell where something ran. */
static void put_place(struct tsm_nsys *n, struct tsm_rows *r, uint32_t device, uint32_t context,
                      uint32_t stream, uint64_t seq)
{
    tsm_row_i64(r, (int64_t)device);
    tsm_row_i64(r, (int64_t)context);
    tsm_row_skip(r, 1);
    tsm_row_i64(r, stream);
    tsm_row_i64(r, (int64_t)seq);
    tsm_row_i64(r, n->process);
}

/* Writes a wait of the host. */
static void put_wait(struct tsm_nsys *n, const struct tsm_call_node *call)
{
    const struct sbt_record *record = call->record;
    struct tsm_rows *r = &n->rows[NSYS_SYNCHRONIZATION];
    const bool has_event = names_event(call);
    const uint32_t stream = record->stream == SBT_STREAM_NONE ? 0 : record->stream;

    tsm_row_begin(n->d, r);
    tsm_row_i64(r, (int64_t)record->time_ns);
    tsm_row_i64(r, (int64_t)(record->time_ns + record->duration_ns));
    put_place(n, r, 0, call->owner ? tsm_number_of(&n->contexts, call->owner, NULL) : 0, stream,
              record->seq);
    tsm_row_i64(r, has_event                           ? NSYS_SYNC_EVENT
                   : record->stream != SBT_STREAM_NONE ? NSYS_SYNC_STREAM
                                                       : NSYS_SYNC_CONTEXT);
    tsm_row_i64(r,
                has_event ? (int64_t)sbt_record_role(call->schema, record, SBT_ROLE_OBJECT, 0) : 0);
    tsm_row_end(n->d, r);
}

static int visit_call(void *user, const struct tsm_call_node *call)
{
    struct tsm_nsys *n = user;
    const struct sbt_record *record = call->record;
    const int64_t name = call_name(n, record->type, call->schema);

    n->counts->call_count++;
    tsm_number_of(&n->threads, record->thread, NULL);
    note_stack(n, record->stack);
    if (is_cuda(record->type))
        put_runtime(n, record, name);
    else
        put_call(n, record, name);
    if (call->is_wait && is_cuda(record->type) && !(record->flags & SBT_RECORD_FAILED))
        put_wait(n, call);
    return 0;
}

/* ---- commands ------------------------------------------------------------------------------- */

struct placed {
    const struct tsm_command_node *command;
    uint32_t device, context;
};

static void begin_row(struct tsm_nsys *n, struct tsm_rows *r, const struct placed *p)
{
    tsm_row_begin(n->d, r);
    tsm_row_i64(r, p->command->gpu.start_ns);
    tsm_row_i64(r, p->command->gpu.end_ns);
    put_place(n, r, p->device, p->context, p->command->stream, p->command->seq);
}

static void put_kernel(struct tsm_nsys *n, const struct placed *p)
{
    const struct tsm_command_node *c = p->command;
    struct tsm_rows *r = &n->rows[NSYS_KERNEL];
    const struct tsm_nsys_kernel name = find_kernel_name(n, c->kernel);

    begin_row(n, r, p);
    tsm_row_i64(r, name.plain);
    tsm_row_i64(r, name.own);
    tsm_row_i64(r, name.mangled);
    tsm_row_i64(r, NSYS_LAUNCH_REGULAR);
    tsm_row_skip(r, 2);
    for (int i = 0; i < 3; i++)
        tsm_row_i64(r, c->grid[i]);
    for (int i = 0; i < 3; i++)
        tsm_row_i64(r, c->block[i]);
    tsm_row_skip(r, 1);
    tsm_row_i64(r, (int64_t)c->shared_size);
    tsm_row_skip(r, 2);
    tsm_row_i64(r, (int64_t)c->seq);
    tsm_row_skip(r, 3);
    tsm_row_end(n->d, r);
}

static int kind_of_place(enum tsm_place place)
{
    switch (place) {
    case TSM_PLACE_HOST:
        return NSYS_KIND_PINNED;
    case TSM_PLACE_DEVICE:
        return NSYS_KIND_DEVICE;
    case TSM_PLACE_ARRAY:
        return NSYS_KIND_ARRAY;
    default:
        return NSYS_KIND_PAGEABLE;
    }
}

/* Returns the number in ENUM_CUDA_MEMCPY_OPER. */
static int copy_kind(enum tsm_place from, enum tsm_place to)
{
    enum { HOST, DEVICE, ARRAY };
    static const int sides[] = {[TSM_PLACE_UNKNOWN] = HOST,
                                [TSM_PLACE_HOST] = HOST,
                                [TSM_PLACE_DEVICE] = DEVICE,
                                [TSM_PLACE_ARRAY] = ARRAY};
    static const int kinds[3][3] = {{9, 1, 3}, {2, 8, 7}, {4, 6, 5}};

    return kinds[sides[from]][sides[to]];
}

static void put_copy(struct tsm_nsys *n, const struct placed *p)
{
    const struct tsm_command_node *c = p->command;
    struct tsm_rows *r = &n->rows[NSYS_MEMCPY];

    begin_row(n, r, p);
    tsm_row_i64(r, (int64_t)c->bytes);
    tsm_row_i64(r, copy_kind(c->from, c->to));
    tsm_row_skip(r, 1);
    tsm_row_i64(r, kind_of_place(c->from));
    tsm_row_i64(r, kind_of_place(c->to));
    tsm_row_skip(r, 7);
    tsm_row_end(n->d, r);
}

static void put_fill(struct tsm_nsys *n, const struct placed *p)
{
    struct tsm_rows *r = &n->rows[NSYS_MEMSET];

    begin_row(n, r, p);
    tsm_row_skip(r, 1);
    tsm_row_i64(r, (int64_t)p->command->bytes);
    tsm_row_skip(r, 1);
    tsm_row_i64(r, kind_of_place(p->command->to));
    tsm_row_end(n->d, r);
}

static void put_graph(struct tsm_nsys *n, const struct placed *p)
{
    struct tsm_rows *r = &n->rows[NSYS_GRAPH_TRACE];

    begin_row(n, r, p);
    tsm_row_skip(r, 1);
    tsm_row_i64(r, (int64_t)p->command->object);
    tsm_row_end(n->d, r);
}

/* Writes an event record: the moment at which the stream reached it, if that is known. */
static void put_event(struct tsm_nsys *n, const struct placed *p)
{
    const struct tsm_command_node *c = p->command;
    struct tsm_rows *r = &n->rows[NSYS_CUDA_EVENT];

    tsm_row_begin(n->d, r);
    if (c->gpu.kind == TSM_TIME_MEASURED)
        tsm_row_i64(r, c->gpu.end_ns);
    else
        tsm_row_null(r);
    put_place(n, r, p->device, p->context, c->stream, c->seq);
    tsm_row_i64(r, (int64_t)c->object);
    tsm_row_end(n->d, r);
}

static void put_wait_event(struct tsm_nsys *n, const struct placed *p)
{
    struct tsm_rows *r = &n->rows[NSYS_SYNCHRONIZATION];

    begin_row(n, r, p);
    tsm_row_i64(r, NSYS_SYNC_WAIT_EVENT);
    tsm_row_i64(r, (int64_t)p->command->object);
    tsm_row_end(n->d, r);
}

/* Writes what is known of a command that Nsight Systems has no table for. */
static void put_own(struct tsm_nsys *n, const struct tsm_command_node *c)
{
    struct tsm_rows *r = &n->rows[NSYS_OWN_COMMAND];
    char space[16], device[TSM_DEVICE_NAME_MAX];
    const int64_t name = name_of(n, c->kernel ? c->kernel : c->schema->name);
    const int64_t label = c->label ? name_of(n, c->label) : 0;

    tsm_row_begin(n->d, r);
    tsm_row_i64(r, (int64_t)c->seq);
    tsm_row_i64(r, c->part);
    if (c->gpu.kind == TSM_TIME_UNKNOWN) {
        tsm_row_null(r);
        tsm_row_null(r);
    } else {
        tsm_row_i64(r, c->gpu.start_ns);
        tsm_row_i64(r, c->gpu.end_ns);
    }
    tsm_row_text(r, sbt_api_name(SBT_TYPE_API(c->schema->type), space));
    tsm_row_text(r, tsm_work_name(c->work));
    tsm_row_i64(r, name);
    tsm_row_text(r, tsm_device_name(device, &c->device));
    tsm_row_i64(r, c->stream);
    tsm_row_i64(r, (int64_t)c->position);
    if (c->bytes)
        tsm_row_i64(r, (int64_t)c->bytes);
    else
        tsm_row_null(r);
    if (label)
        tsm_row_i64(r, label);
    else
        tsm_row_null(r);
    tsm_row_end(n->d, r);
}

/* Writes how a time is known, unless it is exactly as such a file takes times to be. */
static void put_time(struct tsm_nsys *n, const struct tsm_command_node *c)
{
    struct tsm_rows *r = &n->rows[NSYS_OWN_TIME];
    const struct tsm_span *gpu = &c->gpu;

    n->counts->displaced_count += gpu->axis != TSM_AXIS_HOST;
    if (gpu->kind == TSM_TIME_MEASURED && gpu->axis == TSM_AXIS_HOST && !gpu->error_ns &&
        !gpu->is_at_most && !c->part)
        return;
    tsm_row_begin(n->d, r);
    tsm_row_i64(r, (int64_t)c->seq);
    tsm_row_i64(r, c->part);
    tsm_row_text(r, tsm_time_kind_name(gpu->kind));
    tsm_row_text(r, tsm_time_axis_name(gpu->axis));
    tsm_row_i64(r, (int64_t)gpu->error_ns);
    tsm_row_i64(r, gpu->is_at_most);
    tsm_row_end(n->d, r);
}

static void put_order(struct tsm_nsys *n, const struct placed *p)
{
    const struct tsm_command_node *c = p->command;

    if (c->schema->kind == SBT_KIND_SIGNAL && c->object)
        put_event(n, p);
    else if (c->schema->kind == SBT_KIND_WAIT && c->object && c->gpu.kind == TSM_TIME_MEASURED)
        put_wait_event(n, p);
}

static void put_timed(struct tsm_nsys *n, const struct placed *p)
{
    switch (p->command->work) {
    case TSM_WORK_KERNEL:
        put_kernel(n, p);
        break;
    case TSM_WORK_COPY:
        put_copy(n, p);
        break;
    case TSM_WORK_FILL:
        put_fill(n, p);
        break;
    case TSM_WORK_GRAPH:
        put_graph(n, p);
        break;
    default:
        put_own(n, p->command);
    }
    put_time(n, p->command);
}

static int visit_command(void *user, const struct tsm_command_node *c)
{
    struct tsm_nsys *n = user;
    struct placed p = {.command = c, .device = tsm_device_number(&n->devices, &c->device)};
    bool added;

    if (c->run) {
        n->counts->rerun_count++;
        return 0;
    }
    if (!is_cuda(c->schema->type)) {
        if (c->work != TSM_WORK_ORDER) {
            put_own(n, c);
            put_time(n, c);
            n->counts->command_count++;
            n->counts->untimed_count += c->gpu.kind == TSM_TIME_UNKNOWN;
        }
        return 0;
    }
    p.context = tsm_number_of(&n->contexts, c->owner, &added);
    if (added)
        note_context(n, p.context, p.device);
    note_stream(n, c->stream, p.context, p.device);
    if (c->work == TSM_WORK_ORDER) {
        put_order(n, &p);
    } else if (c->gpu.kind == TSM_TIME_UNKNOWN) {
        n->counts->untimed_count++;
    } else {
        n->counts->command_count++;
        put_timed(n, &p);
    }
    return n->error;
}

/* ---- labels, memory ------------------------------------------------------------------------- */

static int visit_mark(void *user, const struct tsm_mark_node *mark)
{
    struct tsm_nsys *n = user;

    tsm_number_of(&n->threads, mark->thread, NULL);
    return tsm_nsys_nvtx_note(&n->labels, mark);
}

static int visit_memory(void *user, const struct tsm_memory_node *change)
{
    struct tsm_nsys *n = user;
    struct tsm_rows *r = &n->rows[NSYS_MEMORY_USAGE];

    n->counts->memory_count++;
    tsm_row_begin(n->d, r);
    tsm_row_i64(r, (int64_t)change->time_ns);
    tsm_row_i64(r, n->process);
    tsm_row_skip(r, 2);
    tsm_row_i64(r, (int64_t)change->address);
    tsm_row_skip(r, 1);
    tsm_row_i64(r, (int64_t)change->size);
    tsm_row_i64(r, kind_of_place(change->place));
    tsm_row_i64(r, change->is_free);
    tsm_row_skip(r, 1);
    tsm_row_i64(r, (int64_t)change->seq);
    tsm_row_skip(r, 7);
    tsm_row_end(n->d, r);
    return 0;
}

static int visit_core(void *user, const struct sbt_record *record)
{
    struct tsm_nsys *n = user;
    struct tsm_rows *r = &n->rows[NSYS_THREADS];
    int64_t name;

    if (record->type != SBT_TYPE(SBT_API_CORE, SBT_CORE_THREAD) || !record->slot_count)
        return 0;
    name = name_of(n, sbt_reader_string(n->source->reader, (uint32_t)record->slots[0]));
    tsm_row_begin(n->d, r);
    tsm_row_i64(r, name);
    tsm_row_skip(r, 1);
    tsm_row_i64(r, thread_id(n, record->thread));
    tsm_row_end(n->d, r);
    return 0;
}

/* ---- the end -------------------------------------------------------------------------------- */

/* Writes what is wrong with the trace, as a script that looks for warnings expects it. */
static void put_diagnostic(struct tsm_nsys *n, uint64_t ns, const char *text)
{
    struct tsm_rows *r = &n->rows[NSYS_DIAGNOSTIC];

    tsm_row_begin(n->d, r);
    tsm_row_i64(r, (int64_t)ns);
    tsm_row_i64(r, 0);
    tsm_row_i64(r, 0);
    tsm_row_i64(r, 1);
    tsm_row_text(r, text);
    tsm_row_i64(r, n->process);
    tsm_row_end(n->d, r);
}

static void put_diagnostics(struct tsm_nsys *n)
{
    struct sbt_reader *reader = n->source->reader;
    const struct sbt_totals *totals = sbt_reader_totals(reader);
    struct sbt_missing missing;
    char text[256];

    for (size_t i = 0; i < sbt_reader_damage_count(reader); i++)
        put_diagnostic(n, 0, tsm_event_clean(n->source, sbt_reader_damage(reader, i)));
    sbt_reader_missing(reader, 0, &missing);
    if (missing.end)
        put_diagnostic(n, 0, "the trace has no end: what was recorded last may be missing");
    if (totals->lost_count) {
        tsm_format(text, sizeof(text), "%llu records were lost when the trace was recorded",
                   (unsigned long long)totals->lost_count);
        put_diagnostic(n, 0, text);
    }
    if (n->counts->untimed_count) {
        tsm_format(text, sizeof(text),
                   "%llu commands have no time on the device, and are in no table of it",
                   (unsigned long long)n->counts->untimed_count);
        put_diagnostic(n, 0, text);
    }
}

static void put_number(struct tsm_rows *r, bool is_known, uint64_t value)
{
    if (is_known)
        tsm_row_i64(r, (int64_t)value);
    else
        tsm_row_null(r);
}

static void put_states(struct tsm_nsys *n)
{
    const struct tsm_state_source *states = n->source->states;
    struct tsm_rows *r = &n->rows[NSYS_OWN_STATE];
    struct tsm_finding_event finding;
    struct tsm_state_event state;

    while (states->next_state(states->user, &state)) {
        n->counts->state_count++;
        tsm_row_begin(n->d, r);
        tsm_row_i64(r, (int64_t)state.begin_ns);
        tsm_row_i64(r, (int64_t)state.end_ns);
        tsm_row_text(r, state.subject);
        tsm_row_text(r, state.state);
        tsm_row_text(r, state.reason);
        put_number(r, state.has_command, state.command);
        put_number(r, state.has_by, state.by);
        tsm_row_end(n->d, r);
    }
    while (states->next_finding(states->user, &finding))
        put_diagnostic(n, finding.ns, finding.text);
}

static void put_end(struct tsm_nsys *n)
{
    const struct tsm_model_counts *c = &n->counts->model;
    struct tsm_rows *r = &n->rows[NSYS_ANALYSIS];

    tsm_nsys_nvtx_end(&n->labels, (uint64_t)c->last_ns);
    tsm_row_begin(n->d, r);
    tsm_row_i64(r, 0);
    tsm_row_i64(r, c->last_ns);
    tsm_row_i64(r, 0);
    tsm_row_i64(r, c->last_ns);
    tsm_row_end(n->d, r);
    if (n->source->states)
        put_states(n);
    put_diagnostics(n);
}

/* ---- the whole ------------------------------------------------------------------------------ */

static void finish(struct tsm_nsys *n)
{
    tsm_map_finish(&n->contexts.numbers);
    tsm_map_finish(&n->streams.numbers);
    tsm_map_finish(&n->stacks.numbers);
    tsm_map_finish(&n->threads.numbers);
    tsm_map_finish(&n->call_names);
    tsm_map_finish(&n->kernel_places);
    free(n->kernels);
    tsm_nsys_nvtx_finish(&n->labels);
}

int tsm_export_nsys(struct tsm_event_counts *out, const char *path, const char *shown,
                    const struct tsm_event_source *source)
{
    struct tsm_nsys n = {.source = source, .counts = out, .contexts = {.first = 1}};
    const struct tsm_model_visitor visitor = {.user = &n,
                                              .call = visit_call,
                                              .core = visit_core,
                                              .mark = visit_mark,
                                              .command = visit_command,
                                              .memory = visit_memory};
    int error = tsm_database_create(&n.d, path, shown), finished;

    *out = (struct tsm_event_counts){0};
    if (error)
        return error;
    for (int i = 0; i < NSYS_TABLE_COUNT; i++)
        n.rows[i].form = &tsm_nsys_forms[i];
    n.process = (int64_t)(tsm_event_process(source) & 0xffffffu) << 24;
    n.labels = (struct tsm_nsys_nvtx){.d = n.d,
                                      .rows = &n.rows[NSYS_NVTX],
                                      .source = source,
                                      .count = &out->mark_count,
                                      .process = n.process,
                                      .domains = {.first = 1}};
    tsm_nsys_metadata(&n);
    error = tsm_model_pass(&out->model, source->reader, source->filter, &visitor);
    if (!error)
        put_end(&n);
    finish(&n);
    finished = tsm_database_finish(n.d);
    return error ? error : finished;
}
