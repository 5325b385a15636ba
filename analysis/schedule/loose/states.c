/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/schedule/loose/states.h"

#include "analysis/schedule/loose/ready.h"
#include "base/array.h"
#include "tracesmith/error.h"

#include <stdlib.h>

#define NONE TSM_WORKLOAD_NONE

struct making {
    struct tsm_states *out;
    const struct tsm_loose *l;
    uint64_t begin_ns, end_ns;
    struct tsm_loose_readiness ready;
    bool failed;
};

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static void add(struct making *m, struct tsm_state_interval i)
{
    i.begin_ns = later(i.begin_ns, m->begin_ns);
    i.end_ns = earlier(i.end_ns, m->end_ns);
    if (i.begin_ns < i.end_ns && !TSM_ARRAY_PUSH(m->out->list, m->out->count, m->out->capacity, i))
        m->failed = true;
}

/* Adds an interval of a stream or device; it goes on where the one before it says the same. */
static void add_to_track(struct making *m, const struct tsm_state_interval *i)
{
    struct tsm_state_interval *last = m->out->count ? &m->out->list[m->out->count - 1] : NULL;

    if (last && last->of == i->of && last->device == i->device && last->place == i->place &&
        last->state == i->state && last->reason == i->reason && last->command == i->command &&
        last->by == i->by && last->step == i->step && last->end_ns == i->begin_ns)
        last->end_ns = i->end_ns;
    else
        add(m, *i);
}

/* ---- what cannot be ---------------------------------------------------------------------------
 */

/* Adds that the command began, or ended its wait, before another one had ended. */
static void find(struct making *m, uint32_t command, uint32_t before, uint64_t late_ns)
{
    const struct tsm_loose_command *c = &m->l->commands[command];
    const uint64_t error_ns = c->error_ns + (before == NONE ? 0 : m->l->commands[before].error_ns);
    const uint64_t at_ns = c->is_mark ? c->end_ns : c->start_ns;

    if (at_ns + error_ns < late_ns &&
        !TSM_ARRAY_PUSH(m->out->findings, m->out->finding_count, m->out->finding_capacity,
                        (struct tsm_state_finding){command, before, late_ns - at_ns - error_ns}))
        m->failed = true;
}

/* Returns the last command of which an edge says that it was over, if its time says when; or NONE.
 */
static uint32_t before_of(const struct making *m, const struct tsm_dependency *e)
{
    const struct tsm_loose *l = m->l;
    uint32_t first, last, before;

    tsm_loose_over_with(l, e, &first, &last);
    if (e->is_part || e->reason == TSM_DEPENDS_BARRIER || first == last)
        return NONE;
    before = e->is_alone ? l->sorted[first] : m->ready.sure_end[last - 1];
    return before != NONE && l->commands[before].has_time && !l->commands[before].is_at_most
               ? before
               : NONE;
}

/* Looks at the edges of which both ends have times. Those to a part of a command, and from one, say
 * nothing here, nor do those of barriers, which may lie behind the time stamp with which a command
 * begins. */
static void check(struct making *m, uint32_t command)
{
    const struct tsm_loose_command *c = &m->l->commands[command];
    const struct tsm_dependency *e, *end;
    uint32_t last = NONE;

    if (!c->has_time || (c->is_mark && c->is_at_most))
        return;
    if (!c->is_found)
        find(m, command, NONE, c->call_ns);
    for (tsm_loose_edges_to(m->l, command, &e, &end); e < end; e++)
        last = tsm_loose_later_end(m->l, last, before_of(m, e));
    if (last != NONE)
        find(m, command, last, m->l->commands[last].end_ns);
}

/* ---- commands ---------------------------------------------------------------------------------
 */

static void add_span(struct making *m, struct tsm_state_interval i, enum tsm_state state,
                     enum tsm_state_reason reason, uint64_t begin_ns, uint64_t end_ns)
{
    i.state = state;
    i.reason = reason;
    i.begin_ns = begin_ns;
    i.end_ns = end_ns;
    add(m, i);
}

/* Adds what came before a command ran, or, without a time, before it had ended. */
static void add_before(struct making *m, struct tsm_state_interval i, uint64_t until_ns)
{
    const struct tsm_loose_command *c = &m->l->commands[i.place];
    const struct tsm_loose_ready *r = &m->ready.list[i.place];
    const uint64_t ready_ns = earlier(later(r->ns, c->call_ns), until_ns),
                   returned_ns = earlier(later(c->returned_ns, ready_ns), until_ns);

    i.by = r->by;
    i.step = r->step;
    add_span(m, i, TSM_STATE_WAIT, r->reason, c->call_ns, ready_ns);
    i.step = NONE;
    i.by = r->unsure;
    if (!c->has_time || r->unsure != NONE) {
        if (c->has_failed && !c->has_time)
            add_span(m, i, TSM_STATE_FAILED, TSM_REASON_NONE, ready_ns, until_ns);
        else
            add_span(m, i, TSM_STATE_SENT, TSM_REASON_UNTIMED, ready_ns, until_ns);
        return;
    }
    add_span(m, i, TSM_STATE_PENDING, TSM_REASON_LATENCY, ready_ns, returned_ns);
    add_span(m, i, TSM_STATE_PENDING, TSM_REASON_DEVICE, returned_ns, until_ns);
}

static void add_unfinished(struct making *m, struct tsm_state_interval i)
{
    const struct tsm_command_outcome *o = &m->l->commands[i.place].outcome;

    i.state = tsm_state_of_outcome(o);
    i.reason = tsm_state_reason_of(o);
    i.by = o->by;
    i.begin_ns = later(earlier(m->l->commands[i.place].call_ns, m->end_ns), m->begin_ns);
    i.end_ns = m->end_ns;
    if (!TSM_ARRAY_PUSH(m->out->list, m->out->count, m->out->capacity, i))
        m->failed = true;
}

static void add_command(struct making *m, uint32_t command)
{
    const struct tsm_loose_command *c = &m->l->commands[command];
    const struct tsm_state_interval i = {.of = TSM_STATE_OF_COMMAND,
                                         .device = c->device,
                                         .place = command,
                                         .command = command,
                                         .by = NONE,
                                         .step = NONE};
    uint64_t start_ns = c->start_ns;

    if (c->outcome.outcome != TSM_OUTCOME_FINISHED) {
        add_unfinished(m, i);
        return;
    }
    if (!c->has_time) {
        const struct tsm_loose_ready *r = &m->ready.list[command];
        const uint64_t over_ns = later(c->over_ns, c->call_ns);

        /* A mark has ended when its wait is over, if it is known when that was. */
        add_before(m, i,
                   c->is_mark && r->ns && r->unsure == NONE
                       ? earlier(later(r->ns, c->call_ns), over_ns)
                       : over_ns);
        return;
    }
    check(m, command);
    if (c->is_mark) /* it is in its wait until that is over */
        start_ns = later(start_ns, earlier(m->ready.list[command].ns, c->end_ns));
    add_before(m, i, start_ns);
    add_span(m, i, c->has_failed ? TSM_STATE_FAILED : TSM_STATE_RUNNING, TSM_REASON_NONE, start_ns,
             c->end_ns);
}

/* ---- streams and devices ----------------------------------------------------------------------
 */

/* A heap of intervals of commands: none comes before that at (i - 1) / 2. */
struct heap {
    const struct tsm_state_interval **list;
    size_t count;
};

/* Puts states that are known before others. */
static int rank_of(const struct tsm_state_interval *i)
{
    static const int ranks[] = {
        [TSM_STATE_RUNNING] = 0,        [TSM_STATE_WAIT] = 1,       [TSM_STATE_PENDING] = 1,
        [TSM_STATE_SENT] = 2,           [TSM_STATE_UNFINISHED] = 3, [TSM_STATE_FAILED] = 3,
        [TSM_STATE_MAY_HAVE_FAILED] = 3};

    return ranks[i->state];
}

static bool comes_before(const struct tsm_state_interval *a, const struct tsm_state_interval *b)
{
    const int x = rank_of(a), y = rank_of(b);

    return x != y ? x < y : a->command < b->command;
}

static void push(struct heap *h, const struct tsm_state_interval *i)
{
    size_t at = h->count++;

    for (; at && comes_before(i, h->list[(at - 1) / 2]); at = (at - 1) / 2)
        h->list[at] = h->list[(at - 1) / 2];
    h->list[at] = i;
}

static void pop(struct heap *h)
{
    const struct tsm_state_interval *moved = h->list[--h->count];
    size_t at = 0, below;

    for (; (below = 2 * at + 1) < h->count; at = below) {
        below += below + 1 < h->count && comes_before(h->list[below + 1], h->list[below]);
        if (!comes_before(h->list[below], moved))
            break;
        h->list[at] = h->list[below];
    }
    h->list[at] = moved;
}

/* Adds the intervals of one stream, or device, which are those of its commands, in the order in
 * which they begin. `i` says of which. */
static void add_track(struct making *m, const struct tsm_state_interval **list, size_t count,
                      struct heap *h, struct tsm_state_interval i)
{
    const enum tsm_state_of of = i.of;
    const uint32_t device = i.device, place = i.place;
    uint64_t at_ns = m->begin_ns;
    size_t next = 0;

    h->count = 0;
    while (at_ns < m->end_ns) {
        uint64_t until_ns;

        for (; next < count && list[next]->begin_ns <= at_ns; next++)
            push(h, list[next]);
        while (h->count && h->list[0]->end_ns <= at_ns)
            pop(h);
        until_ns = next < count ? list[next]->begin_ns : m->end_ns;
        if (h->count) {
            i = *h->list[0];
            until_ns = earlier(until_ns, i.end_ns);
        } else
            i = (struct tsm_state_interval){.state = TSM_STATE_IDLE,
                                            .reason = TSM_REASON_HOST,
                                            .command = NONE,
                                            .by = NONE,
                                            .step = next < count ? list[next]->command : NONE};
        i.of = of;
        i.device = device;
        i.place = place;
        i.begin_ns = at_ns;
        i.end_ns = until_ns;
        add_to_track(m, &i);
        at_ns = until_ns;
    }
}

static int by_track(const struct tsm_state_interval *x, const struct tsm_state_interval *y,
                    uint32_t a, uint32_t b)
{
    if (a != b)
        return a < b ? -1 : 1;
    if (x->begin_ns != y->begin_ns)
        return x->begin_ns < y->begin_ns ? -1 : 1;
    return x->command < y->command ? -1 : x->command > y->command;
}

static int compare_streams(const void *a, const void *b)
{
    const struct tsm_state_interval *x = *(const struct tsm_state_interval *const *)a,
                                    *y = *(const struct tsm_state_interval *const *)b;

    return by_track(x, y, x->place, y->place);
}

static int compare_devices(const void *a, const void *b)
{
    const struct tsm_state_interval *x = *(const struct tsm_state_interval *const *)a,
                                    *y = *(const struct tsm_state_interval *const *)b;

    return by_track(x, y, x->device, y->device);
}

/* Adds the tracks of all streams, or of all devices. `list`: intervals of commands, whose place is
 * their stream. */
static void add_tracks(struct making *m, const struct tsm_state_interval **list, size_t count,
                       struct heap *h, enum tsm_state_of of)
{
    qsort(list, count, sizeof(*list),
          of == TSM_STATE_OF_STREAM ? compare_streams : compare_devices);
    for (size_t first = 0, last; first < count; first = last) {
        const struct tsm_state_interval *one = list[first];

        for (last = first + 1; last < count; last++)
            if (of == TSM_STATE_OF_STREAM ? list[last]->place != one->place
                                          : list[last]->device != one->device)
                break;
        add_track(m, list + first, last - first, h,
                  (struct tsm_state_interval){.of = of,
                                              .device = one->device,
                                              .place = of == TSM_STATE_OF_STREAM ? one->place : 0});
    }
}

static void add_all_tracks(struct making *m)
{
    const size_t all = m->out->count;
    size_t count = 0;
    struct tsm_state_interval *copies = malloc((all + 1) * sizeof(*copies));
    const struct tsm_state_interval **list = malloc((all + 1) * sizeof(*list));
    struct heap h = {.list = malloc((all + 1) * sizeof(*h.list))};

    m->failed |= !copies || !list || !h.list;
    for (size_t i = 0; i < all && !m->failed; i++) {
        const struct tsm_loose_command *c = &m->l->commands[m->out->list[i].place];

        if (c->is_present)
            continue;
        copies[count] = m->out->list[i];
        copies[count].place = c->stream;
        list[count] = &copies[count];
        count++;
    }
    if (!m->failed)
        add_tracks(m, list, count, &h, TSM_STATE_OF_STREAM);
    if (!m->failed)
        add_tracks(m, list, count, &h, TSM_STATE_OF_DEVICE);
    free(copies);
    free(list);
    free(h.list);
}

/* ---- all --------------------------------------------------------------------------------------
 */

int tsm_loose_states_make(struct tsm_states *out, const struct tsm_loose *l, uint64_t begin_ns,
                          uint64_t end_ns)
{
    struct making m = {.out = out, .l = l, .begin_ns = begin_ns, .end_ns = end_ns};
    int error = tsm_loose_readiness_make(&m.ready, l);

    *out = (struct tsm_states){0};
    for (uint32_t i = 0; i < l->command_count && !error; i++)
        add_command(&m, i);
    if (!error)
        add_all_tracks(&m);
    tsm_loose_readiness_finish(&m.ready);
    return m.failed ? tsm_fail(TSM_E_MEMORY, "no memory for states") : error;
}
