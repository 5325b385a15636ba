/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/dependencies/sources.h"

#include "api/traits.h"
#include "base/array.h"
#include "tracesmith/error.h"

#include <stdlib.h>

static int no_memory(void)
{
    return tsm_fail(TSM_E_MEMORY, "no memory for dependencies");
}

/* ---- what a record depends on -----------------------------------------------------------------
 */

int tsm_dependency_source_add(struct tsm_dependencies *d,
                              const struct tsm_dependency_source *source)
{
    if (!source->seq && !source->position)
        return 0;
    return TSM_ARRAY_PUSH(d->sources, d->source_count, d->source_capacity, *source) ? 0
                                                                                    : no_memory();
}

int tsm_dependency_source_last(struct tsm_dependencies *d, const struct tsm_dependency_stream *s,
                               const struct sbt_record *record, enum tsm_dependency_reason reason)
{
    return s->position && (reason == TSM_DEPENDS_STREAM ||
                           tsm_dependency_is_before(s->sender, s->returned_ns, record))
               ? tsm_dependency_source_add(d,
                                           &(struct tsm_dependency_source){.seq = s->seq,
                                                                           .position = s->position,
                                                                           .stream = s->number,
                                                                           .reason = reason,
                                                                           .known = &s->known})
               : 0;
}

int tsm_dependency_source_all(struct tsm_dependencies *d, uint64_t owner, uint32_t self,
                              const struct tsm_vector_clock *known, const struct sbt_record *record,
                              enum tsm_dependency_reason reason, uint64_t *activity)
{
    uint64_t done = d->activity;
    int error = 0;

    for (size_t place = d->latest; place && !error; place = d->streams[place - 1].earlier) {
        const struct tsm_dependency_stream *s = &d->streams[place - 1];

        if (s->activity <= *activity)
            break;
        if (s->number == self || (owner && d->owners[s->owner - 1].key != owner) ||
            tsm_vector_clock_has(known, s->number, s->position))
            continue;
        if (!tsm_dependency_is_before(s->sender, s->returned_ns, record) && s->activity <= done)
            done = s->activity - 1;
        error = tsm_dependency_source_last(d, s, record, reason);
    }
    *activity = done;
    return error;
}

/* ---- edges ------------------------------------------------------------------------------------
 */

int tsm_dependency_edge_add(struct tsm_dependencies *d, const struct tsm_dependency *edge)
{
    return TSM_ARRAY_PUSH(d->found, d->found_count, d->found_capacity, *edge) ? 0 : no_memory();
}

/* Returns the position up to which all commands of its stream have ended when the source has; 0: no
 * more than its clock knows. */
static uint64_t ended_until(const struct tsm_dependency_source *s)
{
    if (s->is_alone && !tsm_vector_clock_has(s->known, s->stream, s->position - 1))
        return 0;
    return s->position - (s->is_begin && s->position);
}

int tsm_dependency_source_join(struct tsm_dependencies *d, struct tsm_vector_clock *known,
                               const struct tsm_dependency_source *source)
{
    const uint64_t until = ended_until(source);

    return tsm_vector_clock_join(known, &d->budget, source->known) &&
                   (!until || tsm_vector_clock_add(known, &d->budget, source->stream, until))
               ? 0
               : no_memory();
}

/* Tests whether what a source says holds for all of the record, and what comes behind it. */
static bool says_more(const struct tsm_dependency_source *s)
{
    return !s->is_part && !s->is_own;
}

/* Tests whether all that `known` has is in the scratch clock or among the sources. */
static bool is_covered(const struct tsm_dependencies *d, const struct tsm_vector_clock *known)
{
    for (size_t i = 0; i < known->count; i++) {
        const struct tsm_vector_clock_entry *e = &known->list[i];
        bool found = tsm_vector_clock_has(&d->scratch, e->stream, e->position);

        for (size_t k = 0; k < d->source_count && !found; k++)
            found = d->sources[k].stream == e->stream && says_more(&d->sources[k]) &&
                    ended_until(&d->sources[k]) >= e->position;
        if (!found)
            return false;
    }
    return true;
}

static int add_host_edge(struct tsm_dependencies *d, uint64_t to,
                         const struct tsm_dependency_host_edge *host)
{
    const bool is_redundant = host->is_known || (!host->is_given && is_covered(d, host->known));
    int error;

    if (!host->seq)
        return 0;
    error = tsm_dependency_edge_add(d, &(struct tsm_dependency){.from = host->seq,
                                                                .to = to,
                                                                .reason = host->reason,
                                                                .is_begin = host->is_begin,
                                                                .is_redundant = is_redundant});
    if (error || is_redundant)
        return error;
    return tsm_vector_clock_join(&d->scratch, &d->budget, host->known) ? 0 : no_memory();
}

/* Tests whether `other` says as much as `s`. Of two that say the same the first stays. */
static bool says_as_much(const struct tsm_dependency_source *other,
                         const struct tsm_dependency_source *s)
{
    if (other == s || other->stream != s->stream || (other->is_part && !s->is_part) ||
        (other->is_own && !s->is_own))
        return false;
    if (other->position == s->position && other->is_alone == s->is_alone &&
        other->is_begin == s->is_begin && other->is_part == s->is_part &&
        other->is_own == s->is_own)
        return other < s;
    return ended_until(other) >= s->position ||
           (other->position == s->position && s->is_alone && s->is_begin);
}

/* Tests whether the other sources say as much. One that has no object is the last of its stream:
 * only those that have one, and barriers, can be behind another source on that one's own stream. */
static bool is_source_redundant(const struct tsm_dependencies *d,
                                const struct tsm_dependency_source *s)
{
    const bool has_others = s->object || s->reason == TSM_DEPENDS_BARRIER;
    bool found = tsm_vector_clock_has(&d->scratch, s->stream, s->position);

    for (size_t i = 0; has_others && i < d->source_count && !found; i++)
        found = says_as_much(&d->sources[i], s);
    return found;
}

static int add_source_edges(struct tsm_dependencies *d, uint64_t to)
{
    int error = 0;

    for (size_t i = 0; i < d->source_count && !error; i++) {
        const struct tsm_dependency_source *s = &d->sources[i];

        error = tsm_dependency_edge_add(
            d, &(struct tsm_dependency){.from = s->seq,
                                        .to = to,
                                        .object = s->object,
                                        .reason = s->reason,
                                        .is_begin = s->is_begin,
                                        .is_alone = s->is_alone,
                                        .is_part = s->is_part,
                                        .is_redundant = is_source_redundant(d, s)});
    }
    return error;
}

int tsm_dependency_edges_make(struct tsm_dependencies *d, uint64_t to,
                              const struct tsm_dependency_host_edge *hosts, size_t host_count)
{
    int error = 0;
    bool ok = true;

    tsm_vector_clock_empty(&d->scratch, &d->budget);
    for (size_t i = 0; i < d->source_count && ok; i++)
        ok = !says_more(&d->sources[i]) ||
             tsm_vector_clock_join(&d->scratch, &d->budget, d->sources[i].known);
    for (size_t i = 0; i < host_count && ok && !error; i++)
        error = add_host_edge(d, to, &hosts[i]);
    if (ok && !error)
        error = add_source_edges(d, to);
    for (size_t i = 0; i < d->source_count && ok && !error; i++)
        if (says_more(&d->sources[i]))
            error = tsm_dependency_source_join(d, &d->scratch, &d->sources[i]);
    for (size_t i = 0; i < host_count && ok; i++)
        if (hosts[i].seq && !hosts[i].is_known)
            ok = tsm_vector_clock_join(&d->scratch, &d->budget, hosts[i].known);
    return error || ok ? error : no_memory();
}

/* ---- the host ---------------------------------------------------------------------------------
 */

int tsm_dependency_teach(struct tsm_dependencies *d, struct tsm_dependency_thread *t,
                         const struct sbt_record *record, const struct tsm_vector_clock *known,
                         bool is_begin)
{
    t->seq = record->seq;
    t->returned_ns = record->time_ns + record->duration_ns;
    t->is_begin = is_begin;
    t->version++;
    return tsm_vector_clock_join(&t->known, &d->budget, known) ? 0 : no_memory();
}

bool tsm_dependency_is_unknown(const struct sbt_record *record, const struct sbt_schema *schema)
{
    return record->flags & SBT_RECORD_TAINTS ||
           (record->flags & SBT_RECORD_ORDERED &&
            !(tsm_call_traits(schema).traits & (TSM_TRAIT_GATHERS | TSM_TRAIT_SPREADS)));
}

int tsm_dependency_barrier_remember(struct tsm_dependencies *d, const struct sbt_record *record)
{
    d->barrier.seq = record->seq;
    d->barrier.version++;
    return tsm_vector_clock_join(&d->barrier.known, &d->budget, &d->scratch) &&
                   (record->stream == SBT_STREAM_NONE ||
                    tsm_vector_clock_add(&d->barrier.known, &d->budget, record->stream,
                                         record->position))
               ? 0
               : no_memory();
}

int tsm_dependency_wait_finish(struct tsm_dependencies *d, const struct sbt_record *record)
{
    struct tsm_dependency_thread *t = tsm_dependency_thread_of(d, record->thread);
    struct tsm_dependency_host_edge before = {.reason = TSM_DEPENDS_THREAD, .is_given = true};
    int error;

    if (!t)
        return no_memory();
    before.seq = t->seq;
    before.known = &t->known;
    before.is_begin = t->is_begin;
    d->is_node = true;
    for (size_t i = 0; i < d->source_count; i++)
        t->is_more |= ended_until(&d->sources[i]) < d->sources[i].position;
    error = tsm_dependency_edges_make(d, record->seq, &before, 1);
    return error ? error : tsm_dependency_teach(d, t, record, &d->scratch, false);
}

int tsm_dependency_source_owned(struct tsm_dependencies *d, struct tsm_dependency_thread *t,
                                uint64_t owner, const struct sbt_record *record)
{
    uint64_t activity = !t->owner || t->owner == owner ? t->activity : 0;
    const int error = tsm_dependency_source_all(d, owner, SBT_STREAM_NONE, &t->known, record,
                                                TSM_DEPENDS_HOST, &activity);

    t->owner = owner;
    t->activity = activity;
    return error;
}

int tsm_dependency_unknown_note(struct tsm_dependencies *d, const struct sbt_record *record)
{
    const struct tsm_dependency_host_edge before = {.seq = d->barrier.seq,
                                                    .known = &d->barrier.known,
                                                    .reason = TSM_DEPENDS_UNKNOWN,
                                                    .is_given = true};
    int error;

    d->is_node = true;
    error = tsm_dependency_source_all(d, 0, SBT_STREAM_NONE, &d->barrier.known, record,
                                      TSM_DEPENDS_UNKNOWN, &d->barrier.activity);
    if (!error)
        error = tsm_dependency_edges_make(d, record->seq, &before, 1);
    return error ? error : tsm_dependency_barrier_remember(d, record);
}
