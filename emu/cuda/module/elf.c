/* SPDX-License-Identifier: Apache-2.0 */
#include "emu/cuda/module/elf.h"

#include <elf.h>
#include <string.h>

#include "base/bytes.h"
#include "base/elf_file.h"
#include "base/text.h"

#define MACHINE_CUDA 190 /* EM_CUDA of the ELF registry */
#define TEXT_PREFIX  ".text."

/* No length came with the file: each byte is looked at only if those before it are right. The ABI
 * of device code is never 0. */
size_t emu_elf_size(const uint8_t *elf)
{
    struct tsm_elf_section section;
    struct tsm_elf_file file;

    if (!tsm_elf_file_open(&file, elf, sizeof(Elf64_Ehdr)) || !elf[EI_OSABI])
        return 0;
    size_t end = file.table + (size_t)file.section_count * file.entry_size;
    file.size = end;
    for (unsigned i = 0; i < file.section_count; i++)
        if (tsm_elf_file_section(&file, i, &section) && section.type != SHT_NOBITS &&
            section.offset + section.size > end)
            end = section.offset + section.size;
    return end;
}

bool emu_elf_fits(const uint8_t *elf, size_t size)
{
    struct tsm_elf_file file;

    if (size < sizeof(Elf64_Ehdr))
        return false;
    if (!tsm_elf_file_open(&file, elf, size) || !elf[EI_OSABI])
        return true; /* emu_elf_size() looks no further */
    return tsm_elf_file_part(&file, file.table, (uint64_t)file.section_count * file.entry_size) &&
           emu_elf_size(elf) <= size;
}

bool emu_elf_is_device(const uint8_t *elf, size_t size)
{
    struct tsm_elf_file file;

    return tsm_elf_file_open(&file, elf, size) &&
           tsm_get_u16(elf + offsetof(Elf64_Ehdr, e_machine)) == MACHINE_CUDA;
}

bool emu_elf_section(struct emu_elf_section *out, const uint8_t *elf, size_t size, unsigned index)
{
    struct tsm_elf_section section, names;
    struct tsm_elf_file file;
    const uint8_t *texts;

    if (!tsm_elf_file_open(&file, elf, size) || !tsm_elf_file_section(&file, index, &section) ||
        !tsm_elf_file_section(&file, file.names, &names))
        return false;
    texts = tsm_elf_file_part(&file, names.offset, names.size);
    if (!texts || section.name >= names.size ||
        !memchr(texts + section.name, 0, names.size - section.name))
        return false;
    out->name = (const char *)texts + section.name;
    out->data = tsm_elf_file_bytes(&file, &section);
    out->size = out->data ? section.size : 0;
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
