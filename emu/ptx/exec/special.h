/* SPDX-License-Identifier: Apache-2.0
 *
 * Special registers that do not change while a warp runs: lane arrays, filled at its start.
 * The others (%clock...) are read by an instruction of their own.
 */
#ifndef EMU_PTX_EXEC_SPECIAL_H
#define EMU_PTX_EXEC_SPECIAL_H

#include "emu/ptx/insn.h"

/* id, PTX name without the component, components (0: none) */
#define PTX_SPECIALS32(X)                                                                          \
    X(TID_X, "%tid.x")                                                                             \
    X(TID_Y, "%tid.y")                                                                             \
    X(TID_Z, "%tid.z")                                                                             \
    X(NTID_X, "%ntid.x")                                                                           \
    X(NTID_Y, "%ntid.y")                                                                           \
    X(NTID_Z, "%ntid.z")                                                                           \
    X(CTAID_X, "%ctaid.x")                                                                         \
    X(CTAID_Y, "%ctaid.y")                                                                         \
    X(CTAID_Z, "%ctaid.z")                                                                         \
    X(NCTAID_X, "%nctaid.x")                                                                       \
    X(NCTAID_Y, "%nctaid.y")                                                                       \
    X(NCTAID_Z, "%nctaid.z")                                                                       \
    X(LANEID, "%laneid")                                                                           \
    X(WARPID, "%warpid")                                                                           \
    X(NWARPID, "%nwarpid")                                                                         \
    X(SMID, "%smid")                                                                               \
    X(NSMID, "%nsmid")                                                                             \
    X(LANEMASK_EQ, "%lanemask_eq")                                                                 \
    X(LANEMASK_LE, "%lanemask_le")                                                                 \
    X(LANEMASK_LT, "%lanemask_lt")                                                                 \
    X(LANEMASK_GE, "%lanemask_ge")                                                                 \
    X(LANEMASK_GT, "%lanemask_gt")                                                                 \
    X(TOTAL_SMEM_SIZE, "%total_smem_size")                                                         \
    X(AGGR_SMEM_SIZE, "%aggr_smem_size")                                                           \
    X(DYNAMIC_SMEM_SIZE, "%dynamic_smem_size")                                                     \
    X(CLUSTERID_X, "%clusterid.x")                                                                 \
    X(CLUSTERID_Y, "%clusterid.y")                                                                 \
    X(CLUSTERID_Z, "%clusterid.z")                                                                 \
    X(NCLUSTERID_X, "%nclusterid.x")                                                               \
    X(NCLUSTERID_Y, "%nclusterid.y")                                                               \
    X(NCLUSTERID_Z, "%nclusterid.z")                                                               \
    X(CLUSTER_CTAID_X, "%cluster_ctaid.x")                                                         \
    X(CLUSTER_CTAID_Y, "%cluster_ctaid.y")                                                         \
    X(CLUSTER_CTAID_Z, "%cluster_ctaid.z")                                                         \
    X(CLUSTER_NCTAID_X, "%cluster_nctaid.x")                                                       \
    X(CLUSTER_NCTAID_Y, "%cluster_nctaid.y")                                                       \
    X(CLUSTER_NCTAID_Z, "%cluster_nctaid.z")                                                       \
    X(CLUSTER_CTARANK, "%cluster_ctarank")                                                         \
    X(CLUSTER_NCTARANK, "%cluster_nctarank")                                                       \
    X(ENVREG, "%envreg")                                                                           \
    X(ENVREG_1, "%envreg1")                                                                        \
    X(ENVREG_2, "%envreg2")                                                                        \
    X(RESERVED_SMEM_BEGIN, "%reserved_smem_offset_begin")                                          \
    X(RESERVED_SMEM_END, "%reserved_smem_offset_end")                                              \
    X(RESERVED_SMEM_CAP, "%reserved_smem_offset_cap")                                              \
    X(RESERVED_SMEM_0, "%reserved_smem_offset_0")                                                  \
    X(RESERVED_SMEM_1, "%reserved_smem_offset_1")                                                  \
    X(IS_EXPLICIT_CLUSTER, "%is_explicit_cluster") /* a predicate: a bit a lane */                 \
    X(DYNAMIC_SHARED, "")                          /* ours: the address of .extern .shared arrays */

enum ptx_special {
#define X(id, name) PTX_SPECIAL_##id,
    PTX_SPECIALS32(X)
#undef X
        PTX_SPECIAL_COUNT,
    PTX_SPECIAL_GRIDID = PTX_SPECIAL_COUNT, /* 64 bits, after the others */
};

#define PTX_SPECIAL_BYTES (PTX_SPECIAL_COUNT * 128u + 256u)

static inline ptx_op ptx_special_op(enum ptx_special id)
{
    return (ptx_op)id * 128u | PTX_BASE_SPECIAL;
}

/* Do its lanes hold another value in another block of the same launch? */
static inline bool ptx_special_is_of_block(unsigned id)
{
    return (id >= PTX_SPECIAL_CTAID_X && id <= PTX_SPECIAL_CTAID_Z) || id == PTX_SPECIAL_SMID ||
           (id >= PTX_SPECIAL_CLUSTERID_X && id <= PTX_SPECIAL_CLUSTERID_Z) ||
           (id >= PTX_SPECIAL_CLUSTER_CTAID_X && id <= PTX_SPECIAL_CLUSTER_CTAID_Z);
}

static inline unsigned ptx_special_of(ptx_op op)
{
    return op / 128u;
}

/* Registers that a read instruction fetches: PTX_FETCH_* or -1. */
enum ptx_fetch {
    PTX_FETCH_CLOCK,
    PTX_FETCH_CLOCK_HI,
    PTX_FETCH_CLOCK64,
    PTX_FETCH_GLOBALTIMER,
    PTX_FETCH_GLOBALTIMER_LO,
    PTX_FETCH_GLOBALTIMER_HI,
    PTX_FETCH_PM,
};

#endif
