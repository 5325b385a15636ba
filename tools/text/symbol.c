/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/text/symbol.h"

#include "base/text.h"
#include "tools/terminal.h"

#include <dlfcn.h>
#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CACHE_COUNT_MAX (1u << 20) /* addresses; a program has fewer */

/* A file, opened as if it were loaded at the address where the program had it. */
struct module {
    struct module *next;
    uint64_t bias;
    char *path;
    const char *name; /* in path */
    Dwfl *dwfl;
    Dwfl_Module *dwfl_module; /* NULL: no such file, or not the same one */
};

struct entry {
    uint64_t address; /* 0: free */
    struct tsm_symbol symbol;
};

struct tsm_symbols {
    struct sbt_reader *reader;
    struct module *modules;
    struct entry *entries;
    size_t entry_count, entry_capacity;
    char *(*demangle)(const char *name, char *out, size_t *size, int *status);
    void *cxx;
};

static const Dwfl_Callbacks callbacks = {
    .find_elf = dwfl_build_id_find_elf,
    .find_debuginfo = dwfl_standard_find_debuginfo,
    .section_address = dwfl_offline_section_address,
};

int tsm_symbols_create(struct tsm_symbols **out, struct sbt_reader *reader)
{
    struct tsm_symbols *s = calloc(1, sizeof(*s));

    if (!s)
        return tsm_fail(TSM_E_MEMORY, "out of memory");
    s->reader = reader;
    /* C++'s library is a courtesy, not a dependency: without it names stay mangled */
    s->cxx = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);
    if (s->cxx)
        s->demangle =
            (char *(*)(const char *, char *, size_t *, int *))dlsym(s->cxx, "__cxa_demangle");
    *out = s;
    return 0;
}

static void module_destroy(struct module *m)
{
    if (m->dwfl)
        dwfl_end(m->dwfl);
    free(m->path);
    free(m);
}

void tsm_symbols_destroy(struct tsm_symbols *s)
{
    if (!s)
        return;
    while (s->modules) {
        struct module *next = s->modules->next;
        module_destroy(s->modules);
        s->modules = next;
    }
    for (size_t i = 0; i < s->entry_capacity; i++)
        free((char *)s->entries[i].symbol.function);
    free(s->entries);
    if (s->cxx)
        dlclose(s->cxx);
    free(s);
}

/* ---- modules ------------------------------------------------------------------------------- */

/* How far the file's addresses were moved, from the segment that the mapping is of. */
static bool find_bias(Elf *elf, const struct sbt_mapping *mapping, uint64_t *out)
{
    size_t count = 0;

    if (elf_getphdrnum(elf, &count) != 0)
        return false;
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr segment;
        if (!gelf_getphdr(elf, (int)i, &segment) || segment.p_type != PT_LOAD)
            continue;
        uint64_t page = segment.p_offset & ~(uint64_t)4095;
        if (mapping->file_offset < page ||
            mapping->file_offset >= segment.p_offset + segment.p_filesz)
            continue;
        /* segments of one file may overlap within a page: the one that begins there is meant */
        *out = mapping->start - mapping->file_offset + segment.p_offset - segment.p_vaddr;
        if (mapping->file_offset == page)
            return true;
    }
    return true;
}

/* Paths are a trace's: opening a device or a pipe may do something. */
static int open_regular(const char *path)
{
    struct stat facts;

    return stat(path, &facts) == 0 && S_ISREG(facts.st_mode) ? open(path, O_RDONLY | O_CLOEXEC)
                                                             : -1;
}

/* The file at its recorded path, if it still is the same; else what debuggers keep by build-id. */
static int open_file(const struct sbt_mapping *mapping)
{
    char path[320] = "/usr/lib/debug/.build-id/";
    size_t at = strlen(path);
    int fd = open_regular(mapping->path);

    if (fd >= 0 || !mapping->build_id)
        return fd;
    for (uint32_t i = 0; i < mapping->build_id_size; i++)
        at += tsm_format(path + at, sizeof(path) - at, i == 1 ? "/%02x" : "%02x",
                         mapping->build_id[i]);
    tsm_format(path + at, sizeof(path) - at, ".debug");
    return open_regular(path);
}

static bool same_build(Elf *elf, const struct sbt_mapping *mapping)
{
    const void *id = NULL;
    ssize_t size = mapping->build_id ? dwelf_elf_gnu_build_id(elf, &id) : 0;

    if (!mapping->build_id)
        return true;
    return size == (ssize_t)mapping->build_id_size &&
           memcmp(id, mapping->build_id, (size_t)size) == 0;
}

static void module_load(struct module *m, int fd, const char *path)
{
    m->dwfl = dwfl_begin(&callbacks);
    if (!m->dwfl)
        return;
    dwfl_report_begin(m->dwfl);
    m->dwfl_module = dwfl_report_elf(m->dwfl, m->name, path, fd, m->bias, true);
    dwfl_report_end(m->dwfl, NULL, NULL);
}

static struct module *module_create(const struct sbt_mapping *mapping)
{
    struct module *m = calloc(1, sizeof(*m));
    Elf *elf = NULL;
    int fd = -1;

    if (!m || !(m->path = strdup(mapping->path)))
        goto out;
    const char *slash = strrchr(m->path, '/');
    m->name = slash ? slash + 1 : m->path;
    m->bias = mapping->start - mapping->file_offset;
    elf_version(EV_CURRENT);
    fd = open_file(mapping);
    elf = fd >= 0 ? elf_begin(fd, ELF_C_READ_MMAP, NULL) : NULL;
    if (elf && same_build(elf, mapping) && find_bias(elf, mapping, &m->bias))
        module_load(m, dup(fd), m->path);
out:
    elf_end(elf);
    if (fd >= 0)
        close(fd);
    if (m && !m->path) {
        free(m);
        m = NULL;
    }
    return m;
}

static const struct sbt_mapping *find_mapping(struct sbt_reader *reader, uint64_t address)
{
    /* the latest wins: a library may have been unloaded and another one put there */
    for (size_t i = sbt_reader_mapping_count(reader); i-- > 0;) {
        const struct sbt_mapping *m = sbt_reader_mapping(reader, i);
        if (m && address >= m->start && address < m->end)
            return m;
    }
    return NULL;
}

static struct module *find_module(struct tsm_symbols *s, const struct sbt_mapping *mapping)
{
    struct module *fresh, *m;

    for (m = s->modules; m; m = m->next) {
        GElf_Addr begin = 0, end = 0;
        if (strcmp(m->path, mapping->path) != 0)
            continue;
        if (m->dwfl_module)
            dwfl_module_info(m->dwfl_module, NULL, &begin, &end, NULL, NULL, NULL, NULL);
        if (m->bias == mapping->start - mapping->file_offset ||
            (mapping->start >= begin && mapping->start < end))
            return m;
    }
    fresh = module_create(mapping);
    if (fresh) {
        fresh->next = s->modules;
        s->modules = fresh;
    }
    return fresh;
}

/* ---- addresses ----------------------------------------------------------------------------- */

static char *readable_name(struct tsm_symbols *s, const char *name)
{
    int status = 0;
    char *plain = NULL;

    if (s->demangle && strncmp(name, "_Z", 2) == 0)
        plain = s->demangle(name, NULL, NULL, &status);
    return plain ? plain : strndup(name, strcspn(name, "@")); /* without a symbol version */
}

static void resolve(struct tsm_symbols *s, struct tsm_symbol *out, uint64_t address)
{
    /* a return address is behind the call, maybe on the next line */
    uint64_t inside = address ? address - 1 : 0;
    const struct sbt_mapping *mapping = find_mapping(s->reader, inside);
    struct module *m = mapping ? find_module(s, mapping) : NULL;

    *out = (struct tsm_symbol){0};
    if (!m)
        return;
    out->module = m->name;
    out->offset = address - m->bias;
    if (!m->dwfl_module)
        return;
    GElf_Sym symbol;
    GElf_Off into = 0;
    const char *name =
        dwfl_module_addrinfo(m->dwfl_module, inside, &into, &symbol, NULL, NULL, NULL);
    if (name)
        out->function = readable_name(s, name);
    Dwfl_Line *line = dwfl_module_getsrc(m->dwfl_module, inside);
    int number = 0;
    const char *source = line ? dwfl_lineinfo(line, NULL, &number, NULL, NULL, NULL) : NULL;
    if (source) {
        const char *slash = strrchr(source, '/');
        out->source = slash ? slash + 1 : source;
        out->line = (unsigned)number;
    }
}

static struct entry *slot_of(struct tsm_symbols *s, uint64_t address)
{
    size_t mask = s->entry_capacity - 1, i = address * 0x9e3779b97f4a7c15u >> 20 & mask;

    while (s->entries[i].address && s->entries[i].address != address)
        i = (i + 1) & mask;
    return &s->entries[i];
}

static bool grow(struct tsm_symbols *s)
{
    struct tsm_symbols old = *s;

    if (old.entry_count * 2 < old.entry_capacity)
        return true;
    if (old.entry_count >= CACHE_COUNT_MAX)
        return false;
    s->entry_capacity = old.entry_capacity ? 2 * old.entry_capacity : 256;
    s->entries = calloc(s->entry_capacity, sizeof(*s->entries));
    if (!s->entries) {
        *s = old;
        return false;
    }
    for (size_t i = 0; i < old.entry_capacity; i++) {
        if (old.entries[i].address)
            *slot_of(s, old.entries[i].address) = old.entries[i];
    }
    free(old.entries);
    return true;
}

const struct tsm_symbol *tsm_symbols_find(struct tsm_symbols *s, uint64_t address)
{
    static const struct tsm_symbol unknown;

    if (address == 0 || !grow(s))
        return &unknown;
    struct entry *entry = slot_of(s, address);
    if (!entry->address) {
        entry->address = address;
        s->entry_count++;
        resolve(s, &entry->symbol, address);
    }
    return &entry->symbol;
}

void tsm_symbol_text(char *out, size_t size, const struct tsm_symbol *symbol, uint64_t address)
{
    size_t at = 0;

    if (!symbol->module) {
        tsm_format(out, size, "0x%llx", (unsigned long long)address);
        return;
    }
    if (symbol->function)
        at = tsm_format(out, size, "%s ", symbol->function);
    if (symbol->source)
        at += tsm_format(out + at, size - at, "at %s:%u ", symbol->source, symbol->line);
    tsm_format(out + at, size - at, at ? "(%s+0x%llx)" : "%s+0x%llx", symbol->module,
               (unsigned long long)symbol->offset);
}

void tsm_symbols_write_stack(struct tsm_symbols *symbols, struct sbt_reader *reader, uint32_t stack,
                             struct tsm_text_line *line, unsigned column, FILE *out)
{
    const uint64_t *frames;
    char text[512];
    int count = stack ? sbt_reader_stack(reader, stack, &frames) : 0;

    for (int i = 0; i < count; i++) {
        tsm_symbol_text(text, sizeof(text), tsm_symbols_find(symbols, frames[i]), frames[i]);
        tsm_text_line_pad(line, column);
        tsm_text_line_escape(line, tsm_paint(TSM_PAINT_DIM));
        tsm_text_line_clean(line, text);
        tsm_text_line_escape(line, tsm_paint(TSM_PAINT_NONE));
        tsm_text_line_write(line, out);
    }
}
