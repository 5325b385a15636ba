/* SPDX-License-Identifier: Apache-2.0
 *
 * tcgen05: tensor memory, and products in it. All is done when it is started, and what waits for it
 * does not wait.
 */
#ifndef EMU_PTX_HANDLERS_MATRIX_TCGEN05_H
#define EMU_PTX_HANDLERS_MATRIX_TCGEN05_H

#include "emu/ptx/exec/exec.h"

/* A place in tensor memory: a register of 32 bits, and what is added to it. */
struct ptx_tensor_place {
    ptx_op base;
    uint32_t addend;
};

/* alloc: src[0] + imm: where the address is put; src[1]: columns. dealloc: src[0]: the address;
 * src[1]: columns, all 32 bits. */
void ptx_run_tensor_alloc(struct ptx_warp *w, const struct ptx_insn *i);
void ptx_run_tensor_dealloc(struct ptx_warp *w, const struct ptx_insn *i);
void ptx_run_tensor_close(struct ptx_warp *w, const struct ptx_insn *i);

enum ptx_tensor_shape {
    PTX_TENSOR_32X32B,
    PTX_TENSOR_16X64B,
    PTX_TENSOR_16X128B,
    PTX_TENSOR_16X256B,
    PTX_TENSOR_16X32BX2,
};

/* ld and st, in insn->extra. */
struct ptx_tensor_move {
    struct ptx_tensor_place place;
    uint8_t shape; /* enum ptx_tensor_shape */
    bool stores;
    bool packs;      /* a register has the lower halves of two columns */
    uint16_t count;  /* registers */
    uint32_t second; /* columns from the first half to the second: 16x32bx2 */
    ptx_op registers[128];
};
void ptx_run_tensor_move(struct ptx_warp *w, const struct ptx_insn *i);

/* cp, in insn->extra: rows of shared memory go to lanes. */
struct ptx_tensor_fill {
    struct ptx_tensor_place place;
    ptx_op descriptor;
    uint8_t rows;    /* 32, 64 or 128 */
    uint8_t columns; /* 4 or 8 */
    uint8_t from[4]; /* which 32 rows each quarter of the lanes gets */
    bool is_pair;
};
void ptx_run_tensor_fill(struct ptx_warp *w, const struct ptx_insn *i);

/* shift.down, in insn->extra: struct ptx_tensor_place. PTX_MODE: 1 for both blocks of a pair. */
void ptx_run_tensor_shift(struct ptx_warp *w, const struct ptx_insn *i);

/* commit. src[0] + imm: the barrier; src[1]: .b16, a bit for each block whose barrier hears of it,
 * or none. */
void ptx_run_tensor_commit(struct ptx_warp *w, const struct ptx_insn *i);

/* The block that a tensor operation of this warp means, or the two of its pair: [0, *count_out).
 * False after a fault: there is no such block, or it has exited. */
bool ptx_tensor_blocks(struct ptx_warp *w, const struct ptx_insn *i, bool is_pair,
                       struct ptx_block *blocks[2], unsigned *count_out);

/* The address that a lane gives. */
uint32_t ptx_tensor_address(const struct ptx_warp *w, const struct ptx_tensor_place *place,
                            unsigned lane);

/* Fills in what a descriptor says of a matrix in the shared memory of `block`, but for bits, unit
 * and is_k_major. False: no such descriptor. */
struct ptx_tile;
bool ptx_tensor_tile(struct ptx_tile *tile, uint64_t descriptor, const struct ptx_block *block);

/* ---- tcgen05_mma.c ---- */

enum ptx_tensor_kind {
    PTX_TENSOR_KIND_F16,
    PTX_TENSOR_KIND_TF32,
    PTX_TENSOR_KIND_F8F6F4,
    PTX_TENSOR_KIND_I8,
    PTX_TENSOR_KIND_MXF8F6F4,
    PTX_TENSOR_KIND_MXF4,
    PTX_TENSOR_KIND_MXF4NVF4,
};

struct ptx_tensor_product {
    struct ptx_tensor_place d;
    struct ptx_tensor_place a; /* base none: a_desc */
    struct ptx_tensor_place a_scale;
    struct ptx_tensor_place b_scale;
    ptx_op a_desc;
    ptx_op b_desc;
    ptx_op shape;    /* the instruction descriptor, 32 bits */
    ptx_op adds;     /* predicate: D is added to */
    ptx_op masks[8]; /* lanes of D that stay, or none */
    uint8_t kind;    /* enum ptx_tensor_kind */
    uint8_t scales;  /* of a row of A: 0: it has none */
    uint8_t shrink;  /* D is divided by two to this power */
    bool is_pair;
    bool is_stationary; /* .ws */
};
void ptx_run_tensor_product(struct ptx_warp *w, const struct ptx_insn *i);

#endif
