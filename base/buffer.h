/* SPDX-License-Identifier: Apache-2.0
 *
 * A growing byte buffer for code that may use malloc (never on a traced program's call path).
 *
 * Out of memory sets `failed`, after which every append does nothing: check once at the end.
 * A zeroed struct is a valid empty buffer. One thread at a time.
 */
#ifndef BASE_BUFFER_H
#define BASE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tsm_buffer {
    uint8_t *data;
    size_t size;
    size_t capacity;
    bool failed;
};

void tsm_buffer_finish(struct tsm_buffer *b);

/* Forget the content, keep the memory, and forgive an earlier failure. */
void tsm_buffer_clear(struct tsm_buffer *b);

uint8_t *tsm_buffer_grow(struct tsm_buffer *b, size_t size);

/* Make room for `size` more bytes and return where they go, NULL when out of memory. The caller
 * writes them and adds to b->size. */
static inline uint8_t *tsm_buffer_reserve(struct tsm_buffer *b, size_t size)
{
    if (b->data && !b->failed && b->capacity - b->size >= size)
        return b->data + b->size;
    return tsm_buffer_grow(b, size);
}

void tsm_buffer_add(struct tsm_buffer *b, const void *data, size_t size);
void tsm_buffer_add_u8(struct tsm_buffer *b, uint8_t v);
void tsm_buffer_add_u16(struct tsm_buffer *b, uint16_t v);
void tsm_buffer_add_u32(struct tsm_buffer *b, uint32_t v);
void tsm_buffer_add_u64(struct tsm_buffer *b, uint64_t v);
void tsm_buffer_add_varint(struct tsm_buffer *b, uint64_t v);

#endif
