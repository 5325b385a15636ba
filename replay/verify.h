/* SPDX-License-Identifier: Apache-2.0
 *
 * Comparing what a replay computed with what was recorded, and hashing it for comparison with other
 * replays. Main thread only; the memory that is compared is complete.
 */
#ifndef REPLAY_VERIFY_H
#define REPLAY_VERIFY_H

#include "base/hash.h"
#include "base/map.h"
#include "replay/backend.h"
#include "replay/observe.h"

/* Why a recorded result was not compared. */
enum tsm_uncompared {
    TSM_UNCOMPARED_NOT_RUN, /* its command was not carried out in this replay */
    TSM_UNCOMPARED_ABSENT,  /* the replay has no such memory, or gave nothing back */
    TSM_UNCOMPARED_CUT,     /* the trace does not hold all of it */
    TSM_UNCOMPARED_TIMES,   /* it holds times of the GPU, which are others in each run */
    TSM_UNCOMPARED_TAKEN,   /* what was recorded took its place: the program may have written it */
    TSM_UNCOMPARED_SHARED,  /* another command, or the program, may have written some of it */
    TSM_UNCOMPARED_FAILED,  /* commands failed in the replay before it was there, as recorded */
    TSM_UNCOMPARED_FAILURE, /* a failure: which command failed in the replay is not known */
    TSM_UNCOMPARED_ORDER,   /* by a schedule memory holds something else at that moment */
    TSM_UNCOMPARED_COUNT
};

struct tsm_verify {
    struct sbt_reader *reader;
    const struct tsm_backend *backend;
    struct tsm_backend_state *state;
    struct tsm_observer observer; /* zeroed: none */
    void (*on_difference)(void *user, const struct tsm_difference *difference);
    void *user;

    bool has_failed; /* commands of what the next result belongs to */
    uint64_t comparison_count;
    uint64_t last_seq; /* of the last record that was compared */
    uint64_t difference_count;
    uint64_t timed_count; /* results that are times of the GPU's and nothing else: they are none */
    uint64_t uncompared_counts[TSM_UNCOMPARED_COUNT];
    uint64_t left_count; /* commands that did not write all that changed in memory of the host */
    struct tsm_verify_last {
        uint32_t stream;
        uint64_t position;
        bool has_left; /* bytes that differ are as the program left them */
    } last;
    struct tsm_map parts; /* of commands whose bytes take several records: bytes compared */
    uint64_t parts_seq;   /* after the last such record */
    struct tsm_map skipped, skipped_bytes; /* thread -> the command whose result it recorded last,
                                              outside of the part that is compared; how much */
    struct tsm_difference first;
    uint64_t first_result_seq; /* of the record that `first` differs from */
    uint64_t first_translated; /* addresses that had been translated by then */
    uint64_t first_mixed; /* ... writes that the backend's mixed() had counted, and used_count */
    struct tsm_verify_spots {
        uint64_t count, difference_count;
        struct tsm_difference first;
        uint64_t first_result_seq, first_translated, first_mixed; /* as below */
    } spots;             /* spot checks that were compared; they are not among the others */
    uint64_t used_count; /* results not compared that commands may have used as the program had
                            changed them */
    struct tsm_hasher_storage digest_storage;
    struct tsm_hasher *digest;
    uint8_t *chunk; /* VERIFY_CHUNK bytes */
};

/* `v` zeroed but for its first fields. */
int tsm_verify_init(struct tsm_verify *v);
void tsm_verify_finish(struct tsm_verify *v);

/* Counts a result that cannot be compared. */
static inline void tsm_verify_pass_over(struct tsm_verify *v, enum tsm_uncompared why)
{
    v->uncompared_counts[why]++;
}
uint64_t tsm_verify_uncompared(const struct tsm_verify *v);

/* Compares a READBACK or CHECKSUM record. Returns 1 if equal or not comparable, 0 if different. */
int tsm_verify_readback(struct tsm_verify *v, const struct sbt_record *record,
                        const struct sbt_schema *schema);
/* Takes a READBACK record into account that is not compared: it may be the begin of more bytes. */
int tsm_verify_skip(struct tsm_verify *v, const struct sbt_record *record,
                    const struct sbt_schema *schema);
int tsm_verify_checksum(struct tsm_verify *v, const struct sbt_record *record,
                        const struct sbt_schema *schema);

/* The same for a spot check: counts in `spots` alone. Returns 0 or a negative error. */
int tsm_verify_spot(struct tsm_verify *v, const struct sbt_record *record,
                    const struct sbt_schema *schema);
/* Makes the spot checks the results, where there are no others. */
void tsm_verify_adopt_spots(struct tsm_verify *v);

/* Ends the comparison; left_count is final then. */
void tsm_verify_end(struct tsm_verify *v);

/* Hashes all live regions as they are after `record`. The device is idle. */
int tsm_verify_regions(struct tsm_verify *v, const struct sbt_record *record);

#endif
