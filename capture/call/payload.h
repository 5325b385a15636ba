/* SPDX-License-Identifier: Apache-2.0
 *
 * Payloads: bytes of the program that a record refers to (capture/call/payload.c), and scratch
 * memory of a call.
 */
#ifndef CAPTURE_CALL_PAYLOAD_H
#define CAPTURE_CALL_PAYLOAD_H

#include "capture/session.h"

/* ---- payloads (capture/call/payload.c)
 * ----------------------------------------------------------- */

/* How payload bytes are fetched. */
enum tsm_fetch {
    TSM_FETCH_DIRECT, /* the driver has just accepted the address */
    TSM_FETCH_SAFE,   /* the program may have unmapped it */
};

/* Keep the bytes of `box`; the encoded reference goes to `out`, which takes
 * SBT_BLOB_ENCODED_SIZE(total size) bytes. False: memory could not be read, or pieces were lost. */
bool tsm_payload_store(struct tsm_lane *lane, const struct tsm_box *box, enum tsm_fetch fetch,
                       uint8_t *out);

/* Hash the pieces of `box`, and store them (when `store`); their keys, 16 bytes each, go to `out`.
 */
bool tsm_payload_pieces(struct tsm_lane *lane, const struct tsm_box *box, enum tsm_fetch fetch,
                        bool store, uint8_t *out);

uint64_t tsm_box_size(const struct tsm_box *box);

/* Tests whether a record of this lane has room for a reference of `encoded` bytes. */
static inline bool tsm_payload_fits(const struct tsm_lane *lane, uint64_t encoded)
{
    return encoded < lane->size / 4;
}

/* Returns how many bytes one record's reference may name here: whole pieces. */
uint64_t tsm_payload_part(const struct tsm_lane *lane);

/* Returns the address of the box's byte at `offset`, as if it were packed. */
uint64_t tsm_box_address(const struct tsm_box *box, uint64_t offset);

/* Works like tsm_payload_store() for the bytes [offset, offset + size) of the packed box; `offset`
 * is a multiple of a piece. Without `store` only their keys are kept. */
bool tsm_payload_store_part(struct tsm_lane *lane, const struct tsm_box *box, uint64_t offset,
                            uint64_t size, enum tsm_fetch fetch, bool store, uint8_t *out);

/* A lane's memory for encoded references, for readbacks that wait for the call's commit, and for
 * its record where that had to make way. */
#define TSM_SCRATCH_DEFERRED_MAX 1025 /* 1024 parts of a call, and TSM_FORETOLD */

#define TSM_SCRATCH_LARGE_MAX 8

struct tsm_scratch {
    uint32_t used; /* of bytes[] */
    uint32_t large_count;
    uint32_t deferred_count; /* of deferred[] */
    bool is_announced;       /* what is deferred counts already */
    struct tsm_scratch_large {
        void *memory;
        uint64_t size;
    } large[TSM_SCRATCH_LARGE_MAX];
    struct tsm_deferred {
        struct tsm_box box;
        uint32_t stream;
        uint64_t position;
        bool complete;
        bool is_weak; /* TSM_OWES_BYTES: only as long as nobody else may have written there */
        enum tsm_owes {
            TSM_OWES_BYTES,  /* they are recorded when the call is complete */
            TSM_WRITES,      /* the bytes are the device's until then */
            TSM_MAY_WRITE,   /* the same from `from` on: where else it writes is not known */
            TSM_MIGHT_WRITE, /* nothing says that it has the address: others write there, too */
            TSM_FORETOLD,    /* nothing: the call's commit ends what was announced before it */
        } owes;
        uint64_t from;
    } deferred[TSM_SCRATCH_DEFERRED_MAX];
    struct tsm_record_entry record;
    uint64_t slots[SBT_FIELD_COUNT_MAX]; /* directly after it */
    uint8_t bytes[12288];
};

/* `size` bytes that live until the call is committed. NULL: out of memory. */
uint8_t *tsm_scratch_take(struct tsm_lane *lane, uint64_t size);

void tsm_scratch_clear(struct tsm_lane *lane);

#endif
