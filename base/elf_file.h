/* SPDX-License-Identifier: Apache-2.0
 *
 * Sections of an ELF file that lies in memory: 64-bit, little-endian. The bytes may be anybody's
 * and lie at any address; nothing outside of them is read. Any thread, also inside a traced
 * program.
 */
#ifndef BASE_ELF_FILE_H
#define BASE_ELF_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tsm_elf_file {
    const uint8_t *data; /* the caller's */
    uint64_t size;       /* bytes that may be read */
    uint64_t table;      /* offset of the section table, as the header says */
    uint16_t entry_size, section_count;
    uint16_t names; /* index of the section that names the others */
};

struct tsm_elf_section {
    uint32_t name; /* offset in the section of names */
    uint32_t type; /* SHT_... */
    uint32_t link;
    uint64_t offset, size;
};

/* Reads the file's header. Returns false if it is no such file, or if its header is not all there.
 */
bool tsm_elf_file_open(struct tsm_elf_file *out, const void *data, uint64_t size);

/* Reads an entry of the section table, of which there may be longer ones than this version of ELF
 * has. Returns false if there is none of that index, or if it does not lie within the file. */
bool tsm_elf_file_section(const struct tsm_elf_file *file, uint32_t index,
                          struct tsm_elf_section *out);

/* Returns the section's bytes; NULL if it has none in the file (SHT_NOBITS), or not all of them. */
const uint8_t *tsm_elf_file_bytes(const struct tsm_elf_file *file,
                                  const struct tsm_elf_section *section);

/* Returns `size` bytes at `offset`; NULL if they do not lie within the file. */
const uint8_t *tsm_elf_file_part(const struct tsm_elf_file *file, uint64_t offset, uint64_t size);

#endif
