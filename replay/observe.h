/* SPDX-License-Identifier: Apache-2.0
 *
 * Observes what a replay computed, piece by piece, in an order that is the same in every replay of
 * a trace: Bytes that the program read back, and, by grain, all live memory. --check compares two
 * replays through this.
 */
#ifndef REPLAY_OBSERVE_H
#define REPLAY_OBSERVE_H

#include "tracesmith/replay.h"

enum tsm_observation_kind {
    TSM_OBSERVED_READBACK = 1,
    TSM_OBSERVED_REGION = 2,
};

struct tsm_observation {
    enum tsm_observation_kind kind;
    uint64_t seq;    /* READBACK: of its record; REGION: of the sync or command just done */
    uint32_t stream; /* of the command that gave the bytes, or that was just done */
    uint64_t position;
    uint64_t address; /* as recorded; of a READBACK, the program's */
    uint64_t size;
};

/* `begin`, then `piece` for each SBT_PIECE_SIZE bytes. Negative ends the replay with that error. */
struct tsm_observer {
    int (*begin)(void *user, const struct tsm_observation *observation);
    int (*piece)(void *user, const struct sbt_key *key, const uint8_t *bytes, size_t size);
    void *user;
};

/* Sets the observer, which is copied. Call before tsm_replay_run(). */
void tsm_replay_observe(struct tsm_replay *replay, const struct tsm_observer *observer);

/* Gives the observer what all live memory holds after a run. Returns 0 or a negative tsm_error. */
int tsm_replay_observe_memory(struct tsm_replay *replay, const struct tsm_observer *observer);

/* Returns how many writes of the program were carried out early (replay/stall.h), also after a run
 * that failed. */
uint64_t tsm_replay_early(const struct tsm_replay *replay);

#endif
