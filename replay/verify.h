/* SPDX-License-Identifier: Apache-2.0
 *
 * Comparing what a replay computed with what was recorded, and hashing it for comparison with other
 * replays. Main thread only; what is looked at has been waited for.
 */
#ifndef REPLAY_VERIFY_H
#define REPLAY_VERIFY_H

#include "base/hash.h"
#include "replay/backend.h"
#include "replay/observe.h"

struct tsm_verify {
    struct sbt_reader *reader;
    const struct tsm_backend *backend;
    struct tsm_backend_state *state;
    struct tsm_observer observer; /* zeroed: none */
    void (*on_difference)(void *user, const struct tsm_difference *difference);
    void *user;

    uint64_t comparison_count;
    uint64_t difference_count;
    uint64_t timed_count; /* ... that differ where times are */
    uint64_t left_count; /* commands that wrote nothing of what changed in memory of the host */
    struct tsm_verify_last {
        uint32_t stream;
        uint64_t position;
        bool has_left, has_written; /* bytes as the program left them; as recorded */
    } last;
    uint64_t unanswered_count; /* the backend had no bytes for a recorded readback */
    struct tsm_difference first;
    struct tsm_hasher_storage digest_storage;
    struct tsm_hasher *digest;
    uint8_t *chunk; /* VERIFY_CHUNK bytes */
};

/* `v` zeroed but for its first fields. */
int tsm_verify_init(struct tsm_verify *v);
void tsm_verify_finish(struct tsm_verify *v);

/* A READBACK or CHECKSUM record. 1: equal, or could not be compared; 0: different. */
int tsm_verify_readback(struct tsm_verify *v, const struct sbt_record *record,
                        const struct sbt_schema *schema);
int tsm_verify_checksum(struct tsm_verify *v, const struct sbt_record *record,
                        const struct sbt_schema *schema);

/* Nothing more is compared: left_count is right from here on. */
void tsm_verify_end(struct tsm_verify *v);

/* All live regions, after `record`. The device has been waited for. */
int tsm_verify_regions(struct tsm_verify *v, const struct sbt_record *record);

#endif
