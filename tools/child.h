/* SPDX-License-Identifier: Apache-2.0
 *
 * Running somebody's program and passing on how it ended.
 */
#ifndef TOOLS_CHILD_H
#define TOOLS_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

/* Exit statuses as env(1), timeout(1) and shells use them. */
enum tsm_program_exit {
    TSM_EXIT_OURS = 125,    /* the tool failed before the program began */
    TSM_EXIT_NOT_RUN = 126, /* found, but cannot be executed */
    TSM_EXIT_NOT_FOUND = 127,
    TSM_EXIT_SIGNAL = 128, /* + the signal's number */
};

/* Replace this process. Returns only on failure: NOT_RUN or NOT_FOUND, complained about. */
int tsm_program_exec(char *const *argv);

struct tsm_program_end {
    pid_t pid;
    int status; /* as a shell reports it */
    int signal; /* that ended it; 0: none */
};

/* Run it as a child and wait. Signals that the terminal sends to the whole group (^C, ^\) are left
 * to the program; TERM and HUP are passed on to it. False when it could not be started: complained
 * about, and out->status says how. */
bool tsm_program_run(struct tsm_program_end *out, char *const *argv);

/* Note where our library, the first in LD_PRELOAD, will not reach `program`: it is statically linked, a
 * 32-bit program, set-user-ID, or has another libc, whose loader would not even start it; then LD_PRELOAD
 * loses that entry. False then. What a program starts may be reached, in the first three cases. */
bool tsm_program_note_reach(const char *program);

#endif
