/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/null_api.h"

#include <stdio.h>
#include <stdlib.h>

#define NULL_API ((enum sbt_api)7)

enum { NULL_CALL = 1, NULL_COMMAND = 2, NULL_LAUNCH = 3 };

#define FIELD(name_, type_)                                                                        \
    {                                                                                              \
        .name = name_, .type = SBT_FIELD_##type_, .detail = ""                                     \
    }

static const struct sbt_field fields[BENCH_WORDS] = {
    FIELD("function", UINT), FIELD("grid", UINT), FIELD("block", UINT), FIELD("shared", UINT),
    FIELD("a", DEVPTR),      FIELD("b", DEVPTR),  FIELD("c", DEVPTR),   FIELD("n", UINT),
};

#define SCHEMA(call_, name_, kind_)                                                                \
    {                                                                                              \
        .type = SBT_TYPE(7, call_), .name = name_, .kind = kind_, .result_enum = "",               \
        .field_count = BENCH_WORDS, .fields = fields                                               \
    }

/* Only kind COMMAND carries a stack. */
static const struct sbt_schema schemas[] = {
    SCHEMA(NULL_CALL, "nullCall", SBT_KIND_OTHER),
    SCHEMA(NULL_COMMAND, "nullCommand", SBT_KIND_OTHER),
    SCHEMA(NULL_LAUNCH, "nullLaunch", SBT_KIND_COMMAND),
};

static const struct tsm_call_description calls[] = {
    {&schemas[0], TSM_CALL_GENERATED, "null"},
    {&schemas[1], TSM_CALL_GENERATED, "null"},
    {&schemas[2], TSM_CALL_GENERATED, "null"},
};

static const struct tsm_api_description description = {.api = NULL_API,
                                                       .name = "null",
                                                       .calls = calls,
                                                       .call_count =
                                                           sizeof(calls) / sizeof(calls[0])};

static const struct tsm_source source = {.description = &description};
const struct tsm_source *const tsm_sources[] = {&source, NULL};

__attribute__((noinline)) void null_real(const uint64_t *words)
{
    __asm__ volatile("" : : "r"(words) : "memory");
}

static inline void add_words(struct tsm_call *call, const uint64_t *words)
{
    uint64_t *slots = tsm_call_slots(call, BENCH_WORDS);

    for (size_t i = 0; i < BENCH_WORDS; i++)
        slots[i] = words[i];
}

void null_call(const uint64_t *words)
{
    struct tsm_call call;

    if (!tsm_call_begin(&call, SBT_TYPE(7, NULL_CALL))) {
        null_real(words);
        return;
    }
    null_real(words);
    tsm_call_returned(&call, 0, false);
    add_words(&call, words);
    tsm_call_commit(&call);
}

void null_command(struct tsm_stream *stream, const uint64_t *words)
{
    struct tsm_call call;

    if (!tsm_call_begin(&call, SBT_TYPE(7, NULL_COMMAND))) {
        null_real(words);
        return;
    }
    tsm_call_on_stream(&call, stream, TSM_ENQUEUES);
    null_real(words);
    tsm_call_returned(&call, 0, false);
    add_words(&call, words);
    tsm_call_commit(&call);
}

__attribute__((noinline)) void null_launch(struct tsm_stream *stream, const uint64_t *words)
{
    struct tsm_call call;

    if (!tsm_call_begin(&call, SBT_TYPE(7, NULL_LAUNCH))) {
        null_real(words);
        return;
    }
    tsm_call_on_stream(&call, stream, TSM_ENQUEUES);
    null_real(words);
    tsm_call_returned(&call, 0, false);
    add_words(&call, words);
    tsm_call_commit(&call);
}

struct tsm_stream *null_stream(void)
{
    static const uint64_t words[BENCH_WORDS];

    null_call(words);
    if (!tsm_session_current() || tsm_session_current()->drain_state != TSM_DRAIN_RUNNING) {
        fprintf(stderr, "capture did not start; TS_OUTPUT must name a new file\n");
        exit(1);
    }
    return tsm_stream_create(NULL_API);
}
