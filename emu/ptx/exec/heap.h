/* SPDX-License-Identifier: Apache-2.0
 *
 * The heap of malloc() and free() in device code: one for the process, so that memory outlives the
 * launch that took it. Any thread.
 */
#ifndef EMU_PTX_EXEC_HEAP_H
#define EMU_PTX_EXEC_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* 16-byte aligned; NULL when the heap is full. */
void *ptx_heap_alloc(size_t size);
/* NULL and pointers that the heap did not give are ignored. */
void ptx_heap_free(void *p);
/* Do these bytes lie in the heap? *start, *size: its extent. */
bool ptx_heap_holds(uint64_t address, uint64_t size, uint64_t *start, uint64_t *extent);

#endif
