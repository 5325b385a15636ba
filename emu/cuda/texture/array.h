/* SPDX-License-Identifier: Apache-2.0
 *
 * CUDA arrays: rows of elements, kept as plain pitched memory. A mipmapped array is several of them
 * in one allocation.
 */
#ifndef EMU_ARRAY_H
#define EMU_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emu/cuda/core/abi.h"
#include "emu/ptx/texture/image.h"

struct emu_sparse; /* sparse.c */

struct CUarray_st {
    CUDA_ARRAY3D_DESCRIPTOR description;
    CUmipmappedArray mipmap; /* it is a level of; or */
    CUarray whole;           /* it is a plane of; both NULL: it is an array by itself */
    struct CUarray_st *planes;
    unsigned plane_count; /* of one that holds nothing else; 0: what follows says what it holds */
    enum ptx_channel channel;
    bool is_srgb;
    uint64_t address;
    size_t element_size;       /* bytes of a texel, or of a block of texels */
    size_t columns;            /* texels or blocks a row */
    size_t pitch;              /* bytes a row */
    size_t rows;               /* a slice, of texels or blocks; at least 1 */
    size_t slices;             /* depth, or layers and faces; at least 1 */
    struct emu_sparse *sparse; /* of an array by itself: its tiles, NULL: it has none */
};

struct CUmipmappedArray_st {
    uint64_t address;
    unsigned level_count;
    struct emu_sparse *sparse;
    struct CUarray_st levels[PTX_MIP_LEVEL_MAX]; /* not first: a handle is one thing's address */
};

/* All but `address`; not of planes. is_mipmapped: other limits hold. */
CUresult emu_array_init(struct CUarray_st *array, const CUDA_ARRAY3D_DESCRIPTOR *description,
                        CUdevice device, bool is_mipmapped);
size_t emu_array_size(const struct CUarray_st *array); /* bytes */

/* Makes the tiles of an array, or of a mipmapped one, that have memory already and are sparse;
 * *out stays NULL for others. And gives them up, with the pools that are mapped there. NULL:
 * nothing. */
CUresult emu_sparse_create(struct emu_sparse **out, struct CUarray_st *levels, unsigned level_count,
                           CUdevice device, bool is_mipmapped);
void emu_sparse_destroy(struct emu_sparse *sparse);
/* Forgets what was written to tiles where nothing is mapped: of the array that has the address, or
 * with 0 of all. */
void emu_sparse_scrub(uint64_t address);

/* Device memory for arrays, in the current context. */
CUresult emu_array_allocate(uint64_t *address, CUcontext context, size_t size);

#endif
