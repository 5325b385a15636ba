/* SPDX-License-Identifier: Apache-2.0
 *
 * Predicts whether an exec will fail: then the session goes on. Who is told that it may succeed, and
 * sees it fail, has ended the session too early; the other way around the trace has no end, but all
 * of its records. Runs on the stack alone, also in the child of a vfork; changes errno.
 */
#ifndef INTERPOSE_EXEC_CHECK_H
#define INTERPOSE_EXEC_CHECK_H

#include <stdbool.h>

/* Tests whether the kernel may carry out the file with such arguments. */
bool tsm_exec_may_succeed(const char *path, char *const *argv, char *const *envp);

/* The same for execvp: `file` is searched for as it does, and a file of no known format is a shell's. */
bool tsm_exec_search_may_succeed(const char *file, char *const *argv, char *const *envp);

#endif
