/* SPDX-License-Identifier: Apache-2.0
 *
 * Attributes and limits of a function.
 */
#ifndef EMU_FUNCTION_H
#define EMU_FUNCTION_H

#include <stddef.h>

#include "emu/cuda/module/module.h"

/* A function or kernel from the program, in the current context. CUDA_ERROR_INVALID_HANDLE. */
CUresult emu_function_enter(CUfunction *out, CUfunction handle);

/* Threads of the largest block that may be launched. */
unsigned emu_function_threads_max(const struct ptx_function *ptx);

/* cuFuncGetAttribute's and cuKernelGetAttribute's answer. CUDA_ERROR_INVALID_VALUE: no such one. */
CUresult emu_function_attribute(int *out, CUfunction_attribute attribute,
                                const struct CUfunc_st *f);

/* May a program set `attribute` to `value`? */
CUresult emu_function_check_setting(CUfunction_attribute attribute, int value,
                                    const struct ptx_function *ptx);

/* How many blocks of `threads` fit on a multiprocessor; 0: not even one. */
int emu_function_blocks_per_multiprocessor(const struct CUfunc_st *f, unsigned threads,
                                           size_t dynamic_shared);

/* A launch of a graph's kernel node, checked, not sent. context: where the function is meant when
 * neither it nor `params` says so. */
struct emu_command;
CUresult emu_launch_prepare(struct emu_command **out, const CUDA_KERNEL_NODE_PARAMS_v3 *params,
                            CUcontext context);

/* Attributes that such a launch keeps itself; others a node keeps for the program. `command`: one
 * that emu_launch_prepare() or a capture made. Setting one checks the launch again. */
bool emu_launch_has(CUlaunchAttributeID id);
void emu_launch_get(const struct emu_command *command, CUlaunchAttributeID id,
                    CUlaunchAttributeValue *out);
CUresult emu_launch_set(struct emu_command *command, const CUlaunchAttribute *attribute);
/* Keeps the settings of `earlier`, which `command` replaces. */
CUresult emu_launch_keep(struct emu_command *command, const struct emu_command *earlier);

#endif
