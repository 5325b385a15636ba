/* SPDX-License-Identifier: Apache-2.0
 *
 * Running a function on a stack of ours. Threads, signal handlers and coroutines of a traced program
 * may have as little as 8 KiB of stack, most of which they use; what needs more than a few hundred bytes
 * of it for us runs here. tests/lint/frames.py keeps the rest small.
 */
#ifndef BASE_OWN_STACK_H
#define BASE_OWN_STACK_H

#include <stddef.h>

#define TSM_OWN_STACK_SIZE ((size_t)1 << 20)

/* Calls `function` on a stack of TSM_OWN_STACK_SIZE bytes (touched as needed), unless this thread is on
 * such a stack already, or there is no memory for one: then where it is. Waits for nobody, may be
 * called in signal handlers; errno is what `function` leaves. */
void tsm_own_stack_run(void (*function)(void *argument), void *argument);

#endif
