/* SPDX-License-Identifier: Apache-2.0
 *
 * Protobuf's wire format (https://protobuf.dev/programming-guides/encoding), for writers that know
 * the numbers of their fields. Out of memory marks the buffer as failed.
 */
#ifndef EXPORT_PROTOBUF_H
#define EXPORT_PROTOBUF_H

#include "base/buffer.h"

#include <string.h>

enum { TSM_WIRE_VARINT = 0, TSM_WIRE_BYTES = 2 };

#define TSM_VARINT_MAX 10u /* bytes */

/* Writes a number at `at`, which has room for it; returns the place behind it. */
static inline uint8_t *tsm_proto_put_varint(uint8_t *at, uint64_t value)
{
    for (; value > 127; value >>= 7)
        *at++ = (uint8_t)(value | 128);
    *at++ = (uint8_t)value;
    return at;
}

static inline void tsm_proto_u64(struct tsm_buffer *b, uint32_t field, uint64_t value)
{
    uint8_t *const begin = tsm_buffer_reserve(b, 2 * TSM_VARINT_MAX);
    uint8_t *at = begin;

    if (!at)
        return;
    at = tsm_proto_put_varint(at, (uint64_t)field << 3 | TSM_WIRE_VARINT);
    b->size += (size_t)(tsm_proto_put_varint(at, value) - begin);
}

/* A string, packed numbers, or a message that is in a buffer of its own. */
static inline void tsm_proto_bytes(struct tsm_buffer *b, uint32_t field, const void *data,
                                   size_t size)
{
    uint8_t *const begin = tsm_buffer_reserve(b, 2 * TSM_VARINT_MAX + size);
    uint8_t *at = begin;

    if (!at)
        return;
    at = tsm_proto_put_varint(at, (uint64_t)field << 3 | TSM_WIRE_BYTES);
    at = tsm_proto_put_varint(at, size);
    if (size)
        memcpy(at, data, size);
    b->size += (size_t)(at - begin) + size;
}

static inline void tsm_proto_text(struct tsm_buffer *b, uint32_t field, const char *text)
{
    tsm_proto_bytes(b, field, text, strlen(text));
}

/* Adds the message in `part` as a field, and empties `part`. */
static inline void tsm_proto_message(struct tsm_buffer *b, uint32_t field, struct tsm_buffer *part)
{
    tsm_proto_bytes(b, field, part->data, part->size);
    b->failed |= part->failed;
    tsm_buffer_clear(part);
}

#endif
