/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands that may use memory of the host: in a schedule they do not pass what the program writes
 * there. A kernel that finds such an address in memory is not seen.
 */
#include "api/cuda/replay/state.h"

#include <string.h>

static bool is_host(const struct cuda_replay *replay, uint64_t address)
{
    return address && tsm_address_space_find(&replay->memory.host, address, 1);
}

static bool has_host_word(const struct cuda_replay *replay, const uint8_t *bytes, size_t size)
{
    for (size_t at = 0; at + 8 <= size; at += 8) {
        uint64_t word;

        memcpy(&word, bytes + at, 8);
        if (is_host(replay, word))
            return true;
    }
    return false;
}

static bool names_host(const struct cuda_replay *replay, const struct sbt_record *record,
                       const struct sbt_schema *schema)
{
    for (uint32_t i = 0; i < schema->field_count && i < record->slot_count; i++) {
        const struct sbt_field *field = &schema->fields[i];
        const uint8_t *bytes;
        size_t size;

        if ((field->type == SBT_FIELD_DEVPTR || field->role == SBT_ROLE_HOST_DST) &&
            is_host(replay, record->slots[i]))
            return true;
        if (field->type == SBT_FIELD_BYTES && sbt_record_bytes(record, i, &bytes, &size) &&
            has_host_word(replay, bytes, size))
            return true;
    }
    return false;
}

enum tsm_host_use cuda_schedule_host_use(struct cuda_replay *replay,
                                         const struct sbt_record *record,
                                         const struct sbt_schema *schema)
{
    const bool is_graph =
        record->type == TYPE_cuGraphLaunch || record->type == TYPE_cuGraphLaunch_ptsz;

    if (cuda_functions_wrote(&replay->functions, record->stream, record->position) ||
        (is_graph && replay->functions.count))
        return TSM_HOST_FUNCTION;
    return is_graph || record->flags & SBT_RECORD_LATE || names_host(replay, record, schema)
               ? TSM_HOST_USED
               : TSM_HOST_NOT_USED;
}
