/* SPDX-License-Identifier: Apache-2.0
 *
 * Pieces are found by their keys and compared with them, in whatever order they are asked for;
 * small ones that follow each other in the file are read many at once, and one that is damaged does
 * not take its neighbours along. Lists of them go each to its place, by several threads, too.
 */
#include "base/hash.h"
#include "format/limits.h"
#include "tests/unit/format/format_sample_check.h"

#include <pthread.h>
#include <string.h>

enum { COUNT = 300, SIZE = 1000, PACKED = 200 };

static uint8_t file[1 << 20];
static uint8_t pieces[COUNT][SIZE];
static struct sbt_key keys[COUNT];
static size_t file_size;
static _Atomic unsigned read_count, scattered_count;

static int64_t read_at(void *user, uint64_t offset, void *out, size_t size)
{
    size_t left = offset < file_size ? file_size - (size_t)offset : 0;

    read_count++;
    size = size < left ? size : left;
    memcpy(out, file + offset, size);
    return (int64_t)size;
}

static int64_t read_scattered(void *user, uint64_t offset, const struct iovec *to, int count)
{
    int64_t all = 0;

    scattered_count++;
    for (int i = 0; i < count; i++)
        all += read_at(user, offset + (uint64_t)all, to[i].iov_base, to[i].iov_len);
    return all;
}

static uint64_t size_of(void *user)
{
    return file_size;
}

static void load_file(const char *path)
{
    FILE *f = fopen(path, "rb");

    file_size = f ? fread(file, 1, sizeof(file), f) : 0;
    CHECK(f && file_size < sizeof(file));
    if (f)
        fclose(f);
}

/* Noise, so that the chunk is stored as it is. */
static void write_pieces(void)
{
    const char *path = sample_path("pieces.sbt");
    uint8_t reference[SBT_BLOB_ENCODED_SIZE(SIZE)];
    struct sbt_writer *w;
    uint64_t random = 1;

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
    load_file(path);
    CHECK(file_size > COUNT * SIZE);
}

static struct sbt_reader *open_file(void)
{
    const struct sbt_source source = {
        .read_at = read_at, .size = size_of, .read_scattered = read_scattered};
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

/* In the file's order, with a gap, a piece of zeros and one of which the beginning alone is wanted.
 */
static void test_lists(void)
{
    enum { N = 100, GAP = 50, ZERO = 60, SHORT = 70 };
    static uint8_t out[N][SIZE], nothing[SIZE];
    struct sbt_reader *r = open_file();
    struct sbt_fetch list[N];
    size_t failed = N;

    memset(out, 0xee, sizeof(out));
    for (size_t i = 0; i < N; i++)
        list[i] = (struct sbt_fetch){keys[i < GAP ? i : i + 7], out[N - 1 - i], SIZE};
    memset(&list[ZERO].key, 0, sizeof(list[ZERO].key));
    list[SHORT].size = 10;
    scattered_count = 0;
    CHECK_EQ_INT(sbt_reader_fetch(r, list, N, &failed), 0);
    CHECK(scattered_count > 1 && scattered_count < 10);
    for (size_t i = 0; i < N; i++)
        CHECK_EQ_MEM(list[i].out, i == ZERO ? nothing : pieces[i < GAP ? i : i + 7], list[i].size);
    CHECK_EQ_INT(list[SHORT].out[10], 0xee);
    list[GAP].size = SIZE + 1;
    CHECK_EQ_INT(sbt_reader_fetch(r, list, N, &failed), TSM_E_FORMAT);
    CHECK_EQ_INT((long long)failed, GAP);
    CHECK_EQ_INT((long long)sbt_reader_damage_count(r), 0);
    sbt_reader_destroy(r);
}

static void test_damage(void)
{
    enum { BAD = 20 };
    static uint8_t rows[2 * BAD][SIZE];
    uint8_t out[SBT_PIECE_SIZE], *at = memmem(file, file_size, pieces[BAD], SIZE);
    struct sbt_fetch list[2 * BAD];
    struct sbt_reader *r;
    size_t failed = 0;

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
    for (size_t i = 0; i < 2 * BAD; i++)
        list[i] = (struct sbt_fetch){keys[i], rows[i], SIZE};
    CHECK_EQ_INT(sbt_reader_fetch(r, list, 2 * BAD, &failed), TSM_E_CHECKSUM);
    CHECK_EQ_INT((long long)failed, BAD);
    sbt_reader_destroy(r);
}

/* ---- compressed chunks ---- */

static struct sbt_key packed_keys[PACKED];

static void make_packed(uint8_t *out, size_t i)
{
    for (size_t k = 0; k < SBT_PIECE_SIZE; k++)
        out[k] = (uint8_t)(k % 97 == 0 ? i + k / 97 : i);
}

/* More chunks than are kept. */
static void write_packed(void)
{
    const char *path = sample_path("packed.sbt");
    static uint8_t piece[SBT_PIECE_SIZE];
    uint8_t reference[SBT_BLOB_ENCODED_SIZE(SBT_PIECE_SIZE)];
    struct sbt_writer *w;

    CHECK_EQ_INT(sbt_writer_create(&w, path, &sample_session, NULL), 0);
    CHECK_EQ_INT(sbt_writer_metadata(w, "a", "b"), 0);
    for (size_t i = 0; i < PACKED; i++) {
        make_packed(piece, i);
        packed_keys[i] = tsm_hash_key(piece, sizeof(piece));
        CHECK_EQ_INT(sbt_writer_blob(w, piece, sizeof(piece), reference), 0);
    }
    CHECK_EQ_INT(sbt_writer_finish(w, NULL, SBT_END_FINISHED), 0);
    sbt_writer_destroy(w);
    load_file(path);
}

struct part {
    struct sbt_reader *reader;
    size_t first, step;
    unsigned equal;
};

static void *fetch_packed(void *user)
{
    struct part *p = user;
    uint8_t *got = malloc(SBT_PIECE_SIZE), *want = malloc(SBT_PIECE_SIZE);
    size_t failed;

    for (size_t n = 0, i = p->first; n < PACKED; n++, i = (i + p->step) % PACKED) {
        const struct sbt_fetch one = {packed_keys[i], got, SBT_PIECE_SIZE};
        make_packed(want, i);
        p->equal += sbt_reader_fetch(p->reader, &one, 1, &failed) == 0 &&
                    memcmp(got, want, SBT_PIECE_SIZE) == 0;
    }
    free(got);
    free(want);
    return NULL;
}

/* Two go forward side by side, one backward, one jumps about. */
static void test_compressed(void)
{
    struct sbt_reader *r = open_file();
    struct part parts[] = {
        {r, 0, 1, 0}, {r, 0, 1, 0}, {r, PACKED - 1, PACKED - 1, 0}, {r, 3, 89, 0}};
    pthread_t threads[4];
    size_t chunks = 0;

    for (size_t i = 0; i < sbt_reader_chunk_count(r); i++)
        chunks +=
            sbt_reader_chunk(r, i)->raw_size > SBT_PIECE_SIZE && sbt_reader_chunk(r, i)->codec;
    CHECK(chunks > 8);
    for (size_t i = 0; i < 4; i++)
        CHECK_EQ_INT(pthread_create(&threads[i], NULL, fetch_packed, &parts[i]), 0);
    for (size_t i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        CHECK_EQ_INT(parts[i].equal, PACKED);
    }
    sbt_reader_destroy(r);
}

int main(void)
{
    write_pieces();
    test_orders();
    test_no_more_than_needed();
    test_lists();
    test_damage();
    write_packed();
    test_compressed();
    return check_result();
}
