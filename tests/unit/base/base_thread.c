/* SPDX-License-Identifier: Apache-2.0
 *
 * Tests that threads start while another thread of the process calls exec() in vain, which makes
 * Linux refuse new threads for a moment, and that a blocked thread runs no signal handler.
 */
#include "base/thread.h"
#include "tests/unit/check.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#define THREAD_COUNT 5000

static atomic_bool is_over;

static void *exec_in_vain(void *unused)
{
    (void)unused;
    char name[] = "absent", *const arguments[] = {name, NULL};

    while (!is_over)
        execv("/absent/program", arguments);
    return NULL;
}

static void *nothing(void *user)
{
    return user;
}

static void *blocked_mask(void *user)
{
    pthread_sigmask(SIG_BLOCK, NULL, user);
    return user;
}

int main(void)
{
    pthread_t execs, thread;
    sigset_t inside, after;
    unsigned refused = 0;

    if (pthread_create(&execs, NULL, exec_in_vain, NULL) != 0)
        return 77;
    for (unsigned i = 0; i < THREAD_COUNT; i++) {
        if (pthread_create(&thread, NULL, nothing, NULL) == 0)
            pthread_join(thread, NULL);
        else
            refused++;
        CHECK_EQ_INT(tsm_thread_create(&thread, nothing, NULL), 0);
        pthread_join(thread, NULL);
    }
    is_over = true;
    pthread_join(execs, NULL);
    printf("%u of %u plain calls were refused\n", refused, THREAD_COUNT);

    CHECK_EQ_INT(tsm_thread_create_blocked(&thread, blocked_mask, &inside), 0);
    pthread_join(thread, NULL);
    pthread_sigmask(SIG_BLOCK, NULL, &after);
    CHECK(sigismember(&inside, SIGUSR1));
    CHECK(!sigismember(&after, SIGUSR1));
    return check_result();
}
