/* SPDX-License-Identifier: Apache-2.0
 *
 * Addresses to host memory, loads and stores.
 */
#include "emu/ptx/exec/exec.h"
#include "emu/ptx/exec/heap.h"
#include "emu/ptx/handlers/memory.h"
#include "emu/ptx/parse/module.h"

#include <string.h>

#include "base/random.h"

static bool is_accessible(struct ptx_run *run, uint64_t address, uint64_t size, bool write)
{
    const struct ptx_launch *launch = run->launch;
    uint64_t start = address;
    uint64_t length = size;

    if (address + size < address)
        return false;
    if (!launch->is_accessible || ptx_extent_find(run, write, address, address + size))
        return true;
    if (!launch->is_accessible(launch->user, address, size, write, &start, &length) &&
        !ptx_heap_holds(address, size, &start, &length))
        return false;
    if (start <= address && start + length >= address + size) {
        uint32_t at = run->extent_next[write]++ % PTX_EXTENT_COUNT;
        run->extents[write][at] = (struct ptx_extent){start, start + length};
    }
    return true;
}

static enum ptx_space generic_space(uint64_t *address)
{
    static const uint8_t spaces[] = {PTX_SPACE_GLOBAL, PTX_SPACE_CLUSTER, PTX_SPACE_LOCAL,
                                     PTX_SPACE_PARAM};
    uint64_t window = *address >> 60;

    if (window == 0 || window > 3)
        return PTX_SPACE_GLOBAL;
    *address &= (1ull << 60) - 1;
    return spaces[window];
}

/* Host memory of an address, without looking at alignment; NULL when there is none. */
static uint8_t *locate(struct ptx_warp *w, unsigned lane, enum ptx_space space, uint64_t address,
                       unsigned size, bool write)
{
    struct ptx_run *run = w->run;
    uint64_t window = address;

    if (space == PTX_SPACE_GENERIC)
        space = generic_space(&address);
    switch (space) {
    case PTX_SPACE_SHARED:
        if (ptx_cluster_rank(w->block, address) != w->block->rank)
            return NULL;
        return ptx_cluster_locate(w->block, address, size);
    case PTX_SPACE_CLUSTER:
        return ptx_cluster_locate(w->block, address, size);
    case PTX_SPACE_FRAME:
        address += w->frame->local_base;
        goto local;
    case PTX_SPACE_LOCAL:
        if (window >> 60 == PTX_LOCAL_WINDOW >> 60)
            address = window - PTX_LOCAL_WINDOW;
    local:
        return address <= run->local_stride && size <= run->local_stride - address
                   ? w->local + lane * run->local_stride + address
                   : NULL;
    case PTX_SPACE_PARAM:
        if (window >> 60 == PTX_PARAM_WINDOW >> 60)
            address = window - PTX_PARAM_WINDOW;
        if (write || address > run->code->info.params_size ||
            size > run->code->info.params_size - address)
            return NULL;
        return (uint8_t *)(uintptr_t)run->launch->params + address;
    default:
        return is_accessible(run, address, size, write) ? (uint8_t *)(uintptr_t)address : NULL;
    }
}

uint8_t *ptx_locate(struct ptx_warp *w, unsigned lane, uint64_t address, unsigned size, bool write)
{
    uint8_t *p = locate(w, lane, PTX_SPACE_GENERIC, address, size, write);

    if (p && w->run->observer)
        w->run->observer->bulk(w, p, size, write);
    return p;
}

bool ptx_is_there(struct ptx_warp *w, unsigned lane, uint64_t address, unsigned size)
{
    return locate(w, lane, PTX_SPACE_GENERIC, address, size, false) != NULL;
}

enum ptx_access ptx_access_of(const struct ptx_insn *i, bool write)
{
    return i->flags & PTX_F_ATOMIC ? PTX_ACCESS_ATOMIC : write ? PTX_ACCESS_STORE : PTX_ACCESS_LOAD;
}

static const char *space_name(enum ptx_space space, uint64_t address)
{
    static const char *const names[PTX_SPACE_COUNT] = {
        [PTX_SPACE_GLOBAL] = "global", [PTX_SPACE_SHARED] = "shared", [PTX_SPACE_LOCAL] = "local",
        [PTX_SPACE_PARAM] = "param",   [PTX_SPACE_FRAME] = "local",
    };

    if (space == PTX_SPACE_CLUSTER)
        return address >> PTX_RANK_SHIFT ? "shared::cluster" : "shared";
    return names[space];
}

static uint8_t *resolve(struct ptx_warp *w, const struct ptx_insn *i, unsigned lane,
                        enum ptx_space space, uint64_t address, unsigned size, bool write)
{
    uint8_t *p = locate(w, lane, space, address, size, write);
    bool misaligned = (address & (size - 1)) != 0;

    if (p && !misaligned)
        return p;
    bool first = !w->run->faulted;
    ptx_stop_fault(w, i, lane, p ? PTX_FAULT_MISALIGNED : PTX_FAULT_ADDRESS, address, size);
    if (first) {
        struct ptx_fault *f = w->run->fault;
        f->access = ptx_access_of(i, write);
        if (space == PTX_SPACE_GENERIC)
            space = generic_space(&address);
        f->space = space_name(space, address);
    }
    return NULL;
}

uint8_t *ptx_resolve(struct ptx_warp *w, const struct ptx_insn *i, unsigned lane,
                     enum ptx_space space, uint64_t address, unsigned size, bool write)
{
    uint8_t *p = resolve(w, i, lane, space, address, size, write);
    uint8_t *lanes[PTX_LANES];

    if (p && w->run->observer) {
        lanes[lane] = p;
        w->run->observer->access(w, i, 1u << lane, size, write, lanes);
    }
    return p;
}

void ptx_address_lanes(const struct ptx_warp *w, const struct ptx_insn *i, uint64_t *out)
{
    uint64_t imm = (uint64_t)i->imm;

    if (i->src[0] == PTX_OP_NONE) {
        for (unsigned l = 0; l < PTX_LANES; l++)
            out[l] = imm;
    } else if (i->type2 == PTX_U32) {
        const uint32_t *a = ptx_lanes(w, i->src[0]);
        for (unsigned l = 0; l < PTX_LANES; l++)
            out[l] = (uint32_t)(a[l] + (uint32_t)imm);
    } else {
        const uint64_t *a = ptx_lanes(w, i->src[0]);
        for (unsigned l = 0; l < PTX_LANES; l++)
            out[l] = a[l] + imm;
    }
}

/* Everything lies in one extent: no lane needs to be looked at by itself. */
static bool all_global(struct ptx_warp *w, const uint64_t *address, unsigned size, bool write,
                       uint8_t **out)
{
    uint64_t low = ~0ull;
    uint64_t high = 0;
    uint64_t bits = 0;

    for (uint32_t left = w->mask; left; left &= left - 1) {
        uint64_t a = address[__builtin_ctz(left)];
        low = a < low ? a : low;
        high = a > high ? a : high;
        bits |= a;
    }
    if (bits & (size - 1) || high >> 60 || high + size < high)
        return false;
    if (w->run->launch->is_accessible && !ptx_extent_find(w->run, write, low, high + size))
        return false;
    for (unsigned l = 0; l < PTX_LANES; l++)
        out[l] = (uint8_t *)(uintptr_t)address[l];
    return true;
}

/* The whole warp at once: no address is larger than all their bits together. */
static bool surely_shared(struct ptx_warp *w, const uint64_t *address, unsigned size, uint8_t **out)
{
    uint64_t bits = 0;

    for (unsigned l = 0; l < PTX_LANES; l++)
        bits |= address[l];
    if (w->mask != 0xffffffffu || w->run->shared_size < size || bits > w->run->shared_size - size ||
        bits & (size - 1))
        return false;
    for (unsigned l = 0; l < PTX_LANES; l++)
        out[l] = w->block->shared + address[l];
    return true;
}

static bool all_shared(struct ptx_warp *w, const uint64_t *address, unsigned size, uint8_t **out)
{
    uint64_t limit = w->run->shared_size >= size ? w->run->shared_size - size : 0;
    bool outside = w->run->shared_size < size;
    uint64_t bits = 0;

    if (surely_shared(w, address, size, out))
        return true;
    for (uint32_t left = w->mask; left; left &= left - 1) {
        uint64_t a = address[__builtin_ctz(left)];
        outside |= a > limit;
        bits |= a;
    }
    if (outside || bits & (size - 1))
        return false;
    for (unsigned l = 0; l < PTX_LANES; l++)
        out[l] = w->block->shared + address[l];
    return true;
}

/* Local memory, and all lanes inside their own. */
static bool all_local(struct ptx_warp *w, const struct ptx_insn *i, const uint64_t *address,
                      unsigned size, uint8_t **out)
{
    uint64_t stride = w->run->local_stride;
    uint64_t base = i->space == PTX_SPACE_FRAME ? w->frame->local_base : 0;

    for (uint32_t left = w->mask; left; left &= left - 1) {
        unsigned l = (unsigned)__builtin_ctz(left);
        if (address[l] >= stride || address[l] & (size - 1) || base + address[l] + size > stride)
            return false;
        out[l] = w->local + l * stride + base + address[l];
    }
    return true;
}

static bool addresses(struct ptx_warp *w, const struct ptx_insn *i, unsigned size, bool write,
                      uint8_t **out)
{
    uint64_t address[PTX_LANES];

    ptx_address_lanes(w, i, address);
    if (i->space <= PTX_SPACE_GLOBAL && all_global(w, address, size, write, out))
        return true;
    if (i->space == PTX_SPACE_SHARED && all_shared(w, address, size, out))
        return true;
    if ((i->space == PTX_SPACE_FRAME || i->space == PTX_SPACE_LOCAL) &&
        all_local(w, i, address, size, out))
        return true;
    for (uint32_t left = w->mask; left; left &= left - 1) {
        unsigned l = (unsigned)__builtin_ctz(left);
        out[l] = resolve(w, i, l, i->space, address[l], size, write);
        if (!out[l])
            return false;
    }
    return true;
}

bool ptx_addresses(struct ptx_warp *w, const struct ptx_insn *i, unsigned size, bool write,
                   uint8_t **out)
{
    if (!addresses(w, i, size, write, out))
        return false;
    if (w->run->observer)
        w->run->observer->access(w, i, w->mask, size, write, out);
    return true;
}

/* One element of every lane: from memory type M to register type R, signs extended by M's type. */
#define MOVE_IN(M, R)                                                                              \
    {                                                                                              \
        R *d = ptx_lanes(w, op);                                                                   \
        for (uint32_t left = w->mask; left; left &= left - 1) {                                    \
            unsigned l = (unsigned)__builtin_ctz(left);                                            \
            d[l] = (R)(*(const M *)(const void *)(p[l] + offset));                                 \
        }                                                                                          \
        break;                                                                                     \
    }
#define MOVE_OUT(M, R)                                                                             \
    {                                                                                              \
        const R *d = ptx_lanes(w, op);                                                             \
        for (uint32_t left = w->mask; left; left &= left - 1) {                                    \
            unsigned l = (unsigned)__builtin_ctz(left);                                            \
            *(M *)(void *)(p[l] + offset) = (M)d[l];                                               \
        }                                                                                          \
        break;                                                                                     \
    }
#define BY_REGISTER(MOVE, M)                                                                       \
    if (reg == 2)                                                                                  \
        MOVE(M, uint16_t)                                                                          \
    else if (reg == 4)                                                                             \
        MOVE(M, uint32_t)                                                                          \
    else                                                                                           \
        MOVE(M, uint64_t)

__extension__ typedef unsigned __int128 uint128;

static void load_element(struct ptx_warp *w, ptx_op op, ptx_type type, unsigned reg, uint8_t **p,
                         unsigned offset)
{
    switch (type) {
    case PTX_S8:
        BY_REGISTER(MOVE_IN, int8_t)
    case PTX_S16:
        BY_REGISTER(MOVE_IN, int16_t)
    case PTX_S32:
        BY_REGISTER(MOVE_IN, int32_t)
    case PTX_B128:
        MOVE_IN(uint128, uint128)
    default:
        switch (ptx_type_size(type)) {
        case 1:
            BY_REGISTER(MOVE_IN, uint8_t)
        case 2:
            BY_REGISTER(MOVE_IN, uint16_t)
        case 4:
            BY_REGISTER(MOVE_IN, uint32_t)
        default:
            MOVE_IN(uint64_t, uint64_t)
        }
    }
}

static void store_element(struct ptx_warp *w, ptx_op op, ptx_type type, unsigned reg, uint8_t **p,
                          unsigned offset)
{
    switch (ptx_type_size(type)) {
    case 1:
        BY_REGISTER(MOVE_OUT, uint8_t)
    case 2:
        BY_REGISTER(MOVE_OUT, uint16_t)
    case 4:
        BY_REGISTER(MOVE_OUT, uint32_t)
    case 8:
        MOVE_OUT(uint64_t, uint64_t)
    default:
        MOVE_OUT(uint128, uint128)
    }
}

/* Registers of ld and st: their operands in i->extra when there are several. The register's size
 * is in the mode bits. */
static ptx_op element_op(const struct ptx_insn *i, ptx_op single, unsigned k)
{
    return i->count > 1 ? ((const ptx_op *)i->extra)[k] : single;
}

void ptx_run_load(struct ptx_warp *w, const struct ptx_insn *i)
{
    uint8_t *p[PTX_LANES];
    unsigned size = ptx_type_size(i->type);

    w->polls += (i->flags & PTX_F_POLL) != 0;
    if (!ptx_addresses(w, i, size * i->count, false, p))
        return;
    for (unsigned k = 0; k < i->count; k++) {
        ptx_op op = element_op(i, i->dst, k);
        if (op != PTX_OP_NONE)
            load_element(w, op, i->type, i->flags >> PTX_F_MODE_SHIFT & 0xff, p, k * size);
    }
}

/* Lanes whose store is not lost. The same ones in every schedule. */
static uint32_t kept_lanes(const struct ptx_warp *w, uint8_t *const p[PTX_LANES])
{
    const struct ptx_launch *launch = w->run->launch;
    uint32_t kept = 0;

    for (uint32_t left = w->mask; left; left &= left - 1) {
        unsigned l = (unsigned)__builtin_ctz(left);
        uint64_t state =
            launch->drop_seed * 0x9e3779b97f4a7c15 ^ launch->seed << 40 ^ (uint64_t)(uintptr_t)p[l];
        if ((uint32_t)(tsm_random(&state) >> 32) >= launch->drop)
            kept |= 1u << l;
    }
    return kept;
}

void ptx_run_store(struct ptx_warp *w, const struct ptx_insn *i)
{
    uint8_t *p[PTX_LANES];
    unsigned size = ptx_type_size(i->type);
    uint32_t mask = w->mask;

    if (!ptx_addresses(w, i, size * i->count, true, p))
        return;
    if (w->run->launch->drop)
        w->mask = kept_lanes(w, p);
    for (unsigned k = 0; k < i->count; k++)
        store_element(w, element_op(i, i->dst, k), i->type, i->flags >> PTX_F_MODE_SHIFT & 0xff, p,
                      k * size);
    w->mask = mask;
    w->changes++;
}

/* Kernel parameters at a constant offset are the same for every lane. */
void ptx_run_load_param(struct ptx_warp *w, const struct ptx_insn *i)
{
    uint8_t *p[PTX_LANES];
    unsigned size = ptx_type_size(i->type);
    uint8_t *at = (uint8_t *)(uintptr_t)w->run->launch->params + i->imm;

    for (unsigned l = 0; l < PTX_LANES; l++)
        p[l] = at;
    for (unsigned k = 0; k < i->count; k++) {
        ptx_op op = element_op(i, i->dst, k);
        if (op != PTX_OP_NONE)
            load_element(w, op, i->type, i->flags >> PTX_F_MODE_SHIFT & 0xff, p, k * size);
    }
}

/* The address of a variable of the running function's local frame. */
void ptx_run_local_address(struct ptx_warp *w, const struct ptx_insn *i)
{
    uint64_t address = w->frame->local_base + (uint64_t)i->imm;
    uint32_t *d32 = ptx_lanes(w, i->dst);
    uint64_t *d64 = ptx_lanes(w, i->dst);

    if (ptx_type_size(i->type) == 4)
        PTX_EACH(w, d32[l] = (uint32_t)address);
    else
        PTX_EACH(w, d64[l] = address);
}

/* cvta: between a space's addresses and generic ones, by adding or taking off the window. imm: the
 * window, 0 for global. to: from generic. */
void ptx_run_cvta(struct ptx_warp *w, const struct ptx_insn *i)
{
    uint64_t *d = ptx_lanes(w, i->dst);
    const uint64_t *a = ptx_lanes(w, i->src[0]);
    uint64_t window = (uint64_t)i->imm;

    if (PTX_MODE(i))
        PTX_EACH(w, d[l] = a[l] >> 60 == window >> 60 ? a[l] - window : a[l]);
    else
        PTX_EACH(w, d[l] = a[l] >> 60 ? a[l] : a[l] + window);
}

void ptx_run_isspacep(struct ptx_warp *w, const struct ptx_insn *i)
{
    const uint64_t *a = ptx_lanes(w, i->src[0]);
    uint64_t window = (uint64_t)i->imm >> 60;
    uint32_t bits = 0;

    for (unsigned l = 0; l < PTX_LANES; l++)
        bits |= (uint32_t)(a[l] >> 60 == window) << l;
    ptx_set_pred(w, i->dst, bits);
}

/* PTX_MODE: enum ptx_variable_kind. */
void ptx_run_istypep(struct ptx_warp *w, const struct ptx_insn *i)
{
    const struct ptx_module *m = w->run->launch->module;
    const uint64_t *a = ptx_lanes(w, i->src[0]);
    uint32_t bits = 0;

    for (size_t k = 0; k < m->vars.count; k++) {
        const struct ptx_variable *v = &ptx_var_at(m, k)->info;
        for (unsigned l = 0; l < PTX_LANES; l++)
            if (v->kind == (enum ptx_variable_kind)PTX_MODE(i) && v->address == a[l])
                bits |= 1u << l;
    }
    ptx_set_pred(w, i->dst, bits);
}

/* A 32-bit address of constant memory to the whole one: the variables of a module lie together, in
 * less than 4 GiB. */
void ptx_run_const_address(struct ptx_warp *w, const struct ptx_insn *i)
{
    const uint32_t *a = ptx_lanes(w, i->src[0]);
    uint64_t *d = ptx_lanes(w, i->dst);
    uint64_t base = w->run->launch->module->base;

    PTX_EACH(w, d[l] = base + (uint32_t)(a[l] - (uint32_t)base));
}
