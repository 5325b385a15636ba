/* SPDX-License-Identifier: Apache-2.0
 *
 * Both copies are compared with the third in words of 8 bytes, and only words that differ are
 * copied: another thread of the program may be writing beside them in the same page.
 */
#include "capture/shadow.h"

#include "capture/pagemap.h"
#include "capture/session.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define PAGE      4096u
#define LINE      64u
#define RUN_COUNT 256u
#define WATCH_MIN (128u << 10) /* below this comparing all is cheaper than asking the kernel */
#define GAP_MAX   256u         /* unchanged bytes that are recorded with those around them */
#define SPAN_MAX  (1u << 20)   /* bytes of one record */

struct tsm_shadow {
    struct tsm_lock lock;
    uint8_t *real, *own, *agreed;
    uint64_t size;
    bool own_watched, real_watched;
    uint64_t *changed; /* a bit for each page that pull changed */
    uint64_t *owed;    /* ... and for each that is to be recorded as it was at first */
    bool any_changed, any_owed;
    uint64_t from, to; /* push: what is to be recorded next; none where equal */
    struct tsm_page_run runs[RUN_COUNT];
};

/* ---- which pages were written
 * ---------------------------------------------------------------------- */

/* One for all; opened once, used by the process that has opened it. */
static struct tsm_lock pagemap_lock;
static struct tsm_pagemap pagemap = {-1, -1};
static pid_t pagemap_owner;

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

/* Pages of `memory` that `see` is to look at, as offsets in it: those written since the last time,
 * or all where nobody can tell. *watched turns false when the kernel does not tell any more. */
static void written(struct tsm_shadow *s, const uint8_t *memory, bool *watched,
                    void (*see)(struct tsm_shadow *, uint64_t from, uint64_t to))
{
    uint64_t start = (uint64_t)(uintptr_t)memory, end = start + s->size;
    uint64_t at = page_floor(start), last = page_floor(end + PAGE - 1);

    while (*watched && at < last) {
        int count = pagemap_owner == getpid()
                        ? tsm_pagemap_take(&pagemap, &at, last, s->runs, RUN_COUNT)
                        : -1;
        *watched = count >= 0;
        for (int i = 0; i < count; i++) {
            uint64_t from = s->runs[i].start < start ? start : s->runs[i].start;
            uint64_t to = s->runs[i].end > end ? end : s->runs[i].end;
            see(s, page_floor(from - start), to - start);
        }
    }
    if (!*watched)
        see(s, 0, s->size);
}

/* ---- comparing
 * -------------------------------------------------------------------------------------- */

static uint64_t load(const uint8_t *at, size_t size)
{
    uint64_t value = 0;

    if (size == sizeof(value))
        return __atomic_load_n((const uint64_t *)(const void *)at, __ATOMIC_RELAXED);
    memcpy(&value, at, size);
    return value;
}

static void store(uint8_t *at, uint64_t value, size_t size)
{
    if (size == sizeof(value))
        __atomic_store_n((uint64_t *)(void *)at, value, __ATOMIC_RELAXED);
    else
        memcpy(at, &value, size);
}

/* Bring what differs from the agreed copy in `from` to `to`. Calls `moved` for each word. */
static void move_line(struct tsm_shadow *s, const uint8_t *from, uint8_t *to, uint64_t at,
                      uint64_t end, void (*moved)(struct tsm_shadow *, uint64_t, uint64_t))
{
    while (at < end) {
        size_t size = end - at < 8 ? (size_t)(end - at) : 8;
        uint64_t value = load(from + at, size);

        if (value != load(s->agreed + at, size)) {
            store(s->agreed + at, value, size);
            store(to + at, value, size);
            moved(s, at, at + size);
        }
        at += size;
    }
}

static void move(struct tsm_shadow *s, const uint8_t *from, uint8_t *to, uint64_t at, uint64_t end,
                 void (*moved)(struct tsm_shadow *, uint64_t, uint64_t))
{
    for (; at < end; at += LINE) {
        uint64_t line_end = end - at < LINE ? end : at + LINE;

        if (end - at >= PAGE && at % PAGE == 0 && memcmp(from + at, s->agreed + at, PAGE) == 0)
            at += PAGE - LINE;
        else if (memcmp(from + at, s->agreed + at, (size_t)(line_end - at)) != 0)
            move_line(s, from, to, at, line_end, moved);
    }
}

/* ---- recording
 * -------------------------------------------------------------------------------------- */

static void record_span(struct tsm_session *session, const struct tsm_shadow *s, uint64_t from,
                        uint64_t size)
{
    struct tsm_lane *lane = tsm_thread_lane(session);
    struct tsm_box box = {s->agreed + from, size, 1, 1, size, size};
    uint8_t reference[SBT_BLOB_ENCODED_SIZE(SPAN_MAX)];
    struct tsm_note note = {
        .call = SBT_CORE_HOST_WRITE, .stream = SBT_STREAM_NONE, .slot_count = 5};

    if (!lane || !tsm_payload_store(lane, &box, TSM_FETCH_DIRECT, true, reference)) {
        tsm_session_unmodelled("a change of host memory could not be recorded", true);
        return;
    }
    note.slots[0] = (uint64_t)(uintptr_t)s->own + from;
    note.slots[1] = size;
    note.slots[2] = SBT_BLOB_ENCODED_SIZE(size);
    note.slots[3] = SBT_STREAM_NONE;
    note.data = reference;
    note.data_size = (uint32_t)SBT_BLOB_ENCODED_SIZE(size);
    tsm_note_write(lane, &note);
}

static void record(struct tsm_shadow *s)
{
    struct tsm_session *session = tsm_session_current();
    uint64_t at = s->from;

    s->from = s->to;
    tsm_thread.inside++;
    for (uint64_t size; session && at < s->to; at += size) {
        size = s->to - at < SPAN_MAX ? s->to - at : SPAN_MAX;
        record_span(session, s, at, size);
    }
    tsm_thread.inside--;
}

/* ---- push
 * ------------------------------------------------------------------------------------------- */

static void pushed(struct tsm_shadow *s, uint64_t from, uint64_t to)
{
    if (s->from != s->to && (from < s->from || from - s->to > GAP_MAX))
        record(s);
    if (s->from == s->to)
        s->from = from;
    s->to = to;
}

static void push_pages(struct tsm_shadow *s, uint64_t from, uint64_t to)
{
    move(s, s->own, s->real, from, to, pushed);
}

static bool take_bit(uint64_t *bits, uint64_t page)
{
    uint64_t bit = (uint64_t)1 << page % 64;
    bool was = bits[page / 64] & bit;

    bits[page / 64] &= ~bit;
    return was;
}

/* Not when the shadow was made: the trace did not know of its address then. */
static void record_owed(struct tsm_shadow *s)
{
    for (uint64_t at = 0; at < s->size; at += PAGE)
        if (take_bit(s->owed, at / PAGE))
            pushed(s, at, s->size - at < PAGE ? s->size : at + PAGE);
    if (s->from != s->to)
        record(s);
    s->any_owed = false;
}

void tsm_shadow_push(struct tsm_shadow *s)
{
    int saved_errno = errno;

    tsm_lock_take(&s->lock);
    if (s->any_owed)
        record_owed(s);
    written(s, s->own, &s->own_watched, push_pages);
    if (s->from != s->to)
        record(s);
    tsm_lock_give(&s->lock);
    errno = saved_errno;
}

/* ---- pull
 * ------------------------------------------------------------------------------------------- */

static void pulled(struct tsm_shadow *s, uint64_t from, uint64_t to)
{
    s->changed[from / PAGE / 64] |= (uint64_t)1 << from / PAGE % 64;
    s->any_changed = true;
}

static void pull_pages(struct tsm_shadow *s, uint64_t from, uint64_t to)
{
    move(s, s->real, s->own, from, to, pulled);
}

void tsm_shadow_pull(struct tsm_shadow *s)
{
    int saved_errno = errno;

    tsm_lock_take(&s->lock);
    written(s, s->real, &s->real_watched, pull_pages);
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

/* ---- lifetime
 * ---------------------------------------------------------------------------------------- */

static uint64_t bitmap_size(uint64_t size)
{
    return (size / PAGE / 64 + 1) * sizeof(uint64_t);
}

static void unwatch(const uint8_t *memory, uint64_t size)
{
    uint64_t start = (uint64_t)(uintptr_t)memory;

    if (pagemap_owner == getpid())
        tsm_pagemap_unwatch(&pagemap, page_floor(start), page_floor(start + size + PAGE - 1));
}

static void ignore(struct tsm_shadow *s, uint64_t from, uint64_t to) {}

/* From here on what is written there is reported. */
static bool begin_to_watch(struct tsm_shadow *s, const uint8_t *memory)
{
    uint64_t start = (uint64_t)(uintptr_t)memory;
    bool watched =
        s->size >= WATCH_MIN && watch(page_floor(start), page_floor(start + s->size + PAGE - 1));

    if (watched)
        written(s, memory, &watched, ignore);
    return watched;
}

/* Left over from somebody else's use of the memory: few pages, if any. */
static void take_over(struct tsm_shadow *s)
{
    for (uint64_t at = 0; at < s->size; at += PAGE) {
        size_t size = s->size - at < PAGE ? (size_t)(s->size - at) : PAGE;
        if (memcmp(s->real + at, s->agreed + at, size) == 0)
            continue;
        memcpy(s->agreed + at, s->real + at, size);
        memcpy(s->own + at, s->agreed + at, size);
        s->owed[at / PAGE / 64] |= (uint64_t)1 << at / PAGE % 64;
        s->any_owed = true;
    }
}

struct tsm_shadow *tsm_shadow_create(void *real, uint64_t size, bool ordinary, bool fresh)
{
    struct tsm_shadow *s = tsm_memory_map(sizeof(*s));

    if (!s)
        return NULL;
    s->real = real;
    s->size = size;
    s->own = tsm_memory_map(size);
    s->agreed = tsm_memory_map(size);
    s->changed = tsm_memory_map(bitmap_size(size));
    s->owed = tsm_memory_map(bitmap_size(size));
    if (!s->own || !s->agreed || !s->changed || !s->owed) {
        tsm_shadow_destroy(s);
        return NULL;
    }
    s->real_watched = ordinary && begin_to_watch(s, s->real);
    if (fresh)
        take_over(s);
    else
        pull_pages(s, 0, size);
    /* What the device wrote before cannot be told from what nobody ever wrote. */
    memset(s->changed, 0, bitmap_size(size));
    s->any_changed = false;
    s->own_watched = begin_to_watch(s, s->own);
    return s;
}

void tsm_shadow_destroy(struct tsm_shadow *s)
{
    if (!s)
        return;
    if (s->real_watched)
        unwatch(s->real, s->size);
    if (s->own_watched)
        unwatch(s->own, s->size);
    tsm_memory_unmap(s->own, s->size);
    tsm_memory_unmap(s->agreed, s->size);
    tsm_memory_unmap(s->changed, bitmap_size(s->size));
    tsm_memory_unmap(s->owed, bitmap_size(s->size));
    tsm_memory_unmap(s, sizeof(*s));
}

void *tsm_shadow_address(const struct tsm_shadow *s)
{
    return s->own;
}
