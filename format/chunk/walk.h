/* SPDX-License-Identifier: Apache-2.0
 *
 * Walks from chunk to chunk of a session, by the chunks' own headers: docs/FORMAT.md, section 15. The
 * reader that has no index and sbt_check() find the same chunks with it.
 */
#ifndef FORMAT_CHUNK_WALK_H
#define FORMAT_CHUNK_WALK_H

#include "format/chunk/chunk.h"
#include "tracesmith/reader.h"

/* Chunks whose header stands here, of this session, after those before it. */
struct sbt_chunk_walk {
    const struct sbt_source *source;
    uint64_t size; /* of the file */
    uint32_t session;
    uint64_t due;        /* where the next chunk is due: the end of the last one */
    uint32_t due_number; /* the least number that it may have */
    uint64_t budget;     /* bytes that may be hashed yet, to find out which sizes can be trusted */

    /* The chunk that next() found. */
    struct sbt_chunk head;
    uint8_t header[SBT_CHUNK_HEADER_SIZE];
    uint64_t offset;

    struct sbt_chunk ahead; /* the chunk at `due`, if has_ahead */
    uint8_t ahead_header[SBT_CHUNK_HEADER_SIZE];
    bool has_ahead;
};

/* `start`: where the file header ends. `session`: the first four bytes of the session's id. */
struct sbt_chunk_walk sbt_chunk_walk_init(const struct sbt_source *source, uint64_t size,
                                          uint64_t start, uint32_t session);

/* 1: there is a chunk; 0: there is none any more, and `due` is where the last one ended; negative: an error. */
int sbt_chunk_walk_next(struct sbt_chunk_walk *w);

/* Tests whether a chunk may come after one that leaves `due_number` and ends at `due`, and ends by `end`. */
bool sbt_chunk_may_follow(const struct sbt_chunk *head, uint32_t session, uint32_t due_number,
                          uint64_t due, uint64_t offset, uint64_t end);

#endif
