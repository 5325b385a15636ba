/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/address_space.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/random.h"
#include "tests/unit/check.h"

#define CELLS 200u
#define PAGE  ((uint64_t)1 << 16)

/* The ranges are the runs of cells that are set. */
static bool same_as_cells(const struct tsm_address_space *s, const bool *cells)
{
    size_t at = 0;

    for (uint64_t i = 0, end; i < CELLS; i = end) {
        for (end = i; end < CELLS && cells[end] == cells[i]; end++)
            ;
        if (!cells[i])
            continue;
        if (at == s->count || s->list[at].start != i || s->list[at].end != end)
            return false;
        at++;
    }
    return at == s->count;
}

static bool same_finds(const struct tsm_address_space *s, const bool *cells, uint64_t *state)
{
    for (int i = 0; i < 8; i++) {
        uint64_t start = tsm_random(state) % CELLS, size = tsm_random(state) % (CELLS - start) + 1;
        bool is_whole = true;

        for (uint64_t k = start; k < start + size; k++)
            is_whole &= cells[k];
        const struct tsm_address_range *r = tsm_address_space_find(s, start, size);
        if ((r != NULL) != is_whole || (r && (r->start > start || r->end < start + size)))
            return false;
    }
    return true;
}

/* Adds and removes at random, beside one flag for each address that does the same. */
static void test_against_cells(void)
{
    uint64_t state = 3;

    for (int round = 0; round < 50; round++) {
        struct tsm_address_space s = {0};
        bool cells[CELLS] = {0};
        for (int step = 0; step < 200; step++) {
            uint64_t start = tsm_random(&state) % CELLS;
            uint64_t size = tsm_random(&state) % (round % 2 ? CELLS - start : 4) + 1;
            bool adds = tsm_random(&state) % 3 > 0;
            size = size > CELLS - start ? CELLS - start : size;
            CHECK((adds ? tsm_address_space_add : tsm_address_space_remove)(&s, start,
                                                                            start + size) == 0);
            memset(&cells[start], adds, size);
            if (!CHECK(same_as_cells(&s, cells) && same_finds(&s, cells, &state)))
                return;
        }
        tsm_address_space_finish(&s);
    }
}

/* A driver that reserves the first range where it should, the second elsewhere, and the third not
 * at all. */
struct fake {
    uint64_t starts[3];
    unsigned released;
};

static uint64_t fake_reserve(void *user, uint64_t start, uint64_t size)
{
    const struct fake *f = user;

    CHECK(size == PAGE);
    return start == f->starts[0] ? start : start == f->starts[1] ? 1 : 0;
}

static void fake_release(void *user, uint64_t start, uint64_t size)
{
    struct fake *f = user;

    CHECK(size == PAGE);
    CHECK(start == 1 || start == f->starts[0]);
    f->released++;
}

static bool is_mapped(uint64_t start)
{
    return msync((void *)(uintptr_t)start, PAGE, MS_ASYNC) == 0;
}

static void test_driver(void)
{
    struct fake f = {0};
    const struct tsm_address_driver driver = {&f, fake_reserve, fake_release};
    struct tsm_address_space s = {0};
    void *room = mmap(NULL, 8 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    for (unsigned i = 0; i < 3; i++) {
        f.starts[i] = (uint64_t)(uintptr_t)room + (2 * i + 1) * PAGE;
        CHECK(tsm_address_space_add(&s, f.starts[i], f.starts[i] + PAGE) == 0);
    }
    tsm_address_space_keep(&s, PROT_NONE);
    for (unsigned i = 0; i < 3; i++)
        CHECK(!s.list[i].is_kept); /* something is there */
    munmap(room, 8 * PAGE);
    tsm_address_space_keep(&s, PROT_NONE);
    for (unsigned i = 0; i < 3; i++)
        CHECK(s.list[i].is_kept && is_mapped(f.starts[i]));
    tsm_address_space_reserve(&s, &driver);
    CHECK(s.list[0].is_reserved && !s.list[0].is_kept && !is_mapped(f.starts[0]));
    CHECK_EQ_INT(f.released, 1);
    for (unsigned i = 1; i < 3; i++)
        CHECK(!s.list[i].is_reserved && s.list[i].is_kept && is_mapped(f.starts[i]));
    tsm_address_space_release(&s, &driver);
    CHECK_EQ_INT(f.released, 2);
    for (unsigned i = 0; i < 3; i++)
        CHECK(!s.list[i].is_kept && !is_mapped(f.starts[i]));
    tsm_address_space_finish(&s);
}

int main(void)
{
    test_against_cells();
    test_driver();
    return check_result();
}
