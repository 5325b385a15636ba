/* SPDX-License-Identifier: Apache-2.0 -- in which order a replay submits and waits. */
#include "tests/unit/check.h"
#include "tests/unit/replay/replay_sample.h"

#include <stdlib.h>

static struct sample s;
static struct tsm_replay_result result;

/* Replays what was written into `s`. */
static int replay(const struct tsm_replay_options *options)
{
    struct sbt_reader *reader;
    struct tsm_replay *r = NULL;
    int error;

    sample_end(&s);
    reader = sample_open(&s);
    sample_log_clear();
    memset(&result, 0, sizeof(result));
    error = tsm_replay_create(&r, reader, options);
    if (!error)
        error = tsm_replay_run(r, &result);
    tsm_replay_destroy(r);
    sbt_reader_destroy(reader);
    sample_slow(SBT_STREAM_NONE);
    if (error)
        fprintf(stderr, "  (%s)\n", tsm_error_message());
    return error;
}

static void begin(const char *name)
{
    sample_begin(&s, name);
    for (uint64_t i = 1; i <= 3; i++)
        sample_call(&s, MAKE_STREAM, SBT_STREAM_NONE, i, i, 0);
    sample_call(&s, ALLOCATE, SBT_STREAM_NONE, SAMPLE_BASE, 64, 0);
}

static void check_before(const char *first, const char *second)
{
    const char *a = strstr(sample_log(), first), *b = strstr(sample_log(), second);

    if (!CHECK(a && b && a < b))
        fprintf(stderr, "  want %s before %s in %s\n", first, second, sample_log());
}

static void a_wait_comes_after_its_signal(void)
{
    begin("wait");
    sample_call(&s, SIGNAL, 1, 7, 0, 0);
    sample_call(&s, WAIT, 2, 7, 0, 0);
    sample_add(&s, 2, "add_one", SAMPLE_BASE, 1);
    sample_slow(1);
    CHECK_EQ_INT(replay(NULL), 0);
    check_before("1:1", "2:1");
}

static void a_new_signal_comes_after_waits_for_the_old_one(void)
{
    begin("rerecord");
    sample_call(&s, SIGNAL, 1, 7, 0, 0);
    sample_call(&s, WAIT, 2, 7, 0, 0);
    sample_call(&s, SIGNAL, 3, 7, 0, 0);
    sample_slow(2);
    CHECK_EQ_INT(replay(NULL), 0);
    check_before("2:1", "3:1");
}

static void streams_without_events_are_independent(void)
{
    begin("independent");
    sample_add(&s, 1, "add_one", SAMPLE_BASE, 1);
    sample_add(&s, 2, "add_one", SAMPLE_BASE, 1);
    sample_slow(1);
    CHECK_EQ_INT(replay(NULL), 0);
    check_before("2:1", "1:1");
}

static void what_follows_a_sync_waits_for_it(void)
{
    begin("sync");
    sample_add(&s, 1, "add_one", SAMPLE_BASE, 1);
    sample_call(&s, SYNC_STREAM, 1, 0, 0, 0);
    sample_add(&s, 2, "add_one", SAMPLE_BASE, 1);
    sample_slow(1);
    CHECK_EQ_INT(replay(NULL), 0);
    check_before("w1", "2:1");
}

static void an_event_is_waited_for_exactly(void)
{
    begin("event");
    sample_call(&s, SIGNAL, 1, 7, 0, 0);
    sample_add(&s, 1, "add_one", SAMPLE_BASE, 1);
    sample_call(&s, SYNC_EVENT, SBT_STREAM_NONE, 7, 0, 0);
    sample_add(&s, 2, "add_one", SAMPLE_BASE, 1);
    sample_slow(1);
    CHECK_EQ_INT(replay(NULL), 0);
    check_before("1:1", "e7");
    check_before("e7", "2:1");
}

static void a_blocking_command_holds_up_what_follows(void)
{
    begin("blocking");
    sample_call(&s, READ_NOW, 1, SAMPLE_BASE, 16, 0);
    sample_add(&s, 2, "add_one", SAMPLE_BASE, 1);
    sample_slow(1);
    CHECK_EQ_INT(replay(NULL), 0);
    check_before("1:1", "2:1");
}

static void the_default_stream_is_submitted_in_order(void)
{
    begin("default");
    sample_add(&s, 1, "add_one", SAMPLE_BASE, 1);
    sample_add(&s, 0, "add_one", SAMPLE_BASE, 1);
    sample_add(&s, 2, "add_one", SAMPLE_BASE, 1);
    sample_slow(1);
    CHECK_EQ_INT(replay(NULL), 0);
    check_before("1:1", "0:1");
    check_before("0:1", "2:1");
}

static void host_records_come_after_all_before_them(void)
{
    begin("host");
    sample_add(&s, 1, "add_one", SAMPLE_BASE, 1);
    sample_call(&s, FREE, SBT_STREAM_NONE, SAMPLE_BASE, 0, 0);
    sample_slow(1);
    CHECK_EQ_INT(replay(NULL), 0);
    CHECK_EQ_STR(sample_log(), "h h h h 1:1 h w1 device ");
}

/* A blocking call began before its stream's next command and returned after it. */
static void positions_decide_on_a_stream(void)
{
    begin("late");
    sample_add(&s, 1, "add_one", SAMPLE_BASE, 1);
    sample_at(&s, 1, 3);
    sample_add(&s, 1, "add_one", SAMPLE_BASE, 1);
    sample_at(&s, 1, 2);
    sample_call(&s, READ_NOW, 1, SAMPLE_BASE, 16, 0);
    CHECK_EQ_INT(replay(NULL), 0);
    CHECK_EQ_STR(sample_log(), "h h h h 1:1 1:2 1:3 w1 device ");
    CHECK_EQ_INT((long long)result.command_count, 3);
}

/* So many threads are inside a call on one stream: their records come in another order. */
static void many_calls_in_progress_keep_their_order(void)
{
    char expected[2048] = "h h h h ";
    size_t used = strlen(expected);

    begin("progress");
    for (unsigned i = 2; i <= 80; i += 2) {
        sample_at(&s, 1, i);
        sample_add(&s, 1, "add_one", SAMPLE_BASE, 1);
    }
    for (unsigned i = 79; i < 80; i -= 2) {
        sample_at(&s, 1, i);
        sample_add(&s, 1, "add_one", SAMPLE_BASE, 1);
    }
    for (unsigned i = 1; i <= 80; i++)
        used += (size_t)snprintf(expected + used, sizeof(expected) - used, "1:%u ", i);
    snprintf(expected + used, sizeof(expected) - used, "w1 device ");
    CHECK_EQ_INT(replay(NULL), 0);
    CHECK_EQ_STR(sample_log(), expected);
}

static void stepped_waits_after_each_command(void)
{
    struct tsm_replay_options options = {.pace = TSM_PACE_STEPPED};

    begin("stepped");
    sample_add(&s, 1, "add_one", SAMPLE_BASE, 1);
    sample_add(&s, 2, "add_one", SAMPLE_BASE, 1);
    CHECK_EQ_INT(replay(&options), 0);
    CHECK_EQ_STR(sample_log(), "h h h h 1:1 w1 2:1 w2 device ");
}

static void failed_calls_are_left_out(void)
{
    begin("failed");
    s.flags = SBT_RECORD_FAILED;
    sample_add(&s, 1, "add_one", SAMPLE_BASE, 1);
    sample_add(&s, 1, "add_one", SAMPLE_BASE, 1);
    CHECK_EQ_INT(replay(NULL), 0);
    CHECK_EQ_STR(sample_log(), "h h h h 1:2 w1 device ");
    CHECK_EQ_INT((long long)result.skipped_count, 1);
}

static void a_dry_run_submits_nothing(void)
{
    struct tsm_replay_options options = {.dry_run = true};

    begin("dry");
    sample_add(&s, 1, "add_one", SAMPLE_BASE, 1);
    CHECK_EQ_INT(replay(&options), 0);
    CHECK_EQ_STR(sample_log(), "");
    CHECK_EQ_INT(result.verdict, TSM_CANNOT_TELL);
}

static void many_commands_pass_through_short_queues(void)
{
    begin("many");
    for (int i = 0; i < 3000; i++)
        sample_add(&s, 1 + (uint32_t)i % 3, "add_one", SAMPLE_BASE, 1);
    CHECK_EQ_INT(replay(NULL), 0);
    CHECK_EQ_INT((long long)result.command_count, 3000);
    CHECK_EQ_INT((long long)result.stream_count, 3);
}

static void a_loop_runs_it_again(void)
{
    struct tsm_replay_options options = {.loop = 3};

    begin("loop");
    sample_add(&s, 1, "add_one", SAMPLE_BASE, 1);
    CHECK_EQ_INT(replay(&options), 0);
    CHECK_EQ_INT((long long)result.command_count, 3);
}

/* Three streams of three commands; the second of stream 2 waits for the second of stream 1. */
static void permuted(uint64_t seed, char *log, size_t size)
{
    struct tsm_replay_options options = {.permute = seed};

    begin("permuted");
    for (unsigned i = 0; i < 3; i++) {
        if (i == 1)
            sample_call(&s, SIGNAL, 1, 7, 0, 0);
        else
            sample_add(&s, 1, "add_one", SAMPLE_BASE, 1);
        if (i == 1)
            sample_call(&s, WAIT, 2, 7, 0, 0);
        else
            sample_add(&s, 2, "add_one", SAMPLE_BASE, 1);
        sample_add(&s, 3, "add_one", SAMPLE_BASE, 1);
    }
    CHECK_EQ_INT(replay(&options), 0);
    snprintf(log, size, "%s", sample_log());
    for (const char *stream = "123"; *stream; stream++)
        for (unsigned i = 1; i < 3; i++) {
            char first[8], second[8];
            snprintf(first, sizeof(first), "%c:%u ", *stream, i);
            snprintf(second, sizeof(second), "%c:%u ", *stream, i + 1);
            check_before(first, second);
        }
    check_before("1:2 ", "2:2 ");
}

static void a_seed_is_a_legal_order_of_its_own(void)
{
    char logs[8][256], again[256];
    unsigned distinct = 0;

    for (unsigned i = 0; i < 8; i++) {
        permuted(i + 1, logs[i], sizeof(logs[i]));
        unsigned k = 0;
        while (k < i && strcmp(logs[k], logs[i]))
            k++;
        distinct += k == i;
    }
    CHECK(distinct >= 5);
    permuted(1, again, sizeof(again));
    CHECK_EQ_STR(again, logs[0]);
}

static void pauses_keep_the_order(void)
{
    struct tsm_replay_options options = {.delay = 3};

    begin("delayed");
    for (int i = 0; i < 20; i++) {
        sample_call(&s, SIGNAL, 1, 7, 0, 0);
        sample_call(&s, WAIT, 2, 7, 0, 0);
    }
    CHECK_EQ_INT(replay(&options), 0);
    check_before("1:1 ", "2:1 ");
    check_before("1:20 ", "2:20 ");
    CHECK_EQ_INT((long long)result.command_count, 40);
}

/* One thread does all work in order where two would wait for each other all the time. */
static void one_stream_and_the_host_share_a_thread(void)
{
    const struct tsm_replay_options permuted = {.permute = 1};

    for (int i = 0; i < 2; i++) {
        begin("share");
        sample_call(&s, SIGNAL, 1, 6, 0, 0);
        sample_call(&s, SYNC_STREAM, 1, 0, 0, 0);
        sample_call(&s, FREE, SBT_STREAM_NONE, SAMPLE_BASE, 0, 0);
        sample_call(&s, SIGNAL, 1, 7, 0, 0);
        sample_call(&s, SYNC_DEVICE, SBT_STREAM_NONE, 0, 0, 0);
        sample_call(&s, MAKE_STREAM, SBT_STREAM_NONE, 4, 4, 0);
        CHECK_EQ_INT(replay(i ? &permuted : NULL), 0);
        CHECK_EQ_STR(sample_log(), "h h h h 1:1 w1 h 1:3 w1 device h device ");
        CHECK_EQ_INT(sample_thread_count(), i ? 2 : 1);
        CHECK_EQ_INT(result.stream_count, 1);
    }
}

static void two_streams_have_threads_of_their_own(void)
{
    begin("own");
    for (uint32_t i = 1; i <= 2; i++)
        sample_call(&s, SIGNAL, i, 6 + i, 0, 0);
    CHECK_EQ_INT(replay(NULL), 0);
    CHECK_EQ_INT(sample_thread_count(), 3);
}

static void check_orders(void)
{
    a_wait_comes_after_its_signal();
    a_new_signal_comes_after_waits_for_the_old_one();
    streams_without_events_are_independent();
    what_follows_a_sync_waits_for_it();
    an_event_is_waited_for_exactly();
    a_blocking_command_holds_up_what_follows();
    the_default_stream_is_submitted_in_order();
    host_records_come_after_all_before_them();
    positions_decide_on_a_stream();
    many_calls_in_progress_keep_their_order();
    stepped_waits_after_each_command();
    failed_calls_are_left_out();
    a_dry_run_submits_nothing();
    many_commands_pass_through_short_queues();
    a_loop_runs_it_again();
    a_seed_is_a_legal_order_of_its_own();
    pauses_keep_the_order();
}

int main(void)
{
    check_orders();
    sample_run_behind(true);
    check_orders();
    one_stream_and_the_host_share_a_thread();
    two_streams_have_threads_of_their_own();
    return check_result();
}
