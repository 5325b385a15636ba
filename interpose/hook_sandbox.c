/* SPDX-License-Identifier: Apache-2.0
 *
 * prctl(), for two of its uses: see capture/process/sandbox.c; setns(), for those that ask for a
 * process of one thread (unshare() is where descriptors are followed, api/drm).
 */
#include "capture/capture.h"
#include "interpose/interpose.h"

#include <errno.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

TSM_EXPORT int prctl(int option, ...);
TSM_EXPORT int setns(int fd, int type);

/* A plain system call in every libc; this one also works while libraries are still being loaded. */
static int call(long number, long first, const unsigned long a[4])
{
    register long r10 __asm__("r10") = (long)a[2];
    register long r8 __asm__("r8") = (long)a[3];
    long result = number;

    __asm__ volatile("syscall"
                     : "+a"(result)
                     : "D"(first), "S"(a[0]), "d"(a[1]), "r"(r10), "r"(r8)
                     : "rcx", "r11", "memory");
    if (result >= 0)
        return (int)result;
    errno = (int)-result;
    return -1;
}

int setns(int fd, int type)
{
    const unsigned long a[4] = {(unsigned)type, 0, 0, 0};
    int result, saved_errno = errno;
    unsigned tries = 0;

    do
        result = call(SYS_setns, fd, a);
    while (result != 0 && tsm_namespace_again(type, &tries));
    if (result == 0)
        errno = saved_errno; /* of a first try */
    return result;
}

int prctl(int option, ...)
{
    unsigned long a[4];
    bool ended = false;
    va_list ap;
    int result;

    va_start(ap, option);
    for (int i = 0; i < 4; i++)
        a[i] = va_arg(ap, unsigned long);
    va_end(ap);
    if (option == PR_SET_SECCOMP)
        ended = tsm_sandbox_comes((unsigned)a[0], (const void *)a[1], false);
    if (option == PR_SET_TSC && a[0] == PR_TSC_SIGSEGV)
        tsm_clock_forbidden();
    result = call(SYS_prctl, option, a);
    if (ended && result != 0)
        tsm_sandbox_failed();
    return result;
}
