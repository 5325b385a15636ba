/* SPDX-License-Identifier: Apache-2.0
 *
 * Waits and signals of DRM's ioctls: of drivers whose headers not every build has, in a trace made
 * for it. drm_waits_test TRACE prints those of a trace, a line each.
 */
#include "api/waits.h"

#include "format/values/struct_out.h"
#include "tests/unit/check.h"
#include "tracesmith/error.h"
#include "tracesmith/reader.h"
#include "tracesmith/writer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void must(int error)
{
    if (error >= 0)
        return;
    fprintf(stderr, "%s\n", tsm_error_message());
    exit(1);
}

/* ---- steps as text ----------------------------------------------------------------------------
 */

struct text {
    char bytes[1024];
    size_t size;
};

static int add_step(void *user, const struct tsm_wait_step *step)
{
    static const char *const names[] = {
        [TSM_WAIT_ENDS] = "ends",   [TSM_WAIT_FOR] = "for",         [TSM_WAIT_IN_TURN] = "turn",
        [TSM_WAIT_OVER] = "over",   [TSM_WAIT_COPY] = "copy",       [TSM_WAIT_REACHED] = "reached",
        [TSM_WAIT_RAISE] = "raise", [TSM_WAIT_FOREIGN] = "foreign", [TSM_WAIT_NEW] = "new"};
    const struct tsm_wait_object object =
        tsm_wait_object_of(TSM_WAIT_KEY(SBT_API_DRM, step->object));
    struct text *t = user;
    char value[32] = "";

    if (step->value == UINT64_MAX)
        snprintf(value, sizeof(value), "@latest");
    else if (step->value && strcmp(object.type, "bo"))
        snprintf(value, sizeof(value), "@%" PRIu64, step->value);
    t->size += (size_t)snprintf(t->bytes + t->size, sizeof(t->bytes) - t->size, "%s%s",
                                t->size ? ", " : "", names[step->kind]);
    if (step->object)
        t->size += (size_t)snprintf(t->bytes + t->size, sizeof(t->bytes) - t->size,
                                    " %s#%" PRIu64 "%s%s%s%s", object.type, object.id, value,
                                    step->is_part ? " part" : "", step->is_alone ? " alone" : "",
                                    step->is_early ? " early" : "");
    CHECK(t->size < sizeof(t->bytes));
    return 0;
}

static void steps_of(struct text *t, struct sbt_reader *reader, const struct sbt_record *record)
{
    const struct sbt_schema *schema = sbt_reader_schema(reader, record->type);

    *t = (struct text){.size = 0};
    if (schema && !(record->flags & SBT_RECORD_FAILED))
        must(tsm_wait_each(tsm_wait_way(schema), reader, record, schema, add_step, t));
}

static void print_steps(const char *path)
{
    const struct sbt_record *record;
    struct sbt_reader *reader;
    struct sbt_cursor *cursor;
    struct text t;

    must(sbt_reader_open(&reader, path));
    must(sbt_cursor_create(&cursor, reader, NULL, 1));
    while (sbt_cursor_next(cursor, &record) == 1) {
        steps_of(&t, reader, record);
        if (t.size)
            printf("%s: %s\n", sbt_reader_schema(reader, record->type)->name, t.bytes);
    }
    sbt_cursor_destroy(cursor);
    sbt_reader_destroy(reader);
}

/* ---- a trace made for it ----------------------------------------------------------------------
 */

#define MEMBER(name, type, form, detail)                                                           \
    {                                                                                              \
        name, SBT_FIELD_##type, SBT_FORM_##form, detail                                            \
    }
#define HANDLE MEMBER("handle", HANDLE, ONE, "syncobj")
#define FLAGS  MEMBER("flags", UINT, ONE, "")
#define POINT  MEMBER("timeline_value", UINT, ONE, "")

static const struct sbt_member xe_union[] = {HANDLE, MEMBER("addr", HOSTPTR, ONE, "")};
static const struct sbt_member xe_sync[] = {MEMBER("type", UINT, ONE, ""), FLAGS,
                                            MEMBER("u", STRUCT, ONE, "drm_xe_sync.u"), POINT};
static const struct sbt_member xe_exec[] = {MEMBER("syncs", STRUCT, LIST, "drm_xe_sync")};
static const struct sbt_member nouveau_sync[] = {FLAGS, HANDLE, POINT};
static const struct sbt_member nouveau_exec[] = {
    MEMBER("wait_ptr", STRUCT, LIST, "drm_nouveau_sync"),
    MEMBER("sig_ptr", STRUCT, LIST, "drm_nouveau_sync")};
static const struct sbt_member panthor_sync[] = {FLAGS, HANDLE, POINT};
static const struct sbt_member panthor_array[] = {
    MEMBER("array", STRUCT, LIST, "drm_panthor_sync_op")};
static const struct sbt_member panthor_queue[] = {
    MEMBER("syncs", STRUCT, ONE, "drm_panthor_queue_submit.syncs")};
static const struct sbt_member panthor_submit[] = {
    MEMBER("array", STRUCT, LIST, "drm_panthor_queue_submit")};
static const struct sbt_member virtgpu_sync[] = {HANDLE, FLAGS, MEMBER("point", UINT, ONE, "")};
static const struct sbt_member virtgpu_exec[] = {
    MEMBER("bo_handles", HANDLE, LIST, "bo"),
    MEMBER("in_syncobjs", STRUCT, LIST, "drm_virtgpu_execbuffer_syncobj"),
    MEMBER("out_syncobjs", STRUCT, LIST, "drm_virtgpu_execbuffer_syncobj")};
static const struct sbt_member handle_of_fd[] = {HANDLE, FLAGS};

#define STRUCT(number, name, flags, members)                                                       \
    {                                                                                              \
        SBT_TYPE(SBT_API_DRM, number), flags, name, sizeof(members) / sizeof((members)[0]),        \
            members                                                                                \
    }

static const struct sbt_struct structs[] = {
    STRUCT(1, "drm_xe_sync.u", SBT_STRUCT_UNION, xe_union),
    STRUCT(2, "drm_xe_sync", 0, xe_sync),
    STRUCT(3, "drm_xe_exec", 0, xe_exec),
    STRUCT(4, "drm_nouveau_sync", 0, nouveau_sync),
    STRUCT(5, "drm_nouveau_exec", 0, nouveau_exec),
    STRUCT(6, "drm_panthor_sync_op", 0, panthor_sync),
    STRUCT(7, "drm_panthor_queue_submit.syncs", 0, panthor_array),
    STRUCT(8, "drm_panthor_queue_submit", 0, panthor_queue),
    STRUCT(9, "drm_panthor_group_submit", 0, panthor_submit),
    STRUCT(10, "drm_virtgpu_execbuffer_syncobj", 0, virtgpu_sync),
    STRUCT(11, "drm_virtgpu_execbuffer", 0, virtgpu_exec),
    STRUCT(12, "drm_syncobj_handle", 0, handle_of_fd),
};

#define LIST(count) (count) + 1 /* before its values */
#define SIGNAL      (1ull << 31)
#define END         UINT64_MAX

/* Calls, their struct, the numbers in it, and what they are to say. */
static const struct {
    const char *call, *type;
    uint64_t numbers[24];
    const char *steps;
} rows[] = {
    /* One that has no points, though there is a number; a point; a number in memory. */
    {"DRM_IOCTL_XE_EXEC",
     "drm_xe_exec",
     {LIST(4), 0, 0, 1, 5, 9, 1, 0, 1, 6, 3, 1, 1, 1, 7, 4, 2, 1, 2, 0x1000, 8, END},
     "turn, for syncobj#5@latest, for syncobj#6@3, ends syncobj#7@4"},
    {"DRM_IOCTL_NOUVEAU_EXEC",
     "drm_nouveau_exec",
     {LIST(1), 1, 5, 2, LIST(2), 0, 5, 8, 1, 6, 3, END},
     "for syncobj#5@2, over syncobj#5, ends syncobj#5@1, ends syncobj#6@3"},
    {"DRM_IOCTL_PANTHOR_GROUP_SUBMIT",
     "drm_panthor_group_submit",
     {LIST(1), LIST(2), 1, 5, 2, SIGNAL, 6, 0, END},
     "for syncobj#5@2 part, over syncobj#6, ends syncobj#6@1 alone"},
    {"DRM_IOCTL_PANTHOR_GROUP_SUBMIT", /* to two queues: not all has ended */
     "drm_panthor_group_submit",
     {LIST(2), LIST(1), SIGNAL | 1, 5, 2, LIST(1), SIGNAL | 1, 6, 3, END},
     "ends syncobj#5@2 alone early, ends syncobj#6@3 alone early"},
    {"DRM_IOCTL_VIRTGPU_EXECBUFFER", /* the first one is empty then */
     "drm_virtgpu_execbuffer",
     {LIST(1), 3, LIST(2), 5, 1, 0, 6, 0, 4, LIST(1), 5, 0, 0, END},
     "for syncobj#5@latest, over syncobj#5, for syncobj#6@4, ends bo#3, over syncobj#5, "
     "ends syncobj#5@1"},
    {"DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD", "drm_syncobj_handle", {5, 0, END}, "foreign syncobj#5"},
    {"DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD", "drm_syncobj_handle", {5, 1, END}, ""},
    {"DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE", "drm_syncobj_handle", {5, 1, END}, "over syncobj#5"},
    {"DRM_IOCTL_TEGRA_SUBMIT", "drm_syncobj_handle", {5, 1, END}, ""},
};
#define ROW_COUNT (sizeof(rows) / sizeof(rows[0]))

static void put_schema(struct sbt_writer *writer, uint32_t row)
{
    const struct sbt_field fields[] = {{"file", SBT_FIELD_HANDLE, SBT_ROLE_NONE, "file"},
                                       {"in", SBT_FIELD_STRUCT, SBT_ROLE_NONE, rows[row].type}};

    must(sbt_writer_schema(writer, &(struct sbt_schema){.type = SBT_TYPE(SBT_API_DRM, row + 1),
                                                        .name = rows[row].call,
                                                        .kind = SBT_KIND_COMMAND,
                                                        .result_enum = "",
                                                        .field_count = 2,
                                                        .fields = fields}));
}

static void put_row(struct sbt_writer *writer, uint32_t row)
{
    uint8_t data[256] = {0}; /* a value begins with a byte 0 */
    struct sbt_out out = {0};
    uint64_t slots[2] = {1, 0};

    sbt_out_init(&out, data + 1, sizeof(data) - 1, NULL, NULL);
    for (const uint64_t *n = rows[row].numbers; *n != END; n++)
        sbt_out_varint(&out, *n);
    slots[1] = sbt_out_size(&out) + 1;
    must(sbt_writer_record(writer, &(struct sbt_record){.seq = row,
                                                        .type = SBT_TYPE(SBT_API_DRM, row + 1),
                                                        .thread = 1,
                                                        .position = row + 1,
                                                        .slots = slots,
                                                        .slot_count = 2,
                                                        .data = data,
                                                        .data_size = slots[1]}));
}

static void make(const char *path)
{
    const struct sbt_session session = {.id = {1, 2, 3, 4, 5, 6, 0x47, 8, 0x89},
                                        .clock = "monotonic"};
    const struct sbt_totals none = {0};
    struct sbt_writer *writer;

    must(sbt_writer_create(&writer, path, &session, NULL));
    must(sbt_writer_metadata(writer, "process.pid", "1"));
    for (size_t i = 0; i < sizeof(structs) / sizeof(structs[0]); i++)
        must(sbt_writer_struct(writer, &structs[i]));
    for (uint32_t i = 0; i < ROW_COUNT; i++)
        put_schema(writer, i);
    for (uint32_t i = 0; i < ROW_COUNT; i++)
        put_row(writer, i);
    must(sbt_writer_finish(writer, &none, SBT_END_FINISHED));
    sbt_writer_destroy(writer);
}

int main(int argc, char **argv)
{
    char path[] = "/tmp/drm_waits.XXXXXX";
    const struct sbt_record *record;
    struct sbt_reader *reader;
    struct sbt_cursor *cursor;
    struct text t;
    size_t count = 0;

    if (argc == 2) {
        print_steps(argv[1]);
        return check_result();
    }
    close(mkstemp(path));
    unlink(path);
    make(path);
    must(sbt_reader_open(&reader, path));
    must(sbt_cursor_create(&cursor, reader, NULL, 1));
    for (; count < ROW_COUNT && sbt_cursor_next(cursor, &record) == 1; count++) {
        steps_of(&t, reader, record);
        CHECK_EQ_STR(t.bytes, rows[count].steps);
    }
    CHECK(count == ROW_COUNT);
    sbt_cursor_destroy(cursor);
    sbt_reader_destroy(reader);
    unlink(path);
    return check_result();
}
