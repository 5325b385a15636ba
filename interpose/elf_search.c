/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/elf_search.h"

#include "base/bytes.h"
#include "base/text.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- /etc/ld.so.cache ----------------------------------------------------------------------- */

#define OLD_MAGIC      "ld.so-1.7.0"
#define OLD_HEADER     16u
#define OLD_ENTRY      12u
#define NEW_MAGIC      "glibc-ld.so.cache1.1"
#define NEW_MAGIC_SIZE 20u
#define NEW_HEADER     48u
#define NEW_ENTRY      24u

/* flags of an entry: an ELF library of libc 6, of this machine */
#if defined(__x86_64__)
#define ENTRY_FLAGS 0x0303u
#elif defined(__aarch64__)
#define ENTRY_FLAGS 0x0a03u
#else
#error "the ld.so.cache flags of this machine are not known"
#endif

/* An old table may come first; the new one then follows, aligned to 8. */
static struct tsm_view new_table(struct tsm_view cache)
{
    if (tsm_view_left(&cache) > OLD_HEADER && memcmp(cache.at, OLD_MAGIC, sizeof(OLD_MAGIC)) == 0) {
        uint64_t skip = OLD_HEADER + (uint64_t)tsm_get_u32(cache.at + 12) * OLD_ENTRY;

        tsm_view_take(&cache, (size_t)((skip + 7) & ~(uint64_t)7));
    }
    if (cache.failed || tsm_view_left(&cache) < NEW_HEADER ||
        memcmp(cache.at, NEW_MAGIC, NEW_MAGIC_SIZE) != 0)
        cache.failed = true;
    return cache;
}

/* A text of the table, NULL unless it ends inside. */
static const char *table_text(const struct tsm_view *table, uint32_t offset)
{
    const char *text = (const char *)table->at + offset;

    if (offset >= tsm_view_left(table) || !memchr(text, 0, tsm_view_left(table) - (size_t)offset))
        return NULL;
    return text;
}

static const char *table_find(const struct tsm_view *table, const char *name)
{
    uint64_t count = tsm_get_u32(table->at + NEW_MAGIC_SIZE);

    for (uint64_t i = 0; i < count && NEW_HEADER + (i + 1) * NEW_ENTRY <= tsm_view_left(table);
         i++) {
        const uint8_t *entry = table->at + NEW_HEADER + i * NEW_ENTRY;
        const char *key = table_text(table, tsm_get_u32(entry + 4));

        /* An entry with hardware capabilities is another build of a library in the list. */
        if (tsm_get_u32(entry) == ENTRY_FLAGS && tsm_get_u64(entry + 16) == 0 && key &&
            strcmp(key, name) == 0)
            return table_text(table, tsm_get_u32(entry + 8));
    }
    return NULL;
}

static bool copy_path(char *path, size_t path_size, const char *text)
{
    if (!text || strlen(text) >= path_size)
        return false;
    memcpy(path, text, strlen(text) + 1);
    return true;
}

bool tsm_elf_cache_find(const char *cache_path, const char *name, char *path, size_t path_size)
{
    struct stat status;
    struct tsm_view table;
    void *map = MAP_FAILED;
    bool found = false;
    int fd = open(cache_path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return false;
    if (fstat(fd, &status) == 0 && status.st_size > 0)
        map = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (map == MAP_FAILED)
        return false;
    table = new_table(tsm_view_init(map, (size_t)status.st_size));
    if (!table.failed)
        found = copy_path(path, path_size, table_find(&table, name));
    munmap(map, (size_t)status.st_size);
    return found;
}

/* ---- loaded objects ---------------------------------------------------------------------------
 */

void *tsm_elf_object_at(const void *address)
{
    struct link_map *map = NULL;
    Dl_info info;

    if (!address || !dladdr1(address, &info, (void **)&map, RTLD_DL_LINKMAP))
        return NULL;
    return map;
}

struct loaded_search {
    bool (*wanted)(void *context, const char *path);
    void *context;
    char *path;
    size_t path_size;
};

static int see_object(struct dl_phdr_info *info, size_t info_size, void *context)
{
    struct loaded_search *search = context;

    if (!info->dlpi_name || !search->wanted(search->context, info->dlpi_name))
        return 0;
    return copy_path(search->path, search->path_size, info->dlpi_name);
}

bool tsm_elf_loaded(bool (*wanted)(void *context, const char *path), void *context, char *path,
                    size_t path_size)
{
    struct loaded_search search = {wanted, context, path, path_size};

    return dl_iterate_phdr(see_object, &search) != 0;
}

/* ---- the search -------------------------------------------------------------------------------
 */

struct search {
    const char *name;
    void *(*open)(void *context, const char *path);
    void *context;
};

static void *try_path(const struct search *search, const char *path)
{
    return access(path, R_OK) == 0 ? search->open(search->context, path) : NULL;
}

static void *try_directory(const struct search *search, const char *directory)
{
    char path[PATH_MAX];

    if (strlen(directory) + strlen(search->name) + 2 > sizeof(path))
        return NULL;
    tsm_format(path, sizeof(path), "%s/%s", directory[0] ? directory : ".", search->name);
    return try_path(search, path);
}

static void *try_cache(const struct search *search)
{
    char path[PATH_MAX];

    if (!tsm_elf_cache_find(TSM_ELF_CACHE_PATH, search->name, path, sizeof(path)))
        return NULL;
    return try_path(search, path);
}

/* The linker lists an object's directories in the order of its search; the cache, which it does not
 * list, comes before the default directories. */
static void *try_all(const struct search *search, const Dl_serinfo *list)
{
    bool cache_tried = false;
    void *found = NULL;

    for (unsigned i = 0; i < list->dls_cnt && !found; i++) {
        if (!cache_tried && (list->dls_serpath[i].dls_flags & LA_SER_DEFAULT)) {
            cache_tried = true;
            found = try_cache(search);
        }
        if (!found)
            found = try_directory(search, list->dls_serpath[i].dls_name);
    }
    return found || cache_tried ? found : try_cache(search);
}

static void *main_program(void)
{
    struct r_debug *debug = &_r_debug;

    return debug->r_map;
}

void *tsm_elf_search(const char *name, void *object, void *(*open)(void *context, const char *path),
                     void *context)
{
    struct search search = {name, open, context};
    Dl_serinfo size, *list;
    void *found = NULL;

    if (!object)
        object = main_program();
    if (!object || dlinfo(object, RTLD_DI_SERINFOSIZE, &size) != 0)
        return try_cache(&search);
    list = mmap(NULL, size.dls_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (list == MAP_FAILED)
        return NULL;
    list->dls_size = size.dls_size;
    list->dls_cnt = size.dls_cnt;
    if (dlinfo(object, RTLD_DI_SERINFO, list) == 0)
        found = try_all(&search, list);
    munmap(list, size.dls_size);
    return found;
}
