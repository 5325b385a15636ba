/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/schedule/workload.h"

#include "analysis/dependencies/followed.h"
#include "analysis/model/pass.h"
#include "analysis/model/work.h"
#include "analysis/schedule/work_order.h"
#include "api/traits.h"
#include "base/array.h"
#include "base/bytes.h"
#include "tracesmith/error.h"

#include <stdlib.h>

#define COUNT_MAX (UINT32_MAX - 1)
#define SLOTS_MAX (UINT64_C(1) << 34) /* times kernels: a minute or so for each simulation */

/* Parts of one command, whose records come one after the other. */
struct work_list {
    uint32_t stream;
    uint64_t position;
    bool is_whole; /* so far */
    size_t first_part, count, first_parent;
};

struct making {
    struct tsm_workload *w;
    struct tsm_dependencies dependencies;
    struct tsm_map stream_places, thread_places; /* place + 1 */
    struct tsm_map command_places;               /* of stream and position -> place + 1 */
    struct tsm_map events;   /* id -> place + 1 of the command that recorded it last */
    struct tsm_map launches; /* what is launched -> place + 1 of its last launch */
    size_t command_capacity, part_capacity, step_capacity, stream_capacity, thread_capacity;
    size_t device_capacity, parent_capacity, event_capacity, inner_capacity;
    struct tsm_work_orders orders;
    /* Parts as they come: records of work are later than those of their commands. */
    struct tsm_workload_part *parts;
    size_t part_count, parts_capacity;
    struct work_list open;
    uint64_t stray_count;
};

static int no_memory(void)
{
    return tsm_fail(TSM_E_MEMORY, "no memory for the commands of the trace");
}

/* ---- streams, threads, devices ----------------------------------------------------------------
 */

/* Returns the place, or TSM_WORKLOAD_NONE without memory. */
static uint32_t stream_of(struct making *m, uint32_t number)
{
    bool added;
    uint64_t *place = tsm_map_insert(&m->stream_places, number, &added);

    if (!place || m->w->stream_count >= COUNT_MAX)
        return TSM_WORKLOAD_NONE;
    if (!*place) {
        if (!TSM_ARRAY_PUSH(m->w->streams, m->w->stream_count, m->stream_capacity,
                            (struct tsm_workload_stream){.number = number, .queue = number}))
            return TSM_WORKLOAD_NONE;
        *place = m->w->stream_count;
    }
    return (uint32_t)(*place - 1);
}

static uint32_t thread_of(struct making *m, uint32_t number)
{
    bool added;
    uint64_t *place = tsm_map_insert(&m->thread_places, number, &added);

    if (!place || m->w->thread_count >= COUNT_MAX)
        return TSM_WORKLOAD_NONE;
    if (!*place) {
        if (!TSM_ARRAY_PUSH(
                m->w->threads, m->w->thread_count, m->thread_capacity,
                (struct tsm_workload_thread){number, TSM_WORKLOAD_NONE, TSM_WORKLOAD_NONE}))
            return TSM_WORKLOAD_NONE;
        *place = m->w->thread_count;
    }
    return (uint32_t)(*place - 1);
}

static uint32_t device_of(struct making *m, const struct tsm_device *device)
{
    for (size_t i = 0; i < m->w->device_count; i++)
        if (tsm_device_is_same(&m->w->devices[i], device))
            return (uint32_t)i;
    if (m->w->device_count >= TSM_WORKLOAD_DEVICES_MAX)
        return (uint32_t)m->w->device_count - 1;
    if (!TSM_ARRAY_PUSH(m->w->devices, m->w->device_count, m->device_capacity, *device))
        return TSM_WORKLOAD_NONE;
    return (uint32_t)m->w->device_count - 1;
}

/* Notes what the graph of dependencies knows of the stream by now. */
static void describe_stream(struct making *m, uint32_t place)
{
    struct tsm_workload_stream *s = &m->w->streams[place];
    const uint64_t known = tsm_map_get(&m->dependencies.stream_places, s->number, 0);
    const struct tsm_dependency_stream *from = known ? &m->dependencies.streams[known - 1] : NULL;

    if (!from)
        return;
    s->is_default = from->is_default;
    s->is_apart = from->is_apart;
    if (from->owner)
        s->owner = m->dependencies.owners[from->owner - 1].key;
}

/* ---- calls ------------------------------------------------------------------------------------
 */

static struct tsm_workload_step *add_step(struct making *m, const struct sbt_record *record,
                                          const struct sbt_schema *schema)
{
    struct tsm_workload *w = m->w;
    const uint32_t thread = thread_of(m, record->thread), place = (uint32_t)w->step_count;
    struct tsm_workload_thread *t;

    if (thread == TSM_WORKLOAD_NONE || w->step_count >= COUNT_MAX ||
        !TSM_ARRAY_PUSH(
            w->steps, w->step_count, m->step_capacity,
            (struct tsm_workload_step){.seq = record->seq,
                                       .schema = schema,
                                       .command = TSM_WORKLOAD_NONE,
                                       .thread = thread,
                                       .next = TSM_WORKLOAD_NONE,
                                       .part = TSM_WORKLOAD_NONE,
                                       .rank = place,
                                       .epoch = w->epoch,
                                       .stack = record->stack,
                                       .call_ns = record->time_ns,
                                       .returned_ns = record->time_ns + record->duration_ns}))
        return NULL;
    t = &w->threads[thread];
    if (t->last == TSM_WORKLOAD_NONE)
        t->first = place;
    else
        w->steps[t->last].next = place;
    w->steps[place].previous = t->last;
    t->last = place;
    return &w->steps[place];
}

static int add_event(struct making *m, struct tsm_workload_command *command, uint64_t place)
{
    if (!place)
        return 0;
    if (m->w->event_count >= COUNT_MAX ||
        !TSM_ARRAY_PUSH(m->w->events, m->w->event_count, m->event_capacity,
                        (struct tsm_workload_event){(uint32_t)place - 1, TSM_WORKLOAD_NONE}))
        return no_memory();
    command->event_count++;
    return 0;
}

/* Notes the event that the command waits for, or that it records. A node of a graph may have
 * recorded it since: that is not followed. */
static int add_events(struct making *m, struct tsm_workload_command *command,
                      const struct tsm_call_node *call)
{
    const struct tsm_dependencies *d = &m->dependencies;
    const uint64_t id = sbt_record_role(call->schema, call->record, SBT_ROLE_OBJECT, 0);

    if (call->schema->kind == SBT_KIND_SIGNAL || call->schema->kind == SBT_KIND_WAIT)
        command->event = id;
    command->first_event = (uint32_t)m->w->event_count;
    if (call->schema->kind == SBT_KIND_SIGNAL && id)
        return tsm_map_set(&m->events, id, m->w->command_count + 1) ? 0 : no_memory();
    if (call->schema->kind != SBT_KIND_WAIT || !id)
        return 0;
    for (size_t i = 0; i < d->found_count; i++)
        if (d->found[i].to == command->seq && d->found[i].reason == TSM_DEPENDS_EVENT)
            command->is_redundant = d->found[i].is_redundant;
    return add_event(m, command, tsm_map_get(&m->events, id, 0));
}

/* Launches of one executable graph come one after the other. */
static int add_launch(struct making *m, struct tsm_workload_command *command,
                      const struct sbt_record *record)
{
    uint64_t *last, place;
    bool added;

    if (!(tsm_graph_traits(record->type) & TSM_TRAIT_LAUNCHES_GRAPH) || !record->slot_count)
        return 0;
    last = tsm_map_insert(&m->launches, record->slots[0], &added);
    if (!last)
        return no_memory();
    place = *last;
    *last = m->w->command_count + 1;
    return add_event(m, command, place);
}

static int add_command(struct making *m, const struct tsm_call_node *call)
{
    const struct sbt_record *record = call->record;
    const uint64_t name = sbt_record_role(call->schema, record, SBT_ROLE_FUNCTION_NAME, 0);
    const uint32_t stream = stream_of(m, record->stream);
    const bool may_wait = tsm_call_traits(call->schema).traits & TSM_TRAIT_MAY_WAIT;
    struct tsm_workload_step *step = add_step(m, record, call->schema);
    struct tsm_workload_command command = {
        .seq = record->seq,
        .position = record->position,
        .schema = call->schema,
        .kernel = name ? sbt_reader_string(m->dependencies.reader, (uint32_t)name) : NULL,
        .stream = stream,
        .step = (uint32_t)m->w->step_count - 1};
    int error;

    if (!step || stream == TSM_WORKLOAD_NONE)
        return no_memory();
    step->kind = TSM_STEP_SEND;
    step->command = (uint32_t)m->w->command_count;
    step->may_wait = call->is_wait || may_wait;
    step->waits = call->is_wait && !may_wait;
    describe_stream(m, stream);
    error = add_events(m, &command, call);
    if (!error)
        error = add_launch(m, &command, record);
    if (error)
        return error;
    if (!TSM_ARRAY_PUSH(m->w->commands, m->w->command_count, m->command_capacity, command) ||
        !tsm_map_set(&m->command_places, tsm_position_key(record->stream, record->position),
                     m->w->command_count))
        return no_memory();
    return 0;
}

/* Says what the wait is for. */
static int aim(struct making *m, struct tsm_workload_step *step, const struct tsm_call_node *call)
{
    const int object = sbt_schema_role(call->schema, SBT_ROLE_OBJECT);

    if (call->record->stream != SBT_STREAM_NONE) {
        step->of = stream_of(m, call->record->stream);
        step->target = TSM_TARGET_STREAM;
        if (step->of == TSM_WORKLOAD_NONE)
            return no_memory();
        describe_stream(m, (uint32_t)step->of);
        return 0;
    }
    if (object >= 0 && tsm_object_traits(call->schema->fields[object].detail) & TSM_OBJECT_EVENT) {
        step->event = sbt_record_role(call->schema, call->record, SBT_ROLE_OBJECT, 0);
        step->of = tsm_map_get(&m->events, step->event, 0) - 1;
        step->target = step->of != UINT64_MAX ? TSM_TARGET_COMMAND : TSM_TARGET_NOTHING;
        return 0;
    }
    step->target = call->owner ? TSM_TARGET_OWNER : TSM_TARGET_ALL;
    step->of = call->owner;
    return 0;
}

static int add_wait(struct making *m, const struct tsm_call_node *call)
{
    struct tsm_workload_step *step = add_step(m, call->record, call->schema);

    if (!step)
        return no_memory();
    step->kind =
        tsm_call_traits(call->schema).traits & TSM_TRAIT_ASKS ? TSM_STEP_POLL : TSM_STEP_WAIT;
    step->of = TSM_WORKLOAD_NONE;
    return aim(m, step, call);
}

/* Tests whether commands keep their order about a call that is neither one nor a wait. */
static bool is_fixed(const struct tsm_call_node *call)
{
    if (!call->schema || call->record->flags & SBT_RECORD_FAILED)
        return false;
    switch (call->schema->kind) {
    case SBT_KIND_META:
    case SBT_KIND_QUERY:
    case SBT_KIND_INIT:
    case SBT_KIND_CREATE:
        return false;
    default:
        return true;
    }
}

static int add_call(void *user, const struct tsm_call_node *call)
{
    struct making *m = user;
    int error;

    if (call->schema && !(tsm_api_traits(call->record->type) & TSM_API_IN_ORDER)) {
        m->w->passed_count += call->is_command && !(call->record->flags & SBT_RECORD_FAILED);
        return 0;
    }
    error = tsm_dependencies_note(&m->dependencies, call);
    if (!error && !m->dependencies.is_node)
        m->w->epoch += is_fixed(call);
    if (error || !m->dependencies.is_node)
        return error;
    if (call->is_command)
        return add_command(m, call);
    return call->schema->kind == SBT_KIND_SYNC ? add_wait(m, call) : 0;
}

/* ---- work -------------------------------------------------------------------------------------
 */

/* Slots of a GPU_WORK record. */
enum {
    OF_STREAM,
    OF_POSITION,
    NUMBER,
    KIND,
    BYTES,
    BLOCKS,
    INSTRUCTIONS,
    SENT,
    QUEUE,
    PRIORITY,
    FLAGS,
    PARENTS,
    ID
};

/* Gives the command the parts that were collected. */
static void close_list(struct making *m)
{
    const uint64_t key = tsm_position_key(m->open.stream, m->open.position);
    const uint64_t place = tsm_map_get(&m->command_places, key, 0);
    struct tsm_workload_command *c = place ? &m->w->commands[place - 1] : NULL;

    if (c && m->open.count && m->open.is_whole && !c->has_work) {
        c->has_work = true;
        c->first_part = (uint32_t)m->open.first_part;
        c->part_count = (uint32_t)m->open.count;
        for (size_t i = 0; i < m->open.count; i++)
            m->parts[m->open.first_part + i].command = (uint32_t)place - 1;
    }
    m->open = (struct work_list){0};
}

static int add_parents(struct making *m, struct tsm_workload_part *part,
                       const struct sbt_record *record)
{
    const uint8_t *bytes;
    size_t size;

    part->first_parent = (uint32_t)m->w->parent_count;
    if (!sbt_record_bytes(record, PARENTS, &bytes, &size))
        return 0;
    for (size_t at = 0; at + 4 <= size; at += 4) {
        const uint32_t number = tsm_get_u32(bytes + at);

        if (number >= m->open.count)
            m->open.is_whole = false; /* only earlier ones can be waited for */
        else if (m->w->parent_count >= COUNT_MAX ||
                 !TSM_ARRAY_PUSH(m->w->parents, m->w->parent_count, m->parent_capacity,
                                 (uint32_t)m->open.first_part + number))
            return no_memory();
        else
            part->parent_count++;
    }
    return 0;
}

/* Adds work to the part before, inside of which it ran. */
static int add_inner(struct making *m, const uint64_t *slots, const struct tsm_device_work *work)
{
    struct tsm_workload_part *outer =
        m->open.count ? &m->parts[m->open.first_part + m->open.count - 1] : NULL;

    if (!outer || slots[OF_STREAM] != m->open.stream || slots[OF_POSITION] != m->open.position ||
        slots[NUMBER] + 1 != m->open.count) {
        m->open.is_whole = false;
        return 0;
    }
    if (!outer->inner_count)
        outer->first_inner = (uint32_t)m->w->inner_count;
    outer->inner_count++;
    return m->w->inner_count < COUNT_MAX &&
                   TSM_ARRAY_PUSH(m->w->inner, m->w->inner_count, m->inner_capacity, *work)
               ? 0
               : no_memory();
}

static int add_work(struct making *m, const struct sbt_record *record)
{
    const uint64_t *slots = record->slots;
    struct tsm_workload_part part = {.command = TSM_WORKLOAD_NONE, .value = TSM_WORKLOAD_NONE};
    uint64_t place;
    int error;

    if (record->slot_count <= PARENTS || slots[KIND] >= SBT_GPU_WORK_COUNT)
        return 0;
    part.work = (struct tsm_device_work){.kind = (enum tsm_device_work_kind)slots[KIND],
                                         .bytes = slots[BYTES],
                                         .blocks = slots[BLOCKS],
                                         .instructions = slots[INSTRUCTIONS]};
    if (slots[FLAGS] & SBT_GPU_WORK_INNER)
        return add_inner(m, slots, &part.work);
    if (slots[NUMBER] == 0) {
        m->open = (struct work_list){.stream = (uint32_t)slots[OF_STREAM],
                                     .position = slots[OF_POSITION],
                                     .is_whole = true,
                                     .first_part = m->part_count};
        place =
            tsm_map_get(&m->command_places, tsm_position_key(m->open.stream, m->open.position), 0);
        if (place) {
            struct tsm_workload_command *c = &m->w->commands[place - 1];

            c->sent_ns = slots[SENT];
            m->w->streams[c->stream].queue = slots[QUEUE];
            m->w->streams[c->stream].priority = (int32_t)slots[PRIORITY];
        }
    }
    if (slots[OF_STREAM] != m->open.stream || slots[OF_POSITION] != m->open.position ||
        slots[NUMBER] != m->open.count) {
        m->open.is_whole = false;
        return 0;
    }
    part.id = record->slot_count > ID ? slots[ID] : 0;
    /* Nodes lie between two parts that hold them together. */
    part.is_node = slots[FLAGS] & SBT_GPU_WORK_NODE && m->open.count;
    if (part.is_node && slots[FLAGS] & SBT_GPU_WORK_LAST)
        m->open.is_whole = false;
    error = add_parents(m, &part, record);
    if (error)
        return error;
    m->open.count++;
    if (m->part_count >= COUNT_MAX ||
        !TSM_ARRAY_PUSH(m->parts, m->part_count, m->parts_capacity, part))
        return no_memory();
    if (slots[FLAGS] & SBT_GPU_WORK_LAST)
        close_list(m);
    return 0;
}

static int add_core(void *user, const struct sbt_record *record)
{
    struct making *m = user;
    int error = tsm_dependencies_note_core(&m->dependencies, record);

    if (error)
        return error;
    if (record->type == SBT_TYPE(SBT_API_CORE, SBT_CORE_GPU_WORK))
        return add_work(m, record);
    if (record->type == SBT_TYPE(SBT_API_CORE, SBT_CORE_GPU_ORDER))
        return tsm_work_orders_add(&m->orders, record);
    /* The program wrote, or learnt something. */
    m->w->epoch += record->type == SBT_TYPE(SBT_API_CORE, SBT_CORE_HOST_WRITE) ||
                   record->type == SBT_TYPE(SBT_API_CORE, SBT_CORE_HOST_RUNS) ||
                   record->type == SBT_TYPE(SBT_API_CORE, SBT_CORE_COMPLETE) ||
                   record->type == SBT_TYPE(SBT_API_CORE, SBT_CORE_LOST);
    return 0;
}

/* ---- times ------------------------------------------------------------------------------------
 */

static int add_time(void *user, const struct tsm_command_node *node)
{
    struct making *m = user;
    const uint32_t place = tsm_workload_find_command(m->w, node->seq);
    struct tsm_workload_command *c;
    uint32_t device;

    if (place == TSM_WORKLOAD_NONE || node->part || node->run)
        return 0;
    c = &m->w->commands[place];
    c->recorded = node->gpu;
    c->from = node->from;
    c->to = node->to;
    device = device_of(m, &node->device);
    if (device == TSM_WORKLOAD_NONE)
        return no_memory();
    m->w->streams[c->stream].device = device;
    return 0;
}

/* Returns the work of a command of which only the time is known. */
static struct tsm_device_work fixed_work(const struct tsm_workload *w,
                                         const struct tsm_workload_command *c)
{
    const enum tsm_work work = tsm_work_of_type(c->schema).work;
    struct tsm_device_work fixed = {.kind = TSM_DEVICE_NONE, .is_fixed = true};

    if (c->recorded.kind == TSM_TIME_MEASURED)
        fixed.fixed_ns = tsm_span_ns(&c->recorded);
    if (work == TSM_WORK_KERNEL || work == TSM_WORK_GRAPH || work == TSM_WORK_SUBMIT)
        fixed.kind = TSM_DEVICE_KERNEL;
    else if (work == TSM_WORK_HOST_FUNCTION) {
        fixed.kind = TSM_DEVICE_HOST_FUNCTION;
        fixed.is_fixed = !w->is_virtual; /* all take equally long there, and none has a record */
    } else if (work == TSM_WORK_COPY && c->from <= TSM_PLACE_HOST)
        fixed.kind = TSM_DEVICE_TO_DEVICE;
    else if (work == TSM_WORK_COPY && c->to <= TSM_PLACE_HOST)
        fixed.kind = TSM_DEVICE_TO_HOST;
    else if (work == TSM_WORK_COPY || work == TSM_WORK_FILL)
        fixed.kind = TSM_DEVICE_ON_DEVICE;
    return fixed;
}

/* Puts the parts into the order of the commands; a command without parts gets one. */
static int order_parts(struct making *m)
{
    struct tsm_workload *w = m->w;

    for (size_t i = 0; i < w->command_count; i++) {
        struct tsm_workload_command *c = &w->commands[i];
        const uint32_t from = c->first_part, first = (uint32_t)w->part_count;

        if (!c->has_work)
            c->part_count = 1;
        if (w->part_count + c->part_count >= COUNT_MAX ||
            !TSM_ARRAY_RESERVE(w->parts, m->part_capacity, w->part_count + c->part_count))
            return no_memory();
        for (uint32_t k = 0; k < c->part_count; k++) {
            struct tsm_workload_part part = {
                .work = fixed_work(w, c), .command = (uint32_t)i, .value = TSM_WORKLOAD_NONE};

            if (c->has_work)
                part = m->parts[from + k];
            for (uint32_t p = 0; c->has_work && p < part.parent_count; p++)
                w->parents[part.first_parent + p] += first - from;
            w->parts[w->part_count++] = part;
        }
        c->first_part = first;
        if (tsm_work_of_type(c->schema).work == TSM_WORK_ORDER || !w->parts[first].work.is_fixed)
            continue; /* takes no time anyhow, or its work is known */
        w->untimed_count += c->recorded.kind != TSM_TIME_MEASURED;
        w->workless_count += w->is_virtual && !c->has_work;
    }
    for (size_t i = 0; i < w->event_count; i++)
        w->events[i].part = tsm_workload_last_part(w, w->events[i].command);
    return 0;
}

struct position {
    uint64_t position;
    uint32_t stream, command;
};

static int by_position(const void *a, const void *b)
{
    const struct position *x = a, *y = b;

    if (x->stream != y->stream)
        return x->stream < y->stream ? -1 : 1;
    if (x->position != y->position)
        return x->position < y->position ? -1 : 1;
    return x->command < y->command ? -1 : x->command > y->command;
}

/* Finds which command comes before which on its stream: records of calls that took long come late.
 */
static int link_streams(struct tsm_workload *w)
{
    struct position *list = malloc((w->command_count + 1) * sizeof(*list));

    if (!list)
        return no_memory();
    for (size_t i = 0; i < w->command_count; i++)
        list[i] = (struct position){w->commands[i].position, w->commands[i].stream, (uint32_t)i};
    qsort(list, w->command_count, sizeof(*list), by_position);
    for (size_t i = 0; i < w->command_count; i++)
        w->commands[list[i].command].previous =
            i && list[i - 1].stream == list[i].stream ? list[i - 1].command : TSM_WORKLOAD_NONE;
    free(list);
    return 0;
}

/* Refuses what would take hours: each kernel takes as long as the machine has slots. */
static int check_size(const struct tsm_workload *w)
{
    uint64_t kernels = 0;

    for (size_t i = 0; i < w->part_count; i++)
        kernels += w->parts[i].work.kind == TSM_DEVICE_KERNEL && !w->parts[i].work.is_fixed;
    for (size_t i = 0; i < w->inner_count; i++)
        kernels += w->inner[i].kind == TSM_DEVICE_KERNEL;
    return kernels <= SLOTS_MAX / w->machine.block_slots
               ? 0
               : tsm_fail(TSM_E_LIMIT,
                          "%llu kernels on a machine of %llu block slots are too many to simulate",
                          (unsigned long long)kernels, (unsigned long long)w->machine.block_slots);
}

/* ---- making -----------------------------------------------------------------------------------
 */

/* Tests whether commands ran in virtual time, by a description that can be read. */
static int read_machine(struct tsm_workload *w, struct sbt_reader *reader)
{
    char why[TSM_MACHINE_WHY];
    const char *text = NULL;

    tsm_machine_init(&w->machine);
    for (size_t i = 0; i < sbt_reader_metadata_count(reader) && !text; i++) {
        const char *name, *value;
        const char *dot;

        sbt_reader_metadata(reader, i, &name, &value);
        dot = strrchr(name, '.');
        if (dot && !strcmp(dot, ".machine_description"))
            text = value;
    }
    if (!text)
        return 0;
    w->is_virtual = true;
    if (tsm_machine_parse(&w->machine, text, why))
        return tsm_fail(TSM_E_FORMAT, "the machine description of the trace: %s", why);
    return 0;
}

int tsm_workload_make(struct tsm_workload *out, struct sbt_reader *reader)
{
    struct making m = {.w = out, .dependencies = {.reader = reader}};
    const struct tsm_model_visitor visitor = {
        .user = &m, .call = add_call, .core = add_core, .command = add_time};
    struct tsm_model_counts counts;
    int error;

    *out = (struct tsm_workload){0};
    error = read_machine(out, reader);
    if (!error)
        error = tsm_model_pass(&counts, reader, NULL, &visitor);
    if (!error && !out->device_count && device_of(&m, &(struct tsm_device){0}) == TSM_WORKLOAD_NONE)
        error = no_memory();
    if (!error)
        error = order_parts(&m);
    if (!error)
        error = tsm_work_orders_settle(&m.orders, out, &m.command_places);
    if (!error)
        error = link_streams(out);
    if (!error)
        error = check_size(out);
    tsm_dependencies_finish(&m.dependencies);
    tsm_map_finish(&m.stream_places);
    tsm_map_finish(&m.thread_places);
    tsm_map_finish(&m.command_places);
    tsm_map_finish(&m.launches);
    tsm_map_finish(&m.events);
    tsm_work_orders_finish(&m.orders);
    free(m.parts);
    return error;
}

void tsm_workload_finish(struct tsm_workload *w)
{
    free(w->commands);
    free(w->parts);
    free(w->steps);
    free(w->streams);
    free(w->threads);
    free(w->devices);
    free(w->parents);
    free(w->events);
    free(w->values);
    free(w->inner);
    free(w->awaited);
    *w = (struct tsm_workload){0};
}

uint32_t tsm_workload_find_command(const struct tsm_workload *w, uint64_t seq)
{
    size_t at;

    TSM_BISECT(at, w->command_count, w->commands[at].seq >= seq);
    return at < w->command_count && w->commands[at].seq == seq ? (uint32_t)at : TSM_WORKLOAD_NONE;
}

uint32_t tsm_workload_find_step(const struct tsm_workload *w, uint64_t seq)
{
    size_t at;

    TSM_BISECT(at, w->step_count, w->steps[at].seq >= seq);
    return at < w->step_count && w->steps[at].seq == seq ? (uint32_t)at : TSM_WORKLOAD_NONE;
}
