/* SPDX-License-Identifier: Apache-2.0
 *
 * libts_audit.so, for `tsrecord --audit`: an auditor of the dynamic linker (man 7 rtld-audit) that
 * gives our shim where a driver's library was asked for. It reaches what a preloaded library
 * cannot: plugins opened with dlmopen(), or with RTLD_DEEPBIND in programs linked to the driver.
 *
 * The name is replaced only when a search finds the real library, so that it fails where it would
 * fail without us. Searches that libts_capture.so makes, to find the real one, are left alone.
 *
 * It lives in a namespace of its own with its own libc, before the program's first instruction.
 */
#include "interpose/elf_search.h"

#include "base/text.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT unsigned int la_version(unsigned int version);
EXPORT char *la_objsearch(const char *name, uintptr_t *cookie, unsigned int flag);

/* Libraries that are replaced, and the file that replaces each. */
static const char *const sonames[][2] = {
    {"libcuda.so.1", "libcuda.so.1"},
    {"libcuda.so", "libcuda.so.1"},
};
static char shim_directory[PATH_MAX];

unsigned int la_version(unsigned int version)
{
    char path[PATH_MAX];
    Dl_info info;

    /* The shims lie beside this library. */
    if (dladdr(sonames, &info) && info.dli_fname && realpath(info.dli_fname, path)) {
        *strrchr(path, '/') = '\0';
        tsm_format(shim_directory, sizeof(shim_directory), "%s/shim", path);
    }
    return version < LAV_CURRENT ? version : LAV_CURRENT;
}

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static const char *shim_of(const char *path)
{
    for (size_t i = 0; i < sizeof(sonames) / sizeof(sonames[0]); i++)
        if (strcmp(file_name(path), sonames[i][0]) == 0)
            return sonames[i][1];
    return NULL;
}

static void *exists(void *context, const char *path)
{
    return context;
}

static bool real_exists(const char *name, struct link_map *asker)
{
    if (strchr(name, '/'))
        return access(name, R_OK) == 0;
    return tsm_elf_search(name, asker, exists, shim_directory) != NULL;
}

char *la_objsearch(const char *name, uintptr_t *cookie, unsigned int flag)
{
    static char shim[PATH_MAX];                          /* the linker copies it, under its lock */
    struct link_map *asker = (struct link_map *)*cookie; /* its initial value */
    const char *file = flag == LA_SER_ORIG ? shim_of(name) : NULL;
    int saved_errno = errno;

    if (file && strcmp(file_name(asker->l_name), "libts_capture.so") != 0 &&
        real_exists(name, asker)) {
        tsm_format(shim, sizeof(shim), "%s/%s", shim_directory, file);
        if (access(shim, R_OK) == 0)
            name = shim;
    }
    errno = saved_errno;
    return (char *)(uintptr_t)name;
}
