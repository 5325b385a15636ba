/* SPDX-License-Identifier: Apache-2.0
 *
 * AMD's metadata of kernels: MessagePack (msgpack.org), of which they use maps, arrays, texts,
 * numbers and truth values.
 */
#include "api/hsa/code.h"

#include <string.h>

#define DEPTH_MAX 16u

struct pack {
    const uint8_t *at, *end;
    bool is_bad;
};

enum item_type { ITEM_OTHER, ITEM_NUMBER, ITEM_TEXT, ITEM_MAP, ITEM_ARRAY };

struct item {
    enum item_type type;
    uint64_t number;  /* value; bytes of a text; entries of a map or array */
    const char *text; /* not terminated */
};

/* Big-endian, `count` bytes. */
static uint64_t number(struct pack *p, unsigned count)
{
    uint64_t value = 0;

    if ((size_t)(p->end - p->at) < count) {
        p->is_bad = true;
        return 0;
    }
    for (unsigned i = 0; i < count; i++)
        value = value << 8 | *p->at++;
    return value;
}

static struct item text(struct pack *p, uint64_t size)
{
    struct item item = {ITEM_TEXT, size, (const char *)p->at};

    if ((uint64_t)(p->end - p->at) < size) {
        p->is_bad = true;
        return (struct item){0};
    }
    p->at += size;
    return item;
}

static struct item opaque(struct pack *p, uint64_t size)
{
    text(p, size);
    return (struct item){0};
}

/* Reads the next item; for a map or array only its head. */
static struct item next(struct pack *p)
{
    uint8_t byte = (uint8_t)number(p, 1);

    if (p->is_bad)
        return (struct item){0};
    if (byte < 0x80)
        return (struct item){ITEM_NUMBER, byte, NULL};
    if (byte < 0x90)
        return (struct item){ITEM_MAP, byte & 15u, NULL};
    if (byte < 0xa0)
        return (struct item){ITEM_ARRAY, byte & 15u, NULL};
    if (byte < 0xc0)
        return text(p, byte & 31u);
    switch (byte) {
    case 0xc4:
    case 0xc5:
    case 0xc6:
        return opaque(p, number(p, 1u << (byte - 0xc4)));
    case 0xca:
        return opaque(p, 4);
    case 0xcb:
        return opaque(p, 8);
    case 0xcc:
    case 0xcd:
    case 0xce:
    case 0xcf:
        return (struct item){ITEM_NUMBER, number(p, 1u << (byte - 0xcc)), NULL};
    case 0xd0:
    case 0xd1:
    case 0xd2:
    case 0xd3:
        return opaque(p, 1u << (byte - 0xd0));
    case 0xd9:
    case 0xda:
    case 0xdb:
        return text(p, number(p, 1u << (byte - 0xd9)));
    case 0xdc:
    case 0xdd:
        return (struct item){ITEM_ARRAY, number(p, 2u << (byte - 0xdc)), NULL};
    case 0xde:
    case 0xdf:
        return (struct item){ITEM_MAP, number(p, 2u << (byte - 0xde)), NULL};
    case 0xc0:
    case 0xc2:
    case 0xc3:
        return (struct item){0};
    default:
        p->is_bad = byte < 0xe0; /* above: a small negative number */
        return (struct item){0};
    }
}

/* Skips the content of an item whose head was read. */
static void skip(struct pack *p, struct item item, unsigned depth)
{
    uint64_t count = item.type == ITEM_MAP ? 2 * item.number : item.number;

    if (item.type != ITEM_MAP && item.type != ITEM_ARRAY)
        return;
    if (depth == DEPTH_MAX)
        p->is_bad = true;
    for (uint64_t i = 0; i < count && !p->is_bad; i++)
        skip(p, next(p), depth + 1);
}

static bool is_text(struct item item, const char *what)
{
    return item.type == ITEM_TEXT && item.number == strlen(what) &&
           memcmp(item.text, what, item.number) == 0;
}

/* ---- kernels -----------------------------------------------------------------------------------
 */

static enum hsa_code_argument_kind kind_of(const char *value_kind)
{
    if (strncmp(value_kind, "hidden_", 7) == 0)
        return HSA_CODE_ARGUMENT_HIDDEN;
    if (strcmp(value_kind, "image") == 0 || strcmp(value_kind, "sampler") == 0)
        return HSA_CODE_ARGUMENT_IMAGE;
    return strcmp(value_kind, "global_buffer") == 0 ? HSA_CODE_ARGUMENT_POINTER
                                                    : HSA_CODE_ARGUMENT_VALUE;
}

static void read_argument(struct pack *p, struct hsa_code_argument *out)
{
    struct item map = next(p);

    if (map.type != ITEM_MAP)
        p->is_bad = true;
    for (uint64_t i = 0; i < map.number && !p->is_bad; i++) {
        struct item key = next(p), value = next(p);
        if (is_text(key, ".offset"))
            out->offset = (uint32_t)value.number;
        else if (is_text(key, ".size"))
            out->size = (uint32_t)value.number;
        else if (is_text(key, ".value_kind") && value.type == ITEM_TEXT &&
                 value.number < sizeof(out->value_kind))
            memcpy(out->value_kind, value.text, value.number);
        skip(p, value, 0);
    }
    out->kind = kind_of(out->value_kind);
}

static void read_arguments(struct pack *p, struct item array, struct hsa_code_kernel *out)
{
    out->argument_count = 0;
    for (uint64_t i = 0; i < array.number && !p->is_bad; i++) {
        struct hsa_code_argument argument = {0};
        read_argument(p, &argument);
        if (!p->is_bad && out->argument_count < HSA_CODE_ARGUMENT_MAX)
            out->arguments[out->argument_count++] = argument;
    }
    out->has_arguments = !p->is_bad && array.number <= HSA_CODE_ARGUMENT_MAX;
}

/* Reads up to three numbers. */
static void read_dimensions(struct pack *p, struct item array, uint32_t out[3])
{
    for (uint64_t i = 0; i < array.number && !p->is_bad; i++) {
        struct item dimension = next(p);
        if (i < 3)
            out[i] = (uint32_t)dimension.number;
        skip(p, dimension, 0);
    }
}

static void read_number(struct item key, struct item value, struct hsa_code_kernel *out)
{
    const struct {
        const char *name;
        uint32_t *to;
    } numbers[] = {
        {".kernarg_segment_size", &out->arguments_size},
        {".vgpr_count", &out->vector_registers},
        {".sgpr_count", &out->scalar_registers},
        {".max_flat_workgroup_size", &out->max_threads},
    };

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        if (value.type == ITEM_NUMBER && is_text(key, numbers[i].name))
            *numbers[i].to = (uint32_t)value.number;
}

/* Adds what the metadata say of a kernel to what its descriptor says. */
static void add(struct hsa_code_kernel *out, const struct hsa_code_kernel *found)
{
    if (found->arguments_size) /* the descriptor has it from version 4 on only */
        out->arguments_size = found->arguments_size;
    out->vector_registers = found->vector_registers;
    out->scalar_registers = found->scalar_registers;
    out->max_threads = found->max_threads;
    memcpy(out->block, found->block, sizeof(out->block));
    out->has_arguments = found->has_arguments;
    out->argument_count = found->argument_count;
    memcpy(out->arguments, found->arguments, sizeof(out->arguments));
}

static void read_kernel(struct pack *p, const struct hsa_code_kernels *kernels)
{
    struct item map = next(p);
    struct hsa_code_kernel found = {0}, *out = NULL;

    for (uint64_t i = 0; map.type == ITEM_MAP && i < map.number && !p->is_bad; i++) {
        struct item key = next(p), value = next(p);
        if (is_text(key, ".args") && value.type == ITEM_ARRAY) {
            read_arguments(p, value, &found);
            continue;
        }
        if (is_text(key, ".reqd_workgroup_size") && value.type == ITEM_ARRAY) {
            read_dimensions(p, value, found.block);
            continue;
        }
        if (is_text(key, ".symbol"))
            out = value.type == ITEM_TEXT ? hsa_code_kernels_find(kernels, value.text, value.number)
                                          : NULL; /* the file has no such symbol */
        else
            read_number(key, value, &found);
        skip(p, value, 0);
    }
    if (out && !p->is_bad)
        add(out, &found);
}

void hsa_code_metadata(const uint8_t *data, size_t size, struct hsa_code_kernels *kernels)
{
    struct pack p = {data, data + size, false};
    struct item map = next(&p);

    for (uint64_t i = 0; map.type == ITEM_MAP && i < map.number && !p.is_bad; i++) {
        struct item key = next(&p), value = next(&p);
        if (is_text(key, "amdhsa.target") && value.type == ITEM_TEXT &&
            value.number < sizeof(kernels->target)) {
            memcpy(kernels->target, value.text, value.number);
            kernels->target[value.number] = '\0';
        }
        if (!is_text(key, "amdhsa.kernels") || value.type != ITEM_ARRAY) {
            skip(&p, value, 0);
            continue;
        }
        for (uint64_t k = 0; k < value.number && !p.is_bad; k++)
            read_kernel(&p, kernels);
    }
}
