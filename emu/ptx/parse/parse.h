/* SPDX-License-Identifier: Apache-2.0
 *
 * The parser's state, shared by the files that read directives, statements and instructions.
 * Functions that can fail return false after ptx_fail(): the first failure counts.
 */
#ifndef EMU_PTX_PARSE_PARSE_H
#define EMU_PTX_PARSE_PARSE_H

#include "emu/ptx/parse/module.h"

enum ptx_symbol_kind {
    PTX_SYMBOL_REG,     /* op */
    PTX_SYMBOL_REGS,    /* %r<count>: op is that of %r0 */
    PTX_SYMBOL_VAR,     /* index */
    PTX_SYMBOL_CODE,    /* index */
    PTX_SYMBOL_LOCAL,   /* offset in the function's local frame; .param of calls too */
    PTX_SYMBOL_PARAM,   /* offset in the kernel's parameters */
    PTX_SYMBOL_PROTO,   /* extra: struct ptx_prototype */
    PTX_SYMBOL_TARGETS, /* extra: struct ptx_targets */
};

/* Part of a .param variable in calls. */
enum ptx_param_role {
    PTX_PARAM_NONE, /* it is none */
    PTX_PARAM_CALL, /* an argument or a result of calls that the function makes */
    PTX_PARAM_INPUT,
    PTX_PARAM_RESULT,
};

struct ptx_symbol {
    struct ptx_symbol *next;
    const char *name;
    const char *at; /* where in the text it was declared */
    uint32_t name_size;
    uint32_t hash;
    uint32_t scope;
    uint32_t unit;
    enum ptx_symbol_kind kind;
    ptx_type type;
    uint8_t vector; /* elements; 0: scalar */
    enum ptx_param_role role;
    ptx_op op;
    uint32_t count;
    uint32_t index;
    uint32_t offset;
    uint32_t size;
    void *extra;
};

/* A list of labels for brx.idx. */
struct ptx_targets {
    uint32_t count;
    struct ptx_token *names;
    uint32_t scope;
};

/* The shape of a call: sizes of results, then of arguments. */
struct ptx_prototype {
    uint32_t result_count;
    uint32_t param_count;
    uint32_t *sizes;
    bool is_noreturn;
};

enum ptx_operand_kind {
    PTX_OPERAND_NONE,
    PTX_OPERAND_REG,
    PTX_OPERAND_INT,
    PTX_OPERAND_FLOAT,
    PTX_OPERAND_SYMBOL, /* a variable or function, with addend `value` */
    PTX_OPERAND_NAME,   /* not declared (yet): a label */
    PTX_OPERAND_SINK,
    PTX_OPERAND_VECTOR,  /* {a, b}: `count` operands from `first` */
    PTX_OPERAND_LIST,    /* (a, b), of calls */
    PTX_OPERAND_ADDRESS, /* [base + value]: base is operand `first`, or none; [base, x, y]: `count`
                          * more from `first` + 1 */
    PTX_OPERAND_PAIR,    /* a|b: two operands from `first` */
};

struct ptx_operand {
    enum ptx_operand_kind kind;
    ptx_type type; /* of a register */
    bool negated;
    bool is_single;
    bool is_minus;         /* a register after '-' */
    bool is_special;       /* a register that only needs to be read */
    bool has_addend;       /* %r1+4, name+4: in `value` */
    bool is_element;       /* of {..} */
    bool is_component;     /* of a vector: x, y, z or w */
    bool is_grid;          /* %gridid, of which all sizes may be read */
    bool is_indexed;       /* a symbol with [index], in `value`; with a register, operand `first` */
    uint8_t selector_size; /* .b210: 1, .h10: 2 bytes an element; 0: no selector */
    uint8_t selector_count;
    uint32_t selector; /* four bits an element, the last written lowest */
    int8_t fetch;      /* enum ptx_fetch, or -1 */
    uint8_t vector;    /* a vector register: its elements */
    uint16_t first;
    uint16_t count;
    ptx_op op;
    uint64_t value;
    struct ptx_symbol *symbol;
    struct ptx_token token;
};

#define PTX_OPERAND_MAX 512
#define PTX_MOD_MAX     16

struct ptx_statement {
    struct ptx_token opcode;
    uint32_t line;
    ptx_op guard;
    enum ptx_modifier mods[PTX_MOD_MAX];
    bool mod_used[PTX_MOD_MAX];
    struct ptx_token mod_tokens[PTX_MOD_MAX];
    unsigned mod_count;
    unsigned operand_count; /* at the top level: operands[0 .. operand_count) */
    unsigned used;          /* with nested ones */
    struct ptx_operand operands[PTX_OPERAND_MAX];
};

struct ptx_label {
    struct ptx_token name;
    uint32_t scope;
    uint32_t insn;
    uint32_t hash;
};

/* A branch to a label not yet resolved: insn, and an entry of its table when >= 0. */
struct ptx_fixup {
    struct ptx_token name;
    uint32_t scope;
    uint32_t insn;
    int32_t entry;
};

/* A conversion to do after the instruction, for a destination wider than its type. */
struct ptx_widen {
    ptx_op from;
    ptx_op to;
    ptx_type from_type;
    ptx_type to_type;
};

struct ptx_parser {
    struct ptx_module *module;
    struct ptx_log *log;
    struct ptx_lexer lexer;
    int status;
    unsigned target; /* of this unit: sm */
    char variant;    /* of that: 'a' for sm_90a, 'f' for a family, else 0 */
    uint16_t version;
    uint32_t unit;
    const char *limit;         /* names of the module after this place of the text are not seen */
    struct ptx_record *record; /* what is known of bodies: they are not read; or NULL */
    struct ptx_code *again;    /* the function whose body alone is read; or NULL */
    struct ptx_symbol **table;
    uint32_t table_size;      /* a power of two */
    struct ptx_array symbols; /* struct ptx_symbol *: every one in order, for leaving scopes */
    struct ptx_symbol *spare; /* to use again */
    struct ptx_pool_slot *pool_slots;
    uint32_t pool_slot_count;
    uint32_t pool_used;
    /* the function being read */
    struct ptx_code *code;
    uint32_t number;        /* of functions read so far */
    uint64_t table_entries; /* of brx.idx, in functions read so far */
    uint32_t scope;
    uint32_t scope_next;
    struct ptx_array scope_parents; /* uint32_t */
    struct ptx_array insns;         /* struct ptx_insn */
    struct ptx_array labels;        /* struct ptx_label */
    uint32_t *label_slots;          /* a label's index + 1, by its name and scope; 0: free */
    uint32_t label_slot_count;
    struct ptx_array fixups;        /* struct ptx_fixup */
    struct ptx_array params;        /* struct ptx_arg */
    struct ptx_array public_params; /* struct ptx_param */
    struct ptx_array extras;        /* void * */
    struct ptx_array used_vars;     /* uint32_t */
    struct ptx_array used_codes;    /* uint32_t */
    struct ptx_array widens;        /* struct ptx_widen */
    struct ptx_live *live;          /* by an operand's place in the frame */
    size_t live_count, live_capacity;
    struct ptx_statement statement;
};

/* fail.c: notes the first failure in the log. Returns false. */
bool ptx_fail(struct ptx_parser *p, int status, uint32_t line, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
bool ptx_fail_memory(struct ptx_parser *p);
/* "expected X" at the current token. */
bool ptx_fail_expected(struct ptx_parser *p, const char *what);
/* Takes a mark, or fails. */
bool ptx_expect(struct ptx_parser *p, char punct);

/* symbol.c */
struct ptx_symbol *ptx_symbol_add(struct ptx_parser *p, const struct ptx_token *name,
                                  enum ptx_symbol_kind kind);
struct ptx_symbol *ptx_symbol_find(struct ptx_parser *p, const struct ptx_token *name);
/* Returns the variable or function that another unit calls by this name and lets be linked. */
struct ptx_symbol *ptx_symbol_linked(struct ptx_parser *p, const struct ptx_token *name,
                                     enum ptx_symbol_kind kind);
void ptx_scope_enter(struct ptx_parser *p);
void ptx_scope_leave(struct ptx_parser *p, uint32_t parent);
void ptx_symbols_drop(struct ptx_parser *p, size_t count);
/* The text of a token, owned by the module; NULL when out of memory. */
char *ptx_token_copy(struct ptx_parser *p, const struct ptx_token *token);

/* constant_pool.c: the code of a constant of 2, 4, 8 bytes; of an address; of a predicate. */
ptx_op ptx_pool_value(struct ptx_parser *p, uint64_t value, unsigned size);
ptx_op ptx_pool_address(struct ptx_parser *p, const struct ptx_symbol *symbol, int64_t addend,
                        unsigned size, bool generic);
ptx_op ptx_pool_pred(struct ptx_parser *p, bool value);
/* The function being read uses a variable, a function of the module. */
bool ptx_note_var(struct ptx_parser *p, uint32_t index);
bool ptx_note_code(struct ptx_parser *p, uint32_t index);

/* label.c: labels of the function being read. find looks in the scopes around, too. */
bool ptx_label_add(struct ptx_parser *p, const struct ptx_token *name);
const struct ptx_label *ptx_label_find(const struct ptx_parser *p, const struct ptx_token *name,
                                       uint32_t scope);
void ptx_labels_clear(struct ptx_parser *p);

/* liveness.c: notes that the instruction being read names a register. */
void ptx_live_note(struct ptx_parser *p, ptx_op op, ptx_type type);
/* Forgets the registers of the function that was read before. */
void ptx_live_reset(struct ptx_parser *p);
/* Counts the registers in use at once, when branches know their targets. False: out of memory. */
bool ptx_live_count(struct ptx_parser *p, uint32_t *out);

/* expression.c */
struct ptx_value {
    bool is_float;
    bool is_single; /* bits are those of an f32 */
    bool is_unsigned;
    uint64_t bits;
};
bool ptx_parse_value(struct ptx_parser *p, struct ptx_value *out);
/* An integer; "+ 4 - x * 2" after an address: 0 when there is none. */
bool ptx_parse_number(struct ptx_parser *p, uint64_t *value);
/* An integer before '>'. */
bool ptx_parse_count(struct ptx_parser *p, uint64_t *value);
bool ptx_parse_addend(struct ptx_parser *p, uint64_t *value);
double ptx_value_double(const struct ptx_value *v);

/* directive.c: module scope. */
bool ptx_parse_module(struct ptx_parser *p);
/* variable.c */
#define PTX_DIMENSIONS_MAX 8
struct ptx_declaration {
    ptx_type type;
    uint8_t vector;
    uint32_t align;
    enum ptx_space space;
    bool is_const;
    bool is_managed;
    bool is_param;
    enum ptx_variable_kind kind;
    struct ptx_token name;
    uint64_t elements;
    bool is_array;
    bool is_open; /* x[] */
    unsigned dimension_count;
    uint64_t dimensions[PTX_DIMENSIONS_MAX];
    uint64_t size;
};
/* Type, .align, .v4 and such; then the name with its dimensions. */
bool ptx_parse_declaration(struct ptx_parser *p, struct ptx_declaration *d);
bool ptx_parse_declarator(struct ptx_parser *p, struct ptx_declaration *d);
bool ptx_parse_variables(struct ptx_parser *p, enum ptx_modifier space, enum ptx_modifier linkage);
/* reference.c: .texref, .samplerref and .surfref in a declaration. False: not one of these. */
bool ptx_reference_type(struct ptx_declaration *d, enum ptx_modifier word);
/* { filter_mode = linear, ... }: the bytes of a sampler, for the variable's initialiser. */
bool ptx_parse_reference(struct ptx_parser *p, struct ptx_var *var);
/* function.c */
bool ptx_parse_function(struct ptx_parser *p, bool is_entry, enum ptx_modifier linkage);
/* Links everything that a function's calls and variables need of other units. */
bool ptx_link_code(struct ptx_parser *p, const struct ptx_code *code);
bool ptx_link_relocs(struct ptx_parser *p, size_t first);
/* record.c: jump over a body that the record knows. */
bool ptx_record_skip(struct ptx_parser *p, struct ptx_code *code);
/* register.c: reserves `count` registers in the frame. PTX_OP_NONE after a failure. */
ptx_op ptx_register_new(struct ptx_parser *p, ptx_type type, uint32_t count);
/* Reads what follows .reg. */
bool ptx_parse_registers(struct ptx_parser *p);
/* special.c: the special register of o->token. False: there is none; a failure is another thing. */
bool ptx_parse_special(struct ptx_parser *p, struct ptx_operand *o);
/* .x to .w, .r to .a: 0 to 3. */
#define PTX_COMPONENT_NONE 99u
unsigned ptx_component(const struct ptx_token *token);
/* statement.c */
bool ptx_parse_body(struct ptx_parser *p);
/* emu/ptx/decode/decode.c: turn p->statement into instructions. */
bool ptx_decode(struct ptx_parser *p);
/* The opcode has a row; asked before operands are read, whose form may be unknown too. */
bool ptx_is_known(struct ptx_parser *p);
/* require.c: the unit's .target and .version have the instruction. */
bool ptx_check_needs(struct ptx_parser *p);
/* The unit's .target and .version (times 10) are so high, or it fails with the name. */
bool ptx_check_world(struct ptx_parser *p, unsigned target, unsigned version, const char *name);
/* cfg.c: targets and rejoin points; moves p->insns into the function. */
bool ptx_finish_code(struct ptx_parser *p);

void ptx_parser_finish(struct ptx_parser *p);

#endif
