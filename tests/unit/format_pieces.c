/* SPDX-License-Identifier: Apache-2.0
 *
 * Pieces are found by their keys and compared with them, in whatever order they are asked for;
 * small ones that follow each other in the file are read many at once, and one that is damaged does
 * not take its neighbours along.
 */
#include "base/hash.h"
#include "format/limits.h"
#include "tests/unit/format_sample_check.h"

#include <string.h>

enum { COUNT = 300, SIZE = 1000 };

static uint8_t file[1 << 20];
static uint8_t pieces[COUNT][SIZE];
static struct sbt_key keys[COUNT];
static size_t file_size;
static unsigned read_count;

static int64_t read_at(void *user, uint64_t offset, void *out, size_t size)
{
    size_t left = offset < file_size ? file_size - (size_t)offset : 0;

    read_count++;
    size = size < left ? size : left;
    memcpy(out, file + offset, size);
    return (int64_t)size;
}

static uint64_t size_of(void *user)
{
    return file_size;
}

/* Noise, so that the chunk is stored as it is. */
static void write_pieces(void)
{
    const char *path = sample_path("pieces.sbt");
    uint8_t reference[SBT_BLOB_ENCODED_SIZE(SIZE)];
    struct sbt_writer *w;
    uint64_t random = 1;
    FILE *f;

    CHECK_EQ_INT(sbt_writer_create(&w, path, &sample_session, NULL), 0);
    CHECK_EQ_INT(sbt_writer_metadata(w, "a", "b"), 0);
    for (size_t i = 0; i < COUNT; i++) {
        for (size_t k = 0; k < SIZE; k++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            pieces[i][k] = (uint8_t)(random >> 56);
        }
        keys[i] = tsm_hash_key(pieces[i], SIZE);
        CHECK_EQ_INT(sbt_writer_blob(w, pieces[i], SIZE, reference), 0);
    }
    CHECK_EQ_INT(sbt_writer_finish(w, NULL, SBT_END_FINISHED), 0);
    sbt_writer_destroy(w);
    f = fopen(path, "rb");
    file_size = f ? fread(file, 1, sizeof(file), f) : 0;
    CHECK(f && file_size > COUNT * SIZE && file_size < sizeof(file));
    if (f)
        fclose(f);
}

static struct sbt_reader *open_file(void)
{
    const struct sbt_source source = {.read_at = read_at, .size = size_of};
    struct sbt_reader *r = NULL;

    CHECK_EQ_INT(sbt_reader_open_source(&r, &source, "pieces.sbt"), 0);
    return r;
}

static void check_piece(struct sbt_reader *r, size_t i)
{
    uint8_t out[SBT_PIECE_SIZE];

    CHECK_EQ_INT(sbt_reader_piece(r, &keys[i], out), SIZE);
    CHECK_EQ_MEM(out, pieces[i], SIZE);
}

static void test_orders(void)
{
    struct sbt_reader *r = open_file();
    struct sbt_key unknown = keys[0];
    uint8_t out[SBT_PIECE_SIZE];

    check_piece(r, 0); /* finds where all are */
    read_count = 0;
    for (size_t i = 1; i < COUNT; i++)
        check_piece(r, i);
    CHECK(read_count < COUNT / 10);
    for (size_t i = COUNT; i > 0; i--)
        check_piece(r, i - 1);
    for (size_t i = 0, k = 7; i < COUNT; i++, k = (k + 89) % COUNT)
        check_piece(r, k);
    unknown.bytes[15] ^= 1;
    CHECK_EQ_INT(sbt_reader_piece(r, &unknown, out), TSM_E_NOT_FOUND);
    CHECK_EQ_INT((long long)sbt_reader_damage_count(r), 0);
    sbt_reader_destroy(r);
}

/* One that jumps about gets what it asks for, and no more. */
static void test_no_more_than_needed(void)
{
    struct sbt_reader *r = open_file();

    check_piece(r, 0);
    uint64_t before = sbt_reader_bytes_read(r);
    for (size_t i = 1; i < COUNT; i += 2)
        check_piece(r, COUNT - i);
    CHECK_EQ_INT((long long)(sbt_reader_bytes_read(r) - before), (long long)COUNT / 2 * SIZE);
    sbt_reader_destroy(r);
}

static void test_damage(void)
{
    enum { BAD = 20 };
    uint8_t out[SBT_PIECE_SIZE], *at = memmem(file, file_size, pieces[BAD], SIZE);
    struct sbt_reader *r;

    if (!CHECK(at != NULL))
        return;
    at[SIZE / 2] ^= 1;
    r = open_file();
    for (size_t i = 0; i < COUNT; i++) {
        if (i != BAD)
            check_piece(r, i);
        else
            CHECK_EQ_INT(sbt_reader_piece(r, &keys[i], out), TSM_E_CHECKSUM);
    }
    CHECK_EQ_INT((long long)sbt_reader_damage_count(r), 1);
    CHECK(strstr(sbt_reader_damage(r, 0), "its bytes do not match its key"));
    sbt_reader_destroy(r);
}

int main(void)
{
    write_pieces();
    test_orders();
    test_no_more_than_needed();
    test_damage();
    return check_result();
}
