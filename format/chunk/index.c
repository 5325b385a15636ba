/* SPDX-License-Identifier: Apache-2.0 */
#include "format/chunk/index.h"

void sbt_index_finish(struct sbt_index *x)
{
    tsm_buffer_finish(&x->chunks);
    tsm_buffer_finish(&x->leaves);
    tsm_buffer_finish(&x->pieces);
}

void sbt_index_add(struct tsm_buffer *entries, const struct sbt_chunk *chunk, uint64_t offset)
{
    uint8_t header[SBT_CHUNK_HEADER_SIZE];

    sbt_chunk_put(header, chunk);
    tsm_buffer_add_u64(entries, offset);
    tsm_buffer_add(entries, header + SBT_CHUNK_SUMMARY_AT, SBT_CHUNK_SUMMARY_SIZE);
}

uint32_t sbt_index_put(struct tsm_buffer *out, enum sbt_index_kind kind,
                       const struct tsm_buffer *entries)
{
    uint32_t count = (uint32_t)(entries->size / SBT_INDEX_ENTRY_SIZE);

    tsm_buffer_add_u32(out, kind);
    tsm_buffer_add_u32(out, count);
    tsm_buffer_add(out, entries->data, entries->size);
    out->failed |= entries->failed;
    return count;
}

void sbt_index_add_pieces(struct sbt_index *x, uint32_t number, uint32_t count,
                          const uint8_t *entries)
{
    tsm_buffer_add_u32(&x->pieces, number);
    tsm_buffer_add_u32(&x->pieces, count);
    tsm_buffer_add(&x->pieces, entries, (size_t)count * SBT_PIECE_ENTRY_SIZE);
    x->piece_chunks++;
}
