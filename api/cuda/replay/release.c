/* SPDX-License-Identifier: Apache-2.0
 *
 * The end of what is replayed, when streams still wait for a value that the program, or a command
 * that is left out, would have written: they would wait for ever.
 */
#include "api/cuda/replay/state.h"

#include <string.h>
#include <time.h>

#include "base/log.h"

#define SLICE_NS 2000000
#define PATIENCE 50u /* slices in which nothing that was awaited comes, before it is written */

/* ---- what is waited for ------------------------------------------------------------------- */

static void note(struct cuda_replay *replay, uint32_t stream, struct cuda_awaited awaited)
{
    awaited.stream = stream;
    pthread_mutex_lock(&replay->streams_lock);
    replay->awaited[replay->awaited_count++ % CUDA_AWAITED_MAX] = awaited;
    pthread_mutex_unlock(&replay->streams_lock);
}

void cuda_awaited_note_values(struct cuda_replay *replay, uint32_t stream,
                              const CUstreamBatchMemOpParams *params, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const CUstreamBatchMemOpParams *p = &params[i];
        bool is_wide = p->operation == CU_STREAM_MEM_OP_WAIT_VALUE_64;
        if (is_wide || p->operation == CU_STREAM_MEM_OP_WAIT_VALUE_32)
            note(replay, stream,
                 (struct cuda_awaited){.address = p->waitValue.address,
                                       .value = is_wide ? p->waitValue.value64 : p->waitValue.value,
                                       .flags = p->waitValue.flags,
                                       .size = is_wide ? 8 : 4});
    }
}

void cuda_awaited_note(struct cuda_replay *replay, const struct sbt_record *record)
{
#define AT(name) SLOT_cuStreamWriteValue32_v2_##name /* the same parameters */
    if (record->slot_count <= AT(size))
        return;
    note(replay, record->stream,
         (struct cuda_awaited){.address =
                                   cuda_memory_translate(&replay->memory, record->slots[AT(addr)]),
                               .value = record->slots[AT(value)],
                               .flags = (unsigned)record->slots[AT(flags)],
                               .size = record->slots[AT(size)] == 8 ? 8 : 4});
#undef AT
}

/* ---- letting go --------------------------------------------------------------------------- */

static bool is_met(const struct cuda_awaited *a, uint64_t value)
{
    unsigned shift = a->size == 8 ? 0 : 32;

    switch (a->flags & 3) {
    case CU_STREAM_WAIT_VALUE_GEQ:
        return (int64_t)((value - a->value) << shift) >= 0;
    case CU_STREAM_WAIT_VALUE_EQ:
        return value << shift == a->value << shift;
    case CU_STREAM_WAIT_VALUE_AND:
        return (value & a->value) << shift != 0;
    default:
        return ~(value | a->value) << shift != 0;
    }
}

static bool is_running(struct cuda_replay *replay, const struct cuda_awaited *a)
{
    const struct cuda_real *driver = &replay->library.calls;
    const struct cuda_stream_state *stream = cuda_stream_find(replay, a->stream);

    return stream && stream->is_made && driver->cuCtxSetCurrent(stream->context) == CUDA_SUCCESS &&
           driver->cuStreamQuery(stream->raw) == CUDA_ERROR_NOT_READY;
}

static CUstream own_stream(struct cuda_replay *replay, const struct cuda_awaited *a)
{
    CUstream stream = NULL;

    if (cuda_context_own_stream(replay, cuda_stream_find(replay, a->stream)->context, &stream))
        return NULL;
    return stream;
}

/* Tests whether the stream may still be waiting; the current context is the stream's. */
static bool is_awaited(struct cuda_replay *replay, const struct cuda_awaited *a)
{
    const struct cuda_real *driver = &replay->library.calls;
    CUstream own = own_stream(replay, a);
    uint64_t value = 0;

    return own && driver->cuMemcpyDtoHAsync_v2(&value, a->address, a->size, own) == CUDA_SUCCESS &&
           driver->cuStreamSynchronize(own) == CUDA_SUCCESS && !is_met(a, value);
}

static void give(struct cuda_replay *replay, const struct cuda_awaited *a)
{
    const struct cuda_real *driver = &replay->library.calls;
    const uint64_t value = (a->flags & 3) == CU_STREAM_WAIT_VALUE_NOR ? 0 : a->value;
    CUstream own = own_stream(replay, a);

    if (own && driver->cuMemcpyHtoDAsync_v2(a->address, &value, a->size, own) == CUDA_SUCCESS)
        driver->cuStreamSynchronize(own);
}

/* Returns the first value that a stream may be waiting for, NULL: there is none. */
static const struct cuda_awaited *find_awaited(struct cuda_replay *replay, size_t from)
{
    size_t count =
        replay->awaited_count < CUDA_AWAITED_MAX ? replay->awaited_count : CUDA_AWAITED_MAX;

    for (size_t i = 0; i < count; i++) {
        const struct cuda_awaited *a = &replay->awaited[(from + i) % count];
        if (is_running(replay, a) && is_awaited(replay, a))
            return a;
    }
    return NULL;
}

bool cuda_awaited_on(struct cuda_replay *replay, CUstream raw)
{
    const struct cuda_real *driver = &replay->library.calls;
    CUcontext current = NULL;
    bool found = false;
    size_t count =
        replay->awaited_count < CUDA_AWAITED_MAX ? replay->awaited_count : CUDA_AWAITED_MAX;

    if (!count || replay->capture_count)
        return false;
    driver->cuCtxGetCurrent(&current);
    for (size_t i = 0; i < count && !found; i++) {
        const struct cuda_awaited *a = &replay->awaited[i];
        found = cuda_stream_find(replay, a->stream)->raw == raw && is_running(replay, a) &&
                is_awaited(replay, a);
    }
    driver->cuCtxSetCurrent(current);
    return found;
}

static void pause_a_slice(void)
{
    nanosleep(&(struct timespec){0, SLICE_NS}, NULL);
}

int cuda_awaited_unblock(struct cuda_replay *replay)
{
    const struct cuda_awaited *a;
    unsigned patience = PATIENCE;
    size_t turn = 0;

    if (!replay->awaited_count || replay->capture_count)
        return 0;
    while ((a = find_awaited(replay, 0)) && patience--)
        pause_a_slice();
    if (!a)
        return 0;
    tsm_log(TSM_LOG_WARN,
            "the part ends while streams wait for values that nobody writes any more: "
            "they wait no more");
    /* Several may wait for the same word in turn. */
    for (; (a = find_awaited(replay, turn)) && turn < 8 * CUDA_AWAITED_MAX; turn++) {
        give(replay, a);
        pause_a_slice();
    }
    return 1;
}
