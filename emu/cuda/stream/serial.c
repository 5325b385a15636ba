/* SPDX-License-Identifier: Apache-2.0
 *
 * Serial mode: one command at a time, while the program waits, chosen by the schedule.
 *
 * A function of the program has its turn like any command, but on a thread beside: it may wait for
 * the program, which may wait for another stream. When it does nothing for a while (its thread uses
 * no processor time), or does not come back for long, others go on beside it. Programs whose
 * functions do neither have their commands run in the same order each time.
 *
 * In virtual time the order is that of the commands' ready times, and a program that asks has all
 * run that is ready by its clock. More patience then: others that go on too early could take an
 * engine first.
 */
#include "emu/cuda/stream/schedule.h"

#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/random.h"
#include "emu/cuda/core/emu.h"
#include "emu/cuda/stream/node_order.h"
#include "emu/cuda/stream/virtual_time.h"

struct patience {
    uint64_t idle_ns;  /* how long the program may be silent */
    uint64_t stall_ns; /* a function that does nothing for so long waits for the program */
    uint64_t long_ns;  /* ... and one that is not back then may */
};

/* A thread that asks what has ended by its clock. On its stack. */
struct question {
    uint64_t before_ns; /* what is ready before that runs first */
    bool is_answered;
    struct question *next;
};

static bool has_thread;
static uint64_t steps_wanted;
static uint64_t steps_done;
static uint64_t asked; /* how often the program did */
static struct question *questions;
static uint64_t random_state;

static const struct patience *patience(void)
{
    static const struct patience is_real = {1000000000u, 100000000u, 1500000000u};
    static const struct patience is_virtual = {5000000000u, 1000000000u, 5000000000u};

    return emu_settings.is_virtual ? &is_virtual : &is_real;
}

static uint64_t random_below(uint64_t limit)
{
    return tsm_random(&random_state) % limit;
}

/* The stream whose first command goes next, NULL when none is ready. */
static CUstream pick_by_schedule(void)
{
    CUstream best = NULL;
    uint64_t ready = 0;

    for (CUstream s = emu_scheduler.streams; s; s = s->next) {
        if (!emu_is_first_ready(s))
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

/* Tests whether of two commands that are ready at the same time `a` goes first. */
static bool is_preferred(const struct emu_command *a, const struct emu_command *b)
{
    if (a->stream->priority != b->stream->priority)
        return a->stream->priority < b->stream->priority;
    return a->stream->id != b->stream->id ? a->stream->id < b->stream->id : a->number < b->number;
}

/* The one whose first command is ready at the earliest time, *ready_ns. */
static CUstream pick_by_time(uint64_t *ready_ns)
{
    struct emu_command *best = NULL;

    *ready_ns = UINT64_MAX;
    for (CUstream s = emu_scheduler.streams; s; s = s->next)
        for (struct emu_command *c = s->head; c; c = emu_node_order_next(c)) {
            if (!emu_is_ready(s, c))
                continue;
            uint64_t ready = emu_time_ready(c);
            if (best && (ready > *ready_ns || (ready == *ready_ns && !is_preferred(c, best))))
                continue;
            *ready_ns = ready;
            best = c;
        }
    if (best)
        emu_node_order_first(best->stream, best);
    return best ? best->stream : NULL;
}

/* Answers those who ask for an earlier time than `ns`. Returns whether a question is left. */
static bool answer_until(uint64_t ns)
{
    struct question **at = &questions;
    bool is_any = *at != NULL;

    while (*at) {
        struct question *question = *at;
        if (question->before_ns > ns) {
            at = &question->next;
            continue;
        }
        question->is_answered = true;
        *at = question->next;
    }
    if (is_any)
        pthread_cond_broadcast(&emu_scheduler.something_done);
    return questions != NULL;
}

/* is_wanted: whatever it is; else only if a question is about it. */
static CUstream pick(bool is_wanted)
{
    uint64_t ready_ns;
    CUstream stream;

    if (!emu_settings.is_virtual)
        return is_wanted ? pick_by_schedule() : NULL;
    if (!is_wanted && !questions)
        return NULL;
    stream = pick_by_time(&ready_ns);
    return answer_until(ready_ns) || is_wanted ? stream : NULL;
}

/* ---- functions of the program ---- */

/* A thread for them. Never freed: there are as many as functions that waited at once. */
struct helper {
    struct helper *next; /* that has nothing to do */
    pthread_cond_t wake;
    CUstream stream; /* whose first command it runs */
    bool has_started;
    pthread_t thread;
};

static struct helper *idle_helpers;

/* Runs the stream's first command, whose stream may be gone then. */
static void run_one(CUstream stream)
{
    emu_run_first(stream);
    if (stream->is_destroyed && !stream->head)
        emu_stream_free(stream);
}

static void *helper_thread(void *user)
{
    struct helper *helper = user;

    pthread_mutex_lock(&emu_scheduler.lock);
    helper->thread = pthread_self();
    helper->has_started = true;
    for (;;) {
        if (!helper->stream) {
            pthread_cond_wait(&helper->wake, &emu_scheduler.lock);
            continue;
        }
        run_one(helper->stream);
        helper->stream = NULL;
        helper->next = idle_helpers;
        idle_helpers = helper;
        pthread_cond_broadcast(&emu_scheduler.something_done);
        pthread_cond_signal(&emu_scheduler.serial_wake);
    }
    return NULL;
}

/* NULL: no memory or no thread. */
static struct helper *take_helper(void)
{
    struct helper *helper = idle_helpers;

    if (helper) {
        idle_helpers = helper->next;
        return helper;
    }
    helper = calloc(1, sizeof(*helper));
    if (helper && pthread_cond_init(&helper->wake, NULL) == 0 &&
        emu_start_thread(helper_thread, helper))
        return helper;
    free(helper);
    return NULL;
}

static uint64_t used_ns(const struct helper *helper)
{
    struct timespec t = {0, 0};
    clockid_t clock;

    if (helper->has_started && pthread_getcpuclockid(helper->thread, &clock) == 0)
        clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Until the function is over, or waits itself. */
static void await_helper(struct helper *helper, CUstream stream)
{
    uint64_t begin = tsm_monotonic_ns(), looked = begin, used = used_ns(helper);

    while (helper->stream == stream && tsm_monotonic_ns() - begin < patience()->long_ns) {
        emu_wait_for(&emu_scheduler.something_done, patience()->stall_ns);
        if (helper->stream != stream || tsm_monotonic_ns() - looked < patience()->stall_ns)
            continue;
        if (used_ns(helper) == used && helper->has_started)
            return;
        used = used_ns(helper);
        looked = tsm_monotonic_ns();
    }
}

static void run_next(CUstream stream)
{
    struct helper *helper = stream->head->type->is_programs ? take_helper() : NULL;

    if (!helper) {
        run_one(stream);
        return;
    }
    stream->is_running = true; /* nobody else's */
    helper->stream = stream;
    pthread_cond_signal(&helper->wake);
    await_helper(helper, stream);
}

/* ---- the thread of all streams ---- */

static bool is_awaited(void)
{
    for (struct emu_waiter *w = emu_scheduler.waiters; w; w = w->next)
        if (!w->command->is_done)
            return true;
    return emu_scheduler.is_idle;
}

static bool is_anything_left(void)
{
    for (CUstream s = emu_scheduler.streams; s; s = s->next)
        if (s->head)
            return true;
    return false;
}

static void wait_for_work(bool is_wanted)
{
    uint64_t seen = emu_scheduler.submitted + asked;

    if (!is_anything_left()) {
        pthread_cond_wait(&emu_scheduler.serial_wake, &emu_scheduler.lock);
        return;
    }
    emu_wait_for(&emu_scheduler.serial_wake, is_wanted ? EMU_POLL_NS : patience()->idle_ns);
    if (!is_wanted)
        emu_scheduler.is_idle = seen == emu_scheduler.submitted + asked && !emu_scheduler.waiters &&
                                steps_wanted == steps_done;
}

static void *serial_thread(void *user)
{
    (void)user;
    pthread_mutex_lock(&emu_scheduler.lock);
    for (;;) {
        bool is_step = steps_wanted > steps_done;
        bool is_wanted = is_step || is_awaited();
        CUstream stream = pick(is_wanted);
        if (stream)
            run_next(stream);
        if (is_step) {
            steps_done++;
            pthread_cond_broadcast(&emu_scheduler.something_done);
        } else if (!stream) {
            wait_for_work(is_wanted);
        }
    }
    return NULL;
}

bool emu_serial_start(void)
{
    if (!has_thread)
        random_state = emu_settings.seed;
    has_thread = has_thread || emu_start_thread(serial_thread, NULL);
    return has_thread;
}

void emu_poll(void)
{
    if (!emu_settings.is_serial)
        return;
    pthread_mutex_lock(&emu_scheduler.lock);
    if (has_thread && is_anything_left()) {
        uint64_t wanted = ++steps_wanted;
        pthread_cond_signal(&emu_scheduler.serial_wake);
        while (steps_done < wanted)
            pthread_cond_wait(&emu_scheduler.something_done, &emu_scheduler.lock);
    }
    pthread_mutex_unlock(&emu_scheduler.lock);
}

/* Waits until all has run that is ready at `ns` or before. */
static void ask_until(uint64_t ns)
{
    struct question question = {.before_ns = ns + 1};

    pthread_mutex_lock(&emu_scheduler.lock);
    emu_note_values(emu_clock_seen(), 0);
    asked++;
    if (has_thread && is_anything_left()) {
        question.next = questions;
        questions = &question;
        pthread_cond_signal(&emu_scheduler.serial_wake);
        while (!question.is_answered)
            pthread_cond_wait(&emu_scheduler.something_done, &emu_scheduler.lock);
    }
    pthread_mutex_unlock(&emu_scheduler.lock);
}

void emu_query(void)
{
    emu_clock_charge();
    if (emu_settings.is_virtual)
        ask_until(emu_clock());
    else
        emu_poll();
}
