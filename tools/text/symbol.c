/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/text/symbol.h"

#include "base/array.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/text.h"
#include "tools/text/demangle.h"
#include "tools/text/mapping_search.h"
#include "tools/text/x86.h"

#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CACHE_COUNT_MAX (1u << 20) /* addresses; a program has fewer */
#define CALL_SIZE_MAX   8u         /* bytes of a call instruction */
#define LOADED_MAX      1024u      /* files opened, once for each address where one was mapped */

/* A file, opened as if it were loaded at the address where the program had it. */
struct module {
    struct module *next;      /* all */
    struct module *same_path; /* the next loaded one whose path has the same hash */
    uint64_t bias;
    uint64_t begin, end; /* of a loaded one */
    char *path;
    const char *name; /* in path */
    Dwfl *dwfl;
    Dwfl_Module *dwfl_module; /* NULL: no such file, or not the same one */
};

struct tsm_symbols {
    struct sbt_reader *reader;
    struct module *modules;
    size_t loaded_count;
    struct mapping_search mappings;
    struct module **of_mapping; /* by the mapping's index; NULL: not asked for */
    struct tsm_map loaded;      /* hash of a path -> module */
    struct tsm_map exact;       /* hash of a path and a bias -> module */
    struct tsm_map by_address;  /* the place in `found` */
    struct tsm_symbol *found;
    size_t found_count, found_capacity;
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
    s->of_mapping = calloc(sbt_reader_mapping_count(reader) + 1, sizeof(struct module *));
    if (!s->of_mapping || mapping_search_init(&s->mappings, reader) < 0) {
        tsm_symbols_destroy(s);
        return tsm_fail(TSM_E_MEMORY, "out of memory");
    }
    *out = s;
    return 0;
}

struct sbt_reader *tsm_symbols_reader(const struct tsm_symbols *s)
{
    return s->reader;
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
    mapping_search_finish(&s->mappings);
    free(s->of_mapping);
    tsm_map_finish(&s->loaded);
    tsm_map_finish(&s->exact);
    for (size_t i = 0; i < s->found_count; i++)
        free((char *)s->found[i].function);
    free(s->found);
    tsm_map_finish(&s->by_address);
    free(s);
}

/* ---- modules ------------------------------------------------------------------------------- */

/* Finds by how much the file's addresses were moved, from the segment that the mapping shows. */
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
    GElf_Addr begin = 0, end = 0;

    m->dwfl = dwfl_begin(&callbacks);
    if (!m->dwfl)
        return;
    dwfl_report_begin(m->dwfl);
    m->dwfl_module = dwfl_report_elf(m->dwfl, m->name, path, fd, m->bias, true);
    dwfl_report_end(m->dwfl, NULL, NULL);
    if (m->dwfl_module)
        dwfl_module_info(m->dwfl_module, NULL, &begin, &end, NULL, NULL, NULL, NULL);
    m->begin = begin;
    m->end = end;
}

static struct module *module_create(const struct sbt_mapping *mapping, bool opens)
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
    fd = opens ? open_file(mapping) : -1;
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

/* Hash of a path and of where the file would be mapped from its beginning. */
static uint64_t exact_key(uint64_t path_hash, uint64_t bias)
{
    return path_hash ^ bias * 0x9e3779b97f4a7c15u;
}

static bool add_module(struct tsm_symbols *s, struct module *m, uint64_t path_hash)
{
    uint64_t *exact, *loaded;
    bool is_new;

    m->next = s->modules;
    s->modules = m;
    exact = tsm_map_insert(&s->exact, exact_key(path_hash, m->bias), &is_new);
    if (exact)
        *exact = (uintptr_t)m;
    if (!m->dwfl_module)
        return exact;
    s->loaded_count++;
    loaded = tsm_map_insert(&s->loaded, path_hash, &is_new);
    if (!loaded)
        return false;
    m->same_path = (struct module *)(uintptr_t)*loaded; /* NOLINT: an address of ours */
    *loaded = (uintptr_t)m;
    return exact;
}

/* Returns the module that was opened for another mapping of the same file. */
static struct module *find_open(struct tsm_symbols *s, const struct sbt_mapping *mapping,
                                uint64_t path_hash)
{
    uint64_t bias = mapping->start - mapping->file_offset;
    uint64_t *place = tsm_map_find(&s->exact, exact_key(path_hash, bias));
    struct module *m = place ? (struct module *)(uintptr_t)*place : NULL; /* NOLINT */

    if (m && m->bias == bias && strcmp(m->path, mapping->path) == 0)
        return m;
    place = tsm_map_find(&s->loaded, path_hash);
    m = place ? (struct module *)(uintptr_t)*place : NULL; /* NOLINT */
    while (m && (mapping->start < m->begin || mapping->start >= m->end ||
                 strcmp(m->path, mapping->path) != 0))
        m = m->same_path;
    return m;
}

static struct module *find_module(struct tsm_symbols *s, size_t index)
{
    const struct sbt_mapping *mapping = sbt_reader_mapping(s->reader, index);
    struct module *m = s->of_mapping[index];
    uint64_t path_hash;

    if (m || !mapping)
        return m;
    path_hash = tsm_hash64(mapping->path, strlen(mapping->path));
    m = find_open(s, mapping, path_hash);
    if (!m) {
        m = module_create(mapping, s->loaded_count < LOADED_MAX);
        if (m && !add_module(s, m, path_hash))
            return NULL;
    }
    s->of_mapping[index] = m;
    return m;
}

/* ---- addresses ----------------------------------------------------------------------------- */

static char *readable_name(const char *name)
{
    char *plain = tsm_demangle(name);

    return plain ? plain : strndup(name, strcspn(name, "@")); /* without a symbol version */
}

static void resolve(struct tsm_symbols *s, struct tsm_symbol *out, uint64_t address)
{
    /* a return address is after the call, maybe on the next line */
    uint64_t inside = address ? address - 1 : 0;
    size_t mapping = mapping_search_find(&s->mappings, inside);
    struct module *m = mapping != MAPPING_NONE ? find_module(s, mapping) : NULL;

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
        out->function = readable_name(name);
    Dwfl_Line *line = dwfl_module_getsrc(m->dwfl_module, inside);
    int number = 0;
    const char *source = line ? dwfl_lineinfo(line, NULL, &number, NULL, NULL, NULL) : NULL;
    if (source) {
        const char *slash = strrchr(source, '/');
        out->source = slash ? slash + 1 : source;
        out->line = (unsigned)number;
    }
}

const struct tsm_symbol *tsm_symbols_find(struct tsm_symbols *s, uint64_t address)
{
    static const struct tsm_symbol unknown;
    uint64_t *place = tsm_map_find(&s->by_address, address);
    bool added;

    if (place)
        return &s->found[*place];
    if (address == 0 || s->found_count >= CACHE_COUNT_MAX ||
        !TSM_ARRAY_RESERVE(s->found, s->found_capacity, s->found_count + 1) ||
        !(place = tsm_map_insert(&s->by_address, address, &added)))
        return &unknown;
    *place = s->found_count++;
    resolve(s, &s->found[*place], address);
    return &s->found[*place];
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

/* Returns up to `size` bytes of code that end at an address of the file; *size says how many. */
static const uint8_t *code_before(Elf *elf, uint64_t end, size_t *size)
{
    size_t count = 0, file_size;
    const char *bytes = elf_rawfile(elf, &file_size);

    if (!bytes || elf_getphdrnum(elf, &count) != 0)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr segment;
        if (!gelf_getphdr(elf, (int)i, &segment) || segment.p_type != PT_LOAD ||
            !(segment.p_flags & PF_X) || end <= segment.p_vaddr ||
            end - segment.p_vaddr > segment.p_filesz || segment.p_offset > file_size ||
            end - segment.p_vaddr > file_size - segment.p_offset)
            continue;
        if (*size > end - segment.p_vaddr)
            *size = end - segment.p_vaddr;
        return (const uint8_t *)bytes + segment.p_offset + (end - segment.p_vaddr) - *size;
    }
    return NULL;
}

/* Writes the instruction that a return address follows. Returns false if it is not known. */
static bool find_call(struct tsm_symbols *s, uint64_t address, char *out, size_t out_size)
{
    const size_t mapping = mapping_search_find(&s->mappings, address - 1);
    struct module *m = mapping != MAPPING_NONE ? find_module(s, mapping) : NULL;
    size_t size = CALL_SIZE_MAX;
    GElf_Addr bias;
    Elf *elf = m && m->dwfl_module ? dwfl_module_getelf(m->dwfl_module, &bias) : NULL;
    const uint8_t *code = elf ? code_before(elf, address - bias, &size) : NULL;

    return code && tsm_x86_call_before(code, size, address - bias, out, out_size);
}

void tsm_symbols_frame_text(struct tsm_symbols *symbols, uint64_t address, char *out, size_t size)
{
    const struct tsm_symbol *symbol = tsm_symbols_find(symbols, address);
    char call[128];
    size_t used;

    tsm_symbol_text(out, size, symbol, address);
    used = strlen(out);
    if (symbol->module && !symbol->function && !symbol->source &&
        find_call(symbols, address, call, sizeof(call)))
        tsm_format(out + used, size - used, ": %s", call);
}
