/* SPDX-License-Identifier: Apache-2.0 */
#include "api/hsa/code.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "tracesmith/hsa_kernel.h"

#ifndef EM_AMDGPU
#define EM_AMDGPU 224
#endif
#define NT_AMDGPU_METADATA 32u
#define DESCRIPTOR_SIZE    64u /* of AMD's kernels */

/* Returns `size` bytes at `offset` of the file, or NULL. */
static const void *part(const struct hsa_code *code, uint64_t offset, uint64_t size)
{
    return tsm_elf_file_part(&code->file, offset, size);
}

bool hsa_code_open(struct hsa_code *out, const void *data, size_t size)
{
    Elf64_Ehdr header;

    *out = (struct hsa_code){.data = data, .size = size};
    if (!data || !tsm_elf_file_open(&out->file, data, size))
        return false;
    memcpy(&header, data, sizeof(header));
    if (header.e_type != ET_DYN)
        return false;
    out->is_amdgpu = header.e_machine == EM_AMDGPU;
    out->flags = header.e_flags;
    return out->is_amdgpu || header.e_machine == EM_X86_64;
}

/* ---- sections ----------------------------------------------------------------------------------
 */

/* Code objects have section tables of this version of ELF alone. */
static bool section(const struct hsa_code *code, uint32_t index, struct tsm_elf_section *out)
{
    return code->file.entry_size == sizeof(Elf64_Shdr) &&
           tsm_elf_file_section(&code->file, index, out);
}

static bool section_of(const struct hsa_code *code, uint32_t type, struct tsm_elf_section *out)
{
    for (uint32_t i = 0; section(code, i, out); i++)
        if (out->type == type)
            return true;
    return false;
}

static bool segment_at(const struct hsa_code *code, uint32_t index, Elf64_Phdr *out)
{
    Elf64_Ehdr header;
    const void *at;

    memcpy(&header, code->data, sizeof(header));
    if (index >= header.e_phnum || header.e_phentsize != sizeof(*out))
        return false;
    at = part(code, header.e_phoff + (uint64_t)index * sizeof(*out), sizeof(*out));
    if (at)
        memcpy(out, at, sizeof(*out));
    return at != NULL;
}

/* Limit on the memory that a file may take: far more than any does. */
#define IMAGE_MAX ((uint64_t)1 << 30)

uint64_t hsa_code_image_size(const struct hsa_code *code)
{
    Elf64_Phdr segment;
    uint64_t end = 0;

    for (uint32_t i = 0; segment_at(code, i, &segment); i++) {
        if (segment.p_type != PT_LOAD)
            continue;
        if (segment.p_vaddr > IMAGE_MAX || segment.p_memsz > IMAGE_MAX - segment.p_vaddr)
            return 0;
        if (segment.p_vaddr + segment.p_memsz > end)
            end = segment.p_vaddr + segment.p_memsz;
    }
    return end;
}

/* Is what lies at an address of the loaded file only to be read? */
static bool is_constant(const struct hsa_code *code, uint64_t address)
{
    Elf64_Phdr segment;
    bool constant = false;

    for (uint32_t i = 0; segment_at(code, i, &segment); i++)
        if (address - segment.p_vaddr < segment.p_memsz)
            constant |= segment.p_type == PT_GNU_RELRO ||
                        (segment.p_type == PT_LOAD && !(segment.p_flags & PF_W));
    return constant;
}

/* The bytes that lie at an address of the loaded file. */
static const void *at_address(const struct hsa_code *code, uint64_t address, uint64_t size)
{
    Elf64_Phdr segment;

    for (uint32_t i = 0; segment_at(code, i, &segment); i++) {
        uint64_t offset = address - segment.p_vaddr;
        if (segment.p_type == PT_LOAD && address >= segment.p_vaddr && offset < segment.p_filesz &&
            size <= segment.p_filesz - offset)
            return part(code, segment.p_offset + offset, size);
    }
    return NULL;
}

/* ---- kernels -----------------------------------------------------------------------------------
 */

/* AMD's metadata are a note. */
static void add_metadata(const struct hsa_code *code, struct hsa_code_kernels *kernels)
{
    struct tsm_elf_section notes;
    Elf64_Nhdr note;

    for (uint32_t i = 0; section(code, i, &notes); i++) {
        const uint8_t *at = notes.type == SHT_NOTE ? part(code, notes.offset, notes.size) : NULL;
        uint64_t left = at ? notes.size : 0;
        while (left > sizeof(note)) {
            memcpy(&note, at, sizeof(note));
            uint64_t name = ((uint64_t)note.n_namesz + 3) & ~3ull;
            uint64_t size = ((uint64_t)note.n_descsz + 3) & ~3ull;
            uint64_t whole = sizeof(note) + name + size;
            if (whole > left)
                break;
            if (note.n_type == NT_AMDGPU_METADATA)
                hsa_code_metadata(at + sizeof(note) + name, note.n_descsz, kernels);
            at += whole;
            left -= whole;
        }
    }
}

static void read_amd(const uint8_t *descriptor, struct hsa_code_kernel *out)
{
    memcpy(&out->group_size, descriptor, 4);
    memcpy(&out->private_size, descriptor + 4, 4);
    memcpy(&out->arguments_size, descriptor + 8, 4);
}

struct own_kind {
    enum hsa_code_argument_kind kind;
    const char *name;
};

static const struct own_kind *own_kind_of(uint32_t kind)
{
    static const struct own_kind value = {HSA_CODE_ARGUMENT_VALUE, "by_value"},
                                 pointer = {HSA_CODE_ARGUMENT_POINTER, "global_buffer"},
                                 image = {HSA_CODE_ARGUMENT_IMAGE, "image"};

    return kind == TRACESMITH_HSA_ARGUMENT_POINTER ? &pointer
           : kind == TRACESMITH_HSA_ARGUMENT_IMAGE ? &image
                                                   : &value;
}

static bool read_own(const void *descriptor, struct hsa_code_kernel *out)
{
    struct tracesmith_hsa_kernel own;

    memcpy(&own, descriptor, sizeof(own));
    if (own.magic != TRACESMITH_HSA_KERNEL_MAGIC)
        return false;
    out->arguments_size = own.arguments_size;
    out->group_size = own.group_size;
    out->private_size = own.private_size;
    out->has_arguments = true;
    for (uint32_t i = 0; i < TRACESMITH_HSA_ARGUMENT_MAX && own.arguments[i].kind; i++) {
        const struct own_kind *kind = own_kind_of(own.arguments[i].kind);
        struct hsa_code_argument *argument = &out->arguments[out->argument_count++];
        argument->kind = kind->kind;
        argument->offset = own.arguments[i].offset;
        argument->size = own.arguments[i].size;
        tsm_format(argument->value_kind, sizeof(argument->value_kind), "%s", kind->name);
    }
    return true;
}

static bool is_kernel_name(const char *name)
{
    size_t length = strlen(name);

    return length > 3 && strcmp(name + length - 3, ".kd") == 0;
}

/* Reads a kernel's descriptor. Returns false if the symbol is no kernel. */
static bool read_kernel(const struct hsa_code *code, const Elf64_Sym *symbol, const char *name,
                        struct hsa_code_kernel *out)
{
    size_t size = code->is_amdgpu ? DESCRIPTOR_SIZE : sizeof(struct tracesmith_hsa_kernel);
    const void *descriptor = at_address(code, symbol->st_value, size);

    memset(out, 0, sizeof(*out));
    if (!is_kernel_name(name) || !descriptor)
        return false;
    out->name = name;
    if (!code->is_amdgpu)
        return read_own(descriptor, out);
    read_amd(descriptor, out);
    return true;
}

/* ---- symbols -----------------------------------------------------------------------------------
 */

static bool is_listed(const Elf64_Sym *symbol)
{
    unsigned binding = ELF64_ST_BIND(symbol->st_info);

    return symbol->st_shndx != SHN_UNDEF && ELF64_ST_TYPE(symbol->st_info) == STT_OBJECT &&
           (binding == STB_GLOBAL || binding == STB_WEAK);
}

/* Its dynamic symbols and the texts of their names. */
struct symbols {
    const uint8_t *table;
    uint64_t count;
    const char *names;
    uint64_t names_size;
};

static bool open_symbols(const struct hsa_code *code, struct symbols *out)
{
    struct tsm_elf_section symbols, names;

    if (!section_of(code, SHT_DYNSYM, &symbols) || !section(code, symbols.link, &names))
        return false;
    out->table = part(code, symbols.offset, symbols.size);
    out->count = symbols.size / sizeof(Elf64_Sym);
    out->names = (const char *)part(code, names.offset, names.size);
    out->names_size = names.size;
    return out->table && out->names && names.size && out->names[names.size - 1] == '\0';
}

/* Reads a symbol. Returns false if it is none to look up. */
static bool symbol_at(const struct symbols *symbols, uint64_t at, Elf64_Sym *out, const char **name)
{
    memcpy(out, symbols->table + at * sizeof(*out), sizeof(*out));
    if (!is_listed(out) || out->st_name >= symbols->names_size)
        return false;
    *name = symbols->names + out->st_name;
    return true;
}

/* ---- all kernels -------------------------------------------------------------------------------
 */

static int by_name(const void *a, const void *b)
{
    const struct hsa_code_kernel *x = a, *y = b;

    return strcmp(x->name, y->name);
}

static bool add(struct hsa_code_kernels *kernels, const struct hsa_code_kernel *kernel)
{
    return TSM_ARRAY_PUSH(kernels->all, kernels->count, kernels->capacity, *kernel);
}

bool hsa_code_kernels_init(struct hsa_code_kernels *out, const struct hsa_code *code)
{
    struct hsa_code_kernel kernel;
    struct symbols symbols;
    Elf64_Sym symbol;
    const char *name;

    memset(out, 0, sizeof(*out));
    if (!open_symbols(code, &symbols))
        return true;
    for (uint64_t i = 0; i < symbols.count; i++) {
        if (!symbol_at(&symbols, i, &symbol, &name) || !read_kernel(code, &symbol, name, &kernel))
            continue;
        if (!add(out, &kernel)) {
            hsa_code_kernels_finish(out);
            return false;
        }
    }
    if (out->count)
        qsort(out->all, out->count, sizeof(*out->all), by_name);
    if (code->is_amdgpu)
        add_metadata(code, out);
    return true;
}

void hsa_code_kernels_finish(struct hsa_code_kernels *kernels)
{
    free(kernels->all);
    memset(kernels, 0, sizeof(*kernels));
}

struct hsa_code_kernel *hsa_code_kernels_find(const struct hsa_code_kernels *kernels,
                                              const char *name, size_t size)
{
    size_t low = 0, high = kernels->count;

    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = strncmp(kernels->all[middle].name, name, size);
        if (!order)
            order = kernels->all[middle].name[size] != '\0';
        if (!order)
            return &kernels->all[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

bool hsa_code_each(const struct hsa_code *code,
                   bool (*visit)(void *user, const struct hsa_code_symbol *symbol), void *user)
{
    struct hsa_code_kernels kernels;
    struct symbols symbols;
    Elf64_Sym symbol;
    bool goes_on = true;

    if (!open_symbols(code, &symbols))
        return true;
    if (!hsa_code_kernels_init(&kernels, code))
        return false;
    for (uint64_t i = 0; i < symbols.count && goes_on; i++) {
        struct hsa_code_symbol found = {0};
        if (!symbol_at(&symbols, i, &symbol, &found.name))
            continue;
        found.address = symbol.st_value;
        found.size = symbol.st_size;
        found.is_constant = is_constant(code, symbol.st_value);
        found.kernel = hsa_code_kernels_find(&kernels, found.name, strlen(found.name));
        goes_on = visit(user, &found);
    }
    hsa_code_kernels_finish(&kernels);
    return goes_on;
}
