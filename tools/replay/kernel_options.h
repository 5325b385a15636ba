/* SPDX-License-Identifier: Apache-2.0
 *
 * tsreplay's option --replace-kernel.
 */
#ifndef TOOLS_REPLAY_KERNEL_OPTIONS_H
#define TOOLS_REPLAY_KERNEL_OPTIONS_H

#include "tools/option.h"
#include "tracesmith/replay.h"

#include <stdbool.h>

#define TSM_KERNEL_OPTIONS_MAX 64

/* An option's parts, in argv. */
struct tsm_kernel_option {
    const char *name, *path, *from; /* from: NULL: not given */
    size_t name_size, path_size;
};

struct tsm_kernel_values {
    struct tsm_kernel_option options[TSM_KERNEL_OPTIONS_MAX];
    struct tsm_kernel_replacement given[TSM_KERNEL_OPTIONS_MAX]; /* `name` as the user has it */
    size_t count;
    struct tsm_kernel_replacement *list; /* one for each kernel that `given` means */
    size_t list_count, list_capacity;
};

/* "NAME=FILE[:KERNEL]"; each adds one. */
bool tsm_kernel_option_parse(void *field, const char *text);

/* Finds the launched kernels that the options mean: fills `list`. A name that means none is an
 * error, and so are two files for one kernel. */
int tsm_kernel_options_resolve(struct tsm_kernel_values *values, struct sbt_reader *reader);
void tsm_kernel_options_finish(struct tsm_kernel_values *values);

/* The row, for a table of options. */
#define TSM_KERNEL_OPTION(values, kernels)                                                         \
    {                                                                                              \
        .name = "replace-kernel", .type = TSM_OPTION_PARSED, .offset = TSM_FIELD(values, kernels), \
        .argument = "NAME=FILE[:KERNEL]", .parse = tsm_kernel_option_parse,                        \
        .help = "CUDA: launch the kernel in FILE (PTX, or machine code for the device) in the "    \
                "place of the recorded kernel NAME: as the code has it, demangled, or a pattern "  \
                "(`tracesmith code` lists them). FILE's is the one of the same name, or its only " \
                "one, or KERNEL. May be given more than once.",                                    \
    }

#endif
