/* SPDX-License-Identifier: Apache-2.0 */
#include "emu/ptx/decode/decode.h"
#include "emu/ptx/real.h"
#include "base/text.h"

#include <pthread.h>
#include <string.h>

#define SLOT_COUNT 1024

static const struct ptx_row *slots[SLOT_COUNT];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static unsigned slot_of(const char *name, size_t size)
{
    uint32_t hash = 2166136261u;

    for (size_t k = 0; k < size; k++)
        hash = (hash ^ (uint8_t)name[k]) * 16777619u;
    return (hash ^ hash >> 15) % SLOT_COUNT;
}

static void fill(void)
{
    static const struct ptx_row *const tables[] = {
        ptx_rows_arith,   ptx_rows_bits,   ptx_rows_move,       ptx_rows_flow,
        ptx_rows_warp,    ptx_rows_tensor, ptx_rows_atomic,     ptx_rows_wmma,
        ptx_rows_convert, ptx_rows_video,  ptx_rows_async,      ptx_rows_sync,
        ptx_rows_texture, ptx_rows_wgmma,  ptx_rows_tensor_map, ptx_rows_tcgen05};

    for (size_t t = 0; t < sizeof(tables) / sizeof(tables[0]); t++)
        for (const struct ptx_row *row = tables[t]; row->name; row++) {
            unsigned at = slot_of(row->name, strlen(row->name));
            while (slots[at])
                at = (at + 1) % SLOT_COUNT;
            slots[at] = row;
        }
}

static const struct ptx_row *find_row(const struct ptx_token *t)
{
    pthread_once(&once, fill);
    for (unsigned at = slot_of(t->text, t->size); slots[at]; at = (at + 1) % SLOT_COUNT)
        if (strlen(slots[at]->name) == t->size && memcmp(slots[at]->name, t->text, t->size) == 0)
            return slots[at];
    return NULL;
}

bool ptx_has(const struct ptx_parser *p, enum ptx_modifier mod)
{
    for (unsigned k = 0; k < p->statement.mod_count; k++)
        if (p->statement.mods[k] == mod)
            return true;
    return false;
}

bool ptx_take(struct ptx_parser *p, enum ptx_modifier mod)
{
    struct ptx_statement *s = &p->statement;

    for (unsigned k = 0; k < s->mod_count; k++)
        if (!s->mod_used[k] && s->mods[k] == mod)
            return s->mod_used[k] = true;
    return false;
}

ptx_type ptx_take_type(struct ptx_parser *p)
{
    struct ptx_statement *s = &p->statement;

    for (unsigned k = 0; k < s->mod_count; k++)
        if (!s->mod_used[k] && s->mods[k] < PTX_TYPE_COUNT) {
            s->mod_used[k] = true;
            return (ptx_type)s->mods[k];
        }
    return PTX_TYPE_COUNT;
}

int ptx_take_one(struct ptx_parser *p, const enum ptx_modifier *list)
{
    struct ptx_statement *s = &p->statement;

    for (unsigned k = 0; k < s->mod_count; k++)
        for (int n = 0; !s->mod_used[k] && list[n] != MOD_COUNT; n++)
            if (s->mods[k] == list[n]) {
                s->mod_used[k] = true;
                return n;
            }
    return -1;
}

void ptx_take_hints(struct ptx_parser *p)
{
    static const enum ptx_modifier hints[] = {MOD_ca,
                                              MOD_cg,
                                              MOD_cs,
                                              MOD_lu,
                                              MOD_cv,
                                              MOD_wb,
                                              MOD_wt,
                                              MOD_nc,
                                              MOD_cta,
                                              MOD_gpu,
                                              MOD_sys,
                                              MOD_cluster,
                                              MOD_gl,
                                              MOD_l1_evict_normal,
                                              MOD_l1_evict_unchanged,
                                              MOD_l1_evict_first,
                                              MOD_l1_evict_last,
                                              MOD_l1_no_allocate,
                                              MOD_l2_evict_last,
                                              MOD_l2_evict_normal,
                                              MOD_l2_evict_unchanged,
                                              MOD_l2_evict_first,
                                              MOD_l2_64b,
                                              MOD_l2_128b,
                                              MOD_l2_256b,
                                              MOD_weak,
                                              MOD_COUNT};

    while (ptx_take_one(p, hints) >= 0)
        ;
}

bool ptx_unsupported(struct ptx_parser *p)
{
    struct ptx_statement *s = &p->statement;
    char text[200];
    size_t size = tsm_format(text, sizeof(text), "%.*s",
                             s->opcode.size > 40 ? 40 : (int)s->opcode.size, s->opcode.text);

    for (unsigned k = 0; k < s->mod_count && size < sizeof(text) - 1; k++)
        size += tsm_format(text + size, sizeof(text) - size, ".%.*s",
                           s->mod_tokens[k].size > 40 ? 40 : (int)s->mod_tokens[k].size,
                           s->mod_tokens[k].text);
    return ptx_fail(p, PTX_UNSUPPORTED, s->line, "unsupported instruction '%s'", text);
}

bool ptx_bad_operands(struct ptx_parser *p)
{
    return ptx_fail(p, PTX_INVALID, p->statement.line, "wrong operands for '%.*s'",
                    (int)p->statement.opcode.size, p->statement.opcode.text);
}

bool ptx_want_operands(struct ptx_parser *p, unsigned least, unsigned most)
{
    unsigned count = p->statement.operand_count;

    return (count >= least && count <= most) || ptx_bad_operands(p);
}

ptx_type ptx_register_type(ptx_type type)
{
    if (type == PTX_PRED)
        return PTX_PRED;
    switch (ptx_type_size(type)) {
    case 1:
    case 2:
        return PTX_U16;
    case 4:
        return PTX_U32;
    case 8:
        return PTX_U64;
    default:
        return PTX_B128;
    }
}

struct ptx_insn *ptx_emit(struct ptx_parser *p, ptx_fn fn)
{
    static _Thread_local struct ptx_insn spare;
    struct ptx_insn *i = ptx_array_add(&p->insns, sizeof(*i));

    if (!i) {
        ptx_fail_memory(p);
        i = &spare;
    }
    if (!fn)
        ptx_unsupported(p);
    *i = (struct ptx_insn){.fn = fn,
                           .dst = PTX_OP_NONE,
                           .dst2 = PTX_OP_NONE,
                           .guard = p->statement.guard,
                           .line = p->statement.line,
                           .count = 1};
    for (unsigned k = 0; k < 4; k++)
        i->src[k] = PTX_OP_NONE;
    return i;
}

void *ptx_extra(struct ptx_parser *p, size_t size)
{
    void *memory = ptx_module_alloc(p->module, size);

    if (!memory)
        ptx_fail_memory(p);
    return memory;
}

struct ptx_around ptx_around_begin(struct ptx_parser *p)
{
    struct ptx_around around = {.guard = p->statement.guard, .branch = p->insns.count};

    if (around.guard == PTX_OP_NONE)
        return around;
    ptx_emit(p, ptx_run_branch)->guard = around.guard ^ PTX_OP_NOT;
    p->statement.guard = PTX_OP_NONE;
    return around;
}

void ptx_around_end(struct ptx_parser *p, struct ptx_around around)
{
    if (around.guard == PTX_OP_NONE || p->status != PTX_OK)
        return;
    ((struct ptx_insn *)p->insns.items)[around.branch].imm = (int64_t)p->insns.count;
    p->statement.guard = around.guard;
}

/* ptxas's rule: bits go with everything, integers with integers, floats with their own type. */
bool ptx_types_agree(ptx_type want, ptx_type have)
{
    char w = ptx_type_class(want);
    char h = ptx_type_class(have);

    if (want == have || w == 'b' || h == 'b' || w == 'p' || h == 'p')
        return true;
    if (want == PTX_U16X2 || want == PTX_S16X2)
        return false;
    return w != 'f' && w != 'x' && h != 'f' && h != 'x';
}

static bool fail_type(struct ptx_parser *p, const struct ptx_operand *o)
{
    return ptx_fail(p, PTX_INVALID, p->statement.line,
                    "operand '%.*s' of '%.*s' has the wrong type", (int)o->token.size,
                    o->token.text, (int)p->statement.opcode.size, p->statement.opcode.text);
}

static void emit_extend(struct ptx_parser *p, ptx_op to, ptx_type to_type, ptx_op from,
                        ptx_type from_type)
{
    ptx_type bits = to_type == PTX_U16 ? PTX_B16 : to_type == PTX_U32 ? PTX_B32 : PTX_B64;
    struct ptx_insn *i = ptx_emit(p, ptx_handler(PTX_ALU_EXTEND, bits));

    i->dst = to;
    i->src[0] = from;
    i->type = bits;
    i->type2 = from_type;
}

/* Special registers are for mov and cvt alone. A mov between sizes is one of the low 16 bits of
 * what has components: those were registers of 16 bits. */
static bool is_special_right(struct ptx_parser *p, const struct ptx_operand *o, ptx_type type)
{
    const struct ptx_token *t = &p->statement.opcode;
    bool is_mov = t->size == 3 && memcmp(t->text, "mov", 3) == 0;
    bool is_cvt = t->size == 3 && memcmp(t->text, "cvt", 3) == 0;
    unsigned want = ptx_type_size(type);
    unsigned have = ptx_type_size(o->type);

    if (!o->is_special && o->fetch < 0)
        return true;
    if ((!is_mov && !is_cvt && !o->is_element) || ptx_type_class(type) == 'f')
        return ptx_fail(p, PTX_INVALID, p->statement.line,
                        "special register '%.*s' cannot be an operand of '%.*s'",
                        (int)o->token.size, o->token.text, (int)t->size, t->text);
    return want == have || (is_cvt && want < have) || (o->is_component && want == 2) ||
           o->is_grid || ptx_bad_operands(p);
}

/* %r1+4: a sum of integers, whatever the instruction makes of it. */
static ptx_op add_constant(struct ptx_parser *p, ptx_op op, ptx_type type, uint64_t value)
{
    if (type != PTX_U16 && type != PTX_U32 && type != PTX_U64) {
        ptx_bad_operands(p);
        return PTX_OP_NONE;
    }
    ptx_op addend = ptx_pool_value(p, value, ptx_type_size(type));
    ptx_op sum = ptx_register_new(p, type, 1);
    struct ptx_insn *i = ptx_emit(p, ptx_handler(PTX_ALU_ADD, type));
    i->dst = sum;
    i->src[0] = op;
    i->src[1] = addend;
    return sum;
}

static ptx_op source_register(struct ptx_parser *p, const struct ptx_operand *o, ptx_type type,
                              bool relaxed)
{
    ptx_type have = ptx_register_type(o->type);
    ptx_type want = ptx_register_type(type);
    ptx_op op = o->op;

    if (o->vector || o->selector_size || o->is_minus || (o->negated && have != PTX_PRED)) {
        ptx_bad_operands(p);
        return PTX_OP_NONE;
    }
    if (!is_special_right(p, o, type))
        return PTX_OP_NONE;
    if (ptx_type_size(o->type) == 1 && o->type != PTX_PRED && ptx_type_size(type) == 2 &&
        !relaxed) {
        fail_type(p, o);
        return PTX_OP_NONE;
    }
    if (!o->is_special && o->fetch < 0 && !ptx_types_agree(type, o->type)) {
        fail_type(p, o);
        return PTX_OP_NONE;
    }
    if (o->fetch >= 0) {
        op = ptx_register_new(p, o->type, 1);
        struct ptx_insn *i = ptx_emit(p, ptx_run_fetch);
        i->dst = op;
        i->type = o->type;
        i->flags = (uint32_t)o->fetch << PTX_F_MODE_SHIFT;
    }
    if (o->has_addend)
        op = add_constant(p, op, have, o->value);
    if (have == want)
        return o->negated ? op | PTX_OP_NOT : op;
    if (have == PTX_PRED || want == PTX_PRED || have == PTX_B128 || want == PTX_B128 ||
        !(relaxed || o->is_special || o->fetch >= 0)) {
        ptx_fail(p, PTX_INVALID, p->statement.line, "operand '%.*s' of '%.*s' has the wrong size",
                 (int)o->token.size, o->token.text, (int)p->statement.opcode.size,
                 p->statement.opcode.text);
        return PTX_OP_NONE;
    }
    ptx_op copy = ptx_register_new(p, want, 1);
    emit_extend(p, copy, want, op, have);
    return copy;
}

/* Tests for an address of shared, local or constant memory. */
static bool is_small_address(struct ptx_parser *p, const struct ptx_symbol *s)
{
    if (s->kind != PTX_SYMBOL_VAR)
        return false;
    const struct ptx_var *v = ptx_var_at(p->module, s->index);
    return v->space != PTX_SPACE_GLOBAL || v->info.is_const;
}

static uint64_t float_literal(const struct ptx_operand *o, ptx_type type)
{
    double wide = o->is_single ? (double)ptx_f32((uint32_t)o->value) : ptx_f64(o->value);
    unsigned size = ptx_type_size(type);

    if (size == 4)
        return o->is_single ? o->value : ptx_f32_bits((float)wide);
    if (size == 8)
        return o->is_single ? ptx_f64_bits(wide) : o->value;
    return type == PTX_BF16 ? ptx_to_bf16(wide) : ptx_to_half(wide);
}

/* Instructions that take the address of a variable as a value. */
static bool takes_symbols(const struct ptx_parser *p)
{
    static const char *const names[] = {"mov", "cvta", "mapa", "getctarank", "call"};
    const struct ptx_token *t = &p->statement.opcode;

    for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++)
        if (t->size == strlen(names[k]) && memcmp(t->text, names[k], t->size) == 0)
            return true;
    return false;
}

static ptx_op source_symbol(struct ptx_parser *p, const struct ptx_operand *o, ptx_type type)
{
    const struct ptx_symbol *s = o->symbol;
    unsigned size = ptx_type_size(type);

    if ((!takes_symbols(p) && !o->has_addend) || ptx_type_class(type) == 'f' || type == PTX_PRED ||
        (size != 4 && size != 8) || o->first) {
        ptx_bad_operands(p);
        return PTX_OP_NONE;
    }
    if (s->kind == PTX_SYMBOL_PARAM)
        return ptx_pool_value(p, s->offset + o->value, size);
    if (s->kind == PTX_SYMBOL_LOCAL) {
        ptx_op op = ptx_register_new(p, type, 1);
        struct ptx_insn *i = ptx_emit(p, ptx_run_local_address);
        i->dst = op;
        i->type = type;
        i->imm = (int64_t)(s->offset + o->value);
        return op;
    }
    if (s->kind == PTX_SYMBOL_VAR && ptx_var_at(p->module, s->index)->is_dynamic) {
        ptx_note_var(p, s->index);
        ptx_op op = ptx_register_new(p, type, 1);
        ptx_type unsigned_type = size == 4 ? PTX_U32 : PTX_U64;
        ptx_op base = ptx_special_op(PTX_SPECIAL_DYNAMIC_SHARED);
        emit_extend(p, op, unsigned_type, base, PTX_U32);
        ptx_op addend = ptx_pool_value(p, o->value, size);
        struct ptx_insn *i = ptx_emit(p, ptx_handler(PTX_ALU_ADD, unsigned_type));
        i->dst = i->src[0] = op;
        i->src[1] = addend;
        return op;
    }
    if (s->kind != PTX_SYMBOL_VAR && s->kind != PTX_SYMBOL_CODE) {
        ptx_bad_operands(p);
        return PTX_OP_NONE;
    }
    if (size == 4 && !is_small_address(p, s)) {
        ptx_fail(p, PTX_INVALID, p->statement.line, "'%.*s' has no 32-bit address",
                 (int)o->token.size, o->token.text);
        return PTX_OP_NONE;
    }
    return ptx_pool_address(p, s, (int64_t)o->value, size, false);
}

/* Integers are no floats; of floats, 0f... has 32 bits, and all others 64. Halves have no literals.
 */
static bool is_literal_of(const struct ptx_operand *o, ptx_type type)
{
    char kind = ptx_type_class(type);

    if (o->kind == PTX_OPERAND_INT)
        return kind != 'f';
    if (kind == 'f')
        return type == PTX_F32 || type == PTX_F64;
    return kind == 'b' && ptx_type_size(type) == (o->is_single ? 4 : 8);
}

ptx_op ptx_source(struct ptx_parser *p, const struct ptx_operand *o, ptx_type type, bool relaxed)
{
    unsigned size = ptx_type_size(type) < 2 ? 2 : ptx_type_size(type);

    switch (o->kind) {
    case PTX_OPERAND_REG:
        return source_register(p, o, type, relaxed);
    case PTX_OPERAND_INT:
        if (type == PTX_PRED)
            return ptx_pool_pred(p, o->value != 0);
        if (size > 8)
            break;
        if (!is_literal_of(o, type)) {
            fail_type(p, o);
            return PTX_OP_NONE;
        }
        if (ptx_type_size(type) == 1)
            return ptx_pool_value(
                p, type == PTX_S8 ? (uint64_t)(int8_t)o->value : (uint8_t)o->value, 2);
        return ptx_pool_value(p, o->value, size);
    case PTX_OPERAND_FLOAT:
        if (type == PTX_PRED || size > 8)
            break;
        if (!is_literal_of(o, type)) {
            fail_type(p, o);
            return PTX_OP_NONE;
        }
        return ptx_pool_value(p, float_literal(o, type), size);
    case PTX_OPERAND_SYMBOL:
        return source_symbol(p, o, type);
    case PTX_OPERAND_NAME:
        ptx_fail(p, PTX_INVALID, o->token.line, "unknown symbol '%.*s'", (int)o->token.size,
                 o->token.text);
        return PTX_OP_NONE;
    default:
        break;
    }
    ptx_bad_operands(p);
    return PTX_OP_NONE;
}

/* '_' stands for an element of a vector, and for one of two results. */
static bool is_sink_right(const struct ptx_parser *p, const struct ptx_operand *o)
{
    const struct ptx_token *t = &p->statement.opcode;

    return o->is_element || p->statement.operands[0].kind == PTX_OPERAND_PAIR ||
           (t->size == 4 && memcmp(t->text, "setp", 4) == 0);
}

ptx_op ptx_dest(struct ptx_parser *p, const struct ptx_operand *o, ptx_type type, bool relaxed)
{
    ptx_type have = ptx_register_type(o->type);
    ptx_type want = ptx_register_type(type);

    if (o->kind == PTX_OPERAND_SINK && is_sink_right(p, o))
        return ptx_register_new(p, want, 1);
    if (o->kind != PTX_OPERAND_REG || o->is_special || o->fetch >= 0 || o->vector || o->negated ||
        o->is_minus || o->selector_size || o->has_addend) {
        ptx_bad_operands(p);
        return PTX_OP_NONE;
    }
    if (!ptx_types_agree(type, o->type)) {
        fail_type(p, o);
        return PTX_OP_NONE;
    }
    if (have == want)
        return o->op;
    struct ptx_widen *widen =
        relaxed && have != PTX_PRED && want != PTX_PRED && ptx_type_size(have) > ptx_type_size(want)
            ? ptx_array_add(&p->widens, sizeof(*widen))
            : NULL;
    if (!widen) {
        ptx_fail(p, PTX_INVALID, p->statement.line, "operand '%.*s' of '%.*s' has the wrong size",
                 (int)o->token.size, o->token.text, (int)p->statement.opcode.size,
                 p->statement.opcode.text);
        return PTX_OP_NONE;
    }
    bool is_signed = ptx_type_class(type) == 's';
    *widen =
        (struct ptx_widen){.from = ptx_register_new(p, want, 1),
                           .to = o->op,
                           .from_type = is_signed ? (want == PTX_U16 ? PTX_S16 : PTX_S32) : want,
                           .to_type = have};
    return widen->from;
}

static bool finish(struct ptx_parser *p)
{
    struct ptx_statement *s = &p->statement;

    for (unsigned k = 0; k < s->mod_count; k++)
        if (!s->mod_used[k])
            return ptx_unsupported(p);
    for (size_t k = 0; k < p->widens.count; k++) {
        const struct ptx_widen *w = (struct ptx_widen *)p->widens.items + k;
        emit_extend(p, w->to, w->to_type, w->from, w->from_type);
    }
    p->widens.count = 0;
    return p->status == PTX_OK;
}

bool ptx_is_known(struct ptx_parser *p)
{
    return find_row(&p->statement.opcode) || ptx_unsupported(p);
}

bool ptx_decode(struct ptx_parser *p)
{
    const struct ptx_row *row = find_row(&p->statement.opcode);
    size_t before = p->insns.count;

    if (!row)
        return ptx_unsupported(p);
    if (!ptx_check_needs(p) || !row->decode(p, row) || !finish(p))
        return false;
    if (p->insns.count > before)
        ((struct ptx_insn *)p->insns.items)[p->insns.count - 1].flags |= PTX_F_LAST;
    return true;
}
