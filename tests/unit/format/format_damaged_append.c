/* SPDX-License-Identifier: Apache-2.0
 *
 * Traces with a damaged BLOBS chunk that are continued: the bytes of new records are there, also
 * where an old record had the same, and what could be read before can be read. An append or a
 * repair that fails leaves the file as it was.
 */
#include "tests/unit/format/format_bytes.h"
#include "tests/unit/format/format_sample_check.h"

#include "base/bytes.h"
#include "format/chunk/chunk.h"

#include <signal.h>
#include <sys/resource.h>

#define COUNT 30u

static const struct sbt_writer_options small = {.chunk_size = 2000};
static const struct sbt_writer_options append = {.append = true, .chunk_size = 2000};

/* The offset of the next chunk of a type at or after `at`; the size if there is none. */
static size_t find_chunk(const struct tsm_buffer *bytes, size_t at, uint32_t type)
{
    struct sbt_chunk head;

    while (at < bytes->size && sbt_chunk_get(&head, bytes->data + at) && head.type != type)
        at += SBT_CHUNK_HEADER_SIZE + head.stored_size;
    return at < bytes->size ? at : bytes->size;
}

static size_t chunk_end(const struct tsm_buffer *bytes, size_t at)
{
    return at + SBT_CHUNK_HEADER_SIZE + tsm_get_u32(bytes->data + at + 32);
}

/* How many records' bytes can be read, from `first` on; wrong ones are a failure. */
static uint64_t count_readable(const char *path, uint64_t first)
{
    static uint8_t want[SAMPLE_BLOB_MAX], got[SAMPLE_BLOB_MAX];
    struct sbt_reader *r = sample_open(path);
    const struct sbt_record *record;
    struct sbt_cursor *c = NULL;
    struct sbt_blob blob;
    uint64_t count = 0;

    CHECK_EQ_INT(sbt_cursor_create(&c, r, NULL, 0), 0);
    while (sbt_cursor_next(c, &record) == 1) {
        uint64_t number = record->seq < COUNT ? record->seq : record->seq - COUNT;
        size_t size = sample_blob(number, want);
        if (record->seq < first || record->type != SAMPLE_TYPE_ALL ||
            !CHECK(sbt_record_blob(record, 14, &blob)) || blob.size != size ||
            sbt_reader_blob(r, &blob, 0, got, size) < 0)
            continue;
        CHECK_EQ_MEM(got, want, size);
        count++;
    }
    sbt_cursor_destroy(c);
    sbt_reader_destroy(r);
    return count;
}

/* The records [0, COUNT) once more, under new numbers: each has a piece that the trace has already,
 * or had. */
static int append_again(const char *path)
{
    static struct sample_record sample;
    struct sbt_writer *w;
    int error = sbt_writer_create(&w, path, NULL, &append);

    if (error)
        return error;
    for (uint64_t seq = 0; seq < COUNT && !error; seq++) {
        error = sample_make(&sample, seq, w);
        sample.record.seq = COUNT + seq;
        if (!error)
            error = sbt_writer_record(w, &sample.record);
    }
    if (!error)
        error = sbt_writer_finish(w, NULL, SBT_END_RECOVERED);
    sbt_writer_destroy(w);
    return error;
}

static void test_append(const struct tsm_buffer *bytes, size_t at, uint64_t whole)
{
    const char *path = sample_path("append.sbt");
    uint64_t before, lost;

    bytes->data[at + SBT_CHUNK_HEADER_SIZE] ^= 4;
    file_write(path, bytes->data, bytes->size);
    before = count_readable(path, 0);
    CHECK(before < whole);
    CHECK_EQ_INT(append_again(path), 0);
    CHECK_EQ_INT((long long)count_readable(path, COUNT), (long long)whole);
    CHECK(count_readable(path, 0) >= before + whole);
    CHECK(sbt_repair(path, &lost) >= 0);
    CHECK_EQ_INT((long long)count_readable(path, COUNT), (long long)whole);
    bytes->data[at + SBT_CHUNK_HEADER_SIZE] ^= 4;
}

/* ---- failures ---- */

static void limit_size(uint64_t size)
{
    struct rlimit limit;

    CHECK_EQ_INT(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = size ? size : limit.rlim_max;
    CHECK_EQ_INT(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void expect_unchanged(const char *path, const struct tsm_buffer *bytes, const char *what)
{
    struct tsm_buffer now = file_read(path);

    if (!CHECK(now.size == bytes->size && memcmp(now.data, bytes->data, now.size) == 0))
        fprintf(stderr, "  %s: %zu bytes, were %zu\n", what, now.size, bytes->size);
    tsm_buffer_finish(&now);
}

/* The disk is full when this many bytes are there. */
static void test_failures(const struct tsm_buffer *bytes, size_t at)
{
    const char *path = sample_path("failed.sbt");
    uint64_t lost;

    for (size_t room = 0; room < 600; room += 60) {
        bytes->data[at + SBT_CHUNK_HEADER_SIZE] ^= 4;
        file_write(path, bytes->data, bytes->size);
        limit_size(bytes->size + room);
        CHECK(append_again(path) < 0);
        limit_size(0);
        expect_unchanged(path, bytes, "append");
        limit_size(bytes->size + room);
        if (sbt_repair(path, &lost) < 0) {
            limit_size(0);
            expect_unchanged(path, bytes, "repair");
        }
        limit_size(0);
        bytes->data[at + SBT_CHUNK_HEADER_SIZE] ^= 4;
    }
}

int main(void)
{
    const char *path = sample_path("damaged.sbt");
    struct tsm_buffer bytes;
    uint64_t whole;
    unsigned count = 0;

    signal(SIGXFSZ, SIG_IGN);
    if (!CHECK_EQ_INT(sample_write(path, COUNT, &small), 0))
        return check_result();
    bytes = file_read(path);
    whole = count_readable(path, 0);
    for (size_t at = 64; (at = find_chunk(&bytes, at, SBT_CHUNK_BLOBS)) < bytes.size;
         at = chunk_end(&bytes, at)) {
        test_append(&bytes, at, whole);
        if (!count++)
            test_failures(&bytes, at);
    }
    CHECK(count > 0);
    tsm_buffer_finish(&bytes);
    return check_result();
}
