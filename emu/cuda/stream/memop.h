/* SPDX-License-Identifier: Apache-2.0
 *
 * Host functions and operations on values, as nodes of graphs: checked commands that are not sent.
 */
#ifndef EMU_MEMOP_H
#define EMU_MEMOP_H

#include "emu/cuda/core/abi.h"

struct emu_command;

CUresult emu_call_prepare(struct emu_command **out, const CUDA_HOST_NODE_PARAMS_v2 *params);
CUresult emu_batch_prepare(struct emu_command **out,
                           const CUDA_BATCH_MEM_OP_NODE_PARAMS_v2 *params);

#endif
