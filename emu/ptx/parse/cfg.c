/* SPDX-License-Identifier: Apache-2.0
 *
 * The last step of a function: labels become indices, and every branch learns where its paths meet
 * again, its immediate post-dominator: its dominator in the graph turned round. A join instruction
 * is put at every such place.
 */
#include "emu/ptx/handlers/memory.h"
#include "emu/ptx/parse/dominator.h"
#include "emu/ptx/parse/parse.h"

#include <stdlib.h>
#include <string.h>

struct graph {
    struct ptx_parser *p;
    struct ptx_insn *insns;
    uint32_t count;     /* of instructions; the last is the function's end */
    uint32_t *block_of; /* an instruction's block */
    uint32_t *start;    /* a block's first instruction; one more at the end */
    uint32_t block_count;
    uint32_t *next_start; /* successors and predecessors of blocks: struct ptx_edges */
    uint32_t *nexts;
    uint32_t *pred_start;
    uint32_t *preds;
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

static bool find_edges(struct graph *g)
{
    uint32_t total = 0;

    g->next_start = calloc(g->block_count + 1, sizeof(uint32_t));
    g->pred_start = calloc(g->block_count + 2, sizeof(uint32_t));
    if (!g->next_start || !g->pred_start)
        return ptx_fail_memory(g->p);
    for (uint32_t b = 0; b < g->block_count; b++) {
        total += successors(g, b, NULL);
        g->next_start[b + 1] = total;
    }
    g->nexts = calloc(total + 1, sizeof(uint32_t));
    g->preds = calloc(total + 1, sizeof(uint32_t));
    if (!g->nexts || !g->preds)
        return ptx_fail_memory(g->p);
    for (uint32_t b = 0; b < g->block_count; b++)
        successors(g, b, g->nexts + g->next_start[b]);
    for (uint32_t k = 0; k < total; k++)
        g->pred_start[g->nexts[k] + 2]++;
    for (uint32_t b = 2; b <= g->block_count + 1; b++)
        g->pred_start[b] += g->pred_start[b - 1];
    for (uint32_t b = 0; b < g->block_count; b++)
        for (uint32_t k = g->next_start[b]; k < g->next_start[b + 1]; k++)
            g->preds[g->pred_start[g->nexts[k] + 1]++] = b;
    return true;
}

static bool find_dominators(struct graph *g)
{
    struct ptx_edges next = {g->next_start, g->nexts};
    struct ptx_edges pred = {g->pred_start, g->preds};
    uint32_t end = g->block_count - 1;

    if (!ptx_dominators(g->dominator, g->block_count, end, pred, next))
        return ptx_fail_memory(g->p);
    /* Blocks from which the end cannot be reached meet there all the same. */
    for (uint32_t b = 0; b < g->block_count; b++)
        if (g->dominator[b] == PTX_NO_NODE)
            g->dominator[b] = end;
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
    g.dominator = calloc(g.count, sizeof(uint32_t));
    g.is_meeting = calloc(g.count, sizeof(bool));
    ok = g.block_of && g.start && g.dominator && g.is_meeting;
    if (!ok)
        ptx_fail_memory(p);
    ok = ok && resolve_labels(&g) && ptx_live_count(p, &p->code->info.register_count);
    if (ok)
        find_blocks(&g);
    ok = ok && find_edges(&g) && find_dominators(&g) && place_joins(&g) && keep_lists(p);
    free(g.block_of);
    free(g.start);
    free(g.next_start);
    free(g.nexts);
    free(g.dominator);
    free(g.is_meeting);
    free(g.pred_start);
    free(g.preds);
    return ok;
}
