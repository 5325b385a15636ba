/* SPDX-License-Identifier: Apache-2.0
 *
 * A lanes file that becomes shorter while it is mapped (somebody truncates it, the disk under a
 * sparse part of it is full and the kernel is too old to be asked first): touching it raises
 * SIGBUS, which would end the program. See docs/decisions/013-lanes-file.md.
 *
 * Where the program leaves SIGBUS at its default, a handler of ours puts zeroed memory in place of
 * the lane that was touched, and the drain thread ends the recording. Any other SIGBUS gets the
 * default action, as it would have without us. A handler of the program's is never replaced.
 */
#include "capture/session.h"
#include "capture/lane/drain_thread.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

static bool replace(void *start, uint64_t size)
{
    return mmap(start, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
                0) != MAP_FAILED;
}

static bool holds(const void *start, uint64_t size, uint64_t address)
{
    return address - (uint64_t)(uintptr_t)start < size;
}

/* The lane, or the file's header, in which `address` lies, is private from now on. */
static bool replace_at(struct tsm_session *s, uint64_t address)
{
    uint32_t count = __atomic_load_n(&s->lane_count, __ATOMIC_ACQUIRE);

    if (s->lanes_header && holds(s->lanes_header, TSM_LANES_HEADER_SIZE, address))
        return replace(s->lanes_header, TSM_LANES_HEADER_SIZE);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t size = TSM_LANE_HEADER_SIZE + s->lanes[i].size;
        if (holds(s->lanes[i].header, size, address))
            return replace(s->lanes[i].header, size);
    }
    return false;
}

void tsm_lanes_detach(struct tsm_session *s)
{
    __atomic_store_n(&s->lanes_cut, 1, __ATOMIC_SEQ_CST);
    replace(s->lanes_header, TSM_LANES_HEADER_SIZE);
    for (uint32_t i = 0; i < s->lane_count; i++)
        replace(s->lanes[i].header, TSM_LANE_HEADER_SIZE + s->lanes[i].size);
}

/* The session whose lanes are guarded; in the child of a fork that of its parent. */
static struct tsm_session *guarded;

/* Sent by a process: as if we were not there. A thread of ours only passes it on. */
static void pass_on(const struct tsm_session *s, ucontext_t *context)
{
    struct sigaction none = {.sa_handler = SIG_DFL};

    if (s && s->drain_thread == (pid_t)syscall(SYS_gettid)) {
        sigaddset(&context->uc_sigmask, SIGBUS);
        syscall(SYS_kill, s->pid, SIGBUS);
        return;
    }
    sigaction(SIGBUS, &none, NULL);
    syscall(SYS_tgkill, syscall(SYS_getpid), syscall(SYS_gettid), SIGBUS);
}

/* Only what may run at any place of any thread. */
static void on_bus_error(int number, siginfo_t *info, void *context)
{
    struct tsm_session *s = __atomic_load_n(&guarded, __ATOMIC_ACQUIRE);
    bool is_fault = info->si_code > 0; /* and not sent by a process */
    int saved_errno = errno;

    if (s && s->pid != (pid_t)syscall(SYS_getpid))
        s = NULL;
    if (!is_fault) {
        pass_on(s, context);
    } else if (s && replace_at(s, (uint64_t)(uintptr_t)info->si_addr)) {
        __atomic_store_n(&s->lanes_cut, 1, __ATOMIC_SEQ_CST);
        tsm_session_nudge(s);
    } else { /* it comes again, and then ends the program */
        struct sigaction none = {.sa_handler = SIG_DFL};
        sigaction(SIGBUS, &none, NULL);
    }
    errno = saved_errno;
}

bool tsm_lanes_guard(struct tsm_session *s)
{
    struct sigaction action = {.sa_sigaction = on_bus_error,
                               .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART},
                     before;
    bool is_ours;

    __atomic_store_n(&guarded, s, __ATOMIC_RELEASE);
    if (sigaction(SIGBUS, NULL, &before) != 0)
        return false;
    is_ours = (before.sa_flags & SA_SIGINFO) && before.sa_sigaction == on_bus_error;
    if (is_ours || (before.sa_flags & SA_SIGINFO) || before.sa_handler != SIG_DFL)
        return is_ours;
    sigemptyset(&action.sa_mask);
    return sigaction(SIGBUS, &action, NULL) == 0;
}
