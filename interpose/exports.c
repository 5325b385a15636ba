/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/interpose.h"

#include <string.h>

#include "base/array.h"

#define NAME_MAX_SIZE 128u

const struct tsm_export *tsm_export_find(const struct tsm_exports *exports, const char *name)
{
    size_t count = exports ? exports->count : 0, at;

    TSM_BISECT(at, count, strcmp(exports->rows[at].name, name) >= 0);
    return at < count && strcmp(exports->rows[at].name, name) == 0 ? &exports->rows[at] : NULL;
}

static void bind_row(const struct tsm_export *row, void *address)
{
    struct tsm_door *door = row->door;

    if (door)
        door->exported = address;
    if (door && door->taken) /* its `real` is the table's */
        __atomic_store_n(&door->target, address, __ATOMIC_RELEASE);
    else
        __atomic_store_n(row->real, address, __ATOMIC_RELEASE);
}

void tsm_exports_bind(const struct tsm_exports *exports, void *real)
{
    for (size_t i = 0; i < exports->count; i++) {
        void *address = tsm_real_symbol(real, exports->rows[i].name);

        if (address)
            bind_row(&exports->rows[i], address);
    }
}

/* ---- tables ------------------------------------------------------------------------------------
 */

/* `original` is what the table holds. The slot is ours only when everything else is, so that no
 * call finds its way back to where it came from. */
static void take(const struct tsm_export *row, void **slot, void *original, bool first)
{
    struct tsm_door *door = row->door;

    door->taken = slot;
    __atomic_store_n(row->real, original, __ATOMIC_RELEASE);
    if (door->exported)
        __atomic_store_n(&door->target, door->exported, __ATOMIC_RELEASE);
    if (first)
        __atomic_store_n(slot, door->recorder, __ATOMIC_RELEASE);
}

/* All names of a slot; the first is the one whose recorder stands for them. */
static bool take_slot(const struct tsm_exports *exports, const char *names, void **slot)
{
    void *original = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
    const struct tsm_export *rows[2] = {NULL, NULL};
    const char *second = strchr(names, '=');
    char name[NAME_MAX_SIZE];
    size_t length = second ? (size_t)(second - names) : strlen(names);

    if (!original || !length || length >= sizeof(name))
        return false;
    memcpy(name, names, length);
    name[length] = '\0';
    rows[0] = tsm_export_find(exports, name);
    rows[1] = second ? tsm_export_find(exports, second + 1) : NULL;
    for (unsigned i = 0; i < 2; i++) {
        const struct tsm_door *door = rows[i] ? rows[i]->door : NULL;

        if (door && (door->recorder == original || (door->taken && door->taken != slot)))
            return door->taken == slot; /* it has been, or another one's is */
    }
    for (unsigned i = 2; i-- > 0;)
        if (rows[i] && rows[i]->door)
            take(rows[i], slot, original, i == 0 || !rows[0]);
    return rows[0] || rows[1];
}

size_t tsm_table_take(const struct tsm_exports *exports, const struct tsm_table *table,
                      void **functions, size_t there)
{
    size_t taken = 0;

    for (size_t i = 0; i < there && i < table->count; i++)
        taken += take_slot(exports, table->names[i], &functions[i]);
    return taken;
}

void tsm_doors_close(const struct tsm_exports *exports)
{
    for (size_t i = 0; i < exports->count; i++) {
        const struct tsm_export *row = &exports->rows[i];
        struct tsm_door *door = row->door;

        if (!door || !door->taken || !door->exported)
            continue;
        __atomic_store_n(row->real, door->exported, __ATOMIC_RELEASE);
        __atomic_store_n(&door->target, door->recorder, __ATOMIC_RELEASE);
        door->taken = NULL;
    }
}

/* ---- real address -> export ---------------------------------------------------------------------
 */

/* A slot is one pointer, so that threads may add at the same time; the address is where the row's
 * `real` points to. */
static const void *real_of(const struct tsm_export *row)
{
    return __atomic_load_n(row->real, __ATOMIC_ACQUIRE);
}

static size_t first_slot(const void *address)
{
    return (size_t)(((uintptr_t)address * 0x9e3779b97f4a7c15u) >> 40) % TSM_ADDRESS_MAP_SIZE;
}

void tsm_address_map_add(struct tsm_address_map *map, const struct tsm_export *row)
{
    size_t at = first_slot(real_of(row));

    for (size_t i = 0; i < TSM_ADDRESS_MAP_SIZE; i++) {
        const struct tsm_export *there = NULL;

        if (atomic_compare_exchange_strong(&map->slots[at], &there, row) || there == row)
            return;
        at = (at + 1) % TSM_ADDRESS_MAP_SIZE;
    }
}

static bool is_suffix(const char *text)
{
    return *text == '\0' || *text == '_';
}

/* How well a row with the right address fits the name that was asked for. */
static int fitness(const struct tsm_export *row, const char *name, const char *mark, bool marked)
{
    size_t length = strlen(name);

    if (strncmp(row->name, name, length) != 0 || !is_suffix(row->name + length))
        return 1;
    return (strstr(row->name + length, mark) != NULL) == marked ? 3 : 2;
}

const struct tsm_export *tsm_address_map_find(const struct tsm_address_map *map,
                                              const void *address, const char *name,
                                              const char *mark, bool marked)
{
    const struct tsm_export *best = NULL, *row;
    size_t at = first_slot(address);

    for (size_t i = 0; i < TSM_ADDRESS_MAP_SIZE; i++) {
        row = atomic_load(&map->slots[at]);
        if (!row)
            break;
        if (real_of(row) == address &&
            (!best || fitness(row, name, mark, marked) > fitness(best, name, mark, marked)))
            best = row;
        at = (at + 1) % TSM_ADDRESS_MAP_SIZE;
    }
    return best;
}
