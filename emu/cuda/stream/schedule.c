/* SPDX-License-Identifier: Apache-2.0
 *
 * Which command runs when. One lock for all queues: commands take microseconds at least, and the
 * lock is held for a few dozen instructions.
 */
#include "emu/cuda/stream/schedule.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "emu/cuda/core/emu.h"
#include "emu/cuda/core/context.h"
#include "emu/cuda/stream/node_order.h"
#include "emu/cuda/stream/outcomes.h"
#include "emu/cuda/stream/ticket.h"
#include "emu/cuda/stream/virtual_time.h"

#define PAUSE_NS 10000000000u /* how long a pause waits for what runs */

struct emu_scheduler emu_scheduler = {.lock = PTHREAD_MUTEX_INITIALIZER,
                                      .something_done = PTHREAD_COND_INITIALIZER,
                                      .serial_wake = PTHREAD_COND_INITIALIZER};

/* The program's signals are not for our threads, and nobody joins them. */
bool emu_start_thread(void *(*function)(void *), void *user)
{
    static atomic_bool was_said;
    pthread_t thread;
    int error = tsm_thread_create_blocked(&thread, function, user);

    if (!error)
        pthread_detach(thread);
    else if (!atomic_exchange(&was_said, true))
        tsm_log(TSM_LOG_WARN,
                "the software GPU cannot start a thread for a stream: %s; raise the limits of "
                "threads (ulimit -u) and mappings (sysctl vm.max_map_count), or use fewer streams",
                strerror(error));
    return !error;
}

/* ---- waiting ---- */

/* Can the next command of the stream that `command` is in be run by who waits for it? */
static bool can_help(const struct emu_command *command)
{
    CUstream stream = command->stream;

    return !emu_settings.is_serial && stream && emu_is_first_ready(stream) &&
           stream->head->type->runs_anywhere;
}

/* Only those that can go on now: thousands may wait. */
static void wake_waiters(void)
{
    for (struct emu_waiter *w = emu_scheduler.waiters; w; w = w->next)
        if (w->command->is_done || can_help(w->command))
            pthread_cond_signal(&w->wake);
}

/* Releases the lock while it waits. */
static void wait_locked(struct emu_command *command)
{
    struct emu_waiter waiter = {command, emu_scheduler.waiters, PTHREAD_COND_INITIALIZER};
    struct emu_waiter **at = &emu_scheduler.waiters;

    emu_scheduler.waiters = &waiter;
    pthread_cond_signal(&emu_scheduler.serial_wake);
    while (!command->is_done)
        if (can_help(command)) /* releases the lock while it runs */
            emu_run_first(command->stream);
        else
            pthread_cond_wait(&waiter.wake, &emu_scheduler.lock);
    while (*at != &waiter)
        at = &(*at)->next;
    *at = waiter.next;
}

void emu_command_wait(struct emu_command *command)
{
    emu_clock_charge();
    pthread_mutex_lock(&emu_scheduler.lock);
    emu_note_values(emu_clock_seen(), 0);
    if (!command->is_done)
        wait_locked(command);
    emu_clock_advance(command->done_ns);
    pthread_mutex_unlock(&emu_scheduler.lock);
}

/* ---- running ---- */

bool emu_is_ready(CUstream stream, struct emu_command *command)
{
    if (stream->is_running || (emu_scheduler.pauses && !command->type->is_programs))
        return false;
    for (size_t i = 0; i < command->after_count; i++)
        if (!command->after[i]->is_done)
            return false;
    /* After an error nothing comes that it could wait for. */
    return !command->type->is_ready || command->type->is_ready(command) ||
           (!command->type->runs_after_error && emu_context_error(stream->context));
}

bool emu_is_first_ready(CUstream stream)
{
    return stream->head && emu_is_ready(stream, stream->head);
}

void emu_note_values(uint64_t ns, uint64_t by)
{
    if (!by && emu_scheduler.running_count)
        return;
    for (struct emu_command *c = emu_scheduler.awaiting; c; c = c->next_awaiting) {
        const bool is_there = c->type->is_ready(c);

        if (is_there && !c->is_value_there) {
            c->brought_ns = ns;
            c->brought_by = by;
        }
        c->is_value_there = is_there;
    }
}

/* Keeps commands that wait for a value where emu_note_values() finds them. */
static void enter_awaiting(struct emu_command *command)
{
    if (!emu_settings.is_virtual || !command->type->is_ready)
        return;
    command->next_awaiting = emu_scheduler.awaiting;
    emu_scheduler.awaiting = command;
}

static void leave_awaiting(const struct emu_command *command)
{
    struct emu_command **at = &emu_scheduler.awaiting;

    if (!emu_settings.is_virtual || !command->type->is_ready)
        return;
    while (*at && *at != command)
        at = &(*at)->next_awaiting;
    if (*at)
        *at = command->next_awaiting;
}

/* Tests whether nothing wakes the stream's thread when its first command can start: it has to look.
 * Another thread may have run the command before it, for whose end it waits without looking. */
static bool must_look(CUstream stream)
{
    return stream->head && stream->head->type->is_ready;
}

static void complete(CUstream stream, struct emu_command *command, bool has_run, bool has_failed)
{
    emu_time_end(command, has_run);
    emu_ticket_done(command, has_run, has_failed);
    command->is_done = true;
    leave_awaiting(command);
    emu_forget_after(command);
    stream->head = command->next;
    if (!stream->head)
        stream->tail = NULL;
    stream->is_running = false;
    emu_scheduler.running_count -= !command->type->is_programs;
    emu_note_values(command->done_ns, command->number);
    emu_unref_locked(command);
    pthread_cond_broadcast(&emu_scheduler.something_done);
    wake_waiters();
    /* Only those that can go on now: with thousands of streams all others would wake for nothing.
     */
    for (CUstream s = emu_scheduler.streams; s; s = s->next)
        if (s->is_waiting && (emu_is_first_ready(s) || (s == stream && must_look(s))))
            pthread_cond_signal(&s->wake);
}

/* TS_EMU_LATE: the results are there, but nobody may know yet. TS_EMU_WRONG: the last thing that a
 * copy does is to change one of them. Tests look whether that is noticed. */
static void end_badly(struct emu_command *command)
{
    const uint64_t ns = emu_settings.late_ns;
    const struct timespec late = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};

    if (ns && !command->type->is_programs && command->type != &emu_command_mark)
        nanosleep(&late, NULL);
    if (emu_settings.is_wrong && command->type->spoil)
        command->type->spoil(command);
}

static void note_failure(CUcontext context, CUresult error, const struct emu_command *command)
{
    pthread_mutex_lock(&emu_scheduler.lock);
    emu_context_fail(context, error, command->mark);
    pthread_mutex_unlock(&emu_scheduler.lock);
}

/* Releases the lock while the command runs. */
void emu_run_first(CUstream stream)
{
    struct emu_command *command = stream->head;
    CUcontext context = stream->context;
    const bool runs = !emu_context_error(context) || command->type->runs_after_error;
    bool has_failed = emu_context_error(context);

    stream->is_running = true;
    emu_scheduler.running_count += !command->type->is_programs;
    emu_time_begin(command, runs);
    pthread_mutex_unlock(&emu_scheduler.lock);
    if (runs) {
        CUresult error = command->type->run(command);
        has_failed |= error;
        if (error)
            note_failure(context, error, command);
        else
            end_badly(command);
    }
    emu_ticket_take_accesses(command, runs && !has_failed);
    emu_command_finish(command);
    pthread_mutex_lock(&emu_scheduler.lock);
    complete(stream, command, runs, has_failed);
}

void emu_wait_for(pthread_cond_t *cond, uint64_t ns)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    ns += (uint64_t)until.tv_nsec;
    until.tv_sec += (time_t)(ns / 1000000000u);
    until.tv_nsec = (long)(ns % 1000000000u);
    pthread_cond_timedwait(cond, &emu_scheduler.lock, &until);
}

static void wait_until_ready(CUstream stream)
{
    stream->is_waiting = true;
    if (stream->head->type->is_ready)
        emu_wait_for(&stream->wake, EMU_POLL_NS);
    else
        pthread_cond_wait(&stream->wake, &emu_scheduler.lock);
    stream->is_waiting = false;
}

/* The thread of one stream. */
static void *worker(void *user)
{
    CUstream stream = user;

    pthread_mutex_lock(&emu_scheduler.lock);
    while (stream->head || !stream->is_destroyed) {
        if (!stream->head)
            pthread_cond_wait(&stream->wake, &emu_scheduler.lock);
        else if (emu_is_first_ready(stream))
            emu_run_first(stream);
        else
            wait_until_ready(stream);
    }
    emu_stream_free(stream);
    pthread_mutex_unlock(&emu_scheduler.lock);
    return NULL;
}

/* ---- pauses ---- */

static bool is_quiet(void)
{
    for (CUstream s = emu_scheduler.streams; s; s = s->next)
        if (s->is_running && !s->head->type->is_programs)
            return false;
    return !emu_scheduler.writers;
}

static void resume_locked(void)
{
    emu_scheduler.pauses--;
    pthread_cond_broadcast(&emu_scheduler.something_done);
    wake_waiters();
    pthread_cond_broadcast(&emu_scheduler.serial_wake);
    for (CUstream s = emu_scheduler.streams; s; s = s->next)
        pthread_cond_signal(&s->wake);
}

CUresult emu_pause(void)
{
    uint64_t until = tsm_monotonic_ns() + PAUSE_NS;
    CUresult result = CUDA_SUCCESS;

    pthread_mutex_lock(&emu_scheduler.lock);
    emu_scheduler.pauses++;
    while (!is_quiet() && tsm_monotonic_ns() < until)
        emu_wait_for(&emu_scheduler.something_done, EMU_POLL_NS);
    if (!is_quiet()) {
        resume_locked();
        result = CUDA_ERROR_NOT_READY;
    }
    pthread_mutex_unlock(&emu_scheduler.lock);
    return result;
}

void emu_resume(void)
{
    pthread_mutex_lock(&emu_scheduler.lock);
    resume_locked();
    pthread_mutex_unlock(&emu_scheduler.lock);
}

void emu_writing_begin(void)
{
    pthread_mutex_lock(&emu_scheduler.lock);
    while (emu_scheduler.pauses)
        pthread_cond_wait(&emu_scheduler.something_done, &emu_scheduler.lock);
    emu_scheduler.writers++;
    pthread_mutex_unlock(&emu_scheduler.lock);
}

void emu_writing_end(void)
{
    pthread_mutex_lock(&emu_scheduler.lock);
    emu_scheduler.writers--;
    pthread_mutex_unlock(&emu_scheduler.lock);
}

/* ---- sending ---- */

static bool start_worker(CUstream stream)
{
    if (emu_settings.is_serial)
        return emu_serial_start();
    stream->has_worker = stream->has_worker || emu_start_thread(worker, stream);
    return stream->has_worker;
}

/* Adds the waits that the legacy default stream means for a new command. */
static bool after_default(CUstream stream, struct emu_command *command)
{
    bool ok = true;

    for (CUstream s = emu_scheduler.streams; s; s = s->next) {
        if (s->context != stream->context || s == stream)
            continue;
        if ((stream->is_legacy && emu_stream_is_blocking(s)) ||
            (emu_stream_is_blocking(stream) && s->is_legacy))
            ok = emu_after_stream_locked(command, s) && ok;
    }
    if (stream->is_legacy && command->after_ns < stream->context->freed_blocking_ns)
        command->after_ns = stream->context->freed_blocking_ns;
    return ok;
}

/* "NUMBER STREAM THREAD NODE": the stream's id, the kernel's id of the thread that sends the
 * command, and the type of a graph's node that would do the same (enum CUgraphNodeType; -1: none).
 */
static void log_command(const struct emu_command *command)
{
    static int fd = -1;
    const char *why;

    if (fd < 0)
        fd = tsm_file_append(emu_settings.queue, &why);
    if (fd >= 0)
        dprintf(fd, "%llu %llu %ld %d\n", (unsigned long long)command->number, command->stream->id,
                syscall(SYS_gettid), (int)command->type->node - 1);
}

CUresult emu_stream_submit(CUstream stream, struct emu_command *command)
{
    CUresult result = CUDA_ERROR_OUT_OF_MEMORY;

    emu_clock_charge();
    pthread_mutex_lock(&emu_scheduler.lock);
    if (after_default(stream, command) && emu_node_order_join(command) &&
        emu_time_sent(command, stream) && start_worker(stream)) {
        command->stream = stream;
        emu_ticket_join(command);
        command->mark = emu_mark;
        command->number = ++emu_scheduler.submitted;
        if (emu_settings.queue)
            log_command(command);
        command->references++;
        if (stream->tail)
            stream->tail->next = command;
        else
            stream->head = command;
        stream->tail = command;
        enter_awaiting(command);
        emu_note_values(emu_clock_seen(), 0);
        emu_scheduler.is_idle = false;
        pthread_cond_signal(emu_settings.is_serial ? &emu_scheduler.serial_wake : &stream->wake);
        result = CUDA_SUCCESS;
    }
    pthread_mutex_unlock(&emu_scheduler.lock);
    return result;
}

CUresult emu_stream_follow(CUstream stream, CUstream leader)
{
    struct emu_command *mark = emu_command_create(&emu_command_mark, 0);

    if (!mark)
        return CUDA_ERROR_OUT_OF_MEMORY;
    pthread_mutex_lock(&emu_scheduler.lock);
    bool ok = emu_after_stream_locked(mark, leader);
    pthread_mutex_unlock(&emu_scheduler.lock);
    CUresult result = ok ? emu_stream_submit(stream, mark) : CUDA_ERROR_OUT_OF_MEMORY;
    emu_command_unref(mark);
    return result;
}

/* Tests whether who waits for `stream` (NULL: for all of the context) waits for `s`. */
static bool is_waited_for(CUstream s, CUcontext context, CUstream stream)
{
    return s == stream ||
           (s->context == context && (!stream || (stream->is_legacy && emu_stream_is_blocking(s))));
}

/* Returns the last end of streams that are gone and would have been waited for. */
static uint64_t freed_ns(CUcontext context, CUstream stream)
{
    return !stream ? context->freed_ns : stream->is_legacy ? context->freed_blocking_ns : 0;
}

/* A command that stands after what is in the stream (NULL: in the context), not submitted. */
static CUresult wait_for_all(CUcontext context, CUstream stream)
{
    struct emu_command *all = emu_command_create(&emu_command_mark, 0);

    if (!all)
        return CUDA_ERROR_OUT_OF_MEMORY;
    emu_clock_charge();
    pthread_mutex_lock(&emu_scheduler.lock);
    emu_note_values(emu_clock_seen(), 0);
    all->after_ns = freed_ns(context, stream);
    for (CUstream s = emu_scheduler.streams; s; s = s->next)
        if (is_waited_for(s, context, stream))
            emu_after_stream_locked(all, s);
    emu_clock_advance(all->after_ns);
    for (size_t i = 0; i < all->after_count; i++) {
        if (!all->after[i]->is_done)
            wait_locked(all->after[i]);
        emu_clock_advance(all->after[i]->done_ns);
    }
    emu_unref_locked(all);
    pthread_mutex_unlock(&emu_scheduler.lock);
    return emu_context_error(context);
}

CUresult emu_stream_synchronize(CUstream stream)
{
    return wait_for_all(stream->context, stream);
}

CUresult emu_context_synchronize(CUcontext context)
{
    return wait_for_all(context, NULL);
}

bool emu_stream_is_idle(CUstream stream)
{
    bool is = true;

    pthread_mutex_lock(&emu_scheduler.lock);
    for (CUstream s = emu_scheduler.streams; s; s = s->next)
        if (is_waited_for(s, stream->context, stream))
            is = is && !s->head && (!emu_settings.is_virtual || s->end_ns <= emu_clock());
    if (emu_settings.is_virtual)
        is = is && freed_ns(stream->context, stream) <= emu_clock();
    pthread_mutex_unlock(&emu_scheduler.lock);
    return is;
}
