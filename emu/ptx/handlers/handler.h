/* SPDX-License-Identifier: Apache-2.0
 *
 * Which C function executes which operation on which type. The files of handlers are compiled
 * twice, for any x86-64 and for one with AVX2 and FMA, and the better set is chosen once.
 */
#ifndef EMU_PTX_HANDLERS_HANDLER_H
#define EMU_PTX_HANDLERS_HANDLER_H

#include "emu/ptx/exec/exec.h"

enum ptx_alu {
    PTX_ALU_NONE,
    PTX_ALU_ADD,
    PTX_ALU_SUB,
    PTX_ALU_MUL,
    PTX_ALU_MUL_HI,
    PTX_ALU_MUL_WIDE,
    PTX_ALU_MAD,
    PTX_ALU_MAD_HI,
    PTX_ALU_MAD_WIDE,
    PTX_ALU_MUL24,
    PTX_ALU_MUL24_HI,
    PTX_ALU_MAD24,
    PTX_ALU_MAD24_HI,
    PTX_ALU_ADD_SAT,
    PTX_ALU_SUB_SAT,
    PTX_ALU_MAD_HI_SAT,
    PTX_ALU_MAD24_HI_SAT,
    PTX_ALU_ADDC, /* add, addc, sub, subc, mad, madc that use CC.CF, by flags */
    PTX_ALU_SUBC,
    PTX_ALU_MADC,
    PTX_ALU_MADC_HI,
    PTX_ALU_DIV,
    PTX_ALU_REM,
    PTX_ALU_ABS,
    PTX_ALU_NEG,
    PTX_ALU_MIN,
    PTX_ALU_MAX,
    PTX_ALU_SAD,
    PTX_ALU_AND,
    PTX_ALU_OR,
    PTX_ALU_XOR,
    PTX_ALU_NOT,
    PTX_ALU_CNOT,
    PTX_ALU_SHL,
    PTX_ALU_SHR,
    PTX_ALU_SHF_L,
    PTX_ALU_SHF_R,
    PTX_ALU_LOP3,
    PTX_ALU_PRMT,
    PTX_ALU_BFE,
    PTX_ALU_BFI,
    PTX_ALU_BFIND,
    PTX_ALU_BMSK,
    PTX_ALU_SZEXT,
    PTX_ALU_BREV,
    PTX_ALU_CLZ,
    PTX_ALU_POPC,
    PTX_ALU_FNS,
    PTX_ALU_DP4A,
    PTX_ALU_DP2A,
    PTX_ALU_FMA,
    PTX_ALU_RCP,
    PTX_ALU_SQRT,
    PTX_ALU_RSQRT,
    PTX_ALU_SIN,
    PTX_ALU_COS,
    PTX_ALU_EX2,
    PTX_ALU_LG2,
    PTX_ALU_TANH,
    PTX_ALU_TESTP,
    PTX_ALU_COPYSIGN,
    PTX_ALU_MOV,
    PTX_ALU_SELP,
    PTX_ALU_SLCT,
    PTX_ALU_SLCT_F,
    PTX_ALU_SETP,
    PTX_ALU_SET,
    PTX_ALU_CVT,
    PTX_ALU_LOAD_16, /* ld and st by the size of the register and the type in memory: see */
    PTX_ALU_LOAD_32, /* ptx_access_handler() */
    PTX_ALU_LOAD_64,
    PTX_ALU_STORE_16,
    PTX_ALU_STORE_32,
    PTX_ALU_STORE_64,
    PTX_ALU_PARAM,
    PTX_ALU_EXTEND, /* a register's value to a register of another size */
    PTX_ALU_COUNT,
};

struct ptx_entry {
    uint16_t op;
    ptx_type type;
    ptx_fn fn;
};

/* NULL: there is no such operation. Any thread. */
ptx_fn ptx_handler(enum ptx_alu op, ptx_type type);

/* Is it one of the table's? */
bool ptx_handler_is(ptx_fn fn);

/* For ld or st of elements of a type in memory to registers of `size` bytes. Never NULL. */
ptx_fn ptx_access_handler(bool is_store, ptx_type type, unsigned size);
/* For one kernel parameter. Never NULL. */
ptx_fn ptx_param_handler(ptx_type type, unsigned size);

/* Says when an instruction makes a ramp (emu/ptx/exec/ramp.h). */
enum ptx_ramp_rule {
    PTX_RAMP_SUM,     /* of ramps is a ramp */
    PTX_RAMP_PRODUCT, /* src[0] times src[1], one of which is the same in all lanes, and src[2] */
    PTX_RAMP_SHIFT,   /* src[0], by what is the same in all lanes */
    PTX_RAMP_SAME,    /* the same in all lanes if all sources are */
    PTX_RAMP_CONVERT, /* a ramp if the source is one; sizes are those of the types */
    PTX_RAMP_PARAM,   /* the same in all lanes */
    PTX_RAMP_LOAD,    /* the same in all lanes if the address is */
    PTX_RAMP_STORE,
    PTX_RAMP_COMPARE, /* two sources; predicates */
};

/* A handler that knows ramps, for one of the table or for one that is named. */
struct ptx_ramp_entry {
    uint16_t op; /* of the table; PTX_ALU_COUNT: the end */
    ptx_type type;
    uint8_t rule;    /* enum ptx_ramp_rule */
    uint8_t size[4]; /* bytes of a lane of dst and of the sources; 0: none */
    ptx_fn fn;
};

/* Returns what to execute instead of a handler of the table; NULL: there is nothing. */
const struct ptx_ramp_entry *ptx_ramp_handler(ptx_fn fn);
/* Returns what executes an instruction that knows no ramps, whose registers may be some. */
ptx_fn ptx_ramp_spread_handler(void);

/* Comparisons of setp and set, in the mode bits of flags. */
enum ptx_compare {
    PTX_CMP_EQ,
    PTX_CMP_NE,
    PTX_CMP_LT,
    PTX_CMP_LE,
    PTX_CMP_GT,
    PTX_CMP_GE,
    PTX_CMP_NUM,
    PTX_CMP_NAN,
    PTX_CMP_UNORDERED = 8, /* added: true when an operand is NaN */
};
enum ptx_combine {
    PTX_COMBINE_NONE,
    PTX_COMBINE_AND,
    PTX_COMBINE_OR,
    PTX_COMBINE_XOR,
};

#ifdef PTX_UNIT
#define PTX_JOIN2(a, b) a##b
#define PTX_JOIN(a, b)  PTX_JOIN2(a, b)
#define PTX_TABLE(name) PTX_JOIN(name, PTX_UNIT)
#endif

/* Each table ends with op 0. */
#define PTX_TABLES(X)                                                                              \
    X(ptx_access_entries)                                                                          \
    X(ptx_int_entries)                                                                             \
    X(ptx_bit_entries)                                                                             \
    X(ptx_float_entries)                                                                           \
    X(ptx_half_entries)                                                                            \
    X(ptx_compare_entries)                                                                         \
    X(ptx_convert_entries)
#define X(name)                                                                                    \
    extern const struct ptx_entry name##_any[];                                                    \
    extern const struct ptx_entry name##_v3[];
PTX_TABLES(X)
#undef X
extern const struct ptx_ramp_entry ptx_ramp_entries_any[], ptx_ramp_entries_v3[];
extern const struct ptx_ramp_entry ptx_ramp_access_entries_any[], ptx_ramp_access_entries_v3[];
void ptx_ramp_run_spread_any(struct ptx_warp *warp, const struct ptx_insn *insn);
void ptx_ramp_run_spread_v3(struct ptx_warp *warp, const struct ptx_insn *insn);

/* At most four lanes. */
static inline bool ptx_is_few(uint32_t mask)
{
    mask &= mask - 1;
    mask &= mask - 1;
    mask &= mask - 1;
    mask &= mask - 1;
    return mask == 0;
}

/* Statements that give lane l's `value`, for the lanes of the mask. When only some are active all
 * are computed, as vectors, and those of the others are dropped. */
#define PTX_EACH_OR_BLEND(w, D, pd, ...)                                                           \
    do {                                                                                           \
        if ((w)->mask == 0xffffffffu || ptx_is_few((w)->mask)) {                                   \
            PTX_EACH(w, __VA_ARGS__; (pd)[l] = (D)value);                                          \
        } else {                                                                                   \
            D all[PTX_LANES];                                                                      \
            PTX_INDEPENDENT for (unsigned l = 0; l < PTX_LANES; l++)                               \
            {                                                                                      \
                __VA_ARGS__;                                                                       \
                all[l] = (D)value;                                                                 \
            }                                                                                      \
            uint32_t mask = (w)->mask;                                                             \
            for (unsigned l = 0; l < PTX_LANES; l++)                                               \
                (pd)[l] = mask >> l & 1 ? all[l] : (pd)[l];                                        \
        }                                                                                          \
    } while (0)

/* The shape of most handlers: D and the sources are arrays of lanes. PTX_BINARY_EACH is for what
 * has no vector instruction and is slow. */
#define PTX_UNARY(name, D, A, ...)                                                                 \
    static void name(struct ptx_warp *w, const struct ptx_insn *i)                                 \
    {                                                                                              \
        D *pd = ptx_lanes(w, i->dst);                                                              \
        const A *pa = ptx_lanes(w, i->src[0]);                                                     \
        PTX_EACH_OR_BLEND(w, D, pd, A a = pa[l]; D value = (D)(__VA_ARGS__));                      \
    }
#define PTX_BINARY(name, D, A, B, ...)                                                             \
    static void name(struct ptx_warp *w, const struct ptx_insn *i)                                 \
    {                                                                                              \
        D *pd = ptx_lanes(w, i->dst);                                                              \
        const A *pa = ptx_lanes(w, i->src[0]);                                                     \
        const B *pb = ptx_lanes(w, i->src[1]);                                                     \
        PTX_EACH_OR_BLEND(w, D, pd, A a = pa[l]; B b = pb[l]; D value = (D)(__VA_ARGS__));         \
    }
#define PTX_TERNARY(name, D, A, B, C, ...)                                                         \
    static void name(struct ptx_warp *w, const struct ptx_insn *i)                                 \
    {                                                                                              \
        D *pd = ptx_lanes(w, i->dst);                                                              \
        const A *pa = ptx_lanes(w, i->src[0]);                                                     \
        const B *pb = ptx_lanes(w, i->src[1]);                                                     \
        const C *pc = ptx_lanes(w, i->src[2]);                                                     \
        PTX_EACH_OR_BLEND(w, D, pd, A a = pa[l]; B b = pb[l]; C c = pc[l];                         \
                          D value = (D)(__VA_ARGS__));                                             \
    }
#define PTX_BINARY_EACH(name, D, A, B, ...)                                                        \
    static void name(struct ptx_warp *w, const struct ptx_insn *i)                                 \
    {                                                                                              \
        D *pd = ptx_lanes(w, i->dst);                                                              \
        const A *pa = ptx_lanes(w, i->src[0]);                                                     \
        const B *pb = ptx_lanes(w, i->src[1]);                                                     \
        PTX_EACH(w, A a = pa[l]; B b = pb[l]; pd[l] = (D)(__VA_ARGS__));                           \
    }

#endif
