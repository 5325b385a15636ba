/* SPDX-License-Identifier: Apache-2.0 */
#include "emu/ptx/check/touched.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/map.h"

#define PAGE_SIZE  4096u
#define PAGE_WORDS (PAGE_SIZE / 64)
#define BITS_MAX   (1u << 17) /* sets of a page's bytes */
#define PAGES_MAX  (1u << 22)
#define SOME_MAX   256u

/* Which bytes of a page; a bit each. */
struct bits {
    uint64_t *words; /* NULL: none, or all */
    bool is_all;
    uint8_t full; /* words that are */
};

struct page {
    uint64_t number;
    struct bits read, written;
    struct bits before; /* read when they were not written */
};

struct range {
    uint64_t address, size;
    unsigned bits;
};

struct ptx_touched {
    struct tsm_map places; /* number -> place + 1 */
    struct page *pages;
    size_t count, capacity;
    size_t latest;   /* place of the one touched last */
    size_t bit_sets; /* that are allocated */
    struct range some[SOME_MAX];
    unsigned some_count;
    bool is_lost;
};

struct ptx_touched *ptx_touched_create(void)
{
    return calloc(1, sizeof(struct ptx_touched));
}

void ptx_touched_destroy(struct ptx_touched *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < t->count; i++) {
        free(t->pages[i].read.words);
        free(t->pages[i].written.words);
        free(t->pages[i].before.words);
    }
    tsm_map_finish(&t->places);
    free(t->pages);
    free(t);
}

/* ---- adding ---- */

static struct page *add_page(struct ptx_touched *t, uint64_t number)
{
    if (t->count == PAGES_MAX ||
        !TSM_ARRAY_PUSH(t->pages, t->count, t->capacity, (struct page){.number = number}))
        return NULL;
    t->latest = t->count - 1;
    return tsm_map_set(&t->places, number, t->count) ? &t->pages[t->latest] : NULL;
}

static struct page *page_of(struct ptx_touched *t, uint64_t number)
{
    uint64_t place;

    if (t->count && t->pages[t->latest].number == number)
        return &t->pages[t->latest];
    place = tsm_map_get(&t->places, number, 0);
    if (!place)
        return add_page(t, number);
    t->latest = place - 1;
    return &t->pages[t->latest];
}

static void give_words(struct ptx_touched *t, struct bits *bits)
{
    free(bits->words);
    bits->words = NULL;
    t->bit_sets--;
}

static bool take_words(struct ptx_touched *t, struct bits *bits)
{
    if (t->bit_sets == BITS_MAX || !(bits->words = calloc(PAGE_WORDS, sizeof(*bits->words))))
        return false;
    t->bit_sets++;
    return true;
}

static uint64_t mask_of(unsigned first, unsigned count)
{
    return (count == 64 ? ~0ull : (1ull << count) - 1) << first;
}

/* Sets the bytes [first, end) of a page. */
static bool set(struct ptx_touched *t, struct bits *bits, unsigned first, unsigned end)
{
    if (bits->is_all)
        return true;
    if (first == 0 && end == PAGE_SIZE) {
        if (bits->words)
            give_words(t, bits);
        bits->is_all = true;
        return true;
    }
    if (!bits->words && !take_words(t, bits))
        return false;
    while (first < end) {
        const unsigned in_word = 64 - first % 64, left = end - first;
        const unsigned count = left < in_word ? left : in_word;
        uint64_t *word = &bits->words[first / 64];
        const bool was_full = *word == ~0ull;

        *word |= mask_of(first % 64, count);
        bits->full += *word == ~0ull && !was_full;
        first += count;
    }
    if (bits->full == PAGE_WORDS) {
        give_words(t, bits);
        bits->is_all = true;
    }
    return true;
}

static uint64_t word_of(const struct bits *bits, unsigned at)
{
    return bits->is_all ? ~0ull : bits->words ? bits->words[at] : 0;
}

/* Sets those of the bytes [first, end) of a page that are not written. */
static bool set_before(struct ptx_touched *t, struct page *page, unsigned first, unsigned end)
{
    if (!page->written.is_all && !page->written.words)
        return set(t, &page->before, first, end);
    while (first < end) {
        const uint64_t there = word_of(&page->written, first / 64) >> first % 64;
        const unsigned in_word = 64 - first % 64, left = end - first;
        unsigned count = left < in_word ? left : in_word;
        const uint64_t change = there & 1 ? ~there : there; /* where this run of bytes ends */

        if (change && (unsigned)__builtin_ctzll(change) < count)
            count = (unsigned)__builtin_ctzll(change);
        if (!(there & 1) && !set(t, &page->before, first, first + count))
            return false;
        first += count;
    }
    return true;
}

static bool set_read(struct ptx_touched *t, struct page *page, unsigned first, unsigned end)
{
    return set_before(t, page, first, end) && set(t, &page->read, first, end);
}

static void add_some(struct ptx_touched *t, const struct range *range)
{
    for (unsigned i = 0; i < t->some_count; i++)
        if (t->some[i].address == range->address && t->some[i].size == range->size) {
            t->some[i].bits |= range->bits;
            return;
        }
    if (t->some_count == SOME_MAX)
        t->is_lost = true;
    else
        t->some[t->some_count++] = *range;
}

void ptx_touched_add(struct ptx_touched *t, uint64_t address, uint64_t size, unsigned bits)
{
    if (bits & PTX_TOUCHED_SOME) {
        add_some(t, &(struct range){address, size, bits});
        return;
    }
    while (size && !t->is_lost) {
        const unsigned first = (unsigned)(address % PAGE_SIZE), room = PAGE_SIZE - first;
        const unsigned count = size < room ? (unsigned)size : room;
        struct page *page = page_of(t, address / PAGE_SIZE);

        t->is_lost = !page ||
                     (bits & PTX_TOUCHED_READ && !set_read(t, page, first, first + count)) ||
                     (bits & PTX_TOUCHED_WRITTEN && !set(t, &page->written, first, first + count));
        address += count;
        size -= count;
    }
}

/* ---- visiting ---- */

struct visiting {
    bool (*visit)(void *user, uint64_t address, uint64_t size, unsigned bits);
    void *user;
    struct range open; /* grows until the next byte is another one; size 0: none */
};

static bool close_range(struct visiting *v)
{
    const struct range r = v->open;

    v->open.size = 0;
    return !r.size || v->visit(v->user, r.address, r.size, r.bits);
}

static bool add_run(struct visiting *v, uint64_t address, uint64_t size, unsigned bits)
{
    if (v->open.size && bits == v->open.bits && address == v->open.address + v->open.size) {
        v->open.size += size;
        return true;
    }
    if (!close_range(v))
        return false;
    if (bits)
        v->open = (struct range){address, size, bits};
    return true;
}

/* Visits 64 bytes, run by run. */
static bool visit_word(struct visiting *v, uint64_t address, const struct page *page, unsigned at)
{
    const uint64_t words[] = {word_of(&page->read, at), word_of(&page->written, at),
                              word_of(&page->read, at) & ~word_of(&page->before, at)};
    static const unsigned bits[] = {PTX_TOUCHED_READ, PTX_TOUCHED_WRITTEN, PTX_TOUCHED_OWN};

    for (unsigned from = 0, end; from < 64; from = end) {
        uint64_t others = 0;
        unsigned found = 0;

        for (unsigned i = 0; i < 3; i++) {
            others |= words[i] >> from & 1 ? ~words[i] : words[i];
            found |= words[i] >> from & 1 ? bits[i] : 0;
        }
        others &= ~0ull << from;
        end = others ? (unsigned)__builtin_ctzll(others) : 64;
        if (!add_run(v, address + from, end - from, found))
            return false;
    }
    return true;
}

static bool visit_page(struct visiting *v, const struct page *page)
{
    bool ok = true;

    for (unsigned i = 0; i < PAGE_WORDS && ok; i++)
        ok = visit_word(v, page->number * PAGE_SIZE + i * 64, page, i);
    return ok;
}

static int by_number(const void *a, const void *b)
{
    const struct page *x = a, *y = b;

    return (x->number > y->number) - (x->number < y->number);
}

bool ptx_touched_each(struct ptx_touched *t,
                      bool (*visit)(void *user, uint64_t address, uint64_t size, unsigned bits),
                      void *user)
{
    struct visiting v = {visit, user, {0}};
    bool ok = !t->is_lost;

    /* Their places are others now: none are asked for again. */
    tsm_map_finish(&t->places);
    if (t->count)
        qsort(t->pages, t->count, sizeof(*t->pages), by_number);
    for (size_t i = 0; i < t->count && ok; i++)
        ok = visit_page(&v, &t->pages[i]);
    ok = ok && close_range(&v);
    for (unsigned i = 0; i < t->some_count && ok; i++)
        ok = visit(user, t->some[i].address, t->some[i].size, t->some[i].bits);
    return ok;
}
