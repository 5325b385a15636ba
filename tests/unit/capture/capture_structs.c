/* SPDX-License-Identifier: Apache-2.0
 *
 * Structured values in records, and when an API's description reaches the trace: with its first
 * call, and before that call's record, so that salvage finds it whenever the process dies.
 */
#include "capture/lane/salvage.h"
#include "format/values/struct_out.h"
#include "tests/unit/capture/capture_fake.h"
#include "tests/unit/check.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATH "capture_structs.sbt"

static uint8_t bytes[SBT_VALUE_MAX + 1], memory[SBT_VALUE_MAX];

/* A FakePart with so many bytes; returns the value's size. */
static size_t part(uint64_t number, size_t count)
{
    struct sbt_out out;

    sbt_out_init(&out, memory, sizeof(memory), NULL, NULL);
    sbt_out_varint(&out, number);
    sbt_out_bytes(&out, bytes, count);
    CHECK(!out.overflow);
    return sbt_out_size(&out);
}

static void count_violation(void *user, uint64_t offset, const char *text)
{
    (void)user, (void)offset;
    fprintf(stderr, "%s\n", text);
}

static void tell_sizes(void *argument)
{
    static const size_t counts[] = {0, 10, TSM_BYTES_MAX - 4, TSM_BYTES_MAX, 1000000};

    (void)argument;
    memset(bytes, 0x33, sizeof(bytes));
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        size_t size = part(i, counts[i]);
        fake_tell(memory, size, NULL, 0);
        fake_tell(NULL, 0, memory, size);
        fake_tell(memory, size, memory, size);
    }
    fake_tell(bytes, sizeof(bytes), NULL, 0); /* over the limit */
}

/* Checks the content of `slot` of a record: number and count of bytes, -1 for no value. */
static void check_value(struct sbt_reader *r, const struct sbt_record *record, uint32_t slot,
                        int64_t number, size_t count)
{
    struct sbt_value value;
    struct sbt_walk walk;
    struct sbt_step step;
    int got = sbt_reader_value(r, record, slot, &value);

    if (CHECK_EQ_INT(got, number < 0 ? 0 : 1) && got == 1) {
        CHECK_EQ_INT(sbt_walk_begin(&walk, r, "FakePart", value.data, value.size), 0);
        CHECK_EQ_INT(sbt_walk_next(&walk, &step), 1); /* { */
        CHECK_EQ_INT(sbt_walk_next(&walk, &step), 1);
        CHECK_EQ_INT(step.number, number);
        CHECK_EQ_INT(sbt_walk_next(&walk, &step), 1);
        CHECK_EQ_INT(step.size, count);
        CHECK(count == 0 || (step.data[0] == 0x33 && step.data[count - 1] == 0x33));
        CHECK_EQ_INT(sbt_walk_next(&walk, &step), 1); /* } */
        CHECK_EQ_INT(sbt_walk_next(&walk, &step), 0);
    }
    sbt_value_finish(&value);
}

static void visit_sizes(struct sbt_reader *r, const struct sbt_record *record, void *user)
{
    static const size_t counts[] = {0, 10, TSM_BYTES_MAX - 4, TSM_BYTES_MAX, 1000000};
    unsigned *place = user, i = *place / 3, kind = *place % 3;

    ++*place;
    CHECK_EQ_INT(record->slots[2], 4711);
    if (i == 5) {
        CHECK_EQ_INT(record->flags, SBT_RECORD_TRUNCATED);
        check_value(r, record, 0, -1, 0);
        return;
    }
    CHECK_EQ_INT(record->flags, 0);
    check_value(r, record, 0, kind == 1 ? -1 : (int64_t)i, counts[i]);
    check_value(r, record, 1, kind == 0 ? -1 : (int64_t)i, counts[i]);
}

static void test_sizes(void)
{
    struct sbt_reader *r;
    unsigned place = 0;

    fake_begin(PATH);
    CHECK_EQ_INT(fake_run(tell_sizes, NULL), 0);
    CHECK_EQ_INT(sbt_check(PATH, count_violation, NULL), 0);
    r = fake_open(PATH);
    CHECK_EQ_INT(fake_each(r, SBT_TYPE(6, FAKE_TELL), visit_sizes, &place), 16);
    CHECK(!sbt_reader_schema(r, SBT_TYPE(7, FAKE_LAUNCH))); /* nothing of it was called */
    sbt_reader_destroy(r);
}

static void launch(void *argument)
{
    (void)argument;
    fake_launch(0, 1, "kernel");
}

static void test_only_what_is_used(void)
{
    struct sbt_reader *r;

    fake_begin(PATH);
    CHECK_EQ_INT(fake_run(launch, NULL), 0);
    r = fake_open(PATH);
    CHECK(sbt_reader_schema(r, SBT_TYPE(7, FAKE_LAUNCH)));
    CHECK(!sbt_reader_schema(r, SBT_TYPE(6, FAKE_TELL)));
    CHECK_EQ_INT(sbt_reader_struct_count(r), 0);
    sbt_reader_destroy(r);
}

/* The process dies when the call has just returned: nothing had time to be drained. */
static void die_after_first_call(bool launch_first)
{
    pid_t child = fork();

    if (child == 0) {
        size_t size = part(5, 100000);
        if (launch_first)
            fake_launch(0, 1, "kernel");
        fake_tell(memory, size, memory, 4);
        kill(getpid(), SIGKILL);
    }
    waitpid(child, NULL, 0);
}

static void visit_last(struct sbt_reader *r, const struct sbt_record *record, void *user)
{
    (void)user;
    check_value(r, record, 0, 5, 100000);
}

static void test_salvage(bool launch_first)
{
    struct tsm_salvage_result result = {0};
    struct sbt_reader *r;

    memset(bytes, 0x33, sizeof(bytes));
    fake_begin(PATH);
    unlink(PATH ".lanes");
    die_after_first_call(launch_first);
    CHECK_EQ_INT(tsm_salvage(PATH, &result), 1);
    r = fake_open(PATH);
    CHECK_EQ_INT(sbt_reader_end(r), SBT_END_RECOVERED);
    CHECK_EQ_INT(fake_each(r, SBT_TYPE(6, FAKE_TELL), visit_last, NULL), 1);
    CHECK_EQ_INT(fake_each(r, SBT_TYPE(7, FAKE_LAUNCH), NULL, NULL), launch_first);
    CHECK_EQ_INT(fake_each(r, SBT_TYPE(SBT_API_CORE, SBT_CORE_UNMODELLED), NULL, NULL), 0);
    sbt_reader_destroy(r);
}

/* Many threads whose first call it is. */
static void *tell_once(void *argument)
{
    static const uint8_t value[] = {7, 0};

    (void)argument;
    fake_tell(value, sizeof(value), NULL, 0);
    fake_launch(1, 2, "kernel");
    return NULL;
}

static void tell_from_threads(void *argument)
{
    pthread_t threads[16];

    (void)argument;
    for (int i = 0; i < 16; i++)
        pthread_create(&threads[i], NULL, tell_once, NULL);
    for (int i = 0; i < 16; i++)
        pthread_join(threads[i], NULL);
}

static void test_threads(void)
{
    struct sbt_reader *r;

    fake_begin(PATH);
    CHECK_EQ_INT(fake_run(tell_from_threads, NULL), 0);
    CHECK_EQ_INT(sbt_check(PATH, count_violation, NULL), 0);
    r = fake_open(PATH);
    CHECK_EQ_INT(fake_each(r, SBT_TYPE(6, FAKE_TELL), NULL, NULL), 16);
    CHECK_EQ_INT(fake_each(r, SBT_TYPE(7, FAKE_LAUNCH), NULL, NULL), 16);
    sbt_reader_destroy(r);
}

int main(void)
{
    test_sizes();
    test_only_what_is_used();
    for (int i = 0; i < 10; i++)
        test_salvage(i % 2);
    test_threads();
    unlink(PATH);
    return check_result();
}
