/* SPDX-License-Identifier: Apache-2.0
 *
 * Tests what the host knew of commands by fences, semaphores and signals, on traces made for it.
 */
#include "analysis/model/pass.h"
#include "analysis/time/host_waits.h"
#include "base/bytes.h"
#include "format/values/struct_out.h"
#include "tests/unit/check.h"
#include "tracesmith/error.h"
#include "tracesmith/writer.h"

#include <stdlib.h>
#include <unistd.h>

enum { FIELD_MAX = 5, STEP_NS = 100, CALL_NS = 10, PATH_MAX_SIZE = 64 };

/* ---- calls, as a trace describes them ---------------------------------------------------------
 */

enum call {
    SUBMIT,
    SUBMIT2,
    SPARSE,
    WAIT_FENCES,
    FENCE_STATUS,
    RESET_FENCES,
    WAIT_SEMAPHORES,
    COUNTER,
    QUEUE_IDLE,
    PACKET,
    COPY,
    UNREAD,
    CREATE,
    STORE,
    ADD,
    SUBTRACT,
    EXCHANGE,
    AND,
    WAIT,
    LOAD,
    POINTER,
    CALL_COUNT
};

#define FIELD(name, type, role, detail)                                                            \
    {                                                                                              \
        name, SBT_FIELD_##type, SBT_ROLE_##role, detail                                            \
    }
#define FENCE  FIELD("fence", HANDLE, NONE, "VkFence")
#define FENCES FIELD("pFences", STRUCT, NONE, "VkFence[]")
#define SIGNAL FIELD("signal", HANDLE, OBJECT, "signal")
#define VALUE  FIELD("value", INT, NONE, "")

static const struct call_row {
    const char *name;
    enum sbt_api api;
    enum sbt_kind kind;
    struct sbt_field fields[FIELD_MAX];
} calls[CALL_COUNT] = {
    [SUBMIT] = {"vkQueueSubmit",
                SBT_API_VULKAN,
                SBT_KIND_COMMAND,
                {FENCE, FIELD("pSubmits", STRUCT, NONE, "VkSubmitInfo[]")}},
    [SUBMIT2] = {"vkQueueSubmit2KHR",
                 SBT_API_VULKAN,
                 SBT_KIND_COMMAND,
                 {FENCE, FIELD("pSubmits", STRUCT, NONE, "VkSubmitInfo2[]")}},
    [SPARSE] = {"vkQueueBindSparse", SBT_API_VULKAN, SBT_KIND_COMMAND, {FENCE}},
    [WAIT_FENCES] = {"vkWaitForFences",
                     SBT_API_VULKAN,
                     SBT_KIND_SYNC,
                     {FIELD("fenceCount", UINT, NONE, ""), FIELD("waitAll", BOOL, NONE, ""),
                      FENCES}},
    [FENCE_STATUS] = {"vkGetFenceStatus", SBT_API_VULKAN, SBT_KIND_QUERY, {FENCE}},
    [RESET_FENCES] = {"vkResetFences", SBT_API_VULKAN, SBT_KIND_STATE, {FENCES}},
    [WAIT_SEMAPHORES] = {"vkWaitSemaphores",
                         SBT_API_VULKAN,
                         SBT_KIND_SYNC,
                         {FIELD("pWaitInfo", STRUCT, NONE, "VkSemaphoreWaitInfo")}},
    [COUNTER] = {"vkGetSemaphoreCounterValue",
                 SBT_API_VULKAN,
                 SBT_KIND_QUERY,
                 {FIELD("semaphore", HANDLE, NONE, "VkSemaphore"),
                  FIELD("pValue", UINT, NONE, "")}},
    [QUEUE_IDLE] = {"vkQueueWaitIdle", SBT_API_VULKAN, SBT_KIND_SYNC, {{0}}},
    [PACKET] = {"aql_kernel_dispatch",
                SBT_API_HSA,
                SBT_KIND_COMMAND,
                {FIELD("completion", HANDLE, OBJECT, "signal"), FIELD("header", FLAGS, NONE, "")}},
    [COPY] = {"hsa_amd_memory_async_copy",
              SBT_API_HSA,
              SBT_KIND_COMMAND,
              {FIELD("completion_signal", HANDLE, OBJECT, "signal")}},
    [UNREAD] = {"aql_other", SBT_API_HSA, SBT_KIND_COMMAND, {{0}}},
    [CREATE] = {"hsa_signal_create",
                SBT_API_HSA,
                SBT_KIND_CREATE,
                {SIGNAL, FIELD("initial_value", INT, NONE, "")}},
    [STORE] = {"hsa_signal_store_relaxed", SBT_API_HSA, SBT_KIND_STATE, {SIGNAL, VALUE}},
    [ADD] = {"hsa_signal_add_relaxed", SBT_API_HSA, SBT_KIND_STATE, {SIGNAL, VALUE}},
    [SUBTRACT] = {"hsa_signal_subtract_relaxed", SBT_API_HSA, SBT_KIND_STATE, {SIGNAL, VALUE}},
    [EXCHANGE] = {"hsa_signal_exchange_relaxed", SBT_API_HSA, SBT_KIND_STATE, {SIGNAL, VALUE}},
    [AND] = {"hsa_signal_and_relaxed", SBT_API_HSA, SBT_KIND_STATE, {SIGNAL, VALUE}},
    [WAIT] = {"hsa_signal_wait_scacquire", SBT_API_HSA, SBT_KIND_SYNC, {SIGNAL, VALUE}},
    [LOAD] = {"hsa_signal_load_relaxed",
              SBT_API_HSA,
              SBT_KIND_QUERY,
              {FIELD("signal", HANDLE, NONE, "signal"), VALUE}},
    [POINTER] = {"hsa_amd_signal_value_pointer",
                 SBT_API_HSA,
                 SBT_KIND_QUERY,
                 {FIELD("signal", HANDLE, NONE, "signal")}},
};

/* ---- structs, as far as they matter -----------------------------------------------------------
 */

#define MEMBER(name_, type_, form_, detail_)                                                       \
    {                                                                                              \
        name_, SBT_FIELD_##type_, SBT_FORM_##form_, detail_                                        \
    }
#define STRUCT(number_, name_, members_)                                                           \
    {                                                                                              \
        SBT_TYPE(SBT_API_VULKAN, number_), 0, name_, sizeof(members_) / sizeof((members_)[0]),     \
            members_                                                                               \
    }

static const struct sbt_member fence_list[] = {MEMBER("items", HANDLE, LIST, "VkFence")};
static const struct sbt_member submit_list[] = {MEMBER("items", STRUCT, LIST, "VkSubmitInfo")};
static const struct sbt_member submit2_list[] = {MEMBER("items", STRUCT, LIST, "VkSubmitInfo2")};
static const struct sbt_member submit_members[] = {
    MEMBER("pNext", STRUCT, CHAIN, ""), MEMBER("pSignalSemaphores", HANDLE, LIST, "VkSemaphore")};
static const struct sbt_member timeline_members[] = {
    MEMBER("pWaitSemaphoreValues", UINT, LIST, ""),
    MEMBER("pSignalSemaphoreValues", UINT, LIST, "")};
static const struct sbt_member submit2_members[] = {
    MEMBER("pWaitSemaphoreInfos", STRUCT, LIST, "VkSemaphoreSubmitInfo"),
    MEMBER("pSignalSemaphoreInfos", STRUCT, LIST, "VkSemaphoreSubmitInfo")};
static const struct sbt_member semaphore_members[] = {
    MEMBER("semaphore", HANDLE, ONE, "VkSemaphore"), MEMBER("value", UINT, ONE, ""),
    MEMBER("stageMask", UINT, ONE, "")};
static const struct sbt_member wait_members[] = {MEMBER("flags", UINT, ONE, ""),
                                                 MEMBER("pSemaphores", HANDLE, LIST, "VkSemaphore"),
                                                 MEMBER("pValues", UINT, LIST, "")};

#define TIMELINE_ID SBT_TYPE(SBT_API_VULKAN, 5)
static const struct sbt_struct structs[] = {
    STRUCT(1, "VkFence[]", fence_list),
    STRUCT(2, "VkSubmitInfo[]", submit_list),
    STRUCT(3, "VkSubmitInfo2[]", submit2_list),
    STRUCT(4, "VkSubmitInfo", submit_members),
    STRUCT(5, "VkTimelineSemaphoreSubmitInfo", timeline_members),
    STRUCT(6, "VkSubmitInfo2", submit2_members),
    STRUCT(7, "VkSemaphoreSubmitInfo", semaphore_members),
    STRUCT(8, "VkSemaphoreWaitInfo", wait_members),
};

/* ---- making and reading -----------------------------------------------------------------------
 */

struct made {
    char path[PATH_MAX_SIZE];
    struct sbt_writer *writer;
    struct sbt_reader *reader;
    struct tsm_host_waits waits;
    uint64_t seq, positions[4];
    int64_t result; /* of the next call */
    uint32_t flags;
};

static void must(int error)
{
    if (error >= 0)
        return;
    fprintf(stderr, "%s\n", tsm_error_message());
    exit(1);
}

static uint32_t field_count(const struct call_row *row)
{
    uint32_t count = 0;

    while (count < FIELD_MAX && row->fields[count].name)
        count++;
    return count;
}

static void make(struct made *m)
{
    const struct sbt_session session = {.id = {1, 2, 3, 4, 5, 6, 0x47, 8, 0x89},
                                        .clock = "monotonic"};

    *m = (struct made){.path = "/tmp/host_waits.XXXXXX"};
    close(mkstemp(m->path));
    unlink(m->path);
    must(sbt_writer_create(&m->writer, m->path, &session, NULL));
    must(sbt_writer_metadata(m->writer, "process.pid", "1"));
    must(sbt_writer_schema(m->writer, sbt_core_schema(SBT_CORE_LOST)));
    for (size_t i = 0; i < sizeof(structs) / sizeof(*structs); i++)
        must(sbt_writer_struct(m->writer, &structs[i]));
    for (uint32_t i = 0; i < CALL_COUNT; i++)
        must(
            sbt_writer_schema(m->writer, &(struct sbt_schema){.type = SBT_TYPE(calls[i].api, i + 1),
                                                              .name = calls[i].name,
                                                              .kind = calls[i].kind,
                                                              .result_enum = "",
                                                              .field_count = field_count(&calls[i]),
                                                              .fields = calls[i].fields}));
}

/* Returns the record's number. */
static uint64_t put(struct made *m, struct sbt_record record)
{
    record.seq = m->seq++;
    record.time_ns = record.seq * STEP_NS;
    record.duration_ns = CALL_NS;
    record.thread = 1;
    record.result = m->result;
    record.flags |= m->flags;
    m->result = 0;
    m->flags = 0;
    must(sbt_writer_record(m->writer, &record));
    return record.seq;
}

/* A call with up to one structured value, which is the last slot. */
static uint64_t put_call(struct made *m, enum call call, uint32_t stream, const uint64_t *given,
                         struct sbt_out *value)
{
    static uint8_t data[4096];
    uint64_t slots[FIELD_MAX] = {0};
    struct sbt_record record = {.type = SBT_TYPE(calls[call].api, call + 1),
                                .stream = stream,
                                .slots = slots,
                                .slot_count = field_count(&calls[call])};

    memcpy(slots, given, sizeof(slots));
    if (stream != SBT_STREAM_NONE && calls[call].kind == SBT_KIND_COMMAND)
        record.position = ++m->positions[stream];
    if (value) {
        CHECK(!value->overflow && sbt_out_size(value) < sizeof(data));
        memcpy(data + 1, value->start, sbt_out_size(value)); /* behind a byte 0 */
        record.data = data;
        record.data_size = sbt_out_size(value) + 1;
        slots[record.slot_count - 1] = record.data_size;
    }
    return put(m, record);
}

#define PUT(call, stream, ...)                                                                     \
    put_call(&m, call, stream, (const uint64_t[FIELD_MAX]){__VA_ARGS__}, NULL)
#define HOST SBT_STREAM_NONE

static int visit_call(void *user, const struct tsm_call_node *call)
{
    return tsm_host_waits_note(&((struct made *)user)->waits, call);
}

static int visit_core(void *user, const struct sbt_record *record)
{
    tsm_host_waits_note_core(&((struct made *)user)->waits, record);
    return 0;
}

static void look(struct made *m)
{
    const struct tsm_model_visitor visitor = {.user = m, .call = visit_call, .core = visit_core};
    const struct sbt_totals none = {0};
    struct tsm_model_counts counts;

    must(sbt_writer_finish(m->writer, &none, SBT_END_FINISHED));
    sbt_writer_destroy(m->writer);
    must(sbt_reader_open(&m->reader, m->path));
    m->waits.reader = m->reader;
    must(tsm_model_pass(&counts, m->reader, NULL, &visitor));
    CHECK_EQ_INT(counts.record_count, m->seq);
}

static void done(struct made *m)
{
    tsm_host_waits_finish(&m->waits);
    sbt_reader_destroy(m->reader);
    unlink(m->path);
}

#define NEVER (-1)

/* Returns the record by which the host knew of a part of a command. */
static int64_t known_part(const struct made *m, uint32_t stream, uint64_t position, uint32_t part)
{
    const struct tsm_command_node node = {.stream = stream, .position = position, .part = part};
    const struct tsm_host_wait *wait = tsm_host_waits_find(&m->waits, &node);

    if (!wait)
        return NEVER;
    CHECK_EQ_INT(wait->known_ns, wait->seq * STEP_NS + CALL_NS);
    return (int64_t)wait->seq;
}

#define KNOWN(stream, position, wanted)                                                            \
    CHECK_EQ_INT(known_part(&m, stream, position, 0), (int64_t)(wanted))

/* ---- fences -----------------------------------------------------------------------------------
 */

static uint64_t fences(struct made *m, enum call call, uint64_t wait_all, unsigned count,
                       const uint64_t *ids)
{
    struct sbt_out out = {0};
    uint8_t room[256];
    uint64_t seq;

    sbt_out_init(&out, room, sizeof(room), NULL, NULL);
    sbt_out_list(&out, count);
    for (unsigned i = 0; i < count; i++)
        sbt_out_varint(&out, ids[i]);
    seq = put_call(m, call, HOST, (const uint64_t[FIELD_MAX]){count, wait_all}, &out);
    return seq;
}

#define WAIT_ALL(...)                                                                              \
    fences(&m, WAIT_FENCES, 1, sizeof((uint64_t[]){__VA_ARGS__}) / 8, (uint64_t[]){__VA_ARGS__})
#define WAIT_ANY(...)                                                                              \
    fences(&m, WAIT_FENCES, 0, sizeof((uint64_t[]){__VA_ARGS__}) / 8, (uint64_t[]){__VA_ARGS__})
#define RESET(...)                                                                                 \
    fences(&m, RESET_FENCES, 0, sizeof((uint64_t[]){__VA_ARGS__}) / 8, (uint64_t[]){__VA_ARGS__})

static void test_fences(void)
{
    struct made m;
    uint64_t waited, both, asked;

    make(&m);
    PUT(SUBMIT, 0, 1);
    PUT(SUBMIT, 0, 0);
    PUT(SUBMIT, 0, 2);
    PUT(SUBMIT, 0, 0);
    m.result = 2; /* a timeout */
    WAIT_ALL(1);
    m.flags = SBT_RECORD_FAILED;
    WAIT_ALL(1);
    waited = WAIT_ALL(1);
    m.result = 1; /* not ready */
    PUT(FENCE_STATUS, HOST, 2);
    asked = PUT(FENCE_STATUS, HOST, 2);
    WAIT_ALL(2); /* says nothing new */
    PUT(SUBMIT, 1, 3);
    PUT(SUBMIT, 2, 4);
    WAIT_ANY(3, 4); /* which one? */
    both = WAIT_ALL(3, 4);
    look(&m);
    KNOWN(0, 1, waited);
    KNOWN(0, 2, asked);
    KNOWN(0, 3, asked);
    KNOWN(0, 4, NEVER);
    KNOWN(1, 1, both);
    KNOWN(2, 1, both);
    KNOWN(3, 1, NEVER);
    done(&m);
}

static void test_fences_again(void)
{
    struct made m;
    uint64_t first, again, only;

    make(&m);
    PUT(SUBMIT, 0, 1);
    RESET(1); /* whoever waits for it now waits for what comes */
    PUT(SUBMIT, 1, 1);
    first = WAIT_ANY(1); /* of one */
    RESET(1);
    m.flags = SBT_RECORD_FAILED;
    PUT(SUBMIT, 2, 1);
    WAIT_ALL(1);
    PUT(SUBMIT, 1, 1);
    again = WAIT_ALL(1);
    PUT(SPARSE, 3, 2);
    WAIT_ALL(2); /* not ordered with what was sent before */
    PUT(SUBMIT, 3, 0);
    only = PUT(QUEUE_IDLE, 3, 0);
    look(&m);
    KNOWN(0, 1, NEVER);
    KNOWN(1, 1, first);
    KNOWN(1, 2, again);
    KNOWN(2, 1, NEVER);
    KNOWN(3, 1, only);
    KNOWN(3, 2, only);
    done(&m);
}

/* ---- timeline semaphores ----------------------------------------------------------------------
 */

static void put_batch(struct sbt_out *out, uint64_t semaphore, uint64_t value)
{
    size_t place;

    if (value) { /* behind a binary one */
        place = sbt_out_element(out, TIMELINE_ID);
        sbt_out_none(out);
        sbt_out_list(out, 2);
        sbt_out_varint(out, 0);
        sbt_out_varint(out, value);
        sbt_out_element_end(out, place);
    }
    sbt_out_chain_end(out);
    sbt_out_list(out, semaphore ? 2 : 0);
    if (semaphore) {
        sbt_out_varint(out, 99);
        sbt_out_varint(out, semaphore);
    }
}

/* Batches signal one semaphore each: id, value, id, value ... */
static uint64_t submit(struct made *m, uint32_t stream, unsigned count, const uint64_t *signals)
{
    struct sbt_out out = {0};
    uint8_t room[512];
    uint64_t seq;

    sbt_out_init(&out, room, sizeof(room), NULL, NULL);
    sbt_out_list(&out, count / 2);
    for (unsigned i = 0; i + 1 < count; i += 2)
        put_batch(&out, signals[i], signals[i + 1]);
    seq = put_call(m, SUBMIT, stream, (const uint64_t[FIELD_MAX]){0}, &out);
    return seq;
}

static uint64_t submit2(struct made *m, uint32_t stream, uint64_t id, uint64_t value,
                        uint64_t stages)
{
    struct sbt_out out = {0};
    uint8_t room[256];
    uint64_t seq;

    sbt_out_init(&out, room, sizeof(room), NULL, NULL);
    sbt_out_list(&out, 1);
    for (unsigned signals = 0; signals < 2; signals++) {
        sbt_out_list(&out, 1);
        sbt_out_varint(&out, signals ? id : 77);
        sbt_out_varint(&out, signals ? value : 1);
        sbt_out_varint(&out, signals ? stages : 0x10000);
    }
    seq = put_call(m, SUBMIT2, stream, (const uint64_t[FIELD_MAX]){0}, &out);
    return seq;
}

static uint64_t wait_semaphores(struct made *m, uint64_t any, unsigned count, const uint64_t *pairs)
{
    struct sbt_out out = {0};
    uint8_t room[256];
    uint64_t seq;

    sbt_out_init(&out, room, sizeof(room), NULL, NULL);
    sbt_out_varint(&out, any);
    for (unsigned part = 0; part < 2; part++) {
        sbt_out_list(&out, count / 2);
        for (unsigned i = 0; i < count / 2; i++)
            sbt_out_varint(&out, pairs[2 * i + part]);
    }
    seq = put_call(m, WAIT_SEMAPHORES, HOST, (const uint64_t[FIELD_MAX]){0}, &out);
    return seq;
}

#define SEND(stream, ...)                                                                          \
    submit(&m, stream, sizeof((uint64_t[]){__VA_ARGS__}) / 8, (uint64_t[]){__VA_ARGS__})
#define AWAIT(any, ...)                                                                            \
    wait_semaphores(&m, any, sizeof((uint64_t[]){__VA_ARGS__}) / 8, (uint64_t[]){__VA_ARGS__})

static void test_timelines(void)
{
    struct made m;
    uint64_t some, all, counted;

    make(&m);
    SEND(0, 1, 100); /* sent first, reached last: it waits for the other queue */
    SEND(1, 1, 5);
    SEND(2, 1, 1000);
    m.result = 2;
    AWAIT(0, 1, 5);
    some = AWAIT(0, 1, 50); /* the value jumps from 5 to 100 */
    counted = PUT(COUNTER, HOST, 1, 100);
    SEND(0, 2, 1);
    SEND(1, 3, 1);
    AWAIT(1, 2, 1, 3, 1); /* one of them */
    all = AWAIT(0, 2, 1, 3, 1);
    m.flags = SBT_RECORD_FAILED;
    AWAIT(0, 1, 1000);
    look(&m);
    KNOWN(0, 1, counted);
    KNOWN(1, 1, some);
    KNOWN(2, 1, NEVER);
    KNOWN(0, 2, all);
    KNOWN(1, 2, all);
    done(&m);
}

static void test_batches(void)
{
    struct made m;
    uint64_t two, three;

    make(&m);
    SEND(0, 0, 0);
    SEND(0, 1, 1, 1, 2, 1, 3);
    two = AWAIT(0, 1, 2);
    three = AWAIT(0, 1, 3);
    SEND(1, 2, 1, 0, 0);
    AWAIT(0, 2, 1);
    submit2(&m, 2, 3, 1, 0x800); /* behind compute shaders only */
    AWAIT(0, 3, 1);
    submit2(&m, 3, 3, 2, 0x10000);
    AWAIT(0, 3, 2);
    AWAIT(0, 77, 1); /* what a batch waits for is no signal */
    look(&m);
    KNOWN(0, 1, two);
    CHECK_EQ_INT(known_part(&m, 0, 2, 0), two);
    CHECK_EQ_INT(known_part(&m, 0, 2, 1), two);
    CHECK_EQ_INT(known_part(&m, 0, 2, 2), three);
    CHECK(known_part(&m, 1, 1, 0) >= 0);
    CHECK_EQ_INT(known_part(&m, 1, 1, 1), NEVER);
    KNOWN(2, 1, NEVER);
    CHECK(known_part(&m, 3, 1, 0) >= 0);
    done(&m);
}

/* ---- signals ----------------------------------------------------------------------------------
 */

#define BARRIER 0x100

static void test_signals(void)
{
    struct made m;
    uint64_t alone, ordered, both;

    make(&m);
    PUT(CREATE, HOST, 1, 1);
    PUT(CREATE, HOST, 2, 1);
    PUT(CREATE, HOST, 3, 2);
    PUT(PACKET, 0, 0, 0);
    PUT(PACKET, 0, 1, 0); /* may overtake the one before */
    PUT(PACKET, 0, 2, BARRIER);
    PUT(PACKET, 0, 0, BARRIER);
    m.flags = SBT_RECORD_FAILED; /* given up, although the value is as wanted */
    PUT(WAIT, HOST, 1, 0);
    alone = PUT(WAIT, HOST, 1, 0);
    PUT(PACKET, 1, 3, BARRIER);
    PUT(COPY, 2, 3);
    PUT(LOAD, HOST, 3, 1); /* one of them */
    both = PUT(LOAD, HOST, 3, 0);
    ordered = PUT(WAIT, HOST, 2, 0);
    look(&m);
    KNOWN(0, 1, ordered);
    KNOWN(0, 2, alone);
    KNOWN(0, 3, ordered);
    KNOWN(0, 4, NEVER);
    KNOWN(1, 1, both);
    KNOWN(2, 1, both);
    done(&m);
}

static void test_signals_again(void)
{
    struct made m;
    uint64_t first, second, third, last;

    make(&m);
    PUT(CREATE, HOST, 1, 1);
    PUT(PACKET, 0, 1, BARRIER);
    first = PUT(WAIT, HOST, 1, 0);
    PUT(STORE, HOST, 1, 1);
    PUT(PACKET, 0, 1, BARRIER);
    PUT(STORE, HOST, 1, 1); /* nobody knows whether it has counted down already */
    PUT(PACKET, 0, 1, BARRIER);
    PUT(WAIT, HOST, 1, 0);
    PUT(CREATE, HOST, 2, 1);
    PUT(PACKET, 0, 2, BARRIER);
    second = PUT(WAIT, HOST, 2, 0); /* this tells of all of them ... */
    PUT(STORE, HOST, 1, 1);         /* ... so that the value is known again */
    PUT(PACKET, 0, 1, BARRIER);
    PUT(ADD, HOST, 1, 4);
    PUT(SUBTRACT, HOST, 1, 1);
    m.result = 3;
    third = PUT(EXCHANGE, HOST, 1, 10);
    PUT(PACKET, 0, 1, BARRIER);
    m.result = 10; /* not yet */
    PUT(EXCHANGE, HOST, 1, 20);
    last = PUT(WAIT, HOST, 1, 19);
    look(&m);
    KNOWN(0, 1, first);
    KNOWN(0, 2, second);
    KNOWN(0, 3, second);
    KNOWN(0, 4, second);
    KNOWN(0, 5, third);
    KNOWN(0, 6, last);
    done(&m);
}

/* A signal that others may have changed says nothing. */
static void test_unseen(void)
{
    const uint64_t lost[5] = {1};
    struct made m;
    uint64_t known;

    make(&m);
    for (uint64_t i = 1; i <= 4; i++)
        PUT(CREATE, HOST, i, 1);
    PUT(POINTER, HOST, 1);
    PUT(PACKET, 0, 1, 0);
    PUT(WAIT, HOST, 1, 0);
    PUT(PACKET, 0, 2, 0);
    PUT(AND, HOST, 2, 3);
    PUT(WAIT, HOST, 2, 0);
    PUT(PACKET, 0, 3, 0);
    PUT(UNREAD, 1, 0);
    PUT(WAIT, HOST, 3, 0);
    PUT(STORE, HOST, 4, 1);
    PUT(PACKET, 0, 4, 0);
    known = PUT(WAIT, HOST, 4, 0);
    put(&m, (struct sbt_record){.type = SBT_TYPE(SBT_API_CORE, SBT_CORE_LOST),
                                .stream = HOST,
                                .slots = lost,
                                .slot_count = 5});
    PUT(PACKET, 0, 4, 0);
    PUT(WAIT, HOST, 4, (uint64_t)-1);
    PUT(PACKET, 0, 9, 0); /* a signal of before the trace */
    PUT(WAIT, HOST, 9, 0);
    look(&m);
    KNOWN(0, 1, NEVER);
    KNOWN(0, 2, NEVER);
    KNOWN(0, 3, NEVER);
    KNOWN(0, 4, known);
    KNOWN(0, 5, NEVER);
    KNOWN(0, 6, NEVER);
    done(&m);
}

/* One signal for more commands than it may stand for, set again and again: neither slow nor wrong.
 */
static void test_many(void)
{
    enum { MANY = 70000 };
    struct made m;

    make(&m);
    PUT(CREATE, HOST, 1, MANY);
    for (unsigned i = 0; i < MANY; i++)
        PUT(PACKET, 0, 1, 0);
    for (unsigned i = 0; i < MANY; i++)
        PUT(STORE, HOST, 1, 1);
    PUT(PACKET, 1, 1, 0);
    PUT(WAIT, HOST, 1, 0);
    look(&m);
    KNOWN(0, 1, NEVER);
    KNOWN(1, 1, NEVER);
    done(&m);
}

int main(void)
{
    test_fences();
    test_fences_again();
    test_timelines();
    test_batches();
    test_signals();
    test_signals_again();
    test_unseen();
    test_many();
    return check_result();
}
