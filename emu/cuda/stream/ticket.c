/* SPDX-License-Identifier: Apache-2.0 */
#include "emu/cuda/stream/ticket.h"

#include <stdlib.h>

#include "api/cuda/abi_times.h"
#include "emu/cuda/core/emu.h"
#include "emu/cuda/stream/schedule.h"
#include "emu/cuda/stream/virtual_time.h"

struct span {
    bool is_any;
    uint64_t start_ns, end_ns;
};

struct tsm_emu_ticket {
    unsigned pending; /* commands that are not done */
    bool is_dropped;
    struct span work, marks;
    tsm_emu_watcher watcher; /* or NULL */
    void *watcher_user;
};

static _Thread_local struct tsm_emu_ticket *current;

/* ---- commands ---- */

void emu_ticket_join(struct emu_command *command)
{
    command->ticket = current;
    if (current)
        current->pending++;
}

static void extend(struct span *span, const struct emu_command *command)
{
    if (!span->is_any || command->start_ns < span->start_ns)
        span->start_ns = command->start_ns;
    if (!span->is_any || command->done_ns > span->end_ns)
        span->end_ns = command->done_ns;
    span->is_any = true;
}

void emu_ticket_done(struct emu_command *command)
{
    struct tsm_emu_ticket *ticket = command->ticket;

    if (!ticket)
        return;
    extend(command->type == &emu_command_mark ? &ticket->marks : &ticket->work, command);
    if (ticket->watcher)
        ticket->watcher(ticket->watcher_user, command->type->node - 1, command->start_ns,
                        command->done_ns);
    if (!--ticket->pending && ticket->is_dropped)
        free(ticket);
}

/* ---- the interface ---- */

static struct tsm_emu_ticket *begin(void)
{
    current = calloc(1, sizeof(*current));
    return current;
}

static void end(struct tsm_emu_ticket *ticket)
{
    (void)ticket;
    current = NULL;
}

static enum tsm_emu_times_state read_locked(const struct tsm_emu_ticket *ticket, uint64_t *start_ns,
                                            uint64_t *end_ns)
{
    const struct span *span = ticket->work.is_any ? &ticket->work : &ticket->marks;

    if (ticket->pending)
        return TSM_EMU_TIMES_NOT_YET;
    if (!span->is_any)
        return TSM_EMU_TIMES_NONE;
    *start_ns = span->start_ns;
    *end_ns = span->end_ns;
    return TSM_EMU_TIMES_KNOWN;
}

static enum tsm_emu_times_state read_ticket(struct tsm_emu_ticket *ticket, uint64_t *start_ns,
                                            uint64_t *end_ns)
{
    enum tsm_emu_times_state state;

    pthread_mutex_lock(&emu_scheduler.lock);
    state = read_locked(ticket, start_ns, end_ns);
    pthread_mutex_unlock(&emu_scheduler.lock);
    if (state != TSM_EMU_TIMES_NOT_YET)
        free(ticket);
    return state;
}

static void drop(struct tsm_emu_ticket *ticket)
{
    bool is_last;

    if (!ticket)
        return;
    pthread_mutex_lock(&emu_scheduler.lock);
    ticket->is_dropped = true;
    is_last = !ticket->pending;
    pthread_mutex_unlock(&emu_scheduler.lock);
    if (is_last)
        free(ticket);
}

static void watch(struct tsm_emu_ticket *ticket, tsm_emu_watcher watcher, void *user)
{
    pthread_mutex_lock(&emu_scheduler.lock);
    ticket->watcher_user = user;
    ticket->watcher = watcher;
    pthread_mutex_unlock(&emu_scheduler.lock);
}

__attribute__((visibility("default"))) const struct tsm_emu_times *tsm_emu_times(void);

const struct tsm_emu_times *tsm_emu_times(void)
{
    static const struct tsm_emu_times real = {
        TSM_EMU_TIMES_VERSION, false, emu_clock,       begin, end,
        read_ticket,           drop,  emu_clock_aside, watch};
    static const struct tsm_emu_times simulated = {
        TSM_EMU_TIMES_VERSION, true, emu_clock,       begin, end,
        read_ticket,           drop, emu_clock_aside, watch};

    if (!emu_settings.has_times)
        return NULL;
    return emu_settings.is_virtual ? &simulated : &real;
}
