/* SPDX-License-Identifier: Apache-2.0 */
#include "format/check/state.h"

#include "base/bytes.h"
#include "format/chunk/index.h"
#include "tracesmith/error.h"

#include <string.h>

/* A leaf names the chunks since the leaf before: the last entries that were collected, but for
 * leaves that the root will name. Leaves of an index that was cut off and made again count as
 * chunks, so the comparison allows for any start at or before. */
static void check_leaf(struct sbt_checker *c, const uint8_t *entries, uint32_t count)
{
    size_t size = (size_t)count * SBT_INDEX_ENTRY_SIZE;

    if (size > c->chunks.size ||
        (size && memcmp(c->chunks.data + c->chunks.size - size, entries, size) != 0))
        sbt_check_say_following(c, "the index leaf does not name the %u chunks before it", count);
    sbt_index_add(&c->leaves, &c->head, c->offset);
}

/* Leaves and what they name must add up to all chunks before the root. */
static void check_root(struct sbt_checker *c, const uint8_t *entries, uint32_t count)
{
    size_t size = (size_t)count * SBT_INDEX_ENTRY_SIZE;
    uint64_t named = count;

    if (size > c->leaves.size ||
        (size && memcmp(c->leaves.data + c->leaves.size - size, entries, size) != 0)) {
        sbt_check_say_following(c, "the index root does not name the %u leaves before it", count);
        return;
    }
    for (uint32_t i = 0; i < count; i++)
        named += tsm_get_u32(entries + (size_t)i * SBT_INDEX_ENTRY_SIZE + 8 + 16);
    if (named != c->chunks.size / SBT_INDEX_ENTRY_SIZE)
        sbt_check_say_following(c, "the index names %llu chunks of %llu", (unsigned long long)named,
                                (unsigned long long)(c->chunks.size / SBT_INDEX_ENTRY_SIZE));
    c->root = c->head;
    c->root_offset = c->offset;
}

int sbt_check_index(struct sbt_checker *c)
{
    struct tsm_view v = tsm_view_init(c->payload, c->head.raw_size);
    uint32_t kind = tsm_view_u32(&v), count = tsm_view_u32(&v);

    if (v.failed || tsm_view_left(&v) != (uint64_t)count * SBT_INDEX_ENTRY_SIZE ||
        count != c->head.count)
        sbt_check_say(c, "the index chunk is malformed");
    else if (kind == SBT_INDEX_LEAF)
        check_leaf(c, v.at, count);
    else if (kind == SBT_INDEX_ROOT)
        check_root(c, v.at, count);
    else
        sbt_check_say(c, "the index chunk is of kind %u", kind);
    return c->chunks.failed || c->leaves.failed
               ? tsm_fail(TSM_E_MEMORY, "%s: out of memory", c->name)
               : 0;
}

static void check_totals(struct sbt_checker *c, const struct sbt_totals *t)
{
    if (t->record_count != c->totals.record_count)
        sbt_check_say_following(c, "the trailer counts %llu records, there are %llu",
                                (unsigned long long)t->record_count,
                                (unsigned long long)c->totals.record_count);
    if (t->tainted_count != c->totals.tainted_count)
        sbt_check_say_following(c, "the trailer counts %llu tainting records, there are %llu",
                                (unsigned long long)t->tainted_count,
                                (unsigned long long)c->totals.tainted_count);
    if (t->stream_count != c->totals.stream_count)
        sbt_check_say_following(c, "the trailer counts %u streams, there are %u", t->stream_count,
                                c->totals.stream_count);
    if (t->lost_count < c->totals.lost_count || t->filtered_count < c->totals.filtered_count)
        sbt_check_say(c, "the trailer counts fewer lost records than its records say");
}

int sbt_check_trailer(struct sbt_checker *c)
{
    uint32_t size = SBT_CHUNK_HEADER_SIZE + c->head.stored_size;
    struct sbt_trailer t;

    c->ended = true;
    if (c->head.raw_size < SBT_TRAILER_SIZE) {
        sbt_check_say(c, "the trailer is too short");
        return 0;
    }
    sbt_trailer_get(&t, c->payload);
    if (tsm_get_u32(c->payload + c->head.raw_size - 12) != size ||
        memcmp(c->payload + c->head.raw_size - 8, sbt_end_magic, 8) != 0)
        sbt_check_say(c, "the trailer does not end as it must");
    if (t.session_size != c->offset + size)
        sbt_check_say(c, "the trailer says that the session has %llu bytes",
                      (unsigned long long)t.session_size);
    if (t.chunk_count != c->head.number + 1)
        sbt_check_say_following(c, "the trailer counts %u chunks", t.chunk_count);
    if (c->root_offset == 0 || t.root_offset != c->root_offset ||
        t.root_size != SBT_CHUNK_HEADER_SIZE + c->root.stored_size)
        sbt_check_say_following(c, "the trailer does not point at the index root");
    if (t.end == SBT_END_NONE || (t.end > SBT_END_CUT && c->header.minor == 0))
        sbt_check_say(c, "the trailer gives %u as the reason for its end", t.end);
    if (c->listed.count != c->piece_lists.count)
        sbt_check_say_following(c, "%zu of %zu BLOBS chunks are listed", c->listed.count,
                                c->piece_lists.count);
    check_totals(c, &t.totals);
    return 0;
}
