/* SPDX-License-Identifier: Apache-2.0
 *
 * Pairs of handles and device addresses in two traces of the same work: their values differ, but
 * must correspond one to one. A pair is created at first sight and stays, unless chance decided
 * which records were put side by side (is_by_chance).
 */
#ifndef ANALYSIS_DIFF_PAIRING_H
#define ANALYSIS_DIFF_PAIRING_H

#include "base/map.h"
#include "tracesmith/reader.h"

/* An allocation, or a variable of a module, of one trace. */
struct tsm_extent {
    uint64_t address, size;
    uint64_t made_seq, gone_seq; /* alive in between */
    struct tsm_extent *pair;
};

/* Lists the allocations that begin at one address; no two of them are alive at once. */
struct tsm_extent_group {
    size_t first, count; /* in the list */
    uint64_t last;       /* highest address of any of them */
    uint64_t reach;      /* highest address of any group in the subtree whose root this one is */
};

/* All of one trace; memory grows with its allocations. */
struct tsm_extents {
    struct tsm_extent *list; /* by address, then made_seq */
    size_t count, capacity;
    struct tsm_extent_group *groups; /* by address: a balanced tree, the root in the middle */
    size_t group_count;
};

int tsm_extents_collect(struct tsm_extents *out, struct sbt_reader *reader);
void tsm_extents_finish(struct tsm_extents *extents);
/* The one that holds `address` while record `seq` is carried out, or NULL. */
struct tsm_extent *tsm_extents_find(const struct tsm_extents *extents, uint64_t address,
                                    uint64_t seq);

/* Numbers of two traces that stand for each other. */
struct tsm_number_pairs {
    const char *kind; /* type of the objects whose ids they are, `length` bytes */
    size_t length;
    struct tsm_map map[2]; /* of one trace -> of the other */
    bool is_opaque;        /* as the driver gave them: kernels may be given them, too */
};

/* Positions of one stream, from `first` (in the first trace) up to the next entry's: those of the
 * second trace are greater by `delta`, modulo 2^64. */
struct tsm_position_run {
    uint64_t first, delta;
};

struct tsm_position_pairs {
    struct tsm_position_run *runs;
    size_t count, capacity;
};

struct tsm_pairing {
    bool is_by_chance; /* what is compared may be of other commands: it creates no pair */
    struct tsm_extents extents[2];
    struct tsm_number_pairs *handles; /* a map for each type */
    size_t handle_count, handle_capacity;
    struct tsm_number_pairs pages;        /* of host memory that no record allocates */
    struct tsm_map streams;               /* number -> index + 1 in positions */
    struct tsm_position_pairs *positions; /* for each stream */
    size_t position_count, position_capacity;
};

void tsm_pairing_finish(struct tsm_pairing *pairing);

/* Tests whether two addresses stand for the same place. Outside of all allocations they must be
 * equal. */
bool tsm_pairing_address(struct tsm_pairing *pairing, uint64_t a, uint64_t seq_a, uint64_t b,
                         uint64_t seq_b);

/* Tests whether an address lies in an allocation that is alive at `seq`, in trace 0 or 1. */
bool tsm_pairing_knows(const struct tsm_pairing *pairing, int trace, uint64_t address,
                       uint64_t seq);

/* Pairs host addresses as tsm_pairing_address() does device addresses. Outside of all allocations
 * pages must map one to one. */
bool tsm_pairing_host(struct tsm_pairing *pairing, uint64_t a, uint64_t seq_a, uint64_t b,
                      uint64_t seq_b);

/* Returns the size of the elements if `detail`, of a field of BYTES or BLOB, says that it lists
 * objects, else 0. */
size_t tsm_pairing_list(const char *detail);

/* Tests whether two ids stand for the same object of type `detail`, or of the type that it
 * lists. Returns false when out of
 * memory. */
bool tsm_pairing_handle(struct tsm_pairing *pairing, const char *detail, uint64_t a, uint64_t b);

/* Pairs two numbers that drivers drew up for objects, as tsm_pairing_handle() does ids. `detail` as
 * SBT_DETAIL_NEW says: new numbers forget what they stood for before. */
bool tsm_pairing_opaque(struct tsm_pairing *pairing, const char *detail, uint64_t a, uint64_t b);

/* Tests whether two words are such numbers, and stand for the same object. */
bool tsm_pairing_is_opaque(const struct tsm_pairing *pairing, uint64_t a, uint64_t b);

/* Notes that two commands of `stream` stand for each other. Positions must ascend. */
int tsm_pairing_note_position(struct tsm_pairing *pairing, uint64_t stream, uint64_t a, uint64_t b);

/* Tests whether two positions of `stream` stand for the same command. They must be equal if no
 * command was noted there. */
bool tsm_pairing_position(const struct tsm_pairing *pairing, uint64_t stream, uint64_t a,
                          uint64_t b);

/* The position in the other trace that stands for position `a` of the first one. */
uint64_t tsm_pairing_counterpart(const struct tsm_pairing *pairing, uint64_t stream, uint64_t a);

#endif
