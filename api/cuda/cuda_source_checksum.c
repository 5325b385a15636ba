/* SPDX-License-Identifier: Apache-2.0
 *
 * TS_CHECKSUM: what each live allocation holds, hashed whenever the program knows that the GPU is
 * idle (sync), or after each command (command). Replay computes the same and finds the first
 * difference. Each hash reads the whole allocation back, so this is for debugging.
 */
#include "api/cuda/cuda_source.h"

#include "api/cuda/cuda_encode.h"
#include "base/hash.h"
#include "api/cuda/cuda_hooks.h"
#include "api/cuda/cuda_wrappers.h"

#include <stdatomic.h>
#include <sys/mman.h>

#define ALLOCATION_MAX 65536u
#define READ_SIZE      ((size_t)4 << 20)

/* A slot is free when `start` is 0. Taken and given with single atomic operations: an allocation
 * that is freed while we read it gives an error from the driver, and no record. */
struct allocation {
    _Atomic(CUdeviceptr) start;
    _Atomic(uint64_t) size;
    _Atomic(CUcontext) context; /* that it was made in */
};

static _Atomic(struct allocation *) allocations;
static atomic_uint used; /* slots [0, used) have been in use */

static atomic_bool too_many;

static bool wanted(void)
{
    return tsm_session_settings()->checksum != TSM_CHECKSUM_OFF;
}

static struct allocation *table(void)
{
    struct allocation *there = atomic_load(&allocations), *made;

    if (there)
        return there;
    made = cuda_keep(ALLOCATION_MAX * sizeof(*made));
    return !made || atomic_compare_exchange_strong(&allocations, &there, made) ? made : there;
}

static bool take(struct allocation *slot, CUdeviceptr start, uint64_t size)
{
    CUdeviceptr none = 0;
    CUcontext context = NULL;

    if (!atomic_compare_exchange_strong(&slot->start, &none, start))
        return false;
    real.cuCtxGetCurrent(&context);
    atomic_store(&slot->context, context);
    atomic_store(&slot->size, size);
    return true;
}

void cuda_after_alloc(struct tsm_call *call, bool ok, CUdeviceptr start, uint64_t size)
{
    bool keep = ok && (wanted() || tsm_checkpoint_possible());
    struct allocation *slots = keep ? table() : NULL;
    unsigned count = atomic_load(&used);

    if (!slots)
        return;
    for (unsigned i = 0; i < count; i++)
        if (take(&slots[i], start, size))
            return;
    count = atomic_fetch_add(&used, 1);
    if (count < ALLOCATION_MAX)
        take(&slots[count], start, size);
    else {
        atomic_store(&used, ALLOCATION_MAX);
        atomic_store(&too_many, true);
    }
}

bool cuda_allocations_each(bool (*visit)(CUdeviceptr start, uint64_t size, CUcontext context))
{
    struct allocation *slots = atomic_load(&allocations);
    unsigned count = slots ? atomic_load(&used) : 0;

    for (unsigned i = 0; i < count && i < ALLOCATION_MAX; i++) {
        CUdeviceptr start = atomic_load(&slots[i].start);
        uint64_t size = atomic_load(&slots[i].size);

        if (start && size && !visit(start, size, atomic_load(&slots[i].context)))
            return false;
    }
    return !atomic_load(&too_many);
}

void cuda_after_free_all(struct tsm_call *call, bool ok, CUdeviceptr start, uint64_t size)
{
    struct allocation *slots = ok ? atomic_load(&allocations) : NULL;
    unsigned count = slots ? atomic_load(&used) : 0;

    for (unsigned i = 0; i < count && i < ALLOCATION_MAX; i++) {
        CUdeviceptr there = atomic_load(&slots[i].start);

        if (there && there - start < size) {
            atomic_store(&slots[i].size, 0);
            atomic_compare_exchange_strong(&slots[i].start, &there, 0);
        }
    }
}

void cuda_after_free(struct tsm_call *call, bool ok, CUdeviceptr start)
{
    cuda_after_free_all(call, ok, start, 1);
}

/* False: the memory is gone, or of another context. */
static bool hash_memory(CUdeviceptr start, uint64_t size, void *buffer, struct sbt_key *key)
{
    struct tsm_hasher_storage storage;
    struct tsm_hasher *hasher = tsm_hasher_init(&storage);

    for (uint64_t at = 0; at < size; at += READ_SIZE) {
        size_t part = size - at < READ_SIZE ? (size_t)(size - at) : READ_SIZE;

        if (real.cuMemcpyDtoH_v2(buffer, start + at, part) != CUDA_SUCCESS)
            return false;
        tsm_hasher_add(hasher, buffer, part);
    }
    *key = tsm_hasher_key(hasher);
    return true;
}

static void write_record(struct tsm_stream *stream, uint64_t position, CUdeviceptr start,
                         uint64_t size, const struct sbt_key *key)
{
    struct tsm_call call;

    if (!tsm_call_begin(&call, SBT_TYPE(SBT_API_CORE, SBT_CORE_CHECKSUM)))
        return;
    tsm_call_returned(&call, 0, false);
    tsm_call_slot(&call, cuda_stream_slot(stream));
    tsm_call_slot(&call, position);
    tsm_call_slot(&call, start);
    tsm_call_slot(&call, size);
    tsm_call_bytes(&call, key, sizeof(*key));
    tsm_call_commit(&call);
}

static void checksum_arrays(struct tsm_stream *stream, uint64_t position, void *buffer)
{
    for (unsigned i = 0; i < cuda_array_count(); i++) {
        uint64_t place, size;
        struct sbt_key key;
        bool hashed;

        tsm_inside_enter();
        hashed = cuda_array_hash(i, buffer, READ_SIZE, &place, &size, &key);
        tsm_inside_leave();
        if (hashed)
            write_record(stream, position, place, size, &key);
    }
}

static void checksum_all(struct tsm_stream *stream, uint64_t position)
{
    struct allocation *slots = atomic_load(&allocations);
    unsigned count = slots ? atomic_load(&used) : 0;
    void *buffer;

    if (!count && !cuda_array_count())
        return;
    buffer = mmap(NULL, READ_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (unsigned i = 0; buffer != MAP_FAILED && i < count && i < ALLOCATION_MAX; i++) {
        CUdeviceptr start = atomic_load(&slots[i].start);
        uint64_t size = atomic_load(&slots[i].size);
        struct sbt_key key;
        bool hashed;

        tsm_inside_enter();
        hashed = start && size && hash_memory(start, size, buffer, &key);
        tsm_inside_leave();
        if (hashed)
            write_record(stream, position, start, size, &key);
    }
    if (buffer == MAP_FAILED)
        return;
    checksum_arrays(stream, position, buffer);
    munmap(buffer, READ_SIZE);
}

/* Everything recorded so far, on any stream, has to be in the memory that is read. */
static void checksum(struct tsm_stream *stream, uint64_t position)
{
    if (cuda_capture_runs())
        return; /* waiting for the device would end it */
    tsm_inside_enter();
    real.cuCtxSynchronize();
    tsm_inside_leave();
    checksum_all(stream, position);
}

void cuda_checksum_sync(struct tsm_stream *stream)
{
    if (!tsm_inside() && wanted())
        checksum(stream, 0);
}

void cuda_checksum_command(struct tsm_stream *stream, uint64_t position)
{
    if (!tsm_inside() && tsm_session_settings()->checksum == TSM_CHECKSUM_COMMAND)
        checksum(stream, position);
}

void cuda_checksum_forked(void)
{
    atomic_store(&used, 0);
    atomic_store(&too_many, false);
    atomic_store(&allocations, NULL);
    cuda_arrays_forked();
}
