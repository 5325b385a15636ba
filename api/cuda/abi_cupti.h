/* SPDX-License-Identifier: Apache-2.0
 *
 * The part of CUPTI's Activity API (libcupti.so.12 and .13) that we use: functions, numbers, and
 * where fields lie in records. Later versions of a record only add fields behind those of earlier
 * ones, so that one declaration is for all of them.
 */
#ifndef API_CUDA_ABI_CUPTI_H
#define API_CUDA_ABI_CUPTI_H

#include <stddef.h>
#include <stdint.h>

enum tsm_cupti_result {
    TSM_CUPTI_DONE = 0,
    TSM_CUPTI_NO_MORE = 12,         /* records of a buffer */
    TSM_CUPTI_OTHER_SUBSCRIBER = 39 /* another tool uses CUPTI */
};

enum tsm_cupti_kind {
    TSM_CUPTI_COPY = 1,
    TSM_CUPTI_FILL = 2,
    TSM_CUPTI_KERNEL = 10, /* of those that may run beside others */
    TSM_CUPTI_PEER_COPY = 22,
    TSM_CUPTI_OUTER = 39 /* an outer number of a call */
};

#define TSM_CUPTI_OUTER_KIND   5u /* one of those that are for tools */
#define TSM_CUPTI_FLUSH_FORCED 1u

/* Versions that have these layouts: 12.0 to 12.9, then MAJOR * 10000 + MINOR * 100 + ... */
#define TSM_CUPTI_VERSION_FIRST     19u
#define TSM_CUPTI_VERSION_LAST_OLD  9999u
#define TSM_CUPTI_VERSION_FIRST_NEW 130000u
#define TSM_CUPTI_VERSION_LAST      139999u

/* Times are nanoseconds of CUPTI's clock, 0: not known. */
struct tsm_cupti_kernel {
    uint32_t kind;
    uint8_t gap_a[12];
    uint64_t start_ns, end_ns;
    uint8_t gap_b[60];
    uint32_t correlation;
};

/* Copies, not between devices, and fills. */
struct tsm_cupti_copy {
    uint32_t kind;
    uint8_t gap_a[12];
    uint64_t start_ns, end_ns;
    uint8_t gap_b[12];
    uint32_t correlation;
};

struct tsm_cupti_peer_copy {
    uint32_t kind;
    uint8_t gap_a[12];
    uint64_t start_ns, end_ns;
    uint8_t gap_b[28];
    uint32_t correlation;
};

struct tsm_cupti_outer {
    uint32_t kind, outer_kind;
    uint64_t outer;
    uint32_t correlation, gap;
};

_Static_assert(offsetof(struct tsm_cupti_kernel, start_ns) == 16, "start of a kernel");
_Static_assert(offsetof(struct tsm_cupti_kernel, end_ns) == 24, "end of a kernel");
_Static_assert(offsetof(struct tsm_cupti_kernel, correlation) == 92, "call of a kernel");
_Static_assert(offsetof(struct tsm_cupti_copy, start_ns) == 16, "start of a copy");
_Static_assert(offsetof(struct tsm_cupti_copy, end_ns) == 24, "end of a copy");
_Static_assert(offsetof(struct tsm_cupti_copy, correlation) == 44, "call of a copy");
_Static_assert(offsetof(struct tsm_cupti_peer_copy, start_ns) == 16, "start of a peer copy");
_Static_assert(offsetof(struct tsm_cupti_peer_copy, end_ns) == 24, "end of a peer copy");
_Static_assert(offsetof(struct tsm_cupti_peer_copy, correlation) == 60, "call of a peer copy");
_Static_assert(offsetof(struct tsm_cupti_outer, outer_kind) == 4, "kind of an outer number");
_Static_assert(offsetof(struct tsm_cupti_outer, outer) == 8, "outer number");
_Static_assert(offsetof(struct tsm_cupti_outer, correlation) == 16, "call of an outer number");
_Static_assert(sizeof(struct tsm_cupti_outer) == 24, "record of an outer number");

typedef void (*tsm_cupti_requested)(uint8_t **buffer, size_t *size, size_t *record_max);
typedef void (*tsm_cupti_completed)(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                                    size_t valid_size);
typedef void (*tsm_cupti_callback)(void *user, int domain, uint32_t call, const void *data);

/* X(name behind "cupti", arguments); all return an enum tsm_cupti_result. */
#define TSM_CUPTI_FUNCTIONS(X)                                                                     \
    X(GetVersion, (uint32_t * version))                                                            \
    X(GetResultString, (int result, const char **text))                                            \
    X(Subscribe, (void **subscriber, tsm_cupti_callback callback, void *user))                     \
    X(Unsubscribe, (void *subscriber))                                                             \
    X(GetTimestamp, (uint64_t * ns))                                                               \
    X(ActivityRegisterCallbacks, (tsm_cupti_requested requested, tsm_cupti_completed completed))   \
    X(ActivityEnable, (int kind))                                                                  \
    X(ActivityDisable, (int kind))                                                                 \
    X(ActivityFlushAll, (uint32_t flags))                                                          \
    X(ActivityGetNextRecord, (uint8_t * buffer, size_t valid_size, void **record))                 \
    X(ActivityGetNumDroppedRecords, (void *context, uint32_t stream, size_t *count))               \
    X(ActivityPushExternalCorrelationId, (int kind, uint64_t id))                                  \
    X(ActivityPopExternalCorrelationId, (int kind, uint64_t *id))

#endif
