/* SPDX-License-Identifier: Apache-2.0 */
#include "base/elf_file.h"

#include "base/bytes.h"

#include <elf.h>
#include <string.h>

bool tsm_elf_file_open(struct tsm_elf_file *out, const void *data, uint64_t size)
{
    const uint8_t *at = data;

    *out = (struct tsm_elf_file){.data = data, .size = size};
    /* Some callers do not know how many bytes there are: none is read if the one before is wrong.
     */
    if (size < sizeof(Elf64_Ehdr) || strncmp((const char *)at, ELFMAG, SELFMAG) != 0 ||
        at[EI_CLASS] != ELFCLASS64 || at[EI_DATA] != ELFDATA2LSB)
        return false;
    out->table = tsm_get_u64(at + offsetof(Elf64_Ehdr, e_shoff));
    out->entry_size = tsm_get_u16(at + offsetof(Elf64_Ehdr, e_shentsize));
    out->section_count = tsm_get_u16(at + offsetof(Elf64_Ehdr, e_shnum));
    out->names = tsm_get_u16(at + offsetof(Elf64_Ehdr, e_shstrndx));
    return true;
}

const uint8_t *tsm_elf_file_part(const struct tsm_elf_file *file, uint64_t offset, uint64_t size)
{
    return offset <= file->size && size <= file->size - offset ? file->data + offset : NULL;
}

bool tsm_elf_file_section(const struct tsm_elf_file *file, uint32_t index,
                          struct tsm_elf_section *out)
{
    const uint64_t offset = (uint64_t)index * file->entry_size;
    const uint8_t *at;

    if (index >= file->section_count || file->entry_size < sizeof(Elf64_Shdr) ||
        file->table > UINT64_MAX - offset)
        return false;
    at = tsm_elf_file_part(file, file->table + offset, sizeof(Elf64_Shdr));
    if (!at)
        return false;
    out->name = tsm_get_u32(at + offsetof(Elf64_Shdr, sh_name));
    out->type = tsm_get_u32(at + offsetof(Elf64_Shdr, sh_type));
    out->link = tsm_get_u32(at + offsetof(Elf64_Shdr, sh_link));
    out->offset = tsm_get_u64(at + offsetof(Elf64_Shdr, sh_offset));
    out->size = tsm_get_u64(at + offsetof(Elf64_Shdr, sh_size));
    return true;
}

const uint8_t *tsm_elf_file_bytes(const struct tsm_elf_file *file,
                                  const struct tsm_elf_section *section)
{
    return section->type == SHT_NOBITS ? NULL
                                       : tsm_elf_file_part(file, section->offset, section->size);
}
