/* SPDX-License-Identifier: Apache-2.0 */
#include "format/write/queue.h"

#include "base/text.h"
#include "base/thread.h"
#include "format/limits.h"
#include "tracesmith/error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int write_all(struct sbt_queue *q, const uint8_t *data, size_t size)
{
    size_t done = 0;

    while (done < size) {
        ssize_t n = write(q->fd, data + done, size - done);
        if (n >= 0)
            done += (size_t)n;
        else if (errno != EINTR)
            return tsm_fail(TSM_E_IO, "%s: cannot write: %s%s", q->path, strerror(errno),
                            errno == ENOSPC || errno == EDQUOT
                                ? "; free space or set TS_OUTPUT to another file system"
                                : "");
    }
    return 0;
}

/* Keeps the error and its message, which belongs to the thread that failed, for callers of later
 * calls. */
static void queue_fail(struct sbt_queue *q, int error)
{
    if (q->error)
        return;
    q->error = error;
    tsm_format(q->message, sizeof(q->message), "%s", tsm_error_message());
}

static int queue_error(const struct sbt_queue *q)
{
    return q->error ? tsm_fail(q->error, "%s", q->message) : 0;
}

/* Columns are dense already: what a higher level finds in them is little, and costs a third more
 * (docs/decisions/005-levels.md). */
static int level_of(const struct sbt_queue *q, unsigned type)
{
    if (q->level != 0)
        return q->level;
    return type == SBT_CHUNK_EVENTS ? SBT_LEVEL_EVENTS : SBT_LEVEL_OTHERS;
}

static int job_pack(struct sbt_queue *q, struct sbt_packer *packer, struct sbt_job *job)
{
    if (job->head.type == SBT_CHUNK_EVENTS)
        sbt_batch_encode(&job->batch, &job->scratch, &job->raw);
    return sbt_chunk_pack(packer, &job->head, level_of(q, job->head.type), &job->raw, &job->file);
}

static int job_write(struct sbt_queue *q, struct sbt_job *job)
{
    int error = write_all(q, job->file.data, job->file.size);

    /* Part of a chunk may be in the file: take it out, so that what is there stays whole. The
     * reader copes if this fails too. */
    if (error && ftruncate(q->fd, (off_t)q->offset) != 0)
        return error;
    return error;
}

/* Write what is packed, in order. Called and left with the lock held. */
static void queue_write_out(struct sbt_queue *q)
{
    while (!q->writing && q->head < q->claimed && q->jobs[q->head % q->job_count].done) {
        struct sbt_job *job = &q->jobs[q->head % q->job_count];
        int error = 0;

        q->writing = true;
        if (!q->error) {
            pthread_mutex_unlock(&q->lock);
            error = job_write(q, job);
            pthread_mutex_lock(&q->lock);
            if (error) {
                queue_fail(q, error);
            } else {
                q->written(q->user, &job->head, q->offset);
                q->offset += job->file.size;
            }
        }
        job->done = false;
        q->head++;
        q->writing = false;
        pthread_cond_broadcast(&q->room);
    }
}

static void queue_step(struct sbt_queue *q, struct sbt_packer *packer)
{
    struct sbt_job *job = &q->jobs[q->claimed++ % q->job_count];
    int error = 0;

    if (!q->error) {
        pthread_mutex_unlock(&q->lock);
        error = job_pack(q, packer, job);
        pthread_mutex_lock(&q->lock);
    }
    if (error)
        queue_fail(q, error);
    job->done = true;
    queue_write_out(q);
}

static void *queue_thread(void *user)
{
    struct sbt_queue *q = user;
    struct sbt_packer packer = {0};

    pthread_mutex_lock(&q->lock);
    for (;;) {
        while (!q->stop && q->claimed == q->tail)
            pthread_cond_wait(&q->work, &q->lock);
        if (q->claimed == q->tail)
            break;
        queue_step(q, &packer);
    }
    pthread_mutex_unlock(&q->lock);
    sbt_packer_finish(&packer);
    return NULL;
}

/* Inside a traced program our threads must not run its signal handlers. Those that cannot be
 * started are done without: who submits packs, too. */
static void start_threads(struct sbt_queue *q, unsigned count)
{
    int error = 0;

    while (q->thread_count < count && !error) {
        error = tsm_thread_create_blocked(&q->threads[q->thread_count], queue_thread, q);
        q->thread_count += !error;
    }
}

int sbt_queue_init(struct sbt_queue *q, const char *path, uint64_t offset, unsigned threads)
{
    pthread_mutex_init(&q->lock, NULL);
    pthread_cond_init(&q->work, NULL);
    pthread_cond_init(&q->room, NULL);
    q->has_locks = true;
    q->offset = offset;
    q->path = strdup(path);
    q->job_count = threads ? threads + 2 : 1;
    q->jobs = calloc(q->job_count, sizeof(*q->jobs));
    if (!q->path || !q->jobs)
        return tsm_fail(TSM_E_MEMORY, "out of memory for writing %s", path);
    start_threads(q, threads);
    return 0;
}

void sbt_queue_finish(struct sbt_queue *q)
{
    if (q->has_locks) {
        pthread_mutex_lock(&q->lock);
        q->stop = true;
        pthread_cond_broadcast(&q->work);
        pthread_mutex_unlock(&q->lock);
        for (unsigned i = 0; i < q->thread_count; i++)
            pthread_join(q->threads[i], NULL);
        pthread_cond_destroy(&q->room);
        pthread_cond_destroy(&q->work);
        pthread_mutex_destroy(&q->lock);
    }
    for (unsigned i = 0; q->jobs && i < q->job_count; i++) {
        sbt_batch_finish(&q->jobs[i].batch);
        tsm_buffer_finish(&q->jobs[i].raw);
        tsm_buffer_finish(&q->jobs[i].file);
        tsm_buffer_finish(&q->jobs[i].scratch);
    }
    free(q->jobs);
    free(q->path);
    sbt_packer_finish(&q->packer);
    if (q->fd >= 0)
        close(q->fd);
}

int sbt_queue_take(struct sbt_queue *q, struct sbt_job **out)
{
    struct sbt_job *job;
    int error;

    pthread_mutex_lock(&q->lock);
    while (q->tail - q->head == q->job_count)
        pthread_cond_wait(&q->room, &q->lock);
    /* Nothing under way: start over with the first job, whose memory is in the cache. */
    if (q->head == q->tail)
        q->head = q->claimed = q->tail = 0;
    error = queue_error(q);
    job = &q->jobs[q->tail % q->job_count];
    pthread_mutex_unlock(&q->lock);
    if (error)
        return error;
    job->head = (struct sbt_chunk){0};
    sbt_batch_clear(&job->batch);
    tsm_buffer_clear(&job->raw);
    *out = job;
    return 0;
}

int sbt_queue_submit(struct sbt_queue *q)
{
    int error;

    pthread_mutex_lock(&q->lock);
    q->tail++;
    if (q->thread_count != 0 && !q->alone)
        pthread_cond_signal(&q->work);
    else
        while (q->claimed < q->tail)
            queue_step(q, &q->packer);
    error = queue_error(q);
    pthread_mutex_unlock(&q->lock);
    return error;
}

bool sbt_queue_is_idle(struct sbt_queue *q)
{
    bool idle;

    pthread_mutex_lock(&q->lock);
    idle = q->head == q->tail;
    pthread_mutex_unlock(&q->lock);
    return idle;
}

int sbt_queue_drain(struct sbt_queue *q)
{
    int error;

    pthread_mutex_lock(&q->lock);
    while (q->head != q->tail)
        pthread_cond_wait(&q->room, &q->lock);
    error = queue_error(q);
    pthread_mutex_unlock(&q->lock);
    return error;
}

int sbt_queue_write(struct sbt_queue *q, const void *data, size_t size)
{
    int error = write_all(q, data, size);

    pthread_mutex_lock(&q->lock);
    if (error)
        queue_fail(q, error);
    else
        q->offset += size;
    pthread_mutex_unlock(&q->lock);
    return error;
}

uint64_t sbt_queue_offset(struct sbt_queue *q)
{
    uint64_t offset;

    pthread_mutex_lock(&q->lock);
    offset = q->offset;
    pthread_mutex_unlock(&q->lock);
    return offset;
}
