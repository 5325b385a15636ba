/* SPDX-License-Identifier: Apache-2.0
 *
 * Surfaces: suld, sust, sured. A surface is an image whose bytes are read and written as they are.
 */
#include "base/bytes.h"
#include "emu/ptx/handlers/memory.h"
#include "emu/ptx/real.h"
#include "emu/ptx/texture/texture.h"

#include <string.h>

static int32_t coordinate(const struct ptx_warp *w, ptx_op op, unsigned lane)
{
    return op == PTX_OP_NONE ? 0 : ((const int32_t *)ptx_lanes(w, op))[lane];
}

/* `at` inside of [0, last], or moved there; false: outside. */
static bool settle(int64_t *at, int64_t last, enum ptx_outside outside)
{
    if (*at >= 0 && *at <= last)
        return true;
    *at = *at < 0 || last < 0 ? 0 : last;
    return outside == PTX_OUTSIDE_CLAMP && last >= 0;
}

/* Bytes of the access: what a formatted one takes is the surface's texel. */
static unsigned access_size(const struct ptx_image *image, const struct ptx_surface_insn *s)
{
    return s->is_formatted
               ? ptx_element_size((enum ptx_channel)image->channel, image->channel_count)
               : ptx_type_size(s->type) * s->count;
}

/* The host address of what one lane accesses. NULL: outside, or a fault. */
static uint8_t *place_of(struct ptx_warp *w, const struct ptx_insn *i, unsigned lane,
                         const struct ptx_image *image)
{
    const struct ptx_surface_insn *s = i->extra;
    const struct ptx_mip_level *l = &image->levels[0];
    unsigned texel = ptx_element_size((enum ptx_channel)image->channel, image->channel_count);
    unsigned size = access_size(image, s);
    int64_t x = coordinate(w, s->place.coord[0], lane), y = coordinate(w, s->place.coord[1], lane);
    int64_t z = coordinate(w, s->place.coord[2], lane);
    int64_t layer = (uint32_t)coordinate(w, s->place.layer, lane);
    enum ptx_outside outside = (enum ptx_outside)s->outside;

    x *= s->is_formatted ? texel : 1;
    bool inside = settle(&x, (int64_t)l->width * texel - size, outside);
    inside &= settle(&y, l->height - 1, outside);
    inside &= settle(&z, l->depth - 1, outside);
    inside &= settle(&layer, image->layers - 1, outside);
    uint64_t address = l->address + ((uint64_t)layer * l->depth + (uint64_t)z) * l->slice +
                       (uint64_t)y * l->pitch + (uint64_t)x;
    if (!inside && outside == PTX_OUTSIDE_TRAP)
        ptx_stop_fault(w, i, lane, PTX_FAULT_ADDRESS, address, size);
    else if (inside && x % (size & -size))
        ptx_stop_fault(w, i, lane, PTX_FAULT_MISALIGNED, address, size);
    else if (inside)
        return (uint8_t *)(uintptr_t)address;
    return NULL;
}

static const struct ptx_image *image_of(struct ptx_warp *w, const struct ptx_insn *i, unsigned lane)
{
    const struct ptx_surface_insn *s = i->extra;

    return ptx_image_find(w, i, lane, ((const uint64_t *)ptx_lanes(w, s->handle))[lane], true);
}

static void set_register(struct ptx_warp *w, ptx_op op, unsigned reg, unsigned lane, uint64_t value)
{
    if (op == PTX_OP_NONE)
        return;
    void *d = ptx_lanes(w, op);
    if (reg == 2)
        ((uint16_t *)d)[lane] = (uint16_t)value;
    else if (reg == 4)
        ((uint32_t *)d)[lane] = (uint32_t)value;
    else
        ((uint64_t *)d)[lane] = value;
}

static uint64_t get_register(const struct ptx_warp *w, ptx_op op, unsigned reg, unsigned lane)
{
    const void *a = ptx_lanes(w, op);

    return reg == 2   ? ((const uint16_t *)a)[lane]
           : reg == 4 ? ((const uint32_t *)a)[lane]
                      : ((const uint64_t *)a)[lane];
}

void ptx_run_surface_load(struct ptx_warp *w, const struct ptx_insn *i)
{
    const struct ptx_surface_insn *s = i->extra;
    unsigned size = ptx_type_size(s->type);

    for (uint32_t left = w->mask; left; left &= left - 1) {
        unsigned l = (unsigned)__builtin_ctz(left);
        const struct ptx_image *image = image_of(w, i, l);
        const uint8_t *p = image ? place_of(w, i, l, image) : NULL;
        if (w->stop == PTX_STOP_FAULT)
            return;
        for (unsigned k = 0; k < s->count; k++) {
            uint64_t value = 0;
            if (p)
                memcpy(&value, p + k * size, size);
            set_register(w, s->value[k], s->reg, l, value);
        }
    }
}

/* sust.p: a register's 32 bits as a component. */
static void store_component(enum ptx_channel channel, uint8_t *p, uint32_t bits)
{
    uint16_t half;

    switch (channel) {
    case PTX_CHANNEL_F16:
        half = ptx_to_half((double)ptx_f32(bits));
        memcpy(p, &half, sizeof(half));
        break;
    default:
        memcpy(p, &bits, ptx_channel_size(channel));
    }
}

static void store_formatted(const struct ptx_image *image, uint8_t *p, const uint32_t value[4])
{
    unsigned size = ptx_channel_size((enum ptx_channel)image->channel);

    if (image->channel == PTX_CHANNEL_UNORM10_2) {
        tsm_put_u32(p, (value[0] & 1023) | (value[1] & 1023) << 10 | (value[2] & 1023) << 20 |
                           value[3] << 30);
        return;
    }
    for (unsigned k = 0; k < image->channel_count; k++)
        store_component((enum ptx_channel)image->channel, p + k * size, value[k]);
}

void ptx_run_surface_store(struct ptx_warp *w, const struct ptx_insn *i)
{
    const struct ptx_surface_insn *s = i->extra;
    unsigned size = ptx_type_size(s->type);

    for (uint32_t left = w->mask; left; left &= left - 1) {
        unsigned l = (unsigned)__builtin_ctz(left);
        const struct ptx_image *image = image_of(w, i, l);
        uint8_t *p = image ? place_of(w, i, l, image) : NULL;
        uint32_t formatted[4] = {0};
        if (w->stop == PTX_STOP_FAULT)
            return;
        for (unsigned k = 0; p && k < s->count; k++) {
            uint64_t value = get_register(w, s->value[k], s->reg, l);
            formatted[k] = (uint32_t)value;
            if (!s->is_formatted)
                memcpy(p + k * size, &value, size);
        }
        if (p && s->is_formatted)
            store_formatted(image, p, formatted);
    }
}

/* ---- sured ---- */

static uint64_t reduced(const struct ptx_surface_insn *s, bool is_signed, uint64_t old, uint64_t b)
{
    bool is_wide = ptx_type_size(s->type) == 8;
    int64_t so = is_wide ? (int64_t)old : (int32_t)old, sb = is_wide ? (int64_t)b : (int32_t)b;
    bool less = is_signed ? sb < so : b < old;

    switch ((enum ptx_atomic)s->op) {
    case PTX_ATOM_ADD:
        return old + b;
    case PTX_ATOM_MIN:
        return less ? b : old;
    case PTX_ATOM_MAX:
        return less ? old : b;
    case PTX_ATOM_AND:
        return old & b;
    default:
        return old | b;
    }
}

/* Formatted reductions take the sign from the image. */
static void reduce(const struct ptx_surface_insn *s, const struct ptx_image *image, uint8_t *p,
                   uint64_t b)
{
    bool is_signed = s->is_formatted
                         ? image->channel >= PTX_CHANNEL_S8 && image->channel <= PTX_CHANNEL_S32
                         : ptx_type_class(s->type) == 's';

    if (ptx_type_size(s->type) == 8) {
        uint64_t old = __atomic_load_n((uint64_t *)(void *)p, __ATOMIC_RELAXED);
        while (!__atomic_compare_exchange_n((uint64_t *)(void *)p, &old,
                                            reduced(s, is_signed, old, b), true, __ATOMIC_RELAXED,
                                            __ATOMIC_RELAXED))
            ;
        return;
    }
    uint32_t old = __atomic_load_n((uint32_t *)(void *)p, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n((uint32_t *)(void *)p, &old,
                                        (uint32_t)reduced(s, is_signed, old, b), true,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
}

void ptx_run_surface_reduce(struct ptx_warp *w, const struct ptx_insn *i)
{
    const struct ptx_surface_insn *s = i->extra;

    for (uint32_t left = w->mask; left; left &= left - 1) {
        unsigned l = (unsigned)__builtin_ctz(left);
        const struct ptx_image *image = image_of(w, i, l);
        uint8_t *p = image ? place_of(w, i, l, image) : NULL;
        if (w->stop == PTX_STOP_FAULT)
            return;
        if (p && access_size(image, s) < ptx_type_size(s->type)) {
            ptx_stop_fault(w, i, l, PTX_FAULT_MISALIGNED, (uintptr_t)p, ptx_type_size(s->type));
            return;
        }
        if (p)
            reduce(s, image, p, get_register(w, s->value[0], s->reg, l));
    }
}
