/* SPDX-License-Identifier: Apache-2.0
 *
 * Threads that nobody else can be are pairs. What the two of a pair name in the same place makes a
 * pair, and so do the threads that name those where no other thread does, and so on. Of threads
 * that are left those may be a pair that use what is used by others alike (colors), then those that
 * do the same.
 */
#include "analysis/diff/counterparts.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/diff/usage.h"
#include "base/text.h"

#define ROUNDS_MAX 16u /* of refining colors */
#define NO_PAIR    UINT32_MAX

/* One of a trace, and its color. */
struct entry {
    uint64_t color;
    uint32_t index;
};

struct side {
    struct tsm_usage usage;
    struct tsm_usage_link *by_thread, *by_object; /* copies, sorted; then by where */
    size_t *thread_ends, *object_ends;            /* in them */
    uint64_t *colors;                             /* of threads */
    uint64_t *object_names;                       /* colors, or numbers of trace 0 */
    struct entry *entries;                        /* room for all threads or streams */
    uint32_t *pairs;                              /* of threads: number in the other trace */
    uint32_t *object_pairs, *stream_pairs;
    size_t *object_at; /* in by_object: no user before has no pair */
    uint8_t *is_guess; /* of threads */
};

struct search {
    struct side sides[2];
    uint32_t *fresh; /* threads of trace 0 that were paired, and not yet followed */
    size_t fresh_count;
    uint32_t *open; /* objects of trace 0 that have a pair; their users may be pairs */
    size_t open_count;
    bool picks_users; /* of open objects */
};

static uint32_t *make_pairs(size_t count)
{
    uint32_t *pairs = malloc((count + 1) * sizeof(*pairs));

    if (pairs)
        memset(pairs, 0xff, (count + 1) * sizeof(*pairs));
    return pairs;
}

static int compare_by_thread(const void *a, const void *b)
{
    const struct tsm_usage_link *x = a, *y = b;

    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    return x->where < y->where ? -1 : x->where > y->where;
}

static int compare_by_object(const void *a, const void *b)
{
    const struct tsm_usage_link *x = a, *y = b;

    if (x->object != y->object)
        return x->object < y->object ? -1 : 1;
    return x->where < y->where ? -1 : x->where > y->where;
}

/* Sorts the links of each object by where they are, of threads that begin alike, or have one color.
 */
static void sort_users(struct side *s, bool by_color)
{
    const size_t count = s->usage.link_count;

    if (!count)
        return;
    memcpy(s->by_object, s->usage.links, count * sizeof(*s->by_object));
    for (size_t i = 0; i < count; i++) {
        const uint32_t thread = s->by_object[i].thread;
        s->by_object[i].where = tsm_usage_mix(
            s->by_object[i].where, by_color ? s->colors[thread] : s->usage.threads[thread].begin);
    }
    qsort(s->by_object, count, sizeof(*s->by_object), compare_by_object);
}

static void sort_links(struct side *s)
{
    const size_t count = s->usage.link_count;

    if (!count)
        return;
    sort_users(s, false);
    memcpy(s->by_thread, s->usage.links, count * sizeof(*s->by_thread));
    qsort(s->by_thread, count, sizeof(*s->by_thread), compare_by_thread);
    for (size_t i = 0; i < count; i++) {
        s->thread_ends[s->by_thread[i].thread] = i + 1;
        s->object_ends[s->by_object[i].object] = i + 1;
    }
    /* Ends of those without links are those of the one before. */
    for (size_t i = 1; i < s->usage.thread_count; i++)
        if (!s->thread_ends[i])
            s->thread_ends[i] = s->thread_ends[i - 1];
    for (size_t i = 1; i < s->usage.objects.count; i++)
        if (!s->object_ends[i])
            s->object_ends[i] = s->object_ends[i - 1];
}

static int prepare(struct side *s)
{
    const size_t threads = s->usage.thread_count + 1, streams = s->usage.stream_count + 1;
    const size_t objects = s->usage.objects.count + 1, links = s->usage.link_count + 1;

    s->by_thread = malloc(links * sizeof(*s->by_thread));
    s->by_object = malloc(links * sizeof(*s->by_object));
    s->thread_ends = calloc(threads, sizeof(*s->thread_ends));
    s->object_ends = calloc(objects, sizeof(*s->object_ends));
    s->colors = calloc(threads, sizeof(*s->colors));
    s->object_names = calloc(objects, sizeof(*s->object_names));
    s->entries = calloc(threads > streams ? threads : streams, sizeof(*s->entries));
    s->pairs = make_pairs(threads);
    s->object_pairs = make_pairs(objects);
    s->stream_pairs = make_pairs(streams);
    s->object_at = calloc(objects, sizeof(*s->object_at));
    s->is_guess = calloc(threads, sizeof(*s->is_guess));
    if (!s->by_thread || !s->by_object || !s->thread_ends || !s->object_ends || !s->colors ||
        !s->object_names || !s->entries || !s->pairs || !s->object_pairs || !s->stream_pairs ||
        !s->object_at || !s->is_guess)
        return tsm_fail(TSM_E_MEMORY, "no memory to compare %zu threads", threads);
    sort_links(s);
    return 0;
}

static void finish(struct side *s)
{
    tsm_usage_finish(&s->usage);
    free(s->by_thread);
    free(s->by_object);
    free(s->thread_ends);
    free(s->object_ends);
    free(s->colors);
    free(s->object_names);
    free(s->entries);
    free(s->pairs);
    free(s->object_pairs);
    free(s->stream_pairs);
    free(s->object_at);
    free(s->is_guess);
}

/* ---- groups of one color ------------------------------------------------------------------ */

static int compare_entries(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;

    if (x->color != y->color)
        return x->color < y->color ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

/* Goes through two sorted lists, color by color. */
struct groups {
    const struct entry *lists[2];
    size_t counts[2];
    const struct entry *group[2]; /* those of one color that both have */
    size_t sizes[2];
};

static size_t count_color(const struct entry *list, size_t count)
{
    size_t i = 0;

    while (i < count && list[i].color == list[0].color)
        i++;
    return i;
}

static void advance(struct groups *g, int i, size_t count)
{
    g->lists[i] += count;
    g->counts[i] -= count;
}

/* Finds the next color that is in both lists. */
static bool next_group(struct groups *g)
{
    while (g->counts[0] && g->counts[1]) {
        const uint64_t a = g->lists[0]->color, b = g->lists[1]->color;
        if (a != b) {
            advance(g, a < b ? 0 : 1, 1);
            continue;
        }
        for (int i = 0; i < 2; i++) {
            g->group[i] = g->lists[i];
            g->sizes[i] = count_color(g->lists[i], g->counts[i]);
            advance(g, i, g->sizes[i]);
        }
        return true;
    }
    return false;
}

static uint64_t color_of(const struct side *s, size_t i, size_t offset)
{
    uint64_t color;

    memcpy(&color, (const uint8_t *)&s->usage.threads[i] + offset, sizeof(color));
    return color;
}

/* Sorts the threads that have no pair yet by colors, or by a member of tsm_usage_thread. */
static size_t list_threads(struct side *s, const uint64_t *colors, size_t offset)
{
    size_t count = 0;

    for (size_t i = 0; i < s->usage.thread_count; i++)
        if (s->pairs[i] == NO_PAIR)
            s->entries[count++] =
                (struct entry){colors ? colors[i] : color_of(s, i, offset), (uint32_t)i};
    qsort(s->entries, count, sizeof(*s->entries), compare_entries);
    return count;
}

static struct groups begin_groups(struct search *s, bool by_color, size_t offset)
{
    struct groups g = {0};

    for (int i = 0; i < 2; i++) {
        g.counts[i] = list_threads(&s->sides[i], by_color ? s->sides[i].colors : NULL, offset);
        g.lists[i] = s->sides[i].entries;
    }
    return g;
}

/* ---- links -------------------------------------------------------------------------------- */

/* The links of one thread, or to one object, by where they are. */
struct span {
    const struct tsm_usage_link *at, *end;
};

static struct span span_of(const struct tsm_usage_link *links, const size_t *ends, uint32_t number)
{
    return (struct span){links + (number ? ends[number - 1] : 0), links + ends[number]};
}

static bool step_over(struct span *span)
{
    const uint64_t where = span->at->where;
    const struct tsm_usage_link *first = span->at;

    while (span->at < span->end && span->at->where == where)
        span->at++;
    return span->at - first == 1;
}

/* Finds the next place that is in both, once each. */
static bool next_common(struct span spans[2], const struct tsm_usage_link *found[2])
{
    while (spans[0].at < spans[0].end && spans[1].at < spans[1].end) {
        bool is_single[2];
        if (spans[0].at->where != spans[1].at->where) {
            step_over(&spans[spans[0].at->where > spans[1].at->where]);
            continue;
        }
        for (int i = 0; i < 2; i++) {
            found[i] = spans[i].at;
            is_single[i] = step_over(&spans[i]);
        }
        if (is_single[0] && is_single[1])
            return true;
    }
    return false;
}

/* ---- threads ------------------------------------------------------------------------------ */

static void note_pair(struct search *s, uint32_t a, uint32_t b, bool is_guess)
{
    s->sides[0].pairs[a] = b;
    s->sides[1].pairs[b] = a;
    s->sides[0].is_guess[a] = s->sides[1].is_guess[b] = is_guess;
    s->fresh[s->fresh_count++] = a;
}

/* Pairs the threads that begin alike and use a pair of objects in the same place, which no other
 * such thread does. */
static void follow_object(struct search *s, uint32_t a, uint32_t b)
{
    struct span spans[2] = {span_of(s->sides[0].by_object, s->sides[0].object_ends, a),
                            span_of(s->sides[1].by_object, s->sides[1].object_ends, b)};
    const struct tsm_usage_link *found[2];

    while (next_common(spans, found))
        if (s->sides[0].pairs[found[0]->thread] == NO_PAIR &&
            s->sides[1].pairs[found[1]->thread] == NO_PAIR)
            note_pair(s, found[0]->thread, found[1]->thread, false);
}

/* Pairs the objects that a pair of threads uses in the same place. */
static void follow_thread(struct search *s, uint32_t a, uint32_t b)
{
    struct span spans[2] = {span_of(s->sides[0].by_thread, s->sides[0].thread_ends, a),
                            span_of(s->sides[1].by_thread, s->sides[1].thread_ends, b)};
    const struct tsm_usage_link *found[2];

    while (next_common(spans, found)) {
        const uint32_t x = found[0]->object, y = found[1]->object;
        if (s->sides[0].object_pairs[x] != NO_PAIR || s->sides[1].object_pairs[y] != NO_PAIR)
            continue;
        s->sides[0].object_pairs[x] = y;
        s->sides[1].object_pairs[y] = x;
        follow_object(s, x, y);
        if (s->picks_users)
            s->open[s->open_count++] = x;
    }
}

/* Finds two users of a pair of objects, in the same place and of one color, that have no pair. */
static bool find_users(struct search *s, uint32_t x, uint32_t *a, uint32_t *b)
{
    struct span spans[2];
    const uint32_t objects[2] = {x, s->sides[0].object_pairs[x]};
    bool found = false;

    for (int i = 0; i < 2; i++) {
        const struct side *side = &s->sides[i];
        spans[i] = span_of(side->by_object, side->object_ends, objects[i]);
        if (side->object_at[objects[i]])
            spans[i].at = side->by_object + side->object_at[objects[i]];
    }
    while (!found && spans[0].at < spans[0].end && spans[1].at < spans[1].end) {
        const int lower = spans[0].at->where > spans[1].at->where;
        if (s->sides[0].pairs[spans[0].at->thread] != NO_PAIR)
            spans[0].at++;
        else if (s->sides[1].pairs[spans[1].at->thread] != NO_PAIR)
            spans[1].at++;
        else if (spans[0].at->where != spans[1].at->where)
            spans[lower].at++;
        else
            found = true;
    }
    for (int i = 0; i < 2; i++)
        s->sides[i].object_at[objects[i]] = (size_t)(spans[i].at - s->sides[i].by_object);
    if (found) {
        *a = spans[0].at->thread;
        *b = spans[1].at->thread;
    }
    return found;
}

/* Makes a pair, and those that follow from it. Of threads that use its objects alike any may stand
 * for any other, but none for one that uses other objects. */
static void make_pair(struct search *s, uint32_t a, uint32_t b, bool is_guess)
{
    note_pair(s, a, b, is_guess);
    while (s->fresh_count || s->open_count) {
        if (s->fresh_count) {
            const uint32_t next = s->fresh[--s->fresh_count];
            follow_thread(s, next, s->sides[0].pairs[next]);
        } else if (find_users(s, s->open[s->open_count - 1], &a, &b)) {
            note_pair(s, a, b, is_guess);
        } else {
            s->open_count--;
        }
    }
}

/* Finds the next one of a group, from *at on, that has no pair. */
static bool find_single(const struct search *s, const struct groups *g, int side, size_t *at)
{
    while (*at < g->sizes[side] && s->sides[side].pairs[g->group[side][*at].index] != NO_PAIR)
        ++*at;
    return *at < g->sizes[side];
}

/* Pairs those of one color. `guesses`: several of one color may be taken for one another.
 * `only_single`: where each trace has one. */
static void pair_groups(struct search *s, struct groups *g, bool guesses, bool only_single)
{
    while (next_group(g)) {
        size_t at[2] = {0, 0};
        if (only_single && (g->sizes[0] > 1 || g->sizes[1] > 1))
            continue;
        while (find_single(s, g, 0, &at[0]) && find_single(s, g, 1, &at[1])) {
            const uint32_t a = g->group[0][at[0]++].index, b = g->group[1][at[1]++].index;
            const bool is_choice = find_single(s, g, 0, &at[0]) || find_single(s, g, 1, &at[1]);
            make_pair(s, a, b, guesses && is_choice);
        }
    }
}

static void pair_by(struct search *s, size_t offset, bool guesses, bool only_single)
{
    struct groups g = begin_groups(s, false, offset);

    pair_groups(s, &g, guesses, only_single);
}

static size_t count_colors(struct side *s)
{
    size_t count = list_threads(s, s->colors, 0), colors = 0;

    for (size_t i = 0; i < count; i++)
        colors += !i || s->entries[i].color != s->entries[i - 1].color;
    return colors;
}

/* Colors threads by what they do; those that have a pair already by it. */
static void start_colors(struct search *s, bool by_results)
{
    for (int i = 0; i < 2; i++) {
        const struct side *side = &s->sides[i];
        for (size_t k = 0; k < side->usage.thread_count; k++) {
            const struct tsm_usage_thread *thread = &side->usage.threads[k];
            side->colors[k] = side->pairs[k] != NO_PAIR ? (i ? side->pairs[k] : (uint32_t)k)
                              : by_results              ? thread->full
                                                        : thread->all;
        }
    }
}

/* Refines both traces' colors, the same number of rounds, until that tells no more apart. Returns
 * false where it might tell more. */
static bool refine(struct search *s, bool by_results)
{
    size_t before = 0, after = 0;

    start_colors(s, by_results);
    for (unsigned round = 0; round < ROUNDS_MAX && (!round || after > before); round++) {
        before = after;
        after = 0;
        for (int i = 0; i < 2; i++) {
            struct side *side = &s->sides[i];
            tsm_usage_refine(&side->usage, side->colors, side->object_names);
            after += count_colors(side);
        }
    }
    return after <= before;
}

/* Pairs threads whose objects are used by others alike. */
static void pair_by_colors(struct search *s, bool by_results, bool guesses)
{
    struct groups g;

    guesses |= !refine(s, by_results);
    for (int i = 0; i < 2; i++) {
        sort_users(&s->sides[i], true);
        memset(s->sides[i].object_at, 0,
               s->sides[i].usage.objects.count * sizeof(*s->sides[i].object_at));
    }
    s->picks_users = true;
    g = begin_groups(s, true, 0);
    pair_groups(s, &g, guesses, false);
    s->picks_users = false;
    for (int i = 0; i < 2; i++)
        sort_users(&s->sides[i], false);
}

static bool has_rest(const struct search *s)
{
    bool rest[2] = {false, false};

    for (int i = 0; i < 2; i++)
        for (size_t k = 0; k < s->sides[i].usage.thread_count; k++)
            rest[i] |= s->sides[i].pairs[k] == NO_PAIR;
    return rest[0] && rest[1];
}

/* Pairs threads that only results, or what others do with their objects, tell apart. */
static int pair_alike(struct search *s, struct sbt_reader *const readers[2])
{
    int error = 0;

    if (!has_rest(s))
        return 0;
    for (int i = 0; i < 2 && !error; i++)
        error = tsm_usage_collect_results(&s->sides[i].usage, readers[i]);
    if (error)
        return error;
    pair_by_colors(s, true, false);
    pair_by(s, offsetof(struct tsm_usage_thread, full), false, true);
    if (has_rest(s))
        pair_by_colors(s, false, true);
    return 0;
}

/* Surest first: threads that nobody else can be, and what follows from them. */
static int pair_threads(struct search *s, struct sbt_reader *const readers[2])
{
    const size_t all = offsetof(struct tsm_usage_thread, all);
    const size_t stable = offsetof(struct tsm_usage_thread, stable);
    const size_t begin = offsetof(struct tsm_usage_thread, begin);
    struct groups g;
    int error;

    pair_by(s, all, false, true);
    pair_by(s, begin, false, true);
    error = pair_alike(s, readers);
    if (error)
        return error;
    pair_by(s, all, true, false);
    pair_by(s, stable, true, false);
    /* These differ, whichever is taken for which. */
    pair_by(s, begin, false, false);
    g = begin_groups(s, false, 0);
    for (size_t i = 0, k = 0; i < g.counts[0] && k < g.counts[1]; i++) {
        while (k < g.counts[1] && s->sides[1].pairs[g.lists[1][k].index] != NO_PAIR)
            k++;
        if (k < g.counts[1] && s->sides[0].pairs[g.lists[0][i].index] == NO_PAIR)
            make_pair(s, g.lists[0][i].index, g.lists[1][k].index, false);
    }
    return 0;
}

static size_t count_threads(const struct tsm_usage *usage)
{
    size_t count = 0;

    for (size_t i = 0; i < usage->thread_count; i++)
        count += usage->threads[i].queue == SBT_STREAM_NONE;
    return count;
}

/* Commands of a queue into which several threads may write have an order by chance. Where it is
 * another one in the other trace, a command may be taken for another one. */
static void guess_queues(struct search *s)
{
    struct side *a = &s->sides[0], *b = &s->sides[1];

    if (count_threads(&a->usage) < 2 || count_threads(&b->usage) < 2)
        return;
    for (size_t i = 0; i < a->usage.objects.count; i++)
        a->object_names[i] = i;
    for (size_t i = 0; i < b->usage.objects.count; i++)
        b->object_names[i] = b->object_pairs[i];
    for (int i = 0; i < 2; i++)
        tsm_usage_order(&s->sides[i].usage, s->sides[i].object_names, s->sides[i].colors);
    for (size_t i = 0; i < a->usage.thread_count; i++) {
        const uint32_t pair = a->pairs[i];
        const struct tsm_usage_thread *queue = &a->usage.threads[i];
        if (queue->queue != SBT_STREAM_NONE && pair != NO_PAIR &&
            queue->all == b->usage.threads[pair].all && a->colors[i] != b->colors[pair])
            a->is_guess[i] = b->is_guess[pair] = true;
    }
}

/* ---- streams ------------------------------------------------------------------------------ */

static void pair_streams(struct search *s, uint32_t a, uint32_t b)
{
    s->sides[0].stream_pairs[a] = b;
    s->sides[1].stream_pairs[b] = a;
}

/* Keys that tell streams apart, surest first. */
enum stream_key {
    BY_MAKER,  /* who made them, and which of its streams they are */
    BY_OBJECT, /* who sends to them what */
    BY_NUMBER,
};

static bool key_of(const struct side *side, int trace, const struct tsm_usage_stream *stream,
                   enum stream_key by, uint64_t *key)
{
    const bool is_made = stream->maker != UINT32_MAX;
    uint32_t number;

    switch (by) {
    case BY_MAKER:
        number = !is_made ? NO_PAIR : trace ? side->pairs[stream->maker] : stream->maker;
        *key = (uint64_t)number << 32 | stream->nth;
        return number != NO_PAIR;
    case BY_OBJECT:
        number = trace ? side->object_pairs[stream->object] : stream->object;
        *key = number;
        return number != NO_PAIR;
    default:
        *key = stream->number;
        return true;
    }
}

/* Sorts the streams that have no pair and such a key. */
static size_t list_streams(struct search *s, int trace, enum stream_key by)
{
    struct side *side = &s->sides[trace];
    size_t count = 0;

    for (size_t i = 0; i < side->usage.stream_count; i++) {
        uint64_t key;
        if (side->stream_pairs[i] == NO_PAIR &&
            key_of(side, trace, &side->usage.streams[i], by, &key))
            side->entries[count++] = (struct entry){key, (uint32_t)i};
    }
    qsort(side->entries, count, sizeof(*side->entries), compare_entries);
    return count;
}

static void pair_streams_by(struct search *s, enum stream_key by)
{
    struct groups g = {0};

    for (int i = 0; i < 2; i++) {
        g.counts[i] = list_streams(s, i, by);
        g.lists[i] = s->sides[i].entries;
    }
    while (next_group(&g))
        pair_streams(s, g.group[0]->index, g.group[1]->index);
}

/* ---- results ------------------------------------------------------------------------------ */

static bool is_guessed_stream(const struct side *s, const struct tsm_usage_stream *stream)
{
    return stream->maker != UINT32_MAX && s->is_guess[stream->maker];
}

static bool note_streams(struct tsm_counterparts *out, const struct search *s)
{
    const struct tsm_usage *mine = &s->sides[0].usage, *theirs = &s->sides[1].usage;
    bool ok = true;

    for (size_t i = 0; i < mine->thread_count && ok; i++)
        if (s->sides[0].is_guess[i] && mine->threads[i].queue != SBT_STREAM_NONE)
            ok = tsm_map_set(&out->guessed_streams, mine->threads[i].queue, 1);
    for (size_t i = 0; i < mine->stream_count && ok; i++) {
        const uint32_t pair = s->sides[0].stream_pairs[i];
        ok = tsm_map_set(&out->own_streams, mine->streams[i].number, 1);
        if (ok && is_guessed_stream(&s->sides[0], &mine->streams[i]))
            ok = tsm_map_set(&out->guessed_streams, mine->streams[i].number, 1);
        if (ok &&
            (mine->streams[i].is_shared || (pair != NO_PAIR && theirs->streams[pair].is_shared)))
            ok = tsm_map_set(&out->shared_streams, mine->streams[i].number, 1);
    }
    for (size_t i = 0; i < theirs->stream_count && ok; i++) {
        const uint32_t pair = s->sides[1].stream_pairs[i];
        const uint32_t number = theirs->streams[i].number;
        ok = tsm_map_set(&out->streams, number,
                         pair == NO_PAIR ? TSM_LONE_STREAM | number : mine->streams[pair].number);
    }
    return ok;
}

static bool note_threads(struct tsm_counterparts *out, const struct search *s, int trace)
{
    const struct side *side = &s->sides[trace];
    const struct tsm_map *numbers = &side->usage.thread_numbers;
    const uint64_t lone = s->sides[0].usage.thread_count;
    bool ok = true;

    for (size_t i = 0; i < numbers->capacity && ok; i++) {
        const uint64_t mine = numbers->slots[i].value - 1;
        uint64_t number = mine;
        if (!numbers->slots[i].used)
            continue;
        if (trace)
            number = side->pairs[mine] == NO_PAIR ? lone + mine : side->pairs[mine];
        ok = tsm_map_set(&out->threads[trace], numbers->slots[i].key, number + 1);
        if (ok && side->is_guess[mine])
            ok = tsm_map_set(&out->guessed_threads, number, 1);
    }
    return ok;
}

int tsm_counterparts_find(struct tsm_counterparts *out, struct sbt_reader *const readers[2],
                          const struct tsm_extents extents[2], const size_t thread_counts[2])
{
    struct search s = {0};
    int error = 0;

    for (int i = 0; i < 2 && !error; i++) {
        error = tsm_usage_collect(&s.sides[i].usage, readers[i], &extents[i], thread_counts[i]);
        if (!error)
            error = prepare(&s.sides[i]);
    }
    s.fresh = malloc((s.sides[0].usage.thread_count + 1) * sizeof(*s.fresh));
    s.open = malloc((s.sides[0].usage.objects.count + 1) * sizeof(*s.open));
    if (!error && (!s.fresh || !s.open))
        error = tsm_fail(TSM_E_MEMORY, "no memory to compare threads");
    if (!error)
        error = pair_threads(&s, readers);
    if (!error) {
        guess_queues(&s);
        for (enum stream_key by = BY_MAKER; by <= BY_NUMBER; by++)
            pair_streams_by(&s, by);
        out->is_known = true;
        if (!note_threads(out, &s, 0) || !note_threads(out, &s, 1) || !note_streams(out, &s))
            error = tsm_fail(TSM_E_MEMORY, "no memory for pairs of threads");
    }
    finish(&s.sides[0]);
    finish(&s.sides[1]);
    free(s.fresh);
    free(s.open);
    return error;
}
