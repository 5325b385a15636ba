/* SPDX-License-Identifier: Apache-2.0
 *
 * Mappings of GPU files, and memory of the program that it gave to the device. What the program
 * writes there is host memory that the device can read: capture/host_memory.c looks at it before
 * each submit.
 */
#include "api/drm/drm_source.h"

#include "base/hash.h"
#include "capture/lock.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#define MAP_MAX    1024u
#define OFFSET_MAX 4096u

static struct mapping {
    uintptr_t start, end;
    uint32_t file, object;
    uint64_t offset;
    bool tracked;
    bool is_alias; /* the memory may be written through other mappings */
    bool is_user;  /* no mapping of ours to look after: memory of the program */
} maps[MAP_MAX];
static uint32_t map_count;
static _Atomic uint32_t user_count; /* of them is_user */
/* All of them lie in [lowest, highest): nearly every munmap of a program is outside. */
static _Atomic uintptr_t lowest = UINTPTR_MAX, highest;

/* Which object a file shows at an offset; the oldest make way. */
static struct offset {
    uint64_t offset;
    uint32_t file, object;
} offsets[OFFSET_MAX];
static uint32_t offset_count;

static struct tsm_lock lock;
static _Atomic bool inherited; /* mappings of a parent, which nobody looks after here */

void drm_maps_forked(void)
{
    lock = (struct tsm_lock){0, 0};
    if (map_count > 0)
        atomic_store(&inherited, true);
    map_count = 0;
    atomic_store(&user_count, 0);
    atomic_store(&lowest, UINTPTR_MAX);
    atomic_store(&highest, 0);
}

void drm_maps_inherited(void)
{
    if (atomic_exchange(&inherited, false))
        tsm_session_unmodelled("memory of a GPU that was mapped before a fork", true);
}

void drm_map_offset(uint32_t file, uint64_t offset, uint32_t handle)
{
    uint32_t i;

    if (!handle)
        return;
    drm_enter(&lock);
    for (i = 0; i < OFFSET_MAX && i < offset_count; i++)
        if (offsets[i].file == file && offsets[i].offset == offset)
            break;
    if (i == offset_count || i == OFFSET_MAX)
        i = offset_count++ % OFFSET_MAX;
    offsets[i] = (struct offset){offset, file, handle};
    drm_leave(&lock);
}

static uint32_t object_at(uint32_t file, uint64_t offset)
{
    for (uint32_t i = 0; i < OFFSET_MAX && i < offset_count; i++)
        if (offsets[i].file == file && offsets[i].offset == offset)
            return offsets[i].object;
    return 0;
}

/* Returns whether there is room. */
static bool keep(const struct mapping *m)
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

/* Is there something that the device may read, and that can be read here? */
static bool is_tracked(struct drm_file file, int prot, int flags)
{
    return (flags & MAP_TYPE) != MAP_PRIVATE && (prot & PROT_READ) && (prot & PROT_WRITE) &&
           (file.node == DRM_NODE_DRM || file.node == DRM_NODE_DMABUF);
}

static void write_map(int fd, const struct mapping *m, int prot, int flags)
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
    tsm_call_slot(&call, (unsigned)prot);
    tsm_call_slot(&call, (unsigned)flags);
    tsm_call_slot(&call, m->object);
    tsm_call_commit(&call);
    if (!m->tracked || tsm_session_settings()->drm == TSM_DRM_CALLS)
        return;
    if (m->is_alias)
        tsm_hostmem_track_alias(m->start, m->end - m->start);
    else
        tsm_hostmem_track(m->start, m->end - m->start);
}

/* What a mapping holds now, as a hash: what a replay is compared with. */
static void write_checksum(const struct mapping *m)
{
    uint64_t size = m->end - m->start;
    struct sbt_key key;
    struct tsm_call call;

    /* Nobody told us of a free() of the program's: is it still there? */
    if (m->is_user &&
        msync((void *)(m->start & ~4095ull), m->end - (m->start & ~4095ull), MS_ASYNC))
        return;
    if (!m->tracked || !tsm_call_begin(&call, SBT_TYPE(SBT_API_CORE, SBT_CORE_CHECKSUM)))
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

void drm_maps_waited(void)
{
    if (!has_contents())
        return;
    tsm_hostmem_publish();
    if (tsm_session_settings()->checksum == TSM_CHECKSUM_OFF)
        return;
    for (uint32_t i = 0;; i++) {
        struct mapping m;
        bool there;
        drm_enter(&lock);
        there = i < map_count;
        if (there)
            m = maps[i];
        drm_leave(&lock);
        if (!there)
            break;
        write_checksum(&m);
    }
}

void drm_mapped(int fd, struct drm_file file, const void *address, size_t size, int prot, int flags,
                uint64_t offset)
{
    struct mapping m = {.start = (uintptr_t)address,
                        .end = (uintptr_t)address + size,
                        .file = file.id,
                        .offset = offset,
                        .tracked = is_tracked(file, prot, flags),
                        .is_alias = file.node == DRM_NODE_DMABUF};
    int saved_errno = errno;
    bool kept;

    if (tsm_inside())
        return;
    if (!file.told)
        drm_file_tell(fd, file, DRM_HOW_FOUND);
    drm_enter(&lock);
    m.object = object_at(file.id, offset);
    kept = keep(&m);
    drm_leave(&lock);
    if (kept)
        write_map(fd, &m, prot, flags);
    else
        tsm_session_unmodelled("more than 1024 mappings of GPU files", true);
    errno = saved_errno;
}

static void write_unmap(const struct mapping *m)
{
    struct tsm_call call;

    if (m->tracked && has_contents()) {
        tsm_hostmem_publish();
        tsm_hostmem_untrack(m->start);
        write_checksum(m);
    }
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
static bool take(uintptr_t start, uintptr_t end, struct mapping *out)
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

/* ---- memory that is shared otherwise
 * -------------------------------------------------------------
 */

bool drm_has_user_memory(void)
{
    return atomic_load_explicit(&user_count, memory_order_relaxed);
}

/* Is it all of something that is followed, or nothing of it? A part would be two memories in a
 * replay. */
static bool is_whole(const struct mapping *m)
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
    struct mapping m = {.start = memory.address,
                        .end = memory.address + memory.size,
                        .file = file.id,
                        .object = object,
                        .tracked = true,
                        .is_user = is_user};
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
    else if (tsm_session_settings()->drm != TSM_DRM_CALLS)
        tsm_hostmem_track(m.start, memory.size);
}

void drm_object_closing(uint32_t file, uint32_t object)
{
    struct mapping m;
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

/* What is left of a mapping of which a part goes is mapped still, but followed no more. */
void drm_unmapping(const void *address, size_t size)
{
    uintptr_t start = (uintptr_t)address, end = start + size;
    int saved_errno = errno;
    struct mapping m;

    if (!may_hold(start, end) || tsm_inside())
        return;
    while (take(start, end, &m)) {
        write_unmap(&m);
        if (m.tracked && (m.start < start || m.end > end))
            tsm_session_unmodelled("part of a mapping of a GPU file was unmapped", true);
    }
    errno = saved_errno;
}

struct drm_moving drm_moving(const void *from, size_t size)
{
    uintptr_t start = (uintptr_t)from;
    int saved_errno = errno;
    struct mapping m = {0};

    if (may_hold(start, start + size) && !tsm_inside() &&
        take(start, start + (size ? size : 1), &m))
        write_unmap(&m);
    if (m.is_user)
        tsm_session_unmodelled("memory that was given to a GPU was moved", true);
    errno = saved_errno;
    return (struct drm_moving){m.end && !m.is_user, {m.file, m.object}, m.offset, m.tracked};
}

void drm_moved(const struct drm_moving *moving, const void *to, size_t size)
{
    struct mapping m = {.start = (uintptr_t)to,
                        .end = (uintptr_t)to + size,
                        .file = moving->ids[0],
                        .object = moving->ids[1],
                        .offset = moving->offset,
                        .tracked = moving->tracked};
    int saved_errno = errno;

    if (!moving->is_one)
        return;
    drm_enter(&lock);
    keep(&m);
    drm_leave(&lock);
    write_map(-1, &m, PROT_READ | PROT_WRITE, MAP_SHARED);
    errno = saved_errno;
}
