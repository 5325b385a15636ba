/* SPDX-License-Identifier: Apache-2.0
 *
 * Opening files by name in folders that other users may write to, too. Descriptors only: safe inside
 * a traced program. Files of tools that are written as streams: base/output_file.h.
 */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <sys/stat.h>

/* Creates `path` for reading and writing, for its owner alone (0600). Returns a descriptor, or -1
 * with errno: whatever has the name already, a link too, is EEXIST and left as it is. */
int tsm_file_create(const char *path);

/* Opens an existing file that only this user can have written: a regular file of ours, under one
 * name, that neither the group nor others may touch. `access` is O_RDONLY or O_RDWR. Waits for
 * nobody, follows no link. Returns a descriptor and fills `st`, or returns -1 with the reason in
 * `*why` (a clause: "is a symbolic link") and errno. */
int tsm_file_open_own(const char *path, int access, struct stat *st, const char **why);

/* Kinds of files that an output may be written to. /dev/stdout, /dev/stderr, /dev/fd/N and
 * /proc/self/fd/N are descriptors of this process, and are written to where they are. */
enum tsm_file_target {
    TSM_FILE_REFUSED, /* a link, a folder, a disk, another user's file or pipe: `*why` says which */
    TSM_FILE_ABSENT,
    TSM_FILE_REGULAR, /* ours: may be replaced */
    TSM_FILE_SPECIAL, /* a device, a pipe: is written to as it is */
};
enum tsm_file_target tsm_file_target(const char *path, const char **why);

/* Opens an output that is written bit by bit, and is read although its program was killed: a new
 * file for its owner alone in place of what was there, or a device, or a pipe. Returns a descriptor,
 * or -1 with the reason in `*why`. Files that are written at once: base/output_file.h. */
int tsm_file_output(const char *path, const char **why);

/* The same, but what is there is appended to. */
int tsm_file_append(const char *path, const char **why);

/* Tests whether `path` still names the file that `fd` has open. */
int tsm_file_is_named(int fd, const char *path);

/* Removes `name` in the folder `folder` (or AT_FDCWD) if it still names the file that `fd` has open. */
void tsm_file_remove(int folder, const char *name, int fd);

#endif
