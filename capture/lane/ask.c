/* SPDX-License-Identifier: Apache-2.0
 *
 * Favours that other threads ask of the drain thread.
 */
#include "capture/session.h"
#include "capture/lane/drain_thread.h"

bool tsm_drain_ask(struct tsm_session *s, void (*favour)(void *argument), void *argument)
{
    bool done = false;

    tsm_lock_take(&s->favour_lock);
    s->favour_argument = argument;
    __atomic_store_n(&s->favour, favour, __ATOMIC_RELEASE);
    while (!done && __atomic_load_n(&s->drain_state, __ATOMIC_ACQUIRE) == TSM_DRAIN_RUNNING) {
        uint32_t seen = __atomic_load_n(&s->favour_done, __ATOMIC_SEQ_CST);
        done = !__atomic_load_n(&s->favour, __ATOMIC_ACQUIRE);
        if (done)
            break;
        tsm_session_nudge(s);
        tsm_futex_wait(&s->favour_done, seen, 1000000000u);
    }
    tsm_lock_give(&s->favour_lock);
    return done;
}
