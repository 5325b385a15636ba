/* SPDX-License-Identifier: Apache-2.0
 *
 * Structured values: written, walked through, refused.
 */
#include "base/buffer.h"
#include "base/bytes.h"
#include "base/text.h"
#include "format/json.h"
#include "format/values/struct_out.h"
#include "tests/unit/format/format_sample_check.h"

#define MEMBER(name_, type_, form_, detail_)                                                       \
    {                                                                                              \
        name_, SBT_FIELD_##type_, SBT_FORM_##form_, detail_                                        \
    }

static const struct sbt_member point_members[] = {MEMBER("x", INT, ONE, ""),
                                                  MEMBER("y", INT, ONE, "")};
static const struct sbt_member choice_members[] = {MEMBER("number", F32, ONE, ""),
                                                   MEMBER("point", STRUCT, ONE, "Point")};
static const struct sbt_member extra_members[] = {MEMBER("more", UINT, LIST, "")};
static const struct sbt_member all_members[] = {
    MEMBER("uint", UINT, ONE, ""),           MEMBER("int", INT, ONE, ""),
    MEMBER("bool", BOOL, ONE, ""),           MEMBER("f64", F64, ONE, ""),
    MEMBER("handle", HANDLE, ONE, "sem"),    MEMBER("address", HOSTPTR, ONE, ""),
    MEMBER("colour", ENUM, ONE, "colour"),   MEMBER("text", STRING, ONE, ""),
    MEMBER("bytes", BYTES, ONE, ""),         MEMBER("points", STRUCT, LIST, "Point"),
    MEMBER("none", STRUCT, LIST, "Point"),   MEMBER("names", STRING, LIST, ""),
    MEMBER("choice", STRUCT, ONE, "Choice"), MEMBER("next", STRUCT, CHAIN, ""),
};
static const struct sbt_member deep_members[] = {MEMBER("in", STRUCT, LIST, "Deep")};
static const struct sbt_member hollow_members[] = {MEMBER("a", STRUCT, ONE, "Empty")};

#define STRUCT(number_, name_, flags_, members_)                                                   \
    {                                                                                              \
        SBT_TYPE(SBT_API_VULKAN, number_), flags_, name_,                                          \
            sizeof(members_) / sizeof((members_)[0]), members_                                     \
    }

enum { ALL, POINT, CHOICE, EXTRA, DEEP, HOLLOW, EMPTY, STRUCT_COUNT };
static const struct sbt_struct structs[STRUCT_COUNT] = {
    [ALL] = STRUCT(1, "All", 0, all_members),
    [POINT] = STRUCT(2, "Point", 0, point_members),
    [CHOICE] = STRUCT(3, "Choice", SBT_STRUCT_UNION, choice_members),
    [EXTRA] = STRUCT(4, "Extra", 0, extra_members),
    [DEEP] = STRUCT(5, "Deep", 0, deep_members),
    [HOLLOW] = STRUCT(6, "Hollow", 0, hollow_members),
    [EMPTY] = {SBT_TYPE(SBT_API_VULKAN, 7), 0, "Empty", 0, NULL},
};

static const struct sbt_field fields[] = {{"all", SBT_FIELD_STRUCT, SBT_ROLE_NONE, "All"}};
static const struct sbt_schema schema = {
    SBT_TYPE(SBT_API_VULKAN, 1), "vkAll", SBT_KIND_OTHER, 0, "", 1, fields};

static const char all_json[] =
    "{\"uint\":7,\"int\":-3,\"bool\":true,\"f64\":0.5,\"handle\":\"sem#3\",\"address\":\"0x1000\","
    "\"colour\":\"BLUE\",\"text\":\"t\\\"\",\"bytes\":\"00ff\",\"points\":[{\"x\":1,\"y\":-1},"
    "{\"x\":2,\"y\":-2}],\"none\":null,\"names\":[\"a\",null],\"choice\":{\"number\":1.5},"
    "\"next\":[{\"Extra\":{\"more\":[]}},{\"0x0004004d\":\"0102\"},{\"Empty\":{}}]}";

static void put_all(struct sbt_out *out)
{
    static const uint8_t bytes[] = {0, 255};
    size_t place;

    sbt_out_varint(out, 7);
    sbt_out_zigzag(out, -3);
    sbt_out_varint(out, 1);
    sbt_out_f64(out, 0.5);
    sbt_out_varint(out, 3);
    sbt_out_varint(out, 0x1000);
    sbt_out_zigzag(out, -5);
    sbt_out_text(out, "t\"");
    sbt_out_bytes(out, bytes, sizeof(bytes));
    sbt_out_list(out, 2);
    for (int i = 1; i <= 2; i++) {
        sbt_out_zigzag(out, i);
        sbt_out_zigzag(out, -i);
    }
    sbt_out_none(out);
    sbt_out_list(out, 2);
    sbt_out_text(out, "a");
    sbt_out_text(out, NULL);
    sbt_out_varint(out, 1); /* the union's first member */
    sbt_out_f32(out, 1.5f);
    place = sbt_out_element(out, structs[EXTRA].id);
    sbt_out_list(out, 0);
    sbt_out_element_end(out, place);
    place = sbt_out_element(out, SBT_TYPE(SBT_API_VULKAN, 77));
    sbt_out_raw(out, "\1\2", 2);
    sbt_out_element_end(out, place);
    place = sbt_out_element(out, structs[EMPTY].id);
    sbt_out_element_end(out, place);
    sbt_out_chain_end(out);
}

/* ---- writing ---- */

static struct sbt_writer *create(const char *name, bool append)
{
    struct sbt_writer_options options = {.append = append};
    struct sbt_writer *w = NULL;

    if (sbt_writer_create(&w, sample_path(name), &sample_session, &options) < 0) {
        fprintf(stderr, "%s\n", tsm_error_message());
        exit(1);
    }
    return w;
}

static void declare(struct sbt_writer *w)
{
    CHECK_EQ_INT(sample_tables(w), 0);
    for (int i = 0; i < STRUCT_COUNT; i++)
        CHECK_EQ_INT(sbt_writer_struct(w, &structs[i]), 0);
    CHECK_EQ_INT(sbt_writer_schema(w, &schema), 0);
}

static int add_record(struct sbt_writer *w, const uint8_t *data, size_t size)
{
    const uint64_t slot = size;
    const struct sbt_record record = {.seq = sbt_writer_record_count(w),
                                      .type = schema.type,
                                      .stream = SBT_STREAM_NONE,
                                      .slot_count = 1,
                                      .slots = &slot,
                                      .data = data,
                                      .data_size = size};

    return sbt_writer_record(w, &record);
}

/* A record with this value, inline. */
static int add_value(struct sbt_writer *w, const void *value, size_t size)
{
    struct tsm_buffer data = {0};
    int error;

    tsm_buffer_add_u8(&data, 0);
    tsm_buffer_add(&data, value, size);
    error = add_record(w, data.data, data.size);
    tsm_buffer_finish(&data);
    return error;
}

/* The same, kept in a blob; `stored` false: its bytes are not in the trace. */
static int add_kept(struct sbt_writer *w, const void *value, size_t size, bool stored)
{
    struct tsm_buffer data = {0};
    size_t encoded = stored ? SBT_BLOB_ENCODED_SIZE(size) : SBT_BLOB_KEYED_SIZE(size);
    uint8_t *p = tsm_buffer_reserve(&data, 1 + encoded);
    int error;

    *p = 1;
    data.size = 1 + encoded;
    error = stored ? sbt_writer_blob(w, value, size, p + 1) : 0;
    if (!stored) {
        tsm_put_u64(p + 1, size);
        memset(p + 9, 0x5a, data.size - 9);
    }
    if (!error)
        error = add_record(w, data.data, data.size);
    tsm_buffer_finish(&data);
    return error;
}

static void finish(struct sbt_writer *w)
{
    CHECK_EQ_INT(sbt_writer_finish(w, NULL, SBT_END_FINISHED), 0);
    sbt_writer_destroy(w);
}

/* ---- reading ---- */

/* The value of the only field of record `seq`, as JSON. */
static void check_json(struct sbt_reader *r, uint64_t seq, const char *want)
{
    const struct sbt_record *record;
    struct tsm_buffer line = {0};
    struct sbt_cursor *c;
    char *args, *end;

    CHECK_EQ_INT(sbt_cursor_create(&c, r, NULL, 0), 0);
    sbt_cursor_seek(c, seq);
    if (CHECK_EQ_INT(sbt_cursor_next(c, &record), 1)) {
        CHECK_EQ_INT(sbt_json_record(&line, r, record), 0);
        tsm_buffer_add_u8(&line, 0);
        args = strstr((char *)line.data, "\"all\":") + 6;
        end = strstr(args, "}}\n");
        *end = '\0';
        CHECK_EQ_STR(args, want);
    }
    tsm_buffer_finish(&line);
    sbt_cursor_destroy(c);
}

static int violations;
static char last_violation[256];

static void report(void *user, uint64_t offset, const char *text)
{
    (void)user, (void)offset;
    violations++;
    tsm_format(last_violation, sizeof(last_violation), "%s", text);
}

static void test_round_trip(void)
{
    uint8_t memory[512];
    struct sbt_out out;
    struct sbt_writer *w = create("round.sbt", false);
    struct sbt_reader *r;

    declare(w);
    sbt_out_init(&out, memory, sizeof(memory), NULL, NULL);
    put_all(&out);
    CHECK(!out.overflow);
    CHECK_EQ_INT(add_value(w, out.start, sbt_out_size(&out)), 0);
    CHECK_EQ_INT(add_kept(w, out.start, sbt_out_size(&out), true), 0);
    CHECK_EQ_INT(add_record(w, NULL, 0), 0);
    CHECK_EQ_INT(add_kept(w, out.start, sbt_out_size(&out), false), 0);
    finish(w);
    r = sample_open(sample_path("round.sbt"));
    check_json(r, 0, all_json);
    check_json(r, 1, all_json);
    check_json(r, 2, "null");
    tsm_format((char *)memory, sizeof(memory), "{\"missing_blob\":%zu}", sbt_out_size(&out));
    check_json(r, 3, (char *)memory);
    CHECK_EQ_INT(sbt_reader_struct_count(r), STRUCT_COUNT);
    CHECK_EQ_STR(sbt_reader_struct_at(r, POINT)->name, "Point");
    CHECK_EQ_INT(sbt_reader_struct(r, "Choice")->flags, SBT_STRUCT_UNION);
    CHECK(sbt_reader_struct_by_id(r, structs[EXTRA].id) == sbt_reader_struct(r, "Extra"));
    CHECK(!sbt_reader_struct(r, "Nothing"));
    sbt_reader_destroy(r);
    violations = 0;
    CHECK_EQ_INT(sbt_check(sample_path("round.sbt"), report, NULL), 1);
    CHECK_EQ_STR(last_violation, "record 3: slot 0 names a piece that is not there before it");
}

/* A READBACK record whose piece is not there, and perhaps another such record, whose piece must be.
 */
static int check_readback(uint64_t features, bool has_other)
{
    const uint64_t slots[] = {0, 0, 0, 8, SBT_BLOB_KEYED_SIZE(8)};
    const uint32_t type = SBT_TYPE(SBT_API_CORE, SBT_CORE_READBACK);
    struct sbt_session session = sample_session;
    uint8_t reference[SBT_BLOB_KEYED_SIZE(8)];
    struct sbt_record record = {.type = type, .slot_count = 5, .slots = slots, .data = reference};
    struct sbt_writer *w;

    tsm_put_u64(reference, 8);
    memset(reference + 8, 0x5a, 16);
    record.stream = SBT_STREAM_NONE;
    record.data_size = sizeof(reference);
    session.optional_features = features;
    remove(sample_path("readback.sbt"));
    CHECK_EQ_INT(sbt_writer_create(&w, sample_path("readback.sbt"), &session, NULL), 0);
    declare(w);
    CHECK_EQ_INT(sbt_writer_schema(w, sbt_core_schema(SBT_CORE_READBACK)), 0);
    CHECK_EQ_INT(sbt_writer_record(w, &record), 0);
    if (has_other)
        CHECK_EQ_INT(add_kept(w, "12345678", 8, false), 0);
    finish(w);
    violations = 0;
    return sbt_check(sample_path("readback.sbt"), report, NULL);
}

static void test_readbacks_without_bytes(void)
{
    CHECK_EQ_INT(check_readback(SBT_OPTIONAL_NO_READBACKS, false), 0);
    CHECK_EQ_INT(check_readback(0, false), 1);
    CHECK_EQ_STR(last_violation, "record 0: slot 4 names a piece that is not there before it");
    CHECK_EQ_INT(check_readback(SBT_OPTIONAL_NO_READBACKS, true), 1);
    CHECK_EQ_STR(last_violation, "record 1: slot 0 names a piece that is not there before it");
    CHECK_EQ_INT(check_readback(SBT_OPTIONAL_NO_CONTENTS, true), 0);
}

static void test_refused_by_the_writer(void)
{
    const struct sbt_member bad_members[] = {MEMBER("b", BLOB, ONE, "")};
    const struct sbt_member odd_members[] = {MEMBER("c", UINT, CHAIN, "")};
    const struct sbt_member named_members[] = {MEMBER("c", STRUCT, CHAIN, "Point")};
    struct sbt_writer *w = create("refused.sbt", false);
    struct sbt_struct other = structs[POINT], bad = STRUCT(9, "Bad", 0, bad_members);
    static const uint8_t wrong_kind[] = {2, 0};

    declare(w);
    CHECK_EQ_INT(sbt_writer_struct(w, &structs[POINT]), 0); /* again */
    other.member_count = 1;
    CHECK_EQ_INT(sbt_writer_struct(w, &other), TSM_E_ARGUMENT);
    other = structs[POINT];
    other.id = SBT_TYPE(SBT_API_VULKAN, 50);
    CHECK_EQ_INT(sbt_writer_struct(w, &other), TSM_E_ARGUMENT); /* the name is taken */
    other.name = "New";
    CHECK_EQ_INT(sbt_writer_struct(w, &other), 0); /* and the id is not */
    other.id = SBT_TYPE(SBT_API_VULKAN, 0);
    other.name = "Zero";
    CHECK_EQ_INT(sbt_writer_struct(w, &other), TSM_E_ARGUMENT);
    CHECK_EQ_INT(sbt_writer_struct(w, &bad), TSM_E_ARGUMENT);
    bad.members = odd_members;
    CHECK_EQ_INT(sbt_writer_struct(w, &bad), TSM_E_ARGUMENT);
    bad.members = named_members;
    CHECK_EQ_INT(sbt_writer_struct(w, &bad), TSM_E_ARGUMENT);
    bad.members = point_members;
    bad.flags = 2 * SBT_STRUCT_UNION;
    CHECK_EQ_INT(sbt_writer_struct(w, &bad), TSM_E_ARGUMENT);
    CHECK_EQ_INT(add_record(w, wrong_kind, sizeof(wrong_kind)), TSM_E_ARGUMENT);
    finish(w);
    CHECK_EQ_INT(sbt_check(sample_path("refused.sbt"), report, NULL), 0);
}

/* A trace that was cut off is continued with the structs that it has. */
static void test_append(void)
{
    struct sbt_writer *w = create("append.sbt", false);
    struct sbt_struct other = structs[POINT];
    struct sbt_reader *r;
    uint8_t memory[512];
    struct sbt_out out;

    declare(w);
    sbt_out_init(&out, memory, sizeof(memory), NULL, NULL);
    put_all(&out);
    CHECK_EQ_INT(add_kept(w, out.start, sbt_out_size(&out), true), 0);
    CHECK_EQ_INT(sbt_writer_flush(w), 0);
    sbt_writer_destroy(w);
    w = create("append.sbt", true);
    other.name = "Other";
    CHECK_EQ_INT(sbt_writer_struct(w, &other), TSM_E_ARGUMENT);
    declare(w);
    CHECK_EQ_INT(add_kept(w, out.start, sbt_out_size(&out), true), 0);
    finish(w);
    CHECK_EQ_INT(sbt_check(sample_path("append.sbt"), report, NULL), 0);
    r = sample_open(sample_path("append.sbt"));
    check_json(r, 1, all_json);
    CHECK_EQ_INT(sbt_reader_struct_count(r), STRUCT_COUNT);
    sbt_reader_destroy(r);
}

/* ---- malformed values ---- */

static struct sbt_reader *empty;

static int walk(const char *name, const uint8_t *data, size_t size, unsigned *steps)
{
    struct sbt_walk walk;
    struct sbt_step step;
    int got = sbt_walk_begin(&walk, empty, name, data, size);

    for (*steps = 0; got >= 0 && (got = sbt_walk_next(&walk, &step)) == 1;)
        ++*steps;
    if (got == TSM_E_FORMAT)
        CHECK_EQ_INT(sbt_walk_next(&walk, &step), got); /* it stays so */
    return got;
}

#define CHECK_WALK(want, name, ...)                                                                \
    do {                                                                                           \
        static const uint8_t bytes_[] = {__VA_ARGS__};                                             \
        unsigned steps_;                                                                           \
        CHECK_EQ_INT(walk(name, bytes_, sizeof(bytes_), &steps_), want);                           \
    } while (0)

static void test_malformed(void)
{
    CHECK_WALK(0, "Point", 2, 4);
    CHECK_WALK(0, "Point", 0x82, 0x80, 0, 4); /* padded */
    CHECK_WALK(TSM_E_FORMAT, "Point", 2);
    CHECK_WALK(TSM_E_FORMAT, "Point", 2, 4, 6);
    CHECK_WALK(TSM_E_FORMAT, "Point", 2, 0x84);
    CHECK_WALK(TSM_E_NOT_FOUND, "Nothing", 2, 4);
    CHECK_WALK(0, "Choice", 0);
    CHECK_WALK(0, "Choice", 2, 2, 4);
    CHECK_WALK(TSM_E_FORMAT, "Choice", 3, 0);
    CHECK_WALK(TSM_E_FORMAT, "Choice", 1, 0, 0, 0); /* a float of three bytes */
    CHECK_WALK(0, "Extra", 0);
    CHECK_WALK(0, "Extra", 3, 1, 2);
    CHECK_WALK(TSM_E_FORMAT, "Extra", 4, 1, 2);
    CHECK_WALK(TSM_E_FORMAT, "Extra", 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1);
    CHECK_WALK(TSM_E_FORMAT, "Hollow", 1); /* a struct of nothing inside */
}

/* 16 structs and 16 lists are 32 levels; a list that is not there is none. */
static void test_nesting(void)
{
    uint8_t bytes[40];
    unsigned steps;

    memset(bytes, 2, sizeof(bytes));
    bytes[15] = 1;
    CHECK_EQ_INT(walk("Deep", bytes, 16, &steps), 0);
    CHECK_EQ_INT(steps, 64);
    bytes[15] = 2;
    bytes[16] = 0;
    CHECK_EQ_INT(walk("Deep", bytes, 17, &steps), TSM_E_FORMAT);
    CHECK_EQ_INT(steps, 32);
}

/* ---- output ---- */

static bool grow(struct sbt_out *out, size_t size)
{
    struct tsm_buffer *b = out->user;
    size_t used = sbt_out_size(out);

    b->size = used;
    if (!tsm_buffer_reserve(b, size < 64 ? 64 : size))
        return false;
    *out = (struct sbt_out){b->data, b->data + used, b->data + b->capacity, false, grow, b};
    return true;
}

static void test_output_grows_or_overflows(void)
{
    uint8_t small[20], large[512];
    struct tsm_buffer memory = {0};
    struct sbt_out fixed, growing, whole;

    sbt_out_init(&whole, large, sizeof(large), NULL, NULL);
    put_all(&whole);
    sbt_out_init(&fixed, small, sizeof(small), NULL, NULL);
    put_all(&fixed);
    CHECK(fixed.overflow);
    CHECK(sbt_out_size(&fixed) <= sizeof(small));
    sbt_out_init(&growing, NULL, 0, grow, &memory);
    put_all(&growing);
    CHECK(!growing.overflow);
    CHECK_EQ_INT(sbt_out_size(&growing), sbt_out_size(&whole));
    CHECK_EQ_MEM(growing.start, whole.start, sbt_out_size(&whole));
    tsm_buffer_finish(&memory);
}

int main(void)
{
    struct sbt_writer *w = create("empty.sbt", false);

    test_round_trip();
    test_readbacks_without_bytes();
    test_refused_by_the_writer();
    test_append();
    declare(w);
    finish(w);
    empty = sample_open(sample_path("empty.sbt"));
    test_malformed();
    test_nesting();
    sbt_reader_destroy(empty);
    test_output_grows_or_overflows();
    return check_result();
}
