/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/time/clocks.h"

#include "analysis/time/host_waits.h"
#include "base/array.h"
#include "base/hash.h"
#include "tracesmith/error.h"

#include <stdlib.h>
#include <string.h>

#define LOOK_BACK 64u /* ends of other devices that are passed over */

/* An end that the host knew at a time. */
struct known {
    uint64_t at_ns;
    struct tsm_host_end end;
    bool is_counted; /* a later command starts before it */
};

struct collect {
    struct tsm_clocks *out;
    struct tsm_host_waits waits;
    struct known *known; /* by time */
    size_t known_count, known_capacity;
};

static int visit_call(void *user, const struct tsm_call_node *call)
{
    return tsm_host_waits_note(&((struct collect *)user)->waits, call);
}

static int visit_core(void *user, const struct sbt_record *record)
{
    return tsm_host_waits_note_core(&((struct collect *)user)->waits, record);
}

/* ---- clocks ------------------------------------------------------------------------------------
 */

static uint64_t hash_of(bool is_ring, uint32_t api, const struct tsm_device *device,
                        enum tsm_time_axis axis)
{
    const uint64_t parts[] = {(uint64_t)api << 32 | (uint64_t)axis << 1 | is_ring,
                              (uint64_t)device->api << 32 | device->kind, device->number,
                              device->type ? tsm_hash64(device->type, strlen(device->type)) : 0};

    return tsm_hash64(parts, sizeof(parts));
}

struct tsm_clock *tsm_clocks_find(struct tsm_clocks *clocks, bool is_ring, uint32_t api,
                                  const struct tsm_device *device, enum tsm_time_axis axis)
{
    bool added;
    uint64_t *place = tsm_map_insert(&clocks->places, hash_of(is_ring, api, device, axis), &added);

    for (size_t at = place ? *place : 0; at; at = clocks->list[at - 1].next) {
        struct tsm_clock *clock = &clocks->list[at - 1];

        if (clock->is_ring == is_ring && clock->api == api && clock->axis == axis &&
            tsm_device_is_same(&clock->device, device))
            return clock;
    }
    if (!place || !TSM_ARRAY_PUSH(clocks->list, clocks->count, clocks->capacity,
                                  ((struct tsm_clock){.api = api,
                                                      .device = *device,
                                                      .is_ring = is_ring,
                                                      .axis = axis,
                                                      .first_ns = INT64_MAX,
                                                      .last_ns = INT64_MIN,
                                                      .fit = {.fits = is_ring},
                                                      .next = *place})))
        return NULL;
    *place = clocks->count;
    return &clocks->list[clocks->count - 1];
}

static struct tsm_clock *clock_of(struct tsm_clocks *all, const struct tsm_command_node *node)
{
    return tsm_clocks_find(all, false, SBT_TYPE_API(node->schema->type), &node->device,
                           node->gpu.axis);
}

static int64_t minus(uint64_t a, int64_t b)
{
    return (int64_t)(a - (uint64_t)b);
}

/* Keeps the tighter one of two bounds: the larger `least`, the smaller `most`. */
static void tighten(struct tsm_clock_bound *bound, const struct tsm_clock_bound *other,
                    bool is_least)
{
    if (!bound->is_known ||
        (is_least ? other->offset_ns > bound->offset_ns : other->offset_ns < bound->offset_ns))
        *bound = *other;
}

/* A time on the host's clock must not need an offset that is larger than its error. */
static int judge(struct tsm_clocks *all, const struct tsm_command_node *node,
                 const struct tsm_clock_bound *bound, enum tsm_clock_rule rule)
{
    const int64_t beyond =
        rule == TSM_CLOCK_CALLED ? bound->offset_ns : (int64_t)(0 - (uint64_t)bound->offset_ns);
    struct tsm_clock_contradiction contradiction = {.rule = rule,
                                                    .seq = bound->seq,
                                                    .other_seq = bound->other_seq,
                                                    .stream = bound->stream,
                                                    .call = bound->call,
                                                    .other_call = bound->other_call,
                                                    .error_ns = node->gpu.error_ns};

    if (node->gpu.axis != TSM_AXIS_HOST || beyond <= 0 || (uint64_t)beyond <= node->gpu.error_ns)
        return 0;
    contradiction.by_ns = (uint64_t)beyond - node->gpu.error_ns;
    all->contradiction_total++;
    if (all->contradiction_count == TSM_CLOCK_CONTRADICTION_MAX)
        return 0;
    return TSM_ARRAY_PUSH(all->contradictions, all->contradiction_count,
                          all->contradiction_capacity, contradiction)
               ? 0
               : tsm_fail(TSM_E_MEMORY, "no memory for what clocks contradict");
}

/* Adds a bound with the error of the command's time. */
static int bound_drift(struct tsm_clock *clock, const struct tsm_command_node *node,
                       const struct tsm_clock_bound *bound, bool is_least)
{
    const uint64_t error_ns = node->gpu.error_ns, offset_ns = (uint64_t)bound->offset_ns;
    const struct tsm_drift_bound point = {
        .time_ns = is_least ? node->gpu.start_ns : node->gpu.end_ns,
        .offset_ns = (int64_t)(is_least ? offset_ns - error_ns : offset_ns + error_ns),
        .seq = bound->seq,
        .other_seq = bound->other_seq,
        .call = bound->call,
        .other_call = bound->other_call};
    const bool ok = is_least ? tsm_drift_at_least(&clock->drift, &point)
                             : tsm_drift_at_most(&clock->drift, &point);

    return ok ? 0 : tsm_fail(TSM_E_MEMORY, "no memory for bounds of clocks");
}

static void note_end(struct tsm_host_wait *wait, size_t clock, const struct tsm_command_node *node)
{
    if (!wait->last.is_known || node->gpu.end_ns > wait->last.ns)
        wait->last =
            (struct tsm_host_end){true, clock, node->gpu.end_ns, node->seq, node->schema->name};
}

static int bound_command(struct collect *c, struct tsm_clock *clock,
                         const struct tsm_command_node *node)
{
    struct tsm_host_wait *wait = node->gpu.is_at_most ? NULL : tsm_host_waits_find(&c->waits, node);
    struct tsm_clock_bound bound = {.is_known = true,
                                    .offset_ns = minus(node->call_ns, node->gpu.start_ns),
                                    .seq = node->seq,
                                    .other_seq = node->seq,
                                    .stream = node->stream,
                                    .call = node->schema->name,
                                    .other_call = node->schema->name};
    int error;

    tighten(&clock->least, &bound, true);
    error = judge(c->out, node, &bound, TSM_CLOCK_CALLED);
    if (!error)
        error = bound_drift(clock, node, &bound, true);
    if (error || !wait)
        return error;
    note_end(wait, (size_t)(clock - c->out->list), node);
    bound.offset_ns = minus(wait->known_ns, node->gpu.end_ns);
    bound.other_seq = wait->seq;
    bound.other_call = wait->call;
    tighten(&clock->most, &bound, false);
    error = bound_drift(clock, node, &bound, false);
    return error ? error : judge(c->out, node, &bound, TSM_CLOCK_KNOWN);
}

static int visit_command(void *user, const struct tsm_command_node *node)
{
    struct collect *c = user;
    struct tsm_clock *clock;

    if (node->gpu.kind != TSM_TIME_MEASURED) {
        if (node->work != TSM_WORK_ORDER)
            ++*(node->gpu.kind == TSM_TIME_DERIVED ? &c->out->derived_count
                                                   : &c->out->unknown_count);
        return 0;
    }
    clock = clock_of(c->out, node);
    if (!clock || !tsm_samples_add(&clock->errors, node->gpu.error_ns))
        return tsm_fail(TSM_E_MEMORY, "no memory for times");
    clock->command_count++;
    if (node->gpu.start_ns < clock->first_ns)
        clock->first_ns = node->gpu.start_ns;
    if (node->gpu.end_ns > clock->last_ns)
        clock->last_ns = node->gpu.end_ns;
    return node->gpu.axis == TSM_AXIS_VIRTUAL || c->out->is_replay ? 0
                                                                   : bound_command(c, clock, node);
}

/* ---- clocks that go back -----------------------------------------------------------------------
 */

static int by_known(const void *a, const void *b)
{
    const struct known *x = a, *y = b;

    return x->at_ns < y->at_ns ? -1 : x->at_ns > y->at_ns;
}

/* Collects the ends that waits told, in the order in which the host knew them. */
static bool add_ends(struct collect *c, const struct tsm_host_wait_list *waits)
{
    bool ok = true;

    for (size_t i = 0; i < waits->count && ok; i++) {
        const struct known known = {.at_ns = waits->list[i].known_ns, .end = waits->list[i].last};

        ok = !known.end.is_known ||
             TSM_ARRAY_PUSH(c->known, c->known_count, c->known_capacity, known);
    }
    return ok;
}

static int collect_ends(struct collect *c)
{
    const struct tsm_host_waits *w = &c->waits;

    for (size_t i = 0; i < w->stream_count; i++)
        if (!add_ends(c, &w->streams[i].waits) || !add_ends(c, &w->streams[i].alone))
            return tsm_fail(TSM_E_MEMORY, "no memory for ends of commands");
    if (c->known_count)
        qsort(c->known, c->known_count, sizeof(*c->known), by_known);
    return 0;
}

/* Finds the last end on a clock that the host knew before a call; NULL: none near. */
static struct known *known_before(const struct collect *c, size_t clock, uint64_t call_ns)
{
    size_t at;

    TSM_BISECT(at, c->known_count, c->known[at].at_ns > call_ns);
    for (unsigned i = 0; at && i < LOOK_BACK; i++, at--)
        if (c->known[at - 1].end.clock == clock)
            return &c->known[at - 1];
    return NULL;
}

/* Counts a step back once, whatever comes behind it. */
static int visit_step(void *user, const struct tsm_command_node *node)
{
    struct collect *c = user;
    struct tsm_clock *clock;
    struct known *known;
    int64_t by_ns;

    if (node->gpu.kind != TSM_TIME_MEASURED || node->gpu.axis != TSM_AXIS_DEVICE)
        return 0;
    clock = clock_of(c->out, node);
    known = clock && !clock->fit.fits
                ? known_before(c, (size_t)(clock - c->out->list), node->call_ns)
                : NULL;
    by_ns = known ? (int64_t)((uint64_t)known->end.ns - (uint64_t)node->gpu.start_ns) : 0;
    if (by_ns <= 0 || (uint64_t)by_ns <= 2 * clock->errors.max || known->is_counted)
        return 0;
    known->is_counted = true;
    if (clock->steps.count++)
        return 0;
    clock->steps = (struct tsm_clock_steps){.count = 1,
                                            .by_ns = (uint64_t)by_ns,
                                            .seq = node->seq,
                                            .other_seq = known->end.seq,
                                            .call = node->schema->name,
                                            .other_call = known->end.call};
    return 0;
}

/* Looks for what makes a device's clock fit nothing. */
static int find_steps(struct collect *c, struct sbt_reader *reader, const struct sbt_filter *filter)
{
    const struct tsm_model_visitor steps = {.user = c, .command = visit_step};
    struct tsm_model_counts counts;
    bool is_needed = false;
    int error;

    for (size_t i = 0; i < c->out->count; i++) {
        c->out->list[i].fit = tsm_drift_fit(&c->out->list[i].drift);
        is_needed |= tsm_clock_misfits(&c->out->list[i]);
    }
    error = is_needed ? collect_ends(c) : 0;
    return error || !is_needed ? error : tsm_model_pass(&counts, reader, filter, &steps);
}

/* ---- the passes --------------------------------------------------------------------------------
 */

static uint64_t slept_ns(struct sbt_reader *reader)
{
    const char *text = sbt_reader_metadata_find(reader, "clock.slept_ns");

    return text ? strtoull(text, NULL, 10) : 0;
}

int tsm_clocks_collect(struct tsm_clocks *out, struct sbt_reader *reader,
                       const struct sbt_filter *filter)
{
    struct collect c = {.out = out, .waits = {.reader = reader}};
    const struct tsm_model_visitor waits = {.user = &c, .call = visit_call, .core = visit_core};
    const struct tsm_model_visitor commands = {.user = &c, .command = visit_command};
    struct tsm_model_counts counts;
    int error;

    *out = (struct tsm_clocks){.is_replay = sbt_reader_metadata_find(reader, "timed.runs"),
                               .slept_ns = slept_ns(reader)};
    /* Waits for commands of the selection may lie outside of it. */
    error = tsm_model_pass(&counts, reader, NULL, &waits);
    if (!error)
        error = tsm_model_pass(&counts, reader, filter, &commands);
    if (!error)
        error = find_steps(&c, reader, filter);
    tsm_host_waits_finish(&c.waits);
    free(c.known);
    return error;
}

void tsm_clocks_finish(struct tsm_clocks *clocks)
{
    for (size_t i = 0; i < clocks->count; i++) {
        tsm_samples_finish(&clocks->list[i].errors);
        tsm_drift_finish(&clocks->list[i].drift);
    }
    free(clocks->list);
    tsm_map_finish(&clocks->places);
    free(clocks->contradictions);
    *clocks = (struct tsm_clocks){0};
}

bool tsm_clock_drifts(const struct tsm_clock *clock)
{
    return clock->least.is_known && clock->most.is_known &&
           clock->least.offset_ns > clock->most.offset_ns &&
           (uint64_t)clock->least.offset_ns - (uint64_t)clock->most.offset_ns >
               2 * clock->errors.max;
}

bool tsm_clock_misfits(const struct tsm_clock *clock)
{
    return !clock->fit.fits && (clock->is_ring || clock->axis == TSM_AXIS_DEVICE);
}
