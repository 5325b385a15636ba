/* SPDX-License-Identifier: Apache-2.0
 *
 * Changes scenes record by record, for libFuzzer: one is left out, comes twice, or changes places
 * with the next; a number is another one; bytes of a value are what libFuzzer makes of them. What
 * lengths there are stays right, so that what follows is still read.
 */
#include "base/bytes.h"
#include "tests/fuzz/scene_record.h"

#include <stdlib.h>
#include <string.h>

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t room);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *one, size_t one_size, const uint8_t *other,
                                 size_t other_size, uint8_t *out, size_t room, unsigned seed);

#define PLACES_MAX 4096u

struct scene_places {
    uint32_t at[PLACES_MAX + 1]; /* of records; after the last: the end */
    uint32_t count;
};

static void find_records(struct scene_places *p, const uint8_t *data, size_t size)
{
    size_t at = SCENE_HEAD;

    p->count = 0;
    while (size - at > SCENE_RECORD_HEAD && p->count < PLACES_MAX) {
        size_t length = SCENE_RECORD_HEAD + tsm_get_u16(data + at + 4);
        p->at[p->count++] = (uint32_t)at;
        at += length < size - at ? length : size - at;
    }
    p->at[p->count] = (uint32_t)at;
}

/* Bytes [at, at + old) get another length. False: there is no room. */
static bool resize(uint8_t *data, size_t *size, size_t room, size_t at, size_t old, size_t new)
{
    if (*size - old + new > room)
        return false;
    memmove(data + at + new, data + at + old, *size - at - old);
    *size = *size - old + new;
    return true;
}

static uint64_t some_number(uint64_t was)
{
    static const uint64_t numbers[] = {0,
                                       1,
                                       2,
                                       3,
                                       7,
                                       64,
                                       255,
                                       0x1000,
                                       0xffff,
                                       0x7fffffff,
                                       0xffffffff,
                                       1ull << 32,
                                       1ull << 40,
                                       1ull << 62,
                                       1ull << 63,
                                       UINT64_MAX / 2,
                                       UINT64_MAX - 7,
                                       UINT64_MAX};

    switch (rand() % 4) {
    case 0:
        return was + 1;
    case 1:
        return was - 1;
    case 2:
        return was ^ 1ull << rand() % 64;
    default:
        return numbers[(size_t)rand() % (sizeof(numbers) / sizeof(numbers[0]))];
    }
}

/* `old` bytes at `place`, in the record at `at`, are what libFuzzer makes of them. Returns their
 * new size. */
static size_t change_bytes(uint8_t *data, size_t *size, size_t room, size_t at, size_t place,
                           size_t old)
{
    size_t length = tsm_get_u16(data + at + 4), more = old + 16, new;
    uint8_t *copy = malloc(more);

    memcpy(copy, data + place, old);
    new = LLVMFuzzerMutate(copy, old, more);
    if (length - old + new > 0xffff || !resize(data, size, room, place, old, new))
        new = old;
    else
        memcpy(data + place, copy, new);
    tsm_put_u16(data + at + 4, (uint16_t)(length - old + new));
    free(copy);
    return new;
}

/* A field of the record at `at` changes. */
static void change_field(uint8_t *data, size_t *size, size_t room, size_t at)
{
    const struct sbt_schema *schema = scene_schema(tsm_get_u16(data + at));
    size_t length = tsm_get_u16(data + at + 4), end = at + SCENE_RECORD_HEAD + length;
    size_t place = at + SCENE_RECORD_HEAD;
    uint32_t number = tsm_get_u16(data + at);
    uint32_t wanted = schema && schema->field_count ? (uint32_t)rand() % schema->field_count : 0;

    if (number == SCENE_METADATA && length && end <= *size)
        change_bytes(data, size, room, at, place, length);
    for (uint32_t i = 0; schema && i < schema->field_count; i++) {
        bool is_long = scene_is_long(&schema->fields[i]);
        size_t taken = is_long && end - place >= 2 ? 2u + tsm_get_u16(data + place) : 8;

        if (end > *size || end - place < taken || (is_long && end - place < 2))
            return;
        if (i == wanted && !is_long) {
            tsm_put_u64(data + place, some_number(tsm_get_u64(data + place)));
        } else if (i == wanted && taken > 2) {
            tsm_put_u16(data + place,
                        (uint16_t)change_bytes(data, size, room, at, place + 2, taken - 2));
        }
        if (i == wanted)
            return;
        place += taken;
    }
}

static void change_order(uint8_t *data, size_t *size, size_t room, const struct scene_places *p,
                         uint32_t i)
{
    size_t at = p->at[i], length = p->at[i + 1] - at;
    uint8_t *copy = malloc(length);

    memcpy(copy, data + at, length);
    switch (rand() % 3) {
    case 0:
        resize(data, size, room, at, length, 0);
        break;
    case 1: { /* once more, anywhere */
        size_t to = p->at[(uint32_t)rand() % p->count];
        if (resize(data, size, room, to, 0, length))
            memcpy(data + to, copy, length);
        break;
    }
    default:
        if (i + 1 < p->count) {
            size_t other = p->at[i + 2] - p->at[i + 1];
            memmove(data + at, data + at + length, other);
            memcpy(data + at + other, copy, length);
        }
    }
    free(copy);
}

static size_t change(uint8_t *data, size_t size, size_t room)
{
    static struct scene_places places;

    if (size > SCENE_HEAD)
        find_records(&places, data, size);
    if (size <= SCENE_HEAD || !places.count || rand() % 16 == 0)
        return LLVMFuzzerMutate(data, size, room);
    if (rand() % 16 == 0)
        data[rand() % SCENE_HEAD] = (uint8_t)rand();
    else if (rand() % 4 == 0)
        change_order(data, &size, room, &places, (uint32_t)rand() % places.count);
    else
        change_field(data, &size, room, places.at[(uint32_t)rand() % places.count]);
    return size;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed)
{
    scene_describe();
    srand(seed);
    size = change(data, size, room);
    if (size)
        data[0] &= (uint8_t)~SCENE_WORKS;
    return size;
}

/* Records of the other scene come between two of this one. */
size_t LLVMFuzzerCustomCrossOver(const uint8_t *one, size_t one_size, const uint8_t *other,
                                 size_t other_size, uint8_t *out, size_t room, unsigned seed)
{
    static struct scene_places places, others;
    size_t at, size = one_size, added;
    uint32_t first, last;

    srand(seed);
    if (one_size <= SCENE_HEAD || other_size <= SCENE_HEAD || one_size > room)
        return 0;
    find_records(&places, one, one_size);
    find_records(&others, other, other_size);
    if (!places.count || !others.count)
        return 0;
    at = places.at[(uint32_t)rand() % (places.count + 1)];
    first = (uint32_t)rand() % others.count;
    last = first + (uint32_t)rand() % (others.count - first);
    added = others.at[last + 1] - others.at[first];
    memcpy(out, one, one_size);
    if (!resize(out, &size, room, at, 0, added))
        return 0;
    memcpy(out + at, other + others.at[first], added);
    out[0] &= (uint8_t)~SCENE_WORKS;
    return size;
}
