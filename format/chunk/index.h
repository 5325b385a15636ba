/* SPDX-License-Identifier: Apache-2.0
 *
 * The index while it is being made: which chunks there are, and which pieces lie in which of them.
 * docs/FORMAT.md section 11. An entry is an offset and the 80 middle bytes of a chunk header.
 */
#ifndef FORMAT_INDEX_H
#define FORMAT_INDEX_H

#include "base/buffer.h"
#include "format/chunk/chunk.h"

#include <stddef.h>
#include <stdint.h>

#define SBT_INDEX_ENTRY_SIZE (8 + SBT_CHUNK_SUMMARY_SIZE)
#define SBT_INDEX_HEAD_SIZE  8u /* u32 kind, u32 entry count */

/* The first word of an INDEX payload. Pinned. */
enum sbt_index_kind {
    SBT_INDEX_LEAF = 1, /* chunks of a stretch of the file */
    SBT_INDEX_ROOT = 2, /* the leaves */
};

struct sbt_index {
    struct tsm_buffer chunks; /* entries since the last leaf */
    struct tsm_buffer leaves; /* entries of leaves */
    struct tsm_buffer pieces; /* payload of the next PIECES chunk */
    uint32_t piece_chunks;    /* BLOBS chunks in `pieces` */
    uint64_t leaf_offset;     /* where the last leaf ended */
    uint32_t leaf_number;     /* of the chunk after it */
};

void sbt_index_finish(struct sbt_index *x);

void sbt_index_add(struct tsm_buffer *entries, const struct sbt_chunk *chunk, uint64_t offset);

/* Payload of an INDEX chunk with these entries; returns their number. */
uint32_t sbt_index_put(struct tsm_buffer *out, enum sbt_index_kind kind,
                       const struct tsm_buffer *entries);

/* Note the pieces of BLOBS chunk `number`: `count` entries of key and size. */
void sbt_index_add_pieces(struct sbt_index *x, uint32_t number, uint32_t count,
                          const uint8_t *entries);

#endif
