/* SPDX-License-Identifier: Apache-2.0
 *
 * A trace that was cut at any byte, whose bytes were flipped, that something was appended to. What
 * is read is either right or said to be damaged; a repaired trace is whole again; an appended one
 * goes on where it stopped.
 */
#include "tests/unit/format/format_bytes.h"
#include "tests/unit/format/format_sample_check.h"

#define SMALL_COUNT 40u
#define CHECK_EVERY 7u /* sbt_check() needs a file, which is slow; 7 visits each kind of byte */

static const struct sbt_writer_options small = {.chunk_size = 2000};

/* ---- reading all there is ---- */

struct outcome {
    int error; /* of opening */
    size_t records, damage;
    bool wrong; /* something was read that was not written */
};

static void read_tables(struct sbt_reader *r, struct outcome *o)
{
    const char *text = sbt_reader_metadata_find(r, "process.name");
    const struct sbt_mapping *mapping = sbt_reader_mapping(r, 0);
    const uint64_t *frames;

    o->wrong |= text && strcmp(text, "sample \"quoted\" \xc3\xa9") != 0;
    o->wrong |= mapping && strcmp(mapping->path, "/usr/lib/libx.so") != 0;
    for (uint32_t i = 1; i <= 20; i++) {
        char want[32];
        snprintf(want, sizeof(want), "string %u", i);
        text = sbt_reader_string(r, i);
        o->wrong |= text && strcmp(text, want) != 0;
    }
    for (uint32_t i = 1; i <= 10; i++) {
        int count = sbt_reader_stack(r, i, &frames);
        o->wrong |= count > 0 && count != (int)i;
    }
    text = sbt_reader_enum_name(r, "colour", 1);
    o->wrong |= text && strcmp(text, "GREEN") != 0;
}

static bool blob_is_wrong(struct sbt_reader *r, const struct sbt_record *record)
{
    static uint8_t want[SAMPLE_BLOB_MAX], got[SAMPLE_BLOB_MAX];
    struct sbt_blob blob;
    size_t size;

    if (record->type != SAMPLE_TYPE_ALL || !sbt_record_blob(record, 14, &blob))
        return false;
    size = sample_blob(record->seq, want);
    return blob.size != size ||
           (sbt_reader_blob(r, &blob, 0, got, size) == 0 && memcmp(got, want, size) != 0);
}

static struct outcome read_all(const void *data, size_t size)
{
    struct memory memory = {.data = data, .size = size};
    struct sbt_source source = {
        .read_at = memory_read_at, .size = memory_size, .user = &memory};
    const struct sbt_record *record;
    struct sbt_reader *r;
    struct sbt_cursor *c;
    struct outcome o = {.error = sbt_reader_open_source(&r, &source, "memory")};

    if (o.error)
        return o;
    read_tables(r, &o);
    CHECK_EQ_INT(sbt_cursor_create(&c, r, NULL, 0), 0);
    while (sbt_cursor_next(c, &record) == 1) {
        o.wrong |= !sample_same(record, record->seq) || blob_is_wrong(r, record);
        o.records++;
    }
    sbt_cursor_destroy(c);
    CHECK_EQ_INT(sbt_reader_examine(r), 0); /* also of what no record needs */
    o.damage = sbt_reader_damage_count(r);
    sbt_reader_destroy(r);
    return o;
}

/* ---- sbt_check() ---- */

static void print_violation(void *user, uint64_t offset, const char *text)
{
    if (user)
        fprintf(stderr, "  offset %llu: %s\n", (unsigned long long)offset, text);
}

static int check_file(const char *path, bool verbose)
{
    return sbt_check(path, print_violation, verbose ? stderr : NULL);
}

/* ---- tests ---- */

static void test_cut_anywhere(const struct tsm_buffer *whole)
{
    size_t records_before = 0;

    for (size_t size = 0; size < whole->size; size++) {
        struct outcome o = read_all(whole->data, size);
        if (o.error == 0) {
            CHECK(!o.wrong);
            CHECK(o.damage > 0);
            CHECK(o.records >= records_before); /* a longer prefix never holds less */
            records_before = o.records;
        } else {
            CHECK_EQ_INT(o.error, TSM_E_FORMAT);
            CHECK_EQ_INT((long long)records_before, 0);
            CHECK(strlen(tsm_error_message()) > 10);
        }
    }
    CHECK_EQ_INT((long long)records_before, SMALL_COUNT);
}

static void test_flip_anywhere(const struct tsm_buffer *whole)
{
    char path[160];
    uint8_t *bytes = malloc(whole->size);

    strcpy(path, sample_path("flipped.sbt"));
    memcpy(bytes, whole->data, whole->size);
    for (size_t i = 0; i < whole->size; i++) {
        struct outcome o;
        bytes[i] ^= (uint8_t)(1u << (i % 8));
        o = read_all(bytes, whole->size);
        if (!CHECK(!o.wrong) || !CHECK(o.error || o.damage))
            fprintf(stderr, "  flipped byte %zu\n", i);
        CHECK(o.error || o.damage || o.records == SMALL_COUNT);
        if (i % CHECK_EVERY == 0) {
            file_write(path, bytes, whole->size);
            if (!CHECK(check_file(path, false) != 0))
                fprintf(stderr, "  flipped byte %zu\n", i);
        }
        bytes[i] = whole->data[i];
    }
    free(bytes);
}

/* Cut in the middle of each chunk in turn, repair, check that it is whole and holds what it may. */
static void test_repair(const struct tsm_buffer *whole)
{
    const char *path = sample_path("repair.sbt");
    uint64_t lost;

    for (size_t size = 400; size < whole->size; size += 97) {
        struct outcome before = read_all(whole->data, size), after;
        struct tsm_buffer repaired;
        if (before.error)
            continue;
        file_write(path, whole->data, size);
        if (!CHECK_EQ_INT(sbt_repair(path, &lost), 1))
            fprintf(stderr, "  at %zu: %s\n", size, tsm_error_message());
        repaired = file_read(path);
        after = read_all(repaired.data, repaired.size);
        CHECK(!after.wrong && !after.error);
        CHECK_EQ_INT((long long)after.damage, 0);
        CHECK_EQ_INT((long long)after.records, (long long)before.records);
        CHECK_EQ_INT(sbt_repair(path, &lost), 0);
        CHECK_EQ_INT(check_file(path, true), 0);
        tsm_buffer_finish(&repaired);
    }
}

/* A trace whose middle is lost says so before and after repair. */
static void test_hole(const struct tsm_buffer *whole)
{
    const char *path = sample_path("hole.sbt");
    struct tsm_buffer holed = {0};
    struct outcome o;
    uint64_t lost;

    tsm_buffer_add(&holed, whole->data, whole->size);
    memset(holed.data + whole->size / 2, 0x55, 300);
    file_write(path, holed.data, whole->size - 20);
    CHECK_EQ_INT(sbt_repair(path, &lost), 1);
    tsm_buffer_finish(&holed);
    holed = file_read(path);
    o = read_all(holed.data, holed.size);
    CHECK(!o.error && !o.wrong && o.damage > 0);
    CHECK(o.records > 0 && o.records < SMALL_COUNT);
    tsm_buffer_finish(&holed);
}

static void append_rest(const char *path, uint64_t first, uint64_t end)
{
    struct sbt_writer_options options = {.append = true, .chunk_size = 2000};
    struct sbt_writer *w;

    if (!CHECK_EQ_INT(sbt_writer_create(&w, path, NULL, &options), 0)) {
        fprintf(stderr, "%s\n", tsm_error_message());
        return;
    }
    CHECK_EQ_INT(sample_tables(w), 0); /* all repeated: ignored */
    CHECK_EQ_INT(sample_records(w, first, end), 0);
    CHECK_EQ_INT(sbt_writer_finish(w, NULL, SBT_END_RECOVERED), 0);
    sbt_writer_destroy(w);
}

static void test_append(const struct tsm_buffer *whole)
{
    const char *path = sample_path("append.sbt");

    for (size_t size = whole->size / 3; size <= whole->size; size += whole->size / 3) {
        size_t cut = size + 3 > whole->size ? whole->size : size;
        struct outcome before = read_all(whole->data, cut), after;
        struct tsm_buffer both;
        file_write(path, whole->data, cut);
        append_rest(path, before.records, 100);
        both = file_read(path);
        after = read_all(both.data, both.size);
        CHECK(!after.wrong && !after.error);
        CHECK_EQ_INT((long long)after.damage, 0);
        CHECK_EQ_INT((long long)after.records, 100);
        CHECK_EQ_INT(check_file(path, true), 0);
        tsm_buffer_finish(&both);
    }
}

static void test_two_sessions(const struct tsm_buffer *whole)
{
    const char *path = sample_path("two.sbt");
    struct tsm_buffer both = {0};
    struct sbt_reader *r;
    uint64_t lost;

    tsm_buffer_add(&both, whole->data, whole->size);
    tsm_buffer_add(&both, whole->data, whole->size);
    file_write(path, both.data, both.size);
    r = sample_open(path);
    CHECK_EQ_INT(sbt_reader_end(r), SBT_END_FINISHED);
    CHECK_EQ_INT((long long)sbt_reader_totals(r)->record_count, SMALL_COUNT);
    CHECK(strstr(sbt_reader_damage(r, 1), "another session starts here"));
    sbt_reader_destroy(r);
    CHECK_EQ_INT(sbt_repair(path, &lost), TSM_E_UNSUPPORTED);
    tsm_buffer_finish(&both);
}

int main(void)
{
    const char *path = sample_path("whole.sbt");
    struct tsm_buffer whole;
    struct outcome o;

    if (!CHECK_EQ_INT(sample_write(path, SMALL_COUNT, &small), 0))
        return check_result();
    CHECK_EQ_INT(check_file(path, true), 0);
    whole = file_read(path);
    o = read_all(whole.data, whole.size);
    CHECK(!o.error && !o.wrong && o.damage == 0 && o.records == SMALL_COUNT);
    test_cut_anywhere(&whole);
    test_flip_anywhere(&whole);
    test_repair(&whole);
    test_hole(&whole);
    test_append(&whole);
    test_two_sessions(&whole);
    tsm_buffer_finish(&whole);
    return check_result();
}
