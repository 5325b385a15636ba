/* SPDX-License-Identifier: Apache-2.0
 *
 * The lock of capture/lock.h: mutual exclusion, and no thread sleeps for ever. Linked so that
 * tsm_lock_wake() comes here first.
 */
#include "capture/lock.h"

#include "tests/unit/check.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

enum { THREADS = 8, TURNS = 20000 };

static struct tsm_lock lock;
static unsigned wakes;

void __real_tsm_lock_wake(struct tsm_lock *lock);
void __wrap_tsm_lock_wake(struct tsm_lock *lock);

void __wrap_tsm_lock_wake(struct tsm_lock *woken)
{
    __atomic_add_fetch(&wakes, 1, __ATOMIC_SEQ_CST);
    __real_tsm_lock_wake(woken);
}

static void start(pthread_t *thread, void *(*function)(void *), void *argument)
{
    if (pthread_create(thread, NULL, function, argument) != 0)
        exit(1);
}

/* Not atomic: two inside at once lose a step. */
static struct guarded {
    uint64_t count;
    uint64_t owner;
} guarded;

static void *take_turns(void *argument)
{
    uint64_t own = (uint64_t)(uintptr_t)argument, alone = 0;

    for (unsigned i = 0; i < TURNS; i++) {
        tsm_lock_take(&lock);
        guarded.owner = own;
        guarded.count++;
        if (i % 64 == own % 64)
            usleep(20); /* long enough for others to go to sleep */
        alone += guarded.owner == own;
        tsm_lock_give(&lock);
    }
    return (void *)(uintptr_t)alone;
}

static void test_exclusion(void)
{
    pthread_t threads[THREADS];
    void *alone;

    guarded.count = 0;
    for (uintptr_t i = 0; i < THREADS; i++)
        start(&threads[i], take_turns, (void *)(i + 1));
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(threads[i], &alone);
        CHECK_EQ_INT((uintptr_t)alone, TURNS);
    }
    CHECK_EQ_INT(guarded.count, THREADS * TURNS);
    CHECK_EQ_INT(lock.word, 0);
    CHECK_EQ_INT(lock.sleepers, 0);
}

/* Takes and gives once. Returns its errno. */
static void *take_once(void *unused)
{
    errno = 77;
    tsm_lock_take(&lock);
    tsm_lock_give(&lock);
    return (void *)(intptr_t)errno;
}

static void await_sleepers(unsigned count)
{
    while (__atomic_load_n(&lock.sleepers, __ATOMIC_SEQ_CST) != count)
        usleep(100);
    usleep(2000); /* from there into the kernel */
}

static void test_wake(void)
{
    pthread_t thread;
    void *left_errno;

    wakes = 0;
    tsm_lock_take(&lock);
    tsm_lock_give(&lock);
    CHECK_EQ_INT(wakes, 0); /* nobody slept: no system call */
    tsm_lock_take(&lock);
    start(&thread, take_once, NULL);
    await_sleepers(1);
    tsm_lock_give(&lock);
    pthread_join(thread, &left_errno);
    CHECK_EQ_INT(wakes, 1);
    CHECK_EQ_INT((intptr_t)left_errno, 77);
}

/* The giver that did not see the sleepers: the lock is free and nobody is woken. */
static void test_missed(void)
{
    pthread_t threads[THREADS];

    for (unsigned round = 0; round < 5; round++) {
        tsm_lock_take(&lock);
        for (unsigned i = 0; i < THREADS; i++)
            start(&threads[i], take_once, NULL);
        await_sleepers(THREADS);
        __atomic_store_n(&lock.word, 0, __ATOMIC_RELEASE);
        for (unsigned i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
        CHECK_EQ_INT(lock.sleepers, 0);
    }
}

int main(void)
{
    test_exclusion();
    test_wake();
    test_missed();
    return check_result();
}
