/* SPDX-License-Identifier: Apache-2.0
 *
 * Writing a structured value (docs/FORMAT.md 8.1). May be used inside a traced program: no malloc,
 * no lock, errno untouched. Put the members in their order:
 *
 *     struct sbt_out out;
 *
 *     sbt_out_init(&out, memory, sizeof(memory), NULL, NULL);
 *     sbt_out_varint(&out, info->flags);             UINT, HEX, BOOL, HANDLE, addresses, SIZE,
 * FLAGS sbt_out_list(&out, info->count);               then the values place =
 * sbt_out_element(&out, id);             of a chain: id, then the element's members
 *     ...
 *     sbt_out_element_end(&out, place);
 *     sbt_out_chain_end(&out);
 *     if (!out.overflow)
 *         tsm_call_struct(call, out.start, sbt_out_size(&out));
 *
 * A struct has no bytes of its own, a union begins with the place of its member + 1 as a varint.
 */
#ifndef FORMAT_STRUCT_OUT_H
#define FORMAT_STRUCT_OUT_H

#include "base/bytes.h"
#include "tracesmith/trace.h"

#include <string.h>

struct sbt_out {
    uint8_t *start, *at, *end;
    bool overflow; /* something did not fit: the value is of no use */

    /* Optional: make room for `size` more bytes, at least: move what is there ([start, at)) to
     * larger memory and set start, at and end. False: there is none. */
    bool (*grow)(struct sbt_out *out, size_t size);
    void *user; /* the callback's own */
};

static inline void sbt_out_init(struct sbt_out *out, void *memory, size_t size,
                                bool (*grow)(struct sbt_out *out, size_t size), void *user)
{
    uint8_t *p = memory;

    *out = (struct sbt_out){.start = p, .at = p, .end = p + size, .grow = grow, .user = user};
}

static inline size_t sbt_out_size(const struct sbt_out *out)
{
    return (size_t)(out->at - out->start);
}

static __attribute__((noinline, cold, unused)) bool sbt_out_more(struct sbt_out *out, size_t size)
{
    if (!out->overflow && out->grow && sbt_out_size(out) + size <= SBT_VALUE_MAX &&
        out->grow(out, size) && (size_t)(out->end - out->at) >= size)
        return true;
    out->overflow = true;
    out->end = out->at; /* from here on nothing fits */
    return false;
}

/* Tests whether there is room for `size` bytes. */
static inline bool sbt_out_room(struct sbt_out *out, size_t size)
{
    return __builtin_expect((size_t)(out->end - out->at) >= size, 1) || sbt_out_more(out, size);
}

static inline void sbt_out_varint(struct sbt_out *out, uint64_t v)
{
    uint8_t *p;

    if (!sbt_out_room(out, 10))
        return;
    p = out->at;
    for (; v >= 0x80; v >>= 7)
        *p++ = (uint8_t)(v | 0x80);
    *p++ = (uint8_t)v;
    out->at = p;
}

/* INT, ENUM. */
static inline void sbt_out_zigzag(struct sbt_out *out, int64_t v)
{
    sbt_out_varint(out, tsm_zigzag(v));
}

static inline void sbt_out_raw(struct sbt_out *out, const void *data, size_t size)
{
    if (!size || !sbt_out_room(out, size))
        return;
    memcpy(out->at, data, size);
    out->at += size;
}

static inline void sbt_out_f32(struct sbt_out *out, float v)
{
    sbt_out_raw(out, &v, sizeof(v));
}

static inline void sbt_out_f64(struct sbt_out *out, double v)
{
    sbt_out_raw(out, &v, sizeof(v));
}

/* A list of `count` values begins. Lists that are not there (a null pointer): sbt_out_none(). */
static inline void sbt_out_list(struct sbt_out *out, uint64_t count)
{
    sbt_out_varint(out, count + 1);
}

/* No list, no text, no bytes; of a union: no member. */
static inline void sbt_out_none(struct sbt_out *out)
{
    sbt_out_varint(out, 0);
}

/* NULL: none. */
static inline void sbt_out_bytes(struct sbt_out *out, const void *data, size_t size)
{
    sbt_out_varint(out, data ? (uint64_t)size + 1 : 0);
    sbt_out_raw(out, data, data ? size : 0);
}

/* Terminated by a zero byte, which is not stored. NULL: none. */
static inline void sbt_out_text(struct sbt_out *out, const char *text)
{
    sbt_out_bytes(out, text, text ? strlen(text) : 0);
}

/* An element of a chain begins; returns its place. Its size is put in front when it is known, as a
 * varint padded to four bytes, so that nothing has to move. */
#define SBT_OUT_SIZE_BYTES 4u
static inline size_t sbt_out_element(struct sbt_out *out, uint32_t id)
{
    sbt_out_varint(out, id);
    if (sbt_out_room(out, SBT_OUT_SIZE_BYTES))
        out->at += SBT_OUT_SIZE_BYTES;
    return sbt_out_size(out);
}

static inline void sbt_out_element_end(struct sbt_out *out, size_t place)
{
    size_t size = sbt_out_size(out) - place;
    uint8_t *p = out->start + place - SBT_OUT_SIZE_BYTES;

    if (out->overflow)
        return;
    p[0] = (uint8_t)(size | 0x80);
    p[1] = (uint8_t)(size >> 7 | 0x80);
    p[2] = (uint8_t)(size >> 14 | 0x80);
    p[3] = (uint8_t)(size >> 21);
}

_Static_assert(SBT_VALUE_MAX < 1u << 28, "an element's size takes four bytes of a varint");

static inline void sbt_out_chain_end(struct sbt_out *out)
{
    sbt_out_varint(out, 0);
}

#endif
