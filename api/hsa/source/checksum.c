/* SPDX-License-Identifier: Apache-2.0
 *
 * TS_CHECKSUM: what each allocation of device memory holds when all that was sent is complete.
 */
#include "api/hsa/source/source.h"

#include "api/hsa/hsa_wrappers.h"
#include "base/hash.h"

#include <sys/mman.h>

#define READ_SIZE   ((size_t)4 << 20)
#define PATIENCE_NS 100000000u /* for calls of other threads */

static bool hash(uint64_t start, uint64_t size, void *buffer, struct sbt_key *key)
{
    struct tsm_hasher_storage storage;
    struct tsm_hasher *hasher = tsm_hasher_init(&storage);

    for (uint64_t at = 0; at < size; at += READ_SIZE) {
        size_t part = size - at < READ_SIZE ? (size_t)(size - at) : READ_SIZE;
        if (hsa_runtime.hsa_memory_copy(buffer, (const void *)(uintptr_t)(start + at), part) !=
            HSA_STATUS_SUCCESS)
            return false;
        tsm_hasher_add(hasher, buffer, part);
    }
    *key = tsm_hasher_key(hasher);
    return true;
}

/* Records a checksum of device memory. The changes of host memory are recorded elsewhere. */
static bool checksum(uint64_t start, uint64_t size, enum hsa_memory_kind kind)
{
    struct sbt_key key;
    void *buffer;
    bool ok;

    if (kind != HSA_MEMORY_DEVICE)
        return true;
    buffer = mmap(NULL, READ_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ok = buffer != MAP_FAILED && hash(start, size, buffer, &key);
    if (buffer != MAP_FAILED)
        munmap(buffer, READ_SIZE);
    if (ok)
        tsm_checksum_write(0, SBT_STREAM_NONE, 0, start, size, &key);
    return true;
}

void hsa_checksum_sync(void)
{
    if (tsm_inside() || tsm_session_settings()->checksum == TSM_CHECKSUM_OFF ||
        !hsa_queues_idle() || !hsa_copy_streams_idle())
        return;
    /* Other threads may send what changes the memory while it is read. */
    if (!tsm_calls_hold(PATIENCE_NS))
        return;
    tsm_inside_enter();
    if (hsa_queues_idle() && hsa_copy_streams_idle()) {
        hsa_memory_written();
        hsa_memory_each(checksum);
    }
    tsm_inside_leave();
    tsm_calls_release();
}
