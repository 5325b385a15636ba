/* SPDX-License-Identifier: Apache-2.0
 *
 * Loose commands: those of a stream may overlap. They wait for objects that other commands signal,
 * and some for all before them on their stream. They begin in the order of their stream, so what
 * one has waited for is over for those behind it, too.
 */
#include "analysis/dependencies/sources.h"

#include "analysis/dependencies/barrier_edges.h"
#include "analysis/model/work.h"
#include "api/traits.h"
#include "tracesmith/error.h"

#include <stdlib.h>

#define ROOM        4u   /* streams that a snapshot knows of, mostly */
#define LINKS_MAX   64u  /* commands that one object stands for */
#define SOURCES_MAX 256u /* of a record; it is not said that it waits for more */

/* Commands that have ended when that of a link has. Links of one command share it. */
struct snapshot {
    struct tsm_vector_clock known;
    size_t user_count;
    struct tsm_vector_clock_entry room[ROOM]; /* of `known`, while that is enough */
};

/* Ends of a command that objects tell of. */
enum end {
    END_WHOLE, /* it has ended, and all before it on its stream have */
    END_PART,  /* a part of it, and all before it */
    END_ALONE, /* it has ended, by itself */
    END_BEGUN, /* it has begun: some of it has ended, by itself */
    END_COUNT
};

/* One call. */
struct loose {
    struct tsm_dependencies *d;
    const struct tsm_call_node *call;
    struct snapshot *own[END_COUNT]; /* of this command; NULL: nothing tells of it */
    struct snapshot **used;          /* by its sources: SOURCES_MAX */
    size_t used_count;
    uint16_t *whole; /* places of sources that are not alone: only these say what others say */
    size_t whole_count;
    bool is_submit; /* barriers may be in it */
    bool is_in_turn;
    bool is_opening; /* an earlier command waits for it */
};

static const struct tsm_vector_clock nothing;

static int no_memory(void)
{
    return tsm_fail(TSM_E_MEMORY, "no memory for dependencies");
}

/* ---- links ------------------------------------------------------------------------------------
 */

static void drop_snapshot(struct tsm_dependencies *d, struct snapshot *s)
{
    if (!s || --s->user_count)
        return;
    tsm_vector_clock_empty(&s->known, &d->budget);
    if (s->known.list != s->room)
        tsm_vector_clock_finish(&s->known);
    free(s);
}

/* The clocks are filled in when it is known what the command waits for. */
static int link_made(void *user, struct tsm_object_link *link)
{
    struct loose *l = user;
    const bool is_part = link->parts != UINT32_MAX;
    const enum end end = link->is_early || (link->is_alone && is_part) ? END_BEGUN
                         : link->is_alone                              ? END_ALONE
                         : is_part                                     ? END_PART
                                                                       : END_WHOLE;
    struct snapshot **own = &l->own[end];

    if (!*own) {
        *own = calloc(1, sizeof(**own));
        if (!*own)
            return no_memory();
        (*own)->user_count = 1;
    }
    (*own)->user_count++;
    link->more = *own;
    return 0;
}

static void link_copied(void *user, const struct tsm_object_link *link)
{
    struct snapshot *snapshot = link->more;

    (void)user;
    snapshot->user_count++;
}

static void link_dropped(void *user, const struct tsm_object_link *link)
{
    struct loose *l = user;

    drop_snapshot(l->d, link->more);
}

static uint64_t key_of(const struct loose *l, uint64_t object)
{
    return TSM_WAIT_KEY(SBT_TYPE_API(l->call->record->type), object);
}

/* Tests whether `a` says all that `b` says, both of one object. */
static bool says_all(const struct tsm_dependency_source *a, const struct tsm_dependency_source *b)
{
    return a->stream == b->stream && a->object == b->object && a->is_part == b->is_part &&
           !a->is_alone && a->position - a->is_begin >= b->position - (a->is_begin && b->is_begin);
}

/* Makes the link's command a source, where others of the same object do not say as much. Batches of
 * one submit have no edges between them. Sources of links come first, and use the snapshots at the
 * same places. */
static int add_link(struct loose *l, const struct tsm_object_link *link, uint64_t object,
                    enum tsm_dependency_reason reason, bool is_part)
{
    struct snapshot *snapshot = link->more;
    const struct tsm_dependency_source source = {.seq = link->seq,
                                                 .position = link->position,
                                                 .object = key_of(l, object),
                                                 .stream = link->stream,
                                                 .reason = reason,
                                                 .is_alone = link->is_alone || link->is_early,
                                                 .is_begin =
                                                     link->is_early || link->parts != UINT32_MAX,
                                                 .is_part = is_part,
                                                 .known = &snapshot->known};
    size_t at = source.is_alone ? l->used_count : 0;

    if (link->seq == l->call->record->seq)
        return 0;
    for (size_t i = 0; i < l->whole_count; i++)
        if (says_all(&l->d->sources[l->whole[i]], &source))
            return 0;
    while (at < l->used_count && !says_all(&source, &l->d->sources[at]))
        at++;
    if (at >= SOURCES_MAX)
        return 0;
    snapshot->user_count++;
    if (!source.is_alone && (at == l->used_count || l->d->sources[at].is_alone))
        l->whole[l->whole_count++] = (uint16_t)at;
    if (at < l->used_count) {
        drop_snapshot(l->d, l->used[at]);
        l->used[at] = snapshot;
        l->d->sources[at] = source;
        return 0;
    }
    l->used[l->used_count++] = snapshot;
    return tsm_dependency_source_add(l->d, &source);
}

static int link_waited(void *user, const struct tsm_object_link *link,
                       const struct tsm_wait_step *step)
{
    return add_link(user, link, step->object, TSM_DEPENDS_SIGNAL, step->is_part);
}

static int link_ended(void *user, const struct tsm_object_link *link, uint64_t object)
{
    return add_link(user, link, object, TSM_DEPENDS_HOST, false);
}

static bool link_has_ended(void *user, const struct tsm_object_link *link)
{
    const struct loose *l = user;

    for (size_t i = 0; i < l->d->thread_count && i < TSM_DEPENDENCY_THREADS_ASKED; i++)
        if (tsm_vector_clock_has(&l->d->threads[i].known, link->stream, link->position))
            return true;
    return false;
}

static void wait_in_turn(void *user)
{
    struct loose *l = user;

    l->is_in_turn = true;
}

/* A command that was sent before waits for a value that this one brings. */
static int link_awaited(void *user, const struct tsm_object_link *link, uint64_t object,
                        uint64_t seq, bool is_part)
{
    struct loose *l = user;

    return tsm_dependency_edge_add(
        l->d, &(struct tsm_dependency){.from = link->seq,
                                       .to = seq,
                                       .object = key_of(l, object),
                                       .reason = TSM_DEPENDS_SIGNAL,
                                       .is_begin = link->is_early || link->parts != UINT32_MAX,
                                       .is_alone = link->is_alone || link->is_early,
                                       .is_part = is_part});
}

/* A command that was sent before waits for what the host does in this call. */
static int link_opened(void *user, uint64_t object, uint64_t seq, bool is_part)
{
    struct loose *l = user;

    l->is_opening = true;
    return tsm_dependency_edge_add(l->d, &(struct tsm_dependency){.from = l->call->record->seq,
                                                                  .to = seq,
                                                                  .object = key_of(l, object),
                                                                  .reason = TSM_DEPENDS_SIGNAL,
                                                                  .is_part = is_part});
}

static int note_objects(struct loose *l)
{
    const struct tsm_object_visitor visitor = {.user = l,
                                               .ended = link_ended,
                                               .has_ended = link_has_ended,
                                               .made = link_made,
                                               .copied = link_copied,
                                               .dropped = link_dropped,
                                               .waited = link_waited,
                                               .in_turn = wait_in_turn,
                                               .awaited = link_awaited,
                                               .opened = link_opened};

    if (l->call->record->flags & SBT_RECORD_UNFINISHED)
        return 0;
    l->d->objects.reader = l->d->reader;
    l->d->objects.links_max = LINKS_MAX;
    l->d->objects.keeps_links = true;
    return tsm_objects_note(&l->d->objects, l->call, &visitor);
}

/* ---- barriers ---------------------------------------------------------------------------------
 */

static void drop_ends(void *user, const struct tsm_submit_ends *ends)
{
    drop_snapshot(user, ends->whole);
    drop_snapshot(user, ends->alone);
}

/* Adds submits that barriers put before this one. */
static int note_barriers(struct loose *l, bool is_late)
{
    struct tsm_dependencies *d = l->d;
    int error;

    if (!(tsm_api_traits(l->call->record->type) & TSM_API_SHOWS_SUBMITS))
        return 0;
    if (!d->recorded && !(d->recorded = calloc(1, sizeof(*d->recorded))))
        return no_memory();
    d->recorded->user = d;
    d->recorded->drop = drop_ends;
    error = tsm_barrier_edges_note(d->recorded, d->reader, l->call, is_late);
    l->is_submit = d->recorded->is_submit;
    for (size_t i = 0; i < d->recorded->found_count && !error; i++) {
        const struct tsm_barrier_edge *e = &d->recorded->found[i];
        const struct snapshot *ended = e->is_alone ? e->from->ends.alone : e->from->ends.whole;

        error = tsm_dependency_source_add(
            d, &(struct tsm_dependency_source){.seq = e->from->seq,
                                               .position = e->from->position,
                                               .stream = l->call->record->stream,
                                               .reason = TSM_DEPENDS_BARRIER,
                                               .is_alone = e->is_alone,
                                               .is_begin = e->is_begin,
                                               .is_part = e->is_part,
                                               .is_own = e->is_own,
                                               .known = e->is_begin ? &nothing : &ended->known});
    }
    return error;
}

static struct snapshot *use_end(struct loose *l, enum end end)
{
    if (!l->own[end] && !(l->own[end] = calloc(1, sizeof(*l->own[end]))))
        return NULL;
    l->own[end]->user_count += l->own[end]->user_count ? 1 : 2;
    return l->own[end];
}

/* Lets what is sent later wait for this submit. What its sources know is not needed any more. */
static int add_submit(struct loose *l, struct tsm_submit_ends ends, int error)
{
    if (l->is_submit && !error)
        return tsm_barrier_edges_add(l->d->recorded, l->call->record, ends);
    drop_ends(l->d, &ends);
    return error;
}

/* ---- commands ---------------------------------------------------------------------------------
 */

/* Adds what `known` has. A small clock stays in its snapshot: there are many. */
static int set_clock(struct tsm_dependencies *d, struct snapshot *s,
                     const struct tsm_vector_clock *known)
{
    struct tsm_vector_clock old;
    bool ok;

    if (!s)
        return 0;
    if (!s->known.count && known->count <= ROOM) {
        s->known.list = s->room;
        s->known.capacity = ROOM;
        return tsm_vector_clock_copy(&s->known, &d->budget, known) ? 0 : no_memory();
    }
    old = s->known;
    if (old.list == s->room)
        s->known = (struct tsm_vector_clock){0};
    ok = tsm_vector_clock_join(&s->known, &d->budget, known);
    if (ok && old.list == s->room) {
        ok = tsm_vector_clock_join(&s->known, &d->budget, &old);
        d->budget.used -= old.count;
    }
    return ok ? 0 : no_memory();
}

/* Fills in what has ended when the command has, for those that wait for it. The scratch clock has
 * what has ended when it begins. */
static int keep_ends(struct loose *l, struct tsm_dependency_stream *s, bool is_late)
{
    struct tsm_dependencies *d = l->d;
    int error = is_late ? 0 : set_clock(d, l->own[END_PART], &s->known);

    if (!error)
        error = set_clock(d, l->own[END_PART], &d->scratch);
    if (!error)
        error = set_clock(d, l->own[END_BEGUN], &d->scratch);
    for (size_t i = 0; i < d->source_count && !error; i++)
        if (d->sources[i].is_part || d->sources[i].is_own)
            error = tsm_dependency_source_join(d, &d->scratch, &d->sources[i]);
    if (!error)
        error = set_clock(d, l->own[END_ALONE], &d->scratch);
    if (!error && !tsm_vector_clock_join(&s->known, &d->budget, &d->scratch))
        error = no_memory();
    return error ? error : set_clock(d, l->own[END_WHOLE], is_late ? &d->scratch : &s->known);
}

static int make_command_edges(struct loose *l, const struct tsm_dependency_thread *t)
{
    const struct tsm_dependency_host_edge hosts[] = {
        {.seq = t->seq,
         .known = &t->known,
         .reason = TSM_DEPENDS_THREAD,
         .is_given = t->is_more,
         .is_begin = t->is_begin},
        {.seq = l->d->barrier.seq, .known = &l->d->barrier.known, .reason = TSM_DEPENDS_UNKNOWN}};

    return tsm_dependency_edges_make(l->d, l->call->record->seq, hosts,
                                     sizeof(hosts) / sizeof(hosts[0]));
}

/* Notes that the thread has waited for its own command, and all before it. */
static int teach_command(struct tsm_dependencies *d, struct tsm_dependency_thread *t,
                         const struct sbt_record *record, const struct tsm_dependency_stream *s)
{
    const int error = tsm_dependency_teach(d, t, record, &s->known, false);

    return error || tsm_vector_clock_add(&t->known, &d->budget, record->stream, record->position)
               ? error
               : no_memory();
}

/* A command whose record came late has no place in the order of its stream. */
static int note_command(struct loose *l)
{
    struct tsm_dependencies *d = l->d;
    const struct sbt_record *record = l->call->record;
    struct tsm_dependency_thread *t = tsm_dependency_thread_of(d, record->thread);
    struct tsm_dependency_stream *s = tsm_dependency_stream_of(d, record->stream);
    const bool is_unknown = tsm_dependency_is_unknown(record, l->call->schema),
               is_late = s && s->position && record->position <= s->position;
    struct tsm_submit_ends ends = {NULL, NULL};
    int error;

    if (!t || !s)
        return no_memory();
    s->is_loose = true;
    error = tsm_dependency_stream_enter(d, s, l->call->owner);
    if (!error)
        error = note_objects(l);
    if (!error && (l->is_in_turn || is_unknown) && !is_late)
        error = tsm_dependency_source_last(d, s, record, TSM_DEPENDS_STREAM);
    if (!error && is_unknown)
        error = tsm_dependency_source_all(d, 0, s->number, &s->known, record, TSM_DEPENDS_UNKNOWN,
                                          &d->barrier.activity);
    if (!error)
        error = note_barriers(l, is_late);
    if (!error)
        error = make_command_edges(l, t);
    if (!error && l->is_submit) {
        ends = (struct tsm_submit_ends){use_end(l, END_WHOLE), use_end(l, END_ALONE)};
        error = ends.whole && ends.alone ? 0 : no_memory();
    }
    if (!error)
        error = keep_ends(l, s, is_late);
    error = add_submit(l, ends, error);
    if (!error && !is_late)
        error = tsm_dependency_stream_advance(d, s, record);
    if (!error && is_unknown)
        error = tsm_dependency_barrier_remember(d, record);
    return error || !l->call->is_wait || is_late ? error : teach_command(d, t, record, s);
}

/* ---- the host ---------------------------------------------------------------------------------
 */

/* Notes a wait for a stream, for all of a device, or for objects; and calls that tell of objects
 * otherwise. */
static int note_host(struct loose *l)
{
    struct tsm_dependencies *d = l->d;
    const struct sbt_record *record = l->call->record;
    const bool is_wait = l->call->schema->kind == SBT_KIND_SYNC;
    struct tsm_dependency_thread *t = tsm_dependency_thread_of(d, record->thread);
    const struct tsm_dependency_stream *s = is_wait && record->stream != SBT_STREAM_NONE
                                                ? tsm_dependency_stream_of(d, record->stream)
                                                : NULL;
    int error = note_objects(l);

    if (!error)
        error = note_barriers(l, false);
    if (!t || (!s && is_wait && record->stream != SBT_STREAM_NONE))
        return no_memory();
    if (!error && s)
        error = tsm_dependency_source_last(d, s, record, TSM_DEPENDS_HOST);
    else if (!error && is_wait && tsm_work_waits_for_all(l->call))
        error = tsm_dependency_source_owned(d, t, l->call->owner, record);
    if (error || (!is_wait && !d->source_count && !l->is_opening))
        return error;
    return tsm_dependency_wait_finish(d, record);
}

/* ---- all --------------------------------------------------------------------------------------
 */

int tsm_dependency_loose_note(struct tsm_dependencies *d, const struct tsm_call_node *call)
{
    struct snapshot *used[SOURCES_MAX];
    uint16_t whole[SOURCES_MAX];
    struct loose l = {.d = d, .call = call, .used = used, .whole = whole};
    int error;

    d->is_node = call->is_command && call->record->position;
    if (d->is_node)
        error = note_command(&l);
    else if (call->record->flags & SBT_RECORD_TAINTS && call->schema->kind != SBT_KIND_SYNC)
        error = tsm_dependency_unknown_note(d, call->record);
    else
        error = note_host(&l);
    for (size_t i = 0; i < l.used_count; i++)
        drop_snapshot(d, l.used[i]);
    for (size_t i = 0; i < END_COUNT; i++)
        drop_snapshot(d, l.own[i]);
    return error;
}

int tsm_dependency_loose_note_core(struct tsm_dependencies *d, const struct sbt_record *record)
{
    struct loose l = {.d = d};
    const struct tsm_object_visitor visitor = {.user = &l, .dropped = link_dropped};

    return tsm_objects_note_state(&d->objects, record, &visitor);
}

void tsm_dependency_loose_lost(struct tsm_dependencies *d)
{
    if (d->recorded)
        tsm_barrier_edges_lost(d->recorded);
}

void tsm_dependency_loose_finish(struct tsm_dependencies *d)
{
    struct loose l = {.d = d};
    const struct tsm_object_visitor visitor = {.user = &l, .dropped = link_dropped};

    tsm_objects_finish(&d->objects, &visitor);
    if (d->recorded)
        tsm_barrier_edges_finish(d->recorded);
    free(d->recorded);
}
