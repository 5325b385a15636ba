/* SPDX-License-Identifier: Apache-2.0
 *
 * History of a part of an address space: who has accessed which bytes, as far as it still matters.
 *
 * An access covers an earlier one to the same bytes if it writes or both only read, and the earlier
 * one was over when it began: what conflicts with the earlier one later conflicts with it, too.
 * Only the later conflict is told of, unless it is less sure. A conflict is as sure as the less
 * sure of its two accesses. So a fill and a copy without order are found also where kernels came
 * between them. A write that is only reachable covers without that order, too: the two were told of
 * as a conflict, and one is enough of those that are not sure.
 *
 * A trace could make millions of pieces of one part: of more than 4096 neighbours are joined, and
 * what is found in joined ones is no surer than reachable. All histories of a budget have so many
 * entries at most; what finds no room is left out, and counted.
 */
#ifndef ANALYSIS_DEPENDENCIES_HISTORY_H
#define ANALYSIS_DEPENDENCIES_HISTORY_H

#include "analysis/dependencies/accesses.h"

/* An access to some bytes. */
struct tsm_history_entry {
    uint64_t seq, position; /* position: 0 for the host */
    uint32_t stream;        /* SBT_STREAM_NONE: the host's */
    uint8_t kind;           /* enum tsm_access_kind */
    uint8_t covered;        /* the surest kind of those that stand for it; 255: none does */
    bool reads, writes;
    bool is_in_call; /* as in struct tsm_access */
    bool is_whole;   /* it is the history's `whole` of some time */
};

/* Bytes that all have the same history, but for `whole`. */
struct tsm_history_segment {
    uint64_t first, last;
    struct tsm_history_entry *entries;
    uint32_t count;
    bool is_joined;     /* not all of these bytes had each of the accesses */
    bool is_new;        /* it has changed since `whole` */
    uint64_t whole_seq; /* the last `whole` that is among the entries, or was */
    uint64_t clean_seq; /* of the last write after which nothing else was left; 0: none was */
};

/* Counts entries. A zeroed struct counts none. */
struct tsm_history_budget {
    size_t used;
    uint64_t left_out;
};

/* A zeroed struct is empty. */
struct tsm_history {
    struct tsm_history_segment *segments; /* in order, apart from each other */
    size_t count, capacity;
    size_t new_count; /* of segments that are new */
    struct tsm_history_entry
        whole; /* the last one that may have read and written any of the bytes; seq 0: none */
};

/* One access that is added, and what the caller wants to know of it. */
struct tsm_history_visit {
    void *user;
    /* Called for each earlier access that conflicts, in order of addresses. */
    int (*found)(void *user, const struct tsm_history_entry *entry,
                 const struct tsm_history_segment *where);
    /* Tests whether an earlier access was over when the new one began. */
    bool (*is_over)(void *user, const struct tsm_history_entry *entry);
    struct tsm_history_entry entry; /* the new one */
    bool is_whole;                  /* it is to all bytes that this history may be of */
    bool is_passing;                /* it leaves no trace */
    bool is_beside_unknown;         /* what may write anything is not known to be over */
    uint64_t clean_seq; /* result: the lowest one of all its bytes, from before it. Begin with
                           UINT64_MAX */
};

/* Adds an access to the bytes from `first` to `last`. Returns 0, a result of `found` other than 0,
 * or a negative tsm_error. */
int tsm_history_add(struct tsm_history *h, struct tsm_history_budget *budget, uint64_t first,
                    uint64_t last, struct tsm_history_visit *visit);

/* Empties it. */
void tsm_history_finish(struct tsm_history *h, struct tsm_history_budget *budget);

#endif
