/* SPDX-License-Identifier: Apache-2.0
 *
 * SPIR-V as text, by the program spirv-dis of SPIRV-Tools, which is looked for when it is needed.
 */
#ifndef TOOLS_TEXT_DISASSEMBLE_H
#define TOOLS_TEXT_DISASSEMBLE_H

#include <stddef.h>
#include <stdint.h>

/* Disassembles to the file `path`, or to stdout (NULL). TSM_E_NOT_FOUND: spirv-dis is not
 * installed, and the message says where it comes from. */
int tsm_disassemble(const uint32_t *words, size_t size, const char *path);

#endif
