/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels for the tests, as text.
 */
#ifndef TESTS_EMU_EMU_KERNELS_H
#define TESTS_EMU_EMU_KERNELS_H

#define PTX_HEAD                                                                                   \
    ".version 6.0\n"                                                                               \
    ".target sm_70\n"                                                                              \
    ".address_size 64\n"

/* Textures tell whether all that they read was there since PTX 7.1. */
#define PTX_HEAD_TEXTURES                                                                          \
    ".version 7.1\n"                                                                               \
    ".target sm_70\n"                                                                              \
    ".address_size 64\n"

/* add(float *c, const float *a, const float *b, unsigned n): c[i] = a[i] + b[i]. */
#define PTX_ADD                                                                                    \
    ".visible .entry add(.param .u64 add_0, .param .u64 add_1, .param .u64 add_2,\n"               \
    "    .param .u32 add_3)\n"                                                                     \
    "{\n"                                                                                          \
    "    .reg .pred %p<2>;\n"                                                                      \
    "    .reg .f32 %f<4>;\n"                                                                       \
    "    .reg .b32 %r<6>;\n"                                                                       \
    "    .reg .b64 %rd<11>;\n"                                                                     \
    "    ld.param.u64 %rd1, [add_0];\n"                                                            \
    "    ld.param.u64 %rd2, [add_1];\n"                                                            \
    "    ld.param.u64 %rd3, [add_2];\n"                                                            \
    "    ld.param.u32 %r2, [add_3];\n"                                                             \
    "    mov.u32 %r3, %ctaid.x;\n"                                                                 \
    "    mov.u32 %r4, %ntid.x;\n"                                                                  \
    "    mov.u32 %r5, %tid.x;\n"                                                                   \
    "    mad.lo.s32 %r1, %r4, %r3, %r5;\n"                                                         \
    "    setp.ge.u32 %p1, %r1, %r2;\n"                                                             \
    "    @%p1 bra DONE;\n"                                                                         \
    "    mul.wide.u32 %rd5, %r1, 4;\n"                                                             \
    "    add.s64 %rd6, %rd2, %rd5;\n"                                                              \
    "    ld.global.f32 %f1, [%rd6];\n"                                                             \
    "    add.s64 %rd7, %rd3, %rd5;\n"                                                              \
    "    ld.global.f32 %f2, [%rd7];\n"                                                             \
    "    add.f32 %f3, %f1, %f2;\n"                                                                 \
    "    add.s64 %rd8, %rd1, %rd5;\n"                                                              \
    "    st.global.f32 [%rd8], %f3;\n"                                                             \
    "DONE:\n"                                                                                      \
    "    ret;\n"                                                                                   \
    "}\n"

/* store(unsigned *p, unsigned value): *p = value. */
#define PTX_STORE                                                                                  \
    ".visible .entry store(.param .u64 store_0, .param .u32 store_1)\n"                            \
    "{\n"                                                                                          \
    "    .reg .b32 %r<2>;\n"                                                                       \
    "    .reg .b64 %rd<2>;\n"                                                                      \
    "    ld.param.u64 %rd1, [store_0];\n"                                                          \
    "    ld.param.u32 %r1, [store_1];\n"                                                           \
    "    st.global.u32 [%rd1], %r1;\n"                                                             \
    "    ret;\n"                                                                                   \
    "}\n"

/* atomic_add(unsigned *p, unsigned value). */
#define PTX_ATOMIC                                                                                 \
    ".visible .entry atomic_add(.param .u64 atomic_add_0, .param .u32 atomic_add_1)\n"             \
    "{\n"                                                                                          \
    "    .reg .b32 %r<3>;\n"                                                                       \
    "    .reg .b64 %rd<2>;\n"                                                                      \
    "    ld.param.u64 %rd1, [atomic_add_0];\n"                                                     \
    "    ld.param.u32 %r1, [atomic_add_1];\n"                                                      \
    "    atom.global.add.u32 %r2, [%rd1], %r1;\n"                                                  \
    "    ret;\n"                                                                                   \
    "}\n"

/* bump(): one more in `counter`, which begins at 41. */
#define PTX_BUMP                                                                                   \
    ".visible .global .align 4 .u32 counter = 41;\n"                                               \
    ".visible .entry bump()\n"                                                                     \
    "{\n"                                                                                          \
    "    .reg .b32 %r<2>;\n"                                                                       \
    "    ld.global.u32 %r0, [counter];\n"                                                          \
    "    add.u32 %r1, %r0, 1;\n"                                                                   \
    "    st.global.u32 [counter], %r1;\n"                                                          \
    "    ret;\n"                                                                                   \
    "}\n"

#endif
