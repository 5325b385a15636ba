/* SPDX-License-Identifier: Apache-2.0 */
#include "base/thread.h"

#include "base/clock.h"

#include <errno.h>
#include <signal.h>
#include <time.h>

#define PAUSE_NS    100000 /* the first one; each is twice as long as the one before */
#define PAUSE_COUNT 11     /* 0.2 s in all */

int tsm_thread_create(pthread_t *thread, void *(*function)(void *), void *user)
{
    static bool is_limit;
    struct timespec pause = {.tv_nsec = PAUSE_NS};
    int error = pthread_create(thread, NULL, function, user);

    for (unsigned i = 0; i < PAUSE_COUNT && error == EAGAIN; i++) {
        if (__atomic_load_n(&is_limit, __ATOMIC_RELAXED))
            return error;
        nanosleep(&pause, NULL);
        pause.tv_nsec *= 2;
        error = pthread_create(thread, NULL, function, user);
    }
    if (error)
        __atomic_store_n(&is_limit, true, __ATOMIC_RELAXED);
    return error;
}

int tsm_thread_create_blocked(pthread_t *thread, void *(*function)(void *), void *user)
{
    sigset_t all, before;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = tsm_thread_create(thread, function, user);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

bool tsm_nap_until(uint64_t until_ns)
{
    const struct timespec nap = {0, 50000};

    if (tsm_monotonic_ns() >= until_ns)
        return false;
    nanosleep(&nap, NULL);
    return true;
}
