/* SPDX-License-Identifier: Apache-2.0 */
#include "emu/cuda/module/elf.h"

#include <elf.h>
#include <string.h>

#include "base/bytes.h"
#include "base/text.h"

#define MACHINE_CUDA 190 /* EM_CUDA of the ELF registry */
#define TEXT_PREFIX  ".text."

static bool is_elf(const uint8_t *elf, size_t size)
{
    return size >= sizeof(Elf64_Ehdr) && strncmp((const char *)elf, ELFMAG, SELFMAG) == 0 &&
           elf[EI_CLASS] == ELFCLASS64 && elf[EI_DATA] == ELFDATA2LSB;
}

static bool lies_within(uint64_t offset, uint64_t size, size_t all)
{
    return offset <= all && size <= all - offset;
}

/* The entry of the section table. */
static bool read_header(Elf64_Shdr *out, const Elf64_Ehdr *header, const uint8_t *elf, size_t size,
                        unsigned index)
{
    uint64_t at = header->e_shoff + (uint64_t)index * header->e_shentsize;

    if (index >= header->e_shnum || header->e_shentsize < sizeof(*out) ||
        !lies_within(at, sizeof(*out), size))
        return false;
    memcpy(out, elf + at, sizeof(*out));
    return true;
}

/* No length came with the file: each byte is looked at only if those before it are right. The ABI
 * of device code is never 0. */
size_t emu_elf_size(const uint8_t *elf)
{
    Elf64_Ehdr header;

    if (!is_elf(elf, sizeof(header)) || !elf[EI_OSABI])
        return 0;
    memcpy(&header, elf, sizeof(header));
    size_t end = header.e_shoff + (size_t)header.e_shnum * header.e_shentsize;
    size_t table = end;
    for (unsigned i = 0; i < header.e_shnum; i++) {
        Elf64_Shdr section;
        if (read_header(&section, &header, elf, table, i) && section.sh_type != SHT_NOBITS &&
            section.sh_offset + section.sh_size > end)
            end = section.sh_offset + section.sh_size;
    }
    return end;
}

bool emu_elf_fits(const uint8_t *elf, size_t size)
{
    Elf64_Ehdr header;

    if (size < sizeof(header))
        return false;
    if (!is_elf(elf, size) || !elf[EI_OSABI])
        return true; /* emu_elf_size() looks no further */
    memcpy(&header, elf, sizeof(header));
    return lies_within(header.e_shoff, (uint64_t)header.e_shnum * header.e_shentsize, size) &&
           emu_elf_size(elf) <= size;
}

bool emu_elf_is_device(const uint8_t *elf, size_t size)
{
    return is_elf(elf, size) && tsm_get_u16(elf + offsetof(Elf64_Ehdr, e_machine)) == MACHINE_CUDA;
}

bool emu_elf_section(struct emu_elf_section *out, const uint8_t *elf, size_t size, unsigned index)
{
    Elf64_Ehdr header;
    Elf64_Shdr section, names;

    if (!is_elf(elf, size))
        return false;
    memcpy(&header, elf, sizeof(header));
    if (!read_header(&section, &header, elf, size, index) ||
        !read_header(&names, &header, elf, size, header.e_shstrndx) ||
        !lies_within(names.sh_offset, names.sh_size, size) || section.sh_name >= names.sh_size)
        return false;
    out->name = (const char *)elf + names.sh_offset + section.sh_name;
    if (!memchr(out->name, 0, names.sh_size - section.sh_name))
        return false;
    bool has_bytes =
        section.sh_type != SHT_NOBITS && lies_within(section.sh_offset, section.sh_size, size);
    out->data = has_bytes ? elf + section.sh_offset : NULL;
    out->size = has_bytes ? section.sh_size : 0;
    return true;
}

void emu_elf_kernels(char *out, size_t out_size, const uint8_t *elf, size_t size)
{
    struct emu_elf_section section;
    size_t used = 0;

    out[0] = 0;
    for (unsigned i = 0; emu_elf_section(&section, elf, size, i); i++) {
        if (strncmp(section.name, TEXT_PREFIX, strlen(TEXT_PREFIX)) != 0)
            continue;
        used += tsm_format(out + used, out_size - used, "%s%s", used ? ", " : "",
                           section.name + strlen(TEXT_PREFIX));
    }
}
