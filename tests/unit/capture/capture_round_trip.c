/* SPDX-License-Identifier: Apache-2.0
 *
 * Four threads on three streams: everything is in the trace once, in the driver's order.
 */
#include "tests/unit/capture/capture_fake.h"
#include "tests/unit/check.h"

#include <pthread.h>
#include <unistd.h>

#define THREADS 4
#define CALLS   30000

static void *work(void *argument)
{
    static const char *const names[] = {"kernel_a", "kernel_b", "kernel_c"};
    unsigned index = (unsigned)(uintptr_t)argument;

    for (unsigned i = 0; i < CALLS; i++) {
        fake_launch((i + index) % 3, (uint64_t)index << 32 | i, names[i % 3]);
        if (i % 64 == 0)
            fake_destroy(fake_create());
    }
    return NULL;
}

static bool seen[THREADS][CALLS];

static void count_values(struct sbt_reader *reader)
{
    const struct sbt_record *r;
    struct sbt_cursor *cursor;

    sbt_cursor_create(&cursor, reader, NULL, 0);
    while (sbt_cursor_next(cursor, &r) == 1) {
        if (r->type != SBT_TYPE(7, FAKE_LAUNCH))
            continue;
        bool *once = &seen[r->slots[1] >> 32][r->slots[1] & 0xffffffff];
        if (*once)
            CHECK(!"each record once");
        *once = true;
    }
    sbt_cursor_destroy(cursor);
}

int main(void)
{
    pthread_t threads[THREADS];
    struct sbt_reader *reader;

    fake_begin("capture_round_trip.sbt");
    for (uintptr_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    tsm_session_finish();
    reader = fake_open("capture_round_trip.sbt");
    CHECK_EQ_INT(sbt_reader_end(reader), SBT_END_FINISHED);
    CHECK_EQ_INT(fake_check(reader), THREADS * CALLS);
    CHECK_EQ_INT(sbt_reader_totals(reader)->lost_count, 0);
    CHECK_EQ_INT(sbt_reader_totals(reader)->stream_count, 3);
    CHECK_EQ_INT(access("capture_round_trip.sbt.lanes", F_OK), -1);
    count_values(reader);
    sbt_reader_destroy(reader);
    return check_result();
}
