/* SPDX-License-Identifier: Apache-2.0
 *
 * Members of structs by their names, and the ioctls that wait for an object.
 */
#include "api/drm/tables.h"

#include <string.h>

/* Ioctls that wait until an object is idle, with their members; `flags` and the one that says not
 * to wait, where there is no time to say. */
static const struct {
    const char *family, *name, *object, *timeout;
} waits[] = {
    {"amdgpu", "DRM_IOCTL_AMDGPU_GEM_WAIT_IDLE", "handle", "timeout"},
    {"i915", "DRM_IOCTL_I915_GEM_WAIT", "bo_handle", "timeout_ns"},
    {"nouveau", "DRM_IOCTL_NOUVEAU_GEM_CPU_PREP", "handle", NULL},
    {"virtgpu", "DRM_IOCTL_VIRTGPU_WAIT", "handle", NULL},
};

#define NO_WAIT 1u /* of nouveau's and virtio-gpu's flags */

static const struct drm_member *member_named(const struct drm_struct *type, const char *name)
{
    for (uint32_t i = 0; name && i < type->count; i++)
        if (!strcmp(drm_text + drm_members[type->first + i].name, name))
            return &drm_members[type->first + i];
    return NULL;
}

void drm_member_set(uint8_t *memory, const struct drm_struct *type, const char *name,
                    uint64_t value)
{
    const struct drm_member *m = member_named(type, name);

    if (m)
        memcpy(memory + m->offset, &value, m->size);
}

uint64_t drm_member_get(const uint8_t *memory, const struct drm_struct *type, const char *name)
{
    const struct drm_member *m = member_named(type, name);
    bool is_address = m && m->form != DRM_FORM_ONE;

    return m ? drm_load(memory + m->offset, is_address ? 8 : m->size) : 0;
}

#define EXEC_FENCE_IN     (1u << 16) /* I915_EXEC_* */
#define EXEC_FENCE_OUT    (1u << 17)
#define EXEC_FENCE_SUBMIT (1u << 20)

uint64_t drm_fences_of(const struct drm_ioctl *row, const void *argument)
{
    const char *name = "DRM_IOCTL_I915_GEM_EXECBUFFER2";
    uint64_t flags;

    if (row->kind != SBT_KIND_COMMAND || strncmp(drm_text + row->name, name, strlen(name)))
        return 0;
    flags = drm_member_get(argument, &drm_structs[row->into - 1], "flags");
    return (flags & (EXEC_FENCE_IN | EXEC_FENCE_SUBMIT) ? DRM_FENCE_IN : 0) |
           (flags & EXEC_FENCE_OUT && row->out ? DRM_FENCE_OUT : 0);
}

static const struct drm_ioctl *ioctl_named(const struct drm_family *family, const char *name)
{
    for (uint32_t i = 0; i < family->count; i++)
        if (!strcmp(drm_text + drm_ioctls[family->first + i].name, name))
            return &drm_ioctls[family->first + i];
    return NULL;
}

const struct drm_ioctl *drm_idle_call(uint32_t family, uint32_t object, bool is_patient,
                                      uint8_t argument[DRM_IDLE_SIZE])
{
    const char *name = family < DRM_FAMILY_COUNT ? drm_text + drm_families[family].name : "";
    const struct drm_ioctl *row = NULL;
    const struct drm_struct *type;
    size_t i = 0;

    while (i < sizeof(waits) / sizeof(waits[0]) && strcmp(waits[i].family, name))
        i++;
    if (i < sizeof(waits) / sizeof(waits[0]))
        row = ioctl_named(&drm_families[family], waits[i].name);
    if (!row || !row->into || drm_structs[row->into - 1].size > DRM_IDLE_SIZE)
        return NULL;
    type = &drm_structs[row->into - 1];
    memset(argument, 0, DRM_IDLE_SIZE);
    drm_member_set(argument, type, waits[i].object, object);
    drm_member_set(argument, type, waits[i].timeout, is_patient ? (uint64_t)INT64_MAX : 0);
    if (!waits[i].timeout)
        drm_member_set(argument, type, "flags", is_patient ? 0 : NO_WAIT);
    return row;
}
