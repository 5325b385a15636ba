/* SPDX-License-Identifier: Apache-2.0
 *
 * Large writes of the host in two halves: one thread reads, compares and copies less than memory
 * takes, and a program whose writes are replayed did nothing but copy. The second thread is made
 * when the first large write comes.
 */
#include "api/vulkan/vulkan_replay.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HALVES_MIN (4 * (uint64_t)SBT_PIECE_SIZE) /* fewer bytes are not worth waking somebody */

struct part {
    struct sbt_reader *reader;
    const struct sbt_blob *blob;
    uint64_t offset, size; /* of the blob's bytes */
    uint8_t *out;
};

struct vkr_half {
    pthread_t thread;
    bool has_thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_due, stop; /* is_due: `part` is to be read, or being read */
    struct part part;
    int error; /* of the last part */
    char message[256];
};

static int read_part(const struct part *p)
{
    return sbt_reader_blob(p->reader, p->blob, p->offset, p->out, p->size);
}

static void *work(void *user)
{
    struct vkr_half *h = user;

    pthread_mutex_lock(&h->lock);
    for (;;) {
        while (!h->is_due && !h->stop)
            pthread_cond_wait(&h->changed, &h->lock);
        if (h->stop)
            break;
        pthread_mutex_unlock(&h->lock);
        h->error = read_part(&h->part);
        if (h->error < 0)
            tsm_format(h->message, sizeof(h->message), "%s", tsm_error_message());
        pthread_mutex_lock(&h->lock);
        h->is_due = false;
        pthread_cond_broadcast(&h->changed);
    }
    pthread_mutex_unlock(&h->lock);
    return NULL;
}

/* NULL: there is no second thread, and no need of one. */
static struct vkr_half *half_of(struct vkr *r)
{
    struct vkr_half *h = r->half;

    if (!h && sysconf(_SC_NPROCESSORS_ONLN) > 1) {
        h = r->half = calloc(1, sizeof(*h));
        if (!h)
            return NULL;
        pthread_mutex_init(&h->lock, NULL);
        pthread_cond_init(&h->changed, NULL);
        h->has_thread = pthread_create(&h->thread, NULL, work, h) == 0;
    }
    return h && h->has_thread ? h : NULL;
}

static void begin(struct vkr_half *h, const struct part *part)
{
    pthread_mutex_lock(&h->lock);
    h->part = *part;
    h->is_due = true;
    pthread_cond_broadcast(&h->changed);
    pthread_mutex_unlock(&h->lock);
}

static int await(struct vkr_half *h)
{
    pthread_mutex_lock(&h->lock);
    while (h->is_due)
        pthread_cond_wait(&h->changed, &h->lock);
    pthread_mutex_unlock(&h->lock);
    return h->error < 0 ? tsm_fail(h->error, "%s", h->message) : 0;
}

int vkr_read_blob(struct vkr *r, const struct sbt_blob *blob, uint8_t *out, uint64_t size)
{
    struct vkr_half *h = size >= HALVES_MIN ? half_of(r) : NULL;
    uint64_t middle = h ? size / 2 / SBT_PIECE_SIZE * SBT_PIECE_SIZE : size;
    const struct part first = {r->reader, blob, 0, middle, out};
    const struct part second = {r->reader, blob, middle, size - middle, out + middle};
    int error, other;

    if (!h)
        return read_part(&first);
    begin(h, &second);
    error = read_part(&first);
    other = await(h);
    return error < 0 ? error : other;
}

void vkr_half_finish(struct vkr *r)
{
    struct vkr_half *h = r->half;

    if (!h)
        return;
    if (h->has_thread) {
        pthread_mutex_lock(&h->lock);
        h->stop = true;
        pthread_cond_broadcast(&h->changed);
        pthread_mutex_unlock(&h->lock);
        pthread_join(h->thread, NULL);
    }
    pthread_cond_destroy(&h->changed);
    pthread_mutex_destroy(&h->lock);
    free(h);
    r->half = NULL;
}
