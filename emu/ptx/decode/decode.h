/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared parts of the decoders of instructions. A row of a table says which decoder an opcode has;
 * the decoder takes the modifiers that it knows, and an instruction with a modifier left over is
 * refused: tables and decoders together are the only list of what is supported.
 */
#ifndef EMU_PTX_DECODE_DECODE_H
#define EMU_PTX_DECODE_DECODE_H

#include "emu/ptx/handlers/handler.h"
#include "emu/ptx/handlers/memory.h"
#include "emu/ptx/parse/parse.h"

struct ptx_row {
    const char *name;
    bool (*decode)(struct ptx_parser *p, const struct ptx_row *row);
    uint16_t op;     /* enum ptx_alu, or the decoder's own number */
    uint16_t detail; /* the decoder's own */
};

/* Tables, each ended by a row without name. */
extern const struct ptx_row ptx_rows_arith[];
extern const struct ptx_row ptx_rows_bits[];
extern const struct ptx_row ptx_rows_move[];
extern const struct ptx_row ptx_rows_flow[];
extern const struct ptx_row ptx_rows_warp[];
extern const struct ptx_row ptx_rows_tensor[];
extern const struct ptx_row ptx_rows_texture[];
extern const struct ptx_row ptx_rows_convert[];
extern const struct ptx_row ptx_rows_video[];
extern const struct ptx_row ptx_rows_async[];
extern const struct ptx_row ptx_rows_sync[];
extern const struct ptx_row ptx_rows_atomic[];
extern const struct ptx_row ptx_rows_wmma[];
extern const struct ptx_row ptx_rows_wgmma[];
extern const struct ptx_row ptx_rows_tcgen05[];
extern const struct ptx_row ptx_rows_tensor_map[];

/* Tests whether the instruction has a modifier, taken or not. */
bool ptx_has(const struct ptx_parser *p, enum ptx_modifier mod);
/* Takes a modifier; false when the instruction does not have it. */
bool ptx_take(struct ptx_parser *p, enum ptx_modifier mod);
/* Takes the next type modifier; PTX_TYPE_COUNT when there is none. */
ptx_type ptx_take_type(struct ptx_parser *p);
/* Takes the first modifier of a list ended by MOD_COUNT, and returns its place, or -1. */
int ptx_take_one(struct ptx_parser *p, const enum ptx_modifier *list);
/* Scopes, cache operators, eviction hints: taken and forgotten. */
void ptx_take_hints(struct ptx_parser *p);

bool ptx_unsupported(struct ptx_parser *p);
bool ptx_bad_operands(struct ptx_parser *p);
/* The number of operands at the top level is as said. */
bool ptx_want_operands(struct ptx_parser *p, unsigned least, unsigned most);

/* The register type that holds a value of a type: PTX_U16, U32, U64, B128 or PRED. */
ptx_type ptx_register_type(ptx_type type);

/* May a register of type `have` stand where `want` is expected, sizes aside? */
bool ptx_types_agree(ptx_type want, ptx_type have);
/* An operand's code. `relaxed`: a register of another size is converted. Both may add instructions,
 * so they come before ptx_emit(). PTX_OP_NONE after a failure, and for the sink. */
ptx_op ptx_source(struct ptx_parser *p, const struct ptx_operand *o, ptx_type type, bool relaxed);
ptx_op ptx_dest(struct ptx_parser *p, const struct ptx_operand *o, ptx_type type, bool relaxed);
static inline struct ptx_operand *ptx_operand_at(struct ptx_parser *p, unsigned k)
{
    return &p->statement.operands[k];
}

/* A new instruction with the statement's guard and line, no operands. Never NULL: after a failure
 * it is a spare one. */
struct ptx_insn *ptx_emit(struct ptx_parser *p, ptx_fn fn);

/* An address operand: what ptx_addresses() reads of an instruction. */
struct ptx_address {
    ptx_op base;
    int64_t imm;
    bool is_narrow; /* the base has 32 bits */
    enum ptx_space space;
};
bool ptx_parse_address(struct ptx_parser *p, const struct ptx_operand *o, enum ptx_space space,
                       struct ptx_address *a);
void ptx_set_address(struct ptx_insn *i, const struct ptx_address *a);
/* The address as a 64-bit register; its space may become another one. */
ptx_op ptx_address_op(struct ptx_parser *p, struct ptx_address *a);
enum ptx_space ptx_take_space(struct ptx_parser *p);
/* access_rules.c: the modifiers of ld, st and ldu go together; those that a size, and the absence
 * of a state space, ask for are there. */
bool ptx_check_access(struct ptx_parser *p, bool is_store);
bool ptx_check_access_size(struct ptx_parser *p, ptx_type type, unsigned count);
bool ptx_check_generic(struct ptx_parser *p);
/* A name stands for memory that the instruction may access so; `space` is what it says. */
bool ptx_check_symbol(struct ptx_parser *p, const struct ptx_operand *o, enum ptx_space space);
/* .volatile and the like: somebody else may write what is read. */
bool ptx_take_order(struct ptx_parser *p);
/* is_vector: of atom.v2 and bulk reductions, which have more. */
bool ptx_is_atomic(enum ptx_atomic op, ptx_type type, bool is_vector);
/* barrier.cluster, after .cluster. */
bool ptx_decode_cluster_barrier(struct ptx_parser *p);
/* Operand {a, b...} of `count` registers into `out`; operand 0 is written, unless an address. */
bool ptx_parse_fragment(struct ptx_parser *p, unsigned operand, unsigned count, ptx_type type,
                        ptx_op *out);
/* .rn to .rp of matrices of f64: enum ptx_round. */
uint8_t ptx_take_f64_rounding(struct ptx_parser *p, ptx_type type);
/* .mmio, and .release: an access that is done where it is asked for, also in an .async instruction.
 */
bool ptx_is_plain_async(const struct ptx_parser *p);
/* 1, 2, 4 or 8. */
unsigned ptx_take_vector(struct ptx_parser *p);
/* st.async and red.async, after .async. */
bool ptx_decode_store_async(struct ptx_parser *p);
/* cp.async.bulk.tensor, its reductions and prefetches, after .tensor. */
bool ptx_decode_tensor_copy(struct ptx_parser *p, bool reduces, bool prefetches);
/* tcgen05.mma, after .mma. */
bool ptx_decode_tensor_product(struct ptx_parser *p);
/* An address of tensor memory: a 32-bit register in brackets. */
struct ptx_tensor_place;
bool ptx_parse_tensor_place(struct ptx_parser *p, unsigned operand, struct ptx_tensor_place *out);
/* cvt.rs, after .rs. */
bool ptx_decode_stochastic(struct ptx_parser *p);
bool ptx_decode_byte_matrix(struct ptx_parser *p, bool stores);
/* mma with .kind. */
bool ptx_decode_scaled_mma(struct ptx_parser *p);
/* st.bulk, after .bulk. */
bool ptx_decode_store_bulk(struct ptx_parser *p);

/* For instructions that all lanes of a group must reach together: the guard becomes a branch around
 * what is emitted between the two. */
struct ptx_around {
    ptx_op guard;
    size_t branch;
};
struct ptx_around ptx_around_begin(struct ptx_parser *p);
void ptx_around_end(struct ptx_parser *p, struct ptx_around around);

/* Memory of the function, freed with the module. NULL and a failure when out of memory. */
void *ptx_extra(struct ptx_parser *p, size_t size);

#endif
