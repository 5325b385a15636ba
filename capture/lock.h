/* SPDX-License-Identifier: Apache-2.0
 *
 * Synchronisation and memory for threads of the traced program: a futex, a lock built on it, and
 * memory from mmap. Nothing here uses malloc or a lock that the program can see; errno is
 * preserved.
 *
 * A child process after fork must not use a lock of its parent: another thread may have held it.
 * Locks live in struct tsm_session, and the child makes a session of its own.
 */
#ifndef CAPTURE_LOCK_H
#define CAPTURE_LOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Sleep while *word == value, at most timeout_ns (0: for ever); may return early. */
void tsm_futex_wait(uint32_t *word, uint32_t value, uint64_t timeout_ns);
void tsm_futex_wake(uint32_t *word, int count);

/* Taking it is one locked instruction, giving it back a plain store: x86 keeps stores in order. It
 * may let the load of `sleepers` pass, though, and miss a thread that is just going to sleep; so
 * that thread's first sleep is short. The memory of a lock must outlive its use: it is read after
 * the lock was given. */
struct tsm_lock {
    uint32_t word;     /* 0 free, 1 held */
    uint32_t sleepers; /* threads that sleep, or are about to */
};

void tsm_lock_wait(struct tsm_lock *lock);

/* Waits until then, in tsm_monotonic_ns(). Returns false if the lock was not taken. */
bool tsm_lock_wait_until(struct tsm_lock *lock, uint64_t until_ns);
void tsm_lock_wake(struct tsm_lock *lock);

static inline bool tsm_lock_try(struct tsm_lock *lock)
{
    uint32_t free = 0;

    return __atomic_compare_exchange_n(&lock->word, &free, 1, false, __ATOMIC_ACQUIRE,
                                       __ATOMIC_RELAXED);
}

static inline void tsm_lock_take(struct tsm_lock *lock)
{
    if (__builtin_expect(!tsm_lock_try(lock), 0))
        tsm_lock_wait(lock);
}

static inline void tsm_lock_give(struct tsm_lock *lock)
{
    __atomic_store_n(&lock->word, 0, __ATOMIC_RELEASE);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (__builtin_expect(__atomic_load_n(&lock->sleepers, __ATOMIC_RELAXED) != 0, 0))
        tsm_lock_wake(lock);
}

/* Zeroed memory, taken from the system page by page as it is touched. NULL when refused. */
void *tsm_memory_map(size_t size);
void tsm_memory_unmap(void *memory, size_t size);

/* From here on what is mapped belongs together: settle() keeps all of it, or gives all of it back, so
 * that a program short of memory does not lose what recording could not use. Not nested, one thread,
 * at most TSM_TOGETHER_MAX - 1 times. */
#define TSM_TOGETHER_MAX 32u
void tsm_memory_together(void);
void tsm_memory_together_end(bool keep);

/* Read memory that may not be there: true when all of it could be read. */
bool tsm_memory_read(void *out, uint64_t address, size_t size);

/* The same. Returns 0, EFAULT when not all of it is there, or why it cannot be read although it may
 * be. */
int tsm_memory_try(void *out, uint64_t address, size_t size);

/* The same for several spans, one after the other into `out`, with one system call. False also
 * where only single spans can be read. At most 1024 spans. */
struct iovec;
bool tsm_memory_read_spans(void *out, const struct iovec *spans, size_t count);

/* Could all of it be read now? Its first byte can. True also where nobody tells. */
bool tsm_memory_is_readable(uint64_t address, uint64_t size);

#endif
