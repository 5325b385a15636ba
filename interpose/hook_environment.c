/* SPDX-License-Identifier: Apache-2.0
 *
 * Changes of the environment by the program. Sources that have put something there, for a library
 * that reads it later, hear of them.
 */
#include "interpose/real_library.h"

#include "api/api.h"
#include "capture/capture.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

TSM_EXPORT int clearenv(void);
TSM_EXPORT int setenv(const char *name, const char *value, int overwrite);
TSM_EXPORT int unsetenv(const char *name);
TSM_EXPORT int putenv(char *text);

static void *libc(_Atomic(void *) *function, const char *name)
{
    void *address = atomic_load_explicit(function, memory_order_relaxed);

    if (!address) {
        address = tsm_libc_function(name);
        atomic_store_explicit(function, address, memory_order_relaxed);
    }
    return address;
}

/* `text`: the name, or name and value; NULL: everything has changed. */
static void changed(const char *text)
{
    int saved_errno = errno;

    for (unsigned i = 0; i < TSM_SOURCE_MAX && tsm_sources[i]; i++) {
        const char *prefix = tsm_sources[i]->environment_prefix;
        if (prefix && (!text || strncmp(text, prefix, strlen(prefix)) == 0))
            tsm_sources[i]->environment_changed();
    }
    errno = saved_errno;
}

int clearenv(void)
{
    static _Atomic(void *) function;
    int result = ((int (*)(void))libc(&function, "clearenv"))();

    changed(NULL);
    return result;
}

int tsm_libc_setenv(const char *name, const char *value)
{
    static _Atomic(void *) function;

    return ((int (*)(const char *, const char *, int))libc(&function, "setenv"))(name, value, 1);
}

int setenv(const char *name, const char *value, int overwrite)
{
    static _Atomic(void *) function;
    int result = ((int (*)(const char *, const char *, int))libc(&function, "setenv"))(name, value,
                                                                                       overwrite);

    if (result == 0)
        changed(name);
    return result;
}

int unsetenv(const char *name)
{
    static _Atomic(void *) function;
    int result = ((int (*)(const char *))libc(&function, "unsetenv"))(name);

    if (result == 0)
        changed(name);
    return result;
}

int putenv(char *text)
{
    static _Atomic(void *) function;
    int result = ((int (*)(char *))libc(&function, "putenv"))(text);

    if (result == 0)
        changed(text);
    return result;
}
