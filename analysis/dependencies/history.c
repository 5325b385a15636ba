/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/dependencies/history.h"

#include "base/array.h"
#include "tracesmith/error.h"

#include <stdlib.h>

#define SEGMENTS_MAX 4096u      /* of a history: an access may visit all */
#define ENTRIES_MAX  (1u << 22) /* of all of a budget: 100 MiB */

static int no_memory(void)
{
    return tsm_fail(TSM_E_MEMORY, "no memory for the history of accesses");
}

/* ---- entries --------------------------------------------------------------------------------- */

static void remove_entry(struct tsm_history_segment *s, struct tsm_history_budget *budget,
                         uint32_t at)
{
    size_t count = s->count;

    TSM_ARRAY_REMOVE(s->entries, count, at);
    s->count = (uint32_t)count;
    budget->used--;
}

static int push_entry(struct tsm_history_segment *s, struct tsm_history_budget *budget,
                      const struct tsm_history_entry *entry)
{
    if (budget->used >= ENTRIES_MAX || s->count == UINT32_MAX) {
        budget->left_out++;
        return 0;
    }
    /* Room doubles: of 1, 2, 4... entries. */
    if (!(s->count & (s->count - 1)) &&
        !TSM_ARRAY_RESIZE(s->entries, s->count ? (size_t)s->count * 2 : 1))
        return no_memory();
    s->entries[s->count++] = *entry;
    budget->used++;
    return 0;
}

static void empty_segment(struct tsm_history_segment *s, struct tsm_history_budget *budget)
{
    budget->used -= s->count;
    free(s->entries);
    s->entries = NULL;
    s->count = 0;
}

/* ---- segments -------------------------------------------------------------------------------- */

static size_t place_of(const struct tsm_history *h, uint64_t address)
{
    size_t at;

    TSM_BISECT(at, h->count, h->segments[at].last >= address);
    return at;
}

static int insert(struct tsm_history *h, size_t at, const struct tsm_history_segment *segment)
{
    return TSM_ARRAY_INSERT(h->segments, h->count, h->capacity, at, *segment) ? 0 : no_memory();
}

/* Makes two of the segment at `at` if the address is inside of it: the second begins there. */
static int split(struct tsm_history *h, struct tsm_history_budget *budget, size_t at,
                 uint64_t address)
{
    struct tsm_history_segment low;
    int error = 0;

    if (at == h->count || h->segments[at].first >= address)
        return 0;
    low = h->segments[at];
    low.last = address - 1;
    low.entries = NULL;
    low.count = 0;
    h->new_count += low.is_new;
    for (uint32_t i = 0; i < h->segments[at].count && !error; i++)
        error = push_entry(&low, budget, &h->segments[at].entries[i]);
    if (!error)
        error = insert(h, at, &low);
    if (error) {
        h->new_count -= low.is_new;
        empty_segment(&low, budget);
        return error;
    }
    h->segments[at + 1].first = address;
    return 0;
}

/* Puts the last access to the whole among the entries, in place of the one before. */
static int put_whole(const struct tsm_history *h, struct tsm_history_segment *s,
                     struct tsm_history_budget *budget)
{
    struct tsm_history_entry whole = h->whole;

    if (s->whole_seq >= whole.seq)
        return 0;
    for (uint32_t i = s->count; i-- > 0;)
        if (s->entries[i].is_whole)
            remove_entry(s, budget, i);
    whole.is_whole = true;
    s->whole_seq = whole.seq;
    return push_entry(s, budget, &whole);
}

/* Joins a segment with the one behind it, which becomes empty. */
static int join_pair(struct tsm_history *h, struct tsm_history_segment *s,
                     struct tsm_history_segment *with, struct tsm_history_budget *budget)
{
    int error = put_whole(h, s, budget);

    if (!error)
        error = put_whole(h, with, budget);
    for (uint32_t i = 0; i < with->count && !error; i++) {
        uint32_t k = 0;

        while (k < s->count && (s->entries[k].seq != with->entries[i].seq ||
                                s->entries[k].kind != with->entries[i].kind))
            k++;
        if (k == s->count) {
            error = push_entry(s, budget, &with->entries[i]);
            continue;
        }
        s->entries[k].reads |= with->entries[i].reads;
        s->entries[k].writes |= with->entries[i].writes;
        if (s->entries[k].covered < with->entries[i].covered)
            s->entries[k].covered = with->entries[i].covered;
    }
    h->new_count -= s->is_new && with->is_new;
    s->is_new |= with->is_new;
    s->last = with->last;
    s->is_joined = true;
    s->clean_seq = 0;
    empty_segment(with, budget);
    return error;
}

/* Joins every second segment with the one before it. */
static int join_all(struct tsm_history *h, struct tsm_history_budget *budget)
{
    size_t left = 0;
    int error = 0;

    for (size_t i = 0; i < h->count; i += 2) {
        if (i + 1 < h->count && !error)
            error = join_pair(h, &h->segments[i], &h->segments[i + 1], budget);
        else if (i + 1 < h->count)
            empty_segment(&h->segments[i + 1], budget);
        h->segments[left++] = h->segments[i];
    }
    h->count = left;
    return error;
}

/* Cuts segments at the ends of the range, and makes some of what lies between them. Sets *at and
 * *end to those that are in the range. */
static int cut(struct tsm_history *h, struct tsm_history_budget *budget, uint64_t first,
               uint64_t last, size_t *at, size_t *end)
{
    uint64_t next = first;
    int error = 0;

    *at = *end = place_of(h, first);
    error = split(h, budget, *at, first);
    if (!error && *at < h->count && h->segments[*at].last < first)
        *at = *end = *at + 1;
    while (!error) {
        const bool is_behind = *end == h->count || h->segments[*end].first > last;

        if (is_behind || h->segments[*end].first > next) {
            const uint64_t until = is_behind ? last : h->segments[*end].first - 1;

            error = insert(h, *end, &(struct tsm_history_segment){.first = next, .last = until});
        } else if (h->segments[*end].last > last) {
            error = split(h, budget, *end, last + 1);
        }
        if (error || h->segments[*end].last >= last)
            break;
        next = h->segments[(*end)++].last + 1;
    }
    (*end)++;
    return error;
}

/* ---- accesses -------------------------------------------------------------------------------- */

/* Tests whether the new access and an older one conflict, and none that came between them says so.
 */
static bool is_conflict(const struct tsm_history_visit *v, const struct tsm_history_entry *old)
{
    const uint8_t kind = old->kind > v->entry.kind ? old->kind : v->entry.kind;

    return old->seq != v->entry.seq && (v->entry.writes || old->writes) && old->covered > kind;
}

/* Notes that the new access covers an older one, if so. Returns true if nothing can be surer. */
static bool cover(const struct tsm_history_visit *v, struct tsm_history_entry *old)
{
    if ((v->entry.writes || !old->writes) && old->covered > v->entry.kind &&
        (old->seq == v->entry.seq || (v->entry.writes && v->entry.kind == TSM_ACCESS_REACHABLE) ||
         v->is_over(v->user, old)))
        old->covered = v->entry.kind;
    return old->covered <= old->kind;
}

static int find_conflicts(const struct tsm_history_segment *s, const struct tsm_history_visit *v,
                          bool has_whole)
{
    int error = 0;

    for (uint32_t i = 0; i < s->count && !error; i++)
        if ((has_whole || !s->entries[i].is_whole) && is_conflict(v, &s->entries[i]))
            error = v->found(v->user, &s->entries[i], s);
    return error;
}

static void cover_all(struct tsm_history_segment *s, struct tsm_history_budget *budget,
                      const struct tsm_history_visit *v)
{
    for (uint32_t i = s->count; i-- > 0;)
        if (cover(v, &s->entries[i]))
            remove_entry(s, budget, i);
}

static int visit_segment(struct tsm_history *h, struct tsm_history_segment *s,
                         struct tsm_history_budget *budget, struct tsm_history_visit *v)
{
    int error = put_whole(h, s, budget);

    if (s->clean_seq < v->clean_seq)
        v->clean_seq = s->clean_seq;
    if (!error)
        error = find_conflicts(s, v, true);
    if (error || v->is_passing)
        return error;
    cover_all(s, budget, v);
    if (v->entry.writes && tsm_access_is_exact(v->entry.kind)) {
        s->clean_seq = s->count || v->is_beside_unknown ? 0 : v->entry.seq;
        s->is_joined = false;
    }
    h->new_count += !s->is_new;
    s->is_new = true;
    return push_entry(s, budget, &v->entry);
}

/* Makes one of those from `at` to `end` that a write has made alike: nothing else is left. */
static void unite(struct tsm_history *h, struct tsm_history_budget *budget, size_t at, size_t end,
                  uint64_t seq)
{
    size_t left = at;

    for (size_t i = at + 1; i < end; i++) {
        struct tsm_history_segment *to = &h->segments[left];

        if (to->clean_seq == seq && h->segments[i].clean_seq == seq && to->count == 1 &&
            h->segments[i].count == 1) {
            to->last = h->segments[i].last;
            h->new_count -= h->segments[i].is_new;
            empty_segment(&h->segments[i], budget);
        } else {
            h->segments[++left] = h->segments[i];
        }
    }
    left++;
    if (left < end) {
        memmove(h->segments + left, h->segments + end, (h->count - end) * sizeof(*h->segments));
        h->count -= end - left;
    }
}

static bool is_all(const struct tsm_history *h, uint64_t first, uint64_t last)
{
    return h->count == 1 && h->segments[0].first <= first && h->segments[0].last >= last;
}

/* Adds an access that may be to any byte of the whole: segments are visited once after they have
 * changed. */
static int add_whole(struct tsm_history *h, struct tsm_history_budget *budget, uint64_t first,
                     uint64_t last, struct tsm_history_visit *v)
{
    const struct tsm_history_segment all = {.first = first, .last = last};
    const uint64_t clean_seq = is_all(h, first, last) ? h->segments[0].clean_seq : 0;
    int error = h->whole.seq && is_conflict(v, &h->whole) ? v->found(v->user, &h->whole, &all) : 0;

    if (clean_seq < v->clean_seq)
        v->clean_seq = clean_seq;
    for (size_t i = 0; i < h->count && h->new_count && !error; i++) {
        struct tsm_history_segment *s = &h->segments[i];

        if (!s->is_new)
            continue;
        error = find_conflicts(s, v, false);
        cover_all(s, budget, v);
        s->is_new = false;
        h->new_count--;
    }
    h->whole = v->entry;
    return error;
}

int tsm_history_add(struct tsm_history *h, struct tsm_history_budget *budget, uint64_t first,
                    uint64_t last, struct tsm_history_visit *visit)
{
    const struct tsm_history_entry *entry = &visit->entry;
    size_t at, end;
    int error;

    if (visit->is_whole && entry->kind == TSM_ACCESS_REACHABLE && entry->reads && entry->writes)
        return add_whole(h, budget, first, last, visit);
    error = cut(h, budget, first, last, &at, &end);
    for (size_t i = at; i < end && !error; i++)
        error = visit_segment(h, &h->segments[i], budget, visit);
    if (error)
        return error;
    if (visit->is_whole && !visit->is_passing && h->whole.seq && cover(visit, &h->whole))
        h->whole.seq = 0;
    unite(h, budget, at, end, entry->seq);
    return h->count > SEGMENTS_MAX ? join_all(h, budget) : 0;
}

void tsm_history_finish(struct tsm_history *h, struct tsm_history_budget *budget)
{
    for (size_t i = 0; i < h->count; i++)
        empty_segment(&h->segments[i], budget);
    free(h->segments);
    *h = (struct tsm_history){0};
}
