/* SPDX-License-Identifier: Apache-2.0
 *
 * Tests that left out records are counted and reported; what creates objects is never left out.
 */
#include "tests/unit/capture/capture_fake.h"
#include "tests/unit/check.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#define PATH "capture_filters.sbt"

static const char *const names[] = {"kernel_gemm", "kernel_copy"};

static void mixed(void *unused)
{
    for (unsigned i = 0; i < 100; i++) {
        fake_launch(i % 2, i, names[i / 2 % 2]);
        fake_create();
    }
}

static void add_count(struct sbt_reader *reader, const struct sbt_record *r, void *user)
{
    *(uint64_t *)user += r->slots[0];
    CHECK(*sbt_reader_string(reader, (uint32_t)r->slots[3]) != '\0');
}

/* Run with `name`=`value`; `kept` launches of 100 must remain. */
static void check_filter(const char *name, const char *value, uint64_t kept)
{
    struct sbt_reader *reader;
    uint64_t said = 0, launches;

    fake_begin(PATH);
    setenv(name, value, 1);
    fake_run(mixed, NULL);
    unsetenv(name);
    reader = fake_open(PATH);
    launches = fake_check(reader);
    if (!CHECK_EQ_INT(launches, kept))
        fprintf(stderr, "with %s=%s\n", name, value);
    CHECK_EQ_INT(fake_each(reader, SBT_TYPE(7, FAKE_CREATE), NULL, NULL), 100);
    fake_each(reader, SBT_TYPE(0, SBT_CORE_FILTERED), add_count, &said);
    CHECK_EQ_INT(said, 100 - kept);
    CHECK_EQ_INT(sbt_reader_totals(reader)->filtered_count, 100 - kept);
    CHECK_EQ_INT(sbt_reader_totals(reader)->lost_count, 0);
    sbt_reader_destroy(reader);
}

static void fill(void *unused)
{
    for (unsigned i = 0; i < 400000; i++)
        fake_launch(0, i, "kernel");
}

/* Lanes that are too small: nothing is lost without being said. */
static void test_drop(void)
{
    struct sbt_reader *reader;
    uint64_t said = 0, launches;

    fake_begin(PATH);
    setenv("TS_FULL", "drop", 1);
    setenv("TS_LANE_SIZE", "256K", 1);
    fake_run(fill, NULL);
    unsetenv("TS_FULL");
    unsetenv("TS_LANE_SIZE");
    reader = fake_open(PATH);
    launches = fake_check(reader);
    fake_each(reader, SBT_TYPE(0, SBT_CORE_LOST), add_count, &said);
    CHECK_EQ_INT(launches + said, 400000);
    CHECK_EQ_INT(sbt_reader_totals(reader)->lost_count, said);
    sbt_reader_destroy(reader);
}

static void first_and_last(struct sbt_reader *reader, const struct sbt_record *r, void *user)
{
    uint64_t *values = user;

    if (values[0] == UINT64_MAX)
        values[0] = r->slots[1];
    values[1] = r->slots[1];
}

static void slow(void *unused)
{
    for (unsigned i = 0; i < 300; i++) {
        fake_launch(0, i, "kernel");
        if (i % 100 == 0)
            fake_create();
        usleep(5000);
    }
}

/* Ring mode: the end is there, the beginning is not, what was created is. */
static void test_keep(void)
{
    uint64_t values[2] = {UINT64_MAX, 0}, said = 0, launches;
    struct sbt_reader *reader;

    fake_begin(PATH);
    setenv("TS_KEEP", "0.4", 1);
    fake_run(slow, NULL);
    unsetenv("TS_KEEP");
    reader = fake_open(PATH);
    launches = fake_check(reader);
    fake_each(reader, SBT_TYPE(7, FAKE_LAUNCH), first_and_last, values);
    fake_each(reader, SBT_TYPE(0, SBT_CORE_FILTERED), add_count, &said);
    CHECK_EQ_INT(values[1], 299);
    CHECK(values[0] > 20);
    CHECK_EQ_INT(launches, 300 - values[0]);
    CHECK_EQ_INT(said, values[0]);
    CHECK_EQ_INT(fake_each(reader, SBT_TYPE(7, FAKE_CREATE), NULL, NULL), 3);
    sbt_reader_destroy(reader);
}

/* The same when lanes get full long before the time is over. */
static void test_keep_full(void)
{
    uint64_t values[2] = {UINT64_MAX, 0}, launches;
    struct sbt_reader *reader;

    fake_begin(PATH);
    setenv("TS_KEEP", "100", 1);
    setenv("TS_LANE_SIZE", "256K", 1);
    fake_run(fill, NULL);
    unsetenv("TS_KEEP");
    unsetenv("TS_LANE_SIZE");
    reader = fake_open(PATH);
    launches = fake_check(reader);
    fake_each(reader, SBT_TYPE(7, FAKE_LAUNCH), first_and_last, values);
    CHECK_EQ_INT(values[1], 399999);
    CHECK_EQ_INT(launches, 400000 - values[0]);
    CHECK(launches >= 500);
    CHECK(launches < 200000);
    sbt_reader_destroy(reader);
}

static void check_calls(const char *name, const char *value, uint64_t launches, uint64_t creates)
{
    struct sbt_reader *reader;

    fake_begin(PATH);
    setenv(name, value, 1);
    fake_run(mixed, NULL);
    unsetenv(name);
    reader = fake_open(PATH);
    CHECK_EQ_INT(fake_check(reader), launches);
    CHECK_EQ_INT(fake_each(reader, SBT_TYPE(7, FAKE_CREATE), NULL, NULL), creates);
    sbt_reader_destroy(reader);
}

int main(void)
{
    check_filter("TS_STREAMS", "1", 50);
    check_filter("TS_STREAMS", "0,1", 100);
    check_filter("TS_KERNELS", "*gemm*", 50);
    check_filter("TS_KERNELS", "nothing", 0);
    check_filter("TS_THREAD_NAMES", "nobody", 0);
    check_filter("TS_THREAD_NAMES", "capture_*", 100);
    check_filter("TS_SAMPLE", "4", 25);
    check_filter("TS_RATE", "10", 10);
    check_filter("TS_APIS", "vulkan,cuda", 100);
    check_filter("TS_APIS", "nonsense", 100); /* ignored */
    check_calls("TS_APIS", "vulkan", 0, 0);
    check_calls("TS_START_CALL", "151", 25, 100); /* what makes objects is there from the start */
    check_calls("TS_STOP_CALL", "50", 25, 25);
    test_drop();
    test_keep();
    test_keep_full();
    return check_result();
}
