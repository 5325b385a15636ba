/* SPDX-License-Identifier: Apache-2.0
 *
 * Carries out the program's writes to mapped memory: read from the trace to where it belongs and
 * compared with its keys, piece by piece, after the records that say so. A second thread helps, as
 * reading, comparing and finding the next records take longer than the program's copying did.
 *
 * Writes that wait may be carried out in any order: each lies after the one before. One that does
 * not, and everything that is no write, waits until all are done.
 */
#include "api/vulkan/replay/memory/write.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/vulkan/replay/replay.h"
#include "base/text.h"
#include "format/chunk/chunk.h"

#define BATCH_PIECES 64u
#define BATCH_BYTES  (4 * (uint64_t)SBT_PIECE_SIZE)
#define BATCHES      16u
#define PREPARE_MIN  (16u << 20) /* bytes of pieces; fewer are found in no time */

struct batch {
    enum { IS_FREE, IS_READY, IS_TAKEN } state;
    size_t count;
    uint64_t size;
    struct sbt_fetch list[BATCH_PIECES];
    uint64_t seqs[BATCH_PIECES]; /* of the records */
};

struct vkr_writes {
    pthread_t thread;
    bool has_thread;
    pthread_mutex_t lock;
    pthread_cond_t changed; /* one is ready, or done, or it is to stop */
    struct batch batches[BATCHES];
    struct batch *filling; /* free; only for the thread that adds, or with all others idle */
    size_t ready, taken;
    const uint8_t *end; /* after what was added last */
    bool stop;
    int error;
    char message[400];
};

/* ---- carrying out ------------------------------------------------------------------------ */

static void keep_error(struct vkr_writes *w, int error, uint64_t seq)
{
    if (w->error)
        return;
    w->error = error;
    tsm_format(w->message, sizeof(w->message), "what record %llu wrote: %s",
               (unsigned long long)seq, tsm_error_message());
}

/* With the lock held, which it gives up meanwhile; one is ready. */
static void carry_out_one(struct vkr *r, struct vkr_writes *w)
{
    struct batch *b = w->batches;
    size_t failed = 0;
    int error;

    while (b->state != IS_READY)
        b++;
    b->state = IS_TAKEN;
    w->ready--;
    w->taken++;
    pthread_mutex_unlock(&w->lock);
    error = sbt_reader_fetch(r->reader, b->list, b->count, &failed);
    pthread_mutex_lock(&w->lock);
    if (error)
        keep_error(w, error, b->seqs[failed]);
    b->count = 0;
    b->size = 0;
    b->state = IS_FREE;
    w->taken--;
    pthread_cond_broadcast(&w->changed);
}

static void *work(void *user)
{
    struct vkr *r = user;
    struct vkr_writes *w = r->writes;
    size_t failed;

    sbt_reader_fetch(r->reader, NULL, 0, &failed); /* an error: who needs a piece will see it */
    pthread_mutex_lock(&w->lock);
    while (!w->stop) {
        if (w->ready)
            carry_out_one(r, w);
        else
            pthread_cond_wait(&w->changed, &w->lock);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

int vkr_writes_wait(struct vkr *r)
{
    struct vkr_writes *w = r->writes;
    int error = 0;

    if (!w)
        return 0;
    pthread_mutex_lock(&w->lock);
    if (w->filling->count && w->filling->state == IS_FREE) {
        w->filling->state = IS_READY;
        w->ready++;
    }
    while (w->ready || w->taken) {
        if (w->ready)
            carry_out_one(r, w);
        else
            pthread_cond_wait(&w->changed, &w->lock);
    }
    w->end = NULL;
    if (w->error)
        error = tsm_fail(w->error, "%s", w->message);
    pthread_mutex_unlock(&w->lock);
    return error;
}

/* ---- adding ------------------------------------------------------------------------------ */

static struct vkr_writes *writes_of(struct vkr *r)
{
    struct vkr_writes *w = r->writes;

    if (w)
        return w;
    w = calloc(1, sizeof(*w));
    if (!w)
        return NULL;
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->changed, NULL);
    w->filling = w->batches;
    return r->writes = w;
}

/* With the lock held. */
static void start_thread(struct vkr *r, struct vkr_writes *w)
{
    if (!w->has_thread && sysconf(_SC_NPROCESSORS_ONLN) > 1)
        w->has_thread = pthread_create(&w->thread, NULL, work, r) == 0;
}

void vkr_writes_prepare(struct vkr *r)
{
    uint64_t size = 0;
    struct vkr_writes *w;

    for (size_t i = 0; i < sbt_reader_chunk_count(r->reader); i++) {
        const struct sbt_chunk_info *chunk = sbt_reader_chunk(r->reader, i);
        size += chunk->type == SBT_CHUNK_BLOBS ? chunk->raw_size : 0;
    }
    w = size >= PREPARE_MIN ? writes_of(r) : NULL;
    if (!w)
        return;
    pthread_mutex_lock(&w->lock);
    start_thread(r, w);
    pthread_mutex_unlock(&w->lock);
}

/* Whatever is in `filling` may begin; another one is free then. */
static void next_batch(struct vkr *r, struct vkr_writes *w)
{
    pthread_mutex_lock(&w->lock);
    w->filling->state = IS_READY;
    w->ready++;
    start_thread(r, w);
    pthread_cond_signal(&w->changed);
    for (;;) {
        struct batch *b = w->batches;
        while (b < w->batches + BATCHES && b->state != IS_FREE)
            b++;
        if (b < w->batches + BATCHES) {
            w->filling = b;
            break;
        }
        if (w->ready)
            carry_out_one(r, w);
        else
            pthread_cond_wait(&w->changed, &w->lock);
    }
    pthread_mutex_unlock(&w->lock);
}

static void add_piece(struct vkr *r, struct vkr_writes *w, const struct sbt_fetch *piece,
                      uint64_t seq)
{
    struct batch *b = w->filling;

    b->list[b->count] = *piece;
    b->seqs[b->count++] = seq;
    b->size += piece->size;
    if (b->count == BATCH_PIECES || b->size >= BATCH_BYTES)
        next_batch(r, w);
}

int vkr_writes_add(struct vkr *r, const struct sbt_blob *blob, uint8_t *out, uint64_t size,
                   uint64_t seq)
{
    struct vkr_writes *w = writes_of(r);
    int error = w ? 0 : tsm_fail(TSM_E_MEMORY, "no memory for what the program wrote");

    if (!error && w->end && out < w->end)
        error = vkr_writes_wait(r);
    if (error)
        return error;
    w->end = out + size;
    if (blob->bytes) {
        memcpy(out, blob->bytes, size);
        return 0;
    }
    for (uint64_t at = 0; at < size; at += SBT_PIECE_SIZE) {
        uint64_t part = size - at < SBT_PIECE_SIZE ? size - at : SBT_PIECE_SIZE;
        struct sbt_fetch piece = {sbt_blob_key(blob, at / SBT_PIECE_SIZE), out + at,
                                  (uint32_t)part};
        add_piece(r, w, &piece, seq);
    }
    return 0;
}

void vkr_writes_finish(struct vkr *r)
{
    struct vkr_writes *w = r->writes;

    if (!w)
        return;
    if (w->has_thread) {
        pthread_mutex_lock(&w->lock);
        w->stop = true;
        pthread_cond_broadcast(&w->changed);
        pthread_mutex_unlock(&w->lock);
        pthread_join(w->thread, NULL);
    }
    pthread_cond_destroy(&w->changed);
    pthread_mutex_destroy(&w->lock);
    free(w);
    r->writes = NULL;
}
