/* SPDX-License-Identifier: Apache-2.0
 *
 * Questions about traces that need no GPU.
 */
#ifndef TRACESMITH_ANALYSIS_H
#define TRACESMITH_ANALYSIS_H

#include "tracesmith/reader.h"
#include "tracesmith/replay.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- dependencies ------------------------------------------------------------------------- */

/* How far each stream must be replayed so that `filter`'s records see what they saw. */
struct tsm_dependency_slice {
    uint64_t *until_seq; /* by stream number: commands with seq < until_seq[stream] are needed */
    uint32_t stream_count;
    uint64_t until_seq_other; /* records on no stream; after it nothing is needed at all */
    uint64_t unheard_seq; /* the first wait for commands that are left out, in a thread that may have
                             told another one of it, which no record shows; UINT64_MAX: none */
};

/* One pass backwards over the trace, in memory that grows with streams and events, not with
 * records. Order comes from stream order, event record/wait, implicit joins with the legacy default
 * stream, and what the host waited for. */
int tsm_dependency_slice_find(struct tsm_dependency_slice *out, struct sbt_reader *reader,
                              const struct sbt_filter *filter);
void tsm_dependency_slice_finish(struct tsm_dependency_slice *slice);

/* ---- comparison ---------------------------------------------------------------------------- */

struct tsm_diff_options {
    const uint32_t *streams;  /* NULL: all */
    size_t stream_count;
    bool ignore_addresses;    /* default false: device addresses must agree or map one to one */
    bool readbacks_only;      /* compare results, not what was sent */
};

struct tsm_diff_result {
    enum tsm_verdict verdict;
    char why[256];
    uint64_t compared_count;  /* commands and readbacks */
    struct tsm_difference first; /* when verdict is DIFFERENT */
    uint64_t seq_a, seq_b;    /* of the first difference in each trace */
    char field[128];          /* which field differs, and where in it: "submits[0].masks[1]"; ""
                                 when a record is missing */
    char value_a[128], value_b[128];
};

/* First divergence of two traces, stream by stream: order between streams may differ legally, order
 * on a stream may not. Time, duration, thread ids and host addresses are not compared; device
 * addresses must map one to one. Strings in `first` live as long as the readers. */
int tsm_diff(struct tsm_diff_result *out, struct sbt_reader *a, struct sbt_reader *b,
             const struct tsm_diff_options *options);

/* ---- statistics ---------------------------------------------------------------------------- */

struct tsm_call_count {
    uint32_t type;
    uint64_t count;
    uint64_t failed_count;
    uint64_t duration_ns;
};

struct tsm_statistics {
    struct tsm_call_count *calls; /* by count, descending */
    size_t call_count;
    uint64_t record_count, command_count;
    uint64_t first_ns, last_ns;
    uint64_t bytes_sent, bytes_read_back;
    uint64_t unmodelled_count, tainted_count, lost_count;
    uint32_t stream_count, thread_count;
};

int tsm_statistics_collect(struct tsm_statistics *out, struct sbt_reader *reader,
                           const struct sbt_filter *filter);
void tsm_statistics_finish(struct tsm_statistics *s);

#ifdef __cplusplus
}
#endif
#endif
