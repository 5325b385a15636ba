/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/pairing.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

#define STEPS_MAX 4096 /* allocations looked at for one address; more means a strange trace */

/* ---- allocations -------------------------------------------------------------------------- */

static int add_extent(struct tsm_extents *x, uint64_t address, uint64_t size, uint64_t seq)
{
    if (x->count == x->capacity) {
        size_t more = x->capacity ? x->capacity * 2 : 256;
        struct tsm_extent *grown = realloc(x->list, more * sizeof(*grown));
        if (!grown)
            return tsm_fail(TSM_E_MEMORY, "no memory for %zu allocations", more);
        x->list = grown;
        x->capacity = more;
    }
    x->list[x->count++] = (struct tsm_extent){address, size, seq, UINT64_MAX, NULL};
    return 0;
}

/* `live`: address -> index + 1 of the allocation that is there now. */
static int note(struct tsm_extents *x, struct sbt_map *live, const struct sbt_record *record,
                const struct sbt_schema *schema)
{
    uint64_t address = sbt_record_role(schema, record, SBT_ROLE_ADDRESS, 0);
    uint64_t size = sbt_record_role(schema, record, SBT_ROLE_SIZE, 0);
    uint64_t *place;
    bool added;
    int error;

    if (!address || (record->flags & SBT_RECORD_FAILED))
        return 0;
    place = sbt_map_insert(live, address, &added);
    if (!place)
        return tsm_fail(TSM_E_MEMORY, "no memory for allocations");
    if (schema->kind == SBT_KIND_QUERY && *place)
        return 0; /* a variable that was asked for again */
    if (*place)
        x->list[*place - 1].gone_seq = record->seq;
    *place = 0;
    if (schema->kind == SBT_KIND_DESTROY || !size)
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

int tsm_extents_collect(struct tsm_extents *out, struct sbt_reader *reader)
{
    static const uint32_t none = SBT_STREAM_NONE;
    struct sbt_filter filter = {.streams = &none, .stream_count = 1};
    struct sbt_map live = {0};
    struct sbt_cursor *cursor = NULL;
    const struct sbt_record *record;
    int error = sbt_cursor_create(&cursor, reader, &filter, 1);

    memset(out, 0, sizeof(*out));
    while (!error && (error = sbt_cursor_next(cursor, &record)) == 1) {
        const struct sbt_schema *schema = sbt_reader_schema(reader, record->type);
        error = schema ? note(out, &live, record, schema) : 0;
    }
    sbt_cursor_destroy(cursor);
    sbt_map_finish(&live);
    if (!error && out->count)
        qsort(out->list, out->count, sizeof(*out->list), compare_extents);
    return error;
}

void tsm_extents_finish(struct tsm_extents *extents)
{
    free(extents->list);
    memset(extents, 0, sizeof(*extents));
}

struct tsm_extent *tsm_extents_find(const struct tsm_extents *x, uint64_t address, uint64_t seq)
{
    size_t low = 0, high = x->count;

    while (low < high) {
        size_t middle = (low + high) / 2;
        if (x->list[middle].address > address)
            high = middle;
        else
            low = middle + 1;
    }
    for (size_t i = low, steps = 0; i-- > 0 && steps < STEPS_MAX; steps++) {
        struct tsm_extent *e = &x->list[i];
        if (address - e->address < e->size && e->made_seq <= seq && seq <= e->gone_seq)
            return e;
    }
    return NULL;
}

/* ---- pairs -------------------------------------------------------------------------------- */

void tsm_pairing_finish(struct tsm_pairing *pairing)
{
    for (int i = 0; i < 2; i++) {
        tsm_extents_finish(&pairing->extents[i]);
        sbt_map_finish(&pairing->handles[i]);
    }
}

bool tsm_pairing_address(struct tsm_pairing *p, uint64_t a, uint64_t seq_a, uint64_t b,
                         uint64_t seq_b)
{
    struct tsm_extent *x = a ? tsm_extents_find(&p->extents[0], a, seq_a) : NULL;
    struct tsm_extent *y = b ? tsm_extents_find(&p->extents[1], b, seq_b) : NULL;

    if (!x || !y)
        return x == y && a == b;
    if (!x->pair && !y->pair && x->size == y->size) {
        x->pair = y;
        y->pair = x;
    }
    return x->pair == y && a - x->address == b - y->address;
}

/* `mine` stands for `theirs`, unless it stands for something else already. */
static bool pair_handle(struct sbt_map *map, uint64_t kind, uint64_t mine, uint64_t theirs)
{
    bool added;
    uint64_t *place = sbt_map_insert(map, kind ^ mine, &added);

    if (!place)
        return false;
    if (added)
        *place = theirs;
    return *place == theirs;
}

bool tsm_pairing_handle(struct tsm_pairing *p, const char *detail, uint64_t a, uint64_t b)
{
    uint64_t kind = tsm_hash64(detail, strlen(detail)) << 40; /* ids are smaller */

    if (!a || !b)
        return a == b;
    return pair_handle(&p->handles[0], kind, a, b) && pair_handle(&p->handles[1], kind, b, a);
}
