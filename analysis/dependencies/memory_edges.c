/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/dependencies/memory_edges.h"

#include "base/array.h"
#include "tracesmith/error.h"

#include <stdlib.h>

#define PIECES_MAX  64u   /* allocations that one range goes through: with more it is unknown */
#define STREAMS_MAX 1024u /* of a context, that what may do anything conflicts with */

/* Streams of one context. */
struct tsm_memory_owner {
    uint64_t key;
    /* Commands that came last on each stream, and are not known to be over: */
    struct tsm_stream_access *recent, *unknown;
    size_t recent_count, recent_capacity, unknown_count, unknown_capacity;
};

static int no_memory(void)
{
    return tsm_fail(TSM_E_MEMORY, "no memory for edges of memory");
}

/* One record that is noted. */
struct noting {
    struct tsm_memory_edges *m;
    const struct sbt_record *record;
    struct tsm_memory_owner *owner; /* NULL: the host's */
    const struct tsm_access *access;
    bool is_command;
    bool is_beside_unknown; /* what may do anything is not known to be over */
    uint64_t clean_seq;     /* all bytes were written after this record and its like */
};

/* ---- edges ------------------------------------------------------------------------------------
 */

/* Returns the place for the last edge from a record for a reason: `edge` is that one's number + 1.
 */
static struct tsm_memory_slot *slot_of(struct tsm_memory_edges *m, uint64_t from, uint32_t reason)
{
    const size_t count = sizeof(m->slots) / sizeof(m->slots[0]);
    size_t at = (size_t)tsm_map_hash(from * TSM_DEPENDS_COUNT + reason) % count;

    while (m->slots[at].round == m->round &&
           (m->slots[at].from != from || m->slots[at].reason != reason))
        at = (at + 1) % count;
    if (m->slots[at].round != m->round)
        m->slots[at] = (struct tsm_memory_slot){m->round, from, reason, 0};
    return &m->slots[at];
}

/* Makes an edge longer if the new one goes on where it ends. */
static bool extend(struct tsm_dependency *edge, const struct tsm_dependency *by)
{
    if (edge->access != by->access || edge->is_partial != by->is_partial ||
        edge->object != by->object || !by->size || by->start - edge->start != edge->size)
        return false;
    edge->size += by->size;
    return true;
}

/* Half of the slots at most are taken. */
static int add_edge(struct tsm_memory_edges *m, const struct tsm_dependency *edge)
{
    struct tsm_memory_slot *slot;

    if (m->found_count == TSM_MEMORY_EDGES_MAX) {
        m->left_out++;
        return 0;
    }
    slot = slot_of(m, edge->from, edge->reason);
    if (slot->edge && extend(&m->found[slot->edge - 1], edge))
        return 0;
    if (!TSM_ARRAY_PUSH(m->found, m->found_count, m->found_capacity, *edge))
        return no_memory();
    slot->edge = (uint32_t)m->found_count;
    return 0;
}

/* Records of the host are where it wrote. Where it may have written beside a command, that is
 * complete by then. */
static bool is_over(const struct noting *n, uint32_t stream, uint64_t position)
{
    return !position || (!n->is_command && n->record->flags & SBT_RECORD_HELD) ||
           tsm_dependencies_is_over(n->m->order, n->record, n->is_command, stream, position);
}

/* Reads of the host in a call are of bytes that it got by one that had returned. */
static bool is_entry_over(void *user, const struct tsm_history_entry *entry)
{
    const struct noting *n = user;

    return entry->is_in_call || (n->access->is_in_call && n->access->reads) ||
           is_over(n, entry->stream, entry->position);
}

static enum tsm_dependency_reason reason_of(const struct tsm_history_entry *from,
                                            const struct tsm_access *to)
{
    return from->writes && to->reads ? TSM_DEPENDS_READ_AFTER_WRITE
           : from->writes            ? TSM_DEPENDS_WRITE_AFTER_WRITE
                                     : TSM_DEPENDS_WRITE_AFTER_READ;
}

static int add_conflict(void *user, const struct tsm_history_entry *entry,
                        const struct tsm_history_segment *where)
{
    struct noting *n = user;
    const struct tsm_access *access = n->access;
    const bool ordered = is_entry_over(n, entry);
    enum tsm_access_kind kind = where->is_joined ? TSM_ACCESS_REACHABLE : TSM_ACCESS_DECLARED;
    struct tsm_dependency edge = {.from = entry->seq,
                                  .to = n->record->seq,
                                  .reason = reason_of(entry, access),
                                  .is_redundant = ordered,
                                  .is_unordered = !ordered,
                                  .is_partial = !tsm_access_is_exact(access->kind)};

    /* Both are the program's: that matters only where something of the first may be left. */
    if (!entry->position && !n->is_command && !edge.is_partial)
        return 0;
    if (kind < access->kind)
        kind = access->kind;
    edge.access = (uint8_t)(kind < entry->kind ? entry->kind : kind);
    if (access->is_object) {
        edge.object = where->first & TSM_ACCESS_ID_MASK;
    } else {
        edge.start = where->first;
        edge.size = where->last - where->first + 1;
    }
    return add_edge(n->m, &edge);
}

/* ---- places of accesses -----------------------------------------------------------------------
 */

/* NULL: out of memory. */
static struct tsm_history *region_of(struct tsm_memory_edges *m, uint64_t start)
{
    bool added;
    uint64_t *place = tsm_map_insert(&m->region_places, start, &added);

    if (!place)
        return NULL;
    if (!*place && m->unused_count)
        *place = m->unused[--m->unused_count] + 1;
    else if (!*place && TSM_ARRAY_PUSH(m->regions, m->region_count, m->region_capacity,
                                       (struct tsm_history){0}))
        *place = m->region_count;
    return *place ? &m->regions[*place - 1] : NULL;
}

static int add_piece(struct noting *n, struct tsm_history *h, uint64_t first, uint64_t last,
                     bool is_whole)
{
    struct tsm_history_visit visit = {
        .user = n,
        .found = add_conflict,
        .is_over = is_entry_over,
        .entry = {.seq = n->record->seq,
                  .position = n->is_command ? n->record->position : 0,
                  .stream = n->is_command ? n->record->stream : SBT_STREAM_NONE,
                  .kind = (uint8_t)n->access->kind,
                  .covered = UINT8_MAX,
                  .reads = n->access->reads,
                  .writes = n->access->writes,
                  .is_in_call = n->access->is_in_call},
        .is_whole = is_whole,
        .is_passing = n->access->is_in_call && n->access->reads,
        .is_beside_unknown = n->is_beside_unknown,
        .clean_seq = n->clean_seq};
    const int error = h ? tsm_history_add(h, &n->m->budget, first, last, &visit) : no_memory();

    n->clean_seq = visit.clean_seq;
    return error;
}

/* Returns 1 where the range goes through too many allocations. */
static int add_range(struct noting *n, uint64_t first, uint64_t last)
{
    for (unsigned i = 0; i < PIECES_MAX; i++) {
        const struct tsm_allocation *at =
            n->m->memory ? tsm_memory_find(n->m->memory, first) : NULL;
        const bool is_in = at && at->start <= first;
        uint64_t until = is_in ? at->start + (at->size - 1) : at ? at->start - 1 : last;
        int error;

        if (until > last)
            until = last;
        error = add_piece(n, is_in ? region_of(n->m, at->start) : &n->m->elsewhere, first, until,
                          is_in && first == at->start && until - first == at->size - 1);
        if (error || until == last)
            return error;
        first = until + 1;
    }
    return 1;
}

static int add_access(struct noting *n, const struct tsm_access *access)
{
    const uint64_t room = UINT64_MAX - access->start;

    n->access = access;
    if (access->is_object)
        return add_piece(n, &n->m->objects, access->start, access->start, false);
    return add_range(n, access->start,
                     access->start + (access->size - 1 < room ? access->size - 1 : room));
}

/* ---- what may do anything ---------------------------------------------------------------------
 */

/* NULL: out of memory. */
static struct tsm_memory_owner *owner_of(struct tsm_memory_edges *m, uint64_t key)
{
    bool added;
    uint64_t *place = tsm_map_insert(&m->owner_places, key, &added);

    if (!place)
        return NULL;
    if (!*place) {
        if (!TSM_ARRAY_PUSH(m->owners, m->owner_count, m->owner_capacity,
                            (struct tsm_memory_owner){.key = key}))
            return NULL;
        *place = m->owner_count;
    }
    return &m->owners[*place - 1];
}

static int add_unknown_edges(struct noting *n, const struct tsm_stream_access *list, size_t count,
                             enum tsm_dependency_reason reason, uint64_t after_seq)
{
    int error = 0;

    for (size_t i = 0; i < count && !error; i++) {
        const bool ordered = is_over(n, list[i].stream, list[i].position);

        if (list[i].seq <= after_seq || list[i].seq == n->record->seq)
            continue;
        error = add_edge(n->m, &(struct tsm_dependency){.from = list[i].seq,
                                                        .to = n->record->seq,
                                                        .reason = reason,
                                                        .is_redundant = ordered,
                                                        .is_unordered = !ordered,
                                                        .is_partial = true,
                                                        .access = TSM_ACCESS_UNKNOWN});
    }
    return error;
}

static bool is_beside_unknown(const struct noting *n)
{
    const struct tsm_memory_owner *o = n->owner;
    bool found = false;

    for (size_t i = 0; i < o->unknown_count && !found; i++)
        found = !is_over(n, o->unknown[i].stream, o->unknown[i].position);
    return found;
}

/* Takes those out that were over before. */
static void forget_over(const struct noting *n, struct tsm_stream_access *list, size_t *count)
{
    size_t left = 0;

    for (size_t i = 0; i < *count; i++)
        if (!is_over(n, list[i].stream, list[i].position))
            list[left++] = list[i];
    *count = left;
}

/* Puts the record at the end, in place of what its stream had there. */
static int remember(struct noting *n, struct tsm_stream_access **list, size_t *count,
                    size_t *capacity)
{
    const struct tsm_stream_access last = {n->record->seq, n->record->position, n->record->stream};

    for (size_t i = *count; i-- > 0;)
        if ((*list)[i].stream == last.stream) {
            (*list)[i] = last;
            return 0;
        }
    if (*count == STREAMS_MAX) {
        TSM_ARRAY_REMOVE(*list, *count, 0);
        n->m->left_out++;
    }
    return TSM_ARRAY_PUSH(*list, *count, *capacity, last) ? 0 : no_memory();
}

static int note_unknown(struct noting *n)
{
    struct tsm_memory_owner *o = n->owner;
    int error;

    error = add_unknown_edges(n, o->unknown, o->unknown_count, TSM_DEPENDS_READ_AFTER_WRITE, 0);
    if (!error)
        error = add_unknown_edges(n, o->recent, o->recent_count, TSM_DEPENDS_READ_AFTER_WRITE, 0);
    forget_over(n, o->recent, &o->recent_count);
    forget_over(n, o->unknown, &o->unknown_count);
    return error ? error : remember(n, &o->unknown, &o->unknown_count, &o->unknown_capacity);
}

/* ---- records ----------------------------------------------------------------------------------
 */

static void begin(struct tsm_memory_edges *m)
{
    m->found_count = 0;
    m->round++;
}

/* Adds all accesses, reads first: a write covers what they are to find. Returns 1 if one of them
 * cannot be told: then it may be anything. */
static int add_accesses(struct noting *n, bool *reads)
{
    const struct tsm_accesses *a = &n->m->accesses;
    int error = 0;

    for (size_t i = 0; i < a->count && !error; i++) {
        *reads |= a->list[i].reads;
        error = a->list[i].reads ? add_access(n, &a->list[i]) : 0;
    }
    for (size_t i = 0; i < a->count && !error; i++)
        error = a->list[i].reads ? 0 : add_access(n, &a->list[i]);
    return error;
}

/* Positions of a stream ascend; of a record that came late this does not hold. */
static int note_position(struct noting *n, bool *is_late)
{
    bool added;
    uint64_t *last = tsm_map_insert(&n->m->last_positions, n->record->stream, &added);

    if (!last)
        return no_memory();
    *is_late = n->record->position <= *last;
    if (!*is_late)
        *last = n->record->position;
    return 0;
}

static int note_command(struct noting *n)
{
    struct tsm_memory_edges *m = n->m;
    struct tsm_memory_owner *o = n->owner;
    bool reads = false, is_late = false;
    int error = note_position(n, &is_late);

    if (error || is_late || (!m->accesses.count && !m->accesses.is_unknown)) {
        m->left_out += is_late;
        return error;
    }
    n->is_beside_unknown = is_beside_unknown(n);
    if (!m->accesses.is_unknown)
        error = add_accesses(n, &reads);
    if (error == 1)
        m->accesses.is_unknown = true;
    if (m->accesses.is_unknown)
        return note_unknown(n);
    if (!error)
        error = add_unknown_edges(
            n, o->unknown, o->unknown_count,
            reads ? TSM_DEPENDS_READ_AFTER_WRITE : TSM_DEPENDS_WRITE_AFTER_WRITE, n->clean_seq);
    return error ? error : remember(n, &o->recent, &o->recent_count, &o->recent_capacity);
}

int tsm_memory_edges_note(struct tsm_memory_edges *m, struct sbt_reader *reader,
                          const struct tsm_call_node *call)
{
    struct noting n = {.m = m, .record = call->record, .is_command = true, .clean_seq = UINT64_MAX};
    int error;

    begin(m);
    m->memory = call->memory;
    error = tsm_accesses_note(&m->accesses, reader, call);
    if (error || !m->order->is_node || !call->is_command)
        return error;
    n.owner = owner_of(m, call->owner);
    return n.owner ? note_command(&n) : no_memory();
}

int tsm_memory_edges_note_core(struct tsm_memory_edges *m, const struct sbt_record *record)
{
    struct noting n = {
        .m = m, .record = record, .is_beside_unknown = true, .clean_seq = UINT64_MAX};
    bool reads = false;
    int error;

    begin(m);
    error = tsm_accesses_note_core(&m->accesses, record);
    if (!error)
        error = add_accesses(&n, &reads);
    return error == 1 ? 0 : error; /* the program writes into no more than one */
}

void tsm_memory_edges_change(struct tsm_memory_edges *m, const struct tsm_memory_node *change)
{
    const uint64_t place = tsm_map_get(&m->region_places, change->address, 0);

    tsm_accesses_free(&m->accesses, change);
    if (!place)
        return;
    tsm_history_finish(&m->regions[place - 1], &m->budget);
    if (TSM_ARRAY_PUSH(m->unused, m->unused_count, m->unused_capacity, (size_t)place - 1))
        tsm_map_remove(&m->region_places, change->address);
}

void tsm_memory_edges_finish(struct tsm_memory_edges *m)
{
    for (size_t i = 0; i < m->region_count; i++)
        tsm_history_finish(&m->regions[i], &m->budget);
    for (size_t i = 0; i < m->owner_count; i++) {
        free(m->owners[i].recent);
        free(m->owners[i].unknown);
    }
    tsm_history_finish(&m->elsewhere, &m->budget);
    tsm_history_finish(&m->objects, &m->budget);
    tsm_accesses_finish(&m->accesses);
    tsm_map_finish(&m->region_places);
    tsm_map_finish(&m->owner_places);
    tsm_map_finish(&m->last_positions);
    free(m->found);
    free(m->regions);
    free(m->unused);
    free(m->owners);
}
