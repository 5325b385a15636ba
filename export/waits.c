/* SPDX-License-Identifier: Apache-2.0 */
#include "export/waits.h"

#include "base/array.h"
#include "tracesmith/error.h"

#include <stdlib.h>

#define PENDING_MAX 64u /* of one stream: of more waits in a row the first ones are shown */

struct tsm_wait_stream {
    uint64_t work;                 /* seq + 1 of its last command with work; 0: none */
    uint64_t pending[PENDING_MAX]; /* seq of commands that the next one waits for */
    uint32_t pending_count;
};

static struct tsm_wait_stream *find_stream(struct tsm_waits *w, uint32_t stream)
{
    bool added;
    uint64_t *place = tsm_map_insert(&w->places, stream, &added);

    if (!place)
        return NULL;
    if (added) {
        if (!TSM_ARRAY_PUSH(w->streams, w->stream_count, w->stream_capacity,
                            (struct tsm_wait_stream){0}))
            return NULL;
        *place = w->stream_count - 1;
    }
    return &w->streams[*place];
}

/* Edges between streams; what the order of a stream says needs no arrow. */
static bool is_arrow(const struct tsm_dependency *edge)
{
    return edge->reason == TSM_DEPENDS_EVENT || edge->reason == TSM_DEPENDS_DEFAULT ||
           edge->reason == TSM_DEPENDS_SIGNAL || edge->reason == TSM_DEPENDS_BARRIER;
}

static void add_pending(struct tsm_wait_stream *stream, uint64_t seq)
{
    for (uint32_t i = 0; i < stream->pending_count; i++)
        if (stream->pending[i] == seq)
            return;
    if (stream->pending_count < PENDING_MAX)
        stream->pending[stream->pending_count++] = seq;
}

static void add_edges(struct tsm_waits *w, struct tsm_wait_stream *stream, uint64_t seq)
{
    for (size_t i = 0; i < w->dependencies.found_count; i++) {
        const struct tsm_dependency *edge = &w->dependencies.found[i];
        const struct tsm_wait_stand *stand = &w->stands[edge->from % TSM_WAITS_STANDS];

        if (edge->to != seq || !is_arrow(edge))
            continue;
        if (stand->seq != edge->from + 1)
            add_pending(stream, edge->from);
        else if (stand->work)
            add_pending(stream, stand->work - 1);
    }
}

/* Puts an item before `next`; returns its place + 1, 0 where memory is out. */
static size_t add_item(struct tsm_waits *w, uint64_t seq, size_t next)
{
    const struct tsm_wait_item item = {seq, next};
    size_t place = w->unused;

    if (!place)
        return TSM_ARRAY_PUSH(w->list, w->list_count, w->list_capacity, item) ? w->list_count : 0;
    w->unused = w->list[place - 1].next;
    w->list[place - 1] = item;
    return place;
}

/* Gives a command with work what its stream has waited for. */
static bool give_pending(struct tsm_waits *w, struct tsm_wait_stream *stream, uint64_t seq)
{
    size_t first = 0;

    for (uint32_t i = stream->pending_count; i-- > 0;) {
        if (stream->pending[i] == seq)
            continue;
        first = add_item(w, stream->pending[i], first);
        if (!first)
            return false;
    }
    stream->pending_count = 0;
    return !first || tsm_map_set(&w->lists, seq, first);
}

static bool note_command(struct tsm_waits *w, const struct sbt_record *record, bool is_work)
{
    struct tsm_wait_stream *stream = find_stream(w, record->stream);

    if (!w->stands)
        w->stands = calloc(TSM_WAITS_STANDS, sizeof(*w->stands));
    if (!stream || !w->stands)
        return false;
    add_edges(w, stream, record->seq);
    if (!is_work) {
        w->stands[record->seq % TSM_WAITS_STANDS] = (struct tsm_wait_stand){
            record->seq + 1, stream->work            ? stream->work
                             : stream->pending_count ? stream->pending[0] + 1
                                                     : 0};
        return true;
    }
    stream->work = record->seq + 1;
    return give_pending(w, stream, record->seq);
}

int tsm_waits_note(struct tsm_waits *w, const struct tsm_call_node *call, bool is_work)
{
    const int error = tsm_dependencies_note(&w->dependencies, call);

    if (error || !call->is_command || note_command(w, call->record, is_work))
        return error;
    return tsm_fail(TSM_E_MEMORY, "out of memory for what commands waited for");
}

int tsm_waits_note_core(struct tsm_waits *w, const struct sbt_record *record)
{
    return tsm_dependencies_note_core(&w->dependencies, record);
}

bool tsm_waits_take(struct tsm_waits *w, uint64_t seq, uint64_t *out)
{
    uint64_t *place = tsm_map_find(&w->lists, seq);
    struct tsm_wait_item *item;
    size_t at;

    if (!place || !*place)
        return false;
    at = *place;
    item = &w->list[at - 1];
    *out = item->seq;
    *place = item->next;
    if (!item->next)
        tsm_map_remove(&w->lists, seq);
    item->next = w->unused;
    w->unused = at;
    return true;
}

void tsm_waits_finish(struct tsm_waits *w)
{
    tsm_dependencies_finish(&w->dependencies);
    tsm_map_finish(&w->places);
    free(w->stands);
    tsm_map_finish(&w->lists);
    free(w->streams);
    free(w->list);
}
