/* SPDX-License-Identifier: Apache-2.0
 *
 * A command may wait for bytes that the program writes while it runs, without a call that says so.
 * What the program wrote is recorded when the command is known to be complete, which is too late
 * for a replay: it would wait for the command for ever. So when nothing moves, HOST_WRITE records
 * that come next are carried out early, those first that are marked as held back (SBT_RECORD_HELD),
 * one group after the other. At its place in the order each of them is carried out again.
 *
 * Of several values that the program stored in one word in turn, each when the command had answered
 * the one before, only the last is recorded. Where a word differs by a small number, it is counted
 * up to that value, one step for each answer.
 *
 * A command may also wait for a signal that the program set in a way that was not seen. In the last
 * quarter of the time it goes on without (struct tsm_backend_waits' release()), and whatever comes
 * out is no answer.
 *
 * A command that is merely slow may find bytes early that were not there in the recording. So
 * memory that still changes is left alone, and a difference that comes after that is no answer.
 */
#ifndef REPLAY_STALL_H
#define REPLAY_STALL_H

#include "replay/backend.h"

struct tsm_stall {
    struct sbt_reader *reader;
    const struct tsm_backend *backend;
    struct tsm_backend_state *state;
    uint64_t timeout_ns;
    uint64_t count;          /* records carried out early so far */
    uint64_t first_at;       /* the first record that did not come to its end */
    bool others_help;        /* groups that are not marked have helped */
    uint64_t released_count; /* what commands waited for, and nothing in the trace sets */
    uint64_t released_at;    /* the first record that did not come to its end because of that */
    /* State of the present stall. */
    uint64_t at_seq;     /* the record that does not come to its end */
    uint64_t progress;   /* a number that changes when anything moves */
    uint64_t next_seq;   /* where the search goes on */
    uint64_t end_seq;    /* after the group's last record; 0: there is no group */
    uint64_t begin_seq;  /* the group's first */
    uint32_t *step;      /* a word that counts up to what is recorded; NULL: none */
    uint64_t step_after; /* words up to this address were tried */
    uint32_t step_want, step_value;
    bool is_answered;    /* a command has answered a step of this word */
    uint64_t look_ns;    /* after so long of standing still to look again */
    struct sbt_key seen; /* what lay where the group writes */
    bool is_held;        /* the group is marked */
    bool has_written;    /* in this one */
    bool is_spent;       /* nothing is left to be tried */
    bool has_released;
};

/* Tries to get a replay on that stands still; called by the main thread while it waits. `record` is
 * being carried out, nothing has moved for `still_ns`, and `progress` changes when something does.
 * Returns whether a command answered. */
bool tsm_stall_look(struct tsm_stall *stall, const struct sbt_record *record, uint64_t progress,
                    uint64_t still_ns);

/* Describes, for the message of a replay that stands still, that the command `seq` got memory which
 * the program writes, too. "": it got none. */
void tsm_stall_describe(const struct tsm_stall *stall, uint64_t seq, char *out, size_t size);

#endif
