/* SPDX-License-Identifier: Apache-2.0 */
#include "api/drm/source/libc.h"

#include "base/own_stack.h"
#include "interpose/real_library.h"

#include <errno.h>
#include <sys/syscall.h>

static __thread bool looking __attribute__((tls_model("initial-exec")));

struct wanted {
    const char *name;
    void *address;
};

/* dlsym() takes a KiB of stack. */
static void look_on_own_stack(void *argument)
{
    struct wanted *w = argument;

    w->address = tsm_libc_function(w->name);
}

void *drm_libc_resolve(_Atomic(void *) *function, const char *name)
{
    struct wanted wanted = {name, NULL};
    int saved_errno = errno;

    if (looking)
        return NULL;
    looking = true;
    tsm_own_stack_run(look_on_own_stack, &wanted);
    looking = false;
    atomic_store_explicit(function, wanted.address, memory_order_relaxed);
    errno = saved_errno;
    return wanted.address;
}

long drm_system_call(long number, long a, long b, long c, long d, long e, long f)
{
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    long result;

    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "0"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    if (result < 0 && result > -4096) {
        errno = (int)-result;
        return -1;
    }
    return result;
}

typedef int ioctl_type(int, unsigned long, ...);

void *tsm_libc_syscall(void);
void *tsm_libc_syscall(void)
{
    static _Atomic(void *) function;

    return drm_libc_function(&function, "syscall");
}

long drm_libc_syscall(long number, long a, long b, long c, long d, long e, long f)
{
    long (*function)(long, ...) = (long (*)(long, ...))(uintptr_t)tsm_libc_syscall();

    return function ? function(number, a, b, c, d, e, f)
                    : drm_system_call(number, a, b, c, d, e, f);
}

int drm_libc_ioctl(int fd, unsigned long request, void *argument, bool by_number)
{
    /* Then never by way of ioctl(): another preloaded library's may have called us. */
    if (by_number)
        return (int)drm_libc_syscall(SYS_ioctl, fd, (long)request, (long)argument, 0, 0, 0);
    return LIBC(ioctl_type, "ioctl", (fd, request, argument),
                (int)SYSTEM_CALL3(SYS_ioctl, fd, request, argument));
}
