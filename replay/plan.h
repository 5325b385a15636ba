/* SPDX-License-Identifier: Apache-2.0
 *
 * The look at the whole trace before anything runs: what it holds, whether it can be replayed, and
 * which commands the recording shows later than their place on their stream. Memory grows with
 * streams and with such commands, not with records.
 */
#ifndef REPLAY_PLAN_H
#define REPLAY_PLAN_H

#include "base/map.h"
#include "replay/backend.h"
#include "replay/left_out.h"

/* A call that may wait takes its place on the stream when it begins, and its place in the total
 * order when it returns: commands that follow it on its stream may come before it in the trace. It
 * is submitted before the first of these. */
struct tsm_pull {
    uint64_t before_seq;
    uint64_t seq;
    uint32_t stream;
    uint64_t position;
};

struct tsm_plan {
    uint64_t record_count;
    uint64_t next_seq;   /* one more than the last record's */
    uint64_t lost_count; /* from totals, LOST records and what cannot be read */
    uint64_t filtered_count;
    uint64_t missing_seq; /* from here on records may be lost or filtered; UINT64_MAX: none are */
    uint64_t unmodelled_count;
    struct tsm_left_out tainting; /* calls that may change what the GPU computes */
    struct tsm_left_out
        unfinished; /* ... that the process ended in: they may change what comes later */
    struct tsm_left_out harmful; /* these, and other calls of which it is not known what they do */
    const char *stopped;         /* why recording ended before the program did; NULL: it did not */
    uint64_t gap_count;          /* places on streams that no record has */
    uint32_t gap_stream;
    uint64_t first_command_ns, last_command_ns;
    uint32_t stream_count;
    uint32_t sending_count;    /* streams that something is sent to */
    bool *is_made;             /* by stream number: a record makes it */
    uint64_t *early_positions; /* by stream number: of the last command that is not sent because of
                                  from_seq; 0: there is none */
    uint64_t from_seq;         /* commands before this are not sent: the end of a checkpoint */
    bool has_failure;          /* a call said that commands had failed */
    struct tsm_map failed_places; /* tsm_plan_place() of commands that failed in the recording */
    struct tsm_map other_streams; /* that another backend replays */
    struct tsm_map dead; /* seqs before it of memory that is made and freed: neither is needed */
    uint64_t item_count; /* MEMORY records of the checkpoint that ends there */
    uint64_t interrupted_count; /* checkpoints that begin and do not end */
    struct tsm_pull *pulls;     /* by before_seq, then position */
    size_t pull_count, pull_capacity;
};

/* The schema of a record: the trace's, or for core records this build's. NULL: none. */
const struct sbt_schema *tsm_plan_schema(struct sbt_reader *reader,
                                         const struct sbt_record *record);

static inline uint64_t tsm_plan_place(uint32_t stream, uint64_t position)
{
    return (uint64_t)stream << 40 ^ position;
}

/* `state` NULL: without the backend's plan(). `from` NULL: from the beginning. Records from
 * `end_seq` on (0: none) are not counted among those that are left out or missing. */
int tsm_plan_make(struct tsm_plan *out, struct sbt_reader *reader,
                  const struct tsm_backend *backend, struct tsm_backend_state *state,
                  const struct sbt_checkpoint *from, uint64_t end_seq);
void tsm_plan_finish(struct tsm_plan *plan);

#endif
