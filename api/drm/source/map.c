/* SPDX-License-Identifier: Apache-2.0
 *
 * Mappings of GPU files, and memory of the program that it gave to the device. What the program
 * writes there is host memory that the device can read: capture/memory/host_memory.c looks at it
 * before each submit.
 */
#include "api/drm/source/source.h"

#include "base/hash.h"
#include "capture/lock.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define MAP_MAX    1024u
#define OFFSET_MAX 65536u /* a power of two */
#define PAGE       4096u
#define YIELDS_MAX (1u << 22) /* some seconds */

static struct drm_map maps[MAP_MAX];
static uint32_t map_count;
static _Atomic uint32_t user_count; /* of them is_user */
/* All of them lie in [lowest, highest): nearly every munmap of a program is outside. */
static _Atomic uintptr_t lowest = UINTPTR_MAX, highest;

/* Which object a file shows at an offset: an open hash table, untouched pages of which cost
 * nothing. */
static struct offset {
    uint64_t offset;
    uint32_t file, object; /* 0: an unused place */
} offsets[OFFSET_MAX];
static uint32_t offset_count;

/* Threads that read mappings just now: none may go meanwhile. */
static _Atomic uint32_t reader_count;
static __thread uint32_t own_reads __attribute__((tls_model("initial-exec")));

static struct tsm_lock lock;
static _Atomic bool has_mapped; /* the trace's metadata says what it has of new mappings */
static _Atomic bool inherited;  /* mappings of a parent, which nobody looks after here */

void drm_maps_forked(void)
{
    lock = (struct tsm_lock){0, 0};
    if (map_count > 0)
        atomic_store(&inherited, true);
    map_count = 0;
    atomic_store(&reader_count, 0);
    atomic_store(&has_mapped, false);
    own_reads = 0;
    atomic_store(&user_count, 0);
    atomic_store(&lowest, UINTPTR_MAX);
    atomic_store(&highest, 0);
}

void drm_maps_inherited(void)
{
    if (atomic_exchange(&inherited, false))
        tsm_session_unmodelled("memory of a GPU that was mapped before a fork", true);
}

/* The place of (file, offset), or the unused one where it belongs. */
static struct offset *offset_place(uint32_t file, uint64_t offset)
{
    uint64_t hash = ((offset >> 12) + file) * 0x9e3779b97f4a7c15u;
    struct offset *o;

    for (uint32_t i = (uint32_t)(hash >> 48);; i++) {
        o = &offsets[i % OFFSET_MAX];
        if (!o->object || (o->file == file && o->offset == offset))
            return o;
    }
}

void drm_map_offset(uint32_t file, uint64_t offset, uint32_t handle)
{
    struct offset *place;
    bool full;

    if (!handle)
        return;
    drm_enter(&lock);
    place = offset_place(file, offset);
    full = !place->object && offset_count >= OFFSET_MAX / 4 * 3;
    if (!full) {
        offset_count += !place->object;
        *place = (struct offset){offset, file, handle};
    }
    drm_leave(&lock);
    if (full)
        tsm_session_unmodelled("more offsets to map objects at than are remembered", true);
}

/* Returns whether there is room. */
static bool keep(const struct drm_map *m)
{
    if (map_count == MAP_MAX)
        return false;
    maps[map_count++] = *m;
    atomic_fetch_add(&user_count, m->is_user);
    if (m->start < atomic_load(&lowest))
        atomic_store(&lowest, m->start);
    if (m->end > atomic_load(&highest))
        atomic_store(&highest, m->end);
    return true;
}

/* Does what is written there reach the device, and what the device writes the program? */
static bool is_shared(struct drm_file file, int flags)
{
    return (flags & MAP_TYPE) != MAP_PRIVATE &&
           (file.node == DRM_NODE_DRM || file.node == DRM_NODE_DMABUF);
}

/* Taints when the program can reach bytes that the recorder cannot read. */
static void doubt_protection(const struct drm_map *m)
{
    if (m->is_followed && (m->prot & (PROT_READ | PROT_WRITE)) == PROT_WRITE)
        tsm_session_unmodelled("a mapping of a GPU file that can be written but not read", true);
}

static void track(const struct drm_map *m)
{
    if (!m->tracked || tsm_session_settings()->drm == TSM_DRM_CALLS)
        return;
    if (m->is_alias)
        tsm_hostmem_track_alias(m->start, m->end - m->start);
    else
        tsm_hostmem_track(m->start, m->end - m->start);
    /* Nobody has written the present bytes through this mapping: a replay compares them. */
    if (!m->is_user)
        tsm_hostmem_publish_range(m->start);
}

static bool is_private(struct drm_file file, int flags)
{
    return (flags & MAP_TYPE) == MAP_PRIVATE &&
           (file.node == DRM_NODE_DRM || file.node == DRM_NODE_DMABUF);
}

/* Other threads may hash it from now on. */
static void set_told(const struct drm_map *m)
{
    drm_enter(&lock);
    for (uint32_t i = 0; i < map_count; i++)
        if (maps[i].start == m->start && maps[i].end == m->end)
            maps[i].is_told = true;
    drm_leave(&lock);
}

static void write_map(int fd, const struct drm_map *m)
{
    struct tsm_call call;

    if (!drm_begin(&call, DRM_RECORD_MAP))
        return;
    tsm_call_returned(&call, 0, false);
    tsm_call_slot(&call, (uint64_t)fd);
    tsm_call_slot(&call, m->file);
    tsm_call_slot(&call, m->start);
    tsm_call_slot(&call, m->end - m->start);
    tsm_call_slot(&call, m->offset);
    tsm_call_slot(&call, (unsigned)m->prot);
    tsm_call_slot(&call, (unsigned)m->flags);
    tsm_call_slot(&call, m->object);
    tsm_call_commit(&call);
    track(m);
    set_told(m);
}

/* Writes the hash of a mapping's present content, with which a replay is compared. */
static void write_checksum(const struct drm_map *m)
{
    uint64_t size = m->end - m->start;
    struct sbt_key key;
    struct tsm_call call;

    /* Nobody told us of a free() of the program's: is it still there? */
    if (m->is_user &&
        msync((void *)(m->start & ~4095ull), m->end - (m->start & ~4095ull), MS_ASYNC)) {
        if (errno != ENOMEM)
            tsm_session_unmodelled("memory of the program that could not be looked at", true);
        return;
    }
    if (!m->tracked || drm_map_is_busy(m) ||
        !tsm_call_begin(&call, SBT_TYPE(SBT_API_CORE, SBT_CORE_CHECKSUM)))
        return;
    key = tsm_hash_key((const void *)m->start, size);
    tsm_call_returned(&call, 0, false);
    tsm_call_slot(&call, SBT_STREAM_NONE);
    tsm_call_slot(&call, 0);
    tsm_call_slot(&call, m->start);
    tsm_call_slot(&call, size);
    tsm_call_bytes(&call, &key, sizeof(key));
    tsm_call_commit(&call);
}

static bool has_contents(void)
{
    const struct tsm_settings *settings = tsm_session_settings();

    return settings->drm != TSM_DRM_CALLS && atomic_load_explicit(&highest, memory_order_relaxed);
}

void drm_maps_publish(void)
{
    if (has_contents())
        tsm_hostmem_publish();
}

static void begin_reading(void)
{
    own_reads++;
    atomic_fetch_add(&reader_count, 1);
}

static void end_reading(void)
{
    atomic_fetch_sub(&reader_count, 1);
    own_reads--;
}

/* Waits until no other thread reads a mapping that was taken out of the list, or closed, before.
 * Readers that do not come back were another process', in which this one was made past libc. */
static void wait_for_readers(void)
{
    for (uint32_t i = 0; i < YIELDS_MAX && atomic_load(&reader_count) > own_reads; i++)
        drm_libc_syscall(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
}

void drm_maps_waited(void)
{
    if (!has_contents())
        return;
    tsm_hostmem_publish();
    if (tsm_session_settings()->checksum == TSM_CHECKSUM_OFF)
        return;
    begin_reading();
    for (uint32_t i = 0;; i++) {
        struct drm_map m;
        bool there;
        drm_enter(&lock);
        there = i < map_count;
        if (there)
            m = maps[i];
        drm_leave(&lock);
        if (!there)
            break;
        if (m.is_told)
            write_checksum(&m);
    }
    end_reading();
}

void drm_mapped(int fd, struct drm_file file, const void *address, size_t size, int prot, int flags,
                uint64_t offset)
{
    struct drm_map m = {.start = (uintptr_t)address,
                        .end = (uintptr_t)address + size,
                        .file = file.id,
                        .offset = offset,
                        .prot = prot,
                        .flags = flags,
                        .is_followed = is_shared(file, flags),
                        .is_alias = file.node == DRM_NODE_DMABUF};
    int saved_errno = errno;
    bool kept;

    if (tsm_inside())
        return;
    m.tracked = m.is_followed && (prot & PROT_READ);
    if (!atomic_exchange(&has_mapped, true))
        tsm_session_metadata(DRM_MAPPED_FACT, "1");
    if (!file.told)
        drm_file_tell(fd, file, DRM_HOW_FOUND);
    drm_enter(&lock);
    m.object = offset_place(file.id, offset)->object;
    kept = keep(&m);
    drm_leave(&lock);
    if (kept)
        write_map(fd, &m);
    else
        tsm_session_unmodelled("more than 1024 mappings of GPU files", true);
    if (is_private(file, flags))
        tsm_session_unmodelled("a private mapping of a GPU file", true);
    doubt_protection(&m);
    errno = saved_errno;
}

/* The last look at a mapping, which is not in the list any more. */
static void finish_map(const struct drm_map *m)
{
    wait_for_readers();
    if (!m->tracked || !has_contents())
        return;
    tsm_hostmem_publish();
    tsm_hostmem_untrack(m->start);
    write_checksum(m);
}

static void write_unmap(const struct drm_map *m)
{
    struct tsm_call call;

    finish_map(m);
    if (!drm_begin(&call, DRM_RECORD_UNMAP))
        return;
    tsm_call_returned(&call, 0, false);
    tsm_call_slot(&call, m->start);
    tsm_call_slot(&call, m->end - m->start);
    tsm_call_commit(&call);
}

static void remove_map(uint32_t i)
{
    atomic_fetch_sub(&user_count, maps[i].is_user);
    maps[i] = maps[--map_count];
}

/* Take a mapping that overlaps out of the list. */
static bool take(uintptr_t start, uintptr_t end, struct drm_map *out)
{
    bool found = false;

    drm_enter(&lock);
    for (uint32_t i = 0; i < map_count && !found; i++) {
        if (maps[i].start >= end || maps[i].end <= start)
            continue;
        *out = maps[i];
        remove_map(i);
        found = true;
    }
    drm_leave(&lock);
    return found;
}

static bool may_hold(uintptr_t start, uintptr_t end)
{
    return start < atomic_load_explicit(&highest, memory_order_relaxed) &&
           end > atomic_load_explicit(&lowest, memory_order_relaxed);
}

static uintptr_t page_end(uintptr_t end)
{
    return (end + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
}

static bool is_within(const struct drm_map *m, uintptr_t start, uintptr_t end)
{
    return m->start >= start && m->end <= end;
}

/* ---- memory that is shared otherwise
 * -------------------------------------------------------------
 */

bool drm_has_user_memory(void)
{
    return atomic_load_explicit(&user_count, memory_order_relaxed);
}

/* Is it all of something that is followed, or nothing of it? A part would be two memories in a
 * replay. */
static bool is_whole(const struct drm_map *m)
{
    bool whole = true;

    drm_enter(&lock);
    for (uint32_t i = 0; i < map_count && whole; i++)
        whole = maps[i].end <= m->start || maps[i].start >= m->end;
    drm_leave(&lock);
    return whole;
}

void drm_shared(struct drm_file file, uint32_t object, struct drm_shared memory, bool is_user)
{
    struct drm_map m = {.start = memory.address,
                        .end = memory.address + memory.size,
                        .file = file.id,
                        .object = object,
                        .prot = PROT_READ | PROT_WRITE,
                        .flags = MAP_SHARED,
                        .is_followed = true,
                        .tracked = true,
                        .is_user = is_user,
                        .is_told = true};
    bool kept;

    if (!memory.size || m.end < m.start)
        return;
    if (!is_whole(&m))
        tsm_session_unmodelled("memory that was given to a GPU twice", true);
    drm_enter(&lock);
    kept = keep(&m);
    drm_leave(&lock);
    if (!kept)
        tsm_session_unmodelled("more than 1024 mappings of GPU files", true);
    else
        track(&m);
}

void drm_object_closing(uint32_t file, uint32_t object)
{
    struct drm_map m;
    bool found;

    do {
        found = false;
        drm_enter(&lock);
        for (uint32_t i = 0; i < map_count && !found; i++) {
            found = maps[i].is_user && maps[i].file == file && maps[i].object == object;
            if (found) {
                m = maps[i];
                remove_map(i);
            }
        }
        drm_leave(&lock);
        if (found)
            write_unmap(&m);
    } while (found);
}

/* ---- unmapped, moved, protected ----------------------------------------------------------- */

/* For the case that the call fails. What does not fit is followed no more. */
static void note_taken(struct drm_taken *taken, const struct drm_map *m)
{
    if (taken->count < DRM_TAKEN_MAX)
        taken->list[taken->count] = *m;
    taken->count++;
}

/* Stops following a mapping of which a part is unmapped; its rest stays mapped. */
void drm_unmapping(struct drm_taken *taken, const void *address, size_t size)
{
    uintptr_t start = (uintptr_t)address, end = page_end(start + size);
    int saved_errno = errno;
    struct drm_map m;

    taken->count = 0;
    if (!may_hold(start, end) || tsm_inside() || start % PAGE || !size)
        return;
    while (take(start, end, &m)) {
        write_unmap(&m);
        note_taken(taken, &m);
        if (m.is_followed && !is_within(&m, start, end))
            tsm_session_unmodelled("part of a mapping of a GPU file was unmapped", true);
    }
    errno = saved_errno;
}

/* A mapping at another place, or again where it was. Replay has a descriptor of the file of its
 * own. */
static void map_again(const struct drm_map *m)
{
    struct drm_map again = *m;
    bool kept;

    again.is_told = false;
    drm_enter(&lock);
    kept = keep(&again);
    drm_leave(&lock);
    if (!kept || m->is_user)
        tsm_session_unmodelled("memory of a GPU that cannot be followed any more", true);
    else
        write_map(-1, m);
}

void drm_unmap_failed(const struct drm_taken *taken)
{
    int saved_errno = errno;

    if (taken->count > DRM_TAKEN_MAX)
        tsm_session_unmodelled("memory of a GPU that cannot be followed any more", true);
    for (uint32_t i = 0; i < taken->count && i < DRM_TAKEN_MAX; i++)
        map_again(&taken->list[i]);
    errno = saved_errno;
}

static bool find_holding(uintptr_t address, struct drm_map *out)
{
    bool found = false;

    drm_enter(&lock);
    for (uint32_t i = 0; i < map_count && !found; i++) {
        found = maps[i].start <= address && address < maps[i].end;
        if (found)
            *out = maps[i];
    }
    drm_leave(&lock);
    return found;
}

/* The old mapping stays when nothing of it is said to move (a size of 0), or by request. */
static bool stays(size_t size, int flags)
{
    return !size || flags & MREMAP_DONTUNMAP;
}

void drm_moving(struct drm_moving *moving, const void *from, size_t size, size_t to, int flags,
                const void *target)
{
    uintptr_t start = (uintptr_t)from;
    struct drm_taken *old = &moving->old;
    struct drm_map m;

    moving->is_one = false;
    moving->target.count = 0;
    old->count = 0;
    if (flags & MREMAP_FIXED)
        drm_unmapping(&moving->target, target, to);
    if (!may_hold(start, start + (size ? size : 1)) || tsm_inside() || start % PAGE || !to)
        return;
    if (stays(size, flags)) {
        moving->is_one = find_holding(start, &m);
        m.offset += moving->is_one ? start - m.start : 0;
    } else {
        drm_unmapping(old, from, size);
        m = old->list[0];
        moving->is_one = old->count == 1 && is_within(&m, start, page_end(start + size));
    }
    if (moving->is_one)
        moving->map = m;
}

void drm_moved(const struct drm_moving *moving, const void *to, size_t size)
{
    struct drm_map m = moving->map;
    int saved_errno = errno;

    if (to == MAP_FAILED) {
        drm_unmap_failed(&moving->target);
        drm_unmap_failed(&moving->old);
    }
    if (to == MAP_FAILED || !moving->is_one)
        return;
    m.start = (uintptr_t)to;
    m.end = m.start + size;
    map_again(&m);
    errno = saved_errno;
}

/* Notes the new rights of a mapping within [start, end) that had others; *out: as it was. */
static bool next_protected(uintptr_t start, uintptr_t end, int prot, struct drm_map *out)
{
    bool found = false;

    drm_enter(&lock);
    for (uint32_t i = 0; i < map_count && !found; i++) {
        found = is_within(&maps[i], start, end) && maps[i].prot != prot;
        if (!found)
            continue;
        *out = maps[i];
        maps[i].prot = prot;
        maps[i].tracked = maps[i].is_followed && (prot & PROT_READ);
    }
    drm_leave(&lock);
    return found;
}

/* A mapping of which only a part gets other rights is followed no more. */
static void take_parts(uintptr_t start, uintptr_t end, int prot)
{
    struct drm_map m;

    for (bool found = true; found;) {
        found = false;
        drm_enter(&lock);
        for (uint32_t i = 0; i < map_count && !found; i++) {
            m = maps[i];
            found = m.start < end && m.end > start && m.prot != prot && !is_within(&m, start, end);
            if (found)
                remove_map(i);
        }
        drm_leave(&lock);
        if (!found)
            break;
        write_unmap(&m);
        if (m.is_followed)
            tsm_session_unmodelled("part of a mapping of a GPU file was protected", true);
    }
}

void drm_protecting(struct drm_taken *taken, const void *address, size_t size, int prot)
{
    uintptr_t start = (uintptr_t)address, end = page_end(start + size);
    int saved_errno = errno, rights = prot & (PROT_READ | PROT_WRITE | PROT_EXEC);
    struct drm_map m;

    taken->count = 0;
    if (!may_hold(start, end) || tsm_inside() || start % PAGE || !size)
        return;
    take_parts(start, end, rights);
    while (next_protected(start, end, rights, &m)) {
        note_taken(taken, &m);
        if (!(rights & PROT_READ))
            finish_map(&m);
    }
    errno = saved_errno;
}

/* Sets the rights that the mapping had before a call that failed; but the call may have come as far
 * as this mapping. */
static void protect_back(struct drm_map *was)
{
    uint8_t byte;

    if (was->tracked && !tsm_memory_read(&byte, was->start, 1)) {
        was->prot = PROT_NONE;
        tsm_session_unmodelled("a mapping of a GPU file whose protection is not known", true);
    }
    drm_enter(&lock);
    for (uint32_t i = 0; i < map_count; i++) {
        if (maps[i].start != was->start || maps[i].end != was->end)
            continue;
        maps[i].prot = was->prot;
        maps[i].tracked = was->is_followed && (was->prot & PROT_READ);
    }
    drm_leave(&lock);
}

void drm_protected(const struct drm_taken *taken, int prot, bool succeeded)
{
    int saved_errno = errno;

    for (uint32_t i = 0; i < taken->count && i < DRM_TAKEN_MAX; i++) {
        struct drm_map m = taken->list[i];
        bool was_tracked = m.tracked;
        if (succeeded)
            m.prot = prot;
        else
            protect_back(&m);
        m.tracked = m.is_followed && (m.prot & PROT_READ);
        if (m.tracked && (!was_tracked || !(prot & PROT_READ)))
            track(&m);
        doubt_protection(&m);
    }
    if (taken->count > DRM_TAKEN_MAX)
        tsm_session_unmodelled("too many mappings of GPU files were protected at once", true);
    errno = saved_errno;
}
