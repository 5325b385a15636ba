/* SPDX-License-Identifier: Apache-2.0
 *
 * Field of a command's argument in its record: the one place where recording, describing and
 * decoding must agree.
 *
 *   NONE     not recorded (pAllocator, what vulkan.api omits)
 *   SLOT     a number or handle, or what a pointer to one number or handle leads to
 *   DATA     STRING; BYTES; what the implementation wrote: BLOB
 *   STRUCT   a pointer to one struct: that struct; a pointer to several values: a list of them
 */
#ifndef API_VULKAN_TABLES_FIELD_H
#define API_VULKAN_TABLES_FIELD_H

#include "api/vulkan/tables/tables.h"

enum vk_field {
    VK_FIELD_NONE,
    VK_FIELD_SLOT,
    VK_FIELD_DATA,
    VK_FIELD_STRUCT,
};

static inline enum vk_field vk_field_of(const struct vk_member *m)
{
    if (m->flags & VK_MEMBER_OMIT)
        return VK_FIELD_NONE;
    if (m->form == VK_FORM_ONE)
        return VK_FIELD_SLOT;
    if (m->list || m->kind == VK_KIND_STRUCT)
        return VK_FIELD_STRUCT;
    if (m->kind == VK_KIND_CHAR || m->kind == VK_KIND_BYTE)
        return VK_FIELD_DATA;
    return VK_FIELD_SLOT;
}

#endif
