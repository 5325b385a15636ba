/* SPDX-License-Identifier: Apache-2.0
 *
 * The state of a replay. player.c makes and runs it, walk.c walks the trace, verdict.c judges
 * what came out.
 */
#ifndef REPLAY_PLAYER_H
#define REPLAY_PLAYER_H

#include "analysis/slice/reachability.h"
#include "base/map.h"
#include "replay/observe.h"
#include "replay/order.h"
#include "replay/plan.h"
#include "replay/together.h"
#include "replay/verify.h"
#include "replay/worker.h"
#include "tracesmith/analysis.h"

struct tsm_schedule_run;

struct tsm_replay {
    struct sbt_reader *reader;
    struct tsm_replay_options options; /* its own copy of the filter's streams */
    const struct tsm_backend *backend;
    struct tsm_together together;      /* ... where it stands for several */
    const struct sbt_checkpoint *from; /* NULL: from the beginning */
    struct tsm_backend_state *state;
    struct tsm_plan plan;
    struct tsm_schedule_run *scheduled; /* NULL: the recorded order */
    struct tsm_dependency_slice need;
    bool has_need;
    struct tsm_reachability connected; /* with the streams that are wanted */
    uint64_t part_first; /* record with which the part begins that is looped over and timed */
    bool cannot_hold;    /* ... but nothing can be kept there */
    bool must_hold;      /* when it is reached, keep what is there */
    bool goes_back;      /* this run begins there, with what was kept */
    uint64_t *loop_ns;
    unsigned loop_count;
    unsigned run;          /* the number of this one, from 0 */
    struct tsm_crew *crew; /* apart: it stays when a worker hangs */
    struct tsm_stall stall;
    struct tsm_recorded_failures failures;
    uint64_t failure_count;                    /* that came as recorded */
    const struct tsm_recorded_failure *failed; /* the first that did not; NULL: all have */
    struct sbt_record at;                      /* what is carried out, without its slots */
    struct tsm_worker *host;
    bool is_host_behind; /* the host's worker may have jobs that nobody has waited for */
    bool is_alone;       /* the host's worker is that of the streams, too */
    struct tsm_order order;
    struct tsm_verify verify;
    struct tsm_replay_result result;
    char untranslated[160]; /* the first value that result.untranslated_count counts */

    struct sbt_cursor *late_cursor;
    size_t next_pull;
    struct tsm_place *pulled;    /* by pull: where it was submitted */
    struct tsm_map pulled_index; /* seq of a record submitted before its turn -> pull + 1 */
    uint64_t start_ns;           /* of this run */
    uint64_t first_submit_ns, last_complete_ns;
    bool stop;         /* a difference, and keep_going is off */
    bool is_left_open; /* something under way never ends: what it uses must stay */
    /* Workers that still hang; leak checkers find them here. */
    struct tsm_crew *left_crew;
    struct tsm_backend_state *left_state;
    struct tsm_closing *left_closing; /* (closing.c) */
    struct tsm_replay *next_left;
    bool
        has_unblocked_waiters; /* commands were still waiting for the host when the records ended */
    bool ran;
};

/* Tests whether the options ask for the stream. */
static inline bool tsm_is_wanted_stream(const struct tsm_replay *p, uint32_t stream)
{
    const struct sbt_filter *f = &p->options.filter;

    for (size_t i = 0; i < f->stream_count; i++)
        if (f->streams[i] == stream)
            return true;
    return !f->streams;
}

/* Submit everything that is wanted and verify on the way, once; then the device is idle. */
int tsm_walk(struct tsm_replay *p);

/* Waits until what was sent to a stream is complete. */
typedef int (*tsm_stream_wait)(struct tsm_replay *p, uint32_t stream);

/* Judges failures that have come since, after each record. */
void tsm_failures_judge(struct tsm_replay *p);
/* The same where a call said first that commands had failed: what is on its streams is waited for.
 */
int tsm_failures_await(struct tsm_replay *p, uint64_t seq, tsm_stream_wait wait);
/* The same at the end, where everything is complete. */
void tsm_failures_end(struct tsm_replay *p);
/* Notes, before a result is compared, whether commands of the stream's context have failed by now
 * (SBT_STREAM_NONE: any have). Then memory can no longer be read, and bytes that were read back may
 * not have come. */
void tsm_failures_spoil(struct tsm_replay *p, uint32_t stream);

/* Returns how often everything is run: for times, too. */
unsigned tsm_timing_run_count(const struct tsm_replay *p);
/* Tests whether this run is one whose results are compared, or whose commands are timed. */
static inline bool tsm_timing_is_compared(const struct tsm_replay *p)
{
    return !p->options.timed_runs || p->run == 0;
}
bool tsm_timing_is_timed(const struct tsm_replay *p);
/* Around each run: has the commands timed, and hands the times out. */
int tsm_timing_begin(struct tsm_replay *p);
int tsm_timing_end(struct tsm_replay *p);
/* Makes the counts of the result those of the run that was compared. */
void tsm_timing_settle(struct tsm_replay *p, const struct tsm_replay_result *compared);

/* Writes where the result is that is nearest to a part without any, and which options reach it
 * (nearest_result.c). Returns 0 or a negative error. */
int tsm_nearest_result(struct tsm_replay *p, char *out, size_t size);

/* Judges what the runs gave: p->result.verdict, why, and the counts of comparisons. Once, after
 * them. */
int tsm_verdict(struct tsm_replay *p);

#endif
