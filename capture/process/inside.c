/* SPDX-License-Identifier: Apache-2.0
 *
 * Marks code of ours, from which calls must not be recorded.
 */
#include "capture/session.h"

#include <pthread.h>

__thread struct tsm_thread tsm_thread __attribute__((tls_model("initial-exec")));

bool tsm_inside(void)
{
    return tsm_thread.inside != 0 || tsm_thread.call;
}

bool tsm_inside_own(void)
{
    return tsm_thread.inside != 0;
}

void tsm_inside_enter(void)
{
    int state;

    /* A thread that is cancelled in here would leave things half done. */
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    if (!tsm_thread.inside++)
        tsm_thread.cancel_state = state;
}

void tsm_inside_leave(void)
{
    int type;

    if (--tsm_thread.inside)
        return;
    /* End a thread here that was cancelled meanwhile and is of asynchronous type. glibc 2.36 loses
     * its result, PTHREAD_CANCELED, if setting the state ends it; setting the type keeps it. */
    pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type);
    pthread_setcancelstate(tsm_thread.cancel_state, NULL);
    if (type != PTHREAD_CANCEL_DEFERRED)
        pthread_setcanceltype(type, NULL);
}
