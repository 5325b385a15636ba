/* SPDX-License-Identifier: Apache-2.0
 *
 * tsview --tree: what a Vulkan trace sends to its queues, frame by frame: submits, the command
 * buffers in them, the commands in those, nested by the program's labels.
 *
 * What is recorded into a command buffer is shown with the first submit of it; later ones name that
 * submit. So the output, and the time for it, grow with the trace and no faster; memory holds the
 * numbers of commands that were recorded and not yet shown.
 */
#ifndef API_VULKAN_VIEW_SUBMIT_TREE_H
#define API_VULKAN_VIEW_SUBMIT_TREE_H

#include "tracesmith/reader.h"

#include <stdbool.h>

struct tsm_tree_options {
    struct sbt_filter filter; /* of what is sent; what is recorded before is read, too */
    uint64_t limit;           /* submits and the like that are shown; 0: all */
    bool json;                /* schema "tstree/1", a line for each of them */
};

/* To stdout. Returns the exit status. */
int tsm_submit_tree(struct sbt_reader *reader, const struct tsm_tree_options *options);

#endif
