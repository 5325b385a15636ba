/* SPDX-License-Identifier: Apache-2.0
 *
 * Log of what one replay computed, in two unnamed files: a list of observations with the keys of
 * their pieces, and the pieces' bytes, once each. A second replay is compared with it as it goes.
 * The files are made before the processes of the runs are forked, and shared by them.
 */
#ifndef REPLAY_RERUN_RUN_LOG_H
#define REPLAY_RERUN_RUN_LOG_H

#include "analysis/dependencies/scratch_memory.h"
#include "base/map.h"
#include "format/keyset.h"
#include "replay/observe.h"

#include <stdio.h>

#define TSM_RUN_LOG_BYTES_MAX (2ull << 30) /* of pieces; later ones are known by their keys */

struct tsm_run_log {
    int list_fd, pieces_fd;
};

int tsm_run_log_init(struct tsm_run_log *log);
void tsm_run_log_finish(struct tsm_run_log *log);
/* Forget what is in it. */
int tsm_run_log_clear(struct tsm_run_log *log);

struct tsm_run_writer {
    FILE *list, *pieces;
    struct sbt_keyset stored;
    uint64_t stored_size, stored_max; /* bytes; TSM_RUN_LOG_BYTES_MAX after init */
    uint64_t count;                   /* observations */
};

int tsm_run_writer_init(struct tsm_run_writer *w, const struct tsm_run_log *log);
/* Negative when something could not be written. */
int tsm_run_writer_finish(struct tsm_run_writer *w);
struct tsm_observer tsm_run_writer_observer(struct tsm_run_writer *w);

/* Compares; its observer ends the replay with TSM_E_DIFFERENT at the first difference. */
struct tsm_run_reader {
    FILE *list, *pieces;
    struct tsm_map index; /* first half of a piece's key -> offset of its head in `pieces` + 1 */
    bool has_index;
    uint8_t fresh_then, fresh_now; /* a byte of memory that was the one and is the other is equal */
    struct tsm_observation now;
    uint64_t offset;        /* of the next piece */
    uint64_t unknown_count; /* pieces that may be equal or not: their bytes were not kept */
    bool differs;
    struct tsm_difference difference;
    /* Differing bytes that no result depends on are none (scratch_memory.h). NULL trace: they are. */
    struct sbt_reader *trace;
    struct tsm_scratch_memory scratch;
    bool has_scratch;
    uint64_t scratch_byte_count; /* that differed so far */
};

int tsm_run_reader_init(struct tsm_run_reader *r, const struct tsm_run_log *log);
/* The run is over: fewer observations than in the log are a difference, too. */
void tsm_run_reader_end(struct tsm_run_reader *r);
void tsm_run_reader_finish(struct tsm_run_reader *r);
/* Reads the next observation of the log, in place of a comparison, and a hash of what was observed.
 * Returns 1, 0 at the end, or a negative tsm_error. */
int tsm_run_reader_next(struct tsm_run_reader *r, struct tsm_observation *out,
                        struct sbt_key *hash);
struct tsm_observer tsm_run_reader_observer(struct tsm_run_reader *r);

#endif
