/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/closing.h"

#include "format/read/state.h"
#include "replay/player.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/clock.h"

/* A thread that closes a backend. */
struct tsm_closing {
    const struct tsm_backend *backend;
    struct tsm_backend_state *state;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_over;
};

static void *close_state(void *user)
{
    struct tsm_closing *c = user;

    if (c->backend->waits)
        c->backend->waits->unblock(c->state);
    c->backend->close(c->state);
    pthread_mutex_lock(&c->lock);
    c->is_over = true;
    pthread_cond_signal(&c->changed);
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

static void destroy_closing(struct tsm_closing *c)
{
    pthread_cond_destroy(&c->changed);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

/* Starts the thread. NULL: there is none. */
static struct tsm_closing *create_closing(const struct tsm_backend *backend,
                                          struct tsm_backend_state *state)
{
    struct tsm_closing *c = malloc(sizeof(*c));
    pthread_condattr_t attributes;

    if (!c)
        return NULL;
    *c = (struct tsm_closing){.backend = backend, .state = state};
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    if (!pthread_create(&c->thread, NULL, close_state, c))
        return c;
    destroy_closing(c);
    return NULL;
}

/* Returns false if the thread has not ended then. */
static bool await_closing(struct tsm_closing *c, uint64_t patience_ns)
{
    const uint64_t until_ns = tsm_monotonic_ns() + patience_ns;
    const struct timespec until = {(time_t)(until_ns / 1000000000u),
                                   (long)(until_ns % 1000000000u)};
    int error = 0;

    pthread_mutex_lock(&c->lock);
    while (!c->is_over && !error)
        error = pthread_cond_timedwait(&c->changed, &c->lock, &until);
    bool is_over = c->is_over;
    pthread_mutex_unlock(&c->lock);
    if (is_over) {
        pthread_join(c->thread, NULL);
        destroy_closing(c);
    }
    return is_over;
}

void tsm_close_failed(struct tsm_replay *p, uint64_t patience_ns)
{
    struct tsm_closing *c = create_closing(p->backend, p->state);

    p->is_left_open = !c || !await_closing(c, patience_ns);
    if (p->is_left_open) {
        p->left_closing = c;
        p->left_state = p->state;
    }
    p->state = NULL;
}

/* ---- replays that were left open --------------------------------------------------------------
 */

/* Leak checkers find them here. */
static struct tsm_replay *left;
static pthread_mutex_t left_lock = PTHREAD_MUTEX_INITIALIZER;

void tsm_left_keep(struct tsm_replay *p)
{
    sbt_reader_leave(p->reader);
    pthread_mutex_lock(&left_lock);
    p->next_left = left;
    left = p;
    pthread_mutex_unlock(&left_lock);
}

/* Closes the backend when its workers have ended. Returns true if nothing of the replay runs. */
static bool has_ended(struct tsm_replay *p)
{
    if (p->left_crew && !tsm_crew_collect(p->left_crew))
        return false;
    free(p->left_crew);
    p->left_crew = NULL;
    if (!p->left_closing)
        p->left_closing = create_closing(p->backend, p->left_state);
    if (!p->left_closing || !await_closing(p->left_closing, 0))
        return false;
    p->left_closing = NULL;
    p->is_left_open = false;
    return true;
}

void tsm_left_collect(void)
{
    struct tsm_replay **at, *ended = NULL, *p;

    pthread_mutex_lock(&left_lock);
    for (at = &left; (p = *at);) {
        if (!has_ended(p)) {
            at = &p->next_left;
            continue;
        }
        *at = p->next_left;
        p->next_left = ended;
        ended = p;
    }
    pthread_mutex_unlock(&left_lock);
    while ((p = ended)) {
        ended = p->next_left;
        sbt_reader_take_back(p->reader);
        tsm_replay_destroy(p);
    }
}

unsigned tsm_left_count(void)
{
    unsigned count = 0;

    pthread_mutex_lock(&left_lock);
    for (const struct tsm_replay *p = left; p; p = p->next_left)
        count++;
    pthread_mutex_unlock(&left_lock);
    return count;
}
