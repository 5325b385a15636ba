/* SPDX-License-Identifier: Apache-2.0
 *
 * Fat binaries, field by field.
 */
#ifndef TESTS_EMU_EMU_FATBIN_H
#define TESTS_EMU_EMU_FATBIN_H

#include "base/buffer.h"
#include "base/bytes.h"

#define FATBIN_PTX     1
#define FATBIN_CODE    2
#define FATBIN_WRAPPER 0x466243b1
#define FATBIN_LZ4     0x2000
#define FATBIN_ZSTD    0x8000

static inline void fatbin_begin(struct tsm_buffer *b)
{
    tsm_buffer_clear(b);
    tsm_buffer_add_u32(b, 0xba55ed50);
    tsm_buffer_add_u16(b, 1);
    tsm_buffer_add_u16(b, 16);
    tsm_buffer_add_u64(b, 0);
}

/* Adds an entry for sm_`arch`. full: bytes that the data unpacks to; 0: it is not packed. */
static inline void fatbin_add(struct tsm_buffer *b, unsigned kind, unsigned arch, uint64_t flags,
                              const void *data, size_t packed, size_t full)
{
    size_t padded = (packed + 7) & ~(size_t)7;

    tsm_buffer_add_u16(b, (uint16_t)kind);
    tsm_buffer_add_u16(b, 0x0101);
    tsm_buffer_add_u32(b, 64);
    tsm_buffer_add_u64(b, padded);
    tsm_buffer_add_u32(b, (uint32_t)packed);
    tsm_buffer_add_u32(b, 0);
    tsm_buffer_add_u32(b, 7);
    tsm_buffer_add_u32(b, arch);
    tsm_buffer_add_u64(b, 0);
    tsm_buffer_add_u64(b, flags);
    tsm_buffer_add_u64(b, 0);
    tsm_buffer_add_u64(b, full);
    tsm_buffer_add(b, data, packed);
    tsm_buffer_add(b, "\0\0\0\0\0\0\0", padded - packed);
}

/* Returns the image, which is the buffer's. */
static inline const void *fatbin_end(struct tsm_buffer *b)
{
    tsm_put_u64(b->data + 8, b->size - 16);
    return b->data;
}

#endif
