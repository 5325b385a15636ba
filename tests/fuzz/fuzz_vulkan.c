/* SPDX-License-Identifier: Apache-2.0
 *
 * Feeds records of Vulkan commands, with whatever in their slots and values, to the decoder that
 * replay uses, and reads all that it made as a driver would: what a count promises must be there,
 * and nothing may point anywhere else. Modules of shaders are looked into. For libFuzzer;
 * tests/fuzz/replay_corpus.c runs the checked-in corpus in the normal suite.
 *
 * The first two bytes are a command's place in the table; 0xffff: the rest is SPIR-V. Then, for
 * each argument, a length in one byte and so many bytes: a slot (up to 8, little endian) or the
 * value.
 */
#include "api/vulkan/vulkan_args.h"
#include "api/vulkan/tables/codec.h"
#include "api/vulkan/tables/field.h"
#include "api/vulkan/tables/spirv.h"
#include "base/bytes.h"
#include "tracesmith/trace.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FIELDS_MAX  32u
#define ARGS_SIZE   256u
#define ARENA_LIMIT (1u << 20)
#define ROOM        (1u << 18)

struct input {
    struct {
        const uint8_t *bytes;
        size_t size;
    } fields[FIELDS_MAX];
    uint64_t slots[FIELDS_MAX];
    uint32_t count;
    const uint8_t *data; /* slots of bytes say where in it */
    size_t size;
};

static void read_fields(struct input *in, const uint8_t *data, size_t size)
{
    for (size_t at = 0; at < size && in->count < FIELDS_MAX; in->count++) {
        size_t length = data[at++];
        length = length < size - at ? length : size - at;
        in->fields[in->count].bytes = data + at;
        in->fields[in->count].size = length;
        memcpy(&in->slots[in->count], data + at, length < 8 ? length : 8);
        at += length;
    }
}

static int value(void *user, uint32_t index, const uint8_t **data, size_t *size)
{
    const struct input *in = user;

    if (index >= in->count || !in->fields[index].size)
        return 0;
    *data = in->fields[index].bytes;
    *size = in->fields[index].size;
    return 1;
}

static const char *text(void *user, uint32_t id)
{
    return id % 3 ? "text" : NULL;
}

/* Encoding reads every pointer and as many values as counts say. */
static void read_all(const struct vk_command *command, const void *args)
{
    static uint8_t room[ROOM];

    for (uint32_t place = 0; place < command->argument_count; place++) {
        const struct vk_member *m = &vk_arguments[command->first + place];
        struct vk_encoder e;
        if (!m->list && (m->kind != VK_KIND_STRUCT || m->form != VK_FORM_POINTER))
            continue;
        vk_encoder_init(&e, room, ROOM);
        vk_encode_argument(&e, command, place, args);
    }
}

static void decode(const struct vk_command *command, struct input *in)
{
    struct sbt_record record = {.slots = in->slots,
                                .slot_count = in->count,
                                .data = in->data,
                                .data_size = (uint32_t)in->size};
    struct vk_record_source source = {&record, value, text, in};
    _Alignas(16) uint8_t args[ARGS_SIZE] = {0};
    struct vk_arena arena;
    struct vk_decoder d;

    if (command->args_size > ARGS_SIZE)
        return;
    vk_arena_init(&arena, ARENA_LIMIT);
    vk_decoder_init(&d, &arena, NULL, 0);
    d.strict = true;
    if (vk_decode_args(&d, command, &source, args))
        read_all(command, args);
    vk_arena_finish(&arena);
}

static void reflect(const uint8_t *data, size_t size)
{
    static struct spirv_module module;  /* large: fresh pages would cost more than the work */
    uint32_t *words = malloc(size + 4); /* aligned, and no byte more than is said */

    if (words) {
        memcpy(words, data, size / 4 * 4);
        if (spirv_is_module(words, size / 4 * 4))
            spirv_reflect(&module, words, size / 4 * 4);
    }
    free(words);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {.data = data, .size = size};
    uint16_t place;

    if (size < 2)
        return 0;
    place = tsm_get_u16(data);
    if (place == 0xffff) {
        reflect(data + 2, size - 2);
        return 0;
    }
    read_fields(&in, data + 2, size - 2);
    decode(&vk_commands[place % vk_command_count], &in);
    return 0;
}
