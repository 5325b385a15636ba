/* SPDX-License-Identifier: Apache-2.0
 *
 * Tests that records are read as they were written: every field type, sizes from none to several
 * chunks, with and without threads, forwards, backwards, after seeking.
 */
#include "tests/unit/format/format_sample_check.h"

static void print_violation(void *user, uint64_t offset, const char *text)
{
    fprintf(stderr, "  offset %llu: %s\n", (unsigned long long)offset, text);
}

static void check_all(const char *path, uint64_t count, unsigned threads)
{
    struct sbt_reader *r = sample_open(path);
    const struct sbt_record *record;
    struct sbt_cursor *c;
    uint64_t seq = 0;

    sample_check_undamaged(r);
    CHECK_EQ_INT((long long)sbt_reader_totals(r)->record_count, (long long)count);
    CHECK_EQ_INT(sbt_reader_end(r), SBT_END_FINISHED);
    sample_check_tables(r);
    CHECK_EQ_INT(sbt_cursor_create(&c, r, NULL, threads), 0);
    for (; sbt_cursor_next(c, &record) == 1; seq++) {
        if (!CHECK(sample_same(record, seq)))
            break;
        sample_check_blob(r, record);
    }
    CHECK_EQ_INT((long long)seq, (long long)count);
    while (sbt_cursor_previous(c, &record) == 1) {
        if (!CHECK(sample_same(record, --seq)))
            break;
    }
    CHECK_EQ_INT((long long)seq, 0);
    for (uint64_t at = 1; at < count; at = at * 3 + 1) {
        sbt_cursor_seek(c, at);
        CHECK_EQ_INT(sbt_cursor_next(c, &record), 1);
        CHECK(sample_same(record, at));
        sbt_cursor_seek(c, at);
        CHECK_EQ_INT(sbt_cursor_previous(c, &record), 1);
        CHECK(sample_same(record, at - 1));
    }
    sample_check_undamaged(r);
    sbt_cursor_destroy(c);
    sbt_reader_destroy(r);
}

static void round_trip(const char *name, uint64_t count, unsigned threads, size_t chunk_size)
{
    struct sbt_writer_options options = {.threads = threads, .chunk_size = chunk_size};
    const char *path = sample_path(name);

    if (!CHECK_EQ_INT(sample_write(path, count, &options), 0)) {
        fprintf(stderr, "%s\n", tsm_error_message());
        return;
    }
    check_all(path, count, threads);
    CHECK_EQ_INT(sbt_check(path, print_violation, NULL), 0);
}

/* Chunks packed by threads and by the caller, in turn, while others are under way. */
static void round_trip_alone(void)
{
    struct sbt_writer_options options = {.threads = 2, .chunk_size = 5000};
    const char *path = sample_path("alone.sbt");
    const uint64_t count = 20000, step = 700;
    struct sbt_writer *w;
    int error = 0;

    if (!CHECK_EQ_INT(sbt_writer_create(&w, path, &sample_session, &options), 0))
        return;
    CHECK_EQ_INT(sample_tables(w), 0);
    for (uint64_t at = 0; at < count && !error; at += step) {
        sbt_writer_alone(w, at / step % 2 == 0);
        error = sample_records(w, at, at + step < count ? at + step : count);
    }
    CHECK_EQ_INT(error, 0);
    CHECK_EQ_INT(sbt_writer_finish(w, NULL, SBT_END_FINISHED), 0);
    sbt_writer_destroy(w);
    check_all(path, count, 0);
    CHECK_EQ_INT(sbt_check(path, print_violation, NULL), 0);
}

int main(void)
{
    round_trip("empty.sbt", 0, 0, 0);
    round_trip("one.sbt", 1, 0, 0);
    round_trip("small-chunks.sbt", 500, 0, 700);
    round_trip("default.sbt", 20000, 0, 0);
    round_trip("threads.sbt", 20000, 3, 20000);
    round_trip_alone();
    return check_result();
}
