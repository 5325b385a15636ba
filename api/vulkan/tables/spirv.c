/* SPDX-License-Identifier: Apache-2.0 */
#include "api/vulkan/tables/spirv.h"

#include <stdlib.h>
#include <string.h>

#define HEADER_WORDS 5u
#define ID_MAX       (1u << 22) /* "Universal Limits": ids */
#define DEPTH_MAX    32u
#define WORK_MAX     4096u /* types looked into to find a size: nested ones are many times many */
#define NONE         UINT32_MAX

enum {
    OP_NAME = 5,
    OP_ENTRY_POINT = 15,
    OP_EXECUTION_MODE = 16,
    OP_TYPE_INT = 21,
    OP_TYPE_FLOAT = 22,
    OP_TYPE_VECTOR = 23,
    OP_TYPE_MATRIX = 24,
    OP_TYPE_IMAGE = 25,
    OP_TYPE_SAMPLER = 26,
    OP_TYPE_SAMPLED_IMAGE = 27,
    OP_TYPE_ARRAY = 28,
    OP_TYPE_RUNTIME_ARRAY = 29,
    OP_TYPE_STRUCT = 30,
    OP_TYPE_POINTER = 32,
    OP_CONSTANT = 43,
    OP_SPEC_CONSTANT = 50,
    OP_VARIABLE = 59,
    OP_DECORATE = 71,
    OP_MEMBER_DECORATE = 72,
    OP_EXECUTION_MODE_ID = 331,
    OP_TYPE_ACCELERATION_STRUCTURE = 5341,
};

enum { MODE_LOCAL_SIZE = 17, MODE_LOCAL_SIZE_ID = 38 };
enum {
    DECORATION_BUFFER_BLOCK = 3,
    DECORATION_ARRAY_STRIDE = 6,
    DECORATION_MATRIX_STRIDE = 7,
    DECORATION_BINDING = 33,
    DECORATION_DESCRIPTOR_SET = 34,
    DECORATION_OFFSET = 35,
};
enum { CLASS_UNIFORM_CONSTANT = 0, CLASS_UNIFORM = 2, CLASS_PUSH = 9, CLASS_STORAGE = 12 };
enum { DIM_BUFFER = 5, DIM_SUBPASS = 6 };

/* Facts about an id; all zero: none, so that unused ids cost no memory. */
struct id {
    uint32_t made; /* place of the instruction that makes a type, constant or variable; 0: none */
    uint32_t name; /* place of its OpName; 0: none */
    uint32_t set_end, binding_end; /* set + 1, binding + 1 */
    uint32_t stride;
    bool is_buffer_block;
};

struct parse {
    const uint32_t *words;
    size_t count;
    struct id *ids;
    uint32_t bound;
    uint32_t *work; /* types looked into so far */
};

/* ---- instructions ------------------------------------------------------------------------ */

bool spirv_is_module(const uint32_t *words, size_t size)
{
    size_t count = size / 4;

    if (size % 4 || count < HEADER_WORDS || words[0] != SPIRV_MAGIC)
        return false;
    for (size_t at = HEADER_WORDS; at < count;) {
        size_t length = words[at] >> 16;
        if (!length || length > count - at)
            return false;
        at += length;
    }
    return true;
}

static uint32_t op_of(const struct parse *p, size_t at)
{
    return p->words[at] & 0xffffu;
}

/* Operand `i` of the instruction at `at`, 0 when there is none. */
static uint32_t operand(const struct parse *p, size_t at, uint32_t i)
{
    return i + 1 < p->words[at] >> 16 ? p->words[at + 1 + i] : 0;
}

/* The text from operand `i` on, "" when it does not end in its instruction. */
static const char *text(const struct parse *p, size_t at, uint32_t i)
{
    size_t length = p->words[at] >> 16;
    const char *start = (const char *)(p->words + at + 1 + i);

    if (i + 1 >= length || !memchr(start, 0, (length - 1 - i) * 4))
        return "";
    return start;
}

static struct id *id_of(const struct parse *p, uint32_t number)
{
    return number < p->bound ? &p->ids[number] : &p->ids[0];
}

/* Returns the place of the instruction that creates the id's type, constant or variable; 0:
 * none. */
static size_t made(const struct parse *p, uint32_t number)
{
    return id_of(p, number)->made;
}

static const char *name_of(const struct parse *p, uint32_t number)
{
    uint32_t at = id_of(p, number)->name;

    return at ? text(p, at, 1) : "";
}

/* The operand with the id that the instruction makes; NONE: it makes none that matters. */
static uint32_t result_place(uint32_t op)
{
    if ((op >= 19 && op <= OP_TYPE_POINTER) || op == OP_TYPE_ACCELERATION_STRUCTURE)
        return 0;
    return op == OP_CONSTANT || op == OP_SPEC_CONSTANT || op == OP_VARIABLE ? 1 : NONE;
}

static void note_decoration(const struct parse *p, size_t at)
{
    struct id *id = id_of(p, operand(p, at, 0));

    switch (operand(p, at, 1)) {
    case DECORATION_BUFFER_BLOCK:
        id->is_buffer_block = true;
        break;
    case DECORATION_ARRAY_STRIDE:
        id->stride = operand(p, at, 2);
        break;
    case DECORATION_BINDING:
        id->binding_end = operand(p, at, 2) + 1;
        break;
    case DECORATION_DESCRIPTOR_SET:
        id->set_end = operand(p, at, 2) + 1;
        break;
    default:
        break;
    }
}

static void note_ids(const struct parse *p)
{
    for (size_t at = HEADER_WORDS; at < p->count; at += p->words[at] >> 16) {
        uint32_t op = op_of(p, at), place = result_place(op);
        if (op == OP_NAME)
            id_of(p, operand(p, at, 0))->name = (uint32_t)at;
        else if (op == OP_DECORATE)
            note_decoration(p, at);
        else if (place != NONE)
            id_of(p, operand(p, at, place))->made = (uint32_t)at;
    }
    p->ids[0] = (struct id){0}; /* stands for all that are none */
}

/* ---- types ------------------------------------------------------------------------------- */

static uint64_t constant(const struct parse *p, uint32_t number)
{
    size_t at = made(p, number);

    return at && (op_of(p, at) == OP_CONSTANT || op_of(p, at) == OP_SPEC_CONSTANT)
               ? operand(p, at, 2)
               : 0;
}

static uint64_t type_size(const struct parse *p, uint32_t type, uint64_t matrix_stride,
                          uint32_t depth);

/* Offsets and strides of matrices are decorations of the members. */
static uint64_t struct_size(const struct parse *p, uint32_t type, uint32_t depth)
{
    size_t made_at = made(p, type);
    uint32_t members = (p->words[made_at] >> 16) - 2;
    uint64_t stride = 0, size = 0;

    for (size_t at = HEADER_WORDS; at < p->count; at += p->words[at] >> 16) {
        uint32_t member = operand(p, at, 1);
        if (op_of(p, at) != OP_MEMBER_DECORATE || operand(p, at, 0) != type || member >= members)
            continue;
        if (operand(p, at, 2) == DECORATION_MATRIX_STRIDE)
            stride = operand(p, at, 3);
        if (operand(p, at, 2) != DECORATION_OFFSET)
            continue;
        uint64_t end =
            operand(p, at, 3) + type_size(p, operand(p, made_at, 1 + member), stride, depth + 1);
        size = end > size ? end : size;
    }
    return size;
}

/* Bytes; 0 where that is not known. */
static uint64_t type_size(const struct parse *p, uint32_t type, uint64_t matrix_stride,
                          uint32_t depth)
{
    size_t at = made(p, type);

    if (!at || depth > DEPTH_MAX || ++*p->work > WORK_MAX)
        return 0;
    switch (op_of(p, at)) {
    case OP_TYPE_INT:
    case OP_TYPE_FLOAT:
        return operand(p, at, 1) / 8;
    case OP_TYPE_VECTOR:
        return operand(p, at, 2) * type_size(p, operand(p, at, 1), 0, depth + 1);
    case OP_TYPE_MATRIX:
        return operand(p, at, 2) *
               (matrix_stride ? matrix_stride : type_size(p, operand(p, at, 1), 0, depth + 1));
    case OP_TYPE_ARRAY:
        return constant(p, operand(p, at, 2)) * id_of(p, type)->stride;
    case OP_TYPE_STRUCT:
        return struct_size(p, type, depth);
    case OP_TYPE_POINTER:
        return 8; /* physical storage buffer */
    default:
        return 0;
    }
}

static const char *image_type(const struct parse *p, size_t at, bool has_sampler)
{
    uint32_t dim = operand(p, at, 2), sampled = operand(p, at, 6);

    if (dim == DIM_SUBPASS)
        return "input_attachment";
    if (dim == DIM_BUFFER)
        return sampled == 2 ? "storage_texel_buffer" : "uniform_texel_buffer";
    if (sampled == 2)
        return "storage_image";
    return has_sampler ? "combined_image_sampler" : "sampled_image";
}

/* Returns the kind of descriptor that a variable of this class and type stands for. Vulkan
 * specification, "Shader Resource and Descriptor Type Correspondence". */
static const char *descriptor_type(const struct parse *p, uint32_t class, uint32_t type)
{
    size_t at = made(p, type), image;

    if (class == CLASS_STORAGE)
        return "storage_buffer";
    if (class == CLASS_UNIFORM)
        return id_of(p, type)->is_buffer_block ? "storage_buffer" : "uniform_buffer";
    switch (at ? op_of(p, at) : 0) {
    case OP_TYPE_SAMPLER:
        return "sampler";
    case OP_TYPE_IMAGE:
        return image_type(p, at, false);
    case OP_TYPE_SAMPLED_IMAGE:
        image = made(p, operand(p, at, 1));
        return image && op_of(p, image) == OP_TYPE_IMAGE ? image_type(p, image, true) : "unknown";
    case OP_TYPE_ACCELERATION_STRUCTURE:
        return "acceleration_structure";
    default:
        return "unknown";
    }
}

/* ---- variables --------------------------------------------------------------------------- */

/* Through arrays to what they are of; *count is multiplied by their lengths. */
static uint32_t element(const struct parse *p, uint32_t type, uint64_t *count)
{
    for (uint32_t depth = 0; depth < DEPTH_MAX; depth++) {
        size_t at = made(p, type);
        if (at && op_of(p, at) == OP_TYPE_ARRAY)
            *count *= constant(p, operand(p, at, 2));
        else if (at && op_of(p, at) == OP_TYPE_RUNTIME_ARRAY)
            *count = 0;
        else
            return type;
        type = operand(p, at, 1);
    }
    return type;
}

static void add_variable(struct spirv_module *out, const struct parse *p, size_t at)
{
    uint32_t number = operand(p, at, 1), class = operand(p, at, 2);
    size_t pointer = made(p, operand(p, at, 0));
    const struct id *id = id_of(p, number);
    uint64_t count = 1;

    if (!pointer || op_of(p, pointer) != OP_TYPE_POINTER)
        return;
    uint32_t type = element(p, operand(p, pointer, 2), &count);
    if (class == CLASS_PUSH && out->push_count < SPIRV_LIST_MAX)
        out->pushes[out->push_count++] =
            (struct spirv_push){name_of(p, number), name_of(p, type), type_size(p, type, 0, 0)};
    else if (id->binding_end && out->binding_count < SPIRV_LIST_MAX)
        out->bindings[out->binding_count++] = (struct spirv_binding){
            id->set_end ? id->set_end - 1 : 0, id->binding_end - 1, count,
            descriptor_type(p, class, type),   name_of(p, number),  name_of(p, type)};
}

static void set_local_size(struct spirv_module *out, const struct parse *p, size_t at)
{
    uint32_t mode = operand(p, at, 1);

    if (mode != MODE_LOCAL_SIZE && mode != MODE_LOCAL_SIZE_ID)
        return;
    for (uint32_t i = 0; i < out->entry_count; i++) {
        struct spirv_entry *e = &out->entries[i];
        if (e->function != operand(p, at, 0))
            continue;
        e->has_local_size = true;
        for (uint32_t d = 0; d < 3; d++)
            e->local_size[d] = mode == MODE_LOCAL_SIZE
                                   ? operand(p, at, 2 + d)
                                   : (uint32_t)constant(p, operand(p, at, 2 + d));
    }
}

static int by_binding(const void *a, const void *b)
{
    const struct spirv_binding *l = a, *r = b;

    if (l->set != r->set)
        return l->set < r->set ? -1 : 1;
    return l->binding < r->binding ? -1 : l->binding > r->binding;
}

static void walk(struct spirv_module *out, const struct parse *p)
{
    for (size_t at = HEADER_WORDS; at < p->count; at += p->words[at] >> 16)
        switch (op_of(p, at)) {
        case OP_ENTRY_POINT:
            if (out->entry_count < SPIRV_LIST_MAX)
                out->entries[out->entry_count++] =
                    (struct spirv_entry){.name = text(p, at, 2),
                                         .model = operand(p, at, 0),
                                         .function = operand(p, at, 1)};
            break;
        case OP_EXECUTION_MODE:
        case OP_EXECUTION_MODE_ID:
            set_local_size(out, p, at);
            break;
        case OP_VARIABLE:
            add_variable(out, p, at);
            break;
        default:
            break;
        }
    qsort(out->bindings, out->binding_count, sizeof(out->bindings[0]), by_binding);
}

bool spirv_reflect(struct spirv_module *out, const uint32_t *words, size_t size)
{
    uint32_t work = 0;
    struct parse p = {.words = words, .count = size / 4, .work = &work};

    memset(out, 0, sizeof(*out));
    if (!spirv_is_module(words, size))
        return false;
    p.bound = words[3] < ID_MAX ? words[3] : ID_MAX;
    p.bound = p.bound ? p.bound : 1;
    p.ids = calloc(p.bound, sizeof(*p.ids));
    if (!p.ids)
        return false;
    out->version = words[1];
    note_ids(&p);
    walk(out, &p);
    free(p.ids);
    return true;
}

const char *spirv_model_name(uint32_t model)
{
    static const struct {
        uint32_t model;
        const char *name;
    } names[] = {
        {0, "vertex"},
        {1, "tessellation_control"},
        {2, "tessellation_evaluation"},
        {3, "geometry"},
        {4, "fragment"},
        {5, "compute"},
        {6, "kernel"},
        {5267, "task_nv"},
        {5268, "mesh_nv"},
        {5313, "ray_generation"},
        {5314, "intersection"},
        {5315, "any_hit"},
        {5316, "closest_hit"},
        {5317, "miss"},
        {5318, "callable"},
        {5364, "task"},
        {5365, "mesh"},
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (names[i].model == model)
            return names[i].name;
    return "unknown";
}
