/* SPDX-License-Identifier: Apache-2.0
 *
 * Repairs of traces that were cut at every byte, of which sectors never reached the disk, or chunks
 * are damaged, or say that they have other sizes: what comes out keeps every rule, a second repair
 * changes nothing, and what is missing stays known. Arguments: more traces to be damaged.
 */
#include "tests/unit/format/format_bytes.h"
#include "tests/unit/format/format_sample_check.h"

#include "base/bytes.h"
#include "base/hash.h"
#include "format/chunk/chunk.h"

#include <stdint.h>

#define SECTOR   512u
#define WHOLE_AT 3000u /* a larger trace is cut at a stride */

struct knowledge {
    bool opens;
    uint64_t records, lost;
    struct sbt_missing missing;
};

static struct knowledge look(const char *path)
{
    struct knowledge k = {0};
    const struct sbt_record *record;
    struct sbt_cursor *c = NULL;
    struct sbt_reader *r;

    k.opens = sbt_reader_open(&r, path) == 0;
    if (!k.opens)
        return k;
    CHECK_EQ_INT(sbt_cursor_create(&c, r, NULL, 0), 0);
    while (sbt_cursor_next(c, &record) == 1)
        k.records += record->type != SBT_TYPE(SBT_API_CORE, SBT_CORE_LOST);
    sbt_cursor_destroy(c);
    CHECK_EQ_INT(sbt_reader_examine(r), 0);
    sbt_reader_missing(r, 0, &k.missing);
    k.lost = sbt_reader_totals(r)->lost_count;
    sbt_reader_destroy(r);
    return k;
}

static bool knows(const struct knowledge *k)
{
    return k->missing.record_count || k->missing.chunk_count || k->missing.end || k->lost;
}

static void print_violation(void *user, uint64_t offset, const char *text)
{
    (void)user;
    fprintf(stderr, "  offset %llu: %s\n", (unsigned long long)offset, text);
}

static bool same_file(const char *path, const struct tsm_buffer *bytes)
{
    struct tsm_buffer now = file_read(path);
    bool same = now.size == bytes->size && memcmp(now.data, bytes->data, now.size) == 0;

    tsm_buffer_finish(&now);
    return same;
}

/* `total`: records of the whole trace. */
static bool judge(const char *path, uint64_t total)
{
    struct knowledge before = look(path), after;
    struct tsm_buffer repaired;
    uint64_t lost;
    int result;
    bool ok;

    if (!before.opens)
        return true;
    result = sbt_repair(path, &lost);
    ok = CHECK(result >= 0) && CHECK_EQ_INT(sbt_check(path, print_violation, NULL), 0);
    if (!ok)
        return false;
    after = look(path);
    ok = CHECK(after.opens) && CHECK(!knows(&before) || knows(&after));
    ok &= CHECK(after.records == total || knows(&after));
    repaired = file_read(path);
    ok &= CHECK_EQ_INT(sbt_repair(path, &lost), 0) && CHECK(same_file(path, &repaired));
    tsm_buffer_finish(&repaired);
    return ok;
}

/* One of so many cases is tried; with TS_TEST_ALL each. */
static unsigned share(void)
{
    return getenv("TS_TEST_ALL") ? 1 : 11;
}

static void test_cuts(const char *path, const struct tsm_buffer *whole, uint64_t total)
{
    size_t stride = (whole->size < WHOLE_AT ? 1 : whole->size / WHOLE_AT * 4 + 3) * share();

    for (size_t size = 1; size < whole->size; size += stride) {
        file_write(path, whole->data, size);
        if (!judge(path, total))
            fprintf(stderr, "  cut at %zu of %zu\n", size, whole->size);
    }
}

static void zero_sector(struct tsm_buffer *bytes, size_t sector)
{
    size_t at = sector * SECTOR;

    if (at < bytes->size)
        memset(bytes->data + at, 0, bytes->size - at < SECTOR ? bytes->size - at : SECTOR);
}

/* Sectors from `first` on, those whose bit is set. */
static void test_zeros(const char *path, const struct tsm_buffer *whole, uint64_t total,
                       size_t first, uint32_t set)
{
    struct tsm_buffer bytes = {0};

    tsm_buffer_add(&bytes, whole->data, whole->size);
    for (size_t i = 0; i < 32; i++)
        if (set >> i & 1)
            zero_sector(&bytes, first + i);
    file_write(path, bytes.data, bytes.size);
    if (!judge(path, total))
        fprintf(stderr, "  sectors %zu + %#x of %zu\n", first, set, whole->size / SECTOR);
    tsm_buffer_finish(&bytes);
}

/* ---- damaged chunks ---- */

struct chunk_place {
    size_t at;
    struct sbt_chunk head;
};

static size_t list_chunks(const struct tsm_buffer *whole, struct chunk_place *out, size_t max)
{
    size_t count = 0, at = tsm_get_u32(whole->data + 12);

    while (at < whole->size && count < max && sbt_chunk_get(&out[count].head, whole->data + at)) {
        out[count].at = at;
        at += SBT_CHUNK_HEADER_SIZE + out[count++].head.stored_size;
    }
    return count;
}

/* The first chunk is what nothing can be read without. What can be read before a repair can be read
 * after it. */
static void judge_chunk(const char *path, const struct tsm_buffer *bytes, uint64_t total,
                        const struct chunk_place *c, const char *way, uint64_t value)
{
    struct knowledge before;

    file_write(path, bytes->data, bytes->size);
    before = look(path);
    if (!judge(path, total) || !CHECK(!before.opens || look(path).records >= before.records))
        fprintf(stderr, "  %s chunk %u at %zu: %s %llu\n", sbt_chunk_type_name(c->head.type),
                c->head.number, c->at, way, (unsigned long long)value);
}

/* A field of the header, whose checksum is made right. */
static void change_header(const char *path, struct tsm_buffer *bytes, uint64_t total,
                          const struct chunk_place *c, size_t field, uint64_t value)
{
    uint8_t old[SBT_CHUNK_HEADER_SIZE], *at = bytes->data + c->at;

    memcpy(old, at, sizeof(old));
    tsm_put_u32(at + field, (uint32_t)value);
    tsm_put_u64(at + 88, tsm_hash64(at, 88));
    judge_chunk(path, bytes, total, c, field == 28 ? "raw size" : "stored size", value);
    tsm_put_u32(at + 28, (uint32_t)value); /* both, as of a payload that is not compressed */
    tsm_put_u64(at + 88, tsm_hash64(at, 88));
    judge_chunk(path, bytes, total, c, "both sizes", value);
    memcpy(at, old, sizeof(old));
}

static void change_byte(const char *path, struct tsm_buffer *bytes, uint64_t total,
                        const struct chunk_place *c, size_t byte)
{
    uint8_t *at = bytes->data + c->at + byte;

    *at ^= 0x10;
    judge_chunk(path, bytes, total, c, "byte", byte);
    *at ^= 0x10;
}

static void test_chunks(const char *path, const struct tsm_buffer *whole, uint64_t total)
{
    static struct chunk_place chunks[1000];
    struct tsm_buffer bytes = {0};
    size_t count = list_chunks(whole, chunks, 1000), step = (count / 40 + 1) * share();

    CHECK(count > 3 && count < 1000);
    tsm_buffer_add(&bytes, whole->data, whole->size);
    for (size_t i = 1; i < count; i += i + 5 < count ? step : 1) {
        const struct chunk_place *c = &chunks[i];
        const uint64_t size = c->head.stored_size,
                       left = whole->size - c->at - SBT_CHUNK_HEADER_SIZE;
        const uint64_t next =
            i + 1 < count ? SBT_CHUNK_HEADER_SIZE + chunks[i + 1].head.stored_size : 0;
        const uint64_t sizes[] = {
            0,        1,    size - 1, size + 1,    size + next, size + next + 96,
            left - 1, left, left + 1, left + 1000, 64u << 20,   UINT32_MAX};
        for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
            change_header(path, &bytes, total, c, 32, sizes[k]);
            change_header(path, &bytes, total, c, 28, sizes[k]);
        }
        change_byte(path, &bytes, total, c, 3);
        change_byte(path, &bytes, total, c, 13);
        change_byte(path, &bytes, total, c, 90);
        if (size)
            change_byte(path, &bytes, total, c, SBT_CHUNK_HEADER_SIZE + size / 2);
    }
    tsm_buffer_finish(&bytes);
}

static void test_trace(const char *name)
{
    const char *path = sample_path("repaired.sbt");
    struct tsm_buffer whole = file_read(name);
    size_t sectors = whole.size / SECTOR + 1, last = sectors > 7 ? sectors - 7 : 2;
    uint64_t total;

    file_write(path, whole.data, whole.size);
    total = look(path).records;
    test_cuts(path, &whole, total);
    for (uint32_t set = 1; set < 128; set += share())
        test_zeros(path, &whole, total, last, set);
    for (size_t sector = 2; sector < sectors; sector += sectors / 32 + 1) {
        test_zeros(path, &whole, total, sector, 1);
        test_zeros(path, &whole, total, sector, 5);
    }
    test_chunks(path, &whole, total);
    tsm_buffer_finish(&whole);
}

int main(int argc, char **argv)
{
    const struct sbt_writer_options options = {.chunk_size = 2500};
    char path[200];

    snprintf(path, sizeof(path), "%s", sample_path("sample.sbt"));
    if (CHECK_EQ_INT(sample_write(path, 30, &options), 0))
        test_trace(path);
    for (int i = 1; i < argc; i++)
        test_trace(argv[i]);
    return check_result();
}
