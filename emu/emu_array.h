/* SPDX-License-Identifier: Apache-2.0
 *
 * CUDA arrays: rows of elements, kept as plain pitched memory.
 */
#ifndef EMU_ARRAY_H
#define EMU_ARRAY_H

#include <stddef.h>
#include <stdint.h>

#include "emu/emu_abi.h"

struct CUarray_st {
    CUDA_ARRAY3D_DESCRIPTOR description;
    uint64_t address;
    size_t element_size; /* bytes */
    size_t pitch;        /* bytes a row */
    size_t rows;         /* a slice; at least 1 */
    size_t slices;       /* depth or layers; at least 1 */
};

#endif
