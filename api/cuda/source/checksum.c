/* SPDX-License-Identifier: Apache-2.0
 *
 * TS_CHECKSUM, but for spot checks: what each live allocation holds, hashed whenever the program
 * knows that the GPU is idle (sync), or after each command (command). Replay computes the same and
 * finds the first difference. Each hash reads the whole allocation back, so this is for debugging.
 */
#include "api/cuda/source/source.h"

#include "api/cuda/source/encode.h"
#include "base/clock.h"
#include "base/hash.h"
#include "api/cuda/cuda_hooks.h"
#include "api/cuda/cuda_wrappers.h"

#include <stdatomic.h>
#include <sys/mman.h>

#define READ_SIZE ((size_t)4 << 20)
/* For calls of other threads, and for the GPU: each. Halved for each time in a row that it did not
 * do: a program that works while the GPU does would be held up at every command. */
#define PATIENCE_NS     2000000000u
#define FUNCTION_NS     50000000u /* while a function of the program may wait for what is held */
#define PATIENCE_HALVES 11u       /* at most: to 1 ms */

static atomic_uint failures; /* in a row */

static bool wanted(void)
{
    return tsm_session_settings()->checksum != TSM_CHECKSUM_OFF;
}

/* Hashes memory. Returns false if the memory is freed, or of another context. */
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

static void checksum_arrays(struct tsm_stream *stream, uint64_t position, void *buffer)
{
    for (unsigned i = 0; i < cuda_array_count(); i++) {
        uint64_t place, size;
        struct sbt_key key;

        if (cuda_array_hash(i, buffer, READ_SIZE, &place, &size, &key))
            tsm_checksum_write(0, cuda_stream_slot(stream), position, place, size, &key);
    }
}

static void checksum_all(struct tsm_stream *stream, uint64_t position)
{
    uint32_t count = cuda_allocation_count();
    CUdeviceptr start;
    uint64_t size;
    void *buffer;

    if (!count && !cuda_array_count())
        return;
    buffer = mmap(NULL, READ_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (uint32_t i = 0; buffer != MAP_FAILED && i < count; i++) {
        struct sbt_key key;

        if (cuda_allocation_at(i, &start, &size) && hash_memory(start, size, buffer, &key))
            tsm_checksum_write(0, cuda_stream_slot(stream), position, start, size, &key);
    }
    if (buffer == MAP_FAILED)
        return;
    checksum_arrays(stream, position, buffer);
    munmap(buffer, READ_SIZE);
}

static uint64_t patience(void)
{
    unsigned halves = atomic_load(&failures);
    uint64_t whole = PATIENCE_NS >> (halves < PATIENCE_HALVES ? halves : PATIENCE_HALVES);

    return cuda_functions_unfinished() && whole > FUNCTION_NS ? FUNCTION_NS : whole;
}

/* Other threads may send what changes the memory while it is read. */
static bool hold_calls(uint64_t patience_ns)
{
    if (!tsm_calls_hold(patience_ns))
        return false;
    tsm_inside_enter();
    if (cuda_checkpoint_quiet(tsm_monotonic_ns() + patience_ns))
        return true;
    tsm_inside_leave();
    tsm_calls_release();
    return false;
}

/* Everything recorded so far, on any stream, has to be in the memory that is read. */
static void checksum(struct tsm_stream *stream, uint64_t position)
{
    if (cuda_capture_runs())
        return; /* waiting for the device would end it */
    if (cuda_values_are_awaited())
        return; /* ... or have no end: a stream may wait for what the program is yet to do */
    if (!hold_calls(patience())) {
        atomic_fetch_add(&failures, 1);
        return;
    }
    atomic_store(&failures, 0);
    checksum_all(stream, position);
    tsm_inside_leave();
    tsm_calls_release();
}

void cuda_checksum_sync(struct tsm_stream *stream)
{
    if (tsm_inside())
        return;
    tsm_handed_waited(SBT_API_CUDA, stream);
    if (wanted())
        checksum(stream, 0);
    else if (cuda_spot_checks_wanted())
        cuda_spot_check();
}

void cuda_checksum_command(struct tsm_stream *stream, uint64_t position)
{
    if (!tsm_inside() && tsm_session_settings()->checksum == TSM_CHECKSUM_COMMAND)
        checksum(stream, position);
}

void cuda_checksum_forked(void)
{
    atomic_store(&failures, 0);
    cuda_spot_checks_forked();
    cuda_allocations_forked();
    cuda_arrays_forked();
}
