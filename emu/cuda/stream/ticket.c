/* SPDX-License-Identifier: Apache-2.0 */
#include "emu/cuda/stream/ticket.h"

#include <stdlib.h>

#include "api/cuda/abi_times.h"
#include "base/array.h"
#include "base/machine.h"
#include "emu/cuda/core/emu.h"
#include "emu/cuda/memory/memory.h"
#include "emu/cuda/stream/accesses.h"
#include "emu/cuda/stream/schedule.h"
#include "emu/cuda/stream/virtual_time.h"

struct span {
    bool is_any;
    uint64_t start_ns, end_ns;
};

/* A command's work, in virtual time. */
struct kept_work {
    struct tsm_emu_work work;
    size_t first_parent, first_awaited; /* places among those of the ticket */
};

/* A command that ran inside of another one. */
struct inner_work {
    unsigned number; /* of that one */
    struct tsm_emu_work work;
};

/* A node that records an event. */
struct recorded_event {
    unsigned number;
    void *event;
};

struct tsm_emu_ticket {
    unsigned pending; /* commands that are not done */
    unsigned count;   /* of all commands */
    bool is_dropped;
    bool has_failed;        /* one of them, or did not run */
    bool lacks_work;        /* not all of it can be said */
    struct kept_work *kept; /* by command; virtual time only */
    size_t kept_capacity;
    unsigned *parents;
    uint64_t *awaited;
    struct inner_work *inner; /* in the order of their numbers' ends */
    struct recorded_event *events;
    size_t parent_count, parent_capacity, awaited_count, awaited_capacity;
    size_t inner_count, inner_capacity, event_count, event_capacity;
    struct span work, marks;
    bool wants_accesses, lacks_accesses; /* lacks: not all of them can be said */
    struct emu_accesses accesses;
    tsm_emu_watcher watcher; /* or NULL */
    void *watcher_user;
};

static _Thread_local struct tsm_emu_ticket *current;

/* ---- commands ---- */

void emu_ticket_join(struct emu_command *command)
{
    command->ticket = current;
    if (!current)
        return;
    command->ticket_number = current->count++;
    current->pending++;
    if (command->event &&
        !TSM_ARRAY_PUSH(current->events, current->event_count, current->event_capacity,
                        (struct recorded_event){command->ticket_number, command->event}))
        current->lacks_work = true;
}

bool emu_ticket_wants_accesses(const struct emu_command *command)
{
    return command->ticket && command->ticket->wants_accesses;
}

void emu_ticket_take_accesses(const struct emu_command *command, bool is_known)
{
    struct tsm_emu_ticket *ticket = command->ticket;
    struct emu_accesses accesses = {0};

    if (!emu_ticket_wants_accesses(command))
        return;
    is_known = is_known && command->type->accesses && command->type->accesses(command, &accesses);
    pthread_mutex_lock(&emu_scheduler.lock);
    if (!is_known || !emu_accesses_add_all(&ticket->accesses, &accesses))
        ticket->lacks_accesses = true;
    pthread_mutex_unlock(&emu_scheduler.lock);
    emu_accesses_finish(&accesses);
}

static void free_ticket(struct tsm_emu_ticket *ticket)
{
    free(ticket->kept);
    free(ticket->parents);
    free(ticket->awaited);
    free(ticket->inner);
    free(ticket->events);
    emu_accesses_finish(&ticket->accesses);
    free(ticket);
}

static int by_number(const void *a, const void *b)
{
    const unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;

    return (x > y) - (x < y);
}

/* Notes which commands of the same call it waited for. */
static bool keep_parents(struct tsm_emu_ticket *ticket, struct kept_work *kept,
                         const struct emu_command *command)
{
    kept->first_parent = ticket->parent_count;
    for (size_t i = 0; i < command->after_count; i++)
        if (command->after[i]->ticket == ticket &&
            !TSM_ARRAY_PUSH(ticket->parents, ticket->parent_count, ticket->parent_capacity,
                            command->after[i]->ticket_number))
            return false;
    kept->work.parent_count = (unsigned)(ticket->parent_count - kept->first_parent);
    if (kept->work.parent_count)
        qsort(ticket->parents + kept->first_parent, kept->work.parent_count,
              sizeof(*ticket->parents), by_number);
    return true;
}

/* Notes which commands of other calls it waited for, and since when the host's value was there. */
static bool keep_awaited(struct tsm_emu_ticket *ticket, struct kept_work *kept,
                         const struct emu_command *command)
{
    kept->first_awaited = ticket->awaited_count;
    kept->work.awaited_count = (unsigned)command->awaited_count;
    for (size_t i = 0; i < command->awaited_count; i++)
        if (!TSM_ARRAY_PUSH(ticket->awaited, ticket->awaited_count, ticket->awaited_capacity,
                            command->awaited[i]))
            return false;
    if (!command->is_value_there)
        return true;
    kept->work.brought_by = command->brought_by;
    if (!command->brought_by && command->brought_ns > kept->work.sent_ns)
        kept->work.host_ns = command->brought_ns;
    return true;
}

static struct tsm_emu_work work_of(const struct emu_command *command, bool has_run)
{
    const struct tsm_device_work work =
        has_run ? emu_time_work(command) : (struct tsm_device_work){.kind = TSM_DEVICE_NONE};
    struct emu_value value = {.access = SBT_VALUE_NONE};

    if (command->type->value)
        command->type->value(command, &value);
    return (struct tsm_emu_work){.kind = work.kind,
                                 .bytes = work.bytes,
                                 .blocks = work.blocks,
                                 .instructions = work.instructions,
                                 .queue = command->stream->id,
                                 .priority = command->stream->priority,
                                 .is_node = command->is_node,
                                 .id = command->number,
                                 .access = value.access,
                                 .size = value.size,
                                 .address = value.address,
                                 .value = value.value};
}

static bool keep_work(struct tsm_emu_ticket *ticket, const struct emu_command *command,
                      bool has_run)
{
    struct kept_work *kept;

    if (!TSM_ARRAY_RESERVE(ticket->kept, ticket->kept_capacity, ticket->count))
        return false;
    kept = &ticket->kept[command->ticket_number];
    *kept = (struct kept_work){.work = work_of(command, has_run)};
    kept->work.sent_ns = command->arrival_ns - emu_settings.machine.launch_latency_ns;
    return keep_parents(ticket, kept, command) && keep_awaited(ticket, kept, command);
}

void emu_ticket_ran_inner(const struct emu_command *command, const struct emu_command *inner)
{
    struct tsm_emu_ticket *ticket = command->ticket;

    if (!ticket)
        return;
    ticket->lacks_accesses = true;
    if (!TSM_ARRAY_PUSH(ticket->inner, ticket->inner_count, ticket->inner_capacity,
                        (struct inner_work){command->ticket_number, work_of(inner, true)}))
        ticket->lacks_work = true;
}

static void extend(struct span *span, const struct emu_command *command)
{
    if (!span->is_any || command->start_ns < span->start_ns)
        span->start_ns = command->start_ns;
    if (!span->is_any || command->done_ns > span->end_ns)
        span->end_ns = command->done_ns;
    span->is_any = true;
}

/* Tests whether the command did something that takes time, and is no mark that others wait for: in
 * virtual time by its work, as who reads GPU_WORK records does. */
static bool is_work(const struct tsm_emu_ticket *ticket, const struct emu_command *command,
                    bool has_run)
{
    const size_t count = ticket->inner_count;

    if (!emu_settings.is_virtual)
        return command->type != &emu_command_mark;
    if (count && ticket->inner[count - 1].number == command->ticket_number)
        return true;
    return has_run && emu_time_work(command).kind != TSM_DEVICE_NONE;
}

void emu_ticket_done(struct emu_command *command, bool has_run, bool has_failed)
{
    struct tsm_emu_ticket *ticket = command->ticket;

    if (!ticket)
        return;
    extend(is_work(ticket, command, has_run) ? &ticket->work : &ticket->marks, command);
    ticket->has_failed |= has_failed;
    if (emu_settings.is_virtual && !keep_work(ticket, command, has_run))
        ticket->lacks_work = true;
    if (ticket->watcher)
        ticket->watcher(ticket->watcher_user, command->type->node - 1, command->start_ns,
                        command->done_ns);
    if (!--ticket->pending && ticket->is_dropped)
        free_ticket(ticket);
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
    if (!span->is_any || ticket->has_failed)
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
        free_ticket(ticket);
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
        free_ticket(ticket);
}

static void watch(struct tsm_emu_ticket *ticket, tsm_emu_watcher watcher, void *user)
{
    pthread_mutex_lock(&emu_scheduler.lock);
    ticket->watcher_user = user;
    ticket->watcher = watcher;
    pthread_mutex_unlock(&emu_scheduler.lock);
}

static bool is_over(struct tsm_emu_ticket *ticket)
{
    bool answer;

    pthread_mutex_lock(&emu_scheduler.lock);
    answer = !ticket->pending;
    pthread_mutex_unlock(&emu_scheduler.lock);
    return answer;
}

/* Visits what ran inside of the command with that number. */
static void visit_inner(const struct tsm_emu_ticket *ticket, unsigned number,
                        tsm_emu_work_visitor visit, void *user)
{
    for (size_t i = 0; i < ticket->inner_count; i++) {
        struct tsm_emu_work work = ticket->inner[i].work;

        work.is_inner = true;
        if (ticket->inner[i].number == number)
            visit(user, number, &work);
    }
}

/* Visits what the ticket keeps, which changes no more when all of it is done. */
static bool visit_works(struct tsm_emu_ticket *ticket, tsm_emu_work_visitor visit, void *user)
{
    bool is_known;

    pthread_mutex_lock(&emu_scheduler.lock);
    is_known = emu_settings.is_virtual && !ticket->pending && !ticket->lacks_work;
    pthread_mutex_unlock(&emu_scheduler.lock);
    for (unsigned i = 0; is_known && i < ticket->count; i++) {
        struct kept_work *kept = &ticket->kept[i];

        kept->work.is_last = i + 1 == ticket->count;
        kept->work.parents = ticket->parents + kept->first_parent;
        kept->work.awaited = ticket->awaited + kept->first_awaited;
        visit(user, i, &kept->work);
        visit_inner(ticket, i, visit, user);
    }
    return is_known;
}

static void visit_events(struct tsm_emu_ticket *ticket, tsm_emu_event_visitor visit, void *user)
{
    for (size_t i = 0; i < ticket->event_count; i++) /* of an ended ticket none is added */
        visit(user, ticket->events[i].number, ticket->events[i].event);
}

static void observe(struct tsm_emu_ticket *ticket)
{
    ticket->wants_accesses = true;
}

static bool accesses(struct tsm_emu_ticket *ticket, const uint64_t (**list)[3], size_t *count)
{
    bool is_known;

    pthread_mutex_lock(&emu_scheduler.lock);
    is_known = ticket->wants_accesses && !ticket->pending && !ticket->lacks_accesses;
    pthread_mutex_unlock(&emu_scheduler.lock);
    if (is_known)
        emu_accesses_settle(&ticket->accesses);
    *list = (const uint64_t(*)[3])ticket->accesses.list;
    *count = ticket->accesses.count;
    return is_known;
}

static const void *device_bytes(uint64_t address, uint64_t size)
{
    struct emu_memory memory;

    if (emu_settings.fill || !emu_memory_find(&memory, address) ||
        (memory.kind != EMU_MEMORY_DEVICE && memory.kind != EMU_MEMORY_POOL) || memory.shared ||
        size > memory.size - (address - memory.address))
        return NULL;
    return (const void *)(uintptr_t)address; /* NOLINT */
}

__attribute__((visibility("default"))) const struct tsm_emu_times *tsm_emu_times(void);

const struct tsm_emu_times *tsm_emu_times(void)
{
    static char machine[TSM_MACHINE_TEXT];
    static struct tsm_emu_times times = {
        .version = TSM_EMU_TIMES_VERSION,
        .now = emu_clock,
        .begin = begin,
        .end = end,
        .read = read_ticket,
        .drop = drop,
        .aside = emu_clock_aside,
        .watch = watch,
        .is_over = is_over,
        .works = visit_works,
        .set_now = emu_clock_set,
        .observe = observe,
        .accesses = accesses,
        .events = visit_events,
        .is_idle = emu_streams_are_idle,
        .device_bytes = device_bytes,
    };

    if (!emu_settings.has_times)
        return NULL;
    pthread_mutex_lock(&emu_scheduler.lock);
    if (emu_settings.is_virtual && !times.machine) {
        tsm_machine_text(&emu_settings.machine, machine);
        times.is_virtual = true;
        times.machine = machine;
    }
    pthread_mutex_unlock(&emu_scheduler.lock);
    return &times;
}
