/* SPDX-License-Identifier: Apache-2.0
 *
 * Describes the instruction that ends a launch.
 */
#include "emu/ptx/exec/exec.h"
#include "base/text.h"

static const char *const kinds[] = {
    [PTX_FAULT_NONE] = "none",
    [PTX_FAULT_ADDRESS] = "access outside any allocation",
    [PTX_FAULT_MISALIGNED] = "misaligned access",
    [PTX_FAULT_TRAP] = "trap",
    [PTX_FAULT_ASSERT] = "device-side assert",
    [PTX_FAULT_HANG] = "hang: every warp waits and none can go on",
    [PTX_FAULT_STOPPED] = "stopped",
    [PTX_FAULT_NO_MEMORY] = "out of memory",
    [PTX_FAULT_TIMEOUT] = "the launch ran out of time",
    [PTX_FAULT_STACK] = "stack overflow: calls nest too deep",
    [PTX_FAULT_PC] = "call through a pointer to no function",
    [PTX_FAULT_TENSOR_MEMORY] = "tensor memory that is not allocated, or not this warp's",
    [PTX_FAULT_DESCRIPTOR] = "a descriptor, or a number of columns, that the instruction does not take",
    [PTX_FAULT_TENSOR_MAP] = "no tensor map, or not one for this copy, lies here",
    [PTX_FAULT_HANDLE] = "no texture, surface or condition has this handle",
};

void ptx_place_fill(struct ptx_place *place, const struct ptx_warp *w, const struct ptx_insn *i,
                    const struct ptx_frame *frame, unsigned lane)
{
    const uint32_t *dim = w->run->launch->block;
    uint32_t thread = w->index * PTX_LANES + lane;
    uint32_t line = i ? i->line : 0;

    place->thread[0] = thread % dim[0];
    place->thread[1] = thread / dim[0] % dim[1];
    place->thread[2] = thread / dim[0] / dim[1];
    for (unsigned k = 0; k < 3; k++)
        place->block[k] = w->block->id[k];
    place->depth = 0;
    for (; frame && place->depth < PTX_DEPTH_MAX; frame = frame->parent) {
        place->stack[place->depth++] =
            (struct ptx_level){.function = frame->code->info.name, .line = line};
        line = frame->call ? frame->call->line : 0;
    }
}

static void stand(struct ptx_fault *f, uint32_t line, const char *why, uint32_t threads)
{
    struct ptx_standing *s = f->standing;
    struct ptx_standing *end = s + f->standing_count;

    while (s < end && (s->line != line || s->why != why))
        s++;
    if (s == end && f->standing_count == PTX_STANDING_MAX)
        return;
    if (s == end)
        f->standing[f->standing_count++] = (struct ptx_standing){.line = line, .why = why};
    s->threads += threads;
}

static const struct ptx_insn *group_insn(const struct ptx_group *g)
{
    /* A group that waits at a barrier has its program counter after it. */
    return g->state == PTX_GROUP_BARRIER ? g->pc - 1 : g->pc;
}

static void stand_warp(struct ptx_fault *f, const struct ptx_warp *w)
{
    static const char *const whys[] = {
        [PTX_GROUP_READY] = "run",
        [PTX_GROUP_BARRIER] = "wait at a barrier",
        [PTX_GROUP_SYNC] = "wait for other lanes of their warp",
    };

    for (unsigned n = 0; n < PTX_LANES; n++) {
        const struct ptx_group *g = &w->groups[n];
        if (g->state != PTX_GROUP_FREE && g->mask & w->alive)
            stand(f, group_insn(g)->line, whys[g->state],
                  (uint32_t)__builtin_popcount(g->mask & w->alive));
    }
    for (unsigned n = 0; n < PTX_JOIN_COUNT; n++)
        if (w->joins[n].arrived & w->alive)
            stand(f, w->joins[n].pc->line, "wait to rejoin lanes that took another branch",
                  (uint32_t)__builtin_popcount(w->joins[n].arrived & w->alive));
}

void ptx_stop_fault(struct ptx_warp *w, const struct ptx_insn *i, unsigned lane,
                    enum ptx_fault_kind kind, uint64_t address, uint32_t size)
{
    struct ptx_fault *f = w->run->fault;

    w->stop = PTX_STOP_FAULT;
    if (w->run->faulted)
        return;
    w->run->faulted = true;
    *f =
        (struct ptx_fault){.kind = kind, .address = address, .size = size, .line = i ? i->line : 0};
    ptx_place_fill(&f->place, w, i, w->frame, lane);
    for (unsigned k = 0; k < 3; k++) {
        f->thread[k] = f->place.thread[k];
        f->block[k] = f->place.block[k];
    }
    tsm_format(f->text, sizeof(f->text),
               "%s: kernel %s, block (%u,%u,%u), thread (%u,%u,%u), PTX line %u, "
               "address 0x%llx, %u bytes",
               kinds[kind], w->run->code->info.name, f->block[0], f->block[1], f->block[2],
               f->thread[0], f->thread[1], f->thread[2], f->line, (unsigned long long)address,
               size);
}

void ptx_stop_standing(struct ptx_block *block, enum ptx_fault_kind kind)
{
    struct ptx_run *run = block->warps[0]->run;

    for (uint32_t k = 0; k < block->warp_count; k++) {
        struct ptx_warp *w = block->warps[k];
        for (unsigned n = 0; n < PTX_LANES && !run->faulted; n++) {
            const struct ptx_group *g = &w->groups[n];
            if (g->state == PTX_GROUP_FREE || !(g->mask & w->alive))
                continue;
            w->frame = g->frame; /* the warp does not run again */
            ptx_stop_fault(w, group_insn(g), (unsigned)__builtin_ctz(g->mask & w->alive), kind, 0,
                           0);
        }
    }
    if (!run->faulted) { /* cannot be: a lane that lives is in a group */
        run->faulted = true;
        *run->fault = (struct ptx_fault){.kind = kind};
    }
    for (uint32_t k = 0; k < block->warp_count; k++)
        stand_warp(run->fault, block->warps[k]);
}
