/* SPDX-License-Identifier: Apache-2.0 */
#include "emu/ptx/texture/compressed.h"

#include "base/bytes.h"
#include "emu/ptx/real.h"

/* ---- BC1, BC2, BC3: two colours of 5, 6 and 5 bits, and what lies between them ---- */

static void color_of(uint16_t bits, double out[3])
{
    out[0] = (bits >> 11) / 31.0;
    out[1] = (bits >> 5 & 63) / 63.0;
    out[2] = (bits & 31) / 31.0;
}

/* Decodes a texel. Where the first colour is not above the second, BC1 has a middle, and black
 * without alpha. */
static void color_texel(const uint8_t *block, unsigned texel, bool is_bc1, double out[4])
{
    static const double weights[2][4] = {{0, 1, 1 / 3.0, 2 / 3.0}, {0, 1, 0.5, 0}};
    uint16_t first = tsm_get_u16(block), second = tsm_get_u16(block + 2);
    unsigned code = tsm_get_u32(block + 4) >> 2 * texel & 3;
    bool has_hole = is_bc1 && first <= second;
    double a[3], b[3], weight = weights[has_hole][code];

    color_of(first, a);
    color_of(second, b);
    for (unsigned k = 0; k < 3; k++)
        out[k] = has_hole && code == 3 ? 0 : a[k] + (b[k] - a[k]) * weight;
    if (is_bc1)
        out[3] = has_hole && code == 3 ? 0 : 1;
}

/* ---- BC4, BC5, the alpha of BC3: two bytes, and what lies between them ---- */

static double end_of(const uint8_t *byte, bool is_signed)
{
    double v = is_signed ? (int8_t)*byte / 127.0 : *byte / 255.0;

    return v < -1 ? -1 : v; /* -128 is -1, as -127 is */
}

static double single_texel(const uint8_t *block, unsigned texel, bool is_signed)
{
    uint64_t codes = (uint64_t)tsm_get_u32(block + 4) << 16 | tsm_get_u16(block + 2);
    unsigned code = (unsigned)(codes >> 3 * texel & 7);
    double a = end_of(block, is_signed), b = end_of(block + 1, is_signed);
    bool is_falling = is_signed ? (int8_t)block[0] > (int8_t)block[1] : block[0] > block[1];

    if (code < 2)
        return code ? b : a;
    if (is_falling)
        return ((8 - code) * a + (code - 1) * b) / 7;
    if (code < 6)
        return ((6 - code) * a + (code - 1) * b) / 5;
    return code == 7 ? 1 : is_signed ? -1 : 0;
}

/* ---- all of them ---- */

static void bc6h_texel(const uint8_t *block, unsigned texel, bool is_signed, double out[4])
{
    uint16_t half[3];

    ptx_bc6h_texel(block, texel, is_signed, half);
    for (unsigned k = 0; k < 3; k++)
        out[k] = (double)ptx_from_half(half[k]);
}

static void bc7_texel(const uint8_t *block, unsigned texel, double out[4])
{
    uint8_t byte[4];

    ptx_bc7_texel(block, texel, byte);
    for (unsigned k = 0; k < 4; k++)
        out[k] = byte[k] / 255.0;
}

void ptx_block_texel(enum ptx_channel channel, const uint8_t *block, unsigned x, unsigned y,
                     double out[4])
{
    unsigned texel = 4 * y + x;
    bool is_signed = channel == PTX_CHANNEL_BC4_SNORM || channel == PTX_CHANNEL_BC5_SNORM ||
                     channel == PTX_CHANNEL_BC6H_SF16;

    switch (channel) {
    case PTX_CHANNEL_BC1:
        color_texel(block, texel, true, out);
        break;
    case PTX_CHANNEL_BC2:
        color_texel(block + 8, texel, false, out);
        out[3] = (block[texel / 2] >> texel % 2 * 4 & 15) / 15.0;
        break;
    case PTX_CHANNEL_BC3:
        color_texel(block + 8, texel, false, out);
        out[3] = single_texel(block, texel, false);
        break;
    case PTX_CHANNEL_BC5_UNORM:
    case PTX_CHANNEL_BC5_SNORM:
        out[1] = single_texel(block + 8, texel, is_signed);
        out[0] = single_texel(block, texel, is_signed);
        break;
    case PTX_CHANNEL_BC6H_UF16:
    case PTX_CHANNEL_BC6H_SF16:
        bc6h_texel(block, texel, is_signed, out);
        break;
    case PTX_CHANNEL_BC7:
        bc7_texel(block, texel, out);
        break;
    default:
        out[0] = single_texel(block, texel, is_signed);
    }
}
