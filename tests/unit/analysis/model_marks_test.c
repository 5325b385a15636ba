/* SPDX-License-Identifier: Apache-2.0 -- labels as the model gives them: of traces with and without
 * the fields that NVTX has, with values that are none, in ranges that do not nest in one another.
 */
#include "analysis/model/labels.h"
#include "analysis/model/pass.h"
#include "tests/unit/check.h"
#include "tracesmith/reader.h"
#include "tracesmith/writer.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { FIELDS_FIRST = 3, FIELDS = 9, RECORD_MAX = 32 };
#define MARK  SBT_TYPE(SBT_API_CORE, SBT_CORE_MARK)
#define RANGE (UINT64_C(1) << 32)
#define NEST  ((UINT64_C(1) << SBT_MARK_NEST_SHIFT) + 5)

static const char *const texts[] = {"", "outer", "inner", "range", "domain", "category"};

struct made {
    uint32_t thread;
    uint64_t slots[FIELDS];
};

/* Writes the marks, with the first `fields` of their fields. */
static struct sbt_reader *make(const struct made *marks, size_t count, uint32_t fields)
{
    static const struct sbt_session session = {.id = {1}, .clock = "monotonic"};
    struct sbt_schema schema = *sbt_core_schema(SBT_CORE_MARK);
    struct sbt_reader *reader = NULL;
    struct sbt_writer *w = NULL;
    char path[64];

    snprintf(path, sizeof(path), "/tmp/model_marks_%d.sbt", (int)getpid());
    unlink(path);
    schema.field_count = fields;
    CHECK_EQ_INT(sbt_writer_create(&w, path, &session, NULL), 0);
    CHECK_EQ_INT(sbt_writer_metadata(w, "process.pid", "1"), 0);
    CHECK_EQ_INT(sbt_writer_schema(w, &schema), 0);
    for (uint32_t i = 1; i < sizeof(texts) / sizeof(texts[0]); i++)
        CHECK_EQ_INT(sbt_writer_string(w, i, texts[i], strlen(texts[i])), 0);
    for (size_t i = 0; i < count; i++) {
        const struct sbt_record record = {.type = MARK,
                                          .seq = i,
                                          .time_ns = 10 * i,
                                          .thread = marks[i].thread,
                                          .stream = SBT_STREAM_NONE,
                                          .slots = marks[i].slots,
                                          .slot_count = fields};
        CHECK_EQ_INT(sbt_writer_record(w, &record), 0);
    }
    CHECK_EQ_INT(sbt_writer_finish(w, NULL, SBT_END_FINISHED), 0);
    sbt_writer_destroy(w);
    CHECK_EQ_INT(sbt_reader_open(&reader, path), 0);
    unlink(path);
    return reader;
}

static struct tsm_mark_node got[RECORD_MAX];
static size_t got_count;

static int keep(void *user, const struct tsm_mark_node *mark)
{
    got[got_count++] = *mark;
    return 0;
}

static void read_marks(const struct made *marks, size_t count, uint32_t fields)
{
    const struct tsm_model_visitor visitor = {.mark = keep};
    struct sbt_reader *reader = make(marks, count, fields);

    got_count = 0;
    CHECK_EQ_INT(tsm_model_pass(NULL, reader, NULL, &visitor), 0);
    CHECK_EQ_INT((long long)got_count, (long long)count);
    for (size_t i = 0; i < got_count; i++) { /* texts live as long as the reader */
        got[i].name = got[i].name ? texts[marks[i].slots[0]] : NULL;
        got[i].domain = got[i].domain ? "there" : NULL;
        got[i].category_name = got[i].category_name ? "there" : NULL;
    }
    sbt_reader_destroy(reader);
}

static void test_fields(void)
{
    static const struct made marks[] = {
        {1, {1, 1, 0, 4, 7, 5, 0xff00ff00, SBT_PAYLOAD_INT32, 0xfffffffb}},
        {1,
         {2, 0, RANGE + 1, 999, UINT64_MAX, 999, UINT64_MAX, 99, 5}}, /* nothing of it is sound */
    };

    read_marks(marks, 2, FIELDS);
    CHECK_EQ_STR(got[0].name, "outer");
    CHECK(got[0].domain && got[0].category_name);
    CHECK_EQ_INT(got[0].category, 7);
    CHECK_EQ_INT(got[0].color, 0xff00ff00);
    CHECK_EQ_INT(got[0].payload_type, SBT_PAYLOAD_INT32);
    CHECK_EQ_INT((long long)got[0].payload, 0xfffffffb);
    CHECK(!got[1].domain && !got[1].category_name);
    CHECK_EQ_INT(got[1].payload_type, SBT_PAYLOAD_NONE);
    CHECK_EQ_INT((long long)got[1].payload, 0);
    CHECK(tsm_mark_is_nested(&got[0]) && !tsm_mark_is_nested(&got[1]));

    read_marks(marks, 2, FIELDS_FIRST); /* an earlier version's */
    CHECK_EQ_STR(got[0].name, "outer");
    CHECK_EQ_INT(got[0].phase, TSM_MARK_BEGIN);
    CHECK_EQ_INT((long long)got[1].id, (long long)(RANGE + 1));
    CHECK(!got[0].domain && !got[0].color && !got[0].payload_type && !got[0].category);
}

/* Labels of two threads after each mark. */
static void test_labels(void)
{
    static const struct {
        struct made mark;
        const char *first, *second;
    } steps[] = {
        {{1, {3, 1, RANGE + 1}}, "range", NULL},
        {{1, {1, 1, 0}}, "outer", NULL},
        {{1, {2, 1, NEST}}, "inner", NULL},
        {{1, {0, 2, 0}}, "inner", NULL},
        {{2, {1, 1, 0}}, "inner", "outer"},
        {{1, {0, 2, NEST}}, "range", "outer"},
        {{2, {0, 2, RANGE + 1}}, NULL, "outer"},
        {{2, {0, 2, RANGE + 1}}, NULL, "outer"},
        {{2, {0, 2, 0}}, NULL, NULL},
        {{2, {0, 2, NEST}}, NULL, NULL},
    };
    enum { COUNT = sizeof(steps) / sizeof(steps[0]) };
    struct made marks[COUNT];
    struct tsm_labels labels = {0};
    struct sbt_cursor *cursor = NULL;
    const struct sbt_record *record;
    struct sbt_reader *reader;

    for (int i = 0; i < COUNT; i++)
        marks[i] = steps[i].mark;
    reader = make(marks, COUNT, FIELDS);
    CHECK_EQ_INT(sbt_cursor_create(&cursor, reader, NULL, 0), 0);
    for (int i = 0; i < COUNT && sbt_cursor_next(cursor, &record) == 1; i++) {
        CHECK_EQ_INT(tsm_labels_note(&labels, reader, record), 0);
        for (uint32_t thread = 1; thread <= 2; thread++) {
            const char *label = tsm_labels_of(&labels, thread);
            const char *due = thread == 1 ? steps[i].first : steps[i].second;

            if (!CHECK_EQ_STR(label, due))
                fprintf(stderr, "step %d, thread %u\n", i, thread);
        }
    }
    CHECK_EQ_INT((long long)labels.ranges.count, 0);
    sbt_cursor_destroy(cursor);
    tsm_labels_finish(&labels);
    sbt_reader_destroy(reader);
}

int main(void)
{
    test_fields();
    test_labels();
    return check_result();
}
