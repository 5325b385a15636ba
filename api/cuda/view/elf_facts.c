/* SPDX-License-Identifier: Apache-2.0
 *
 * Facts of a cubin's kernels. Found by comparing cubins with what `ptxas -v` says:
 * ".nv.info.KERNEL" and ".nv.info" hold attributes as in api/cuda/image.h, of which the latter's
 * begin with the index of the kernel's symbol; ".nv.shared.KERNEL" and ".nv.constant0.KERNEL" are
 * as long as what they are named after, the former with 1 KiB of the system's in files that reserve
 * it.
 */
#include "api/cuda/view/kernel_facts.h"

#include <elf.h>
#include <string.h>

#include "base/bytes.h"
#include "base/elf_file.h"
#include "base/text.h"

#define FORMAT_SIZED 4u
#define MAX_THREADS  0x05u /* u32 x, y, z */
#define REQUIRED     0x10u /* the same: .reqntid */
#define FRAME_SIZE   0x11u /* u32 symbol, bytes */
#define REGISTERS    0x2fu /* u32 symbol, count */

#define RESERVED      ".nv.shared.reserved.0"
#define RESERVED_SIZE 1024u

struct cubin {
    struct tsm_elf_file file;
    struct cuda_code_facts *facts;
};

/* Returns the name at `at` of a section of names; NULL: there is none. */
static const char *name_in(const struct cubin *c, uint32_t section, uint32_t at)
{
    struct tsm_elf_section names;
    const char *bytes;

    if (!tsm_elf_file_section(&c->file, section, &names))
        return NULL;
    bytes = (const char *)tsm_elf_file_bytes(&c->file, &names);
    return bytes && at < names.size && memchr(bytes + at, 0, names.size - at) ? bytes + at : NULL;
}

/* Returns the kernel that a section with such a name belongs to; NULL: it is another section. */
static struct cuda_kernel_facts *kernel_of(const struct cubin *c, const char *name,
                                           const char *prefix)
{
    const size_t length = strlen(prefix);

    return strncmp(name, prefix, length) == 0
               ? cuda_facts_find(c->facts, name + length, strlen(name + length))
               : NULL;
}

static uint32_t product(const uint8_t *dimensions)
{
    const uint64_t all = (uint64_t)tsm_get_u32(dimensions) * tsm_get_u32(dimensions + 4);

    return all <= UINT16_MAX && tsm_get_u32(dimensions + 8) <= UINT16_MAX
               ? (uint32_t)all * tsm_get_u32(dimensions + 8)
               : CUDA_FACT_UNKNOWN;
}

static void read_own(struct cuda_kernel_facts *kernel, unsigned attribute, const uint8_t *data,
                     size_t size)
{
    if (attribute == MAX_THREADS && size >= 12)
        kernel->max_threads = product(data);
    for (unsigned i = 0; attribute == REQUIRED && size >= 12 && i < 3; i++)
        kernel->block[i] = tsm_get_u32(data + 4 * (size_t)i);
}

/* Returns the kernel whose symbol has that index. */
static struct cuda_kernel_facts *kernel_at(const struct cubin *c, uint32_t link, uint32_t index)
{
    struct tsm_elf_section symbols;
    const uint8_t *symbol;
    const char *name;

    if (!tsm_elf_file_section(&c->file, link, &symbols) || symbols.type != SHT_SYMTAB ||
        index >= symbols.size / sizeof(Elf64_Sym))
        return NULL;
    symbol =
        tsm_elf_file_part(&c->file, symbols.offset + index * sizeof(Elf64_Sym), sizeof(Elf64_Sym));
    name = symbol ? name_in(c, symbols.link, tsm_get_u32(symbol)) : NULL;
    return name ? cuda_facts_find(c->facts, name, strlen(name)) : NULL;
}

/* The attributes of one kernel, or (NULL) of all. */
static void read_info(const struct cubin *c, const struct tsm_elf_section *section,
                      struct cuda_kernel_facts *kernel)
{
    const uint8_t *bytes = tsm_elf_file_bytes(&c->file, section);
    struct tsm_view view;

    if (!bytes)
        return;
    view = tsm_view_init(bytes, section->size);
    while (!view.failed && tsm_view_left(&view) >= 4) {
        const unsigned format = tsm_view_u8(&view), attribute = tsm_view_u8(&view);
        const unsigned value = tsm_view_u16(&view);
        const uint8_t *data = format == FORMAT_SIZED ? tsm_view_take(&view, value) : NULL;
        struct cuda_kernel_facts *named;

        if (data && kernel)
            read_own(kernel, attribute, data, value);
        named = data && !kernel && value >= 8 && (attribute == FRAME_SIZE || attribute == REGISTERS)
                    ? kernel_at(c, section->link, tsm_get_u32(data))
                    : NULL;
        if (named && attribute == FRAME_SIZE)
            named->local = tsm_get_u32(data + 4);
        else if (named)
            named->registers = tsm_get_u32(data + 4);
    }
}

static uint32_t limited(uint64_t size)
{
    return size < CUDA_FACT_UNKNOWN ? (uint32_t)size : CUDA_FACT_UNKNOWN;
}

static void read_section(const struct cubin *c, const struct tsm_elf_section *section)
{
    const char *name = name_in(c, c->file.names, section->name);
    struct cuda_kernel_facts *kernel;

    if (!name)
        return;
    if ((kernel = kernel_of(c, name, ".nv.shared.")))
        kernel->shared = limited(section->size);
    else if ((kernel = kernel_of(c, name, ".nv.constant0.")))
        kernel->constant = limited(section->size);
    else if ((kernel = kernel_of(c, name, ".nv.info.")) || !strcmp(name, ".nv.info"))
        read_info(c, section, kernel);
}

static bool has_section(const struct cubin *c, const char *wanted)
{
    struct tsm_elf_section section;

    for (unsigned i = 0; tsm_elf_file_section(&c->file, i, &section); i++) {
        const char *name = name_in(c, c->file.names, section.name);
        if (name && !strcmp(name, wanted))
            return true;
    }
    return false;
}

void cuda_facts_of_elf(struct cuda_code_facts *facts, const uint8_t *data, size_t size)
{
    struct cubin c = {.facts = facts};
    struct tsm_elf_section section;
    uint32_t flags;

    if (!tsm_elf_file_open(&c.file, data, size))
        return;
    flags = tsm_get_u32(data + offsetof(Elf64_Ehdr, e_flags));
    if (!facts->architecture) /* from ABI version 8 on the low byte is something else */
        facts->architecture = data[EI_ABIVERSION] >= 8 ? flags >> 8 & 0xffff : flags & 0xff;
    tsm_format(facts->target, sizeof(facts->target), "sm_%u", facts->architecture);
    for (size_t i = 0; i < facts->count; i++)
        facts->kernels[i].shared = 0; /* there is no section for none */
    for (unsigned i = 0; tsm_elf_file_section(&c.file, i, &section); i++)
        read_section(&c, &section);
    if (has_section(&c, RESERVED))
        for (size_t i = 0; i < facts->count; i++)
            if (facts->kernels[i].shared >= RESERVED_SIZE)
                facts->kernels[i].shared -= RESERVED_SIZE;
}
