/* SPDX-License-Identifier: Apache-2.0
 *
 * A replay that follows a schedule (replay/schedule.h): which of its records are what, and what is
 * done with them when. Commands are sent one at a time. A result is compared when the replay has
 * waited for its command, where the program had; where that wait was dropped, or the command moved
 * behind it, when a later wait shows that it is complete, or at the end.
 *
 * Places on streams (struct tsm_track) are counted in commands sent, not in recorded positions.
 */
#ifndef REPLAY_SCHEDULE_RUN_H
#define REPLAY_SCHEDULE_RUN_H

#include "replay/schedule_order.h"
#include "tracesmith/reader.h"

struct tsm_replay;

/* A recorded result that was met before its command was known to be complete. */
struct tsm_result_later {
    uint64_t seq;
    const struct tsm_schedule_item *item; /* of the command */
    uint32_t stream;
};

/* A command that reads memory of the program which the device can reach, when it runs: the program
 * may write there when it knows that the command is complete. The record has the bytes. */
struct tsm_schedule_source {
    const struct tsm_schedule_item *item;
    uint32_t stream;
    uint64_t address, size, hash;
};

#define TSM_SCHEDULE_SOURCE_MAX                                                                    \
    4096u /* that are not known to be complete; of more none is passed */

struct tsm_schedule_run {
    struct tsm_schedule schedule;
    struct tsm_schedule_order order;
    struct sbt_cursor *items;   /* reads what was left */
    struct sbt_cursor *results; /* ... and results */
    struct tsm_map places;      /* tsm_plan_place() of commands that were met -> index + 1 */
    uint64_t ordinal;           /* commands sent; of the one that is being sent */
    uint64_t unseen_seq; /* one more than the last wait that was dropped, or left for later */
    uint64_t told_seq;   /* ... than the last wait, or question, that was met */
    struct tsm_result_later *later; /* in order of seq */
    size_t later_count, later_capacity;
    struct tsm_schedule_source *sources; /* in order of seq */
    size_t source_count, source_capacity;
    bool has_more_sources; /* than there is room for */
    /* Records that carry bytes of the program and came before a result that it had read by then, or
     * before a command that read other bytes from the same place: how many; the first, and the
     * record that it should have come after. */
    uint64_t ahead_count, ahead_seq, ahead_of;
    bool ahead_of_source;
};

/* Part that a record has in a schedule. */
enum tsm_schedule_part {
    TSM_PART_ANY,     /* nothing: it may come before commands that were sent before it */
    TSM_PART_COMMAND, /* it is sent when the schedule says */
    TSM_PART_WAIT,
    TSM_PART_FIXED,      /* no command may be sent on the other side of it */
    TSM_PART_HOST_WRITE, /* ... nor one that uses memory of the host */
};
enum tsm_schedule_part tsm_schedule_part(const struct tsm_replay *p,
                                         const struct sbt_record *record,
                                         const struct sbt_schema *schema);

/* Reads options.schedule into p->scheduled and says whether the replay can follow it. The plan is
 * made, nothing runs yet. (schedule_check.c) */
int tsm_schedule_check(struct tsm_replay *p);

/* Around each run. */
void tsm_schedule_run_begin(struct tsm_schedule_run *s);
void tsm_schedule_run_finish(struct tsm_schedule_run *s);

/* Carries out what has its turn before the record `seq`, UINT64_MAX: all that is left. */
int tsm_schedule_run_before(struct tsm_replay *p, uint64_t seq);
/* The walk has come to a command; to a wait; to a result; to a question; to a write of the host; to
 * another record that ends something. */
int tsm_schedule_run_command(struct tsm_replay *p, const struct sbt_record *record,
                             const struct sbt_schema *schema);
int tsm_schedule_run_wait(struct tsm_replay *p, const struct sbt_record *record,
                          const struct sbt_schema *schema);
int tsm_schedule_run_result(struct tsm_replay *p, const struct sbt_record *record,
                            const struct sbt_schema *schema);
void tsm_schedule_run_asked(struct tsm_replay *p, const struct sbt_record *record);
int tsm_schedule_run_host_write(struct tsm_replay *p, const struct sbt_record *record,
                                const struct sbt_schema *schema);
int tsm_schedule_run_destroy(struct tsm_replay *p, const struct sbt_record *record,
                             const struct sbt_schema *schema);
/* Compares what is known to be complete by now; at the end, when everything is. */
int tsm_schedule_run_settle(struct tsm_replay *p);
int tsm_schedule_run_end(struct tsm_replay *p);
/* Tests whether the command is known to be complete. (schedule_sources.c) */
bool tsm_schedule_run_is_complete(const struct tsm_replay *p, const struct tsm_schedule_item *item,
                                  uint32_t stream);

/* Notes a source, when its command is met. */
int tsm_schedule_sources_meet(struct tsm_replay *p, const struct sbt_record *record,
                              const struct sbt_schema *schema,
                              const struct tsm_schedule_item *item);
/* The program wrote what a record carries: sources of earlier records that are not complete, though
 * they were when it was recorded, had other bytes in the same place. */
void tsm_schedule_sources_pass(struct tsm_replay *p, const struct sbt_record *record,
                               const struct sbt_schema *schema);

#endif
