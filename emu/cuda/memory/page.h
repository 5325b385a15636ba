/* SPDX-License-Identifier: Apache-2.0
 *
 * The pages behind places. They are the process's own, until an allocation in them is shared: then
 * its pages, and only these, move into a file that other processes can map, at the offset that is
 * their address. So what is never shared costs what it always did (docs/decisions/007).
 *
 * Threads: one at a time; emu/cuda/memory/va_allocator.c's lock.
 */
#ifndef EMU_PAGE_H
#define EMU_PAGE_H

#include <stdbool.h>
#include <stdint.h>

#define EMU_PAGE 4096ull

/* Ranges are whole pages and may be empty. */

/* 0, or errno: EEXIST when something is there already. */
int emu_page_map(uint64_t start, uint64_t end, int protection);
void emu_page_unmap(uint64_t start, uint64_t end);

/* Move what is mapped readable and writable there into the file. The caller sees to it that nothing
 * writes there meanwhile; reading is safe. False: no memory, or no such files here. */
bool emu_page_share(uint64_t start, uint64_t end);
bool emu_page_is_shared(uint64_t start, uint64_t end);

/* The file, -1 when nothing was ever shared. Its first EMU_PAGE_FRONT bytes are
 * emu/cuda/memory/share.c's.
 */
#define EMU_PAGE_FRONT 65536u
int emu_page_file(void);

/* In a child of fork(): the parent's file is none of its business. */
void emu_page_forget(void);

#endif
