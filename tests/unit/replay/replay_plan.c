/* SPDX-License-Identifier: Apache-2.0
 *
 * Tests which memory, made and freed before a checkpoint, the plan of a replay leaves out: none
 * that another record names. replay_plan [COUNT]: so many allocations.
 */
#include "replay/plan.h"
#include "tests/unit/check.h"
#include "tracesmith/error.h"
#include "tracesmith/writer.h"

#include <stdlib.h>
#include <unistd.h>

enum { MAKE = 1, NAME, END, CALL_COUNT = END };
#define API SBT_API_CUDA
enum { FAR = 0x10000, SIZE = 4096 };

#define ADDRESS                                                                                    \
    {                                                                                              \
        "address", SBT_FIELD_DEVPTR, SBT_ROLE_ADDRESS, ""                                          \
    }
static const struct sbt_field make_fields[] = {ADDRESS,
                                               {"size", SBT_FIELD_SIZE, SBT_ROLE_SIZE, ""}};
static const struct sbt_field name_fields[] = {{"of", SBT_FIELD_DEVPTR, SBT_ROLE_NONE, ""}};
static const struct sbt_field end_fields[] = {ADDRESS};
static const struct sbt_schema schemas[CALL_COUNT] = {
    {SBT_TYPE(API, MAKE), "make", SBT_KIND_CREATE, 0, "", 2, make_fields},
    {SBT_TYPE(API, NAME), "name", SBT_KIND_STATE, 0, "", 1, name_fields},
    {SBT_TYPE(API, END), "end", SBT_KIND_DESTROY, 0, "", 1, end_fields}};
static const struct tsm_call_description calls[CALL_COUNT] = {
    {&schemas[0], TSM_CALL_GENERATED, ""},
    {&schemas[1], TSM_CALL_GENERATED, ""},
    {&schemas[2], TSM_CALL_GENERATED, ""}};
static const struct tsm_api_description description = {
    .api = API, .name = "cuda", .calls = calls, .call_count = CALL_COUNT};
static const struct tsm_backend backend = {.description = &description};

static char path[] = "/tmp/replay_plan.XXXXXX";
static struct sbt_writer *writer;
static uint64_t next_seq;

static void must(int error)
{
    if (error >= 0)
        return;
    fprintf(stderr, "%s\n", tsm_error_message());
    exit(1);
}

static void begin(void)
{
    const struct sbt_session session = {.id = {1, 2, 3, 4, 5, 6, 0x47, 8, 0x89},
                                        .clock = "monotonic"};

    unlink(path);
    next_seq = 0;
    must(sbt_writer_create(&writer, path, &session, NULL));
    must(sbt_writer_metadata(writer, "process.pid", "1"));
    for (unsigned i = 0; i < CALL_COUNT; i++)
        must(sbt_writer_schema(writer, &schemas[i]));
}

/* Returns the record's number. */
static uint64_t put(uint32_t call, uint64_t address, uint64_t size)
{
    const uint64_t slots[2] = {address, size};

    must(sbt_writer_record(writer, &(struct sbt_record){.seq = next_seq,
                                                        .time_ns = next_seq,
                                                        .type = SBT_TYPE(API, call),
                                                        .thread = 1,
                                                        .stream = SBT_STREAM_NONE,
                                                        .slots = slots,
                                                        .slot_count = call == MAKE ? 2 : 1}));
    return next_seq++;
}

/* Makes the plan from a checkpoint behind all records. */
static void plan(struct tsm_plan *out)
{
    const struct sbt_checkpoint from = {.number = 1, .seq = next_seq};
    const struct sbt_totals none = {0};
    struct sbt_reader *reader;

    must(sbt_writer_finish(writer, &none, SBT_END_FINISHED));
    sbt_writer_destroy(writer);
    must(sbt_reader_open(&reader, path));
    must(tsm_plan_make(out, reader, &backend, NULL, &from, 0));
    CHECK_EQ_INT(out->record_count, next_seq);
    sbt_reader_destroy(reader);
}

static bool is_dead(const struct tsm_plan *p, uint64_t seq)
{
    return tsm_map_find(&p->dead, seq + 1) != NULL;
}

/* Many allocations, in no order, of which every other one is named in its middle. */
static void test_many(uint64_t count)
{
    struct tsm_plan p;
    bool ok = true;

    begin();
    for (uint64_t i = 0; i < count; i++)
        put(MAKE, (i * 7919 % count + 1) * FAR, SIZE);
    for (uint64_t i = 0; i < count; i += 2)
        put(NAME, (i * 7919 % count + 1) * FAR + 100, 0);
    for (uint64_t i = 0; i < count; i++)
        put(END, (i * 7919 % count + 1) * FAR, 0);
    plan(&p);
    for (uint64_t i = 0; i < count; i++)
        ok &= is_dead(&p, i) == (i % 2 == 1) &&
              is_dead(&p, count + (count + 1) / 2 + i) == (i % 2 == 1);
    CHECK(ok);
    tsm_plan_finish(&p);
}

static void test_few(void)
{
    uint64_t outer, inner, beside, behind, again, empty, start;
    struct tsm_plan p;

    begin();
    outer = put(MAKE, 0x100000, 0x10000);
    inner = put(MAKE, 0x102000, 0x1000);
    beside = put(MAKE, 0x103000, 0x1000);
    empty = put(MAKE, 0x104000, 0);
    behind = put(MAKE, 0x110000, 0x1000);
    put(NAME, 0x102fff, 0);
    put(END, 0x102000, 0);
    put(NAME, 0x104fff, 0);
    again = put(MAKE, 0x102000, 0x800); /* nobody names this one */
    put(NAME, 0x102900, 0);
    put(END, 0x102000, 0);
    put(END, 0x103000, 0);
    put(END, 0x104000, 0);
    put(END, 0x110000, 0);
    put(NAME, 0x110001, 0); /* too late */
    start = put(MAKE, 0x110000, 0x1000);
    put(NAME, 0x110000, 0);
    put(END, 0x110000, 0);
    put(END, 0x100000, 0);
    plan(&p);
    CHECK(!is_dead(&p, outer) && !is_dead(&p, inner) && is_dead(&p, beside));
    CHECK(is_dead(&p, empty) && is_dead(&p, behind) && is_dead(&p, again) && !is_dead(&p, start));
    tsm_plan_finish(&p);
}

int main(int argc, char **argv)
{
    close(mkstemp(path));
    test_many(argc > 1 ? strtoull(argv[1], NULL, 10) : 1001);
    test_few();
    unlink(path);
    return check_result();
}
