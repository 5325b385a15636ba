/* SPDX-License-Identifier: Apache-2.0
 *
 * Orders from outside. They lie in the header of the lanes file, which another process of the same
 * user can map: nothing has to run in the program to receive them, no socket, no thread, no signal
 * handler. Only TS_START_SIGNAL asks for a handler; it writes such an order, too.
 */
#include "capture/session.h"

#include "base/log.h"
#include "capture/call/checkpoint.h"
#include "capture/process/control.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct tsm_lanes_header *told_by_signal; /* where the handler puts its order */
static pid_t told_process; /* whose that is: a child of it does not have that memory */

static uint32_t order_of(const struct tsm_lanes_header *h)
{
    return __atomic_load_n(&h->order, __ATOMIC_ACQUIRE);
}

/* Nothing here but what may run at any place of any thread. */
static void on_signal(int number)
{
    struct tsm_lanes_header *h = __atomic_load_n(&told_by_signal, __ATOMIC_ACQUIRE);

    if (h && told_process == (pid_t)syscall(SYS_getpid))
        __atomic_store_n(&h->order,
                         order_of(h) == TSM_ORDER_START ? TSM_ORDER_STOP : TSM_ORDER_START,
                         __ATOMIC_RELEASE);
}

/* The program's own handler is left alone, and so is a signal that it ignores. */
static void listen_to_signal(struct tsm_session *s)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART}, before;

    if (!s->settings.start_signal)
        return;
    told_process = s->pid;
    __atomic_store_n(&told_by_signal, s->lanes_header, __ATOMIC_RELEASE);
    if (sigaction(s->settings.start_signal, NULL, &before) == 0 &&
        (before.sa_handler == SIG_DFL || before.sa_handler == on_signal)) {
        sigemptyset(&action.sa_mask);
        sigaction(s->settings.start_signal, &action, NULL);
    } else {
        tsm_log(TSM_LOG_WARN, "TS_START_SIGNAL: the program uses this signal itself; use tsctl");
    }
}

void tsm_control_begin(struct tsm_session *s)
{
    listen_to_signal(s);
}

bool tsm_control_start(const struct tsm_session *s)
{
    return order_of(s->lanes_header) == TSM_ORDER_START;
}

/* Returns the state to show after `now`. */
static uint32_t shown(uint32_t now)
{
    const struct tsm_live *live = __atomic_load_n(&tsm_live, __ATOMIC_ACQUIRE);

    switch (__atomic_load_n(&live->state, __ATOMIC_ACQUIRE)) {
    case TSM_LIVE_WAITING:
        return TSM_SHOWN_WAITING;
    case TSM_LIVE_OFF:
        return TSM_SHOWN_OVER;
    case TSM_LIVE_ON:
    case TSM_LIVE_PAUSED:
        return TSM_SHOWN_RECORDING;
    default:
        return now; /* starting; or held, and then a start may still come to nothing */
    }
}

void tsm_control_poll(struct tsm_session *s)
{
    struct tsm_lanes_header *h = s->lanes_header;
    uint32_t checkpoint = TSM_ORDER_CHECKPOINT;

    if (order_of(h) == TSM_ORDER_STOP && !s->stop_text)
        tsm_session_stop_quietly(s, "recording was stopped from outside");
    if (__atomic_compare_exchange_n(&h->order, &checkpoint, TSM_ORDER_NONE, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE))
        tsm_checkpoint_ask();
    __atomic_store_n(&h->shown, shown(h->shown), __ATOMIC_RELEASE);
}
