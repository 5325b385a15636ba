/* SPDX-License-Identifier: Apache-2.0 */
#include "emu/cuda/memory/unpack.h"

#include <string.h>

#define CODE_BITS_MAX  15u
#define LENGTH_SYMBOLS 288u /* literals, the end of a block, and lengths */
#define PLACE_SYMBOLS  32u

struct stream {
    const uint8_t *bytes;
    size_t size, at;
    uint32_t bits; /* read, and not used; the lowest first */
    unsigned bit_count;
    uint8_t *out;
    size_t written, room;
    bool has_failed;
};

/* Symbols in the order of their codes, and how many have codes of each length. */
struct code {
    uint16_t counts[CODE_BITS_MAX + 1], symbols[LENGTH_SYMBOLS];
};

static unsigned take(struct stream *s, unsigned count)
{
    unsigned value;

    while (s->bit_count < count) {
        if (s->at == s->size) {
            s->has_failed = true;
            return 0;
        }
        s->bits |= (uint32_t)s->bytes[s->at++] << s->bit_count;
        s->bit_count += 8;
    }
    value = s->bits & ((1u << count) - 1);
    s->bits >>= count;
    s->bit_count -= count;
    return value;
}

/* Codes of one length are numbers in a row, in the order of their symbols, and those of the next
 * length go on from twice what follows. */
static void make_code(struct code *code, const uint8_t *lengths, unsigned count)
{
    uint16_t first[CODE_BITS_MAX + 1] = {0};

    memset(code->counts, 0, sizeof(code->counts));
    for (unsigned i = 0; i < count; i++)
        code->counts[lengths[i]]++;
    code->counts[0] = 0;
    for (unsigned length = 1; length < CODE_BITS_MAX; length++)
        first[length + 1] = (uint16_t)(first[length] + code->counts[length]);
    for (unsigned i = 0; i < count; i++)
        if (lengths[i])
            code->symbols[first[lengths[i]]++] = (uint16_t)i;
}

static unsigned take_symbol(struct stream *s, const struct code *code)
{
    unsigned value = 0, first = 0, place = 0;

    for (unsigned length = 1; length <= CODE_BITS_MAX && !s->has_failed; length++) {
        value = value << 1 | take(s, 1);
        if (value - first < code->counts[length])
            return code->symbols[place + value - first];
        place += code->counts[length];
        first = (first + code->counts[length]) << 1;
    }
    s->has_failed = true;
    return 0;
}

/* ---- blocks ---- */

static void put(struct stream *s, unsigned byte)
{
    if (s->written == s->room)
        s->has_failed = true;
    else
        s->out[s->written++] = (uint8_t)byte;
}

static void copy(struct stream *s, size_t distance, size_t length)
{
    if (distance > s->written)
        s->has_failed = true;
    for (size_t i = 0; i < length && !s->has_failed; i++)
        put(s, s->out[s->written - distance]);
}

static void put_stored(struct stream *s)
{
    unsigned size;

    s->bits = s->bit_count = 0; /* up to the next byte */
    size = take(s, 16);
    if (take(s, 16) != (~size & 0xffff))
        s->has_failed = true;
    for (unsigned i = 0; i < size && !s->has_failed; i++)
        put(s, take(s, 8));
}

/* Lengths from 3 on, and distances from 1 on: so many of them have each number of further bits. */
static size_t take_length(struct stream *s, unsigned symbol)
{
    const unsigned at = symbol - 257, bits = at < 8 ? 0 : at / 4 - 1;

    if (at == 28)
        return 258;
    if (at > 28)
        s->has_failed = true;
    return at < 8 ? at + 3 : ((4u + at % 4) << bits) + 3 + take(s, bits);
}

static size_t take_distance(struct stream *s, const struct code *code)
{
    const unsigned at = take_symbol(s, code), bits = at < 4 ? 0 : at / 2 - 1;

    if (at > 29)
        s->has_failed = true;
    return s->has_failed ? 0 : at < 4 ? at + 1 : ((size_t)(2 + at % 2) << bits) + 1 + take(s, bits);
}

static void put_coded(struct stream *s, const struct code *lengths, const struct code *places)
{
    while (!s->has_failed) {
        const unsigned symbol = take_symbol(s, lengths);

        if (s->has_failed || symbol == 256)
            return;
        if (symbol < 256) {
            put(s, symbol);
        } else {
            const size_t length = take_length(s, symbol);
            copy(s, take_distance(s, places), length);
        }
    }
}

static void put_fixed(struct stream *s)
{
    uint8_t bits[LENGTH_SYMBOLS];
    struct code lengths, places;

    memset(bits, 8, 144);
    memset(bits + 144, 9, 112);
    memset(bits + 256, 7, 24);
    memset(bits + 280, 8, 8);
    make_code(&lengths, bits, LENGTH_SYMBOLS);
    memset(bits, 5, PLACE_SYMBOLS);
    make_code(&places, bits, PLACE_SYMBOLS);
    put_coded(s, &lengths, &places);
}

/* Reads the numbers of bits of both codes, which are coded themselves. */
static void take_bits(struct stream *s, uint8_t *bits, unsigned count, const struct code *code)
{
    for (unsigned i = 0; i < count && !s->has_failed;) {
        const unsigned symbol = take_symbol(s, code);
        unsigned times = 1, value = symbol;

        if (symbol > 15) {
            value = symbol == 16 && i ? bits[i - 1] : 0;
            s->has_failed |= symbol == 16 && !i;
            times = symbol == 16 ? 3 + take(s, 2) : symbol == 17 ? 3 + take(s, 3) : 11 + take(s, 7);
        }
        s->has_failed |= times > count - i;
        for (unsigned k = 0; k < times && !s->has_failed; k++)
            bits[i++] = (uint8_t)value;
    }
}

static void put_dynamic(struct stream *s)
{
    static const uint8_t order[19] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                      11, 4,  12, 3, 13, 2, 14, 1, 15};
    const unsigned length_count = take(s, 5) + 257, place_count = take(s, 5) + 1,
                   order_count = take(s, 4) + 4;
    uint8_t bits[LENGTH_SYMBOLS + PLACE_SYMBOLS + 1] = {0};
    struct code lengths, places;

    for (unsigned i = 0; i < order_count; i++)
        bits[order[i]] = (uint8_t)take(s, 3);
    make_code(&lengths, bits, 19);
    if (length_count > 286 || place_count > 30)
        s->has_failed = true;
    memset(bits, 0, sizeof(bits));
    if (!s->has_failed)
        take_bits(s, bits, length_count + place_count, &lengths);
    if (s->has_failed)
        return;
    make_code(&lengths, bits, length_count);
    make_code(&places, bits + length_count, place_count);
    put_coded(s, &lengths, &places);
}

bool emu_unpack_deflate(const uint8_t *bytes, size_t size, uint8_t *out, size_t room,
                        size_t *written)
{
    struct stream s = {.bytes = bytes, .size = size, .out = out, .room = room};
    bool is_last = false;

    while (!is_last && !s.has_failed) {
        is_last = take(&s, 1);
        switch (take(&s, 2)) {
        case 0:
            put_stored(&s);
            break;
        case 1:
            put_fixed(&s);
            break;
        case 2:
            put_dynamic(&s);
            break;
        default:
            s.has_failed = true;
        }
    }
    *written = s.written;
    return !s.has_failed;
}
