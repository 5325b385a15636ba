/* SPDX-License-Identifier: Apache-2.0
 *
 * What the CUDA source knows of modules, libraries and functions: the `user` of their handles.
 */
#ifndef API_CUDA_SOURCE_MODULE_H
#define API_CUDA_SOURCE_MODULE_H

#include "api/cuda/image.h"
#include "api/cuda/source/source.h"

/* Where a function's arguments lie in its argument block. */
struct cuda_layout {
    uint32_t count;
    uint32_t size; /* bytes, without tail padding */
    struct cuda_param params[];
};

struct cuda_function {
    bool is_kernel;             /* made as a CUkernel: other calls ask about it */
    struct cuda_layout *layout; /* NULL: not known (yet) */
};

/* Room for `count` parameters, NULL when there is no memory. */
struct cuda_layout *cuda_layout_make(uint32_t count);
void cuda_layout_set(struct cuda_layout *layout, uint32_t index, uint16_t offset, uint16_t size);

/* What is known of a function; made when nothing is. NULL: no memory. */
struct cuda_function *cuda_function_of(struct tsm_handle *handle);

#endif
