/* SPDX-License-Identifier: Apache-2.0
 *
 * Values of semaphores, signals and the like that loose commands wait for which have not finished:
 * who brings them, and whether anything does that is recorded. Says nothing of an object that
 * others may change unseen, or of a value that the host set while commands were about to change it.
 *
 * Some commands are not taken before all that they wait for was sent: then the graph's edges say
 * who brings it, and what an object was at that moment says whether somebody else did, unseen.
 */
#include "analysis/schedule/loose/outcomes.h"

#include "analysis/model/pass.h"
#include "api/waits.h"
#include "base/array.h"
#include "tracesmith/error.h"

#include <stdlib.h>

#define NONE         TSM_WORKLOAD_NONE
#define BRINGERS_MAX 64u /* of one wait; one with more has none */

struct object {
    uint64_t value;      /* by the host and by commands that have finished; a counter's highest */
    uint64_t highest;    /* of a counter, with those that have not */
    uint64_t busy_ns;    /* latest end of commands that have lowered it */
    uint64_t lowering;   /* commands that have not finished and will */
    bool is_known;       /* the value is */
    bool is_awaited;     /* a command that has not finished waits for it; since then it was ... */
    int64_t least, most; /* ... between these, as far as the host changed it */
    bool is_foreign, is_binary;
    /* Since it began, for commands that wait for what was sent before: */
    bool is_held;        /* something brings it to a value */
    bool has_unseen;     /* it got what another one held, and who brings that is not known */
    bool has_open;       /* commands bring it to a value that have not finished ... */
    uint64_t open_least; /* ... the least of these */
};

/* A command that has not finished changes an object. */
struct change {
    uint64_t object, value;
    uint32_t command;
    bool is_begin, lowers;
};

struct finding {
    struct tsm_loose *l;
    struct sbt_reader *reader;
    struct tsm_map places; /* key of an object -> place + 1 */
    struct tsm_map ways;   /* record type -> what tsm_wait_way() says */
    struct object *objects;
    struct change *changes;
    size_t object_count, object_capacity, change_count, change_capacity;
    size_t wait_capacity, bringer_capacity;
    bool is_unseen; /* as of struct tsm_loose, by the records so far */
    /* The record that is read: */
    const struct sbt_record *record;
    uint32_t command; /* NONE: it is none */
};

static int no_memory(void)
{
    return tsm_fail(TSM_E_MEMORY, "no memory for objects that are waited for");
}

static struct object *object_of(struct finding *f, uint64_t key)
{
    bool added;
    uint64_t *place = tsm_map_insert(&f->places, key, &added);

    if (!place)
        return NULL;
    if (!*place) {
        if (!TSM_ARRAY_PUSH(f->objects, f->object_count, f->object_capacity, (struct object){0}))
            return NULL;
        *place = f->object_count;
    }
    return &f->objects[*place - 1];
}

/* ---- records ----------------------------------------------------------------------------------
 */

static int add_change(struct finding *f, uint64_t key, const struct tsm_wait_step *step)
{
    const struct change change = {.object = key,
                                  .value = step->value,
                                  .command = f->command,
                                  .is_begin = step->is_early || step->parts,
                                  .lowers = step->kind == TSM_WAIT_LOWERS};

    return TSM_ARRAY_PUSH(f->changes, f->change_count, f->change_capacity, change) ? 0
                                                                                   : no_memory();
}

static bool is_open(const struct finding *f)
{
    return f->command != NONE && !tsm_loose_has_finished(f->l, f->command);
}

/* Notes that something brings the object to a value: a command that has not finished, or else. */
static void note_brought(struct object *o, uint64_t value, bool is_open)
{
    o->highest = value > o->highest ? value : o->highest;
    o->is_held = true;
    if (is_open) {
        o->open_least = o->has_open && o->open_least < value ? o->open_least : value;
        o->has_open = true;
    } else
        o->value = value > o->value ? value : o->value;
}

/* A command brings a counter to a value. */
static int note_ends(struct finding *f, struct object *o, uint64_t key,
                     const struct tsm_wait_step *step)
{
    note_brought(o, step->value, is_open(f));
    return is_open(f) ? add_change(f, key, step) : 0;
}

static int note_lowers(struct finding *f, struct object *o, uint64_t key,
                       const struct tsm_wait_step *step)
{
    const struct tsm_loose_command *c;
    uint64_t end_ns;

    if (is_open(f)) {
        o->lowering++;
        return add_change(f, key, step);
    }
    if (f->command == NONE)
        return 0;
    c = &f->l->commands[f->command];
    end_ns = c->has_time ? c->end_ns : c->over_ns;
    o->busy_ns = end_ns > o->busy_ns ? end_ns : o->busy_ns;
    o->value--;
    return 0;
}

/* Notes which values the object may have had since a command waits for it: one that it had for a
 * while ends the wait, whatever comes then. `lowering`: how many commands may have lowered it more.
 */
static void note_had(struct object *o, uint64_t lowering)
{
    const int64_t most = o->is_known ? (int64_t)o->value : INT64_MAX,
                  least = o->is_known ? (int64_t)(o->value - lowering) : INT64_MIN;

    o->least = least < o->least ? least : o->least;
    o->most = most > o->most ? most : o->most;
}

/* Tests whether something that is recorded brings the object to a value. */
static bool is_brought(const struct object *o, uint64_t value)
{
    return value == TSM_WAIT_LATEST ? o->is_held : o->highest >= value;
}

/* Tests whether commands that have not finished bring it there. */
static bool is_brought_by_open(const struct object *o, uint64_t value)
{
    return o->has_open && (value == TSM_WAIT_LATEST || o->open_least <= value || o->value < value);
}

/* Notes a wait for what was sent before. */
static int note_sent(struct finding *f, const struct object *o, uint64_t key,
                     const struct tsm_wait_step *step)
{
    const struct tsm_loose_wait wait = {.command = f->command,
                                        .object = key,
                                        .value = step->value,
                                        .has_value = step->value != TSM_WAIT_LATEST,
                                        .is_part = step->is_part,
                                        .is_sent = true,
                                        .is_over = !is_brought_by_open(o, step->value),
                                        .is_unsure =
                                            f->is_unseen || o->is_foreign || o->has_unseen ||
                                            (!step->is_any && !is_brought(o, step->value))};

    if (!is_open(f) || (wait.is_over && !wait.is_unsure))
        return 0;
    return TSM_ARRAY_PUSH(f->l->waits, f->l->wait_count, f->wait_capacity, wait) ? 0 : no_memory();
}

static int note_waits(struct finding *f, struct object *o, uint64_t key,
                      const struct tsm_wait_step *step)
{
    const struct tsm_loose_wait wait = {.command = f->command,
                                        .object = key,
                                        .value = step->value,
                                        .is_exact = step->kind == TSM_WAIT_FOR_EXACT,
                                        .is_part = step->is_part};

    if (step->is_sent)
        return note_sent(f, o, key, step);
    if (!is_open(f))
        return 0;
    if (!o->is_awaited) {
        o->is_awaited = true;
        o->least = INT64_MAX;
        o->most = INT64_MIN;
        note_had(o, 0);
    }
    return TSM_ARRAY_PUSH(f->l->waits, f->l->wait_count, f->wait_capacity, wait) ? 0 : no_memory();
}

/* The value that the host gives it is known when nothing changes it any more. */
static void note_set(const struct finding *f, struct object *o, uint64_t value)
{
    note_had(o, o->lowering);
    o->is_known = !o->lowering && o->busy_ns <= f->record->time_ns;
    o->value = value;
    note_had(o, o->lowering);
}

static void note_added(struct object *o, uint64_t value)
{
    note_had(o, o->lowering);
    o->value += value;
    note_had(o, o->lowering);
}

/* It begins again. */
static void note_over(struct object *o)
{
    o->is_known = o->is_held = o->has_open = o->has_unseen = false;
    o->value = o->highest = 0;
}

/* The object gets what another one stands for. */
static void note_copied(struct object *o, const struct object *from,
                        const struct tsm_wait_step *step)
{
    o->has_unseen |= from->is_foreign || from->has_unseen || !is_brought(from, step->before);
    note_brought(o, step->value, is_brought_by_open(from, step->before));
}

static int copy_object(struct finding *f, const struct tsm_wait_step *step)
{
    const uint32_t api = SBT_TYPE_API(f->record->type);
    const struct object *from = object_of(f, TSM_WAIT_KEY(api, step->from));
    const struct object held = from ? *from : (struct object){0};
    struct object *o = from ? object_of(f, TSM_WAIT_KEY(api, step->object)) : NULL;

    if (!o)
        return no_memory();
    note_copied(o, &held, step);
    return 0;
}

static int note_object(struct finding *f, struct object *o, uint64_t key,
                       const struct tsm_wait_step *step)
{
    switch (step->kind) {
    case TSM_WAIT_ENDS:
        return note_ends(f, o, key, step);
    case TSM_WAIT_LOWERS:
        return note_lowers(f, o, key, step);
    case TSM_WAIT_FOR:
    case TSM_WAIT_FOR_EXACT:
        return note_waits(f, o, key, step);
    case TSM_WAIT_SET:
        note_set(f, o, step->value);
        break;
    case TSM_WAIT_RAISE:
        o->is_known = true;
        note_brought(o, step->value, false);
        break;
    case TSM_WAIT_ADD:
        note_added(o, step->value);
        break;
    case TSM_WAIT_SWAP:
        if (o->is_known)
            note_added(o, step->value - step->before);
        else
            note_set(f, o, step->value);
        break;
    case TSM_WAIT_BINARY:
        o->is_binary = true;
        break;
    case TSM_WAIT_FOREIGN:
        o->is_foreign = true;
        break;
    case TSM_WAIT_NEW:
        o->is_foreign = o->is_binary = false;
        note_over(o);
        break;
    case TSM_WAIT_OVER:
        note_over(o);
        break;
    case TSM_WAIT_BITS:
        o->is_known = false;
        break;
    case TSM_WAIT_REACHED:
    case TSM_WAIT_HELD:
    case TSM_WAIT_IN_TURN:
    case TSM_WAIT_UNSEEN:
        break;
    default: /* what else may change it is not followed */
        o->is_foreign = true;
        break;
    }
    return 0;
}

static int visit_step(void *user, const struct tsm_wait_step *step)
{
    struct finding *f = user;
    const uint64_t key = TSM_WAIT_KEY(SBT_TYPE_API(f->record->type), step->object);
    struct object *o;

    f->l->is_unseen |= step->kind == TSM_WAIT_UNSEEN;
    f->is_unseen |= step->kind == TSM_WAIT_UNSEEN;
    if (step->kind == TSM_WAIT_UNSEEN || step->kind == TSM_WAIT_IN_TURN)
        return 0;
    if (step->kind == TSM_WAIT_COPY)
        return copy_object(f, step);
    o = object_of(f, key);
    return o ? note_object(f, o, key, step) : no_memory();
}

static int add_call(void *user, const struct tsm_call_node *call)
{
    struct finding *f = user;
    const uint32_t left_out = SBT_RECORD_FAILED | SBT_RECORD_CAPTURED, flags = call->record->flags;
    bool added;
    uint64_t *way;

    if (!call->schema || !tsm_loose_has(f->l, call->record->type) || flags & left_out)
        return 0;
    way = tsm_map_insert(&f->ways, call->record->type, &added);
    if (!way)
        return no_memory();
    if (added)
        *way = tsm_wait_way(call->schema);
    if (flags & SBT_RECORD_UNFINISHED) { /* of its arguments nothing is known */
        f->is_unseen |= !call->is_wait && *way;
        f->l->is_unseen |= f->is_unseen;
        return 0;
    }
    f->record = call->record;
    f->command = call->is_command ? tsm_loose_find_command(f->l, call->record->seq) : NONE;
    return tsm_wait_each((uint32_t)*way, f->reader, call->record, call->schema, visit_step, f);
}

/* A checkpoint has the values of some objects. */
static int add_core(void *user, const struct sbt_record *record)
{
    struct finding *f = user;
    struct tsm_wait_step step;
    struct object *o;
    uint64_t key;

    f->is_unseen |= tsm_loose_is_unseen(record);
    if (!tsm_wait_of_state(record, &step, &key))
        return 0;
    o = object_of(f, key);
    f->record = record;
    f->command = NONE;
    return o ? note_object(f, o, key, &step) : no_memory();
}

/* ---- who brings what --------------------------------------------------------------------------
 */

static int by_command(const void *a, const void *b)
{
    const struct tsm_loose_wait *x = a, *y = b;

    if (x->command != y->command)
        return x->command < y->command ? -1 : 1;
    if (x->object != y->object)
        return x->object < y->object ? -1 : 1;
    return x->value < y->value ? -1 : x->value > y->value;
}

static int by_value(const void *a, const void *b)
{
    const struct change *x = a, *y = b;

    if (x->object != y->object)
        return x->object < y->object ? -1 : 1;
    if (x->value != y->value)
        return x->value < y->value ? -1 : 1;
    return x->command < y->command ? -1 : x->command > y->command;
}

static bool add_bringer(struct finding *f, uint32_t wait, const struct change *change)
{
    return TSM_ARRAY_PUSH(f->l->bringers, f->l->bringer_count, f->bringer_capacity,
                          (struct tsm_loose_bringer){wait, change->command, change->is_begin});
}

/* Adds what lowers an object to the value: all that do, or nothing is said. */
static bool add_lowering(struct finding *f, uint32_t wait, const struct object *o)
{
    struct tsm_loose_wait *w = &f->l->waits[wait];
    const uint64_t missing = o->value - w->value;
    size_t at;

    w->is_over = !missing;
    if (!missing)
        return true;
    if (missing > o->lowering) {
        w->is_never = true;
        w->comes_to = o->value - o->lowering;
        return true;
    }
    TSM_BISECT(at, f->change_count, f->changes[at].object >= w->object);
    for (; missing == o->lowering && o->lowering <= BRINGERS_MAX && at < f->change_count &&
           f->changes[at].object == w->object;
         at++)
        if (f->changes[at].lowers && !add_bringer(f, wait, &f->changes[at]))
            return false;
    return true;
}

/* Tests whether a command waits for the value itself before it goes beyond it: another one brings
 * the object there. */
static bool is_own(const struct tsm_loose *l, const struct tsm_loose_wait *w,
                   const struct change *change)
{
    size_t at;

    TSM_BISECT(at, l->wait_count,
               l->waits[at].command > change->command ||
                   (l->waits[at].command == change->command &&
                    (l->waits[at].object > w->object ||
                     (l->waits[at].object == w->object && l->waits[at].value >= w->value))));
    return at < l->wait_count && l->waits[at].command == change->command &&
           l->waits[at].object == w->object && !(change->is_begin && l->waits[at].is_part);
}

static uint32_t count_own(const struct finding *f, const struct tsm_loose_wait *w, size_t at,
                          size_t end)
{
    uint32_t count = 0;

    for (; at < end; at++)
        count += is_own(f->l, w, &f->changes[at]);
    return count;
}

/* Adds the commands of which any brings a counter to the value; nothing is said of too many. */
static bool add_raising(struct finding *f, uint32_t wait, const struct object *o)
{
    struct tsm_loose_wait *w = &f->l->waits[wait];
    size_t at, end;
    bool is_itself; /* all that go beyond it wait for it */

    w->is_over = o->value >= w->value;
    if (w->is_over)
        return true;
    if (o->highest < w->value) {
        w->is_never = true;
        w->comes_to = o->highest;
        return true;
    }
    TSM_BISECT(at, f->change_count,
               f->changes[at].object > w->object ||
                   (f->changes[at].object == w->object && f->changes[at].value >= w->value));
    TSM_BISECT(end, f->change_count, f->changes[end].object > w->object);
    w->choices = (uint32_t)(end - at);
    w->has_bringers = w->choices <= BRINGERS_MAX;
    if (!w->has_bringers)
        return true;
    is_itself = count_own(f, w, at, end) == w->choices;
    w->choices -= is_itself ? 0 : count_own(f, w, at, end);
    for (; at < end; at++)
        if ((is_itself || !is_own(f->l, w, &f->changes[at])) &&
            !add_bringer(f, wait, &f->changes[at]))
            return false;
    return true;
}

/* Tests whether a signal may have had a value while a command waited for it, which it has no more.
 */
static bool may_have_had(struct object *o, uint64_t value)
{
    note_had(o, 0); /* what lowers it is yet to come */
    return o->value != value && o->least <= (int64_t)value && (int64_t)value <= o->most;
}

static int find_bringers(struct finding *f)
{
    struct tsm_loose *l = f->l;

    if (l->wait_count)
        qsort(l->waits, l->wait_count, sizeof(*l->waits), by_command);
    if (f->change_count)
        qsort(f->changes, f->change_count, sizeof(*f->changes), by_value);
    for (uint32_t i = 0; i < l->wait_count; i++) {
        struct tsm_loose_wait *w = &l->waits[i];
        struct object *o = object_of(f, w->object);

        if (!o)
            return no_memory();
        if (w->is_sent)
            continue;
        w->has_value = !o->is_binary;
        if (o->is_binary)
            continue;
        w->is_unsure = o->is_foreign || l->is_unseen || !o->is_known ||
                       (w->is_exact && may_have_had(o, w->value));
        if (w->is_unsure)
            continue;
        if (!(w->is_exact ? add_lowering(f, i, o) : add_raising(f, i, o)))
            return no_memory();
    }
    return 0;
}

int tsm_loose_values_find(struct tsm_loose *l, struct sbt_reader *reader)
{
    struct finding f = {.l = l, .reader = reader};
    const struct tsm_model_visitor visitor = {.user = &f, .call = add_call, .core = add_core};
    struct tsm_model_counts counts;
    int error = tsm_model_pass(&counts, reader, NULL, &visitor);

    if (!error)
        error = find_bringers(&f);
    tsm_map_finish(&f.places);
    tsm_map_finish(&f.ways);
    free(f.objects);
    free(f.changes);
    return error;
}
