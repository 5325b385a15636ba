/* SPDX-License-Identifier: Apache-2.0
 *
 * Ends of a process that run no destructors: what was recorded must be on its way to the file
 * before. Called from hook_stubs.S, which keeps the arguments and jumps to the address returned.
 *
 * A child of vfork() shares the parent's memory and calls these too: capture sees by its process id
 * that the session is not this process's and does nothing.
 */
#include "interpose/real_library.h"

#include "capture/capture.h"

#include <errno.h>

/* In the order of hook_stubs.S. */
enum process_call { CALL__EXIT, CALL__EXIT_C99, CALL_FIRST_EXEC };

static const char *const names[] = {"_exit", "_Exit",  "execve", "execv",   "execvp",  "execvpe",
                                    "execl", "execle", "execlp", "fexecve", "execveat"};
static _Atomic(void *) functions[sizeof(names) / sizeof(names[0])];

void *tsm_before_process_call(unsigned index);

void *tsm_before_process_call(unsigned index)
{
    int saved_errno = errno;
    void *function = atomic_load_explicit(&functions[index], memory_order_relaxed);

    if (!function) {
        function = tsm_libc_function(names[index]);
        atomic_store_explicit(&functions[index], function, memory_order_relaxed);
    }
    if (index < CALL_FIRST_EXEC)
        tsm_session_finish();
    else
        tsm_session_flush(); /* an exec can fail, and then the program goes on */
    errno = saved_errno;
    return function;
}
