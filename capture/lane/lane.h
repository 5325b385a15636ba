/* SPDX-License-Identifier: Apache-2.0
 *
 * Lanes: a ring of entries per thread, in a shared file mapping beside the trace, `<trace>.lanes`.
 * What a thread has committed there survives SIGKILL; capture/lane/salvage.c, in another process, finds
 * it. So the layout below is a file format with a version, although it never leaves the machine
 * and lives no longer than its process: native byte order, natural alignment, offsets asserted.
 *
 *     offset 0                            struct tsm_lanes_header, TSM_LANES_HEADER_SIZE bytes
 *     offset TSM_LANES_HEADER_SIZE        lane 0: struct tsm_lane_header in TSM_LANE_HEADER_SIZE
 *                                         bytes, then a ring of first_lane_size bytes
 *     after it                           lanes 1..: the same with lane_size bytes
 *
 * Ring sizes are powers of two. Positions (head, tail, flushed) count bytes since the lane was made
 * and never wrap; a position's place is position & (size - 1). Entries are 8-byte aligned and never
 * cross the ring's end: a PAD entry fills the gap.
 *
 * Lane 0 takes definitions from any thread, under a lock: strings, stacks, mappings, metadata.
 * Lanes 1.. have one writer each: records and the pieces that they refer to. A consumer that reads
 * the heads of the lanes first and lane 0's head after them finds every string and stack that a
 * record names.
 *
 * Order. A record's key is its end stamp, or its begin stamp when its entry says so (destroying
 * calls, and those that others may notice before they return). Keys never fall within a lane. The trace's order is by (key, lane index).
 */
#ifndef CAPTURE_LANE_LANE_H
#define CAPTURE_LANE_LANE_H

#include "base/clock.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Record types of higher numbers are none that we write. */
#define TSM_TYPE_API_COUNT  8u
#define TSM_TYPE_CALL_COUNT 4096u

#define TSM_LANES_MAGIC       "TSLANES\n"
#define TSM_LANES_VERSION     3u
#define TSM_LANES_HEADER_SIZE 4096u
#define TSM_LANE_HEADER_SIZE  4096u
#define TSM_FIRST_LANE_SIZE   (4u << 20) /* must take the longest string, 1 MiB */
#define TSM_LANE_SIZE_MIN     (256u << 10)
#define TSM_LANE_SIZE_MAX     (1u << 30)
#define TSM_LANE_COUNT_MAX    32768u

/* Why records are missing; each has a counter of its own. */
enum tsm_filter_reason {
    TSM_FILTERED_STREAM,
    TSM_FILTERED_KERNEL,
    TSM_FILTERED_THREAD,
    TSM_FILTERED_API,
    TSM_FILTERED_SAMPLE,
    TSM_FILTERED_RATE,
    TSM_FILTERED_KEEP,
    TSM_FILTERED_COUNT,
};

/* Count and interval (TSC) of what is missing. */
struct tsm_missing {
    uint64_t count;
    uint64_t first, last;
    uint64_t streams; /* bit min(stream, 63) */
};

struct tsm_lanes_header {
    char magic[8];
    uint32_t version;
    uint32_t pid;
    uint64_t first_lane_size;
    uint64_t lane_size;
    uint8_t session_id[16];
    uint64_t start_monotonic_ns;
    uint32_t lane_count;  /* lanes whose header is complete; grows */
    uint32_t clock_epoch; /* clock[clock_epoch & 1] is valid */
    struct tsm_clock_line clock[2];
    /* flushed[flush_epoch & 1] here and in every lane belong together: so many records, all those
     * before these positions, are in the trace file. More may be: the next ones in order. */
    uint32_t flush_epoch;
    uint32_t reserved;
    uint64_t flushed[2];
    uint64_t cut;                /* ring mode: commands with a key below this were left out */
    struct tsm_missing kept_out; /* ... as of the last flush */
    struct tsm_missing no_lane;  /* lost: calls of threads that got no lane */
    char stopped[256];           /* why the trace could not be written to its end, "" it could */
    uint32_t order;              /* enum tsm_control_order: written by tsctl */
    uint32_t shown;              /* enum tsm_shown: what tsctl sees */
    uint32_t checkpoint_count;   /* whole ones */
};

/* Tests whether a file of `size` bytes is a lanes file: with the magic, or not begun yet (the magic
 * is written last). `h` is read if the size is at least TSM_LANES_HEADER_SIZE. */
static inline bool tsm_lanes_are_ours(const struct tsm_lanes_header *h, uint64_t size)
{
    static const char none[sizeof(h->magic)];

    if (size < TSM_LANES_HEADER_SIZE)
        return size == 0;
    return memcmp(h->magic, TSM_LANES_MAGIC, sizeof(h->magic)) == 0 ||
           (memcmp(h->magic, none, sizeof(none)) == 0 &&
            (h->version == 0 || h->version == TSM_LANES_VERSION));
}

/* Orders to a session, given by writing them into its lanes file. The last one counts. */
enum tsm_control_order {
    TSM_ORDER_NONE = 0,
    TSM_ORDER_START = 1,
    TSM_ORDER_STOP = 2,
    TSM_ORDER_CHECKPOINT = 3, /* goes back to NONE when it was taken note of */
};

enum tsm_shown {
    TSM_SHOWN_NOTHING = 0,
    TSM_SHOWN_WAITING = 1,
    TSM_SHOWN_RECORDING = 2,
    TSM_SHOWN_OVER = 3,
};

struct tsm_lane_header {
    /* The producer's. */
    uint64_t head;    /* position after the last published entry */
    uint64_t pending; /* lower bound of the key of a record that is being made; 0 none;
                         TSM_PENDING_UNKNOWN: a stamp is being taken, `since` is a lower bound */
    uint64_t since;   /* begin of the current or last call */
    uint64_t closing; /* head as it will be, or is, once the call's record is published; 0 before */
    uint64_t inside;  /* TSM_INSIDE() of the call that the thread is in, 0 none */
    uint64_t position; /* ... on its stream */
    uint32_t thread;   /* kernel's id of the lane's thread, 0 free */
    uint32_t reserved;
    /* Written rarely, by the producer. */
    uint64_t piece_count __attribute__((aligned(64))); /* PIECE entries published so far */
    struct tsm_missing lost;
    uint64_t lost_told; /* of lost.count: those that a LOST record in this lane tells of */
    struct tsm_missing filtered[TSM_FILTERED_COUNT];
    /* The consumer's. */
    uint64_t tail __attribute__((aligned(64))); /* space before it may be written again */
    uint64_t flushed[2];                        /* see struct tsm_lanes_header */
};

#define TSM_PENDING_UNKNOWN 1u

/* Type and stream (or SBT_STREAM_NONE) of a call. Types are not 0: core records are no calls. */
#define TSM_INSIDE(type, stream) ((uint64_t)(type) | (uint64_t)(stream) << 32)

_Static_assert(sizeof(struct tsm_lanes_header) <= TSM_LANES_HEADER_SIZE, "lanes header");
_Static_assert(sizeof(struct tsm_lane_header) <= TSM_LANE_HEADER_SIZE, "lane header");
_Static_assert(offsetof(struct tsm_lane_header, piece_count) == 64, "lane header");
_Static_assert(offsetof(struct tsm_lanes_header, clock) == 64, "lanes header");

/* ---- entries ------------------------------------------------------------------------------ */

enum tsm_entry_kind {
    TSM_ENTRY_PAD = 1,
    TSM_ENTRY_RECORD = 2,
    TSM_ENTRY_PIECE = 3,
    TSM_ENTRY_STRING = 4,   /* lane 0 */
    TSM_ENTRY_STACK = 5,    /* lane 0 */
    TSM_ENTRY_MAPPING = 6,  /* lane 0 */
    TSM_ENTRY_METADATA = 7, /* lane 0 */
};

struct tsm_entry {
    uint32_t size; /* bytes of the whole entry, a multiple of 8 */
    uint16_t kind;
    uint16_t flags;
};

/* flags of a RECORD entry */
#define TSM_ENTRY_AT_BEGIN 1u /* its key is its begin stamp */
#define TSM_ENTRY_COMMAND  2u /* SBT_KIND_COMMAND: ring mode may leave it out */

struct tsm_record_entry {
    struct tsm_entry entry;
    uint64_t begin, end; /* TSC */
    uint32_t type;
    uint32_t thread;
    uint32_t stream;
    uint32_t stack;
    uint64_t position;
    int64_t result;
    uint16_t flags; /* SBT_RECORD_* */
    uint16_t slot_count;
    uint32_t data_size;
    /* slot_count times u64, then data_size bytes */
};

struct tsm_piece_entry {
    struct tsm_entry entry;
    uint32_t data_size;
    uint32_t reserved;
    uint8_t key[16];
    /* data_size bytes */
};

struct tsm_string_entry {
    struct tsm_entry entry;
    uint32_t id;
    uint32_t text_size;
    /* text */
};

struct tsm_stack_entry {
    struct tsm_entry entry;
    uint32_t id;
    uint32_t frame_count;
    /* frame_count times u64 */
};

struct tsm_mapping_entry {
    struct tsm_entry entry;
    uint64_t start, end, file_offset;
    uint32_t path_size; /* with its terminator */
    uint32_t build_id_size;
    /* path, then build id */
};

struct tsm_metadata_entry {
    struct tsm_entry entry;
    uint32_t name_size, value_size; /* with their terminators */
    /* name, value */
};

static inline uint32_t tsm_entry_round(uint64_t size)
{
    return (uint32_t)((size + 7) & ~(uint64_t)7);
}

/* ---- the producer's side ------------------------------------------------------------------ */

struct tsm_session;

/* A lane as its writer sees it; private memory. */
struct tsm_lane {
    struct tsm_lane_header *header __attribute__((aligned(64)));
    uint8_t *ring;
    uint64_t size;
    uint64_t head;
    uint64_t limit;     /* head may grow to here without a closer look */
    uint64_t populated; /* bytes of the ring that are known to have memory (and disk) behind them */
    uint64_t wake_at;   /* when head passes this, the drain thread is nudged */
    struct tsm_session *session;
    struct tsm_lane *next_free;
    uint32_t index;
    uint32_t thread;
    bool thread_filtered;  /* TS_THREAD_NAMES excludes this thread */
    uint32_t space_signal; /* futex: the drain released space */
    uint32_t waiting;
    struct tsm_scratch *scratch;
    struct tsm_stack_cache *stacks;
    uint64_t last_key;                  /* keys must not fall within a lane */
    uint64_t local[8]; /* TSM_LOCAL_SIZE bytes: tsm_call_local() */
};

/* `limit` is in the way. */
void *tsm_lane_reserve_slowly(struct tsm_lane *lane, uint32_t size);

/* `size` bytes (a multiple of 8) to fill, or NULL: drop mode and full, or capture failed. May wait
 * for the drain thread. Nothing is taken before publish: reserving again gives the same place. */
static inline void *tsm_lane_reserve(struct tsm_lane *lane, uint32_t size)
{
    if (__builtin_expect(lane->head + size > lane->limit, 0))
        return tsm_lane_reserve_slowly(lane, size);
    return lane->ring + (lane->head & (lane->size - 1));
}

/* The entry of `size` bytes that reserve gave is complete. */
static inline void tsm_lane_publish(struct tsm_lane *lane, uint32_t size)
{
    lane->head += size;
    __atomic_store_n(&lane->header->head, lane->head, __ATOMIC_RELEASE);
}

/* Count a record of this lane that could not be kept. */
void tsm_lane_lost(struct tsm_lane *lane, uint32_t stream, uint64_t ticks);

void tsm_missing_add(struct tsm_missing *missing, uint32_t stream, uint64_t ticks);

/* Set up the private side over mapped memory of a new lane. */
void tsm_lane_init(struct tsm_lane *lane, struct tsm_session *session, uint32_t index, void *memory,
                   uint64_t size);

#endif
