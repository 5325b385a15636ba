/* SPDX-License-Identifier: Apache-2.0
 *
 * Finding and reading pieces. Where each lies comes from the PIECES chunks, or from the BLOBS
 * chunks themselves when a trace was cut off before its index.
 */
#include "format/reader_state.h"

#include "base/bytes.h"
#include "base/hash.h"
#include "format/index.h"
#include "format/limits.h"

#include <stdlib.h>
#include <string.h>

/* Chunk with this number, or entry_count. */
static size_t entry_by_number(const struct sbt_reader *r, uint32_t number)
{
    size_t low = 0, high = r->entry_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (r->entries[middle].head.number < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low < r->entry_count && r->entries[low].head.number == number ? low : r->entry_count;
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
        struct sbt_piece_place *list =
            sbt_grow(r->pieces, r->piece_count, &r->piece_capacity, sizeof(*list));
        uint32_t size = tsm_get_u32(entries + 16);
        if (!list)
            return "out of memory";
        r->pieces = list;
        if (size == 0 || size > SBT_PIECE_SIZE || size > room - offset)
            return "a piece is out of bounds";
        list += r->piece_count++;
        *list = (struct sbt_piece_place){
            .entry = (uint32_t)place, .offset = (uint32_t)offset, .size = size};
        memcpy(list->key.bytes, entries, sizeof(list->key.bytes));
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
        if (add_pieces(r, blobs, entries, count))
            sbt_reader_blame(r, place, "its list of pieces is malformed", true);
    }
    free(payload);
    return 0;
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
    if (wrong)
        sbt_reader_blame(r, place, wrong, true);
    free(payload);
    return 0;
}

/* The slot of the piece with this key, or the free one where it would be. */
static uint32_t *find_slot(const struct sbt_reader *r, const struct sbt_key *key)
{
    size_t i = sbt_key_hash(key) & (r->piece_slot_count - 1);

    while (r->piece_slots[i] && !tsm_key_equal(&r->pieces[r->piece_slots[i] - 1].key, key))
        i = (i + 1) & (r->piece_slot_count - 1);
    return &r->piece_slots[i];
}

/* Of pieces that are stored twice the first one counts. */
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
    for (size_t i = 0; i < r->piece_count; i++) {
        uint32_t *slot = find_slot(r, &r->pieces[i].key);
        if (!*slot)
            *slot = (uint32_t)i + 1;
    }
    return 0;
}

int sbt_reader_pieces(struct sbt_reader *r)
{
    int error = 0;

    if (r->pieces_loaded)
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
    r->pieces_loaded = !error;
    return error;
}

void sbt_reader_blobs_finish(struct sbt_reader *r)
{
    for (size_t i = 0; i < SBT_BLOB_CACHE_COUNT; i++)
        free(r->blob_cache[i].payload);
    free(r->pieces);
    free(r->piece_slots);
    free(r->listed_by);
    free(r->ahead.bytes);
}

static const struct sbt_piece_place *find_piece(struct sbt_reader *r, const struct sbt_key *key)
{
    size_t place = r->piece_next; /* mostly: they are stored as they are needed */

    if (place >= r->piece_count || !tsm_key_equal(&r->pieces[place].key, key))
        place = *find_slot(r, key) - (size_t)1;
    if (place >= r->piece_count)
        return NULL;
    r->piece_next = place + 1;
    return &r->pieces[place];
}

/* Payload of a BLOBS chunk, from the cache. */
static int blob_payload(struct sbt_reader *r, uint32_t entry, const uint8_t **out)
{
    struct sbt_blob_slot *oldest = &r->blob_cache[0];
    uint8_t *payload;
    int error;

    for (size_t i = 0; i < SBT_BLOB_CACHE_COUNT; i++) {
        struct sbt_blob_slot *slot = &r->blob_cache[i];
        if (slot->used && slot->entry == entry) {
            slot->used = ++r->blob_clock;
            *out = slot->payload;
            return 0;
        }
        if (slot->used < oldest->used)
            oldest = slot;
    }
    error = sbt_reader_load(r, &r->packer, entry, &payload, true);
    if (error)
        return error;
    free(oldest->payload);
    *oldest = (struct sbt_blob_slot){.entry = entry, .used = ++r->blob_clock, .payload = payload};
    *out = payload;
    return 0;
}

/* Out of a chunk that is stored as it is, the piece alone is read: the key says whether it is
 * whole. */
static bool is_stored_raw(const struct sbt_reader *r, uint32_t entry)
{
    return r->entries[entry].head.codec == SBT_CODEC_RAW;
}

static uint64_t piece_offset(const struct sbt_reader *r, const struct sbt_piece_place *place)
{
    return r->entries[place->entry].info.offset + SBT_CHUNK_HEADER_SIZE + place->offset;
}

/* Of small pieces that are read one after the other many are read at once. True: it is in `out`. */
static bool read_ahead(struct sbt_reader *r, const struct sbt_piece_place *place, uint8_t *out)
{
    struct sbt_ahead *a = &r->ahead;
    uint64_t at = piece_offset(r, place), left;
    bool follows = at == a->next;

    a->next = at + place->size;
    if (place->size > SBT_AHEAD_SIZE / 4)
        return false;
    if (at < a->start || a->next > a->end) {
        if (!follows || (!a->bytes && !(a->bytes = malloc(SBT_AHEAD_SIZE))))
            return false;
        left = r->entries[place->entry].head.stored_size - place->offset;
        left = left < SBT_AHEAD_SIZE ? left : SBT_AHEAD_SIZE;
        a->start = a->end = 0;
        if (sbt_reader_read(r, at, a->bytes, (size_t)left) < 0)
            return false; /* the piece alone may be there */
        a->start = at;
        a->end = at + left;
    }
    memcpy(out, a->bytes + (at - a->start), place->size);
    return true;
}

/* Where the key's piece lies. 1: its bytes are in `out` already. */
static int piece_locked(struct sbt_reader *r, const struct sbt_key *key,
                        struct sbt_piece_place *place, uint8_t *out)
{
    const struct sbt_piece_place *found;
    const uint8_t *payload;
    char text[33];
    int error = sbt_reader_pieces(r);

    if (error)
        return error;
    found = find_piece(r, key);
    if (!found) {
        tsm_key_text(text, key);
        return tsm_fail(TSM_E_NOT_FOUND, "%s: there is no piece %s", r->name, text);
    }
    *place = *found;
    if (is_stored_raw(r, place->entry))
        return read_ahead(r, place, out);
    error = blob_payload(r, place->entry, &payload);
    if (error)
        return error;
    memcpy(out, payload + place->offset, place->size);
    return 1;
}

int sbt_reader_piece(struct sbt_reader *r, const struct sbt_key *key, uint8_t *out)
{
    struct sbt_piece_place place = {0};
    struct sbt_key got;
    char text[33];
    int error;

    if (tsm_key_is_zero(key)) {
        memset(out, 0, SBT_PIECE_SIZE);
        return (int)SBT_PIECE_SIZE;
    }
    pthread_mutex_lock(&r->lock);
    error = piece_locked(r, key, &place, out);
    pthread_mutex_unlock(&r->lock);
    if (!error)
        error = sbt_reader_read(r, piece_offset(r, &place), out, place.size);
    if (error < 0)
        return error;
    got = tsm_hash_key(out, place.size);
    if (tsm_key_equal(&got, key))
        return (int)place.size;
    tsm_key_text(text, key);
    sbt_reader_say(r, "piece %s: its bytes do not match its key", text);
    return tsm_fail(TSM_E_CHECKSUM, "%s: the bytes of piece %s do not match it", r->name, text);
}

int sbt_reader_blob(struct sbt_reader *r, const struct sbt_blob *blob, uint64_t offset, void *out,
                    size_t size)
{
    uint8_t piece[SBT_PIECE_SIZE];
    uint8_t *at = out;

    if (offset > blob->size || size > blob->size - offset)
        return tsm_fail(TSM_E_ARGUMENT, "%s: bytes outside a blob", r->name);
    if (blob->bytes) {
        memcpy(out, blob->bytes + offset, size);
        return 0;
    }
    while (size) {
        uint64_t index = offset / SBT_PIECE_SIZE;
        uint64_t length = blob->size - index * SBT_PIECE_SIZE;
        size_t from = offset % SBT_PIECE_SIZE, part;
        /* A whole piece needs no copy, and no piece is larger than the room is. */
        uint8_t *to = from == 0 && size >= SBT_PIECE_SIZE ? at : piece;
        struct sbt_key key;
        int got;
        memcpy(key.bytes, blob->keys + 16 * index, sizeof(key.bytes));
        got = sbt_reader_piece(r, &key, to);
        if (got < 0)
            return got;
        length = length < SBT_PIECE_SIZE ? length : SBT_PIECE_SIZE;
        if ((uint64_t)got < length)
            return tsm_fail(TSM_E_FORMAT, "%s: a piece is shorter than its blob says", r->name);
        part = (size_t)(length - from) < size ? (size_t)(length - from) : size;
        if (to == piece)
            memcpy(at, piece + from, part);
        at += part;
        offset += part;
        size -= part;
    }
    return 0;
}
