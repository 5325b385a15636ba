/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/model/objects.h"

#include "base/array.h"
#include "tracesmith/error.h"

#include <stdlib.h>

#define LINKS_LEFT  16u /* that an object whose value is not known may keep */
#define WAITERS_MAX 16u /* commands that wait for one object's values to come */
#define ALL_PARTS   UINT32_MAX

/* A command that waits for a value which nothing that was sent so far brings. */
struct waiter {
    uint64_t value, seq;
    uint64_t unseen; /* unseen_count when it began */
    bool is_exact;   /* for this one alone */
    bool is_part;    /* a part of the command does not wait */
};

/* An object that commands and the host change, and both look at. */
struct tsm_object {
    struct tsm_object_link *links; /* a heap: none has a smaller value than that at (i - 1) / 2 */
    size_t count, capacity;
    struct waiter *waiters;
    size_t waiter_count, waiter_capacity;
    uint64_t rest;   /* its value when all that lower it have ended; modulo 2^64 */
    uint64_t raised; /* of a counter: the value that the host brought it to, or that links had which
                        are gone since the host has learnt of them */
    uint64_t unseen; /* unseen_count when `rest` was known */
    bool is_known;   /* `rest` is */
    bool is_foreign; /* nothing that it holds says anything */
    bool is_binary;
};

/* One call. */
struct noting {
    struct tsm_objects *all;
    const struct tsm_call_node *call;
    const struct tsm_object_visitor *visitor;
};

static int no_memory(void)
{
    return tsm_fail(TSM_E_MEMORY, "no memory for objects that are waited for");
}

static struct tsm_object *object_of(struct tsm_objects *all, uint64_t key)
{
    bool added;
    uint64_t *place = tsm_map_insert(&all->places, key, &added);

    if (!place)
        return NULL;
    if (added || !*place) {
        if (!TSM_ARRAY_PUSH(all->list, all->count, all->capacity, (struct tsm_object){0}))
            return NULL;
        *place = all->count;
    }
    return &all->list[*place - 1];
}

/* ---- links ------------------------------------------------------------------------------------
 */

/* Moves a link up to where none above it has a larger value. */
static void sift_up(struct tsm_object *o, size_t at)
{
    const struct tsm_object_link moved = o->links[at];

    for (; at && o->links[(at - 1) / 2].value > moved.value; at = (at - 1) / 2)
        o->links[at] = o->links[(at - 1) / 2];
    o->links[at] = moved;
}

static void drop(const struct noting *n, const struct tsm_object_link *link)
{
    if (n->visitor->dropped)
        n->visitor->dropped(n->visitor->user, link);
}

/* Puts a link where another one was, or below, to where none below it has a smaller value. */
static void sift_down(struct tsm_object *o, size_t at, struct tsm_object_link moved)
{
    size_t below;

    for (; (below = 2 * at + 1) < o->count; at = below) {
        below += below + 1 < o->count && o->links[below + 1].value < o->links[below].value;
        if (o->links[below].value >= moved.value)
            break;
        o->links[at] = o->links[below];
    }
    o->links[at] = moved;
}

/* Removes the link with the smallest value. */
static void remove_first(const struct noting *n, struct tsm_object *o)
{
    drop(n, &o->links[0]);
    o->count--;
    sift_down(o, 0, o->links[o->count]);
}

/* Returns the place of a link before this one on its stream, that says nothing more when this one
 * is there; the count of all: there is none. */
static size_t find_before(const struct tsm_object *o, const struct tsm_object_link *link)
{
    size_t at = 0;

    while (at < o->count && (o->links[at].stream != link->stream || link->is_alone ||
                             o->links[at].is_alone || o->links[at].position >= link->position))
        at++;
    return at;
}

static void drop_links(const struct noting *n, struct tsm_object *o)
{
    for (size_t i = 0; i < o->count; i++)
        drop(n, &o->links[i]);
    free(o->links);
    free(o->waiters);
    o->links = NULL;
    o->waiters = NULL;
    o->count = o->capacity = o->waiter_count = o->waiter_capacity = 0;
}

/* Makes room for one more. Returns false if the object keeps nothing more: what lowers a value
 * counts, each of it. */
static bool has_room(const struct noting *n, struct tsm_object *o, const struct tsm_wait_step *step)
{
    if (o->count < n->all->links_max)
        return true;
    if (step->kind == TSM_WAIT_ENDS && step->value > o->links[0].value) {
        remove_first(n, o);
        return true;
    }
    o->is_foreign |= step->kind == TSM_WAIT_LOWERS;
    return false;
}

/* Returns the highest value that the link's command waits for itself before it signals, and which
 * is not known to come: others bring the object there. */
static uint64_t own_wait(const struct tsm_object *o, const struct tsm_object_link *link)
{
    const bool is_part = link->is_early || link->parts != UINT32_MAX;
    uint64_t value = 0;

    for (size_t i = 0; i < o->waiter_count; i++)
        if (o->waiters[i].seq == link->seq && !o->waiters[i].is_exact &&
            !(is_part && o->waiters[i].is_part) && o->waiters[i].value > value)
            value = o->waiters[i].value;
    return value;
}

/* Tells those that wait for this value that it comes. */
static int tell_waiters(const struct noting *n, struct tsm_object *o,
                        const struct tsm_object_link *link, uint64_t object)
{
    const uint64_t own = own_wait(o, link);
    size_t left = 0;
    int error = 0;

    for (size_t i = 0; i < o->waiter_count; i++)
        if (o->waiters[i].is_exact || link->value < o->waiters[i].value ||
            o->waiters[i].value <= own)
            o->waiters[left++] = o->waiters[i];
        else if (!error && n->visitor->awaited)
            error = n->visitor->awaited(n->visitor->user, link, object, o->waiters[i].seq,
                                        o->waiters[i].is_part);
    o->waiter_count = left;
    return error;
}

static bool is_value_known(const struct noting *n, const struct tsm_object *o)
{
    return o->is_known && o->unseen == n->all->unseen_count;
}

/* Tells those that wait for the value to which all that lower the object bring it now. */
static int note_lowered(const struct noting *n, struct tsm_object *o, uint64_t object)
{
    size_t left = 0;
    int error = 0;

    o->rest--;
    for (size_t i = 0; i < o->waiter_count; i++) {
        const struct waiter w = o->waiters[i];

        if (!w.is_exact || w.value != o->rest)
            o->waiters[left++] = w;
        else if (is_value_known(n, o) && w.unseen == n->all->unseen_count && n->visitor->awaited)
            for (size_t k = 0; k < o->count && !error; k++)
                error =
                    n->visitor->awaited(n->visitor->user, &o->links[k], object, w.seq, w.is_part);
    }
    o->waiter_count = left;
    return error;
}

/* Forgets who waits for one value: it may have come, unseen. */
static void forget_exact(struct tsm_object *o)
{
    size_t left = 0;

    for (size_t i = 0; i < o->waiter_count; i++)
        if (!o->waiters[i].is_exact)
            o->waiters[left++] = o->waiters[i];
    o->waiter_count = left;
}

static int add_link(const struct noting *n, struct tsm_object *o, const struct tsm_wait_step *step)
{
    const struct sbt_record *record = n->call->record;
    struct tsm_object_link link = {.value = step->kind == TSM_WAIT_ENDS ? step->value : 0,
                                   .seq = record->seq,
                                   .position = record->position,
                                   .stream = record->stream,
                                   .parts = step->parts ? step->parts : ALL_PARTS,
                                   .is_alone = step->is_alone,
                                   .is_early = step->is_early};
    size_t before;
    bool is_again;
    int error = 0;

    if (!n->call->is_command || o->is_foreign)
        return 0;
    if (o->is_binary && o->count)
        drop_links(n, o);
    before = step->is_latest ? find_before(o, &link) : o->count;
    is_again = before < o->count;
    if (!is_again && !has_room(n, o, step))
        return 0;
    if (n->visitor->made)
        error = n->visitor->made(n->visitor->user, &link);
    if (!error)
        error = tell_waiters(n, o, &link, step->object);
    if (error)
        return error;
    if (is_again) {
        drop(n, &o->links[before]);
        sift_down(o, before, link);
        return 0;
    }
    if (!TSM_ARRAY_PUSH(o->links, o->count, o->capacity, link)) {
        drop(n, &link);
        return no_memory();
    }
    sift_up(o, o->count - 1);
    return step->kind == TSM_WAIT_LOWERS ? note_lowered(n, o, step->object) : 0;
}

/* Says of a link that it is over. One of which only some stages have ended stays unsaid. */
static int say_ended(const struct noting *n, struct tsm_object_link *link, uint64_t object)
{
    link->is_learnt = true;
    return link->is_early ? 0 : n->visitor->ended(n->visitor->user, link, object);
}

/* All links with a value up to this one are over. */
static int note_reached(const struct noting *n, struct tsm_object *o, uint64_t object,
                        uint64_t value)
{
    int error = 0;

    for (size_t i = 0; n->all->keeps_links && i < o->count && !error; i++)
        if (o->links[i].value <= value)
            error = say_ended(n, &o->links[i], object);
    while (!n->all->keeps_links && !error && o->count && o->links[0].value <= value) {
        /* Later copies of this value copy nothing of the links beyond it. */
        o->raised = o->links[0].value > o->raised ? o->links[0].value : o->raised;
        error = say_ended(n, &o->links[0], object);
        remove_first(n, o);
    }
    return error;
}

/* ---- values -----------------------------------------------------------------------------------
 */

/* The host saw the value that is left when all have ended. */
static int note_held(const struct noting *n, struct tsm_object *o, uint64_t object, uint64_t value)
{
    return is_value_known(n, o) && !o->is_foreign && value == o->rest
               ? note_reached(n, o, object, UINT64_MAX)
               : 0;
}

/* Drops links of which the host has learnt. */
static void drop_learnt(const struct noting *n, struct tsm_object *o)
{
    size_t kept = 0;

    for (size_t i = 0; i < o->count; i++)
        if (!o->links[i].is_learnt && !n->visitor->has_ended(n->visitor->user, &o->links[i]))
            o->links[kept++] = o->links[i]; /* values are all 0: still a heap */
        else
            drop(n, &o->links[i]);
    o->count = kept;
}

/* The same; many that are left make the object one that says nothing, so that no record of a trace
 * takes long. */
static void prune(const struct noting *n, struct tsm_object *o)
{
    drop_learnt(n, o);
    if (o->count > LINKS_LEFT) {
        o->is_foreign = true;
        drop_links(n, o);
    }
}

/* The value that the host gives it is known when nothing lowers it any more. */
static void note_set(const struct noting *n, struct tsm_object *o, uint64_t value)
{
    prune(n, o);
    o->is_known = !o->count && !o->is_foreign;
    o->unseen = n->all->unseen_count;
    o->rest = value;
}

static int add_waiter(const struct noting *n, struct tsm_object *o,
                      const struct tsm_wait_step *step, bool is_exact)
{
    if (o->waiter_count >= WAITERS_MAX)
        return 0;
    return TSM_ARRAY_PUSH(o->waiters, o->waiter_count, o->waiter_capacity,
                          (struct waiter){step->value, n->call->record->seq, n->all->unseen_count,
                                          is_exact, step->is_part})
               ? 0
               : no_memory();
}

/* Tells those that wait for it that the host has brought the object to a value, by a call that
 * changes it. */
static int open_for(const struct noting *n, struct tsm_object *o, uint64_t object, uint64_t value)
{
    size_t left = 0;
    int error = 0;

    for (size_t i = 0; i < o->waiter_count; i++) {
        const struct waiter *w = &o->waiters[i];

        if (w->is_exact ? w->value != value : w->value > value)
            o->waiters[left++] = *w;
        else if (!error && n->visitor->opened && w->unseen == n->all->unseen_count)
            error = n->visitor->opened(n->visitor->user, object, w->seq, w->is_part);
    }
    o->waiter_count = left;
    return error;
}

static int note_raised(const struct noting *n, struct tsm_object *o, uint64_t object,
                       uint64_t value)
{
    o->raised = value > o->raised ? value : o->raised;
    return open_for(n, o, object, o->raised);
}

/* The host has changed a value that nothing else changes meanwhile. */
static int note_changed(const struct noting *n, struct tsm_object *o, uint64_t object)
{
    return is_value_known(n, o) && !o->count ? open_for(n, o, object, o->rest) : 0;
}

/* Commands that still lower it will do so from the new value. */
static int note_swapped(const struct noting *n, struct tsm_object *o,
                        const struct tsm_wait_step *step)
{
    int error = note_held(n, o, step->object, step->before);

    if (is_value_known(n, o)) {
        if (n->all->keeps_links)
            drop_learnt(n, o);
        o->rest = step->value - (step->before - o->rest);
    } else
        note_set(n, o, step->value);
    return error ? error : note_changed(n, o, step->object);
}

/* ---- commands that wait -----------------------------------------------------------------------
 */

static int say_waited(const struct noting *n, const struct tsm_object_link *link,
                      const struct tsm_wait_step *step)
{
    return n->visitor->waited ? n->visitor->waited(n->visitor->user, link, step) : 0;
}

/* Values only grow: whatever brings one up to this has ended, and, where nothing brings just this
 * one, the first that goes beyond it, and does not wait for it, too. */
static int wait_for_value(const struct noting *n, struct tsm_object *o,
                          const struct tsm_wait_step *step)
{
    const struct tsm_object_link *beyond = NULL;
    uint64_t best = o->raised;
    int error = 0;

    if (step->value <= o->raised)
        return 0;
    for (size_t i = 0; i < o->count && !error; i++) {
        const struct tsm_object_link *link = &o->links[i];

        if (link->value > step->value) {
            if ((!beyond || link->value < beyond->value) && own_wait(o, link) < step->value)
                beyond = link;
            continue;
        }
        best = link->value > best ? link->value : best;
        error = say_waited(n, link, step);
    }
    if (error || best == step->value)
        return error;
    if (beyond)
        return say_waited(n, beyond, step);
    return step->is_sent ? 0 : add_waiter(n, o, step, false);
}

static int wait_for(const struct noting *n, struct tsm_object *o, const struct tsm_wait_step *step)
{
    int error = 0;

    if (o->is_foreign || !n->visitor->waited)
        return 0;
    if (!o->is_binary)
        return wait_for_value(n, o, step);
    for (size_t i = 0; i < o->count && !error; i++)
        error = say_waited(n, &o->links[i], step);
    drop_links(n, o);
    return error;
}

/* The value that is left when all have ended comes then alone. */
static int wait_for_exact(const struct noting *n, struct tsm_object *o,
                          const struct tsm_wait_step *step)
{
    int error = 0;

    if (o->is_foreign || !n->visitor->waited || !is_value_known(n, o))
        return 0;
    if (step->value != o->rest)
        return o->count ? 0 : add_waiter(n, o, step, true);
    for (size_t i = 0; i < o->count && !error; i++)
        error = say_waited(n, &o->links[i], step);
    return error;
}

/* ---- objects that get what others stand for ---------------------------------------------------
 */

static int add_copy(const struct noting *n, struct tsm_object *o,
                    const struct tsm_object_link *link, const struct tsm_wait_step *step)
{
    struct tsm_object_link copy = *link;

    copy.value = step->value;
    if (o->count >= n->all->links_max) {
        if (copy.value <= o->links[0].value)
            return 0;
        remove_first(n, o);
    }
    if (!TSM_ARRAY_PUSH(o->links, o->count, o->capacity, copy))
        return no_memory();
    if (n->visitor->copied)
        n->visitor->copied(n->visitor->user, &copy);
    sift_up(o, o->count - 1);
    return tell_waiters(n, o, &copy, step->object);
}

/* Forgets who waits for a value that comes in a way which is not known. */
static void forget_waiters(struct tsm_object *o, uint64_t value)
{
    size_t left = 0;

    for (size_t i = 0; i < o->waiter_count; i++)
        if (o->waiters[i].value > value)
            o->waiters[left++] = o->waiters[i];
    o->waiter_count = left;
}

/* The object comes to the value when `from` comes to another one: by the same commands, by the
 * host, or unseen. */
static int note_copied(const struct noting *n, struct tsm_object *o, const struct tsm_object *from,
                       const struct tsm_wait_step *step)
{
    const struct tsm_object_link *beyond = NULL;
    uint64_t best = 0;
    size_t copied = 0;
    int error = 0;

    if (o->is_foreign || o == from)
        return 0;
    if (!from->is_foreign && step->before <= from->raised)
        return note_raised(n, o, step->object, step->value);
    for (size_t i = 0; i < from->count && !error; i++) {
        const struct tsm_object_link *link = &from->links[i];

        if (link->value > step->before) {
            beyond = !beyond || link->value < beyond->value ? link : beyond;
            continue;
        }
        best = link->value > best ? link->value : best;
        error = add_copy(n, o, link, step);
        copied++;
    }
    if (!error && best != step->before && beyond) {
        error = add_copy(n, o, beyond, step);
        copied++;
    }
    if (!copied && !error) {
        forget_waiters(o, step->value);
        o->raised = step->value > o->raised ? step->value : o->raised;
    }
    return error;
}

static int copy_object(const struct noting *n, const struct tsm_wait_step *step)
{
    const uint32_t api = SBT_TYPE_API(n->call->record->type);
    struct tsm_object *o = object_of(n->all, TSM_WAIT_KEY(api, step->object)), *from;
    size_t place;

    if (!o)
        return no_memory();
    place = (size_t)(o - n->all->list);
    from = object_of(n->all, TSM_WAIT_KEY(api, step->from));
    return from ? note_copied(n, &n->all->list[place], from, step) : no_memory();
}

/* ---- all --------------------------------------------------------------------------------------
 */

static void begin_again(const struct noting *n, struct tsm_object *o)
{
    drop_links(n, o);
    o->is_known = false;
    o->raised = 0;
}

static int note_object(const struct noting *n, struct tsm_object *o,
                       const struct tsm_wait_step *step)
{
    switch (step->kind) {
    case TSM_WAIT_ENDS:
    case TSM_WAIT_LOWERS:
        return add_link(n, o, step);
    case TSM_WAIT_FOR:
        return wait_for(n, o, step);
    case TSM_WAIT_FOR_EXACT:
        return wait_for_exact(n, o, step);
    case TSM_WAIT_REACHED:
        return note_reached(n, o, step->object, step->value);
    case TSM_WAIT_HELD:
        return note_held(n, o, step->object, step->value);
    case TSM_WAIT_SET:
        note_set(n, o, step->value);
        return note_changed(n, o, step->object);
    case TSM_WAIT_ADD:
        o->rest += step->value;
        return note_changed(n, o, step->object);
    case TSM_WAIT_SWAP:
        return note_swapped(n, o, step);
    case TSM_WAIT_RAISE:
        return note_raised(n, o, step->object, step->value);
    case TSM_WAIT_BINARY:
        o->is_binary = true;
        return 0;
    case TSM_WAIT_NEW:
        o->is_foreign = o->is_binary = false;
        begin_again(n, o);
        return 0;
    case TSM_WAIT_OVER:
        begin_again(n, o);
        return 0;
    case TSM_WAIT_FOREIGN:
        drop_links(n, o);
        o->is_foreign = true;
        return 0;
    case TSM_WAIT_BITS:
        forget_exact(o);
        break;
    case TSM_WAIT_COPY:
    case TSM_WAIT_IN_TURN:
    case TSM_WAIT_UNSEEN:
        break;
    }
    o->is_known = false;
    return 0;
}

static int visit_step(void *user, const struct tsm_wait_step *step)
{
    const struct noting *n = user;
    struct tsm_object *o;

    if (step->kind == TSM_WAIT_UNSEEN) {
        n->all->unseen_count++;
        return 0;
    }
    if (step->kind == TSM_WAIT_IN_TURN) {
        if (n->visitor->in_turn)
            n->visitor->in_turn(n->visitor->user);
        return 0;
    }
    if (step->kind == TSM_WAIT_COPY)
        return copy_object(n, step);
    o = object_of(n->all, TSM_WAIT_KEY(SBT_TYPE_API(n->call->record->type), step->object));
    return o ? note_object(n, o, step) : no_memory();
}

int tsm_objects_note(struct tsm_objects *o, const struct tsm_call_node *call,
                     const struct tsm_object_visitor *visitor)
{
    const struct noting n = {o, call, visitor};
    bool added;
    uint64_t *way = tsm_map_insert(&o->ways, call->record->type, &added);

    if (!way)
        return no_memory();
    if (added)
        *way = tsm_wait_way(call->schema);
    return tsm_wait_each((uint32_t)*way, o->reader, call->record, call->schema, visit_step,
                         (void *)(uintptr_t)&n);
}

static const struct tsm_object_visitor nobody;

int tsm_objects_note_state(struct tsm_objects *o, const struct sbt_record *record,
                           const struct tsm_object_visitor *visitor)
{
    const struct noting n = {o, NULL, visitor ? visitor : &nobody};
    struct tsm_wait_step step;
    struct tsm_object *object;
    uint64_t key;

    if (!tsm_wait_of_state(record, &step, &key))
        return 0;
    object = object_of(o, key);
    if (!object)
        return no_memory();
    drop_links(&n, object);
    note_set(&n, object, step.value);
    return 0;
}

void tsm_objects_finish(struct tsm_objects *o, const struct tsm_object_visitor *visitor)
{
    const struct noting n = {o, NULL, visitor ? visitor : &nobody};

    for (size_t i = 0; i < o->count; i++)
        drop_links(&n, &o->list[i]);
    free(o->list);
    tsm_map_finish(&o->places);
    tsm_map_finish(&o->ways);
}
