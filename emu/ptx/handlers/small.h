/* SPDX-License-Identifier: Apache-2.0
 *
 * Floats of 4, 6 and 8 bits.
 */
#ifndef EMU_PTX_HANDLERS_SMALL_H
#define EMU_PTX_HANDLERS_SMALL_H

#include "emu/ptx/insn.h"

struct ptx_small_format {
    uint8_t fraction; /* bits */
    uint8_t exponent;
    uint8_t max; /* the greatest finite code */
    uint8_t nan; /* what NaN becomes */
    uint8_t bits;
};
/* PTX_E4M3X2 to PTX_E3M2X2. */
const struct ptx_small_format *ptx_small_format(ptx_type type);

/* The value of a code of such a format. Exact. */
double ptx_small_value(ptx_type type, unsigned code);

/* type: PTX_E4M3 or PTX_E5M2. Exact. */
double ptx_from_small(ptx_type type, unsigned code);

#endif
