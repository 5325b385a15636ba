/* SPDX-License-Identifier: Apache-2.0
 *
 * Which modifiers of ld, st and ldu go together, and with which addresses. Most of them change
 * nothing here, but a program that the assembler refuses is not to run.
 */
#include "emu/ptx/decode/decode.h"

/* Kinds of modifiers, of which an instruction has one each. */
enum kind {
    OTHER,
    SPACE,
    ORDER,
    SCOPE,
    CACHE,
    NC,
    MMIO,
    EVICT,    /* L1::... */
    L2_EVICT, /* L2::evict_... */
    FETCH,    /* L2::64B */
    HINT,
    VECTOR,
    KIND_COUNT,
};

static const uint8_t kinds[MOD_COUNT] = {
    [MOD_global] = SPACE,
    [MOD_shared] = SPACE,
    [MOD_shared_cta] = SPACE,
    [MOD_shared_cluster] = SPACE,
    [MOD_local] = SPACE,
    [MOD_const] = SPACE,
    [MOD_param] = SPACE,
    [MOD_param_entry] = SPACE,
    [MOD_param_func] = SPACE,
    [MOD_weak] = ORDER,
    [MOD_volatile] = ORDER,
    [MOD_relaxed] = ORDER,
    [MOD_acquire] = ORDER,
    [MOD_release] = ORDER,
    [MOD_cta] = SCOPE,
    [MOD_cluster] = SCOPE,
    [MOD_gpu] = SCOPE,
    [MOD_sys] = SCOPE,
    [MOD_gl] = SCOPE,
    [MOD_ca] = CACHE,
    [MOD_cg] = CACHE,
    [MOD_cs] = CACHE,
    [MOD_lu] = CACHE,
    [MOD_cv] = CACHE,
    [MOD_wb] = CACHE,
    [MOD_wt] = CACHE,
    [MOD_nc] = NC,
    [MOD_mmio] = MMIO,
    [MOD_l1_evict_normal] = EVICT,
    [MOD_l1_evict_unchanged] = EVICT,
    [MOD_l1_evict_first] = EVICT,
    [MOD_l1_evict_last] = EVICT,
    [MOD_l1_no_allocate] = EVICT,
    [MOD_l2_evict_last] = L2_EVICT,
    [MOD_l2_evict_normal] = L2_EVICT,
    [MOD_l2_evict_first] = L2_EVICT,
    [MOD_l2_evict_unchanged] = L2_EVICT,
    [MOD_l2_64b] = FETCH,
    [MOD_l2_128b] = FETCH,
    [MOD_l2_256b] = FETCH,
    [MOD_l2_cache_hint] = HINT,
    [MOD_v2] = VECTOR,
    [MOD_v4] = VECTOR,
    [MOD_v8] = VECTOR,
};

struct words {
    enum ptx_modifier of[KIND_COUNT]; /* MOD_COUNT: none */
    bool has[KIND_COUNT];
};

static bool refuse(struct ptx_parser *p, enum ptx_modifier mod, const char *why)
{
    return ptx_fail(p, PTX_INVALID, p->statement.line, "'.%s' of '%.*s' %s", ptx_modifier_name(mod),
                    (int)p->statement.opcode.size, p->statement.opcode.text, why);
}

static bool take_words(struct ptx_parser *p, struct words *w)
{
    *w = (struct words){.has = {false}};
    for (unsigned k = 0; k < p->statement.mod_count; k++) {
        enum ptx_modifier mod = p->statement.mods[k];
        enum kind kind = mod < MOD_COUNT ? (enum kind)kinds[mod] : OTHER;

        if (kind && w->has[kind])
            return refuse(p, mod, "follows another one of its kind");
        w->of[kind] = mod;
        w->has[kind] = kind != OTHER;
    }
    return true;
}

/* Fails when a modifier of both kinds is there. */
static bool exclude(struct ptx_parser *p, const struct words *w, enum kind a, enum kind b)
{
    return !w->has[a] || !w->has[b] || refuse(p, w->of[a], "excludes one that is there");
}

static bool is_plain_space(enum ptx_modifier space)
{
    return space == MOD_local || space == MOD_const || space == MOD_param ||
           space == MOD_param_entry || space == MOD_param_func;
}

static bool check_order(struct ptx_parser *p, const struct words *w)
{
    const enum ptx_modifier order = w->of[ORDER];
    const bool is_ordered =
        w->has[ORDER] && (order == MOD_relaxed || order == MOD_acquire || order == MOD_release);

    if (w->has[SCOPE] && !is_ordered)
        return refuse(p, w->of[SCOPE], "requires .relaxed, .acquire or .release");
    if (is_ordered && !w->has[SCOPE])
        return refuse(p, order, "requires a scope");
    if (!w->has[ORDER] || order == MOD_weak)
        return exclude(p, w, ORDER, NC);
    if (w->has[SPACE] && is_plain_space(w->of[SPACE]))
        return refuse(p, order, "is not for this state space");
    if (order == MOD_volatile && (w->has[EVICT] || w->has[HINT]))
        return refuse(p, order, "excludes hints to caches");
    return exclude(p, w, ORDER, CACHE) && exclude(p, w, ORDER, NC);
}

static bool check_mmio(struct ptx_parser *p, const struct words *w)
{
    if (!w->has[MMIO])
        return true;
    if (!w->has[ORDER] || w->of[ORDER] != MOD_relaxed || w->of[SCOPE] != MOD_sys)
        return refuse(p, MOD_mmio, "requires .relaxed.sys");
    if (w->has[SPACE] && w->of[SPACE] != MOD_global)
        return refuse(p, MOD_mmio, "is for global memory");
    return exclude(p, w, MMIO, EVICT) && exclude(p, w, MMIO, FETCH) && exclude(p, w, MMIO, HINT);
}

/* Hints to caches. */
static bool check_caches(struct ptx_parser *p, const struct words *w)
{
    static const enum kind global_only[] = {EVICT, L2_EVICT, FETCH, HINT};

    for (unsigned k = 0; k < sizeof(global_only) / sizeof(global_only[0]); k++)
        if (w->has[global_only[k]] && w->has[SPACE] && w->of[SPACE] != MOD_global)
            return refuse(p, w->of[global_only[k]], "is for global memory");
    if (w->has[NC] && (!w->has[SPACE] || w->of[SPACE] != MOD_global))
        return refuse(p, MOD_nc, "requires .global");
    if (w->has[NC] && (w->of[CACHE] == MOD_lu || w->of[CACHE] == MOD_cv))
        return refuse(p, MOD_nc, "excludes .lu and .cv");
    return exclude(p, w, CACHE, EVICT);
}

static bool is_for_loads(enum ptx_modifier mod)
{
    return mod == MOD_acquire || mod == MOD_ca || mod == MOD_lu || mod == MOD_cv || mod == MOD_nc ||
           kinds[mod] == FETCH;
}

static bool is_for_stores(enum ptx_modifier mod)
{
    return mod == MOD_release || mod == MOD_wb || mod == MOD_wt;
}

static bool check_direction(struct ptx_parser *p, bool is_store)
{
    for (unsigned k = 0; k < p->statement.mod_count; k++) {
        enum ptx_modifier mod = p->statement.mods[k];
        if (mod < MOD_COUNT && (is_store ? is_for_loads(mod) : is_for_stores(mod)))
            return refuse(p, mod, is_store ? "is for loads" : "is for stores");
        if (mod == MOD_const && is_store)
            return refuse(p, mod, "cannot be written");
    }
    return true;
}

bool ptx_check_generic(struct ptx_parser *p)
{
    return (p->target >= 20 && p->version >= 20) || !p->target ||
           ptx_fail(p, PTX_INVALID, p->statement.line,
                    "'%.*s' without a state space requires .target sm_20 and PTX ISA .version 2.0",
                    (int)p->statement.opcode.size, p->statement.opcode.text);
}

static bool check_load_uniform(struct ptx_parser *p, const struct words *w)
{
    for (enum kind k = SPACE; k < KIND_COUNT; k++)
        if (k != VECTOR && w->has[k] && w->of[k] != MOD_global)
            return refuse(p, w->of[k], "is not known");
    return true;
}

bool ptx_check_access(struct ptx_parser *p, bool is_store)
{
    struct words w;

    if (!take_words(p, &w))
        return false;
    if (p->statement.opcode.size == 3 && !check_load_uniform(p, &w))
        return false;
    return check_direction(p, is_store) && check_order(p, &w) && check_mmio(p, &w) &&
           check_caches(p, &w) && (w.has[SPACE] || ptx_check_generic(p));
}

bool ptx_check_access_size(struct ptx_parser *p, ptx_type type, unsigned count)
{
    unsigned size = ptx_type_size(type) * count;
    struct words w;

    if (!take_words(p, &w))
        return false;
    bool is_large = size == 32 && (ptx_type_size(type) == 4 || ptx_type_size(type) == 8) &&
                    (!w.has[SPACE] || w.of[SPACE] == MOD_global);
    if (w.has[L2_EVICT] && !is_large)
        return refuse(p, w.of[L2_EVICT], "requires .v8.b32 or .v4.b64");
    if (size <= 16)
        return true;
    return is_large ? ptx_check_world(p, 100, 88, "256-bit access")
                    : ptx_fail(p, PTX_INVALID, p->statement.line, "a vector is too large");
}

/* ---- names in addresses ---- */

static bool is_space_of(const struct ptx_parser *p, const struct ptx_symbol *s,
                        enum ptx_space space, bool is_const)
{
    const struct ptx_var *v = s->kind == PTX_SYMBOL_VAR ? ptx_var_at(p->module, s->index) : NULL;
    bool is_anywhere = space == PTX_SPACE_GENERIC && !is_const;

    if (s->role)
        return space == PTX_SPACE_PARAM;
    if (!v || v->space == PTX_SPACE_LOCAL)
        return is_anywhere || space == PTX_SPACE_LOCAL;
    if (v->space == PTX_SPACE_SHARED)
        return is_anywhere || space == PTX_SPACE_SHARED || space == PTX_SPACE_CLUSTER;
    return v->info.is_const ? is_const : !is_const && (is_anywhere || space == PTX_SPACE_GLOBAL);
}

bool ptx_check_symbol(struct ptx_parser *p, const struct ptx_operand *o, enum ptx_space space)
{
    const struct ptx_symbol *s = o->symbol;
    bool is_const = ptx_has(p, MOD_const);
    bool is_store = p->statement.opcode.size == 2 && p->statement.opcode.text[0] == 's';
    bool is_load = p->statement.opcode.text[0] == 'l';

    if (s->kind == PTX_SYMBOL_VAR && ptx_var_at(p->module, s->index)->info.kind)
        return ptx_bad_operands(p);
    if (s->kind != PTX_SYMBOL_VAR && s->kind != PTX_SYMBOL_LOCAL && s->kind != PTX_SYMBOL_PARAM)
        return ptx_bad_operands(p);
    if (!is_space_of(p, s, space, is_const))
        return ptx_fail(p, PTX_INVALID, p->statement.line,
                        "'%.*s' is in another state space than '%.*s' says", (int)o->token.size,
                        o->token.text, (int)p->statement.opcode.size, p->statement.opcode.text);
    if ((is_store && s->role == PTX_PARAM_INPUT) || (is_load && s->role == PTX_PARAM_RESULT))
        return ptx_fail(p, PTX_INVALID, p->statement.line, "parameter '%.*s' cannot be %s",
                        (int)o->token.size, o->token.text, is_store ? "written" : "read");
    return true;
}
