/* SPDX-License-Identifier: Apache-2.0
 *
 * The inputs of a link: PTX text, fat binaries, host objects that hold fat binaries, and archives
 * of any of these -> the PTX texts in them.
 */
#ifndef EMU_LINK_H
#define EMU_LINK_H

#include <stddef.h>

#include "emu/cuda/core/abi.h"
#include "emu/ptx/ptx.h"

/* One text: `size` bytes without a terminator, valid during the call. name: for messages. A result
 * other than 0 ends the search and is its result. */
typedef CUresult (*emu_link_text)(void *user, const char *name, const char *text, size_t size);

/* Call `add` for every text in the input. Trailing zero bytes are no part of it. The kind is told
 * by the bytes; `type` only says what the program may have meant. CUDA_ERROR_NO_BINARY_FOR_GPU,
 * with the names of the kernels in `log`, for machine code; CUDA_ERROR_INVALID_IMAGE for what is
 * none of all these. */
CUresult emu_link_texts(const char *name, CUjitInputType type, const void *data, size_t size,
                        struct ptx_log *log, emu_link_text add, void *user);

#endif
