/* SPDX-License-Identifier: Apache-2.0
 *
 * A reader reads what it needs: opening costs the index, a filter costs the chunks that can match,
 * and gives exactly what a full scan with the same condition gives.
 */
#include "format/read/progress.h"
#include "tests/unit/format/format_sample_check.h"

#define COUNT 30000u

static bool wanted(const struct sbt_record *r, const struct sbt_filter *f)
{
    bool stream = f->streams == NULL;

    for (size_t i = 0; i < f->stream_count; i++)
        stream |= f->streams[i] == r->stream;
    return stream && r->seq >= f->seq_first && (!f->seq_end || r->seq < f->seq_end) &&
           r->time_ns >= f->time_first_ns && (!f->time_end_ns || r->time_ns < f->time_end_ns);
}

static void check_filter(struct sbt_reader *r, const struct sbt_filter *filter, unsigned threads)
{
    const struct sbt_record *got, *all;
    struct sbt_cursor *filtered, *full;
    size_t count = 0;

    CHECK_EQ_INT(sbt_cursor_create(&filtered, r, filter, threads), 0);
    CHECK_EQ_INT(sbt_cursor_create(&full, r, NULL, 0), 0);
    while (sbt_cursor_next(full, &all) == 1) {
        if (!wanted(all, filter))
            continue;
        count++;
        if (!CHECK_EQ_INT(sbt_cursor_next(filtered, &got), 1) ||
            !CHECK_EQ_INT((long long)got->seq, (long long)all->seq))
            break;
    }
    CHECK_EQ_INT(sbt_cursor_next(filtered, &got), 0);
    while (sbt_cursor_previous(filtered, &got) == 1)
        count--;
    CHECK_EQ_INT((long long)count, 0);
    sbt_cursor_destroy(filtered);
    sbt_cursor_destroy(full);
}

static void test_filters(const char *path)
{
    static const uint32_t two[] = {2, 0}, high[] = {62}, none[] = {SBT_STREAM_NONE}, absent[] = {5};
    const struct sbt_filter filters[] = {
        {.streams = two, .stream_count = 2},
        {.streams = high, .stream_count = 1},
        {.streams = none, .stream_count = 1, .seq_first = 100, .seq_end = 9000},
        {.streams = absent, .stream_count = 1},
        {.streams = two, .stream_count = 0},
        {.seq_first = 12345},
        {.time_first_ns = 5000000, .time_end_ns = 5100000},
        {.seq_first = COUNT},
    };
    struct sbt_reader *r = sample_open(path);

    for (size_t i = 0; i < sizeof(filters) / sizeof(filters[0]); i++)
        check_filter(r, &filters[i], i % 3);
    sbt_reader_destroy(r);
}

/* Opening reads no records and no bytes; a filter reads few chunks. */
static void test_laziness(const char *path)
{
    const struct sbt_filter filter = {.seq_first = 10000, .seq_end = 10001};
    struct sbt_reader *r = sample_open(path);
    const struct sbt_record *record;
    uint64_t opened = sbt_reader_bytes_read(r), biggest = 0, total = 0;
    struct sbt_cursor *c;

    for (size_t i = 0; i < sbt_reader_chunk_count(r); i++) {
        const struct sbt_chunk_info *info = sbt_reader_chunk(r, i);
        total += info->stored_size;
        if (info->record_count && info->stored_size > biggest)
            biggest = info->stored_size;
    }
    CHECK(opened * 20 < total);
    CHECK_EQ_INT(sbt_cursor_create(&c, r, &filter, 0), 0);
    CHECK_EQ_INT(sbt_cursor_next(c, &record), 1);
    CHECK_EQ_INT((long long)record->seq, 10000);
    CHECK_EQ_INT(sbt_cursor_next(c, &record), 0);
    CHECK(sbt_reader_bytes_read(r) - opened <= biggest + 96);
    sbt_cursor_destroy(c);
    sbt_reader_destroy(r);
}

static uint64_t came_to, came_of, steps;

static void note_progress(void *user, uint64_t done, uint64_t total)
{
    CHECK(user == &steps);
    CHECK(done > came_to && done <= total);
    came_to = done;
    came_of = total;
    steps++;
}

/* A cursor that goes through all says so chunk by chunk, up to the last one. */
static void test_progress(const char *path)
{
    struct sbt_reader *r = sample_open(path);
    const struct sbt_record *record;
    struct sbt_cursor *c;

    sbt_reader_show_progress(r, note_progress, &steps);
    CHECK_EQ_INT(sbt_cursor_create(&c, r, NULL, 1), 0);
    while (sbt_cursor_next(c, &record) == 1)
        ;
    CHECK(steps > 3);
    CHECK_EQ_INT((long long)came_to, (long long)came_of);
    sbt_cursor_destroy(c);
    sbt_reader_destroy(r);
}

int main(void)
{
    const struct sbt_writer_options options = {.chunk_size = 50000};
    const char *path = sample_path("select.sbt");

    if (CHECK_EQ_INT(sample_write(path, COUNT, &options), 0)) {
        test_filters(path);
        test_laziness(path);
        test_progress(path);
    }
    return check_result();
}
