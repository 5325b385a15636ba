/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies. Nothing orders them but signals.
 */
#include "api/hsa/source/source.h"

#include "api/hsa/hsa_hooks.h"
#include "api/hsa/hsa_wrappers.h"
#include "api/hsa/source/encode.h"

#define DEP_MAX 256u
#define LOOK_EVERY                                                                                 \
    512u /* copies whose end was not seen: look for it, before there are too many                  \
          */

static void gives_back_box(struct tsm_call *call, const struct tsm_box *box, bool complete)
{
    if (hsa_memory_kind_of(HSA_SLOT(box->data)) != HSA_MEMORY_DEVICE)
        tsm_readback(call, box, complete);
}

void hsa_gives_back(struct tsm_call *call, const struct tsm_box *box)
{
    gives_back_box(call, box, true);
}

static struct tsm_box row(const void *data, uint64_t size)
{
    return (struct tsm_box){
        .data = data, .width = size, .height = 1, .depth = 1, .pitch = size, .plane = size};
}

static void gives_back(struct tsm_call *call, const void *dst, uint64_t size, bool complete)
{
    const struct tsm_box box = row(dst, size);

    gives_back_box(call, &box, complete);
}

void hsa_foretell(struct tsm_call *call, const struct tsm_box *box)
{
    tsm_device_writes(call, box);
    tsm_device_foretold(call);
}

hsa_status_t hook_hsa_memory_copy(void *dst, const void *src, size_t size)
{
    const struct tsm_box box = row(dst, size);
    struct tsm_stream *stream;
    struct tsm_call call;
    hsa_status_t status;
    bool ok, is_plain;

    if (!tsm_call_begin(&call, TYPE_hsa_memory_copy))
        return hsa_runtime.hsa_memory_copy(dst, src, size);
    hsa_memory_reveal(&src, sizeof(src));
    hsa_uses_begin(&src, sizeof(src));
    tsm_hostmem_publish();
    stream = hsa_waiting_copy_stream();
    tsm_call_on_stream(&call, stream, TSM_BLOCKS);
    hsa_foretell(&call, &box);
    status = hsa_runtime.hsa_memory_copy(dst, src, size);
    ok = status == HSA_STATUS_SUCCESS;
    tsm_call_returned(&call, status, !ok);
    is_plain = ok && hsa_memory_kind_of(HSA_SLOT(src)) == HSA_MEMORY_NONE;
    tsm_call_slot(&call, HSA_SLOT(dst));
    tsm_call_slot(&call, HSA_SLOT(src));
    tsm_call_slot(&call, size);
    tsm_call_blob(&call, is_plain ? src : NULL, is_plain ? size : 0);
    if (ok)
        gives_back_box(&call, &box, true);
    tsm_call_commit(&call);
    hsa_landed(stream, call.position);
    tsm_checkpoint_point(true);
    return status;
}

hsa_status_t hook_hsa_amd_memory_fill(void *ptr, uint32_t value, size_t count)
{
    const struct tsm_box box = row(ptr, count <= SIZE_MAX / 4 ? count * 4 : 0);
    struct tsm_stream *stream;
    struct tsm_call call;
    hsa_status_t status;

    if (!tsm_call_begin(&call, TYPE_hsa_amd_memory_fill))
        return hsa_runtime.hsa_amd_memory_fill(ptr, value, count);
    tsm_hostmem_publish();
    stream = hsa_waiting_copy_stream();
    tsm_call_on_stream(&call, stream, TSM_BLOCKS);
    hsa_foretell(&call, &box);
    status = hsa_runtime.hsa_amd_memory_fill(ptr, value, count);
    tsm_call_returned(&call, status, status != HSA_STATUS_SUCCESS);
    if (status == HSA_STATUS_SUCCESS)
        tsm_device_writes(&call, &box);
    tsm_call_slot(&call, HSA_SLOT(ptr));
    tsm_call_slot(&call, value);
    tsm_call_slot(&call, count);
    tsm_call_commit(&call);
    hsa_landed(stream, call.position);
    tsm_readbacks_write();
    tsm_checkpoint_point(true);
    return status;
}

/* ---- asynchronous ------------------------------------------------------------------------------
 */

struct copy {
    void *dst;
    hsa_agent_t dst_agent;
    const void *src;
    hsa_agent_t src_agent;
    size_t size;
    uint32_t dep_count;
    const hsa_signal_t *deps;
    hsa_signal_t completion;
};

static void append_deps(struct tsm_call *call, uint32_t given, const hsa_signal_t *deps)
{
    uint32_t count = deps ? given : 0;
    uint64_t *ids = count <= DEP_MAX ? tsm_call_scratch(call, (count + 1) * sizeof(*ids)) : NULL;

    for (uint32_t i = 0; ids && i < count; i++)
        ids[i] = hsa_signal_id(deps[i]);
    tsm_call_bytes(call, ids, ids ? count * sizeof(*ids) : 0);
    if (!ids)
        tsm_call_flag(call, SBT_RECORD_TRUNCATED | SBT_RECORD_TAINTS);
}

/* Recorded before it is sent: see "Order" in source.h. Others who look at memory must know
 * where it writes before it has its place: a result after that is of a time when they do. `to`:
 * NULL for nothing. False: not recorded. */
WRAPPED bool begin_copy(struct tsm_call *call, uint32_t type, const void *const *src,
                        const struct tsm_box *to, uint32_t dep_count, const hsa_signal_t *deps,
                        hsa_signal_t completion)
{
    struct tsm_stream *stream;

    if (tsm_readbacks_pending() % LOOK_EVERY == LOOK_EVERY - 1)
        hsa_look_around();
    for (uint32_t i = 0; deps && i < dep_count; i++)
        hsa_signal_awaited(&HSA_WAIT_FOR_0(deps[i]));
    hsa_signal_counted(completion);
    if (!tsm_call_begin(call, type))
        return false;
    hsa_memory_reveal(src, sizeof(*src));
    hsa_uses_begin(src, sizeof(*src));
    tsm_hostmem_publish();
    stream = hsa_copy_stream(completion);
    tsm_call_on_stream(call, stream, TSM_ENQUEUES);
    if (to && hsa_memory_kind_of(HSA_SLOT(to->data)) != HSA_MEMORY_DEVICE)
        hsa_foretell(call, to);
    tsm_call_returned(call, HSA_STATUS_SUCCESS, false);
    for (uint32_t i = 0; deps && i < dep_count; i++)
        hsa_count_awaits(call, &HSA_WAIT_FOR_0(deps[i]), true);
    hsa_count_follows(call, deps ? dep_count : 0, deps, true);
    return true;
}

WRAPPED bool record(uint32_t type, const struct copy *copy)
{
    const struct tsm_box to = row(copy->dst, copy->size);
    struct tsm_call call;

    if (!begin_copy(&call, type, &copy->src, &to, copy->dep_count, copy->deps, copy->completion))
        return false;
    tsm_call_slot(&call, HSA_SLOT(copy->dst));
    tsm_call_slot(&call, hsa_id(HSA_OBJECT_AGENT, copy->dst_agent.handle));
    tsm_call_slot(&call, HSA_SLOT(copy->src));
    tsm_call_slot(&call, hsa_id(HSA_OBJECT_AGENT, copy->src_agent.handle));
    tsm_call_slot(&call, copy->size);
    tsm_call_slot(&call, copy->dep_count);
    append_deps(&call, copy->dep_count, copy->deps);
    tsm_call_slot(&call, hsa_signal_id(copy->completion));
    gives_back(&call, copy->dst, copy->size, false);
    hsa_completes(&call, copy->completion, false, true);
    tsm_call_commit(&call);
    return true;
}

static hsa_status_t sent(hsa_status_t status, bool recorded)
{
    if (recorded && status != HSA_STATUS_SUCCESS)
        tsm_session_unmodelled("an asynchronous copy that the runtime refused", true);
    tsm_checkpoint_point(false);
    return status;
}

hsa_status_t hook_hsa_amd_memory_async_copy(void *dst, hsa_agent_t dst_agent, const void *src,
                                            hsa_agent_t src_agent, size_t size,
                                            uint32_t num_dep_signals,
                                            const hsa_signal_t *dep_signals,
                                            hsa_signal_t completion_signal)
{
    const struct copy copy = {dst,  dst_agent,       src,         src_agent,
                              size, num_dep_signals, dep_signals, completion_signal};
    bool recorded = dst && src && record(TYPE_hsa_amd_memory_async_copy, &copy);

    return sent(hsa_runtime.hsa_amd_memory_async_copy(dst, dst_agent, src, src_agent, size,
                                                      num_dep_signals, dep_signals,
                                                      completion_signal),
                recorded);
}

hsa_status_t hook_hsa_amd_memory_async_copy_on_engine(void *dst, hsa_agent_t dst_agent,
                                                      const void *src, hsa_agent_t src_agent,
                                                      size_t size, uint32_t num_dep_signals,
                                                      const hsa_signal_t *dep_signals,
                                                      hsa_signal_t completion_signal,
                                                      uint32_t engine_id, bool force_copy_on_sdma)
{
    const struct copy copy = {dst,  dst_agent,       src,         src_agent,
                              size, num_dep_signals, dep_signals, completion_signal};
    bool recorded = dst && src && record(TYPE_hsa_amd_memory_async_copy_on_engine, &copy);

    return sent(hsa_runtime.hsa_amd_memory_async_copy_on_engine(
                    dst, dst_agent, src, src_agent, size, num_dep_signals, dep_signals,
                    completion_signal, engine_id, force_copy_on_sdma),
                recorded);
}

/* ---- boxes -------------------------------------------------------------------------------------
 */

/* Returns the box, with its begin. */
static struct tsm_box box_at(const hsa_pitched_ptr_t *memory, const hsa_dim3_t *offset,
                             const hsa_dim3_t *range)
{
    return (struct tsm_box){.data = (const char *)memory->base + offset->x +
                                    offset->y * memory->pitch + offset->z * memory->slice,
                            .width = range->x,
                            .height = range->y,
                            .depth = range->z,
                            .pitch = memory->pitch,
                            .plane = memory->slice};
}

static void append_box(struct tsm_call *call, const struct tsm_box *box)
{
    tsm_call_slot(call, HSA_SLOT(box->data));
    tsm_call_slot(call, box->pitch);
    tsm_call_slot(call, box->plane);
}

hsa_status_t
hook_hsa_amd_memory_async_copy_rect(const hsa_pitched_ptr_t *dst, const hsa_dim3_t *dst_offset,
                                    const hsa_pitched_ptr_t *src, const hsa_dim3_t *src_offset,
                                    const hsa_dim3_t *range, hsa_agent_t copy_agent,
                                    hsa_amd_copy_direction_t dir, uint32_t num_dep_signals,
                                    const hsa_signal_t *dep_signals, hsa_signal_t completion_signal)
{
    bool recorded = dst && dst_offset && src && src_offset && range;
    struct tsm_box to, from;
    struct tsm_call call;

    if (recorded) {
        to = box_at(dst, dst_offset, range);
        from = box_at(src, src_offset, range);
        recorded = begin_copy(&call, TYPE_hsa_amd_memory_async_copy_rect, &from.data, &to,
                              num_dep_signals, dep_signals, completion_signal);
    }
    if (recorded) {
        tsm_call_slot(&call, hsa_id(HSA_OBJECT_AGENT, copy_agent.handle));
        tsm_call_slot(&call, dir);
        tsm_call_slot(&call, num_dep_signals);
        append_deps(&call, num_dep_signals, dep_signals);
        tsm_call_slot(&call, hsa_signal_id(completion_signal));
        append_box(&call, &to);
        append_box(&call, &from);
        tsm_call_slot(&call, range->x);
        tsm_call_slot(&call, range->y);
        tsm_call_slot(&call, range->z);
        gives_back_box(&call, &to, false);
        hsa_completes(&call, completion_signal, false, true);
        tsm_call_commit(&call);
    }
    return sent(hsa_runtime.hsa_amd_memory_async_copy_rect(dst, dst_offset, src, src_offset, range,
                                                           copy_agent, dir, num_dep_signals,
                                                           dep_signals, completion_signal),
                recorded);
}

/* ---- shared virtual memory: moves no bytes that anybody could see, but its signals count -------
 */

hsa_status_t hook_hsa_amd_svm_prefetch_async(void *ptr, size_t size, hsa_agent_t agent,
                                             uint32_t num_dep_signals,
                                             const hsa_signal_t *dep_signals,
                                             hsa_signal_t completion_signal)
{
    const void *nothing = NULL;
    struct tsm_call call;
    bool recorded = begin_copy(&call, TYPE_hsa_amd_svm_prefetch_async, &nothing, NULL,
                               num_dep_signals, dep_signals, completion_signal);

    if (recorded) {
        tsm_call_slot(&call, HSA_SLOT(ptr));
        tsm_call_slot(&call, size);
        tsm_call_slot(&call, hsa_id(HSA_OBJECT_AGENT, agent.handle));
        tsm_call_slot(&call, num_dep_signals);
        append_deps(&call, num_dep_signals, dep_signals);
        tsm_call_slot(&call, hsa_signal_id(completion_signal));
        hsa_completes(&call, completion_signal, false, true);
        tsm_call_commit(&call);
    }
    return sent(hsa_runtime.hsa_amd_svm_prefetch_async(ptr, size, agent, num_dep_signals,
                                                       dep_signals, completion_signal),
                recorded);
}
