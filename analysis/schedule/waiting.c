/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/schedule/simulation.h"

#include "base/array.h"

#include <stdlib.h>

#define WAITS_MAX (1u << 26) /* of all; a trace could make of a few records as many as it likes */

void tsm_simulation_bind(struct tsm_scheduled_part *p, uint64_t ns, enum tsm_prediction_bound bound,
                         uint32_t by)
{
    if (ns < p->ready_ns || (ns == p->ready_ns && by == TSM_WORKLOAD_NONE))
        return;
    p->ready_ns = ns;
    p->bound = bound;
    p->by = by;
}

static bool push_before(struct tsm_simulation *s, uint32_t part)
{
    return s->out->before_count < WAITS_MAX &&
           TSM_ARRAY_PUSH(s->out->before, s->out->before_count, s->out->before_capacity, part);
}

bool tsm_simulation_wait_part(struct tsm_simulation *s, uint32_t part, uint32_t for_part,
                              enum tsm_prediction_bound bound)
{
    const struct tsm_scheduled_part *earlier = &s->out->parts[for_part];

    if (for_part == part || !earlier->is_sent)
        return true;
    if (!push_before(s, for_part))
        return false;
    s->out->parts[part].before_count++;
    if (earlier->is_done) {
        tsm_simulation_bind(&s->out->parts[part], earlier->end_ns, bound, for_part);
        return true;
    }
    if (s->waiting_count >= WAITS_MAX ||
        !TSM_ARRAY_PUSH(s->waitings, s->waiting_count, s->waiting_capacity,
                        (struct tsm_simulated_wait){part, s->parts[for_part].waiting, bound}))
        return false;
    s->parts[for_part].waiting = (uint32_t)s->waiting_count - 1;
    s->parts[part].left++;
    return true;
}

bool tsm_simulation_wait_thread(struct tsm_simulation *s, uint32_t thread, uint32_t for_part)
{
    const struct tsm_scheduled_part *earlier = &s->out->parts[for_part];
    struct tsm_simulated_thread *t = &s->threads[thread];

    if (!earlier->is_sent)
        return true;
    if (!push_before(s, for_part))
        return false;
    s->out->steps[t->step].before_count++;
    if (earlier->is_done) {
        if (t->end_ns <= earlier->end_ns) {
            t->end_ns = earlier->end_ns;
            t->by = for_part;
        }
        return true;
    }
    if (s->waiting_count >= WAITS_MAX ||
        !TSM_ARRAY_PUSH(s->waitings, s->waiting_count, s->waiting_capacity,
                        (struct tsm_simulated_wait){thread | TSM_PREDICTION_STEP,
                                                    s->parts[for_part].waiting, TSM_BOUND_WAIT}))
        return false;
    s->parts[for_part].waiting = (uint32_t)s->waiting_count - 1;
    t->left++;
    return true;
}

bool tsm_simulation_wait_stream(struct tsm_simulation *s, uint32_t who, uint32_t stream,
                                enum tsm_prediction_bound bound)
{
    const struct tsm_simulated_stream *state = &s->streams[stream];
    bool ok = true;

    if (state->last == TSM_WORKLOAD_NONE)
        return true;
    if (state->end_part != TSM_WORKLOAD_NONE &&
        (state->end_part < state->first_node || state->end_part > state->last))
        ok = bound == TSM_BOUND_WAIT ? tsm_simulation_wait_thread(s, who, state->end_part)
                                     : tsm_simulation_wait_part(s, who, state->end_part, bound);
    for (uint32_t i = state->first_node; ok && i <= state->last; i++)
        ok = bound == TSM_BOUND_WAIT ? tsm_simulation_wait_thread(s, who, i)
                                     : tsm_simulation_wait_part(s, who, i, bound);
    return ok;
}

bool tsm_simulation_wait_recent(struct tsm_simulation *s, uint32_t who, uint32_t stream,
                                enum tsm_prediction_bound bound)
{
    const struct tsm_simulated_owner *owner = &s->owners[s->streams[stream].owner];
    bool ok = true;

    for (size_t i = 0; i < owner->recent_count && ok; i++)
        ok = tsm_simulation_wait_stream(s, who, owner->recent[i], bound);
    return ok;
}

/* With several default streams the others wait for these, too: nothing is forgotten then. */
static void forget_recent(struct tsm_simulation *s, struct tsm_simulated_owner *owner)
{
    if (owner->default_count > 1)
        return;
    for (size_t i = 0; i < owner->recent_count; i++)
        s->streams[owner->recent[i]].is_recent = false;
    owner->recent_count = 0;
}

bool tsm_simulation_wait_default(struct tsm_simulation *s, uint32_t part)
{
    const uint32_t place = tsm_simulation_command(s, part)->stream;
    const struct tsm_workload_stream *own = &s->w->streams[place];
    struct tsm_simulated_owner *owner = &s->owners[s->streams[place].owner];
    bool ok = true;

    if (own->is_default) {
        ok = tsm_simulation_wait_recent(s, part, place, TSM_BOUND_DEFAULT);
        forget_recent(s, owner);
        return ok;
    }
    if (own->is_apart)
        return true;
    for (size_t i = 0; i < owner->default_count && ok; i++)
        ok = tsm_simulation_wait_stream(s, part, owner->defaults[i], TSM_BOUND_DEFAULT);
    if (!ok || s->streams[place].is_recent)
        return ok;
    s->streams[place].is_recent = true;
    return TSM_ARRAY_PUSH(owner->recent, owner->recent_count, owner->recent_capacity, place);
}

bool tsm_simulation_wait_owner(struct tsm_simulation *s, uint32_t thread, const uint64_t *key)
{
    const uint64_t place = key ? tsm_map_get(&s->owner_places, *key, 0) : 0;
    const struct tsm_simulated_owner *owner = place ? &s->owners[place - 1] : NULL;
    const struct tsm_simulated_end *end = &s->end;
    bool ok;

    if (key && !owner)
        return true; /* nothing was ever sent there */
    if (owner)
        end = &owner->end;
    ok = end->part == TSM_WORKLOAD_NONE || tsm_simulation_wait_thread(s, thread, end->part);
    for (size_t i = 0; i < s->busy_count && ok; i++)
        if (!owner || &s->owners[s->streams[s->busy[i]].owner] == owner)
            ok = tsm_simulation_wait_stream(s, thread, s->busy[i], TSM_BOUND_WAIT);
    return ok;
}

/* ---- values in memory -------------------------------------------------------------------------
 */

/* The value that the part waits for is there since `ns`. */
static bool bring(struct tsm_simulation *s, uint32_t part, uint64_t ns,
                  enum tsm_prediction_bound bound, uint32_t by)
{
    if (bound == TSM_BOUND_VALUE)
        s->out->parts[part].brought_by = by;
    tsm_simulation_bind(&s->out->parts[part], ns, bound, by);
    return --s->parts[part].left || tsm_simulation_push_ready(s, part);
}

static bool can_end(const struct tsm_workload_value *wait, const struct tsm_workload_value *write)
{
    return write->rank >= wait->rank && tsm_value_ends(&wait->access, write->access.value);
}

bool tsm_simulation_has_lost_value(const struct tsm_simulation *s, uint32_t part)
{
    const uint32_t place = s->w->parts[part].value;
    const struct tsm_workload_value *v = place == TSM_WORKLOAD_NONE ? NULL : &s->w->values[place];
    const struct tsm_workload_value *last = NULL;

    if (!v || v->access.kind == SBT_VALUE_WRITE || v->rank == TSM_WORKLOAD_NONE)
        return false;
    if (s->cells[v->cell].written != TSM_WORKLOAD_NONE)
        last = &s->w->values[s->cells[v->cell].written];
    /* A shorter one may leave what the wait is for. */
    return last && last->access.size >= v->access.size &&
           !tsm_value_ends(&v->access, last->access.value);
}

void tsm_simulation_await_again(struct tsm_simulation *s, uint32_t part)
{
    const uint32_t place = s->w->parts[part].value;
    struct tsm_simulated_cell *cell = &s->cells[s->w->values[place].cell];

    s->next_waiting[place] = cell->waiting;
    cell->waiting = place;
    s->parts[part].left++;
}

/* Waits for a part that may not have been sent yet. */
static bool wait_bringer(struct tsm_simulation *s, uint32_t part, uint32_t by)
{
    if (s->w->commands[s->w->parts[by].command].is_dropped)
        return true;
    s->out->parts[part].brought_by = by;
    if (s->out->parts[by].is_done) {
        tsm_simulation_bind(&s->out->parts[part], s->out->parts[by].end_ns, TSM_BOUND_VALUE, by);
        return true;
    }
    if (s->waiting_count >= WAITS_MAX ||
        !TSM_ARRAY_PUSH(s->waitings, s->waiting_count, s->waiting_capacity,
                        (struct tsm_simulated_wait){part, s->parts[by].waiting, TSM_BOUND_VALUE}))
        return false;
    s->parts[by].waiting = (uint32_t)s->waiting_count - 1;
    s->parts[part].left++;
    return true;
}

bool tsm_simulation_wait_value(struct tsm_simulation *s, uint32_t part)
{
    const uint32_t place = s->w->parts[part].value;
    const struct tsm_workload_value *v = place == TSM_WORKLOAD_NONE ? NULL : &s->w->values[place];
    struct tsm_simulated_cell *cell;

    if (!v || v->access.kind == SBT_VALUE_WRITE)
        return true;
    if (v->brought_by != TSM_WORKLOAD_NONE)
        return wait_bringer(s, part, v->brought_by);
    if (v->host_ns) {
        if (v->host_step != TSM_WORKLOAD_NONE && s->out->steps[v->host_step].is_begun &&
            !s->w->steps[v->host_step].is_dropped)
            return true;
        s->host_waiting[s->host_waiting_count++] = place;
        s->parts[part].left++;
        return true;
    }
    if (v->rank == TSM_WORKLOAD_NONE)
        return true;
    cell = &s->cells[v->cell];
    if (cell->written != TSM_WORKLOAD_NONE && can_end(v, &s->w->values[cell->written])) {
        const uint32_t by = s->w->values[cell->written].part;

        s->out->parts[part].brought_by = by;
        tsm_simulation_bind(&s->out->parts[part], s->out->parts[by].end_ns, TSM_BOUND_VALUE, by);
        return true;
    }
    tsm_simulation_await_again(s, part);
    return true;
}

bool tsm_simulation_note_value(struct tsm_simulation *s, uint32_t part)
{
    const uint32_t place = s->w->parts[part].value;
    const struct tsm_workload_value *write =
        place == TSM_WORKLOAD_NONE ? NULL : &s->w->values[place];
    uint32_t *at;
    bool ok = true;

    if (!write || write->access.kind != SBT_VALUE_WRITE)
        return true;
    s->cells[write->cell].written = place;
    at = &s->cells[write->cell].waiting;
    while (*at != TSM_WORKLOAD_NONE && ok) {
        const struct tsm_workload_value *wait = &s->w->values[*at];

        if (!can_end(wait, write)) {
            at = &s->next_waiting[*at];
            continue;
        }
        *at = s->next_waiting[*at];
        ok = bring(s, wait->part, s->out->parts[part].end_ns, TSM_BOUND_VALUE, part);
    }
    return ok;
}

/* Learns which call the program made when it had written the value. */
static void learn_call(struct tsm_simulation *s, uint32_t place, uint32_t step, uint64_t ns)
{
    struct tsm_workload_value *v = &s->learning->values[place];

    v->host_step = step;
    v->host_ago_ns = ns - v->host_ns;
}

/* Tests whether it is this call that the device sees the value with: the one that it was in the
 * recording, or, where nobody makes that, the thread's next one. */
static bool is_seen_with(const struct tsm_simulation *s, const struct tsm_workload_value *v,
                         uint32_t step)
{
    const struct tsm_workload_step *recorded =
        v->host_step == TSM_WORKLOAD_NONE ? NULL : &s->w->steps[v->host_step];

    if (v->host_step == step)
        return true;
    return recorded && recorded->is_dropped &&
           (step == TSM_WORKLOAD_NONE ||
            (s->w->steps[step].thread == recorded->thread && step > v->host_step));
}

bool tsm_simulation_note_call(struct tsm_simulation *s, uint32_t step, uint64_t ns)
{
    bool ok = true;

    for (size_t i = s->host_waiting_count; i-- > 0 && ok;) {
        const uint32_t place = s->host_waiting[i];
        const struct tsm_workload_value *v = &s->w->values[place];

        if (s->learning && v->host_step == TSM_WORKLOAD_NONE && step != TSM_WORKLOAD_NONE &&
            v->host_ns <= ns)
            learn_call(s, place, step, ns);
        if (!is_seen_with(s, v, step))
            continue;
        s->host_waiting[i] = s->host_waiting[--s->host_waiting_count];
        ok = bring(s, v->part, step == TSM_WORKLOAD_NONE ? v->host_ns : ns - v->host_ago_ns,
                   TSM_BOUND_HOST, step);
    }
    if (step == TSM_WORKLOAD_NONE) /* what else waits does so for ever */
        s->host_waiting_count = 0;
    return ok;
}

/* ---- ends -------------------------------------------------------------------------------------
 */

static void note_end(struct tsm_simulated_end *end, uint64_t ns, uint32_t part)
{
    if (ns >= end->ns || end->part == TSM_WORKLOAD_NONE)
        *end = (struct tsm_simulated_end){ns, part};
}

void tsm_simulation_note_sent(struct tsm_simulation *s, uint32_t place)
{
    struct tsm_simulated_stream *stream = &s->streams[place];

    if (stream->left++)
        return;
    stream->busy_place = (uint32_t)s->busy_count;
    s->busy[s->busy_count++] = place;
}

void tsm_simulation_note_done(struct tsm_simulation *s, uint32_t place, uint32_t part)
{
    struct tsm_simulated_stream *stream = &s->streams[place];
    const uint64_t ns = s->out->parts[part].end_ns;

    note_end(&s->end, ns, part);
    note_end(&s->owners[stream->owner].end, ns, part);
    if (stream->end_part == TSM_WORKLOAD_NONE || stream->end_ns <= ns) {
        stream->end_ns = ns;
        stream->end_part = part;
    }
    if (--stream->left)
        return;
    s->busy[stream->busy_place] = s->busy[--s->busy_count];
    s->streams[s->busy[stream->busy_place]].busy_place = stream->busy_place;
}

/* Puts a stream to those of its owner. */
static bool enter_owner(struct tsm_simulation *s, uint32_t place)
{
    const struct tsm_workload_stream *stream = &s->w->streams[place];
    struct tsm_simulated_owner *owner;
    bool added;
    uint64_t *at = tsm_map_insert(&s->owner_places, stream->owner, &added);

    if (!at)
        return false;
    if (!*at) {
        if (!TSM_ARRAY_PUSH(
                s->owners, s->owner_count, s->owner_capacity,
                (struct tsm_simulated_owner){.key = stream->owner, .end = {0, TSM_WORKLOAD_NONE}}))
            return false;
        *at = s->owner_count;
    }
    owner = &s->owners[*at - 1];
    s->streams[place].owner = (uint32_t)(*at - 1);
    return !stream->is_default ||
           TSM_ARRAY_PUSH(owner->defaults, owner->default_count, owner->default_capacity, place);
}

bool tsm_simulation_make_owners(struct tsm_simulation *s)
{
    bool ok = true;

    for (size_t i = 0; i < s->w->stream_count && ok; i++)
        ok = enter_owner(s, (uint32_t)i);
    return ok;
}
