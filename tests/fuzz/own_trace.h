/* SPDX-License-Identifier: Apache-2.0
 *
 * For fuzzers: a small trace of three calls, with a stack in a mapped file.
 */
#ifndef TESTS_FUZZ_OWN_TRACE_H
#define TESTS_FUZZ_OWN_TRACE_H

#include "tracesmith/error.h"
#include "tracesmith/writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define OWN_TRACE_START 0x400000u /* of the mapping */
#define OWN_TRACE_END   0x500000u

static inline void own_trace_must(int result)
{
    if (result >= 0)
        return;
    fprintf(stderr, "trace of a fuzzer: %s\n", tsm_error_message());
    abort();
}

static inline void own_trace_record(struct sbt_writer *w, uint64_t seq)
{
    const uint64_t slots[1] = {seq};
    const struct sbt_record record = {.seq = seq,
                                      .time_ns = 1000 + seq * 1000,
                                      .duration_ns = 500,
                                      .type = SBT_TYPE(7, 1),
                                      .thread = 1,
                                      .stream = 0,
                                      .position = seq + 1,
                                      .stack = 1,
                                      .slots = (uint64_t *)slots,
                                      .slot_count = 1};

    own_trace_must(sbt_writer_record(w, &record));
}

/* Writes it to the descriptor `at`, which is a new file in memory. The stack lies in `path`, which
 * is mapped from OWN_TRACE_START to OWN_TRACE_END. */
static inline void own_trace_write(int at, const char *path)
{
    static const struct sbt_field field = {.name = "value", .type = SBT_FIELD_UINT, .detail = ""};
    static const struct sbt_schema schema = {.type = SBT_TYPE(7, 1),
                                             .name = "call",
                                             .kind = SBT_KIND_COMMAND,
                                             .result_enum = "",
                                             .field_count = 1,
                                             .fields = &field};
    static const uint64_t frames[] = {OWN_TRACE_START + 0x1001, OWN_TRACE_START + 0x40};
    const struct sbt_mapping mapping = {
        .start = OWN_TRACE_START, .end = OWN_TRACE_END, .path = path};
    const struct sbt_session session = {.id = {1, 2, 3, 4, 5, 6, 0x47, 8, 0x89},
                                        .clock = "monotonic"};
    const struct sbt_totals none = {0};
    struct sbt_writer *w = NULL;
    int fd = memfd_create("first", MFD_CLOEXEC);

    if (fd < 0 || dup2(fd, at) != at)
        abort();
    own_trace_must(sbt_writer_create_fd(&w, fd, &session, NULL));
    own_trace_must(sbt_writer_metadata(w, "process.pid", "1"));
    own_trace_must(sbt_writer_schema(w, &schema));
    own_trace_must(sbt_writer_mapping(w, &mapping));
    own_trace_must(sbt_writer_stack(w, 1, frames, 2));
    for (uint64_t seq = 0; seq < 3; seq++)
        own_trace_record(w, seq);
    own_trace_must(sbt_writer_finish(w, &none, SBT_END_FINISHED));
    sbt_writer_destroy(w);
}

#endif
