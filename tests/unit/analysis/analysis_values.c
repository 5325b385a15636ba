/* SPDX-License-Identifier: Apache-2.0 -- where two structured values first differ. */
#include "format/values/struct_out.h"
#include "tests/unit/format/format_sample_check.h"
#include "tracesmith/analysis.h"
#include "tracesmith/writer.h"

#include <unistd.h>

static const struct sbt_member extra_members[] = {
    {"n", SBT_FIELD_INT, SBT_FORM_ONE, ""},
};
static const struct sbt_member choice_members[] = {
    {"small", SBT_FIELD_UINT, SBT_FORM_ONE, ""},
    {"real", SBT_FIELD_F32, SBT_FORM_ONE, ""},
};
static const struct sbt_member members[] = {
    {"handle", SBT_FIELD_HANDLE, SBT_FORM_ONE, "event"},
    {"host", SBT_FIELD_HOSTPTR, SBT_FORM_ONE, ""},
    {"list", SBT_FIELD_UINT, SBT_FORM_LIST, ""},
    {"text", SBT_FIELD_STRING, SBT_FORM_ONE, ""},
    {"bytes", SBT_FIELD_BYTES, SBT_FORM_ONE, ""},
    {"choice", SBT_FIELD_STRUCT, SBT_FORM_ONE, "Choice"},
    {"next", SBT_FIELD_STRUCT, SBT_FORM_CHAIN, ""},
};
static const struct sbt_struct structs[] = {
    {SBT_TYPE(4, 1), 0, "All", 7, members},
    {SBT_TYPE(4, 2), 0, "Extra", 1, extra_members},
    {SBT_TYPE(4, 3), SBT_STRUCT_UNION, "Choice", 2, choice_members},
};
static const struct sbt_field fields[] = {{"value", SBT_FIELD_STRUCT, SBT_ROLE_NONE, "All"}};
static const struct sbt_schema schema = {SBT_TYPE(4, 1), "vkAll", SBT_KIND_COMMAND, 0, "", 1,
                                         fields};

struct variation {
    uint64_t handle, host;
    unsigned list; /* length + 1 */
    const char *text;
    uint64_t bytes;
    unsigned choice;
    int extra[2]; /* 0: no element */
    bool cut, absent;
};

static const struct variation plain = {
    .handle = 1, .host = 16, .list = 3, .text = "t", .choice = 1, .extra = {5}};

static size_t put_value(uint8_t *data, size_t size, const struct variation *v)
{
    struct sbt_out out;

    data[0] = 0;
    sbt_out_init(&out, data + 1, size - 1, NULL, NULL);
    sbt_out_varint(&out, v->handle);
    sbt_out_varint(&out, v->host);
    sbt_out_varint(&out, v->list);
    for (unsigned i = 1; i < v->list; i++)
        sbt_out_varint(&out, i);
    sbt_out_text(&out, v->text);
    sbt_out_bytes(&out, &v->bytes, 8);
    sbt_out_varint(&out, v->choice);
    if (v->choice == 1)
        sbt_out_varint(&out, 7);
    else
        sbt_out_f32(&out, 7);
    for (int i = 0; i < 2; i++) {
        size_t place = v->extra[i] ? sbt_out_element(&out, structs[1].id) : 0;
        if (place) {
            sbt_out_zigzag(&out, v->extra[i]);
            sbt_out_element_end(&out, place);
        }
    }
    sbt_out_chain_end(&out);
    CHECK(!out.overflow);
    return v->absent ? 0 : sbt_out_size(&out) + 1 - v->cut;
}

static struct sbt_reader *make(const char *name, const struct variation *v)
{
    const char *path = sample_path(name);
    uint8_t data[256];
    const uint64_t slot = put_value(data, sizeof(data), v);
    const struct sbt_record record = {.type = schema.type,
                                      .position = 1,
                                      .slot_count = 1,
                                      .slots = &slot,
                                      .data = data,
                                      .data_size = slot};
    struct sbt_writer *w;

    unlink(path);
    CHECK_EQ_INT(sbt_writer_create(&w, path, &sample_session, NULL), 0);
    CHECK_EQ_INT(sbt_writer_metadata(w, "a", "b"), 0);
    for (int i = 0; i < 3; i++)
        CHECK_EQ_INT(sbt_writer_struct(w, &structs[i]), 0);
    CHECK_EQ_INT(sbt_writer_schema(w, &schema), 0);
    CHECK_EQ_INT(sbt_writer_record(w, &record), 0);
    CHECK_EQ_INT(sbt_writer_finish(w, NULL, SBT_END_FINISHED), 0);
    sbt_writer_destroy(w);
    return sample_open(path);
}

/* `path` NULL: there is no difference. */
static void check_diff(const struct variation *v, const char *path, const char *a, const char *b)
{
    struct sbt_reader *left = make("left.sbt", &plain), *right = make("right.sbt", v);
    struct tsm_diff_result result;

    CHECK_EQ_INT(tsm_diff(&result, left, right, NULL), 0);
    CHECK_EQ_INT(result.verdict, path ? TSM_DIFFERENT : TSM_SAME);
    CHECK_EQ_INT((long long)result.compared_count, path ? 0 : 1);
    if (path) {
        CHECK_EQ_STR(result.field, path);
        CHECK_EQ_STR(result.value_a, a);
        CHECK_EQ_STR(result.value_b, b);
    }
    sbt_reader_destroy(left);
    sbt_reader_destroy(right);
}

int main(void)
{
    struct variation v = plain;

    check_diff(&v, NULL, NULL, NULL);
    v.handle = 9, v.host = 17; /* another id for the same object */
    check_diff(&v, NULL, NULL, NULL);
    v = plain, v.handle = 0;
    check_diff(&v, "value.handle", "1", "0");
    v = plain, v.list = 4;
    check_diff(&v, "value.list", "a list of 2", "a list of 3");
    v = plain, v.list = 0;
    check_diff(&v, "value.list", "a list of 2", "none");
    v = plain, v.text = "u";
    check_diff(&v, "value.text", "t", "u");
    v = plain, v.text = NULL;
    check_diff(&v, "value.text", "text", "none");
    v = plain, v.bytes = 0x30000;
    check_diff(&v, "value.bytes", "byte 2 is 00", "byte 2 is 03");
    v = plain, v.choice = 2;
    check_diff(&v, "value.choice.small", "small", "real");
    v = plain, v.extra[0] = 6;
    check_diff(&v, "value.next[Extra].n", "5", "6");
    v = plain, v.extra[1] = 6;
    check_diff(&v, "value.next[Extra]", "the end", "struct Extra");
    v = plain, v.extra[0] = 0;
    check_diff(&v, "value.next[Extra]", "struct Extra", "the end");
    v = plain, v.cut = true;
    check_diff(&v, "value", "a value", "malformed");
    v = plain, v.absent = true;
    check_diff(&v, "value", "a value", "none");
    return check_result();
}
