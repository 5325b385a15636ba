/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buffer.h"

#include "base/bytes.h"

#include <stdlib.h>

void tsm_buffer_finish(struct tsm_buffer *b)
{
    free(b->data);
    *b = (struct tsm_buffer){0};
}

void tsm_buffer_clear(struct tsm_buffer *b)
{
    b->size = 0;
    b->failed = false;
}

uint8_t *tsm_buffer_grow(struct tsm_buffer *b, size_t size)
{
    if (b->failed || size > SIZE_MAX / 4 - b->size) {
        b->failed = true;
        return NULL;
    }
    if (b->capacity - b->size < size || !b->data) {
        size_t capacity = b->capacity ? b->capacity : 256;
        while (capacity - b->size < size)
            capacity *= 2;
        uint8_t *data = realloc(b->data, capacity);
        if (!data) {
            b->failed = true;
            return NULL;
        }
        b->data = data;
        b->capacity = capacity;
    }
    return b->data + b->size;
}

void tsm_buffer_add(struct tsm_buffer *b, const void *data, size_t size)
{
    uint8_t *at = tsm_buffer_reserve(b, size);

    if (at && size) {
        memcpy(at, data, size);
        b->size += size;
    }
}

void tsm_buffer_add_u8(struct tsm_buffer *b, uint8_t v)
{
    tsm_buffer_add(b, &v, 1);
}

void tsm_buffer_add_u16(struct tsm_buffer *b, uint16_t v)
{
    uint8_t bytes[2];

    tsm_put_u16(bytes, v);
    tsm_buffer_add(b, bytes, sizeof(bytes));
}

void tsm_buffer_add_u32(struct tsm_buffer *b, uint32_t v)
{
    uint8_t bytes[4];

    tsm_put_u32(bytes, v);
    tsm_buffer_add(b, bytes, sizeof(bytes));
}

void tsm_buffer_add_u64(struct tsm_buffer *b, uint64_t v)
{
    uint8_t bytes[8];

    tsm_put_u64(bytes, v);
    tsm_buffer_add(b, bytes, sizeof(bytes));
}

void tsm_buffer_add_varint(struct tsm_buffer *b, uint64_t v)
{
    uint8_t bytes[10];
    size_t size = 0;

    while (v >= 0x80) {
        bytes[size++] = (uint8_t)(v | 0x80);
        v >>= 7;
    }
    bytes[size++] = (uint8_t)v;
    tsm_buffer_add(b, bytes, size);
}
