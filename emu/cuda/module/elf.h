/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds contents of ELF files: the kernels of machine code, to name them, and the fat binaries that
 * compilers put into host objects. 64-bit, little-endian; other files have no sections here.
 */
#ifndef EMU_ELF_H
#define EMU_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct emu_elf_section {
    const char *name; /* terminated, in the file */
    const uint8_t *data;
    size_t size; /* bytes */
};

/* Returns the file's size by its own header, for images that come without a length. 0: no such
 * file. */
size_t emu_elf_size(const uint8_t *elf);

/* Is a file of `size` bytes that begins like an ELF file as long as its own header says? */
bool emu_elf_fits(const uint8_t *elf, size_t size);

/* The section of that index. False: there is none, or it does not lie within `size` bytes. */
bool emu_elf_section(struct emu_elf_section *out, const uint8_t *elf, size_t size, unsigned index);

/* Is this file for a GPU (and not for the host)? */
bool emu_elf_is_device(const uint8_t *elf, size_t size);

/* "a, b, c": names of the kernels in machine code, cut to fit; "" when there are none. */
void emu_elf_kernels(char *out, size_t out_size, const uint8_t *elf, size_t size);

#endif
