/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions of the program in graphs. Like those that are sent to streams
 * (api/cuda/source/function.c), but each runs as often as its graph is launched: for each launch
 * that was sent it is remembered which one it is.
 */
#include "api/cuda/source/graph/node.h"

#include "api/cuda/cuda_hooks.h"
#include "api/cuda/source/encode.h"
#include "capture/lock.h"

/* Launches that were sent and have not run it: room at first, and at most. */
#define WAITING_COUNT     8u
#define WAITING_COUNT_MAX 32768u

struct waiting {
    uint32_t stream;
    uint64_t position;
    uint64_t launch; /* position of the launch itself */
};

struct cuda_graph_function {
    CUhostFn function;
    void *user;
    uint64_t serial;
    struct tsm_lock lock;
    struct waiting *waiting; /* a ring */
    uint32_t first, count, room;
    struct waiting few[WAITING_COUNT];
};

static uint64_t serials;
static _Thread_local struct cuda_graph_function *last __attribute__((tls_model("initial-exec")));

struct cuda_graph_function *cuda_graph_function_make(CUhostFn function, void *user)
{
    struct cuda_graph_function *made = cuda_keep(sizeof(*made));

    if (made) {
        made->function = function;
        made->user = user;
        made->waiting = made->few;
        made->room = WAITING_COUNT;
        made->serial = __atomic_add_fetch(&serials, 1, __ATOMIC_RELAXED);
    }
    last = made;
    return made;
}

struct cuda_graph_function *cuda_graph_function_last(void)
{
    return last;
}

uint64_t cuda_graph_function_serial(const struct cuda_graph_function *function)
{
    return function->serial;
}

/* The lock is held. */
static bool make_room(struct cuda_graph_function *f)
{
    struct waiting *more = NULL;

    if (f->count < f->room)
        return true;
    if (f->room < WAITING_COUNT_MAX)
        more = cuda_keep(8 * (size_t)f->room * sizeof(*more));
    if (!more)
        return false;
    for (uint32_t i = 0; i < f->count; i++)
        more[i] = f->waiting[(f->first + i) % f->room];
    f->waiting = more;
    f->first = 0;
    f->room *= 8;
    return true;
}

void cuda_graph_function_sent(struct cuda_graph_function *f, uint32_t stream, uint64_t launch,
                              uint32_t rank)
{
    bool fits;

    tsm_lock_take(&f->lock);
    fits = make_room(f);
    if (fits)
        f->waiting[(f->first + f->count++) % f->room] =
            (struct waiting){stream, launch + 1 + rank, launch};
    tsm_lock_give(&f->lock);
    if (fits)
        cuda_function_expected();
    else
        tsm_session_unmodelled("more than 32768 launches of a graph with a host function", true);
}

void cuda_graph_function_unsent(struct cuda_graph_function *f)
{
    bool was_sent;

    tsm_lock_take(&f->lock);
    was_sent = f->count > 0;
    f->count -= was_sent;
    tsm_lock_give(&f->lock);
    if (was_sent)
        cuda_function_over();
}

void cuda_graph_function_run(void *function)
{
    struct cuda_graph_function *f = function;
    struct waiting which = {.stream = SBT_STREAM_NONE};

    tsm_lock_take(&f->lock);
    if (f->count) {
        which = f->waiting[f->first];
        f->first = (f->first + 1) % f->room;
        f->count--;
    }
    tsm_lock_give(&f->lock);
    if (which.stream == SBT_STREAM_NONE) { /* of a launch that is not recorded */
        cuda_function_expected();
        f->function(f->user);
    } else {
        tsm_function_enter(which.stream, which.position, which.launch - 1);
        f->function(f->user);
        tsm_function_left(which.stream, which.position);
    }
    cuda_function_over();
}

/* ---- parameters of nodes ------------------------------------------------------------------ */

const CUDA_HOST_NODE_PARAMS *cuda_host_node(const CUDA_HOST_NODE_PARAMS *params,
                                            CUDA_HOST_NODE_PARAMS *ours)
{
    struct cuda_graph_function *made =
        params && params->fn ? cuda_graph_function_make(params->fn, params->userData) : NULL;

    if (!made)
        return params;
    *ours = (CUDA_HOST_NODE_PARAMS){cuda_graph_function_run, made};
    return ours;
}

CUgraphNodeParams *cuda_any_node(CUgraphNodeParams *params, CUgraphNodeParams *ours)
{
    struct cuda_graph_function *made = NULL;

    if (params && params->type == CU_GRAPH_NODE_TYPE_HOST && params->host.fn)
        made = cuda_graph_function_make(params->host.fn, params->host.userData);
    if (!made)
        return params;
    *ours = *params;
    ours->host = (CUDA_HOST_NODE_PARAMS_v2){cuda_graph_function_run, made};
    return ours;
}

void cuda_after_host_node_queried(struct tsm_call *call, bool ok, CUDA_HOST_NODE_PARAMS *params)
{
    const struct cuda_graph_function *f;

    if (!ok || params->fn != cuda_graph_function_run)
        return;
    f = params->userData;
    *params = (CUDA_HOST_NODE_PARAMS){f->function, f->user};
}
