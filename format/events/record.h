/* SPDX-License-Identifier: Apache-2.0
 *
 * How a blob reference says that the bytes follow it (docs/FORMAT.md section 8).
 */
#ifndef FORMAT_RECORD_H
#define FORMAT_RECORD_H

#include "base/bytes.h"
#include "tracesmith/trace.h"

#include <stdint.h>

/* Bit of a reference's size: no keys follow, but the bytes, SBT_INLINE_MAX of them at most. */
#define SBT_BLOB_INLINE (1ull << 63)

/* Tests whether a writer stores `size` bytes in that way. */
static inline bool sbt_blob_is_inline(uint64_t size)
{
    return size > 0 && size <= SBT_INLINE_MAX;
}

/* The first 8 bytes of a reference. */
static inline void sbt_blob_put_size(uint8_t *out, uint64_t size)
{
    tsm_put_u64(out, sbt_blob_is_inline(size) ? size | SBT_BLOB_INLINE : size);
}

#endif
