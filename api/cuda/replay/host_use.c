/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands that may use memory of the host: in a schedule they do not pass what the program writes
 * there. A kernel that finds such an address in memory is not seen.
 */
#include "api/cuda/replay/state.h"

#include <string.h>

/* Extends the span by what an address of the host stands for: `size` bytes, or, 0, all that was
 * ever beside it. Other addresses are of the device. */
static void extend(const struct cuda_replay *replay, struct tsm_host_span *span, uint64_t address,
                   uint64_t size)
{
    const struct tsm_address_range *range =
        address ? tsm_address_space_find(&replay->memory.host, address, 1) : NULL;
    uint64_t first, end;

    if (!range)
        return;
    first = size ? address : range->start;
    end = size && size < range->end - address ? address + size : range->end;
    span->first = span->first < first ? span->first : first;
    span->end = span->end > end ? span->end : end;
}

static void extend_words(const struct cuda_replay *replay, struct tsm_host_span *span,
                         const uint8_t *bytes, size_t size)
{
    for (size_t at = 0; at + 8 <= size; at += 8) {
        uint64_t word;

        memcpy(&word, bytes + at, 8);
        extend(replay, span, word, 0);
    }
}

static struct tsm_host_span find_span(const struct cuda_replay *replay,
                                      const struct sbt_record *record,
                                      const struct sbt_schema *schema)
{
    const uint64_t moved = sbt_record_role(schema, record, SBT_ROLE_SIZE, 0);
    struct tsm_host_span span = {UINT64_MAX, 0};

    for (uint32_t i = 0; i < schema->field_count && i < record->slot_count; i++) {
        const struct sbt_field *field = &schema->fields[i];
        const bool is_side = field->role == SBT_ROLE_DST || field->role == SBT_ROLE_SRC ||
                             field->role == SBT_ROLE_HOST_DST;
        const uint8_t *bytes;
        size_t size;

        if (field->type == SBT_FIELD_DEVPTR || field->role == SBT_ROLE_HOST_DST)
            extend(replay, &span, record->slots[i], is_side ? moved : 0);
        if (field->type == SBT_FIELD_BYTES && sbt_record_bytes(record, i, &bytes, &size))
            extend_words(replay, &span, bytes, size);
    }
    return span;
}

enum tsm_host_use cuda_schedule_host_use(struct cuda_replay *replay,
                                         const struct sbt_record *record,
                                         const struct sbt_schema *schema,
                                         struct tsm_host_span *span)
{
    const bool is_graph =
        record->type == TYPE_cuGraphLaunch || record->type == TYPE_cuGraphLaunch_ptsz;

    *span = (struct tsm_host_span){0, UINT64_MAX};
    if (cuda_functions_wrote(&replay->functions, record->stream, record->position) ||
        (is_graph && replay->functions.count))
        return TSM_HOST_FUNCTION;
    if (is_graph || record->flags & SBT_RECORD_LATE || replay->memory.has_managed)
        return TSM_HOST_USED;
    *span = find_span(replay, record, schema);
    return span->end ? TSM_HOST_USED : TSM_HOST_NOT_USED;
}
