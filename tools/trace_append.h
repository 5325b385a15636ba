/* SPDX-License-Identifier: Apache-2.0
 *
 * Something more at the end of a trace that is finished. How it ended, and what it lost, stays.
 */
#ifndef TOOLS_TRACE_APPEND_H
#define TOOLS_TRACE_APPEND_H

#include "tracesmith/reader.h"
#include "tracesmith/writer.h"

struct tsm_append {
    struct sbt_writer *writer;
    struct sbt_totals totals;
    enum sbt_end end;
};

/* `append` is zeroed. Then write with append->writer. */
int tsm_append_begin(struct tsm_append *append, const char *path);

/* In any case; `error`: of begin or of what was written since. Returns it, or its own. */
int tsm_append_end(struct tsm_append *append, int error);

#endif
