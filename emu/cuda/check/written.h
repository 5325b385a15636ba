/* SPDX-License-Identifier: Apache-2.0
 *
 * Which bytes of memory have been written, for TS_EMU_CHECK=uninit; without it nothing is done.
 *
 * Threads: any.
 */
#ifndef EMU_CUDA_CHECK_WRITTEN_H
#define EMU_CUDA_CHECK_WRITTEN_H

#include <stdint.h>

/* Notes fresh memory: nothing is written. */
void emu_written_none(uint64_t address, uint64_t size);

/* Notes that all of it is written. */
void emu_written_all(uint64_t address, uint64_t size);

/* Notes a copy: of `to` is written what was of `from`. */
void emu_written_copy(uint64_t to, uint64_t from, uint64_t size);

#endif
