/* SPDX-License-Identifier: Apache-2.0
 *
 * Open addressing; slots hold entry numbers, so that a reader without a lock sees a slot as a
 * whole. Writers take a lock. An entry is reused long after its handle was removed (a queue of
 * removed ones), because a thread may still hold a pointer to it; what it reads then is stale, not
 * garbage.
 */
#include "base/text.h"
#include "capture/call/streams.h"
#include "capture/session.h"
#include "capture/parts.h"

#define SLOT_COUNT     (1u << 20)
#define ENTRY_COUNT    (1u << 19)
#define TYPE_COUNT     64u
#define REMOVED        1u
#define FIRST_ENTRY    2u
#define REUSE_DISTANCE 4096u /* removals before an entry is used again */

struct entry {
    struct tsm_handle handle;
    uint32_t api;
    uint32_t next_removed;
    uint32_t next_same; /* the driver gave the handle out again; 0: not */
    bool is_leaving;    /* a call that destroys it is under way */
    bool is_unknown;    /* it was first met in such a call, which may fail because there is no such
                           object */
};

struct tsm_handles {
    struct tsm_lock lock;
    uint32_t entry_count; /* ever taken from `entries`; the first is the overflow entry */
    uint32_t oldest_removed, newest_removed;
    uint32_t removed_count;
    uint32_t ids[TSM_TYPE_API_COUNT][TYPE_COUNT];
    uint32_t slots[SLOT_COUNT];
    struct entry entries[ENTRY_COUNT];
};

struct tsm_handles *tsm_handles_create(void)
{
    struct tsm_handles *t = tsm_memory_map(sizeof(struct tsm_handles));

    if (t)
        t->entry_count = 1;
    return t;
}

static struct tsm_handles *current(void)
{
    struct tsm_session *s = tsm_session_of_call();

    return s ? s->handles : NULL;
}

static uint32_t home(uint32_t api, uint32_t type, uint64_t raw)
{
    uint64_t hash = (raw ^ ((uint64_t)(api << 8 | type) << 48)) * 0x9e3779b97f4a7c15u;

    return (uint32_t)(hash >> 44); /* the top 20 bits: SLOT_COUNT */
}

static bool is_key(const struct entry *e, uint32_t api, uint32_t type, uint64_t raw)
{
    return e->handle.raw == raw && e->handle.type == type && e->api == api;
}

/* Slot of a key, as one read of the slot showed it: without the lock another read may show another
 * key. */
struct place {
    uint32_t at;       /* SLOT_COUNT: nowhere */
    uint32_t reusable; /* slot where it would go */
    struct entry *entry;
};

static struct place find_place(struct tsm_handles *t, uint32_t api, uint32_t type, uint64_t raw)
{
    struct place place = {SLOT_COUNT, SLOT_COUNT, NULL};
    uint32_t at = home(api, type, raw);

    for (uint32_t i = 0; i < SLOT_COUNT; i++, at = (at + 1) % SLOT_COUNT) {
        uint32_t slot = __atomic_load_n(&t->slots[at], __ATOMIC_ACQUIRE);

        if (slot < FIRST_ENTRY && place.reusable == SLOT_COUNT)
            place.reusable = at;
        if (slot == 0)
            break;
        if (slot >= FIRST_ENTRY && is_key(&t->entries[slot - FIRST_ENTRY], api, type, raw)) {
            place.at = at;
            place.entry = &t->entries[slot - FIRST_ENTRY];
            break;
        }
    }
    return place;
}

struct tsm_handle *tsm_handle_find(enum sbt_api api, uint32_t type, uint64_t raw)
{
    struct tsm_handles *t = current();
    struct entry *e = t && raw ? find_place(t, api, type, raw).entry : NULL;

    return e ? &e->handle : NULL;
}

void tsm_handle_stands(struct tsm_handle *event, struct tsm_stream *stream, uint64_t position,
                       void *user)
{
    uint32_t version = __atomic_load_n(&event->version, __ATOMIC_RELAXED);

    do
        version &= ~1u;
    while (!__atomic_compare_exchange_n(&event->version, &version, version + 1, true,
                                        __ATOMIC_ACQUIRE, __ATOMIC_RELAXED));
    __atomic_thread_fence(__ATOMIC_RELEASE);
    __atomic_store_n(&event->stream, stream, __ATOMIC_RELAXED);
    __atomic_store_n(&event->incarnation, stream ? stream->incarnation : 0, __ATOMIC_RELAXED);
    __atomic_store_n(&event->position, position, __ATOMIC_RELAXED);
    __atomic_store_n(&event->user, user, __ATOMIC_RELAXED);
    __atomic_store_n(&event->incarnation, stream ? stream->incarnation : 0, __ATOMIC_RELAXED);
    __atomic_store_n(&event->version, version + 2, __ATOMIC_RELEASE);
}

struct tsm_handle tsm_handle_now(const struct tsm_handle *event)
{
    struct tsm_handle now = *event;
    uint32_t version;

    do {
        version = __atomic_load_n(&event->version, __ATOMIC_ACQUIRE);
        now.stream = __atomic_load_n(&event->stream, __ATOMIC_RELAXED);
        now.incarnation = __atomic_load_n(&event->incarnation, __ATOMIC_RELAXED);
        now.position = __atomic_load_n(&event->position, __ATOMIC_RELAXED);
        now.user = __atomic_load_n(&event->user, __ATOMIC_RELAXED);
        now.incarnation = __atomic_load_n(&event->incarnation, __ATOMIC_RELAXED);
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
    } while ((version & 1) || version != __atomic_load_n(&event->version, __ATOMIC_RELAXED));
    return now;
}

/* The lock is held. Number of a fresh entry, 0 when there is none. */
static uint32_t take_entry(struct tsm_handles *t)
{
    uint32_t number = t->oldest_removed;

    if (t->entry_count < ENTRY_COUNT && t->removed_count < REUSE_DISTANCE)
        return t->entry_count++;
    if (t->removed_count == 0)
        return 0;
    t->oldest_removed = t->entries[number].next_removed;
    t->removed_count--;
    return number;
}

/* The lock is held. */
static void remove_slot(struct tsm_handles *t, uint32_t at)
{
    uint32_t number = t->slots[at] - FIRST_ENTRY, same = t->entries[number].next_same;

    if (t->removed_count == 0)
        t->oldest_removed = number;
    else
        t->entries[t->newest_removed].next_removed = number;
    t->newest_removed = number;
    t->removed_count++;
    if (same) {
        __atomic_store_n(&t->slots[at], same + FIRST_ENTRY, __ATOMIC_RELEASE);
        return;
    }
    __atomic_store_n(&t->slots[at], REMOVED, __ATOMIC_RELEASE);
    /* Marks before a free slot lead nowhere; searches get shorter without them. */
    while (t->slots[at] == REMOVED && t->slots[(at + 1) % SLOT_COUNT] == 0) {
        __atomic_store_n(&t->slots[at], 0, __ATOMIC_RELEASE);
        at = (at + SLOT_COUNT - 1) % SLOT_COUNT;
    }
}

/* The lock is held. Number of a new entry that nothing leads to yet, 0 when there is no room. */
static uint32_t make_entry(struct tsm_handles *t, uint32_t api, uint32_t type, uint64_t raw,
                           uint32_t owner)
{
    uint32_t number = take_entry(t);
    struct entry *e = &t->entries[number];

    if (number == 0)
        return 0;
    *e = (struct entry){.handle = {.raw = raw, .type = (uint16_t)type, .owner = owner}, .api = api};
    e->handle.id = ++t->ids[api % TSM_TYPE_API_COUNT][type % TYPE_COUNT];
    return number;
}

static struct tsm_handle *add(struct tsm_handles *t, uint32_t api, uint32_t type, uint64_t raw,
                              uint32_t owner)
{
    struct place old = find_place(t, api, type, raw);
    uint32_t number;

    while (old.entry) {
        remove_slot(t, old.at);
        old = find_place(t, api, type, raw);
    }
    number = make_entry(t, api, type, raw, owner);
    if (number == 0)
        return NULL;
    __atomic_store_n(&t->slots[old.reusable], number + FIRST_ENTRY, __ATOMIC_RELEASE);
    return &t->entries[number].handle;
}

/* After those that are there: the first one is what is found, and what is removed. */
static struct tsm_handle *add_again(struct tsm_handles *t, uint32_t api, uint32_t type,
                                    uint64_t raw, uint32_t owner)
{
    struct entry *e = find_place(t, api, type, raw).entry;
    uint32_t number;

    if (!e || e->handle.owner != owner)
        return add(t, api, type, raw, owner);
    number = make_entry(t, api, type, raw, owner);
    if (number == 0)
        return NULL;
    while (e->next_same)
        e = &t->entries[e->next_same];
    e->next_same = number;
    return &t->entries[number].handle;
}

typedef struct tsm_handle *add_entry(struct tsm_handles *t, uint32_t api, uint32_t type,
                                     uint64_t raw, uint32_t owner);

static struct tsm_handle *add_with(add_entry *how, enum sbt_api api, uint32_t type, uint64_t raw,
                                   uint32_t owner)
{
    static struct entry nothing;
    struct tsm_handles *t = current();
    struct tsm_handle *handle;

    if (!t)
        return &nothing.handle;
    tsm_lock_take(&t->lock);
    handle = how(t, api, type, raw, owner);
    tsm_lock_give(&t->lock);
    if (handle)
        return handle;
    tsm_session_unmodelled("more than 524287 objects alive", true);
    return &t->entries[0].handle;
}

struct tsm_handle *tsm_handle_add(enum sbt_api api, uint32_t type, uint64_t raw)
{
    return add_with(add, api, type, raw, 0);
}

struct tsm_handle *tsm_handle_add_again(enum sbt_api api, uint32_t type, uint64_t raw,
                                        uint32_t owner)
{
    return add_with(add_again, api, type, raw, owner);
}

uint32_t tsm_handle_remove(enum sbt_api api, uint32_t type, uint64_t raw)
{
    struct tsm_handles *t = current();
    struct place place;
    uint32_t id = 0;

    if (!t || raw == 0)
        return 0;
    tsm_lock_take(&t->lock);
    place = find_place(t, api, type, raw);
    if (place.entry) {
        id = place.entry->handle.id;
        remove_slot(t, place.at);
    }
    tsm_lock_give(&t->lock);
    return id;
}

uint32_t tsm_handle_leaves(enum sbt_api api, uint32_t type, uint64_t raw)
{
    struct tsm_handles *t = current();
    struct entry *e = t && raw ? find_place(t, api, type, raw).entry : NULL;

    if (!t || raw == 0)
        return 0;
    if (!e) {
        e = (struct entry *)(void *)tsm_handle_add(api, type, raw);
        e->is_unknown = true;
    }
    __atomic_store_n(&e->is_leaving, true, __ATOMIC_RELAXED);
    return e->handle.id;
}

bool tsm_handle_is_leaving(const struct tsm_handle *handle)
{
    return __atomic_load_n(&((const struct entry *)(const void *)handle)->is_leaving,
                           __ATOMIC_RELAXED);
}

static void note_unknown(enum sbt_api api, uint32_t type, uint32_t id)
{
    char text[80];

    tsm_format(text, sizeof(text), "object from before capture: api %u, type %u, id %u",
               (unsigned)api, type, id);
    tsm_session_unmodelled(text, true);
}

void tsm_handle_left(enum sbt_api api, uint32_t type, uint64_t raw, uint32_t id, bool is_gone)
{
    struct tsm_handles *t = current();
    bool was_unknown = false;
    struct place place;

    if (!t || raw == 0)
        return;
    tsm_lock_take(&t->lock);
    place = find_place(t, api, type, raw);
    if (place.entry && place.entry->handle.id == id) {
        was_unknown = place.entry->is_unknown;
        place.entry->is_leaving = place.entry->is_unknown = false;
        if (is_gone || was_unknown)
            remove_slot(t, place.at);
    }
    tsm_lock_give(&t->lock);
    if (was_unknown && is_gone)
        note_unknown(api, type, id);
}

/* A call that failed has changed nothing: what it was given need not be an object. */
static bool has_failed(void)
{
    return tsm_thread.call && (tsm_thread.call->flags & SBT_RECORD_FAILED);
}

uint32_t tsm_handle_id(enum sbt_api api, uint32_t type, uint64_t raw)
{
    struct tsm_handle *handle = tsm_handle_find(api, type, raw);

    if (handle || raw == 0 || has_failed())
        return handle ? handle->id : 0;
    handle = tsm_handle_add(api, type, raw);
    note_unknown(api, type, handle->id);
    return handle->id;
}

bool tsm_handle_each(enum sbt_api api, uint32_t type,
                     bool (*visit)(void *user, const struct tsm_handle *handle), void *user)
{
    struct tsm_handles *t = current();

    for (uint32_t at = 0; t && at < SLOT_COUNT; at++) {
        uint32_t slot = __atomic_load_n(&t->slots[at], __ATOMIC_ACQUIRE);
        const struct entry *e = &t->entries[slot < FIRST_ENTRY ? 0 : slot - FIRST_ENTRY];

        if (slot >= FIRST_ENTRY && e->api == (uint32_t)api && e->handle.type == type &&
            !visit(user, &e->handle))
            return false;
    }
    return true;
}
