/* SPDX-License-Identifier: Apache-2.0
 *
 * The last step of a function: labels become indices, and every branch learns where its paths meet
 * again, its immediate post-dominator, by the algorithm of Cooper, Harvey and Kennedy on the
 * reversed control flow graph. A join instruction is put at every such place.
 */
#include "emu/ptx_memory.h"
#include "emu/ptx_parse.h"

#include <stdlib.h>
#include <string.h>

#define NONE 0xffffffffu

struct graph {
    struct ptx_parser *p;
    struct ptx_insn *insns;
    uint32_t count;     /* of instructions; the last is the function's end */
    uint32_t *block_of; /* an instruction's block */
    uint32_t *start;    /* a block's first instruction; one more at the end */
    uint32_t block_count;
    uint32_t *pred_start; /* predecessors of block b: preds[pred_start[b] .. pred_start[b + 1]) */
    uint32_t *preds;
    uint32_t *order;  /* blocks by reversed post-order from the end */
    uint32_t *number; /* a block's place in it, NONE when the end is out of reach */
    uint32_t *dominator;
    bool *is_meeting;
};

static bool ends_block(const struct ptx_insn *i)
{
    bool indirect = i->fn == ptx_run_call && i->src[0] != PTX_OP_NONE;

    return i->fn == ptx_run_branch || i->fn == ptx_run_branch_table || indirect ||
           ((i->fn == ptx_run_exit || i->fn == ptx_run_trap) && i->guard == PTX_OP_NONE);
}

/* Successors of a block by its last instruction. Returns how many; `out` NULL only counts. */
static uint32_t successors(const struct graph *g, uint32_t block, uint32_t *out)
{
    uint32_t at = g->start[block + 1] - 1;
    const struct ptx_insn *i = &g->insns[at];
    uint32_t list[2];
    uint32_t n = 0;

    if (at == g->count - 1)
        return 0;
    if (i->fn == ptx_run_branch_table) {
        const uint32_t *targets = i->extra;
        for (uint32_t k = 0; out && k < targets[0]; k++)
            out[k] = g->block_of[targets[1 + k]];
        return targets[0];
    }
    if (i->fn == ptx_run_branch)
        list[n++] = g->block_of[i->imm];
    else if (ends_block(i) && i->fn != ptx_run_call)
        list[n++] = g->block_count - 1;
    if (n == 0 || (i->fn == ptx_run_branch && i->guard != PTX_OP_NONE))
        list[n++] = block + 1;
    if (out)
        memcpy(out, list, n * sizeof(list[0]));
    return n;
}

static bool resolve_labels(struct graph *g)
{
    struct ptx_parser *p = g->p;
    const struct ptx_fixup *fixups = p->fixups.items;

    for (size_t k = 0; k < p->fixups.count; k++) {
        const struct ptx_fixup *f = &fixups[k];
        const struct ptx_label *label = ptx_label_find(p, &f->name, f->scope);
        if (!label)
            return ptx_fail(p, PTX_INVALID, f->name.line, "unknown label '%.*s'", (int)f->name.size,
                            f->name.text);
        if (f->entry >= 0)
            ((uint32_t *)g->insns[f->insn].extra)[1 + f->entry] = label->insn;
        else
            g->insns[f->insn].imm = label->insn;
    }
    for (uint32_t k = 0; k < g->count; k++)
        if (g->insns[k].fn == ptx_run_branch && g->insns[k].imm < 0)
            g->insns[k].imm = g->count - 1; /* ret */
    return true;
}

/* Marks in block_of where blocks start, then numbers them. */
static void find_blocks(struct graph *g)
{
    memset(g->block_of, 0, g->count * sizeof(*g->block_of));
    g->block_of[0] = g->block_of[g->count - 1] = 1;
    for (uint32_t k = 0; k < g->count; k++) {
        const struct ptx_insn *i = &g->insns[k];
        if (!ends_block(i))
            continue;
        if (k + 1 < g->count)
            g->block_of[k + 1] = 1;
        if (i->fn == ptx_run_branch)
            g->block_of[i->imm] = 1;
        const uint32_t *targets = i->fn == ptx_run_branch_table ? i->extra : NULL;
        for (uint32_t n = 0; targets && n < targets[0]; n++)
            g->block_of[targets[1 + n]] = 1;
    }
    for (uint32_t k = 0; k < g->count; k++) {
        if (g->block_of[k])
            g->start[g->block_count++] = k;
        g->block_of[k] = g->block_count - 1;
    }
    g->start[g->block_count] = g->count;
}

static bool find_predecessors(struct graph *g)
{
    uint32_t total = 0;
    uint32_t most = 2;

    g->pred_start = calloc(g->block_count + 2, sizeof(uint32_t));
    for (uint32_t b = 0; b < g->block_count; b++) {
        uint32_t n = successors(g, b, NULL);
        total += n;
        most = n > most ? n : most;
    }
    uint32_t *next = calloc(most, sizeof(uint32_t));
    g->preds = calloc(total + 1, sizeof(uint32_t));
    if (!next || !g->preds || !g->pred_start) {
        free(next);
        return ptx_fail_memory(g->p);
    }
    for (uint32_t b = 0; b < g->block_count; b++)
        for (uint32_t n = successors(g, b, next), k = 0; k < n; k++)
            g->pred_start[next[k] + 2]++;
    for (uint32_t b = 2; b <= g->block_count + 1; b++)
        g->pred_start[b] += g->pred_start[b - 1];
    for (uint32_t b = 0; b < g->block_count; b++)
        for (uint32_t n = successors(g, b, next), k = 0; k < n; k++)
            g->preds[g->pred_start[next[k] + 1]++] = b;
    free(next);
    return true;
}

/* Depth first from the end along predecessors, with a stack of our own. */
static bool number_blocks(struct graph *g)
{
    uint32_t *stack = malloc((g->block_count + 1) * sizeof(uint32_t));
    uint32_t *edge = calloc(g->block_count + 1, sizeof(uint32_t));
    bool *seen = calloc(g->block_count + 1, sizeof(bool));
    uint32_t depth = 0;
    uint32_t last = g->block_count;
    bool ok = stack && edge && seen;

    if (ok) {
        stack[depth++] = g->block_count - 1;
        seen[g->block_count - 1] = true;
    }
    while (depth) {
        uint32_t b = stack[depth - 1];
        if (g->pred_start[b] + edge[b] < g->pred_start[b + 1]) {
            uint32_t pred = g->preds[g->pred_start[b] + edge[b]++];
            if (!seen[pred]) {
                seen[pred] = true;
                stack[depth++] = pred;
            }
            continue;
        }
        depth--;
        g->order[--last] = b;
        g->number[b] = last;
    }
    free(stack);
    free(edge);
    free(seen);
    return ok || ptx_fail_memory(g->p);
}

static uint32_t common(const struct graph *g, uint32_t a, uint32_t b)
{
    while (a != b) {
        while (g->number[a] > g->number[b])
            a = g->dominator[a];
        while (g->number[b] > g->number[a])
            b = g->dominator[b];
    }
    return a;
}

static uint32_t meet(const struct graph *g, uint32_t block, uint32_t *list)
{
    uint32_t n = successors(g, block, list);
    uint32_t out = NONE;

    for (uint32_t k = 0; k < n; k++) {
        if (g->number[list[k]] == NONE || g->dominator[list[k]] == NONE)
            continue;
        out = out == NONE ? list[k] : common(g, out, list[k]);
    }
    return out;
}

static bool find_dominators(struct graph *g)
{
    uint32_t end = g->block_count - 1;
    uint32_t *list = malloc((g->count + 2) * sizeof(uint32_t));
    bool changed = true;

    if (!list)
        return ptx_fail_memory(g->p);
    memset(g->dominator, 0xff, g->block_count * sizeof(uint32_t));
    g->dominator[end] = end;
    while (changed) {
        changed = false;
        for (uint32_t k = g->number[end] + 1; k < g->block_count; k++) {
            uint32_t b = g->order[k];
            uint32_t d = meet(g, b, list);
            changed |= d != g->dominator[b];
            g->dominator[b] = d;
        }
    }
    /* Blocks from which the end cannot be reached meet there all the same. */
    for (uint32_t b = 0; b < g->block_count; b++)
        if (g->dominator[b] == NONE)
            g->dominator[b] = end;
    free(list);
    return true;
}

static uint32_t meeting_of(const struct graph *g, uint32_t insn)
{
    const struct ptx_insn *i = &g->insns[insn];
    uint32_t b = g->block_of[insn];

    if (i->fn == ptx_run_call)
        return b + 1;
    return g->dominator[b];
}

static bool may_diverge(const struct ptx_insn *i)
{
    return ends_block(i) && i->fn != ptx_run_exit && i->fn != ptx_run_trap &&
           (i->fn != ptx_run_branch || i->guard != PTX_OP_NONE);
}

static void redirect(const struct graph *g, struct ptx_insn *i, uint32_t old, const uint32_t *moved)
{
    uint32_t *targets = i->fn == ptx_run_branch_table ? i->extra : NULL;
    uint32_t rejoin = may_diverge(i) ? moved[g->start[meeting_of(g, old)]] : 0;

    if (i->fn == ptx_run_branch) {
        i->imm = moved[i->imm];
        i->rejoin = rejoin;
    } else if (may_diverge(i)) {
        i->imm = rejoin;
    }
    for (uint32_t k = 0; targets && k < targets[0]; k++)
        targets[1 + k] = moved[targets[1 + k]];
}

/* The final array, with joins where paths meet. */
static bool place_joins(struct graph *g)
{
    struct ptx_code *code = g->p->code;
    uint32_t *moved = malloc(g->count * sizeof(uint32_t));
    uint32_t joins = 0;
    uint32_t at = 0;

    for (uint32_t k = 0; k < g->count; k++)
        if (may_diverge(&g->insns[k]))
            g->is_meeting[meeting_of(g, k)] = true;
    g->is_meeting[g->block_count - 1] = false; /* the end joins by itself */
    for (uint32_t b = 0; b < g->block_count; b++)
        joins += g->is_meeting[b];
    code->insns = malloc((g->count + joins) * sizeof(*code->insns));
    if (!moved || !code->insns) {
        free(moved);
        return ptx_fail_memory(g->p);
    }
    for (uint32_t k = 0; k < g->count; k++) {
        bool joined = g->start[g->block_of[k]] == k && g->is_meeting[g->block_of[k]];
        moved[k] = at;
        if (joined)
            code->insns[at++] = (struct ptx_insn){
                .fn = ptx_run_join, .guard = PTX_OP_NONE, .line = g->insns[k].line};
        code->insns[at++] = g->insns[k];
    }
    code->insn_count = at;
    for (uint32_t k = 0; k < g->count; k++) {
        bool joined = g->start[g->block_of[k]] == k && g->is_meeting[g->block_of[k]];
        redirect(g, &code->insns[moved[k] + joined], k, moved);
    }
    free(moved);
    return true;
}

static bool keep_lists(struct ptx_parser *p)
{
    struct ptx_array *from[] = {&p->used_vars, &p->used_codes};
    uint32_t **to[] = {&p->code->used_vars, &p->code->used_codes};

    for (unsigned k = 0; k < 2; k++) {
        *to[k] = ptx_module_alloc(p->module, from[k]->count * sizeof(uint32_t));
        if (!*to[k])
            return ptx_fail_memory(p);
        if (from[k]->count)
            memcpy(*to[k], from[k]->items, from[k]->count * sizeof(uint32_t));
    }
    p->code->used_var_count = (uint32_t)p->used_vars.count;
    p->code->used_code_count = (uint32_t)p->used_codes.count;
    return true;
}

bool ptx_finish_code(struct ptx_parser *p)
{
    struct ptx_insn *end = ptx_array_add(&p->insns, sizeof(*end));
    struct graph g = {.p = p, .insns = p->insns.items, .count = (uint32_t)p->insns.count};
    bool ok;

    if (!end)
        return ptx_fail_memory(p);
    *end = (struct ptx_insn){.fn = ptx_run_end, .guard = PTX_OP_NONE, .line = p->lexer.token.line};
    g.block_of = calloc(g.count, sizeof(uint32_t));
    g.start = calloc(g.count + 1, sizeof(uint32_t));
    g.order = calloc(g.count, sizeof(uint32_t));
    g.number = malloc(g.count * sizeof(uint32_t));
    g.dominator = calloc(g.count, sizeof(uint32_t));
    g.is_meeting = calloc(g.count, sizeof(bool));
    ok = g.block_of && g.start && g.order && g.number && g.dominator && g.is_meeting;
    if (!ok)
        ptx_fail_memory(p);
    else
        memset(g.number, 0xff, g.count * sizeof(uint32_t));
    ok = ok && resolve_labels(&g);
    if (ok)
        find_blocks(&g);
    ok = ok && find_predecessors(&g) && number_blocks(&g) && find_dominators(&g) &&
         place_joins(&g) && keep_lists(p);
    free(g.block_of);
    free(g.start);
    free(g.order);
    free(g.number);
    free(g.dominator);
    free(g.is_meeting);
    free(g.pred_start);
    free(g.preds);
    return ok;
}
