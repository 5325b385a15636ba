/* SPDX-License-Identifier: Apache-2.0
 *
 * Files that a command writes because the user named them, by one rule: a trace replaces a trace,
 * any other output replaces any other file, --force replaces both; a file of somebody else, a link,
 * a folder and a trace that is still being recorded are never replaced. Commands check before they
 * begin to work. Who creates the files, and with which mode: base/output_file.h, format/write/writer.c.
 */
#ifndef TOOLS_NAMED_OUTPUT_H
#define TOOLS_NAMED_OUTPUT_H

#include "tools/option.h"

#include <limits.h>
#include <stdbool.h>

enum tsm_output_kind {
    TSM_OUTPUT_TRACE,     /* a regular file: neither standard output nor a device */
    TSM_OUTPUT_RECORDING, /* the same, written by a program under tsrecord, which takes another name
                             where a trace is still being recorded */
    TSM_OUTPUT_OTHER,     /* "-" is standard output */
};

#define TSM_OUTPUT_FORCE(values, member)                                                           \
    {                                                                                              \
        .name = "force", .type = TSM_OPTION_FLAG, .offset = TSM_FIELD(values, member),             \
        .help = "Replace the output whatever file of yours it is. Without it a trace replaces "    \
                "only a trace, and never its own input; any other output replaces no trace."       \
    }

/* Tests whether `path` can be written. `input` is the trace that the output is made from; NULL:
 * none. Returns a negative error with a message that names the remedy. */
int tsm_output_check(const char *path, enum tsm_output_kind kind, const char *input, bool force);

/* Tests whether `path` is a regular file that is a trace, or was to become one. */
bool tsm_output_is_trace(const char *path);

/* A trace that takes the place of an older file when it is whole. */
struct tsm_output {
    char path[PATH_MAX];    /* as the user named it */
    char written[PATH_MAX]; /* where to write it: `path`, or a new name in the same folder */
};

/* Checks, and fills `out`. Creates nothing. */
int tsm_output_begin(struct tsm_output *out, const char *path, const char *input, bool force);

/* Gives what was written its name; removes it if `error`, which is returned. */
int tsm_output_end(const struct tsm_output *out, int error);

#endif
