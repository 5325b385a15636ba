/* SPDX-License-Identifier: Apache-2.0
 *
 * syscall() with the number of a call that concerns descriptors or mappings; syscall.S
 * sends those here. The call itself is made by libc's syscall(): it has to be what the program
 * asked for, not a function that is much the same.
 */
#include "api/drm/source/notice.h"
#include "api/drm/source/source.h"
#include "capture/capture.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define BIT(number, word) ((number) / 64 == (word) ? 1ull << ((number) % 64) : 0)
#define WORD(word)                                                                                 \
    (BIT(SYS_open, word) | BIT(SYS_close, word) | BIT(SYS_mmap, word) | BIT(SYS_munmap, word) |    \
     BIT(SYS_mremap, word) | BIT(SYS_dup, word) | BIT(SYS_dup2, word) | BIT(SYS_recvmsg, word) |   \
     BIT(SYS_fcntl, word) | BIT(SYS_openat, word) | BIT(SYS_unshare, word) | BIT(SYS_dup3, word) | \
     BIT(SYS_recvmmsg, word) | BIT(SYS_close_range, word) | BIT(SYS_openat2, word) |               \
     BIT(SYS_pidfd_getfd, word) | BIT(SYS_prctl, word) | BIT(SYS_seccomp, word) |                  \
     BIT(SYS_mprotect, word) | BIT(SYS_pkey_mprotect, word) | BIT(SYS_poll, word) |                \
     BIT(SYS_ppoll, word) | BIT(SYS_select, word) | BIT(SYS_pselect6, word) |                      \
     BIT(SYS_epoll_ctl, word) | BIT(SYS_epoll_wait, word) | BIT(SYS_epoll_pwait, word) |           \
     BIT(SYS_epoll_pwait2, word) | BIT(SYS_setns, word))

/* Followed system call numbers, as bits, for syscall.S. */
extern const uint64_t tsm_followed_calls[8];
const uint64_t tsm_followed_calls[8] = {WORD(0), WORD(1), WORD(2), WORD(3),
                                        WORD(4), WORD(5), WORD(6), WORD(7)};

/* Arguments as the program gave them. */
struct call {
    long number, a, b, c, d, e, f;
    struct drm_moving moving;
    struct drm_taken taken;
    bool ended; /* recording, for a filter that comes */
};

static void before(struct call *s)
{
    switch (s->number) {
    case SYS_close:
        drm_notice_closing((int)s->a);
        break;
    case SYS_close_range:
        drm_notice_closing_range((unsigned)s->a, (unsigned)s->b, (unsigned)s->c);
        break;
    case SYS_mmap:
        drm_notice_mapping(&s->taken, (void *)s->a, (size_t)s->b, (int)s->d);
        break;
    case SYS_munmap:
        drm_unmapping(&s->taken, (void *)s->a, (size_t)s->b);
        break;
    case SYS_mremap:
        drm_moving(&s->moving, (void *)s->a, (size_t)s->b, (size_t)s->c, (int)s->d, (void *)s->e);
        break;
    case SYS_mprotect:
    case SYS_pkey_mprotect:
        drm_protecting(&s->taken, (void *)s->a, (size_t)s->b, (int)s->c);
        break;
    case SYS_prctl:
        if (s->a == PR_SET_SECCOMP)
            s->ended = tsm_sandbox_comes((unsigned)s->b, (const void *)s->c, false);
        if (s->a == PR_SET_TSC && s->b == PR_TSC_SIGSEGV)
            tsm_clock_forbidden();
        break;
    case SYS_seccomp:
        if (s->a == SECCOMP_SET_MODE_STRICT || s->a == SECCOMP_SET_MODE_FILTER)
            s->ended = tsm_sandbox_comes(
                s->a == SECCOMP_SET_MODE_STRICT ? SECCOMP_MODE_STRICT : SECCOMP_MODE_FILTER,
                (const void *)s->c, (s->b & SECCOMP_FILTER_FLAG_TSYNC) != 0);
        break;
    default:
        break;
    }
}

static void after_memory(const struct call *s, void *result)
{
    if (s->number == SYS_mmap)
        drm_notice_mapped(&s->taken, result, (size_t)s->b, (int)s->c, (int)s->d, (int)s->e,
                          (uint64_t)s->f);
    else
        drm_moved(&s->moving, result, (size_t)s->c);
}

static void after(const struct call *s, int result)
{
    switch (s->number) {
    case SYS_open:
        drm_notice_opened(result, (const char *)s->a);
        break;
    case SYS_openat:
    case SYS_openat2:
        drm_notice_opened(result, (const char *)s->b);
        break;
    case SYS_munmap:
        if (result != 0)
            drm_unmap_failed(&s->taken);
        break;
    case SYS_mprotect:
    case SYS_pkey_mprotect:
        drm_protected(&s->taken, (int)s->c, result == 0);
        break;
    case SYS_dup:
    case SYS_dup2:
    case SYS_dup3:
        drm_notice_duplicated((int)s->a, result);
        break;
    case SYS_fcntl:
        drm_notice_control((int)s->a, (int)s->b, result);
        break;
    case SYS_pidfd_getfd:
        drm_file_received(result);
        break;
    case SYS_recvmsg:
        if (result >= 0)
            drm_notice_message((const struct msghdr *)s->b);
        break;
    case SYS_recvmmsg:
        for (int i = 0; i < result; i++)
            drm_notice_message(&((const struct mmsghdr *)s->b)[i].msg_hdr);
        break;
    case SYS_close_range:
        if (result == 0)
            drm_notice_closed_range((unsigned)s->c);
        break;
    case SYS_poll:
    case SYS_ppoll:
        drm_notice_polled((const struct pollfd *)s->a, (uint64_t)s->b, result);
        break;
    case SYS_select:
    case SYS_pselect6:
        drm_notice_selected((int)s->a, (const fd_set *)s->b, (const fd_set *)s->c, result);
        break;
    case SYS_epoll_ctl:
        drm_notice_watched((int)s->a, (int)s->b, (int)s->c, (const struct epoll_event *)s->d,
                           result);
        break;
    case SYS_epoll_wait:
    case SYS_epoll_pwait:
    case SYS_epoll_pwait2:
        drm_notice_epolled((int)s->a, (const struct epoll_event *)s->b, result);
        break;
    case SYS_unshare:
        if (result == 0 && s->a & CLONE_FILES)
            drm_files_unshared();
        break;
    case SYS_prctl:
    case SYS_seccomp:
        if (s->ended && result < 0)
            tsm_sandbox_failed();
        break;
    default:
        break;
    }
}

/* Called from syscall.S, with syscall()'s own arguments. */
long tsm_decide_syscall(long number, long a, long b, long c, long d, long e, long f);
long tsm_decide_syscall(long number, long a, long b, long c, long d, long e, long f)
{
    struct call s = {.number = number, .a = a, .b = b, .c = c, .d = d, .e = e, .f = f};
    int saved_errno = errno;
    unsigned tries = 0;
    long result;

    before(&s);
    do
        result = drm_libc_syscall(number, a, b, c, d, e, f);
    while (result < 0 && (number == SYS_unshare || number == SYS_setns) &&
           tsm_namespace_again(number == SYS_unshare ? (int)a : (int)b, &tries));
    if (tries && result == 0)
        errno = saved_errno; /* of a first try */
    if (number == SYS_mmap || number == SYS_mremap)
        after_memory(&s, (void *)result);
    else
        after(&s, (int)result);
    return result;
}
