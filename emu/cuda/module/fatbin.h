/* SPDX-License-Identifier: Apache-2.0
 *
 * The image that a program hands to the driver -> PTX text.
 *
 * An image is PTX text ending in a zero byte, an ELF file of machine code, a fat binary (a header
 * and entries, each PTX or machine code for one architecture, plain, LZ4 or zstd), or a wrapper
 * that points to one. No length comes with any of them: what is read is bounded by the sizes that a
 * fat binary states. Sources: the layouts as nvcc 13 writes them, and the public LLVM sources
 * (clang/lib/CodeGen/CGCUDANV.cpp) for the wrapper.
 */
#ifndef EMU_FATBIN_H
#define EMU_FATBIN_H

#include <stdbool.h>
#include <stddef.h>

#include "emu/cuda/core/abi.h"
#include "emu/ptx/ptx.h"

/* Text found in an image. */
struct emu_text {
    const char *text; /* `size` bytes; not terminated */
    size_t size;
    char *owned; /* what to free, NULL when the text lies in the image */
};

/* The best PTX for a device of `capability` (75). CUDA_ERROR_NO_BINARY_FOR_GPU when there is only
 * machine code, or PTX for larger capabilities; CUDA_ERROR_INVALID_IMAGE when it is no image. */
CUresult emu_image_text(struct emu_text *out, const void *image, unsigned capability,
                        struct ptx_log *log);
void emu_text_finish(struct emu_text *text);

/* Does an image of `size` bytes, as of a file, say of itself that it is longer, or point elsewhere? Then it
 * is none for emu_image_text(). */
bool emu_image_fits(const void *image, size_t size);

/* A file's bytes and zero bytes after them, to be freed by the caller. size_out: may be NULL. */
CUresult emu_file_read(char **out, size_t *size_out, const char *name);

/* A line for the program's log. */
void emu_log_line(struct ptx_log *log, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
