/* SPDX-License-Identifier: Apache-2.0
 *
 * Why a replay differs from the recording: the same once more with the GPU waited for after each
 * command, and once more with one command at a time.
 */
#ifndef REPLAY_RERUN_EXPLAIN_H
#define REPLAY_RERUN_EXPLAIN_H

#include "tracesmith/replay.h"

enum tsm_explained {
    TSM_EXPLAINED_NOTHING,   /* `text` says why it is not known */
    TSM_EXPLAINED_UNORDERED, /* commands that nothing puts into an order */
    TSM_EXPLAINED_KERNEL,    /* it differs in the same way however commands are ordered */
    TSM_EXPLAINED_CHANCE,    /* it differs in another way each time */
};

struct tsm_explanation {
    enum tsm_explained cause;
    bool has_pair;
    uint64_t seq, other_seq;      /* a pair: the later one first; KERNEL: `seq` is of the last
                                     kernel that may have written the bytes, or of the command that
                                     gave them; 0: not searched */
    uint64_t address, byte_count; /* a pair: that both access; 0, 0: not known */
    char text[512];               /* one sentence */
};

/* "unordered", "kernel", "chance", "unknown". */
const char *tsm_explained_name(enum tsm_explained cause);

/* Runs the trace twice, each in a process of its own and for a minute at most; nothing may have
 * been replayed in this process. `plain`: the first difference of the replay with these options.
 * Returns 0, or a negative tsm_error where the trace cannot be read. */
int tsm_explain(struct tsm_explanation *out, struct sbt_reader *reader,
                const struct tsm_replay_options *options, const struct tsm_difference *plain);

#endif
