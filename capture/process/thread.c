/* SPDX-License-Identifier: Apache-2.0
 *
 * Which thread has which lane. A lane goes back to the free list when its thread ends (the
 * destructor of a pthread key); what it holds is still drained, and its next owner writes on after
 * it. New lanes are made by the drain thread, because only it has the file open.
 */
#include "capture/session.h"
#include "capture/call/payload.h"
#include "capture/call/intern.h"
#include "capture/call/note.h"
#include "capture/call/stack.h"

#include <errno.h>
#include <fnmatch.h>
#include <pthread.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_key_t exit_key;
static pthread_once_t exit_key_once = PTHREAD_ONCE_INIT;
static bool exit_key_made;

static void give_back(struct tsm_session *session, struct tsm_lane *lane)
{
    tsm_stack_forget(lane);
    __atomic_store_n(&lane->header->thread, 0, __ATOMIC_RELAXED);
    tsm_lock_take(&session->lanes_lock);
    lane->next_free = session->free_lanes;
    __atomic_store_n(&session->free_lanes, lane, __ATOMIC_RELAXED);
    tsm_lock_give(&session->lanes_lock);
}

/* Runs in the ending thread; later destructors may still make calls, which take a lane again. */
static void thread_ends(void *unused)
{
    struct tsm_thread *t = &tsm_thread;

    if (t->lane && t->session == tsm_session_current() && !t->inside && !t->call) {
        t->inside++;
        give_back(t->session, t->lane);
        t->lane = NULL;
        t->session = NULL;
        t->inside--;
    }
}

static void make_exit_key(void)
{
    exit_key_made = pthread_key_create(&exit_key, thread_ends) == 0;
}

static struct tsm_lane *pop_free(struct tsm_session *session)
{
    struct tsm_lane *lane;

    tsm_lock_take(&session->lanes_lock);
    lane = session->free_lanes;
    if (lane)
        __atomic_store_n(&session->free_lanes, lane->next_free, __ATOMIC_RELAXED);
    tsm_lock_give(&session->lanes_lock);
    return lane;
}

static void push_free(struct tsm_session *session, struct tsm_lane *lane)
{
    tsm_lock_take(&session->lanes_lock);
    lane->next_free = session->free_lanes;
    __atomic_store_n(&session->free_lanes, lane, __ATOMIC_RELAXED);
    tsm_lock_give(&session->lanes_lock);
}

static struct tsm_lane *take_lane(struct tsm_session *session)
{
    struct tsm_lane *lane = pop_free(session);

    if (lane)
        return lane;
    __atomic_add_fetch(&session->lanes_wanted, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&session->drain_state, __ATOMIC_ACQUIRE) == TSM_DRAIN_RUNNING) {
        uint32_t made = __atomic_load_n(&session->lanes_made, __ATOMIC_ACQUIRE);
        lane = pop_free(session);
        if (lane || __atomic_load_n(&session->lane_count, __ATOMIC_ACQUIRE) == TSM_LANE_COUNT_MAX)
            break;
        tsm_session_nudge(session);
        tsm_futex_wait(&session->lanes_made, made, 1000000000u);
    }
    /* Whoever takes the last lane asks for those that sleep on: no more are woken than there are
     * lanes. */
    if (__atomic_sub_fetch(&session->lanes_wanted, 1, __ATOMIC_SEQ_CST) > 0 &&
        !__atomic_load_n(&session->free_lanes, __ATOMIC_ACQUIRE))
        tsm_session_nudge(session);
    return lane;
}

/* Tests whether TS_THREADS lets a thread of this name be recorded. */
static bool is_wanted(const struct tsm_session *s, const char *name)
{
    return !s->settings.threads_only[0] || fnmatch(s->settings.threads_only, name, 0) == 0;
}

/* The thread's first record says its name. */
static void introduce(struct tsm_session *session, struct tsm_lane *lane)
{
    char name[17] = "";
    struct tsm_note note = {.call = SBT_CORE_THREAD, .stream = SBT_STREAM_NONE};
    int saved_errno = errno;

    prctl(PR_GET_NAME, name);
    errno = saved_errno;
    name[16] = '\0';
    lane->thread_filtered = !is_wanted(session, name);
    note.slots[note.slot_count++] = tsm_intern_in(session, name, strlen(name));
    tsm_note_write(lane, &note);
}

static struct tsm_lane *adopt(struct tsm_session *session, struct tsm_lane *lane)
{
    struct tsm_thread *t = &tsm_thread;

    lane->thread = (uint32_t)syscall(SYS_gettid);
    __atomic_store_n(&lane->header->thread, lane->thread, __ATOMIC_RELAXED);
    t->session = session;
    t->lane = lane;
    pthread_once(&exit_key_once, make_exit_key);
    if (exit_key_made)
        pthread_setspecific(exit_key, t);
    introduce(session, lane);
    return lane;
}

struct tsm_lane *tsm_thread_lane(struct tsm_session *session)
{
    struct tsm_thread *t = &tsm_thread;
    struct tsm_lane *lane;

    if (t->session == session)
        return t->lane;
    lane = take_lane(session);
    if (lane && !lane->scratch)
        lane->scratch = tsm_memory_map(sizeof(*lane->scratch));
    if (lane && lane->scratch)
        return adopt(session, lane);
    if (lane)
        push_free(session, lane);
    tsm_lock_take(&session->lanes_lock);
    tsm_missing_add(&session->lanes_header->no_lane, SBT_STREAM_NONE, tsm_ticks());
    tsm_lock_give(&session->lanes_lock);
    return NULL;
}
