/* SPDX-License-Identifier: Apache-2.0
 *
 * Encode, decode, encode again: the same bytes, for every struct of the API and every argument that
 * is a struct or a list. And bytes that are wrong never crash the decoder.
 */
#include "tests/unit/vulkan/vulkan_fill.h"

#include "api/vulkan/vulkan_ids.h"
#include "tests/unit/check.h"

#include "api/vulkan/tables/field.h"
#include "api/vulkan/vulkan_args.h"
#include "tracesmith/trace.h"

#include <stdlib.h>

#define ROOM (1u << 20)

static uint8_t first[ROOM], second[ROOM];
static struct vk_arena original, copy;

static void same_bytes(const char *name, const struct vk_encoder *a, const struct vk_encoder *b)
{
    size_t size = sbt_out_size(&a->out);

    CHECK(!a->out.overflow && !b->out.overflow);
    if (!CHECK_EQ_INT((long long)sbt_out_size(&b->out), (long long)size) ||
        !CHECK_EQ_MEM(second, first, size))
        fprintf(stderr, "... in %s\n", name);
}

static void round_trip(struct fill *f, const struct vk_struct *type)
{
    void *memory, *again;
    struct vk_encoder a, b;
    struct vk_decoder d;

    vk_arena_reset(&original);
    vk_arena_reset(&copy);
    memory = vk_arena_take(&original, type->size);
    again = vk_arena_take(&copy, type->size);
    fill_struct(f, type, memory, 0);
    vk_encoder_init(&a, first, ROOM);
    vk_encode_struct(&a, type, memory, NULL);
    vk_decoder_init(&d, &copy, first, sbt_out_size(&a.out));
    if (!CHECK(vk_decode_struct(&d, type, again)))
        fprintf(stderr, "... %s\n", vk_name(type->name));
    vk_encoder_init(&b, second, ROOM);
    vk_encode_struct(&b, type, again, NULL);
    same_bytes(vk_name(type->name), &a, &b);
}

static void all_structs(void)
{
    struct fill f = {.random = 0x9e3779b97f4a7c15u, .arena = &original};

    for (uint32_t i = 0; i < vk_struct_count; i++)
        for (int n = 0; n < 8; n++) {
            f.depth_max = 1u + (uint32_t)n % 4;
            round_trip(&f, &vk_structs[i]);
        }
}

/* ---- arguments ---------------------------------------------------------------------------------
 */

static void round_trip_argument(const struct vk_command *command, uint32_t place, void *args)
{
    const struct vk_member *m = &vk_arguments[command->first + place];
    char *pointer = (char *)args + m->offset;
    void *before, *none = NULL;
    struct vk_encoder a, b;
    struct vk_decoder d;

    memcpy(&before, pointer, sizeof(before));
    vk_encoder_init(&a, first, ROOM);
    vk_encode_argument(&a, command, place, args);
    if (sbt_out_size(&a.out)) {
        vk_arena_reset(&copy);
        vk_decoder_init(&d, &copy, first, sbt_out_size(&a.out));
        memcpy(pointer, &none, sizeof(none));
        if (!CHECK(vk_decode_argument(&d, command, place, args)))
            fprintf(stderr, "... %s %s\n", vk_name(command->name), vk_name(m->name));
        d.output = false;
        vk_encoder_init(&b, second, ROOM);
        vk_encode_argument(&b, command, place, args);
        if (!(m->flags & VK_MEMBER_OUT)) /* their handles are gone */
            same_bytes(vk_name(command->name), &a, &b);
    }
    memcpy(pointer, &before, sizeof(before));
}

static void all_arguments(void)
{
    struct fill f = {.random = 0x9e3779b97f4a7c15u, .arena = &original, .depth_max = 4};

    for (uint32_t i = 0; i < vk_command_count; i++) {
        const struct vk_command *command = &vk_commands[i];
        void *args;
        vk_arena_reset(&original);
        args = vk_arena_take(&original, command->args_size);
        fill_args(&f, command, args);
        for (uint32_t place = 0; place < command->argument_count; place++) {
            const struct vk_member *m = &vk_arguments[command->first + place];
            if (m->list || (m->kind == VK_KIND_STRUCT && m->form == VK_FORM_POINTER))
                round_trip_argument(command, place, args);
        }
    }
}

/* ---- hostile bytes
 * ------------------------------------------------------------------------------- */

static void break_bytes(struct fill *f, uint64_t size)
{
    for (uint64_t n = fill_random(f) % 4; size && n; n--)
        first[fill_random(f) % size] = (uint8_t)fill_random(f);
}

static void hostile(void)
{
    struct fill f = {.random = 77, .arena = &original, .depth_max = 3};
    uint32_t accepted = 0, refused = 0;

    for (uint32_t i = 0; i < vk_struct_count; i++)
        for (int n = 0; n < 20; n++) {
            const struct vk_struct *type = &vk_structs[i];
            void *memory;
            struct vk_encoder e;
            struct vk_decoder d;
            bool ok;
            vk_arena_reset(&original);
            vk_arena_reset(&copy);
            memory = vk_arena_take(&original, type->size);
            fill_struct(&f, type, memory, 0);
            vk_encoder_init(&e, first, ROOM);
            vk_encode_struct(&e, type, memory, NULL);
            break_bytes(&f, sbt_out_size(&e.out));
            vk_decoder_init(&d, &copy, first,
                            sbt_out_size(&e.out) - (n == 0 && sbt_out_size(&e.out)));
            memory = vk_arena_take(&copy, type->size);
            ok = vk_decode_struct(&d, type, memory);
            if (ok) { /* whatever came out can be walked */
                vk_encoder_init(&e, second, ROOM);
                vk_encode_struct(&e, type, memory, NULL);
            }
            accepted += ok;
            refused += !ok;
        }
    CHECK(accepted > 100 && refused > 100);
}

/* ---- hostile records ---- */

/* Slots and values that do not belong together. */
static uint64_t slots[64];
static const struct sbt_record broken = {.slots = slots, .slot_count = 64};
static struct fill *breaking;
static uint32_t kept_place[64]; /* argument after each slot */
static const struct vk_command *kept_command;
static void *kept_args;

static int broken_value(void *user, uint32_t index, const uint8_t **data, size_t *size)
{
    struct vk_encoder e;

    vk_encoder_init(&e, first, ROOM);
    vk_encode_argument(&e, kept_command, kept_place[index], kept_args);
    if (e.out.overflow || !sbt_out_size(&e.out))
        return 0;
    if (fill_random(breaking) % 3 == 0)
        break_bytes(breaking, sbt_out_size(&e.out));
    *data = first;
    *size = sbt_out_size(&e.out);
    return 1;
}

static void take_slots(struct fill *f, const struct vk_command *command, const void *args)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < command->argument_count; i++) {
        const struct vk_member *m = &vk_arguments[command->first + i];
        const char *at = (const char *)args + m->offset;
        if (vk_field_of(m) == VK_FIELD_NONE)
            continue;
        kept_place[count] = i;
        slots[count] = 0;
        if (vk_field_of(m) == VK_FIELD_SLOT && m->form != VK_FORM_ONE)
            at = *(const char *const *)at;
        if (vk_field_of(m) == VK_FIELD_SLOT && at)
            slots[count] = vk_load(at, vk_value_size(m));
        if (fill_random(f) % 8 == 0)
            slots[count] = fill_random(f) >> fill_random(f) % 64;
        count++;
    }
}

/* Reads the output as the driver would: as often as its counts say. */
static bool decode_broken(const struct vk_command *command)
{
    struct vk_record_source from = {.record = &broken, .value = broken_value};
    struct vk_decoder d;
    struct vk_encoder e;
    void *args;

    vk_arena_reset(&copy);
    args = vk_arena_take(&copy, command->args_size);
    vk_decoder_init(&d, &copy, NULL, 0);
    if (!vk_decode_args(&d, command, &from, args))
        return false;
    for (uint32_t i = 0; i < command->argument_count; i++) {
        const struct vk_member *m = &vk_arguments[command->first + i];
        vk_encoder_init(&e, second, ROOM);
        if (vk_field_of(m) == VK_FIELD_STRUCT && !(m->flags & VK_MEMBER_OUT))
            vk_encode_argument(&e, command, i, args);
    }
    return true;
}

static void hostile_records(void)
{
    struct fill f = {.random = 99, .arena = &original, .depth_max = 3};
    uint32_t accepted = 0, refused = 0;

    breaking = &f;
    for (uint32_t i = 0; i < vk_command_count; i++)
        for (int n = 0; n < 10; n++) {
            bool ok;
            vk_arena_reset(&original);
            kept_command = &vk_commands[i];
            kept_args = vk_arena_take(&original, kept_command->args_size);
            fill_args(&f, kept_command, kept_args);
            take_slots(&f, kept_command, kept_args);
            ok = decode_broken(kept_command);
            accepted += ok;
            refused += !ok;
        }
    CHECK(accepted > 100 && refused > 100);
}

/* ---- single facts
 * -------------------------------------------------------------------------------- */

static void unknown_links(void)
{
    VkPhysicalDeviceFeatures2 known = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2};
    VkBaseOutStructure nobodys = {.sType = VK_STRUCTURE_TYPE_MAX_ENUM,
                                  .pNext = (VkBaseOutStructure *)&known};
    VkBaseOutStructure stranger = {.sType = (VkStructureType)1999999999, .pNext = &nobodys};
    VkBaseOutStructure loader = {.sType = VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO,
                                 .pNext = &stranger};
    VkDeviceCreateInfo create = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, .pNext = &loader},
                       again;
    const struct vk_struct *type = vk_struct_named("VkDeviceCreateInfo");
    struct vk_encoder e;
    struct vk_decoder d;

    vk_encoder_init(&e, first, ROOM);
    vk_encode_struct(&e, type, &create, NULL);
    CHECK_EQ_INT(e.unknown, 2);
    CHECK_EQ_INT(e.unknown_stype, 1999999999);
    vk_arena_reset(&copy);
    vk_decoder_init(&d, &copy, first, sbt_out_size(&e.out));
    CHECK(vk_decode_struct(&d, type, &again));
    CHECK(again.pNext && *(const int *)again.pNext == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2);
}

/* The specification ignores these, so they may be anything. */
static void ignored_pointers(void)
{
    const void *wild = (const void *)0x10;
    VkDescriptorSetLayoutBinding binding = {.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                            .descriptorCount = 4,
                                            .pImmutableSamplers = wild};
    VkBufferCreateInfo buffer = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                 .queueFamilyIndexCount = 7,
                                 .pQueueFamilyIndices = wild};
    VkDescriptorBufferInfo range = {.range = 16};
    VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                  .descriptorCount = 1,
                                  .descriptorType = VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER,
                                  .pImageInfo = wild,
                                  .pBufferInfo = &range,
                                  .pTexelBufferView = wild};
    struct vk_encoder e;

    vk_encoder_init(&e, first, ROOM);
    vk_encode_struct(&e, vk_struct_named("VkDescriptorSetLayoutBinding"), &binding, NULL);
    vk_encode_struct(&e, vk_struct_named("VkBufferCreateInfo"), &buffer, NULL);
    vk_encode_struct(&e, vk_struct_named("VkWriteDescriptorSet"), &write, NULL);
    CHECK(!e.out.overflow);
}

/* Too small a buffer: nothing is written after it. */
static void small_room(void)
{
    VkApplicationInfo info = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                              .pApplicationName = "a name that does not fit",
                              .pEngineName = "engine"};
    struct vk_encoder e;

    memset(first, 0xee, 64);
    vk_encoder_init(&e, first, 12);
    vk_encode_struct(&e, vk_struct_named("VkApplicationInfo"), &info, NULL);
    CHECK(e.out.overflow);
    CHECK_EQ_INT(first[12], 0xee);
}

/* A struct that points to itself is no value. */
static void ring(void)
{
    VkPhysicalDeviceFeatures2 self = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2};
    struct vk_encoder e;

    self.pNext = &self;
    vk_encoder_init(&e, first, ROOM);
    vk_encode_struct(&e, vk_struct_named("VkPhysicalDeviceFeatures2"), &self, NULL);
    CHECK(e.out.overflow || sbt_out_size(&e.out) < ROOM);
}

/* A number of values that is not how many came. */
static void wrong_count(void)
{
    VkFence fences[2] = {(VkFence)1, (VkFence)2};
    struct vk_args_vkWaitForFences args = {.fenceCount = 2, .pFences = fences};
    const struct vk_command *command = &vk_commands[VK_COMMAND_vkWaitForFences];
    struct vk_encoder e;
    struct vk_decoder d;

    vk_encoder_init(&e, first, ROOM);
    vk_encode_argument(&e, command, 2, &args);
    args.fenceCount = 3;
    vk_arena_reset(&copy);
    vk_decoder_init(&d, &copy, first, sbt_out_size(&e.out));
    CHECK(!vk_decode_argument(&d, command, 2, &args));
}

/* ---- arrays with a count ------------------------------------------------------------------------
 */

/* Bytes after the elements that count, which no driver writes, are not in a trace. */
static void counted_array(const struct vk_struct *type, const struct vk_member *m)
{
    const struct vk_member *count = &vk_members[type->first + m->stride - 1u];
    struct vk_encoder a, b;
    char *memory;

    vk_arena_reset(&original);
    memory = vk_arena_take(&original, type->size);
    memset(memory, 0, type->size);
    memory[count->offset] = 1;
    vk_encoder_init(&a, first, ROOM);
    vk_encode_struct(&a, type, memory, NULL);
    memset(memory + m->offset + vk_value_size(m), 0x5a, (m->count - 1u) * vk_value_size(m));
    vk_encoder_init(&b, second, ROOM);
    vk_encode_struct(&b, type, memory, NULL);
    same_bytes(vk_name(type->name), &a, &b);
}

static void counted_arrays(void)
{
    uint32_t found = 0;

    for (const struct vk_struct *type = vk_structs; type < vk_structs + vk_struct_count; type++)
        for (uint32_t i = 0; i < type->member_count; i++) {
            const struct vk_member *m = &vk_members[type->first + i];
            if (m->form != VK_FORM_ARRAY || !m->stride)
                continue;
            counted_array(type, m);
            found++;
        }
    /* Memory types, heaps, devices of a group, priorities, an identifier. */
    CHECK(found >= 5);
}

int main(void)
{
    vk_arena_init(&original, VK_ARENA_LIMIT);
    vk_arena_init(&copy, VK_ARENA_LIMIT);
    all_structs();
    all_arguments();
    hostile();
    hostile_records();
    unknown_links();
    ignored_pointers();
    small_room();
    ring();
    wrong_count();
    counted_arrays();
    vk_arena_finish(&original);
    vk_arena_finish(&copy);
    return check_result();
}
