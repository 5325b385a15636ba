/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading pieces. One that is stored as it is is read from the file to where it belongs, and those
 * that lie side by side there are read at once. Compressed chunks are decompressed as a whole, and
 * the last few are kept. The lock is held for neither.
 */
#include "format/read/state.h"

#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

#define RUN_PIECES 64u
#define RUN_BYTES  (4 * SBT_PIECE_SIZE) /* compared with their keys while they are in the cache */

/* ---- compressed chunks ---- */

static struct sbt_blob_slot *find_slot(struct sbt_reader *r, uint32_t entry)
{
    for (size_t i = 0; i < SBT_BLOB_CACHE_COUNT; i++)
        if (r->blob_cache[i].used && r->blob_cache[i].entry == entry)
            return &r->blob_cache[i];
    return NULL;
}

/* The one that nobody needs and that was used longest ago; NULL: all are in use. */
static struct sbt_blob_slot *oldest_slot(struct sbt_reader *r)
{
    struct sbt_blob_slot *oldest = NULL;

    for (size_t i = 0; i < SBT_BLOB_CACHE_COUNT; i++) {
        struct sbt_blob_slot *slot = &r->blob_cache[i];
        if (!slot->readers && !slot->is_loading && (!oldest || slot->used < oldest->used))
            oldest = slot;
    }
    return oldest;
}

/* With the lock held, which it gives up meanwhile. */
static int load_slot(struct sbt_reader *r, struct sbt_blob_slot *slot, uint32_t entry)
{
    struct sbt_packer packer = {0};
    uint8_t *payload = NULL;
    int error;

    free(slot->payload);
    *slot = (struct sbt_blob_slot){.entry = entry, .used = ++r->blob_clock, .is_loading = true};
    pthread_mutex_unlock(&r->lock);
    error = sbt_reader_load(r, &packer, entry, &payload, false);
    sbt_packer_finish(&packer);
    pthread_mutex_lock(&r->lock);
    slot->payload = payload;
    slot->is_loading = false;
    if (error)
        slot->used = 0;
    pthread_cond_broadcast(&r->blob_moved);
    return error;
}

static bool is_stored_raw(const struct sbt_reader *r, uint32_t entry)
{
    return r->entries[entry].head.codec == SBT_CODEC_RAW;
}

/* While another thread decompresses `entry`: what comes after it will be needed next. With the
 * lock held, which it gives up meanwhile. False: there was nothing to do. */
static bool load_ahead(struct sbt_reader *r, uint32_t entry)
{
    struct sbt_blob_slot *slot = oldest_slot(r);

    do {
        if (++entry >= r->entry_count)
            return false;
    } while (r->entries[entry].head.type != SBT_CHUNK_BLOBS);
    if (!slot || is_stored_raw(r, entry) || find_slot(r, entry))
        return false;
    load_slot(r, slot, entry); /* when that fails, who needs it will see */
    return true;
}

/* A slot with this chunk's payload, which stays until it is let go. */
static int hold_slot(struct sbt_reader *r, uint32_t entry, struct sbt_blob_slot **out)
{
    struct sbt_blob_slot *slot;
    int error = 0;

    pthread_mutex_lock(&r->lock);
    while (!error && (!(slot = find_slot(r, entry)) || slot->is_loading)) {
        struct sbt_blob_slot *oldest = slot ? NULL : oldest_slot(r);
        if (oldest)
            error = load_slot(r, oldest, entry);
        else if (!slot || !load_ahead(r, entry))
            pthread_cond_wait(&r->blob_moved, &r->lock);
    }
    if (!error) {
        slot->used = ++r->blob_clock;
        slot->readers++;
        *out = slot;
    }
    pthread_mutex_unlock(&r->lock);
    return error;
}

static void let_go(struct sbt_reader *r, struct sbt_blob_slot *slot)
{
    pthread_mutex_lock(&r->lock);
    if (!--slot->readers)
        pthread_cond_broadcast(&r->blob_moved);
    pthread_mutex_unlock(&r->lock);
}

void sbt_reader_fetch_finish(struct sbt_reader *r)
{
    for (size_t i = 0; i < SBT_BLOB_CACHE_COUNT; i++)
        free(r->blob_cache[i].payload);
    free(r->ahead.bytes);
}

/* ---- one piece ---- */

static int check_key(struct sbt_reader *r, const struct sbt_key *key, const uint8_t *bytes,
                     uint32_t size)
{
    struct sbt_key got = tsm_hash_key(bytes, size);
    char text[33];

    if (tsm_key_equal(&got, key))
        return 0;
    tsm_key_text(text, key);
    sbt_reader_say(r, "piece %s: its bytes do not match its key", text);
    return tsm_fail(TSM_E_CHECKSUM, "%s: the bytes of piece %s do not match it", r->name, text);
}

static uint64_t piece_offset(const struct sbt_reader *r, const struct sbt_piece_place *place)
{
    return r->entries[place->entry].info.offset + SBT_CHUNK_HEADER_SIZE + place->offset;
}

/* Reads many small pieces at once when they are asked for one after the other. Returns true if the
 * piece is in `out`. Caller holds the lock. */
static bool read_ahead(struct sbt_reader *r, const struct sbt_piece_place *place, uint8_t *out)
{
    struct sbt_ahead *a = &r->ahead;
    uint64_t at = piece_offset(r, place), left;
    bool follows = at == a->next;

    a->next = at + place->size;
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

/* All of a piece that is stored as it is. */
static int read_raw(struct sbt_reader *r, const struct sbt_piece_place *place, uint8_t *out)
{
    bool is_there = false;
    int error = 0;

    if (place->size <= SBT_AHEAD_SIZE / 4) {
        pthread_mutex_lock(&r->lock);
        is_there = read_ahead(r, place, out);
        pthread_mutex_unlock(&r->lock);
    }
    if (!is_there)
        error = sbt_reader_read(r, piece_offset(r, place), out, place->size);
    return error ? error : check_key(r, &place->key, out, place->size);
}

/* The first `size` bytes of a piece, which has as many. */
static int read_one(struct sbt_reader *r, const struct sbt_piece_place *place, uint8_t *out,
                    uint32_t size)
{
    uint8_t whole[SBT_PIECE_SIZE];
    struct sbt_blob_slot *slot;
    int error;

    if (is_stored_raw(r, place->entry)) {
        uint8_t *to = size == place->size ? out : whole;
        error = read_raw(r, place, to);
        if (!error && to == whole)
            memcpy(out, whole, size);
        return error;
    }
    error = hold_slot(r, place->entry, &slot);
    if (error)
        return error;
    error = check_key(r, &place->key, slot->payload + place->offset, place->size);
    if (!error)
        memcpy(out, slot->payload + place->offset, size);
    let_go(r, slot);
    return error;
}

int sbt_reader_piece_at(struct sbt_reader *r, const struct sbt_piece_place *place, uint8_t *out)
{
    int error = read_one(r, place, out, place->size);

    return error ? error : (int)place->size;
}

int sbt_reader_piece(struct sbt_reader *r, const struct sbt_key *key, uint8_t *out)
{
    size_t next = atomic_load_explicit(&r->piece_next, memory_order_relaxed);
    const struct sbt_piece_place *place;
    int error;

    if (tsm_key_is_zero(key)) {
        memset(out, 0, SBT_PIECE_SIZE);
        return (int)SBT_PIECE_SIZE;
    }
    error = sbt_reader_find(r, key, &next, &place);
    if (error)
        return error;
    atomic_store_explicit(&r->piece_next, next, memory_order_relaxed);
    return sbt_reader_piece_at(r, place, out);
}

/* ---- many pieces ---- */

/* Pieces of a list that lie side by side in the file, and go to places of their own. */
struct run {
    uint64_t offset, end; /* in the file */
    size_t count;
    const struct sbt_piece_place *places[RUN_PIECES];
    struct iovec to[RUN_PIECES];
    size_t indexes[RUN_PIECES]; /* in the list */
};

static bool goes_on(const struct run *run, uint64_t offset)
{
    return run->count && run->count < RUN_PIECES && offset == run->end &&
           run->end - run->offset < RUN_BYTES;
}

static int read_run(struct sbt_reader *r, struct run *run, size_t *failed)
{
    uint64_t size = run->end - run->offset;
    int error = 0;
    bool is_whole = false;

    if (run->count > 1 && r->source.read_scattered)
        is_whole = r->source.read_scattered(r->source.user, run->offset, run->to,
                                            (int)run->count) == (int64_t)size;
    if (is_whole)
        __atomic_add_fetch(&r->bytes_read, size, __ATOMIC_RELAXED);
    for (size_t i = 0; i < run->count && !error; i++) {
        const struct sbt_piece_place *place = run->places[i];
        uint8_t *out = run->to[i].iov_base;
        *failed = run->indexes[i];
        error = is_whole ? check_key(r, &place->key, out, place->size) : read_raw(r, place, out);
    }
    run->count = 0;
    return error;
}

static int add_to_run(struct sbt_reader *r, struct run *run, const struct sbt_piece_place *place,
                      const struct sbt_fetch *f, size_t index, size_t *failed)
{
    uint64_t offset = piece_offset(r, place);
    int error = 0;

    if (!goes_on(run, offset)) {
        error = read_run(r, run, failed);
        run->offset = offset;
    }
    run->places[run->count] = place;
    run->to[run->count] = (struct iovec){f->out, f->size};
    run->indexes[run->count++] = index;
    run->end = offset + f->size;
    return error;
}

static int fetch_one(struct sbt_reader *r, struct run *run, const struct sbt_fetch *f, size_t index,
                     size_t *next, size_t *failed)
{
    const struct sbt_piece_place *place;
    int error;

    *failed = index;
    if (tsm_key_is_zero(&f->key)) {
        memset(f->out, 0, f->size);
        return 0;
    }
    error = sbt_reader_find(r, &f->key, next, &place);
    if (error)
        return error;
    if (place->size < f->size)
        return tsm_fail(TSM_E_FORMAT, "%s: a piece is shorter than its blob says", r->name);
    if (place->size == f->size && is_stored_raw(r, place->entry))
        return add_to_run(r, run, place, f, index, failed);
    return read_one(r, place, f->out, f->size);
}

int sbt_reader_fetch(struct sbt_reader *r, const struct sbt_fetch *list, size_t count,
                     size_t *failed)
{
    size_t next = atomic_load_explicit(&r->piece_next, memory_order_relaxed);
    struct run run = {.count = 0};
    int error = count ? 0 : sbt_reader_find_ready(r);

    for (size_t i = 0; i < count && !error; i++)
        error = fetch_one(r, &run, &list[i], i, &next, failed);
    if (!error)
        error = read_run(r, &run, failed);
    atomic_store_explicit(&r->piece_next, next, memory_order_relaxed);
    return error;
}

/* ---- blobs ---- */

/* Bytes [from, from + size) of a piece, of which its blob has `length`. */
static int read_part(struct sbt_reader *r, const struct sbt_key *key, size_t length, size_t from,
                     uint8_t *out, size_t size)
{
    uint8_t piece[SBT_PIECE_SIZE];
    int got = sbt_reader_piece(r, key, piece);

    if (got >= 0 && (size_t)got < length)
        return tsm_fail(TSM_E_FORMAT, "%s: a piece is shorter than its blob says", r->name);
    if (got >= 0)
        memcpy(out, piece + from, size);
    return got < 0 ? got : 0;
}

int sbt_reader_blob(struct sbt_reader *r, const struct sbt_blob *blob, uint64_t offset, void *out,
                    size_t size)
{
    struct sbt_fetch list[RUN_PIECES];
    uint8_t *at = out;
    size_t count = 0, failed;
    int error = 0;

    if (offset > blob->size || size > blob->size - offset)
        return tsm_fail(TSM_E_ARGUMENT, "%s: bytes outside a blob", r->name);
    if (blob->bytes) {
        memcpy(out, blob->bytes + offset, size);
        return 0;
    }
    while (size && !error) {
        uint64_t index = offset / SBT_PIECE_SIZE, left = blob->size - index * SBT_PIECE_SIZE;
        size_t length = left < SBT_PIECE_SIZE ? (size_t)left : SBT_PIECE_SIZE;
        size_t from = offset % SBT_PIECE_SIZE;
        size_t part = length - from < size ? length - from : size;
        struct sbt_key key = sbt_blob_key(blob, index);
        if (part == length)
            list[count++] = (struct sbt_fetch){key, at, (uint32_t)part};
        else
            error = read_part(r, &key, length, from, at, part);
        at += part;
        offset += part;
        size -= part;
        if (!error && (count == RUN_PIECES || !size)) {
            error = sbt_reader_fetch(r, list, count, &failed);
            count = 0;
        }
    }
    return error;
}
