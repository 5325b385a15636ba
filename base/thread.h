/* SPDX-License-Identifier: Apache-2.0
 *
 * Threads in programs that are not ours. Linux refuses a new thread (EAGAIN) while another thread
 * of the process is in an exec() that will fail, for a few microseconds to milliseconds; and our
 * threads must not run the program's signal handlers.
 */
#ifndef BASE_THREAD_H
#define BASE_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* Starts a thread with default attributes. Tries again for up to 0.2 s after EAGAIN; where that did
 * not help once, the limit of threads is reached, and later calls do not wait. Returns 0 or an errno
 * value. */
int tsm_thread_create(pthread_t *thread, void *(*function)(void *), void *user);

/* The same, with all signals blocked in the new thread. */
int tsm_thread_create_blocked(pthread_t *thread, void *(*function)(void *), void *user);

/* Sleeps for 50 microseconds. Returns false, at once, if it is `until_ns` of CLOCK_MONOTONIC. */
bool tsm_nap_until(uint64_t until_ns);

#endif
