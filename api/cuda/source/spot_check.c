/* SPDX-License-Identifier: Apache-2.0
 *
 * Spot checks: hashes of device memory that are recorded by default on the software GPU, where a
 * wait of the program finds all of the GPU idle. They send nothing and wait for nobody. A wait
 * earns credit, and memory is hashed when that pays for it, or at the 1st, 2nd, 4th, 8th, ... wait;
 * of much memory one window each time, the next one the next time.
 */
#include "api/cuda/source/source.h"

#include "api/cuda/source/emu_times.h"
#include "base/hash.h"

#include <stdatomic.h>

#define WINDOW      ((uint64_t)64 << 20) /* bytes that one spot check hashes at most */
#define CREDIT      ((uint64_t)1 << 20)  /* bytes that one wait pays for */
#define RECORD_COST ((uint64_t)16 << 10) /* a record counts as much as so many bytes */

static struct {
    _Atomic(uint64_t) waits, credit, taken;
} spot;

bool cuda_spot_checks_wanted(void)
{
    const struct tsm_settings *settings = tsm_session_settings();

    return cuda_emu_times && settings->spot_checks && settings->readback != TSM_READBACK_OFF;
}

/* Counts a wait. Returns whether what is alive is to be hashed at it. */
static bool is_due(uint64_t bytes)
{
    const uint64_t cost = (bytes < WINDOW ? bytes : WINDOW) + cuda_allocation_count() * RECORD_COST;
    const uint64_t nth = atomic_fetch_add(&spot.waits, 1) + 1;
    const uint64_t credit = atomic_fetch_add(&spot.credit, CREDIT) + CREDIT;

    return bytes && ((nth & (nth - 1)) == 0 || credit >= cost);
}

static void check_part(uint64_t address, uint64_t size)
{
    const void *bytes = cuda_emu_times->device_bytes(address, size);
    struct sbt_key key;

    if (!bytes)
        return;
    key = tsm_hash_key(bytes, size);
    tsm_checksum_write(SBT_RECORD_SPOT, SBT_STREAM_NONE, 0, address, size, &key);
}

/* Hashes the window [from, from + WINDOW) of all allocations, one after another. */
static void check_window(uint64_t from)
{
    const uint32_t count = cuda_allocation_count();
    const uint64_t end = from + WINDOW;
    uint64_t at = 0, size;
    CUdeviceptr start;

    for (uint32_t i = 0; i < count && at < end && cuda_allocation_at(i, &start, &size); i++) {
        uint64_t skipped = from > at ? from - at : 0;
        uint64_t stop = end - at < size ? end - at : size;

        if (skipped < stop)
            check_part(start + skipped, stop - skipped);
        at += size;
    }
}

void cuda_spot_check(void)
{
    const uint64_t bytes = cuda_allocation_bytes();

    if (cuda_capture_runs())
        return; /* a replay reads by commands, which would end it */
    if (!is_due(bytes) || !cuda_emu_times->is_idle() || !tsm_calls_hold(0))
        return;
    tsm_inside_enter();
    if (cuda_emu_times->is_idle()) { /* another thread may have sent something */
        uint64_t windows = (bytes + WINDOW - 1) / WINDOW;

        check_window(atomic_fetch_add(&spot.taken, 1) % windows * WINDOW);
        atomic_store(&spot.credit, 0);
    }
    tsm_inside_leave();
    tsm_calls_release();
}

void cuda_spot_checks_forked(void)
{
    atomic_store(&spot.waits, 0);
    atomic_store(&spot.credit, 0);
    atomic_store(&spot.taken, 0);
}
