/* SPDX-License-Identifier: Apache-2.0
 *
 * Instructions of x86-64 as text, by Capstone, which is opened when it is first needed. A build
 * without its header, and a machine without the library, have none.
 */
#ifndef TOOLS_TEXT_X86_H
#define TOOLS_TEXT_X86_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Tests whether there is a disassembler. One thread. */
bool tsm_x86_is_here(void);

/* Writes the instruction at the begin of code[size], which lies at `address`, into out[out_size].
 * Returns its length in bytes; 0: there is no disassembler, or no instruction. One thread. */
size_t tsm_x86_next(const uint8_t *code, size_t size, uint64_t address, char *out, size_t out_size);

/* The same for the call instruction that ends at the end of code[size], at address `end`: return
 * addresses lie there. Returns its length; 0: no call ends there. */
size_t tsm_x86_call_before(const uint8_t *code, size_t size, uint64_t end, char *out,
                           size_t out_size);

#endif
