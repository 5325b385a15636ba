/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/call/left.h"
#include "capture/call/path.h"
#include "capture/call/payload.h"
#include "capture/call/place.h"

_Static_assert(offsetof(struct tsm_scratch, slots) ==
                   offsetof(struct tsm_scratch, record) + sizeof(struct tsm_record_entry),
               "a record and its slots");

void tsm_record_make_way(struct tsm_call *call)
{
    struct tsm_scratch *scratch = call->lane->scratch;

    if (!is_in_place(call))
        return;
    memcpy(&scratch->record, tsm_call_record(call), sizeof(scratch->record));
    memcpy(scratch->slots, call->slots, 8 * (size_t)call->slot_count);
    call->slots = scratch->slots;
}

void tsm_call_make_way(const struct tsm_lane *lane)
{
    if (!tsm_left_make_way(lane) && tsm_thread.call && tsm_thread.call->lane == lane)
        tsm_record_make_way(tsm_thread.call);
}
