/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory and signals get what a checkpoint saved of them, and what one would hold now.
 */
#include "api/hsa/hsa_replay_calls.h"

#include <stdlib.h>
#include <string.h>

#define PART_SIZE ((uint64_t)4 << 20)

/* ---- load --------------------------------------------------------------------------------------
 */

/* To memory that the host may not reach: `size` bytes of `bytes` from `first` on. */
static int send(struct hsa_replay *replay, const struct sbt_blob *bytes, uint64_t first,
                uint64_t size, uint64_t to)
{
    uint64_t part = size < PART_SIZE ? size : PART_SIZE;
    void *buffer = malloc(part);
    int error = buffer ? 0 : tsm_fail(TSM_E_MEMORY, "no memory to load a checkpoint");

    for (uint64_t at = 0; at < size && !error; at += part) {
        uint64_t now = size - at < part ? size - at : part;
        hsa_status_t status = HSA_STATUS_SUCCESS;
        int got = sbt_reader_blob(replay->reader, bytes, first + at, buffer, now);
        if (got >= 0)
            status = replay->calls.hsa_memory_copy((void *)(uintptr_t)(to + at), buffer, now);
        error = got < 0                        ? got
                : status == HSA_STATUS_SUCCESS ? 0
                                               : hsa_fail(replay, "loading memory", status);
    }
    free(buffer);
    return error;
}

/* Loads a part of the bytes, which were at `address`. */
static int load_part(struct hsa_replay *replay, const struct hsa_region_part *part,
                     const struct sbt_blob *bytes, uint64_t address)
{
    int got;

    if (hsa_memory_is_constant(&replay->memory, part->region))
        return 0;
    if (!part->region->is_host)
        return send(replay, bytes, part->address - address, part->size, part->actual);
    got = sbt_reader_blob(replay->reader, bytes, part->address - address,
                          (void *)(uintptr_t)part->actual, part->size);
    return got < 0 ? got : 0;
}

int hsa_checkpoint_memory(struct hsa_replay *replay, const struct sbt_record *record)
{
    const uint64_t *s = record->slots;
    struct hsa_region_part part = {0};
    struct sbt_blob bytes;
    uint64_t address;
    int error = 0;

    if (record->slot_count < 8 || !sbt_record_blob(record, 7, &bytes) || bytes.size != s[6] ||
        !bytes.size)
        return tsm_fail(TSM_E_FORMAT, "is malformed");
    address = s[4] + s[5];
    if (s[1] != SBT_MEMORY_DEVICE && s[1] != SBT_MEMORY_HOST)
        return 0; /* of another API */
    if (address + bytes.size < address)
        return tsm_fail(TSM_E_FORMAT, "speaks of memory at 0x%llx, which no record made",
                        (unsigned long long)address);
    while (!error && hsa_memory_next_part(&replay->memory, address, bytes.size, &part))
        error = load_part(replay, &part, &bytes, address);
    return error;
}

int hsa_checkpoint_state(struct hsa_replay *replay, const struct sbt_record *record)
{
    const uint64_t *s = record->slots;
    struct hsa_signal_state *signal;

    if (record->slot_count < 9)
        return tsm_fail(TSM_E_FORMAT, "is malformed");
    if (s[1] != SBT_STATE_SIGNAL)
        return 0; /* of another API */
    signal = hsa_signal_find(replay, s[2]);
    if (!signal)
        return 0; /* made before recording began: the trace is tainted */
    hsa_signal_set(replay, signal, (int64_t)s[3]);
    return 0;
}

/* ---- save --------------------------------------------------------------------------------------
 */

static int read_region(const struct tsm_saved *saved, uint64_t offset, void *out, uint64_t size)
{
    return hsa_memory_read((struct hsa_replay *)saved->user, saved->address + offset, out, size);
}

static int save_regions(struct hsa_replay *replay, const struct tsm_saver *saver)
{
    int error = 0;

    for (size_t i = 0; i < replay->memory.region_count && !error; i++) {
        const struct tsm_region *region = &replay->memory.regions[i];
        const struct tsm_saved saved = {.kind =
                                            region->is_host ? SBT_MEMORY_HOST : SBT_MEMORY_DEVICE,
                                        .address = region->address,
                                        .size = region->size,
                                        .read = read_region,
                                        .user = replay};
        if (!hsa_memory_is_constant(&replay->memory, region))
            error = saver->memory(saver->user, &saved);
    }
    return error;
}

int hsa_checkpoint_save(struct hsa_replay *replay, const struct tsm_saver *saver)
{
    int error = 0;

    for (size_t i = 0; i < replay->objects.capacity && !error; i++) {
        const struct tsm_map_slot *slot = &replay->objects.slots[i];
        const struct hsa_signal_state *signal = (const void *)(uintptr_t)slot->value;
        if (!slot->used || slot->key >> 32 != HSA_OBJECT_SIGNAL)
            continue;
        const uint64_t slots[8] = {SBT_STATE_SIGNAL, (uint32_t)slot->key,
                                   (uint64_t)replay->calls.hsa_signal_load_scacquire(signal->raw)};
        error = saver->state(saver->user, "signal", slots);
    }
    return error ? error : save_regions(replay, saver);
}
