/* SPDX-License-Identifier: Apache-2.0
 *
 * libc's own functions, for hook.c, which replaces them. They are looked for at their first call,
 * perhaps before anything is ready, and by an allocator that dlsym() needs: while one is being
 * looked for, its system call is made instead.
 */
#ifndef API_DRM_SOURCE_LIBC_H
#define API_DRM_SOURCE_LIBC_H

#include "api/drm/source/source.h"

#include <stdatomic.h>
#include <stdint.h>

/* Finds libc's function by its name and keeps it in *function. NULL: this thread is looking for one
 * already. errno is preserved. */
void *drm_libc_resolve(_Atomic(void *) *function, const char *name);

/* Returns *function, which drm_libc_resolve() finds the first time; NULL as there. */
static inline void *drm_libc_function(_Atomic(void *) *function, const char *name)
{
    void *address = atomic_load_explicit(function, memory_order_relaxed);

    return __builtin_expect(address != NULL, 1) ? address : drm_libc_resolve(function, name);
}

/* Calls the kernel like libc's syscall(). */
long drm_system_call(long number, long a, long b, long c, long d, long e, long f);

#define SYSTEM_CALL3(number, a, b, c)                                                              \
    drm_system_call(number, (long)(a), (long)(b), (long)(c), 0, 0, 0)

/* Call libc's function `name`, of type `type`, or else evaluate `fallback`. */
#define LIBC(type, name, arguments, fallback)                                                      \
    ({                                                                                             \
        static _Atomic(void *) function_;                                                          \
        type *address_ = (type *)(uintptr_t)drm_libc_function(&function_, name);                   \
        address_ ? address_ arguments : (fallback);                                                \
    })

#endif
