/* SPDX-License-Identifier: Apache-2.0
 *
 * One replay in a process of its own.
 */
#ifndef REPLAY_RERUN_FORKED_RUN_H
#define REPLAY_RERUN_FORKED_RUN_H

#include "replay/rerun/run_log.h"

/* Limits the traces that are searched for what commands access: it takes 100 bytes a command, or
 * more. */
#define TSM_SEARCHED_RECORDS_MAX 5000000u

struct tsm_forked_run {
    const struct tsm_replay_options *options;
    const char *schedule; /* of the software GPU: "fifo", "reverse", "random:7" */
    bool is_serial;       /* the software GPU runs one command at a time, by that schedule */
    const struct tsm_run_log *log; /* NULL: it is compared with the recording alone */
    bool writes;                   /* the log; else compares with it */
    bool only_memory; /* the log has what memory holds in the end, by its keys, and nothing else */
    unsigned limit_s; /* it is ended then; 0: never */
    uint8_t fresh_then; /* fresh byte of the run in the log */
};

struct tsm_forked_result {
    struct tsm_replay_result result;
    uint64_t observation_count;       /* written to the log */
    uint64_t unknown_count;           /* pieces that could not be compared with the log */
    uint64_t scratch_byte_count;      /* that differ from the log, and no result depends on them */
    uint64_t early_count;             /* writes of the program that were carried out early */
    bool differs;                     /* from the recording, or from the log */
    bool is_readback;                 /* ... in what the program read back */
    struct tsm_difference difference; /* call and function are not set */
};

/* Negative when the run could not be carried through. */
int tsm_forked_run(struct tsm_forked_result *out, struct sbt_reader *reader,
                   const struct tsm_forked_run *run);

#endif
