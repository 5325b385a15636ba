/* SPDX-License-Identifier: Apache-2.0
 *
 * Tests that the device of a stream is found by what records name and by what is current on a
 * thread.
 */
#include "analysis/model/devices.h"
#include "tests/unit/check.h"

#include <stdlib.h>

enum { FIELD_MAX = 3 };

/* A record and its schema, in short. */
struct row {
    enum sbt_api api;
    const char *name;
    enum sbt_kind kind;
    struct sbt_field fields[FIELD_MAX];
};

#define HANDLE(name, role, type)                                                                   \
    {                                                                                              \
        name, SBT_FIELD_HANDLE, SBT_ROLE_##role, type                                              \
    }
#define NUMBER(name, role)                                                                         \
    {                                                                                              \
        name, SBT_FIELD_UINT, SBT_ROLE_##role, ""                                                  \
    }

static const struct row create_context = {SBT_API_CUDA,
                                          "cuCtxCreate_v2",
                                          SBT_KIND_CREATE,
                                          {HANDLE("pctx", OBJECT, "context"),
                                           {"dev", SBT_FIELD_INT, SBT_ROLE_NONE, ""},
                                           NUMBER("default_stream", STREAM_MADE)}};
static const struct row set_context = {
    SBT_API_CUDA, "cuCtxSetCurrent", SBT_KIND_STATE, {HANDLE("ctx", NONE, "context")}};
static const struct row push_context = {
    SBT_API_CUDA, "cuCtxPushCurrent_v2", SBT_KIND_STATE, {HANDLE("ctx", NONE, "context")}};
static const struct row pop_context = {
    SBT_API_CUDA, "cuCtxPopCurrent_v2", SBT_KIND_STATE, {HANDLE("pctx", NONE, "context")}};
static const struct row destroy_context = {
    SBT_API_CUDA, "cuCtxDestroy_v2", SBT_KIND_DESTROY, {HANDLE("ctx", OBJECT, "context")}};
static const struct row create_stream = {
    SBT_API_CUDA,
    "cuStreamCreate",
    SBT_KIND_CREATE,
    {HANDLE("phStream", OBJECT, "stream"), NUMBER("number", STREAM_MADE)}};
static const struct row launch = {
    SBT_API_CUDA, "cuLaunchKernel", SBT_KIND_COMMAND, {HANDLE("hStream", NONE, "stream")}};

static struct tsm_destination sent_to; /* by the last record */

static void note(struct tsm_devices *d, const struct row *row, uint32_t thread, uint32_t stream,
                 const uint64_t slots[FIELD_MAX])
{
    struct sbt_schema schema = {.type = SBT_TYPE(row->api, 1),
                                .name = row->name,
                                .kind = row->kind,
                                .result_enum = "",
                                .fields = row->fields};
    struct sbt_record record = {.type = schema.type, .thread = thread, .stream = stream};
    struct tsm_type_device type;

    while (schema.field_count < FIELD_MAX && row->fields[schema.field_count].name)
        schema.field_count++;
    record.slots = slots;
    record.slot_count = schema.field_count;
    type = tsm_type_device_of(&schema);
    CHECK_EQ_INT(tsm_devices_note(d, &sent_to, NULL, &record, &schema, &type), 0);
}

#define NOTE(row, thread, ...)                                                                     \
    note(&d, &(row), thread, SBT_STREAM_NONE, (const uint64_t[FIELD_MAX]){__VA_ARGS__})
#define SEND(row, thread, stream, ...)                                                             \
    note(&d, &(row), thread, stream, (const uint64_t[FIELD_MAX]){__VA_ARGS__})

static bool is_sent_to(const char *name)
{
    char text[TSM_DEVICE_NAME_MAX];
    const char *found = tsm_device_name(text, &sent_to.device);

    return found && name ? strcmp(found, name) == 0 : found == name;
}

/* Tests the device of a command that names nothing, on a stream. */
static bool is_on(struct tsm_devices *d, uint32_t stream, const char *name)
{
    static const struct row nothing = {.api = SBT_API_DRM, .name = "", .kind = SBT_KIND_COMMAND};

    note(d, &nothing, 99, stream, (const uint64_t[FIELD_MAX]){0});
    return is_sent_to(name);
}

/* Threads 1 and 2, contexts 1 (device 0) and 2 (device 1). */
static void test_current(void)
{
    struct tsm_devices d = {0};

    NOTE(create_stream, 1, 9, 9);
    CHECK(is_on(&d, 9, NULL)); /* nothing is current */
    NOTE(create_context, 1, 1, 0, 10);
    NOTE(create_stream, 1, 1, 11);
    NOTE(create_context, 1, 2, 1, 20);
    NOTE(create_stream, 1, 2, 21);
    CHECK(is_on(&d, 10, "cuda 0") && is_on(&d, 11, "cuda 0"));
    CHECK(is_on(&d, 20, "cuda 1") && is_on(&d, 21, "cuda 1"));
    NOTE(pop_context, 1, 2);
    NOTE(create_stream, 1, 3, 12);
    CHECK(is_on(&d, 12, "cuda 0"));
    NOTE(set_context, 2, 2);
    NOTE(create_stream, 2, 4, 22);
    NOTE(push_context, 2, 1);
    NOTE(create_stream, 2, 5, 13);
    NOTE(destroy_context, 2, 1);
    NOTE(create_stream, 2, 6, 23);
    CHECK(is_on(&d, 22, "cuda 1") && is_on(&d, 13, "cuda 0") && is_on(&d, 23, "cuda 1"));
    NOTE(set_context, 2, 0);
    NOTE(create_stream, 2, 7, 24);
    CHECK(is_on(&d, 24, NULL));
    /* A thread's own default stream: no record makes it. */
    NOTE(set_context, 3, 2);
    SEND(launch, 3, 30, 0);
    CHECK(is_sent_to("cuda 1"));
    SEND(launch, 4, 31, 0);
    CHECK(is_sent_to(NULL));
    CHECK_EQ_INT((long long)d.count, 2);
    tsm_devices_finish(&d);
}

/* Waits for all of a context, and commands of its streams, have one owner. */
static void test_owners(void)
{
    static const struct row wait = {
        .api = SBT_API_CUDA, .name = "cuCtxSynchronize", .kind = SBT_KIND_SYNC};
    struct tsm_devices d = {0};
    uint64_t first;

    NOTE(create_context, 1, 1, 0, 10);
    NOTE(create_stream, 1, 1, 11);
    NOTE(wait, 1, 0);
    first = sent_to.owner;
    NOTE(create_context, 1, 2, 0, 20);
    NOTE(create_stream, 1, 2, 21);
    CHECK(is_on(&d, 10, "cuda 0") && sent_to.owner == first && first);
    CHECK(is_on(&d, 11, "cuda 0") && sent_to.owner == first);
    NOTE(wait, 1, 0);
    CHECK(sent_to.owner && sent_to.owner != first);
    first = sent_to.owner;
    CHECK(is_on(&d, 20, "cuda 0") && sent_to.owner == first);
    CHECK(is_on(&d, 21, "cuda 0") && sent_to.owner == first);
    NOTE(wait, 2, 0);
    CHECK_EQ_INT((long long)sent_to.owner, 0);
    tsm_devices_finish(&d);
}

/* More contexts than a thread's stack has room for. */
static void test_deep(void)
{
    struct tsm_devices d = {0};

    NOTE(create_context, 1, 1, 0, 10);
    for (int i = 0; i < 100; i++)
        NOTE(push_context, 1, 1);
    NOTE(create_stream, 1, 1, 11);
    CHECK(is_on(&d, 11, NULL));
    for (int i = 0; i < 100; i++)
        NOTE(pop_context, 1, 1);
    NOTE(create_stream, 1, 2, 12);
    CHECK(is_on(&d, 12, "cuda 0"));
    NOTE(pop_context, 1, 1);
    NOTE(pop_context, 1, 1);
    for (uint64_t i = 0; i < 1000; i++) /* devices that no machine has */
        NOTE(create_context, 1, 2 + i, i, 100 + i);
    CHECK(is_on(&d, 100, "cuda 0") && is_on(&d, 300, "cuda 200") && is_on(&d, 1099, NULL));
    tsm_devices_finish(&d);
}

static void test_named(void)
{
    static const struct row vulkan_device = {SBT_API_VULKAN,
                                             "vkCreateDevice",
                                             SBT_KIND_CREATE,
                                             {HANDLE("physicalDevice", NONE, "VkPhysicalDevice"),
                                              HANDLE("pDevice", OBJECT, "VkDevice")}};
    static const struct row vulkan_queue = {
        SBT_API_VULKAN,
        "vkGetDeviceQueue",
        SBT_KIND_CREATE,
        {HANDLE("device", NONE, "VkDevice"), HANDLE("pQueue", OBJECT, "VkQueue")}};
    static const struct row submit = {
        SBT_API_VULKAN, "vkQueueSubmit", SBT_KIND_COMMAND, {HANDLE("queue", NONE, "VkQueue")}};
    static const struct row hsa_queue = {SBT_API_HSA,
                                         "hsa_queue_create",
                                         SBT_KIND_CREATE,
                                         {HANDLE("agent", NONE, "agent"),
                                          HANDLE("queue", OBJECT, "queue"),
                                          NUMBER("stream", STREAM_MADE)}};
    static const struct row file = {
        SBT_API_DRM,
        "gpu_file",
        SBT_KIND_CREATE,
        {HANDLE("file", OBJECT, "file"), {"device", SBT_FIELD_HEX, SBT_ROLE_NONE, ""}}};
    static const struct row job = {
        SBT_API_DRM, "AMDGPU_CS", SBT_KIND_COMMAND, {HANDLE("file", NONE, "file")}};
    struct tsm_devices d = {0};

    NOTE(vulkan_device, 1, 1, 1);
    NOTE(vulkan_device, 1, 2, 2);
    NOTE(vulkan_device, 1, 1, 3); /* two of one physical device */
    for (uint64_t i = 1; i <= 3; i++)
        NOTE(vulkan_queue, 1, i, i);
    for (uint32_t i = 1; i <= 4; i++) {
        SEND(submit, 1, i, i);
        CHECK(is_sent_to(i == 2   ? "vulkan VkPhysicalDevice#2"
                         : i == 4 ? NULL
                                  : "vulkan VkPhysicalDevice#1"));
    }
    NOTE(hsa_queue, 1, 5, 1, 5);
    CHECK(is_on(&d, 5, "hsa agent#5"));
    NOTE(file, 1, 1, 0xe280);
    NOTE(file, 1, 2, 0xe281);
    NOTE(file, 1, 3, 0xe280);
    for (uint32_t i = 1; i <= 4; i++) {
        SEND(job, 1, 10 + i, i);
        CHECK(is_sent_to(i == 2 ? "drm 0xe281" : i == 4 ? "drm file#4" : "drm 0xe280"));
    }
    tsm_devices_finish(&d);
}

int main(void)
{
    test_current();
    test_owners();
    test_deep();
    test_named();
    return check_result();
}
