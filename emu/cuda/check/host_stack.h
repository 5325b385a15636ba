/* SPDX-License-Identifier: Apache-2.0
 *
 * Host stacks: who launched, allocated, freed. Taking one writes down return addresses and nothing
 * else; names are looked up when a stack is printed, in this process, with libdw when the machine
 * has it (function, source line) and with dladdr() otherwise.
 *
 * Threads: any. Stacks live as long as the process.
 */
#ifndef EMU_STACK_H
#define EMU_STACK_H

#include <stdint.h>

#include "base/buffer.h"

#define EMU_STACK_DEPTH_MAX 48

/* The calling thread's stack, without the driver's own frames, innermost first. Equal stacks have
 * equal numbers. 0: there is none (out of memory, or TS_EMU_STACKS=0). errno is kept. */
uint32_t emu_stack_take(void);

/* How many frames it has; 0 for stack 0. */
unsigned emu_stack_depth(uint32_t stack);

/* "main at saxpy.c:42 (saxpy+0x11d9)" into out, terminated; no names: "saxpy+0x11d9". */
void emu_stack_frame(uint32_t stack, unsigned frame, char *out, size_t size);

#endif
