/* SPDX-License-Identifier: Apache-2.0
 *
 * A whole checkpoint is found by the reader and passes the checker; one that was cut off is not
 * there, and what lies before it is.
 */
#include "tests/unit/format/format_sample_check.h"

#include <unistd.h>

static void print_violation(void *user, uint64_t offset, const char *text)
{
    fprintf(stderr, "  offset %llu: %s\n", (unsigned long long)offset, text);
}

static struct sbt_writer *create(const char *path)
{
    struct sbt_writer *w = NULL;

    CHECK_EQ_INT(sbt_writer_create(&w, path, &sample_session, NULL), 0);
    CHECK_EQ_INT(sample_tables(w), 0);
    for (uint32_t i = 0; sbt_core_enum(i); i++)
        CHECK_EQ_INT(sbt_writer_enum(w, sbt_core_enum(i)), 0);
    for (uint32_t i = SBT_CORE_CHECKPOINT_BEGIN; i <= SBT_CORE_CHECKPOINT_END; i++)
        CHECK_EQ_INT(sbt_writer_schema(w, sbt_core_schema(i)), 0);
    return w;
}

static void put(struct sbt_writer *w, uint32_t call, const uint64_t *slots, uint32_t count)
{
    uint64_t seq = sbt_writer_record_count(w);
    uint8_t reference[SBT_BLOB_ENCODED_SIZE(5)];
    struct sbt_record r = {.seq = seq,
                           .time_ns = 1000 * seq,
                           .type = SBT_TYPE(SBT_API_CORE, call),
                           .stream = SBT_STREAM_NONE,
                           .slot_count = count,
                           .slots = slots,
                           .data = reference,
                           .data_size = call == SBT_CORE_MEMORY ? sizeof(reference) : 0};

    CHECK_EQ_INT(sbt_writer_blob(w, "bytes", 5, reference), 0);
    CHECK_EQ_INT(sbt_writer_record(w, &r), 0);
}

static void put_checkpoint(struct sbt_writer *w, uint64_t number, bool whole)
{
    put(w, SBT_CORE_CHECKPOINT_BEGIN, (const uint64_t[]){number, number == 1}, 2);
    put(w, SBT_CORE_MEMORY,
        (const uint64_t[]){number, SBT_MEMORY_DEVICE, 0, 0, 0x7000, 0, 5, SBT_BLOB_ENCODED_SIZE(5)},
        8);
    if (whole)
        put(w, SBT_CORE_CHECKPOINT_END, (const uint64_t[]){number, number == 1, 1, 5}, 4);
}

static void check_two(const char *path)
{
    struct sbt_reader *r = sample_open(path);

    sample_check_undamaged(r);
    if (CHECK_EQ_INT((long long)sbt_reader_checkpoint_count(r), 2)) {
        const struct sbt_checkpoint *first = sbt_reader_checkpoint(r, 0);
        const struct sbt_checkpoint *second = sbt_reader_checkpoint(r, 1);
        CHECK_EQ_INT((long long)first->seq, 12);
        CHECK_EQ_INT(first->number, 1);
        CHECK_EQ_INT(first->flags, SBT_CHECKPOINT_START);
        CHECK_EQ_INT((long long)first->time_ns, 12000);
        CHECK_EQ_INT((long long)first->item_count, 1);
        CHECK_EQ_INT((long long)first->size, 5);
        CHECK_EQ_INT((long long)second->seq, 15);
        CHECK_EQ_INT(second->flags, 0);
    }
    CHECK(sbt_reader_checkpoint(r, 2) == NULL);
    sbt_reader_destroy(r);
}

static void test_whole(void)
{
    const char *path = sample_path("checkpoints.sbt");
    struct sbt_writer *w = create(path);

    CHECK_EQ_INT(sample_records(w, 0, 10), 0);
    put_checkpoint(w, 1, true);
    put_checkpoint(w, 2, true);
    CHECK_EQ_INT(sbt_writer_finish(w, NULL, SBT_END_FINISHED), 0);
    sbt_writer_destroy(w);
    check_two(path);
    CHECK_EQ_INT(sbt_check(path, print_violation, NULL), 0);
}

/* Nothing was flushed but by the checkpoint itself; then the program died inside the next one. */
static void test_cut_off(void)
{
    const char *path = sample_path("cut.sbt");
    struct sbt_writer *w = create(path);
    struct sbt_reader *r;
    uint64_t lost;

    CHECK_EQ_INT(sample_records(w, 0, 10), 0);
    put_checkpoint(w, 1, true);
    put_checkpoint(w, 2, false);
    CHECK_EQ_INT(sbt_writer_flush(w), 0);
    sbt_writer_destroy(w);
    r = sample_open(path);
    CHECK_EQ_INT((long long)sbt_reader_checkpoint_count(r), 1);
    CHECK_EQ_INT((long long)sbt_reader_totals(r)->record_count, 15);
    sbt_reader_destroy(r);
    CHECK_EQ_INT(sbt_repair(path, &lost), 1);
    CHECK_EQ_INT(sbt_check(path, print_violation, NULL), 0);
}

/* A trace that was cut off goes on, as after a crash: the end of a checkpoint may be what is left.
 */
static void test_resumed(void)
{
    const char *path = sample_path("resumed.sbt");
    const struct sbt_writer_options append = {.append = true};
    struct sbt_writer *w = create(path);

    CHECK_EQ_INT(sample_records(w, 0, 10), 0);
    put_checkpoint(w, 1, false);
    CHECK_EQ_INT(sbt_writer_flush(w), 0);
    sbt_writer_destroy(w);
    CHECK_EQ_INT(sbt_writer_create(&w, path, NULL, &append), 0);
    put(w, SBT_CORE_CHECKPOINT_END, (const uint64_t[]){1, 1, 1, 5}, 4);
    put_checkpoint(w, 2, true);
    CHECK_EQ_INT(sbt_writer_finish(w, NULL, SBT_END_RECOVERED), 0);
    sbt_writer_destroy(w);
    check_two(path);
    CHECK_EQ_INT(sbt_check(path, print_violation, NULL), 0);
}

/* The program died after the last record of a checkpoint, before the chunk that speaks of it. */
static void test_chunk_missing(void)
{
    const char *path = sample_path("between.sbt");
    struct sbt_writer *w = create(path);
    struct sbt_reader *r;
    uint64_t lost, size;

    CHECK_EQ_INT(sample_records(w, 0, 10), 0);
    put_checkpoint(w, 1, true);
    put_checkpoint(w, 2, true);
    sbt_writer_destroy(w);
    r = sample_open(path);
    size = sbt_reader_chunk(r, sbt_reader_chunk_count(r) - 1)->offset;
    CHECK_EQ_INT(sbt_reader_chunk(r, sbt_reader_chunk_count(r) - 1)->type, 12);
    sbt_reader_destroy(r);
    CHECK_EQ_INT(truncate(path, (off_t)size), 0);
    CHECK_EQ_INT(sbt_repair(path, &lost), 1);
    check_two(path);
    CHECK_EQ_INT(sbt_check(path, print_violation, NULL), 0);
}

int main(void)
{
    test_whole();
    test_cut_off();
    test_resumed();
    test_chunk_missing();
    return check_result();
}
