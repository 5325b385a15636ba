/* SPDX-License-Identifier: Apache-2.0 -- --check finds seeded mistakes and names the command. */
#include "tests/unit/check.h"
#include "tests/unit/replay/replay_sample.h"

#include <stdlib.h>

static struct sample s;
static struct sbt_reader *reader;
static struct tsm_check_result result;
static unsigned arms_told;

static void count_arm(void *user, const struct tsm_arm_result *arm)
{
    arms_told++;
}

static uint64_t make(const char *name)
{
    uint8_t bytes[32] = {0};

    sample_begin(&s, name);
    sample_call(&s, MAKE_STREAM, SBT_STREAM_NONE, 1, 1, 0);
    sample_call(&s, ALLOCATE, SBT_STREAM_NONE, SAMPLE_BASE, 64, 0);
    sample_call(&s, ALLOCATE, SBT_STREAM_NONE, SAMPLE_BASE + 4096, 64, 0);
    sample_write(&s, 1, SAMPLE_BASE, bytes, sizeof(bytes));
    uint64_t seq = sample_add(&s, 1, "add_one", SAMPLE_BASE + 16, 5);
    sample_call(&s, SYNC_STREAM, 1, 0, 0, 0);
    return seq;
}

static void check(void)
{
    sbt_reader_destroy(reader); /* the names in a result live as long */
    sample_end(&s);
    reader = sample_open(&s);
    arms_told = 0;
    CHECK_EQ_INT(tsm_check_run(&result, reader, NULL, 2, count_arm, NULL), 0);
    sample_mistake(MISTAKE_NONE);
}

static const struct tsm_arm_result *arm(enum tsm_arm which)
{
    for (unsigned i = 0; i < result.arm_count; i++)
        if (result.arms[i].arm == which)
            return &result.arms[i];
    return NULL;
}

static void correct_work_is_the_same_in_all_arms(void)
{
    uint8_t bytes[16];

    memset(bytes, 5, sizeof(bytes));
    make("correct");
    sample_call(&s, READ_NOW, 1, SAMPLE_BASE + 16, 16, 0);
    sample_readback(&s, 1, 4, bytes, sizeof(bytes), false);
    check();
    if (!CHECK_EQ_INT(result.verdict, TSM_SAME))
        fprintf(stderr, "  %s\n", result.why);
    CHECK_EQ_INT(result.arm_count, TSM_ARM_COUNT);
    CHECK_EQ_INT(arms_told, TSM_ARM_COUNT);
    CHECK_EQ_INT(arm(TSM_ARM_REPEAT)->run_count, 4); /* with added waits, and without */
}

static void what_depends_on_the_schedule_is_found(void)
{
    uint64_t seq = make("varies");

    sample_mistake(MISTAKE_VARIES);
    check();
    CHECK_EQ_INT(result.verdict, TSM_DIFFERENT);
    CHECK_EQ_INT(arm(TSM_ARM_REPEAT)->verdict, TSM_SAME);
    CHECK_EQ_INT(arm(TSM_ARM_SCHEDULE)->verdict, TSM_DIFFERENT);
    CHECK(arm(TSM_ARM_SCHEDULE)->is_exact);
    CHECK_EQ_INT((long long)arm(TSM_ARM_SCHEDULE)->difference.seq, (long long)seq);
    CHECK_EQ_STR(arm(TSM_ARM_SCHEDULE)->difference.function, "add_one");
    CHECK_EQ_INT((long long)arm(TSM_ARM_SCHEDULE)->difference.offset, 16);
    CHECK_EQ_INT((long long)arm(TSM_ARM_SCHEDULE)->difference.buffer, SAMPLE_BASE);
}

/* Reads one byte before its buffer, which nobody wrote. */
static void unwritten_memory_that_is_read_is_found(void)
{
    uint8_t bytes[16] = {0};

    sample_begin(&s, "unwritten");
    sample_call(&s, MAKE_STREAM, SBT_STREAM_NONE, 1, 1, 0);
    sample_call(&s, ALLOCATE, SBT_STREAM_NONE, SAMPLE_BASE, 64, 0);
    sample_write(&s, 1, SAMPLE_BASE + 16, bytes, sizeof(bytes));
    uint64_t seq = sample_add(&s, 1, "add_two", SAMPLE_BASE + 16, 5);
    sample_call(&s, SYNC_STREAM, 1, 0, 0, 0);
    sample_mistake(MISTAKE_UNWRITTEN);
    check();
    CHECK_EQ_INT(arm(TSM_ARM_REPEAT)->verdict, TSM_SAME);
    CHECK_EQ_INT(arm(TSM_ARM_POISON)->verdict, TSM_DIFFERENT);
    CHECK_EQ_INT((long long)arm(TSM_ARM_POISON)->difference.seq, (long long)seq);
    CHECK_EQ_STR(arm(TSM_ARM_POISON)->difference.function, "add_two");
}

/* Two streams write the same bytes, and nothing orders them; the second is always later here. */
static void an_order_that_nothing_keeps_is_found(void)
{
    const uint64_t high = SAMPLE_BASE + SAMPLE_MEMORY - 64; /* too large for a number of things */
    uint8_t five[16], seven[16];

    memset(five, 5, sizeof(five));
    memset(seven, 7, sizeof(seven));
    sample_begin(&s, "unordered");
    sample_call(&s, MAKE_STREAM, SBT_STREAM_NONE, 1, 1, 0);
    sample_call(&s, MAKE_STREAM, SBT_STREAM_NONE, 2, 2, 0);
    sample_call(&s, ALLOCATE, SBT_STREAM_NONE, high, 64, 0);
    sample_write(&s, 1, high, five, sizeof(five));
    uint64_t seq = sample_write(&s, 2, high, seven, sizeof(seven));
    sample_call(&s, SYNC_DEVICE, SBT_STREAM_NONE, 0, 0, 0);
    sample_slow(2);
    check();
    sample_slow(SBT_STREAM_NONE);
    CHECK_EQ_INT(arm(TSM_ARM_REPEAT)->verdict, TSM_SAME);
    CHECK_EQ_INT(arm(TSM_ARM_SERIAL)->verdict, TSM_SAME);
    CHECK_EQ_INT(arm(TSM_ARM_PERMUTE)->verdict, TSM_DIFFERENT);
    CHECK_EQ_INT((long long)arm(TSM_ARM_PERMUTE)->difference.seq, (long long)seq);
    CHECK(strstr(arm(TSM_ARM_PERMUTE)->why, "without an order between them"));
}

/* row C8 of docs/verdict.md */
static void what_observes_nothing_says_so(void)
{
    sample_begin(&s, "nothing");
    sample_call(&s, MAKE_STREAM, SBT_STREAM_NONE, 1, 1, 0);
    check();
    CHECK_EQ_INT(result.verdict, TSM_NOTHING_TO_COMPARE);
    make("unobserved"); /* memory that can be compared between runs, and no result */
    check();
    CHECK_EQ_INT(result.verdict, TSM_SAME);
    CHECK_EQ_INT(arm(TSM_ARM_RECORDING)->verdict, TSM_NOTHING_TO_COMPARE);
}

int main(void)
{
    what_observes_nothing_says_so();
    correct_work_is_the_same_in_all_arms();
    what_depends_on_the_schedule_is_found();
    unwritten_memory_that_is_read_is_found();
    an_order_that_nothing_keeps_is_found();
    sbt_reader_destroy(reader);
    return check_result();
}
