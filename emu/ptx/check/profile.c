/* SPDX-License-Identifier: Apache-2.0
 *
 * Profiles a launch: instructions executed, counted for each one and sampled by number.
 */
#include "emu/ptx/check/watching.h"

#include <stdlib.h>

struct ptx_profile_function {
    const struct ptx_code *code;
    struct ptx_profile_function *next;
    struct ptx_count counts[]; /* an instruction of the engine each */
};

/* NULL when memory is short: then this function is missing from the profile. */
static struct ptx_profile_function *function_of(struct ptx_watching *x, const struct ptx_code *code)
{
    struct ptx_profile_function *f = x->latest;

    if (f && f->code == code)
        return f;
    for (f = x->functions; f && f->code != code; f = f->next)
        ;
    if (!f) {
        f = calloc(1, sizeof(*f) + code->insn_count * sizeof(f->counts[0]));
        if (!f)
            return NULL;
        f->code = code;
        f->next = x->functions;
        x->functions = f;
    }
    x->latest = f;
    return f;
}

static void take_sample(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask)
{
    const struct ptx_watch *watch = w->run->watching->watch;
    const uint32_t *grid = w->run->launch->grid;
    const uint32_t *id = w->block->id;
    struct ptx_place place;
    struct ptx_sample s = {.warp = w->index, .lanes = (uint32_t)__builtin_popcount(mask)};

    ptx_place_fill(&place, w, i, w->frame, 0);
    s.block = id[0] + (uint64_t)grid[0] * (id[1] + (uint64_t)grid[1] * id[2]);
    s.depth = place.depth;
    for (uint32_t k = 0; k < place.depth; k++)
        s.stack[k] = place.stack[k];
    watch->sample(watch->user, &s);
}

void ptx_profile_threads(struct ptx_run *run, const struct ptx_code *code, const struct ptx_insn *i,
                         uint32_t threads, uint32_t lanes)
{
    struct ptx_profile_function *f = function_of(run->watching, code);

    if (!f || !(i->flags & PTX_F_LAST))
        return;
    f->counts[i - code->insns].threads += (unsigned)__builtin_popcount(threads);
    f->counts[i - code->insns].lanes += (unsigned)__builtin_popcount(lanes);
}

void ptx_profile_step(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask, bool has_lanes)
{
    struct ptx_watching *x = w->run->watching;
    struct ptx_profile_function *f;

    if (!(i->flags & PTX_F_LAST))
        return;
    x->clock++;
    f = function_of(x, w->frame->code);
    if (f)
        f->counts[i - f->code->insns].warps++;
    if (has_lanes)
        ptx_profile_threads(w->run, w->frame->code, i, mask, w->active);
    if (--*x->watch->sample_left == 0) {
        *x->watch->sample_left = x->watch->sample_every;
        take_sample(w, i, mask);
    }
}

void ptx_profile_wait(struct ptx_run *run, const struct ptx_code *code, const struct ptx_insn *i,
                      uint64_t steps)
{
    struct ptx_profile_function *f = function_of(run->watching, code);

    if (!f || !steps) /* the last to come does not wait */
        return;
    f->counts[i - code->insns].waits++;
    f->counts[i - code->insns].wait_steps += steps;
}

void ptx_profile_end(struct ptx_run *run)
{
    struct ptx_watching *x = run->watching;
    const struct ptx_watch *watch = x->watch;

    while (x->functions) {
        struct ptx_profile_function *f = x->functions;
        for (uint32_t k = 0; k < f->code->insn_count; k++)
            if (f->counts[k].warps)
                watch->count(watch->user, &f->code->info, f->code->insns[k].line, &f->counts[k]);
        x->functions = f->next;
        free(f);
    }
}
