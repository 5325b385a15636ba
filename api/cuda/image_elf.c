/* SPDX-License-Identifier: Apache-2.0
 *
 * Cubins: ELF64, little-endian.
 */
#include "api/cuda/image.h"

#include "base/bytes.h"

#include <elf.h>
#include <string.h>

#define INFO_PREFIX  ".nv.info."
#define FORMAT_SIZED 4u /* the attribute's u16 is the size of the data after it */
#define KPARAM_INFO  0x17u

struct section {
    uint32_t name, type, link;
    uint64_t offset, size;
};

/* False when there is no section `index`, or the table leaves the image. */
static bool get_section(const uint8_t *data, uint64_t size, unsigned index, struct section *out)
{
    uint64_t table = tsm_get_u64(data + offsetof(Elf64_Ehdr, e_shoff));
    const uint8_t *at;

    if (index >= tsm_get_u16(data + offsetof(Elf64_Ehdr, e_shnum)) || table > size ||
        (size - table) / sizeof(Elf64_Shdr) <= index)
        return false;
    at = data + table + index * sizeof(Elf64_Shdr);
    out->name = tsm_get_u32(at + offsetof(Elf64_Shdr, sh_name));
    out->type = tsm_get_u32(at + offsetof(Elf64_Shdr, sh_type));
    out->link = tsm_get_u32(at + offsetof(Elf64_Shdr, sh_link));
    out->offset = tsm_get_u64(at + offsetof(Elf64_Shdr, sh_offset));
    out->size = tsm_get_u64(at + offsetof(Elf64_Shdr, sh_size));
    return true;
}

static bool inside(const struct section *section, uint64_t size)
{
    return section->type != SHT_NOBITS && section->offset <= size &&
           section->size <= size - section->offset;
}

static bool is_elf(const uint8_t *data)
{
    return data[EI_CLASS] == ELFCLASS64 && data[EI_DATA] == ELFDATA2LSB &&
           tsm_get_u16(data + offsetof(Elf64_Ehdr, e_shentsize)) == sizeof(Elf64_Shdr);
}

/* 0: there is no such table. */
static uint64_t table_end(uint64_t offset, uint64_t count, uint64_t each)
{
    return count ? offset + count * each : 0;
}

uint64_t cuda_elf_measure(const uint8_t *data, uint64_t limit)
{
    uint64_t segments = tsm_get_u64(data + offsetof(Elf64_Ehdr, e_phoff));
    uint64_t sections = tsm_get_u64(data + offsetof(Elf64_Ehdr, e_shoff));
    uint64_t end = sizeof(Elf64_Ehdr);
    struct section section;

    if (!is_elf(data) || segments > limit || sections > limit)
        return 0;
    segments = table_end(segments, tsm_get_u16(data + offsetof(Elf64_Ehdr, e_phnum)),
                         tsm_get_u16(data + offsetof(Elf64_Ehdr, e_phentsize)));
    sections =
        table_end(sections, tsm_get_u16(data + offsetof(Elf64_Ehdr, e_shnum)), sizeof(Elf64_Shdr));
    end = segments > end ? segments : end;
    end = sections > end ? sections : end;
    for (unsigned i = 0; get_section(data, limit, i, &section); i++)
        if (inside(&section, limit) && section.offset + section.size > end)
            end = section.offset + section.size;
    return end <= limit ? end : 0;
}

static bool lies_within(uint64_t offset, uint64_t count, uint64_t each, uint64_t size)
{
    return count == 0 || each == 0 || (offset <= size && (size - offset) / each >= count);
}

static bool segments_lie_within(const uint8_t *data, uint64_t size)
{
    uint64_t table = tsm_get_u64(data + offsetof(Elf64_Ehdr, e_phoff));
    uint64_t count = tsm_get_u16(data + offsetof(Elf64_Ehdr, e_phnum));

    if (count == 0)
        return true;
    if (tsm_get_u16(data + offsetof(Elf64_Ehdr, e_phentsize)) != sizeof(Elf64_Phdr) ||
        !lies_within(table, count, sizeof(Elf64_Phdr), size))
        return false;
    for (uint64_t i = 0; i < count; i++) {
        const uint8_t *at = data + table + i * sizeof(Elf64_Phdr);
        if (!lies_within(tsm_get_u64(at + offsetof(Elf64_Phdr, p_offset)),
                         tsm_get_u64(at + offsetof(Elf64_Phdr, p_filesz)), 1, size))
            return false;
    }
    return true;
}

bool cuda_elf_is_whole(const uint8_t *data, uint64_t size)
{
    struct section section;

    if (size < sizeof(Elf64_Ehdr) || !is_elf(data) ||
        !lies_within(tsm_get_u64(data + offsetof(Elf64_Ehdr, e_shoff)),
                     tsm_get_u16(data + offsetof(Elf64_Ehdr, e_shnum)), sizeof(Elf64_Shdr), size))
        return false;
    for (unsigned i = 0; get_section(data, size, i, &section); i++)
        if (section.type != SHT_NOBITS && !inside(&section, size))
            return false;
    return segments_lie_within(data, size);
}

static void add_param(const uint8_t *info, struct cuda_signature *signature,
                      struct cuda_param *params)
{
    unsigned ordinal = tsm_get_u16(info + 4);

    if (ordinal >= CUDA_PARAM_COUNT_MAX)
        return;
    while (signature->count <= ordinal)
        params[signature->count++] = (struct cuda_param){0, 0, CUDA_PARAM_BITS};
    params[ordinal].offset = tsm_get_u16(info + 6);
    params[ordinal].size = (uint16_t)(tsm_get_u32(info + 8) >> 18);
}

/* The attributes of one function. */
static void read_info(struct tsm_view view, struct cuda_signature *signature,
                      struct cuda_param *params)
{
    while (!view.failed && tsm_view_left(&view) >= 4) {
        unsigned format = tsm_view_u8(&view), attribute = tsm_view_u8(&view);
        unsigned value = tsm_view_u16(&view);
        const uint8_t *info = format == FORMAT_SIZED ? tsm_view_take(&view, value) : NULL;

        if (info && attribute == KPARAM_INFO && value >= 12)
            add_param(info, signature, params);
    }
}

static void visit_section(const uint8_t *data, size_t size, const struct section *section,
                          const struct section *names, struct cuda_image_visitor *visitor)
{
    struct cuda_signature signature = {.params = visitor->params};
    const char *name = (const char *)data + names->offset + section->name;
    size_t name_size;

    if (!inside(section, size) || section->name >= names->size)
        return;
    name_size = strnlen(name, names->size - section->name);
    if (name_size <= strlen(INFO_PREFIX) || memcmp(name, INFO_PREFIX, strlen(INFO_PREFIX)) != 0)
        return;
    signature.name = name + strlen(INFO_PREFIX);
    signature.name_size = name_size - strlen(INFO_PREFIX);
    read_info(tsm_view_init(data + section->offset, section->size), &signature, visitor->params);
    visitor->visit(visitor->context, &signature);
    visitor->count++;
}

void cuda_elf_functions(const uint8_t *data, size_t size, struct cuda_image_visitor *visitor)
{
    struct section names, section;

    if (size < sizeof(Elf64_Ehdr) || !is_elf(data) ||
        !get_section(data, size, tsm_get_u16(data + offsetof(Elf64_Ehdr, e_shstrndx)), &names) ||
        !inside(&names, size))
        return;
    for (unsigned i = 0; get_section(data, size, i, &section); i++)
        visit_section(data, size, &section, &names, visitor);
}

/* ---- variables ---------------------------------------------------------------------------------
 */

static const char *name_at(const uint8_t *data, const struct section *names, uint32_t at,
                           size_t *size)
{
    const char *name = at < names->size ? (const char *)data + names->offset + at : "";

    *size = at < names->size ? strnlen(name, names->size - at) : 0;
    return name;
}

/* .nv.global, .nv.global.init, and bank 3, where the variables of constant memory are. */
static bool holds_variables(const uint8_t *data, size_t size, unsigned index,
                            const struct section *names)
{
    static const char *const wanted[] = {".nv.global", ".nv.constant3"};
    struct section section;
    size_t length;

    if (!get_section(data, size, index, &section))
        return false;
    const char *name = name_at(data, names, section.name, &length);
    for (size_t i = 0; i < 2; i++)
        if (length >= strlen(wanted[i]) && memcmp(name, wanted[i], strlen(wanted[i])) == 0)
            return true;
    return false;
}

static void visit_symbols(const uint8_t *data, size_t size, const struct section *table,
                          const struct section *texts, const struct section *names,
                          struct cuda_image_visitor *visitor)
{
    for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= table->size; at += sizeof(Elf64_Sym)) {
        const uint8_t *symbol = data + table->offset + at;
        size_t length;
        const char *name = name_at(data, texts, tsm_get_u32(symbol), &length);

        if (ELF64_ST_TYPE(symbol[offsetof(Elf64_Sym, st_info)]) != STT_OBJECT || length == 0 ||
            !holds_variables(data, size, tsm_get_u16(symbol + offsetof(Elf64_Sym, st_shndx)),
                             names))
            continue;
        visitor->visit_variable(visitor->context, name, length);
        visitor->count++;
    }
}

void cuda_elf_variables(const uint8_t *data, size_t size, struct cuda_image_visitor *visitor)
{
    struct section names, table, texts;

    if (size < sizeof(Elf64_Ehdr) || !is_elf(data) ||
        !get_section(data, size, tsm_get_u16(data + offsetof(Elf64_Ehdr, e_shstrndx)), &names) ||
        !inside(&names, size))
        return;
    for (unsigned i = 0; get_section(data, size, i, &table); i++)
        if (table.type == SHT_SYMTAB && inside(&table, size) &&
            get_section(data, size, table.link, &texts) && inside(&texts, size))
            visit_symbols(data, size, &table, &texts, &names, visitor);
}
