/* SPDX-License-Identifier: Apache-2.0
 *
 * Little-endian bytes <-> integers, and a reader that cannot run off its end. Everything in a file
 * goes through these, field by field: no struct is ever written or read as memory.
 */
#ifndef BASE_BYTES_H
#define BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline void tsm_put_u16(uint8_t *p, uint16_t v)
{
    p[0] = (uint8_t)v;
    p[1] = (uint8_t)(v >> 8);
}

static inline void tsm_put_u32(uint8_t *p, uint32_t v)
{
    tsm_put_u16(p, (uint16_t)v);
    tsm_put_u16(p + 2, (uint16_t)(v >> 16));
}

static inline void tsm_put_u64(uint8_t *p, uint64_t v)
{
    tsm_put_u32(p, (uint32_t)v);
    tsm_put_u32(p + 4, (uint32_t)(v >> 32));
}

static inline uint16_t tsm_get_u16(const uint8_t *p)
{
    return (uint16_t)(p[0] | p[1] << 8);
}

static inline uint32_t tsm_get_u32(const uint8_t *p)
{
    return (uint32_t)tsm_get_u16(p) | (uint32_t)tsm_get_u16(p + 2) << 16;
}

static inline uint64_t tsm_get_u64(const uint8_t *p)
{
    return (uint64_t)tsm_get_u32(p) | (uint64_t)tsm_get_u32(p + 4) << 32;
}

static inline uint64_t tsm_zigzag(int64_t v)
{
    return ((uint64_t)v << 1) ^ (uint64_t)(v >> 63);
}

static inline int64_t tsm_unzigzag(uint64_t v)
{
    return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

/* A view of bytes that are somebody else's. Taking past the end yields zeros and sets `failed`, so
 * that a parser checks once, after a group of fields. */
struct tsm_view {
    const uint8_t *at;
    const uint8_t *end;
    bool failed;
};

static inline struct tsm_view tsm_view_init(const void *data, size_t size)
{
    const uint8_t *p = data;
    return (struct tsm_view){.at = p, .end = p + size, .failed = false};
}

static inline size_t tsm_view_left(const struct tsm_view *v)
{
    return (size_t)(v->end - v->at);
}

/* `size` bytes, or NULL (and failed) when fewer are left. */
static inline const uint8_t *tsm_view_take(struct tsm_view *v, size_t size)
{
    const uint8_t *p = v->at;

    if (v->failed || tsm_view_left(v) < size) {
        v->failed = true;
        return NULL;
    }
    v->at += size;
    return p;
}

static inline uint8_t tsm_view_u8(struct tsm_view *v)
{
    const uint8_t *p = tsm_view_take(v, 1);
    return p ? *p : 0;
}

static inline uint16_t tsm_view_u16(struct tsm_view *v)
{
    const uint8_t *p = tsm_view_take(v, 2);
    return p ? tsm_get_u16(p) : 0;
}

static inline uint32_t tsm_view_u32(struct tsm_view *v)
{
    const uint8_t *p = tsm_view_take(v, 4);
    return p ? tsm_get_u32(p) : 0;
}

static inline uint64_t tsm_view_u64(struct tsm_view *v)
{
    const uint8_t *p = tsm_view_take(v, 8);
    return p ? tsm_get_u64(p) : 0;
}

/* LEB128, at most 10 bytes; longer or over 64 bits fails. */
static inline uint64_t tsm_view_varint(struct tsm_view *v)
{
    uint64_t value = 0;

    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint8_t byte = tsm_view_u8(v);
        if (shift == 63 && byte > 1)
            break;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return v->failed ? 0 : value;
    }
    v->failed = true;
    return 0;
}

#endif
