/* SPDX-License-Identifier: Apache-2.0
 *
 * Payload bytes: cut into pieces, each stored once. A piece goes through the lane only when its key
 * is not in the table of published ones; the table is shared by all threads without a lock, and an
 * entry is made only after the piece is in a lane, so that a record never names a piece that a
 * crash could lose. A race makes a piece go twice; the writer stores it once.
 *
 * The program may change the bytes while we look at them. Therefore what is stored is hashed as
 * stored: after the copy, not before.
 */
#include "capture/session.h"

#include "base/own_stack.h"
#include "base/bytes.h"
#include "base/hash.h"
#include "format/events/record.h"
#include "capture/call/payload.h"
#include "capture/call/place.h"
#include "capture/parts.h"

#include <string.h>

#define PIECE_SLOT_COUNT (1u << 20)
#define PROBE_COUNT_MAX  16u

struct tsm_pieces {
    uint64_t keys[PIECE_SLOT_COUNT][2];
};

struct tsm_pieces *tsm_pieces_create(void)
{
    return tsm_memory_map(sizeof(struct tsm_pieces));
}

/* Key halves; the first is never 0, which marks a free slot. */
static void halves(uint64_t out[2], const struct sbt_key *key)
{
    memcpy(out, key->bytes, 16);
    if (out[0] == 0)
        out[0] = 1;
}

static bool is_published(const struct tsm_pieces *t, const struct sbt_key *key)
{
    uint64_t want[2];
    uint32_t at;

    halves(want, key);
    at = (uint32_t)(want[0] % PIECE_SLOT_COUNT);
    for (unsigned i = 0; i < PROBE_COUNT_MAX; i++, at = (at + 1) % PIECE_SLOT_COUNT) {
        uint64_t first = __atomic_load_n(&t->keys[at][0], __ATOMIC_ACQUIRE);
        if (first == 0)
            return false;
        if (first == want[0] && __atomic_load_n(&t->keys[at][1], __ATOMIC_ACQUIRE) == want[1])
            return true;
    }
    return false;
}

/* A full neighbourhood: the piece may go again, nothing worse. */
static void set_published(struct tsm_pieces *t, const struct sbt_key *key)
{
    uint64_t want[2];
    uint32_t at;

    halves(want, key);
    at = (uint32_t)(want[0] % PIECE_SLOT_COUNT);
    for (unsigned i = 0; i < PROBE_COUNT_MAX; i++, at = (at + 1) % PIECE_SLOT_COUNT) {
        uint64_t free = 0;
        if (__atomic_compare_exchange_n(&t->keys[at][0], &free, want[0], false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE)) {
            __atomic_store_n(&t->keys[at][1], want[1], __ATOMIC_RELEASE);
            return;
        }
        if (free == want[0] && __atomic_load_n(&t->keys[at][1], __ATOMIC_ACQUIRE) == want[1])
            return;
    }
}

static bool all_zero(const uint8_t *data, size_t size)
{
    uint64_t words[8];
    size_t i = 0;

    for (; i + sizeof(words) <= size; i += sizeof(words)) {
        memcpy(words, data + i, sizeof(words));
        if (words[0] | words[1] | words[2] | words[3] | words[4] | words[5] | words[6] | words[7])
            return false;
    }
    for (; i < size; i++) {
        if (data[i])
            return false;
    }
    return true;
}

static struct sbt_key key_of(const uint8_t *data, size_t size)
{
    return all_zero(data, size) ? (struct sbt_key){{0}} : tsm_hash_key(data, size);
}

/* ---- fetching ---------------------------------------------------------------------------------
 */

uint64_t tsm_box_extent(const struct tsm_box *box)
{
    if (tsm_box_size(box) == 0)
        return 0;
    return (box->depth - 1) * box->plane + (box->height - 1) * box->pitch + box->width;
}

uint64_t tsm_box_size(const struct tsm_box *box)
{
    return box->width * box->height * box->depth;
}

uint64_t tsm_box_address(const struct tsm_box *box, uint64_t offset)
{
    uint64_t row = offset / box->width, in_row = offset % box->width;

    return (uint64_t)(uintptr_t)box->data + row / box->height * box->plane +
           row % box->height * box->pitch + in_row;
}

/* Is the box one run of bytes? */
static bool is_packed(const struct tsm_box *box)
{
    return (box->height == 1 || box->pitch == box->width) &&
           (box->depth == 1 || box->plane == box->width * box->height);
}

static bool fetch_run(uint8_t *out, uint64_t address, size_t size, enum tsm_fetch fetch)
{
    if (fetch == TSM_FETCH_SAFE)
        return tsm_memory_read(out, address, size);
    memcpy(out, (const void *)(uintptr_t)address, size);
    return true;
}

/* Bytes [offset, offset + size) of the packed box. */
static bool fetch_box(uint8_t *out, const struct tsm_box *box, uint64_t offset, size_t size,
                      enum tsm_fetch fetch)
{
    if (is_packed(box))
        return fetch_run(out, (uint64_t)(uintptr_t)box->data + offset, size, fetch);
    while (size > 0) {
        uint64_t left = box->width - offset % box->width;
        size_t run = left < size ? (size_t)left : size;

        if (!fetch_run(out, tsm_box_address(box, offset), run, fetch))
            return false;
        out += run;
        offset += run;
        size -= run;
    }
    return true;
}

/* ---- pieces -----------------------------------------------------------------------------------
 */

static void publish_piece(struct tsm_lane *lane, struct tsm_piece_entry *e, size_t size)
{
    struct tsm_lane_header *h = lane->header;

    e->entry = (struct tsm_entry){tsm_entry_round(sizeof(*e) + size), TSM_ENTRY_PIECE, 0};
    e->data_size = (uint32_t)size;
    e->reserved = 0;
    tsm_lane_publish(lane, e->entry.size);
    __atomic_store_n(&h->piece_count, h->piece_count + 1, __ATOMIC_RELEASE);
    set_published(lane->session->pieces, (const struct sbt_key *)(const void *)e->key);
}

/* Copied straight into the ring; when it turns out to be known, the place is simply not taken. */
static bool store_piece(struct tsm_lane *lane, const struct tsm_box *box, uint64_t offset,
                        size_t size, enum tsm_fetch fetch, struct sbt_key *key)
{
    struct tsm_piece_entry *e;

    tsm_call_make_way(lane);
    e = tsm_lane_reserve(lane, tsm_entry_round(sizeof(*e) + size));
    if (!e || !fetch_box((uint8_t *)(e + 1), box, offset, size, fetch))
        return false;
    *key = key_of((const uint8_t *)(e + 1), size);
    if (tsm_key_is_zero(key) || is_published(lane->session->pieces, key))
        return true;
    memcpy(e->key, key->bytes, sizeof(e->key));
    publish_piece(lane, e, size);
    return true;
}

/* Known bytes need not be copied to be recognised. */
static bool is_known(const struct tsm_lane *lane, const struct tsm_box *box, uint64_t offset,
                     size_t size, struct sbt_key *key)
{
    const uint8_t *data = (const uint8_t *)box->data + offset;

    *key = key_of(data, size);
    return tsm_key_is_zero(key) || is_published(lane->session->pieces, key);
}

/* The key alone, for bytes that are not to be stored. */
static bool hash_piece(const struct tsm_box *box, uint64_t offset, size_t size,
                       enum tsm_fetch fetch, struct sbt_key *key)
{
    uint8_t part[4096];
    struct tsm_hasher_storage storage;
    struct tsm_hasher *hasher = tsm_hasher_init(&storage);
    bool zero = true;

    for (size_t done = 0; done < size;) {
        size_t run = size - done < sizeof(part) ? size - done : sizeof(part);
        if (!fetch_box(part, box, offset + done, run, fetch))
            return false;
        zero = zero && all_zero(part, run);
        tsm_hasher_add(hasher, part, run);
        done += run;
    }
    *key = zero ? (struct sbt_key){{0}} : tsm_hasher_key(hasher);
    return true;
}

struct hashing {
    const struct tsm_box *box;
    uint64_t offset;
    size_t size;
    enum tsm_fetch fetch;
    struct sbt_key *key;
    bool ok;
};

static void hash_on_own_stack(void *argument)
{
    struct hashing *h = argument;

    h->ok = hash_piece(h->box, h->offset, h->size, h->fetch, h->key);
}

static bool hash_box(const struct tsm_box *box, uint64_t offset, size_t size, enum tsm_fetch fetch,
                     struct sbt_key *key)
{
    struct hashing h = {box, offset, size, fetch, key, false};

    tsm_own_stack_run(hash_on_own_stack, &h);
    return h.ok;
}

/* Hashes the pieces of these bytes, and stores them (when `store`); their keys go to `out`. */
static bool keep_pieces(struct tsm_lane *lane, const struct tsm_box *box, uint64_t offset,
                        uint64_t end, enum tsm_fetch fetch, bool store, uint8_t *out)
{
    bool direct = fetch == TSM_FETCH_DIRECT && is_packed(box);

    for (; offset < end; offset += SBT_PIECE_SIZE, out += 16) {
        size_t size = end - offset < SBT_PIECE_SIZE ? (size_t)(end - offset) : SBT_PIECE_SIZE;
        struct sbt_key key;
        bool ok = true;

        if (direct && !store)
            key = key_of((const uint8_t *)box->data + offset, size);
        else if (!store)
            ok = hash_box(box, offset, size, fetch, &key);
        else if (!direct || !is_known(lane, box, offset, size, &key))
            ok = store_piece(lane, box, offset, size, fetch, &key);
        if (!ok)
            return false;
        memcpy(out, key.bytes, 16);
    }
    return true;
}

bool tsm_payload_pieces(struct tsm_lane *lane, const struct tsm_box *box, enum tsm_fetch fetch,
                        bool store, uint8_t *out)
{
    return keep_pieces(lane, box, 0, tsm_box_size(box), fetch, store, out);
}

bool tsm_payload_store_part(struct tsm_lane *lane, const struct tsm_box *box, uint64_t offset,
                            uint64_t size, enum tsm_fetch fetch, bool store, uint8_t *out)
{
    if (store)
        sbt_blob_put_size(out, size);
    else
        tsm_put_u64(out, size);
    if (store && sbt_blob_is_inline(size))
        return fetch_box(out + 8, box, offset, size, fetch);
    return keep_pieces(lane, box, offset, offset + size, fetch, store, out + 8);
}

bool tsm_payload_store(struct tsm_lane *lane, const struct tsm_box *box, enum tsm_fetch fetch,
                       uint8_t *out)
{
    return tsm_payload_store_part(lane, box, 0, tsm_box_size(box), fetch, true, out);
}

uint64_t tsm_payload_part(const struct tsm_lane *lane)
{
    return (lane->size / 8 - 8) / 16 * SBT_PIECE_SIZE;
}

/* ---- scratch ----------------------------------------------------------------------------------
 */

uint8_t *tsm_scratch_take(struct tsm_lane *lane, uint64_t size)
{
    struct tsm_scratch *s = lane->scratch;
    void *memory;

    if (size <= sizeof(s->bytes) - s->used) {
        s->used += (uint32_t)size;
        return s->bytes + s->used - size;
    }
    if (s->large_count == TSM_SCRATCH_LARGE_MAX)
        return NULL;
    memory = tsm_memory_map(size);
    if (memory)
        s->large[s->large_count++] = (struct tsm_scratch_large){memory, size};
    return memory;
}

void tsm_scratch_clear(struct tsm_lane *lane)
{
    struct tsm_scratch *s = lane->scratch;

    s->used = 0;
    while (s->large_count > 0) {
        s->large_count--;
        tsm_memory_unmap(s->large[s->large_count].memory, s->large[s->large_count].size);
    }
}
