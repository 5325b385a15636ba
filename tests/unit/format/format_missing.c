/* SPDX-License-Identifier: Apache-2.0
 *
 * Each chunk of a trace damaged in turn, in each way: a reader gives every record, and says what it
 * had to ignore, or it knows that something is missing. So does whoever reads what a repair made of
 * it.
 */
#include "tests/unit/format/format_bytes.h"
#include "tests/unit/format/format_sample_check.h"

#include "format/chunk/chunk.h"

#define COUNT 60u

enum way { FLIP_HEADER, FLIP_PAYLOAD, ZEROED, REMOVED, TWICE, WAY_COUNT };

static const char *const way_names[] = {"flipped header", "flipped payload", "zeroed", "removed",
                                        "twice"};

struct place {
    uint64_t offset, size;
    uint32_t type;
};

static size_t find_chunks(const char *path, struct place *out, size_t max)
{
    struct sbt_reader *r = sample_open(path);
    size_t count = sbt_reader_chunk_count(r);

    if (!CHECK(count <= max))
        count = max;
    for (size_t i = 0; i < count; i++) {
        const struct sbt_chunk_info *c = sbt_reader_chunk(r, i);
        out[i] = (struct place){c->offset, SBT_CHUNK_HEADER_SIZE + c->stored_size, c->type};
    }
    sbt_reader_destroy(r);
    return count;
}

static struct tsm_buffer damage(const struct tsm_buffer *whole, const struct place *p, enum way way)
{
    struct tsm_buffer out = {0};
    uint64_t end = p->offset + p->size;

    tsm_buffer_add(&out, whole->data, way == REMOVED ? p->offset : end);
    if (way == FLIP_HEADER)
        out.data[p->offset + 30] ^= 4;
    else if (way == FLIP_PAYLOAD)
        out.data[end - 1 - (p->size - SBT_CHUNK_HEADER_SIZE) / 2] ^= 16;
    else if (way == ZEROED)
        memset(out.data + p->offset, 0, p->size);
    else if (way == TWICE)
        tsm_buffer_add(&out, whole->data + p->offset, p->size);
    tsm_buffer_add(&out, whole->data + end, whole->size - end);
    return out;
}

/* Losses that reading has found. */
struct knowledge {
    uint64_t records, lost;
    struct sbt_missing missing;
    size_t damage;
};

static bool look(const char *path, struct knowledge *out)
{
    const struct sbt_record *record;
    struct sbt_cursor *c = NULL;
    struct sbt_reader *r;

    *out = (struct knowledge){0};
    if (sbt_reader_open(&r, path) < 0)
        return false;
    CHECK_EQ_INT(sbt_cursor_create(&c, r, NULL, 0), 0);
    while (sbt_cursor_next(c, &record) == 1)
        out->records += record->type >> 16 == SBT_API_CUDA;
    sbt_cursor_destroy(c);
    CHECK_EQ_INT(sbt_reader_examine(r), 0);
    sbt_reader_missing(r, 0, &out->missing);
    out->lost = sbt_reader_totals(r)->lost_count;
    out->damage = sbt_reader_damage_count(r);
    sbt_reader_destroy(r);
    return true;
}

static bool knows(const struct knowledge *k)
{
    return k->missing.record_count || k->missing.chunk_count || k->missing.end || k->lost;
}

/* How many records it says are missing, at least. */
static uint64_t said(const struct knowledge *k)
{
    return k->missing.record_count + k->lost;
}

static bool judge(const struct knowledge *k)
{
    bool ok = CHECK(k->records <= COUNT);

    if (k->records < COUNT)
        ok &= CHECK(k->missing.end || said(k) >= COUNT - k->records);
    return ok;
}

/* A repair keeps what was known. */
static bool judge_repaired(const char *path, const struct knowledge *before)
{
    struct knowledge after, again;
    uint64_t lost;
    int result = sbt_repair(path, &lost);
    bool ok = CHECK(result >= 0) && CHECK(look(path, &after)) && judge(&after);

    if (!ok)
        return false;
    ok &= CHECK(!knows(before) || knows(&after));
    ok &= CHECK(said(&after) >= said(before) || after.missing.end);
    ok &= CHECK_EQ_INT(sbt_repair(path, &lost), 0) && CHECK(look(path, &again));
    return ok && CHECK_EQ_INT((long long)said(&again), (long long)said(&after));
}

static void test_chunks(const struct tsm_buffer *whole, const struct place *chunks, size_t count)
{
    const char *path = sample_path("damaged.sbt");

    for (size_t i = 0; i < count; i++) {
        for (int way = 0; way < WAY_COUNT; way++) {
            struct tsm_buffer bytes = damage(whole, &chunks[i], (enum way)way);
            struct knowledge k;
            bool opened, ok = true;
            file_write(path, bytes.data, bytes.size);
            tsm_buffer_finish(&bytes);
            opened = look(path, &k);
            if (opened)
                ok = CHECK(k.damage > 0) && judge(&k) && judge_repaired(path, &k);
            else
                ok = CHECK_EQ_INT(chunks[i].type, SBT_CHUNK_STREAM_INFO);
            if (!ok)
                fprintf(stderr, "  chunk %zu (%s), %s\n", i, sbt_chunk_type_name(chunks[i].type),
                        way_names[way]);
        }
    }
}

/* Losses after the inspected part do not matter to it. */
static void test_part(const struct tsm_buffer *whole, const struct place *chunks, size_t count)
{
    const char *path = sample_path("part.sbt");
    struct tsm_buffer bytes = {0};
    struct sbt_missing missing;
    struct sbt_reader *r;
    size_t last = count;

    while (chunks[--last].type != SBT_CHUNK_EVENTS)
        ;
    tsm_buffer_add(&bytes, whole->data, chunks[last].offset);
    file_write(path, bytes.data, bytes.size);
    tsm_buffer_finish(&bytes);
    r = sample_open(path);
    sbt_reader_missing(r, 10, &missing);
    CHECK(!missing.record_count && !missing.end);
    sbt_reader_missing(r, 1u << 30, &missing);
    CHECK(missing.end);
    sbt_reader_missing(r, 0, &missing);
    CHECK(missing.end);
    sbt_reader_destroy(r);
}

/* ---- a disk that fails for a while ---- */

struct weak {
    struct tsm_buffer bytes;
    bool fails;
};

static int64_t weak_read_at(void *user, uint64_t offset, void *out, size_t size)
{
    const struct weak *w = user;
    struct memory memory = {.data = w->bytes.data, .size = w->bytes.size};

    return w->fails ? tsm_fail(TSM_E_IO, "cannot read")
                    : memory_read_at(&memory, offset, out, size);
}

static uint64_t weak_size(void *user)
{
    return ((const struct weak *)user)->bytes.size;
}

/* Bytes that cannot be read are reported, and are back when they can. */
static void test_faults(const struct tsm_buffer *whole)
{
    struct weak weak = {.bytes = *whole};
    struct sbt_source source = {.read_at = weak_read_at, .size = weak_size, .user = &weak};
    const uint64_t *frames;
    struct sbt_missing missing;
    struct sbt_reader *r;

    if (!CHECK_EQ_INT(sbt_reader_open_source(&r, &source, "weak"), 0))
        return;
    weak.fails = true;
    CHECK(!sbt_reader_string(r, 5));
    CHECK_EQ_INT(sbt_reader_stack(r, 5, &frames), TSM_E_IO);
    CHECK_EQ_INT((long long)sbt_reader_mapping_count(r), 0);
    sbt_reader_missing(r, 0, &missing);
    CHECK(missing.chunk_count > 0);
    CHECK(sbt_reader_damage_count(r) > 0);
    weak.fails = false;
    CHECK_EQ_STR(sbt_reader_string(r, 5), "string 5");
    CHECK_EQ_INT(sbt_reader_stack(r, 5, &frames), 5);
    CHECK_EQ_INT((long long)sbt_reader_mapping_count(r), 1);
    sbt_reader_destroy(r);
}

int main(void)
{
    const struct sbt_writer_options options = {.chunk_size = 4000};
    const char *path = sample_path("whole.sbt");
    struct place chunks[200];
    struct tsm_buffer whole;
    size_t count;

    if (!CHECK_EQ_INT(sample_write(path, COUNT, &options), 0))
        return check_result();
    count = find_chunks(path, chunks, 200);
    whole = file_read(path);
    test_chunks(&whole, chunks, count);
    test_part(&whole, chunks, count);
    test_faults(&whole);
    tsm_buffer_finish(&whole);
    return check_result();
}
