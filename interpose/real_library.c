/* SPDX-License-Identifier: Apache-2.0
 *
 * No locks: whoever opens a library first publishes its handle with one atomic operation, and
 * bind() may run on two threads at once (it writes the same values).
 */
#include "interpose/real_library.h"

#include "api/api.h"
#include "base/log.h"
#include "base/text.h"
#include "capture/capture.h"
#include "interpose/elf_search.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static _Atomic(void *) opened[TSM_SOURCE_MAX];
static _Atomic(void *) shims[TSM_SOURCE_MAX];
static char found_path[TSM_SOURCE_MAX][PATH_MAX]; /* valid when found[i] */
static atomic_int found[TSM_SOURCE_MAX];          /* 0 no, 1 being written, 2 yes */
static char own_directory[PATH_MAX];

extern const char __ehdr_start[] __attribute__((visibility("hidden"))); /* where we are loaded */

/* ---- libc -------------------------------------------------------------------------------------
 */

/* dlopen and dlsym moved from libdl to libc in 2.34; each place has its own version. With one,
 * ours, which has none, is not found. */
static void *linker_function(const char *name)
{
    static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17"};
    void *address = NULL;

    /* The next one: another preloaded library's counts too. One that came as a dependency of the
     * shim, in a namespace of dlmopen(), can have libc before it; then any. */
    for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]) && !address; i++)
        address = dlvsym(RTLD_NEXT, name, versions[i]);
    for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]) && !address; i++)
        address = dlvsym(RTLD_DEFAULT, name, versions[i]);
    return address;
}

void *(*tsm_libc_dlsym(void))(void *handle, const char *name)
{
    static _Atomic(void *) function;
    void *address = atomic_load_explicit(&function, memory_order_relaxed);

    if (!address) {
        address = linker_function("dlsym");
        atomic_store_explicit(&function, address, memory_order_relaxed);
    }
    return (void *(*)(void *, const char *))address;
}

void *(*tsm_libc_dlopen(void))(const char *path, int mode)
{
    static _Atomic(void *) function;
    void *address = atomic_load_explicit(&function, memory_order_relaxed);

    if (!address) {
        address = linker_function("dlopen");
        atomic_store_explicit(&function, address, memory_order_relaxed);
    }
    return (void *(*)(const char *, int))address;
}

void *tsm_libc_function(const char *name)
{
    void *address = tsm_libc_dlsym()(RTLD_NEXT, name);

    if (!address) /* see linker_function */
        address = tsm_libc_dlsym()(tsm_libc_dlopen()("libc.so.6", RTLD_LAZY | RTLD_NOLOAD), name);
    return address;
}

void *tsm_libc_old_function(const char *name)
{
    void *address = dlvsym(RTLD_NEXT, name, "GLIBC_2.2.5");

    if (!address) /* see linker_function */
        address = dlvsym(tsm_libc_dlopen()("libc.so.6", RTLD_LAZY | RTLD_NOLOAD), name,
                         "GLIBC_2.2.5");
    return address;
}

void *tsm_real_symbol(void *real, const char *name)
{
    void *address = tsm_libc_dlsym()(real, name);

    if (!address)
        dlerror(); /* the program did not ask: it must not find our error */
    return address;
}

/* ---- names ------------------------------------------------------------------------------------
 */

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* `file` is `soname`, or that and digits and dots: a library's file carries the driver's version.
 */
static bool is_soname(const char *file, const char *soname)
{
    size_t length = strlen(soname);

    if (strncmp(file, soname, length) != 0)
        return false;
    file += length;
    return *file == '\0' ||
           (*file == '.' && file[1] && strspn(file, "0123456789.") == strlen(file));
}

int tsm_real_library_named(const char *path)
{
    const char *file = file_name(path);

    for (unsigned i = 0; i < TSM_SOURCE_MAX && tsm_sources[i]; i++) {
        const char *const *soname = tsm_sources[i]->sonames;

        for (; soname && *soname; soname++)
            if (is_soname(file, *soname))
                return (int)i;
    }
    return -1;
}

/* ---- the shim ---------------------------------------------------------------------------------
 */

/* dladdr() would look at each of our symbols. */
static int find_own_name(struct dl_phdr_info *info, size_t size, void *name)
{
    if (info->dlpi_addr != (ElfW(Addr))(uintptr_t)__ehdr_start)
        return 0;
    *(const char **)name = info->dlpi_name;
    return 1;
}

/* Before the program can change its directory: a relative LD_PRELOAD gives a relative name. */
__attribute__((constructor)) static void remember_directory(void)
{
    int saved_errno = errno;
    const char *name = NULL;
    char path[PATH_MAX];

    if (!own_directory[0] && dl_iterate_phdr(find_own_name, &name) && name && name[0] &&
        realpath(name, path)) {
        *strrchr(path, '/') = '\0';
        tsm_format(own_directory, sizeof(own_directory), "%s", path);
    }
    errno = saved_errno;
}

bool tsm_own_file(const char *name, char *path, size_t path_size)
{
    remember_directory(); /* another constructor may ask */
    tsm_format(path, path_size, "%s/%s", own_directory, name);
    return own_directory[0] && access(path, R_OK) == 0;
}

bool tsm_shim_path(unsigned index, char *path, size_t path_size)
{
    tsm_format(path, path_size, "%s/shim/%s", own_directory, tsm_sources[index]->sonames[0]);
    return own_directory[0] && access(path, R_OK) == 0;
}

void *tsm_shim_opened(unsigned index)
{
    return atomic_load(&shims[index]);
}

void *tsm_shim_open(unsigned index)
{
    void *handle = tsm_shim_opened(index), *expected = NULL;
    char path[PATH_MAX];

    if (handle || !tsm_shim_path(index, path, sizeof(path)))
        return handle;
    handle = tsm_libc_dlopen()(path, RTLD_LAZY | RTLD_LOCAL);
    if (!handle)
        return NULL;
    if (!atomic_compare_exchange_strong(&shims[index], &expected, handle))
        dlclose(handle);
    return handle;
}

/* ---- the real library -------------------------------------------------------------------------
 */

void *tsm_real_library_opened(unsigned index)
{
    return atomic_load(&opened[index]);
}

/* Is this loaded object the real library of source *context? */
static bool is_real(void *context, const char *path)
{
    unsigned index = *(unsigned *)context;
    char shim[PATH_MAX];

    if (tsm_real_library_named(path) != (int)index)
        return false;
    return !tsm_shim_path(index, shim, sizeof(shim)) || strcmp(path, shim) != 0;
}

bool tsm_real_library_loaded(unsigned index)
{
    char path[PATH_MAX];

    return tsm_elf_loaded(is_real, &index, path, sizeof(path));
}

struct open_request {
    unsigned index;
    int mode;
};

static void *open_candidate(void *context, const char *path)
{
    struct open_request *request = context;

    return is_real(&request->index, path) ? tsm_libc_dlopen()(path, request->mode) : NULL;
}

static void *note_candidate(void *context, const char *path)
{
    unsigned index = *(unsigned *)context;
    int expected = 0;

    if (!is_real(&index, path))
        return NULL;
    if (atomic_compare_exchange_strong(&found[index], &expected, 1)) {
        tsm_format(found_path[index], sizeof(found_path[index]), "%s", path);
        atomic_store(&found[index], 2);
    }
    return found_path[index];
}

bool tsm_real_library_exists(unsigned index, const void *caller)
{
    return atomic_load(&found[index]) == 2 ||
           tsm_elf_search(tsm_sources[index]->sonames[0], tsm_elf_object_at(caller), note_candidate,
                          &index) != NULL;
}

/* Opens a library like the linker: a path is a path; a name is first searched among the loaded
 * libraries. */
static void *open_as_linker(struct open_request *request, const char *name, const void *caller)
{
    char path[PATH_MAX];

    if (strchr(name, '/'))
        return tsm_libc_dlopen()(name, request->mode);
    if (tsm_elf_loaded(is_real, &request->index, path, sizeof(path)))
        return tsm_libc_dlopen()(path, request->mode);
    if (atomic_load(&found[request->index]) == 2)
        return tsm_libc_dlopen()(found_path[request->index], request->mode);
    return tsm_elf_search(name, tsm_elf_object_at(caller), open_candidate, request);
}

/* Whatever its path: a library on which dlsym() finds our own export. */
static bool is_shim(unsigned index, void *handle)
{
    const struct tsm_exports *exports = tsm_sources[index]->exports;

    for (size_t i = 0; i < exports->count; i++)
        if (tsm_real_symbol(handle, exports->rows[i].name) == exports->rows[i].wrapper)
            return true;
    return false;
}

void *tsm_real_library_open(unsigned index, const char *name, int mode, const void *caller)
{
    struct open_request request = {index, mode & ~RTLD_NOLOAD};
    int saved_errno = errno;
    void *handle = open_as_linker(&request, name, caller), *expected = NULL;

    if (handle && is_shim(index, handle)) {
        dlclose(handle);
        handle = NULL;
    }
    if (handle && atomic_compare_exchange_strong(&opened[index], &expected, handle)) {
        tsm_log(TSM_LOG_INFO, "the real library of %s is open", tsm_sources[index]->sonames[0]);
        tsm_sources[index]->bind(handle);
        tsm_follow_forks();
    } else if (handle) {
        dlclose(handle); /* the first reference is kept for good */
        if (handle != expected)
            handle = NULL;
    }
    errno = saved_errno;
    return handle;
}

void *tsm_real_library(unsigned index, const void *caller)
{
    void *handle = tsm_real_library_opened(index);

    if (!handle)
        handle = tsm_real_library_open(index, tsm_sources[index]->sonames[0],
                                       RTLD_LAZY | RTLD_LOCAL, caller);
    return handle;
}
