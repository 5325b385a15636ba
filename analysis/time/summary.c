/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/time/summary.h"

#include "base/array.h"
#include "base/hash.h"
#include "tracesmith/error.h"

#include <stdlib.h>
#include <string.h>

struct collect {
    struct tsm_summary *out;
    unsigned by;
    struct tsm_map streams; /* number -> place in out->streams */
};

static int no_memory(void)
{
    return tsm_fail(TSM_E_MEMORY, "out of memory for statistics");
}

const char *tsm_copy_name(enum tsm_work work, enum tsm_place from, enum tsm_place to)
{
    static const char *const copies[TSM_PLACE_COUNT][TSM_PLACE_COUNT] = {
        {"pageable to pageable", "pageable to host", "pageable to device", "pageable to array"},
        {"host to pageable", "host to host", "host to device", "host to array"},
        {"device to pageable", "device to host", "device to device", "device to array"},
        {"array to pageable", "array to host", "array to device", "array to array"}};
    static const char *const fills[TSM_PLACE_COUNT] = {"fill pageable", "fill host", "fill device",
                                                       "fill array"};

    return work == TSM_WORK_FILL ? fills[to] : copies[from][to];
}

/* ---- commands ------------------------------------------------------------------------------ */

static void set_common(struct tsm_time_key *key, unsigned by, const char *label, uint32_t thread,
                       uint32_t stack)
{
    key->label = by & TSM_TIME_BY_LABEL ? label : NULL;
    key->thread = by & TSM_TIME_BY_THREAD ? thread : 0;
    key->stack = by & TSM_TIME_BY_SITE ? stack : 0;
}

static struct tsm_time_key command_key(const struct tsm_command_node *c, unsigned by)
{
    const bool is_moving = c->work == TSM_WORK_COPY || c->work == TSM_WORK_FILL;
    struct tsm_time_key key = {.work = c->work, .from = c->from, .to = c->to};

    key.name = is_moving   ? tsm_copy_name(c->work, c->from, c->to)
               : c->kernel ? c->kernel
                           : c->schema->name;
    if (by & TSM_TIME_BY_GRID) {
        memcpy(key.grid, c->grid, sizeof(key.grid));
        memcpy(key.block, c->block, sizeof(key.block));
    }
    key.stream = by & TSM_TIME_BY_STREAM ? c->stream : 0;
    if (by & TSM_TIME_BY_DEVICE)
        key.device = c->device;
    set_common(&key, by, c->label, c->thread, c->stack);
    return key;
}

/* Returns the sum of a stream, or of the part of its commands that go to one device. */
static struct tsm_stream_sum *find_stream(struct collect *c, uint32_t stream,
                                          const struct tsm_device *device)
{
    const uint64_t parts[] = {(uint64_t)device->api << 32 | stream, device->number};
    struct tsm_summary *s = c->out;
    bool added;
    uint64_t *place = tsm_map_insert(&c->streams, tsm_hash64(parts, sizeof(parts)), &added);

    if (!place)
        return NULL;
    if (added) {
        if (!TSM_ARRAY_PUSH(s->streams, s->stream_count, s->stream_capacity,
                            ((struct tsm_stream_sum){.stream = stream, .device = *device})))
            return NULL;
        *place = s->stream_count - 1;
    }
    return &s->streams[*place];
}

static int add_to_stream(struct collect *c, const struct tsm_command_node *command)
{
    struct tsm_stream_sum *stream = find_stream(c, command->stream, &command->device);
    const bool is_copy = command->work == TSM_WORK_COPY || command->work == TSM_WORK_FILL;
    const bool is_busy = command->work != TSM_WORK_ORDER && command->work != TSM_WORK_HOST_FUNCTION;
    bool is_placed;

    if (!stream)
        return no_memory();
    stream->command_count++;
    if (command->gpu.kind != TSM_TIME_MEASURED)
        return 0;
    stream->timed_count++;
    if (!stream->placed_count && command->gpu.axis != TSM_AXIS_DEVICE)
        stream->axis = command->gpu.axis;
    is_placed = command->gpu.axis != TSM_AXIS_DEVICE && command->gpu.axis == stream->axis;
    stream->placed_count += is_placed;
    if (is_busy && is_placed &&
        !tsm_intervals_add(&stream->busy[is_copy ? TSM_ENGINE_COPY : TSM_ENGINE_COMPUTE],
                           command->gpu.start_ns, command->gpu.end_ns))
        return no_memory();
    return 0;
}

static int add_to_run(struct tsm_summary *s, const struct tsm_command_node *command)
{
    if (command->gpu.kind != TSM_TIME_MEASURED || command->run >= TSM_SUMMARY_RUN_MAX ||
        command->work == TSM_WORK_ORDER || command->work == TSM_WORK_HOST_FUNCTION)
        return 0;
    if (!TSM_ARRAY_EXTEND(s->run_ns, s->run_capacity, (size_t)command->run + 1))
        return no_memory();
    if (s->run_count <= command->run)
        s->run_count = (size_t)command->run + 1;
    s->run_ns[command->run] += tsm_span_ns(&command->gpu);
    return 0;
}

/* Returns the time that no command inside of it has, or all. */
static uint64_t own_ns(const struct tsm_command_node *command, unsigned by)
{
    const uint64_t ns = tsm_span_ns(&command->gpu);

    if (by & TSM_TIME_WHOLE)
        return ns;
    return ns - (command->inner_ns < ns ? command->inner_ns : ns);
}

static int add_command(void *user, const struct tsm_command_node *command)
{
    struct collect *c = user;
    const struct tsm_time_key key = command_key(command, c->by);
    struct tsm_time_group *group;
    int error = add_to_stream(c, command);

    if (!error)
        error = add_to_run(c->out, command);
    if (error || command->work == TSM_WORK_ORDER)
        return error;
    group = tsm_time_groups_find(&c->out->commands, &key);
    if (!group)
        return no_memory();
    group->count++;
    group->derived_count += command->gpu.kind == TSM_TIME_DERIVED;
    if (command->gpu.kind == TSM_TIME_UNKNOWN)
        return 0;
    group->bytes += command->bytes;
    return tsm_samples_add(&group->ns, own_ns(command, c->by)) ? 0 : no_memory();
}

/* Whether it is of the selection, its submit decides. */
static int add_inner(void *user, const struct tsm_inner_node *inner)
{
    const struct tsm_command_node *outer = inner->outer;
    struct collect *c = user;
    struct tsm_time_key key = {.name = inner->name, .work = inner->work};
    struct tsm_time_group *group;

    key.stream = c->by & TSM_TIME_BY_STREAM ? outer->stream : 0;
    if (c->by & TSM_TIME_BY_DEVICE)
        key.device = outer->device;
    set_common(&key, c->by, outer->label, outer->thread, outer->stack);
    group = tsm_time_groups_find(&c->out->inner, &key);
    if (!group)
        return no_memory();
    group->count++;
    if (inner->gpu.kind == TSM_TIME_UNKNOWN)
        return 0;
    return tsm_samples_add(&group->ns, tsm_span_ns(&inner->gpu)) ? 0 : no_memory();
}

/* ---- calls and memory ---------------------------------------------------------------------- */

static int add_call(void *user, const struct tsm_call_node *call)
{
    struct collect *c = user;
    struct tsm_time_key key = {.name = call->schema ? call->schema->name : "unknown"};
    struct tsm_time_group *group;

    set_common(&key, c->by, call->label, call->record->thread, call->record->stack);
    group = tsm_time_groups_find(&c->out->calls, &key);
    if (!group)
        return no_memory();
    group->count++;
    group->failed_count += (call->record->flags & SBT_RECORD_FAILED) != 0;
    group->is_wait = call->is_wait;
    if (call->record->flags & SBT_RECORD_UNFINISHED)
        return 0;
    return tsm_samples_add(&group->ns, call->record->duration_ns) ? 0 : no_memory();
}

static int add_memory(void *user, const struct tsm_memory_node *change)
{
    struct tsm_memory_sum *m = &((struct collect *)user)->out->memory[change->place];

    if (change->is_free) {
        m->freed_count++;
        m->live_bytes -= change->size < m->live_bytes ? change->size : m->live_bytes;
        return 0;
    }
    m->allocated_count++;
    m->allocated_bytes += change->size;
    m->live_bytes += change->size;
    if (m->live_bytes > m->peak_bytes) {
        m->peak_bytes = m->live_bytes;
        m->peak_seq = change->seq;
        m->peak_time_ns = change->time_ns;
    }
    return 0;
}

/* ---- all ----------------------------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
    const struct tsm_stream_sum *x = a, *y = b;

    if (x->stream != y->stream)
        return x->stream < y->stream ? -1 : 1;
    return x->device.number < y->device.number ? -1 : x->device.number > y->device.number;
}

int tsm_summary_collect(struct tsm_summary *out, struct sbt_reader *reader,
                        const struct sbt_filter *filter, unsigned by)
{
    return tsm_summary_collect_times(out, reader, filter, by, NULL);
}

int tsm_summary_collect_times(struct tsm_summary *out, struct sbt_reader *reader,
                              const struct sbt_filter *filter, unsigned by,
                              const struct tsm_model_times *times)
{
    struct collect c = {.out = out, .by = by};
    const struct tsm_model_visitor visitor = {.user = &c,
                                              .call = add_call,
                                              .command = add_command,
                                              .inner = add_inner,
                                              .memory = add_memory,
                                              .times = times,
                                              .programs = &out->programs};
    int error;

    *out = (struct tsm_summary){0};
    error = tsm_model_pass(&out->counts, reader, filter, &visitor);
    tsm_map_finish(&c.streams);
    if (error) {
        tsm_summary_finish(out);
        return error;
    }
    tsm_time_groups_sort(&out->commands);
    tsm_time_groups_sort(&out->inner);
    tsm_time_groups_sort(&out->calls);
    if (out->stream_count)
        qsort(out->streams, out->stream_count, sizeof(*out->streams), by_number);
    return 0;
}

bool tsm_summary_busy(struct tsm_intervals *out, const struct tsm_summary *s,
                      const struct tsm_device *device, enum tsm_engine engine)
{
    bool ok = true;

    for (size_t i = 0; i < s->stream_count && ok; i++)
        for (unsigned e = 0; e < TSM_ENGINE_COUNT && ok; e++)
            if ((!device || tsm_device_is_same(device, &s->streams[i].device)) &&
                (engine == TSM_ENGINE_COUNT || engine == e))
                ok = tsm_intervals_add_all(out, &s->streams[i].busy[e]);
    return ok;
}

void tsm_summary_finish(struct tsm_summary *s)
{
    for (size_t i = 0; i < s->stream_count; i++)
        for (unsigned e = 0; e < TSM_ENGINE_COUNT; e++)
            tsm_intervals_finish(&s->streams[i].busy[e]);
    free(s->streams);
    free(s->run_ns);
    tsm_time_groups_finish(&s->commands);
    tsm_time_groups_finish(&s->inner);
    tsm_time_groups_finish(&s->calls);
    tsm_programs_finish(&s->programs);
    *s = (struct tsm_summary){0};
}
