/* SPDX-License-Identifier: Apache-2.0
 *
 * BC6H and BC7: a block of 16 bytes has a mode, one to three subsets of texels, two ends for each,
 * and an index a texel between them. Bits are taken from the lowest on.
 */
#include "emu/ptx/texture/compressed.h"

#include <string.h>

#include "base/bytes.h"

/* ---- what both share ---- */

struct bits {
    uint64_t word[2];
    unsigned at;
};

static struct bits bits_of(const uint8_t *block)
{
    return (struct bits){{tsm_get_u64(block), tsm_get_u64(block + 8)}, 0};
}

static unsigned take(struct bits *b, unsigned count)
{
    unsigned v = 0;

    for (unsigned k = 0; k < count; k++, b->at++)
        v |= (unsigned)(b->word[b->at / 64] >> b->at % 64 & 1) << k;
    return v;
}

/* The subset of each texel: a bit each, two bits each. */
static const uint16_t halves[64] = {
    0xcccc, 0x8888, 0xeeee, 0xecc8, 0xc880, 0xfeec, 0xfec8, 0xec80, 0xc800, 0xffec, 0xfe80,
    0xe800, 0xffe8, 0xff00, 0xfff0, 0xf000, 0xf710, 0x008e, 0x7100, 0x08ce, 0x008c, 0x7310,
    0x3100, 0x8cce, 0x088c, 0x3110, 0x6666, 0x366c, 0x17e8, 0x0ff0, 0x718e, 0x399c, 0xaaaa,
    0xf0f0, 0x5a5a, 0x33cc, 0x3c3c, 0x55aa, 0x9696, 0xa55a, 0x73ce, 0x13c8, 0x324c, 0x3bdc,
    0x6996, 0xc33c, 0x9966, 0x0660, 0x0272, 0x04e4, 0x4e40, 0x2720, 0xc936, 0x936c, 0x39c6,
    0x639c, 0x9336, 0x9cc6, 0x817e, 0xe718, 0xccf0, 0x0fcc, 0x7744, 0xee22,
};
static const uint32_t thirds[64] = {
    0xaa685050, 0x6a5a5040, 0x5a5a4200, 0x5450a0a8, 0xa5a50000, 0xa0a05050, 0x5555a0a0, 0x5a5a5050,
    0xaa550000, 0xaa555500, 0xaaaa5500, 0x90909090, 0x94949494, 0xa4a4a4a4, 0xa9a59450, 0x2a0a4250,
    0xa5945040, 0x0a425054, 0xa5a5a500, 0x55a0a0a0, 0xa8a85454, 0x6a6a4040, 0xa4a45000, 0x1a1a0500,
    0x0050a4a4, 0xaaa59090, 0x14696914, 0x69691400, 0xa08585a0, 0xaa821414, 0x50a4a450, 0x6a5a0200,
    0xa9a58000, 0x5090a0a8, 0xa8a09050, 0x24242424, 0x00aa5500, 0x24924924, 0x24499224, 0x50a50a50,
    0x500aa550, 0xaaaa4444, 0x66660000, 0xa5a0a5a0, 0x50a050a0, 0x69286928, 0x44aaaa44, 0x66666600,
    0xaa444444, 0x54a854a8, 0x95809580, 0x96969600, 0xa85454a8, 0x80959580, 0xaa141414, 0x96960000,
    0xaaaa1414, 0xa05050a0, 0xa0a5a5a0, 0x96000000, 0x40804080, 0xa9a8a9a8, 0xaaaaaa44, 0x2a4a5254,
};

/* The texel of the second (third) subset whose index lacks its highest bit; of the first it is
 * texel 0. */
static const uint8_t half_anchors[64] = {
    15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 2,  8, 2,  2, 8,
    8,  15, 2,  8,  2,  2,  8,  8,  2,  2,  15, 15, 6,  8,  2,  8,  15, 15, 2, 8,  2, 2,
    2,  15, 15, 6,  6,  2,  6,  8,  15, 15, 2,  2,  15, 15, 15, 15, 15, 2,  2, 15,
};
static const uint8_t third_anchors[2][64] = {
    {3,  3,  15, 15, 8, 3,  15, 15, 8,  8,  6, 6,  6, 5,  3, 3,  3,  3,  8,  15, 3,  3,
     6,  10, 5,  8,  8, 6,  8,  5,  15, 15, 8, 15, 3, 5,  6, 10, 8,  15, 15, 3,  15, 5,
     15, 15, 15, 15, 3, 15, 5,  5,  5,  8,  5, 10, 5, 10, 8, 13, 15, 12, 3,  3},
    {15, 8, 8, 3,  15, 15, 3,  8,  15, 15, 15, 15, 15, 15, 15, 8,  15, 8,  15, 3,  15, 8,
     15, 8, 3, 15, 6,  10, 15, 15, 10, 8,  15, 3,  15, 10, 10, 8,  9,  10, 6,  15, 8,  15,
     3,  6, 6, 8,  15, 3,  15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 3,  15, 15, 8},
};

static unsigned subset_of(unsigned subsets, unsigned partition, unsigned texel)
{
    return subsets == 3   ? thirds[partition] >> 2 * texel & 3
           : subsets == 2 ? halves[partition] >> texel & 1
                          : 0;
}

static bool is_anchor(unsigned subsets, unsigned partition, unsigned texel)
{
    return texel == 0 || (subsets == 2 && texel == half_anchors[partition]) ||
           (subsets == 3 &&
            (texel == third_anchors[0][partition] || texel == third_anchors[1][partition]));
}

/* The index of one texel; all sixteen are taken. */
static unsigned take_index(struct bits *b, unsigned subsets, unsigned partition, unsigned width,
                           unsigned wanted)
{
    unsigned found = 0;

    for (unsigned texel = 0; texel < 16 && width; texel++) {
        unsigned index = take(b, width - is_anchor(subsets, partition, texel));
        found = texel == wanted ? index : found;
    }
    return found;
}

/* Returns a weight of 64; `width`: bits of the index. */
static int weight_of(unsigned width, unsigned index)
{
    static const uint8_t weights[3][16] = {
        {0, 21, 43, 64},
        {0, 9, 18, 27, 37, 46, 55, 64},
        {0, 4, 9, 13, 17, 21, 26, 30, 34, 38, 43, 47, 51, 55, 60, 64}};

    return weights[width - 2][index];
}

static int between(int first, int second, int weight)
{
    return ((64 - weight) * first + weight * second + 32) >> 6;
}

/* ---- BC7 ---- */

static const struct bc7_mode {
    uint8_t subsets, partition, rotation, selection; /* all but the first: bits */
    uint8_t color, alpha, own_low, shared_low;
    uint8_t index, second_index;
} bc7_modes[8] = {
    {3, 4, 0, 0, 4, 0, 1, 0, 3, 0}, {2, 6, 0, 0, 6, 0, 0, 1, 3, 0}, {3, 6, 0, 0, 5, 0, 0, 0, 2, 0},
    {2, 6, 0, 0, 7, 0, 1, 0, 2, 0}, {1, 0, 2, 1, 5, 6, 0, 0, 2, 3}, {1, 0, 2, 0, 7, 8, 0, 0, 2, 2},
    {1, 0, 0, 0, 7, 7, 1, 0, 4, 0}, {2, 6, 0, 0, 5, 5, 1, 0, 2, 0},
};

/* The high bits of a byte; the low ones repeat them. */
static uint8_t widen(unsigned value, unsigned width)
{
    value <<= 8 - width;
    return (uint8_t)(value | value >> width);
}

/* The ends of each subset: red, green, blue, alpha; the lowest bit of all four may come apart. */
static void take_ends(struct bits *b, const struct bc7_mode *m, uint8_t ends[6][4])
{
    unsigned count = 2u * m->subsets, has_low = m->own_low | m->shared_low, low = 0;
    unsigned raw[6][4];

    for (unsigned k = 0; k < 4; k++)
        for (unsigned e = 0; e < count; e++)
            raw[e][k] = take(b, k < 3 ? m->color : m->alpha);
    for (unsigned e = 0; e < count; e++) {
        if (m->own_low || (m->shared_low && e % 2 == 0))
            low = take(b, 1);
        for (unsigned k = 0; k < 4; k++) {
            unsigned width = k < 3 ? m->color : m->alpha;
            unsigned value = has_low ? raw[e][k] << 1 | low : raw[e][k];
            ends[e][k] = width ? widen(value, width + has_low) : 255;
        }
    }
}

void ptx_bc7_texel(const uint8_t *block, unsigned texel, uint8_t out[4])
{
    struct bits b = bits_of(block);
    uint8_t ends[6][4];

    memset(out, 0, 4);
    if (!block[0])
        return;
    unsigned number = (unsigned)__builtin_ctz(block[0]);
    const struct bc7_mode *m = &bc7_modes[number];
    take(&b, number + 1);
    unsigned partition = take(&b, m->partition);
    unsigned rotation = take(&b, m->rotation), selection = take(&b, m->selection);
    take_ends(&b, m, ends);
    unsigned first = take_index(&b, m->subsets, partition, m->index, texel);
    unsigned second = take_index(&b, m->subsets, partition, m->second_index, texel);
    int weights[2] = {weight_of(m->index, first), weight_of(m->index, first)};
    if (m->second_index)
        weights[!selection] = weight_of(m->second_index, second);
    const uint8_t(*e)[4] = &ends[2 * subset_of(m->subsets, partition, texel)];
    for (unsigned k = 0; k < 4; k++)
        out[k] = (uint8_t)between(e[0][k], e[1][k], weights[k == 3]);
    if (rotation) {
        uint8_t alpha = out[3];
        out[3] = out[rotation - 1];
        out[rotation - 1] = alpha;
    }
}

/* ---- BC6H ---- */

/* The layout of the ends: component, number of the end, its lowest and highest bit that come next
 * (in hexadecimal; from the highest down where that stands first). */
static const struct bc6h_mode {
    uint8_t number;
    bool is_relative; /* to the first end */
    bool has_halves;
    uint8_t width;
    uint8_t delta[3]; /* bits of the other ends */
    const char *layout;
} bc6h_modes[] = {
    {0,
     true,
     true,
     10,
     {5, 5, 5},
     "g244 b244 b344 r009 g009 b009 r104 g344 g203 g104 b300 g303 b104 b311 b203 r204 b322 r304 "
     "b333"},
    {1,
     true,
     true,
     7,
     {6, 6, 6},
     "g255 g344 g355 r006 b300 b311 b244 g006 b255 b322 g244 b006 b333 b355 b344 r105 g203 g105 "
     "g303 "
     "b105 b203 r205 r305"},
    {2,
     true,
     true,
     11,
     {5, 4, 4},
     "r009 g009 b009 r104 r0aa g203 g103 g0aa b300 g303 b103 b0aa b311 b203 r204 b322 r304 b333"},
    {6,
     true,
     true,
     11,
     {4, 5, 4},
     "r009 g009 b009 r103 r0aa g344 g203 g104 g0aa g303 b103 b0aa b311 b203 r203 b300 b322 r303 "
     "g244 "
     "b333"},
    {10,
     true,
     true,
     11,
     {4, 4, 5},
     "r009 g009 b009 r103 r0aa b244 g203 g103 g0aa b300 g303 b104 b0aa b203 r203 b311 b322 r303 "
     "b344 "
     "b333"},
    {14,
     true,
     true,
     9,
     {5, 5, 5},
     "r008 b244 g008 g244 b008 b344 r104 g344 g203 g104 b300 g303 b104 b311 b203 r204 b322 r304 "
     "b333"},
    {18,
     true,
     true,
     8,
     {6, 5, 5},
     "r007 g344 b244 g007 b322 g244 b007 b333 b344 r105 g203 g104 b300 g303 b104 b311 b203 r205 "
     "r305"},
    {22,
     true,
     true,
     8,
     {5, 6, 5},
     "r007 b300 b244 g007 g255 g244 b007 g355 b344 r104 g344 g203 g105 g303 b104 b311 b203 r204 "
     "b322 "
     "r304 b333"},
    {26,
     true,
     true,
     8,
     {5, 5, 6},
     "r007 b311 b244 g007 b255 g244 b007 b355 b344 r104 g344 g203 g104 b300 g303 b105 b203 r204 "
     "b322 "
     "r304 b333"},
    {30,
     false,
     true,
     6,
     {6, 6, 6},
     "r005 g344 b300 b311 b244 g005 g255 b255 b322 g244 b005 g355 b333 b355 b344 r105 g203 g105 "
     "g303 "
     "b105 b203 r205 r305"},
    {3, false, false, 10, {10, 10, 10}, "r009 g009 b009 r109 g109 b109"},
    {7, true, false, 11, {9, 9, 9}, "r009 g009 b009 r108 r0aa g108 g0aa b108 b0aa"},
    {11, true, false, 12, {8, 8, 8}, "r009 g009 b009 r107 r0ba g107 g0ba b107 b0ba"},
    {15, true, false, 16, {4, 4, 4}, "r009 g009 b009 r103 r0fa g103 g0fa b103 b0fa"},
};

static const struct bc6h_mode *take_mode(struct bits *b)
{
    unsigned number = take(b, 2);

    if (number > 1)
        number |= take(b, 3) << 2;
    for (unsigned k = 0; k < sizeof(bc6h_modes) / sizeof(bc6h_modes[0]); k++)
        if (bc6h_modes[k].number == number)
            return &bc6h_modes[k];
    return NULL; /* reserved */
}

static unsigned digit(char c)
{
    return (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
}

static void take_layout(struct bits *b, const char *layout, int ends[4][3])
{
    for (const char *s = layout; *s; s += s[4] ? 5 : 4) {
        unsigned component = s[0] == 'r' ? 0 : s[0] == 'g' ? 1 : 2;
        int low = (int)digit(s[2]), high = (int)digit(s[3]), step = low > high ? -1 : 1;
        for (int bit = low;; bit += step) {
            ends[digit(s[1])][component] |= (int)take(b, 1) << bit;
            if (bit == high)
                break;
        }
    }
}

static int extended(int value, unsigned width)
{
    int sign = 1 << (width - 1);

    return (value ^ sign) - sign;
}

/* An end's bits spread over 16 (signed: 15 and the sign). */
static int spread(int value, unsigned width, bool is_signed)
{
    int magnitude = value < 0 ? -value : value, top = (1 << (width - is_signed)) - 1;

    if (width >= (is_signed ? 16 : 15))
        return value;
    if (magnitude)
        magnitude =
            magnitude >= top ? 0xffff >> is_signed : ((magnitude << 15) + 0x4000) >> (width - 1);
    return value < 0 ? -magnitude : magnitude;
}

static int end_value(const struct bc6h_mode *m, int ends[4][3], unsigned number, unsigned k,
                     bool is_signed)
{
    int base = ends[0][k], value = ends[number][k];

    if (number && m->is_relative)
        value = (base + extended(value, m->delta[k])) & ((1 << m->width) - 1);
    if (is_signed)
        value = extended(value, m->width);
    return spread(value, m->width, is_signed);
}

/* 31/64 of an unsigned value, 31/32 of a signed one, are the bits of a half. */
static uint16_t half_of(int value, bool is_signed)
{
    if (!is_signed)
        return (uint16_t)(value * 31 >> 6);
    return (uint16_t)(value < 0 ? 0x8000 | -value * 31 >> 5 : value * 31 >> 5);
}

void ptx_bc6h_texel(const uint8_t *block, unsigned texel, bool is_signed, uint16_t out[3])
{
    struct bits b = bits_of(block);
    const struct bc6h_mode *m = take_mode(&b);
    int ends[4][3] = {0};

    memset(out, 0, 3 * sizeof(out[0]));
    if (!m)
        return;
    take_layout(&b, m->layout, ends);
    unsigned subsets = m->has_halves ? 2 : 1, width = m->has_halves ? 3 : 4;
    unsigned partition = take(&b, m->has_halves ? 5 : 0);
    int weight = weight_of(width, take_index(&b, subsets, partition, width, texel));
    unsigned first = 2 * subset_of(subsets, partition, texel);
    for (unsigned k = 0; k < 3; k++)
        out[k] = half_of(between(end_value(m, ends, first, k, is_signed),
                                 end_value(m, ends, first + 1, k, is_signed), weight),
                         is_signed);
}
