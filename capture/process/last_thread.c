/* SPDX-License-Identifier: Apache-2.0
 *
 * A program may end by the end of its last thread: main() calls pthread_exit(), and libc calls
 * exit(0) when the others have returned. It counts our threads among them, so that nothing would
 * ever end.
 *
 * The drain thread looks for this (without /proc it sees nothing). It cannot call exit() itself,
 * nor can what it starts: the handlers of exit() need the program's descriptors, and its own are
 * others. So a thread is started by the program's first one as it ends, or by who begins to record
 * after that, and waits. Where there is none, the first thread ended by the system call alone, and
 * so does the process then.
 */
#include "capture/lane/drain.h"

#include "base/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Fields of /proc/PID/stat, counted from the one after the name. */
#define FIELD_THREADS 17
#define FIELD_STATUS  49

enum { NOBODY_WAITS, SOMEBODY_WAITS, TOLD_TO_LEAVE }; /* session->last_thread */

/* Makes the system calls itself: ThreadSanitizer believes that the drain thread, which calls this,
 * shares its descriptors with the others. */
static bool read_process(char *text, size_t size)
{
    int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/stat", O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : syscall(SYS_read, fd, text, size - 1);

    if (fd >= 0)
        syscall(SYS_close, fd);
    text[got > 0 ? got : 0] = '\0';
    return got > 0;
}

/* From the state on; NULL: not known. */
static const char *fields(char *text, size_t size)
{
    const char *end = read_process(text, size) ? strrchr(text, ')') : NULL;

    return end && end[1] == ' ' ? end + 2 : NULL;
}

static long field(const char *at, unsigned number)
{
    while (*at && number)
        number -= *at++ == ' ';
    return strtol(at, NULL, 10);
}

/* ---- who calls exit() --------------------------------------------------------------------------
 */

static void *wait_to_leave(void *argument)
{
    struct tsm_session *s = argument;
    uint32_t state;

    while ((state = __atomic_load_n(&s->last_thread, __ATOMIC_ACQUIRE)) == SOMEBODY_WAITS &&
           __atomic_load_n(&s->drain_state, __ATOMIC_ACQUIRE) <= TSM_DRAIN_RUNNING)
        tsm_futex_wait(&s->last_thread, SOMEBODY_WAITS, 1000000000u);
    if (state != TOLD_TO_LEAVE)
        return NULL;
    pthread_sigmask(SIG_SETMASK, &s->last_mask, NULL);
    exit(0);
}

static void start_waiting(struct tsm_session *s)
{
    uint32_t nobody = NOBODY_WAITS;
    pthread_t thread;
    sigset_t all;

    if (!__atomic_compare_exchange_n(&s->last_thread, &nobody, SOMEBODY_WAITS, false,
                                     __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &s->last_mask);
    if (tsm_thread_create(&thread, wait_to_leave, s) == 0)
        pthread_detach(thread);
    else
        __atomic_store_n(&s->last_thread, NOBODY_WAITS, __ATOMIC_RELEASE);
    pthread_sigmask(SIG_SETMASK, &s->last_mask, NULL);
}

static pthread_key_t main_key;

/* Destructor of the key that only the first thread has: it calls pthread_exit(). */
static void main_ends(void *unused)
{
    struct tsm_session *s = tsm_session_current();

    if (s && s->pid == (pid_t)syscall(SYS_gettid))
        start_waiting(s);
}

void tsm_follow_main_thread(void)
{
    if ((pid_t)syscall(SYS_gettid) == getpid() && pthread_key_create(&main_key, main_ends) == 0)
        pthread_setspecific(main_key, &main_key);
}

void tsm_last_thread_begin(struct tsm_session *s)
{
    char text[1024];
    const char *state = fields(text, sizeof(text));

    if (state && *state == 'Z')
        start_waiting(s);
}

/* ---- a process of one thread
 * ---------------------------------------------------------------------
 */

static bool alone_but_for_us(struct tsm_session *s)
{
    char text[1024];
    const char *state = fields(text, sizeof(text));

    return state &&
           field(state, FIELD_THREADS) == 2 + (long)sbt_writer_threads(s->drain->merge.writer);
}

#define ONLY_ALONE                                                                                 \
    (CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWTIME | CLONE_VM | CLONE_SIGHAND | CLONE_THREAD)

/* Ends recording for the call that was refused. */
static bool make_room(int flags)
{
    struct tsm_session *s = tsm_session_current();

    if ((errno != EINVAL && errno != EUSERS) || (flags != 0 && !(flags & ONLY_ALONE)) || !s ||
        s->pid != getpid() || tsm_inside_own() || !alone_but_for_us(s))
        return false;
    tsm_session_stop(
        "the program asked for a namespace that only a process of one thread may have");
    tsm_session_finish();
    return true;
}

bool tsm_namespace_again(int flags, unsigned *tries)
{
    struct timespec millisecond = {0, 1000000};
    int saved_errno = errno;
    bool again = *tries > 0 ? *tries < 1000 : make_room(flags);

    if (again && (*tries)++ > 0)
        nanosleep(&millisecond, NULL);
    errno = saved_errno;
    return again;
}

/* ---- the drain thread
 * ----------------------------------------------------------------------------
 */

enum tsm_last_thread tsm_last_thread(const struct tsm_drain *d)
{
    char text[1024];
    const char *state = fields(text, sizeof(text));
    uint32_t waits = __atomic_load_n(&d->session->last_thread, __ATOMIC_ACQUIRE) != NOBODY_WAITS;
    long ours = 2 + (long)sbt_writer_threads(d->merge.writer) +
                waits; /* and the first one, which stays in the list */

    if (!state || *state != 'Z')
        return TSM_THREAD_MAIN;
    return field(state, FIELD_THREADS) > ours ? TSM_THREAD_OTHER : TSM_THREAD_NONE;
}

bool tsm_last_thread_leave(struct tsm_session *s)
{
    uint32_t waits = SOMEBODY_WAITS;

    if (!__atomic_compare_exchange_n(&s->last_thread, &waits, TOLD_TO_LEAVE, false,
                                     __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return false;
    tsm_futex_wake(&s->last_thread, 1);
    return true;
}

void tsm_end_at_once(void)
{
    char text[1024];
    const char *state = fields(text, sizeof(text));

    /* The process's status is the first thread's, in kernels from 6.0 on the last one's. */
    syscall(SYS_exit, state ? field(state, FIELD_STATUS) >> 8 : 0);
}
