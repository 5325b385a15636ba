/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/format/format_sample.h"

#include "base/bytes.h"
#include "base/hash.h"
#include "base/text.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const struct sbt_session sample_session = {
    .id = {0x5b, 1, 2, 3, 4, 5, 0x46, 7, 0x88, 9, 10, 11, 12, 13, 14, 15},
    .start_monotonic_ns = 123456789,
    .start_realtime_ns = 1700000000000000000u,
    .clock = "monotonic",
};

static const struct sbt_field all_fields[] = {
    {"uint", SBT_FIELD_UINT, SBT_ROLE_NONE, ""},
    {"int", SBT_FIELD_INT, SBT_ROLE_NONE, ""},
    {"hex", SBT_FIELD_HEX, SBT_ROLE_NONE, ""},
    {"bool", SBT_FIELD_BOOL, SBT_ROLE_NONE, ""},
    {"f32", SBT_FIELD_F32, SBT_ROLE_NONE, ""},
    {"f64", SBT_FIELD_F64, SBT_ROLE_NONE, ""},
    {"handle", SBT_FIELD_HANDLE, SBT_ROLE_OBJECT, "event"},
    {"devptr", SBT_FIELD_DEVPTR, SBT_ROLE_DST, ""},
    {"hostptr", SBT_FIELD_HOSTPTR, SBT_ROLE_HOST_SRC, ""},
    {"size", SBT_FIELD_SIZE, SBT_ROLE_SIZE, ""},
    {"enum", SBT_FIELD_ENUM, SBT_ROLE_NONE, "colour"},
    {"flags", SBT_FIELD_FLAGS, SBT_ROLE_NONE, "options"},
    {"string", SBT_FIELD_STRING, SBT_ROLE_NAME, ""},
    {"bytes", SBT_FIELD_BYTES, SBT_ROLE_ARGUMENTS, ""},
    {"blob", SBT_FIELD_BLOB, SBT_ROLE_PAYLOAD, ""},
};
#define ALL_COUNT (sizeof(all_fields) / sizeof(all_fields[0]))

static const struct sbt_enum_value colours[] = {{"RED", 0}, {"GREEN", 1}, {"BLUE", -5}};
static const struct sbt_enum_value options_values[] = {{"A", 1}, {"B", 2}, {"BOTH", 3}, {"D", 8}};
static const struct sbt_enum_value results[] = {{"OK", 0}, {"E_INVALID", 1}};
static const struct sbt_enum tables[] = {
    {"colour", 3, colours}, {"options", 4, options_values}, {"result", 2, results}};

static uint64_t random_of(uint64_t seq, uint64_t salt)
{
    uint64_t x = (seq * 64 + salt + 1) * 0x9e3779b97f4a7c15u;

    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    return x ^ x >> 31;
}

static struct sbt_schema schema_of(uint32_t type, struct sbt_field wide[SBT_FIELD_COUNT_MAX],
                                   char names[SBT_FIELD_COUNT_MAX][8])
{
    if (type == SAMPLE_TYPE_ALL)
        return (struct sbt_schema){type,     "cuAll",   SBT_KIND_COMMAND, SBT_SCHEMA_RESULT_ENUM,
                                   "result", ALL_COUNT, all_fields};
    if (type == SAMPLE_TYPE_EMPTY)
        return (struct sbt_schema){type, "cuEmpty", SBT_KIND_SYNC, 0, "", 0, NULL};
    for (unsigned i = 0; i < SBT_FIELD_COUNT_MAX; i++) {
        tsm_format(names[i], 8, "w%u", i);
        wide[i] = (struct sbt_field){names[i], SBT_FIELD_UINT, SBT_ROLE_NONE, ""};
    }
    return (struct sbt_schema){type, "cuWide", SBT_KIND_QUERY, 0, "", SBT_FIELD_COUNT_MAX, wide};
}

size_t sample_blob(uint64_t seq, uint8_t out[SAMPLE_BLOB_MAX])
{
    static const size_t sizes[] = {
        0, 256, 300, SBT_PIECE_SIZE, SBT_PIECE_SIZE + 7, SAMPLE_BLOB_MAX};
    size_t size = seq % 90 == 4 ? sizes[seq / 90 % 6] : seq % 5 == 2 ? 300 : seq % 16;

    /* Every third one is zeros; the others repeat after 37, so that pieces are shared. */
    for (size_t i = 0; i < size; i++)
        out[i] = seq % 3 == 0 ? 0 : (uint8_t)(random_of(seq % 37, i / 8) >> (i % 8 * 8));
    return size;
}

/* The same reference as the writer's, for a reader's test. */
static void blob_reference(const uint8_t *data, size_t size, uint8_t *out)
{
    static const uint8_t zero[SBT_PIECE_SIZE];

    if (size > 0 && size <= 256) {
        tsm_put_u64(out, size | 1ull << 63);
        memcpy(out + 8, data, size);
        return;
    }
    tsm_put_u64(out, size);
    for (size_t at = 0, n = 0; at < size; at += SBT_PIECE_SIZE, n++) {
        size_t piece = size - at < SBT_PIECE_SIZE ? size - at : SBT_PIECE_SIZE;
        struct sbt_key key = {{0}};
        if (memcmp(data + at, zero, piece) != 0)
            key = tsm_hash_key(data + at, piece);
        memcpy(out + 8 + 16 * n, key.bytes, 16);
    }
}

static int make_all(struct sample_record *s, uint64_t seq, struct sbt_writer *w)
{
    static uint8_t blob[SAMPLE_BLOB_MAX];
    size_t size = sample_blob(seq, blob), bytes = seq % 19;
    int error = 0;

    for (unsigned i = 0; i < 10; i++)
        s->slots[i] = i % 2 ? random_of(seq, i) : seq * i;
    s->slots[1] = (uint64_t) - (int64_t)seq;
    s->slots[3] &= 1;
    s->slots[4] = random_of(seq, 4) & 0xffffffffu;
    s->slots[6] = seq % 5;
    s->slots[10] = (uint64_t)(int64_t)(seq % 3 == 2 ? -5 : (int64_t)(seq % 3));
    s->slots[11] = seq % 32;
    s->slots[12] = seq % 21;
    s->slots[13] = (uint64_t)bytes;
    s->slots[14] = (uint64_t)bytes << 32 | SBT_BLOB_ENCODED_SIZE(size);
    for (size_t i = 0; i < bytes; i++)
        s->data[i] = (uint8_t)random_of(seq, 32 + i);
    if (w)
        error = sbt_writer_blob(w, blob, size, s->data + bytes);
    else
        blob_reference(blob, size, s->data + bytes);
    s->record.slot_count = ALL_COUNT;
    s->record.data_size = bytes + SBT_BLOB_ENCODED_SIZE(size);
    return error;
}

int sample_make(struct sample_record *s, uint64_t seq, struct sbt_writer *w)
{
    static const uint32_t types[] = {SAMPLE_TYPE_ALL, SAMPLE_TYPE_EMPTY, SAMPLE_TYPE_ALL,
                                     SAMPLE_TYPE_WIDE};
    struct sbt_record *r = &s->record;

    *r = (struct sbt_record){
        .seq = seq,
        .time_ns = 1000 * seq + random_of(seq, 50) % 3000,
        .duration_ns = random_of(seq, 51) % 5000,
        .type = types[random_of(seq, 52) % 4],
        .thread = 4000 + (uint32_t)(seq % 3),
        .stream = seq % 7 == 6 ? SBT_STREAM_NONE : (uint32_t)(seq / 50 % 7 * 10 + seq % 3),
        .stack = (uint32_t)(seq % 11),
        .position = seq % 7 == 6 ? 0 : seq / 3 + 1,
        .result = seq % 13 == 5   ? 1
                  : seq % 13 == 6 ? -7
                                  : 0,
        .flags = seq % 13 == 5   ? SBT_RECORD_FAILED
                 : seq % 41 == 0 ? SBT_RECORD_TAINTS
                                 : 0,
        .slots = s->slots,
        .data = s->data,
    };
    if (r->type == SAMPLE_TYPE_ALL)
        return make_all(s, seq, w);
    if (r->type == SAMPLE_TYPE_WIDE) {
        r->slot_count = SBT_FIELD_COUNT_MAX;
        for (unsigned i = 0; i < SBT_FIELD_COUNT_MAX; i++)
            s->slots[i] = random_of(seq, i) >> i;
    }
    return 0;
}

int sample_tables(struct sbt_writer *w)
{
    static const struct sbt_mapping mapping = {
        0x1000, 0x9000, 0x200, "/usr/lib/libx.so", (const uint8_t *)"\x12\x34\x56", 3};
    struct sbt_field wide[SBT_FIELD_COUNT_MAX];
    char names[SBT_FIELD_COUNT_MAX][8];
    int error = sbt_writer_metadata(w, "process.pid", "1");

    if (!error)
        error = sbt_writer_metadata(w, "process.name", "sample \"quoted\" \xc3\xa9");
    if (!error)
        error = sbt_writer_metadata(w, "process.pid", "4711");
    for (uint32_t i = 0; !error && i < SAMPLE_TYPE_COUNT; i++) {
        struct sbt_schema schema = schema_of(SAMPLE_TYPE_ALL + i, wide, names);
        error = sbt_writer_schema(w, &schema);
    }
    for (size_t i = 0; !error && i < 3; i++)
        error = sbt_writer_enum(w, &tables[i]);
    for (uint32_t i = 1; !error && i <= 20; i++) {
        char text[32];
        error = sbt_writer_string(w, i, text, tsm_format(text, sizeof(text), "string %u", i));
    }
    for (uint32_t i = 1; !error && i <= 10; i++) {
        uint64_t frames[10];
        for (uint32_t f = 0; f < i; f++)
            frames[f] = 0x7f0000000000u + random_of(f, 60) % 65536;
        error = sbt_writer_stack(w, i, frames, i);
    }
    return error ? error : sbt_writer_mapping(w, &mapping);
}

int sample_records(struct sbt_writer *w, uint64_t first, uint64_t end)
{
    static struct sample_record s;
    int error = 0;

    for (uint64_t seq = first; seq < end && !error; seq++) {
        error = sample_make(&s, seq, w);
        if (!error)
            error = sbt_writer_record(w, &s.record);
    }
    return error;
}

int sample_write(const char *path, uint64_t count, const struct sbt_writer_options *options)
{
    struct sbt_writer *w;
    int error = sbt_writer_create(&w, path, &sample_session, options);

    if (error)
        return error;
    error = sample_tables(w);
    if (!error)
        error = sample_records(w, 0, count);
    if (!error)
        error = sbt_writer_finish(w, NULL, SBT_END_FINISHED);
    sbt_writer_destroy(w);
    return error;
}

/* ---- temporary files ---- */

static char folder[64];

static void remove_folder(void)
{
    DIR *d = opendir(folder);
    struct dirent *e;

    while (d && (e = readdir(d))) {
        char path[512];
        tsm_format(path, sizeof(path), "%s/%s", folder, e->d_name);
        unlink(path);
    }
    if (d)
        closedir(d);
    rmdir(folder);
}

const char *sample_path(const char *name)
{
    static char path[160];

    if (!folder[0]) {
        /* In memory where there is such: these tests write many files, and wait for the disk. */
        tsm_format(folder, sizeof(folder), "%s/sbt-test-XXXXXX",
                   access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
        if (!mkdtemp(folder)) {
            perror(folder);
            exit(1);
        }
        atexit(remove_folder);
    }
    tsm_format(path, sizeof(path), "%s/%s", folder, name);
    return path;
}
