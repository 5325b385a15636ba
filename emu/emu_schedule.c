/* SPDX-License-Identifier: Apache-2.0
 *
 * Which command runs when. One lock for all queues: commands take microseconds at least, and the
 * lock is held for a few dozen instructions.
 */
#include "emu/emu_stream.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/random.h"
#include "emu/emu.h"
#include "emu/emu_capture.h"
#include "emu/emu_context.h"
#include "emu/emu_object.h"

#define POLL_NS  200000       /* how often a wait for a value in memory is looked at */
#define IDLE_NS  1000000000u  /* serial mode: how long the program may be silent */
#define PAUSE_NS 10000000000u /* how long a pause waits for what runs */

/* A host thread that waits; serial mode runs commands for these only. On the waiter's stack. */
struct waiter {
    struct emu_command *command;
    struct waiter *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t something_done = PTHREAD_COND_INITIALIZER;
static CUstream streams;
static uint64_t submitted;

static unsigned pauses;
static unsigned writers; /* host threads between emu_writing_begin() and _end() */

/* Serial mode. */
static pthread_cond_t serial_wake = PTHREAD_COND_INITIALIZER;
static bool has_serial_thread;
static struct waiter *waiters;
static uint64_t steps_wanted;
static uint64_t steps_done;
static bool is_idle; /* the program said nothing for IDLE_NS */
static uint64_t random_state;

/* ---- commands ---- */

static CUresult do_nothing(struct emu_command *command)
{
    (void)command;
    return CUDA_SUCCESS;
}

const struct emu_command_type emu_command_mark = {
    .run = do_nothing, .node = CU_GRAPH_NODE_TYPE_EMPTY + 1, .runs_anywhere = true};

struct emu_command *emu_command_create(const struct emu_command_type *type, size_t payload_size)
{
    struct emu_command *command = calloc(1, sizeof(*command) + payload_size);

    if (command) {
        command->type = type;
        command->references = 1;
        command->payload_size = payload_size;
    }
    return command;
}

struct emu_command *emu_command_clone(const struct emu_command *command)
{
    struct emu_command *copy = emu_command_create(command->type, command->payload_size);

    if (!copy)
        return NULL;
    memcpy(copy->payload, command->payload, command->payload_size);
    if (copy->type->cloned)
        copy->type->cloned(copy);
    return copy;
}

static void finish(struct emu_command *command)
{
    if (!command->is_finished && command->type->finish)
        command->type->finish(command);
    command->is_finished = true;
}

static void unref_locked(struct emu_command *command);

static void forget_after(struct emu_command *command)
{
    for (size_t i = 0; i < command->after_count; i++)
        unref_locked(command->after[i]);
    free(command->after);
    command->after = NULL;
    command->after_count = 0;
    command->after_capacity = 0;
}

/* A command that was never submitted may still own a payload; finish() of such a one must not
 * come back here, and none does. */
static void unref_locked(struct emu_command *command)
{
    if (--command->references)
        return;
    finish(command);
    forget_after(command);
    free(command);
}

void emu_command_ref(struct emu_command *command)
{
    pthread_mutex_lock(&lock);
    command->references++;
    pthread_mutex_unlock(&lock);
}

void emu_command_unref(struct emu_command *command)
{
    if (!command)
        return;
    pthread_mutex_lock(&lock);
    unref_locked(command);
    pthread_mutex_unlock(&lock);
}

static bool after_locked(struct emu_command *command, struct emu_command *earlier)
{
    if (!earlier || earlier->is_done)
        return true;
    if (command->after_count == command->after_capacity) {
        size_t capacity = command->after_capacity * 2 + 2;
        struct emu_command **after = realloc(command->after, capacity * sizeof(*after));
        if (!after)
            return false;
        command->after = after;
        command->after_capacity = capacity;
    }
    earlier->references++;
    command->after[command->after_count++] = earlier;
    return true;
}

bool emu_command_after(struct emu_command *command, struct emu_command *earlier)
{
    pthread_mutex_lock(&lock);
    bool ok = after_locked(command, earlier);
    pthread_mutex_unlock(&lock);
    return ok;
}

bool emu_command_after_context(struct emu_command *command, CUcontext context)
{
    bool ok = true;

    pthread_mutex_lock(&lock);
    for (CUstream s = streams; s; s = s->next)
        if (s->context == context)
            ok = after_locked(command, s->tail) && ok;
    pthread_mutex_unlock(&lock);
    return ok;
}

CUresult emu_stream_follow(CUstream stream, CUstream leader)
{
    struct emu_command *mark = emu_command_create(&emu_command_mark, 0);

    if (!mark)
        return CUDA_ERROR_OUT_OF_MEMORY;
    pthread_mutex_lock(&lock);
    bool ok = after_locked(mark, leader->tail);
    pthread_mutex_unlock(&lock);
    CUresult result = ok ? emu_stream_submit(stream, mark) : CUDA_ERROR_OUT_OF_MEMORY;
    emu_command_unref(mark);
    return result;
}

bool emu_command_is_done(struct emu_command *command)
{
    pthread_mutex_lock(&lock);
    bool is_done = command->is_done;
    pthread_mutex_unlock(&lock);
    return is_done;
}

static bool is_first_ready(CUstream stream);
static void run_first(CUstream stream);

/* Run the next command of the stream that `command` is in, if it may be run here and now. Releases
 * the lock while it runs. */
static bool help(const struct emu_command *command)
{
    CUstream stream = command->stream;

    if (emu_settings.is_serial || !stream || !is_first_ready(stream) ||
        !stream->head->type->runs_anywhere)
        return false;
    run_first(stream);
    return true;
}

/* Releases the lock while it waits. */
static void wait_locked(struct emu_command *command)
{
    struct waiter waiter = {command, waiters};
    struct waiter **at = &waiters;

    waiters = &waiter;
    pthread_cond_signal(&serial_wake);
    while (!command->is_done)
        if (!help(command))
            pthread_cond_wait(&something_done, &lock);
    while (*at != &waiter)
        at = &(*at)->next;
    *at = waiter.next;
}

void emu_command_wait(struct emu_command *command)
{
    pthread_mutex_lock(&lock);
    if (!command->is_done)
        wait_locked(command);
    pthread_mutex_unlock(&lock);
}

/* ---- running ---- */

static bool is_first_ready(CUstream stream)
{
    struct emu_command *first = stream->head;

    if (!first || stream->is_running || (pauses && !first->type->is_programs))
        return false;
    for (size_t i = 0; i < first->after_count; i++)
        if (!first->after[i]->is_done)
            return false;
    return !first->type->is_ready || first->type->is_ready(first);
}

static void free_stream(CUstream stream)
{
    CUstream *at = &streams;

    while (*at != stream)
        at = &(*at)->next;
    *at = stream->next;
    pthread_cond_destroy(&stream->wake);
    free(stream);
}

static void complete(CUstream stream, struct emu_command *command)
{
    command->done_ns = tsm_monotonic_ns();
    command->is_done = true;
    forget_after(command);
    stream->head = command->next;
    if (!stream->head)
        stream->tail = NULL;
    stream->is_running = false;
    unref_locked(command);
    pthread_cond_broadcast(&something_done);
    for (CUstream s = streams; s; s = s->next)
        if (s->is_waiting)
            pthread_cond_signal(&s->wake);
}

/* Releases the lock while the command runs. */
static void run_first(CUstream stream)
{
    struct emu_command *command = stream->head;
    CUcontext context = stream->context;

    stream->is_running = true;
    pthread_mutex_unlock(&lock);
    if (!emu_context_error(context) || command->type->runs_after_error) {
        CUresult error = command->type->run(command);
        if (error)
            emu_context_fail(context, error);
    }
    finish(command);
    pthread_mutex_lock(&lock);
    complete(stream, command);
}

static void wait_for(pthread_cond_t *cond, uint64_t ns)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    ns += (uint64_t)until.tv_nsec;
    until.tv_sec += (time_t)(ns / 1000000000u);
    until.tv_nsec = (long)(ns % 1000000000u);
    pthread_cond_timedwait(cond, &lock, &until);
}

static void wait_until_ready(CUstream stream)
{
    stream->is_waiting = true;
    if (stream->head->type->is_ready)
        wait_for(&stream->wake, POLL_NS);
    else
        pthread_cond_wait(&stream->wake, &lock);
    stream->is_waiting = false;
}

/* The thread of one stream. */
static void *worker(void *user)
{
    CUstream stream = user;

    pthread_mutex_lock(&lock);
    while (stream->head || !stream->is_destroyed) {
        if (!stream->head)
            pthread_cond_wait(&stream->wake, &lock);
        else if (is_first_ready(stream))
            run_first(stream);
        else
            wait_until_ready(stream);
    }
    free_stream(stream);
    pthread_mutex_unlock(&lock);
    return NULL;
}

/* ---- pauses ---- */

static bool is_quiet(void)
{
    for (CUstream s = streams; s; s = s->next)
        if (s->is_running && !s->head->type->is_programs)
            return false;
    return !writers;
}

static void resume_locked(void)
{
    pauses--;
    pthread_cond_broadcast(&something_done);
    pthread_cond_broadcast(&serial_wake);
    for (CUstream s = streams; s; s = s->next)
        pthread_cond_signal(&s->wake);
}

CUresult emu_pause(void)
{
    uint64_t until = tsm_monotonic_ns() + PAUSE_NS;
    CUresult result = CUDA_SUCCESS;

    pthread_mutex_lock(&lock);
    pauses++;
    while (!is_quiet() && tsm_monotonic_ns() < until)
        wait_for(&something_done, POLL_NS);
    if (!is_quiet()) {
        resume_locked();
        result = CUDA_ERROR_NOT_READY;
    }
    pthread_mutex_unlock(&lock);
    return result;
}

void emu_resume(void)
{
    pthread_mutex_lock(&lock);
    resume_locked();
    pthread_mutex_unlock(&lock);
}

void emu_writing_begin(void)
{
    pthread_mutex_lock(&lock);
    while (pauses)
        pthread_cond_wait(&something_done, &lock);
    writers++;
    pthread_mutex_unlock(&lock);
}

void emu_writing_end(void)
{
    pthread_mutex_lock(&lock);
    writers--;
    pthread_mutex_unlock(&lock);
}

/* ---- serial mode ---- */

static uint64_t random_below(uint64_t limit)
{
    return tsm_random(&random_state) % limit;
}

/* The stream whose first command goes next, NULL when none is ready. */
static CUstream pick(void)
{
    CUstream best = NULL;
    uint64_t ready = 0;

    for (CUstream s = streams; s; s = s->next) {
        if (!is_first_ready(s))
            continue;
        ready++;
        if (!best ||
            (emu_settings.schedule == PTX_SCHEDULE_FIFO && s->head->number < best->head->number) ||
            (emu_settings.schedule == PTX_SCHEDULE_REVERSE &&
             s->head->number > best->head->number) ||
            (emu_settings.schedule == PTX_SCHEDULE_RANDOM && random_below(ready) == 0))
            best = s;
    }
    return best;
}

static bool is_awaited(void)
{
    for (struct waiter *w = waiters; w; w = w->next)
        if (!w->command->is_done)
            return true;
    return is_idle;
}

static bool is_anything_left(void)
{
    for (CUstream s = streams; s; s = s->next)
        if (s->head)
            return true;
    return false;
}

static void serial_wait(bool is_wanted)
{
    uint64_t seen = submitted;

    if (!is_anything_left()) {
        pthread_cond_wait(&serial_wake, &lock);
        return;
    }
    wait_for(&serial_wake, is_wanted ? POLL_NS : IDLE_NS);
    if (!is_wanted)
        is_idle = seen == submitted && !waiters && steps_wanted == steps_done;
}

static void *serial_worker(void *user)
{
    (void)user;
    pthread_mutex_lock(&lock);
    for (;;) {
        bool is_step = steps_wanted > steps_done;
        bool is_wanted = is_step || is_awaited();
        CUstream stream = is_wanted ? pick() : NULL;
        if (stream) {
            run_first(stream);
            if (stream->is_destroyed && !stream->head)
                free_stream(stream);
        }
        if (is_step) {
            steps_done++;
            pthread_cond_broadcast(&something_done);
        } else if (!stream) {
            serial_wait(is_wanted);
        }
    }
    return NULL;
}

void emu_poll(void)
{
    if (!emu_settings.is_serial)
        return;
    pthread_mutex_lock(&lock);
    if (has_serial_thread && is_anything_left()) {
        uint64_t wanted = ++steps_wanted;
        pthread_cond_signal(&serial_wake);
        while (steps_done < wanted)
            pthread_cond_wait(&something_done, &lock);
    }
    pthread_mutex_unlock(&lock);
}

/* ---- streams ---- */

/* The program's signals are not for our threads, and nobody joins them. */
static bool start_thread(void *(*function)(void *), void *user)
{
    pthread_t thread;
    sigset_t all, old;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int error = pthread_create(&thread, NULL, function, user);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (!error)
        pthread_detach(thread);
    return !error;
}

static bool start_worker(CUstream stream)
{
    if (emu_settings.is_serial) {
        if (!has_serial_thread)
            random_state = emu_settings.seed;
        has_serial_thread = has_serial_thread || start_thread(serial_worker, NULL);
        return has_serial_thread;
    }
    stream->has_worker = stream->has_worker || start_thread(worker, stream);
    return stream->has_worker;
}

static bool is_blocking(CUstream stream)
{
    return !stream->is_legacy && !(stream->flags & CU_STREAM_NON_BLOCKING);
}

/* What the legacy default stream means for a new command. */
static bool after_default(CUstream stream, struct emu_command *command)
{
    bool ok = true;

    for (CUstream s = streams; s; s = s->next) {
        if (s->context != stream->context || s == stream)
            continue;
        if ((stream->is_legacy && is_blocking(s)) || (is_blocking(stream) && s->is_legacy))
            ok = after_locked(command, s->tail) && ok;
    }
    return ok;
}

CUresult emu_stream_submit(CUstream stream, struct emu_command *command)
{
    CUresult result = CUDA_ERROR_OUT_OF_MEMORY;

    pthread_mutex_lock(&lock);
    if (after_default(stream, command) && start_worker(stream)) {
        command->stream = stream;
        command->number = ++submitted;
        command->references++;
        if (stream->tail)
            stream->tail->next = command;
        else
            stream->head = command;
        stream->tail = command;
        is_idle = false;
        pthread_cond_signal(emu_settings.is_serial ? &serial_wake : &stream->wake);
        result = CUDA_SUCCESS;
    }
    pthread_mutex_unlock(&lock);
    return result;
}

CUresult emu_stream_send(CUstream stream, struct emu_command *command, bool wait)
{
    CUcontext context = stream->context;

    if (!command)
        return CUDA_ERROR_OUT_OF_MEMORY;
    bool is_captured = emu_stream_is_capturing(stream);
    CUresult result =
        is_captured ? emu_capture_command(stream, command, wait) : emu_capture_check_legacy(stream);
    if (!result && !is_captured)
        result = emu_stream_submit(stream, command);
    if (!result && wait) {
        emu_command_wait(command);
        result = emu_context_error(context);
    }
    emu_command_unref(command);
    return result;
}

/* A command that stands behind what is in the stream (NULL: in the context), not submitted. */
static CUresult wait_for_all(CUcontext context, CUstream stream)
{
    struct emu_command *all = emu_command_create(&emu_command_mark, 0);

    if (!all)
        return CUDA_ERROR_OUT_OF_MEMORY;
    pthread_mutex_lock(&lock);
    for (CUstream s = streams; s; s = s->next) {
        if (s == stream ||
            (s->context == context && (!stream || (stream->is_legacy && is_blocking(s)))))
            after_locked(all, s->tail);
    }
    for (size_t i = 0; i < all->after_count; i++)
        if (!all->after[i]->is_done)
            wait_locked(all->after[i]);
    unref_locked(all);
    pthread_mutex_unlock(&lock);
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

    pthread_mutex_lock(&lock);
    for (CUstream s = streams; s; s = s->next)
        if (s == stream || (stream->is_legacy && s->context == stream->context && is_blocking(s)))
            is = is && !s->head;
    pthread_mutex_unlock(&lock);
    return is;
}

CUresult emu_stream_create(CUstream *out, CUcontext context, unsigned flags, int priority,
                           bool is_legacy, uint64_t thread)
{
    CUstream stream = calloc(1, sizeof(*stream));
    CUstream *at = &streams;

    if (!stream || !emu_object_add(EMU_STREAM, stream)) {
        free(stream);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    stream->context = context;
    stream->flags = flags;
    stream->priority = priority;
    stream->is_legacy = is_legacy;
    stream->thread = thread;
    stream->id = emu_next_id();
    pthread_cond_init(&stream->wake, NULL);
    pthread_mutex_lock(&lock);
    while (*at)
        at = &(*at)->next;
    *at = stream;
    pthread_mutex_unlock(&lock);
    *out = stream;
    return CUDA_SUCCESS;
}

static void destroy_locked(CUstream stream)
{
    emu_object_remove(stream);
    stream->is_destroyed = true;
    if (stream->has_worker)
        pthread_cond_signal(&stream->wake);
    else if (!stream->head)
        free_stream(stream);
}

void emu_stream_destroy(CUstream stream)
{
    if (!stream)
        return;
    pthread_mutex_lock(&lock);
    destroy_locked(stream);
    pthread_mutex_unlock(&lock);
}

void emu_context_destroy_streams(CUcontext context)
{
    pthread_mutex_lock(&lock);
    for (CUstream s = streams, next; s; s = next) {
        next = s->next;
        if (s->context == context && !s->is_destroyed)
            destroy_locked(s);
    }
    pthread_mutex_unlock(&lock);
}

CUstream emu_stream_of_thread(CUcontext context, uint64_t thread)
{
    CUstream found = NULL;

    pthread_mutex_lock(&lock);
    for (CUstream s = streams; s && !found; s = s->next)
        if (s->context == context && s->thread == thread)
            found = s;
    pthread_mutex_unlock(&lock);
    if (!found)
        emu_stream_create(&found, context, 0, 0, false, thread);
    return found;
}

/* The callback may submit, so it runs without the lock: a list of the streams is made first. */
CUresult emu_stream_each(CUcontext context, CUresult (*callback)(CUstream stream, void *user),
                         void *user)
{
    CUresult result = CUDA_SUCCESS;
    CUstream *list;
    size_t count = 0;

    pthread_mutex_lock(&lock);
    for (CUstream s = streams; s; s = s->next)
        count++;
    list = calloc(count + 1, sizeof(*list));
    count = 0;
    for (CUstream s = streams; s && list; s = s->next)
        if (s->context == context && !s->is_destroyed)
            list[count++] = s;
    pthread_mutex_unlock(&lock);
    if (!list)
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; i < count && !result; i++)
        result = callback(list[i], user);
    free(list);
    return result;
}
