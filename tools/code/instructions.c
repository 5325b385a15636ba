/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/code/instructions.h"

#include "base/elf_file.h"
#include "base/output_file.h"
#include "base/text.h"
#include "tools/terminal.h"
#include "tools/text/run_tool.h"
#include "tools/text/x86.h"
#include "tracesmith/error.h"

#include <elf.h>
#include <gelf.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OUTPUT_MAX      ((off_t)1 << 30) /* bytes that a program may print */
#define INSTRUCTION_MAX 192u

/* ---- text -------------------------------------------------------------------------------------
 */

static int print_text(const char *text, size_t size)
{
    char *copy = strndup(text, size);

    if (!copy)
        return tsm_fail(TSM_E_MEMORY, "no memory for %zu bytes of text", size);
    tsm_text_disarm(copy);
    size = strlen(copy);
    printf("%s%s", copy, size && copy[size - 1] == '\n' ? "" : "\n");
    free(copy);
    return 0;
}

/* Prints a file that a program has written. */
static int print_file(int fd)
{
    const off_t size = lseek(fd, 0, SEEK_END);
    char *text = size > 0 && size <= OUTPUT_MAX ? malloc((size_t)size) : NULL;
    int error = 0;

    if (text && pread(fd, text, (size_t)size, 0) == size)
        error = print_text(text, (size_t)size);
    else if (size)
        error = tsm_fail(TSM_E_IO, "%lld bytes of instructions cannot be shown", (long long)size);
    free(text);
    return error;
}

/* ---- sections ---------------------------------------------------------------------------------
 */

static void print_sections(const uint8_t *data, size_t size)
{
    struct tsm_elf_section section, names;
    struct tsm_elf_file file;

    if (!tsm_elf_file_open(&file, data, size) || !tsm_elf_file_section(&file, file.names, &names))
        return;
    for (unsigned i = 1; tsm_elf_file_section(&file, i, &section); i++) {
        const char *texts = (const char *)tsm_elf_file_bytes(&file, &names);
        const bool has_name = texts && section.name < names.size &&
                              memchr(texts + section.name, 0, names.size - section.name);
        printf("  section %s, %" PRIu64 " bytes\n",
               has_name ? tsm_clean(texts + section.name) : "?", section.size);
    }
}

/* Tries the programs in turn; prints the sections where there is none. */
static int print_by(const char *const programs[][6], size_t count, const uint8_t *data, size_t size,
                    const char *missing)
{
    int fd = tsm_output_file_unnamed(), error = TSM_E_NOT_FOUND;

    if (fd < 0)
        return TSM_E_IO;
    for (size_t i = 0; i < count && error == TSM_E_NOT_FOUND; i++)
        error = tsm_run_tool(programs[i], data, size, fd);
    if (!error)
        error = print_file(fd);
    close(fd);
    if (error != TSM_E_NOT_FOUND)
        return error;
    print_sections(data, size);
    printf("  %s\n", missing);
    return 0;
}

static int print_cubin(const uint8_t *data, size_t size)
{
    static const char *const programs[][6] = {
        {"nvdisasm", "--print-code", "/dev/stdin", NULL},
        {"cuobjdump", "--dump-sass", "/dev/stdin", NULL},
    };

    return print_by(programs, 2, data, size,
                    "(not disassembled: neither nvdisasm nor cuobjdump of the CUDA toolkit is in "
                    "PATH)");
}

static int print_amd(const uint8_t *data, size_t size)
{
    static const char *const programs[][6] = {
        {"llvm-objdump", "--disassemble", "--no-show-raw-insn", "-", NULL},
    };

    return print_by(programs, 1, data, size,
                    "(not disassembled: llvm-objdump is not in PATH; Debian: llvm)");
}

/* ---- x86-64 -----------------------------------------------------------------------------------
 */

struct label {
    uint64_t address;
    const char *name; /* in the file */
};

struct labels {
    struct label *list; /* by address */
    size_t count;
};

static int by_address(const void *a, const void *b)
{
    const struct label *x = a, *y = b;

    return (x->address > y->address) - (x->address < y->address);
}

static bool read_labels(struct labels *out, Elf *elf, Elf_Scn *section, const GElf_Shdr *header)
{
    const size_t count = header->sh_entsize ? header->sh_size / header->sh_entsize : 0;
    Elf_Data *data = elf_getdata(section, NULL);
    GElf_Sym symbol;

    if (!data || !count || out->list)
        return true;
    out->list = calloc(count, sizeof(*out->list));
    if (!out->list)
        return false;
    for (size_t i = 0; i < count && gelf_getsym(data, (int)i, &symbol); i++) {
        const char *name = elf_strptr(elf, header->sh_link, symbol.st_name);
        if (GELF_ST_TYPE(symbol.st_info) == STT_FUNC && name)
            out->list[out->count++] = (struct label){symbol.st_value, name};
    }
    qsort(out->list, out->count, sizeof(*out->list), by_address);
    return true;
}

/* Finds names of functions: in .symtab, else in .dynsym. */
static bool find_labels(struct labels *out, Elf *elf)
{
    static const GElf_Word types[] = {SHT_SYMTAB, SHT_DYNSYM};
    GElf_Shdr header;
    bool has_memory = true;

    for (size_t i = 0; i < 2; i++)
        for (Elf_Scn *s = elf_nextscn(elf, NULL); s && has_memory; s = elf_nextscn(elf, s))
            if (gelf_getshdr(s, &header) && header.sh_type == types[i])
                has_memory = read_labels(out, elf, s, &header);
    return has_memory;
}

/* Bytes that are no instruction are shown one by one. */
static void print_instructions(const uint8_t *code, size_t size, uint64_t address,
                               const struct labels *labels)
{
    char text[INSTRUCTION_MAX];
    size_t label = 0;

    for (size_t at = 0, length; at < size; at += length) {
        while (label < labels->count && labels->list[label].address < address + at)
            label++;
        for (; label < labels->count && labels->list[label].address == address + at; label++)
            printf("%s:\n", tsm_clean(labels->list[label].name));
        length = tsm_x86_next(code + at, size - at, address + at, text, sizeof(text));
        if (!length)
            tsm_format(text, sizeof(text), ".byte 0x%02x", code[at]);
        length += !length;
        printf("%8" PRIx64 "  %s\n", address + at, text);
    }
}

static void print_code_sections(Elf *elf, const uint8_t *data, size_t size,
                                const struct labels *labels)
{
    GElf_Shdr header;

    for (Elf_Scn *s = elf_nextscn(elf, NULL); s; s = elf_nextscn(elf, s))
        if (gelf_getshdr(s, &header) && header.sh_type == SHT_PROGBITS &&
            header.sh_flags & SHF_EXECINSTR && header.sh_offset <= size &&
            header.sh_size <= size - header.sh_offset)
            print_instructions(data + header.sh_offset, header.sh_size, header.sh_addr, labels);
}

static int print_x86(const uint8_t *data, size_t size)
{
    struct labels labels = {0};
    Elf *elf;
    int error = 0;

    if (!tsm_x86_is_here()) {
        print_sections(data, size);
        printf("  (not disassembled: the library Capstone is not here; Debian: libcapstone4)\n");
        return 0;
    }
    elf_version(EV_CURRENT);
    elf = elf_memory((char *)(uintptr_t)data, size);
    if (!elf || !find_labels(&labels, elf))
        error = tsm_fail(TSM_E_MEMORY, "no memory for the names of functions");
    else
        print_code_sections(elf, data, size, &labels);
    free(labels.list);
    elf_end(elf);
    return error;
}

/* ---- all --------------------------------------------------------------------------------------
 */

int tsm_code_print(const struct tsm_code_member *member, const struct tsm_code_kernel *kernel,
                   const uint8_t *data, size_t size)
{
    switch (member->kind) {
    case TSM_CODE_PTX:
        if (kernel && kernel->text_size && kernel->text_at + kernel->text_size <= size)
            return print_text((const char *)data + kernel->text_at, kernel->text_size);
        return print_text((const char *)data, size);
    case TSM_CODE_CUBIN:
        return print_cubin(data, size);
    case TSM_CODE_AMD:
        return print_amd(data, size);
    case TSM_CODE_X86:
        return print_x86(data, size);
    default:
        return 0;
    }
}
