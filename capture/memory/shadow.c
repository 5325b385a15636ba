/* SPDX-License-Identifier: Apache-2.0
 *
 * Both copies are compared with the third in words of 8 bytes, and only bytes that differ are
 * stored: another thread of the program, or the device, may be writing the bytes beside them.
 *
 * What is recorded may be wider than what changed, since a record for each of many small pieces is
 * expensive. But replay writes all of it. So a record is exact where the device may write the bytes
 * in between at the same time, and says which bytes of the page it means.
 */
#include "capture/memory/shadow.h"

#include "base/touched.h"
#include "capture/memory/pagemap.h"
#include "capture/memory/runs.h"
#include "capture/session.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define PAGE      4096u
#define LINE      64u
#define RUN_COUNT 256u
#define WATCH_MIN (128u << 10) /* below this comparing all is cheaper than asking the kernel */
#define MANY      8u /* a side of which more than one page of so many is written is not watched ... */
#define HOLD_MIN                                                                                   \
    4u /* ... for so many calls, at first: each written page costs the writer a fault */
#define HOLD_MAX 1024u
#define GAP_MAX  256u       /* unchanged bytes that are recorded with those around them */
#define SETTLED  16u        /* pushes and pulls after which memory counts as the host's alone */

/* One of the two copies that somebody writes to. */
struct side {
    uint8_t *memory;
    bool watched;
    bool refused;       /* the kernel does not watch this memory, or we do not want it to */
    uint32_t hold;      /* calls to go until it may be watched again */
    uint32_t next_hold; /* ... when it is written too much the next time */
};

struct tsm_shadow {
    struct tsm_lock lock;
    struct side real, own;
    uint8_t *agreed;
    uint64_t size;
    uint64_t *changed; /* a bit for each page that pull changed */
    uint64_t *owed;    /* ... and for each that is to be recorded as it was at first */
    uint64_t *touched; /* ... and for each that the device has ever changed */
    bool any_changed, any_owed;
    /* Others write the real memory, too, and no call says when: a byte that the program wrote as it
     * was before may be another's there by now. Those beside bytes that changed count as written.
     */
    bool is_shared;
    bool busy;                /* push: the device may be writing the real memory */
    bool was_pushed;          /* since the last pull */
    uint32_t round_count;     /* pulls after pushes, up to SETTLED */
    uint64_t gap_max, to_gap; /* push: of this page; of the page with `to` */
    uint64_t from, to;        /* push: what is to be recorded next; none where equal */
    struct tsm_runs runs_due; /* ... and what comes before it */
    struct tsm_page_run runs[RUN_COUNT];
};

/* ---- which pages were written --------------------------------------------------------------- */

/* One for all; opened once, used by the process that has opened it. */
static struct tsm_lock pagemap_lock;
static struct tsm_pagemap pagemap = {-1, -1, 0};
static pid_t pagemap_owner;

/* Another thread of the parent may have held it. */
void tsm_shadow_forked(void)
{
    pagemap_lock = (struct tsm_lock){0};
}

static bool watch(uint64_t start, uint64_t end)
{
    bool watched;

    tsm_lock_take(&pagemap_lock);
    if (pagemap_owner != getpid()) { /* a child has to open its own */
        tsm_pagemap_init(&pagemap);
        pagemap_owner = getpid();
    }
    watched = pagemap_owner == getpid() && tsm_pagemap_watch(&pagemap, start, end);
    tsm_lock_give(&pagemap_lock);
    return watched;
}

static uint64_t page_floor(uint64_t address)
{
    return address & ~(uint64_t)(PAGE - 1);
}

static uint64_t side_start(const struct side *side)
{
    return page_floor((uint64_t)(uintptr_t)side->memory);
}

static uint64_t side_end(const struct tsm_shadow *s, const struct side *side)
{
    return page_floor((uint64_t)(uintptr_t)side->memory + s->size + PAGE - 1);
}

/* Next runs of pages that were written since the last time. False: the kernel does not tell. */
static bool take_written(struct tsm_shadow *s, const struct side *side, uint64_t *at, int *count)
{
    *count = pagemap_owner == getpid()
                 ? tsm_pagemap_take(&pagemap, at, side_end(s, side), s->runs, RUN_COUNT)
                 : -1;
    return *count >= 0;
}

static void stop_watching(struct tsm_shadow *s, struct side *side)
{
    if (side->watched && pagemap_owner == getpid())
        tsm_pagemap_unwatch(&pagemap, side_start(side), side_end(s, side));
    side->watched = false;
}

/* From here on what is written there is reported. */
static void begin_to_watch(struct tsm_shadow *s, struct side *side)
{
    uint64_t at = side_start(side);
    int count;

    if (side->refused || s->size < WATCH_MIN)
        return;
    side->watched = watch(at, side_end(s, side));
    while (side->watched && at < side_end(s, side))
        side->watched = take_written(s, side, &at, &count);
    side->refused = !side->watched;
}

/* Watching costs more than it saves where much is written. */
static void judge(struct tsm_shadow *s, struct side *side, uint64_t bytes)
{
    if (bytes > s->size / MANY) {
        stop_watching(s, side);
        side->hold = side->next_hold;
        if (side->next_hold < HOLD_MAX)
            side->next_hold *= 2;
    } else if (side->next_hold > HOLD_MIN) {
        side->next_hold--;
    }
}

typedef void see_pages(struct tsm_shadow *s, uint64_t from, uint64_t to);

/* Finds the written pages. Returns false if the kernel no longer reports them. */
static bool see_written(struct tsm_shadow *s, struct side *side, see_pages *see)
{
    uint64_t start = (uint64_t)(uintptr_t)side->memory, end = start + s->size;
    uint64_t at = side_start(side), bytes = 0;
    int count;

    while (at < end) {
        if (!take_written(s, side, &at, &count))
            return false;
        for (int i = 0; i < count; i++) {
            uint64_t from = s->runs[i].start < start ? start : s->runs[i].start;
            uint64_t to = s->runs[i].end > end ? end : s->runs[i].end;
            see(s, page_floor(from - start), to - start);
            bytes += to - from;
        }
    }
    judge(s, side, bytes);
    return true;
}

/* Have `see` look at the pages, as offsets, that were written since the last time, or at all where
 * nobody can tell. */
static void written(struct tsm_shadow *s, struct side *side, see_pages *see)
{
    if (side->watched) {
        if (see_written(s, side, see))
            return;
        side->watched = false;
        side->refused = true;
    } else if (side->hold > 0 && --side->hold == 0) {
        begin_to_watch(s, side); /* before all is looked at: no write falls between */
    }
    see(s, 0, s->size);
}

/* ---- comparing ------------------------------------------------------------------------------ */

static uint64_t load(const uint8_t *at, size_t size)
{
    uint64_t value = 0;

    if (size == sizeof(value))
        return __atomic_load_n((const uint64_t *)(const void *)at, __ATOMIC_RELAXED);
    memcpy(&value, at, size);
    return value;
}

typedef void note_bytes(struct tsm_shadow *s, uint64_t from, uint64_t to);

/* From where to where changes are brought. */
struct move {
    struct tsm_shadow *s;
    const uint8_t *from;
    uint8_t *to;
    bool wide;   /* whole words: see is_shared */
    bool yields; /* bytes of `to` that differ from the agreed copy, too, stay: the program's */
    note_bytes *moved;
    uint64_t first, last; /* bytes that were moved and not reported; none where equal */
};

static inline void flush_moved(struct move *m)
{
    if (m->first != m->last)
        m->moved(m->s, m->first, m->last);
    m->first = m->last;
}

/* Reports bytes together with those before them if no more than gap_max lie between. */
static inline void note_moved(struct move *m, uint64_t at, uint64_t end)
{
    if (m->first == m->last || (at > m->last && at - m->last > m->s->gap_max)) {
        flush_moved(m);
        m->first = at;
    }
    m->last = end;
}

static inline bool has_zero_byte(uint64_t value)
{
    return (value - 0x0101010101010101u) & ~value & 0x8080808080808080u;
}

static void move_bytes(struct move *m, uint64_t at, size_t size, uint64_t value)
{
    const uint8_t *bytes = (const uint8_t *)&value; /* little endian, as `load` left them */

    for (size_t i = 0; i < size; i++) {
        uint8_t *agreed = &m->s->agreed[at + i], *to = &m->to[at + i];
        if (bytes[i] == *agreed)
            continue;
        if (!m->yields || __atomic_load_n(to, __ATOMIC_RELAXED) == *agreed)
            __atomic_store_n(to, bytes[i], __ATOMIC_RELAXED);
        *agreed = bytes[i];
        if (m->s->gap_max) /* then the bytes beside it may be recorded as well */
            note_moved(m, at, at + size);
        else
            note_moved(m, at + i, at + i + 1);
    }
}

static inline void move_word(struct move *m, uint64_t at, uint64_t value, uint64_t old)
{
    if (!m->wide && (has_zero_byte(value ^ old) || (m->yields && load(m->to + at, 8) != old))) {
        move_bytes(m, at, 8, value);
        return;
    }
    __atomic_store_n((uint64_t *)(void *)(m->s->agreed + at), value, __ATOMIC_RELAXED);
    __atomic_store_n((uint64_t *)(void *)(m->to + at), value, __ATOMIC_RELAXED);
    note_moved(m, at, at + 8);
}

/* Brings bytes that differ from the agreed copy in `from` to `to`. */
static inline void move_line(struct move *m, uint64_t at, uint64_t end)
{
    for (; end - at >= 8; at += 8) {
        uint64_t value = load(m->from + at, 8), old = load(m->s->agreed + at, 8);
        if (value != old)
            move_word(m, at, value, old);
    }
    if (at < end)
        move_bytes(m, at, (size_t)(end - at), load(m->from + at, (size_t)(end - at)));
}

static bool differs(const struct tsm_shadow *s, const uint8_t *memory, uint64_t at, uint64_t end)
{
    return memcmp(memory + at, s->agreed + at, (size_t)(end - at)) != 0;
}

/* `begin`, unless NULL, is called for each page with changes before they are moved. */
static inline void move(struct move *m, uint64_t at, uint64_t end, note_bytes *begin)
{
    for (uint64_t next; at < end; at = next) {
        next = end - at < PAGE ? end : at + PAGE;
        if (!differs(m->s, m->from, at, next))
            continue;
        if (begin)
            begin(m->s, at, next);
        for (uint64_t line = at; line < next; line += LINE)
            move_line(m, line, next - line < LINE ? next : line + LINE);
        flush_moved(m);
    }
}

static bool has_bit(const uint64_t *bits, uint64_t page)
{
    return bits[page / 64] >> page % 64 & 1;
}

static void set_bit(uint64_t *bits, uint64_t page)
{
    bits[page / 64] |= (uint64_t)1 << page % 64;
}

/* ---- recording ------------------------------------------------------------------------------ */

static void record(struct tsm_shadow *s)
{
    uint64_t from = s->from;

    s->from = s->to;
    tsm_runs_add(&s->runs_due, from, s->to, s->to_gap == 0);
}

static void record_all(struct tsm_shadow *s)
{
    if (s->from != s->to)
        record(s);
    tsm_runs_flush(&s->runs_due);
}

/* ---- push ----------------------------------------------------------------------------------- */

static void pushed(struct tsm_shadow *s, uint64_t from, uint64_t to)
{
    uint64_t gap_max = s->gap_max < s->to_gap ? s->gap_max : s->to_gap;

    if (s->from != s->to && (from < s->from || from - s->to > gap_max))
        record(s);
    if (s->from == s->to)
        s->from = from;
    s->to = to;
    s->to_gap = s->gap_max;
}

/* Chooses how wide records of a page may be. */
static void begin_push(struct tsm_shadow *s, uint64_t from, uint64_t to)
{
    if (s->busy && differs(s, s->real.memory, from, to))
        set_bit(s->touched, from / PAGE);
    s->gap_max =
        s->busy && (s->round_count < SETTLED || has_bit(s->touched, from / PAGE)) ? 0 : GAP_MAX;
}

static void push_pages(struct tsm_shadow *s, uint64_t from, uint64_t to)
{
    struct move m = {
        .s = s, .from = s->own.memory, .to = s->real.memory, .wide = s->is_shared, .moved = pushed};

    move(&m, from, to, begin_push);
}

static bool take_bit(uint64_t *bits, uint64_t page)
{
    uint64_t bit = (uint64_t)1 << page % 64;
    bool was = bits[page / 64] & bit;

    bits[page / 64] &= ~bit;
    return was;
}

static void record_pages(struct tsm_shadow *s, uint64_t *bits)
{
    for (uint64_t at = 0; at < s->size; at += PAGE)
        if (take_bit(bits, at / PAGE))
            pushed(s, at, s->size - at < PAGE ? s->size : at + PAGE);
    record_all(s);
}

/* Not when the shadow was made: the trace did not know of its address then. */
static void record_owed(struct tsm_shadow *s)
{
    record_pages(s, s->owed);
    s->any_owed = false;
}

void tsm_shadow_push(struct tsm_shadow *s, bool busy)
{
    int saved_errno = errno;

    tsm_lock_take(&s->lock);
    s->busy = busy;
    s->was_pushed = true;
    if (s->any_owed)
        record_owed(s);
    written(s, &s->own, push_pages);
    record_all(s);
    tsm_lock_give(&s->lock);
    errno = saved_errno;
}

/* ---- pull ----------------------------------------------------------------------------------- */

static void pulled(struct tsm_shadow *s, uint64_t from, uint64_t to)
{
    set_bit(s->changed, from / PAGE);
    set_bit(s->touched, from / PAGE);
    s->any_changed = true;
}

static void pull_pages(struct tsm_shadow *s, uint64_t from, uint64_t to)
{
    struct move m = {
        .s = s, .from = s->real.memory, .to = s->own.memory, .yields = true, .moved = pulled};

    s->gap_max = PAGE;
    move(&m, from, to, NULL);
}

void tsm_shadow_pull(struct tsm_shadow *s)
{
    int saved_errno = errno;

    tsm_lock_take(&s->lock);
    s->round_count += s->was_pushed && s->round_count < SETTLED;
    s->was_pushed = false;
    written(s, &s->real, pull_pages);
    tsm_lock_give(&s->lock);
    errno = saved_errno;
}

void tsm_shadow_changes(struct tsm_shadow *s,
                        void (*each)(void *, uint64_t, const void *, uint64_t), void *user)
{
    uint64_t pages = (s->size + PAGE - 1) / PAGE;

    tsm_lock_take(&s->lock);
    for (uint64_t page = 0; s->any_changed && page < pages; page++) {
        uint64_t from = page * PAGE, to;
        if (page % 64 == 0 && s->changed[page / 64] == 0) {
            page += 63;
            continue;
        }
        if (!take_bit(s->changed, page))
            continue;
        while (page + 1 < pages && take_bit(s->changed, page + 1))
            page++;
        to = (page + 1) * PAGE;
        each(user, from, s->agreed + from, (to > s->size ? s->size : to) - from);
    }
    s->any_changed = false;
    tsm_lock_give(&s->lock);
}

bool tsm_shadow_has_changes(struct tsm_shadow *s)
{
    bool any;

    tsm_lock_take(&s->lock);
    any = s->any_changed;
    tsm_lock_give(&s->lock);
    return any;
}

/* ---- shared memory -------------------------------------------------------------------------- */

void tsm_shadow_share(struct tsm_shadow *s, uint64_t place)
{
    s->runs_due.name = place;
}

void tsm_shadow_adopt(struct tsm_shadow *s)
{
    int saved_errno = errno;

    tsm_lock_take(&s->lock);
    if (s->any_owed)
        record_owed(s);
    if (s->any_changed)
        record_pages(s, s->changed);
    s->any_changed = false;
    tsm_lock_give(&s->lock);
    errno = saved_errno;
}

void tsm_shadow_unwatch(struct tsm_shadow *s)
{
    tsm_lock_take(&s->lock);
    stop_watching(s, &s->real);
    s->real.refused = true;
    s->is_shared = true;
    tsm_lock_give(&s->lock);
}

/* ---- lifetime ------------------------------------------------------------------------------- */

static uint64_t bitmap_size(uint64_t size)
{
    return (size / PAGE / 64 + 1) * sizeof(uint64_t);
}

/* Left over from somebody else's use of the memory: few pages, if any. */
static void take_over(void *user, uint64_t at, uint64_t length)
{
    struct tsm_shadow *s = user;
    uint64_t end = at + length;

    for (at = at / PAGE * PAGE; at < end; at += PAGE) {
        size_t size = s->size - at < PAGE ? (size_t)(s->size - at) : PAGE;
        if (memcmp(s->real.memory + at, s->agreed + at, size) == 0)
            continue;
        memcpy(s->agreed + at, s->real.memory + at, size);
        memcpy(s->own.memory + at, s->agreed + at, size);
        set_bit(s->owed, at / PAGE);
        s->any_owed = true;
    }
}

struct tsm_shadow *tsm_shadow_create(void *real, uint64_t size, bool ordinary,
                                     enum tsm_shadow_origin origin)
{
    struct tsm_shadow *s = tsm_memory_map(sizeof(*s));

    if (!s)
        return NULL;
    s->real = (struct side){.memory = real, .refused = !ordinary, .next_hold = HOLD_MIN};
    s->own = (struct side){.memory = tsm_memory_map(size), .next_hold = HOLD_MIN};
    s->size = size;
    s->agreed = tsm_memory_map(size);
    s->runs_due.name = (uint64_t)(uintptr_t)s->own.memory;
    s->runs_due.bytes = s->agreed;
    s->changed = tsm_memory_map(bitmap_size(size));
    s->owed = tsm_memory_map(bitmap_size(size));
    s->touched = tsm_memory_map(bitmap_size(size));
    if (!s->own.memory || !s->agreed || !s->changed || !s->owed || !s->touched) {
        tsm_shadow_destroy(s);
        return NULL;
    }
    if (origin ==
        TSM_SHADOW_FRESH) /* before it is watched: the kernel has a mark for each page then */
        tsm_touched(real, size, take_over, s);
    begin_to_watch(s, &s->real);
    if (origin != TSM_SHADOW_FRESH)
        pull_pages(s, 0, size);
    if (origin == TSM_SHADOW_UNKNOWN) {
        memset(s->changed, 0, bitmap_size(size));
        s->any_changed = false;
    }
    begin_to_watch(s, &s->own);
    return s;
}

void tsm_shadow_destroy(struct tsm_shadow *s)
{
    if (!s)
        return;
    stop_watching(s, &s->real);
    stop_watching(s, &s->own);
    tsm_runs_finish(&s->runs_due);
    tsm_memory_unmap(s->own.memory, s->size);
    tsm_memory_unmap(s->agreed, s->size);
    tsm_memory_unmap(s->changed, bitmap_size(s->size));
    tsm_memory_unmap(s->owed, bitmap_size(s->size));
    tsm_memory_unmap(s->touched, bitmap_size(s->size));
    tsm_memory_unmap(s, sizeof(*s));
}

void *tsm_shadow_address(const struct tsm_shadow *s)
{
    return s->own.memory;
}

const void *tsm_shadow_real(const struct tsm_shadow *s)
{
    return s->real.memory;
}
