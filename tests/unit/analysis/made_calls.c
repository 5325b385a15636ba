/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/analysis/made_calls.h"

#include "tests/unit/check.h"
#include "tracesmith/error.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- calls, as a trace describes them ---------------------------------------------------------
 */

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
    [BARRIER_AND] = {"aql_barrier_and",
                     SBT_API_HSA,
                     SBT_KIND_COMMAND,
                     {FIELD("completion", HANDLE, OBJECT, "signal"),
                      FIELD("header", FLAGS, NONE, ""), FIELD("dep0", HANDLE, NONE, "signal")}},
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

void must(int error)
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

void made_begin(struct made *m)
{
    const struct sbt_session session = {.id = {1, 2, 3, 4, 5, 6, 0x47, 8, 0x89},
                                        .clock = "monotonic"};

    *m = (struct made){.path = "/tmp/made_calls.XXXXXX"};
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

uint64_t made_put_record(struct made *m, struct sbt_record record)
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

uint64_t made_put(struct made *m, enum call call, uint32_t stream, const uint64_t *given,
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
    return made_put_record(m, record);
}

void made_open(struct made *m)
{
    const struct sbt_totals none = {0};

    must(sbt_writer_finish(m->writer, &none, SBT_END_FINISHED));
    sbt_writer_destroy(m->writer);
    must(sbt_reader_open(&m->reader, m->path));
}

void made_finish(struct made *m)
{
    sbt_reader_destroy(m->reader);
    unlink(m->path);
}
