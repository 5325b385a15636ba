/* SPDX-License-Identifier: Apache-2.0
 *
 * Interned strings, and lane 0, where all definitions go. An id is given out only after its
 * definition is published there, so a consumer that sees the id finds the text.
 */
#include "capture/session.h"

#include "base/hash.h"
#include "capture/call/intern.h"
#include "capture/parts.h"

#include <string.h>

#define SLOT_COUNT (2 * TSM_INTERN_COUNT_MAX)
#define TEXT_MAX   (1u << 20)
#define ARENA_SIZE (1ull << 30)

struct text {
    uint64_t hash;
    uint32_t size;
    uint32_t reserved;
    const char *start;
};

struct tsm_intern {
    uint32_t count;
    uint64_t arena_used;
    char *arena;
    uint32_t slots[SLOT_COUNT];                  /* ids */
    struct text texts[TSM_INTERN_COUNT_MAX + 1]; /* by id */
};

void *tsm_define_begin(struct tsm_session *s, uint64_t size, uint16_t kind)
{
    struct tsm_entry *e;

    if (size > TSM_FIRST_LANE_SIZE / 2)
        return NULL;
    tsm_lock_take(&s->define_lock);
    e = tsm_lane_reserve(&s->lanes[0], tsm_entry_round(size));
    if (e)
        *e = (struct tsm_entry){tsm_entry_round(size), kind, 0};
    else
        tsm_lock_give(&s->define_lock);
    return e;
}

void tsm_define_end(struct tsm_session *s, const void *entry)
{
    tsm_lane_publish(&s->lanes[0], ((const struct tsm_entry *)entry)->size);
    tsm_lock_give(&s->define_lock);
}

struct tsm_intern *tsm_intern_create(void)
{
    struct tsm_intern *t = tsm_memory_map(sizeof(*t));

    if (t)
        t->arena = tsm_memory_map(ARENA_SIZE);
    return t && t->arena ? t : NULL;
}

uint32_t tsm_intern_count(const struct tsm_session *s)
{
    return __atomic_load_n(&s->intern->count, __ATOMIC_ACQUIRE);
}

const char *tsm_intern_text(const struct tsm_session *s, uint32_t id)
{
    return id == 0 || id > tsm_intern_count(s) ? "" : s->intern->texts[id].start;
}

/* Id, or 0 with *at the slot where it would go. */
static uint32_t find(const struct tsm_intern *t, uint64_t hash, const char *text, size_t size,
                     uint32_t *at)
{
    *at = (uint32_t)(hash % SLOT_COUNT);
    for (;; *at = (*at + 1) % SLOT_COUNT) {
        uint32_t id = __atomic_load_n(&t->slots[*at], __ATOMIC_ACQUIRE);
        const struct text *e = &t->texts[id];

        if (id == 0)
            return 0;
        if (e->hash == hash && e->size == size && memcmp(e->start, text, size) == 0)
            return id;
    }
}

/* The definition's lock is held and `e` is its place. */
static uint32_t define(struct tsm_intern *t, struct tsm_string_entry *e, uint64_t hash,
                       const char *text, size_t size)
{
    uint32_t id = t->count + 1;
    char *copy = t->arena + t->arena_used;

    memcpy(copy, text, size); /* the arena's zeros terminate it */
    t->arena_used += size + 1;
    t->texts[id] = (struct text){hash, (uint32_t)size, 0, copy};
    e->id = id;
    e->text_size = (uint32_t)size;
    memcpy(e + 1, text, size);
    __atomic_store_n(&t->count, id, __ATOMIC_RELEASE);
    return id;
}

uint32_t tsm_intern_in(struct tsm_session *s, const char *text, size_t size)
{
    struct tsm_intern *t = s->intern;
    uint64_t hash;
    uint32_t at, id;
    struct tsm_string_entry *e;

    size = text ? strnlen(text, size < TEXT_MAX ? size : TEXT_MAX) : 0;
    if (size == 0)
        return 0;
    hash = tsm_hash64(text, size);
    id = find(t, hash, text, size, &at);
    if (id)
        return id;
    e = tsm_define_begin(s, sizeof(*e) + size, TSM_ENTRY_STRING);
    if (!e)
        return 0;
    id = find(t, hash, text, size, &at); /* another thread may have been quicker */
    if (id || t->count == TSM_INTERN_COUNT_MAX || t->arena_used + size + 1 > ARENA_SIZE) {
        tsm_lock_give(&s->define_lock); /* nothing published: the place is free again */
        return id;
    }
    id = define(t, e, hash, text, size);
    tsm_lane_publish(&s->lanes[0], e->entry.size);
    __atomic_store_n(&t->slots[at], id, __ATOMIC_RELEASE);
    tsm_lock_give(&s->define_lock);
    return id;
}

uint32_t tsm_intern(const char *text, size_t size)
{
    struct tsm_session *s = tsm_session_of_call();

    return s ? tsm_intern_in(s, text, size) : 0;
}

void tsm_session_metadata(const char *name, const char *value)
{
    struct tsm_session *s = tsm_session_current();
    size_t name_size = strlen(name) + 1, value_size = strlen(value) + 1;
    struct tsm_metadata_entry *e;

    if (!s)
        return;
    e = tsm_define_begin(s, sizeof(*e) + name_size + value_size, TSM_ENTRY_METADATA);
    if (!e)
        return;
    e->name_size = (uint32_t)name_size;
    e->value_size = (uint32_t)value_size;
    memcpy(e + 1, name, name_size);
    memcpy((char *)(e + 1) + name_size, value, value_size);
    tsm_define_end(s, e);
}
