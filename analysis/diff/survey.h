/* SPDX-License-Identifier: Apache-2.0
 *
 * Surveys one trace before a comparison: its allocations, what the comparison must leave out, and
 * why equality of the rest would prove nothing.
 */
#ifndef ANALYSIS_DIFF_SURVEY_H
#define ANALYSIS_DIFF_SURVEY_H

#include "analysis/diff/pairing.h"

#define TSM_SURVEY_NOTES_MAX 64u

/* An UNMODELLED record of the recorder's: something that it could not record. */
struct tsm_survey_note {
    char what[96]; /* its beginning */
    uint64_t seq;  /* the first that says so */
};

struct tsm_survey {
    struct tsm_map threads;  /* ids of those that make calls, beside polls and waits */
    bool has_functions;      /* of the program, which the GPU called, and which wrote host memory */
    uint64_t checksum_count; /* CHECKSUM records */
    uint64_t held_count;     /* HOST_WRITE records that are marked as held back, and HOST_RUNS */
    uint32_t writer;         /* last thread that has sent a command or recorded host writes */
    bool has_writer;
    bool has_writers;          /* several threads have, each of which records all such writes */
    uint64_t uncompared_count; /* queries and waits */
    uint64_t partial_count;    /* records cut short: TRUNCATED, UNFINISHED */
    uint64_t partial_seq;      /* the first of them */
    uint64_t unknown_count;    /* records of types that the trace does not describe */
    uint64_t unknown_seq;
    uint64_t tainted_count; /* records that changed what is not modelled */
    uint64_t tainted_seq;
    uint64_t lost_first_ns; /* what was lost, no earlier; UINT64_MAX: nothing */
    uint64_t stopped_seq;   /* the first that says that something is missing; UINT64_MAX: none */
    uint64_t whole_seq;     /* records before this one were all recorded and can be read */
    uint64_t start_end_seq; /* checkpoints before this record came before the first command */
    struct tsm_survey_note notes[TSM_SURVEY_NOTES_MAX];
    uint32_t note_count;
    /* Failed waits: type << 32 | result -> sequence number + 1 of the first. */
    struct tsm_map failures;
};

/* Reads the trace once; memory grows with kinds of failures and threads only. */
int tsm_survey_make(struct tsm_survey *out, struct sbt_reader *reader);
void tsm_survey_finish(struct tsm_survey *survey);

/* Fails unless the same was taken out of both traces. */
int tsm_survey_check_redacted(struct sbt_reader *const readers[2]);

/* Lowers whole_seq to the first record that says, in one trace only, that something could not be
 * recorded: from there on a record may be missing. */
void tsm_survey_compare(struct tsm_survey *a, struct tsm_survey *b);

/* Writes the first reason to `out` for which the trace may lack something that happened, and
 * returns true; false: it is whole. Call it when the trace was read, because reading finds damage.
 */
bool tsm_survey_doubt(const struct tsm_survey *survey, struct sbt_reader *reader, char *out,
                      size_t size);

/* Writes to `out` that a wait of the trace failed as none of the other one did, if it did: it told
 * the program something. */
bool tsm_survey_doubt_failures(const struct tsm_survey *survey, const struct tsm_survey *other,
                               struct sbt_reader *reader, char *out, size_t size);

/* Writes to `out` how many commands have no record, if any: places on streams tell. Returns 0 or an
 * error. */
int tsm_survey_doubt_gaps(struct sbt_reader *reader, char *out, size_t size);

/* Returns the schema of a record, also of core records that the trace does not describe. */
const struct sbt_schema *tsm_survey_schema(struct sbt_reader *reader,
                                           const struct sbt_record *record);

/* Tests whether the record only asks or waits: how often a program polls is chance. */
bool tsm_survey_is_wait(const struct sbt_schema *schema);

#endif
