/* SPDX-License-Identifier: Apache-2.0 */
#include "emu/cuda/memory/va_allocator.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "emu/cuda/memory/page.h"
#include "emu/cuda/memory/ranges.h"

#define PAGE      EMU_PAGE
#define ALIGNMENT 512u
#define GAP       512u
#define LARGE     (1u << 20) /* from here on allocations begin at a multiple of EMU_GRANULARITY */

enum place_kind {
    PLACE_MEMORY,
    PLACE_WISHED, /* memory in a place that was kept, and is kept again when it goes */
    PLACE_RESERVATION,
    PLACE_FOREIGN,
    PLACE_KEPT, /* no pages */
};

struct window {
    uint64_t start;
    uint64_t end;
    uint64_t full_until; /* nothing worth having is free in [start, full_until) */
    struct {
        uint64_t size, until; /* so many bytes are free nowhere below; size 0: not known */
    } hints[64];              /* by the number of bits of the size */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct window windows[EMU_WINDOW_COUNT];
static struct emu_ranges places; /* each with the gap behind it; items: enum place_kind */

/* ---- places ---- */

static bool insert(uint64_t address, uint64_t size, enum place_kind kind)
{
    return emu_ranges_add(&places, (struct emu_range){address, size, (void *)(uintptr_t)kind});
}

static bool is_kind(const struct emu_range *place, enum place_kind kind)
{
    return place && (uintptr_t)place->item == kind;
}

static bool is_memory(const struct emu_range *place)
{
    return is_kind(place, PLACE_MEMORY) || is_kind(place, PLACE_WISHED);
}

/* Notes that there is a gap from `start` to the place that was there, and behind. That one may
 * begin before the window: reservations lie where the program wishes. */
static void note_gap(struct window *w, uint64_t start, const struct emu_range *gone)
{
    const uint64_t first = gone->start > w->start ? gone->start : w->start;

    if (first >= w->end || gone->start + gone->size <= w->start)
        return;
    if (first < w->full_until)
        w->full_until = first;
    for (unsigned i = 0; i < 64; i++)
        if (start < w->hints[i].until)
            w->hints[i].until = start;
}

static void erase(struct emu_range_place at)
{
    const struct emu_range gone = *emu_ranges_at(&places, at);
    const struct emu_range *before = emu_ranges_before(&places, at);
    const uint64_t start = before ? before->start + before->size : 0;

    emu_ranges_remove(&places, at);
    for (size_t i = 0; i < EMU_WINDOW_COUNT; i++)
        note_gap(&windows[i], start, &gone);
}

static bool is_free(uint64_t address, uint64_t size)
{
    const struct emu_range *next = emu_ranges_at(&places, emu_ranges_find(&places, address));

    return !next || next->start >= address + size;
}

static uint64_t align_up(uint64_t value, uint64_t alignment)
{
    return (value + alignment - 1) & ~(alignment - 1);
}

/* ---- windows ---- */

#define TERA (1ull << 40)
#define GIGA (1ull << 30)

/* Asked of the kernel itself: ThreadSanitizer's mmap() moves a wish that is in its way elsewhere.
 */
static bool is_usable(uint64_t address)
{
    long got = syscall(SYS_mmap, address, PAGE, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

    if (got == -1)
        return false;
    syscall(SYS_munmap, got, PAGE);
    return (uint64_t)got == address;
}

/* The usual place first. Under ThreadSanitizer only the lowest 512 GiB are the program's; under
 * AddressSanitizer those are its own, and a replay may have taken the usual place before for memory
 * that was recorded there: then a part of it that recordings hardly reach. */
static const struct {
    uint64_t base,
        size; /* of the window of device memory, its last part for modules; others are behind */
} candidates[] = {{0x200000000000, 16 * TERA}, {0x4000000000, 64 * GIGA}, {0x2c0000000000, TERA}};

#define CANDIDATE_COUNT (sizeof(candidates) / sizeof(candidates[0]))

static void open_window(enum emu_window window, uint64_t start, uint64_t end)
{
    windows[window] = (struct window){.start = start, .end = end, .full_until = start};
}

static uint64_t end_of(size_t candidate)
{
    return candidates[candidate].base + candidates[candidate].size;
}

/* The last part of the window of device memory. */
static uint64_t modules_of(size_t candidate)
{
    return end_of(candidate) - candidates[candidate].size / 8;
}

/* Modules' window is chosen by itself: a replay, too, has it where it was, so that variables whose
 * address the program never asked for lie where they were, if the same modules are loaded. */
static void open_modules(void)
{
    size_t i = 0;

    while (i + 1 < CANDIDATE_COUNT && !is_usable(modules_of(i)))
        i++;
    open_window(EMU_WINDOW_MODULE, modules_of(i), end_of(i));
}

bool emu_va_allocator_init(void)
{
    size_t i = 0;

    while (i < CANDIDATE_COUNT && !is_usable(candidates[i].base))
        i++;
    if (i == CANDIDATE_COUNT)
        return false;
    for (unsigned w = 0; w < EMU_WINDOW_MODULE; w++)
        open_window(w, candidates[i].base + w * candidates[i].size,
                    candidates[i].base + (w + 1) * candidates[i].size);
    open_window(EMU_WINDOW_DEVICE, candidates[i].base, modules_of(i));
    open_modules();
    open_window(EMU_WINDOW_LOW, 0x10000000, 0xf0000000);
    return true;
}

/* ---- pages ---- */

/* Returns the place before, or behind, that has pages, or NULL. */
static const struct emu_range *paged_before(struct emu_range_place at)
{
    const struct emu_range *before = emu_ranges_before(&places, at);

    while (is_kind(before, PLACE_KEPT))
        before = emu_ranges_before(&places, emu_ranges_find(&places, before->start));
    return before;
}

static const struct emu_range *paged_behind(struct emu_range_place at)
{
    do
        emu_ranges_next(&places, &at);
    while (is_kind(emu_ranges_at(&places, at), PLACE_KEPT));
    return emu_ranges_at(&places, at);
}

/* The pages of a place that it shares with no other: neighbours may begin or end in its first and
 * last page. */
static void own_pages(struct emu_range_place at, uint64_t *start, uint64_t *end)
{
    const struct emu_range *place = emu_ranges_at(&places, at), *before = paged_before(at),
                           *behind = paged_behind(at);

    *start = place->start & ~(PAGE - 1);
    *end = align_up(place->start + place->size, PAGE);
    if (before && before->start + before->size > *start)
        *start += PAGE;
    if (behind && behind->start < *end)
        *end -= PAGE;
}

static int map_place(struct emu_range_place at)
{
    uint64_t start, end;

    own_pages(at, &start, &end);
    return emu_page_map(start, end,
                        is_memory(emu_ranges_at(&places, at)) ? PROT_READ | PROT_WRITE : PROT_NONE);
}

static void unmap_place(struct emu_range_place at)
{
    uint64_t start, end;

    own_pages(at, &start, &end);
    emu_page_unmap(start, end);
}

/* New pages are zero; the first and the last one may be a neighbour's, used before. */
static void fill_memory(uint64_t address, size_t size, uint8_t value)
{
    uint8_t *p = (uint8_t *)(uintptr_t)address;

    if (value || size <= 2 * PAGE) {
        memset(p, value, size);
        return;
    }
    memset(p, 0, PAGE);
    memset(p + size - PAGE, 0, PAGE);
}

/* Gives up a piece of a window, of at least one granule where that much is free. Pieces that meet
 * become one. */
static bool give_up(uint64_t address, uint64_t size)
{
    uint64_t end = align_up(address + size, EMU_GRANULARITY);
    const struct emu_range *next = emu_ranges_at(&places, emu_ranges_find(&places, address));
    const struct emu_range_place before = emu_ranges_find(&places, address - 1);
    const struct emu_range *last = emu_ranges_at(&places, before);

    if (next && next->start < end)
        end = next->start;
    if (is_kind(last, PLACE_FOREIGN) && last->start + last->size == address) {
        emu_ranges_resize(&places, before, end - last->start);
        return true;
    }
    return insert(address, end - address, PLACE_FOREIGN);
}

static unsigned bits_of(uint64_t size)
{
    return 63 - (unsigned)__builtin_clzll(size);
}

/* Finds the lowest place in a window that is free; 0: there is none. */
static uint64_t first_fit(struct window *w, uint64_t size, uint64_t alignment)
{
    uint64_t from = w->full_until, address;
    const unsigned bits = bits_of(size);

    for (unsigned i = 0; i <= bits; i++)
        if (w->hints[i].size && w->hints[i].size <= size && w->hints[i].until > from)
            from = w->hints[i].until;
    address = emu_ranges_first_gap(&places, from, w->end, size, alignment);
    if (address && alignment == ALIGNMENT &&
        (address > w->hints[bits].until || size <= w->hints[bits].size)) {
        w->hints[bits].size = size;
        w->hints[bits].until = address;
    }
    return address;
}

/* Finds a free place. Where something of the program is in the way, that piece of the window is
 * given up: each time twice as much, because it may be large. */
static uint64_t place_in_window(struct window *w, uint64_t size, uint64_t alignment,
                                enum place_kind kind)
{
    for (unsigned tries = 0; tries < 40; tries++) {
        uint64_t address = first_fit(w, size, alignment);
        if (!address || !insert(address, size, kind))
            return 0;
        struct emu_range_place at = emu_ranges_find(&places, address);
        int error = map_place(at);
        if (!error) {
            if (address == align_up(w->full_until, alignment))
                w->full_until = address + size;
            return address;
        }
        erase(at);
        if (error != EEXIST || !give_up(address, 1ull << tries))
            return 0;
    }
    return 0;
}

/* ---- interface ---- */

uint64_t emu_va_allocator_take(enum emu_window window, size_t size, uint8_t fill)
{
    uint64_t alignment = size >= LARGE ? EMU_GRANULARITY : ALIGNMENT;
    uint64_t address = 0;

    if (size > 8 * TERA)
        return 0;
    pthread_mutex_lock(&lock);
    address =
        place_in_window(&windows[window], align_up(size, ALIGNMENT) + GAP, alignment, PLACE_MEMORY);
    /* Under the lock, for a page that it shares with a neighbour may be about to move. */
    if (address)
        fill_memory(address, size, fill);
    pthread_mutex_unlock(&lock);
    return address;
}

/* ---- places that are kept ---- */

/* Tests whether device memory is there in some process: this one may have it elsewhere. */
static bool is_for_device(uint64_t start, uint64_t end)
{
    for (size_t i = 0; i < sizeof(candidates) / sizeof(candidates[0]); i++)
        if (start >= candidates[i].base && start < end &&
            end <= candidates[i].base + candidates[i].size)
            return true;
    return false;
}

bool emu_va_allocator_keep(uint64_t start, uint64_t size)
{
    const uint64_t end = start + size;
    bool ok = is_for_device(start, end);

    pthread_mutex_lock(&lock);
    while (ok && start < end) {
        const struct emu_range *next = emu_ranges_at(&places, emu_ranges_find(&places, start));
        const uint64_t until = next && next->start < end ? next->start : end;

        if (start < until)
            ok = insert(start, until - start, PLACE_KEPT);
        start = next && next->start < end ? next->start + next->size : end;
    }
    pthread_mutex_unlock(&lock);
    return ok;
}

bool emu_va_allocator_is_kept(uint64_t address)
{
    const struct emu_range *place;
    bool is;

    pthread_mutex_lock(&lock);
    place = emu_ranges_holder(&places, address);
    is = is_kind(place, PLACE_KEPT) || is_kind(place, PLACE_WISHED);
    pthread_mutex_unlock(&lock);
    return is;
}

/* Tests whether nothing but kept places reaches into [start, end). */
static bool is_wishable(uint64_t start, uint64_t end)
{
    struct emu_range_place at = emu_ranges_find(&places, start);
    const struct emu_range *place;

    while ((place = emu_ranges_at(&places, at)) && place->start < end) {
        if (!is_kind(place, PLACE_KEPT))
            return false;
        emu_ranges_next(&places, &at);
    }
    return true;
}

/* Cuts [start, end) out of kept places. */
static bool cut_kept(uint64_t start, uint64_t end)
{
    const struct emu_range *found;
    bool ok = true;

    while (ok && (found = emu_ranges_at(&places, emu_ranges_find(&places, start))) &&
           found->start < end) {
        const struct emu_range kept = *found;

        emu_ranges_remove(&places, emu_ranges_find(&places, start));
        if (kept.start < start)
            ok = insert(kept.start, start - kept.start, PLACE_KEPT);
        if (ok && kept.start + kept.size > end)
            ok = insert(end, kept.start + kept.size - end, PLACE_KEPT);
    }
    return ok;
}

/* Keeps the place again, as one with those beside it. */
static void keep_again(struct emu_range_place at)
{
    struct emu_range kept = *emu_ranges_at(&places, at);
    const struct emu_range *beside = emu_ranges_before(&places, at);

    if (is_kind(beside, PLACE_KEPT) && beside->start + beside->size == kept.start) {
        kept = (struct emu_range){beside->start, beside->size + kept.size, NULL};
        emu_ranges_remove(&places, emu_ranges_find(&places, kept.start));
        at = emu_ranges_find(&places, kept.start + kept.size - 1);
    }
    emu_ranges_remove(&places, at);
    at = emu_ranges_find(&places, kept.start + kept.size);
    beside = emu_ranges_at(&places, at);
    if (is_kind(beside, PLACE_KEPT) && beside->start == kept.start + kept.size) {
        kept.size += beside->size;
        emu_ranges_remove(&places, at);
    }
    insert(kept.start, kept.size, PLACE_KEPT);
}

uint64_t emu_va_allocator_take_at(uint64_t address, size_t size, uint8_t fill)
{
    const uint64_t end = address + size; /* another driver may have left no gap */
    struct emu_range_place at;
    bool ok;

    if (size > 8 * TERA || !is_for_device(address, end))
        return 0;
    pthread_mutex_lock(&lock);
    ok = is_wishable(address, end) && cut_kept(address, end) && insert(address, size, PLACE_WISHED);
    if (ok) {
        at = emu_ranges_find(&places, address);
        ok = !map_place(at);
        if (!ok)
            keep_again(at);
    }
    if (ok)
        fill_memory(address, size, fill);
    pthread_mutex_unlock(&lock);
    return ok ? address : 0;
}

/* ---- giving back ---- */

void emu_va_allocator_give(uint64_t address)
{
    pthread_mutex_lock(&lock);
    struct emu_range_place at = emu_ranges_find(&places, address);
    const struct emu_range *place = emu_ranges_at(&places, at);
    if (is_memory(place) && place->start == address) {
        unmap_place(at);
        if (is_kind(place, PLACE_WISHED))
            keep_again(at);
        else
            erase(at);
    }
    pthread_mutex_unlock(&lock);
}

bool emu_va_allocator_share(uint64_t address, size_t size)
{
    bool ok = false;

    pthread_mutex_lock(&lock);
    if (is_memory(emu_ranges_holder(&places, address)))
        ok = emu_page_share(address & ~(PAGE - 1), align_up(address + size, PAGE));
    pthread_mutex_unlock(&lock);
    return ok;
}

/* A place outside of the windows, or inside: wherever the program wished. */
static uint64_t place_at(uint64_t wish, uint64_t size)
{
    if (!is_usable(wish) || !is_free(wish, size) || emu_page_map(wish, wish + size, PROT_NONE))
        return 0;
    if (insert(wish, size, PLACE_RESERVATION))
        return wish;
    munmap((void *)(uintptr_t)wish, size);
    return 0;
}

uint64_t emu_va_allocator_reserve(uint64_t wish, size_t size, size_t alignment)
{
    uint64_t address = 0;

    if (alignment < EMU_GRANULARITY)
        alignment = EMU_GRANULARITY;
    pthread_mutex_lock(&lock);
    if (wish && wish % alignment == 0 && wish + size > wish)
        address = place_at(wish, size);
    if (!address)
        address =
            place_in_window(&windows[EMU_WINDOW_RESERVED], size, alignment, PLACE_RESERVATION);
    pthread_mutex_unlock(&lock);
    return address;
}

bool emu_va_allocator_unreserve(uint64_t address, size_t size)
{
    bool found;

    pthread_mutex_lock(&lock);
    struct emu_range_place at = emu_ranges_find(&places, address);
    const struct emu_range *place = emu_ranges_at(&places, at);
    found = is_kind(place, PLACE_RESERVATION) && place->start == address && place->size == size;
    if (found) {
        munmap((void *)(uintptr_t)address, size);
        erase(at);
    }
    pthread_mutex_unlock(&lock);
    return found;
}

bool emu_va_allocator_is_reserved(uint64_t address, size_t size)
{
    bool is;

    pthread_mutex_lock(&lock);
    const struct emu_range *place = emu_ranges_holder(&places, address);
    is = is_kind(place, PLACE_RESERVATION) && size <= place->start + place->size - address;
    pthread_mutex_unlock(&lock);
    return is;
}
