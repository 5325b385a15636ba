/* SPDX-License-Identifier: Apache-2.0
 *
 * How libFuzzer changes a trace: one chunk is unpacked, what is in it is changed, and it is packed
 * again, so that all sizes and checksums are right and what is behind them is reached. Chunks are
 * also left out, sent twice, and exchanged. What is behind the chunk moves, so the index is left
 * out half the time (a reader then scans) and false the other half. The first byte is no part of
 * the trace: options of the fuzzer. Two traces are crossed by chunks: one of the other trace goes
 * into this one, between two chunks or in the place of one.
 */
#include "base/bytes.h"
#include "base/hash.h"
#include "format/chunk/chunk.h"
#include "format/limits.h"

#include <stdlib.h>
#include <string.h>

#define CHUNKS_MAX 256u
#define RAW_MAX    (1u << 20)

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t room);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *one, size_t one_size, const uint8_t *other,
                                 size_t other_size, uint8_t *out, size_t room, unsigned seed);

struct place {
    struct sbt_chunk chunk;
    size_t at, size;
};

static struct place places[CHUNKS_MAX];

static size_t find_chunks(const uint8_t *data, size_t size)
{
    size_t count = 0, at = 1 + SBT_FILE_HEADER_SIZE;

    while (count < CHUNKS_MAX && size >= at + SBT_CHUNK_HEADER_SIZE &&
           sbt_chunk_get(&places[count].chunk, data + at) &&
           places[count].chunk.stored_size <= size - at - SBT_CHUNK_HEADER_SIZE) {
        places[count].at = at;
        places[count].size = SBT_CHUNK_HEADER_SIZE + places[count].chunk.stored_size;
        at += places[count++].size;
    }
    return count;
}

/* `with` takes the place of `old` bytes at `at`. */
static size_t splice(uint8_t *data, size_t size, size_t room, size_t at, size_t old,
                     const uint8_t *with, size_t new)
{
    if (size - old + new > room)
        return size;
    memmove(data + at + new, data + at + old, size - at - old);
    memcpy(data + at, with, new);
    return size - old + new;
}

static uint64_t odd_number(uint64_t was)
{
    static const uint64_t numbers[] = {0,        1,          255,        4096,      65536,
                                       1u << 31, UINT32_MAX, 1ull << 47, UINT64_MAX};

    return rand() % 2 ? numbers[(size_t)rand() % (sizeof(numbers) / sizeof(numbers[0]))]
                      : was + (uint64_t)(rand() % 9) - 4;
}

/* Numbers of a chunk's own: its count, its records' numbers, its times, its streams. */
static void change_head(struct sbt_chunk *c)
{
    switch (rand() % 8) {
    case 0:
        c->count = (uint32_t)odd_number(c->count);
        break;
    case 1:
        c->first_seq = odd_number(c->first_seq);
        break;
    case 2:
        c->last_seq = odd_number(c->last_seq);
        break;
    case 3:
        c->stream_end = (uint32_t)odd_number(c->stream_end);
        break;
    case 4:
        c->first_time = odd_number(c->first_time);
        break;
    case 5:
        c->stream_set ^= 1ull << rand() % 64;
        break;
    case 6:
        c->flags ^= (uint8_t)(1u << rand() % 8);
        break;
    default:
        c->type = (uint16_t)(1 + rand() % SBT_CHUNK_TYPE_END);
    }
}

static size_t change_raw(uint8_t *raw, size_t size)
{
    size_t width = 1u << rand() % 4, at = size > width ? (size_t)rand() % (size - width) : 0;
    uint64_t value = 0;

    if (size <= width || rand() % 3 == 0)
        return LLVMFuzzerMutate(raw, size, size + 64);
    memcpy(&value, raw + at, width);
    value = odd_number(value);
    memcpy(raw + at, &value, width);
    return size;
}

static size_t change_chunk(uint8_t *data, size_t size, size_t room, const struct place *p)
{
    static struct sbt_packer packer;
    struct tsm_buffer raw = {0}, out = {0};
    struct sbt_chunk c = p->chunk;

    if (c.raw_size > RAW_MAX || !tsm_buffer_grow(&raw, c.raw_size + 64))
        return size;
    if (!sbt_chunk_unpack(&packer, &c, data + p->at + SBT_CHUNK_HEADER_SIZE, raw.data)) {
        raw.size = c.raw_size;
        for (int i = 0; i <= rand() % 3; i++) {
            if (rand() % 4 == 0)
                change_head(&c);
            else if (raw.size + 64 <= raw.capacity)
                raw.size = change_raw(raw.data, raw.size);
        }
        if (sbt_chunk_pack(&packer, &c, 1, &raw, &out) == 0)
            size = splice(data, size, room, p->at, p->size, out.data, out.size);
    }
    tsm_buffer_finish(&raw);
    tsm_buffer_finish(&out);
    return size;
}

static size_t change_order(uint8_t *data, size_t size, size_t room, const struct place *p,
                           size_t to)
{
    uint8_t *copy = malloc(p->size);

    memcpy(copy, data + p->at, p->size);
    if (rand() % 2)
        size = splice(data, size, room, p->at, p->size, copy, 0);
    else
        size = splice(data, size, room, to, 0, copy, p->size);
    free(copy);
    return size;
}

static bool is_index(const struct place *p)
{
    return sbt_chunk_is_index(p->chunk.type);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed)
{
    size_t count = size > 1 + SBT_FILE_HEADER_SIZE ? find_chunks(data, size) : 0;
    const struct place *p;

    srand(seed);
    if (!count || rand() % 32 == 0)
        return LLVMFuzzerMutate(data, size, room);
    if (rand() % 16 == 0) {
        data[0] = (uint8_t)rand();
        return size;
    }
    if (is_index(&places[count - 1]) && rand() % 2) {
        while (count > 1 && is_index(&places[count - 1]))
            count--;
        size = places[count - 1].at + places[count - 1].size;
    }
    p = &places[(size_t)rand() % count];
    if (rand() % 16 == 0)
        return change_order(data, size, room, p, places[(size_t)rand() % count].at);
    return change_chunk(data, size, room, p);
}

size_t LLVMFuzzerCustomCrossOver(const uint8_t *one, size_t one_size, const uint8_t *other,
                                 size_t other_size, uint8_t *out, size_t room, unsigned seed)
{
    size_t count = other_size > 1 + SBT_FILE_HEADER_SIZE ? find_chunks(other, other_size) : 0;
    struct place from, to;

    srand(seed);
    if (!count || one_size > room)
        return 0;
    from = places[(size_t)rand() % count];
    memcpy(out, one, one_size);
    count = one_size > 1 + SBT_FILE_HEADER_SIZE ? find_chunks(one, one_size) : 0;
    if (!count)
        return 0;
    to = places[(size_t)rand() % count];
    return splice(out, one_size, room, to.at, rand() % 2 ? to.size : 0, other + from.at, from.size);
}
