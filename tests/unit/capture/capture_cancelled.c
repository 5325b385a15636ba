/* SPDX-License-Identifier: Apache-2.0
 *
 * Threads of the program that are cancelled while they are in code of ours: they leave it first, go
 * on as they would have, and give PTHREAD_CANCELED.
 */
#include "capture/capture.h"

#include "tests/unit/check.h"

#include <pthread.h>
#include <semaphore.h>

static sem_t is_inside, is_cancelled;
static bool has_left, has_gone_on; /* of the last thread */

static void *enter_and_leave(void *type)
{
    int old;

    has_left = has_gone_on = false;
    pthread_setcanceltype(*(const int *)type, NULL);
    tsm_inside_enter();
    tsm_inside_enter();
    sem_post(&is_inside);
    while (sem_wait(&is_cancelled) != 0)
        ;
    tsm_inside_leave();
    has_left = true;
    tsm_inside_leave();
    has_gone_on = true;
    pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &old);
    CHECK(old == *(const int *)type);
    pthread_testcancel();
    return NULL;
}

static void cancel_inside(int type)
{
    pthread_t thread;
    void *result = NULL;

    CHECK(pthread_create(&thread, NULL, enter_and_leave, &type) == 0);
    while (sem_wait(&is_inside) != 0)
        ;
    CHECK(pthread_cancel(thread) == 0);
    sem_post(&is_cancelled);
    CHECK(pthread_join(thread, &result) == 0);
    CHECK(result == PTHREAD_CANCELED);
    CHECK(has_left);
    CHECK(has_gone_on == (type == PTHREAD_CANCEL_DEFERRED));
}

/* Checks that leaving restores what the program has set. */
static void *keep_settings(void *unused)
{
    int state, type;

    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    tsm_inside_enter();
    tsm_inside_leave();
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type);
    CHECK(state == PTHREAD_CANCEL_DISABLE);
    CHECK(type == PTHREAD_CANCEL_ASYNCHRONOUS);
    return unused;
}

int main(void)
{
    pthread_t thread;

    sem_init(&is_inside, 0, 0);
    sem_init(&is_cancelled, 0, 0);
    /* First: a later thread may get the memory of this one, with its result. */
    cancel_inside(PTHREAD_CANCEL_ASYNCHRONOUS);
    cancel_inside(PTHREAD_CANCEL_DEFERRED);
    CHECK(pthread_create(&thread, NULL, keep_settings, NULL) == 0);
    pthread_join(thread, NULL);
    return check_result();
}
