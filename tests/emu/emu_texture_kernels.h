/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels that read textures, one a geometry and way to sample. Thread i takes four floats of `in`
 * (64 bytes a thread) and leaves four words in `out` (16 bytes a thread):
 *     NAME(uint64_t texture, const float (*in)[16], uint32_t (*out)[4])
 * in: x y z layer, dx[3] lod, dy[3] compare, unused; as bits.
 */
#ifndef TESTS_EMU_EMU_TEXTURE_KERNELS_H
#define TESTS_EMU_EMU_TEXTURE_KERNELS_H

#include "tests/emu/emu_kernels.h"

#define TEX_HEAD(name)                                                                             \
    ".visible .entry " name "(.param .u64 t, .param .u64 in, .param .u64 out)\n"                   \
    "{\n"                                                                                          \
    "    .reg .b32 %r<8>; .reg .b32 %layer; .reg .s32 %ix; .reg .s32 %iy; .reg .s32 %iz;\n"        \
    "    .reg .f32 %x, %y, %z, %lod, %dx0, %dx1, %dx2, %dy0, %dy1, %dy2, %ref;\n"                  \
    "    .reg .b64 %t, %d<6>; .reg .pred %p;\n"                                                    \
    "    ld.param.u64 %t, [t]; ld.param.u64 %d1, [in]; ld.param.u64 %d2, [out];\n"                 \
    "    mov.u32 %r0, %tid.x;\n"                                                                   \
    "    mad.wide.u32 %d3, %r0, 64, %d1; mad.wide.u32 %d4, %r0, 16, %d2;\n"                        \
    "    ld.global.v4.b32 {%x, %y, %z, %layer}, [%d3];\n"                                          \
    "    ld.global.v4.b32 {%dx0, %dx1, %dx2, %lod}, [%d3+16];\n"                                   \
    "    ld.global.v4.b32 {%dy0, %dy1, %dy2, %ref}, [%d3+32];\n"                                   \
    "    cvt.rmi.s32.f32 %ix, %x; cvt.rmi.s32.f32 %iy, %y; cvt.rmi.s32.f32 %iz, %z;\n"
#define TEX_TAIL                                                                                   \
    "    st.global.v4.b32 [%d4], {%r1, %r2, %r3, %r4};\n"                                          \
    "    ret;\n"                                                                                   \
    "}\n"
#define TEX(name, what) TEX_HEAD(name) what TEX_TAIL
#define TEX_R           "{%r1, %r2, %r3, %r4}, "

#define TEX_KERNELS                                                                                \
    TEX("tex1d", "tex.1d.v4.f32.f32 " TEX_R "[%t, {%x}];\n")                                       \
    TEX("tex2d", "tex.2d.v4.f32.f32 " TEX_R "[%t, {%x, %y}];\n")                                   \
    TEX("tex3d", "tex.3d.v4.f32.f32 " TEX_R "[%t, {%x, %y, %z, %z}];\n")                           \
    TEX("texa1d", "tex.a1d.v4.f32.f32 " TEX_R "[%t, {%layer, %x}];\n")                             \
    TEX("texa2d", "tex.a2d.v4.f32.f32 " TEX_R "[%t, {%layer, %x, %y, %y}];\n")                     \
    TEX("texcube", "tex.cube.v4.f32.f32 " TEX_R "[%t, {%x, %y, %z, %z}];\n")                       \
    TEX("texacube", "tex.acube.v4.f32.f32 " TEX_R "[%t, {%layer, %x, %y, %z}];\n")                 \
    TEX("fetch1d", "tex.1d.v4.u32.s32 " TEX_R "[%t, {%ix}];\n")                                    \
    TEX("fetch2d", "tex.2d.v4.u32.s32 " TEX_R "[%t, {%ix, %iy}];\n")                               \
    TEX("fetch3d", "tex.3d.v4.u32.s32 " TEX_R "[%t, {%ix, %iy, %iz, %iz}];\n")                     \
    TEX("sample2d", "tex.2dms.v4.u32.s32 " TEX_R "[%t, {0, %ix, %iy, %iy}];\n")                    \
    TEX("samplea2d", "tex.a2dms.v4.u32.s32 " TEX_R "[%t, {%layer, 0, %ix, %iy}], {1, 0};\n")       \
    TEX("level2d", "tex.level.2d.v4.f32.f32 " TEX_R "[%t, {%x, %y}], %lod;\n")                     \
    TEX("base2d", "tex.base.2d.v4.f32.f32 " TEX_R "[%t, {%x, %y}];\n")                             \
    TEX("grad2d",                                                                                  \
        "tex.grad.2d.v4.f32.f32 " TEX_R "[%t, {%x, %y}], {%dx0, %dx1}, {%dy0, %dy1};\n")           \
    TEX("offset2d", "tex.2d.v4.f32.f32 " TEX_R "[%t, {%x, %y}], {-2, 3};\n")                       \
    TEX("compare2d", "tex.2d.v4.f32.f32 " TEX_R "[%t, {%x, %y}], %ref;\n")                         \
    TEX("resident2d", "tex.2d.v4.f32.f32 {%r1, %r2, %r3, _}|%p, [%t, {%x, %y}];\n"                 \
                      "selp.b32 %r4, 7, 9, %p;\n")                                                 \
    TEX("half2d", "tex.2d.v2.f16x2.f32 {%r1, %r2}, [%t, {%x, %y}]; mov.b32 %r3, 0;\n"              \
                  "mov.b32 %r4, 0;\n")                                                             \
    TEX("gather_r", "tld4.r.2d.v4.f32.f32 " TEX_R "[%t, {%x, %y}];\n")                             \
    TEX("gather_g", "tld4.g.2d.v4.f32.f32 " TEX_R "[%t, {%x, %y}];\n")                             \
    TEX("gather_b", "tld4.b.2d.v4.f32.f32 " TEX_R "[%t, {%x, %y}];\n")                             \
    TEX("gather_a", "tld4.a.2d.v4.f32.f32 " TEX_R "[%t, {%x, %y}];\n")                             \
    TEX("query", "txq.width.b32 %r1, [%t]; txq.height.b32 %r2, [%t];\n"                            \
                 "txq.num_mipmap_levels.b32 %r3, [%t]; txq.channel_data_type.b32 %r4, [%t];\n")    \
    TEX("query_more", "txq.level.width.b32 %r1, [%t], 1; txq.array_size.b32 %r2, [%t];\n"          \
                      "txq.channel_order.b32 %r3, [%t]; txq.addr_mode_0.b32 %r4, [%t];\n")

#endif
