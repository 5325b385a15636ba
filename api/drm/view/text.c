/* SPDX-License-Identifier: Apache-2.0 */
#include "api/drm/view/text.h"

#include "api/drm/describe.h"
#include "api/drm/tables.h"
#include "base/array.h"
#include "base/bytes.h"
#include "base/text.h"
#include "api/drm/view/nvidia.h"
#include "tools/text/record_value.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define IS(record, call) ((record)->type == SBT_TYPE(SBT_API_DRM, DRM_RECORD_##call))
#define TIME_COLUMNS     12
#define FILE_COUNT_MAX   65536u

void tsm_ioctls_finish(struct tsm_ioctls *all)
{
    free(all->files);
    free(all->counts);
    tsm_modes_finish(&all->modes);
    *all = (struct tsm_ioctls){0};
}

static uint64_t slot(const struct sbt_record *record, uint32_t index)
{
    return index < record->slot_count ? record->slots[index] : 0;
}

/* ---- files
 * ----------------------------------------------------------------------------------------
 */

/* Slots of a file's record. */
enum {
    FILE_FD,
    FILE_ID,
    FILE_NODE,
    FILE_HOW,
    FILE_PATH,
    FILE_DEVICE,
    FILE_DRIVER,
};

static bool add_file(struct tsm_ioctls *all, struct sbt_reader *reader,
                     const struct sbt_record *record)
{
    uint32_t id = (uint32_t)slot(record, FILE_ID);
    const char *driver = sbt_reader_string(reader, (uint32_t)slot(record, FILE_DRIVER));

    if (id == 0 || id > FILE_COUNT_MAX)
        return true;
    if (!TSM_ARRAY_EXTEND(all->files, all->file_count, id))
        return false;
    if (!driver || !*driver)
        driver = sbt_reader_enum_name(reader, "drm_node", (int64_t)slot(record, FILE_NODE));
    tsm_format(all->files[id - 1].name, sizeof(all->files[id - 1].name), "%s",
               driver ? driver : "file");
    all->files[id - 1].device = slot(record, FILE_DEVICE);
    all->files[id - 1].is_uvm = slot(record, FILE_NODE) == DRM_NODE_NVIDIA_UVM;
    return true;
}

/* Returns the device of an ioctl's record. */
static uint64_t device_of(const struct tsm_ioctls *all, const struct sbt_record *record)
{
    uint32_t id = (uint32_t)slot(record, DRM_SLOT_FILE);

    return id && id <= all->file_count ? all->files[id - 1].device : 0;
}

const char *tsm_ioctls_raw_name(const struct tsm_ioctls *all, const struct sbt_record *record)
{
    uint32_t id = (uint32_t)slot(record, DRM_SLOT_FILE);
    bool is_uvm = id && id <= all->file_count && all->files[id - 1].is_uvm;

    return tsm_nvidia_name((uint32_t)slot(record, DRM_SLOT_REQUEST), is_uvm);
}

static bool get_nvidia(struct tsm_nvidia_call *call, const struct sbt_record *record)
{
    call->request = (uint32_t)slot(record, DRM_SLOT_REQUEST);
    return sbt_record_bytes(record, DRM_SLOT_COMMON, &call->in, &call->in_size) &&
           sbt_record_bytes(record, DRM_SLOT_COMMON + 1, &call->out, &call->out_size);
}

static void note_nvidia(struct tsm_ioctls *all, const struct sbt_record *record)
{
    struct tsm_nvidia_call call;
    unsigned branch = get_nvidia(&call, record) ? tsm_nvidia_branch(&call) : 0;

    if (branch)
        all->nvidia_branch = branch;
}

bool tsm_ioctls_add(struct tsm_ioctls *all, struct sbt_reader *reader,
                    const struct sbt_record *record)
{
    if (IS(record, IOCTL))
        note_nvidia(all, record);
    return (!IS(record, FILE) || add_file(all, reader, record)) &&
           tsm_modes_note(&all->modes, reader, record, device_of(all, record)) &&
           tsm_ioctls_count(all, reader, record);
}

/* 3<vgem#1> */
static void put_fd(struct tsm_record_text *t, const struct tsm_ioctls *all,
                   const struct sbt_record *record)
{
    uint32_t id = (uint32_t)slot(record, DRM_SLOT_FILE);
    const char *name = id && id <= all->file_count ? all->files[id - 1].name : "file";

    tsm_text_line_i64(&t->line, (int64_t)slot(record, DRM_SLOT_FD));
    tsm_text_line_text(&t->line, "<");
    tsm_text_line_clean(&t->line, name);
    tsm_text_line_text(&t->line, "#");
    tsm_text_line_u64(&t->line, id);
    tsm_text_line_text(&t->line, ">");
}

/* ---- one record
 * -------------------------------------------------------------------------------------
 */

static void put_string(struct tsm_record_text *t, uint64_t id)
{
    const char *text = id ? sbt_reader_string(t->reader, (uint32_t)id) : NULL;

    tsm_text_line_quoted(&t->line, text ? text : "?");
}

static void put_opened(struct tsm_record_text *t, const struct tsm_ioctls *all,
                       const struct sbt_record *record)
{
    const char *how = sbt_reader_enum_name(t->reader, "drm_how", (int64_t)slot(record, FILE_HOW));

    tsm_text_line_text(&t->line, how ? how : "file");
    if (slot(record, FILE_PATH)) {
        tsm_text_line_text(&t->line, "(");
        put_string(t, slot(record, FILE_PATH));
        tsm_text_line_text(&t->line, ")");
    }
    tsm_text_line_text(&t->line, " = ");
    put_fd(t, all, record);
}

static void put_map(struct tsm_record_text *t, const struct tsm_ioctls *all,
                    const struct sbt_record *record)
{
    if (!slot(record, 6)) { /* the recorder's own */
        tsm_text_line_text(&t->line, "looked at ");
        tsm_text_line_u64(&t->line, slot(record, 3));
        tsm_text_line_text(&t->line, " bytes of ");
        put_fd(t, all, record);
        tsm_text_line_text(&t->line, " at ");
        tsm_text_line_hex(&t->line, slot(record, 2));
        return;
    }
    tsm_text_line_text(&t->line, "mmap(");
    put_fd(t, all, record);
    tsm_text_line_text(&t->line, ", offset ");
    tsm_text_line_hex(&t->line, slot(record, 4));
    tsm_text_line_text(&t->line, ", ");
    tsm_text_line_u64(&t->line, slot(record, 3));
    if (slot(record, 7)) {
        tsm_text_line_text(&t->line, ", bo#");
        tsm_text_line_u64(&t->line, slot(record, 7));
    }
    tsm_text_line_text(&t->line, ") = ");
    tsm_text_line_hex(&t->line, slot(record, 2));
}

/* The struct that went in, and what is new in the one that came out. */
static void put_structs(struct tsm_record_text *t, const struct sbt_record *record,
                        const struct sbt_schema *schema)
{
    int in = -1;

    for (uint32_t i = DRM_SLOT_COMMON; i < schema->field_count; i++) {
        const struct sbt_field *f = &schema->fields[i];
        uint64_t shown = UINT64_MAX;
        if (f->type != SBT_FIELD_STRUCT || !slot(record, i))
            continue;
        if (in >= 0 && !strcmp(schema->fields[in].detail, f->detail))
            shown = tsm_record_text_compare(t->reader, record, (uint32_t)in, i, f);
        if (!shown)
            continue;
        tsm_text_line_text(&t->line, !strcmp(f->name, "out") ? " => " : ", ");
        tsm_record_text_members(t, record, i, f, shown);
        in = (int)i;
    }
}

/* Appends the bytes fields from slot `first` on. */
static void put_bytes(struct tsm_record_text *t, const struct sbt_record *record,
                      const struct sbt_schema *schema, uint32_t first)
{
    for (uint32_t i = DRM_SLOT_COMMON; i < schema->field_count; i++) {
        const struct sbt_field *f = &schema->fields[i];
        const uint8_t *data;
        size_t size;
        if (f->type != SBT_FIELD_BYTES || !sbt_record_bytes(record, i, &data, &size) || !size ||
            i < first)
            continue;
        tsm_text_line_text(&t->line, !strcmp(f->name, "out") || !strcmp(f->name, "parameters_out")
                                         ? " => "
                                         : ", ");
        if (!strcmp(f->name, "more") || !strcmp(f->name, "parameters")) {
            tsm_text_line_text(&t->line, f->name);
            tsm_text_line_text(&t->line, "=");
        }
        tsm_record_text_bytes(t, data, size);
    }
}

static bool put_nvidia(struct tsm_record_text *t, const struct tsm_ioctls *all,
                       const struct sbt_record *record)
{
    struct tsm_nvidia_call call;

    return get_nvidia(&call, record) && tsm_nvidia_put(&t->line, &call, all->nvidia_branch);
}

static void put_ioctl(struct tsm_record_text *t, const struct tsm_ioctls *all,
                      const struct sbt_record *record, const struct sbt_schema *schema)
{
    char unknown[64];
    uint32_t request = (uint32_t)slot(record, DRM_SLOT_REQUEST);

    tsm_format(unknown, sizeof(unknown), "ioctl 0x%08x", request);
    const char *nvidia = IS(record, IOCTL) ? tsm_ioctls_raw_name(all, record) : NULL;
    tsm_text_line_clean(&t->line, nvidia ? nvidia : IS(record, IOCTL) ? unknown : schema->name);
    tsm_text_line_text(&t->line, "(");
    put_fd(t, all, record);
    put_structs(t, record, schema);
    tsm_modes_put(t, &all->modes, record, device_of(all, record));
    put_bytes(t, record, schema,
              nvidia && put_nvidia(t, all, record) ? DRM_SLOT_COMMON + 2 : DRM_SLOT_COMMON);
    if (!(request >> 16 & 0x3fff) && slot(record, DRM_SLOT_ARGUMENT)) {
        tsm_text_line_text(&t->line, ", ");
        tsm_text_line_hex(&t->line, slot(record, DRM_SLOT_ARGUMENT));
    }
    tsm_text_line_text(&t->line, ")");
}

static void put_result(struct tsm_record_text *t, const struct sbt_record *record)
{
    char text[96];

    if (record->result >= 0) {
        tsm_text_line_text(&t->line, " = ");
        tsm_text_line_i64(&t->line, record->result);
        return;
    }
    const char *name = sbt_reader_enum_name(t->reader, "errno", record->result);
    tsm_format(text, sizeof(text), " = -1 %s (%s)", name ? name : "error",
               strerror((int)(0 - (uint64_t)record->result)));
    tsm_text_line_clean(&t->line, text);
}

static void put_end(struct tsm_record_text *t, const struct sbt_record *record)
{
    char text[64];

    tsm_format(text, sizeof(text), " <%.6f>", (double)record->duration_ns / 1e9);
    tsm_text_line_text(&t->line, text);
    if (slot(record, DRM_SLOT_RETRIES)) {
        tsm_format(text, sizeof(text), " (tried %llu times)",
                   (unsigned long long)slot(record, DRM_SLOT_RETRIES) + 1);
        tsm_text_line_text(&t->line, text);
    }
    if (record->stream != SBT_STREAM_NONE) {
        tsm_text_line_text(&t->line, " s");
        tsm_text_line_u64(&t->line, record->stream);
    }
}

void tsm_ioctl_put(struct tsm_record_text *t, const struct tsm_ioctls *all,
                   const struct sbt_record *record)
{
    const struct sbt_schema *schema = sbt_reader_schema(t->reader, record->type);

    tsm_text_line_time(&t->line, record->time_ns, TIME_COLUMNS);
    tsm_text_line_text(&t->line, " ");
    if (!schema) {
        tsm_text_line_text(&t->line, "?");
    } else if (IS(record, FILE)) {
        put_opened(t, all, record);
    } else if (IS(record, CLOSE) || IS(record, DUP)) {
        tsm_text_line_text(&t->line, IS(record, CLOSE) ? "close(" : "dup(");
        put_fd(t, all, record);
        tsm_text_line_text(&t->line, ")");
    } else if (IS(record, POLL)) {
        tsm_text_line_text(&t->line, "ready(");
        put_fd(t, all, record);
        tsm_text_line_text(&t->line, slot(record, 2) & 4 ? ", POLLOUT)" : ")");
    } else if (IS(record, MAP)) {
        put_map(t, all, record);
    } else if (IS(record, UNMAP)) {
        tsm_text_line_text(&t->line, "munmap(");
        tsm_text_line_hex(&t->line, slot(record, 0));
        tsm_text_line_text(&t->line, ", ");
        tsm_text_line_u64(&t->line, slot(record, 1));
        tsm_text_line_text(&t->line, ")");
    } else {
        put_ioctl(t, all, record, schema);
        put_result(t, record);
        put_end(t, record);
    }
}

/* ---- virgl
 * ------------------------------------------------------------------------------------------
 */

/* By number. */
static const char *const virgl_names[] = {
    "NOP",
    "CREATE_OBJECT",
    "BIND_OBJECT",
    "DESTROY_OBJECT",
    "SET_VIEWPORT_STATE",
    "SET_FRAMEBUFFER_STATE",
    "SET_VERTEX_BUFFERS",
    "CLEAR",
    "DRAW_VBO",
    "RESOURCE_INLINE_WRITE",
    "SET_SAMPLER_VIEWS",
    "SET_INDEX_BUFFER",
    "SET_CONSTANT_BUFFER",
    "SET_STENCIL_REF",
    "SET_BLEND_COLOR",
    "SET_SCISSOR_STATE",
    "BLIT",
    "RESOURCE_COPY_REGION",
    "BIND_SAMPLER_STATES",
    "BEGIN_QUERY",
    "END_QUERY",
    "GET_QUERY_RESULT",
    "SET_POLYGON_STIPPLE",
    "SET_CLIP_STATE",
    "SET_SAMPLE_MASK",
    "SET_STREAMOUT_TARGETS",
    "SET_RENDER_CONDITION",
    "SET_UNIFORM_BUFFER",
    "SET_SUB_CTX",
    "CREATE_SUB_CTX",
    "DESTROY_SUB_CTX",
    "BIND_SHADER",
    "SET_TESS_STATE",
    "SET_MIN_SAMPLES",
    "SET_SHADER_BUFFERS",
    "SET_SHADER_IMAGES",
    "MEMORY_BARRIER",
    "LAUNCH_GRID",
    "SET_FRAMEBUFFER_STATE_NO_ATTACH",
    "TEXTURE_BARRIER",
    "SET_ATOMIC_BUFFERS",
    "SET_DEBUG_FLAGS",
    "GET_QUERY_RESULT_QBO",
    "TRANSFER3D",
    "END_TRANSFERS",
    "COPY_TRANSFER3D",
    "SET_TWEAKS",
    "CLEAR_TEXTURE",
    "PIPE_RESOURCE_CREATE",
    "PIPE_RESOURCE_SET_TYPE",
    "GET_MEMORY_INFO",
    "SEND_STRING_MARKER",
    "LINK_SHADER",
};

/* A command is a number: command, object, length in words; then so many words. */
static void put_virgl(const uint8_t *data, size_t size, FILE *out)
{
    const size_t name_count = sizeof(virgl_names) / sizeof(virgl_names[0]);

    for (size_t at = 0; at + 4 <= size;) {
        uint32_t head = tsm_get_u32(data + at);
        uint32_t command = head & 0xff, object = head >> 8 & 0xff, length = head >> 16;
        if (command < name_count)
            fprintf(out, "%*s virgl %s", TIME_COLUMNS, "", virgl_names[command]);
        else
            fprintf(out, "%*s virgl command %u", TIME_COLUMNS, "", command);
        if (object)
            fprintf(out, " object %u", object);
        fprintf(out, " words %u%s\n", length, length > (size - at) / 4 ? " (cut off)" : "");
        at += 4 + 4 * (size_t)length;
    }
}

void tsm_ioctl_commands(struct sbt_reader *reader, const struct sbt_record *record, FILE *out)
{
    const struct sbt_schema *schema = sbt_reader_schema(reader, record->type);
    struct sbt_value value;
    struct sbt_walk walk;
    struct sbt_step step;

    if (!schema || strcmp(schema->name, "DRM_IOCTL_VIRTGPU_EXECBUFFER") != 0)
        return;
    if (sbt_reader_value(reader, record, DRM_SLOT_COMMON, &value) == 1 &&
        sbt_walk_begin(&walk, reader, schema->fields[DRM_SLOT_COMMON].detail, value.data,
                       value.size) >= 0)
        while (sbt_walk_next(&walk, &step) == 1)
            if (step.member && !strcmp(step.member->name, "command") && step.data)
                put_virgl(step.data, step.size, out);
    sbt_value_finish(&value);
}
