/* SPDX-License-Identifier: Apache-2.0 -- when two traces without a difference are not the same. */
#include "format/chunk/chunk.h"
#include "tests/unit/format/format_sample_check.h"
#include "tracesmith/analysis.h"
#include "tracesmith/writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SEND = SBT_TYPE(9, 1), WAIT = SBT_TYPE(9, 2), ODD = SBT_TYPE(9, 3), MAKE = SBT_TYPE(9, 4) };

static const struct sbt_field send_fields[] = {
    {"value", SBT_FIELD_UINT, SBT_ROLE_NONE, ""},
    {"extra", SBT_FIELD_UINT, SBT_ROLE_NONE, ""},
};

/* Unusual properties of a trace. */
struct variation {
    uint32_t flags, stream;
    uint32_t field_count; /* of SEND; 0: one */
    uint64_t extra;
    uint64_t of_stream; /* of the readback */
    uint64_t later;     /* positions after the second, which the readback is of */
    char byte;          /* added to the readback's */
    uint32_t wait_flags;
    unsigned waits;
    unsigned makes; /* records of another kind, on the stream */
    uint64_t made;
    char memory;       /* in a checkpoint at the start; 0: no checkpoint */
    uint64_t position; /* added to all positions */
    uint64_t gap;      /* records that are missing after the commands */
    bool odd, stopped, cut, repaired;
    bool is_seen_early;   /* a result of the first command, too */
    bool is_not_seen;     /* no result of the second one */
    bool is_held;         /* that result may hold what others wrote */
    unsigned held_writes; /* of host memory, which commands may have written */
    char held_byte;
    bool by_threads;   /* ... each by another one */
    bool by_other;     /* ... by one that sends no command */
    bool is_scattered; /* there is one of a few bytes among others */
    struct sbt_totals totals;
};

static const struct variation plain;

static struct sbt_writer *w;
static const char *path;
static struct stat before_gap;
static uint64_t seq;
static uint32_t thread = 1;

static void put(uint32_t type, uint32_t stream, uint64_t position, uint32_t flags,
                const uint64_t *slots, uint32_t count, const uint8_t *data, size_t size)
{
    const struct sbt_record record = {.seq = seq++,
                                      .type = type,
                                      .thread = thread,
                                      .stream = stream,
                                      .position = position,
                                      .flags = flags,
                                      .slot_count = count,
                                      .slots = slots,
                                      .data = data,
                                      .data_size = size};

    CHECK_EQ_INT(sbt_writer_record(w, &record), 0);
}

static void put_schemas(const struct variation *v)
{
    const struct sbt_schema schemas[] = {
        {SEND, "send", SBT_KIND_COMMAND, 0, "", v->field_count ? v->field_count : 1, send_fields},
        {WAIT, "wait", SBT_KIND_SYNC, 0, "", 0, NULL},
        {ODD, "odd", SBT_KIND_STATE, SBT_SCHEMA_TAINTS, "", 0, NULL},
        {MAKE, "make", SBT_KIND_CREATE, 0, "", 1, send_fields},
    };

    for (size_t i = 0; i < 4; i++)
        CHECK_EQ_INT(sbt_writer_schema(w, &schemas[i]), 0);
    for (uint32_t i = 1; i < SBT_CORE_END; i++)
        if (sbt_core_schema(i))
            CHECK_EQ_INT(sbt_writer_schema(w, sbt_core_schema(i)), 0);
}

static void put_held_write(char byte)
{
    uint8_t blob[SBT_BLOB_ENCODED_SIZE(1)];
    const uint64_t slots[] = {0x8000, 1, sizeof(blob), SBT_STREAM_NONE, 0};

    CHECK_EQ_INT(sbt_writer_blob(w, &byte, 1, blob), 0);
    put(SBT_TYPE(0, SBT_CORE_HOST_WRITE), SBT_STREAM_NONE, 0, SBT_RECORD_HELD, slots, 5, blob,
        sizeof(blob));
}

/* Writes the first and the last one of three bytes. */
static void put_scattered_write(void)
{
    static const uint8_t runs[] = {0, 1, 1, 1};
    uint8_t data[sizeof(runs) + SBT_BLOB_ENCODED_SIZE(3)];
    const uint64_t slots[] = {0x8000, 3, (uint64_t)sizeof(runs) << 32 | SBT_BLOB_ENCODED_SIZE(3),
                              sizeof(runs)};

    memcpy(data, runs, sizeof(runs));
    CHECK_EQ_INT(sbt_writer_blob(w, "a\0b", 3, data + sizeof(runs)), 0);
    put(SBT_TYPE(0, SBT_CORE_HOST_RUNS), SBT_STREAM_NONE, 0, 0, slots, 4, data, sizeof(data));
}

static void put_blob(uint32_t type, uint32_t flags, const uint64_t *slots, uint32_t count,
                     char byte)
{
    uint8_t blob[SBT_BLOB_ENCODED_SIZE(1)];
    uint64_t all[8];

    CHECK_EQ_INT(sbt_writer_blob(w, &byte, 1, blob), 0);
    memcpy(all, slots, 8 * count);
    all[count] = sizeof(blob);
    put(type, SBT_STREAM_NONE, 0, flags, all, count + 1, blob, sizeof(blob));
}

/* A chunk of its own, which make() damages. */
static void put_gap(const struct variation *v)
{
    CHECK_EQ_INT(sbt_writer_flush(w), 0);
    CHECK_EQ_INT(stat(path, &before_gap), 0);
    for (uint64_t i = 0; i < v->gap; i++)
        put(WAIT, SBT_STREAM_NONE, 0, 0, NULL, 0, NULL, 0);
    CHECK_EQ_INT(sbt_writer_flush(w), 0);
}

static void damage_gap(void)
{
    int fd = open(path, O_WRONLY);

    CHECK_EQ_INT(pwrite(fd, "\xa5", 1, before_gap.st_size + SBT_CHUNK_HEADER_SIZE), 1);
    close(fd);
}

static void put_records(const struct variation *v)
{
    const uint64_t begin[] = {1, SBT_CHECKPOINT_START};
    const uint64_t memory[] = {1, SBT_MEMORY_DEVICE, 0, 0, 0x1000, 0, 1};
    const uint64_t end[] = {1, SBT_CHECKPOINT_START, 1, 1};
    const uint64_t early[] = {v->of_stream, 1, 0x7000, 1};
    const uint64_t readback[] = {v->of_stream, 2 + v->later, 0x7000, 1};

    if (v->memory) {
        put(SBT_TYPE(0, SBT_CORE_CHECKPOINT_BEGIN), SBT_STREAM_NONE, 0, 0, begin, 2, NULL, 0);
        put_blob(SBT_TYPE(0, SBT_CORE_MEMORY), 0, memory, 7, v->memory);
        put(SBT_TYPE(0, SBT_CORE_CHECKPOINT_END), SBT_STREAM_NONE, 0, 0, end, 4, NULL, 0);
    }
    for (uint64_t i = 0; i < 3; i++) {
        const uint64_t slots[] = {i, v->extra};
        put(SEND, v->stream, v->position + i + 1, i == 2 ? v->flags : 0, slots,
            v->field_count ? v->field_count : 1, NULL, 0);
    }
    if (v->gap)
        put_gap(v);
    for (unsigned i = 0; i < v->makes; i++)
        put(MAKE, v->stream, v->position + 4 + i, 0, &v->made, 1, NULL, 0);
    for (unsigned i = 0; i < v->waits; i++)
        put(WAIT, SBT_STREAM_NONE, 0, v->wait_flags, NULL, 0, NULL, 0);
    if (v->odd)
        put(ODD, SBT_STREAM_NONE, 0, 0, NULL, 0, NULL, 0);
    if (v->stopped)
        put(SBT_TYPE(0, SBT_CORE_STOPPED), SBT_STREAM_NONE, 0, 0, (const uint64_t[]){0}, 1, NULL,
            0);
    if (v->is_seen_early)
        put_blob(SBT_TYPE(0, SBT_CORE_READBACK), 0, early, 4, 'e');
    if (!v->is_not_seen)
        put_blob(SBT_TYPE(0, SBT_CORE_READBACK), v->is_held ? SBT_RECORD_HELD : 0, readback, 4,
                 (char)('a' + v->byte));
    for (unsigned i = 0; i < v->held_writes; i++) {
        thread = v->by_threads ? 1 + i : v->by_other ? 2 : 1;
        put_held_write((char)('h' + v->held_byte));
    }
    thread = 1;
    if (v->is_scattered)
        put_scattered_write();
}

static struct sbt_reader *make(const char *name, const struct variation *v)
{
    const struct sbt_session session = {.clock = "monotonic"};
    struct sbt_reader *r;

    path = sample_path(name);
    unlink(path);
    seq = 0;
    CHECK_EQ_INT(sbt_writer_create(&w, path, &session, NULL), 0);
    CHECK_EQ_INT(sbt_writer_metadata(w, "process.name", "test"), 0);
    put_schemas(v);
    put_records(v);
    if (!v->cut)
        CHECK_EQ_INT(sbt_writer_finish(w, &v->totals, v->repaired ? SBT_END_CUT : SBT_END_FINISHED),
                     0);
    else
        CHECK_EQ_INT(sbt_writer_flush(w), 0);
    sbt_writer_destroy(w);
    if (v->gap)
        damage_gap();
    CHECK_EQ_INT(sbt_reader_open(&r, path), 0);
    unlink(path);
    return r;
}

static struct tsm_diff_result diff(const struct variation *x, const struct variation *y,
                                   const struct tsm_diff_options *options)
{
    struct sbt_reader *a = make("doubt-a", x), *b = make("doubt-b", y);
    struct tsm_diff_result result;

    CHECK_EQ_INT(tsm_diff(&result, a, b, options), 0);
    sbt_reader_destroy(a);
    sbt_reader_destroy(b);
    return result;
}

/* Both ways round; `why`: part of the reason. */
static void expect(const struct variation *x, const struct variation *y, enum tsm_verdict verdict,
                   const char *why)
{
    struct tsm_diff_result there = diff(x, y, NULL), back = diff(y, x, NULL);

    CHECK_EQ_INT(there.verdict, verdict);
    CHECK_EQ_INT(back.verdict, verdict);
    if (!strstr(there.why, why))
        CHECK_EQ_STR(there.why, why);
}

#define VARIED(...) (&(struct variation){__VA_ARGS__})

/* A trace that may lack something proves nothing, also against itself. */
static void expect_doubt(const struct variation *v, const char *why)
{
    expect(&plain, v, TSM_CANNOT_TELL, why);
    expect(v, v, TSM_CANNOT_TELL, why);
}

static void whole_traces_are_the_same(void)
{
    expect(&plain, &plain, TSM_SAME, "");
    expect(VARIED(.memory = 'm', .makes = 2, .waits = 3),
           VARIED(.memory = 'm', .makes = 2, .waits = 3), TSM_SAME, "");
}

static void what_a_trace_lacks_is_a_doubt(void)
{
    expect_doubt(VARIED(.totals = {.lost_count = 3}), "lost 3 records");
    expect_doubt(VARIED(.totals = {.filtered_count = 3}), "on request");
    expect_doubt(VARIED(.cut = true), "has no end");
    expect_doubt(VARIED(.repaired = true), "has no end");
}

/* row D2 of docs/verdict.md */
static void what_missing_records_explain_is_a_doubt(void)
{
    expect_doubt(VARIED(.gap = 2), "lost 2 records");
    expect(&plain, VARIED(.gap = 1, .byte = 1), TSM_CANNOT_TELL, "may come of what is missing");
    expect(&plain, VARIED(.gap = 1, .makes = 1), TSM_CANNOT_TELL, "is in one of them only");
    expect(VARIED(.makes = 1), VARIED(.gap = 1), TSM_CANNOT_TELL, "lost 1 records");
    expect(VARIED(.makes = 1), VARIED(.cut = true), TSM_CANNOT_TELL, "has no end");
    expect(VARIED(.stopped = true), VARIED(.byte = 1), TSM_CANNOT_TELL, "something is missing");
    expect(&plain, VARIED(.totals = {.lost_count = 1}, .byte = 1), TSM_CANNOT_TELL, "lost 1");
    /* Before the first that is missing, a difference is one. */
    expect(VARIED(.memory = 'm'), VARIED(.memory = 'n', .gap = 1), TSM_DIFFERENT, "memory");
    expect(VARIED(.memory = 'm'), VARIED(.memory = 'n', .cut = true), TSM_DIFFERENT, "memory");
    expect(&plain, VARIED(.cut = true, .byte = 1), TSM_DIFFERENT, "came back");
}

static void what_is_not_modelled_is_a_doubt(void)
{
    /* row D3, row D4 and row D5 of docs/verdict.md */
    expect(VARIED(.odd = true), VARIED(.odd = true), TSM_CANNOT_TELL, "not modelled");
    expect_doubt(VARIED(.stopped = true), "something is missing");
    expect_doubt(VARIED(.flags = SBT_RECORD_TRUNCATED), "cut short");
    expect_doubt(VARIED(.flags = SBT_RECORD_UNFINISHED), "cut short");
    expect_doubt(VARIED(.flags = SBT_RECORD_TAINTS), "not modelled");
}

/* row D6 of docs/verdict.md */
static void fields_of_one_trace_only_are_a_doubt(void)
{
    expect(&plain, VARIED(.field_count = 2), TSM_CANNOT_TELL, "another number of them");
    expect(VARIED(.field_count = 2), VARIED(.field_count = 2, .extra = 1), TSM_DIFFERENT, "extra");
}

static void all_kinds_on_a_stream_count(void)
{
    expect(VARIED(.makes = 1), VARIED(.makes = 1, .made = 1), TSM_DIFFERENT, "value differs");
    expect(VARIED(.makes = 1), VARIED(.makes = 2), TSM_DIFFERENT, "missing");
}

static void streams_of_any_number_count(void)
{
    const uint32_t far = 1u << 31;

    expect(VARIED(.stream = far, .makes = 1), VARIED(.stream = far, .makes = 1, .made = 1),
           TSM_DIFFERENT, "value differs");
    expect(VARIED(.of_stream = far), VARIED(.of_stream = far, .byte = 1), TSM_DIFFERENT, "bytes");
    expect(VARIED(.of_stream = SBT_STREAM_NONE), VARIED(.of_stream = SBT_STREAM_NONE, .byte = 1),
           TSM_DIFFERENT, "bytes");
}

/* row D8 of docs/verdict.md */
static void a_readback_belongs_to_its_command(void)
{
    expect(&plain, VARIED(.later = 1), TSM_CANNOT_TELL, "another command");
    expect(&plain, VARIED(.later = 10, .position = 10), TSM_CANNOT_TELL, "have no record");
}

/* Whether it is seen in time is chance: row D16 of docs/verdict.md. The results after it are
 * compared. */
static void a_result_of_one_trace_only_is_a_doubt(void)
{
    const struct variation *early = VARIED(.is_seen_early = true);

    expect(early, early, TSM_SAME, "");
    expect(&plain, early, TSM_CANNOT_TELL, "of which the other one has none");
    expect(early, &plain, TSM_CANNOT_TELL, "of which the other one has none");
    expect(early, VARIED(.is_seen_early = true, .is_not_seen = true), TSM_CANNOT_TELL, "has none");
    expect(VARIED(.is_not_seen = true), early, TSM_CANNOT_TELL, "of which the other one has none");
    expect(early, VARIED(.byte = 1), TSM_DIFFERENT, "bytes");
    expect(VARIED(.byte = 1), early, TSM_DIFFERENT, "bytes");
}

/* Whether others had written there by then is chance: row D18 of docs/verdict.md. */
static void what_others_may_have_changed_is_a_doubt(void)
{
    const struct variation *held = VARIED(.is_held = true, .byte = 1);

    expect(&plain, VARIED(.is_held = true), TSM_SAME, "");
    expect(&plain, held, TSM_CANNOT_TELL, "is chance");
    expect(held, &plain, TSM_CANNOT_TELL, "is chance");
    expect(VARIED(.is_held = true), held, TSM_DIFFERENT, "bytes");
}

/* How often it is recorded is chance: row D17 of docs/verdict.md. */
static void what_commands_may_have_written_is_a_doubt(void)
{
    const struct variation *one = VARIED(.held_writes = 1), *two = VARIED(.held_writes = 2);

    expect(one, one, TSM_SAME, "");
    expect(one, VARIED(.held_writes = 1, .held_byte = 1), TSM_DIFFERENT, "bytes");
    expect(&plain, one, TSM_CANNOT_TELL, "is chance");
    expect(one, two, TSM_CANNOT_TELL, "is chance");
    expect(two, VARIED(.held_writes = 1, .held_byte = 1), TSM_CANNOT_TELL, "is chance");
    expect(one, VARIED(.held_writes = 2, .byte = 1), TSM_DIFFERENT, "bytes");
    expect(VARIED(.is_scattered = true), VARIED(.is_scattered = true), TSM_SAME, "");
    expect(&plain, VARIED(.is_scattered = true), TSM_CANNOT_TELL, "is chance");
}

/* How much one thread had written when another one sent its command is chance: row D17, too. */
static void what_several_threads_had_written_is_a_doubt(void)
{
    const struct variation *two = VARIED(.held_writes = 2, .by_threads = true);

    expect(two, two, TSM_SAME, "");
    expect(two, VARIED(.held_writes = 2, .by_threads = true, .held_byte = 1), TSM_CANNOT_TELL,
           "several threads");
    expect(two, VARIED(.held_writes = 2, .by_threads = true, .byte = 1), TSM_DIFFERENT, "bytes");
    expect(VARIED(.held_writes = 1, .by_other = true),
           VARIED(.held_writes = 1, .by_other = true, .held_byte = 1), TSM_CANNOT_TELL,
           "several threads");
}

/* row D13: in both */
static void a_place_without_a_record_is_a_doubt(void)
{
    expect(VARIED(.position = 1), VARIED(.position = 1), TSM_CANNOT_TELL, "1 command is missing");
}

/* row D9 of docs/verdict.md */
static void memory_at_the_start_counts(void)
{
    expect(VARIED(.memory = 'm'), VARIED(.memory = 'n'), TSM_DIFFERENT, "bytes");
    expect(&plain, VARIED(.memory = 'm'), TSM_CANNOT_TELL, "memory at the start");
}

/* How often a program waits is chance; that a wait fails is not: row D10 of docs/verdict.md. */
static void waits_are_left_out(void)
{
    expect(VARIED(.waits = 1), VARIED(.waits = 4), TSM_SAME, "queries and waits");
    expect(VARIED(.waits = 1), VARIED(.waits = 1, .wait_flags = SBT_RECORD_FAILED), TSM_CANNOT_TELL,
           "failed");
}

static void a_stream_that_is_nowhere_is_a_doubt(void)
{
    const uint32_t streams[] = {0, 7};
    const struct tsm_diff_options options = {.streams = streams, .stream_count = 2};
    struct tsm_diff_result result = diff(&plain, &plain, &options);

    CHECK_EQ_INT(result.verdict, TSM_CANNOT_TELL);
    CHECK(strstr(result.why, "stream 7 is in neither"));
}

int main(void)
{
    whole_traces_are_the_same();
    what_a_trace_lacks_is_a_doubt();
    what_missing_records_explain_is_a_doubt();
    what_is_not_modelled_is_a_doubt();
    fields_of_one_trace_only_are_a_doubt();
    all_kinds_on_a_stream_count();
    streams_of_any_number_count();
    a_readback_belongs_to_its_command();
    a_result_of_one_trace_only_is_a_doubt();
    what_others_may_have_changed_is_a_doubt();
    what_commands_may_have_written_is_a_doubt();
    what_several_threads_had_written_is_a_doubt();
    a_place_without_a_record_is_a_doubt();
    memory_at_the_start_counts();
    waits_are_left_out();
    a_stream_that_is_nowhere_is_a_doubt();
    return check_result();
}
