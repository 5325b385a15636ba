/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs threads of an execution on threads of the executions before it, by --wrap: a sanitizer takes
 * longer to create a thread than most executions take. A thread with attributes is a new one.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

int __real_pthread_create(pthread_t *out, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *user);
int __real_pthread_join(pthread_t thread, void **result);
int __real_pthread_detach(pthread_t thread);
int __wrap_pthread_create(pthread_t *out, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *user);
int __wrap_pthread_join(pthread_t thread, void **result);
int __wrap_pthread_detach(pthread_t thread);

enum state { IDLE, RUNNING, ENDED };

struct member {
    struct member *next;
    pthread_t thread;
    pthread_cond_t changed;
    enum state state;
    bool is_detached;
    void *(*run)(void *);
    void *user, *result;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct member *members;

static void *work(void *user)
{
    struct member *m = user;
    void *result;

    pthread_mutex_lock(&lock);
    for (;;) {
        while (m->state != RUNNING)
            pthread_cond_wait(&m->changed, &lock);
        pthread_mutex_unlock(&lock);
        result = m->run(m->user);
        pthread_mutex_lock(&lock);
        m->result = result;
        m->state = m->is_detached ? IDLE : ENDED;
        pthread_cond_broadcast(&m->changed);
    }
    return NULL;
}

/* Creates an idle thread. The caller holds the lock. */
static struct member *add_member(void)
{
    struct member *m = calloc(1, sizeof(*m));

    if (!m)
        return NULL;
    pthread_cond_init(&m->changed, NULL);
    if (__real_pthread_create(&m->thread, NULL, work, m) != 0) {
        free(m);
        return NULL;
    }
    m->next = members;
    members = m;
    return m;
}

/* Returns the member that runs `thread`, NULL if none does. The caller holds the lock. */
static struct member *member_of(pthread_t thread)
{
    struct member *m = members;

    while (m && (!pthread_equal(m->thread, thread) || m->state == IDLE))
        m = m->next;
    return m;
}

int __wrap_pthread_create(pthread_t *out, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *user)
{
    struct member *m;

    if (attributes)
        return __real_pthread_create(out, attributes, run, user);
    pthread_mutex_lock(&lock);
    for (m = members; m && m->state != IDLE; m = m->next)
        ;
    if (!m)
        m = add_member();
    if (m) {
        m->run = run;
        m->user = user;
        m->is_detached = false;
        m->state = RUNNING;
        *out = m->thread;
        pthread_cond_broadcast(&m->changed);
    }
    pthread_mutex_unlock(&lock);
    return m ? 0 : __real_pthread_create(out, attributes, run, user);
}

int __wrap_pthread_join(pthread_t thread, void **result)
{
    struct member *m;

    pthread_mutex_lock(&lock);
    m = member_of(thread);
    if (m) {
        while (m->state != ENDED)
            pthread_cond_wait(&m->changed, &lock);
        if (result)
            *result = m->result;
        m->state = IDLE;
    }
    pthread_mutex_unlock(&lock);
    return m ? 0 : __real_pthread_join(thread, result);
}

int __wrap_pthread_detach(pthread_t thread)
{
    struct member *m;

    pthread_mutex_lock(&lock);
    m = member_of(thread);
    if (m) {
        m->is_detached = true;
        if (m->state == ENDED)
            m->state = IDLE;
    }
    pthread_mutex_unlock(&lock);
    return m ? 0 : __real_pthread_detach(thread);
}
