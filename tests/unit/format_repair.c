/* SPDX-License-Identifier: Apache-2.0
 *
 * Repairs of traces that were cut at every byte, or of which sectors never reached the disk: what
 * comes out keeps every rule, a second repair changes nothing, and what is missing stays known.
 * Arguments: more traces to be damaged.
 */
#include "tests/unit/format_bytes.h"
#include "tests/unit/format_sample_check.h"

#include "format/chunk.h"

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

static void test_cuts(const char *path, const struct tsm_buffer *whole, uint64_t total)
{
    size_t stride = whole->size < WHOLE_AT ? 1 : whole->size / WHOLE_AT * 4 + 3;

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

static void test_trace(const char *name)
{
    const char *path = sample_path("repaired.sbt");
    struct tsm_buffer whole = file_read(name);
    size_t sectors = whole.size / SECTOR + 1, last = sectors > 7 ? sectors - 7 : 2;
    uint64_t total;

    file_write(path, whole.data, whole.size);
    total = look(path).records;
    test_cuts(path, &whole, total);
    for (uint32_t set = 1; set < 128; set++)
        test_zeros(path, &whole, total, last, set);
    for (size_t sector = 2; sector < sectors; sector += sectors / 32 + 1) {
        test_zeros(path, &whole, total, sector, 1);
        test_zeros(path, &whole, total, sector, 5);
    }
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
