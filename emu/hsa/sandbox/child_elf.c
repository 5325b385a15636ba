/* SPDX-License-Identifier: Apache-2.0
 *
 * A small loader for code objects, because the dynamic linker opens files: it copies the segments
 * into memory that is there already, relocates, and runs the constructors. Symbols that the file
 * does not have are the C library's and the mathematical library's.
 *
 * The file is hostile, and so is what it does here. The checks give messages for files that are
 * merely damaged; what they do not find ends the sandbox, which is all that code here can do.
 */
#include "emu/hsa/sandbox/child.h"

#include <dlfcn.h>
#include <elf.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE 4096u
#ifndef DT_RELR
#define DT_RELRSZ 35
#define DT_RELR   36
#endif

typedef uint64_t (*resolver)(void);
typedef void (*constructor)(int argc, char **argv, char **envp);

struct object {
    const uint8_t *file;
    uint64_t file_size;
    uint8_t *image;
    uint64_t image_size;
    const Elf64_Phdr *segments;
    uint32_t segment_count;
    const Elf64_Sym *symbols;
    const char *names;
    uint64_t values[DT_RELR + 1]; /* of the dynamic section, by tag */
    char *text;
};

/* Returns the present address for one of the file. Offsets wrap: the memory protects itself. */
static void *at(const struct object *o, uint64_t address)
{
    return (void *)((uintptr_t)o->image + address);
}

static bool fits(uint64_t offset, uint64_t size, uint64_t whole)
{
    return offset <= whole && size <= whole - offset;
}

/* ---- segments ----------------------------------------------------------------------------------
 */

static uint32_t copy_segments(const struct object *o)
{
    for (uint32_t i = 0; i < o->segment_count; i++) {
        const Elf64_Phdr *segment = &o->segments[i];
        if (segment->p_type == PT_TLS)
            return SANDBOX_TLS;
        if (segment->p_type != PT_LOAD)
            continue;
        if (!fits(segment->p_offset, segment->p_filesz, o->file_size) ||
            !fits(segment->p_vaddr, segment->p_memsz, o->image_size) ||
            segment->p_filesz > segment->p_memsz)
            return SANDBOX_FORMAT;
        memcpy(at(o, segment->p_vaddr), o->file + segment->p_offset, segment->p_filesz);
    }
    return SANDBOX_OK;
}

static bool protect(const struct object *o, uint64_t address, uint64_t size, int protection)
{
    uintptr_t start = (uintptr_t)at(o, address) & ~(uintptr_t)(PAGE - 1);
    uintptr_t end = ((uintptr_t)at(o, address) + size + PAGE - 1) & ~(uintptr_t)(PAGE - 1);

    return mprotect((void *)start, end - start, protection) == 0;
}

/* Code, before any of it runs. */
static uint32_t protect_code(const struct object *o)
{
    for (uint32_t i = 0; i < o->segment_count; i++) {
        const Elf64_Phdr *segment = &o->segments[i];
        int protection = PROT_READ | PROT_EXEC;
        if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X))
            continue;
        if (segment->p_flags & PF_W)
            protection |= PROT_WRITE;
        if (!protect(o, segment->p_vaddr, segment->p_memsz, protection))
            return SANDBOX_NO_MEMORY;
    }
    return SANDBOX_OK;
}

/* Protects data that is constant once it is relocated. */
static uint32_t protect_constants(const struct object *o)
{
    bool ok = true;

    for (uint32_t i = 0; i < o->segment_count; i++) {
        const Elf64_Phdr *segment = &o->segments[i];
        bool is_constant = segment->p_type == PT_LOAD && !(segment->p_flags & (PF_W | PF_X));
        if (is_constant && segment->p_memsz)
            ok &= protect(o, segment->p_vaddr, segment->p_memsz, PROT_READ);
        if (segment->p_type == PT_GNU_RELRO && segment->p_memsz >= PAGE)
            ok &= protect(o, segment->p_vaddr, segment->p_memsz & ~(uint64_t)(PAGE - 1), PROT_READ);
    }
    return ok ? SANDBOX_OK : SANDBOX_NO_MEMORY;
}

/* ---- the dynamic section -----------------------------------------------------------------------
 */

static bool is_there(const char *library)
{
    static const char *const libraries[] = {"libc.so.6",           "libm.so.6",  "libpthread.so.0",
                                            "libdl.so.2",          "librt.so.1", "libgcc_s.so.1",
                                            "ld-linux-x86-64.so.2"};

    for (unsigned i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++)
        if (strcmp(library, libraries[i]) == 0)
            return true;
    return false;
}

static uint32_t read_dynamic(struct object *o)
{
    const Elf64_Dyn *dynamic = NULL;

    for (uint32_t i = 0; i < o->segment_count; i++)
        if (o->segments[i].p_type == PT_DYNAMIC &&
            fits(o->segments[i].p_vaddr, o->segments[i].p_memsz, o->image_size))
            dynamic = at(o, o->segments[i].p_vaddr);
    if (!dynamic)
        return SANDBOX_FORMAT;
    for (const Elf64_Dyn *entry = dynamic; entry->d_tag != DT_NULL; entry++)
        if (entry->d_tag > 0 && entry->d_tag <= DT_RELR)
            o->values[entry->d_tag] = entry->d_un.d_val;
    o->symbols = at(o, o->values[DT_SYMTAB]);
    o->names = at(o, o->values[DT_STRTAB]);
    for (const Elf64_Dyn *entry = dynamic; entry->d_tag != DT_NULL; entry++)
        if (entry->d_tag == DT_NEEDED && !is_there(o->names + entry->d_un.d_val)) {
            snprintf(o->text, SANDBOX_TEXT_SIZE, "%s", o->names + entry->d_un.d_val);
            return SANDBOX_LIBRARY;
        }
    return SANDBOX_OK;
}

/* ---- relocations -------------------------------------------------------------------------------
 */

static bool symbol_value(const struct object *o, const Elf64_Sym *symbol, uint64_t *out)
{
    const char *name = o->names + symbol->st_name;

    if (symbol->st_shndx == SHN_ABS) {
        *out = symbol->st_value;
        return true;
    }
    if (symbol->st_shndx != SHN_UNDEF) {
        *out = (uintptr_t)at(o, symbol->st_value);
        if (ELF64_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC)
            *out = ((resolver)*out)();
        return true;
    }
    *out = (uintptr_t)dlsym(RTLD_DEFAULT, name);
    if (*out || ELF64_ST_BIND(symbol->st_info) == STB_WEAK)
        return true;
    snprintf(o->text, SANDBOX_TEXT_SIZE, "%s", name);
    return false;
}

/* Tests for a relocation whose value a function gives: it needs the others, and code that can
 * run. */
static bool is_indirect(const struct object *o, const Elf64_Rela *relocation)
{
    const Elf64_Sym *symbol = &o->symbols[ELF64_R_SYM(relocation->r_info)];

    if (ELF64_R_TYPE(relocation->r_info) == R_X86_64_IRELATIVE)
        return true;
    return ELF64_R_SYM(relocation->r_info) && symbol->st_shndx != SHN_UNDEF &&
           ELF64_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC;
}

static uint32_t relocate_one(const struct object *o, const Elf64_Rela *relocation)
{
    uint64_t value = 0, addend = (uint64_t)relocation->r_addend;
    uint64_t *place = at(o, relocation->r_offset);

    switch (ELF64_R_TYPE(relocation->r_info)) {
    case R_X86_64_NONE:
        return SANDBOX_OK;
    case R_X86_64_RELATIVE:
        *place = (uintptr_t)at(o, addend);
        return SANDBOX_OK;
    case R_X86_64_IRELATIVE:
        *place = ((resolver)at(o, addend))();
        return SANDBOX_OK;
    case R_X86_64_64:
    case R_X86_64_GLOB_DAT:
    case R_X86_64_JUMP_SLOT:
        if (!symbol_value(o, &o->symbols[ELF64_R_SYM(relocation->r_info)], &value))
            return SANDBOX_SYMBOL;
        *place = value + (ELF64_R_TYPE(relocation->r_info) == R_X86_64_64 ? addend : 0);
        return SANDBOX_OK;
    default:
        snprintf(o->text, SANDBOX_TEXT_SIZE, "%u", (unsigned)ELF64_R_TYPE(relocation->r_info));
        return SANDBOX_RELOCATION;
    }
}

static uint32_t relocate(const struct object *o, uint64_t table, uint64_t size, bool indirect)
{
    const Elf64_Rela *relocations = at(o, table);
    uint32_t result = SANDBOX_OK;

    for (uint64_t i = 0; i < size / sizeof(*relocations) && result == SANDBOX_OK; i++)
        if (is_indirect(o, &relocations[i]) == indirect)
            result = relocate_one(o, &relocations[i]);
    return result;
}

/* Addresses in a packed list: a word is a place, or the bits of the 63 after the last one. */
static void relocate_packed(const struct object *o)
{
    const uint64_t *words = at(o, o->values[DT_RELR]);
    uint64_t *place = NULL;

    for (uint64_t i = 0; i < o->values[DT_RELRSZ] / sizeof(*words); i++) {
        if (!(words[i] & 1)) {
            place = at(o, words[i]);
            *place++ += (uintptr_t)o->image;
            continue;
        }
        for (unsigned bit = 0; bit < 63 && place; bit++)
            if (words[i] >> (bit + 1) & 1)
                place[bit] += (uintptr_t)o->image;
        place += place ? 63 : 0;
    }
}

static uint32_t relocate_all(const struct object *o, bool indirect)
{
    uint32_t result = relocate(o, o->values[DT_RELA], o->values[DT_RELASZ], indirect);

    if (result == SANDBOX_OK)
        result = relocate(o, o->values[DT_JMPREL], o->values[DT_PLTRELSZ], indirect);
    return result;
}

/* ---- all of it ---------------------------------------------------------------------------------
 */

static void construct(const struct object *o)
{
    char *nothing[] = {NULL};
    const uint64_t *functions = at(o, o->values[DT_INIT_ARRAY]);

    if (o->values[DT_INIT])
        ((constructor)at(o, o->values[DT_INIT]))(0, nothing, nothing);
    for (uint64_t i = 0; i < o->values[DT_INIT_ARRAYSZ] / sizeof(*functions); i++)
        if (functions[i] && functions[i] != UINT64_MAX)
            ((constructor)(uintptr_t)functions[i])(0, nothing, nothing);
}

uint32_t emu_hsa_child_load(const uint8_t *data, uint64_t size, uint8_t *image, uint64_t image_size,
                            char *text)
{
    const Elf64_Ehdr *header = (const void *)data;
    struct object o = {
        .file = data, .file_size = size, .image = image, .image_size = image_size, .text = text};
    uint32_t result;

    if (size < sizeof(*header) || header->e_phentsize != sizeof(*o.segments) ||
        !fits(header->e_phoff, (uint64_t)header->e_phnum * sizeof(*o.segments), size))
        return SANDBOX_FORMAT;
    o.segments = (const void *)(data + header->e_phoff);
    o.segment_count = header->e_phnum;
    result = copy_segments(&o);
    if (result == SANDBOX_OK)
        result = read_dynamic(&o);
    if (result == SANDBOX_OK) {
        relocate_packed(&o);
        result = relocate_all(&o, false);
    }
    if (result == SANDBOX_OK)
        result = protect_code(&o);
    if (result == SANDBOX_OK)
        result = relocate_all(&o, true);
    if (result == SANDBOX_OK)
        result = protect_constants(&o);
    if (result == SANDBOX_OK)
        construct(&o);
    return result;
}
