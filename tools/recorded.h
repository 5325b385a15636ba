/* SPDX-License-Identifier: Apache-2.0
 *
 * The traces that a recorded program left: found by name and time, and summed up in a line each.
 */
#ifndef TOOLS_RECORDED_H
#define TOOLS_RECORDED_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <time.h>

struct tsm_recording {
    char pattern[2 * PATH_MAX]; /* of the output's name, for glob(3) */
    char again[2 * PATH_MAX];   /* of further sessions' names: NAME.N.sbt */
    struct timespec begin;
    bool is_unreachable; /* the program is not reached by LD_PRELOAD, and the user knows */
};

/* `output`: absolute, as in TS_OUTPUT. Call before the program starts. */
void tsm_recording_begin(struct tsm_recording *recording, const char *output);

/* Salvage what a crash left, and note "trace.sbt: 1024 commands, 3 streams, 12.3 MB, complete" for
 * each trace, that of process `pid` first; or that there is none, and why that may be. */
void tsm_recording_report(const struct tsm_recording *recording, pid_t pid);

/* Calls `look` for each trace, in no order. */
void tsm_recording_each(const struct tsm_recording *recording,
                        void (*look)(const char *path, void *user), void *user);

/* A trace of process `pid` itself, into path, or the only one that the processes left which it
 * started (a shell's, timeout's). False: there is none, or there are several. */
bool tsm_recording_find(char *path, size_t size, const struct tsm_recording *recording, pid_t pid);

#endif
