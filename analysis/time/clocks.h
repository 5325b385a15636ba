/* SPDX-License-Identifier: Apache-2.0
 *
 * Clocks that times of commands are on, and whether those times fit what the host saw: a command
 * starts after its call began, and it has ended when a call that waited for it returns.
 */
#ifndef ANALYSIS_TIME_CLOCKS_H
#define ANALYSIS_TIME_CLOCKS_H

#include "analysis/model/pass.h"
#include "analysis/ring/jobs.h"
#include "analysis/time/drift.h"
#include "analysis/time/samples.h"
#include "base/map.h"

/* Rules that a time can contradict. */
enum tsm_clock_rule {
    TSM_CLOCK_CALLED, /* it starts before its call began */
    TSM_CLOCK_KNOWN,  /* it ends after a call that waited for it returned */
};

/* A bound that the host sets to the offset between a clock and its own. */
struct tsm_clock_bound {
    bool is_known;
    int64_t offset_ns;       /* to be added to the clock's times */
    uint64_t seq, other_seq; /* the command, and the call that sets the bound */
    uint32_t stream;
    const char *call; /* names of both; as long as the reader */
    const char *other_call;
};

/* Places where a device's clock went back: a command that was sent when another one was known to be
 * complete starts before that one's end. */
struct tsm_clock_steps {
    uint64_t count;
    uint64_t by_ns; /* of the first one, at least */
    uint64_t seq, other_seq;
    const char *call, *other_call; /* the later command and the one before */
};

/* One clock: a device has one of each kind, and the kernel's events of its rings have one. */
struct tsm_clock {
    uint32_t api; /* of a ring clock SBT_API_CORE: the kernel's */
    struct tsm_device device;
    bool is_ring; /* commands are jobs; the device's number is the kernel's */
    enum tsm_time_axis axis;
    uint64_t command_count;
    int64_t first_ns, last_ns;          /* from the first start to the last end */
    struct tsm_samples errors;          /* of the starts, as they were measured */
    struct tsm_clock_bound least, most; /* unknown for virtual time */
    struct tsm_drift drift;
    struct tsm_drift_fit fit;     /* of the same bounds, give or take the error of each */
    struct tsm_clock_steps steps; /* looked for on a device's own clock that nothing fits */
    size_t next;                  /* place + 1 of another one with the same hash; 0: none */
};

/* A time that contradicts the host by more than the errors of both. */
struct tsm_clock_contradiction {
    enum tsm_clock_rule rule;
    uint64_t seq, other_seq;
    uint32_t stream;
    const char *call, *other_call;
    uint64_t by_ns, error_ns; /* by: beyond the error */
};

#define TSM_CLOCK_CONTRADICTION_MAX 1000u /* that are kept; all are counted */

/* A zeroed struct is empty. */
struct tsm_clocks {
    struct tsm_clock *list;
    size_t count, capacity;
    struct tsm_map places; /* hash of kind, device and axis -> place in `list` + 1 */
    struct tsm_clock_contradiction
        *contradictions; /* of times on the host's clock, in the order of the pass */
    size_t contradiction_count, contradiction_capacity;
    uint64_t contradiction_total;
    uint64_t derived_count, unknown_count; /* commands without a measured time */
    uint64_t slept_ns;                     /* that the machine slept while this was recorded */
    bool is_replay; /* times are those of runs of a replay: no call of this trace bounds them */
};

/* Reads the trace twice, as waits come after the commands that they wait for, and a third time
 * where a clock does not fit. Memory grows with waits. Returns 0 or a negative tsm_error. */
int tsm_clocks_collect(struct tsm_clocks *out, struct sbt_reader *reader,
                       const struct sbt_filter *filter);
void tsm_clocks_finish(struct tsm_clocks *clocks);

/* Returns the clock of this kind, API, device and axis, which is added if there is none; NULL: out
 * of memory. Valid until the next call. */
struct tsm_clock *tsm_clocks_find(struct tsm_clocks *clocks, bool is_ring, uint32_t api,
                                  const struct tsm_device *device, enum tsm_time_axis axis);

/* Adds a clock for each device of which the kernel has ring events. A job's first event lies within
 * the call that submitted it, where one is found. */
int tsm_clocks_add_rings(struct tsm_clocks *out, struct sbt_reader *reader,
                         const struct tsm_ring_jobs *jobs);

/* Tests whether no one offset brings all times of a clock between the host's bounds, give or take
 * the largest error: it runs at another speed, or something is wrong. */
bool tsm_clock_drifts(const struct tsm_clock *clock);

/* Tests whether no offset and speed together do: something is wrong. Times on the host's clock are
 * judged one by one, as contradictions. */
bool tsm_clock_misfits(const struct tsm_clock *clock);

#endif
