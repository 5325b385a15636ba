/* SPDX-License-Identifier: Apache-2.0 */
#include "emu/cuda/graph/capture.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "emu/cuda/core/context.h"
#include "emu/cuda/core/emu.h"
#include "emu/cuda/core/object.h"
#include "emu/cuda/graph/capture_state.h"
#include "emu/cuda/graph/graph.h"
#include "emu/cuda/stream/stream.h"

struct emu_captured {
    struct emu_capture *capture;
    struct emu_edges after;
};

pthread_mutex_t emu_captures_lock = PTHREAD_MUTEX_INITIALIZER;
struct emu_capture *emu_captures;
static atomic_uint running; /* how many, for a quick look */
static _Thread_local CUstreamCaptureMode thread_mode;

static void unref(struct emu_capture *capture)
{
    if (--capture->references)
        return;
    free(capture->streams);
    free(capture->told);
    free(capture->told_data);
    free(capture);
}

static CUresult break_capture(struct emu_capture *capture, CUresult why)
{
    capture->is_broken = true;
    return why;
}

/* ---- what is asked from elsewhere ---- */

bool emu_stream_is_capturing(CUstream stream)
{
    if (!atomic_load(&running))
        return false;
    pthread_mutex_lock(&emu_captures_lock);
    bool is = stream->capture != NULL;
    pthread_mutex_unlock(&emu_captures_lock);
    return is;
}

CUresult emu_capture_check_legacy(CUstream stream)
{
    CUresult result = CUDA_SUCCESS;

    if (!stream->is_legacy || !atomic_load(&running))
        return CUDA_SUCCESS;
    pthread_mutex_lock(&emu_captures_lock);
    for (struct emu_capture *c = emu_captures; c; c = c->next)
        for (size_t i = 0; i < c->stream_count; i++)
            if (c->streams[i]->context == stream->context &&
                !(c->streams[i]->flags & CU_STREAM_NON_BLOCKING))
                result = break_capture(c, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    pthread_mutex_unlock(&emu_captures_lock);
    return result;
}

/* Does the calling thread's mode forbid unsafe calls because of this capture? */
static bool is_in_the_way(const struct emu_capture *c)
{
    if (thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED || c->mode == CU_STREAM_CAPTURE_MODE_RELAXED)
        return false;
    return c->thread == emu_thread_number() || (thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
                                                c->mode == CU_STREAM_CAPTURE_MODE_GLOBAL);
}

CUresult emu_capture_unsafe(void)
{
    CUresult result = CUDA_SUCCESS;

    if (!atomic_load(&running))
        return CUDA_SUCCESS;
    pthread_mutex_lock(&emu_captures_lock);
    for (struct emu_capture *c = emu_captures; c; c = c->next)
        if (is_in_the_way(c))
            result = break_capture(c, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    pthread_mutex_unlock(&emu_captures_lock);
    return result;
}

CUresult emu_capture_forbid(CUstream stream)
{
    CUresult result = CUDA_SUCCESS;

    if (!atomic_load(&running))
        return CUDA_SUCCESS;
    pthread_mutex_lock(&emu_captures_lock);
    if (stream->capture)
        result = break_capture(stream->capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    pthread_mutex_unlock(&emu_captures_lock);
    if (!result)
        result = emu_capture_unsafe();
    return result ? result : emu_capture_check_legacy(stream);
}

/* ---- nodes ---- */

/* After the stream's place; from then on the stream's place itself. */
static CUresult add_node(CUgraphNode *out, CUstream stream, CUgraphNodeType type,
                         struct emu_command *command)
{
    struct emu_edges *after = stream->captured;
    size_t count = after->count;
    CUgraphNode *nodes = calloc(count + 1, sizeof(CUgraphNode));
    CUgraphEdgeData *data = calloc(count + 1, sizeof(*data));
    CUresult result = CUDA_ERROR_OUT_OF_MEMORY;

    for (size_t i = 0; i < count && nodes && data; i++) {
        nodes[i] = after->items[i].node;
        data[i] = after->items[i].data;
    }
    if (nodes && data)
        result = emu_graph_add(out, stream->capture->graph, type, command, nodes, data, count);
    else
        emu_command_unref(command);
    if (!result) {
        after->count = 0;
        result = emu_edges_add(after, *out, NULL) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    }
    free(nodes);
    free(data);
    return result;
}

CUresult emu_capture_command(CUstream stream, struct emu_command *command, bool wait)
{
    CUresult result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    CUgraphNode node;

    pthread_mutex_lock(&emu_captures_lock);
    if (!stream->capture)
        result = CUDA_ERROR_ILLEGAL_STATE;
    else if (!stream->capture->is_broken && (wait || !command->type->node))
        result = break_capture(stream->capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    else if (!stream->capture->is_broken) {
        emu_command_ref(command);
        result = add_node(&node, stream, (CUgraphNodeType)(command->type->node - 1), command);
    }
    pthread_mutex_unlock(&emu_captures_lock);
    return result;
}

CUresult emu_capture_child(CUstream stream, CUgraph child)
{
    CUresult result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    CUgraphNode node;

    pthread_mutex_lock(&emu_captures_lock);
    if (stream->capture && !stream->capture->is_broken)
        result = add_node(&node, stream, CU_GRAPH_NODE_TYPE_GRAPH, NULL);
    if (!result)
        node->child = child;
    pthread_mutex_unlock(&emu_captures_lock);
    if (result)
        emu_graph_destroy(child);
    return result;
}

/* ---- events ---- */

static bool add_all(struct emu_edges *to, const struct emu_edges *from)
{
    bool ok = true;

    for (size_t i = 0; i < from->count; i++)
        ok = emu_edges_add(to, from->items[i].node, &from->items[i].data) && ok;
    return ok;
}

struct emu_captured *emu_capture_snapshot(CUstream stream)
{
    struct emu_captured *captured = calloc(1, sizeof(*captured));

    pthread_mutex_lock(&emu_captures_lock);
    if (captured && stream->capture && add_all(&captured->after, stream->captured)) {
        captured->capture = stream->capture;
        captured->capture->references++;
    } else if (captured) {
        emu_edges_finish(&captured->after);
        free(captured);
        captured = NULL;
    }
    pthread_mutex_unlock(&emu_captures_lock);
    return captured;
}

void emu_captured_destroy(struct emu_captured *captured)
{
    if (!captured)
        return;
    pthread_mutex_lock(&emu_captures_lock);
    unref(captured->capture);
    pthread_mutex_unlock(&emu_captures_lock);
    emu_edges_finish(&captured->after);
    free(captured);
}

static CUresult enlist(struct emu_capture *capture, CUstream stream)
{
    bool has_room = TSM_ARRAY_RESIZE(capture->streams, capture->stream_count + 1);

    stream->captured = calloc(1, sizeof(*stream->captured));
    if (!has_room || !stream->captured)
        return CUDA_ERROR_OUT_OF_MEMORY;
    capture->streams[capture->stream_count++] = stream;
    stream->capture = capture;
    return CUDA_SUCCESS;
}

static CUresult join_locked(CUstream stream, const struct emu_captured *captured)
{
    struct emu_capture *capture = captured->capture;
    CUresult result = CUDA_SUCCESS;

    if (capture->is_over)
        return stream->capture ? break_capture(stream->capture, CUDA_ERROR_STREAM_CAPTURE_ISOLATION)
                               : CUDA_ERROR_CAPTURED_EVENT;
    if (capture->is_broken || (stream->capture && stream->capture->is_broken))
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (stream->capture && stream->capture != capture) {
        break_capture(stream->capture, CUDA_SUCCESS);
        return break_capture(capture, CUDA_ERROR_STREAM_CAPTURE_MERGE);
    }
    if (stream->is_legacy)
        return break_capture(capture, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    if (!stream->capture)
        result = enlist(capture, stream);
    if (!result && !add_all(stream->captured, &captured->after))
        result = CUDA_ERROR_OUT_OF_MEMORY;
    return result;
}

CUresult emu_capture_join(CUstream stream, const struct emu_captured *captured)
{
    pthread_mutex_lock(&emu_captures_lock);
    CUresult result = join_locked(stream, captured);
    pthread_mutex_unlock(&emu_captures_lock);
    return result;
}

CUresult emu_capture_isolated(CUstream stream)
{
    CUresult result = CUDA_SUCCESS;

    pthread_mutex_lock(&emu_captures_lock);
    if (stream->capture)
        result = break_capture(stream->capture, CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
    pthread_mutex_unlock(&emu_captures_lock);
    return result;
}

/* ---- begin and end ---- */

static void leave(CUstream stream)
{
    emu_edges_finish(stream->captured);
    free(stream->captured);
    stream->captured = NULL;
    stream->capture = NULL;
}

static CUresult begin_locked(CUstream stream, CUgraph graph, CUstreamCaptureMode mode)
{
    struct emu_capture *capture = calloc(1, sizeof(*capture));
    CUresult result = CUDA_ERROR_OUT_OF_MEMORY;

    if (!capture)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *capture = (struct emu_capture){.graph = graph ? graph : emu_graph_create(true),
                                    .is_given = graph != NULL,
                                    .origin = stream,
                                    .mode = mode,
                                    .thread = emu_thread_number(),
                                    .id = emu_next_id(),
                                    .references = 1};
    if (capture->graph)
        result = enlist(capture, stream);
    if (result) {
        if (!graph)
            emu_graph_destroy(capture->graph);
        unref(capture);
        return result;
    }
    capture->next = emu_captures;
    emu_captures = capture;
    atomic_fetch_add(&running, 1);
    return CUDA_SUCCESS;
}

static CUresult begin(CUstream handle, CUgraph graph, const CUgraphNode *after,
                      const CUgraphEdgeData *data, size_t count, CUstreamCaptureMode mode,
                      bool per_thread)
{
    CUstream stream;
    CUresult result = emu_stream_enter(&stream, handle, per_thread);

    if (!result && ((unsigned)mode > CU_STREAM_CAPTURE_MODE_RELAXED || (count && !after)))
        result = CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count && !result; i++)
        if (!emu_object_is(EMU_GRAPH_NODE, after[i]) || after[i]->graph != graph)
            result = CUDA_ERROR_INVALID_VALUE;
    if (!result && stream->is_legacy)
        result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (result)
        return result;
    pthread_mutex_lock(&emu_captures_lock);
    result = stream->capture ? CUDA_ERROR_ILLEGAL_STATE : begin_locked(stream, graph, mode);
    for (size_t i = 0; i < count && !result; i++)
        if (!emu_edges_add(stream->captured, after[i], data ? &data[i] : NULL))
            result = CUDA_ERROR_OUT_OF_MEMORY;
    pthread_mutex_unlock(&emu_captures_lock);
    return result;
}

/* Marks the nodes that the first stream has waited for. */
static void mark_joined(const struct emu_capture *c)
{
    const struct emu_edges *end = c->origin->captured;

    for (size_t i = 0; i < c->graph->count; i++)
        c->graph->nodes[i]->mark = 0;
    for (size_t i = 0; i < end->count; i++)
        end->items[i].node->mark = 1;
    /* A captured node depends only on earlier nodes. */
    for (size_t i = c->graph->count; i-- > 0;) {
        const struct emu_edges *before = &c->graph->nodes[i]->before;
        for (size_t k = 0; k < before->count && c->graph->nodes[i]->mark; k++)
            before->items[k].node->mark = 1;
    }
}

static bool is_marked(const struct emu_edges *end)
{
    for (size_t i = 0; i < end->count; i++)
        if (!end->items[i].node->mark)
            return false;
    return true;
}

/* Tests whether the first stream has waited for all that the others did. */
static bool is_joined(const struct emu_capture *c)
{
    mark_joined(c);
    for (size_t s = 0; s < c->stream_count; s++)
        if (!is_marked(c->streams[s]->captured))
            return false;
    return true;
}

/* A stream that the first one has waited for may go. */
static bool may_go(const struct emu_capture *c, CUstream stream)
{
    if (c->origin == stream)
        return false;
    mark_joined(c);
    return is_marked(stream->captured);
}

static void finish_capture(struct emu_capture *capture, bool keeps_graph)
{
    struct emu_capture **at = &emu_captures;

    while (*at != capture)
        at = &(*at)->next;
    *at = capture->next;
    for (size_t i = 0; i < capture->stream_count; i++)
        leave(capture->streams[i]);
    if (!keeps_graph && !capture->is_given)
        emu_graph_destroy(capture->graph);
    capture->graph = NULL;
    capture->is_over = true;
    atomic_fetch_sub(&running, 1);
    unref(capture);
}

void emu_capture_forget(CUstream stream)
{
    if (!atomic_load(&running))
        return;
    pthread_mutex_lock(&emu_captures_lock);
    struct emu_capture *c = stream->capture;
    if (c) {
        bool may = may_go(c, stream);
        for (size_t i = 0; i < c->stream_count; i++)
            if (c->streams[i] == stream)
                c->streams[i] = c->streams[--c->stream_count];
        leave(stream);
        if (!may)
            break_capture(c, CUDA_SUCCESS);
        /* Nothing else could end it. */
        if (c->origin == stream)
            finish_capture(c, false);
    }
    pthread_mutex_unlock(&emu_captures_lock);
}

static CUresult forget(CUstream stream, void *user)
{
    (void)user;
    emu_capture_forget(stream);
    return CUDA_SUCCESS;
}

void emu_context_forget_captures(CUcontext context)
{
    if (atomic_load(&running))
        emu_stream_each(context, forget, NULL);
}

static CUresult end_locked(CUstream stream, CUgraph *out)
{
    struct emu_capture *c = stream->capture;
    CUresult result = CUDA_SUCCESS;

    if (!c)
        return CUDA_ERROR_ILLEGAL_STATE;
    if (c->origin != stream)
        return break_capture(c, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
    if (c->mode != CU_STREAM_CAPTURE_MODE_RELAXED && c->thread != emu_thread_number())
        return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
    if (c->is_broken)
        result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    else if (!is_joined(c))
        result = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
    if (!result) {
        if (out)
            *out = c->graph;
        if (!c->is_given)
            c->graph->is_inner = false;
    }
    finish_capture(c, !result);
    return result;
}

static CUresult end(CUstream handle, CUgraph *out, bool per_thread)
{
    CUstream stream;
    CUresult result = emu_stream_enter(&stream, handle, per_thread);

    if (result)
        return result;
    if (out)
        *out = NULL;
    pthread_mutex_lock(&emu_captures_lock);
    /* A graph that the program gave needs no name. */
    if (!out && !(stream->capture && stream->capture->is_given))
        result = CUDA_ERROR_INVALID_VALUE;
    else
        result = end_locked(stream, out);
    pthread_mutex_unlock(&emu_captures_lock);
    return result;
}

CUresult cuStreamBeginCapture_v2(CUstream hStream, CUstreamCaptureMode mode)
{
    return begin(hStream, NULL, NULL, NULL, 0, mode, false);
}

CUresult cuStreamBeginCapture_v2_ptsz(CUstream hStream, CUstreamCaptureMode mode)
{
    return begin(hStream, NULL, NULL, NULL, 0, mode, true);
}

CUresult cuStreamBeginCapture(CUstream hStream)
{
    return begin(hStream, NULL, NULL, NULL, 0, CU_STREAM_CAPTURE_MODE_GLOBAL, false);
}

CUresult cuStreamBeginCapture_ptsz(CUstream hStream)
{
    return begin(hStream, NULL, NULL, NULL, 0, CU_STREAM_CAPTURE_MODE_GLOBAL, true);
}

CUresult cuStreamBeginCaptureToGraph(CUstream hStream, CUgraph hGraph,
                                     const CUgraphNode *dependencies,
                                     const CUgraphEdgeData *dependencyData, size_t numDependencies,
                                     CUstreamCaptureMode mode)
{
    CUresult result = emu_graph_enter(hGraph);

    return result
               ? result
               : begin(hStream, hGraph, dependencies, dependencyData, numDependencies, mode, false);
}

CUresult cuStreamBeginCaptureToGraph_ptsz(CUstream hStream, CUgraph hGraph,
                                          const CUgraphNode *dependencies,
                                          const CUgraphEdgeData *dependencyData,
                                          size_t numDependencies, CUstreamCaptureMode mode)
{
    CUresult result = emu_graph_enter(hGraph);

    return result
               ? result
               : begin(hStream, hGraph, dependencies, dependencyData, numDependencies, mode, true);
}

CUresult cuStreamEndCapture(CUstream hStream, CUgraph *phGraph)
{
    return end(hStream, phGraph, false);
}

CUresult cuStreamEndCapture_ptsz(CUstream hStream, CUgraph *phGraph)
{
    return end(hStream, phGraph, true);
}

/* ---- the thread's mode ---- */

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
    CUstreamCaptureMode wanted;

    if (!mode || (unsigned)*mode > CU_STREAM_CAPTURE_MODE_RELAXED)
        return emu_refuse(CUDA_ERROR_INVALID_VALUE);
    wanted = *mode;
    *mode = thread_mode;
    thread_mode = wanted;
    return CUDA_SUCCESS;
}
