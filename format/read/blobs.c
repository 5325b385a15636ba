/* SPDX-License-Identifier: Apache-2.0
 *
 * Finding pieces. Where each lies comes from the PIECES chunks, or from the BLOBS chunks themselves
 * when a trace was cut off before its index. Once that is known it does not change, and is read
 * without the lock.
 */
#include "format/read/state.h"

#include "base/array.h"
#include "base/bytes.h"
#include "base/hash.h"
#include "format/chunk/index.h"
#include "format/keyset.h"
#include "format/limits.h"

#include <stdlib.h>
#include <string.h>

/* Chunk with this number, or entry_count. */
static size_t entry_by_number(const struct sbt_reader *r, uint32_t number)
{
    size_t at;

    TSM_BISECT(at, r->entry_count, r->entries[at].head.number >= number);
    return at < r->entry_count && r->entries[at].head.number == number ? at : r->entry_count;
}

/* `count` entries of key and size, of pieces that lie one after the other from the payload's start.
 * Returns NULL, or what is wrong. */
static const char *add_pieces(struct sbt_reader *r, size_t place, const uint8_t *entries,
                              uint32_t count)
{
    const struct sbt_chunk *head = &r->entries[place].head;
    uint64_t room = head->raw_size, offset = 0;

    if ((uint64_t)count * SBT_PIECE_ENTRY_SIZE > room)
        return "its list of pieces is too long";
    room -= (uint64_t)count * SBT_PIECE_ENTRY_SIZE;
    for (uint32_t i = 0; i < count; i++, entries += SBT_PIECE_ENTRY_SIZE) {
        struct sbt_piece_place *piece;
        uint32_t size = tsm_get_u32(entries + 16);
        if (!TSM_ARRAY_RESERVE(r->pieces, r->piece_capacity, r->piece_count + 1))
            return sbt_no_memory;
        if (size == 0 || size > SBT_PIECE_SIZE || size > room - offset)
            return "a piece is out of bounds";
        piece = &r->pieces[r->piece_count++];
        *piece = (struct sbt_piece_place){
            .entry = (uint32_t)place, .offset = (uint32_t)offset, .size = size};
        memcpy(piece->key.bytes, entries, sizeof(piece->key.bytes));
        offset += size;
    }
    return NULL;
}

/* Pieces that a PIECES chunk lists. */
static int load_listed(struct sbt_reader *r, size_t place)
{
    const struct sbt_chunk *head = &r->entries[place].head;
    uint8_t *payload;
    struct tsm_view v;
    int error = sbt_reader_load(r, &r->packer, place, &payload, true);

    if (error)
        return error == TSM_E_CHECKSUM ? 0 : error;
    v = tsm_view_init(payload, head->raw_size);
    for (uint32_t i = 0; i < head->count; i++) {
        size_t blobs = entry_by_number(r, tsm_view_u32(&v));
        uint32_t count = tsm_view_u32(&v);
        const uint8_t *entries = tsm_view_take(&v, (size_t)count * SBT_PIECE_ENTRY_SIZE);
        if (!entries) {
            sbt_reader_blame(r, place, "its list of pieces is malformed", true);
            break;
        }
        /* A chunk that is lost is said elsewhere; one listed twice counts once. */
        if (blobs == r->entry_count || r->entries[blobs].head.type != SBT_CHUNK_BLOBS ||
            r->entries[blobs].head.count != count || r->listed_by[blobs])
            continue;
        r->listed_by[blobs] = (uint32_t)place + 1;
        const char *wrong = add_pieces(r, blobs, entries, count);
        if (wrong == sbt_no_memory) {
            error = tsm_fail(TSM_E_MEMORY, "%s: out of memory for pieces", r->name);
            break;
        }
        if (wrong)
            sbt_reader_blame(r, place, "its list of pieces is malformed", true);
    }
    free(payload);
    return error;
}

static int load_unlisted(struct sbt_reader *r, size_t place)
{
    const struct sbt_chunk *head = &r->entries[place].head;
    const char *wrong = "its list of pieces is too long";
    uint64_t size = (uint64_t)head->count * SBT_PIECE_ENTRY_SIZE;
    uint8_t *payload;
    int error = sbt_reader_load(r, &r->packer, place, &payload, true);

    if (error)
        return error == TSM_E_CHECKSUM ? 0 : error;
    if (size <= head->raw_size)
        wrong = add_pieces(r, place, payload + head->raw_size - size, head->count);
    if (wrong == sbt_no_memory)
        error = tsm_fail(TSM_E_MEMORY, "%s: out of memory for pieces", r->name);
    else if (wrong)
        sbt_reader_blame(r, place, wrong, true);
    free(payload);
    return error;
}

/* The slot of the piece with this key, or the free one where it would be. */
static uint32_t *find_slot(const struct sbt_reader *r, const struct sbt_key *key)
{
    size_t i = sbt_key_hash(key) & (r->piece_slot_count - 1);

    while (r->piece_slots[i] && !tsm_key_equal(&r->pieces[r->piece_slots[i] - 1].key, key))
        i = (i + 1) & (r->piece_slot_count - 1);
    return &r->piece_slots[i];
}

static bool note_twin(struct sbt_reader *r, uint32_t place)
{
    return TSM_ARRAY_PUSH(r->twins, r->twin_count, r->twin_capacity, place);
}

/* Indexes all pieces. If a piece is stored twice, the first copy counts. */
static int index_pieces(struct sbt_reader *r)
{
    size_t count = 64;

    while (count < 2 * r->piece_count)
        count *= 2;
    free(r->piece_slots);
    r->piece_slots = r->piece_count < UINT32_MAX ? calloc(count, sizeof(*r->piece_slots)) : NULL;
    if (!r->piece_slots)
        return tsm_fail(TSM_E_MEMORY, "%s: out of memory for %zu pieces", r->name, r->piece_count);
    r->piece_slot_count = count;
    r->twin_count = 0;
    for (size_t i = 0; i < r->piece_count; i++) {
        uint32_t *slot = find_slot(r, &r->pieces[i].key);
        if (!*slot)
            *slot = (uint32_t)i + 1;
        else if (!note_twin(r, (uint32_t)i))
            return tsm_fail(TSM_E_MEMORY, "%s: out of memory for pieces", r->name);
    }
    return 0;
}

int sbt_reader_pieces(struct sbt_reader *r)
{
    int error = 0;

    if (atomic_load_explicit(&r->pieces_loaded, memory_order_acquire))
        return 0;
    r->piece_count = 0; /* of an attempt that failed */
    free(r->listed_by);
    r->listed_by = calloc(r->entry_count + 1, sizeof(*r->listed_by));
    if (!r->listed_by)
        return tsm_fail(TSM_E_MEMORY, "%s: out of memory", r->name);
    for (size_t i = 0; i < r->entry_count && !error; i++) {
        if (r->entries[i].head.type == SBT_CHUNK_PIECES)
            error = load_listed(r, i);
    }
    for (size_t i = 0; i < r->entry_count && !error; i++) {
        if (r->entries[i].head.type == SBT_CHUNK_BLOBS && !r->listed_by[i])
            error = load_unlisted(r, i);
    }
    if (!error)
        error = index_pieces(r);
    atomic_store_explicit(&r->pieces_loaded, !error, memory_order_release);
    return error;
}

void sbt_reader_blobs_finish(struct sbt_reader *r)
{
    free(r->pieces);
    free(r->piece_slots);
    free(r->twins);
    free(r->listed_by);
    sbt_reader_fetch_finish(r);
}

int sbt_reader_find_ready(struct sbt_reader *r)
{
    int error = 0;

    if (!atomic_load_explicit(&r->pieces_loaded, memory_order_acquire)) {
        pthread_mutex_lock(&r->lock);
        error = sbt_reader_pieces(r);
        pthread_mutex_unlock(&r->lock);
    }
    return error;
}

int sbt_reader_find(struct sbt_reader *r, const struct sbt_key *key, size_t *next,
                    const struct sbt_piece_place **out)
{
    size_t place = *next; /* mostly: they are stored as they are needed */
    int error = sbt_reader_find_ready(r);
    char text[33];

    if (error)
        return error;
    if (place >= r->piece_count || !tsm_key_equal(&r->pieces[place].key, key))
        place = *find_slot(r, key) - (size_t)1;
    if (place >= r->piece_count) {
        tsm_key_text(text, key);
        return tsm_fail(TSM_E_NOT_FOUND, "%s: there is no piece %s", r->name, text);
    }
    *next = place + 1;
    *out = &r->pieces[place];
    return 0;
}
