/* SPDX-License-Identifier: Apache-2.0
 *
 * Content of a CUDA array, as bytes: rows one after the other without gaps, then slices, layers or
 * faces. Arrays have no address; records and reports that speak of memory by address (checksums,
 * observations) use a place above all addresses, made of the array's id in the trace.
 *
 * Used in the traced program and in the replay alike: no memory of its own, no lock.
 */
#ifndef API_CUDA_ARRAY_BYTES_H
#define API_CUDA_ARRAY_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/cuda/abi.h"

#define CUDA_ARRAY_PLACES     (1ull << 63)
#define CUDA_ARRAY_PLACE_BITS 40
#define CUDA_ARRAY_PLACE(id)  (CUDA_ARRAY_PLACES | (uint64_t)(id) << CUDA_ARRAY_PLACE_BITS)
#define CUDA_ARRAY_ID(place)  (((place) & ~CUDA_ARRAY_PLACES) >> CUDA_ARRAY_PLACE_BITS)

struct cuda_array_shape {
    size_t width; /* bytes */
    size_t height;
    size_t depth; /* or layers, faces */
};

/* Block-compressed: rows of blocks. False for formats of planes, each of which is an array of its own,
 * for those that are unknown, and for arrays whose memory is mapped later. */
bool cuda_array_shape(struct cuda_array_shape *out, const CUDA_ARRAY3D_DESCRIPTOR *description);

/* Bytes of a texel, or of a block; 0 where cuda_array_shape() knows no form. */
size_t cuda_array_element(const CUDA_ARRAY3D_DESCRIPTOR *description);

/* Does it hold nothing but what its planes (cuArrayGetPlane) do? */
bool cuda_array_has_planes(const CUDA_ARRAY3D_DESCRIPTOR *description);

static inline uint64_t cuda_array_size(const struct cuda_array_shape *shape)
{
    return (uint64_t)shape->width * shape->height * shape->depth;
}

/* cuMemcpy3D_v2 of whichever driver. */
typedef CUresult (*cuda_array_copy)(const CUDA_MEMCPY3D *copy);

/* `size` bytes from `offset` on, to `out` or (is_write) from it. Waits for the copy. The array's
 * context is current. */
CUresult cuda_array_bytes(cuda_array_copy copy, CUarray array, const struct cuda_array_shape *shape,
                          uint64_t offset, void *bytes, uint64_t size, bool is_write);

#endif
