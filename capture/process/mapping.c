/* SPDX-License-Identifier: Apache-2.0
 *
 * Which files are mapped where, so that stacks can be symbolised later, elsewhere.
 *
 * The list comes from dl_iterate_phdr, which holds the dynamic linker's lock while it calls back:
 * the callback only copies into memory of its own. What is new is defined after it.
 */
#include "capture/session.h"

#include "base/hash.h"
#include "capture/call/intern.h"
#include "capture/parts.h"
#include "capture/process/mapping.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

#define FOUND_MAX 4096u
#define PATHS_MAX (1u << 20)
#define KNOWN_MAX 16384u

struct found {
    uint64_t start, end, file_offset;
    const char *path;
    uint32_t build_id_size;
    uint8_t build_id[64];
};

struct tsm_mappings {
    uint64_t known[KNOWN_MAX]; /* hashes of what was recorded, an open-addressed set */
    uint32_t known_count;
    uint64_t generation;
    struct found found[FOUND_MAX];
    uint32_t found_count;
    char paths[PATHS_MAX];
    uint32_t paths_used;
    char executable[TSM_PATH_MAX];
};

struct tsm_mappings *tsm_mappings_create(void)
{
    return tsm_memory_map(sizeof(struct tsm_mappings));
}

static void read_build_id(struct found *out, const struct dl_phdr_info *info,
                          const ElfW(Phdr) * note)
{
    const uint8_t *at = (const uint8_t *)(info->dlpi_addr + note->p_vaddr);
    const uint8_t *end = at + note->p_memsz;

    while (end - at >= (ptrdiff_t)sizeof(ElfW(Nhdr))) {
        const ElfW(Nhdr) *n = (const ElfW(Nhdr) *)(const void *)at;
        const uint8_t *name = at + sizeof(*n);
        const uint8_t *value = name + ((n->n_namesz + 3u) & ~3u);

        if ((size_t)(end - name) < ((n->n_namesz + 3u) & ~3u) + (size_t)n->n_descsz)
            return;
        if (n->n_type == NT_GNU_BUILD_ID && n->n_namesz == 4 && memcmp(name, "GNU", 4) == 0 &&
            n->n_descsz <= sizeof(out->build_id)) {
            out->build_id_size = n->n_descsz;
            memcpy(out->build_id, value, n->n_descsz);
            return;
        }
        at = value + ((n->n_descsz + 3u) & ~3u);
    }
}

static const char *keep_path(struct tsm_mappings *m, const char *path)
{
    size_t size = strlen(path) + 1;
    char *copy = m->paths + m->paths_used;

    if (size > PATHS_MAX - m->paths_used)
        return NULL;
    memcpy(copy, path, size);
    m->paths_used += (uint32_t)size;
    return copy;
}

/* One entry for each executable segment: return addresses lie nowhere else. */
static void add_segments(struct tsm_mappings *m, const struct dl_phdr_info *info)
{
    const char *name = info->dlpi_name[0] ? info->dlpi_name : m->executable;
    const char *path = keep_path(m, name);
    struct found base = {.path = path};

    for (int i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type == PT_NOTE && base.build_id_size == 0)
            read_build_id(&base, info, &info->dlpi_phdr[i]);
    }
    for (int i = 0; path && i < info->dlpi_phnum && m->found_count < FOUND_MAX; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type != PT_LOAD || !(p->p_flags & PF_X))
            continue;
        base.start = info->dlpi_addr + p->p_vaddr;
        base.end = base.start + p->p_memsz;
        base.file_offset = p->p_offset;
        m->found[m->found_count++] = base;
    }
}

static int visit(struct dl_phdr_info *info, size_t size, void *argument)
{
    struct tsm_mappings *m = argument;
    uint64_t generation = 1 + info->dlpi_adds + info->dlpi_subs;

    if (m->found_count == 0) {
        if (generation == m->generation)
            return 1; /* nothing changed since the last time */
        m->generation = generation;
    }
    add_segments(m, info);
    return 0;
}

static bool is_new(struct tsm_mappings *m, const struct found *f)
{
    uint64_t parts[4] = {f->start, f->end, f->file_offset, tsm_hash64(f->path, strlen(f->path))};
    uint64_t hash = tsm_hash64(parts, sizeof(parts)) | 1;
    uint32_t at = (uint32_t)(hash / 2 % KNOWN_MAX);

    for (; m->known[at]; at = (at + 1) % KNOWN_MAX) {
        if (m->known[at] == hash)
            return false;
    }
    if (m->known_count >= KNOWN_MAX / 2)
        return false;
    m->known[at] = hash;
    m->known_count++;
    return true;
}

static void define(struct tsm_session *s, const struct found *f)
{
    size_t path_size = strlen(f->path) + 1;
    struct tsm_mapping_entry *e =
        tsm_define_begin(s, sizeof(*e) + path_size + f->build_id_size, TSM_ENTRY_MAPPING);

    if (!e)
        return;
    e->start = f->start;
    e->end = f->end;
    e->file_offset = f->file_offset;
    e->path_size = (uint32_t)path_size;
    e->build_id_size = f->build_id_size;
    memcpy(e + 1, f->path, path_size);
    memcpy((char *)(e + 1) + path_size, f->build_id, f->build_id_size);
    tsm_define_end(s, e);
}

void tsm_mapping_update(struct tsm_session *s)
{
    struct tsm_mappings *m = s->mappings;
    int saved_errno = errno;
    ssize_t length;

    /* Whoever is at it will see what we would see, or the next new stack will. */
    if (__atomic_exchange_n(&s->mapping_busy, 1, __ATOMIC_ACQUIRE))
        return;
    if (!m->executable[0]) {
        length = readlink("/proc/self/exe", m->executable, sizeof(m->executable) - 1);
        m->executable[length > 0 ? length : 0] = '\0';
    }
    m->found_count = 0;
    m->paths_used = 0;
    dl_iterate_phdr(visit, m);
    for (uint32_t i = 0; i < m->found_count; i++) {
        if (is_new(m, &m->found[i]))
            define(s, &m->found[i]);
    }
    __atomic_store_n(&s->mapping_busy, 0, __ATOMIC_RELEASE);
    errno = saved_errno;
}
