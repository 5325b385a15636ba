/* SPDX-License-Identifier: Apache-2.0
 *
 * isspacep.const, and the stack: alloca, stacksave, stackrestore. All lanes of a call share its
 * growing end: what one lane takes, the others skip.
 */
#include "emu/ptx/handlers/memory.h"
#include "emu/ptx/parse/module.h"

static uint64_t end_of(const struct ptx_frame *f)
{
    return (uint64_t)f->local_base + f->code->local_frame + f->taken;
}

static void write_all(struct ptx_warp *w, const struct ptx_insn *i, uint64_t v)
{
    uint32_t *d32 = ptx_lanes(w, i->dst);
    uint64_t *d64 = ptx_lanes(w, i->dst);

    if (i->type == PTX_U32)
        PTX_EACH(w, d32[l] = (uint32_t)v);
    else
        PTX_EACH(w, d64[l] = v);
}

/* src[0]: bytes; imm: alignment; dst: an address in local memory. */
void ptx_run_alloca(struct ptx_warp *w, const struct ptx_insn *i)
{
    const uint32_t *s32 = ptx_lanes(w, i->src[0]);
    const uint64_t *s64 = ptx_lanes(w, i->src[0]);
    struct ptx_frame *f = w->frame;
    uint64_t most = 0;

    for (uint32_t left = w->mask; left; left &= left - 1) {
        unsigned l = (unsigned)__builtin_ctz(left);
        uint64_t size = i->type == PTX_U32 ? s32[l] : s64[l];
        most = size > most ? size : most;
    }
    uint64_t align = (uint64_t)i->imm;
    uint64_t at = (end_of(f) + align - 1) & ~(align - 1);
    if (most > w->run->local_stride || at + most > w->run->local_stride) {
        ptx_stop_fault(w, i, (unsigned)__builtin_ctz(w->mask), PTX_FAULT_ADDRESS,
                       PTX_LOCAL_WINDOW + at, (uint32_t)most);
        return;
    }
    f->taken = (uint32_t)(at + most - f->local_base - f->code->local_frame);
    write_all(w, i, at);
}

void ptx_run_stack_save(struct ptx_warp *w, const struct ptx_insn *i)
{
    write_all(w, i, end_of(w->frame));
}

/* Lanes that went another way may still use what lies above. */
void ptx_run_stack_restore(struct ptx_warp *w, const struct ptx_insn *i)
{
    const void *lanes = ptx_lanes(w, i->src[0]);
    unsigned first = (unsigned)__builtin_ctz(w->mask);
    uint64_t to =
        i->type == PTX_U32 ? ((const uint32_t *)lanes)[first] : ((const uint64_t *)lanes)[first];
    struct ptx_frame *f = w->frame;
    uint64_t least = (uint64_t)f->local_base + f->code->local_frame;

    if (w->mask == f->inside && to >= least && to <= end_of(f))
        f->taken = (uint32_t)(to - least);
}

static bool is_const_address(const struct ptx_module *m, uint64_t address)
{
    for (size_t k = 0; k < m->globals.count; k++) {
        const struct ptx_variable *v = &((struct ptx_var **)m->globals.items)[k]->info;
        if (v->is_const && address - v->address < v->size)
            return true;
    }
    return false;
}

/* Constants have no window: they lie in device memory beside the others. */
void ptx_run_isspacep_const(struct ptx_warp *w, const struct ptx_insn *i)
{
    const uint64_t *a = ptx_lanes(w, i->src[0]);
    uint32_t bits = 0;

    for (uint32_t left = w->mask; left; left &= left - 1) {
        unsigned l = (unsigned)__builtin_ctz(left);
        bits |= (uint32_t)is_const_address(w->run->launch->module, a[l]) << l;
    }
    ptx_set_pred(w, i->dst, bits);
}
