/* SPDX-License-Identifier: Apache-2.0
 *
 * Host memory that the device can read: what the program changed there, before each command that
 * could see it.
 *
 * A hash per page says what was recorded last. Where the kernel tells which pages were written
 * (capture/memory/pagemap.c) only those are read; elsewhere, for small ranges, and where many pages
 * are written each time, all of them are. A written page costs about a microsecond and a half in
 * the program and as much here, copying and hashing all of them 0.6 microseconds a page: above a
 * fifth written, hashing is cheaper. What was written cannot be seen while hashing: a range that
 * was written too much is hashed for some cycles, then watched, and if that was wrong hashed twice
 * as long.
 *
 * Memory into which an asynchronous copy from the device is under way is not the program's: those
 * bytes are left out until the copy is known to be complete. What kernels write there by themselves
 * cannot be told from what the program writes; a source that knows that they may have says
 * which command it was (tsm_hostmem_written). A replay tells the two apart.
 *
 * Whose a change is cannot be seen. It is recorded as that of each function of the program that
 * runs at the moment, and as that of the program's threads, except where a function ends: what its
 * stream still has to read is not to be overwritten before its turn.
 */
#include "capture/memory/host_memory.h"

#include "base/hash.h"
#include "capture/call/note.h"
#include "capture/call/readbacks.h"
#include "capture/call/value.h"
#include "capture/memory/gaps.h"
#include "capture/memory/host_changes.h"
#include "capture/parts.h"

#include <errno.h>
#include <string.h>

#define PAGE            TSM_PAGE_SIZE
#define WATCH_SIZE_MIN  (64u << 10) /* below this hashing is not much dearer than a scan */
#define SPARSE_SIZE_MIN (16u << 20) /* from here on it pays to ask which pages are there */
#define HASH_ABOVE      0.2         /* share of pages written in a cycle: stop watching */
#define WATCH_BELOW     0.06        /* share of pages found changed by hashing: watching may pay */
#define HOLD_MIN        4u          /* cycles of hashing before watching is tried again */
#define HOLD_MAX        1024u

struct tsm_hostmem *tsm_hostmem_create(void)
{
    return tsm_memory_map(sizeof(struct tsm_hostmem));
}

/* ---- pages --------------------------------------------------------------------------------- */

/* Blank what is not this range's, or belongs to the device: neither counts as a change. */
static void blank_foreign(struct tsm_session *s, struct tsm_hostmem *h, struct tsm_hostmem_range *r,
                          uint64_t base, size_t size)
{
    tsm_hostmem_blank_outside(h, r, base, size);
    h->gap_count = tsm_readback_gaps(s, base, base + size, h->writers, h->writer_count, h->gaps);
    r->had_gaps |= h->gap_count > 0;
    r->is_mixed |= h->gap_count > 0;
    h->is_held |= h->gap_count > 0;
    for (uint32_t i = 0; i < h->gap_count; i++)
        tsm_hostmem_blank_gap(h, base, &h->gaps[i]);
}

/* Tests whether all that the range has of the page belongs to the device: what was recorded last is
 * compared when it does not any more. */
static bool is_devices(const struct tsm_hostmem *h, const struct tsm_hostmem_range *r,
                       uint64_t page)
{
    uint64_t from = page < r->start ? r->start : page;
    uint64_t to = page + PAGE > r->end ? r->end : page + PAGE;

    for (uint32_t i = 0; i < h->gap_count; i++)
        if (h->gaps[i].start <= from && h->gaps[i].end >= to)
            return true;
    return false;
}

uint64_t tsm_hostmem_write_changes(struct tsm_lane *lane, struct tsm_hostmem *h,
                                   struct tsm_hostmem_range *r, uint64_t base, size_t size)
{
    uint64_t changed = 0, run = UINT64_MAX;

    for (size_t offset = 0; offset <= size; offset += PAGE) {
        uint64_t *known = &r->hashes[(base + offset - r->first_page) / PAGE];
        bool is_looked_at = offset < size && !is_devices(h, r, base + offset);
        uint64_t hash = is_looked_at ? tsm_page_hash(h->bytes + offset) : 0;

        if (is_looked_at && hash != *known && h->only_compares) {
            changed++;
        } else if (is_looked_at && hash != *known) {
            *known = hash;
            changed++;
            run = run == UINT64_MAX ? base + offset : run;
        } else if (run != UINT64_MAX) {
            uint64_t end = base + offset;
            tsm_hostmem_write_run(lane, h, base, run < r->start ? r->start : run,
                                  end > r->end ? r->end : end);
            run = UINT64_MAX;
        }
    }
    return changed;
}

/* Whole pages [base, base + size), at most a block. Pages that are not there are left out; of those
 * that are there and cannot be read that is said. */
static uint64_t look_at(struct tsm_lane *lane, struct tsm_hostmem *h, struct tsm_hostmem_range *r,
                        uint64_t base, size_t size)
{
    struct iovec span = {(void *)(uintptr_t)base, size}; /* NOLINT: only the kernel follows it */
    /* Results have their place where they are read: commands that others send meanwhile come after.
     */
    const bool stamps = h->by_parts && size <= lane->size / 2 && tsm_notes_begin(lane);
    uint64_t changed = 0;
    int error = 0;

    if (!tsm_memory_read_spans(h->block, &span, 1))
        error = tsm_memory_try(h->block, base, size);
    if (!error) {
        h->bytes = h->block;
        blank_foreign(lane->session, h, r, base, size);
        changed = tsm_hostmem_write_changes(lane, h, r, base, size);
        if (h->by_parts && !h->only_compares && changed < size / PAGE)
            tsm_hostmem_write_hash(h, base, size);
    }
    tsm_notes_end(lane, stamps);
    if (!error)
        return changed;
    if (size == PAGE && error != EFAULT)
        tsm_session_unmodelled("host memory could not be read", true);
    for (size_t offset = 0; size > PAGE && offset < size; offset += PAGE)
        changed += look_at(lane, h, r, base + offset, PAGE);
    return changed;
}

static void open_pagemap(struct tsm_hostmem *h)
{
    if (!h->pagemap_open)
        tsm_pagemap_init(&h->pagemap);
    h->pagemap_open = true;
}

/* Tests whether whole pages [from, to) are zero, as they were known to be: none was ever written.
 * For memory whose pages are zero until then. */
static bool is_untouched(const struct tsm_hostmem *h, const struct tsm_hostmem_range *r,
                         uint64_t from, uint64_t to)
{
    const uint64_t *known = &r->hashes[(from - r->first_page) / PAGE];

    for (uint64_t i = 0; i < (to - from) / PAGE; i++)
        if (known[i])
            return false;
    return !tsm_pagemap_is_there(&h->pagemap, from, to);
}

static uint64_t look_at_all(struct tsm_lane *lane, struct tsm_hostmem *h,
                            struct tsm_hostmem_range *r, uint64_t from, uint64_t to)
{
    uint64_t changed = 0;
    bool sparse = false;

    if (to - from >= SPARSE_SIZE_MIN) {
        open_pagemap(h);
        sparse = tsm_pagemap_is_sparse(&h->pagemap, from, to, (char *)h->block, sizeof(h->block));
    }
    for (uint64_t at = from, size; at < to; at += size) {
        size = to - at < TSM_HOSTMEM_BLOCK_SIZE ? to - at : TSM_HOSTMEM_BLOCK_SIZE;
        if (!sparse || !is_untouched(h, r, at, at + size))
            changed += look_at(lane, h, r, at, size);
    }
    return changed;
}

/* ---- ranges -------------------------------------------------------------------------------- */

/* The pages that are watched: who asks which ones were written makes the kernel forget it, so that
 * it has to be the only one who asks. */
static uint64_t watch_start(const struct tsm_hostmem_range *r)
{
    return r->first_page + (r->is_first_shared ? PAGE : 0);
}

static uint64_t watch_end(const struct tsm_hostmem_range *r)
{
    return tsm_hostmem_end_of(r) - (r->is_last_shared ? PAGE : 0);
}

static void stop_watching(struct tsm_hostmem *h, struct tsm_hostmem_range *r)
{
    if (r->watched)
        tsm_pagemap_unwatch(&h->pagemap, watch_start(r), watch_end(r));
    r->watched = false;
}

/* Protect everything, so that from here on only writes are reported. */
static bool arm(struct tsm_hostmem *h, struct tsm_hostmem_range *r)
{
    uint64_t at = watch_start(r);

    while (at < watch_end(r)) {
        if (tsm_pagemap_take(&h->pagemap, &at, watch_end(r), h->runs, TSM_HOSTMEM_RUN_COUNT) < 0)
            return false;
    }
    return true;
}

static void try_to_watch(struct tsm_hostmem *h, struct tsm_hostmem_range *r)
{
    if (tsm_session_settings()->vk_memory == TSM_VK_MEMORY_HASH || r->refused || r->is_overlapped ||
        r->page_count * PAGE < WATCH_SIZE_MIN)
        return;
    open_pagemap(h);
    r->watched = tsm_pagemap_watch(&h->pagemap, watch_start(r), watch_end(r)) && arm(h, r);
    r->refused = !r->watched;
}

/* Runs [first, count) as far as they fit into the block, read with one system call: one for each
 * page would cost more than everything else here. Returns how many were looked at. */
static size_t look_at_some(struct tsm_lane *lane, struct tsm_hostmem *h,
                           struct tsm_hostmem_range *r, size_t first, size_t count)
{
    const struct tsm_page_run *runs = h->runs + first;
    uint64_t size = 0;
    size_t n = 0;

    for (; first + n < count && size + (runs[n].end - runs[n].start) <= TSM_HOSTMEM_BLOCK_SIZE;
         n++) {
        h->spans[n].iov_base =
            (void *)(uintptr_t)runs[n].start; /* NOLINT: only the kernel follows */
        h->spans[n].iov_len = runs[n].end - runs[n].start;
        size += h->spans[n].iov_len;
    }
    if (n < 2 || !tsm_memory_read_spans(h->block, h->spans, n)) {
        look_at_all(lane, h, r, runs[0].start, runs[0].end);
        return 1;
    }
    size = 0;
    for (size_t i = 0; i < n; i++) {
        h->bytes = h->block + size;
        size += h->spans[i].iov_len;
        blank_foreign(lane->session, h, r, runs[i].start, h->spans[i].iov_len);
        tsm_hostmem_write_changes(lane, h, r, runs[i].start, h->spans[i].iov_len);
    }
    return n;
}

/* Was watching worth it in this cycle? */
static void judge(struct tsm_hostmem *h, struct tsm_hostmem_range *r, uint64_t pages_written)
{
    if ((double)pages_written <= HASH_ABOVE * (double)r->page_count) {
        if (r->next_hold > HOLD_MIN)
            r->next_hold--;
        return;
    }
    stop_watching(h, r);
    r->hold = r->next_hold;
    if (r->next_hold < HOLD_MAX)
        r->next_hold *= 2;
}

/* Read what the kernel says was written. False: it does not say any more. */
static bool look_at_written(struct tsm_lane *lane, struct tsm_hostmem *h,
                            struct tsm_hostmem_range *r)
{
    uint64_t at = watch_start(r), pages = 0;

    if (r->is_first_shared)
        look_at(lane, h, r, r->first_page, PAGE);
    if (r->is_last_shared)
        look_at(lane, h, r, watch_end(r), PAGE);
    while (at < watch_end(r)) {
        int count =
            tsm_pagemap_take(&h->pagemap, &at, watch_end(r), h->runs, TSM_HOSTMEM_RUN_COUNT);

        if (count < 0)
            return false;
        for (int i = 0; i < count; i++)
            pages += (h->runs[i].end - h->runs[i].start) / PAGE;
        for (size_t i = 0; i < (size_t)count;)
            i += look_at_some(lane, h, r, i, (size_t)count);
    }
    judge(h, r, pages);
    return true;
}

static void publish(struct tsm_lane *lane, struct tsm_hostmem *h, struct tsm_hostmem_range *r)
{
    uint64_t changed;

    if (r->watched && !r->fresh && !r->had_gaps) {
        if (look_at_written(lane, h, r))
            return;
        r->watched = false;
        r->refused = true;
    }
    /* Content from before counts as read now; later writes are changes. */
    if (r->watched)
        r->watched = arm(h, r);
    r->fresh = r->had_gaps = false;
    changed = look_at_all(lane, h, r, r->first_page, tsm_hostmem_end_of(r));
    if (r->hold > 0 && --r->hold > 0)
        return;
    /* Watching begins before the pages are looked at once more: no write falls between. */
    if (!r->watched && (double)changed < WATCH_BELOW * (double)r->page_count) {
        try_to_watch(h, r);
        if (r->watched)
            look_at_all(lane, h, r, r->first_page, tsm_hostmem_end_of(r));
    }
}

static bool shares_pages(const struct tsm_hostmem_range *a, const struct tsm_hostmem_range *b)
{
    return a != b && a->first_page < tsm_hostmem_end_of(b) && b->first_page < tsm_hostmem_end_of(a);
}

/* Finds the ranges that share memory with `r`. Call it again when such a range was created or
 * destroyed. */
static void find_neighbours(struct tsm_hostmem *h, struct tsm_hostmem_range *r)
{
    bool first = false, last = false, more = false;

    for (uint32_t i = 0; i < h->range_count; i++) {
        const struct tsm_hostmem_range *o = &h->ranges[i];
        if (!shares_pages(r, o))
            continue;
        if (tsm_hostmem_end_of(o) == r->first_page + PAGE)
            first = true;
        else if (o->first_page == tsm_hostmem_end_of(r) - PAGE)
            last = true;
        else
            more = true;
    }
    if (first == r->is_first_shared && last == r->is_last_shared && more == r->is_overlapped)
        return;
    stop_watching(h, r); /* and look at everything the next time */
    r->is_first_shared = first;
    r->is_last_shared = last;
    r->is_overlapped = more;
}

static void tell_neighbours(struct tsm_hostmem *h, const struct tsm_hostmem_range *r)
{
    for (uint32_t i = 0; i < h->range_count; i++)
        if (shares_pages(r, &h->ranges[i]))
            find_neighbours(h, &h->ranges[i]);
}

static void drop_range(struct tsm_hostmem *h, uint32_t index)
{
    struct tsm_hostmem_range gone = h->ranges[index];

    stop_watching(h, &gone);
    tsm_memory_unmap(gone.hashes, (gone.page_count + 1) * sizeof(*gone.hashes));
    h->ranges[index] = h->ranges[--h->range_count];
    tell_neighbours(h, &gone);
}

static struct tsm_hostmem_range *add_range(struct tsm_hostmem *h, uint64_t start, uint64_t size)
{
    struct tsm_hostmem_range *r = &h->ranges[h->range_count];

    if (h->range_count == TSM_HOSTMEM_RANGE_COUNT_MAX)
        return NULL;
    *r = (struct tsm_hostmem_range){
        .start = start, .end = start + size, .fresh = true, .next_hold = HOLD_MIN};
    r->first_page = start & ~(uint64_t)(PAGE - 1);
    r->page_count = (r->end - r->first_page + PAGE - 1) / PAGE;
    r->hashes = tsm_memory_map((r->page_count + 1) * sizeof(*r->hashes));
    if (!r->hashes)
        return NULL;
    __atomic_store_n(&h->range_count, h->range_count + 1, __ATOMIC_RELEASE);
    find_neighbours(h, r);
    tell_neighbours(h, r);
    return r;
}

/* The program's own that begins there, NULL: none. */
static struct tsm_hostmem_range *find_own(struct tsm_hostmem *h, uint64_t start)
{
    for (uint32_t i = 0; i < h->range_count; i++)
        if (h->ranges[i].start == start && !h->ranges[i].users)
            return &h->ranges[i];
    return NULL;
}

static struct tsm_hostmem_range *find_shared(struct tsm_hostmem *h, uint64_t start, uint64_t size)
{
    for (uint32_t i = 0; i < h->range_count; i++)
        if (h->ranges[i].users && h->ranges[i].start == start && h->ranges[i].end == start + size)
            return &h->ranges[i];
    return NULL;
}

/* How a range is to be tracked. */
enum tracking {
    OWN,
    ALIAS,
    SHARED,
};

/* The lock is held. False: there is no room. */
static bool track_how(struct tsm_hostmem *h, uint64_t start, uint64_t size, enum tracking how)
{
    struct tsm_hostmem_range *r = how == SHARED ? find_shared(h, start, size) : find_own(h, start);

    if (r && how == SHARED) {
        r->users++;
        return true;
    }
    if (r)
        drop_range(h, (uint32_t)(r - h->ranges));
    r = add_range(h, start, size);
    if (!r)
        return false;
    r->users = how == SHARED;
    r->refused = how == ALIAS;
    try_to_watch(h, r);
    return true;
}

static bool track(uint64_t start, uint64_t size, enum tracking how)
{
    struct tsm_session *s = tsm_session_current();
    int saved_errno = errno;
    bool ok;

    if (!s || size == 0)
        return false;
    tsm_inside_enter();
    tsm_lock_take(&s->hostmem->lock);
    ok = track_how(s->hostmem, start, size, how);
    tsm_lock_give(&s->hostmem->lock);
    if (!ok)
        tsm_session_unmodelled("more than 1024 ranges of host memory", true);
    tsm_inside_leave();
    errno = saved_errno;
    return ok;
}

void tsm_hostmem_track(uint64_t start, uint64_t size)
{
    track(start, size, OWN);
}

void tsm_hostmem_track_alias(uint64_t start, uint64_t size)
{
    track(start, size, ALIAS);
}

bool tsm_hostmem_share(uint64_t start, uint64_t size)
{
    return track(start, size, SHARED);
}

/* A call that has begun gets its record even if recording ends meanwhile: so it also gets what it
 * reads. Asked once per use: the next answer may be another. */
static struct tsm_session *session_with_ranges(void)
{
    struct tsm_session *s = tsm_session_of_call();

    return s && __atomic_load_n(&s->hostmem->range_count, __ATOMIC_ACQUIRE) != 0 ? s : NULL;
}

bool tsm_hostmem_any(void)
{
    return session_with_ranges() != NULL;
}

/* Finds a range and does something with it, under the lock. */
typedef struct tsm_hostmem_range *find_range(struct tsm_hostmem *h, uint64_t start, uint64_t size);

static struct tsm_hostmem_range *find_any_own(struct tsm_hostmem *h, uint64_t start, uint64_t size)
{
    return find_own(h, start);
}

static struct tsm_hostmem_range *find_leaving(struct tsm_hostmem *h, uint64_t start, uint64_t size)
{
    struct tsm_hostmem_range *r = find_own(h, start);

    return r && r->is_leaving ? r : NULL;
}

static void drop(struct tsm_hostmem *h, struct tsm_hostmem_range *r)
{
    drop_range(h, (uint32_t)(r - h->ranges));
}

static void drop_user(struct tsm_hostmem *h, struct tsm_hostmem_range *r)
{
    if (--r->users == 0)
        drop(h, r);
}

static void leave(struct tsm_hostmem *h, struct tsm_hostmem_range *r)
{
    r->is_leaving = true;
}

static void stay(struct tsm_hostmem *h, struct tsm_hostmem_range *r)
{
    r->is_leaving = false;
}

/* Returns the end of the range, 0: there is none. */
static uint64_t with_range(uint64_t start, uint64_t size, find_range *find,
                           void (*act)(struct tsm_hostmem *h, struct tsm_hostmem_range *r))
{
    struct tsm_session *s = session_with_ranges();
    int saved_errno = errno;
    struct tsm_hostmem_range *r;
    uint64_t end = 0;

    if (!s)
        return 0;
    tsm_lock_take(&s->hostmem->lock);
    r = find(s->hostmem, start, size);
    if (r) {
        end = r->end;
        act(s->hostmem, r);
    }
    tsm_lock_give(&s->hostmem->lock);
    errno = saved_errno;
    return end;
}

void tsm_hostmem_untrack(uint64_t start)
{
    with_range(start, 0, find_any_own, drop);
}

void tsm_hostmem_unshare(uint64_t start, uint64_t size)
{
    with_range(start, size, find_shared, drop_user);
}

uint64_t tsm_hostmem_leaves(uint64_t start)
{
    return with_range(start, 0, find_any_own, leave);
}

uint64_t tsm_hostmem_left(uint64_t start, bool is_gone)
{
    return with_range(start, 0, find_leaving, is_gone ? drop : stay);
}

/* ---- publishing ---------------------------------------------------------------------------- */

typedef void (*change_writers)(struct tsm_hostmem *h, struct tsm_running writer);

static void keep_writers(struct tsm_hostmem *h, struct tsm_running writer) {}
static void enter(struct tsm_hostmem *h, struct tsm_running writer);
static void forget_held(struct tsm_hostmem *h, struct tsm_running writer)
{
    __atomic_store_n(&h->has_held, false, __ATOMIC_RELEASE);
}

/* With the lock held. With `by`: only where that names a command of the device. What was never
 * looked at is nobody's. `only`: the start of the range that it is about, ALL, or HELD: those that
 * are. */
#define ALL  0u
#define HELD UINT64_MAX
static void publish_all(struct tsm_lane *lane, bool threads, tsm_hostmem_by by, uint64_t only)
{
    struct tsm_hostmem *h = lane->session->hostmem;
    const struct tsm_running thread = {SBT_STREAM_NONE, 0};

    if (threads || h->writer_count == 0)
        h->writers[h->writer_count++] = thread;
    for (uint32_t i = 0; i < h->range_count; i++) {
        struct tsm_hostmem_range *r = &h->ranges[i];
        if (h->entered ? !r->had_gaps : only == HELD ? !r->is_held : only && r->start != only)
            continue;
        bool is_shared = !by && h->is_shared && !r->fresh && h->is_shared(r->start);
        h->is_by = by && !r->fresh && by(r->start, &h->by.stream, &h->by.position);
        h->has_changed = false;
        h->is_held = r->is_held || r->is_mixed;
        h->device = r->device;
        h->is_contested = r->is_contested;
        if (!r->is_leaving && (!by || h->is_by)) {
            r->is_mixed = r->is_contested = false;
            r->device = (struct tsm_gap){0};
            publish(lane, h, r);
        }
        r->is_held &= r->is_leaving;
        if (is_shared && h->has_changed)
            tsm_session_unmodelled("changes of host memory while a kernel that may write there ran",
                                   true);
    }
    h->is_by = h->is_held = false;
    h->device = (struct tsm_gap){0};
    tsm_hostmem_remove_writer(h, thread);
}

static void publish_then(bool threads, tsm_hostmem_by by, change_writers change,
                         struct tsm_running writer, uint64_t only)
{
    struct tsm_session *s = session_with_ranges();
    struct tsm_lane *lane;
    int saved_errno = errno;

    if (!s || tsm_session_waiting())
        return;
    tsm_inside_enter();
    lane = tsm_thread_lane(s);
    if (lane) {
        tsm_values_reached(lane);
        if (change == keep_writers && !by) /* a function that the GPU calls may ask nothing */
            tsm_readbacks_ask(lane);
        tsm_lock_take(&s->hostmem->lock);
        s->hostmem->entering = change == enter ? &writer : NULL;
        publish_all(lane, threads, by, only);
        s->hostmem->entering = NULL;
        change(s->hostmem, writer);
        if (change == tsm_hostmem_remove_writer) /* it may have told a thread so, whose writes are
                                                    among its own */
            tsm_hostmem_complete(lane, writer.stream, writer.position);
        tsm_lock_give(&s->hostmem->lock);
    }
    tsm_inside_leave();
    errno = saved_errno;
}

bool tsm_hostmem_each(struct tsm_session *s,
                      bool (*visit)(void *user, uint64_t start, uint64_t size), void *user)
{
    bool ok = true;

    tsm_lock_take(&s->hostmem->lock);
    for (uint32_t i = 0; ok && i < s->hostmem->range_count; i++) {
        const struct tsm_hostmem_range *r = &s->hostmem->ranges[i];
        ok = visit(user, r->start, r->end - r->start);
    }
    tsm_lock_give(&s->hostmem->lock);
    return ok;
}

bool tsm_hostmem_publish(void)
{
    if (!tsm_hostmem_any())
        return false;
    publish_then(true, NULL, keep_writers, (struct tsm_running){0}, 0);
    return true;
}

void tsm_hostmem_write_held(void)
{
    const struct tsm_session *s = tsm_session_current();
    if (s && __atomic_load_n(&s->hostmem->has_held, __ATOMIC_ACQUIRE))
        publish_then(true, NULL, forget_held, (struct tsm_running){0}, HELD);
}

void tsm_hostmem_hold(uint64_t start, uint64_t size)
{
    struct tsm_session *s = tsm_session_current();

    if (s)
        tsm_hostmem_held(s, start, start + size, 0, false);
}

void tsm_hostmem_publish_held(void)
{
    tsm_hostmem_write_held();
}

void tsm_hostmem_publish_range(uint64_t start)
{
    publish_then(true, NULL, keep_writers, (struct tsm_running){0}, start);
}

void tsm_hostmem_shared(bool (*is_shared)(uint64_t start))
{
    struct tsm_session *s = tsm_session_current();

    if (s)
        s->hostmem->is_shared = is_shared;
}

void tsm_hostmem_written(tsm_hostmem_by by)
{
    publish_then(true, by, keep_writers, (struct tsm_running){0}, 0);
}

/* [from, to) of what the command was given, of which the first part, up to read_end, is read. */
static uint64_t look_at_part(struct tsm_lane *lane, struct tsm_hostmem *h,
                             struct tsm_hostmem_range *r, const struct tsm_given *given)
{
    uint64_t from = h->given.start & ~(uint64_t)(PAGE - 1), at;
    uint64_t to = (h->given.end + PAGE - 1) & ~(uint64_t)(PAGE - 1);
    uint64_t read_end = (given->read_end + PAGE - 1) & ~(uint64_t)(PAGE - 1);
    uint64_t changed, pages = 0;

    /* Writes from the time when the memory was the device's leave no trace. */
    if (r->had_gaps || given->is_late || read_end > to)
        read_end = to;
    changed = from < read_end ? look_at_all(lane, h, r, from, read_end) : 0;
    at = read_end < watch_start(r) ? watch_start(r) : read_end;
    to = to > watch_end(r) ? watch_end(r) : to;
    while (r->watched && at < to) {
        int count = tsm_pagemap_take(&h->pagemap, &at, to, h->runs, TSM_HOSTMEM_RUN_COUNT);
        r->watched = count >= 0;
        for (int i = 0; i < count; i++)
            pages += (h->runs[i].end - h->runs[i].start) / PAGE;
        for (size_t i = 0; count > 0 && i < (size_t)count;)
            i += look_at_some(lane, h, r, i, (size_t)count);
    }
    if (pages)
        judge(h, r, pages);
    return changed;
}

/* The lock is held. */
static void look_at_given(struct tsm_lane *lane, struct tsm_hostmem *h,
                          const struct tsm_given *given)
{
    uint64_t changed = 0;

    for (uint32_t i = 0; i < h->range_count; i++) {
        struct tsm_hostmem_range *r = &h->ranges[i];
        if (r->fresh || r->is_leaving || given->start >= r->end || given->end <= r->start)
            continue;
        h->only_compares = given->is_late;
        h->given.start = given->start < r->start ? r->start : given->start;
        h->given.end = given->end > r->end ? r->end : given->end;
        changed += look_at_part(lane, h, r, given);
        h->only_compares = false;
    }
    if (given->is_late && changed)
        tsm_session_unmodelled(TSM_NOT_SEEN, true);
}

void tsm_hostmem_given(bool (*next)(struct tsm_given *out))
{
    const struct tsm_running thread = {SBT_STREAM_NONE, 0};
    struct tsm_session *s = session_with_ranges();
    struct tsm_lane *lane;
    struct tsm_given given;
    int saved_errno = errno;

    if (!s || tsm_session_waiting())
        return;
    tsm_inside_enter();
    lane = tsm_thread_lane(s);
    if (lane) {
        tsm_lock_take(&s->hostmem->lock);
        tsm_hostmem_add_writer(s->hostmem, thread);
        s->hostmem->is_by = s->hostmem->by_parts = true;
        while (next(&given)) {
            s->hostmem->by = (struct tsm_running){given.stream, given.position};
            look_at_given(lane, s->hostmem, &given);
        }
        s->hostmem->is_by = s->hostmem->by_parts = false;
        tsm_hostmem_remove_writer(s->hostmem, thread);
        tsm_lock_give(&s->hostmem->lock);
    }
    tsm_inside_leave();
    errno = saved_errno;
}

/* Commands before the function in its stream, or in its graph, are over; of what they wrote where a
 * later command is going to write the thread's record has nothing. */
static void enter(struct tsm_hostmem *h, struct tsm_running writer)
{
    struct tsm_lane *lane = tsm_thread_lane(tsm_session_of_call());

    tsm_hostmem_add_writer(h, writer);
    h->entered = &writer;
    publish_all(lane, false, NULL, ALL);
    h->entered = NULL;
}

void tsm_function_enter(uint32_t stream, uint64_t position, uint64_t done)
{
    tsm_function_reached(stream, done); /* first: other threads record what they see complete */
    tsm_readbacks_before(stream, done);
    publish_then(true, NULL, enter, (struct tsm_running){stream, position}, 0);
}

void tsm_function_left(uint32_t stream, uint64_t position)
{
    tsm_stream_function_left(stream, position);
    publish_then(false, NULL, tsm_hostmem_remove_writer, (struct tsm_running){stream, position}, 0);
}
