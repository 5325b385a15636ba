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

static inline void tsm_proto_u64(struct tsm_buffer *b, uint32_t field, uint64_t value)
{
    tsm_buffer_add_varint(b, (uint64_t)field << 3 | TSM_WIRE_VARINT);
    tsm_buffer_add_varint(b, value);
}

/* A string, packed numbers, or a message that is in a buffer of its own. */
static inline void tsm_proto_bytes(struct tsm_buffer *b, uint32_t field, const void *data,
                                   size_t size)
{
    tsm_buffer_add_varint(b, (uint64_t)field << 3 | TSM_WIRE_BYTES);
    tsm_buffer_add_varint(b, size);
    if (size)
        tsm_buffer_add(b, data, size);
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
