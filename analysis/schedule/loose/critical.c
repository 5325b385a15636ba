/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/schedule/loose/critical.h"

#include "base/array.h"
#include "tracesmith/error.h"

#include <stdlib.h>

#define NONE      TSM_WORKLOAD_NONE
#define STUCK_MAX 1024u /* steps back that gain no time, where times contradict each other */

static int no_memory(void)
{
    return tsm_fail(TSM_E_MEMORY, "no memory for the critical path");
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* ---- schedules --------------------------------------------------------------------------------
 */

/* Tests whether it is known when the command's own work ran. */
static bool has_run(const struct tsm_loose_command *c)
{
    return c->has_time && !c->is_mark && !c->is_present;
}

static bool find_before(struct tsm_loose_schedule *s)
{
    const struct tsm_loose *l = s->l;
    uint32_t before = NONE;

    s->before = malloc((l->command_count + 1) * sizeof(*s->before));
    for (uint32_t i = 0; i < l->command_count && s->before; i++) {
        const uint32_t command = l->sorted[i];

        if (i == l->streams[l->commands[command].stream].first)
            before = NONE;
        s->before[command] = before;
        if (has_run(&l->commands[command]))
            before = command;
    }
    return s->before != NULL;
}

static void find_range(struct tsm_loose_schedule *s)
{
    const struct tsm_loose *l = s->l;

    s->last_command = s->last_call = NONE;
    s->begin_ns = UINT64_MAX;
    for (uint32_t i = 0; i < l->command_count; i++) {
        const struct tsm_loose_command *c = &l->commands[i];

        s->begin_ns = earlier(s->begin_ns, c->has_time ? c->start_ns : c->call_ns);
        if (c->has_time && c->end_ns > s->end_ns) {
            s->end_ns = c->end_ns;
            s->last_command = i;
        }
    }
    for (uint32_t i = 0; i < s->calls.count; i++) {
        const struct tsm_loose_host_call *c = &s->calls.list[i];

        s->begin_ns = earlier(s->begin_ns, c->begin_ns);
        if (c->end_ns >= s->end_ns) {
            s->end_ns = c->end_ns;
            s->last_call = i;
            s->last_command = NONE;
        }
    }
    s->begin_ns = earlier(s->begin_ns, s->end_ns);
}

int tsm_loose_schedule_make(struct tsm_loose_schedule *out, const struct tsm_loose *l,
                            struct sbt_reader *reader)
{
    int error;

    *out = (struct tsm_loose_schedule){.l = l};
    error = tsm_loose_host_calls_make(&out->calls, l, reader);
    if (!error)
        error = tsm_loose_readiness_make(&out->ready, l);
    if (!error && !find_before(out))
        error = no_memory();
    if (!error)
        find_range(out);
    return error;
}

void tsm_loose_schedule_finish(struct tsm_loose_schedule *s)
{
    tsm_loose_host_calls_finish(&s->calls);
    tsm_loose_readiness_finish(&s->ready);
    free(s->before);
    *s = (struct tsm_loose_schedule){0};
}

/* ---- walking back -----------------------------------------------------------------------------
 */

struct walk {
    const struct tsm_loose_schedule *s;
    struct tsm_loose_path *path;
    uint64_t until_ns; /* the walk ends here */
    uint64_t at_ns;    /* all that is later is in the path */
    bool failed;
};

/* A command, or a call of the host, that comes next on the way back. */
struct from {
    uint32_t command, call; /* both NONE: there is nothing before */
    bool is_holder;         /* the command had the queue */
    bool has_sent;          /* the way back comes from the command that the call sent */
};

static void push(struct walk *walk, struct tsm_loose_piece piece)
{
    if (piece.begin_ns < piece.end_ns &&
        !TSM_ARRAY_PUSH(walk->path->pieces, walk->path->count, walk->path->capacity, piece))
        walk->failed = true;
}

/* Adds the piece from `begin_ns` to where the walk is. */
static void add(struct walk *walk, enum tsm_cause cause, uint64_t begin_ns, uint32_t command,
                uint32_t call)
{
    begin_ns = earlier(later(begin_ns, walk->until_ns), walk->at_ns);
    push(walk, (struct tsm_loose_piece){cause, begin_ns, walk->at_ns, command, call});
    walk->at_ns = begin_ns;
}

static uint32_t call_of_step(const struct tsm_loose_schedule *s, uint32_t step)
{
    return step == NONE ? NONE
                        : tsm_loose_host_calls_find(&s->calls, tsm_loose_step_seq(s->l, step));
}

/* Returns the command that had the queue when this one could have run; or NONE. */
static uint32_t holder_of(const struct tsm_loose_schedule *s, uint32_t command, uint64_t since_ns)
{
    const struct tsm_loose_command *c = &s->l->commands[command];
    const uint32_t before = s->before[command];
    const uint64_t end_ns = before == NONE ? 0 : s->l->commands[before].end_ns;

    return has_run(c) && end_ns > since_ns && end_ns <= c->start_ns ? before : NONE;
}

/* Adds what a command did, and what it waited for, up to where the walk is. Returns what comes
 * before it. */
static struct from pass_command(struct walk *walk, struct from at)
{
    const struct tsm_loose_command *c = &walk->s->l->commands[at.command];
    const struct tsm_loose_ready *r = &walk->s->ready.list[at.command];
    const uint32_t set_by = call_of_step(walk->s, r->from_step);
    const bool has_waited = r->ns > c->call_ns && (r->from != NONE || set_by != NONE);
    const uint64_t ready_ns = has_waited ? r->ns : later(c->returned_ns, c->call_ns);
    const uint32_t holder = holder_of(walk->s, at.command, ready_ns);
    const enum tsm_cause cause = r->unsure == NONE ? TSM_CAUSE_LATENCY : TSM_CAUSE_UNTIMED;
    const uint32_t waiter = r->unsure == NONE ? at.command : r->unsure;

    if (has_run(c)) {
        add(walk, TSM_CAUSE_LATENCY, c->end_ns, at.command, NONE);
        add(walk, at.is_holder ? TSM_CAUSE_QUEUE : TSM_CAUSE_WORK, c->start_ns, at.command, NONE);
    }
    if (holder != NONE) {
        add(walk, TSM_CAUSE_TURNAROUND, walk->s->l->commands[holder].end_ns, at.command, NONE);
        return (struct from){.command = holder, .call = NONE, .is_holder = true};
    }
    if (has_waited && r->from != NONE) {
        add(walk, cause, r->ns, waiter, NONE);
        return (struct from){.command = r->from, .call = NONE};
    }
    if (has_waited) {
        add(walk, cause, walk->s->calls.list[set_by].end_ns, waiter, NONE);
        return (struct from){.command = NONE, .call = set_by};
    }
    add(walk, cause, ready_ns, waiter, NONE);
    return (struct from){.command = NONE,
                         .call = tsm_loose_host_calls_find(&walk->s->calls, c->seq),
                         .has_sent = true};
}

static struct tsm_loose_ready ready_of_call(const struct tsm_loose_schedule *s, uint32_t call)
{
    const struct tsm_loose_host_call *c = &s->calls.list[call];

    return tsm_loose_ready_of_call(&s->ready, c->seq, c->begin_ns);
}

static bool has_learnt(const struct tsm_loose_ready *r)
{
    return r->from != NONE || r->from_step != NONE || r->unsure != NONE;
}

/* Returns the begin of a call, or of the first of those like it before it that learnt nothing: the
 * program asked until the answer came. */
static uint64_t asking_since(const struct tsm_loose_schedule *s, uint32_t call)
{
    const struct sbt_schema *schema = s->calls.list[call].schema;

    for (;;) {
        const uint32_t before = tsm_loose_host_call_before(&s->calls, call);
        struct tsm_loose_ready r;

        if (before == NONE || s->calls.list[before].schema != schema)
            return s->calls.list[call].begin_ns;
        r = ready_of_call(s, before);
        if (has_learnt(&r))
            return s->calls.list[call].begin_ns;
        call = before;
    }
}

/* Returns the command that a call sent and waited for, if it is known when that ran; or NONE. */
static uint32_t own_command(const struct tsm_loose_schedule *s, uint32_t call)
{
    const struct tsm_loose_host_call *c = &s->calls.list[call];
    const uint32_t command =
        c->is_wait && c->is_command ? tsm_loose_find_command(s->l, c->seq) : NONE;

    return command != NONE && has_run(&s->l->commands[command]) &&
                   s->l->commands[command].end_ns > c->begin_ns
               ? command
               : NONE;
}

/* Returns what a call waited for; nothing, if that is not known, or was over before. */
static struct from waited_for(const struct tsm_loose_schedule *s, uint32_t call, uint64_t *until_ns)
{
    const struct tsm_loose_ready r = ready_of_call(s, call);
    const uint32_t set_by = call_of_step(s, r.from_step);
    struct from from = {.command = own_command(s, call), .call = NONE};

    if (from.command != NONE) {
        *until_ns = s->l->commands[from.command].end_ns;
        return from;
    }
    if (r.unsure != NONE || !has_learnt(&r) || r.ns <= asking_since(s, call))
        return from;
    if (r.from != NONE) {
        *until_ns = r.ns;
        from.command = r.from;
    } else if (set_by != NONE && set_by != call) {
        *until_ns = s->calls.list[set_by].end_ns;
        from.call = set_by;
    }
    return from;
}

/* Returns the call that comes before this one: the last one of its thread; or of another one, which
 * made its last call since then, so that this one may have waited for its end, or which returned
 * before this thread made its first. */
static uint32_t call_before(const struct tsm_loose_schedule *s, uint32_t call, uint64_t at_ns)
{
    const struct tsm_loose_host_calls *calls = &s->calls;
    const uint32_t before = tsm_loose_host_call_before(calls, call),
                   thread = calls->list[call].thread;
    uint32_t ended;

    if (before == NONE)
        return tsm_loose_host_call_returned(calls, thread, false, 0, at_ns);
    ended = tsm_loose_host_call_returned(calls, thread, true, calls->list[before].end_ns, at_ns);
    return ended == NONE ? before : ended;
}

/* The same for a call. */
static struct from pass_call(struct walk *walk, struct from at)
{
    const struct tsm_loose_host_calls *calls = &walk->s->calls;
    const uint32_t call = tsm_loose_host_call_at(calls, at.call, walk->at_ns);
    struct from from = {.command = NONE, .call = NONE};
    uint64_t until_ns = 0;

    if (call == NONE) {
        from.call =
            tsm_loose_host_call_returned(calls, calls->list[at.call].thread, false, 0, walk->at_ns);
        add(walk, TSM_CAUSE_HOST, from.call == NONE ? 0 : calls->list[from.call].end_ns, NONE,
            at.call);
        return from;
    }
    add(walk, TSM_CAUSE_HOST, calls->list[call].end_ns, NONE, at.call);
    if (!at.has_sent)
        from = waited_for(walk->s, call, &until_ns);
    if (from.command != NONE || from.call != NONE) {
        add(walk, TSM_CAUSE_WAIT, until_ns, NONE, call);
        return from;
    }
    add(walk, calls->list[call].is_wait ? TSM_CAUSE_WAIT : TSM_CAUSE_CALL,
        calls->list[call].begin_ns, NONE, call);
    from.call = call_before(walk->s, call, walk->at_ns);
    add(walk, TSM_CAUSE_HOST, from.call == NONE ? 0 : calls->list[from.call].end_ns, NONE, call);
    return from;
}

/* Walks back until all is covered. Where nothing is known to come before, the rest is the host's.
 */
static void walk_back(struct walk *walk, struct from from)
{
    size_t left = STUCK_MAX;
    uint32_t call = NONE;

    while ((from.command != NONE || from.call != NONE) && walk->at_ns > walk->until_ns && left-- &&
           !walk->failed) {
        const uint64_t at_ns = walk->at_ns;

        call = from.call == NONE ? call : from.call;
        from = from.call == NONE ? pass_command(walk, from) : pass_call(walk, from);
        left = walk->at_ns < at_ns ? STUCK_MAX : left;
    }
    if (call == NONE && walk->s->calls.count)
        call = 0;
    if (call != NONE)
        add(walk, TSM_CAUSE_HOST, 0, NONE, call);
}

int tsm_loose_path_find(struct tsm_loose_path *out, const struct tsm_loose_schedule *s)
{
    struct walk walk = {.s = s, .path = out, .until_ns = s->begin_ns, .at_ns = s->end_ns};

    *out = (struct tsm_loose_path){0};
    walk_back(&walk, (struct from){.command = s->last_command, .call = s->last_call});
    return walk.failed ? no_memory() : 0;
}

void tsm_loose_path_finish(struct tsm_loose_path *path)
{
    free(path->pieces);
    *path = (struct tsm_loose_path){0};
}

/* ---- idle devices -----------------------------------------------------------------------------
 */

/* The time in which a command ran, or may have run. */
struct busy {
    uint64_t begin_ns, end_ns;
    uint32_t command;
    bool is_sure;
};

static int by_begin(const void *a, const void *b)
{
    const struct busy *x = a, *y = b;

    if (x->begin_ns != y->begin_ns)
        return x->begin_ns < y->begin_ns ? -1 : 1;
    return x->command < y->command ? -1 : x->command > y->command;
}

static struct busy busy_of(const struct tsm_loose_schedule *s, uint32_t command)
{
    const struct tsm_loose_command *c = &s->l->commands[command];
    struct busy b = {c->start_ns, c->end_ns, command, true};

    if (has_run(c))
        return b;
    b.is_sure = false;
    b.begin_ns = later(s->ready.list[command].ns, c->call_ns);
    b.end_ns =
        c->outcome.outcome == TSM_OUTCOME_FINISHED ? earlier(c->over_ns, s->end_ns) : s->end_ns;
    return b;
}

static struct busy *list_busy(size_t *count, const struct tsm_loose_schedule *s, uint32_t device)
{
    const struct tsm_loose *l = s->l;
    struct busy *list = malloc((l->command_count + 1) * sizeof(*list));

    *count = 0;
    for (uint32_t i = 0; list && i < l->command_count; i++) {
        const struct tsm_loose_command *c = &l->commands[i];
        const bool has_finished = c->outcome.outcome == TSM_OUTCOME_FINISHED;
        struct busy b = busy_of(s, i);

        b.begin_ns = later(b.begin_ns, s->begin_ns);
        if (c->device == device && (!c->is_mark || !has_finished) && !c->is_present &&
            b.begin_ns < b.end_ns)
            list[(*count)++] = b;
    }
    if (list)
        qsort(list, *count, sizeof(*list), by_begin);
    return list;
}

/* Adds the time of a command that may have run, from `at_ns` on, in which no other one of the list
 * did; *next is the first of these that may end later. */
static void add_unsure(struct walk *walk, const struct busy *list, size_t count, size_t *next,
                       const struct busy *b, uint64_t at_ns)
{
    const enum tsm_cause cause =
        walk->s->l->commands[b->command].outcome.outcome == TSM_OUTCOME_FINISHED
            ? TSM_CAUSE_UNTIMED
            : TSM_CAUSE_UNFINISHED;

    while (at_ns < b->end_ns) {
        while (*next < count && (!list[*next].is_sure || list[*next].end_ns <= at_ns))
            (*next)++;
        const uint64_t begin_ns = *next < count ? list[*next].begin_ns : UINT64_MAX;

        push(walk, (struct tsm_loose_piece){cause, at_ns, earlier(b->end_ns, begin_ns), b->command,
                                            NONE});
        at_ns = begin_ns < b->end_ns ? list[*next].end_ns : b->end_ns;
    }
}

static void find_idle(struct walk *walk, const struct busy *list, size_t count)
{
    const struct tsm_loose_schedule *s = walk->s;
    uint64_t busy_ns = s->begin_ns;
    size_t next = 0;

    for (size_t i = 0; i < count; i++) {
        if (list[i].begin_ns > busy_ns) {
            walk->until_ns = busy_ns;
            walk->at_ns = list[i].begin_ns;
            walk_back(walk, (struct from){.command = list[i].command, .call = NONE});
            busy_ns = list[i].begin_ns;
        }
        if (!list[i].is_sure)
            add_unsure(walk, list, count, &next, &list[i], busy_ns);
        busy_ns = later(busy_ns, list[i].end_ns);
    }
    walk->until_ns = busy_ns;
    walk->at_ns = s->end_ns;
    if (walk->at_ns > busy_ns)
        walk_back(walk, (struct from){.command = s->last_command, .call = s->last_call});
}

int tsm_loose_idle(struct tsm_loose_path *out, const struct tsm_loose_schedule *s, uint32_t device)
{
    struct walk walk = {.s = s, .path = out};
    size_t count;
    struct busy *list = list_busy(&count, s, device);

    *out = (struct tsm_loose_path){0};
    if (!list)
        return no_memory();
    find_idle(&walk, list, count);
    free(list);
    return walk.failed ? no_memory() : 0;
}

/* ---- waits ------------------------------------------------------------------------------------
 */

static bool add_wait(struct tsm_loose_wait_costs *out, struct tsm_loose_wait_cost cost)
{
    return !cost.waited_ns || TSM_ARRAY_PUSH(out->list, out->count, out->capacity, cost);
}

/* Adds a wait of the host: until what it waited for had ended, or all of the call where that is not
 * known. */
static bool add_host_wait(struct tsm_loose_wait_costs *out, const struct tsm_loose_schedule *s,
                          uint32_t call)
{
    const struct tsm_loose_host_call *c = &s->calls.list[call];
    const struct tsm_loose_ready r = ready_of_call(s, call);
    const bool is_known = r.unsure == NONE && r.ns;

    if (!c->is_wait && !has_learnt(&r))
        return true;
    if (!c->is_wait && !is_known)
        return true;
    return add_wait(out, (struct tsm_loose_wait_cost){
                             .seq = c->seq,
                             .waited_ns = (is_known ? earlier(later(r.ns, c->begin_ns), c->end_ns)
                                                    : c->end_ns) -
                                          c->begin_ns,
                             .command = NONE,
                             .call = call,
                             .by = is_known ? r.from : NONE,
                             .by_step = is_known ? r.from_step : NONE,
                             .has_object = r.has_object,
                             .is_redundant = r.is_redundant});
}

/* Adds the wait of a command, if it waited longer than the one before it on its queue. */
static bool add_command_wait(struct tsm_loose_wait_costs *out, const struct tsm_loose_schedule *s,
                             uint32_t command)
{
    const struct tsm_loose_command *c = &s->l->commands[command];
    const struct tsm_loose_ready *r = &s->ready.list[command];
    const uint64_t since_ns = later(c->call_ns, r->before_ns),
                   until_ns = !c->has_time ? earlier(r->ns, later(c->over_ns, c->call_ns))
                                           : earlier(r->ns, c->is_mark ? c->end_ns : c->start_ns);

    if (until_ns <= since_ns || r->ns <= r->before_ns || r->unsure != NONE ||
        c->outcome.outcome != TSM_OUTCOME_FINISHED)
        return true;
    return add_wait(out, (struct tsm_loose_wait_cost){.seq = c->seq,
                                                      .waited_ns = until_ns - since_ns,
                                                      .command = command,
                                                      .call = NONE,
                                                      .by = r->by,
                                                      .by_step = r->step,
                                                      .has_object = r->reason == TSM_REASON_SIGNAL,
                                                      .is_redundant = r->is_redundant});
}

static int by_waited(const void *a, const void *b)
{
    const struct tsm_loose_wait_cost *x = a, *y = b;

    if (x->waited_ns != y->waited_ns)
        return x->waited_ns > y->waited_ns ? -1 : 1;
    return x->seq < y->seq ? -1 : x->seq > y->seq;
}

int tsm_loose_wait_costs_find(struct tsm_loose_wait_costs *out, const struct tsm_loose_schedule *s)
{
    bool has_room = true;

    *out = (struct tsm_loose_wait_costs){0};
    for (uint32_t i = 0; i < s->calls.count && has_room; i++)
        has_room = add_host_wait(out, s, i);
    for (uint32_t i = 0; i < s->l->command_count && has_room; i++)
        has_room = add_command_wait(out, s, i);
    if (out->count)
        qsort(out->list, out->count, sizeof(*out->list), by_waited);
    return has_room ? 0 : tsm_fail(TSM_E_MEMORY, "no memory for waits");
}

void tsm_loose_wait_costs_finish(struct tsm_loose_wait_costs *costs)
{
    free(costs->list);
    *costs = (struct tsm_loose_wait_costs){0};
}
