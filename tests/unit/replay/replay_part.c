/* SPDX-License-Identifier: Apache-2.0 -- replaying some streams, or a range. */
#include "tests/unit/check.h"
#include "tests/unit/replay/replay_sample.h"

#include "tracesmith/analysis.h"

#include <stdlib.h>

static struct sample s;
static struct tsm_replay_result result;

static void begin(const char *name)
{
    sample_begin(&s, name);
    for (uint64_t i = 1; i <= 4; i++)
        sample_call(&s, MAKE_STREAM, SBT_STREAM_NONE, i, i, 0);
}

static void need(struct tsm_dependency_slice *out, const struct sbt_filter *filter)
{
    struct sbt_reader *reader;

    sample_end(&s);
    reader = sample_open(&s);
    CHECK_EQ_INT(tsm_dependency_slice_find(out, reader, filter), 0);
    sbt_reader_destroy(reader);
}

static void need_streams(struct tsm_dependency_slice *out, uint32_t stream)
{
    need(out, &(struct sbt_filter){.streams = &stream, .stream_count = 1});
}

static void a_stream_needs_itself_only(void)
{
    struct tsm_dependency_slice n;

    begin("alone");
    sample_add(&s, 1, "add_one", SAMPLE_BASE, 1);
    uint64_t last = sample_add(&s, 2, "add_one", SAMPLE_BASE, 1);
    need_streams(&n, 2);
    CHECK_EQ_INT((long long)n.until_seq[1], 0);
    CHECK_EQ_INT((long long)n.until_seq[2], (long long)last + 1);
    tsm_dependency_slice_finish(&n);
}

static void a_wait_needs_its_signal_and_what_precedes_it(void)
{
    struct tsm_dependency_slice n;

    begin("event");
    sample_add(&s, 1, "add_one", SAMPLE_BASE, 1);
    sample_call(&s, SIGNAL, 3, 7, 0, 0); /* overwritten by the next one */
    uint64_t signal = sample_call(&s, SIGNAL, 1, 7, 0, 0);
    sample_add(&s, 1, "add_one", SAMPLE_BASE, 1);
    sample_call(&s, WAIT, 2, 7, 0, 0);
    need_streams(&n, 2);
    CHECK_EQ_INT((long long)n.until_seq[1], (long long)signal + 1);
    CHECK_EQ_INT((long long)n.until_seq[3], 0);
    tsm_dependency_slice_finish(&n);
}

static void needs_go_through_several_streams(void)
{
    struct tsm_dependency_slice n;

    begin("chain");
    uint64_t first = sample_call(&s, SIGNAL, 1, 7, 0, 0);
    sample_call(&s, WAIT, 3, 7, 0, 0);
    uint64_t second = sample_call(&s, SIGNAL, 3, 8, 0, 0);
    sample_call(&s, WAIT, 2, 8, 0, 0);
    need_streams(&n, 2);
    CHECK_EQ_INT((long long)n.until_seq[3], (long long)second + 1);
    CHECK_EQ_INT((long long)n.until_seq[1], (long long)first + 1);
    tsm_dependency_slice_finish(&n);
}

static void what_the_host_waited_for_is_needed(void)
{
    struct tsm_dependency_slice n;

    begin("host");
    sample_add(&s, 1, "add_one", SAMPLE_BASE, 1);
    uint64_t sync = sample_call(&s, SYNC_STREAM, 1, 0, 0, 0);
    sample_add(&s, 1, "add_one", SAMPLE_BASE, 1);
    sample_add(&s, 2, "add_one", SAMPLE_BASE, 1);
    sample_call(&s, SYNC_STREAM, 1, 0, 0, 0); /* nothing that is needed follows this one */
    need_streams(&n, 2);
    CHECK_EQ_INT((long long)n.until_seq[1], (long long)sync);
    tsm_dependency_slice_finish(&n);
}

/* Two threads that began before the other's synchronisation, each with a stream. */
static void two_threads(const char *name, uint64_t other_address)
{
    begin(name);
    sample_call(&s, ALLOCATE, SBT_STREAM_NONE, SAMPLE_BASE, 64, 0);
    sample_call(&s, ALLOCATE, SBT_STREAM_NONE, SAMPLE_BASE + 4096, 64, 0);
    sample_add(&s, 2, "add_one", SAMPLE_BASE, 1);
    s.thread = 2;
    sample_add(&s, 1, "add_one", other_address, 1);
    sample_call(&s, SYNC_STREAM, 1, 0, 0, 0);
    s.thread = 1;
    sample_add(&s, 2, "add_one", SAMPLE_BASE, 1);
}

static void what_another_thread_waited_for_is_not_needed(void)
{
    struct tsm_dependency_slice n;

    two_threads("threads", SAMPLE_BASE + 4096);
    need_streams(&n, 2);
    CHECK_EQ_INT((long long)n.until_seq[1], 0);
    CHECK(n.unheard_seq < n.until_seq[2]); /* but it may have been told */
    tsm_dependency_slice_finish(&n);
}

static void but_it_is_when_memory_is_shared(void)
{
    struct tsm_dependency_slice n;

    two_threads("shared", SAMPLE_BASE + 16);
    need_streams(&n, 2);
    CHECK(n.until_seq[1] > 0);
    CHECK(n.unheard_seq == UINT64_MAX);
    tsm_dependency_slice_finish(&n);
}

static void and_it_is_when_the_thread_began_later(void)
{
    struct tsm_dependency_slice n;

    begin("later");
    sample_add(&s, 1, "add_one", SAMPLE_BASE, 1);
    uint64_t sync = sample_call(&s, SYNC_STREAM, 1, 0, 0, 0);
    s.thread = 2;
    sample_add(&s, 2, "add_one", SAMPLE_BASE, 1);
    need_streams(&n, 2);
    CHECK_EQ_INT((long long)n.until_seq[1], (long long)sync);
    tsm_dependency_slice_finish(&n);
}

static void a_default_stream_needs_all_before_it(void)
{
    struct tsm_dependency_slice n;

    begin("default");
    sample_add(&s, 1, "add_one", SAMPLE_BASE, 1);
    uint64_t seq = sample_add(&s, 0, "add_one", SAMPLE_BASE, 1);
    sample_add(&s, 1, "add_one", SAMPLE_BASE, 1);
    need_streams(&n, 0);
    CHECK_EQ_INT((long long)n.until_seq[1], (long long)seq);
    tsm_dependency_slice_finish(&n);
}

static void nothing_after_a_range_is_needed(void)
{
    struct tsm_dependency_slice n;

    begin("range");
    uint64_t first = sample_add(&s, 1, "add_one", SAMPLE_BASE, 1);
    sample_add(&s, 1, "add_one", SAMPLE_BASE, 1);
    need(&n, &(struct sbt_filter){.seq_first = first, .seq_end = first + 1});
    CHECK_EQ_INT((long long)n.until_seq[1], (long long)first + 1);
    CHECK_EQ_INT((long long)n.until_seq_other, (long long)first + 1);
    tsm_dependency_slice_finish(&n);
}

static void a_range_needs_all_before_it(void)
{
    struct tsm_dependency_slice n;

    begin("before");
    sample_add(&s, 2, "add_one", SAMPLE_BASE + 4096, 1);
    uint64_t first = sample_add(&s, 1, "add_one", SAMPLE_BASE, 1);
    sample_add(&s, 2, "add_one", SAMPLE_BASE + 4096, 1);
    need(&n, &(struct sbt_filter){.seq_first = first, .seq_end = first + 1});
    CHECK_EQ_INT((long long)n.until_seq[1], (long long)first + 1);
    CHECK_EQ_INT((long long)n.until_seq[2], (long long)first);
    tsm_dependency_slice_finish(&n);
}

static void a_result_alone_needs_all_before_it(void)
{
    uint8_t zero[16] = {0};
    struct tsm_dependency_slice n;

    begin("result");
    sample_call(&s, READ_NOW, 1, SAMPLE_BASE, 16, 0);
    sample_add(&s, 2, "add_one", SAMPLE_BASE + 4096, 1);
    uint64_t result_seq = sample_readback(&s, 1, 1, zero, sizeof(zero), false);
    need(&n, &(struct sbt_filter){.seq_first = result_seq, .seq_end = result_seq + 1});
    CHECK_EQ_INT((long long)n.until_seq[2], (long long)result_seq);
    tsm_dependency_slice_finish(&n);
}

static void replay(const struct tsm_replay_options *options)
{
    struct tsm_replay *r = NULL;
    struct sbt_reader *reader;

    sample_end(&s);
    reader = sample_open(&s);
    sample_log_clear();
    CHECK_EQ_INT(tsm_replay_create(&r, reader, options), 0);
    CHECK_EQ_INT(tsm_replay_run(r, &result), 0);
    tsm_replay_destroy(r);
    sbt_reader_destroy(reader);
}

static void only_needed_commands_are_submitted(void)
{
    uint32_t stream = 2;
    struct tsm_replay_options options = {.filter = {.streams = &stream, .stream_count = 1}};

    begin("subset");
    sample_call(&s, SIGNAL, 1, 7, 0, 0);
    sample_add(&s, 1, "add_one", SAMPLE_BASE, 1);
    sample_call(&s, WAIT, 2, 7, 0, 0);
    sample_add(&s, 3, "add_one", SAMPLE_BASE, 1);
    sample_call(&s, SYNC_STREAM, 3, 0, 0, 0);
    replay(&options);
    /* Waits of the engine's own may stand between. */
    const char *signal = strstr(sample_log(), "1:1 "), *wait = strstr(sample_log(), "2:1 ");
    CHECK(signal && wait && signal < wait);
    CHECK(!strstr(sample_log(), "1:2") && !strstr(sample_log(), "3:"));
    CHECK_EQ_INT((long long)result.command_count, 2);
    CHECK_EQ_INT((long long)result.skipped_count, 2);
}

static void readbacks_outside_the_range_are_not_compared(void)
{
    uint8_t zero[16] = {0}, one[16] = {1};
    struct tsm_replay_options options = {0};

    begin("verify");
    sample_call(&s, READ_NOW, 1, SAMPLE_BASE, 16, 0);
    sample_readback(&s, 1, 1, one, sizeof(one), false); /* wrong, but before the range */
    options.filter.seq_first = sample_call(&s, READ_NOW, 1, SAMPLE_BASE, 16, 0);
    options.filter.seq_end = sample_readback(&s, 1, 2, zero, sizeof(zero), false) + 1;
    sample_call(&s, READ_NOW, 1, SAMPLE_BASE, 16, 0);
    sample_readback(&s, 1, 3, one, sizeof(one), false);
    replay(&options);
    CHECK_EQ_INT(result.verdict, TSM_SAME);
    CHECK_EQ_INT((long long)result.checksum_count, 1);
    CHECK_EQ_INT((long long)result.command_count, 2);
}

/* A result that takes two records, of which the range has one. */
static void parts_of_a_readback_are_compared(void)
{
    uint8_t bytes[16] = {1, 1, 1, 1, 1, 1, 1, 1};

    for (int second = 0; second <= 1; second++) {
        struct tsm_replay_options options = {0};
        begin("parts");
        sample_add(&s, 1, "add_one", SAMPLE_BASE, 1);
        sample_call(&s, READ_NOW, 1, SAMPLE_BASE + 8, 16, 0);
        options.filter.seq_first = sample_readback(&s, 1, 2, bytes, 8, false);
        options.filter.seq_end = sample_readback(&s, 1, 2, bytes + 8, 8, false);
        options.filter.seq_first += (unsigned)second;
        options.filter.seq_end += (unsigned)second;
        replay(&options);
        CHECK_EQ_INT(result.verdict, TSM_SAME);
        CHECK_EQ_INT((long long)result.checksum_count, 1);
    }
}

int main(void)
{
    a_stream_needs_itself_only();
    a_wait_needs_its_signal_and_what_precedes_it();
    needs_go_through_several_streams();
    what_the_host_waited_for_is_needed();
    what_another_thread_waited_for_is_not_needed();
    but_it_is_when_memory_is_shared();
    and_it_is_when_the_thread_began_later();
    a_default_stream_needs_all_before_it();
    nothing_after_a_range_is_needed();
    a_range_needs_all_before_it();
    a_result_alone_needs_all_before_it();
    only_needed_commands_are_submitted();
    readbacks_outside_the_range_are_not_compared();
    parts_of_a_readback_are_compared();
    return check_result();
}
