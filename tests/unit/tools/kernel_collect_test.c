/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernel records on their way into a trace: a number that never comes holds nothing up for long,
 * and one that comes late is not lost.
 */
#include "base/bytes.h"
#include "format/kernel_events.h"
#include "tests/unit/check.h"
#include "tools/kernel/collect.h"
#include "tracesmith/reader.h"
#include "tracesmith/writer.h"

#include <stdlib.h>
#include <unistd.h>

#define PATH "kernel_collect_test.sbt"

static const int *coming; /* numbers that the next turn finds, -1 ends them */

static int fill(struct tsm_collect *c)
{
    uint8_t record[SBT_KERNEL_RECORD_SIZE] = {0};

    for (; coming && *coming >= 0; coming++) {
        tsm_put_u16(record, sizeof(record));
        tsm_put_u64(record + 16, (uint64_t)*coming);
        CHECK(tsm_collect_add(c, record, sizeof(record)) == 0);
    }
    return 0;
}

static void turn(struct tsm_collect *c, struct sbt_writer *w, const int *numbers, int times)
{
    coming = numbers;
    for (int i = 0; i < times; i++)
        CHECK(tsm_collect_turn(c, w) == 0);
}

static struct sbt_writer *make_trace(void)
{
    const struct sbt_session session = {.id = {1, 2, 3, 4, 5, 6, 0x47, 8, 0x89},
                                        .clock = "monotonic"};
    struct sbt_writer *writer = NULL;

    unlink(PATH);
    CHECK(sbt_writer_create(&writer, PATH, &session, NULL) == 0);
    CHECK(sbt_writer_metadata(writer, "kernel.backend", "test") == 0);
    return writer;
}

static void check_trace(const int *numbers)
{
    struct sbt_reader *reader = NULL;
    uint8_t *records = NULL;
    size_t size = 0, at = 0;

    CHECK(sbt_reader_open(&reader, PATH) == 0);
    CHECK(sbt_reader_kernel_events(reader, 0, &records, &size) == 0);
    for (; *numbers >= 0 && at < size; numbers++, at += SBT_KERNEL_RECORD_SIZE)
        CHECK(tsm_get_u64(records + at + 16) == (uint64_t)*numbers);
    CHECK(*numbers < 0 && at == size);
    free(records);
    sbt_reader_destroy(reader);
    unlink(PATH);
}

int main(void)
{
    static struct tsm_collect c = {.fill = fill};
    const struct sbt_totals none = {0};
    struct sbt_writer *writer = make_trace();

    turn(&c, writer, (const int[]){0, 1, 3, 4, -1}, 1);
    CHECK(c.record_count == 2); /* 2 may still come */
    turn(&c, writer, (const int[]){6, 5, -1}, 2 * TSM_COLLECT_PATIENCE);
    CHECK(c.record_count == 6); /* 0, 1, 3, 4, 5, 6 */
    turn(&c, writer, (const int[]){2, 7, -1}, 1);
    CHECK(c.record_count == 8);
    turn(&c, writer, (const int[]){9, 10, -1}, 1);
    CHECK(c.record_count == 8);
    CHECK(tsm_collect_end(&c, writer) == 0);
    CHECK(c.record_count == 10);
    CHECK(sbt_writer_finish(writer, &none, SBT_END_FINISHED) == 0);
    sbt_writer_destroy(writer);
    tsm_collect_finish(&c);
    check_trace((const int[]){0, 1, 3, 4, 5, 6, 7, 2, 9, 10, -1});
    return check_result();
}
