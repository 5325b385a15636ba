/* SPDX-License-Identifier: Apache-2.0
 *
 * Tests the refusals of a writer, its counts, and that it says why it cannot go on.
 */
#include "format/chunk/chunk.h"
#include "tests/unit/format/format_sample_check.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

static struct sbt_writer *create(const char *name)
{
    struct sbt_writer *w = NULL;

    if (sbt_writer_create(&w, sample_path(name), &sample_session, NULL) < 0) {
        fprintf(stderr, "%s\n", tsm_error_message());
        exit(1);
    }
    return w;
}

static void test_order_of_calls(void)
{
    struct sbt_writer *w = create("order.sbt");
    struct sbt_record record = {.type = SAMPLE_TYPE_EMPTY, .stream = SBT_STREAM_NONE};

    CHECK_EQ_INT(sbt_writer_string(w, 1, "a", 1), TSM_E_STATE);
    CHECK_EQ_INT(sbt_writer_finish(w, NULL, SBT_END_FINISHED), TSM_E_STATE);
    CHECK_EQ_INT(sbt_writer_metadata(w, "a", "b"), 0);
    CHECK_EQ_INT(sbt_writer_record(w, &record), TSM_E_ARGUMENT); /* no schema yet */
    CHECK_EQ_INT(sample_tables(w), 0);
    record.seq = 1;
    CHECK_EQ_INT(sbt_writer_record(w, &record), TSM_E_ARGUMENT); /* 0 is due */
    record.seq = 0;
    record.slot_count = 1;
    CHECK_EQ_INT(sbt_writer_record(w, &record), TSM_E_ARGUMENT); /* the schema has none */
    record.slot_count = 0;
    CHECK_EQ_INT(sbt_writer_record(w, &record), 0);
    CHECK_EQ_INT(sbt_writer_finish(w, NULL, SBT_END_FINISHED), 0);
    CHECK_EQ_INT(sbt_writer_record(w, &record), TSM_E_STATE);
    sbt_writer_destroy(w);
    CHECK_EQ_INT(sample_write(sample_path("order.sbt"), 1, NULL), TSM_E_IO); /* it exists */
}

static void test_repetitions(void)
{
    const struct sbt_field field = {"x", SBT_FIELD_UINT, SBT_ROLE_NONE, ""};
    struct sbt_schema schema = {SAMPLE_TYPE_EMPTY, "cuEmpty", SBT_KIND_SYNC, 0, "", 0, NULL};
    const uint64_t frames[] = {1, 2};
    struct sbt_writer *w = create("repetitions.sbt");

    CHECK_EQ_INT(sample_tables(w), 0);
    CHECK_EQ_INT(sbt_writer_schema(w, &schema), 0);
    schema.field_count = 1;
    schema.fields = &field;
    CHECK_EQ_INT(sbt_writer_schema(w, &schema), TSM_E_ARGUMENT);
    CHECK_EQ_INT(sbt_writer_string(w, 1, "string 1", 8), 0);
    CHECK_EQ_INT(sbt_writer_string(w, 1, "other", 5), TSM_E_ARGUMENT);
    CHECK_EQ_INT(sbt_writer_string(w, 0, "zero", 4), TSM_E_ARGUMENT);
    CHECK_EQ_INT(sbt_writer_string(w, 99, "a\0b", 3), TSM_E_ARGUMENT);
    CHECK_EQ_INT(sbt_writer_stack(w, 1, frames, 2), TSM_E_ARGUMENT);
    CHECK_EQ_INT(sbt_writer_stack(w, 100, frames, 0), TSM_E_ARGUMENT);
    CHECK_EQ_INT(sample_records(w, 0, 10), 0); /* refusing does not harm */
    CHECK_EQ_INT(sbt_writer_finish(w, NULL, SBT_END_FINISHED), 0);
    sbt_writer_destroy(w);
}

/* The same bytes are stored once, zeros never. */
static void test_pieces_are_stored_once(void)
{
    enum { SIZE = 4 * SBT_PIECE_SIZE };
    uint8_t *bytes = calloc(1, SIZE), reference[SBT_BLOB_ENCODED_SIZE(SIZE)];
    struct sbt_writer *w = create("once.sbt");
    uint64_t random = 1, size;

    CHECK_EQ_INT(sbt_writer_metadata(w, "a", "b"), 0);
    CHECK_EQ_INT(sbt_writer_blob(w, bytes, SIZE, reference), 0);
    CHECK_EQ_INT(sbt_writer_flush(w), 0);
    CHECK(sbt_writer_size(w) < 1000);
    for (size_t i = 0; i < SIZE; i++)
        bytes[i] = (uint8_t)((random = random * 6364136223846793005u + 1442695040888963407u) >> 56);
    CHECK_EQ_INT(sbt_writer_blob(w, bytes, SIZE, reference), 0);
    CHECK_EQ_INT(sbt_writer_flush(w), 0);
    size = sbt_writer_size(w);
    CHECK(size > SIZE);
    for (int i = 0; i < 10; i++)
        CHECK_EQ_INT(sbt_writer_blob(w, bytes, SIZE, reference), 0);
    CHECK_EQ_INT(sbt_writer_flush(w), 0);
    CHECK_EQ_INT((long long)sbt_writer_size(w), (long long)size);
    sbt_writer_destroy(w);
    free(bytes);
}

/* Numbers of 16 bits whose low bytes are noise, and whose high ones are nearly all the same. Of an
 * odd count of bytes. */
static void test_halves_apart(void)
{
    enum { PIECES = 6, SIZE = (PIECES - 1) * SBT_PIECE_SIZE + 1 };
    uint8_t *bytes = calloc(2, SIZE), reference[SBT_BLOB_ENCODED_SIZE(SIZE)];
    struct sbt_writer *w = create("halves.sbt");
    struct sbt_blob blob = {.size = SIZE, .piece_count = PIECES, .keys = reference + 8};
    struct sbt_reader *r;
    uint64_t random = 1;

    for (size_t i = 0; i < SIZE; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        bytes[i] = i % 2 ? 0x3c : (uint8_t)(random >> 56);
    }
    CHECK_EQ_INT(sbt_writer_metadata(w, "a", "b"), 0);
    CHECK_EQ_INT(sbt_writer_blob(w, bytes, SIZE, reference), 0);
    CHECK_EQ_INT(sbt_writer_finish(w, NULL, SBT_END_FINISHED), 0);
    CHECK(sbt_writer_size(w) < SIZE * 11 / 20); /* not apart: a byte of each value, and some bits */
    sbt_writer_destroy(w);
    r = sample_open(sample_path("halves.sbt"));
    CHECK_EQ_INT(sbt_reader_blob(r, &blob, 0, bytes + SIZE, SIZE), 0);
    CHECK_EQ_MEM(bytes + SIZE, bytes, SIZE);
    sample_check_undamaged(r);
    sbt_reader_destroy(r);
    free(bytes);
}

/* Pieces that hardly become smaller are stored as they are: each is read without the others. */
static void test_hardly_smaller(void)
{
    enum { SIZE = 3 * SBT_PIECE_SIZE };
    uint8_t *bytes = calloc(1, SIZE), reference[SBT_BLOB_ENCODED_SIZE(SIZE)];
    struct sbt_writer *w = create("hardly.sbt");
    const struct sbt_chunk_info *chunk = NULL;
    struct sbt_reader *r;
    uint64_t random = 1;

    for (size_t i = SIZE / 100; i < SIZE; i++) /* one in a hundred is zero */
        bytes[i] = (uint8_t)((random = random * 6364136223846793005u + 1442695040888963407u) >> 56);
    CHECK_EQ_INT(sbt_writer_metadata(w, "a", "b"), 0);
    CHECK_EQ_INT(sbt_writer_blob(w, bytes, SIZE, reference), 0);
    CHECK_EQ_INT(sbt_writer_finish(w, NULL, SBT_END_FINISHED), 0);
    sbt_writer_destroy(w);
    r = sample_open(sample_path("hardly.sbt"));
    for (size_t i = 0; i < sbt_reader_chunk_count(r); i++)
        if (sbt_reader_chunk(r, i)->type == SBT_CHUNK_BLOBS)
            chunk = sbt_reader_chunk(r, i);
    CHECK(chunk && chunk->codec == SBT_CODEC_RAW && chunk->raw_size > SIZE);
    sbt_reader_destroy(r);
    free(bytes);
}

static void test_totals(void)
{
    const struct sbt_totals totals = {.lost_count = 5, .filtered_count = 6};
    const struct sbt_schema *schema = sbt_core_schema(SBT_CORE_LOST);
    const uint64_t slots[] = {5, 10, 20, 0, 1};
    struct sbt_record record = {.type = SBT_TYPE(SBT_API_CORE, SBT_CORE_LOST),
                                .stream = SBT_STREAM_NONE,
                                .flags = SBT_RECORD_TAINTS,
                                .slot_count = 5,
                                .slots = slots};
    const char *path = sample_path("totals.sbt");
    struct sbt_writer *w = create("totals.sbt");
    struct sbt_reader *r;

    CHECK_EQ_INT(sbt_writer_metadata(w, "a", "b"), 0);
    CHECK_EQ_INT(sbt_writer_schema(w, schema), 0);
    CHECK_EQ_INT(sbt_writer_record(w, &record), 0);
    CHECK_EQ_INT(sbt_writer_flush(w), 0);
    r = sample_open(path); /* before there is a trailer: counted from the records */
    CHECK_EQ_INT((long long)sbt_reader_totals(r)->lost_count, 5);
    CHECK_EQ_INT((long long)sbt_reader_totals(r)->tainted_count, 1);
    CHECK_EQ_INT(sbt_reader_end(r), SBT_END_NONE);
    sbt_reader_destroy(r);
    CHECK_EQ_INT(sbt_writer_finish(w, &totals, SBT_END_FINISHED), 0);
    sbt_writer_destroy(w);
    r = sample_open(path);
    CHECK_EQ_INT((long long)sbt_reader_totals(r)->lost_count, 5);
    CHECK_EQ_INT((long long)sbt_reader_totals(r)->filtered_count, 6);
    CHECK_EQ_INT((long long)sbt_reader_totals(r)->record_count, 1);
    sbt_reader_destroy(r);
}

/* A full disk is said with a remedy, sticks, and leaves no half chunk. */
static void test_full_disk(unsigned threads)
{
    const struct sbt_writer_options options = {.threads = threads, .chunk_size = 4000};
    int fd = open("/dev/full", O_RDWR);
    struct sbt_writer *w;

    if (fd < 0)
        return;
    CHECK_EQ_INT(sbt_writer_create_fd(&w, fd, &sample_session, &options), TSM_E_IO);
    CHECK(strstr(tsm_error_message(), "No space left") && strstr(tsm_error_message(), "TS_OUTPUT"));
}

static void test_error_sticks(void)
{
    const struct sbt_writer_options options = {.threads = 2, .chunk_size = 4000};
    int pipe_fds[2];
    struct sbt_writer *w;
    int error = 0;

    /* A pipe that nobody reads any more stands for a disk that goes away. */
    CHECK_EQ_INT(pipe(pipe_fds), 0);
    CHECK_EQ_INT(sbt_writer_create_fd(&w, pipe_fds[1], &sample_session, &options), 0);
    close(pipe_fds[0]);
    CHECK_EQ_INT(sbt_writer_metadata(w, "a", "b"), 0);
    error = sbt_writer_flush(w);
    CHECK_EQ_INT(error, TSM_E_IO);
    CHECK(strstr(tsm_error_message(), "Broken pipe"));
    CHECK_EQ_INT(sbt_writer_metadata(w, "a", "b"), TSM_E_IO);
    CHECK_EQ_INT(sbt_writer_finish(w, NULL, SBT_END_FINISHED), TSM_E_IO);
    CHECK(strstr(tsm_error_message(), "Broken pipe"));
    sbt_writer_destroy(w);
}

static void test_malformed_slots(void)
{
    static struct sample_record s;
    struct sbt_writer *w = create("slots.sbt");
    uint64_t seq = 0, good;

    CHECK_EQ_INT(sample_tables(w), 0);
    do {
        sample_make(&s, seq++, NULL);
    } while (s.record.type != SAMPLE_TYPE_ALL);
    s.record.seq = 0;
    good = s.slots[13];
    s.slots[13] = 1ull << 40 | 5; /* outside the data */
    CHECK_EQ_INT(sbt_writer_record(w, &s.record), TSM_E_ARGUMENT);
    s.slots[13] = good;
    s.slots[14] -= 1; /* a blob reference that is too short */
    CHECK_EQ_INT(sbt_writer_record(w, &s.record), TSM_E_ARGUMENT);
    s.slots[14] += 1;
    CHECK_EQ_INT(sbt_writer_record(w, &s.record), 0);
    sbt_writer_destroy(w);
}

static void test_two_fields_of_a_role(void)
{
    const struct sbt_field fields[] = {
        {.name = "a", .type = SBT_FIELD_UINT, .role = SBT_ROLE_HOST_DST, .detail = ""},
        {.name = "b", .type = SBT_FIELD_UINT, .role = SBT_ROLE_HOST_DST, .detail = ""}};
    const struct sbt_schema schema = {.type = SBT_TYPE(7, 1),
                                      .name = "twice",
                                      .kind = SBT_KIND_COMMAND,
                                      .result_enum = "",
                                      .field_count = 2,
                                      .fields = fields};
    struct sbt_writer *w = create("roles.sbt");

    CHECK_EQ_INT(sample_tables(w), 0);
    CHECK_EQ_INT(sbt_writer_schema(w, &schema), TSM_E_ARGUMENT);
    sbt_writer_destroy(w);
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    test_order_of_calls();
    test_repetitions();
    test_pieces_are_stored_once();
    test_hardly_smaller();
    test_halves_apart();
    test_totals();
    test_full_disk(0);
    test_full_disk(2);
    test_error_sticks();
    test_malformed_slots();
    test_two_fields_of_a_role();
    return check_result();
}
