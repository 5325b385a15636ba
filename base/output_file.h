/* SPDX-License-Identifier: Apache-2.0
 *
 * A file that a tool writes because the user named it. What a trace holds is the program's data, so each
 * is its owner's alone (0600). It is written under a name of its own in the same folder and renamed
 * at the end: readers see the old file or the whole new one, a link with that name is never written
 * through, and after an error the old file is still there. Devices and pipes are written to as
 * they are. Not synced to the disk: it can be made again from the trace. Traces are not written this way
 * (format/write/writer.c), but have the same mode and are never written through a link.
 */
#ifndef BASE_OUTPUT_FILE_H
#define BASE_OUTPUT_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct tsm_output_file {
    FILE *file;
    char path[PATH_MAX];
    char temporary[PATH_MAX]; /* "": there is none */
};

/* "-" is standard output. Negative: cannot be written, described with tsm_fail(); nothing is left. */
int tsm_output_file_begin(struct tsm_output_file *out, const char *path);

/* Gives the file its name; or, if `failed` or something could not be written, removes it and returns
 * a negative error (already described if `failed`). */
int tsm_output_file_end(struct tsm_output_file *out, bool failed);

/* All at once. */
int tsm_output_file_put(const char *path, const void *data, size_t size);

/* Creates a file in TMPDIR that has no name, for what is too much for memory. Returns a descriptor,
 * or a negative error. */
int tsm_output_file_unnamed(void);

#endif
