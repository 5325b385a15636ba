/* SPDX-License-Identifier: Apache-2.0 */
#include "emu/cuda/module/cluster.h"

#include <string.h>

#include "emu/cuda/core/context.h"
#include "emu/cuda/core/device.h"
#include "emu/cuda/core/emu.h"
#include "emu/cuda/module/function.h"

#define FIRST CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH

/* ---- attributes ---- */

bool emu_cluster_has(CUfunction_attribute attribute)
{
    return (int)attribute >= CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET &&
           (int)attribute <= CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE;
}

int emu_cluster_get(const struct emu_cluster_settings *settings, const struct ptx_function *ptx,
                    CUfunction_attribute attribute)
{
    int at = (int)attribute - FIRST;

    if (at < 0)
        return ptx->is_explicit_cluster;
    return at < 3 && ptx->cluster[0] ? (int)ptx->cluster[at] : atomic_load(&settings->values[at]);
}

CUresult emu_cluster_check_setting(const struct ptx_function *ptx, CUfunction_attribute attribute,
                                   int value)
{
    static const int most[] = {INT32_MAX, INT32_MAX, INT32_MAX, 1,
                               CU_CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING};
    int at = (int)attribute - FIRST;

    if (at < 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (emu_settings.capability < 90)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (at < 3 && ptx->cluster[0])
        return CUDA_ERROR_NOT_PERMITTED;
    return value < 0 || value > most[at] ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

void emu_cluster_set(struct emu_cluster_settings *settings, CUfunction_attribute attribute,
                     int value)
{
    atomic_store(&settings->values[(int)attribute - FIRST], value);
}

void emu_cluster_copy(struct emu_cluster_settings *to, const struct emu_cluster_settings *from)
{
    for (unsigned i = 0; i < 5; i++)
        if (atomic_load(&from->values[i]))
            atomic_store(&to->values[i], atomic_load(&from->values[i]));
}

/* ---- launches ---- */

/* Finds the cluster's size that the kernel requires, by its code or by the program's setting.
 * Returns false if it requires none. */
static bool required(unsigned out[3], const struct CUfunc_st *f)
{
    for (unsigned i = 0; i < 3; i++)
        out[i] = (unsigned)emu_cluster_get(&f->cluster, f->ptx, (CUfunction_attribute)(FIRST + i));
    return out[0] || out[1] || out[2];
}

static unsigned size_max(const struct CUfunc_st *f)
{
    bool is_open = atomic_load(
        &f->cluster.values[CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED - FIRST]);
    unsigned most = is_open ? PTX_CLUSTER_MAX : EMU_CLUSTER_PORTABLE;

    return f->ptx->cluster_max && f->ptx->cluster_max < most ? f->ptx->cluster_max : most;
}

/* Blocks that can be on the device at once; a cluster may be all over it. */
static unsigned room(const struct CUfunc_st *f, unsigned threads, size_t shared)
{
    return (unsigned)emu_function_blocks_per_multiprocessor(f, threads, shared) *
           EMU_MULTIPROCESSORS;
}

static CUresult check(const unsigned size[3], const struct CUfunc_st *f,
                      const struct emu_cluster_launch *launch)
{
    uint64_t count = (uint64_t)size[0] * size[1];

    if (!count || !size[2] || count > PTX_CLUSTER_MAX || size[2] > PTX_CLUSTER_MAX)
        return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    count *= size[2];
    if (emu_settings.capability < 90)
        return count == 1 ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
    for (unsigned i = 0; i < 3 && !f->ptx->blocks_are_clusters; i++)
        if (launch->grid[i] % size[i])
            return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    return count > size_max(f) || count > room(f, launch->threads, launch->shared)
               ? CUDA_ERROR_INVALID_CLUSTER_SIZE
               : CUDA_SUCCESS;
}

CUresult emu_cluster_choose(unsigned out[3], const struct CUfunc_st *f,
                            const struct emu_cluster_launch *launch)
{
    bool is_asked = launch->asked[0] || launch->asked[1] || launch->asked[2];

    if (!required(out, f))
        memcpy(out, launch->asked, 3 * sizeof(*out));
    else if (is_asked && memcmp(out, launch->asked, 3 * sizeof(*out)) != 0)
        return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    if (out[0] || out[1] || out[2])
        return check(out, f, launch);
    return f->ptx->is_explicit_cluster ? CUDA_ERROR_INVALID_CLUSTER_SIZE : CUDA_SUCCESS;
}

/* ---- occupancy ---- */

/* The configuration's shape of clusters, which may be missing. */
static CUresult enter(CUfunction *f, unsigned size[3], CUfunction func,
                      const CUlaunchConfig *config, const int *out)
{
    unsigned asked[3] = {0};
    CUresult result = emu_function_enter(f, func);

    if (!result && (!config || !out || (config->numAttrs && !config->attrs)))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result)
        return result;
    for (unsigned i = 0; i < config->numAttrs; i++)
        if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
            asked[0] = config->attrs[i].value.clusterDim.x;
            asked[1] = config->attrs[i].value.clusterDim.y;
            asked[2] = config->attrs[i].value.clusterDim.z;
        }
    const unsigned grid[3] = {config->gridDimX, config->gridDimY, config->gridDimZ};
    struct emu_cluster_launch launch = {asked, grid,
                                        config->blockDimX * config->blockDimY * config->blockDimZ,
                                        config->sharedMemBytes};
    result = emu_cluster_choose(size, *f, &launch);
    /* It is the size that is asked for, or how many of it there is room for. */
    return result == CUDA_ERROR_NOT_SUPPORTED ? CUDA_ERROR_INVALID_CLUSTER_SIZE : result;
}

CUresult cuOccupancyMaxPotentialClusterSize(int *clusterSize, CUfunction func,
                                            const CUlaunchConfig *config)
{
    unsigned size[3];
    CUfunction f;
    CUresult result = enter(&f, size, func, config, clusterSize);

    if (result)
        return result;
    if (required(size, f)) {
        *clusterSize = (int)(size[0] * size[1] * size[2]);
        return CUDA_SUCCESS;
    }
    unsigned fit =
        room(f, config->blockDimX * config->blockDimY * config->blockDimZ, config->sharedMemBytes);
    unsigned most = emu_settings.capability < 90 ? 1 : size_max(f);
    *clusterSize = (int)(fit < most ? fit : most);
    return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveClusters(int *numClusters, CUfunction func,
                                      const CUlaunchConfig *config)
{
    unsigned size[3];
    CUfunction f;
    CUresult result = enter(&f, size, func, config, numClusters);

    if (result)
        return result;
    if (!size[0])
        return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    *numClusters = (int)(room(f, config->blockDimX * config->blockDimY * config->blockDimZ,
                              config->sharedMemBytes) /
                         (size[0] * size[1] * size[2]));
    return CUDA_SUCCESS;
}
