/* SPDX-License-Identifier: Apache-2.0
 *
 * External semaphores in graphs: the commands that such nodes are.
 */
#ifndef EMU_SEMAPHORE_H
#define EMU_SEMAPHORE_H

#include "emu/cuda/core/abi.h"

struct emu_command;

CUresult emu_semaphore_signal_prepare(struct emu_command **out,
                                      const CUDA_EXT_SEM_SIGNAL_NODE_PARAMS_v2 *params);
CUresult emu_semaphore_wait_prepare(struct emu_command **out,
                                    const CUDA_EXT_SEM_WAIT_NODE_PARAMS_v2 *params);

#endif
