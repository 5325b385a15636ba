/* SPDX-License-Identifier: Apache-2.0
 *
 * Clusters of blocks: which shape a launch has, and the attributes of functions that say so.
 */
#ifndef EMU_CLUSTER_H
#define EMU_CLUSTER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "emu/cuda/core/abi.h"

struct ptx_function;

#define EMU_CLUSTER_PORTABLE 8 /* blocks that any device of capability 9.0 has room for */

/* Settings of a function or kernel: CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH and the four
 * attributes after it. 0: nothing. Any thread. */
struct emu_cluster_settings {
    atomic_int values[5];
};

/* One of these attributes, or CLUSTER_SIZE_MUST_BE_SET. */
bool emu_cluster_has(CUfunction_attribute attribute);
int emu_cluster_get(const struct emu_cluster_settings *settings, const struct ptx_function *ptx,
                    CUfunction_attribute attribute);
/* CUDA_ERROR_NOT_PERMITTED: the kernel's code says it already. */
CUresult emu_cluster_check_setting(const struct ptx_function *ptx, CUfunction_attribute attribute,
                                   int value);
void emu_cluster_set(struct emu_cluster_settings *settings, CUfunction_attribute attribute,
                     int value);
/* Copies the settings of `from`. */
void emu_cluster_copy(struct emu_cluster_settings *to, const struct emu_cluster_settings *from);

/* A launch, as far as its clusters depend on it. */
struct emu_cluster_launch {
    const unsigned *asked; /* three: the launch's attribute; 0: none */
    const unsigned *grid;
    unsigned threads; /* a block */
    size_t shared;    /* dynamic, a block */
};
/* The shape of the launch's clusters, zeros when it has none. CUDA_ERROR_INVALID_CLUSTER_SIZE:
 * another one than the kernel wants, or larger than it or the device allows, or one that does not
 * divide the grid. CUDA_ERROR_NOT_SUPPORTED: the device has no clusters. */
CUresult emu_cluster_choose(unsigned out[3], const struct CUfunc_st *function,
                            const struct emu_cluster_launch *launch);

#endif
