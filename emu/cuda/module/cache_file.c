/* SPDX-License-Identifier: Apache-2.0
 *
 * The cache's folder.
 */
#include "emu/cuda/module/cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/text.h"

#define VERSION     1
#define HEADER_SIZE 48
#define RECORD_MAX  (32u << 20) /* a hundred thousand functions take 2 MB */
#define STALE_S     3600        /* a file that never got its name */

static const char magic[8] = "TSPTXREC";
static const char suffix[] = ".ptxrec";
static const char unfinished[] = ".new";

/* ---- names ---- */

/* Finds the cache's folder. Returns false if the program has no home, or runs with the rights of
 * another user. */
static bool folder(char out[PATH_MAX], const char *setting, bool make)
{
    const char *base = setting ? NULL : secure_getenv("XDG_CACHE_HOME");
    const char *home = setting || base ? NULL : secure_getenv("HOME");

    if (setting)
        tsm_format(out, PATH_MAX, "%s", setting);
    else if (base && base[0] == '/')
        tsm_format(out, PATH_MAX, "%s/tracesmith/emu", base);
    else if (home && home[0] == '/')
        tsm_format(out, PATH_MAX, "%s/.cache/tracesmith/emu", home);
    else
        return false;
    for (char *at = out + 1; make && at;) {
        at = strchr(at, '/');
        if (at)
            *at = 0;
        mkdir(out, 0700);
        if (at)
            *at++ = '/';
    }
    return true;
}

static bool path_of(char out[PATH_MAX], const char *setting, const struct sbt_key *key, bool make)
{
    char name[33];

    if (!folder(out, setting, make) || strlen(out) + sizeof(name) + 32 > PATH_MAX)
        return false;
    tsm_key_text(name, key);
    size_t used = strlen(out);
    tsm_format(out + used, PATH_MAX - used, "/%s%s", name, suffix);
    return true;
}

/* ---- one file ---- */

static bool read_all(int file, uint8_t *out, size_t size)
{
    while (size) {
        ssize_t got = read(file, out, size);
        if (got <= 0)
            return false;
        out += got;
        size -= (size_t)got;
    }
    return true;
}

static bool write_all(int file, const uint8_t *data, size_t size)
{
    while (size) {
        ssize_t done = write(file, data, size);
        if (done <= 0)
            return false;
        data += done;
        size -= (size_t)done;
    }
    return true;
}

static void make_header(uint8_t *h, const struct sbt_key *key, const struct tsm_buffer *record)
{
    memcpy(h, magic, sizeof(magic));
    tsm_put_u32(h + 8, VERSION);
    tsm_put_u32(h + 12, 0);
    memcpy(h + 16, key, sizeof(*key));
    tsm_put_u64(h + 32, record->size);
    tsm_put_u64(h + 40, tsm_hash64(record->data, record->size));
}

static bool read_record(int file, const struct sbt_key *key, struct tsm_buffer *record)
{
    uint8_t header[HEADER_SIZE];
    uint8_t wanted[HEADER_SIZE];
    struct stat info;

    if (fstat(file, &info) || !S_ISREG(info.st_mode) || info.st_size <= HEADER_SIZE ||
        info.st_size > RECORD_MAX || !read_all(file, header, sizeof(header)))
        return false;
    size_t size = (size_t)info.st_size - HEADER_SIZE;
    if (!tsm_buffer_reserve(record, size) || !read_all(file, record->data, size))
        return false;
    record->size = size;
    make_header(wanted, key, record);
    return memcmp(header, wanted, sizeof(header)) == 0;
}

bool emu_cache_file_read(const char *setting, const struct sbt_key *key, struct tsm_buffer *record)
{
    char path[PATH_MAX];
    int file = -1;

    if (path_of(path, setting, key, false))
        file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0)
        return false;
    bool ok = read_record(file, key, record);
    if (ok)
        futimens(file, NULL); /* what was used last goes last */
    close(file);
    if (!ok)
        unlink(path);
    return ok;
}

void emu_cache_file_remove(const char *setting, const struct sbt_key *key)
{
    char path[PATH_MAX];

    if (path_of(path, setting, key, false))
        unlink(path);
}

/* ---- how much there is ---- */

struct entry {
    char name[48];
    uint64_t size;
    uint64_t used_ns;
};

struct listing {
    struct entry *entries;
    size_t count;
    size_t capacity;
    uint64_t size;
};

static void add_entry(struct listing *list, const char *name, const struct stat *info)
{
    if (!TSM_ARRAY_RESERVE(list->entries, list->capacity, list->count + 1))
        return;
    struct entry *e = &list->entries[list->count++];
    tsm_format(e->name, sizeof(e->name), "%s", name);
    e->size = (uint64_t)info->st_size;
    e->used_ns = (uint64_t)info->st_mtim.tv_sec * 1000000000u + (uint64_t)info->st_mtim.tv_nsec;
    list->size += e->size;
}

static int compare_used(const void *a, const void *b)
{
    const struct entry *x = a;
    const struct entry *y = b;

    return (x->used_ns > y->used_ns) - (x->used_ns < y->used_ns);
}

/* Only names that this file makes are touched. */
static void list_folder(DIR *dir, struct listing *list)
{
    const struct dirent *e;
    struct stat info;

    while ((e = readdir(dir))) {
        bool is_record =
            strlen(e->d_name) == 32 + sizeof(suffix) - 1 && tsm_text_ends_with(e->d_name, suffix);
        if (fstatat(dirfd(dir), e->d_name, &info, AT_SYMLINK_NOFOLLOW) || !S_ISREG(info.st_mode))
            continue;
        if (is_record)
            add_entry(list, e->d_name, &info);
        else if (strncmp(e->d_name, unfinished, sizeof(unfinished) - 1) == 0 &&
                 info.st_mtime + STALE_S < time(NULL))
            unlinkat(dirfd(dir), e->d_name, 0);
    }
}

/* Room is made for a while: a quarter. */
static void shrink(const char *path, uint64_t size_max)
{
    struct listing list = {0};
    DIR *dir = opendir(path);

    if (!dir)
        return;
    list_folder(dir, &list);
    if (list.size > size_max) {
        qsort(list.entries, list.count, sizeof(list.entries[0]), compare_used);
        for (size_t k = 0; k < list.count && list.size > size_max - size_max / 4; k++) {
            unlinkat(dirfd(dir), list.entries[k].name, 0);
            list.size -= list.entries[k].size;
        }
    }
    free(list.entries);
    closedir(dir);
}

void emu_cache_file_write(const char *setting, uint64_t size_max, const struct sbt_key *key,
                          const struct tsm_buffer *record)
{
    char path[PATH_MAX];
    char temporary[PATH_MAX];
    uint8_t header[HEADER_SIZE];

    if (record->size > RECORD_MAX - HEADER_SIZE || record->size + HEADER_SIZE > size_max ||
        !folder(temporary, setting, true) || !path_of(path, setting, key, false))
        return;
    size_t used = strlen(temporary);
    tsm_format(temporary + used, PATH_MAX - used, "/%sXXXXXX", unfinished);
    /* output: 0600, new, in a folder of our own, renamed when whole */
    int file = mkostemp(temporary, O_CLOEXEC);
    if (file < 0)
        return;
    make_header(header, key, record);
    bool ok =
        write_all(file, header, sizeof(header)) && write_all(file, record->data, record->size);
    ok = close(file) == 0 && ok;
    if (!ok || rename(temporary, path)) {
        unlink(temporary);
        return;
    }
    temporary[used] = 0;
    shrink(temporary, size_max);
}
