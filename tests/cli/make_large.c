/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes a trace with very many of one thing in a small file: make_large KIND COUNT PATH.
 * make_large --list: the kinds, a line each. Kinds are those in `kinds`, `core-N` for each core
 * record, and `role-K-A`: records of kind K of API A with a field of each role.
 */
#include "tracesmith/writer.h"

#include "base/buffer.h"
#include "base/bytes.h"
#include "format/values/struct_out.h"
#include "tracesmith/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOY_API    7
#define ROLE_COUNT (SBT_ROLE_STREAM_MADE + 1)
#define FRAMES     SBT_STACK_DEPTH_MAX

struct trace {
    struct sbt_writer *writer;
    uint64_t seq;
    uint32_t count;
};

static void must(int error)
{
    if (error >= 0)
        return;
    fprintf(stderr, "make_large: %s\n", tsm_error_message());
    exit(1);
}

/* ---- records ---- */

static void put_record(struct trace *t, struct sbt_record r)
{
    r.seq = t->seq++;
    r.time_ns = 1000 + r.seq * 10;
    if (!r.duration_ns)
        r.duration_ns = 5;
    if (!r.thread)
        r.thread = 1;
    must(sbt_writer_record(t->writer, &r));
}

static void put_schema(struct trace *t, uint32_t call, const struct sbt_field *field)
{
    const struct sbt_schema schema = {.type = SBT_TYPE(TOY_API, call),
                                      .name = "call",
                                      .kind = SBT_KIND_COMMAND,
                                      .result_enum = "",
                                      .field_count = field ? 1 : 0,
                                      .fields = field};

    must(sbt_writer_schema(t->writer, &schema));
}

static void put_value(struct trace *t, uint32_t call, uint64_t value, uint32_t stack)
{
    put_record(t, (struct sbt_record){.type = SBT_TYPE(TOY_API, call),
                                      .stack = stack,
                                      .position = t->seq + 1,
                                      .slots = &value,
                                      .slot_count = 1});
}

static const struct sbt_field number_field = {"value", SBT_FIELD_UINT, SBT_ROLE_NONE, ""};

/* ---- tables ---- */

static void put_stacks(struct trace *t, uint64_t base, uint64_t step)
{
    uint64_t frames[FRAMES], at = base;

    put_schema(t, 1, &number_field);
    for (uint32_t i = 0; i < t->count / FRAMES; i++) {
        for (unsigned k = 0; k < FRAMES; k++, at += step)
            frames[k] = at;
        must(sbt_writer_stack(t->writer, i + 1, frames, FRAMES));
        put_value(t, 1, i, i + 1);
    }
}

/* `is_apart`: each lies in a file of its own. */
static void put_mappings(struct trace *t, bool is_apart)
{
    char path[64] = "/nowhere/lib.so";

    for (uint32_t i = 0; i < t->count; i++) {
        const struct sbt_mapping mapping = {.start = 0x10000000 + (uint64_t)i * 4096,
                                            .end = 0x10000000 + (uint64_t)i * 4096 + 4096,
                                            .file_offset = is_apart ? 0 : (uint64_t)(i % 7) << 40,
                                            .path = path};

        if (is_apart)
            snprintf(path, sizeof(path), "/nowhere/%x", i);
        must(sbt_writer_mapping(t->writer, &mapping));
    }
    put_stacks(t, 0x10000001, 4096);
}

static void make_mappings(struct trace *t)
{
    put_mappings(t, false);
}

static void make_files(struct trace *t)
{
    put_mappings(t, true);
}

/* Each covers the ones before it, so the last one that does not must be found. */
static void make_covered(struct trace *t)
{
    for (uint32_t i = 0; i < t->count; i++) {
        const struct sbt_mapping mapping = {.start = 0x10000000 + (uint64_t)i * 16,
                                            .end = 0x10000000 + (uint64_t)t->count * 32 - i * 16ull,
                                            .path = "/nowhere/lib.so"};

        must(sbt_writer_mapping(t->writer, &mapping));
    }
    put_stacks(t, 0x10000001, 16);
}

static void make_frames(struct trace *t)
{
    put_stacks(t, 4096, 1);
}

static void make_metadata(struct trace *t)
{
    char name[32];

    for (uint32_t i = 0; i < t->count; i++) {
        snprintf(name, sizeof(name), "name.%x", i);
        must(sbt_writer_metadata(t->writer, name, "/srv/data/file"));
    }
    put_schema(t, 1, &number_field);
    put_value(t, 1, 1, 0);
}

/* Folders of home: names of users. */
static void make_users(struct trace *t)
{
    char name[32], value[32];

    for (uint32_t i = 0; i < t->count; i++) {
        snprintf(name, sizeof(name), "name.%x", i);
        snprintf(value, sizeof(value), "/%s/%x/file", "home", i);
        must(sbt_writer_metadata(t->writer, name, value));
    }
    put_schema(t, 1, &number_field);
    put_value(t, 1, 1, 0);
}

static void make_strings(struct trace *t)
{
    static const struct sbt_field field = {"name", SBT_FIELD_STRING, SBT_ROLE_FUNCTION_NAME, ""};
    char text[32];

    put_schema(t, 1, &field);
    for (uint32_t i = 0; i < t->count; i++) {
        int size = snprintf(text, sizeof(text), "/srv/data/%x", i);
        must(sbt_writer_string(t->writer, i + 1, text, (size_t)size));
        put_value(t, 1, i + 1, 0);
    }
}

static void make_schemas(struct trace *t)
{
    for (uint32_t i = 1; i < t->count && i < 65536; i++) {
        put_schema(t, i, &number_field);
        put_value(t, i, i, 0);
    }
}

/* One value table: every record has a number that is not in it, or is the last. */
static void make_values(struct trace *t)
{
    static struct sbt_enum_value values[65536];
    static char names[65536][8];
    const struct sbt_enum table = {"table", 65536, values};
    static const struct sbt_field fields[] = {{"enum", SBT_FIELD_ENUM, SBT_ROLE_NONE, "table"},
                                              {"flags", SBT_FIELD_FLAGS, SBT_ROLE_NONE, "table"}};
    const struct sbt_schema schema = {.type = SBT_TYPE(TOY_API, 1),
                                      .name = "call",
                                      .kind = SBT_KIND_COMMAND,
                                      .flags = SBT_SCHEMA_RESULT_ENUM,
                                      .result_enum = "table",
                                      .field_count = 2,
                                      .fields = fields};

    for (unsigned i = 0; i < 65536; i++) {
        snprintf(names[i], sizeof(names[i]), "v%x", i);
        values[i] = (struct sbt_enum_value){names[i], i * 3};
    }
    must(sbt_writer_enum(t->writer, &table));
    must(sbt_writer_schema(t->writer, &schema));
    for (uint32_t i = 0; i < 4 * t->count; i++) {
        uint64_t slots[2] = {i, UINT64_MAX >> i % 64};

        put_record(t, (struct sbt_record){.type = SBT_TYPE(TOY_API, 1),
                                          .position = t->seq + 1,
                                          .result = 1,
                                          .slots = slots,
                                          .slot_count = 2});
    }
}

static void make_enums(struct trace *t)
{
    static const struct sbt_enum_value value = {"one", 1};
    char name[32];

    for (uint32_t i = 0; i < t->count; i++) {
        const struct sbt_enum table = {name, 1, &value};
        const struct sbt_field field = {"enum", SBT_FIELD_ENUM, SBT_ROLE_NONE, name};

        snprintf(name, sizeof(name), "table%x", i);
        must(sbt_writer_enum(t->writer, &table));
        if (i == t->count - 1)
            put_schema(t, 1, &field);
    }
    for (uint32_t i = 0; i < t->count; i++)
        put_value(t, 1, 1, 0);
}

/* ---- structs ---- */

static void put_struct(struct trace *t, uint32_t number, const char *name, uint32_t count,
                       const struct sbt_member *members)
{
    const struct sbt_struct structure = {.id = SBT_TYPE(1 + number / 65535, 1 + number % 65535),
                                         .name = name,
                                         .member_count = count,
                                         .members = members};

    must(sbt_writer_struct(t->writer, &structure));
}

/* Each holds the one before it. */
static void make_structs(struct trace *t)
{
    char names[2][16] = {"s0", ""};
    const struct sbt_member first = {"value", SBT_FIELD_UINT, SBT_FORM_ONE, ""};
    const struct sbt_field field = {"value", SBT_FIELD_STRUCT, SBT_ROLE_NONE, "s9"};
    const uint8_t data[80] = {0};
    uint64_t slot = 1;

    put_struct(t, 0, "s0", 1, &first);
    for (uint32_t i = 1; i < t->count; i++) {
        const struct sbt_member member = {"in", SBT_FIELD_STRUCT, SBT_FORM_ONE, names[~i & 1]};

        snprintf(names[i & 1], sizeof(names[0]), "s%x", i);
        put_struct(t, i, names[i & 1], 1, &member);
    }
    put_schema(t, 1, &field);
    for (uint32_t i = 0; i < 100; i++) {
        slot = 10 + i % 64;
        put_record(t, (struct sbt_record){.type = SBT_TYPE(TOY_API, 1),
                                          .position = t->seq + 1,
                                          .slots = &slot,
                                          .slot_count = 1,
                                          .data = data,
                                          .data_size = sizeof(data)});
    }
}

/* 16 that hold 4096 each, of the one after: more members than any file has bytes. */
static void make_members(struct trace *t)
{
    static struct sbt_member members[4096];
    char names[17][8];
    const struct sbt_field field = {"value", SBT_FIELD_STRUCT, SBT_ROLE_NONE, "s0"};
    static const uint8_t data[100000];
    uint64_t slot = sizeof(data);

    for (unsigned i = 0; i < 17; i++)
        snprintf(names[i], sizeof(names[i]), "s%u", i);
    put_struct(t, 16, "s16", 0, members);
    for (unsigned i = 0; i < 16; i++) {
        for (unsigned k = 0; k < 4096; k++)
            members[k] = (struct sbt_member){names[0], SBT_FIELD_STRUCT, (k + i) % 2, names[i + 1]};
        put_struct(t, i, names[i], 4096, members);
    }
    put_schema(t, 1, &field);
    for (uint32_t i = 0; i < t->count / 4096 + 1; i++)
        put_record(t, (struct sbt_record){.type = SBT_TYPE(TOY_API, 1),
                                          .position = t->seq + 1,
                                          .slots = &slot,
                                          .slot_count = 1,
                                          .data = data,
                                          .data_size = sizeof(data)});
}

/* ---- streams, threads, chunks, pieces ---- */

static void make_streams(struct trace *t)
{
    put_schema(t, 1, &number_field);
    for (uint32_t i = 0; i < 2 * t->count; i++) {
        uint64_t slot = i;
        put_record(t, (struct sbt_record){.type = SBT_TYPE(TOY_API, 1),
                                          .stream = i % t->count,
                                          .position = i / t->count + 1,
                                          .slots = &slot,
                                          .slot_count = 1});
    }
}

/* Calls that lie in each other: all of them are open at the end. */
static void put_threads(struct trace *t, bool is_one)
{
    put_schema(t, 1, &number_field);
    for (uint32_t i = 0; i < t->count; i++) {
        uint64_t slot = i;
        put_record(t, (struct sbt_record){.type = SBT_TYPE(TOY_API, 1),
                                          .thread = is_one ? 1 : i + 1,
                                          .duration_ns = (uint64_t)t->count * 100 - i * 20ull,
                                          .position = i + 1,
                                          .slots = &slot,
                                          .slot_count = 1});
    }
}

static void make_threads(struct trace *t)
{
    put_threads(t, false);
}

static void make_nested(struct trace *t)
{
    put_threads(t, true);
}

static void make_chunks(struct trace *t)
{
    put_schema(t, 1, &number_field);
    for (uint32_t i = 0; i < t->count / 8; i++) {
        put_value(t, 1, i, 0);
        must(sbt_writer_flush(t->writer));
    }
}

/* Launches of kernels, whose times come 100 records later, in labels that never end. */
static void make_timed(struct trace *t)
{
    static const struct sbt_field fields[] = {
        {"name", SBT_FIELD_STRING, SBT_ROLE_FUNCTION_NAME, ""},
        {"grid", SBT_FIELD_UINT, SBT_ROLE_GRID_X, ""}};
    const struct sbt_schema schema = {.type = SBT_TYPE(TOY_API, 1),
                                      .name = "launch",
                                      .kind = SBT_KIND_COMMAND,
                                      .result_enum = "",
                                      .field_count = 2,
                                      .fields = fields};
    char text[32];

    must(sbt_writer_schema(t->writer, &schema));
    must(sbt_writer_schema(t->writer, sbt_core_schema(SBT_CORE_GPU_TIME)));
    must(sbt_writer_schema(t->writer, sbt_core_schema(SBT_CORE_MARK)));
    for (uint32_t i = 0; i < t->count; i++) {
        const uint64_t slots[2] = {1 + i % 64, i % 8}, mark[9] = {1 + i % 64, 1, i};
        const uint64_t time[13] = {i % 4, i / 4 - 24, 0, 1000 + i * 20ull, 7 + i % 1000, 1, 2, 0};

        if (i < 64) {
            int size = snprintf(text, sizeof(text), "kernel_%x", i);
            must(sbt_writer_string(t->writer, i + 1, text, (size_t)size));
        }
        put_record(t, (struct sbt_record){.type = schema.type,
                                          .stream = i % 4,
                                          .position = i / 4 + 1,
                                          .slots = slots,
                                          .slot_count = 2});
        if (i >= 100)
            put_record(t, (struct sbt_record){.type = SBT_TYPE(SBT_API_CORE, SBT_CORE_GPU_TIME),
                                              .stream = SBT_STREAM_NONE,
                                              .slots = time,
                                              .slot_count = 13});
        if (i % 16 == 0)
            put_record(t, (struct sbt_record){.type = SBT_TYPE(SBT_API_CORE, SBT_CORE_MARK),
                                              .stream = SBT_STREAM_NONE,
                                              .slots = mark,
                                              .slot_count = 9});
    }
}

static void make_pieces(struct trace *t)
{
    static const struct sbt_field field = {"bytes", SBT_FIELD_BLOB, SBT_ROLE_PAYLOAD, ""};
    uint8_t bytes[300] = {0}, reference[SBT_BLOB_ENCODED_MAX(300)];
    uint64_t slot = SBT_BLOB_ENCODED_SIZE(300);

    put_schema(t, 1, &field);
    for (uint32_t i = 0; i < t->count; i++) {
        tsm_put_u32(bytes, i + 1);
        must(sbt_writer_blob(t->writer, bytes, sizeof(bytes), reference));
        put_record(t, (struct sbt_record){.type = SBT_TYPE(TOY_API, 1),
                                          .position = t->seq + 1,
                                          .slots = &slot,
                                          .slot_count = 1,
                                          .data = reference,
                                          .data_size = slot});
    }
}

/* ---- the kernel's records ---- */

struct kernel {
    struct trace *trace;
    struct tsm_buffer records;
    uint64_t gseq;
};

static void put_kernel(struct kernel *k, uint8_t type, uint32_t ring, uint64_t ctx, uint64_t seqno,
                       uint64_t value, const void *body, size_t size)
{
    uint8_t r[64] = {0};

    tsm_put_u16(r, (uint16_t)(sizeof(r) + size));
    r[2] = type;
    tsm_put_u64(r + 8, 1000 + k->gseq * 5);
    tsm_put_u64(r + 16, k->gseq);
    tsm_put_u32(r + 24, ring);
    tsm_put_u32(r + 28, 1);
    tsm_put_u32(r + 32, (uint32_t)k->gseq++);
    tsm_put_u32(r + 36, 1 + (uint32_t)ctx);
    tsm_put_u64(r + 40, ctx);
    tsm_put_u64(r + 48, seqno);
    tsm_put_u64(r + 56, value);
    tsm_buffer_add(&k->records, r, sizeof(r));
    if (size)
        tsm_buffer_add(&k->records, body, size);
}

static void end_kernel(struct kernel *k)
{
    must(sbt_writer_kernel_events(k->trace->writer, k->records.data, k->records.size));
    tsm_buffer_finish(&k->records);
    put_schema(k->trace, 1, &number_field);
    for (uint32_t i = 0; i < k->trace->count / 16; i++)
        put_value(k->trace, 1, i, 0);
}

static struct kernel begin_kernel(struct trace *t)
{
    static const uint8_t body[64];
    struct kernel k = {.trace = t};

    put_kernel(&k, 1, 0, 0, 0, 0, body, sizeof(body));
    return k;
}

/* Names of rings, then events of the last one and of none. */
static void make_rings(struct trace *t)
{
    struct kernel k = begin_kernel(t);
    uint8_t body[64] = {4, 0, 0, 0, 0, 0, 0, 0, 'r'};

    for (uint32_t i = 0; i < t->count; i++)
        put_kernel(&k, 2, i, 0, 0, 0, body, sizeof(body));
    for (uint32_t i = 0; i < t->count; i++)
        put_kernel(&k, (uint8_t)(4 + i % 4), t->count + i, 1, i, 0, NULL, 0);
    end_kernel(&k);
}

static void put_jobs(struct trace *t, uint64_t contexts, uint64_t numbers, const uint8_t *types,
                     uint32_t type_count)
{
    struct kernel k = begin_kernel(t);

    for (uint32_t i = 0; i < t->count; i++) {
        for (uint32_t j = 0; j < type_count; j++)
            put_kernel(&k, types[j], 1 + i % 3, i % contexts, i % numbers, 0, NULL, 0);
    }
    end_kernel(&k);
}

static void make_jobs(struct trace *t)
{
    put_jobs(t, UINT32_MAX, UINT32_MAX, (const uint8_t[]){3, 4, 5, 6, 7}, 5);
}

static void make_same_jobs(struct trace *t)
{
    put_jobs(t, 1, 1, (const uint8_t[]){3, 4, 5, 6, 7}, 5);
}

static void make_open_jobs(struct trace *t)
{
    put_jobs(t, 1, UINT32_MAX, (const uint8_t[]){4, 5}, 2);
}

static void make_waits(struct trace *t)
{
    put_jobs(t, UINT32_MAX, 2, (const uint8_t[]){10, 11, 12}, 3);
}

static void make_sessions(struct trace *t)
{
    put_jobs(t, 5, 2, (const uint8_t[]){1, 4}, 2);
}

/* Threads that come and go on CPUs, each with a name, irqs in each other, block requests. */
static void make_cpu(struct trace *t)
{
    static const uint8_t info[64] = {[24] = 8};
    struct kernel k = {.trace = t};
    uint8_t name[16] = "name";

    put_kernel(&k, 1, 0, 0, 0, 0, info, sizeof(info));
    for (uint32_t i = 0; i < t->count; i++) {
        memcpy(name + 4, &i, sizeof(i));
        put_kernel(&k, (uint8_t)(64 + i % 2), 0, i, i * 7ull, i % 3, name, sizeof(name));
        put_kernel(&k, (uint8_t)(66 + i % 4 % 3), 0, i, i, i, name, sizeof(name));
    }
    end_kernel(&k);
}

/* ---- of each kind ---- */

static uint64_t slot_of(const struct sbt_field *field, uint32_t i, uint32_t *data_at,
                        struct tsm_buffer *data)
{
    static const uint8_t bytes[16] = {1};

    *data_at = (uint32_t)data->size;
    switch (field->type) {
    case SBT_FIELD_STRING:
        return 1;
    case SBT_FIELD_BYTES:
        tsm_buffer_add(data, bytes, sizeof(bytes));
        break;
    case SBT_FIELD_BLOB:
        tsm_buffer_add_u64(data, 4 | 1ull << 63);
        tsm_buffer_add(data, &i, sizeof(i));
        break;
    case SBT_FIELD_DEVPTR:
    case SBT_FIELD_HOSTPTR:
        return 0x100000 + (uint64_t)i * 256;
    case SBT_FIELD_SIZE:
        return field->role == SBT_ROLE_NONE ? i : 256;
    default:
        return i + 1;
    }
    return (uint64_t)*data_at << 32 | (data->size - *data_at);
}

/* One record of a schema: object number i, on stream i % 1024. */
static void put_of(struct trace *t, const struct sbt_schema *schema, uint32_t i, bool on_stream)
{
    static struct tsm_buffer data;
    uint64_t slots[SBT_FIELD_COUNT_MAX];
    uint32_t at;

    tsm_buffer_clear(&data);
    for (uint32_t k = 0; k < schema->field_count; k++)
        slots[k] = slot_of(&schema->fields[k], i, &at, &data);
    put_record(t, (struct sbt_record){.type = schema->type,
                                      .stream = on_stream ? i % 1024 : SBT_STREAM_NONE,
                                      .position = on_stream ? i / 1024 + 1 : 0,
                                      .slots = slots,
                                      .slot_count = schema->field_count,
                                      .data = data.data,
                                      .data_size = data.size});
}

static void make_core(struct trace *t, uint32_t call)
{
    const struct sbt_schema *schema = sbt_core_schema(call);

    if (!schema)
        exit(1);
    for (uint32_t i = 0; sbt_core_enum(i); i++)
        must(sbt_writer_enum(t->writer, sbt_core_enum(i)));
    must(sbt_writer_string(t->writer, 1, "text", 4));
    must(sbt_writer_schema(t->writer, schema));
    for (uint32_t i = 0; i < t->count; i++)
        put_of(t, schema, i, false);
}

/* Objects and memory are made, then commands, then what `kind` does with them. */
static void make_role(struct trace *t, uint32_t kind, uint32_t api)
{
    static const enum sbt_field_type types[ROLE_COUNT] = {0,
                                                          SBT_FIELD_HANDLE,
                                                          SBT_FIELD_DEVPTR,
                                                          SBT_FIELD_DEVPTR,
                                                          SBT_FIELD_SIZE,
                                                          SBT_FIELD_BLOB,
                                                          SBT_FIELD_HOSTPTR,
                                                          SBT_FIELD_HOSTPTR,
                                                          SBT_FIELD_HANDLE,
                                                          SBT_FIELD_STRING,
                                                          SBT_FIELD_UINT,
                                                          SBT_FIELD_UINT,
                                                          SBT_FIELD_UINT,
                                                          SBT_FIELD_UINT,
                                                          SBT_FIELD_UINT,
                                                          SBT_FIELD_UINT,
                                                          SBT_FIELD_SIZE,
                                                          SBT_FIELD_BYTES,
                                                          SBT_FIELD_UINT,
                                                          SBT_FIELD_UINT,
                                                          SBT_FIELD_HANDLE,
                                                          SBT_FIELD_STRING,
                                                          SBT_FIELD_DEVPTR,
                                                          SBT_FIELD_BLOB,
                                                          SBT_FIELD_UINT};
    struct sbt_field fields[ROLE_COUNT - 1];
    struct sbt_schema schemas[3] = {
        {.kind = SBT_KIND_CREATE}, {.kind = SBT_KIND_COMMAND}, {.kind = kind}};
    char names[ROLE_COUNT][8];

    for (uint32_t i = 1; i < ROLE_COUNT; i++) {
        snprintf(names[i], sizeof(names[i]), "role%u", i);
        fields[i - 1] =
            (struct sbt_field){names[i], types[i], i, types[i] == SBT_FIELD_HANDLE ? "object" : ""};
    }
    must(sbt_writer_string(t->writer, 1, "text", 4));
    for (uint32_t i = 0; i < 3; i++) {
        schemas[i].type = SBT_TYPE(api, 60000 + i);
        schemas[i].name = "call";
        schemas[i].result_enum = "";
        schemas[i].fields = fields;
        schemas[i].field_count = ROLE_COUNT - 1;
        must(sbt_writer_schema(t->writer, &schemas[i]));
        for (uint32_t k = 0; k < t->count / 4; k++)
            put_of(t, &schemas[i], k, i == 1);
    }
}

/* CUDA's streams, each of which waits for an event of the one before it, and records its own; then
 * the host waits for all. */
static void make_order(struct trace *t)
{
    static const struct sbt_field field = {"event", SBT_FIELD_HANDLE, SBT_ROLE_OBJECT, "event"};
    static const enum sbt_kind kinds[3] = {SBT_KIND_WAIT, SBT_KIND_SIGNAL, SBT_KIND_SYNC};
    struct sbt_schema schema = {
        .name = "call", .result_enum = "", .fields = &field, .field_count = 1};

    for (uint32_t i = 0; i < 3; i++) {
        schema.type = SBT_TYPE(SBT_API_CUDA, 60000 + i);
        schema.kind = kinds[i];
        schema.field_count = i < 2;
        must(sbt_writer_schema(t->writer, &schema));
    }
    for (uint32_t i = 0; i < t->count; i++) {
        const uint32_t what = i % 8 == 7 ? 2 : i % 2, stream = i / 2 % 60000;
        const uint64_t event = what ? stream + 1 : stream;

        put_record(t, (struct sbt_record){.type = SBT_TYPE(SBT_API_CUDA, 60000 + what),
                                          .stream = what == 2 ? SBT_STREAM_NONE : stream,
                                          .position = what == 2 ? 0 : i + 1,
                                          .slots = &event,
                                          .slot_count = what < 2});
    }
}

/* Packets on four of HSA's queues, a quarter with a barrier: each of 1,000 signals is set, has some
 * in `rounds`, and the host waits for it; it looks at one of `looks` (0: none) in between. */
static void put_packets(struct trace *t, uint32_t rounds, uint32_t looks)
{
    static const struct sbt_field fields[] = {
        {"signal", SBT_FIELD_HANDLE, SBT_ROLE_OBJECT, "signal"},
        {"value", SBT_FIELD_INT, SBT_ROLE_NONE, ""},
        {"header", SBT_FIELD_FLAGS, SBT_ROLE_NONE, ""}};
    static const char *const names[] = {"hsa_signal_store_relaxed", "aql_kernel_dispatch",
                                        "hsa_signal_wait_scacquire"};
    static const enum sbt_kind call_kinds[] = {SBT_KIND_STATE, SBT_KIND_COMMAND, SBT_KIND_SYNC};
    struct sbt_schema schema = {.result_enum = "", .field_count = 3, .fields = fields};
    uint64_t left[1000] = {0};

    for (uint32_t i = 0; i < 3; i++) {
        schema.type = SBT_TYPE(SBT_API_HSA, 60000 + i);
        schema.name = names[i];
        schema.kind = call_kinds[i];
        must(sbt_writer_schema(t->writer, &schema));
    }
    for (uint32_t i = 0; i < t->count; i++) {
        const uint32_t g = i % 1000, round = i / 1000 % rounds;
        const bool is_look = round + 1 == rounds || (looks && (i / 1000 + g) % looks == 0);
        const uint32_t what = round ? 1 + is_look : 0;
        const uint64_t slots[3] = {g + 1, left[g] = what ? left[g] - (what == 1) : rounds,
                                   i / 4 % 4 ? 0 : 0x100};

        put_record(t, (struct sbt_record){.type = SBT_TYPE(SBT_API_HSA, 60000 + what),
                                          .stream = what == 1 ? i % 4 : SBT_STREAM_NONE,
                                          .position = what == 1 ? i + 1 : 0,
                                          .slots = slots,
                                          .slot_count = 3});
    }
}

static void make_packets(struct trace *t)
{
    put_packets(t, 9, 0);
}

static void make_looks(struct trace *t)
{
    put_packets(t, 62, 5);
}

/* ---- all ---- */

static const struct {
    const char *name;
    void (*make)(struct trace *t);
} kinds[] = {
    {"mappings", make_mappings},
    {"files", make_files},
    {"covered", make_covered},
    {"frames", make_frames},
    {"metadata", make_metadata},
    {"users", make_users},
    {"strings", make_strings},
    {"schemas", make_schemas},
    {"values", make_values},
    {"enums", make_enums},
    {"structs", make_structs},
    {"members", make_members},
    {"streams", make_streams},
    {"threads", make_threads},
    {"nested", make_nested},
    {"chunks", make_chunks},
    {"pieces", make_pieces},
    {"timed", make_timed},
    {"rings", make_rings},
    {"jobs", make_jobs},
    {"same-jobs", make_same_jobs},
    {"open-jobs", make_open_jobs},
    {"waits", make_waits},
    {"sessions", make_sessions},
    {"cpu", make_cpu},
    {"order", make_order},
    {"packets", make_packets},
    {"looks", make_looks},
};
#define KIND_COUNT (sizeof(kinds) / sizeof(kinds[0]))

static void list(void)
{
    for (size_t i = 0; i < KIND_COUNT; i++)
        puts(kinds[i].name);
    for (uint32_t call = 1; call < SBT_CORE_END; call++)
        if (sbt_core_schema(call))
            printf("core-%u\n", call);
    for (uint32_t api = SBT_API_CUDA; api <= SBT_API_DRM; api++)
        for (uint32_t kind = 0; kind <= SBT_KIND_META; kind++)
            printf("role-%u-%u\n", kind, api);
}

static void make(struct trace *t, const char *name)
{
    unsigned kind, api;

    if (sscanf(name, "core-%u", &kind) == 1) {
        make_core(t, kind);
        return;
    }
    if (sscanf(name, "role-%u-%u", &kind, &api) == 2) {
        make_role(t, kind, api);
        return;
    }
    for (size_t i = 0; i < KIND_COUNT; i++) {
        if (strcmp(kinds[i].name, name) == 0) {
            kinds[i].make(t);
            return;
        }
    }
    fprintf(stderr, "make_large: no kind %s\n", name);
    exit(2);
}

int main(int argc, char **argv)
{
    const struct sbt_session session = {
        .id = {1, 2, 3, 4, 5, 6, 0x47, 8, 0x89}, .start_monotonic_ns = 1000, .clock = "monotonic"};
    const struct sbt_totals none = {0};
    struct trace t = {0};

    if (argc == 2 && strcmp(argv[1], "--list") == 0) {
        list();
        return 0;
    }
    if (argc != 4)
        return 2;
    t.count = (uint32_t)strtoul(argv[2], NULL, 10);
    must(sbt_writer_create(&t.writer, argv[3], &session, NULL));
    must(sbt_writer_metadata(t.writer, "process.pid", "1"));
    make(&t, argv[1]);
    must(sbt_writer_finish(t.writer, &none, SBT_END_FINISHED));
    sbt_writer_destroy(t.writer);
    return 0;
}
