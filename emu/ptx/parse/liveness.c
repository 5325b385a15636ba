/* SPDX-License-Identifier: Apache-2.0
 *
 * How many registers a function needs: as many 32-bit ones as are in use at once. A register counts
 * from the first instruction that names it to the last one, and to the end of each loop that it
 * comes into from outside. A compiler for a GPU arrives at a similar figure; PTX declares far more,
 * for most of its registers are written once.
 */
#include "base/array.h"
#include "emu/ptx/handlers/memory.h"
#include "emu/ptx/parse/parse.h"

#include <stdlib.h>
#include <string.h>

#define REGISTERS_MIN 4u         /* of an empty function: callers divide by the count */
#define REGISTERS_MAX 255u       /* a thread has no more */
#define LOOP_WORK_MAX (1u << 24) /* registers times branches back: beyond it loops do not count */

struct ptx_live {
    uint32_t first, last; /* instructions, from 1; first 0: not named yet */
    uint32_t words;       /* of 32 bits */
};

static struct ptx_live *live_at(struct ptx_parser *p, size_t slot)
{
    if (!TSM_ARRAY_RESERVE(p->live, p->live_capacity, slot + 1))
        return NULL;
    if (slot >= p->live_count) {
        memset(p->live + p->live_count, 0, (slot + 1 - p->live_count) * sizeof(*p->live));
        p->live_count = slot + 1;
    }
    return &p->live[slot];
}

void ptx_live_note(struct ptx_parser *p, ptx_op op, ptx_type type)
{
    const uint32_t now = (uint32_t)p->insns.count + 1;
    struct ptx_live *live = type == PTX_PRED ? NULL : live_at(p, op / PTX_OP_UNIT);
    unsigned size = ptx_type_size(type);

    if (!live)
        return;
    if (!live->first)
        *live = (struct ptx_live){now, now, size > 4 ? size / 4 : 1};
    live->last = now;
}

void ptx_live_reset(struct ptx_parser *p)
{
    p->live_count = 0;
}

/* `from`, `to`: the first and the last instruction of a loop, from 1. */
static void extend(struct ptx_parser *p, uint32_t from, uint32_t to)
{
    for (size_t i = 0; i < p->live_count; i++) {
        struct ptx_live *live = &p->live[i];
        if (live->first && live->first < from && live->last >= from && live->last < to)
            live->last = to;
    }
}

static void extend_over_loops(struct ptx_parser *p)
{
    const struct ptx_insn *insns = p->insns.items;
    size_t loops = 0;

    for (size_t k = 0; k < p->insns.count; k++)
        loops += insns[k].fn == ptx_run_branch && insns[k].imm <= (int64_t)k;
    if (loops * p->live_count > LOOP_WORK_MAX)
        return;
    for (size_t k = 0; loops && k < p->insns.count; k++)
        if (insns[k].fn == ptx_run_branch && insns[k].imm <= (int64_t)k)
            extend(p, (uint32_t)insns[k].imm + 1, (uint32_t)k + 1);
}

bool ptx_live_count(struct ptx_parser *p, uint32_t *out)
{
    const size_t room = p->insns.count + 3;
    int64_t *change = calloc(room, sizeof(*change)), now = 0, most = 0;

    if (!change)
        return ptx_fail_memory(p);
    extend_over_loops(p);
    /* The register that an instruction reads last may be the one that it writes first. */
    for (size_t i = 0; i < p->live_count; i++) {
        const struct ptx_live *live = &p->live[i];
        if (!live->first)
            continue;
        change[live->first] += live->words;
        change[live->last > live->first ? live->last : live->first + 1] -= live->words;
    }
    for (size_t i = 0; i < room; i++) {
        now += change[i];
        most = now > most ? now : most;
    }
    free(change);
    *out = most > REGISTERS_MAX   ? REGISTERS_MAX
           : most < REGISTERS_MIN ? REGISTERS_MIN
                                  : (uint32_t)most;
    return true;
}
