/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/interpose.h"

#include <string.h>

const struct tsm_export *tsm_export_find(const struct tsm_exports *exports, const char *name)
{
    size_t low = 0, high = exports ? exports->count : 0;

    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = strcmp(name, exports->rows[middle].name);

        if (order == 0)
            return &exports->rows[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

void tsm_exports_bind(const struct tsm_exports *exports, void *real)
{
    for (size_t i = 0; i < exports->count; i++) {
        void *address = tsm_real_symbol(real, exports->rows[i].name);

        if (address)
            __atomic_store_n(exports->rows[i].real, address, __ATOMIC_RELEASE);
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
