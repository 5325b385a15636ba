/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes small traces for the tests of the command line: make_trace SCENE PATH [COUNT].
 * The API in them exists only here, which is the point: views come from the trace's own schemas.
 */
#include "tracesmith/writer.h"

#include "base/bytes.h"
#include "format/values/struct_out.h"

#include <execinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TOY_API 77
enum { TOY_INIT = 1, TOY_FUNCTION, TOY_SEND, TOY_LAUNCH, TOY_WAIT, TOY_ODD, TOY_SUBMIT };

static const struct sbt_enum_value results[] = {{"TOY_SUCCESS", 0}, {"TOY_ERROR_BUSY", 7}};
static const struct sbt_enum_value colours[] = {{"RED", 1}, {"GREEN", 2}};
static const struct sbt_enum tables[] = {{"toy_result", 2, results}, {"toy_colour", 2, colours}};

static const struct sbt_field init_fields[] = {
    {"flags", SBT_FIELD_FLAGS, SBT_ROLE_NONE, "toy_colour"},
};
static const struct sbt_field function_fields[] = {
    {"function", SBT_FIELD_HANDLE, SBT_ROLE_OBJECT, "function"},
    {"name", SBT_FIELD_STRING, SBT_ROLE_NAME, ""},
};
static const struct sbt_field send_fields[] = {
    {"dst", SBT_FIELD_DEVPTR, SBT_ROLE_DST, ""},
    {"size", SBT_FIELD_SIZE, SBT_ROLE_SIZE, ""},
    {"bytes", SBT_FIELD_BLOB, SBT_ROLE_PAYLOAD, ""},
};
static const struct sbt_field launch_fields[] = {
    {"function", SBT_FIELD_HANDLE, SBT_ROLE_FUNCTION, "function"},
    {"grid_x", SBT_FIELD_UINT, SBT_ROLE_GRID_X, ""},
    {"grid_y", SBT_FIELD_UINT, SBT_ROLE_GRID_Y, ""},
    {"grid_z", SBT_FIELD_UINT, SBT_ROLE_GRID_Z, ""},
    {"block_x", SBT_FIELD_UINT, SBT_ROLE_BLOCK_X, ""},
    {"block_y", SBT_FIELD_UINT, SBT_ROLE_BLOCK_Y, ""},
    {"block_z", SBT_FIELD_UINT, SBT_ROLE_BLOCK_Z, ""},
    {"arguments", SBT_FIELD_BYTES, SBT_ROLE_ARGUMENTS, ""},
    {"name", SBT_FIELD_STRING, SBT_ROLE_FUNCTION_NAME, ""},
};
static const struct sbt_field odd_fields[] = {
    {"signed", SBT_FIELD_INT, SBT_ROLE_NONE, ""},
    {"ratio", SBT_FIELD_F64, SBT_ROLE_NONE, ""},
    {"on", SBT_FIELD_BOOL, SBT_ROLE_NONE, ""},
    {"colour", SBT_FIELD_ENUM, SBT_ROLE_NONE, "toy_colour"},
    {"text", SBT_FIELD_STRING, SBT_ROLE_NONE, ""},
};

#define SCHEMA(call, name_, kind_, fields_)                                                        \
    {                                                                                              \
        .type = SBT_TYPE(TOY_API, call), .name = name_, .kind = kind_,                             \
        .flags = SBT_SCHEMA_RESULT_ENUM, .result_enum = "toy_result",                              \
        .field_count = sizeof(fields_) / sizeof((fields_)[0]), .fields = fields_                   \
    }

static const struct sbt_schema schemas[] = {
    SCHEMA(TOY_INIT, "toyInit", SBT_KIND_INIT, init_fields),
    SCHEMA(TOY_FUNCTION, "toyGetFunction", SBT_KIND_CREATE, function_fields),
    SCHEMA(TOY_SEND, "toySend", SBT_KIND_COMMAND, send_fields),
    SCHEMA(TOY_LAUNCH, "toyLaunch", SBT_KIND_COMMAND, launch_fields),
    SCHEMA(TOY_WAIT, "toyWait", SBT_KIND_SYNC, init_fields),
    SCHEMA(TOY_ODD, "toyOdd", SBT_KIND_QUERY, odd_fields),
};

struct scene {
    struct sbt_writer *writer;
    uint64_t seq;
    uint64_t positions[4];
    uint64_t duration_ns; /* of the next call; 0: as usual */
};

static void check(int error)
{
    if (error >= 0)
        return;
    fprintf(stderr, "make_trace: %s\n", tsm_error_message());
    exit(1);
}

static void put(struct scene *s, struct sbt_record r)
{
    r.seq = s->seq;
    r.time_ns = 1000000 + s->seq * 1500;
    r.duration_ns = s->duration_ns ? s->duration_ns : 400;
    r.thread = 4711;
    if (r.stream != SBT_STREAM_NONE)
        r.position = ++s->positions[r.stream];
    s->seq++;
    check(sbt_writer_record(s->writer, &r));
}

#define PUT(s, call, stream_, result_, flags_, stack_, ...)                                        \
    do {                                                                                           \
        const uint64_t slots_[] = {__VA_ARGS__};                                                   \
        put(s, (struct sbt_record){.type = SBT_TYPE(TOY_API, call),                                \
                                   .stream = stream_,                                              \
                                   .result = result_,                                              \
                                   .flags = flags_,                                                \
                                   .stack = stack_,                                                \
                                   .slot_count = sizeof(slots_) / sizeof(slots_[0]),               \
                                   .slots = slots_});                                              \
    } while (0)

static void put_send(struct scene *s, uint32_t stream, uint64_t dst, const char *text)
{
    uint8_t reference[64];
    uint64_t size = strlen(text);
    const uint64_t slots[] = {dst, size, SBT_BLOB_ENCODED_SIZE(size)};

    check(sbt_writer_blob(s->writer, text, size, reference));
    put(s, (struct sbt_record){.type = SBT_TYPE(TOY_API, TOY_SEND),
                               .stream = stream,
                               .slot_count = 3,
                               .slots = slots,
                               .data = reference,
                               .data_size = SBT_BLOB_ENCODED_SIZE(size)});
}

static void put_launch(struct scene *s, uint32_t stream, uint32_t function, uint64_t grid,
                       uint32_t stack)
{
    static const uint8_t arguments[12] = {0, 0, 0, 0x50, 0, 0, 0, 0, 42, 0, 0, 0};
    const uint64_t slots[] = {function, grid, 2, 1, 128, 1, 1, sizeof(arguments), function == 1};

    put(s, (struct sbt_record){.type = SBT_TYPE(TOY_API, TOY_LAUNCH),
                               .stream = stream,
                               .stack = stack,
                               .slot_count = 9,
                               .slots = slots,
                               .data = arguments,
                               .data_size = sizeof(arguments)});
}

static void begin(struct scene *s, const char *path)
{
    static const struct sbt_session session = {
        .id = {0x10, 0x20, 0x30, 0x40, 0x50, 0x60, 0x47, 0x80, 0x90, 0xa0, 0xb0, 0xc0, 1, 2, 3, 4},
        .start_monotonic_ns = 1000,
        .start_realtime_ns = 1700000000000000000u,
        .clock = "monotonic",
    };
    static const uint64_t frames[] = {0x401136, 0x7f0000001000};
    const struct sbt_mapping mapping = {
        .start = 0x400000, .end = 0x402000, .path = "/nowhere/toy-program"};

    unlink(path);
    check(sbt_writer_create(&s->writer, path, &session, NULL));
    check(sbt_writer_metadata(s->writer, "host.name", "toybox"));
    check(sbt_writer_metadata(s->writer, "process.pid", "4711"));
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
        check(sbt_writer_enum(s->writer, &tables[i]));
    for (size_t i = 0; i < sizeof(schemas) / sizeof(schemas[0]); i++)
        check(sbt_writer_schema(s->writer, &schemas[i]));
    check(sbt_writer_string(s->writer, 1, "saxpy", 5));
    check(sbt_writer_string(s->writer, 2, "bell \a, \xc2\x9b, \xff", 13));
    check(sbt_writer_stack(s->writer, 1, frames, 2));
    check(sbt_writer_mapping(s->writer, &mapping));
}

/* Writes the calls of a tiny program; the caller gives a device address and a payload. */
static void put_program(struct scene *s, uint64_t dst, const char *payload)
{
    PUT(s, TOY_INIT, SBT_STREAM_NONE, 0, 0, 0, 3);
    PUT(s, TOY_FUNCTION, SBT_STREAM_NONE, 0, 0, 0, 1, 1);
    put_send(s, 0, dst, payload);
    put_launch(s, 0, 1, 64, 1);
    put_launch(s, 1, 2, 1, 0);
    PUT(s, TOY_WAIT, SBT_STREAM_NONE, 7, SBT_RECORD_FAILED, 1, 8);
    PUT(s, TOY_ODD, SBT_STREAM_NONE, 0, SBT_RECORD_TAINTS, 0, (uint64_t)-5, 0x3ff8000000000000u, 1,
        2, 2);
}

/* This very program's stack and mappings; `wrong` gives them a build-id that no file has. */
static __attribute__((noinline)) void put_self(struct scene *s, bool wrong)
{
    static const uint8_t wrong_id[] = {0xde, 0xad, 0xbe, 0xef};
    void *frames[16];
    uint64_t stack[16];
    int count = backtrace(frames, 16);
    char line[512], path[256];
    FILE *maps = fopen("/proc/self/maps", "r");

    for (int i = 0; i < count; i++)
        stack[i] = (uint64_t)(uintptr_t)frames[i];
    check(sbt_writer_stack(s->writer, 2, stack, (uint32_t)count));
    while (maps && fgets(line, sizeof(line), maps)) {
        unsigned long start, end, offset;
        if (sscanf(line, "%lx-%lx %*s %lx %*s %*s %255s", &start, &end, &offset, path) != 4 ||
            path[0] != '/')
            continue;
        const struct sbt_mapping mapping = {
            start, end, offset, path, wrong ? wrong_id : NULL, wrong ? sizeof(wrong_id) : 0};
        check(sbt_writer_mapping(s->writer, &mapping));
    }
    if (maps)
        fclose(maps);
    put_launch(s, 0, 1, 1, 2);
}

/* ---- structured values ---- */

static const struct sbt_member extra_members[] = {
    {"values", SBT_FIELD_UINT, SBT_FORM_LIST, ""},
    {"text", SBT_FIELD_STRING, SBT_FORM_ONE, ""},
};
static const struct sbt_member submit_members[] = {
    {"count", SBT_FIELD_UINT, SBT_FORM_ONE, ""},
    {"waits", SBT_FIELD_HANDLE, SBT_FORM_LIST, "semaphore"},
    {"masks", SBT_FIELD_FLAGS, SBT_FORM_LIST, "toy_colour"},
    {"next", SBT_FIELD_STRUCT, SBT_FORM_CHAIN, ""},
    {"host", SBT_FIELD_HOSTPTR, SBT_FORM_ONE, ""},
};
static const struct sbt_member submits_members[] = {
    {"submits", SBT_FIELD_STRUCT, SBT_FORM_LIST, "ToySubmit"}};
static const struct sbt_struct toy_structs[] = {
    {SBT_TYPE(TOY_API, 1), 0, "ToySubmits", 1, submits_members},
    {SBT_TYPE(TOY_API, 2), 0, "ToySubmit", 5, submit_members},
    {SBT_TYPE(TOY_API, 3), 0, "ToyExtra", 2, extra_members},
};
static const struct sbt_field submit_fields[] = {
    {"submits", SBT_FIELD_STRUCT, SBT_ROLE_NONE, "ToySubmits"},
    {"extra", SBT_FIELD_STRUCT, SBT_ROLE_NONE, "ToyExtra"},
};
static const struct sbt_schema submit_schema =
    SCHEMA(TOY_SUBMIT, "toySubmit", SBT_KIND_COMMAND, submit_fields);

static void put_extra(struct sbt_out *out, unsigned count)
{
    sbt_out_list(out, count);
    for (unsigned i = 0; i < count; i++)
        sbt_out_varint(out, i * i);
    sbt_out_text(out, count ? "a \"text\"" : NULL);
}

static void put_one_submit(struct sbt_out *out, uint64_t mask, uint64_t host, unsigned extra)
{
    size_t place;

    sbt_out_varint(out, 1);
    sbt_out_list(out, 1);
    sbt_out_varint(out, 3);
    sbt_out_list(out, 2);
    sbt_out_varint(out, 1);
    sbt_out_varint(out, mask);
    place = sbt_out_element(out, toy_structs[2].id);
    put_extra(out, extra);
    sbt_out_element_end(out, place);
    place = sbt_out_element(out, SBT_TYPE(TOY_API, 99));
    sbt_out_raw(out, "??", 2);
    sbt_out_element_end(out, place);
    sbt_out_chain_end(out);
    sbt_out_varint(out, host);
}

static void put_submit(struct scene *s, uint64_t mask, uint64_t host, unsigned count, bool cut)
{
    uint8_t data[1024] = {0};
    struct sbt_out out;
    uint64_t slots[2], first;

    sbt_out_init(&out, data + 1, sizeof(data) - 1, NULL, NULL);
    sbt_out_list(&out, 2);
    put_one_submit(&out, 2, host, 2);
    put_one_submit(&out, mask, host, 0);
    first = sbt_out_size(&out) + 1;
    slots[0] = cut ? first - 1 : first;
    sbt_out_raw(&out, "", 1); /* the next value's byte 0 */
    put_extra(&out, count);
    slots[1] = count ? first << 32 | (sbt_out_size(&out) + 1 - first) : 0;
    put(s, (struct sbt_record){.type = SBT_TYPE(TOY_API, TOY_SUBMIT),
                               .stream = 0,
                               .slot_count = 2,
                               .slots = slots,
                               .data = data,
                               .data_size = sbt_out_size(&out) + 1});
}

/* `other`: the second submit's second mask and a host pointer differ. */
static void put_structs(struct scene *s, bool other)
{
    for (size_t i = 0; i < sizeof(toy_structs) / sizeof(toy_structs[0]); i++)
        check(sbt_writer_struct(s->writer, &toy_structs[i]));
    check(sbt_writer_schema(s->writer, &submit_schema));
    put_submit(s, 1, other ? 0x2000 : 0x1000, 0, false);
    put_submit(s, other ? 3 : 1, 0x1000, 20, false);
    put_submit(s, 1, 0x1000, 0, true);
}

/* ---- ioctls that submit ---- */

static const struct sbt_member returned_members[] = {
    {"handle", SBT_FIELD_HANDLE, SBT_FORM_ONE, "fence"}};
static const struct sbt_struct returned_struct = {SBT_TYPE(SBT_API_DRM, 900), 0, "toy_returned", 1,
                                                  returned_members};
static const struct sbt_field ioctl_fields[] = {
    {"out", SBT_FIELD_STRUCT, SBT_ROLE_NONE, "toy_returned"}};
static const struct sbt_schema ioctl_schema = {.type = SBT_TYPE(SBT_API_DRM, 900),
                                               .name = "DRM_IOCTL_TOY_SUBMIT",
                                               .kind = SBT_KIND_COMMAND,
                                               .field_count = 1,
                                               .fields = ioctl_fields};

static void put_ioctl(struct scene *s, uint64_t number)
{
    uint8_t data[64] = {0};
    struct sbt_out out;
    uint64_t slot;

    sbt_out_init(&out, data + 1, sizeof(data) - 1, NULL, NULL);
    sbt_out_varint(&out, number);
    slot = sbt_out_size(&out) + 1; /* with its byte 0 */
    put(s, (struct sbt_record){.type = ioctl_schema.type,
                               .stream = 1,
                               .slot_count = 1,
                               .slots = &slot,
                               .data = data,
                               .data_size = sbt_out_size(&out) + 1});
}

/* A call that makes an ioctl, which returns a number, and one that returns none. */
static void put_ioctls(struct scene *s)
{
    check(sbt_writer_struct(s->writer, &returned_struct));
    check(sbt_writer_schema(s->writer, &ioctl_schema));
    s->duration_ns = 3000;
    put_send(s, 0, 0x1000, "payload");
    s->duration_ns = 0;
    put_ioctl(s, 8);
    put_ioctl(s, 0);
}

static void put_many(struct scene *s, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        put_launch(s, (uint32_t)(i & 3), 1, i & 1023, 1);
}

/* Writes the records that kernel_records.py generated. */
static void put_kernel(struct scene *s, const char *path)
{
    static uint8_t records[65536];
    FILE *file = fopen(path, "rb");
    size_t size = file ? fread(records, 1, sizeof(records), file) : 0;

    check(size ? sbt_writer_kernel_events(s->writer, records, size) : TSM_E_IO);
    fclose(file);
}

int main(int argc, char **argv)
{
    struct scene s = {0};
    struct sbt_totals totals = {0};
    const char *scene = argc > 2 ? argv[1] : "";

    if (argc < 3) {
        fprintf(stderr, "usage: make_trace "
                        "whole|other|torn|lossy|many|self|stranger|structs|structs_other|kernel|"
                        "ioctls "
                        "PATH [COUNT|RECORDS]\n");
        return 2;
    }
    begin(&s, argv[2]);
    PUT(&s, TOY_INIT, SBT_STREAM_NONE, 0, 0, 0, 1);
    if (strcmp(scene, "many") == 0)
        put_many(&s, argc > 3 ? strtoull(argv[3], NULL, 10) : 1000);
    else if (strcmp(scene, "structs") == 0 || strcmp(scene, "structs_other") == 0)
        put_structs(&s, strcmp(scene, "structs_other") == 0);
    else if (strcmp(scene, "ioctls") == 0)
        put_ioctls(&s);
    else if (strcmp(scene, "self") == 0 || strcmp(scene, "stranger") == 0)
        put_self(&s, strcmp(scene, "stranger") == 0);
    else
        put_program(&s, 0x5000000000, strcmp(scene, "other") == 0 ? "other text" : "payload text");
    if ((strcmp(scene, "kernel") == 0 || strcmp(scene, "ioctls") == 0) && argc > 3)
        put_kernel(&s, argv[3]);
    totals.lost_count = strcmp(scene, "lossy") == 0 ? 3 : 0;
    if (strcmp(scene, "torn") == 0)
        check(sbt_writer_flush(s.writer));
    else
        check(sbt_writer_finish(s.writer, &totals, SBT_END_FINISHED));
    sbt_writer_destroy(s.writer);
    return 0;
}
