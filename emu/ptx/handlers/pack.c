/* SPDX-License-Identifier: Apache-2.0
 *
 * mov between a register and a vector of smaller ones. extra: struct ptx_pack; element 0 is lowest.
 */
#include "emu/ptx/handlers/memory.h"

#include <string.h>

void ptx_run_pack(struct ptx_warp *w, const struct ptx_insn *i)
{
    const struct ptx_pack *pack = i->extra;
    uint32_t whole = pack->count * pack->size;
    uint32_t stride = pack->size == 1 ? 2 : pack->size; /* bytes lie in registers of 16 bits */
    uint8_t *d = ptx_lanes(w, i->dst);

    for (uint32_t k = 0; k < pack->count; k++) {
        const uint8_t *a = ptx_lanes(w, pack->elements[k]);
        PTX_EACH(w, memcpy(d + l * whole + k * pack->size, a + l * stride, pack->size));
    }
}

/* The source may be one of the destinations, so it is read first. */
void ptx_run_unpack(struct ptx_warp *w, const struct ptx_insn *i)
{
    const struct ptx_pack *pack = i->extra;
    uint32_t whole = pack->count * pack->size;
    uint32_t stride = pack->size == 1 ? 2 : pack->size; /* bytes lie in registers of 16 bits */
    uint8_t copy[16 * PTX_LANES];

    memcpy(copy, ptx_lanes(w, i->src[0]), (size_t)whole * PTX_LANES);
    for (uint32_t k = 0; k < pack->count; k++) {
        if (pack->elements[k] == PTX_OP_NONE)
            continue;
        uint8_t *d = ptx_lanes(w, pack->elements[k]);
        PTX_EACH(w, memcpy(d + l * stride, copy + l * whole + k * pack->size, pack->size));
        if (pack->size == 1)
            PTX_EACH(w, d[2 * l + 1] = 0);
    }
}
