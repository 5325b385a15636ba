/* SPDX-License-Identifier: Apache-2.0 */
#include "api/vulkan/tables/describe.h"

#include "api/vulkan/tables/field.h"
#include "api/vulkan/vulkan_ids.h"

#define ITEMS "items" /* the member of a list */

/* Without content in the file: written by vulkan_describe(). */
static struct sbt_struct structs[VK_STRUCT_COUNT + VK_LIST_COUNT];
static struct sbt_member members[VK_MEMBER_COUNT + VK_LIST_COUNT];
static struct sbt_schema schemas[VK_COMMAND_COUNT];
static struct sbt_field fields[VK_ARGUMENT_COUNT];
static struct tsm_call_description calls[VK_COMMAND_COUNT];
static struct sbt_enum enums[VK_ENUM_COUNT];
static struct sbt_enum_value values[VK_VALUE_COUNT];

struct tsm_api_description vulkan_description = {
    .api = SBT_API_VULKAN,
    .name = "vulkan",
    .fill = vulkan_describe,
    .calls = calls,
    .enums = enums,
    .structs = structs,
};

static uint8_t struct_used[VK_STRUCT_COUNT + VK_LIST_COUNT];
static uint32_t struct_changes;

void vk_struct_use(uint32_t place)
{
    if (__atomic_load_n(&struct_used[place], __ATOMIC_RELAXED))
        return;
    __atomic_store_n(&struct_used[place], 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&struct_changes, 1, __ATOMIC_RELEASE);
}

/* ---- values -------------------------------------------------------------------------------------
 */

static enum sbt_field_type type_of(const struct vk_member *m)
{
    static const uint8_t types[] = {
        [VK_KIND_U8] = SBT_FIELD_UINT,         [VK_KIND_U16] = SBT_FIELD_UINT,
        [VK_KIND_U32] = SBT_FIELD_UINT,        [VK_KIND_U64] = SBT_FIELD_UINT,
        [VK_KIND_I8] = SBT_FIELD_INT,          [VK_KIND_I16] = SBT_FIELD_INT,
        [VK_KIND_I32] = SBT_FIELD_INT,         [VK_KIND_I64] = SBT_FIELD_INT,
        [VK_KIND_F32] = SBT_FIELD_F32,         [VK_KIND_F64] = SBT_FIELD_F64,
        [VK_KIND_HEX32] = SBT_FIELD_HEX,       [VK_KIND_HEX64] = SBT_FIELD_HEX,
        [VK_KIND_SIZE] = SBT_FIELD_SIZE,       [VK_KIND_BOOL] = SBT_FIELD_BOOL,
        [VK_KIND_ENUM] = SBT_FIELD_ENUM,       [VK_KIND_FLAGS32] = SBT_FIELD_FLAGS,
        [VK_KIND_FLAGS64] = SBT_FIELD_FLAGS,   [VK_KIND_HANDLE] = SBT_FIELD_HANDLE,
        [VK_KIND_OBJECT] = SBT_FIELD_HANDLE,   [VK_KIND_ADDRESS] = SBT_FIELD_DEVPTR,
        [VK_KIND_POINTER] = SBT_FIELD_HOSTPTR, [VK_KIND_FUNCTION] = SBT_FIELD_HOSTPTR,
        [VK_KIND_BITS] = SBT_FIELD_UINT,       [VK_KIND_CHAR] = SBT_FIELD_STRING,
        [VK_KIND_BYTE] = SBT_FIELD_BYTES,      [VK_KIND_STRUCT] = SBT_FIELD_STRUCT,
        [VK_KIND_CHAIN] = SBT_FIELD_STRUCT,
    };

    return (enum sbt_field_type)types[m->kind];
}

static const char *detail_of(const struct vk_member *m)
{
    switch (m->kind) {
    case VK_KIND_ENUM:
    case VK_KIND_FLAGS32:
    case VK_KIND_FLAGS64:
        return vk_name(vk_enums[m->type].name);
    case VK_KIND_HANDLE:
        return vk_name(vk_objects[m->type]);
    case VK_KIND_OBJECT:
        return "object";
    case VK_KIND_STRUCT:
        return vk_name(vk_structs[m->type].name);
    default:
        return m->flags & VK_MEMBER_FD ? SBT_DETAIL_FD : "";
    }
}

/* Texts and bytes are one value, and so is a pointer to one thing in a union or struct: a list of
 * it. */
static enum sbt_form form_of(const struct vk_member *m)
{
    if (m->kind == VK_KIND_CHAIN)
        return SBT_FORM_CHAIN;
    if (m->form == VK_FORM_ONE)
        return SBT_FORM_ONE;
    if ((m->kind == VK_KIND_CHAR || m->kind == VK_KIND_BYTE) && m->form <= VK_FORM_POINTER)
        return SBT_FORM_ONE;
    return SBT_FORM_LIST;
}

static struct sbt_member member_of(const struct vk_member *m)
{
    return (struct sbt_member){vk_name(m->name), type_of(m), form_of(m), detail_of(m)};
}

/* ---- structs ------------------------------------------------------------------------------------
 */

static size_t describe_struct(struct sbt_struct *out, const struct vk_struct *type, size_t used)
{
    size_t first = used;

    for (uint32_t i = 0; i < type->member_count; i++) {
        const struct vk_member *m = &vk_members[type->first + i];
        /* A union's members are found by their places: none may be missing. */
        if (!(m->flags & VK_MEMBER_OMIT) || (type->flags & VK_STRUCT_UNION))
            members[used++] = member_of(m);
    }
    *out = (struct sbt_struct){
        .id = SBT_TYPE(SBT_API_VULKAN, type->id),
        .flags = type->flags & VK_STRUCT_UNION ? SBT_STRUCT_UNION : 0,
        .name = vk_name(type->name),
        .member_count = (uint32_t)(used - first),
        .members = &members[first],
    };
    return used;
}

/* "X[]" is a list of X, "X[][]" one of X[]. */
static const char *inner_list(const char *name)
{
    size_t length = strlen(name);

    if (length < 4 || strcmp(name + length - 4, "[][]") != 0)
        return NULL;
    for (uint32_t i = 0; i < vk_list_count; i++) {
        const char *other = vk_name(vk_lists[i].name);
        if (strlen(other) == length - 2 && memcmp(other, name, length - 2) == 0)
            return other;
    }
    return NULL;
}

static size_t describe_list(struct sbt_struct *out, const struct vk_list *list, size_t used)
{
    const struct vk_member *m = &vk_arguments[list->argument];
    const char *inner = inner_list(vk_name(list->name));

    members[used] = (struct sbt_member){ITEMS, inner ? SBT_FIELD_STRUCT : type_of(m), SBT_FORM_LIST,
                                        inner ? inner : detail_of(m)};
    *out = (struct sbt_struct){
        .id = SBT_TYPE(SBT_API_VULKAN, list->id),
        .name = vk_name(list->name),
        .member_count = 1,
        .members = &members[used],
    };
    return used + 1;
}

static void describe_structs(void)
{
    size_t used = 0;

    for (uint32_t i = 0; i < vk_struct_count; i++)
        used = describe_struct(&structs[i], &vk_structs[i], used);
    for (uint32_t i = 0; i < vk_list_count; i++)
        used = describe_list(&structs[vk_struct_count + i], &vk_lists[i], used);
}

/* ---- commands -----------------------------------------------------------------------------------
 */

static struct sbt_field field_of(const struct vk_member *m)
{
    struct sbt_field field = {vk_name(m->name), type_of(m), (enum sbt_role)m->role, detail_of(m)};

    if (m->kind == VK_KIND_BYTE && (m->flags & VK_MEMBER_OUT))
        field.type = SBT_FIELD_BLOB;
    if (vk_field_of(m) == VK_FIELD_STRUCT) {
        field.type = SBT_FIELD_STRUCT;
        field.detail = m->list ? vk_name(vk_lists[m->list - 1].name) : detail_of(m);
    }
    return field;
}

/* Commands that are aliases have the same arguments. */
static void describe_command(struct sbt_schema *out, const struct vk_command *command)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < command->argument_count; i++) {
        const struct vk_member *m = &vk_arguments[command->first + i];
        if (vk_field_of(m) != VK_FIELD_NONE)
            fields[command->first + count++] = field_of(m);
    }
    *out = (struct sbt_schema){
        .type = SBT_TYPE(SBT_API_VULKAN, command->id),
        .name = vk_name(command->name),
        .kind = (enum sbt_kind)command->kind,
        .flags = command->schema_flags,
        .result_enum = command->schema_flags & SBT_SCHEMA_RESULT_ENUM ? "VkResult" : "",
        .field_count = count,
        .fields = &fields[command->first],
    };
}

static void describe_commands(void)
{
    for (uint32_t i = 0; i < vk_command_count; i++) {
        describe_command(&schemas[i], &vk_commands[i]);
        calls[i] =
            (struct tsm_call_description){&schemas[i], (enum tsm_call_status)vk_commands[i].status,
                                          vk_name(vk_commands[i].family)};
    }
}

/* ---- names of values
 * ------------------------------------------------------------------------------ */

static void describe_enums(void)
{
    for (uint32_t i = 0; i < VK_VALUE_COUNT; i++)
        values[i] = (struct sbt_enum_value){vk_name(vk_values[i].name), vk_values[i].value};
    for (uint32_t i = 0; i < vk_enum_count; i++)
        enums[i] = (struct sbt_enum){vk_name(vk_enums[i].name), vk_enums[i].count,
                                     &values[vk_enums[i].first]};
}

void vulkan_describe(void)
{
    if (vulkan_description.call_count)
        return;
    vulkan_description.used = struct_used;
    vulkan_description.used_changes = &struct_changes;
    describe_structs();
    describe_commands();
    describe_enums();
    vulkan_description.enum_count = VK_ENUM_COUNT;
    vulkan_description.struct_count = VK_STRUCT_COUNT + VK_LIST_COUNT;
    vulkan_description.call_count = VK_COMMAND_COUNT;
}
