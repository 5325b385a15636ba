/* SPDX-License-Identifier: Apache-2.0
 *
 * Cubins: ELF64, little-endian.
 */
#include "api/cuda/image.h"

#include "base/bytes.h"
#include "base/elf_file.h"

#include <elf.h>
#include <string.h>

#define INFO_PREFIX  ".nv.info."
#define FORMAT_SIZED 4u /* the attribute's u16 is the size of the data after it */
#define KPARAM_INFO  0x17u

/* Cubins have section tables of this version of ELF alone. */
static bool open_file(struct tsm_elf_file *out, const uint8_t *data, uint64_t size)
{
    return tsm_elf_file_open(out, data, size) && out->entry_size == sizeof(Elf64_Shdr);
}

/* 0: there is no such table. */
static uint64_t table_end(uint64_t offset, uint64_t count, uint64_t each)
{
    return count ? offset + count * each : 0;
}

uint64_t cuda_elf_measure(const uint8_t *data, uint64_t limit)
{
    uint64_t end = sizeof(Elf64_Ehdr), segments, sections;
    struct tsm_elf_section section;
    struct tsm_elf_file file;

    if (!open_file(&file, data, limit))
        return 0;
    segments = tsm_get_u64(data + offsetof(Elf64_Ehdr, e_phoff));
    if (segments > limit || file.table > limit)
        return 0;
    segments = table_end(segments, tsm_get_u16(data + offsetof(Elf64_Ehdr, e_phnum)),
                         tsm_get_u16(data + offsetof(Elf64_Ehdr, e_phentsize)));
    sections = table_end(file.table, file.section_count, file.entry_size);
    end = segments > end ? segments : end;
    end = sections > end ? sections : end;
    for (unsigned i = 0; tsm_elf_file_section(&file, i, &section); i++)
        if (tsm_elf_file_bytes(&file, &section) && section.offset + section.size > end)
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
    struct tsm_elf_section section;
    struct tsm_elf_file file;

    if (!open_file(&file, data, size) ||
        !lies_within(file.table, file.section_count, file.entry_size, size))
        return false;
    for (unsigned i = 0; tsm_elf_file_section(&file, i, &section); i++)
        if (section.type != SHT_NOBITS && !tsm_elf_file_bytes(&file, &section))
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

/* Bytes that hold names. */
struct names {
    const char *bytes;
    uint64_t size;
};

static bool read_names(struct names *out, const struct tsm_elf_file *file, uint32_t index)
{
    struct tsm_elf_section section;

    if (!tsm_elf_file_section(file, index, &section))
        return false;
    *out = (struct names){(const char *)tsm_elf_file_bytes(file, &section), section.size};
    return out->bytes != NULL;
}

/* Returns the name at `at`, which nothing ends but *size; "" if there is none. */
static const char *name_at(const struct names *names, uint32_t at, size_t *size)
{
    *size = at < names->size ? strnlen(names->bytes + at, names->size - at) : 0;
    return at < names->size ? names->bytes + at : "";
}

static void visit_section(const struct tsm_elf_file *file, const struct tsm_elf_section *section,
                          const struct names *names, struct cuda_image_visitor *visitor)
{
    struct cuda_signature signature = {.params = visitor->params};
    const uint8_t *bytes = tsm_elf_file_bytes(file, section);
    size_t size;
    const char *name = name_at(names, section->name, &size);

    if (!bytes || size <= strlen(INFO_PREFIX) ||
        memcmp(name, INFO_PREFIX, strlen(INFO_PREFIX)) != 0)
        return;
    signature.name = name + strlen(INFO_PREFIX);
    signature.name_size = size - strlen(INFO_PREFIX);
    read_info(tsm_view_init(bytes, section->size), &signature, visitor->params);
    visitor->visit(visitor->context, &signature);
    visitor->count++;
}

void cuda_elf_functions(const uint8_t *data, size_t size, struct cuda_image_visitor *visitor)
{
    struct tsm_elf_section section;
    struct tsm_elf_file file;
    struct names names;

    if (!open_file(&file, data, size) || !read_names(&names, &file, file.names))
        return;
    for (unsigned i = 0; tsm_elf_file_section(&file, i, &section); i++)
        visit_section(&file, &section, &names, visitor);
}

/* ---- variables ---------------------------------------------------------------------------------
 */

/* .nv.global, .nv.global.init, and bank 3, where the variables of constant memory are. */
static bool holds_variables(const struct tsm_elf_file *file, unsigned index,
                            const struct names *names)
{
    static const char *const wanted[] = {".nv.global", ".nv.constant3"};
    struct tsm_elf_section section;
    size_t length;

    if (!tsm_elf_file_section(file, index, &section))
        return false;
    const char *name = name_at(names, section.name, &length);
    for (size_t i = 0; i < 2; i++)
        if (length >= strlen(wanted[i]) && memcmp(name, wanted[i], strlen(wanted[i])) == 0)
            return true;
    return false;
}

static void visit_symbols(const struct tsm_elf_file *file, const uint8_t *table, uint64_t size,
                          const struct names *texts, const struct names *names,
                          struct cuda_image_visitor *visitor)
{
    for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= size; at += sizeof(Elf64_Sym)) {
        const uint8_t *symbol = table + at;
        size_t length;
        const char *name = name_at(texts, tsm_get_u32(symbol), &length);

        if (ELF64_ST_TYPE(symbol[offsetof(Elf64_Sym, st_info)]) != STT_OBJECT || length == 0 ||
            !holds_variables(file, tsm_get_u16(symbol + offsetof(Elf64_Sym, st_shndx)), names))
            continue;
        visitor->visit_variable(visitor->context, name, length);
        visitor->count++;
    }
}

void cuda_elf_variables(const uint8_t *data, size_t size, struct cuda_image_visitor *visitor)
{
    struct tsm_elf_section table;
    struct tsm_elf_file file;
    struct names names, texts;

    if (!open_file(&file, data, size) || !read_names(&names, &file, file.names))
        return;
    for (unsigned i = 0; tsm_elf_file_section(&file, i, &table); i++) {
        const uint8_t *bytes = table.type == SHT_SYMTAB ? tsm_elf_file_bytes(&file, &table) : NULL;
        if (bytes && read_names(&texts, &file, table.link))
            visit_symbols(&file, bytes, table.size, &texts, &names, visitor);
    }
}
