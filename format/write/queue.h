/* SPDX-License-Identifier: Apache-2.0
 *
 * Chunks on their way into the file: packed by several threads, written in the order of submission,
 * each with one write(2).
 *
 * Threads: one thread at a time takes and submits. After an error nothing more is written, and
 * every call returns that error.
 */
#ifndef FORMAT_QUEUE_H
#define FORMAT_QUEUE_H

#include "format/chunk/chunk.h"
#include "format/events/rows.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define SBT_QUEUE_THREADS_MAX 64u

/* One chunk. Its memory is kept for the next one. */
struct sbt_job {
    struct sbt_chunk head;  /* the submitter fills type, flags, count, ranges and sets */
    struct sbt_batch batch; /* EVENTS: encoded by the packing thread */
    struct tsm_buffer raw;  /* other types: the payload */
    struct tsm_buffer file; /* header and stored payload */
    struct tsm_buffer scratch;
    bool done;
};

/* Called in file order, for each chunk that was written whole, under the queue's lock. */
typedef void sbt_queue_written(void *user, const struct sbt_chunk *head, uint64_t offset);

struct sbt_queue {
    int fd;
    char *path;
    int level;
    sbt_queue_written *written;
    void *user;

    pthread_mutex_t lock;
    pthread_cond_t work;  /* something to pack, or stop */
    pthread_cond_t room;  /* a chunk was written */
    struct sbt_job *jobs; /* ring */
    unsigned job_count;
    uint64_t head, claimed, tail; /* next to write, next to pack, next to submit */
    uint64_t offset;              /* size of the file */
    bool writing, stop;
    int error;
    char message[512];

    struct sbt_packer packer; /* of the submitter's thread */
    bool alone;               /* the submitter packs, whatever threads there are */
    pthread_t threads[SBT_QUEUE_THREADS_MAX];
    unsigned thread_count;
    bool has_locks;
};

/* `q` is zeroed except fd, level, written and user, which the caller has set; `offset` is where the
 * first chunk goes. finish closes the descriptor and is safe after a failed init. */
int sbt_queue_init(struct sbt_queue *q, const char *path, uint64_t offset, unsigned threads);
void sbt_queue_finish(struct sbt_queue *q);

/* A free job, waiting for one if need be, with an empty head, batch and raw; submit hands over the
 * one that was taken last. */
int sbt_queue_take(struct sbt_queue *q, struct sbt_job **out);
int sbt_queue_submit(struct sbt_queue *q);

/* Everything submitted is in the file, or failed; no job is in use. */
bool sbt_queue_is_idle(struct sbt_queue *q);

/* Wait until everything submitted is in the file. */
int sbt_queue_drain(struct sbt_queue *q);

/* Write bytes that are no chunk, at the end; the queue must be drained. */
int sbt_queue_write(struct sbt_queue *q, const void *data, size_t size);

uint64_t sbt_queue_offset(struct sbt_queue *q);

#endif
