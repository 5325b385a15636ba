/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies of boxes of tensors. They are done when they are started, as those of async.h are.
 */
#ifndef EMU_PTX_HANDLERS_MATRIX_TENSOR_MAP_H
#define EMU_PTX_HANDLERS_MATRIX_TENSOR_MAP_H

#include "emu/ptx/exec/exec.h"
#include "emu/ptx/tensor_map.h"

enum ptx_tensor_load {
    PTX_TENSOR_LOAD_TILE,
    PTX_TENSOR_LOAD_ROWS, /* four rows, gathered or scattered */
    PTX_TENSOR_LOAD_IM2COL,
};

/* In insn->extra; addresses are 64-bit registers. */
struct ptx_tensor_copy {
    ptx_op map;    /* generic address of a tensor map */
    ptx_op shared; /* where the box is put, or comes from */
    ptx_op barrier;
    ptx_op blocks;                           /* .b16, as in struct ptx_bulk */
    ptx_op coordinates[PTX_TENSOR_RANK_MAX]; /* .s32, inner first; of rows: one, and four */
    ptx_op offsets[3];                       /* .b16, or none: im2col, width first */
    enum ptx_space shared_space;
    uint8_t rank;
    uint8_t load; /* enum ptx_tensor_load */
    bool to_global;
    bool is_pair; /* .cta_group::2: a barrier of one of a pair of blocks hears of both */
    bool reduces;
    uint8_t op; /* enum ptx_atomic */
};
void ptx_run_tensor_copy(struct ptx_warp *w, const struct ptx_insn *i);

/* tensormap.replace. src[0] + imm: the map; src[1]: the value, 64 bits; count: which dimension;
 * PTX_MODE: enum ptx_tensor_field. */
enum ptx_tensor_field {
    PTX_TENSOR_GLOBAL_ADDRESS,
    PTX_TENSOR_RANK,
    PTX_TENSOR_BOX_DIM,
    PTX_TENSOR_GLOBAL_DIM,
    PTX_TENSOR_GLOBAL_STRIDE,
    PTX_TENSOR_ELEMENT_STRIDE,
    PTX_TENSOR_ELEMTYPE,
    PTX_TENSOR_INTERLEAVE,
    PTX_TENSOR_SWIZZLE_MODE,
    PTX_TENSOR_SWIZZLE_ATOM,
    PTX_TENSOR_FILL_MODE,
    PTX_TENSOR_FIELD_COUNT,
};
void ptx_run_tensor_replace(struct ptx_warp *w, const struct ptx_insn *i);

/* tensor_box.c: what a copy covers. */

/* Elements are copied in units of 1, 2 or 16 of them. */
struct ptx_tensor_unit {
    uint8_t elements;
    uint8_t global; /* bytes */
    uint8_t shared; /* bytes */
};

/* One row of a box, along dimension 0. */
struct ptx_tensor_row {
    uint64_t address; /* of its first unit inside */
    uint32_t before;  /* units outside of the tensor, before those inside and after */
    uint32_t inside;
    uint32_t after;
};

struct ptx_tensor_box {
    const struct ptx_tensor_map *map;
    struct ptx_tensor_unit unit;
    int64_t start[PTX_TENSOR_RANK_MAX]; /* of a row of four: [1] to [4] are each its own */
    int64_t offset[PTX_TENSOR_RANK_MAX];
    uint8_t load;
    uint32_t units; /* of a row */
    uint32_t rows;
};

/* Returns false if the map says nothing sensible: maps are anybody's bytes. */
bool ptx_tensor_box_init(struct ptx_tensor_box *box, const struct ptx_tensor_map *map,
                         const struct ptx_tensor_copy *copy, const int64_t *coordinates,
                         const int64_t *offsets);
/* Row `r` of the box; rows come in order, from 0 on, and `kept` is the caller's between them. */
struct ptx_tensor_row ptx_tensor_box_row(const struct ptx_tensor_box *box, uint32_t r,
                                         int64_t kept[PTX_TENSOR_RANK_MAX]);

#endif
