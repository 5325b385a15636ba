/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/vulkan/vulkan_trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/vulkan/tables/codec.h"
#include "api/vulkan/tables/describe.h"
#include "api/vulkan/tables/field.h"
#include "base/hash.h"

static void must(int result)
{
    if (result >= 0)
        return;
    fprintf(stderr, "vulkan_trace: %s\n", tsm_error_message());
    exit(1);
}

void trace_begin(struct vulkan_trace *t, const char *name)
{
    struct sbt_session session = {.clock = "monotonic"};

    vulkan_describe();
    memset(t, 0, sizeof(*t));
    snprintf(t->path, sizeof(t->path), "vulkan_trace_%s.sbt", name);
    remove(t->path);
    session.id[0] = 1;
    must(sbt_writer_create(&t->w, t->path, &session, NULL));
    must(sbt_writer_metadata(t->w, "vulkan.device.1.name", "recorded"));
    must(sbt_writer_metadata(t->w, "vulkan.device.1.memory.0", "heap 0, flags 0x6"));
    must(sbt_writer_metadata(t->w, "vulkan.device.1.memory.1", "heap 0, flags 0x1"));
    must(sbt_writer_metadata(t->w, "vulkan.device.1.memory.2", "heap 0, flags 0x7"));
    for (size_t i = 0; i < vulkan_description.enum_count; i++)
        must(sbt_writer_enum(t->w, &vulkan_description.enums[i]));
    for (size_t i = 0; i < vulkan_description.struct_count; i++)
        must(sbt_writer_struct(t->w, &vulkan_description.structs[i]));
    for (size_t i = 0; i < vulkan_description.call_count; i++)
        must(sbt_writer_schema(t->w, vulkan_description.calls[i].schema));
    for (uint32_t i = SBT_CORE_HOST_WRITE; i <= SBT_CORE_CHECKSUM; i++)
        must(sbt_writer_schema(t->w, sbt_core_schema(i)));
}

void trace_end(struct vulkan_trace *t)
{
    struct sbt_totals totals = {0};

    must(sbt_writer_finish(t->w, &totals, SBT_END_FINISHED));
    sbt_writer_destroy(t->w);
}

/* One slot is another number, or one bit of the data is. */
static void lie(struct sbt_record *r, uint64_t how, uint64_t *slots, uint8_t *data)
{
    static const uint64_t numbers[] = {
        0,          1,          7,          255,    0xffffffff,     0x7fffffff,
        UINT64_MAX, 1ull << 40, 1ull << 63, 0x1000, UINT64_MAX / 2, 2};
    bool of_data = how & 1 && r->data_size;

    memcpy(slots, r->slots, r->slot_count * sizeof(*slots));
    if (r->data_size)
        memcpy(data, r->data, r->data_size);
    how /= 2;
    if (of_data)
        data[how % r->data_size] ^= (uint8_t)(1 << how / r->data_size % 8);
    else if (r->slot_count)
        slots[how % r->slot_count] = numbers[how / r->slot_count % 12];
    r->slots = slots;
    r->data = data;
}

static void put_record(struct vulkan_trace *t, struct sbt_record *r)
{
    static uint64_t slots[64];
    static uint8_t data[65536];
    struct sbt_record honest;

    r->seq = t->seq;
    r->thread = 1;
    r->result = t->result;
    t->result = 0;
    honest = *r;
    if (t->damage_seq == t->seq + 1)
        lie(r, t->damage, slots, data);
    t->seq++;
    if (r->slots == slots && sbt_writer_record(t->w, r) >= 0)
        return;
    must(sbt_writer_record(t->w, &honest)); /* the writer refuses some lies */
}

/* A value, or bytes, at the end of the record's data. */
static uint64_t put_argument(const struct vk_command *command, uint32_t place, const void *args,
                             uint8_t *data, size_t *used)
{
    struct vk_encoder e;
    size_t size;

    data[*used] = 0; /* the value follows, docs/FORMAT.md 8.1 */
    vk_encoder_init(&e, data + *used + 1, 8192);
    vk_encode_argument(&e, command, place, args);
    size = sbt_out_size(&e.out);
    if (e.out.overflow || !size)
        return 0;
    *used += size + 1;
    return (uint64_t)(*used - size - 1) << 32 | (size + 1);
}

void trace_put(struct vulkan_trace *t, uint32_t place, const void *args)
{
    static uint8_t data[65536];
    const struct vk_command *command = &vk_commands[place];
    uint64_t slots[64] = {0};
    size_t used = 0;
    bool is_command = command->kind == SBT_KIND_COMMAND;
    struct sbt_record r = {
        .type = SBT_TYPE(SBT_API_VULKAN, command->id), .slots = slots, .data = data};

    for (uint32_t i = 0; i < command->argument_count; i++) {
        const struct vk_member *m = &vk_arguments[command->first + i];
        const char *at = (const char *)args + m->offset;
        enum vk_field field = vk_field_of(m);
        if (field == VK_FIELD_NONE)
            continue;
        if (field == VK_FIELD_STRUCT && *(const void *const *)(const void *)at)
            slots[r.slot_count] = put_argument(command, i, args, data, &used);
        else if (field == VK_FIELD_SLOT && m->form == VK_FORM_ONE)
            slots[r.slot_count] = vk_load(at, vk_value_size(m));
        else if (field == VK_FIELD_SLOT && *(const void *const *)(const void *)at)
            slots[r.slot_count] = vk_load(*(const void *const *)(const void *)at, vk_value_size(m));
        r.slot_count++;
    }
    r.data_size = used;
    r.stream = is_command ? t->stream : SBT_STREAM_NONE;
    r.position = is_command ? ++t->position : 0;
    put_record(t, &r);
}

void trace_write(struct vulkan_trace *t, uint64_t address, const void *bytes, size_t size)
{
    uint8_t *data = calloc(1, SBT_BLOB_ENCODED_SIZE(size));
    uint64_t slots[5] = {address, size, SBT_BLOB_ENCODED_SIZE(size), SBT_STREAM_NONE, 0};
    struct sbt_record r = {.type = SBT_CORE_HOST_WRITE,
                           .stream = SBT_STREAM_NONE,
                           .slots = slots,
                           .slot_count = 5,
                           .data = data,
                           .data_size = SBT_BLOB_ENCODED_SIZE(size)};

    must(sbt_writer_blob(t->w, bytes, size, data));
    put_record(t, &r);
    free(data);
}

void trace_checksum(struct vulkan_trace *t, uint64_t memory, uint64_t offset, uint8_t value,
                    size_t size)
{
    uint8_t *bytes = malloc(size);
    struct sbt_key key;
    uint64_t slots[5] = {0, t->position, 1ull << 63 | memory << 40 | offset, size, sizeof(key)};
    struct sbt_record r = {.type = SBT_CORE_CHECKSUM,
                           .stream = SBT_STREAM_NONE,
                           .slots = slots,
                           .slot_count = 5,
                           .data = key.bytes,
                           .data_size = sizeof(key)};

    memset(bytes, value, size);
    key = tsm_hash_key(bytes, size);
    put_record(t, &r);
    free(bytes);
}

void trace_device(struct vulkan_trace *t, const VkDeviceCreateInfo *info)
{
    VkInstanceCreateInfo instance = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO};
    const char *layer = "VK_LAYER_of_the_recording";
    float priority = 1;
    VkDeviceQueueCreateInfo queues = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                      .queueCount = 1,
                                      .pQueuePriorities = &priority};
    VkDeviceCreateInfo device = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                 .queueCreateInfoCount = 1,
                                 .pQueueCreateInfos = &queues};
    uint64_t one = 1;
    uint32_t count = 1;

    instance.enabledLayerCount = 1;
    instance.ppEnabledLayerNames = &layer;
    PUT(t, vkCreateInstance, &instance, NULL, (VkInstance *)&one);
    PUT(t, vkEnumeratePhysicalDevices, ID(VkInstance, 1), &count, (VkPhysicalDevice *)&one);
    PUT(t, vkCreateDevice, ID(VkPhysicalDevice, 1), info ? info : &device, NULL, (VkDevice *)&one);
    PUT(t, vkGetDeviceQueue, ID(VkDevice, 1), 0, 0, (VkQueue *)&one);
}
