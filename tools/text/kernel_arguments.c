/* SPDX-License-Identifier: Apache-2.0
 *
 * A launch names a function, a function its module, a module its code: each such pair of objects in
 * a record that is no command is a link. The way from a launched function to code is followed when
 * its first launch is shown.
 */
#include "tools/text/kernel_arguments.h"

#include "api/cuda/image.h"
#ifdef TSM_HSA
#include "api/hsa/code.h"
#endif
#include "base/buffer.h"
#include "base/bytes.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/map.h"
#include "base/text.h"
#include "tools/terminal.h"
#include "tracesmith/error.h"

#include <stdlib.h>

#define LINK_DEPTH_MAX 6u           /* kernel, function, module, library, ... */
#define LINK_STEPS_MAX 4096u        /* that one search follows */
#define CODE_SIZE_MAX  (1ull << 28) /* bytes of a code object that is read */
#define NO_MEMORY      "out of memory for the parameters of kernels"
#define BYTES_SHOWN    16u /* of a struct that is passed by value */

enum param_kind { PARAM_HEX, PARAM_UNSIGNED, PARAM_SIGNED, PARAM_FLOAT };

struct param {
    uint16_t offset, size; /* bytes, in the argument block */
    enum param_kind kind;
};

/* One function of a code object. */
struct signature {
    char *name;
    uint32_t count;
    struct param params[];
};

struct object {
    uint32_t first_link;               /* index + 1; 0: none */
    uint32_t name;                     /* string id */
    uint8_t *blob_keys;                /* code: a copy of the blob's keys, or of its bytes */
    struct sbt_blob blob;              /* size 0: no code */
    struct tsm_map functions;          /* of the code, once `is_parsed`: name's hash -> signature */
    const struct signature *signature; /* of a launched function, once `is_resolved` */
    bool is_parsed, is_resolved;
};

struct link {
    uint64_t target; /* index of an object */
    uint32_t next;   /* index + 1 */
};

struct tsm_kernel_arguments {
    struct sbt_reader *reader;
    struct sbt_cursor *cursor;      /* NULL: the caller notes all records */
    const struct sbt_record *ahead; /* of the cursor: read, not noted yet */
    bool is_at_end;
    bool has_noted_loss;
    struct tsm_map by_key; /* API, type and id of a handle -> index of its object */
    struct tsm_buffer objects, links;
};

static struct object *object_at(struct tsm_kernel_arguments *k, uint64_t index)
{
    return (struct object *)(void *)k->objects.data + index;
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

static bool leads_to_code(const struct sbt_field *field)
{
    static const char *const types[] = {"function",   "kernel", "module",     "library",
                                        "executable", "reader", "code_object"};

    for (size_t i = 0; field->type == SBT_FIELD_HANDLE && i < sizeof(types) / sizeof(types[0]); i++)
        if (strcmp(field->detail, types[i]) == 0)
            return true;
    return false;
}

static uint64_t key_of(const struct sbt_record *record, const char *type, uint64_t id)
{
    return tsm_hash64(type, strlen(type)) ^ id * 0x9e3779b97f4a7c15u ^
           (uint64_t)SBT_TYPE_API(record->type) << 56;
}

/* Returns the index of an object, created when absent; UINT64_MAX when out of memory. */
static uint64_t object_of(struct tsm_kernel_arguments *k, uint64_t key)
{
    bool added;
    uint64_t *index = tsm_map_insert(&k->by_key, key, &added);

    if (!index)
        return UINT64_MAX;
    if (added) {
        *index = k->objects.size / sizeof(struct object);
        tsm_buffer_add(&k->objects, &(struct object){0}, sizeof(struct object));
    }
    return *index < k->objects.size / sizeof(struct object) ? *index : UINT64_MAX;
}

static void add_link(struct tsm_kernel_arguments *k, uint64_t child, uint64_t target)
{
    struct link link = {target, object_at(k, child)->first_link};
    size_t count = k->links.size / sizeof(link);

    if (count >= UINT32_MAX - 1)
        return;
    tsm_buffer_add(&k->links, &link, sizeof(link));
    if (k->links.size / sizeof(link) > count)
        object_at(k, child)->first_link = (uint32_t)count + 1;
    else
        note_loss(k, NO_MEMORY);
}

/* Copies the reference to the code; the bytes are read when they are needed. */
static void set_code(struct tsm_kernel_arguments *k, struct object *object,
                     const struct sbt_record *record, uint32_t index)
{
    struct sbt_blob blob;
    size_t size;

    if (object->blob.size || !sbt_record_blob(record, index, &blob) || !blob.size ||
        blob.size > CODE_SIZE_MAX)
        return;
    size = blob.bytes ? (size_t)blob.size : (size_t)blob.piece_count * 16;
    object->blob_keys = malloc(size);
    if (!object->blob_keys) {
        note_loss(k, NO_MEMORY);
        return;
    }
    memcpy(object->blob_keys, blob.bytes ? blob.bytes : blob.keys, size);
    object->blob = blob;
    object->blob.keys = blob.bytes ? NULL : object->blob_keys;
    object->blob.bytes = blob.bytes ? object->blob_keys : NULL;
}

void tsm_kernel_arguments_note(struct tsm_kernel_arguments *k, const struct sbt_record *record)
{
    const struct sbt_schema *schema = k ? sbt_reader_schema(k->reader, record->type) : NULL;
    uint64_t child = UINT64_MAX;

    if (!schema || schema->kind == SBT_KIND_COMMAND || (record->flags & SBT_RECORD_FAILED))
        return;
    for (uint32_t i = 0; i < schema->field_count && i < record->slot_count; i++) {
        if (!leads_to_code(&schema->fields[i]) || !record->slots[i])
            continue;
        uint64_t index = object_of(k, key_of(record, schema->fields[i].detail, record->slots[i]));
        if (index == UINT64_MAX) {
            note_loss(k, NO_MEMORY);
            return;
        }
        if (child != UINT64_MAX)
            add_link(k, child, index);
        else
            child = index;
    }
    if (child == UINT64_MAX)
        return;
    int code = sbt_schema_role(schema, SBT_ROLE_CODE),
        name = sbt_schema_role(schema, SBT_ROLE_NAME);
    if (code >= 0 && (uint32_t)code < record->slot_count)
        set_code(k, object_at(k, child), record, (uint32_t)code);
    if (name >= 0 && (uint32_t)name < record->slot_count &&
        schema->fields[name].type == SBT_FIELD_STRING)
        object_at(k, child)->name = (uint32_t)record->slots[name];
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
    struct object *object;
};

/* Returns NULL if the function is there, as another member of a fatbin has it, or out of memory. */
static struct signature *add_function(struct parse *parse, const char *name, size_t name_size,
                                      uint32_t count)
{
    bool added = false;
    uint64_t *place =
        tsm_map_insert(&parse->object->functions, tsm_hash64(name, name_size), &added);
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

static void add_cuda_function(void *context, const struct cuda_signature *found)
{
    static const enum param_kind kinds[] = {[CUDA_PARAM_BITS] = PARAM_HEX,
                                            [CUDA_PARAM_UNSIGNED] = PARAM_UNSIGNED,
                                            [CUDA_PARAM_SIGNED] = PARAM_SIGNED,
                                            [CUDA_PARAM_FLOAT] = PARAM_FLOAT};
    struct signature *s = add_function(context, found->name, found->name_size, found->count);

    for (uint32_t i = 0; s && i < found->count; i++)
        s->params[i] = (struct param){found->params[i].offset, found->params[i].size,
                                      kinds[found->params[i].type]};
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
        if (kernel->arguments[i].offset <= UINT16_MAX && kernel->arguments[i].size <= UINT16_MAX)
            s->params[i] = (struct param){(uint16_t)kernel->arguments[i].offset,
                                          (uint16_t)kernel->arguments[i].size, PARAM_HEX};
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

static void parse_code(struct tsm_kernel_arguments *k, struct object *object)
{
    size_t size = (size_t)object->blob.size;
    bool needs_code = size && !object->is_parsed;
    uint8_t *data = needs_code ? malloc(size + 1) : NULL;
    int error = data ? sbt_reader_blob(k->reader, &object->blob, 0, data, size) : 0;

    object->is_parsed = true;
    if (needs_code && !data) {
        note_loss(k, NO_MEMORY);
    } else if (error < 0 && error != TSM_E_NOT_FOUND) { /* a redacted trace has no code */
        note_loss(k, tsm_error_message());
    } else if (data && error >= 0) {
        data[size] = '\0';
        struct parse parse = {k, object};

        if (!parse_hsa(&parse, data, size) &&
            !cuda_image_functions(data, size, add_cuda_function, &parse))
            note_loss(k, "code of a kernel is not understood");
    }
    free(data);
}

static const struct signature *function_named(const struct object *object, const char *name)
{
    const uint64_t *found = tsm_map_find(&object->functions, tsm_hash64(name, strlen(name)));
    const struct signature *s = found ? (const struct signature *)(uintptr_t)*found : NULL;

    return s && strcmp(s->name, name) == 0 ? s : NULL;
}

/* Searches the code that object `index` leads to, links of links too. `steps` bounds the links that
 * a hostile trace makes this follow. */
static const struct signature *search(struct tsm_kernel_arguments *k, uint64_t index,
                                      const char *name, unsigned depth, unsigned *steps)
{
    struct object *object = object_at(k, index);
    const struct signature *found;

    parse_code(k, object);
    found = function_named(object, name);
    for (uint32_t at = object->first_link; at && !found && depth < LINK_DEPTH_MAX && *steps;) {
        struct link link = ((const struct link *)(const void *)k->links.data)[at - 1];

        --*steps;
        found = search(k, link.target, name, depth + 1, steps);
        at = link.next;
    }
    return found;
}

/* Returns the parameters of the function that `record` launches; NULL if they are not known. */
static const struct signature *signature_of(struct tsm_kernel_arguments *k,
                                            const struct sbt_record *record)
{
    const struct sbt_schema *schema = sbt_reader_schema(k->reader, record->type);
    int function = sbt_schema_role(schema, SBT_ROLE_FUNCTION);
    uint64_t launched = sbt_record_role(schema, record, SBT_ROLE_FUNCTION_NAME, 0);
    uint64_t *index;
    unsigned steps = LINK_STEPS_MAX;
    const char *name;
    struct object *object;

    if (function < 0 || (uint32_t)function >= record->slot_count)
        return NULL;
    index = tsm_map_find(&k->by_key,
                         key_of(record, schema->fields[function].detail, record->slots[function]));
    if (!index || *index >= k->objects.size / sizeof(struct object))
        return NULL;
    object = object_at(k, *index);
    name = sbt_reader_string(k->reader, object->name ? object->name : (uint32_t)launched);
    if (!object->is_resolved && name)
        object->signature = search(k, *index, name, 0, &steps);
    object->is_resolved = true;
    return object->signature;
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

static double float_number(uint64_t value, size_t size)
{
    uint32_t low = (uint32_t)value;
    float narrow;
    double wide;

    memcpy(&narrow, &low, sizeof(narrow));
    memcpy(&wide, &value, sizeof(wide));
    return size == sizeof(narrow) ? (double)narrow : wide;
}

static void put_param(struct tsm_text_line *line, const struct param *param, const uint8_t *data)
{
    bool is_word = param->size == 1 || param->size == 2 || param->size == 4 || param->size == 8;
    uint64_t value = is_word ? number_at(data, param->size) : 0;
    char text[40];

    if (!is_word) {
        tsm_text_line_text(line, "[");
        tsm_text_line_bytes(line, data, param->size < BYTES_SHOWN ? param->size : BYTES_SHOWN);
        tsm_text_line_text(line, param->size > BYTES_SHOWN ? "...]" : "]");
    } else if (param->kind == PARAM_FLOAT && param->size >= sizeof(float)) {
        tsm_text_line_add(line, text,
                          tsm_format(text, sizeof(text), "%g", float_number(value, param->size)));
    } else if (param->kind == PARAM_SIGNED) {
        tsm_text_line_i64(line, signed_number(value, param->size));
    } else if (param->kind == PARAM_UNSIGNED && param->size < 8) {
        tsm_text_line_u64(line, value);
    } else {
        tsm_text_line_hex(line, value);
    }
}

bool tsm_kernel_arguments_put(struct tsm_kernel_arguments *k, const struct sbt_record *record,
                              uint32_t index, struct tsm_text_line *line)
{
    const struct signature *s;
    const uint8_t *data;
    size_t size;

    if (!k || !sbt_record_bytes(record, index, &data, &size))
        return false;
    note_before(k, record->seq);
    s = signature_of(k, record);
    if (!s)
        return false;
    for (uint32_t i = 0; i < s->count; i++)
        if (!s->params[i].size || (size_t)s->params[i].offset + s->params[i].size > size)
            return false;
    tsm_text_line_text(line, "(");
    for (uint32_t i = 0; i < s->count; i++) {
        if (i)
            tsm_text_line_text(line, ", ");
        put_param(line, &s->params[i], data + s->params[i].offset);
    }
    tsm_text_line_text(line, ")");
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

void tsm_kernel_arguments_destroy(struct tsm_kernel_arguments *k)
{
    if (!k)
        return;
    for (size_t i = 0; i < k->objects.size / sizeof(struct object); i++) {
        struct object *object = object_at(k, i);

        for (size_t at = 0; at < object->functions.capacity; at++) {
            struct signature *s = (struct signature *)(uintptr_t)object->functions.slots[at].value;

            if (!object->functions.slots[at].used || !s)
                continue;
            free(s->name);
            free(s);
        }
        tsm_map_finish(&object->functions);
        free(object->blob_keys);
    }
    sbt_cursor_destroy(k->cursor);
    tsm_map_finish(&k->by_key);
    tsm_buffer_finish(&k->objects);
    tsm_buffer_finish(&k->links);
    free(k);
}
