/* SPDX-License-Identifier: Apache-2.0
 *
 * Comparing what was read with the sample. Apart from format_sample.c, because the counter of
 * failures in tests/unit/check.h is the including program's.
 */
#ifndef TESTS_UNIT_FORMAT_FORMAT_SAMPLE_CHECK_H
#define TESTS_UNIT_FORMAT_FORMAT_SAMPLE_CHECK_H

#include "tests/unit/check.h"
#include "tests/unit/format/format_sample.h"

#include <stdlib.h>

static inline bool sample_same(const struct sbt_record *got, uint64_t seq)
{
    static struct sample_record want;
    const struct sbt_record *w = &want.record;

    sample_make(&want, seq, NULL);
    return got->seq == seq && got->time_ns == w->time_ns && got->duration_ns == w->duration_ns &&
           got->type == w->type && got->thread == w->thread && got->stream == w->stream &&
           got->stack == w->stack && got->position == w->position && got->result == w->result &&
           got->flags == w->flags && got->slot_count == w->slot_count &&
           memcmp(got->slots, w->slots, 8 * (size_t)w->slot_count) == 0 &&
           got->data_size == w->data_size && memcmp(got->data, w->data, w->data_size) == 0;
}

static inline void sample_check_blob(struct sbt_reader *r, const struct sbt_record *record)
{
    static uint8_t want[SAMPLE_BLOB_MAX], got[SAMPLE_BLOB_MAX];
    size_t size = sample_blob(record->seq, want);
    struct sbt_blob blob;

    if (record->type != SAMPLE_TYPE_ALL || !CHECK(sbt_record_blob(record, 14, &blob)) ||
        !CHECK_EQ_INT((long long)blob.size, (long long)size))
        return;
    CHECK_EQ_INT(sbt_reader_blob(r, &blob, 0, got, size), 0);
    CHECK_EQ_MEM(got, want, size);
}

static inline void sample_check_tables(struct sbt_reader *r)
{
    const struct sbt_schema *schema = sbt_reader_schema(r, SAMPLE_TYPE_ALL);
    const struct sbt_mapping *mapping = sbt_reader_mapping(r, 0);
    const uint64_t *frames;

    CHECK_EQ_MEM(sbt_reader_session(r)->id, sample_session.id, 16);
    CHECK_EQ_STR(sbt_reader_session(r)->clock, "monotonic");
    CHECK_EQ_STR(sbt_reader_metadata_find(r, "process.pid"), "4711");
    CHECK_EQ_INT((long long)sbt_reader_metadata_count(r), 2);
    CHECK_EQ_INT((long long)sbt_reader_schema_count(r), SAMPLE_TYPE_COUNT);
    if (CHECK(schema)) {
        CHECK_EQ_STR(schema->name, "cuAll");
        CHECK_EQ_STR(schema->result_enum, "result");
        CHECK_EQ_INT(sbt_schema_role(schema, SBT_ROLE_PAYLOAD), 14);
        CHECK_EQ_STR(schema->fields[10].detail, "colour");
    }
    CHECK_EQ_STR(sbt_reader_enum_name(r, "colour", -5), "BLUE");
    CHECK_EQ_STR(sbt_reader_enum_name(r, "colour", 7), NULL);
    CHECK_EQ_STR(sbt_reader_string(r, 20), "string 20");
    CHECK_EQ_STR(sbt_reader_string(r, 0), "");
    CHECK_EQ_STR(sbt_reader_string(r, 21), NULL);
    CHECK_EQ_INT(sbt_reader_stack(r, 10, &frames), 10);
    CHECK_EQ_INT(sbt_reader_stack(r, 11, &frames), TSM_E_NOT_FOUND);
    CHECK_EQ_INT((long long)sbt_reader_mapping_count(r), 1);
    if (CHECK(mapping))
        CHECK_EQ_STR(mapping->path, "/usr/lib/libx.so");
}

static inline void sample_check_undamaged(const struct sbt_reader *r)
{
    for (size_t i = 0; i < sbt_reader_damage_count(r); i++)
        CHECK_EQ_STR(sbt_reader_damage(r, i), NULL);
}

/* Opens, or ends the test. */
static inline struct sbt_reader *sample_open(const char *path)
{
    struct sbt_reader *r = NULL;

    if (sbt_reader_open(&r, path) < 0) {
        fprintf(stderr, "%s\n", tsm_error_message());
        exit(1);
    }
    return r;
}

#endif
