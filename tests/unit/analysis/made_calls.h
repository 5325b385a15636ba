/* SPDX-License-Identifier: Apache-2.0
 *
 * Traces made for a test: calls of Vulkan and HSA that change objects which are waited for, as far
 * as their fields matter.
 */
#ifndef TESTS_UNIT_ANALYSIS_MADE_CALLS_H
#define TESTS_UNIT_ANALYSIS_MADE_CALLS_H

#include "format/values/struct_out.h"
#include "tracesmith/reader.h"
#include "tracesmith/writer.h"

enum { FIELD_MAX = 5, STEP_NS = 100, CALL_NS = 10, PATH_MAX_SIZE = 64 };

enum call {
    SUBMIT,
    SUBMIT2,
    SPARSE,
    WAIT_FENCES,
    FENCE_STATUS,
    RESET_FENCES,
    WAIT_SEMAPHORES,
    COUNTER,
    QUEUE_IDLE,
    PACKET,
    COPY,
    UNREAD,
    CREATE,
    STORE,
    ADD,
    SUBTRACT,
    EXCHANGE,
    AND,
    WAIT,
    LOAD,
    POINTER,
    BARRIER_AND,
    CALL_COUNT
};

#define TIMELINE_ID SBT_TYPE(SBT_API_VULKAN, 5)

struct made {
    char path[PATH_MAX_SIZE];
    struct sbt_writer *writer;
    struct sbt_reader *reader;
    uint64_t seq, positions[4];
    int64_t result; /* of the next call */
    uint32_t flags;
};

void must(int error);

void made_begin(struct made *m);

uint64_t made_put_record(struct made *m, struct sbt_record record);

/* A call with up to one structured value, which is the last slot. Returns the record's number. */
uint64_t made_put(struct made *m, enum call call, uint32_t stream, const uint64_t *given,
                  struct sbt_out *value);

#define PUT(call, stream, ...)                                                                     \
    made_put(&m, call, stream, (const uint64_t[FIELD_MAX]){__VA_ARGS__}, NULL)
#define HOST SBT_STREAM_NONE

/* Opens the trace, of which nothing more comes. */
void made_open(struct made *m);
void made_finish(struct made *m);

#endif
