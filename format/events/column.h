/* SPDX-License-Identifier: Apache-2.0
 *
 * One column of an EVENTS payload: `count` 64-bit values <-> bytes. docs/FORMAT.md section 7.3.
 */
#ifndef FORMAT_COLUMN_H
#define FORMAT_COLUMN_H

#include "base/buffer.h"
#include "base/bytes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How values are stored: the low four bits of a column's encoding byte. Pinned. */
enum sbt_column_storage {
    SBT_COLUMN_CONSTANT = 0, /* u64 */
    SBT_COLUMN_FIXED1 = 1,   /* u64 base, then count differences to it in 1, 2, 4 or 8 bytes */
    SBT_COLUMN_FIXED2 = 2,
    SBT_COLUMN_FIXED4 = 3,
    SBT_COLUMN_FIXED8 = 4,
    SBT_COLUMN_VARINT = 5, /* count LEB128 numbers */
    SBT_COLUMN_DICT = 6,   /* u8 n - 1, n * u64, then count one-byte places in that list */
    SBT_COLUMN_PLANES2 = 7, /* as FIXED2 to FIXED8, but first bytes of all values, then second ones */
    SBT_COLUMN_PLANES4 = 8,
    SBT_COLUMN_PLANES8 = 9,
};

/* Bit s for storage s: those that take SBT_FEATURE_COMPACT. */
#define SBT_COLUMNS_COMPACT                                                                            \
    (1u << SBT_COLUMN_PLANES2 | 1u << SBT_COLUMN_PLANES4 | 1u << SBT_COLUMN_PLANES8)

/* Transformation of the values before encoding: bit 4 of the encoding byte. */
#define SBT_COLUMN_DELTA 0x10u /* zigzag difference to the value before, the first one to 0 */

/* Expected distribution of the values. It chooses the encoding, not the values that are read
 * back. */
enum sbt_column_hint {
    SBT_COLUMN_PLAIN,
    SBT_COLUMN_SMALL, /* nearly all tiny, a few huge */
    SBT_COLUMN_NOISE, /* of similar size, low bits by chance: durations */
};

/* Append the column with the encoding that suits it. */
void sbt_column_put(struct tsm_buffer *out, const uint64_t *values, size_t count,
                    enum sbt_column_hint hint);

/* Append a column of at least one value, all of them `value`. */
void sbt_column_put_constant(struct tsm_buffer *out, uint64_t value);

/* Take one column from `in`, and set the bit of its storage in *storages. False when it is malformed;
 * `values` is undefined then. */
bool sbt_column_get(struct tsm_view *in, uint64_t *values, size_t count, uint32_t *storages);

/* Take one column from `in` without looking at it. */
bool sbt_column_skip(struct tsm_view *in);

#endif
