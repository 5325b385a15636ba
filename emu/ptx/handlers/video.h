/* SPDX-License-Identifier: Apache-2.0
 *
 * Video instructions: arithmetic on chosen bytes and halves of registers, scalar (vadd...) and on
 * two or four lanes of a register (vadd2, vadd4...).
 */
#ifndef EMU_PTX_HANDLERS_VIDEO_H
#define EMU_PTX_HANDLERS_VIDEO_H

#include "emu/ptx/exec/exec.h"

enum ptx_video_op {
    PTX_VIDEO_ADD,
    PTX_VIDEO_SUB,
    PTX_VIDEO_ABSDIFF,
    PTX_VIDEO_MIN,
    PTX_VIDEO_MAX,
    PTX_VIDEO_SHL,
    PTX_VIDEO_SHR,
    PTX_VIDEO_SET,
    PTX_VIDEO_AVRG,
    PTX_VIDEO_MAD,
};

enum ptx_video_second {
    PTX_SECOND_NONE,
    PTX_SECOND_ADD,
    PTX_SECOND_MIN,
    PTX_SECOND_MAX,
    PTX_SECOND_MERGE, /* into part `to` of c */
};

/* A part of a register: `size` bytes at place `at`; size 4: the whole. */
struct ptx_video_part {
    uint8_t size;
    uint8_t at;
    bool is_signed;
};

/* In insn->extra. Sources a, b, c in src[0..2]; the result in dst. */
struct ptx_video {
    enum ptx_video_op op;
    enum ptx_video_second second;
    struct ptx_video_part a;
    struct ptx_video_part b;
    struct ptx_video_part to;
    uint8_t compare; /* enum ptx_compare */
    bool is_signed;  /* of the result */
    bool saturates;
    bool clamps; /* shifts: .clamp rather than .wrap */
    /* vmad */
    bool minus_product;
    bool minus_c;
    bool plus_one;
    uint8_t scale; /* bits to shift right */
    /* SIMD: which lanes of {b, a} each lane takes, and which lanes are written */
    uint8_t lanes;
    uint8_t a_lanes[4];
    uint8_t b_lanes[4];
    uint8_t mask;
};

void ptx_run_video(struct ptx_warp *w, const struct ptx_insn *i);
void ptx_run_video_mad(struct ptx_warp *w, const struct ptx_insn *i);
void ptx_run_video_simd(struct ptx_warp *w, const struct ptx_insn *i);

#endif
