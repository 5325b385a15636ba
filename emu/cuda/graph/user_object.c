/* SPDX-License-Identifier: Apache-2.0
 *
 * User objects: something of the program that goes when the last graph that needs it goes.
 */
#include <stdatomic.h>
#include <stdlib.h>

#include "base/array.h"
#include "emu/cuda/core/emu.h"
#include "emu/cuda/core/object.h"
#include "emu/cuda/graph/graph.h"

struct CUuserObject_st {
    atomic_uint references;
    CUhostFn destroy;
    void *data;
};

void emu_user_object_ref(CUuserObject object, unsigned count)
{
    atomic_fetch_add(&object->references, count);
}

/* The destructor may call no function of the driver. */
void emu_user_object_unref(CUuserObject object, unsigned count)
{
    if (atomic_fetch_sub(&object->references, count) != count)
        return;
    emu_object_remove(object);
    emu_callback_begin();
    object->destroy(object->data);
    emu_callback_end();
    free(object);
}

CUresult cuUserObjectCreate(CUuserObject *object_out, void *ptr, CUhostFn destroy,
                            unsigned int initialRefcount, unsigned int flags)
{
    CUresult result = emu_ready();
    CUuserObject object;

    if (!result && (!object_out || !destroy || !initialRefcount || initialRefcount > INT32_MAX ||
                    flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result)
        return result;
    object = calloc(1, sizeof(*object));
    if (!object || !emu_object_add(EMU_USER_OBJECT, object)) {
        free(object);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    object->references = initialRefcount;
    object->destroy = destroy;
    object->data = ptr;
    *object_out = object;
    return CUDA_SUCCESS;
}

static CUresult enter_object(CUuserObject object, unsigned count)
{
    CUresult result = emu_ready();

    return !result && (!count || count > INT32_MAX || !emu_object_is(EMU_USER_OBJECT, object))
               ? CUDA_ERROR_INVALID_VALUE
               : result;
}

CUresult cuUserObjectRetain(CUuserObject object, unsigned int count)
{
    CUresult result = enter_object(object, count);

    if (!result)
        emu_user_object_ref(object, count);
    return result;
}

CUresult cuUserObjectRelease(CUuserObject object, unsigned int count)
{
    CUresult result = enter_object(object, count);

    if (!result && count > atomic_load(&object->references))
        result = CUDA_ERROR_INVALID_VALUE;
    if (!result)
        emu_user_object_unref(object, count);
    return result;
}

static struct emu_graph_user *find_user(CUgraph graph, CUuserObject object)
{
    for (size_t i = 0; i < graph->user_count; i++)
        if (graph->users[i].object == object)
            return &graph->users[i];
    return NULL;
}

static struct emu_graph_user *add_user(CUgraph graph, CUuserObject object)
{
    if (!TSM_ARRAY_RESIZE(graph->users, graph->user_count + 1))
        return NULL;
    graph->users[graph->user_count] = (struct emu_graph_user){.object = object};
    return &graph->users[graph->user_count++];
}

CUresult cuGraphRetainUserObject(CUgraph graph, CUuserObject object, unsigned int count,
                                 unsigned int flags)
{
    CUresult result = emu_graph_enter(graph);
    struct emu_graph_user *user;

    if (!result)
        result = enter_object(object, count);
    if (!result && flags & ~(unsigned)CU_GRAPH_USER_OBJECT_MOVE)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result)
        return result;
    user = find_user(graph, object);
    if (!user)
        user = add_user(graph, object);
    if (!user)
        return CUDA_ERROR_OUT_OF_MEMORY;
    user->count += count;
    if (!(flags & CU_GRAPH_USER_OBJECT_MOVE))
        emu_user_object_ref(object, count);
    return CUDA_SUCCESS;
}

CUresult cuGraphReleaseUserObject(CUgraph graph, CUuserObject object, unsigned int count)
{
    CUresult result = emu_graph_enter(graph);
    struct emu_graph_user *user;

    if (!result)
        result = enter_object(object, count);
    if (result)
        return result;
    user = find_user(graph, object);
    if (!user || user->count < count)
        return CUDA_ERROR_INVALID_VALUE;
    user->count -= count;
    if (!user->count)
        *user = graph->users[--graph->user_count];
    emu_user_object_unref(object, count);
    return CUDA_SUCCESS;
}
