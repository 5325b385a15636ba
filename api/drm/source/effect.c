/* SPDX-License-Identifier: Apache-2.0
 *
 * Follows the effects of an ioctl on the source's state: files that it gives, objects that it
 * frees, offsets to map at, memory that program and device share from now on, and what cannot be
 * followed.
 */
#include "api/drm/source/run.h"

#include "api/drm/source/notice.h"
#include "api/drm/version.h"
#include "capture/lock.h"

#include <stdatomic.h>
#include <string.h>

static _Atomic uint64_t unknown_extensions;

uint64_t drm_unknown_extension_count(void)
{
    return atomic_load(&unknown_extensions);
}

static enum drm_node node_named(const char *object)
{
    if (strcmp(object, "dmabuf") == 0)
        return DRM_NODE_DMABUF;
    return strcmp(object, "sync_file") == 0 ? DRM_NODE_SYNC_FILE : DRM_NODE_NONE;
}

/* Notes a descriptor that the kernel gave. */
static void note_file(int fd, enum drm_node node)
{
    drm_file_created(fd, node);
    if (fd >= 0 && node == DRM_NODE_SYNC_FILE)
        drm_notice_sync_file_created();
}

/* Returns the kind of the descriptor that a call on a syncobj gives: a sync file with the first
 * flag. */
static enum drm_node node_given(const struct drm_run *r, const char *object)
{
    const uint32_t *syncobj = r->argument; /* struct drm_syncobj_handle: handle, flags, fd */

    if (strcmp(object, "syncobj") == 0 && r->size >= 12)
        return syncobj[1] & 1 ? DRM_NODE_SYNC_FILE : DRM_NODE_NONE;
    return node_named(object);
}

/* Tests whether the number is a descriptor that the call has given. The first three stand there as
 * well where there is none, unless the call has changed them. */
static bool is_given(const struct drm_run *r, const struct drm_member *m, int fd)
{
    int before = fd;

    if (fd <= 2 && r->before)
        memcpy(&before, r->before + m->offset, sizeof(before));
    return fd > 2 || (fd >= 0 && before != fd);
}

/* Descriptors that the kernel gave. */
static void note_files(const struct drm_run *r, const struct drm_struct *type)
{
    for (uint32_t i = 0; i < type->count; i++) {
        const struct drm_member *m = &drm_members[type->first + i];
        const uint8_t *at = (const uint8_t *)r->argument + m->offset;
        int fd;
        if (m->kind != DRM_KIND_FD || m->form != DRM_FORM_ONE || m->offset + 4u > r->size)
            continue;
        memcpy(&fd, at, sizeof(fd));
        if (is_given(r, m, fd) && drm_file_known(fd).node == DRM_NODE_NONE &&
            node_given(r, drm_text + drm_objects[m->type]))
            note_file(fd, node_given(r, drm_text + drm_objects[m->type]));
    }
}

static uint64_t load_place(const uint8_t *bytes, size_t size, struct drm_place place)
{
    return bytes && place.size && place.offset + (size_t)place.size <= size
               ? drm_load(bytes + place.offset, place.size)
               : 0;
}

/* The object that the call has made. */
static uint32_t made_object(const struct drm_run *r)
{
    const struct drm_struct *out = r->row->out ? &drm_structs[r->row->out - 1] : NULL;

    for (uint32_t i = 0; out && i < out->count; i++) {
        const struct drm_member *m = &drm_members[out->first + i];
        if (m->kind == DRM_KIND_HANDLE && m->flags & DRM_MEMBER_NEW && m->form == DRM_FORM_ONE)
            return (uint32_t)load_place(r->argument, r->size,
                                        (struct drm_place){m->offset, m->size});
    }
    return 0;
}

void drm_run_shared(struct drm_encoder *e, uint64_t address, uint64_t size)
{
    struct drm_run *r = e->user;

    if (!r->shared && !r->shared_count)
        r->shared = tsm_call_scratch(r->call, DRM_SHARED_MAX * sizeof(*r->shared));
    if (r->shared && r->shared_count < DRM_SHARED_MAX)
        r->shared[r->shared_count] = (struct drm_shared){address, size};
    r->shared_count++;
}

/* Memory that program and device share from now on. */
static void note_memory(const struct drm_run *r)
{
    const struct drm_ioctl *row = r->row;

    for (uint32_t i = 0; r->shared && i < r->shared_count && i < DRM_SHARED_MAX; i++)
        drm_shared(r->file, made_object(r), r->shared[i], true);
    if (r->shared_count > (r->shared ? DRM_SHARED_MAX : 0))
        tsm_session_unmodelled("more than 16 ranges of memory in one ioctl", true);
    if (row->maps_size.size)
        drm_shared(r->file, (uint32_t)load_place(r->argument, r->size, row->maps_handle),
                   (struct drm_shared){load_place(r->argument, r->size, row->maps_address),
                                       load_place(r->argument, r->size, row->maps_size)},
                   false);
}

static void note_returned(const struct drm_run *r)
{
    note_file((int)r->result, (enum drm_node)r->row->returns);
    if (r->file.node == DRM_NODE_UDMABUF)
        drm_view((int)r->result);
}

static void note_import(const struct drm_run *r)
{
    const struct drm_prime *prime = r->argument;

    drm_view_imported(drm_file_known(prime->fd).id, r->file.id, prime->handle);
}

/* Notes the sync file that a submit returns. */
static void note_fence(const struct drm_run *r)
{
    const struct drm_struct *type = &drm_structs[r->row->into - 1];

    if (r->size >= type->size && drm_fences_of(r->row, r->argument) & DRM_FENCE_OUT)
        note_file((int)(drm_member_get(r->argument, type, "rsvd2") >> 32), DRM_NODE_SYNC_FILE);
}

void drm_run_effects(const struct drm_run *r)
{
    const struct drm_ioctl *row = r->row;
    const uint8_t *from = row->flags & DRM_IOCTL_MAP_OUT ? r->argument : r->before;

    if (row->flags & DRM_IOCTL_UNFOLLOWED)
        tsm_session_unmodelled(drm_text + row->name, true);
    if (r->unknown_count) {
        atomic_fetch_add_explicit(&unknown_extensions, r->unknown_count, memory_order_relaxed);
        tsm_session_unmodelled("an extension of an ioctl's argument that is not known", true);
    }
    if (row->map_offset.size)
        drm_map_offset(r->file.id, load_place(r->argument, r->size, row->map_offset),
                       (uint32_t)load_place(from, r->size, row->map_handle));
    if (r->shared_count || row->maps_size.size)
        note_memory(r);
    if (row->returns != DRM_NODE_NONE)
        note_returned(r);
    if (r->request == DRM_PRIME_FD_TO_HANDLE && drm_has_views())
        note_import(r);
    if (row->kind == SBT_KIND_COMMAND && row->into && row->out)
        note_fence(r);
    if (row->flags & DRM_IOCTL_GIVES_FD)
        note_files(r, &drm_structs[row->out - 1]);
}

/* The object goes, and with it what the device knows of the program's memory. That has records of
 * its own, so before the call's. */
void drm_run_closing(const struct drm_run *r)
{
    uint32_t object;

    if ((!drm_has_user_memory() && !drm_has_views()) ||
        !tsm_memory_read(&object, (uintptr_t)r->argument + r->row->gone.offset, sizeof(object)))
        return;
    drm_object_closing(r->file.id, object);
    drm_view_object_closing(r->file.id, object);
}
