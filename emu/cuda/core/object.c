/* SPDX-License-Identifier: Apache-2.0 */
#include "emu/cuda/core/object.h"

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* An open-addressing table: `kind` EMU_NONE with a handle is a deleted entry, without one an empty
 * entry. At most half of it is in use, so that a look-up ends. */
struct entry {
    const void *handle;
    enum emu_kind kind;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct entry *entries;
static size_t capacity; /* a power of two */
static size_t used;     /* including deleted ones */
static size_t live;

static size_t hash(const void *handle)
{
    return (size_t)(((uintptr_t)handle >> 4) * 0x9e3779b97f4a7c15ull >> 20);
}

/* The entry of `handle`, or the empty one where it would go. capacity > 0. */
static struct entry *find(struct entry *table, size_t size, const void *handle)
{
    size_t i = hash(handle) & (size - 1);

    while (table[i].handle && table[i].handle != handle)
        i = (i + 1) & (size - 1);
    return &table[i];
}

/* Make room: a larger table, or the same size again when deleted entries filled it. */
static bool grow(void)
{
    size_t size = capacity && 4 * live < capacity ? capacity : capacity * 2 + !capacity * 256;
    struct entry *table = calloc(size, sizeof(*table));

    if (!table)
        return false;
    used = 0;
    for (size_t i = 0; i < capacity; i++) {
        if (entries[i].kind == EMU_NONE)
            continue;
        *find(table, size, entries[i].handle) = entries[i];
        used++;
    }
    free(entries);
    entries = table;
    capacity = size;
    return true;
}

bool emu_object_add(enum emu_kind kind, const void *handle)
{
    bool ok = true;

    pthread_mutex_lock(&lock);
    if (2 * (used + 1) > capacity)
        ok = grow();
    if (ok) {
        struct entry *e = find(entries, capacity, handle);
        used += e->handle == NULL;
        live++;
        *e = (struct entry){handle, kind};
    }
    pthread_mutex_unlock(&lock);
    return ok;
}

void emu_object_remove(const void *handle)
{
    if (!handle)
        return;
    pthread_mutex_lock(&lock);
    if (capacity) {
        struct entry *e = find(entries, capacity, handle);
        live -= e->kind != EMU_NONE;
        e->kind = EMU_NONE;
    }
    pthread_mutex_unlock(&lock);
}

bool emu_object_is(enum emu_kind kind, const void *handle)
{
    bool is = false;

    if (!handle)
        return false;
    pthread_mutex_lock(&lock);
    if (capacity)
        is = find(entries, capacity, handle)->kind == kind;
    pthread_mutex_unlock(&lock);
    return is;
}
