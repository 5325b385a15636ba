/* SPDX-License-Identifier: Apache-2.0
 *
 * A trace of more pieces than a writer remembers: some are stored twice, and that is right
 * as long as their bytes are equal, too.
 */
#include "tests/unit/format/format_sample_check.h"

#include "base/bytes.h"
#include "base/hash.h"

static void print_violation(void *user, uint64_t offset, const char *text)
{
    (void)user;
    fprintf(stderr, "  offset %llu: %s\n", (unsigned long long)offset, text);
}

/* Two blocks of one key: the products of their words with the secret are 0, and the words' sums
 * equal. */
static void make_pair(uint8_t a[SBT_PIECE_SIZE], uint8_t b[SBT_PIECE_SIZE])
{
    static const uint8_t first[] = {0x23, 0xa4, 0x4b, 0xbe}, second[] = {0xf7, 0x21, 0xad, 0x1c};

    for (size_t i = 0; i < SBT_PIECE_SIZE; i++)
        a[i] = (uint8_t)(i * 7);
    memcpy(a + 4, first, sizeof(first));
    memcpy(a + 68, second, sizeof(second));
    tsm_put_u32(a, 1000);
    tsm_put_u32(a + 64, 2000);
    memcpy(b, a, SBT_PIECE_SIZE);
    tsm_put_u32(b, 1001);
    tsm_put_u32(b + 64, 1999);
}

static void note_twin(void *user, uint64_t offset, const char *text)
{
    (void)offset;
    *(bool *)user |= strstr(text, "other bytes") != NULL;
}

/* Different bytes of one key in a file: whoever compares keys is told. */
static void test_pair(void)
{
    static uint8_t a[SBT_PIECE_SIZE], b[SBT_PIECE_SIZE];
    const char *path = sample_path("pair.sbt");
    struct sbt_missing missing;
    struct sbt_writer *w = NULL;
    struct sbt_key key, other;
    struct sbt_reader *r;
    bool is_said = false;

    make_pair(a, b);
    key = tsm_hash_key(a, sizeof(a));
    other = tsm_hash_key(b, sizeof(b));
    CHECK_EQ_MEM(key.bytes, other.bytes, sizeof(key.bytes));
    CHECK_EQ_INT(sbt_writer_create(&w, path, &sample_session, NULL), 0);
    CHECK_EQ_INT(sample_tables(w), 0);
    for (uint64_t i = 1; i < 10; i++) { /* more than it remembers */
        key = tsm_hash_key(&i, sizeof(i));
        CHECK_EQ_INT(sbt_writer_piece(w, &key, &i, sizeof(i)), 0);
    }
    key = other;
    CHECK_EQ_INT(sbt_writer_piece(w, &key, a, sizeof(a)), 0);
    CHECK_EQ_INT(sbt_writer_piece(w, &key, b, sizeof(b)), 0);
    CHECK_EQ_INT(sbt_writer_finish(w, NULL, SBT_END_FINISHED), 0);
    sbt_writer_destroy(w);
    sbt_check(path, note_twin, &is_said);
    CHECK(is_said);
    r = sample_open(path);
    sbt_reader_missing(r, 0, &missing);
    CHECK_EQ_INT((long long)missing.chunk_count, 0);
    CHECK_EQ_INT(sbt_reader_examine(r), 0);
    sbt_reader_missing(r, 0, &missing);
    CHECK_EQ_INT((long long)missing.chunk_count, 1);
    sbt_reader_destroy(r);
}

int main(void)
{
    const struct sbt_writer_options options = {.chunk_size = 100000};
    const char *path = sample_path("forget.sbt");
    const struct sbt_record *record;
    struct sbt_cursor *c = NULL;
    struct sbt_reader *r;

    CHECK_EQ_INT(sample_write(path, 300, &options), 0);
    CHECK_EQ_INT(sbt_check(path, print_violation, NULL), 0);
    r = sample_open(path);
    CHECK_EQ_INT(sbt_cursor_create(&c, r, NULL, 0), 0);
    while (sbt_cursor_next(c, &record) == 1)
        if (record->type == SAMPLE_TYPE_ALL)
            sample_check_blob(r, record);
    sample_check_undamaged(r);
    sbt_cursor_destroy(c);
    sbt_reader_destroy(r);
    test_pair();
    return check_result();
}
