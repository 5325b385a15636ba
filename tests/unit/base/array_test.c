/* SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"

#include "base/random.h"
#include "tests/unit/check.h"

#include <stdint.h>
#include <stdlib.h>

struct list {
    uint32_t *items;
    size_t count, capacity;
};

static void test_push(void)
{
    struct list l = {0};
    struct pair {
        char a;
        uint64_t b;
    } *pairs = NULL;
    size_t count = 0, capacity = 0;

    for (uint32_t i = 0; i < 1000; i++) {
        CHECK(TSM_ARRAY_PUSH(l.items, l.count, l.capacity, i * 3));
        CHECK(TSM_ARRAY_PUSH(pairs, count, capacity, (struct pair){(char)i, i}));
    }
    CHECK_EQ_INT(l.count, 1000);
    for (uint32_t i = 0; i < 1000; i++)
        CHECK(l.items[i] == i * 3 && pairs[i].a == (char)i && pairs[i].b == i);
    free(l.items);
    free(pairs);
}

/* Inserts and removes at random, beside a plain array that does the same by hand. */
static void test_against_model(void)
{
    uint64_t state = 7;
    struct list l = {0};
    uint32_t model[300];
    size_t count = 0;

    for (uint32_t step = 0; step < 20000; step++) {
        uint64_t r = tsm_random(&state);
        if (count < 300 && (count == 0 || r % 5 > 1)) {
            size_t at = (r >> 8) % (count + 1);
            CHECK(TSM_ARRAY_INSERT(l.items, l.count, l.capacity, at, step));
            for (size_t i = count++; i > at; i--)
                model[i] = model[i - 1];
            model[at] = step;
        } else {
            size_t at = (r >> 8) % count;
            TSM_ARRAY_REMOVE(l.items, l.count, at);
            count--;
            for (size_t i = at; i < count; i++)
                model[i] = model[i + 1];
        }
        if (!CHECK(l.count == count && memcmp(l.items, model, count * sizeof(*model)) == 0))
            break;
    }
    free(l.items);
}

static void test_extend(void)
{
    struct list l = {0};

    for (size_t need = 1; need < 5000; need = need * 3 + 1) {
        size_t old = l.capacity;
        CHECK(TSM_ARRAY_EXTEND(l.items, l.capacity, need) && l.capacity >= need);
        for (size_t i = 0; i < l.capacity; i++)
            CHECK_EQ_INT(l.items[i], i < old ? 9 : 0);
        for (size_t i = 0; i < l.capacity; i++)
            l.items[i] = 9;
    }
    free(l.items);
}

static void test_resize(void)
{
    uint64_t *items = NULL;

    CHECK(TSM_ARRAY_RESIZE(items, 0));
    for (size_t count = 1; count < 40; count++) {
        CHECK(TSM_ARRAY_RESIZE(items, count));
        items[count - 1] = count;
    }
    for (size_t i = 0; i < 39; i++)
        CHECK_EQ_INT(items[i], i + 1);
    free(items);
}

/* A count from a hostile file fails, and leaves the array as it was. */
static void test_overflow(void)
{
    struct list l = {0};
    uint64_t *wide = NULL;
    size_t capacity = 0;

    CHECK(TSM_ARRAY_PUSH(l.items, l.count, l.capacity, 5));
    struct list before = l;
    for (size_t need = SIZE_MAX; need > SIZE_MAX / 4; need -= SIZE_MAX / 8) {
        CHECK(!TSM_ARRAY_RESERVE(l.items, l.capacity, need));
        CHECK(!TSM_ARRAY_EXTEND(l.items, l.capacity, need));
        CHECK(!TSM_ARRAY_RESERVE(wide, capacity, need));
        CHECK(!TSM_ARRAY_RESIZE(l.items, need));
    }
    CHECK(l.items == before.items && l.capacity == before.capacity && l.items[0] == 5);
    CHECK(!wide && capacity == 0);
    free(l.items);
}

static void test_bisect(void)
{
    uint32_t sorted[64];
    uint64_t state = 11;

    for (size_t count = 0; count <= 64; count++) {
        for (size_t i = 0; i < count; i++)
            sorted[i] = (i ? sorted[i - 1] : 0) + (uint32_t)(tsm_random(&state) % 3);
        for (uint32_t value = 0; value < 140; value++) {
            size_t at, plain = 0;
            while (plain < count && sorted[plain] < value)
                plain++;
            TSM_BISECT(at, count, sorted[at] >= value);
            CHECK_EQ_INT(at, plain);
        }
    }
}

int main(void)
{
    test_bisect();
    test_push();
    test_against_model();
    test_extend();
    test_resize();
    test_overflow();
    return check_result();
}
