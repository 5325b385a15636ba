/* SPDX-License-Identifier: Apache-2.0
 *
 * Counts what the trace lacks and says it once: UNMODELLED records, and other notes that need a
 * lane first.
 */
#include "capture/session.h"

#include "base/arena.h"
#include "base/hash.h"
#include "capture/call/intern.h"
#include "capture/call/note.h"
#include "capture/parts.h"

#include <string.h>

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

/* By id of the interned text: how often. Touched where used only. */
struct tsm_notes {
    uint32_t counts[TSM_INTERN_COUNT_MAX];
};

struct tsm_notes *tsm_notes_create(void)
{
    return tsm_memory_map(sizeof(struct tsm_notes));
}

void tsm_session_unmodelled(const char *name, bool taints)
{
    struct tsm_session *s = tsm_session_of_call();
    struct tsm_note note = {.call = SBT_CORE_UNMODELLED, .stream = SBT_STREAM_NONE};
    struct tsm_lane *lane;
    uint32_t id;

    if (!s)
        return;
    tsm_inside_enter();
    lane = tsm_thread_lane(s);
    id = tsm_intern_in(s, name, strlen(name));
    note.flags = taints ? SBT_RECORD_TAINTS : 0;
    note.slots[note.slot_count++] = id;
    note.slots[note.slot_count++] = 0;
    if (lane && __atomic_fetch_add(&s->notes->counts[id], 1, __ATOMIC_RELAXED) == 0)
        tsm_note_write(lane, &note);
    tsm_inside_leave();
}

void *tsm_session_keep(struct tsm_arena *arena, size_t size)
{
    void *memory = tsm_arena_take(arena, size);

    if (!memory)
        tsm_session_unmodelled("no memory for what is known of an object", true);
    return memory;
}

uint32_t tsm_notes_count(const struct tsm_session *s, uint32_t text)
{
    return __atomic_load_n(&s->notes->counts[text], __ATOMIC_RELAXED);
}

static void write_fork(struct tsm_session *s, int child)
{
    struct tsm_note note = {.call = SBT_CORE_FORK, .stream = SBT_STREAM_NONE, .slot_count = 2};
    struct tsm_lane *lane;

    tsm_inside_enter();
    lane = tsm_thread_lane(s);
    note.slots[0] = (uint64_t)child;
    if (lane)
        tsm_note_write(lane, &note);
    tsm_inside_leave();
}

/* A signal handler may have interrupted code of ours that writes to this thread's lane. */
static void remember_fork(struct tsm_session *s, int child)
{
    uint32_t i = __atomic_fetch_add(&s->forked_count, 1, __ATOMIC_RELAXED);

    if (i < COUNT(s->forked))
        __atomic_store_n(&s->forked[i], child, __ATOMIC_RELEASE);
    else if (tsm_thread.session == s)
        tsm_lane_lost(tsm_thread.lane, SBT_STREAM_NONE, tsm_ticks());
}

void tsm_forks_write(struct tsm_session *s)
{
    for (uint32_t i = 0; i < COUNT(s->forked) && !tsm_inside(); i++) {
        int child = __atomic_exchange_n(&s->forked[i], 0, __ATOMIC_ACQUIRE);
        if (child)
            write_fork(s, child);
    }
    __atomic_store_n(&s->forked_count, 0, __ATOMIC_RELAXED);
}

void tsm_session_forked(int child)
{
    struct tsm_session *s = tsm_session_current();

    if (!s)
        return;
    if (tsm_inside()) {
        remember_fork(s, child);
        return;
    }
    if (__atomic_load_n(&s->forked_count, __ATOMIC_RELAXED))
        tsm_forks_write(s);
    write_fork(s, child);
}

void tsm_checksum_write(uint32_t flags, uint32_t stream, uint64_t position, uint64_t address,
                        uint64_t size, const struct sbt_key *key)
{
    const struct tsm_note note = {.call = SBT_CORE_CHECKSUM,
                                  .flags = flags,
                                  .stream = SBT_STREAM_NONE,
                                  .slots = {stream, position, address, size, sizeof(*key)},
                                  .slot_count = 5,
                                  .data = key,
                                  .data_size = sizeof(*key)};
    struct tsm_session *s = tsm_session_current();
    struct tsm_lane *lane = s ? tsm_thread_lane(s) : NULL;

    if (lane)
        tsm_note_write(lane, &note);
}
