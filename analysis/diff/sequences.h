/* SPDX-License-Identifier: Apache-2.0
 *
 * The sequences of records that must agree in two traces, and records of one trace that wait for
 * their counterpart in the other. Memory for waiting records is bounded: when it is full, whole
 * sequences are put off to a further pass over the traces, which skips what was compared before.
 */
#ifndef ANALYSIS_DIFF_SEQUENCES_H
#define ANALYSIS_DIFF_SEQUENCES_H

#include "base/map.h"
#include "tracesmith/reader.h"

enum tsm_sequence_kind {
    TSM_SEQUENCE_COMMANDS,  /* of stream `number` */
    TSM_SEQUENCE_READBACKS, /* of stream `number`, or of none */
    TSM_SEQUENCE_CHECKSUMS, /* the same */
    TSM_SEQUENCE_HOST,      /* of thread `number`, in order of first appearance */
    TSM_SEQUENCE_WRITES,    /* host memory, where functions called by the GPU write to it, too */
    TSM_SEQUENCE_HELD,      /* host memory, of thread `number`: commands may write beside it */
    TSM_SEQUENCE_START,     /* what memory and objects hold before the first command */
    TSM_SEQUENCE_KINDS,
};

/* A copy of a record. */
struct tsm_waiting {
    struct tsm_waiting *next;
    const struct sbt_schema *schema;
    struct sbt_record record;
    size_t bytes; /* of memory */
};

struct tsm_sequence {
    enum tsm_sequence_kind kind;
    uint64_t number;
    uint64_t compared;                      /* pairs */
    uint64_t lone[2];                       /* records without a counterpart, by trace */
    uint64_t skip[2];                       /* records that this pass must pass over, by trace */
    struct tsm_waiting *first[2], *last[2]; /* of one trace at most */
    bool has_held;                          /* a record so far is marked as held back */
    bool is_done;                           /* it differs: the rest does not matter */
    bool is_put_off;                        /* to the next pass */
};

struct tsm_sequences {
    struct tsm_sequence *list;
    size_t count, capacity;
    struct tsm_map numbers[TSM_SEQUENCE_KINDS]; /* number -> index + 1 */
    uint64_t waiting[2];                        /* records, by trace */
    size_t bytes;
};

void tsm_sequences_finish(struct tsm_sequences *s);

/* Returns the sequence, made when it is new, valid until the next call; NULL: out of memory. */
struct tsm_sequence *tsm_sequences_find(struct tsm_sequences *s, enum tsm_sequence_kind kind,
                                        uint64_t number);

/* Copies a record of `trace` to the end of its sequence. */
int tsm_sequences_wait(struct tsm_sequences *s, struct tsm_sequence *sequence, int trace,
                       const struct sbt_record *record, const struct sbt_schema *schema);

/* Drops the first waiting record of `trace`. */
void tsm_sequences_drop(struct tsm_sequences *s, struct tsm_sequence *sequence, int trace);

/* Drops all that wait in a sequence. */
void tsm_sequences_clear(struct tsm_sequences *s, struct tsm_sequence *sequence);

/* Puts sequences off, all but one, until the copies take at most `bytes`. */
void tsm_sequences_put_off(struct tsm_sequences *s, size_t bytes);

/* Prepares the next pass. False: none was put off. */
bool tsm_sequences_again(struct tsm_sequences *s);

#endif
