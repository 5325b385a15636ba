/* SPDX-License-Identifier: Apache-2.0
 *
 * Replay of executable graphs and their launches. What a launch writes into memory of the program
 * is taken from there right after it, in the stream's order, before the next launch overwrites it.
 */
#include "api/cuda/replay/state.h"

#include <stdlib.h>
#include <string.h>

/* Parts of an executable graph that concern the program. */
struct cuda_exec {
    struct cuda_graph_parts parts;
};

/* ---- functions of the program ------------------------------------------------------------- */

/* Bytes that the function wrote in one launch. */
struct run {
    struct run *next;
    void *written;
};

struct cuda_node_function {
    struct cuda_node_function *next;
    uint64_t serial; /* in order of making, as in the recording */
    pthread_mutex_t lock;
    struct run *first, **last; /* of launches that were sent and have not run it */
};

void *cuda_node_function_make(struct cuda_replay *replay)
{
    struct cuda_node_function *made = calloc(1, sizeof(*made));

    if (!made)
        return NULL;
    pthread_mutex_init(&made->lock, NULL);
    made->last = &made->first;
    made->serial = ++replay->node_function_serials;
    made->next = replay->node_functions;
    replay->node_functions = made;
    return made;
}

static struct run *take_run(struct cuda_node_function *f)
{
    struct run *run;

    pthread_mutex_lock(&f->lock);
    run = f->first;
    if (run)
        f->first = run->next;
    if (!f->first)
        f->last = &f->first;
    pthread_mutex_unlock(&f->lock);
    return run;
}

void cuda_node_function_run(void *function)
{
    struct run *run = take_run(function);

    if (run)
        cuda_functions_run(run->written);
    free(run);
}

static int send_run(struct cuda_node_function *f, void *written)
{
    struct run *run = malloc(sizeof(*run));

    if (!run)
        return tsm_fail(TSM_E_MEMORY, "no memory for a host function");
    *run = (struct run){NULL, written};
    pthread_mutex_lock(&f->lock);
    *f->last = run;
    f->last = &run->next;
    pthread_mutex_unlock(&f->lock);
    return 0;
}

static struct cuda_node_function *function_of(const struct cuda_graph_part *part)
{
    return part->type == CU_GRAPH_NODE_TYPE_HOST && part->host.fn == cuda_node_function_run
               ? part->host.userData
               : NULL;
}

/* See rank_of() in api/cuda/source/graph/exec.c. */
static uint32_t rank_of(const struct cuda_graph_parts *parts, size_t index)
{
    uint64_t serial = function_of(&parts->list[index])->serial;
    uint32_t rank = 0;

    for (size_t i = 0; i < parts->count; i++) {
        const struct cuda_node_function *other = function_of(&parts->list[i]);
        uint64_t others = other ? other->serial : UINT64_MAX;
        rank += others < serial || (others == serial && i < index);
    }
    return rank;
}

static int send_functions(struct cuda_args *args, const struct cuda_exec *exec)
{
    const struct sbt_record *record = args->record;
    int error = args->error;

    for (size_t i = 0; i < exec->parts.count && !error; i++) {
        struct cuda_node_function *f = function_of(&exec->parts.list[i]);
        void *written;
        if (!f)
            continue;
        const uint64_t position = record->position + 1 + rank_of(&exec->parts, i);
        error = cuda_functions_take(args->replay, record->stream, position, &written);
        if (error)
            break;
        cuda_functions_tell(written,
                            cuda_completed_by_function(args->replay, record->stream, position));
        error = send_run(f, written);
    }
    return error;
}

/* ---- bytes for the program ---------------------------------------------------------------- */

static bool gives_bytes(const struct cuda_replay *replay, const struct cuda_graph_part *part)
{
    return part->type == CU_GRAPH_NODE_TYPE_MEMCPY && !part->is_disabled &&
           cuda_copy_is_host(&replay->library.calls, part->copy.dstMemoryType,
                             part->copy.dstDevice);
}

static struct cuda_host_box box_of(const CUDA_MEMCPY3D *c)
{
    size_t pitch = c->dstPitch ? c->dstPitch : c->WidthInBytes;
    size_t plane = pitch * (c->dstHeight ? c->dstHeight : c->Height);
    uintptr_t base =
        c->dstMemoryType == CU_MEMORYTYPE_HOST ? (uintptr_t)c->dstHost : (uintptr_t)c->dstDevice;

    base += c->dstZ * plane + c->dstY * pitch + c->dstXInBytes;
    return (struct cuda_host_box){.from = (const uint8_t *)base, /* NOLINT: an address */
                                  .width = c->WidthInBytes,
                                  .height = c->Height,
                                  .depth = c->Depth,
                                  .pitch = pitch,
                                  .plane = plane};
}

static int receive(struct cuda_args *args, const struct cuda_exec *exec, CUstream raw)
{
    const struct cuda_graph_parts *parts = &exec->parts;
    struct cuda_replay *replay = args->replay;
    int error = 0;

    for (size_t i = 0; i < parts->count && !error; i++) {
        if (!gives_bytes(replay, &parts->list[i]))
            continue;
        const struct cuda_host_box box = box_of(&parts->list[i].copy);
        error = cuda_stream_take(replay, args->record, raw, cuda_program_recorded(replay, box.from),
                                 &box);
    }
    return error;
}

/* ---- life --------------------------------------------------------------------------------- */

static struct cuda_exec *find(const struct cuda_replay *replay, uint64_t id)
{
    const uint64_t *exec = tsm_map_find(&replay->execs, id);

    return exec ? (struct cuda_exec *)(uintptr_t)*exec : NULL;
}

bool cuda_exec_waits(const struct cuda_replay *replay, uint64_t id)
{
    const struct cuda_exec *exec = find(replay, id);

    for (size_t i = 0; exec && i < exec->parts.count; i++) {
        const struct cuda_graph_part *part = &exec->parts.list[i];
        if (part->type == CU_GRAPH_NODE_TYPE_BATCH_MEM_OP && !part->is_disabled &&
            cuda_values_wait(&part->value, 1))
            return true;
    }
    return false;
}

/* Returns the recorded id of an event, 0: none that is there. */
static uint64_t event_id(const struct cuda_replay *replay, CUevent event)
{
    for (size_t i = 0; i < replay->objects.capacity; i++) {
        const struct tsm_map_slot *slot = &replay->objects.slots[i];
        if (slot->used && slot->key >> 56 == CUDA_OBJECT_EVENT &&
            slot->value == (uint64_t)(uintptr_t)event)
            return slot->key & ((1ull << 56) - 1);
    }
    return 0;
}

int cuda_exec_each_event(struct cuda_replay *replay, uint64_t id, tsm_event_user report, void *user)
{
    const struct cuda_exec *exec = find(replay, id);
    int error = 0;

    for (size_t i = 0; exec && i < exec->parts.count && !error; i++) {
        const struct cuda_graph_part *part = &exec->parts.list[i];
        struct tsm_event_use use = {.is_signal = part->type == CU_GRAPH_NODE_TYPE_EVENT_RECORD};
        if (part->is_disabled || (!use.is_signal && part->type != CU_GRAPH_NODE_TYPE_WAIT_EVENT))
            continue;
        use.id = event_id(replay, part->event);
        if (use.id)
            error = report(user, &use);
    }
    return error;
}

void cuda_exec_note_awaited(struct cuda_replay *replay, uint64_t id, uint32_t stream)
{
    const struct cuda_exec *exec = find(replay, id);

    for (size_t i = 0; exec && i < exec->parts.count; i++) {
        const struct cuda_graph_part *part = &exec->parts.list[i];
        if (part->type == CU_GRAPH_NODE_TYPE_BATCH_MEM_OP && !part->is_disabled)
            cuda_awaited_note_values(replay, stream, &part->value, 1);
    }
}

static struct cuda_exec *make(struct cuda_replay *replay, uint64_t id)
{
    bool added;
    uint64_t *slot = tsm_map_insert(&replay->execs, id, &added);

    if (slot && !*slot)
        *slot = (uintptr_t)calloc(1, sizeof(struct cuda_exec));
    return slot ? (struct cuda_exec *)(uintptr_t)*slot : NULL;
}

static void forget(struct cuda_replay *replay, uint64_t id)
{
    struct cuda_exec *exec = find(replay, id);

    if (!exec)
        return;
    cuda_graph_parts_finish(&exec->parts);
    free(exec);
    *tsm_map_find(&replay->execs, id) = 0;
}

void cuda_graphs_finish(struct cuda_replay *replay)
{
    for (size_t i = 0; i < replay->execs.capacity; i++)
        if (replay->execs.slots[i].used)
            forget(replay, replay->execs.slots[i].key);
    tsm_map_finish(&replay->execs);
    tsm_map_finish(&replay->graph_memory);
    while (replay->node_functions) {
        struct cuda_node_function *f = replay->node_functions;
        struct run *run;
        replay->node_functions = f->next;
        while ((run = take_run(f)))
            free(run);
        pthread_mutex_destroy(&f->lock);
        free(f);
    }
}

static int take_parts(struct cuda_args *args, uint64_t id, CUgraph graph)
{
    struct cuda_exec *exec = make(args->replay, id);

    if (!exec)
        return tsm_fail(TSM_E_MEMORY, "no memory for an executable graph");
    cuda_graph_parts_take(&exec->parts, args->driver, graph);
    return 0;
}

int cuda_exec_set_node(struct cuda_args *args, uint64_t id, CUgraphNode node,
                       const CUgraphNodeParams *params)
{
    struct cuda_exec *exec = make(args->replay, id);

    if (!exec)
        return tsm_fail(TSM_E_MEMORY, "no memory for an executable graph");
    cuda_graph_parts_set(&exec->parts, args->driver, node, params);
    return 0;
}

/* ---- calls -------------------------------------------------------------------------------- */

static CUresult instantiate(const struct cuda_real *driver, CUgraphExec *out, CUgraph graph,
                            unsigned long long flags)
{
    CUresult result = driver->cuGraphInstantiateWithFlags(out, graph, flags);

    /* Before CUDA 11.4, where there are no flags either. */
    if (result == CUDA_ERROR_NOT_FOUND && !flags)
        result = driver->cuGraphInstantiate_v2(out, graph, NULL, NULL, 0);
    return result;
}

int replay_cuGraphInstantiateWithFlags(struct cuda_replay *replay, const struct sbt_record *record)
{
#define AT(name) SLOT_cuGraphInstantiateWithFlags_##name
    /* Memory of graphs is ours: there is nothing to free. An upload changes when, not what. */
    const uint64_t left_out =
        CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD;
    struct cuda_args args;
    CUgraphExec exec = NULL;

    cuda_args_begin(&args, replay, record, AT(flags) + 1);
    CUgraph graph = cuda_arg_handle(&args, AT(hGraph), CUDA_OBJECT_GRAPH);
    uint64_t flags = cuda_arg(&args, AT(flags)) & ~left_out;
    if (args.error)
        return args.error;
    cuda_args_end(&args, instantiate(args.driver, &exec, graph, flags));
    if (!args.error)
        cuda_arg_created(&args, AT(phGraphExec), CUDA_OBJECT_EXEC, exec);
    if (!args.error)
        args.error = take_parts(&args, cuda_arg(&args, AT(phGraphExec)), graph);
    return args.error;
#undef AT
}

static CUresult update(const struct cuda_real *driver, CUgraphExec exec, CUgraph graph)
{
    CUgraphExecUpdateResultInfo info = {0};
    CUgraphExecUpdateResult why;
    CUgraphNode bad;
    CUresult result = driver->cuGraphExecUpdate_v2(exec, graph, &info);

    return result == CUDA_ERROR_NOT_FOUND ? driver->cuGraphExecUpdate(exec, graph, &bad, &why)
                                          : result;
}

int replay_cuGraphExecUpdate(struct cuda_replay *replay, const struct sbt_record *record)
{
    struct cuda_args args;

    cuda_args_begin(&args, replay, record, SLOT_cuGraphExecUpdate_hGraph + 1);
    CUgraphExec exec = cuda_arg_handle(&args, SLOT_cuGraphExecUpdate_hGraphExec, CUDA_OBJECT_EXEC);
    CUgraph graph = cuda_arg_handle(&args, SLOT_cuGraphExecUpdate_hGraph, CUDA_OBJECT_GRAPH);
    if (args.error)
        return args.error;
    cuda_args_end(&args, update(args.driver, exec, graph));
    if (!args.error)
        args.error = take_parts(&args, cuda_arg(&args, SLOT_cuGraphExecUpdate_hGraphExec), graph);
    return args.error;
}

int replay_cuGraphNodeSetEnabled(struct cuda_replay *replay, const struct sbt_record *record)
{
#define AT(name) SLOT_cuGraphNodeSetEnabled_##name
    struct cuda_args args;
    struct cuda_exec *exec;

    cuda_args_begin(&args, replay, record, AT(isEnabled) + 1);
    CUgraphExec raw = cuda_arg_handle(&args, AT(hGraphExec), CUDA_OBJECT_EXEC);
    CUgraphNode node = cuda_arg_handle(&args, AT(hNode), CUDA_OBJECT_NODE);
    unsigned enabled = (unsigned)cuda_arg(&args, AT(isEnabled));
    if (args.error)
        return args.error;
    exec = find(replay, cuda_arg(&args, AT(hGraphExec)));
    if (exec)
        cuda_graph_parts_enable(&exec->parts, node, enabled != 0);
    return cuda_args_end(&args, args.driver->cuGraphNodeSetEnabled(raw, node, enabled));
#undef AT
}

int replay_cuGraphLaunch(struct cuda_replay *replay, const struct sbt_record *record)
{
    bool captured = (record->flags & SBT_RECORD_CAPTURED) != 0;
    const struct cuda_exec *exec = NULL;
    struct cuda_args args;

    cuda_args_begin(&args, replay, record, SLOT_cuGraphLaunch_hGraph + 1);
    CUgraphExec raw = cuda_arg_handle(&args, SLOT_cuGraphLaunch_hGraph, CUDA_OBJECT_EXEC);
    CUstream stream = cuda_arg_stream(&args);
    if (!captured)
        exec = find(replay, cuda_arg(&args, SLOT_cuGraphLaunch_hGraph));
    if (exec)
        args.error = send_functions(&args, exec);
    cuda_args_send(&args);
    if (!args.error)
        cuda_args_end(&args, args.driver->cuGraphLaunch(raw, stream));
    if (!args.error && exec) {
        cuda_clock_behind(replay, true);
        args.error = receive(&args, exec, stream);
        cuda_clock_behind(replay, false);
    }
    return args.error;
}

int replay_cuGraphExecDestroy(struct cuda_replay *replay, const struct sbt_record *record)
{
    struct cuda_args args;

    cuda_args_begin(&args, replay, record, SLOT_cuGraphExecDestroy_hGraphExec + 1);
    CUgraphExec exec = cuda_arg_handle(&args, SLOT_cuGraphExecDestroy_hGraphExec, CUDA_OBJECT_EXEC);
    if (args.error)
        return args.error;
    cuda_args_end(&args, args.driver->cuGraphExecDestroy(exec));
    forget(replay, cuda_arg(&args, SLOT_cuGraphExecDestroy_hGraphExec));
    cuda_arg_destroyed(&args, SLOT_cuGraphExecDestroy_hGraphExec, CUDA_OBJECT_EXEC);
    return args.error;
}
