/* SPDX-License-Identifier: Apache-2.0
 *
 * ldmatrix and stmatrix of elements of 8, 6 and 4 bits. A row has 16 elements in 16 bytes, those of 6
 * and 4 bits packed in the first 12 or 8; in registers each has a byte.
 */
#include "emu/ptx/handlers/memory.h"

#include <string.h>

static void unpack(uint8_t out[16], const uint8_t *row, unsigned bits)
{
    for (unsigned k = 0; k < 16; k++) {
        unsigned at = bits * k;
        unsigned word = row[at / 8] | (at / 8 < 15 ? (unsigned)row[at / 8 + 1] << 8 : 0);
        out[k] = (uint8_t)(word >> at % 8 & ((1u << bits) - 1));
    }
}

/* Lane 4 g + t has of 8 rows the elements 4 t to 4 t + 3 of row g. Of 16 rows, which are columns of
 * what is loaded: of rows 4 t to 4 t + 3 the elements g, and in the next register g + 8. */
void ptx_run_load_bytes(struct ptx_warp *w, const struct ptx_insn *i)
{
    const struct ptx_byte_matrix *x = i->extra;
    unsigned per_matrix = x->rows / 8u;
    uint64_t address[PTX_LANES];
    uint8_t rows[32][16];

    ptx_address_lanes(w, i, address);
    for (unsigned l = 0; l < (unsigned)x->rows * x->matrices; l++) {
        const uint8_t *p = ptx_resolve(w, i, l, i->space, address[l], 16, false);
        if (!p)
            return;
        unpack(rows[l], p, x->bits);
    }
    for (unsigned r = 0; r < per_matrix * x->matrices; r++) {
        uint32_t *d = ptx_lanes(w, x->registers[r]);
        for (unsigned l = 0; l < PTX_LANES; l++) {
            uint8_t e[4];
            for (unsigned b = 0; b < 4; b++)
                e[b] = x->rows == 8 ? rows[8 * r + l / 4][l % 4 * 4 + b]
                                    : rows[r / 2 * 16 + l % 4 * 4 + b][l / 4 + r % 2 * 8];
            memcpy(&d[l], e, 4);
        }
    }
}

/* Rows in memory are columns of the matrix: lane 4 g + t has elements g and g + 8 of columns 2 t and
 * 2 t + 1. */
void ptx_run_store_bytes(struct ptx_warp *w, const struct ptx_insn *i)
{
    const struct ptx_byte_matrix *x = i->extra;
    uint64_t address[PTX_LANES];
    uint8_t columns[32][16];

    for (unsigned m = 0; m < x->matrices; m++) {
        const uint32_t *a = ptx_lanes(w, x->registers[m]);
        for (unsigned l = 0; l < PTX_LANES; l++)
            for (unsigned b = 0; b < 4; b++)
                columns[8 * m + l % 4 * 2 + b % 2][l / 4 + b / 2 * 8] = (uint8_t)(a[l] >> 8 * b);
    }
    ptx_address_lanes(w, i, address);
    for (unsigned l = 0; l < 8u * x->matrices; l++) {
        uint8_t *p = ptx_resolve(w, i, l, i->space, address[l], 16, true);
        if (!p)
            return;
        memcpy(p, columns[l], 16);
    }
}
