/* SPDX-License-Identifier: Apache-2.0
 *
 * Handlers that are not arithmetic, as the decoder names them. Each runs one instruction for the
 * lanes of warp->mask. Which field of the instruction means what is said at each definition.
 */
#ifndef EMU_PTX_HANDLERS_MEMORY_H
#define EMU_PTX_HANDLERS_MEMORY_H

#include "emu/ptx/exec/barrier.h"
#include "emu/ptx/exec/exec.h"

/* memory.c */
void ptx_run_load(struct ptx_warp *w, const struct ptx_insn *i);
void ptx_run_store(struct ptx_warp *w, const struct ptx_insn *i);
void ptx_run_load_param(struct ptx_warp *w, const struct ptx_insn *i);
void ptx_run_local_address(struct ptx_warp *w, const struct ptx_insn *i);
void ptx_run_cvta(struct ptx_warp *w, const struct ptx_insn *i);
void ptx_run_isspacep(struct ptx_warp *w, const struct ptx_insn *i);
void ptx_run_const_address(struct ptx_warp *w, const struct ptx_insn *i);
void ptx_run_istypep(struct ptx_warp *w, const struct ptx_insn *i);
void ptx_run_isspacep_const(struct ptx_warp *w, const struct ptx_insn *i);
void ptx_address_lanes(const struct ptx_warp *w, const struct ptx_insn *i, uint64_t *out);
enum ptx_access ptx_access_of(const struct ptx_insn *i, bool write);
/* Host memory of a generic address, or NULL. No fault. */
uint8_t *ptx_locate(struct ptx_warp *w, unsigned lane, uint64_t address, unsigned size, bool write);
/* Tests whether it could be read, which nobody does. */
bool ptx_is_there(struct ptx_warp *w, unsigned lane, uint64_t address, unsigned size);

/* atomic.c */
enum ptx_atomic {
    PTX_ATOM_ADD,
    PTX_ATOM_MIN,
    PTX_ATOM_MAX,
    PTX_ATOM_AND,
    PTX_ATOM_OR,
    PTX_ATOM_XOR,
    PTX_ATOM_INC,
    PTX_ATOM_DEC,
    PTX_ATOM_EXCH,
    PTX_ATOM_CAS,
    PTX_ATOM_ADD_FTZ, /* f32 in global memory: subnormals become zero */
};
/* In insn->extra: the registers of count elements. */
struct ptx_atomic_lists {
    ptx_op *dst; /* NULL: none */
    ptx_op *src;
};
void ptx_run_atomic(struct ptx_warp *w, const struct ptx_insn *i);
void ptx_run_atomic_vector(struct ptx_warp *w, const struct ptx_insn *i);
void ptx_run_atomic_wide(struct ptx_warp *w, const struct ptx_insn *i); /* 128 bits */
/* multimem.c: extra of such an instruction. */
struct ptx_multimem {
    ptx_op *list; /* registers of the elements */
    enum ptx_atomic op;
    bool is_wide; /* sums of halves are kept as f32 until all are added */
};
void ptx_run_multimem(struct ptx_warp *w, const struct ptx_insn *i);
/* A register of so many bytes (2, 4, 8) of one lane; PTX_OP_NONE: 0, nothing. */
uint64_t ptx_read_lane(const struct ptx_warp *w, ptx_op op, unsigned size, unsigned l);
void ptx_write_lane(const struct ptx_warp *w, ptx_op op, unsigned size, unsigned l, uint64_t v);
/* Returns what an update of `old` gives. */
uint64_t ptx_atomic_combine(enum ptx_atomic op, ptx_type type, uint64_t old, uint64_t b,
                            uint64_t c);
/* One update of `type`, at most 8 bytes, at host memory; the old value. */
uint64_t ptx_atomic_update(enum ptx_atomic op, ptx_type type, uint8_t *p, uint64_t b, uint64_t c);

/* tensor.c */
struct ptx_mma {
    uint8_t m, n;
    uint16_t k;
    uint8_t bits;    /* of an element of A and B */
    uint8_t a_count; /* registers */
    uint8_t b_count;
    uint8_t c_count;
    uint8_t d_count;
    ptx_type a_type;
    ptx_type b_type;
    ptx_type c_type;
    ptx_type d_type;
    bool saturates;
    bool is_and; /* of single bits: and rather than xor */
    bool a_row;  /* of m8n8k4 of f16 */
    bool b_row;
    uint8_t round;    /* enum ptx_round, of f64 */
    bool is_sparse;   /* A has half of its columns; metadata says which */
    uint8_t selector; /* which lanes of four have the metadata */
    ptx_op metadata;
    ptx_op ops[32]; /* d, a, b, c */
};
void ptx_run_mma(struct ptx_warp *w, const struct ptx_insn *i);
void ptx_run_mma_bits(struct ptx_warp *w, const struct ptx_insn *i);
void ptx_run_mma_quad(struct ptx_warp *w, const struct ptx_insn *i);
void ptx_run_load_matrix(struct ptx_warp *w, const struct ptx_insn *i);
void ptx_run_store_matrix(struct ptx_warp *w, const struct ptx_insn *i);
void ptx_run_transpose(struct ptx_warp *w, const struct ptx_insn *i);
/* An element of a matrix, right-aligned, as a number, and back to one of D. */
double ptx_matrix_element(ptx_type type, uint64_t v);
/* The column of a sparse A that stored element `c` of `row` has, by the metadata of a warp. */
unsigned ptx_mma_column(const struct ptx_warp *w, const struct ptx_mma *x, unsigned row,
                        unsigned c);
uint64_t ptx_matrix_result(ptx_type type, double v, bool saturates);

/* small.c */
void ptx_run_to_small(struct ptx_warp *w, const struct ptx_insn *i);
void ptx_run_from_small(struct ptx_warp *w, const struct ptx_insn *i);
void ptx_run_cvt_pack(struct ptx_warp *w, const struct ptx_insn *i);

/* stochastic.c: cvt.rs. extra: struct ptx_stochastic; dst: 32 bits, or 16 of four numbers of 4. */
struct ptx_stochastic {
    ptx_type type; /* PTX_F16X2, PTX_BF16X2, or the pair of what four are made of */
    uint8_t count;
    bool relu;
    bool satfinite;
    ptx_op random; /* 32 bits */
    ptx_op in[4];  /* f32, the uppermost first */
};
void ptx_run_stochastic(struct ptx_warp *w, const struct ptx_insn *i);

/* byte_matrix.c: ldmatrix and stmatrix. extra: struct ptx_byte_matrix. */
struct ptx_byte_matrix {
    uint8_t matrices;
    uint8_t rows; /* of each, 16 bytes in memory: 8 or 16 */
    uint8_t bits; /* of an element in memory */
    bool stores;
    ptx_op registers[4];
};
void ptx_run_load_bytes(struct ptx_warp *w, const struct ptx_insn *i);
void ptx_run_store_bytes(struct ptx_warp *w, const struct ptx_insn *i);

/* flow.c */
void ptx_run_branch(struct ptx_warp *w, const struct ptx_insn *i);
void ptx_run_branch_table(struct ptx_warp *w, const struct ptx_insn *i);
void ptx_run_join(struct ptx_warp *w, const struct ptx_insn *i);
void ptx_run_call(struct ptx_warp *w, const struct ptx_insn *i);
void ptx_run_end(struct ptx_warp *w, const struct ptx_insn *i); /* the last of every function */
void ptx_run_exit(struct ptx_warp *w, const struct ptx_insn *i);
void ptx_run_trap(struct ptx_warp *w, const struct ptx_insn *i);
void ptx_run_nothing(struct ptx_warp *w, const struct ptx_insn *i);
void ptx_run_pause(struct ptx_warp *w, const struct ptx_insn *i); /* nanosleep, fences */
void ptx_run_fetch(struct ptx_warp *w, const struct ptx_insn *i); /* %clock and the like */
void ptx_run_rounded(struct ptx_warp *w, const struct ptx_insn *i);
void ptx_set_rounding(unsigned round); /* enum ptx_round: the host's; back to nearest afterwards */

/* barrier.c: PTX_MODE: enum ptx_barrier_mode */
void ptx_run_barrier(struct ptx_warp *w, const struct ptx_insn *i);
/* Waits for the other three warps of the warpgroup, those of them that live. */
void ptx_run_warpgroup_wait(struct ptx_warp *w, const struct ptx_insn *i);
/* Each block keeps who of it has come to the cluster's barrier; waiting is a step of its own. */
void ptx_run_cluster_arrive(struct ptx_warp *w, const struct ptx_insn *i);
void ptx_run_cluster_wait(struct ptx_warp *w, const struct ptx_insn *i);

/* cluster.c */
void ptx_run_map_address(struct ptx_warp *w, const struct ptx_insn *i);
void ptx_run_block_rank(struct ptx_warp *w, const struct ptx_insn *i);
void ptx_run_is_shared(struct ptx_warp *w, const struct ptx_insn *i);
void ptx_run_cancel(struct ptx_warp *w, const struct ptx_insn *i);
void ptx_run_cancelled(struct ptx_warp *w, const struct ptx_insn *i);
void ptx_run_cancelled_block(struct ptx_warp *w, const struct ptx_insn *i);

/* pack.c: extra: struct ptx_pack */
struct ptx_pack {
    uint32_t count;
    uint32_t size; /* bytes of an element */
    ptx_op elements[];
};
void ptx_run_pack(struct ptx_warp *w, const struct ptx_insn *i);
void ptx_run_unpack(struct ptx_warp *w, const struct ptx_insn *i);

/* stack.c */
void ptx_run_alloca(struct ptx_warp *w, const struct ptx_insn *i);
void ptx_run_stack_save(struct ptx_warp *w, const struct ptx_insn *i);
void ptx_run_stack_restore(struct ptx_warp *w, const struct ptx_insn *i);

/* lanes.c */
enum ptx_shuffle {
    PTX_SHFL_UP,
    PTX_SHFL_DOWN,
    PTX_SHFL_BFLY,
    PTX_SHFL_IDX,
};
enum ptx_vote {
    PTX_VOTE_ALL,
    PTX_VOTE_ANY,
    PTX_VOTE_UNI,
    PTX_VOTE_BALLOT,
};
void ptx_run_shuffle(struct ptx_warp *w, const struct ptx_insn *i);
void ptx_run_vote(struct ptx_warp *w, const struct ptx_insn *i);
void ptx_run_match(struct ptx_warp *w, const struct ptx_insn *i);
void ptx_run_reduce(struct ptx_warp *w, const struct ptx_insn *i);
void ptx_run_reduce_float(struct ptx_warp *w, const struct ptx_insn *i);
void ptx_run_warp_sync(struct ptx_warp *w, const struct ptx_insn *i);
void ptx_run_active_mask(struct ptx_warp *w, const struct ptx_insn *i);
void ptx_run_elect(struct ptx_warp *w, const struct ptx_insn *i);

#endif
