/* SPDX-License-Identifier: Apache-2.0
 *
 * Code as instructions, on standard output: PTX is text; machine code of NVIDIA's and AMD's GPUs is
 * disassembled by their vendors' programs, where they are installed; x86-64 by Capstone. Where
 * there is none, the sections are listed, and a line says what is missing. One thread.
 */
#ifndef TOOLS_CODE_INSTRUCTIONS_H
#define TOOLS_CODE_INSTRUCTIONS_H

#include "tools/code/list.h"

/* Prints the member, whose bytes are data[size], with a 0 behind them. `kernel`: of PTX, only this
 * one; NULL: all of it. */
int tsm_code_print(const struct tsm_code_member *member, const struct tsm_code_kernel *kernel,
                   const uint8_t *data, size_t size);

#endif
