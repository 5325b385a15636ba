/* SPDX-License-Identifier: Apache-2.0
 *
 * A session of the kernel module, or of eBPF in its place, that is collected into a trace while it
 * runs, by a thread.
 */
#ifndef TOOLS_KERNEL_SESSION_H
#define TOOLS_KERNEL_SESSION_H

#include "tools/kernel/backend.h"
#include "tools/kernel/collect.h"

#include <limits.h>
#include <pthread.h>
#include <sys/types.h>

struct tsm_kernel_session {
    const struct tsm_kernel_backend *backend;
    char path[PATH_MAX];
    struct sbt_writer *writer;
    struct tsm_collect collect;
    int holder; /* the session lives with it; 0: none */
    pthread_t thread;
    bool begun, has_thread;
    bool stop; /* atomic */
    int error; /* of the thread, which message tells */
    char message[512];
};

/* Start a session of `backend` and collect it into the new trace `path`. `session` is large: keep
 * it static. On failure nothing runs. */
int tsm_kernel_session_begin(struct tsm_kernel_session *session,
                             const struct tsm_kernel_backend *backend, const char *path);

/* Stop it; the trace is whole then, with the backend's counters as metadata "kernel.*", and
 * "kernel.collected", the number of records in it. On an error it ends with what could be had. */
int tsm_kernel_session_end(struct tsm_kernel_session *session);

/* Put what the trace `part` has of the kernel after the trace `path`. */
int tsm_kernel_append(const char *path, const char *part);

#endif
