/* SPDX-License-Identifier: Apache-2.0
 *
 * One LTTng-UST tracepoint with a 64-byte array, the baseline of bench/run. LTTng includes this file
 * several times, with other meanings of its macros.
 */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER tracesmith_bench

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "bench/lttng_event.h"

#if !defined(BENCH_LTTNG_EVENT_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define BENCH_LTTNG_EVENT_H

#include <lttng/tracepoint.h>
#include <stdint.h>

LTTNG_UST_TRACEPOINT_EVENT(tracesmith_bench, call, LTTNG_UST_TP_ARGS(const uint64_t *, slots),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_array(uint64_t, slots, slots, 8)))

#endif

#include <lttng/tracepoint-event.h>
