/* SPDX-License-Identifier: Apache-2.0
 *
 * Decoded code: what the parser makes and the executor runs.
 *
 * An operand code (ptx_op) is a byte offset into one of four arrays of lanes plus, in its low bits,
 * which array and whether a predicate is negated. A register of size s takes 32 * s bytes, lane by
 * lane; a predicate is one uint32_t, a bit a lane. Immediates and addresses of variables are lane
 * arrays too (in the module's pool), so that no handler needs to tell operands apart.
 */
#ifndef EMU_PTX_INSN_H
#define EMU_PTX_INSN_H

#include "emu/ptx/modifier.h"
#include "emu/ptx/ptx.h"

#define PTX_LANES 32

typedef uint32_t ptx_op;

enum ptx_base {
    PTX_BASE_FRAME,   /* registers of the running function */
    PTX_BASE_POOL,    /* the module's constants */
    PTX_BASE_SPECIAL, /* special registers, laid out as in emu/ptx/exec/special.h */
    PTX_BASE_STAGE,   /* of an instruction that lanes execute together in several places */
    PTX_BASE_COUNT,
};
#define PTX_OP_BASE_MASK 3u
#define PTX_OP_NOT       32u         /* a predicate, negated */
#define PTX_OP_NONE      0xffffffffu /* absent, or the sink _ */
#define PTX_OP_UNIT      64u         /* offsets are multiples of this */

struct ptx_warp;
struct ptx_insn;
typedef void (*ptx_fn)(struct ptx_warp *warp, const struct ptx_insn *insn);

/* Bits of ptx_insn.flags; each family of handlers reads its own. */
enum ptx_flag {
    PTX_F_FTZ = 1 << 0,
    PTX_F_SAT = 1 << 1,
    PTX_F_ROUND_SHIFT = 2, /* two bits: enum ptx_round */
    PTX_F_RELU = 1 << 4,
    PTX_F_NAN = 1 << 5, /* min/max that return NaN */
    PTX_F_APPROX = 1 << 6,
    PTX_F_CARRY_OUT = 1 << 7,
    PTX_F_CARRY_IN = 1 << 8,
    PTX_F_TO_INT = 1 << 9, /* cvt float to float, to an integral value */
    PTX_F_CLAMP = 1 << 10, /* shf.clamp, prmt... */
    PTX_F_ABS = 1 << 11,
    PTX_F_POLL = 1 << 12, /* a load that another thread may change: volatile, acquire... */
    PTX_F_SATFINITE = 1 << 13,
    PTX_F_ROUND_AWAY = 1 << 14,
    PTX_F_ANYWHERE = 1 << 15, /* lanes may meet from different instructions: bar.warp.sync */
    PTX_F_MODE_SHIFT = 16,    /* family's own number, 8 bits */
};

/* In flags, of every family: the last of the instructions that one of the text became. Profiles
 * count these, so that a line counts once. */
#define PTX_F_LAST 0x80000000u

/* In flags, of every family: reads memory and writes it in one step. */
#define PTX_F_ATOMIC 0x40000000u

enum ptx_round {
    PTX_ROUND_NEAREST,
    PTX_ROUND_ZERO,
    PTX_ROUND_DOWN,
    PTX_ROUND_UP,
};

enum ptx_space {
    PTX_SPACE_GENERIC,
    PTX_SPACE_GLOBAL,
    PTX_SPACE_SHARED,
    PTX_SPACE_LOCAL,
    PTX_SPACE_PARAM,   /* of the kernel */
    PTX_SPACE_FRAME,   /* local, relative to the running function's local frame */
    PTX_SPACE_CLUSTER, /* shared memory of any block of the cluster */
    PTX_SPACE_COUNT,
};

struct ptx_insn {
    ptx_fn fn;
    ptx_op dst;
    ptx_op dst2;
    ptx_op src[4];
    ptx_op guard; /* PTX_OP_NONE: always */
    uint32_t line;
    uint32_t flags;
    ptx_type type;  /* of the operation */
    ptx_type type2; /* of the source of cvt, of a register of ld/st */
    uint8_t count;  /* vector elements */
    uint8_t space;  /* enum ptx_space */
    int64_t imm;    /* address offset, branch target, table index */
    union {
        void *extra;     /* owned by the function: struct ptx_call, operand lists... */
        ptx_fn inner;    /* what a wrapping handler runs */
        uint64_t rejoin; /* of a branch: where its paths meet again */
    };
};

/* One actual argument or result of a call. */
struct ptx_arg {
    ptx_op reg; /* PTX_OP_NONE: a .param variable at `offset` of the local frame */
    uint32_t offset;
    uint32_t size;
};

struct ptx_code;

struct ptx_call {
    const struct ptx_code *target; /* NULL: indirect through src[0], or a built-in function */
    const char *target_name;       /* resolved at the module's end */
    uint32_t arg_count;
    uint32_t result_count;
    struct ptx_arg *args; /* results follow the arguments */
};

/* Bytes a thread when calls are not all known beforehand: recursion, and pointers. */
#define PTX_STACK_OPEN (64u << 10)

/* A function's code. */
struct ptx_code {
    struct ptx_function info; /* first: the public half */
    struct ptx_insn *insns;
    uint32_t insn_count;
    uint32_t frame_size;          /* registers, bytes */
    uint32_t local_frame;         /* local memory a thread, this function alone, bytes */
    uint32_t stack_size;          /* with everything it calls */
    const struct ptx_code *alias; /* what this name stands for */
    bool is_defined;
    bool is_visible;
    bool is_weak;
    bool calls_unknown; /* makes indirect calls or recurses */
    uint32_t line;
    char variant;     /* of its .target: 'a' of sm_90a, 'f', or 0 */
    uint32_t index;   /* among the module's functions */
    uint32_t unit;    /* which .version of the text it came after */
    const char *head; /* in the text, after .entry or .func; and its line */
    const char *name_at;
    uint32_t head_line;
    uint32_t end; /* offset in the text of the body's last brace, and its line */
    uint32_t end_line;
    uint32_t noted;         /* the function being read uses it: its number */
    struct ptx_arg *params; /* where the callee finds them, results first */
    uint32_t param_count;
    uint32_t result_count;
    struct ptx_param *public_params;
    /* Module scope names that the body uses, for the layout of shared memory. */
    uint32_t *used_vars;
    uint32_t used_var_count;
    uint32_t *used_codes;
    uint32_t used_code_count;
    uint32_t dynamic_align; /* of an entry: what its dynamic shared memory asks for; 0: nothing */
    uint32_t mark;          /* of the layout's walks */
    uint8_t stack_state;
    uint8_t is_alone;      /* emu/ptx/launch/parallel_launch.c's */
    uint8_t is_ready;      /* decoded, and all that it may call: emu/ptx/parse/lazy.c's, atomic */
    struct ptx_plan *plan; /* emu/ptx/launch/plan.c's, atomic; NULL: none yet, or there is none */
    uint8_t has_no_plan;   /* it was tried; atomic */
};

/* Is it an instruction of this function? The function may be being decoded by another thread. */
static inline bool ptx_code_holds(const struct ptx_code *code, const struct ptx_insn *insn)
{
    const struct ptx_insn *insns = __atomic_load_n(&code->insns, __ATOMIC_ACQUIRE);

    return insns && insn >= insns && insn < insns + code->insn_count;
}

#endif
