/* SPDX-License-Identifier: Apache-2.0 */
#include "api/drm/describe.h"

#include "api/drm/tables.h"

#include <errno.h>

#define SLOT_MAX   (DRM_SLOT_COMMON + 3)
#define OWN_COUNT  7u
#define CALL_COUNT (OWN_COUNT + DRM_IOCTL_COUNT)
#define OWN_ENUMS  5u

#define ERRORS "errno"
#define HOW    "drm_how"
#define NODES  "drm_node"
#define PROT   "mmap_prot"
#define POLL   "poll_events"

/* ---- records of ours ----------------------------------------------------------------------------
 */

#define FIELD(name, type)                                                                          \
    {                                                                                              \
        name, SBT_FIELD_##type, SBT_ROLE_NONE, ""                                                  \
    }
#define NAMED(name, type, table)                                                                   \
    {                                                                                              \
        name, SBT_FIELD_##type, SBT_ROLE_NONE, table                                               \
    }
#define WITH_ROLE(name, type, role)                                                                \
    {                                                                                              \
        name, SBT_FIELD_##type, SBT_ROLE_##role, ""                                                \
    }
#define THE_FILE                                                                                   \
    {                                                                                              \
        "file", SBT_FIELD_HANDLE, SBT_ROLE_NONE, "file"                                            \
    }

static const struct sbt_field file_fields[] = {
    FIELD("fd", INT),           {"file", SBT_FIELD_HANDLE, SBT_ROLE_OBJECT, "file"},
    NAMED("node", ENUM, NODES), NAMED("how", ENUM, HOW),
    FIELD("path", STRING),      FIELD("device", HEX),
    FIELD("driver", STRING),    FIELD("version", STRING),
};
static const struct sbt_field close_fields[] = {FIELD("fd", INT), THE_FILE};
static const struct sbt_field dup_fields[] = {FIELD("fd", INT), THE_FILE, FIELD("from", INT)};
static const struct sbt_field map_fields[] = {
    FIELD("fd", INT),
    THE_FILE,
    WITH_ROLE("address", HOSTPTR, ADDRESS),
    WITH_ROLE("size", SIZE, SIZE),
    FIELD("offset", HEX),
    NAMED("prot", FLAGS, PROT),
    FIELD("flags", HEX),
    NAMED("object", HANDLE, "bo"),
};
static const struct sbt_field unmap_fields[] = {
    WITH_ROLE("address", HOSTPTR, ADDRESS),
    WITH_ROLE("size", SIZE, SIZE),
};
static const struct sbt_field poll_fields[] = {FIELD("fd", INT), THE_FILE,
                                               NAMED("events", FLAGS, POLL)};
#define COMMON_FIELDS                                                                              \
    FIELD("fd", INT), THE_FILE, FIELD("request", HEX), FIELD("retries", UINT),                     \
        FIELD("argument", HOSTPTR)
static const struct sbt_field ioctl_fields[] = {COMMON_FIELDS, FIELD("in", BYTES),
                                                FIELD("out", BYTES), FIELD("parameters", BYTES),
                                                FIELD("parameters_out", BYTES)};
#define OWN(call, text, what, fields)                                                              \
    {                                                                                              \
        SBT_TYPE(SBT_API_DRM, call), text, SBT_KIND_##what, SBT_SCHEMA_RESULT_ENUM, ERRORS,        \
            sizeof(fields) / sizeof((fields)[0]), fields                                           \
    }

static const struct sbt_schema own[OWN_COUNT] = {
    OWN(DRM_RECORD_FILE, "gpu_file", CREATE, file_fields),
    OWN(DRM_RECORD_CLOSE, "gpu_close", DESTROY, close_fields),
    OWN(DRM_RECORD_DUP, "gpu_dup", STATE, dup_fields),
    OWN(DRM_RECORD_MAP, "gpu_mmap", CREATE, map_fields),
    OWN(DRM_RECORD_UNMAP, "gpu_munmap", DESTROY, unmap_fields),
    OWN(DRM_RECORD_IOCTL, "gpu_ioctl", OTHER, ioctl_fields),
    OWN(DRM_RECORD_POLL, "gpu_poll", SYNC, poll_fields),
};

/* ---- value tables of ours -----------------------------------------------------------------------
 */

#define E(name)                                                                                    \
    {                                                                                              \
#name, -name                                                                               \
    }
static const struct sbt_enum_value errors[] = {
    E(EPERM),     E(ENOENT),     E(EINTR),        E(EIO),      E(ENXIO),     E(E2BIG),
    E(EBADF),     E(EAGAIN),     E(ENOMEM),       E(EACCES),   E(EFAULT),    E(EBUSY),
    E(EEXIST),    E(ENODEV),     E(EINVAL),       E(ENFILE),   E(EMFILE),    E(ENOTTY),
    E(EFBIG),     E(ENOSPC),     E(ESPIPE),       E(EROFS),    E(EPIPE),     E(EDOM),
    E(ERANGE),    E(EDEADLK),    E(ENAMETOOLONG), E(ENOSYS),   E(ETIME),     E(EPROTO),
    E(EOVERFLOW), E(EOPNOTSUPP), E(ETIMEDOUT),    E(EALREADY), E(ECANCELED), E(EINPROGRESS),
    E(ESTALE),    E(EREMOTEIO),  E(EHWPOISON),
};
static const struct sbt_enum_value hows[] = {{"opened", DRM_HOW_OPENED},
                                             {"found", DRM_HOW_FOUND},
                                             {"received", DRM_HOW_RECEIVED},
                                             {"made", DRM_HOW_MADE}};
static const struct sbt_enum_value nodes[] = {{"drm", DRM_NODE_DRM},
                                              {"kfd", DRM_NODE_KFD},
                                              {"dmabuf", DRM_NODE_DMABUF},
                                              {"sync_file", DRM_NODE_SYNC_FILE},
                                              {"udmabuf", DRM_NODE_UDMABUF},
                                              {"dma_heap", DRM_NODE_DMA_HEAP},
                                              {"nvidia", DRM_NODE_NVIDIA},
                                              {"nvidia_uvm", DRM_NODE_NVIDIA_UVM},
                                              {"habanalabs", DRM_NODE_HABANALABS}};
static const struct sbt_enum_value prots[] = {{"READ", 1}, {"WRITE", 2}, {"EXEC", 4}};
static const struct sbt_enum_value polls[] = {{"POLLIN", 1}, {"POLLOUT", 4}};

#define TABLE(name, values)                                                                        \
    {                                                                                              \
        name, sizeof(values) / sizeof((values)[0]), values                                         \
    }

/* ---- what the tables give -----------------------------------------------------------------------
 */

static struct sbt_struct structs[DRM_STRUCT_COUNT];
static struct sbt_member members[DRM_MEMBER_COUNT];
static struct sbt_schema schemas[DRM_IOCTL_COUNT];
static struct sbt_field fields[DRM_IOCTL_COUNT * SLOT_MAX];
static struct tsm_call_description calls[CALL_COUNT];
static struct sbt_enum enums[OWN_ENUMS + DRM_ENUM_COUNT] = {TABLE(ERRORS, errors), TABLE(HOW, hows),
                                                            TABLE(NODES, nodes), TABLE(PROT, prots),
                                                            TABLE(POLL, polls)};
static struct sbt_enum_value values[DRM_VALUE_COUNT];

struct tsm_api_description drm_description = {
    .api = SBT_API_DRM, .name = "drm", .calls = calls, .enums = enums, .structs = structs, .fill = drm_describe};

static enum sbt_field_type type_of(const struct drm_member *m)
{
    static const uint8_t types[] = {
        [DRM_KIND_UINT] = SBT_FIELD_UINT,       [DRM_KIND_INT] = SBT_FIELD_INT,
        [DRM_KIND_HEX] = SBT_FIELD_HEX,         [DRM_KIND_BOOL] = SBT_FIELD_BOOL,
        [DRM_KIND_SIZE] = SBT_FIELD_SIZE,       [DRM_KIND_DEVPTR] = SBT_FIELD_DEVPTR,
        [DRM_KIND_HOSTPTR] = SBT_FIELD_HOSTPTR, [DRM_KIND_ENUM] = SBT_FIELD_ENUM,
        [DRM_KIND_FLAGS] = SBT_FIELD_FLAGS,     [DRM_KIND_HANDLE] = SBT_FIELD_HANDLE,
        [DRM_KIND_FD] = SBT_FIELD_INT,          [DRM_KIND_TEXT] = SBT_FIELD_STRING,
        [DRM_KIND_BYTES] = SBT_FIELD_BYTES,     [DRM_KIND_STRUCT] = SBT_FIELD_STRUCT,
        [DRM_KIND_NOTHING] = SBT_FIELD_BYTES,
    };

    return (enum sbt_field_type)types[m->kind];
}

static const char *detail_of(const struct drm_member *m)
{
    switch (m->kind) {
    case DRM_KIND_ENUM:
    case DRM_KIND_FLAGS:
        return drm_text + drm_enums[m->type].name;
    case DRM_KIND_HANDLE:
        return drm_text + drm_objects[m->type];
    case DRM_KIND_STRUCT:
        return m->form == DRM_FORM_CHAIN ? "" : drm_text + drm_structs[m->type].name;
    default:
        return "";
    }
}

static enum sbt_form form_of(const struct drm_member *m)
{
    if (m->form == DRM_FORM_CHAIN)
        return SBT_FORM_CHAIN;
    return m->form == DRM_FORM_ONE || m->kind == DRM_KIND_TEXT || m->kind == DRM_KIND_BYTES
               ? SBT_FORM_ONE
               : SBT_FORM_LIST;
}

/* A union's members are found by their places: none may be missing. */
static size_t describe_struct(struct sbt_struct *out, const struct drm_struct *type, size_t used)
{
    bool is_union = type->flags & DRM_STRUCT_UNION;
    size_t first = used;

    for (uint32_t i = 0; i < type->count; i++) {
        const struct drm_member *m = &drm_members[type->first + i];
        if (m->kind != DRM_KIND_NOTHING || is_union)
            members[used++] = (struct sbt_member){
                drm_text + m->name, type_of(m),
                m->kind == DRM_KIND_NOTHING ? SBT_FORM_ONE : form_of(m), detail_of(m)};
    }
    *out = (struct sbt_struct){
        .id = SBT_TYPE(SBT_API_DRM, type->id),
        .flags = is_union ? SBT_STRUCT_UNION : 0,
        .name = drm_text + type->name,
        .member_count = (uint32_t)(used - first),
        .members = &members[first],
    };
    return used;
}

static void describe_ioctl(struct sbt_schema *out, const struct drm_ioctl *row, struct sbt_field *f)
{
    static const struct sbt_field common[] = {COMMON_FIELDS};
    uint32_t count = 0;

    for (; count < DRM_SLOT_COMMON; count++)
        f[count] = common[count];
    if (row->into)
        f[count++] = (struct sbt_field){"in", SBT_FIELD_STRUCT, SBT_ROLE_NONE,
                                        drm_text + drm_structs[row->into - 1].name};
    if (row->out)
        f[count++] = (struct sbt_field){"out", SBT_FIELD_STRUCT, SBT_ROLE_NONE,
                                        drm_text + drm_structs[row->out - 1].name};
    f[count++] = (struct sbt_field){"more", SBT_FIELD_BYTES, SBT_ROLE_NONE, ""};
    *out = (struct sbt_schema){
        .type = SBT_TYPE(SBT_API_DRM, row->id),
        .name = drm_text + row->name,
        .kind = (enum sbt_kind)row->kind,
        .flags = SBT_SCHEMA_RESULT_ENUM,
        .result_enum = ERRORS,
        .field_count = count,
        .fields = f,
    };
}

static void describe_enums(void)
{
    for (uint32_t i = 0; i < DRM_VALUE_COUNT; i++)
        values[i] =
            (struct sbt_enum_value){drm_text + drm_values[i].name, (int64_t)drm_values[i].value};
    for (uint32_t i = 0; i < DRM_ENUM_COUNT; i++)
        enums[OWN_ENUMS + i] = (struct sbt_enum){drm_text + drm_enums[i].name, drm_enums[i].count,
                                                 &values[drm_enums[i].first]};
}

/* A function of ours takes part: it names the stream, knows what is mapped, or follows descriptors.
 */
static bool is_special(const struct drm_ioctl *row)
{
    return row->hook != DRM_HOOK_NONE || row->map_offset.size || row->flags & DRM_IOCTL_GIVES_FD;
}

void drm_describe(void)
{
    size_t used = 0;

    if (drm_description.call_count)
        return;
    drm_tables_index();
    for (uint32_t i = 0; i < DRM_STRUCT_COUNT; i++)
        used = describe_struct(&structs[i], &drm_structs[i], used);
    for (uint32_t i = 0; i < OWN_COUNT; i++)
        calls[i] = (struct tsm_call_description){&own[i], TSM_CALL_HOOKED, "file"};
    for (uint32_t i = 0; i < DRM_IOCTL_COUNT; i++) {
        const struct drm_ioctl *row = &drm_ioctls[i];
        describe_ioctl(&schemas[i], row, &fields[(size_t)i * SLOT_MAX]);
        calls[OWN_COUNT + i] = (struct tsm_call_description){
            &schemas[i], is_special(row) ? TSM_CALL_HOOKED : TSM_CALL_GENERATED,
            drm_text + drm_families[row->family].name};
    }
    describe_enums();
    drm_description.call_count = CALL_COUNT;
    drm_description.enum_count = OWN_ENUMS + DRM_ENUM_COUNT;
    drm_description.struct_count = DRM_STRUCT_COUNT;
}
