/* SPDX-License-Identifier: Apache-2.0
 *
 * READBACK records: bytes that the device gave back, read from the program and stored.
 */
#include "capture/call/readback.h"
#include "capture/call/note.h"
#include "capture/call/payload.h"
#include "capture/call/readbacks.h"
#include "capture/memory/gaps.h"

#define NOT_READ "bytes given back, which could not be read"

/* The bytes [offset, offset + size) of the packed box, which are at `address` in the program.
 * False: they cannot be read, or kept. */
static bool write_part(struct tsm_lane *lane, const struct tsm_box *box, uint64_t offset,
                       uint64_t size, enum tsm_fetch fetch, struct tsm_note *note)
{
    bool store = lane->session->settings.readback == TSM_READBACK_STORE;
    uint64_t encoded = store ? SBT_BLOB_ENCODED_SIZE(size) : SBT_BLOB_KEYED_SIZE(size);
    uint8_t *reference = tsm_scratch_take(lane, encoded);

    if (!reference || !tsm_payload_store_part(lane, box, offset, size, fetch, store, reference))
        return false;
    note->slots[3] = size;
    note->slots[4] = encoded;
    note->data = reference;
    note->data_size = (uint32_t)encoded;
    tsm_note_write(lane, note);
    return true;
}

void tsm_readback_record(struct tsm_lane *lane, const struct tsm_box *box, uint64_t address,
                         uint32_t stream, uint64_t position, enum tsm_fetch fetch, uint32_t flags)
{
    const uint64_t moved = address - (uint64_t)(uintptr_t)box->data, size = tsm_box_size(box);
    const bool is_whole = tsm_payload_fits(lane, SBT_BLOB_KEYED_SIZE(size));
    const uint64_t part = is_whole ? size : tsm_payload_part(lane);
    struct tsm_note note = {.call = SBT_CORE_READBACK, .stream = SBT_STREAM_NONE, .slot_count = 5};

    if (lane->session->settings.readback == TSM_READBACK_OFF)
        return;
    note.slots[0] = stream;
    note.slots[1] = position;
    note.flags = flags;
    for (uint64_t at = 0; at < size; at += part) {
        uint64_t left = size - at;
        note.slots[2] = at ? tsm_box_address(box, at) + moved : address;
        if (!write_part(lane, box, at, left < part ? left : part, fetch, &note)) {
            tsm_session_unmodelled(NOT_READ, true);
            return;
        }
        if (!is_whole)
            tsm_scratch_clear(lane);
    }
}

void tsm_readback_copied(struct tsm_lane *lane, const struct tsm_box *box, uint64_t address,
                         struct tsm_running by)
{
    tsm_readback_record(lane, box, address, by.stream, by.position, TSM_FETCH_DIRECT, 0);
}
