/* SPDX-License-Identifier: Apache-2.0
 *
 * A trace of a million chunks is finished, read, appended to and keeps the rules, although an index
 * leaf has no room for as many. An append that fails leaves the bytes that were there.
 */
#include "tests/unit/format/format_bytes.h"
#include "tests/unit/format/format_sample_check.h"

#include "base/bytes.h"

#include <signal.h>
#include <sys/resource.h>

#define MANY 1000000u

static void print_violation(void *user, uint64_t offset, const char *text)
{
    (void)user;
    fprintf(stderr, "  offset %llu: %s\n", (unsigned long long)offset, text);
}

/* One chunk each: a recorder that flushes every two seconds for weeks. */
static void add_chunks(struct sbt_writer *w, uint32_t count)
{
    uint8_t record[64] = {64, 0, 2};

    for (uint32_t i = 0; i < count; i++) {
        tsm_put_u64(record + 16, i);
        if (sbt_writer_kernel_events(w, record, sizeof(record)) != 0 || sbt_writer_flush(w) != 0) {
            CHECK_EQ_STR(tsm_error_message(), "");
            return;
        }
    }
}

static void check_many(const char *path, size_t chunks, uint64_t records)
{
    struct sbt_reader *r = sample_open(path);

    sample_check_undamaged(r);
    CHECK(sbt_reader_chunk_count(r) >= chunks);
    CHECK_EQ_INT((long long)sbt_reader_totals(r)->record_count, (long long)records);
    CHECK_EQ_INT(sbt_reader_end(r), SBT_END_FINISHED);
    sbt_reader_destroy(r);
    CHECK_EQ_INT(sbt_check(path, print_violation, NULL), 0);
}

static void append(const char *path, uint64_t first, uint64_t end)
{
    const struct sbt_writer_options options = {.append = true};
    struct sbt_writer *w = NULL;

    if (!CHECK_EQ_INT(sbt_writer_create(&w, path, NULL, &options), 0))
        return;
    CHECK_EQ_INT(sample_records(w, first, end), 0);
    CHECK_EQ_INT(sbt_writer_finish(w, NULL, SBT_END_FINISHED), 0);
    sbt_writer_destroy(w);
}

static void test_many(void)
{
    const char *path = sample_path("many.sbt");
    struct sbt_writer *w;

    if (!CHECK_EQ_INT(sbt_writer_create(&w, path, &sample_session, NULL), 0))
        return;
    CHECK_EQ_INT(sample_tables(w), 0);
    CHECK_EQ_INT(sample_records(w, 0, 10), 0);
    add_chunks(w, MANY);
    CHECK_EQ_INT(sbt_writer_finish(w, NULL, SBT_END_FINISHED), 0);
    sbt_writer_destroy(w);
    append(path, 10, 20);
    append(path, 20, 30);
    check_many(path, MANY, 30);
    unlink(path);
}

/* The disk is full: the file must not grow. */
static void test_failed_append(void)
{
    const struct sbt_writer_options options = {.append = true, .chunk_size = 2000};
    const char *path = sample_path("full.sbt");
    struct rlimit limit, before;
    struct tsm_buffer whole, after;
    struct sbt_writer *w = NULL;

    CHECK_EQ_INT(sample_write(path, 40, NULL), 0);
    whole = file_read(path);
    getrlimit(RLIMIT_FSIZE, &before);
    limit = (struct rlimit){whole.size, before.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    CHECK_EQ_INT(setrlimit(RLIMIT_FSIZE, &limit), 0);
    if (CHECK_EQ_INT(sbt_writer_create(&w, path, NULL, &options), 0))
        CHECK(sample_records(w, 40, 400) < 0 || sbt_writer_finish(w, NULL, SBT_END_FINISHED) < 0);
    sbt_writer_destroy(w);
    setrlimit(RLIMIT_FSIZE, &before);
    after = file_read(path);
    CHECK_EQ_INT((long long)after.size, (long long)whole.size);
    CHECK_EQ_MEM(after.data, whole.data, after.size < whole.size ? after.size : whole.size);
    tsm_buffer_finish(&whole);
    tsm_buffer_finish(&after);
}

/* Two writers of one trace: the second is refused. */
static void test_two_writers(void)
{
    const struct sbt_writer_options options = {.append = true};
    const char *path = sample_path("shared.sbt");
    struct sbt_writer *first = NULL, *second = NULL;

    CHECK_EQ_INT(sample_write(path, 5, NULL), 0);
    CHECK_EQ_INT(sbt_writer_create(&first, path, NULL, &options), 0);
    CHECK_EQ_INT(sbt_writer_create(&second, path, NULL, &options), TSM_E_STATE);
    CHECK_EQ_INT(sbt_writer_finish(first, NULL, SBT_END_FINISHED), 0);
    CHECK_EQ_INT(sbt_writer_create(&second, path, NULL, &options), 0);
    sbt_writer_destroy(first);
    sbt_writer_destroy(second);
    CHECK_EQ_INT(sbt_check(path, print_violation, NULL), 0);
}

int main(void)
{
    test_failed_append();
    test_two_writers();
    test_many();
    return check_result();
}
