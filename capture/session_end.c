/* SPDX-License-Identifier: Apache-2.0
 *
 * A session while it runs, and its end.
 */
#include "capture/live.h"
#include "capture/call/intern.h"
#include "capture/call/note.h"
#include "capture/call/readbacks.h"
#include "capture/lane/drain_thread.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

void tsm_session_pause(bool paused)
{
    struct tsm_live *live = __atomic_load_n(&tsm_live, __ATOMIC_ACQUIRE);
    uint32_t from = paused ? TSM_LIVE_ON : TSM_LIVE_PAUSED;
    uint32_t to = paused ? TSM_LIVE_PAUSED : TSM_LIVE_ON;

    __atomic_compare_exchange_n(&live->state, &from, to, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

static bool drain_runs(struct tsm_session *s)
{
    return __atomic_load_n(&s->drain_state, __ATOMIC_ACQUIRE) == TSM_DRAIN_RUNNING &&
           !(syscall(SYS_tgkill, s->pid, s->drain_thread, 0) != 0 && errno == ESRCH);
}

void tsm_session_flush(void)
{
    struct tsm_session *s = tsm_session_own();
    int saved_errno = errno;
    uint32_t wanted;

    if (!s)
        return;
    wanted = __atomic_add_fetch(&s->flush_wanted, 1, __ATOMIC_SEQ_CST);
    while (drain_runs(s)) {
        uint32_t done = __atomic_load_n(&s->flush_done, __ATOMIC_ACQUIRE);
        if ((int32_t)(done - wanted) >= 0)
            break;
        tsm_session_nudge(s);
        tsm_futex_wait(&s->flush_done, done, 1000000000u);
    }
    errno = saved_errno;
}

/* No further calls begin; the drain thread writes the end when it has everything. */
static void end(struct tsm_session *s)
{
    tsm_live_set_state(TSM_LIVE_OFF);
    __atomic_store_n(&s->finish_wanted, 1, __ATOMIC_SEQ_CST);
    tsm_session_nudge(s);
}

/* A signal handler that ends the process may have interrupted code of ours, which holds locks. */
static void tell_unseen(void)
{
    for (const struct tsm_source *const *source = tsm_sources; !tsm_inside() && *source; source++)
        if ((*source)->unseen)
            (*source)->unseen();
}

void tsm_session_finish(void)
{
    struct tsm_session *s = tsm_sandboxed() ? NULL : tsm_session_own();
    struct tsm_live *live = __atomic_load_n(&tsm_live, __ATOMIC_ACQUIRE);
    int saved_errno = errno;

    if (tsm_sandboxed())
        return;
    /* Also after stop(), whose end is being written by now. */
    if (!s && tsm_live_state_now() == TSM_LIVE_OFF && live->session &&
        live->session->pid == tsm_own_pid())
        s = live->session;
    if (!s)
        return;
    if (tsm_live_state_now() != TSM_LIVE_OFF) {
        tell_unseen();
        tsm_forks_write(s);
        tsm_readbacks_end(s);
    }
    end(s);
    while (drain_runs(s))
        tsm_futex_wait(&s->drain_state, TSM_DRAIN_RUNNING, 1000000000u);
    errno = saved_errno;
}

void tsm_session_stop(const char *reason)
{
    struct tsm_session *s = tsm_session_own();
    struct tsm_note note = {.call = SBT_CORE_STOPPED, .stream = SBT_STREAM_NONE};
    struct tsm_lane *lane;

    if (!s)
        return;
    tsm_forks_write(s);
    tsm_inside_enter();
    lane = tsm_thread_lane(s);
    note.slots[note.slot_count++] = tsm_intern_in(s, reason, strlen(reason));
    if (lane)
        tsm_note_write(lane, &note);
    end(s);
    tsm_inside_leave();
}

void tsm_session_stop_quietly(struct tsm_session *s, const char *text)
{
    s->stop_text = text;
    end(s);
}

void tsm_session_exec_failed(void)
{
    struct tsm_live *live = __atomic_load_n(&tsm_live, __ATOMIC_ACQUIRE);

    if (tsm_live_state_now() == TSM_LIVE_OFF && live->session &&
        live->session->pid == tsm_own_pid() &&
        __atomic_load_n(&live->session->drain_state, __ATOMIC_ACQUIRE) == TSM_DRAIN_DONE)
        tsm_live_set_state(TSM_LIVE_NONE);
}
