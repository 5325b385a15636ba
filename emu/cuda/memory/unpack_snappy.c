/* SPDX-License-Identifier: Apache-2.0 */
#include "emu/cuda/memory/unpack.h"

#include <string.h>

struct input {
    const uint8_t *at, *end;
};

struct output {
    uint8_t *bytes;
    size_t size, room;
};

/* Reads a little-endian number of so many bytes. */
static bool read_number(struct input *in, unsigned count, uint32_t *out)
{
    *out = 0;
    if ((size_t)(in->end - in->at) < count)
        return false;
    for (unsigned i = 0; i < count; i++)
        *out |= (uint32_t)*in->at++ << 8 * i;
    return true;
}

/* Reads the length of all, seven bits a byte. */
static bool read_length(struct input *in, uint32_t *out)
{
    *out = 0;
    for (unsigned shift = 0; shift < 35 && in->at < in->end; shift += 7) {
        const uint8_t byte = *in->at++;
        *out |= (uint32_t)(byte & 127) << shift;
        if (!(byte & 128))
            return true;
    }
    return false;
}

static bool put_literal(struct input *in, struct output *out, uint8_t tag)
{
    uint32_t length = tag >> 2;

    if (length >= 60 && !read_number(in, length - 59, &length))
        return false;
    if (length >= (size_t)(in->end - in->at) || length >= out->room - out->size)
        return false;
    memcpy(out->bytes + out->size, in->at, length + 1u);
    in->at += length + 1u;
    out->size += length + 1u;
    return true;
}

/* Copies byte by byte: the source may be what the copy itself writes. */
static bool put_copy(struct output *out, size_t offset, size_t length)
{
    if (!offset || offset > out->size || length > out->room - out->size)
        return false;
    for (size_t i = 0; i < length; i++, out->size++)
        out->bytes[out->size] = out->bytes[out->size - offset];
    return true;
}

static bool put_element(struct input *in, struct output *out)
{
    const uint8_t tag = *in->at++;
    uint32_t offset;

    switch (tag & 3) {
    case 0:
        return put_literal(in, out, tag);
    case 1:
        return read_number(in, 1, &offset) &&
               put_copy(out, offset | (uint32_t)(tag >> 5) << 8, (tag >> 2 & 7) + 4u);
    default:
        return read_number(in, (tag & 3) == 2 ? 2 : 4, &offset) &&
               put_copy(out, offset, (tag >> 2) + 1u);
    }
}

bool emu_unpack_snappy(const uint8_t *bytes, size_t size, uint8_t *out, size_t room,
                       size_t *written)
{
    struct input in = {bytes, bytes + size};
    struct output o = {out, 0, room};
    uint32_t length;

    if (!read_length(&in, &length) || length > room)
        return false;
    o.room = length;
    while (in.at < in.end)
        if (!put_element(&in, &o))
            return false;
    *written = o.size;
    return o.size == length;
}
