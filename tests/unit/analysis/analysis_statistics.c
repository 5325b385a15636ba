/* SPDX-License-Identifier: Apache-2.0 -- what a trace holds, in numbers. */
#include "tests/unit/check.h"
#include "tests/unit/replay/replay_sample.h"

#include "tracesmith/analysis.h"

int main(void)
{
    struct tsm_statistics t;
    struct sample s;

    sample_begin(&s, "statistics");
    sample_call(&s, MAKE_STREAM, SBT_STREAM_NONE, 1, 1, 0);
    for (int i = 0; i < 3; i++)
        sample_add(&s, 1, "add_one", SAMPLE_BASE, 1);
    s.flags = SBT_RECORD_FAILED;
    sample_add(&s, 2, "add_one", SAMPLE_BASE, 1);
    sample_write(&s, 2, SAMPLE_BASE, "abc", 3);
    sample_readback(&s, 2, 1, "abcde", 5, false);
    sample_end(&s);
    struct sbt_reader *reader = sample_open(&s);
    CHECK_EQ_INT(tsm_statistics_collect(&t, reader, NULL), 0);
    CHECK_EQ_INT((long long)t.record_count, 7);
    CHECK_EQ_INT((long long)t.command_count, 5);
    CHECK_EQ_INT((long long)t.stream_count, 2);
    CHECK_EQ_INT((long long)t.thread_count, 1);
    CHECK_EQ_INT((long long)t.bytes_sent, 3);
    CHECK_EQ_INT((long long)t.bytes_read_back, 5);
    CHECK_EQ_INT((long long)t.call_count, 4);
    CHECK_EQ_INT((long long)t.calls[0].type, SBT_TYPE(SBT_API_CUDA, ADD));
    CHECK_EQ_INT((long long)t.calls[0].count, 4);
    CHECK_EQ_INT((long long)t.calls[0].failed_count, 1);
    CHECK_EQ_INT((long long)(t.last_ns - t.first_ns), 6010);
    tsm_statistics_finish(&t);
    sbt_reader_destroy(reader);
    return check_result();
}
