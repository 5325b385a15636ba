/* SPDX-License-Identifier: Apache-2.0
 *
 * Executable graphs and their launches. A launch is a command of its stream. What it reads from
 * memory of the program is recorded before it, what it writes there is owed like a copy's,
 * functions of the program have places of their own after the launch's, events are signalled by
 * it.
 */
#include "api/cuda/source/graph/node.h"

#include "api/cuda/cuda_hooks.h"
#include "api/cuda/cuda_wrappers.h"
#include "api/cuda/source/encode.h"

#include <sys/mman.h>

/* The `user` of an executable graph's handle; NULL: it concerns the GPU alone. */
struct exec {
    struct cuda_graph_parts parts;
    /* Memory of the program that is tracked for it: shared with other graphs. */
    struct shared {
        uint64_t start, size;
    } * shared;
    size_t shared_count, shared_room;
    /* Values among the arguments of the graph's kernels that may be addresses: each once, sorted.
     */
    uint64_t *words;
    size_t word_count, word_room;
    bool has_words; /* they are those of the parts */
};

static struct tsm_handle *handle_of(CUgraphExec raw)
{
    return tsm_handle_find(SBT_API_CUDA, CUDA_OBJECT_EXEC, CUDA_SLOT(raw));
}

static struct exec *exec_of(CUgraphExec raw)
{
    const struct tsm_handle *handle = handle_of(raw);

    return handle ? handle->user : NULL;
}

/* Each side of a copy that is pageable memory of the program and read by a launch. */
static void each_source(struct exec *exec,
                        void (*visit)(struct exec *exec, const struct tsm_box *source))
{
    for (size_t i = 0; i < exec->parts.count; i++) {
        const struct cuda_graph_part *part = &exec->parts.list[i];
        struct tsm_box src, dst;

        if (part->type != CU_GRAPH_NODE_TYPE_MEMCPY || part->is_disabled)
            continue;
        cuda_copy_sides(&part->copy, &src, &dst);
        if (src.data && cuda_is_pageable(src.data))
            visit(exec, &src);
    }
}

static bool has_functions(const struct exec *exec)
{
    bool has = false;

    for (size_t i = 0; i < exec->parts.count; i++)
        has |= exec->parts.list[i].type == CU_GRAPH_NODE_TYPE_HOST;
    return has;
}

static void unshare(struct shared *shared, size_t count, size_t room)
{
    for (size_t i = 0; i < count; i++)
        tsm_hostmem_unshare(shared[i].start, shared[i].size);
    if (room)
        munmap(shared, room * sizeof(*shared));
}

static void destroy(struct exec *exec)
{
    if (!exec)
        return;
    unshare(exec->shared, exec->shared_count, exec->shared_room);
    cuda_graph_parts_finish(&exec->parts);
    if (exec->word_room)
        munmap(exec->words, exec->word_room * sizeof(*exec->words));
    munmap(exec, sizeof(*exec));
}

/* NULL: not an executable graph of this session, or no memory. */
static struct exec *make(CUgraphExec raw)
{
    struct tsm_handle *handle = handle_of(raw);
    struct exec *exec;

    if (!handle || handle->user)
        return handle ? handle->user : NULL;
    exec = mmap(NULL, sizeof(*exec), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (exec == MAP_FAILED)
        return NULL;
    exec->parts.find_words = cuda_graph_arguments;
    exec->parts.find_bodies = cuda_graph_bodies;
    handle->user = exec;
    return exec;
}

/* ---- what an executable graph is made of -------------------------------------------------- */

static void share(struct exec *exec, const struct tsm_box *source)
{
    struct shared shared = {CUDA_SLOT(source->data), tsm_box_extent(source)};

    if (exec->shared_count < exec->shared_room && tsm_hostmem_share(shared.start, shared.size))
        exec->shared[exec->shared_count++] = shared;
}

/* Tracks what the parts read now, and no longer what they read before. */
static bool share_sources(struct exec *exec)
{
    struct shared *old = exec->shared, *room = NULL;
    size_t old_count = exec->shared_count, old_room = exec->shared_room;

    if (exec->parts.count) {
        room = mmap(NULL, exec->parts.count * sizeof(*room), PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (room == MAP_FAILED)
            return false;
    }
    exec->shared = room;
    exec->shared_count = 0;
    exec->shared_room = exec->parts.count;
    each_source(exec, share);
    unshare(old, old_count, old_room);
    return true;
}

/* Memory that functions of the program write while the graph runs must be checked then, as pinned
 * memory is. */
static void track_sources(struct tsm_call *call, struct exec *exec)
{
    if ((has_functions(exec) || exec->shared_count) && !share_sources(exec))
        tsm_call_flag(call, SBT_RECORD_TAINTS);
}

static void taken(struct tsm_call *call, struct exec *exec)
{
    if (!exec || exec->parts.is_partial)
        tsm_call_flag(call, SBT_RECORD_TAINTS);
    else
        track_sources(call, exec);
}

void cuda_after_instantiated(struct tsm_call *call, bool ok, const CUgraphExec *raw, CUgraph graph)
{
    struct cuda_graph_parts parts = {.find_words = cuda_graph_arguments,
                                     .find_bodies = cuda_graph_bodies};
    struct exec *exec;

    if (!ok)
        return;
    cuda_graph_parts_take(&parts, &real, graph);
    if (!parts.count && !parts.is_partial)
        return;
    exec = make(*raw);
    if (exec)
        exec->parts = parts;
    else
        cuda_graph_parts_finish(&parts);
    taken(call, exec);
}

void cuda_after_exec_update(struct tsm_call *call, bool ok, CUgraphExec raw, CUgraph graph)
{
    struct exec *exec = ok ? make(raw) : NULL;

    if (!ok)
        return;
    if (exec) {
        cuda_graph_parts_take(&exec->parts, &real, graph);
        exec->has_words = false;
    }
    taken(call, exec);
}

void cuda_exec_set_node(struct tsm_call *call, CUgraphExec raw, CUgraphNode node,
                        const CUgraphNodeParams *params)
{
    struct exec *exec = make(raw);
    CUgraphNodeParams ours = *params;

    if (params->type == CU_GRAPH_NODE_TYPE_HOST && cuda_graph_function_last())
        ours.host = (CUDA_HOST_NODE_PARAMS_v2){cuda_graph_function_run, cuda_graph_function_last()};
    if (!exec)
        return;
    cuda_graph_parts_set(&exec->parts, &real, node, &ours);
    exec->has_words = false;
    track_sources(call, exec);
}

void cuda_after_node_enabled(struct tsm_call *call, bool ok, CUgraphExec raw, CUgraphNode node,
                             unsigned int enabled)
{
    struct exec *exec = ok ? exec_of(raw) : NULL;

    if (exec)
        cuda_graph_parts_enable(&exec->parts, node, enabled != 0);
    if (exec)
        exec->has_words = false;
}

CUresult hook_cuGraphExecDestroy(CUgraphExec hGraphExec)
{
    struct tsm_call call;
    CUresult result;
    struct exec *exec;
    uint64_t id;

    if (!tsm_call_begin(&call, TYPE_cuGraphExecDestroy))
        return real.cuGraphExecDestroy(hGraphExec);
    exec = exec_of(hGraphExec);
    id = cuda_id_leaves(CUDA_OBJECT_EXEC, CUDA_SLOT(hGraphExec));
    result = real.cuGraphExecDestroy(hGraphExec);
    cuda_id_left(CUDA_OBJECT_EXEC, CUDA_SLOT(hGraphExec), id, result == CUDA_SUCCESS);
    tsm_call_returned(&call, result, result != CUDA_SUCCESS);
    tsm_call_slot(&call, id);
    tsm_call_commit(&call);
    if (result == CUDA_SUCCESS)
        destroy(exec);
    return result;
}

/* ---- a launch ----------------------------------------------------------------------------- */

static struct cuda_graph_function *function_of(const struct cuda_graph_part *part)
{
    return part->type == CU_GRAPH_NODE_TYPE_HOST && part->host.fn == cuda_graph_function_run
               ? part->host.userData
               : NULL;
}

/* How many functions of the list stand before the one at `index`: by age, so that replay, which has
 * made them in the same order, finds the same. */
static uint32_t rank_of(const struct cuda_graph_parts *parts, size_t index)
{
    uint64_t serial = cuda_graph_function_serial(function_of(&parts->list[index]));
    uint32_t rank = 0;

    for (size_t i = 0; i < parts->count; i++) {
        const struct cuda_graph_function *other = function_of(&parts->list[i]);
        uint64_t others = other ? cuda_graph_function_serial(other) : UINT64_MAX;
        rank += others < serial || (others == serial && i < index);
    }
    return rank;
}

static uint32_t send_functions(struct tsm_call *call, const struct exec *exec)
{
    uint32_t count = 0;

    for (size_t i = 0; i < exec->parts.count; i++) {
        struct cuda_graph_function *f = function_of(&exec->parts.list[i]);
        if (!f)
            continue;
        cuda_graph_function_sent(f, tsm_stream_number(call->stream), call->position,
                                 rank_of(&exec->parts, i));
        count++;
    }
    tsm_call_more_places(call, count);
    return count;
}

static void take_functions_back(const struct exec *exec)
{
    for (size_t i = 0; i < exec->parts.count; i++) {
        struct cuda_graph_function *f = function_of(&exec->parts.list[i]);
        if (f)
            cuda_graph_function_unsent(f);
    }
}

static void note_wait(struct tsm_call *call, CUevent raw)
{
    const struct tsm_handle event = cuda_event_now(raw);

    cuda_waits(call, &event);
}

static void sift(uint64_t *words, size_t at, size_t count)
{
    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        const uint64_t word = words[at];

        child += child + 1 < count && words[child + 1] > words[child];
        if (word >= words[child])
            return;
        words[at] = words[child];
        words[child] = word;
    }
}

/* A heap sort: qsort() may call malloc(). */
static void sort_words(uint64_t *words, size_t count)
{
    for (size_t i = count / 2; i-- > 0;)
        sift(words, i, count);
    for (size_t left = count; left-- > 1;) {
        const uint64_t last = words[left];

        words[left] = words[0];
        words[0] = last;
        sift(words, 0, left);
    }
}

static bool has_words(const struct cuda_graph_part *part)
{
    return part->type == CU_GRAPH_NODE_TYPE_KERNEL && !part->is_disabled;
}

/* Makes room in exec->words for the words of all kernels. Returns false if there is no memory. */
static bool make_room(struct exec *exec)
{
    size_t wanted = 0;
    uint64_t *words;

    for (size_t i = 0; i < exec->parts.count; i++)
        if (has_words(&exec->parts.list[i]))
            wanted += exec->parts.list[i].words.count;
    if (wanted <= exec->word_room)
        return true;
    words = mmap(NULL, wanted * sizeof(*words), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                 -1, 0);
    if (words == MAP_FAILED)
        return false;
    if (exec->word_room)
        munmap(exec->words, exec->word_room * sizeof(*exec->words));
    exec->words = words;
    exec->word_room = wanted;
    return true;
}

static void collect_words(struct exec *exec)
{
    size_t count = 0, kept = 0;

    if (!make_room(exec))
        return;
    for (size_t i = 0; i < exec->parts.count; i++) {
        const struct cuda_graph_part *part = &exec->parts.list[i];
        for (uint32_t k = 0; has_words(part) && k < part->words.count; k++)
            exec->words[count++] = part->words.list[k];
    }
    sort_words(exec->words, count);
    for (size_t i = 0; i < count; i++)
        if (!kept || exec->words[i] != exec->words[kept - 1])
            exec->words[kept++] = exec->words[i];
    exec->word_count = kept;
    exec->has_words = true;
}

static void announce_part(struct tsm_call *call, const struct cuda_graph_part *part)
{
    struct tsm_box src, dst;

    switch ((int)part->type) {
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        cuda_copy_sides(&part->copy, &src, &dst);
        if (dst.data)
            tsm_readback(call, &dst, false);
        else
            cuda_copy_writes(call, &part->copy);
        break;
    case CU_GRAPH_NODE_TYPE_MEMSET:
        cuda_before_device_rows(call, part->fill.dst, part->fill.height > 1 ? part->fill.pitch : 0,
                                part->fill.width * part->fill.elementSize, part->fill.height);
        break;
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
        cuda_before_values(call, &part->value, 1);
        break;
    }
}

/* Announces what the graph gives back to the program, and where else it writes in memory that both
 * reach: the driver may have done so before the launch returns. */
static void announce_writes(struct tsm_call *call, struct exec *exec)
{
    for (size_t i = 0; i < exec->parts.count; i++)
        if (!exec->parts.list[i].is_disabled)
            announce_part(call, &exec->parts.list[i]);
    if (!tsm_hostmem_any())
        return;
    if (!exec->has_words)
        collect_words(exec);
    if (exec->has_words && exec->word_count)
        tsm_device_may_write_sorted(call, exec->words, exec->word_count);
}

/* Notes the effects of a run on other streams and events. */
static void note_effects(struct tsm_call *call, struct exec *exec)
{
    for (size_t i = 0; i < exec->parts.count; i++) {
        const struct cuda_graph_part *part = &exec->parts.list[i];

        if (part->type == CU_GRAPH_NODE_TYPE_EVENT_RECORD)
            cuda_signalled(call, part->event);
        if (part->type == CU_GRAPH_NODE_TYPE_WAIT_EVENT)
            note_wait(call, part->event);
        if (part->type == CU_GRAPH_NODE_TYPE_EVENT_RECORD ||
            part->type == CU_GRAPH_NODE_TYPE_WAIT_EVENT)
            tsm_call_flag(call, SBT_RECORD_ORDERED);
        if (part->type == CU_GRAPH_NODE_TYPE_BATCH_MEM_OP && !part->is_disabled)
            cuda_after_values(call, true, &part->value, 1);
    }
}

/* Launches of one executable graph run one after another, whatever their streams. */
static void note_order(struct tsm_call *call, CUgraphExec raw)
{
    struct tsm_handle *handle = handle_of(raw);

    if (!handle)
        return;
    if (handle->stream && !tsm_stream_is_at(handle, call->stream))
        tsm_call_flag(call, SBT_RECORD_ORDERED);
    tsm_stream_at(handle, call->stream, call->position);
}

static void write_source(struct exec *exec, const struct tsm_box *source)
{
    tsm_hostmem_write(source);
}

static CUresult launch(uint32_t type, CUresult (*real_launch)(CUgraphExec, CUstream),
                       CUgraphExec raw, CUstream stream, bool per_thread)
{
    struct tsm_call call;
    struct exec *exec;
    uint32_t functions = 0;
    struct cuda_timed *timed;
    CUresult result;

    if (!tsm_call_begin(&call, type))
        return real_launch(raw, stream);
    exec = exec_of(raw);
    if (cuda_capture_runs() && cuda_captures(stream, per_thread, NULL))
        exec = NULL; /* it becomes a node */
    cuda_publish();
    /* The program must leave what it reads alone from now on, until it has run. */
    if (exec)
        each_source(exec, write_source);
    cuda_on_stream(&call, stream, per_thread, NULL, TSM_ENQUEUES);
    if (exec && call.stream)
        functions = send_functions(&call, exec);
    if (exec && call.stream)
        announce_writes(&call, exec);
    if (call.stream)
        tsm_device_may_write(&call, NULL, 0);
    tsm_device_announced(&call);
    timed = cuda_gpu_time_wanted ? cuda_gpu_time_start_graph(&call, stream, per_thread) : NULL;
    result = real_launch(raw, stream);
    if (timed)
        cuda_gpu_time_end(timed, result == CUDA_SUCCESS, CUDA_HOST_GOES_ON);
    if (result != CUDA_SUCCESS && functions)
        take_functions_back(exec);
    if (result != CUDA_SUCCESS)
        tsm_device_failed(&call);
    tsm_call_returned(&call, result, result != CUDA_SUCCESS);
    if (result == CUDA_SUCCESS && functions)
        tsm_function_sent(&call);
    if (result == CUDA_SUCCESS && exec)
        note_effects(&call, exec);
    if (result == CUDA_SUCCESS && call.stream)
        note_order(&call, raw);
    tsm_call_slot(&call, cuda_id(CUDA_OBJECT_EXEC, CUDA_SLOT(raw)));
    tsm_call_commit(&call);
    if (result == CUDA_SUCCESS)
        cuda_commanded(&call);
    if (timed)
        cuda_gpu_time_collect_some();
    return result;
}

CUresult hook_cuGraphLaunch(CUgraphExec hGraph, CUstream hStream)
{
    return launch(TYPE_cuGraphLaunch, real.cuGraphLaunch, hGraph, hStream, false);
}

CUresult hook_cuGraphLaunch_ptsz(CUgraphExec hGraph, CUstream hStream)
{
    return launch(TYPE_cuGraphLaunch_ptsz, real.cuGraphLaunch_ptsz, hGraph, hStream, true);
}
