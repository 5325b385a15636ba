/* SPDX-License-Identifier: Apache-2.0
 *
 * Each byte of index and trailer changed in turn, with checksums that fit. A reader gives what is
 * in the file or says that something is wrong; the checker finds fault with each file that the
 * reader does, and with each that is read as less than it is.
 */
#include "tests/unit/format/format_bytes.h"
#include "tests/unit/format/format_sample_check.h"

#include "base/bytes.h"
#include "base/hash.h"
#include "format/chunk/chunk.h"
#include "format/chunk/index.h"

#define COUNT 40u

struct place {
    uint64_t offset, stored_size;
    uint32_t type;
};

/* Content of the file, whatever its index says. */
struct found {
    bool opens;
    uint64_t records;
    size_t damage;
    struct sbt_missing missing;
    struct sbt_totals totals;
};

static struct found look(const char *path)
{
    struct found f = {0};
    const struct sbt_record *record;
    struct sbt_cursor *c = NULL;
    struct sbt_reader *r;

    f.opens = sbt_reader_open(&r, path) == 0;
    if (!f.opens)
        return f;
    CHECK_EQ_INT(sbt_cursor_create(&c, r, NULL, 0), 0);
    while (sbt_cursor_next(c, &record) == 1) {
        CHECK(sample_same(record, record->seq));
        f.records++;
    }
    sbt_cursor_destroy(c);
    CHECK_EQ_INT(sbt_reader_examine(r), 0);
    f.damage = sbt_reader_damage_count(r);
    f.totals = *sbt_reader_totals(r);
    sbt_reader_missing(r, 0, &f.missing);
    sbt_reader_destroy(r);
    return f;
}

static void ignore_violation(void *user, uint64_t offset, const char *text)
{
    (void)user;
    (void)offset;
    (void)text;
}

/* Checksums of a chunk whose payload is stored as it is. */
static void seal(uint8_t *chunk)
{
    uint32_t size = tsm_get_u32(chunk + 32);

    tsm_put_u64(chunk + 80, tsm_hash64(chunk + SBT_CHUNK_HEADER_SIZE, size));
    tsm_put_u64(chunk + 88, tsm_hash64(chunk, 88));
}

static bool judge(const char *path, const struct found *whole)
{
    struct found f = look(path);
    int violations = sbt_check(path, ignore_violation, NULL);
    /* Lost and filtered may be more than the records say. */
    bool is_less = f.records != whole->records ||
                   f.totals.record_count != whole->totals.record_count ||
                   f.totals.tainted_count != whole->totals.tainted_count ||
                   f.totals.stream_count != whole->totals.stream_count;
    bool ok = true;

    if (!f.opens)
        return CHECK(violations != 0);
    if (violations == 0)
        ok &= CHECK(!f.damage && !is_less);
    if (f.damage)
        ok &= CHECK(violations != 0);
    if (f.records < whole->records)
        ok &= CHECK(f.damage > 0) && CHECK(f.missing.record_count + f.missing.end >= 1);
    return ok;
}

static void change(const struct tsm_buffer *bytes, const struct place *p, const char *path,
                   const struct found *whole)
{
    uint8_t *chunk = bytes->data + p->offset, *payload = chunk + SBT_CHUNK_HEADER_SIZE;
    static const uint8_t flips[] = {1, 0x80, 0xff};

    for (size_t i = 0; i < p->stored_size; i++) {
        for (size_t k = 0; k < sizeof(flips); k++) {
            payload[i] ^= flips[k];
            seal(chunk);
            file_write(path, bytes->data, bytes->size);
            if (!judge(path, whole))
                fprintf(stderr, "  byte %zu of the %s, ^ %#x\n", i, sbt_chunk_type_name(p->type),
                        flips[k]);
            payload[i] ^= flips[k];
            seal(chunk);
        }
    }
}

/* ---- indexes of our own: stored raw, so that bytes can be changed ---- */

struct made {
    struct tsm_buffer bytes;
    struct place places[3]; /* leaf, root, trailer */
};

/* Appends an INDEX chunk, and its entry to `up`. */
static struct place add_index(struct tsm_buffer *out, enum sbt_index_kind kind, uint32_t number,
                              const struct tsm_buffer *entries, struct tsm_buffer *up)
{
    struct place p = {.offset = out->size, .type = SBT_CHUNK_INDEX};
    uint8_t bytes[SBT_CHUNK_HEADER_SIZE];
    struct tsm_buffer raw = {0};
    struct sbt_chunk head = {.type = SBT_CHUNK_INDEX,
                             .flags = SBT_CHUNK_CRITICAL,
                             .number = number,
                             .session = tsm_get_u32(sample_session.id)};

    head.count = sbt_index_put(&raw, kind, entries);
    head.raw_size = head.stored_size = (uint32_t)raw.size;
    head.payload_hash = tsm_hash64(raw.data, raw.size);
    p.stored_size = raw.size;
    sbt_chunk_put(bytes, &head);
    tsm_buffer_add(out, bytes, sizeof(bytes));
    tsm_buffer_add(out, raw.data, raw.size);
    tsm_buffer_finish(&raw);
    sbt_index_add(up, &head, p.offset);
    return p;
}

/* `body`: the chunks before the index, `number` of them. `leaf`: the entries that it is to have. */
static struct made make(const struct tsm_buffer *body, const uint8_t *trailer, uint32_t number,
                        const struct tsm_buffer *leaf, bool names_leaf)
{
    struct tsm_buffer leaves = {0}, none = {0}, root = {0};
    struct made m = {0};
    uint8_t *payload;

    tsm_buffer_add(&m.bytes, body->data, body->size);
    m.places[0] = add_index(&m.bytes, SBT_INDEX_LEAF, number, leaf, &leaves);
    m.places[1] =
        add_index(&m.bytes, SBT_INDEX_ROOT, number + 1, names_leaf ? &leaves : &none, &root);
    m.places[2] = (struct place){m.bytes.size, SBT_TRAILER_SIZE, SBT_CHUNK_TRAILER};
    tsm_buffer_add(&m.bytes, trailer, SBT_TRAILER_CHUNK_SIZE);
    payload = m.bytes.data + m.places[2].offset + SBT_CHUNK_HEADER_SIZE;
    tsm_put_u32(payload + 44, (uint32_t)(m.places[2].offset - m.places[1].offset));
    tsm_put_u64(payload + 48, m.places[1].offset);
    tsm_put_u64(payload + 56, m.bytes.size);
    seal(m.bytes.data + m.places[2].offset);
    tsm_buffer_finish(&leaves);
    tsm_buffer_finish(&none);
    tsm_buffer_finish(&root);
    return m;
}

/* Entries left out, twice, in another order; none at all. */
static void shuffle(const struct tsm_buffer *body, const uint8_t *trailer, uint32_t count,
                    const struct tsm_buffer *entries, const char *path, const struct found *whole)
{
    for (uint32_t i = 0; i < count; i++) {
        for (int way = 0; way < 4; way++) {
            const uint8_t *at = entries->data + (size_t)i * SBT_INDEX_ENTRY_SIZE;
            size_t before = (size_t)i * SBT_INDEX_ENTRY_SIZE, rest = entries->size - before;
            size_t skip = way == 0 ? SBT_INDEX_ENTRY_SIZE : way == 1 ? rest : 0;
            struct tsm_buffer leaf = {0};
            struct made m;

            if (way == 3) /* only the last ones */
                before = 0;
            tsm_buffer_add(&leaf, entries->data, before);
            if (way == 2)
                tsm_buffer_add(&leaf, at, SBT_INDEX_ENTRY_SIZE);
            tsm_buffer_add(&leaf, at + skip, rest - skip);
            m = make(body, trailer, count, &leaf, way != 1 || i != 0);
            file_write(path, m.bytes.data, m.bytes.size);
            if (!judge(path, whole) || !CHECK(look(path).records == whole->records))
                fprintf(stderr, "  entry %u, way %d\n", i, way);
            tsm_buffer_finish(&leaf);
            tsm_buffer_finish(&m.bytes);
        }
    }
}

/* Entries of all chunks before the index, and in *end where the last of these ends. */
static uint32_t collect(const char *path, const struct tsm_buffer *whole, struct tsm_buffer *out,
                        uint64_t *end)
{
    struct sbt_reader *r = sample_open(path);
    uint32_t count = 0;

    while (sbt_reader_chunk(r, count)->type != SBT_CHUNK_INDEX) {
        const struct sbt_chunk_info *info = sbt_reader_chunk(r, count++);
        struct sbt_chunk head;
        CHECK(sbt_chunk_get(&head, whole->data + info->offset));
        sbt_index_add(out, &head, info->offset);
        *end = info->offset + SBT_CHUNK_HEADER_SIZE + info->stored_size;
    }
    sbt_reader_destroy(r);
    return count;
}

int main(void)
{
    const struct sbt_writer_options options = {.chunk_size = 6000};
    struct tsm_buffer whole, body = {0}, entries = {0};
    const uint8_t *trailer;
    struct found found;
    struct made made;
    uint64_t end = 0;
    char path[200];
    uint32_t count;

    snprintf(path, sizeof(path), "%s", sample_path("indexed.sbt"));
    if (!CHECK_EQ_INT(sample_write(path, COUNT, &options), 0))
        return check_result();
    whole = file_read(path);
    count = collect(path, &whole, &entries, &end);
    tsm_buffer_add(&body, whole.data, end);
    trailer = whole.data + whole.size - SBT_TRAILER_CHUNK_SIZE;
    made = make(&body, trailer, count, &entries, true);
    file_write(path, made.bytes.data, made.bytes.size);
    found = look(path);
    CHECK_EQ_INT((long long)found.records, COUNT);
    CHECK_EQ_INT((long long)found.damage, 0);
    CHECK_EQ_INT(sbt_check(path, ignore_violation, NULL), 0);
    for (size_t i = 0; i < 3; i++)
        change(&made.bytes, &made.places[i], path, &found);
    shuffle(&body, trailer, count, &entries, path, &found);
    tsm_buffer_finish(&made.bytes);
    tsm_buffer_finish(&whole);
    tsm_buffer_finish(&body);
    tsm_buffer_finish(&entries);
    return check_result();
}
