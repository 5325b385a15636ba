/* SPDX-License-Identifier: Apache-2.0
 *
 * Block-compressed texels: blocks of four by four, of 8 or 16 bytes, which GPUs decode when a
 * texture is read (BC1 to BC7; elsewhere S3TC, RGTC, BPTC).
 *
 * What is read are the values that the specification defines, in double precision: of BC1 to BC5 the
 * exact ones between the ends of a block (a GPU may round them), of BC6H the halves, of BC7 the bytes,
 * both of which are exact everywhere.
 *
 * Source: Khronos Data Format Specification 1.3, chapters "S3TC", "RGTC" and "BPTC".
 */
#ifndef EMU_PTX_TEXTURE_COMPRESSED_H
#define EMU_PTX_TEXTURE_COMPRESSED_H

#include "emu/ptx/texture/image.h"

/* Texel (x, y) of 0 to 3 in the block at `block`: red, green, blue, alpha, colours not made linear.
 * Components that the format lacks are left as they are. */
void ptx_block_texel(enum ptx_channel channel, const uint8_t *block, unsigned x, unsigned y,
                     double out[4]);

/* bptc.c: of BC6H as the bits of three halves, of BC7 as four bytes. A block of a reserved mode
 * is all zero (of BC6H: black). */
void ptx_bc6h_texel(const uint8_t *block, unsigned texel, bool is_signed, uint16_t out[3]);
void ptx_bc7_texel(const uint8_t *block, unsigned texel, uint8_t out[4]);

#endif
