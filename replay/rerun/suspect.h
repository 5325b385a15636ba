/* SPDX-License-Identifier: Apache-2.0
 *
 * Which command may have made a difference that is only seen at a synchronisation: those since the
 * one before that name the memory, and commands of other streams that use the same memory without
 * an order between them.
 */
#ifndef REPLAY_RERUN_SUSPECT_H
#define REPLAY_RERUN_SUSPECT_H

#include "tracesmith/replay.h"

struct tsm_suspect {
    bool found;
    uint64_t seq;   /* of the last command that names the buffer */
    bool has_other; /* ... and of one on another stream that is not ordered with it */
    uint64_t other_seq;
    uint64_t shared; /* address that both name */
};

/* `d`: where memory differs (buffer), and the record (seq) after which that was seen. */
int tsm_suspect_find(struct tsm_suspect *out, struct sbt_reader *reader,
                     const struct tsm_difference *d);

#endif
