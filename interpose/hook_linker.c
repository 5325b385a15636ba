/* SPDX-License-Identifier: Apache-2.0
 *
 * Replaces the program's dlopen and dlsym: hook_stubs.S calls these functions, then jumps to the
 * address returned, or returns `result` when that is NULL. Calls that do not concern us go to libc
 * with their own arguments.
 */
#include "interpose/real_library.h"

#include "api/api.h"
#include "base/log.h"
#include "capture/capture.h"
#include "interpose/elf_search.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <string.h>

/* Layout known to hook_stubs.S. */
struct linker_call {
    void *first;        /* path; handle */
    uintptr_t second;   /* mode; name */
    const void *caller; /* return address */
    void *result;
};

void *tsm_decide_dlopen(struct linker_call *call);
void *tsm_decide_dlsym(struct linker_call *call);

/* ---- dlopen -----------------------------------------------------------------------------------
 */

/* A plugin opened with RTLD_DEEPBIND finds libc's dlopen before ours. When the shim is loaded, that
 * one finds it by its SONAME. Only where there is a real library: else the plugin's dlopen must
 * fail, and where the real one is loaded already its SONAME comes first. */
static void prepare_shims(const void *caller)
{
    for (unsigned i = 0; i < TSM_SOURCE_MAX && tsm_sources[i]; i++)
        if (tsm_sources[i]->sonames && !tsm_shim_opened(i) && !tsm_real_library_loaded(i) &&
            tsm_real_library_exists(i, caller))
            tsm_shim_open(i);
}

/* The driver opens itself and its parts by name: those calls are its own business. */
static bool from_inside(unsigned index, const void *caller)
{
    void *real = tsm_real_library_opened(index);

    return tsm_inside() || (real && tsm_elf_object_at(caller) == real);
}

/* RTLD_NOLOAD asks whether the program has the library; that we have it does not count, but then
 * the program got our shim and asks for that one. */
static bool may_load(unsigned index, int mode)
{
    return !(mode & RTLD_NOLOAD) || tsm_shim_opened(index) || tsm_real_library_loaded(index);
}

static void open_shim_instead(struct linker_call *call, unsigned index)
{
    static char paths[TSM_SOURCE_MAX][PATH_MAX]; /* every thread writes the same text */
    int mode = (int)call->second;

    if (!may_load(index, mode) || from_inside(index, call->caller))
        return;
    if (!tsm_real_library_open(index, call->first, mode, call->caller))
        return; /* libc's dlopen says why */
    if (!tsm_shim_open(index) || !tsm_shim_path(index, paths[index], sizeof(paths[index]))) {
        tsm_log(TSM_LOG_WARN, "no shim for %s: its calls are not recorded", (char *)call->first);
        return;
    }
    call->first = paths[index];
}

void *tsm_decide_dlopen(struct linker_call *call)
{
    int saved_errno = errno;
    const char *path = call->first;
    int index = path ? tsm_real_library_named(path) : -1;

    for (unsigned i = 0; path && i < TSM_SOURCE_MAX && tsm_sources[i]; i++)
        if (tsm_sources[i]->opening)
            tsm_sources[i]->opening(path);
    if (index >= 0)
        open_shim_instead(call, (unsigned)index);
    else if ((int)call->second & RTLD_DEEPBIND)
        prepare_shims(call->caller);
    errno = saved_errno;
    return (void *)tsm_libc_dlopen();
}

/* ---- dlsym ------------------------------------------------------------------------------------
 */

static int shim_index(const void *handle)
{
    if (handle == RTLD_DEFAULT || handle == RTLD_NEXT)
        return -1;
    for (unsigned i = 0; i < TSM_SOURCE_MAX && tsm_sources[i]; i++)
        if (tsm_shim_opened(i) == handle)
            return (int)i;
    return -1;
}

/* The shim's handle answers as the real library's would: what that one lacks is not found, what we
 * do not know is the real one's. */
static void *from_shim(struct linker_call *call, unsigned index)
{
    const char *name = (const char *)call->second;
    void *real = tsm_real_library(index, call->caller);
    void *address = real ? tsm_real_symbol(real, name) : NULL;
    const struct tsm_export *row = tsm_export_find(tsm_sources[index]->exports, name);

    if (real)
        call->first = real; /* its answer, or its dlerror() */
    if (!address)
        return (void *)tsm_libc_dlsym();
    if (row)
        call->result = row->wrapper;
    else if (tsm_sources[index]->owns_name && tsm_sources[index]->owns_name(name))
        call->result = tsm_unwrapped(name, address);
    else
        call->result = address;
    return NULL;
}

/* Not strcmp(): a sanitizer's runtime asks us for symbols before its own strcmp() works. */
static bool is_same(const char *a, const char *b)
{
    while (*a && *a == *b)
        a++, b++;
    return *a == *b;
}

/* The source that wants to replace what is found under this name. */
static const struct tsm_source *wanting(const char *name)
{
    for (unsigned i = 0; i < TSM_SOURCE_MAX && tsm_sources[i]; i++)
        if (tsm_sources[i]->wanted_symbol && is_same(tsm_sources[i]->wanted_symbol, name))
            return tsm_sources[i];
    return NULL;
}

/* RTLD_NEXT means something for the program's own return address only. */
static void *offer(struct linker_call *call, const struct tsm_source *source)
{
    void *address = NULL;

    if (call->first != RTLD_NEXT)
        address = tsm_real_symbol(call->first, (const char *)call->second);
    if (!address)
        return (void *)tsm_libc_dlsym();
    call->result = source->found(address, call->caller);
    return NULL;
}

void *tsm_decide_dlsym(struct linker_call *call)
{
    int index = shim_index(call->first);
    const struct tsm_source *source = call->second ? wanting((const char *)call->second) : NULL;
    int saved_errno = errno;
    void *function;

    if (!call->second || (index < 0 && !source))
        return (void *)tsm_libc_dlsym();
    function = source ? offer(call, source) : from_shim(call, (unsigned)index);
    errno = saved_errno;
    return function;
}
