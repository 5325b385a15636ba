/* SPDX-License-Identifier: Apache-2.0 */
#include "api/vulkan/tables/tables.h"

#include "base/array.h"

const struct vk_struct *vk_struct_of(int32_t stype)
{
    size_t at;

    TSM_BISECT(at, vk_stype_count, vk_stypes[at].stype >= stype);
    if (at == vk_stype_count || vk_stypes[at].stype != stype)
        return NULL;
    return &vk_structs[vk_stypes[at].place];
}

const struct vk_struct *vk_struct_numbered(uint32_t id)
{
    size_t at;

    TSM_BISECT(at, vk_struct_count, vk_struct_ids[at].id >= id);
    if (at == vk_struct_count || vk_struct_ids[at].id != id)
        return NULL;
    return &vk_structs[vk_struct_ids[at].place];
}

const struct vk_struct *vk_struct_named(const char *name)
{
    for (uint32_t i = 0; i < vk_struct_count; i++)
        if (strcmp(vk_name(vk_structs[i].name), name) == 0)
            return &vk_structs[i];
    return NULL;
}

const struct vk_command *vk_command_of(uint32_t id)
{
    size_t at;

    /* Numbers have few gaps. */
    if (id - 1 < vk_command_count && vk_commands[id - 1].id == id)
        return &vk_commands[id - 1];
    TSM_BISECT(at, vk_command_count, vk_commands[at].id >= id);
    return at < vk_command_count && vk_commands[at].id == id ? &vk_commands[at] : NULL;
}

size_t vk_value_size(const struct vk_member *member)
{
    static const uint8_t sizes[] = {
        [VK_KIND_U8] = 1,      [VK_KIND_U16] = 2,      [VK_KIND_U32] = 4,    [VK_KIND_U64] = 8,
        [VK_KIND_I8] = 1,      [VK_KIND_I16] = 2,      [VK_KIND_I32] = 4,    [VK_KIND_I64] = 8,
        [VK_KIND_F32] = 4,     [VK_KIND_F64] = 8,      [VK_KIND_HEX32] = 4,  [VK_KIND_HEX64] = 8,
        [VK_KIND_SIZE] = 8,    [VK_KIND_BOOL] = 4,     [VK_KIND_ENUM] = 4,   [VK_KIND_FLAGS32] = 4,
        [VK_KIND_FLAGS64] = 8, [VK_KIND_HANDLE] = 8,   [VK_KIND_OBJECT] = 8, [VK_KIND_ADDRESS] = 8,
        [VK_KIND_POINTER] = 8, [VK_KIND_FUNCTION] = 8, [VK_KIND_BITS] = 4,   [VK_KIND_CHAR] = 1,
        [VK_KIND_BYTE] = 1,    [VK_KIND_STRUCT] = 0,   [VK_KIND_CHAIN] = 8,
    };

    return member->kind == VK_KIND_STRUCT ? vk_structs[member->type].size : sizes[member->kind];
}

uint64_t vk_sibling(const struct vk_member *siblings, uint16_t place, const void *memory)
{
    const struct vk_member *m = &siblings[place];
    const char *at = (const char *)memory + m->offset;
    size_t size = vk_value_size(m);
    uint64_t value;

    if (m->form == VK_FORM_POINTER) {
        at = *(const char *const *)at;
        if (!at)
            return 0;
    }
    value = vk_load(at, size);
    if (m->kind == VK_KIND_ENUM || m->kind == VK_KIND_I32)
        return (uint64_t)(int64_t)(int32_t)value;
    return value;
}

uint64_t vk_member_count(const struct vk_member *member, const struct vk_member *siblings,
                         const void *memory)
{
    switch (member->count_kind) {
    case VK_COUNT_FIXED:
        return member->count;
    case VK_COUNT_MEMBER:
        return vk_sibling(siblings, member->count, memory);
    case VK_COUNT_FUNCTION:
        return vk_count(member->count, memory);
    default:
        return 1;
    }
}

uint64_t vk_array_count(const struct vk_member *member, const struct vk_member *siblings,
                        const void *memory)
{
    uint64_t count =
        member->stride ? vk_sibling(siblings, member->stride - 1u, memory) : member->count;

    return count < member->count ? count : member->count;
}

uint64_t vk_step(const struct vk_member *member, const struct vk_member *siblings,
                 const void *memory)
{
    uint64_t size = vk_value_size(member), stride;

    if (!member->stride || member->form != VK_FORM_POINTER)
        return size;
    stride = vk_sibling(siblings, member->stride - 1u, memory);
    return stride > size ? stride : size;
}

uint32_t vk_choose(const struct vk_struct *type, int64_t selector)
{
    for (uint32_t i = 0; i < type->choice_count; i++)
        if (vk_choices[type->choice_first + i].value == selector)
            return vk_choices[type->choice_first + i].member + 1u;
    return type->choose;
}
