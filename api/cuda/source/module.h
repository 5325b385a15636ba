/* SPDX-License-Identifier: Apache-2.0
 *
 * State of modules, libraries and functions in the CUDA source: the `user` of their handles.
 */
#ifndef API_CUDA_SOURCE_MODULE_H
#define API_CUDA_SOURCE_MODULE_H

#include "api/cuda/image.h"
#include "api/cuda/source/source.h"

/* Layout of a function's argument block. */
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

/* Returns the state of a function, created when absent. NULL: no memory. */
struct cuda_function *cuda_function_of(struct tsm_handle *handle);

#endif
