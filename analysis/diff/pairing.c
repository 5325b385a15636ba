/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/diff/pairing.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "format/memory_key.h"

#define STEPS_MAX 4096 /* groups that cover one address; more means a strange trace */
#define KINDS_MAX 4096 /* types of objects */

/* ---- allocations -------------------------------------------------------------------------- */

static int add_extent(struct tsm_extents *x, uint64_t address, uint64_t size, uint64_t seq)
{
    return TSM_ARRAY_PUSH(x->list, x->count, x->capacity,
                          (struct tsm_extent){address, size, seq, UINT64_MAX, NULL})
               ? 0
               : tsm_fail(TSM_E_MEMORY, "no memory for %zu allocations", x->count + 1);
}

/* Allocations that are alive, by tsm_memory_key(). */
struct live {
    struct tsm_map places; /* index + 1 of the allocation */
    struct tsm_map depths; /* of what was registered more than once: how many times more */
};

/* Tests whether a record registers memory that an allocation holds which begins there, too. */
static bool is_held(const struct tsm_extents *x, const struct live *live, uint64_t key,
                    uint64_t size)
{
    const uint64_t place =
        key & TSM_MEMORY_KEY_HOST ? tsm_map_get(&live->places, key & ~TSM_MEMORY_KEY_HOST, 0) : 0;

    return place && size <= x->list[place - 1].size;
}

/* Registers again what is registered: it stays until it was ended as many times. Returns false
 * where that is not what the record does. */
static bool is_again(struct tsm_extents *x, struct live *live, uint64_t key, uint64_t size)
{
    const uint64_t place = key & TSM_MEMORY_KEY_HOST ? tsm_map_get(&live->places, key, 0) : 0;
    bool added;
    uint64_t *depth = place ? tsm_map_insert(&live->depths, key, &added) : NULL;

    if (!depth)
        return false;
    ++*depth;
    if (size > x->list[place - 1].size)
        x->list[place - 1].size = size;
    return true;
}

static bool ends_once(struct live *live, uint64_t key)
{
    uint64_t *depth = tsm_map_find(&live->depths, key);

    return depth && *depth && (*depth)--;
}

static int note(struct tsm_extents *x, struct live *live, const struct sbt_record *record,
                const struct sbt_schema *schema)
{
    const bool is_end = schema->kind == SBT_KIND_DESTROY;
    uint64_t key = tsm_memory_key(schema, record);
    uint64_t address = key & ~TSM_MEMORY_KEY_HOST;
    uint64_t size = sbt_record_role(schema, record, SBT_ROLE_SIZE, 0);
    uint64_t *place;
    bool added;
    int error;

    if (!key || (record->flags & SBT_RECORD_FAILED))
        return 0;
    if (is_end ? ends_once(live, key) : is_held(x, live, key, size) || is_again(x, live, key, size))
        return 0;
    place = is_end ? tsm_memory_ended(&live->places, schema, record)
                   : tsm_map_insert(&live->places, key, &added);
    if (!place)
        return is_end ? 0 : tsm_fail(TSM_E_MEMORY, "no memory for allocations");
    if (schema->kind == SBT_KIND_QUERY && *place)
        return 0; /* a variable that was asked for again */
    if (*place)
        x->list[*place - 1].gone_seq = record->seq;
    *place = 0;
    if (is_end || !size)
        return 0;
    error = add_extent(x, address, size, record->seq);
    *place = x->count;
    return error;
}

static int compare_extents(const void *a, const void *b)
{
    const struct tsm_extent *x = a, *y = b;

    if (x->address != y->address)
        return x->address < y->address ? -1 : 1;
    return x->made_seq < y->made_seq ? -1 : x->made_seq > y->made_seq;
}

static uint64_t last_of(const struct tsm_extent *e)
{
    uint64_t last = e->address + e->size - 1;

    return last < e->address ? UINT64_MAX : last;
}

/* Fills `reach` of the groups [low, high), and returns the highest. Depth: logarithmic. */
static uint64_t make_reach(struct tsm_extent_group *groups, size_t low, size_t high)
{
    size_t middle = low + (high - low) / 2;
    uint64_t reach = groups[middle].last;

    if (low < middle) {
        uint64_t below = make_reach(groups, low, middle);
        reach = below > reach ? below : reach;
    }
    if (middle + 1 < high) {
        uint64_t above = make_reach(groups, middle + 1, high);
        reach = above > reach ? above : reach;
    }
    groups[middle].reach = reach;
    return reach;
}

static int make_groups(struct tsm_extents *x)
{
    qsort(x->list, x->count, sizeof(*x->list), compare_extents);
    x->groups = malloc(x->count * sizeof(*x->groups));
    if (!x->groups)
        return tsm_fail(TSM_E_MEMORY, "no memory for %zu allocations", x->count);
    for (size_t i = 0; i < x->count; i++) {
        struct tsm_extent_group *g = x->groups + x->group_count;
        if (!i || x->list[i].address != x->list[i - 1].address)
            *g = (struct tsm_extent_group){.first = i}, x->group_count++;
        else
            g--;
        g->count++;
        if (last_of(&x->list[i]) > g->last)
            g->last = last_of(&x->list[i]);
    }
    make_reach(x->groups, 0, x->group_count);
    return 0;
}

int tsm_extents_collect(struct tsm_extents *out, struct sbt_reader *reader)
{
    struct live live = {0};
    struct sbt_cursor *cursor = NULL;
    const struct sbt_record *record;
    int error = sbt_cursor_create(&cursor, reader, NULL, 1);

    memset(out, 0, sizeof(*out));
    while (!error && (error = sbt_cursor_next(cursor, &record)) == 1) {
        const struct sbt_schema *schema = sbt_reader_schema(reader, record->type);
        error = schema ? note(out, &live, record, schema) : 0;
    }
    sbt_cursor_destroy(cursor);
    tsm_map_finish(&live.places);
    tsm_map_finish(&live.depths);
    return !error && out->count ? make_groups(out) : error;
}

void tsm_extents_finish(struct tsm_extents *extents)
{
    free(extents->list);
    free(extents->groups);
    memset(extents, 0, sizeof(*extents));
}

/* The newest of a group that was made by then, when it is alive and covers the address. */
static struct tsm_extent *find_in_group(const struct tsm_extents *x,
                                        const struct tsm_extent_group *g, uint64_t address,
                                        uint64_t seq)
{
    const struct tsm_extent *list = &x->list[g->first];
    struct tsm_extent *e;
    size_t at;

    TSM_BISECT(at, g->count, list[at].made_seq > seq);
    if (!at)
        return NULL;
    e = &x->list[g->first + at - 1];
    return seq <= e->gone_seq && address - e->address < e->size ? e : NULL;
}

/* Searches [low, high), the highest address first. */
static struct tsm_extent *find_among(const struct tsm_extents *x, size_t low, size_t high,
                                     uint64_t address, uint64_t seq, unsigned *steps)
{
    while (low < high && *steps < STEPS_MAX) {
        size_t middle = low + (high - low) / 2;
        const struct tsm_extent_group *g = &x->groups[middle];
        struct tsm_extent *found = NULL;
        if (g->reach < address)
            return NULL;
        if (x->list[g->first].address <= address) {
            ++*steps;
            found = find_among(x, middle + 1, high, address, seq, steps);
            if (!found && g->last >= address)
                found = find_in_group(x, g, address, seq);
        }
        if (found)
            return found;
        high = middle;
    }
    return NULL;
}

struct tsm_extent *tsm_extents_find(const struct tsm_extents *x, uint64_t address, uint64_t seq)
{
    unsigned steps = 0;

    return find_among(x, 0, x->group_count, address, seq, &steps);
}

/* ---- pairs -------------------------------------------------------------------------------- */

static void finish_numbers(struct tsm_number_pairs *pairs)
{
    tsm_map_finish(&pairs->map[0]);
    tsm_map_finish(&pairs->map[1]);
}

void tsm_pairing_finish(struct tsm_pairing *pairing)
{
    for (int i = 0; i < 2; i++)
        tsm_extents_finish(&pairing->extents[i]);
    for (size_t i = 0; i < pairing->handle_count; i++)
        finish_numbers(&pairing->handles[i]);
    for (size_t i = 0; i < pairing->position_count; i++)
        free(pairing->positions[i].runs);
    finish_numbers(&pairing->pages);
    tsm_map_finish(&pairing->streams);
    free(pairing->handles);
    free(pairing->positions);
    memset(pairing, 0, sizeof(*pairing));
}

bool tsm_pairing_knows(const struct tsm_pairing *p, int trace, uint64_t address, uint64_t seq)
{
    return address && tsm_extents_find(&p->extents[trace], address, seq);
}

bool tsm_pairing_address(struct tsm_pairing *p, uint64_t a, uint64_t seq_a, uint64_t b,
                         uint64_t seq_b)
{
    struct tsm_extent *x = a ? tsm_extents_find(&p->extents[0], a, seq_a) : NULL;
    struct tsm_extent *y = b ? tsm_extents_find(&p->extents[1], b, seq_b) : NULL;

    if (!x || !y)
        return x == y && a == b;
    if (!x->pair && !y->pair && x->size == y->size) {
        if (p->is_by_chance)
            return a - x->address == b - y->address;
        x->pair = y;
        y->pair = x;
    }
    return x->pair == y && a - x->address == b - y->address;
}

/* `mine` stands for `theirs`, unless it stands for something else already. */
static bool pair_one(struct tsm_map *map, uint64_t mine, uint64_t theirs)
{
    bool added;
    uint64_t *place = tsm_map_insert(map, mine, &added);

    if (!place)
        return false;
    if (added)
        *place = theirs;
    return *place == theirs;
}

/* Tests whether two numbers stand for each other, or for nothing yet. */
static bool may_pair(const struct tsm_number_pairs *pairs, uint64_t a, uint64_t b)
{
    const uint64_t *of_a = tsm_map_find(&pairs->map[0], a), *of_b = tsm_map_find(&pairs->map[1], b);

    return (!of_a || *of_a == b) && (!of_b || *of_b == a);
}

static bool pair_numbers(const struct tsm_pairing *p, struct tsm_number_pairs *pairs, uint64_t a,
                         uint64_t b)
{
    if (p->is_by_chance)
        return may_pair(pairs, a, b);
    return pair_one(&pairs->map[0], a, b) && pair_one(&pairs->map[1], b, a);
}

bool tsm_pairing_host(struct tsm_pairing *p, uint64_t a, uint64_t seq_a, uint64_t b, uint64_t seq_b)
{
    const uint64_t page = 4096;

    if (tsm_pairing_knows(p, 0, a, seq_a) || tsm_pairing_knows(p, 1, b, seq_b))
        return tsm_pairing_address(p, a, seq_a, b, seq_b);
    return a % page == b % page && pair_numbers(p, &p->pages, a / page, b / page);
}

static struct tsm_number_pairs *pairs_of(struct tsm_pairing *p, const char *kind)
{
    const size_t length = strcspn(kind, "/"); /* of a list: what it lists */

    for (size_t i = 0; i < p->handle_count; i++)
        if (p->handles[i].kind == kind ||
            (p->handles[i].length == length && !strncmp(p->handles[i].kind, kind, length)))
            return &p->handles[i];
    return p->handle_count < KINDS_MAX &&
                   TSM_ARRAY_PUSH(p->handles, p->handle_count, p->handle_capacity,
                                  (struct tsm_number_pairs){.kind = kind, .length = length})
               ? &p->handles[p->handle_count - 1]
               : NULL;
}

size_t tsm_pairing_list(const char *detail)
{
    const char *slash = strchr(detail, '/');
    const unsigned long size = slash ? strtoul(slash + 1, NULL, 10) : 0;

    return size >= sizeof(uint32_t) && size <= 64 && SBT_PIECE_SIZE % size == 0 ? size : 0;
}

bool tsm_pairing_handle(struct tsm_pairing *p, const char *detail, uint64_t a, uint64_t b)
{
    struct tsm_number_pairs *pairs;

    if (!a || !b)
        return a == b;
    pairs = pairs_of(p, detail);
    return pairs && pair_numbers(p, pairs, a, b);
}

static bool renew(struct tsm_map *map, uint64_t mine, uint64_t theirs)
{
    bool added;
    uint64_t *place = tsm_map_insert(map, mine, &added);

    if (place)
        *place = theirs;
    return place;
}

bool tsm_pairing_opaque(struct tsm_pairing *p, const char *detail, uint64_t a, uint64_t b)
{
    const size_t prefix = sizeof(SBT_DETAIL_NEW) - 1;
    bool is_new = strncmp(detail, SBT_DETAIL_NEW, prefix) == 0;
    struct tsm_number_pairs *pairs;

    if (!a || !b)
        return a == b;
    pairs = pairs_of(p, is_new ? detail + prefix : detail);
    if (!pairs)
        return false;
    pairs->is_opaque = true;
    if (!is_new)
        return pair_numbers(p, pairs, a, b);
    return renew(&pairs->map[0], a, b) && renew(&pairs->map[1], b, a);
}

bool tsm_pairing_is_opaque(const struct tsm_pairing *p, uint64_t a, uint64_t b)
{
    for (size_t i = 0; i < p->handle_count; i++) {
        const uint64_t *place =
            p->handles[i].is_opaque ? tsm_map_find(&p->handles[i].map[0], a) : NULL;
        if (place && *place == b)
            return true;
    }
    return false;
}

/* ---- positions ---------------------------------------------------------------------------- */

static struct tsm_position_pairs *positions_of(struct tsm_pairing *p, uint64_t stream)
{
    uint64_t *place;
    bool added;

    if (!TSM_ARRAY_RESERVE(p->positions, p->position_capacity, p->position_count + 1))
        return NULL;
    place = tsm_map_insert(&p->streams, stream, &added);
    if (place && added) {
        p->positions[p->position_count] = (struct tsm_position_pairs){0};
        *place = ++p->position_count;
    }
    return place ? &p->positions[*place - 1] : NULL;
}

int tsm_pairing_note_position(struct tsm_pairing *p, uint64_t stream, uint64_t a, uint64_t b)
{
    struct tsm_position_pairs *pairs = positions_of(p, stream);

    if (pairs && pairs->count && pairs->runs[pairs->count - 1].delta == b - a)
        return 0;
    return pairs && TSM_ARRAY_PUSH(pairs->runs, pairs->count, pairs->capacity,
                                   (struct tsm_position_run){a, b - a})
               ? 0
               : tsm_fail(TSM_E_MEMORY, "no memory for places on streams");
}

uint64_t tsm_pairing_counterpart(const struct tsm_pairing *p, uint64_t stream, uint64_t a)
{
    const uint64_t *place = tsm_map_find(&p->streams, stream);
    const struct tsm_position_pairs *pairs = place ? &p->positions[*place - 1] : NULL;
    size_t at;

    TSM_BISECT(at, pairs ? pairs->count : 0, pairs->runs[at].first > a);
    return at ? a + pairs->runs[at - 1].delta : a;
}

bool tsm_pairing_position(const struct tsm_pairing *p, uint64_t stream, uint64_t a, uint64_t b)
{
    return tsm_pairing_counterpart(p, stream, a) == b;
}
