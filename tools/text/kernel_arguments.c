/* SPDX-License-Identifier: Apache-2.0
 *
 * The way from a launched function to code is followed when its first launch is shown.
 */
#include "tools/text/kernel_arguments.h"

#include "analysis/model/memory.h"
#include "api/cuda/image.h"
#ifdef TSM_HSA
#include "api/hsa/code.h"
#endif
#include "base/bytes.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/text.h"
#include "format/json.h"
#include "tools/terminal.h"
#include "tools/text/code_objects.h"
#include "tools/text/param_kind.h"
#include "tracesmith/error.h"

#include <math.h>
#include <stdlib.h>

#define NO_MEMORY   "out of memory for the parameters of kernels"
#define BYTES_SHOWN 16u /* of a struct that is passed by value */

struct param {
    uint16_t offset, size;      /* bytes, in the argument block */
    enum sbt_field_type number; /* of a word: how it is written */
    char kind[32];              /* tsm_param_kind(), or what HSA's metadata call it */
};

/* One function of a code object. */
struct signature {
    char *name;
    uint32_t count;
    bool is_typed; /* some parameter has a type */
    struct param params[];
};

/* Facts about a code object or function: `user` of its object. */
struct known {
    struct tsm_map functions;          /* of the code, once `is_parsed`: name's hash -> signature */
    const struct signature *signature; /* of a launched function, once `is_resolved` */
    bool is_parsed, is_resolved;
};

struct tsm_kernel_arguments {
    struct sbt_reader *reader;
    struct sbt_cursor *cursor;      /* NULL: the caller notes all records */
    const struct sbt_record *ahead; /* of the cursor: read, not noted yet */
    bool is_at_end;
    bool has_noted_loss;
    struct tsm_code_objects objects;
    struct tsm_memory memory;
    struct tsm_map
        allocated; /* address of a live allocation -> number of the record that made it */
};

static struct known *known_of(struct tsm_code_object *object)
{
    if (!object->user)
        object->user = calloc(1, sizeof(struct known));
    return object->user;
}

/* Says once why arguments stay bytes although their code is in the trace. */
static void note_loss(struct tsm_kernel_arguments *k, const char *why)
{
    if (!k->has_noted_loss)
        tsm_note("%s; arguments of kernels are shown as bytes", why);
    k->has_noted_loss = true;
}

/* ---- what records say ---------------------------------------------------------------------------
 */

static int note_memory(struct tsm_kernel_arguments *k, const struct sbt_record *record)
{
    const struct sbt_schema *schema = sbt_reader_schema(k->reader, record->type);
    struct tsm_memory_node node;
    const int noted = schema ? tsm_memory_note(&k->memory, record, schema, &node) : 0;

    if (noted <= 0)
        return noted;
    if (node.is_free)
        tsm_map_remove(&k->allocated, node.address);
    else if (!tsm_map_set(&k->allocated, node.address, record->seq))
        return TSM_E_MEMORY;
    return 0;
}

void tsm_kernel_arguments_note(struct tsm_kernel_arguments *k, const struct sbt_record *record)
{
    if (k &&
        (tsm_code_objects_note(&k->objects, k->reader, record) < 0 || note_memory(k, record) < 0))
        note_loss(k, NO_MEMORY);
}

/* Notes the records before `seq`, where the caller does not. */
static void note_before(struct tsm_kernel_arguments *k, uint64_t seq)
{
    while (k->cursor && !k->is_at_end) {
        int more = k->ahead ? 1 : sbt_cursor_next(k->cursor, &k->ahead);

        if (more < 0)
            note_loss(k, tsm_error_message());
        k->is_at_end = more <= 0;
        if (k->is_at_end || k->ahead->seq >= seq)
            return;
        tsm_kernel_arguments_note(k, k->ahead);
        k->ahead = NULL;
    }
}

/* ---- code ---------------------------------------------------------------------------------------
 */

/* Code that is being read. */
struct parse {
    struct tsm_kernel_arguments *k;
    struct known *known;
};

/* Returns NULL if the function is there, as another member of a fatbin has it, or out of memory. */
static struct signature *add_function(struct parse *parse, const char *name, size_t name_size,
                                      uint32_t count)
{
    bool added = false;
    uint64_t *place = tsm_map_insert(&parse->known->functions, tsm_hash64(name, name_size), &added);
    struct signature *s = added ? calloc(1, sizeof(*s) + count * sizeof(s->params[0])) : NULL;

    if (!s || !(s->name = strndup(name, name_size))) {
        if (!place || added)
            note_loss(parse->k, NO_MEMORY);
        free(s);
        return NULL;
    }
    s->count = count;
    *place = (uint64_t)(uintptr_t)s;
    return s;
}

/* 64 bits that PTX calls unsigned are more often an address. */
static enum sbt_field_type number_of(const struct cuda_param *param)
{
    if (param->type == CUDA_PARAM_FLOAT && param->size >= sizeof(float))
        return param->size == sizeof(float) ? SBT_FIELD_F32 : SBT_FIELD_F64;
    if (param->type == CUDA_PARAM_SIGNED)
        return SBT_FIELD_INT;
    return param->type == CUDA_PARAM_UNSIGNED && param->size < 8 ? SBT_FIELD_UINT : SBT_FIELD_HEX;
}

/* Returns the function as machine code of the same fatbin has it, without types. */
static struct signature *untyped(const struct parse *parse, const struct cuda_signature *found)
{
    const uint64_t place =
        tsm_map_get(&parse->known->functions, tsm_hash64(found->name, found->name_size), 0);
    struct signature *s = (struct signature *)(uintptr_t)place; /* NOLINT: an address of ours */

    return s && !s->is_typed && s->count == found->count && strlen(s->name) == found->name_size &&
                   !memcmp(s->name, found->name, found->name_size)
               ? s
               : NULL;
}

static void add_cuda_function(void *context, const struct cuda_signature *found)
{
    struct signature *s = add_function(context, found->name, found->name_size, found->count);

    if (!s)
        s = untyped(context, found);
    for (uint32_t i = 0; s && i < found->count; i++) {
        const struct cuda_param *param = &found->params[i];
        s->is_typed |= param->type != CUDA_PARAM_BITS;
        s->params[i] = (struct param){
            .offset = param->offset, .size = param->size, .number = number_of(param)};
        tsm_param_kind(s->params[i].kind, param);
    }
}

#ifdef TSM_HSA
static bool add_hsa_kernel(void *user, const struct hsa_code_symbol *symbol)
{
    const struct hsa_code_kernel *kernel = symbol->kernel;
    struct signature *s;
    uint32_t count = 0;

    if (!kernel || !kernel->has_arguments)
        return true;
    while (count < kernel->argument_count &&
           kernel->arguments[count].kind != HSA_CODE_ARGUMENT_HIDDEN)
        count++;
    s = add_function(user, symbol->name, strlen(symbol->name), count);
    for (uint32_t i = 0; s && i < count; i++)
        if (kernel->arguments[i].offset <= UINT16_MAX && kernel->arguments[i].size <= UINT16_MAX) {
            s->params[i] = (struct param){.offset = (uint16_t)kernel->arguments[i].offset,
                                          .size = (uint16_t)kernel->arguments[i].size,
                                          .number = SBT_FIELD_HEX};
            memcpy(s->params[i].kind, kernel->arguments[i].value_kind, sizeof(s->params[i].kind));
        }
    return true;
}

/* Returns false if the bytes are no HSA code object. */
static bool parse_hsa(struct parse *parse, const uint8_t *data, size_t size)
{
    struct hsa_code code;

    if (!hsa_code_open(&code, data, size))
        return false;
    hsa_code_each(&code, add_hsa_kernel, parse);
    return true;
}
#else
static bool parse_hsa(struct parse *parse, const uint8_t *data, size_t size)
{
    (void)parse, (void)data, (void)size;
    return false;
}
#endif

static void parse_code(struct tsm_kernel_arguments *k, struct known *known,
                       const struct tsm_code_object *object)
{
    struct parse parse = {k, known};
    uint8_t *data = NULL;
    int error;

    if (known->is_parsed || !object->blob.size)
        return;
    known->is_parsed = true;
    error = tsm_code_object_read(&data, object, k->reader);
    if (error < 0 && error != TSM_E_NOT_FOUND) /* a redacted trace has no code */
        note_loss(k, tsm_error_message());
    else if (data && !parse_hsa(&parse, data, object->blob.size) &&
             !cuda_image_functions(data, object->blob.size, add_cuda_function, &parse))
        note_loss(k, "code of a kernel is not understood");
    free(data);
}

static const struct signature *function_named(const struct known *known, const char *name)
{
    const uint64_t *found = tsm_map_find(&known->functions, tsm_hash64(name, strlen(name)));
    const struct signature *s = found ? (const struct signature *)(uintptr_t)*found : NULL;

    return s && strcmp(s->name, name) == 0 ? s : NULL;
}

/* A function that is looked for in the code that it leads to. */
struct wanted {
    struct tsm_kernel_arguments *k;
    const char *name;
    const struct signature *found;
};

static bool look_into(void *user, struct tsm_code_object *object)
{
    struct wanted *wanted = user;
    struct known *known = known_of(object);

    if (!known)
        return false;
    parse_code(wanted->k, known, object);
    wanted->found = function_named(known, wanted->name);
    return wanted->found != NULL;
}

/* Returns the parameters of the function that `record` launches; NULL if they are not known. */
static const struct signature *signature_of(struct tsm_kernel_arguments *k,
                                            const struct sbt_record *record)
{
    const struct sbt_schema *schema = sbt_reader_schema(k->reader, record->type);
    const uint64_t index = tsm_code_objects_launched(&k->objects, k->reader, record);
    uint64_t launched = sbt_record_role(schema, record, SBT_ROLE_FUNCTION_NAME, 0);
    struct wanted wanted = {.k = k};
    struct tsm_code_object *object;
    struct known *known;

    if (index == UINT64_MAX)
        return NULL;
    object = tsm_code_object_at(&k->objects, index);
    known = known_of(object);
    wanted.name = sbt_reader_string(k->reader, object->name ? object->name : (uint32_t)launched);
    if (known && !known->is_resolved && wanted.name) {
        tsm_code_objects_search(&k->objects, index, look_into, &wanted);
        known->signature = wanted.found;
    }
    if (known)
        known->is_resolved = true;
    return known ? known->signature : NULL;
}

/* ---- values ------------------------------------------------------------------------------------
 */

static uint64_t number_at(const uint8_t *data, size_t size)
{
    uint64_t value = 0;

    memcpy(&value, data, size);
    return value;
}

static int64_t signed_number(uint64_t value, size_t size)
{
    unsigned shift = 64 - 8 * (unsigned)size;

    return (int64_t)(value << shift) >> shift;
}

static double float_number(uint64_t value, enum sbt_field_type type)
{
    uint32_t low = (uint32_t)value;
    float narrow;
    double wide;

    memcpy(&narrow, &low, sizeof(narrow));
    memcpy(&wide, &value, sizeof(wide));
    return type == SBT_FIELD_F32 ? (double)narrow : wide;
}

static bool is_word(const struct param *param)
{
    return param->size == 1 || param->size == 2 || param->size == 4 || param->size == 8;
}

/* Finds the allocation that a word points into. Any 64 bits may be an address. Returns the number
 * of the record that made it, in *at the place in it; UINT64_MAX: it points into none. */
static uint64_t find_allocation(const struct tsm_kernel_arguments *k, const struct param *param,
                                uint64_t value, uint64_t *at)
{
    const struct tsm_allocation *allocation = param->size == 8 && param->number == SBT_FIELD_HEX
                                                  ? tsm_memory_find(&k->memory, value)
                                                  : NULL;

    if (!allocation || value < allocation->start || value - allocation->start >= allocation->size)
        return UINT64_MAX;
    *at = value - allocation->start;
    return tsm_map_get(&k->allocated, allocation->start, UINT64_MAX);
}

/* Appends how 32 bits of an unknown type may be read: as a number of few digits, or as a float of
 * usual size whose last bits are not needed. */
static void put_guess(struct tsm_text_line *line, uint32_t bits)
{
    const double value = float_number(bits, SBT_FIELD_F32);
    const bool is_float = !(bits & 0xff) && fabs(value) >= 1e-6 && fabs(value) <= 1e9;
    char text[40];

    if (bits > 9 && bits < 1u << 20)
        tsm_format(text, sizeof(text), " ~%u", bits);
    else if (bits > UINT32_MAX - (1u << 20))
        tsm_format(text, sizeof(text), " ~%d", (int)bits);
    else if (is_float)
        tsm_format(text, sizeof(text), " ~%g", value);
    else
        return;
    tsm_text_line_text(line, text);
}

static void put_address(const struct tsm_kernel_arguments *k, struct tsm_text_line *line,
                        const struct param *param, uint64_t value)
{
    uint64_t at, seq = find_allocation(k, param, value, &at);

    tsm_text_line_hex(line, value);
    if (param->size == 4)
        put_guess(line, (uint32_t)value);
    if (seq == UINT64_MAX)
        return;
    tsm_text_line_text(line, " #");
    tsm_text_line_u64(line, seq);
    if (at) {
        tsm_text_line_text(line, "+");
        tsm_text_line_hex(line, at);
    }
}

static void put_param(const struct tsm_kernel_arguments *k, struct tsm_text_line *line,
                      const struct param *param, const uint8_t *data)
{
    const uint64_t value = is_word(param) ? number_at(data, param->size) : 0;
    char text[40];

    if (!is_word(param)) {
        tsm_text_line_text(line, "[");
        tsm_text_line_bytes(line, data, param->size < BYTES_SHOWN ? param->size : BYTES_SHOWN);
        tsm_text_line_text(line, param->size > BYTES_SHOWN ? "...]" : "]");
    } else if (param->number == SBT_FIELD_F32 || param->number == SBT_FIELD_F64) {
        tsm_text_line_add(line, text,
                          tsm_format(text, sizeof(text), "%g", float_number(value, param->number)));
    } else if (param->number == SBT_FIELD_INT) {
        tsm_text_line_i64(line, signed_number(value, param->size));
    } else if (param->number == SBT_FIELD_UINT) {
        tsm_text_line_u64(line, value);
    } else {
        put_address(k, line, param, value);
    }
}

/* Returns the parameters of a launch, in *data the argument block in slot `index`; NULL: they are
 * not known, or do not fit the block. */
static const struct signature *params_of(struct tsm_kernel_arguments *k,
                                         const struct sbt_record *record, uint32_t index,
                                         const uint8_t **data)
{
    const struct signature *s;
    size_t size;

    if (!k || !sbt_record_bytes(record, index, data, &size))
        return NULL;
    note_before(k, record->seq);
    s = signature_of(k, record);
    for (uint32_t i = 0; s && i < s->count; i++)
        if (!s->params[i].size || (size_t)s->params[i].offset + s->params[i].size > size)
            return NULL;
    return s;
}

bool tsm_kernel_arguments_put(struct tsm_kernel_arguments *k, const struct sbt_record *record,
                              uint32_t index, struct tsm_text_line *line)
{
    const uint8_t *data;
    const struct signature *s = params_of(k, record, index, &data);

    if (!s)
        return false;
    tsm_text_line_text(line, "(");
    for (uint32_t i = 0; i < s->count; i++) {
        if (i)
            tsm_text_line_text(line, ", ");
        put_param(k, line, &s->params[i], data + s->params[i].offset);
    }
    tsm_text_line_text(line, ")");
    return true;
}

/* ---- JSON --------------------------------------------------------------------------------------
 */

static void json_param(const struct tsm_kernel_arguments *k, struct tsm_json *j,
                       const struct param *param, const uint8_t *data)
{
    uint64_t value = is_word(param) ? number_at(data, param->size) : 0, at, seq;

    tsm_json_open(j, '{');
    tsm_json_put_u64(j, "offset", param->offset);
    tsm_json_put_u64(j, "size", param->size);
    tsm_json_put_string(j, "kind", param->kind);
    if (!is_word(param)) {
        tsm_json_put_bytes(j, "value", data, param->size);
        tsm_json_close(j, '}');
        return;
    }
    if (param->number == SBT_FIELD_INT)
        value = (uint64_t)signed_number(value, param->size);
    tsm_json_name(j, "value");
    sbt_json_number(j, k->reader, param->number, "", value);
    seq = find_allocation(k, param, value, &at);
    if (seq != UINT64_MAX) {
        tsm_json_put_u64(j, "allocated_by", seq);
        tsm_json_put_u64(j, "at", at);
    }
    tsm_json_close(j, '}');
}

bool tsm_kernel_arguments_json(struct tsm_kernel_arguments *k, const struct sbt_record *record,
                               struct tsm_json *j)
{
    const struct sbt_schema *schema = k ? sbt_reader_schema(k->reader, record->type) : NULL;
    const int index = schema ? sbt_schema_role(schema, SBT_ROLE_ARGUMENTS) : -1;
    const uint8_t *data;
    const struct signature *s = index < 0 ? NULL : params_of(k, record, (uint32_t)index, &data);

    if (!s)
        return false;
    tsm_json_put_open(j, "arguments", '[');
    for (uint32_t i = 0; i < s->count; i++)
        json_param(k, j, &s->params[i], data + s->params[i].offset);
    tsm_json_close(j, ']');
    return true;
}

/* ---- lifetime ----------------------------------------------------------------------------------
 */

int tsm_kernel_arguments_create(struct tsm_kernel_arguments **out, struct sbt_reader *reader,
                                bool notes_all)
{
    struct tsm_kernel_arguments *k = calloc(1, sizeof(*k));
    int error = 0;

    *out = NULL;
    if (!k)
        return tsm_fail(TSM_E_MEMORY, "out of memory for the parameters of kernels");
    k->reader = reader;
    if (!notes_all)
        error = sbt_cursor_create(&k->cursor, reader, NULL, 1);
    if (error < 0)
        tsm_kernel_arguments_destroy(k);
    else
        *out = k;
    return error;
}

static void forget(struct known *known)
{
    for (size_t at = 0; known && at < known->functions.capacity; at++) {
        struct signature *s = (struct signature *)(uintptr_t)known->functions.slots[at].value;

        if (!known->functions.slots[at].used || !s)
            continue;
        free(s->name);
        free(s);
    }
    if (known)
        tsm_map_finish(&known->functions);
    free(known);
}

void tsm_kernel_arguments_destroy(struct tsm_kernel_arguments *k)
{
    if (!k)
        return;
    for (size_t i = 0; i < tsm_code_objects_count(&k->objects); i++)
        forget(tsm_code_object_at(&k->objects, i)->user);
    sbt_cursor_destroy(k->cursor);
    tsm_code_objects_finish(&k->objects);
    tsm_memory_finish(&k->memory);
    tsm_map_finish(&k->allocated);
    free(k);
}
