/* SPDX-License-Identifier: Apache-2.0
 *
 * Records of one EVENTS chunk: gathered row by row while writing, stored column by column, and
 * decoded into rows again. docs/FORMAT.md section 7.
 */
#ifndef FORMAT_ROWS_H
#define FORMAT_ROWS_H

#include "base/buffer.h"
#include "format/chunk/chunk.h"
#include "tracesmith/trace.h"

#include <stddef.h>
#include <stdint.h>

/* Common columns, in file order. Pinned; a later minor version appends. */
enum sbt_common_column {
    SBT_COMMON_GROUP,
    SBT_COMMON_TIME,
    SBT_COMMON_DURATION,
    SBT_COMMON_THREAD,
    SBT_COMMON_STREAM,
    SBT_COMMON_POSITION,
    SBT_COMMON_RESULT,
    SBT_COMMON_FLAGS,
    SBT_COMMON_STACK,
    SBT_COMMON_COUNT
};

/* Records of one type in a chunk. */
struct sbt_group {
    uint32_t type, slot_count, count, data_size;
};

/* Whether a record counts as tainting; `schema_flags` 0 when its type is unknown. */
bool sbt_record_taints(uint32_t schema_flags, uint32_t record_flags);

/* The records of a chunk that is being filled. Common columns are filled value by value, so that
 * encoding reads each from front to back; slots and data stay record by record. A zeroed struct is
 * empty; memory is kept between chunks, so that a record costs a copy and no allocation. */
struct sbt_batch {
    /* `capacity` values each, in one allocation that begins at columns[0]. Position as it is, not
     * its difference; result in zigzag. */
    uint64_t *columns[SBT_COMMON_COUNT];
    uint64_t first[SBT_COMMON_COUNT]; /* of a steady column: the value of all records */
    uint32_t varied; /* bit c: steady column c has different values; until then it is not filled */
    uint32_t *slot_at; /* where the record's slots start, in `slots` */
    uint32_t *data_at, *data_size;
    uint32_t count, capacity;
    struct tsm_buffer slots; /* uint64_t[] */
    struct tsm_buffer data;
    struct tsm_buffer groups; /* struct sbt_group[] */
    struct tsm_buffer places; /* uint32_t[]: the writer's schema number -> group + 1 */
    uint64_t row_bytes;       /* sum of SBT_ROW_SIZE */
};

void sbt_batch_finish(struct sbt_batch *b);
void sbt_batch_clear(struct sbt_batch *b);

/* Append a record whose type is the writer's schema number `schema`. Limits are the caller's. */
int sbt_batch_add(struct sbt_batch *b, uint32_t schema, const struct sbt_record *record);

/* Columns of the batch into `out`, in the compact layout (docs/FORMAT.md 7.4): the chunk has the flag
 * SBT_CHUNK_COMPACT. `scratch` is memory to reuse. Errors show as out->failed. */
void sbt_batch_encode(const struct sbt_batch *b, struct tsm_buffer *scratch,
                      struct tsm_buffer *out);

/* Decoded records of a chunk. Owned memory: all four. A zeroed struct is empty. */
struct sbt_rows {
    struct sbt_record *records;
    uint64_t *slots;
    uint8_t *payload; /* data areas point into it */
    size_t count;
    uint32_t unknown_columns; /* common columns of a newer minor version that were skipped */
    uint32_t storages;        /* bit s: a column has storage s (format/events/column.h) */
};

void sbt_rows_finish(struct sbt_rows *r);

/* Decode `payload` (raw bytes of `chunk`, in the layout that its flags tell), which is owned by `out` from now on, also on failure.
 * Returns NULL, or a constant sentence saying what is wrong; then `out` is empty. */
const char *sbt_rows_decode(struct sbt_rows *out, const struct sbt_chunk *chunk, uint8_t *payload);

#endif
