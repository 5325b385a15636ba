/* SPDX-License-Identifier: Apache-2.0
 *
 * Predicts whether an exec will fail: then the session goes on. Who is told that it may succeed,
 * and sees it fail, has ended the session too early; the other way around the trace has no end, but
 * all of its records. Tells which programs do not start with this library. Runs on the stack alone,
 * also in the child of a vfork; changes errno.
 */
#ifndef INTERPOSE_EXEC_CHECK_H
#define INTERPOSE_EXEC_CHECK_H

#include <stdbool.h>
#include <stddef.h>

/* Tests whether the kernel may carry out the file with such arguments. Sets `*is_foreign` if its
 * dynamic linker is musl's, which ends when it is to preload this library. */
bool tsm_exec_may_succeed(const char *path, char *const *argv, char *const *envp, bool *is_foreign);

/* The same for execvp: `file` is searched for as it does, and a file of no known format is a
 * shell's. */
bool tsm_exec_search_may_succeed(const char *file, char *const *argv, char *const *envp,
                                 bool *is_foreign);

/* Returns the bytes that tsm_exec_environment() needs. */
size_t tsm_exec_environment_size(char *const *envp);

/* Copies an environment without this library in LD_PRELOAD into `room`, and returns it. Its texts
 * are those of `envp`, but for that one. */
char *const *tsm_exec_environment(void *room, char *const *envp);

#endif
