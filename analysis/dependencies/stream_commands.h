/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands of one stream: what each accesses, the code that it runs, when.
 */
#ifndef ANALYSIS_DEPENDENCIES_STREAM_COMMANDS_H
#define ANALYSIS_DEPENDENCIES_STREAM_COMMANDS_H

#include "analysis/dependencies/accesses.h"

struct tsm_stream_command {
    uint64_t seq, position;
    const struct sbt_schema *schema; /* lives as long as the reader */
    const char *kernel;              /* likewise; NULL: none */
    uint32_t thread;
    uint64_t event; /* id of the one that it signals or waits for; 0: none */
    size_t first_access, access_count;
    bool is_unknown; /* it may access anything */
    size_t code;     /* place + 1; 0: none is known */
    struct tsm_span gpu;
};

/* An access, and the allocation that it begins in (size 0: none). */
struct tsm_stream_range {
    struct tsm_access access;
    uint64_t allocation, allocation_size;
};

/* Code that was loaded. `blob` points to what belongs to the list. */
struct tsm_stream_code {
    const char *type; /* of the object that it was loaded as: "module" */
    uint64_t id, seq;
    struct sbt_blob blob;
    uint8_t *bytes; /* from malloc */
    bool is_used;   /* by a command of the list */
};

struct tsm_stream_commands {
    struct tsm_stream_command *list; /* by position */
    size_t count, capacity;
    struct tsm_stream_range *ranges;
    size_t range_count, range_capacity;
    struct tsm_stream_code *codes;
    size_t code_count, code_capacity;
};

/* Reads the trace. Only of APIs whose commands are in the order of their stream accesses are known.
 * Finish it in any case. */
int tsm_stream_commands_collect(struct tsm_stream_commands *out, struct sbt_reader *reader,
                                uint32_t stream);
void tsm_stream_commands_finish(struct tsm_stream_commands *c);

#endif
