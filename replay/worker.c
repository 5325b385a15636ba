/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/worker.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/random.h"
#include "base/text.h"

#define PATIENCE_NS   5000000000u /* with what is still under way when a replay has failed */
#define SLICE_NS      20000000u /* how often a waiting main thread looks at errors and the clock */
#define PATIENCE      10        /* slices: longer than any submission takes that does not wait */
#define EXECUTE_TIMES 10u       /* the timeout, at most: so long kernels may execute and none end */
#define THREADS_MAX   1024u     /* beyond it those end that have nothing to do */

struct job {
    enum tsm_job_kind kind;
    bool has_record;
    uint32_t stream; /* SBT_STREAM_NONE: none, or the whole device */
    uint32_t api;    /* of WAIT: all of this one alone; 0: `stream` says it */
    struct sbt_record record;
    const struct sbt_schema *schema;
    size_t after_count;
    struct tsm_place *after;
};

/* Work that hangs if a wait does not return. */
struct unfinished {
    uint64_t count;
    uint64_t first_seq, first_position, last_seq, last_position;
    const struct sbt_schema *first;
    uint64_t function; /* string id of the first one's GPU function */
};

struct tsm_worker {
    struct tsm_crew *crew;
    struct tsm_worker *next;
    uint32_t stream;
    pthread_t thread;
    bool has_thread;
    bool is_over;    /* its thread does nothing more; under the lock */
    uint64_t added;  /* main thread only */
    uint64_t freed;  /* so many are known to be done; main thread only */
    uint64_t random; /* of crew->delay; the thread's own */

    pthread_mutex_t lock;
    pthread_cond_t wake;  /* jobs, or stop */
    pthread_cond_t moved; /* done */
    struct job *queue[TSM_WORKER_QUEUE];
    uint64_t taken, queued;
    uint64_t allowed; /* to be taken; grows with queued unless permuted */
    uint64_t done;
    uint64_t awaited; /* somebody may wait for so many to be done, and for no fewer; 0: nobody */
    bool stop;
    bool rests; /* its thread is to end, and begins again with the next job */
    struct job *running;
    struct unfinished unfinished;
};

/* ---- jobs --------------------------------------------------------------------------------- */

static void *append(uint8_t **at, const void *data, size_t size)
{
    void *p = *at;

    if (size)
        memcpy(p, data, size);
    *at += (size + 15) & ~(size_t)15;
    return p;
}

/* Copies the job and its record into one block: the cursor's next step ends the record's life. */
static struct job *copy_job(const struct tsm_job *from)
{
    const struct sbt_record *r = from->record;
    size_t slots = r ? r->slot_count * sizeof(uint64_t) : 0, data = r ? r->data_size : 0;
    size_t after = from->after_count * sizeof(struct tsm_place);
    struct job *job = calloc(1, sizeof(*job) + slots + data + after + 4 * 16);
    uint8_t *at = (uint8_t *)(job + 1);

    if (!job)
        return NULL;
    at += -(uintptr_t)at & 15;
    job->kind = from->kind;
    job->stream = r ? r->stream : from->stream;
    job->api = from->api;
    job->schema = from->schema;
    job->after_count = from->after_count;
    job->after = append(&at, from->after, after);
    if (r) {
        job->has_record = true;
        job->record = *r;
        job->record.slots = append(&at, r->slots, slots);
        job->record.data = append(&at, r->data, data);
    }
    return job;
}

static int carry_out(struct tsm_worker *w, struct job *job)
{
    const struct tsm_backend *backend = w->crew->backend;
    struct tsm_backend_state *state = w->crew->state;

    switch (job->kind) {
    case TSM_JOB_SUBMIT:
        return backend->submit(state, &job->record, job->schema);
    case TSM_JOB_SUBMIT_SYNC_ONLY:
        return backend->submit_sync_only(state, &job->record, job->schema);
    case TSM_JOB_WAIT:
        return job->api ? backend->wait_for_api(state, job->api)
                        : backend->wait(state, job->stream);
    case TSM_JOB_HOST:
        return backend->host(state, &job->record, job->schema);
    case TSM_JOB_FAST_FORWARD:
        return backend->checkpoint->fast_forward(state, &job->record, job->schema);
    case TSM_JOB_AWAIT:
        return backend->schedule->await(state);
    case TSM_JOB_REACHED:
        return backend->sync->reached(state, &job->record, job->schema);
    case TSM_JOB_SYNC:
        return backend->sync->sync(state, &job->record, job->schema);
    }
    return TSM_E_ARGUMENT;
}

static void keep_error(struct tsm_crew *crew, const struct job *job, int error)
{
    pthread_mutex_lock(&crew->lock);
    if (!crew->error) {
        if (job->has_record)
            tsm_format(crew->message, sizeof(crew->message), "record %llu, %s: %s",
                       (unsigned long long)job->record.seq, job->schema->name, tsm_error_message());
        else
            tsm_format(crew->message, sizeof(crew->message), "%s", tsm_error_message());
        crew->error = error;
    }
    pthread_mutex_unlock(&crew->lock);
}

static void note_submitted(struct tsm_worker *w, const struct job *job)
{
    struct unfinished *u = &w->unfinished;

    if (!u->count++) {
        u->first = job->schema;
        u->first_seq = job->record.seq;
        u->first_position = job->record.position;
        u->function = sbt_record_role(job->schema, &job->record, SBT_ROLE_FUNCTION_NAME, 0);
    }
    u->last_seq = job->record.seq;
    u->last_position = job->record.position;
}

/* ---- the thread --------------------------------------------------------------------------- */

/* The lock is held. Whoever waits is woken when it is there, not for each job before. */
static bool is_done(struct tsm_worker *w, uint64_t count)
{
    if (w->done >= count)
        return true;
    if (!w->awaited || count < w->awaited)
        w->awaited = count;
    return false;
}

static void wait_for_place(const struct tsm_place *place)
{
    struct tsm_worker *w = place->worker;

    if (!w)
        return;
    pthread_mutex_lock(&w->lock);
    while (!is_done(w, place->count))
        pthread_cond_wait(&w->moved, &w->lock);
    pthread_mutex_unlock(&w->lock);
}

static struct job *take(struct tsm_worker *w)
{
    struct job *job = NULL;

    pthread_mutex_lock(&w->lock);
    while (w->taken == w->allowed && !w->stop && !w->rests)
        pthread_cond_wait(&w->wake, &w->lock);
    if (w->taken < w->queued)
        job = w->queue[w->taken++ % TSM_WORKER_QUEUE];
    pthread_mutex_unlock(&w->lock);
    return job;
}

static void begin(struct tsm_worker *w, struct job *job)
{
    pthread_mutex_lock(&w->lock);
    w->running = job;
    if (job->kind == TSM_JOB_SUBMIT)
        note_submitted(w, job);
    pthread_mutex_unlock(&w->lock);
}

static void end(struct tsm_worker *w, const struct job *job, int error)
{
    pthread_mutex_lock(&w->lock);
    w->running = NULL;
    w->done++;
    if (!error && job->kind == TSM_JOB_WAIT)
        w->unfinished.count = 0;
    bool is_awaited = w->awaited && w->done >= w->awaited;
    if (is_awaited)
        w->awaited = 0; /* those who wait for more say so again */
    pthread_mutex_unlock(&w->lock);
    /* Wakes without the lock: a woken thread would wait for it at once. */
    if (is_awaited)
        pthread_cond_broadcast(&w->moved);
    atomic_fetch_add(&w->crew->progress, 1);
}

/* Mostly short, so that a long trace takes not much longer, and now and then long enough for
 * everything that the GPU has to do. */
static void pause_a_while(struct tsm_worker *w)
{
    uint64_t r = tsm_random(&w->random);
    struct timespec t = {0, r % 64 ? (long)(r >> 8) % 20000 : (long)(r >> 8) % 3000000};

    if (r % 4 == 0)
        nanosleep(&t, NULL);
}

/* The last that a thread does with its worker. */
static void leave(struct tsm_worker *w)
{
    pthread_mutex_lock(&w->lock);
    w->is_over = true;
    pthread_cond_broadcast(&w->moved);
    pthread_mutex_unlock(&w->lock);
}

static void *work(void *user)
{
    struct tsm_worker *w = user;
    struct job *job;

    w->random = w->crew->delay + w->stream;
    while ((job = take(w))) {
        int error = 0;

        for (size_t i = 0; i < job->after_count; i++)
            wait_for_place(&job->after[i]);
        if (w->crew->delay)
            pause_a_while(w);
        if (!w->crew->error) {
            begin(w, job);
            error = carry_out(w, job);
            if (error < 0 && tsm_recorded_failures_take(w->crew->failures))
                error = 0;
            if (error < 0)
                keep_error(w->crew, job, error);
        }
        end(w, job, error);
        free(job);
    }
    leave(w);
    return NULL;
}

/* ---- from the main thread ----------------------------------------------------------------- */

int tsm_crew_init(struct tsm_crew *crew)
{
    pthread_mutex_init(&crew->lock, NULL);
    return 0;
}

static void init_waiting(struct tsm_worker *w)
{
    pthread_condattr_t attributes;

    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->wake, NULL);
    pthread_cond_init(&w->moved, &attributes);
    pthread_condattr_destroy(&attributes);
}

/* Ends the thread of a worker that has nothing to do; false: it has. */
static bool rest(struct tsm_worker *w)
{
    bool is_idle;

    pthread_mutex_lock(&w->lock);
    is_idle = w->done == w->queued && !w->stop;
    w->rests = is_idle;
    if (is_idle)
        pthread_cond_signal(&w->wake);
    pthread_mutex_unlock(&w->lock);
    if (!is_idle)
        return false;
    pthread_join(w->thread, NULL);
    w->has_thread = w->rests = w->is_over = false;
    w->crew->thread_count--;
    return true;
}

/* Returns how many threads have ended. */
static uint32_t rest_idle(struct tsm_crew *crew)
{
    uint32_t count = 0;

    for (struct tsm_worker *w = crew->workers; w; w = w->next)
        count += w->has_thread && rest(w);
    return count;
}

/* A system has room for some ten thousands of threads, and a driver may want one for each stream,
 * too. */
static int start_thread(struct tsm_worker *w)
{
    struct tsm_crew *crew = w->crew;
    int error;

    if (crew->thread_count >= THREADS_MAX)
        rest_idle(crew);
    error = pthread_create(&w->thread, NULL, work, w);
    if (error && rest_idle(crew))
        error = pthread_create(&w->thread, NULL, work, w);
    if (error)
        return tsm_fail(
            TSM_E_MEMORY,
            "cannot start a thread for stream %u: %s; raise the limit of threads (ulimit -u), or "
            "replay some of the streams (--streams)",
            w->stream, strerror(error));
    w->has_thread = true;
    crew->thread_count++;
    return 0;
}

int tsm_worker_create(struct tsm_worker **out, struct tsm_crew *crew, uint32_t stream)
{
    struct tsm_worker *w = calloc(1, sizeof(*w));

    if (!w)
        return tsm_fail(TSM_E_MEMORY, "no memory for the thread of stream %u", stream);
    w->crew = crew;
    w->stream = stream;
    init_waiting(w);
    w->next = crew->workers;
    crew->workers = w;
    *out = w;
    return start_thread(w);
}

static void stop_worker(struct tsm_worker *w)
{
    pthread_mutex_lock(&w->lock);
    w->stop = true;
    pthread_cond_signal(&w->wake);
    pthread_mutex_unlock(&w->lock);
}

static struct timespec time_of(uint64_t monotonic_ns)
{
    return (struct timespec){(time_t)(monotonic_ns / 1000000000u),
                             (long)(monotonic_ns % 1000000000u)};
}

static bool await_over(struct tsm_worker *w, uint64_t until_ns)
{
    const struct timespec until = time_of(until_ns);
    int error = 0;

    pthread_mutex_lock(&w->lock);
    while (!w->is_over && !error)
        error = pthread_cond_timedwait(&w->moved, &w->lock, &until);
    bool is_over = w->is_over;
    pthread_mutex_unlock(&w->lock);
    return is_over;
}

/* After an error a worker may wait for a command that is never going to be complete. */
static bool end_all(struct tsm_crew *crew)
{
    const uint64_t until = tsm_monotonic_ns() + tsm_crew_patience_ns(crew);

    for (struct tsm_worker *w = crew->workers; w; w = w->next)
        if (w->has_thread && !await_over(w, until))
            return false;
    return true;
}

uint64_t tsm_crew_patience_ns(const struct tsm_crew *crew)
{
    return crew->timeout_ns < PATIENCE_NS ? crew->timeout_ns : PATIENCE_NS;
}

static void destroy_workers(struct tsm_crew *crew)
{
    struct tsm_worker *w;

    for (w = crew->workers; w; w = w->next)
        if (w->has_thread)
            pthread_join(w->thread, NULL);
    while ((w = crew->workers)) {
        crew->workers = w->next;
        pthread_cond_destroy(&w->wake);
        pthread_cond_destroy(&w->moved);
        pthread_mutex_destroy(&w->lock);
        free(w);
    }
    pthread_mutex_destroy(&crew->lock);
}

bool tsm_crew_finish(struct tsm_crew *crew, bool failed)
{
    if (crew->hung)
        return false;
    for (struct tsm_worker *w = crew->workers; w; w = w->next)
        stop_worker(w);
    if (failed && !end_all(crew))
        return false;
    destroy_workers(crew);
    return true;
}

bool tsm_crew_collect(struct tsm_crew *crew)
{
    const struct tsm_backend_waits *waits = crew->backend->waits;
    int none = 0;

    atomic_compare_exchange_strong(&crew->error, &none,
                                   TSM_E_DEVICE); /* no more jobs are carried out */
    if (waits && waits->release)
        waits->release(crew->state);
    for (struct tsm_worker *w = crew->workers; w; w = w->next)
        stop_worker(w);
    for (struct tsm_worker *w = crew->workers; w; w = w->next)
        if (w->has_thread && !await_over(w, 0))
            return false;
    destroy_workers(crew);
    return true;
}

int tsm_crew_error(struct tsm_crew *crew)
{
    if (!crew->error)
        return 0;
    pthread_mutex_lock(&crew->lock);
    int error = tsm_fail(crew->error, "%s", crew->message);
    pthread_mutex_unlock(&crew->lock);
    return error;
}

/* Most jobs of the host take less time than waking a thread, so a few are done together. Whoever
 * needs them has their place by tsm_worker_last(), or waits for room in the queue. */
#define HOST_JOBS_TOGETHER 32u

/* The lock is held. */
static bool must_wake(const struct tsm_worker *w, const struct job *job,
                      const struct tsm_place *place)
{
    return job->kind != TSM_JOB_HOST || place || w->queued - w->taken >= HOST_JOBS_TOGETHER;
}

int tsm_worker_add(struct tsm_worker *w, const struct tsm_job *from, struct tsm_place *place)
{
    struct job *job = copy_job(from);
    int error = 0;

    if (!job)
        return tsm_fail(TSM_E_MEMORY, "no memory to queue a command");
    error = w->has_thread ? 0 : start_thread(w);
    if (!error && w->added - w->freed >= TSM_WORKER_QUEUE) {
        /* Half of it: one at a time, both threads would wake for each job. */
        uint64_t kept = w->crew->permute ? TSM_WORKER_QUEUE - 1 : TSM_WORKER_QUEUE / 2;
        struct tsm_place room = {w, w->added - kept};
        error = tsm_crew_await(w->crew, &room);
        w->freed = room.count;
    }
    if (error) {
        free(job);
        return error;
    }
    pthread_mutex_lock(&w->lock);
    w->queue[w->queued++ % TSM_WORKER_QUEUE] = job;
    if (!w->crew->permute)
        w->allowed = w->queued;
    bool wakes = !w->crew->permute && must_wake(w, job, place);
    pthread_mutex_unlock(&w->lock);
    if (wakes)
        pthread_cond_signal(&w->wake);
    w->added++;
    if (place)
        *place = (struct tsm_place){w, w->added};
    return 0;
}

struct tsm_place tsm_worker_last(struct tsm_worker *w)
{
    pthread_mutex_lock(&w->lock);
    bool has_jobs = w->taken < w->allowed;
    pthread_mutex_unlock(&w->lock);
    if (has_jobs)
        pthread_cond_signal(&w->wake);
    return (struct tsm_place){w, w->added};
}

bool tsm_place_reached(const struct tsm_place *place)
{
    struct tsm_worker *w = place->worker;

    if (!w)
        return true;
    pthread_mutex_lock(&w->lock);
    bool reached = w->done >= place->count;
    pthread_mutex_unlock(&w->lock);
    return reached;
}

/* ---- when nothing moves ------------------------------------------------------------------- */

static const char *function_name(struct tsm_crew *crew, const struct unfinished *u)
{
    const char *name = u->function ? sbt_reader_string(crew->reader, (uint32_t)u->function) : NULL;

    return name ? name : "";
}

static void describe_unfinished(struct tsm_crew *crew, const struct tsm_worker *w, char *out,
                                size_t size)
{
    const struct unfinished *u = &w->unfinished;
    const char *function = function_name(crew, u);

    if (u->count == 1)
        tsm_format(out, size, "record %llu, %s%s%s (position %llu), has not completed",
                   (unsigned long long)u->first_seq, u->first->name, *function ? " of " : "",
                   function, (unsigned long long)u->first_position);
    else
        tsm_format(out, size,
                   "%llu commands have not completed, from record %llu, %s%s%s (position %llu), to "
                   "record %llu; replay stepped to see which one",
                   (unsigned long long)u->count, (unsigned long long)u->first_seq, u->first->name,
                   *function ? " of " : "", function, (unsigned long long)u->first_position,
                   (unsigned long long)u->last_seq);
}

/* The worker that is inside the backend; one of a stream tells more than the host's. */
static struct tsm_worker *find_stuck(struct tsm_crew *crew)
{
    struct tsm_worker *stuck = NULL;

    for (struct tsm_worker *w = crew->workers; w; w = w->next) {
        pthread_mutex_lock(&w->lock);
        bool is_inside = w->running != NULL;
        pthread_mutex_unlock(&w->lock);
        if (is_inside && (!stuck || stuck->stream == SBT_STREAM_NONE))
            stuck = w;
    }
    return stuck;
}

/* `still_ns`: for so long no job was done. */
static int fail_hung(struct tsm_crew *crew, uint64_t still_ns)
{
    const bool executes = still_ns > EXECUTE_TIMES * crew->timeout_ns;
    const char *nothing = executes ? "nothing has ended, though kernels execute," : "no progress";
    struct tsm_worker *w = find_stuck(crew);
    double seconds = (double)crew->timeout_ns / 1e9 * (executes ? EXECUTE_TIMES : 1);
    const struct tsm_backend_waits *waits = crew->backend->waits;
    char what[320] = "", last[320] = "", shared[256] = "";
    uint64_t seq = 0;
    uint32_t stream;

    crew->hung = true;
    if (!w)
        return tsm_fail(TSM_E_DEVICE, "%s for %.3g s", nothing, seconds);
    pthread_mutex_lock(&w->lock);
    stream = w->running ? w->running->stream : w->stream;
    if (w->unfinished.count && stream != SBT_STREAM_NONE) {
        describe_unfinished(crew, w, what, sizeof(what));
        seq = w->unfinished.first_seq;
    } else if (w->running && w->running->has_record) {
        tsm_format(what, sizeof(what), "record %llu, %s, has not returned",
                   (unsigned long long)w->running->record.seq, w->running->schema->name);
    }
    pthread_mutex_unlock(&w->lock);
    if (stream == SBT_STREAM_NONE && waits && waits->describe_last)
        waits->describe_last(crew->state, last, sizeof(last));
    if (stream == SBT_STREAM_NONE)
        return tsm_fail(TSM_E_DEVICE, "%s for %.3g s: %s%s%s", nothing, seconds, what,
                        *last ? "; " : "", last);
    if (crew->stall && seq)
        tsm_stall_describe(crew->stall, seq, shared, sizeof(shared));
    return tsm_fail(TSM_E_DEVICE, "%s for %.3g s on stream %u: %s%s", nothing, seconds, stream,
                    what, shared);
}

/* True when the place was reached within one slice of time. */
static bool wait_slice(const struct tsm_place *place)
{
    struct tsm_worker *w = place->worker;
    const struct timespec t = time_of(tsm_monotonic_ns() + SLICE_NS);
    int error = 0;

    pthread_mutex_lock(&w->lock);
    while (!is_done(w, place->count) && !error)
        error = pthread_cond_timedwait(&w->moved, &w->lock, &t);
    bool reached = w->done >= place->count;
    pthread_mutex_unlock(&w->lock);
    return reached;
}

/* ---- permuted ----------------------------------------------------------------------------- */

static bool could_go_on(struct tsm_worker *w)
{
    const struct job *job = NULL;

    pthread_mutex_lock(&w->lock);
    if (w->done == w->allowed && w->allowed < w->queued)
        job = w->queue[w->allowed % TSM_WORKER_QUEUE];
    pthread_mutex_unlock(&w->lock);
    /* The job stays: nobody takes it without being allowed to. */
    for (size_t i = 0; job && i < job->after_count; i++)
        if (!tsm_place_reached(&job->after[i]))
            return false;
    return job != NULL;
}

/* 1: the stream made last goes as far as it can, then the one before it. Other odd numbers: the
 * same, with the streams in random order. Even ones: any job that can be next. */
static uint64_t rank(struct tsm_crew *crew, const struct tsm_worker *w)
{
    uint64_t of_stream = crew->permute ^ (w->stream + 1ull) << 32;

    if (crew->permute == 1)
        return w->stream;
    return tsm_random(crew->permute % 2 ? &of_stream : &crew->random);
}

static struct tsm_worker *choose(struct tsm_crew *crew)
{
    struct tsm_worker *best = NULL;
    uint64_t best_rank = 0;

    for (struct tsm_worker *w = crew->workers; w; w = w->next) {
        if (!could_go_on(w))
            continue;
        uint64_t own = rank(crew, w);
        if (!best || own > best_rank) {
            best = w;
            best_rank = own;
        }
    }
    return best;
}

/* Let one more job be carried out, and give it the time that a submission takes. A job that waits
 * for the GPU may need others to be sent. False: there is none. */
static bool allow_one(struct tsm_crew *crew)
{
    struct tsm_worker *w = choose(crew);

    if (!w)
        return false;
    pthread_mutex_lock(&w->lock);
    struct tsm_place place = {w, ++w->allowed};
    pthread_cond_signal(&w->wake);
    pthread_mutex_unlock(&w->lock);
    for (unsigned i = 0; i < PATIENCE && !wait_slice(&place); i++) {
    }
    return true;
}

/* Wait a little. True when the place was reached. */
static bool advance(struct tsm_crew *crew, const struct tsm_place *place)
{
    while (crew->permute && !tsm_place_reached(place) && allow_one(crew)) {
    }
    return wait_slice(place);
}

/* ---- waiting ------------------------------------------------------------------------------ */

/* Movement since the main thread waits. */
struct movement {
    unsigned long long progress;    /* jobs that were done */
    uint64_t executed;              /* by commands that were sent */
    uint64_t moved_ns, executed_ns; /* when they grew */
};

static uint64_t executed(const struct tsm_crew *crew)
{
    const struct tsm_backend_waits *waits = crew->backend->waits;

    return waits && waits->executed ? waits->executed(crew->state) : 0;
}

/* Notes what has moved. Returns whether a job was done. */
static bool note_movement(struct tsm_crew *crew, struct movement *m, uint64_t now)
{
    const uint64_t count = executed(crew);

    if (count != m->executed)
        m->executed_ns = now;
    m->executed = count;
    if (crew->progress == m->progress)
        return false;
    m->progress = crew->progress;
    m->moved_ns = m->executed_ns = now;
    return true;
}

/* A kernel that executes may take long; but nobody can tell whether it will ever end. */
static bool is_hung(const struct tsm_crew *crew, const struct movement *m, uint64_t now)
{
    return now - m->executed_ns > crew->timeout_ns ||
           now - m->moved_ns > EXECUTE_TIMES * crew->timeout_ns;
}

int tsm_crew_await(struct tsm_crew *crew, const struct tsm_place *place)
{
    const uint64_t begin = tsm_monotonic_ns();
    struct movement m = {crew->progress, 0, begin, begin};

    while (place->worker && !advance(crew, place)) {
        uint64_t now = tsm_monotonic_ns();
        if (note_movement(crew, &m, now))
            continue;
        if (is_hung(crew, &m, now))
            return fail_hung(crew, now - m.moved_ns);
        if (crew->stall && tsm_stall_look(crew->stall, crew->at, m.progress, now - m.moved_ns))
            m.moved_ns = m.executed_ns = now;
    }
    return tsm_crew_error(crew);
}
