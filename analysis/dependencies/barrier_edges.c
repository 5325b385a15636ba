/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/dependencies/barrier_edges.h"

#include "analysis/handles.h"
#include "api/traits.h"
#include "base/array.h"
#include "tracesmith/error.h"

#include <stdlib.h>
#include <string.h>

#define OBJECTS_MAX (1u << 18) /* that are recorded into: 45 MiB */
#define NEVER       UINT64_MAX
#define MANY        16u /* open submits */

/* Order of all that was recorded into an object. */
struct tsm_recording {
    struct tsm_recorded_order order;
    uint64_t unseen; /* unseen_count when it began */
};

struct tsm_barrier_stream {
    uint32_t number;
    uint64_t position; /* of its last command */
    uint64_t apart;    /* position of the first command that barriers do not order; NEVER: none */
    struct tsm_open_submit list[TSM_OPEN_SUBMITS_MAX];
    size_t count;
    size_t join_count; /* with so many those are looked for that are alike */
    uint64_t used;     /* bits: places */
};

static int no_memory(void)
{
    return tsm_fail(TSM_E_MEMORY, "no memory for barriers");
}

static uint64_t bit(unsigned place)
{
    return 1ull << place;
}

/* Returns the stages on which a submit's work ends. */
static uint16_t ending(uint16_t work)
{
    return work & ~TSM_STAGE_FETCH;
}

/* ---- what is recorded -------------------------------------------------------------------------
 */

/* Returns the place of what is recorded into an object, + 1; 0: none is known. */
static uint64_t place_of(struct tsm_barrier_edges *b, uint64_t id)
{
    if (id != b->latest_object) {
        b->latest_object = id;
        b->latest_place = tsm_map_get(&b->object_places, id, 0);
    }
    return b->latest_place;
}

/* Returns the recording of an object; NULL: there are too many, or no memory is left. */
static struct tsm_recording *recording_of(struct tsm_barrier_edges *b, uint64_t id, int *error)
{
    const uint64_t known = place_of(b, id);
    size_t place = known ? (size_t)known - 1 : b->object_count;

    if (known)
        return &b->objects[place];
    if (!b->unused_count && b->object_count >= OBJECTS_MAX) {
        b->left_out++;
        return NULL;
    }
    *error = no_memory();
    if (b->unused_count)
        place = b->unused[b->unused_count - 1];
    else if (!TSM_ARRAY_PUSH(b->objects, b->object_count, b->object_capacity,
                             (struct tsm_recording){.unseen = NEVER}))
        return NULL;
    if (!tsm_map_set(&b->object_places, id, place + 1))
        return NULL;
    b->unused_count -= b->unused_count > 0;
    b->objects[place] = (struct tsm_recording){.unseen = NEVER};
    b->latest_place = place + 1;
    *error = 0;
    return &b->objects[place];
}

/* Names of types live as long as the reader: one that was found is found again by its place. */
static bool is_recording(struct tsm_barrier_edges *b, const struct tsm_handle_name *name)
{
    if (name->type == b->recording_type)
        return true;
    if (!(tsm_object_traits(name->type) & TSM_OBJECT_RECORDING))
        return false;
    b->recording_type = name->type;
    return true;
}

struct carrying {
    struct tsm_barrier_edges *b;
    struct tsm_recorded_order *to;
    uint64_t self; /* id of the object that it is recorded into; 0: none */
};

/* Adds what an object holds to what carries it out. */
static int carry_out(void *user, const struct tsm_handle_name *name)
{
    const struct carrying *c = user;
    const struct tsm_recording *r;
    uint64_t place;

    if (!is_recording(c->b, name) || name->id == c->self)
        return 0;
    place = place_of(c->b, name->id);
    r = place ? &c->b->objects[place - 1] : NULL;
    if (r && r->unseen == c->b->unseen_count)
        tsm_recorded_order_append(c->to, &r->order);
    else
        tsm_recorded_order_unknown(c->to);
    return 0;
}

static int free_object(void *user, const struct tsm_handle_name *name)
{
    struct tsm_barrier_edges *b = user;
    const uint64_t place = is_recording(b, name) ? tsm_map_get(&b->object_places, name->id, 0) : 0;

    if (!place)
        return 0;
    tsm_map_remove(&b->object_places, name->id);
    b->latest_object = 0;
    return TSM_ARRAY_PUSH(b->unused, b->unused_count, b->unused_capacity, (size_t)place - 1)
               ? 0
               : no_memory();
}

static int note_recorded(struct tsm_barrier_edges *b, struct sbt_reader *reader,
                         const struct tsm_call_node *call, const struct tsm_recorded *what)
{
    const uint64_t id = call->record->slot_count ? call->record->slots[0] : 0;
    int error = 0;
    struct tsm_recording *r = id ? recording_of(b, id, &error) : NULL;
    struct carrying c = {b, r ? &r->order : NULL, id};

    if (!id) /* a call of which only the name was recorded: it may have been into any of them */
        b->unseen_count++;
    if (!r)
        return error;
    switch (what->kind) {
    case TSM_RECORDED_BEGINS:
        r->order = (struct tsm_recorded_order){.is_inside = what->is_inside};
        r->unseen = b->unseen_count;
        break;
    case TSM_RECORDED_WORK:
    case TSM_RECORDED_PASS_BEGINS:
    case TSM_RECORDED_PASS_ENDS:
        tsm_recorded_order_work(&r->order, what->stages);
        if (what->kind != TSM_RECORDED_WORK)
            r->order.is_inside = what->kind == TSM_RECORDED_PASS_BEGINS;
        break;
    case TSM_RECORDED_BARRIERS:
        tsm_recorded_order_barriers(&r->order, what->barriers, what->barrier_count);
        break;
    case TSM_RECORDED_EXECUTES:
        tsm_handles_each(reader, call->record, call->schema, carry_out, &c);
        break;
    case TSM_RECORDED_FREES:
    case TSM_RECORDED_SUBMITS:
    case TSM_RECORDED_PRESENTS:
        break;
    }
    return 0;
}

/* ---- which submits a submit waits for ---------------------------------------------------------
 */

/* One submit, and all that are open on its stream. */
struct finding {
    struct tsm_barrier_edges *b;
    struct tsm_barrier_stream *s;
    struct tsm_recorded_waiting waiting[TSM_OPEN_SUBMITS_MAX];
    uint64_t whole, part;               /* bits by place: over when it begins; when it ends */
    const struct tsm_open_submit *base; /* the last that stands for all before it; NULL: none */
    const struct tsm_open_submit *part_base; /* the same, for a part of the submit */
};

static void add_edge(struct finding *f, const struct tsm_open_submit *from, bool is_alone,
                     bool is_begin, bool is_part)
{
    f->b->left_out += is_alone && !is_begin && from->is_several;
    f->b->found[f->b->found_count++] =
        (struct tsm_barrier_edge){from, is_alone, is_begin, is_part, true};
}

/* Returns the last submit that has the stages of `o` in a set wait for it and all before it; NULL:
 * there is none. */
static const struct tsm_open_submit *base_of(const struct finding *f, uint16_t stages, bool is_any)
{
    const struct tsm_open_submit *base = NULL;
    uint64_t limit = f->s->apart;

    for (size_t i = 0; i < f->s->count; i++) {
        const uint16_t has = is_any ? f->waiting[i].part : f->waiting[i].whole;

        if ((has & stages) != stages && f->s->list[i].low < limit)
            limit = f->s->list[i].low;
    }
    for (size_t i = 0; i < f->s->count; i++) {
        const struct tsm_open_submit *at = &f->s->list[i];

        if (at->position < limit && (!base || at->position > base->position))
            base = at;
    }
    return base;
}

/* Tests whether another one of a set has ended after it. */
static bool is_implied(const struct finding *f, const struct tsm_open_submit *from, uint64_t set)
{
    for (size_t i = 0; i < f->s->count; i++)
        if (set & bit(f->s->list[i].place) && f->s->list[i].over & bit(from->place))
            return true;
    return false;
}

static void find_whole(struct finding *f)
{
    f->base = base_of(f, f->b->order.work, false);
    if (f->base)
        add_edge(f, f->base, false, false, false);
    for (size_t i = 0; i < f->s->count; i++) {
        const struct tsm_open_submit *at = &f->s->list[i];

        if (f->whole & bit(at->place) && !(f->base && at->position <= f->base->position) &&
            !is_implied(f, at, f->whole))
            add_edge(f, at, true, false, false);
    }
}

static void find_part(struct finding *f)
{
    TSM_EACH_STAGE(stage, f->b->order.work)
    {
        const struct tsm_open_submit *base = base_of(f, (uint16_t)(1u << stage), true);

        if (base && (!f->part_base || base->position > f->part_base->position))
            f->part_base = base;
    }
    if (f->part_base && f->base && f->part_base->position <= f->base->position)
        f->part_base = NULL;
    if (f->part_base)
        add_edge(f, f->part_base, false, false, true);
    for (size_t i = 0; i < f->s->count; i++) {
        const struct tsm_open_submit *at = &f->s->list[i];

        if (f->part & ~f->whole & bit(at->place) &&
            !(f->base && at->position <= f->base->position) &&
            !(f->part_base && at->position <= f->part_base->position) &&
            !is_implied(f, at, f->whole | f->part))
            add_edge(f, at, true, false, true);
    }
}

/* Adds the last submit of which some work is over. Submits begin in their order, so it stands for
 * those before it. */
static void find_begun(struct finding *f)
{
    const struct tsm_open_submit *last[2] = {NULL, NULL}; /* for all of it, for a part */

    for (size_t i = 0; i < f->s->count; i++) {
        const struct tsm_open_submit *at = &f->s->list[i];
        const bool is_part = f->waiting[i].begun != f->b->order.work;

        if (f->waiting[i].some && (!last[is_part] || at->position > last[is_part]->position))
            last[is_part] = at;
    }
    for (size_t i = 0; i < f->b->found_count; i++)
        for (int is_part = f->b->found[i].is_part; is_part < 2; is_part++)
            if (last[is_part] && f->b->found[i].from->position >= last[is_part]->position)
                last[is_part] = NULL;
    if (last[0] && last[1] && last[0]->position > last[1]->position)
        last[1] = NULL;
    for (int is_part = 0; is_part < 2; is_part++)
        if (last[is_part])
            add_edge(f, last[is_part], true, true, is_part);
}

/* Tests whether all later work waits for a submit. */
static bool is_closed(const struct tsm_open_submit *at)
{
    uint16_t held = TSM_STAGES_ALL;

    TSM_EACH_STAGE(stage, ending(at->work))
    held &= at->last.list[stage];
    return held == TSM_STAGES_ALL;
}

/* Notes that all the submit's barriers lie behind all that is open. */
static void pass(struct finding *f)
{
    if (!f->b->order.has_barriers)
        return;
    for (size_t i = 0; i < f->s->count; i++) {
        tsm_recorded_order_pass(&f->b->order, f->s->list[i].work, &f->s->list[i].first);
        tsm_recorded_order_pass(&f->b->order, f->s->list[i].work, &f->s->list[i].last);
    }
}

/* Finds edges that hold for all that is sent later, too. */
static void find_shared(struct finding *f)
{
    uint64_t limit = f->s->apart;

    for (size_t i = 0; i < f->s->count; i++)
        if (!is_closed(&f->s->list[i]) && f->s->list[i].low < limit)
            limit = f->s->list[i].low;
    for (size_t i = 0; i < f->b->found_count; i++) {
        struct tsm_barrier_edge *e = &f->b->found[i];

        e->is_own = e->is_part || e->is_begin || !is_closed(e->from) ||
                    (!e->is_alone && e->from->position >= limit);
    }
}

static void find(struct tsm_barrier_edges *b, struct tsm_barrier_stream *s)
{
    struct finding f;

    f.b = b;
    f.s = s;
    f.whole = f.part = 0;
    f.base = f.part_base = NULL;

    for (size_t i = 0; i < s->count; i++) {
        const struct tsm_open_submit *at = &s->list[i];

        f.waiting[i] =
            tsm_recorded_order_waiting(&b->order, ending(at->work), &at->first, &at->last);
        if (b->order.is_unknown && f.waiting[i].whole != b->order.work)
            f.waiting[i] = (struct tsm_recorded_waiting){0};
        if (f.waiting[i].whole == b->order.work)
            f.whole |= bit(at->place);
        if (f.waiting[i].part)
            f.part |= bit(at->place);
    }
    if (b->order.work) {
        find_whole(&f);
        find_part(&f);
        find_begun(&f);
    }
    for (size_t i = 0; i < s->count; i++)
        if ((f.whole | f.part) & bit(s->list[i].place))
            b->over |= bit(s->list[i].place) | s->list[i].over;
    pass(&f);
    find_shared(&f);
}

/* ---- open submits -----------------------------------------------------------------------------
 */

static void drop(const struct tsm_barrier_edges *b, const struct tsm_submit_ends *ends)
{
    if (b->drop)
        b->drop(b->user, ends);
}

/* Makes the submit at one place of the list stand for that at another, too. */
static void join(struct tsm_barrier_edges *b, struct tsm_barrier_stream *s, size_t into,
                 size_t from)
{
    const struct tsm_open_submit old = s->list[from];

    if (old.low < s->list[into].low)
        s->list[into].low = old.low;
    s->list[into].is_several |= old.is_several || !(s->list[into].over & bit(old.place));
    drop(b, &old.ends);
    s->used &= ~bit(old.place);
    TSM_ARRAY_REMOVE(s->list, s->count, from);
    for (size_t i = 0; i < s->count; i++)
        s->list[i].over &= ~bit(old.place);
}

/* Joins submits that all later work waits for, from the first on, so far as nothing lies between
 * them for which it does not. */
static void join_closed(struct tsm_barrier_edges *b, struct tsm_barrier_stream *s)
{
    uint64_t limit = s->apart;
    size_t last = SIZE_MAX;

    for (size_t i = 0; i < s->count; i++)
        if (!is_closed(&s->list[i]) && s->list[i].low < limit)
            limit = s->list[i].low;
    for (size_t i = 0; i < s->count; i++)
        if (s->list[i].position < limit &&
            (last == SIZE_MAX || s->list[i].position > s->list[last].position))
            last = i;
    for (size_t i = s->count; last != SIZE_MAX && i-- > 0;)
        if (i != last && s->list[i].position < limit) {
            join(b, s, last, i);
            last -= i < last;
        }
}

static bool is_alike(const struct tsm_open_submit *x, const struct tsm_open_submit *y)
{
    return x->work == y->work && memcmp(&x->first, &y->first, sizeof(x->first)) == 0 &&
           memcmp(&x->last, &y->last, sizeof(x->last)) == 0;
}

/* Joins submits of which barriers say the same: where one has ended when the other has, and, of
 * many, others, too. Not again before there are half as many more. */
static void join_alike(struct tsm_barrier_edges *b, struct tsm_barrier_stream *s)
{
    const bool is_many = s->count >= MANY;

    for (size_t into = s->count; into-- > 0;)
        for (size_t i = into; i-- > 0;)
            if ((is_many || s->list[into].over & bit(s->list[i].place)) &&
                is_alike(&s->list[into], &s->list[i])) {
                join(b, s, into, i);
                into--;
            }
    s->join_count = s->count + s->count / 2 + 1;
}

/* Makes one of the oldest two: it is over when both are. */
static void join_oldest(struct tsm_barrier_edges *b, struct tsm_barrier_stream *s)
{
    struct tsm_open_submit *into = &s->list[1];
    const struct tsm_open_submit *from = &s->list[0];

    TSM_EACH_STAGE(stage, from->work)
    {
        if (into->work >> stage & 1)
            into->last.list[stage] &= from->last.list[stage];
        else {
            into->last.list[stage] = from->last.list[stage];
            into->first.list[stage] = 0;
        }
    }
    into->work |= from->work;
    join(b, s, 1, 0);
}

static struct tsm_barrier_stream *stream_of(struct tsm_barrier_edges *b, uint32_t number)
{
    const uint64_t place = tsm_map_get(&b->stream_places, number, 0);
    struct tsm_barrier_stream *s = place ? b->streams[place - 1] : calloc(1, sizeof(*s));

    if (place || !s)
        return s;
    s->number = number;
    s->apart = NEVER;
    if (!tsm_map_set(&b->stream_places, number, b->stream_count + 1) ||
        !TSM_ARRAY_PUSH(b->streams, b->stream_count, b->stream_capacity, s)) {
        free(s);
        return NULL;
    }
    return s;
}

int tsm_barrier_edges_add(struct tsm_barrier_edges *b, const struct sbt_record *record,
                          struct tsm_submit_ends ends)
{
    struct tsm_barrier_stream *s = b->is_submit ? stream_of(b, record->stream) : NULL;
    struct tsm_open_submit added = {.seq = record->seq,
                                    .position = record->position,
                                    .low = record->position,
                                    .over = b->over,
                                    .work = b->order.work,
                                    .first = b->order.first,
                                    .last = b->order.last,
                                    .ends = ends};

    if (!s || !added.work) {
        drop(b, &ends);
        return b->is_submit && !s ? no_memory() : 0;
    }
    join_closed(b, s);
    if (s->count >= s->join_count)
        join_alike(b, s);
    if (s->count == TSM_OPEN_SUBMITS_MAX)
        join_oldest(b, s);
    added.over &= s->used;
    while (s->used & bit(added.place))
        added.place++;
    s->used |= bit(added.place);
    s->list[s->count++] = added;
    return 0;
}

/* ---- all --------------------------------------------------------------------------------------
 */

static int note_command(struct tsm_barrier_edges *b, struct sbt_reader *reader,
                        const struct tsm_call_node *call, bool is_late)
{
    const struct sbt_record *record = call->record;
    struct tsm_barrier_stream *s = stream_of(b, record->stream);
    struct carrying c = {b, &b->order, 0};

    if (!s)
        return no_memory();
    if (record->position > s->position)
        s->position = record->position;
    if (!b->is_submit) {
        s->apart = record->position < s->apart ? record->position : s->apart;
        return 0;
    }
    if (record->flags & SBT_RECORD_UNFINISHED)
        tsm_recorded_order_unknown(&b->order);
    else
        tsm_handles_each(reader, record, call->schema, carry_out, &c);
    if (is_late) { /* barriers between it and the last command are not known to be behind it */
        b->order.first = b->order.last = (struct tsm_held){{0}};
        return 0;
    }
    find(b, s);
    return 0;
}

/* Returns what tsm_recorded_way() says, by heart: callers ask for each record of a trace. */
static uint32_t way_of(struct tsm_barrier_edges *b, const struct tsm_call_node *call)
{
    const uint32_t number = SBT_TYPE_CALL(call->record->type);
    uint16_t *way = number < TSM_KNOWN_WAYS ? &b->ways[number] : NULL;

    if (!way)
        return tsm_recorded_way(call->schema);
    if (!*way)
        *way = (uint16_t)(tsm_recorded_way(call->schema) + 1);
    return *way - 1u;
}

int tsm_barrier_edges_note(struct tsm_barrier_edges *b, struct sbt_reader *reader,
                           const struct tsm_call_node *call, bool is_late)
{
    const bool is_command = call->is_command && call->record->position;
    const uint32_t way = way_of(b, call);
    struct tsm_recorded what;

    b->found_count = 0;
    b->is_submit = false;
    if (!is_command && (!way || call->record->flags & SBT_RECORD_UNFINISHED))
        return 0;
    what.kind = 0;
    if (way)
        tsm_recorded_read(&what, way, reader, call->record, call->schema);
    if (is_command) {
        b->over = 0;
        b->order = (struct tsm_recorded_order){0};
        b->is_submit = what.kind == TSM_RECORDED_SUBMITS;
        return what.kind == TSM_RECORDED_PRESENTS ? 0 : note_command(b, reader, call, is_late);
    }
    if (what.kind == TSM_RECORDED_FREES)
        return tsm_handles_each(reader, call->record, call->schema, free_object, b);
    return what.kind < TSM_RECORDED_FREES ? note_recorded(b, reader, call, &what) : 0;
}

void tsm_barrier_edges_lost(struct tsm_barrier_edges *b)
{
    b->unseen_count++;
    for (size_t i = 0; i < b->stream_count; i++)
        if (b->streams[i]->position + 1 < b->streams[i]->apart)
            b->streams[i]->apart = b->streams[i]->position + 1;
}

void tsm_barrier_edges_finish(struct tsm_barrier_edges *b)
{
    for (size_t i = 0; i < b->stream_count; i++) {
        for (size_t k = 0; k < b->streams[i]->count; k++)
            drop(b, &b->streams[i]->list[k].ends);
        free(b->streams[i]);
    }
    free(b->streams);
    free(b->objects);
    free(b->unused);
    tsm_map_finish(&b->object_places);
    tsm_map_finish(&b->stream_places);
    *b = (struct tsm_barrier_edges){0};
}
