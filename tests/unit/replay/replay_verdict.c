/* SPDX-License-Identifier: Apache-2.0 -- what a replay says about the bytes that come out. */
#include "replay/closing.h"
#include "tests/unit/check.h"
#include "tests/unit/replay/replay_sample.h"

#include <stdlib.h>
#include <unistd.h>

static struct sample s;
static struct tsm_replay_result result;
static struct tsm_difference difference;
static int difference_count;

static void keep_difference(void *user, const struct tsm_difference *d)
{
    if (!difference_count++)
        difference = *d;
}

static int replay(const struct tsm_replay_options *options, struct sbt_reader **reader_out)
{
    struct tsm_replay_options o = options ? *options : (struct tsm_replay_options){0};
    struct tsm_replay *r = NULL;
    int error;

    sample_end(&s);
    *reader_out = sample_open(&s);
    o.on_difference = keep_difference;
    difference_count = 0;
    memset(&result, 0, sizeof(result));
    error = tsm_replay_create(&r, *reader_out, &o);
    if (!error)
        error = tsm_replay_run(r, &result);
    tsm_replay_destroy(r);
    return error;
}

/* A buffer of 64 bytes on stream 1: written, 16 of them added to, all read back. */
static uint64_t begin(const char *name, uint8_t out[64])
{
    uint8_t in[64];

    sample_begin(&s, name);
    sample_call(&s, MAKE_STREAM, SBT_STREAM_NONE, 1, 1, 0);
    sample_call(&s, ALLOCATE, SBT_STREAM_NONE, SAMPLE_BASE, 64, 0);
    for (int i = 0; i < 64; i++)
        out[i] = (uint8_t)((in[i] = (uint8_t)(3 * i)) + (i < 16 ? 5 : 0));
    sample_write(&s, 1, SAMPLE_BASE, in, sizeof(in));
    sample_add(&s, 1, "add_one", SAMPLE_BASE, 5);
    uint64_t seq = sample_call(&s, READ, 1, SAMPLE_BASE, 64, 0x7000);
    sample_call(&s, SYNC_STREAM, 1, 0, 0, 0);
    return seq;
}

static void equal_bytes_are_the_same(void)
{
    struct sbt_reader *reader;
    uint8_t out[64];

    begin("same", out);
    sample_readback(&s, 1, 3, out, sizeof(out), false);
    CHECK_EQ_INT(replay(NULL, &reader), 0);
    CHECK_EQ_INT(result.verdict, TSM_SAME);
    CHECK_EQ_INT((long long)result.checksum_count, 1);
    CHECK_EQ_INT(difference_count, 0);
    sbt_reader_destroy(reader);
}

static void a_difference_is_named(void)
{
    struct sbt_reader *reader;
    uint8_t out[64];
    uint64_t seq = begin("different", out);

    out[7] ^= 1;
    out[9] ^= 1;
    sample_readback(&s, 1, 3, out, sizeof(out), false);
    CHECK_EQ_INT(replay(NULL, &reader), 0);
    CHECK_EQ_INT(result.verdict, TSM_DIFFERENT);
    CHECK_EQ_INT(difference_count, 1);
    CHECK_EQ_INT((long long)difference.seq, (long long)seq);
    CHECK_EQ_INT((long long)difference.position, 3);
    CHECK_EQ_STR(difference.call, "READ");
    CHECK_EQ_INT((long long)difference.offset, 7);
    CHECK_EQ_INT((long long)difference.byte_count, 2);
    CHECK_EQ_INT(difference.expected[0], out[7]);
    CHECK_EQ_INT(difference.actual[0], out[7] ^ 1);
    CHECK_EQ_INT((long long)difference.buffer, 0x7000);
    sbt_reader_destroy(reader);
}

static void a_difference_is_seen_by_key_alone(void)
{
    struct sbt_reader *reader;
    uint8_t out[64];

    begin("key", out);
    out[7] ^= 1;
    sample_readback(&s, 1, 3, out, sizeof(out), true);
    CHECK_EQ_INT(replay(NULL, &reader), 0);
    CHECK_EQ_INT(result.verdict, TSM_DIFFERENT);
    CHECK_EQ_INT((long long)difference.byte_count, 0);
    CHECK_EQ_INT(difference.shown, 0);
    sbt_reader_destroy(reader);
}

static void nothing_to_compare_is_a_verdict(void)
{
    struct sbt_reader *reader;
    uint8_t out[64];

    begin("nothing", out);
    CHECK_EQ_INT(replay(NULL, &reader), 0);
    CHECK_EQ_INT(result.verdict, TSM_NOTHING_TO_COMPARE);
    CHECK(strstr(result.why, "--checksum="));
    sbt_reader_destroy(reader);
}

static void a_tainted_trace_cannot_tell(void)
{
    struct sbt_reader *reader;
    uint8_t out[64];

    begin("tainted", out);
    sample_readback(&s, 1, 3, out, sizeof(out), false);
    sample_call(&s, ODD, SBT_STREAM_NONE, 0, 0, 0);
    CHECK_EQ_INT(replay(NULL, &reader), 0);
    CHECK_EQ_INT(result.verdict, TSM_CANNOT_TELL);
    CHECK_EQ_INT((long long)result.tainted_count, 1);
    CHECK(strstr(result.why, "ODD"));
    sbt_reader_destroy(reader);
}

static void a_lossy_trace_is_refused(void)
{
    struct tsm_replay_options lossy = {.lossy = true};
    struct sbt_reader *reader;
    uint8_t out[64];

    begin("lossy", out);
    s.lost = 12;
    CHECK_EQ_INT(replay(NULL, &reader), TSM_E_LOSSY);
    CHECK(strstr(tsm_error_message(), "12 records"));
    CHECK(strstr(tsm_error_message(), "--lossy"));
    sbt_reader_destroy(reader);
    begin("lossy", out);
    s.lost = 12;
    sample_readback(&s, 1, 3, out, sizeof(out), false);
    CHECK_EQ_INT(replay(&lossy, &reader), 0);
    CHECK_EQ_INT(result.verdict, TSM_CANNOT_TELL);
    sbt_reader_destroy(reader);
}

/* A killed program's rest beside its trace could not be recovered: equal so far is not equal. */
static void a_trace_without_end_cannot_tell(void)
{
    /* 7 records are there; what ends after them may end after others that are not. */
    static const uint64_t ends[] = {0, 1000000000, 8, 7};
    struct sbt_reader *reader;
    uint8_t out[64];

    for (int i = 0; i < 4; i++) {
        struct tsm_replay_options part = {.filter.seq_end = ends[i]};
        begin("cut", out);
        sample_readback(&s, 1, 3, out, sizeof(out), false);
        s.cut = true;
        CHECK_EQ_INT(replay(&part, &reader), 0);
        CHECK_EQ_INT((long long)result.checksum_count, 1);
        CHECK_EQ_INT(result.verdict, ends[i] == 7 ? TSM_SAME : TSM_CANNOT_TELL);
        sbt_reader_destroy(reader);
    }
    CHECK_EQ_STR(result.why, "");
}

/* Also by the host's thread, when it is the stream's, too. */
static void a_command_that_hangs_is_named(bool behind)
{
    struct tsm_replay_options options = {.timeout_ns = 100000000};
    struct sbt_reader *reader;

    sample_run_behind(behind);
    sample_begin(&s, "hang");
    sample_call(&s, MAKE_STREAM, SBT_STREAM_NONE, 1, 1, 0);
    sample_call(&s, HANG, 1, 0, 0, 0);
    sample_call(&s, SYNC_DEVICE, SBT_STREAM_NONE, 0, 0, 0);
    CHECK_EQ_INT(replay(&options, &reader), TSM_E_DEVICE);
    CHECK_EQ_STR(tsm_error_message(), "no progress for 0.1 s on stream 1: record 1, HANG "
                                      "(position 1), has not completed");
    /* A thread still hangs in the backend, and may go on with what it was given. */
    sbt_reader_destroy(reader);
    CHECK(strstr(sbt_reader_name(reader), "hang"));
}

/* Checks that a later replay closes what hung and has ended since. */
static void what_hung_is_freed_when_it_has_ended(void)
{
    struct sbt_reader *reader;
    uint8_t out[64];

    CHECK_EQ_INT(sample_open_count(), 2);
    begin("beside", out);
    CHECK_EQ_INT(replay(NULL, &reader), 0);
    sbt_reader_destroy(reader);
    CHECK_EQ_INT(sample_open_count(), 2);
    sample_end_hangs();
    for (unsigned i = 0; i < 3000 && (sample_open_count() || tsm_left_count()); i++) {
        usleep(10000);
        begin("after", out);
        CHECK_EQ_INT(replay(NULL, &reader), 0);
        sbt_reader_destroy(reader);
    }
    CHECK_EQ_INT(sample_open_count(), 0);
    CHECK_EQ_INT(tsm_left_count(), 0);
}

/* Two runs with the same bytes have the same digest, others do not. */
static void digests_tell_runs_apart(void)
{
    struct tsm_replay_options options = {.grain = TSM_GRAIN_SYNC};
    struct sbt_reader *reader;
    struct sbt_key digests[3];
    uint8_t out[64];

    for (int i = 0; i < 3; i++) {
        begin("digest", out);
        if (i == 2)
            options.grain = TSM_GRAIN_COMMAND;
        CHECK_EQ_INT(replay(&options, &reader), 0);
        digests[i] = result.digest;
        sbt_reader_destroy(reader);
    }
    CHECK_EQ_MEM(&digests[0], &digests[1], sizeof(digests[0]));
    CHECK(memcmp(&digests[0], &digests[2], sizeof(digests[0])));
}

int main(void)
{
    equal_bytes_are_the_same();
    a_difference_is_named();
    a_difference_is_seen_by_key_alone();
    nothing_to_compare_is_a_verdict();
    a_tainted_trace_cannot_tell();
    a_lossy_trace_is_refused();
    a_trace_without_end_cannot_tell();
    digests_tell_runs_apart();
    a_command_that_hangs_is_named(false);
    a_command_that_hangs_is_named(true);
    sample_run_behind(false);
    what_hung_is_freed_when_it_has_ended();
    return check_result();
}
