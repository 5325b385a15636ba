/* SPDX-License-Identifier: Apache-2.0 */
#include "format/kernel_events.h"

#include "base/bytes.h"
#include "format/limits.h"
#include "format/read/state.h"
#include "format/write/state.h"

#include <stdlib.h>

size_t sbt_kernel_record_size(const uint8_t *data, size_t size)
{
    size_t own = size >= SBT_KERNEL_RECORD_SIZE ? tsm_get_u16(data) : 0;

    return own >= SBT_KERNEL_RECORD_SIZE && own <= SBT_KERNEL_RECORD_SIZE_MAX && own % 8 == 0 &&
                   own <= size
               ? own
               : 0;
}

int64_t sbt_kernel_record_count(const uint8_t *data, size_t size)
{
    int64_t count = 0;

    for (size_t at = 0, own; at < size; at += own, count++) {
        own = sbt_kernel_record_size(data + at, size - at);
        if (own == 0)
            return -1;
    }
    return count;
}

int sbt_writer_kernel_events(struct sbt_writer *w, const void *records, size_t size)
{
    int64_t count = sbt_kernel_record_count(records, size);
    int error = sbt_writer_check_begun(w);

    if (error || count == 0)
        return error;
    if (count < 0 || size > SBT_CHUNK_RAW_MAX)
        return tsm_fail(TSM_E_ARGUMENT, "%s: %zu bytes are no kernel records", w->queue.path, size);
    return sbt_writer_stick(w, sbt_writer_kernel_chunk(w, records, size, (uint32_t)count));
}

static bool is_kernel_chunk(const struct sbt_reader *r, size_t place, size_t *index)
{
    return r->entries[place].head.type == SBT_CHUNK_KERNEL_EVENTS && (*index)-- == 0;
}

int sbt_reader_kernel_events(struct sbt_reader *r, size_t index, uint8_t **out, size_t *size)
{
    struct sbt_packer packer = {0};
    int error;

    *out = NULL;
    *size = 0;
    for (size_t i = 0; i < r->entry_count; i++) {
        if (!is_kernel_chunk(r, i, &index))
            continue;
        error = sbt_reader_load(r, &packer, i, out, false);
        sbt_packer_finish(&packer);
        if (error)
            return error;
        *size = r->entries[i].head.raw_size;
        if (sbt_kernel_record_count(*out, *size) == r->entries[i].head.count)
            return 0;
        free(*out);
        *out = NULL;
        sbt_reader_blame(r, i, "its kernel records are malformed", false);
        return tsm_fail(TSM_E_CHECKSUM, "%s: chunk %u: its kernel records are malformed", r->name,
                        r->entries[i].head.number);
    }
    return TSM_E_NOT_FOUND;
}
