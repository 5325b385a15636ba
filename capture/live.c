/* SPDX-License-Identifier: Apache-2.0
 *
 * The session that is live in this process, and its state.
 */
#include "capture/live.h"

#include "base/log.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Until the first call there is no page to ask for; everybody reads the state NONE here. */
static struct tsm_live live_before;
struct tsm_live *tsm_live = &live_before;

pid_t tsm_own_pid(void)
{
    return (pid_t)syscall(SYS_getpid); /* never cached: also right after vfork and raw clone */
}

uint32_t tsm_live_state_now(void)
{
    struct tsm_live *live = __atomic_load_n(&tsm_live, __ATOMIC_ACQUIRE);

    return __atomic_load_n(&live->state, __ATOMIC_ACQUIRE);
}

void tsm_live_set_state(uint32_t state)
{
    struct tsm_live *live = __atomic_load_n(&tsm_live, __ATOMIC_ACQUIRE);

    __atomic_store_n(&live->state, state, __ATOMIC_RELEASE);
    tsm_futex_wake(&live->state, INT32_MAX);
}

struct tsm_session *tsm_session_current(void)
{
    struct tsm_live *live = __atomic_load_n(&tsm_live, __ATOMIC_ACQUIRE);
    uint32_t state = __atomic_load_n(&live->state, __ATOMIC_ACQUIRE);

    return state == TSM_LIVE_ON || state == TSM_LIVE_PAUSED || state == TSM_LIVE_WAITING ||
                   state == TSM_LIVE_HELD
               ? live->session
               : NULL;
}

struct tsm_session *tsm_session_of_call(void)
{
    return tsm_thread.call ? tsm_thread.session : tsm_session_current();
}

bool tsm_session_waiting(void)
{
    return tsm_live_state_now() == TSM_LIVE_WAITING;
}

struct tsm_live *tsm_live_page(void)
{
    size_t size = (size_t)sysconf(_SC_PAGESIZE);
    struct tsm_live *expected = &live_before;
    struct tsm_live *page = __atomic_load_n(&tsm_live, __ATOMIC_ACQUIRE);

    if (page != &live_before)
        return page;
    page = tsm_memory_map(size);
    if (!page)
        return NULL;
    if (madvise(page, size, MADV_WIPEONFORK) != 0) {
        tsm_memory_unmap(page, size);
        return NULL;
    }
    if (__atomic_compare_exchange_n(&tsm_live, &expected, page, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE))
        return page;
    tsm_memory_unmap(page, size);
    return expected;
}

uint32_t tsm_live_give_up(void)
{
    uint32_t before = __atomic_exchange_n(&live_before.state, TSM_LIVE_OFF, __ATOMIC_ACQ_REL);

    if (before != TSM_LIVE_OFF)
        tsm_log(TSM_LOG_WARN, TSM_LIVE_NO_MEMORY);
    return TSM_LIVE_OFF;
}

const struct tsm_settings *tsm_session_settings(void)
{
    static const struct tsm_settings off;
    struct tsm_session *s = tsm_session_current();

    return s ? &s->settings : &off;
}

void tsm_session_nudge(struct tsm_session *s)
{
    __atomic_add_fetch(&s->drain_signal, 1, __ATOMIC_SEQ_CST);
    /* One thread wakes it: the others would only search the kernel's list of who sleeps. */
    if (__atomic_load_n(&s->drain_sleeping, __ATOMIC_SEQ_CST) &&
        __atomic_exchange_n(&s->drain_sleeping, 0, __ATOMIC_SEQ_CST))
        tsm_futex_wake(&s->drain_signal, 1);
}

struct tsm_session *tsm_session_own(void)
{
    struct tsm_session *s = tsm_session_current();

    return s && s->pid == tsm_own_pid() ? s : NULL;
}
