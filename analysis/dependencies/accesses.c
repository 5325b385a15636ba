/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/dependencies/accesses.h"

#include "analysis/model/work.h"
#include "api/traits.h"
#include "base/array.h"
#include "base/bytes.h"
#include "base/hash.h"
#include "tracesmith/error.h"

#include <stdlib.h>
#include <string.h>

#define LIST_MAX     4096u /* accesses of a command: with more it is unknown */
#define WORDS_MAX    8192u /* of an argument block, likewise */
#define VARIABLE_MAX 4096u
#define STORED_MAX   65536u /* addresses in memory */

static int no_memory(void)
{
    return tsm_fail(TSM_E_MEMORY, "no memory for accesses");
}

const char *tsm_access_kind_name(enum tsm_access_kind kind)
{
    static const char *const names[TSM_ACCESS_KIND_COUNT] = {"declared", "observed", "reachable",
                                                             "unknown"};

    return names[kind];
}

/* Command whose accesses are found. */
struct command {
    struct tsm_accesses *a;
    struct sbt_reader *reader;
    const struct sbt_record *record;
    const struct sbt_schema *schema;
    const struct tsm_memory *memory;
    const struct tsm_observed_range *observed; /* NULL: not known */
    size_t observed_count;
};

static int be_unknown(struct tsm_accesses *a)
{
    a->is_unknown = true;
    a->count = 0;
    return 0;
}

static int add(struct tsm_accesses *a, const struct tsm_access *access)
{
    if (!access->size || a->is_unknown)
        return 0;
    if (a->count == LIST_MAX)
        return be_unknown(a);
    return TSM_ARRAY_PUSH(a->list, a->count, a->capacity, *access) ? 0 : no_memory();
}

/* Adds what a kernel reaches, unless it is there already. */
static int add_reachable(struct tsm_accesses *a, uint64_t start, uint64_t size, bool is_object)
{
    for (size_t i = 0; i < a->count; i++)
        if (a->list[i].start == start && a->list[i].is_object == is_object)
            return 0;
    return add(a, &(struct tsm_access){.start = start,
                                       .size = size,
                                       .kind = TSM_ACCESS_REACHABLE,
                                       .reads = true,
                                       .writes = true,
                                       .is_object = is_object});
}

/* Returns the allocation that holds the address, NULL for none. */
static const struct tsm_allocation *holder(const struct tsm_memory *memory, uint64_t address)
{
    const struct tsm_allocation *found = address ? tsm_memory_find(memory, address) : NULL;

    return found && found->start <= address ? found : NULL;
}

/* ---- variables of modules -------------------------------------------------------------------- */

uint64_t tsm_accesses_object(const struct sbt_record *record, const struct sbt_schema *schema,
                             enum sbt_role role)
{
    const int slot = sbt_schema_role(schema, role);
    const char *type = slot < 0 ? "" : schema->fields[slot].detail;

    if (slot < 0 || (uint32_t)slot >= record->slot_count || !record->slots[slot])
        return 0;
    return tsm_hash64(type, strlen(type)) ^ record->slots[slot] * 0x9e3779b97f4a7c15u;
}

/* Notes what comes from another object: functions, variables. Both name it as their parent. */
static int note_of_module(struct tsm_accesses *a, const struct sbt_record *record,
                          const struct sbt_schema *schema)
{
    const uint64_t module = tsm_accesses_object(record, schema, SBT_ROLE_PARENT),
                   address = sbt_record_role(schema, record, SBT_ROLE_ADDRESS, 0),
                   object = tsm_accesses_object(record, schema, SBT_ROLE_OBJECT);
    const struct tsm_module_variable variable = {
        address, sbt_record_role(schema, record, SBT_ROLE_SIZE, 0), module};

    if (!module || sbt_schema_role(schema, SBT_ROLE_NAME) < 0)
        return 0;
    if (object)
        return tsm_map_set(&a->modules, object, module) ? 0 : no_memory();
    if (!address || !variable.size || a->variable_count == VARIABLE_MAX)
        return 0;
    for (size_t i = 0; i < a->variable_count; i++)
        if (a->variables[i].address == address) {
            a->variables[i] = variable;
            return 0;
        }
    return TSM_ARRAY_PUSH(a->variables, a->variable_count, a->variable_capacity, variable)
               ? 0
               : no_memory();
}

static int add_variables(const struct command *c)
{
    const uint64_t function = tsm_accesses_object(c->record, c->schema, SBT_ROLE_FUNCTION),
                   module = tsm_map_get(&c->a->modules, function, 0);
    int error = 0;

    for (size_t i = 0; module && i < c->a->variable_count && !error; i++)
        if (c->a->variables[i].module == module)
            error = add_reachable(c->a, c->a->variables[i].address, c->a->variables[i].size, false);
    return error;
}

/* ---- addresses in memory --------------------------------------------------------------------- */

static size_t stored_place(const struct tsm_accesses *a, uint64_t in, uint64_t to)
{
    size_t at;

    TSM_BISECT(at, a->stored_count,
               a->stored[at].in > in || (a->stored[at].in == in && a->stored[at].to >= to));
    return at;
}

static int store(struct tsm_accesses *a, uint64_t in, uint64_t to)
{
    const size_t at = stored_place(a, in, to);

    if (in == to || a->stored_count == STORED_MAX ||
        (at < a->stored_count && a->stored[at].in == in && a->stored[at].to == to))
        return 0;
    return TSM_ARRAY_INSERT(a->stored, a->stored_count, a->stored_capacity, at,
                            ((struct tsm_stored_address){in, to}))
               ? 0
               : no_memory();
}

void tsm_accesses_free(struct tsm_accesses *a, const struct tsm_memory_node *change)
{
    size_t first = stored_place(a, change->address, 0), end = first;

    while (end < a->stored_count && a->stored[end].in == change->address)
        end++;
    if (first == end)
        return;
    memmove(a->stored + first, a->stored + end, (a->stored_count - end) * sizeof(*a->stored));
    a->stored_count -= end - first;
}

/* Looks for addresses among bytes that go to `start`, in the allocation `in`. */
static int store_words(const struct command *c, uint64_t in, uint64_t start, const uint8_t *bytes,
                       size_t size)
{
    const uint64_t lowest = c->memory->list[0].start;
    const struct tsm_allocation *last = &c->memory->list[c->memory->count - 1], *to;
    int error = 0;

    for (size_t at = (size_t)(-start & 7); at + 8 <= size && !error; at += 8) {
        const uint64_t word = tsm_get_u64(bytes + at);

        if (word < lowest || word >= last->start + last->size)
            continue;
        to = holder(c->memory, word);
        error = to ? store(c->a, in, to->start) : 0;
    }
    return error;
}

/* Bytes that a copy brings: they may be addresses. One of more than a piece is taken to be data. */
static int note_sent(const struct command *c, uint64_t start)
{
    const struct tsm_allocation *in = holder(c->memory, start);
    const int slot = sbt_schema_role(c->schema, SBT_ROLE_PAYLOAD);
    struct sbt_blob blob;

    if (!in || slot < 0 || !sbt_record_blob(c->record, (uint32_t)slot, &blob) || blob.size < 8 ||
        blob.size > SBT_PIECE_SIZE)
        return 0;
    if (blob.bytes)
        return store_words(c, in->start, start, blob.bytes, (size_t)blob.size);
    if (!TSM_ARRAY_RESERVE(c->a->bytes, c->a->byte_capacity, SBT_PIECE_SIZE))
        return no_memory();
    if (sbt_reader_blob(c->reader, &blob, 0, c->a->bytes, (size_t)blob.size) < 0)
        return 0; /* the trace has lost them */
    return store_words(c, in->start, start, c->a->bytes, (size_t)blob.size);
}

/* Adds what is stored in what is reachable, and in that. */
static int add_stored(const struct command *c)
{
    struct tsm_accesses *a = c->a;
    int error = 0;

    for (size_t i = 0; i < a->count && a->stored_count && !error; i++) {
        const uint64_t in = a->list[i].start;

        for (size_t at = a->list[i].is_object ? a->stored_count : stored_place(a, in, 0);
             at < a->stored_count && a->stored[at].in == in && !error; at++) {
            const struct tsm_allocation *to = holder(c->memory, a->stored[at].to);

            error = to ? add_reachable(a, to->start, to->size, false) : 0;
        }
    }
    return error;
}

/* ---- observed accesses ----------------------------------------------------------------------- */

/* Arrays may have gone since, and others come to their place, without a word. */
static int add_observed_range(const struct command *c, const struct tsm_observed_range *range)
{
    const bool is_sure = !(range->flags & (SBT_ACCESS_SOME | SBT_ACCESS_ARRAY));

    return add(c->a,
               &(struct tsm_access){.start = range->start,
                                    .size = range->size,
                                    .kind = is_sure ? TSM_ACCESS_OBSERVED : TSM_ACCESS_REACHABLE,
                                    .reads = range->flags & SBT_ACCESS_READ,
                                    .writes = range->flags & SBT_ACCESS_WRITTEN,
                                    .is_own = is_sure && range->flags & SBT_ACCESS_OWN});
}

static int add_observed(const struct command *c)
{
    int error = 0;

    for (size_t i = 0; i < c->observed_count && !error; i++)
        error = add_observed_range(c, &c->observed[i]);
    return error;
}

static bool is_of_array(const struct tsm_observed_range *range)
{
    return range->flags & SBT_ACCESS_ARRAY;
}

/* Tests whether it came to arrays, which others access as objects, not by an address. */
static bool meets_arrays(const struct command *c)
{
    bool found = false;

    for (size_t i = 0; i < c->observed_count && !found; i++)
        found = is_of_array(&c->observed[i]);
    return found;
}

/* Finds the accesses of a command that says nothing of them. */
static int note_observed(const struct command *c)
{
    return c->observed && !meets_arrays(c) ? add_observed(c) : be_unknown(c->a);
}

/* ---- kernels --------------------------------------------------------------------------------- */

/* An address or an object; 0 is none. */
static int add_thing(const struct command *c, uint64_t thing)
{
    const struct tsm_allocation *held = thing & TSM_HELD_OBJECT ? NULL : holder(c->memory, thing);

    if (thing & TSM_HELD_OBJECT)
        return add_reachable(c->a, thing, 1, true);
    return held ? add_reachable(c->a, held->start, held->size, false) : 0;
}

static int add_variable_at(const struct command *c, uint64_t word)
{
    const struct tsm_accesses *a = c->a;

    for (size_t i = 0; i < a->variable_count; i++)
        if (word - a->variables[i].address < a->variables[i].size)
            return add_reachable(c->a, a->variables[i].address, a->variables[i].size, false);
    return 0;
}

/* Finds what a word of the arguments leads to. Of observed kernels the bytes are known. */
static int note_word(const struct command *c, uint64_t word)
{
    const uint64_t number = tsm_held_memory_number(&c->a->held, word);
    int error;

    if (c->observed)
        return number & TSM_HELD_OBJECT ? add_thing(c, number) : 0;
    error = add_thing(c, word);
    if (!error)
        error = add_thing(c, number);
    return error ? error : add_variable_at(c, word);
}

static int note_kernel(const struct command *c)
{
    const int slot = sbt_schema_role(c->schema, SBT_ROLE_ARGUMENTS);
    const uint8_t *bytes = NULL;
    size_t size = 0;
    int error = 0;

    if (slot < 0 || !sbt_record_bytes(c->record, (uint32_t)slot, &bytes, &size) ||
        size / 8 > WORDS_MAX || c->record->flags & SBT_RECORD_TRUNCATED)
        return note_observed(c);
    for (size_t at = 0; at + 8 <= size && !error; at += 8)
        error = note_word(c, tsm_get_u64(bytes + at));
    if (error || c->observed)
        return error ? error : add_observed(c);
    error = add_variables(c);
    return error ? error : add_stored(c);
}

/* ---- copies and fills ------------------------------------------------------------------------ */

static uint64_t role_of(const struct command *c, enum sbt_role role)
{
    return sbt_record_role(c->schema, c->record, role, 0);
}

static bool carries_bytes(const struct command *c)
{
    const int slot = sbt_schema_role(c->schema, SBT_ROLE_PAYLOAD);
    struct sbt_blob blob;

    return slot >= 0 && sbt_record_blob(c->record, (uint32_t)slot, &blob) && blob.size;
}

/* Tests whether the call tells of rows, whose bytes do not follow each other. */
static bool has_rows(const struct sbt_schema *schema)
{
    for (uint32_t i = 0; i < schema->field_count; i++) {
        const size_t size = strlen(schema->fields[i].name);

        if (size >= 5 && !strcmp(schema->fields[i].name + size - 5, "Pitch"))
            return true;
    }
    return sbt_schema_role(schema, SBT_ROLE_SIZE) < 0;
}

/* Adds from `start` to the end of its allocation; outside of any nothing is known, and nothing of
 * the device is there. */
static int add_rest(const struct command *c, uint64_t start, bool reads, bool writes)
{
    const struct tsm_allocation *in = holder(c->memory, start);

    return in ? add(c->a, &(struct tsm_access){.start = start,
                                               .size = in->size - (start - in->start),
                                               .kind = TSM_ACCESS_REACHABLE,
                                               .reads = reads,
                                               .writes = writes})
              : 0;
}

static bool is_variable(const struct tsm_accesses *a, uint64_t address)
{
    bool found = false;

    for (size_t i = 0; i < a->variable_count && !found; i++)
        found = address - a->variables[i].address < a->variables[i].size;
    return found;
}

/* Tests whether an operand is memory that the program has not allocated by a call, so that the
 * device cannot reach it: a copy from there takes its bytes along, and one that goes there is over
 * when its call returns. */
static bool is_pageable(const struct command *c, enum sbt_role role)
{
    const uint64_t start = role_of(c, role);

    if (role == SBT_ROLE_SRC || role == SBT_ROLE_HOST_SRC)
        return carries_bytes(c) && !holder(c->memory, start);
    return (role == SBT_ROLE_HOST_DST || sbt_schema_role(c->schema, SBT_ROLE_PAYLOAD) >= 0) &&
           sbt_schema_role(c->schema, SBT_ROLE_HOST_SRC) < 0 && !holder(c->memory, start) &&
           !is_variable(c->a, start);
}

static int add_range(const struct command *c, enum sbt_role role, bool is_read)
{
    const uint64_t start = role_of(c, role), size = role_of(c, SBT_ROLE_SIZE);

    if (!start)
        return 0;
    if (has_rows(c->schema))
        return add_rest(c, start, is_read, !is_read);
    return add(c->a, &(struct tsm_access){.start = start,
                                          .size = size,
                                          .reads = is_read,
                                          .writes = !is_read,
                                          .is_in_call = is_pageable(c, role)});
}

/* Adds what was observed of a copy or fill of rows. Memory of the host that the device cannot reach
 * is nothing that others wait for. */
static int add_observed_rows(const struct command *c)
{
    int error = 0;

    for (size_t i = 0; i < c->observed_count && !error; i++)
        if (!is_of_array(&c->observed[i]) &&
            (holder(c->memory, c->observed[i].start) || is_variable(c->a, c->observed[i].start)))
            error = add_observed_range(c, &c->observed[i]);
    return error;
}

/* Adds the texels of arrays that were observed: kernels reach arrays that their arguments do not
 * name, by handles in memory and by texture references. */
static int add_observed_arrays(const struct command *c)
{
    int error = 0;

    for (size_t i = 0; i < c->observed_count && !error; i++)
        if (is_of_array(&c->observed[i]))
            error = add_observed_range(c, &c->observed[i]);
    return error;
}

static bool is_object_field(const struct command *c, uint32_t field, uint64_t *thing)
{
    *thing = tsm_held_memory_field(&c->a->held, c->record, c->schema, field);
    return *thing != 0;
}

/* Arrays of texels, and memory of the host that has no role: one side of the copy or the other. */
static int add_fields(const struct command *c)
{
    const bool has_to = role_of(c, SBT_ROLE_DST) || role_of(c, SBT_ROLE_HOST_DST),
               has_from =
                   role_of(c, SBT_ROLE_SRC) || role_of(c, SBT_ROLE_HOST_SRC) || carries_bytes(c);
    int error = 0;
    uint64_t thing;

    for (uint32_t i = 0; i < c->schema->field_count && i < c->record->slot_count && !error; i++) {
        const struct sbt_field *field = &c->schema->fields[i];

        if (is_object_field(c, i, &thing) && thing & TSM_HELD_OBJECT)
            error = add(c->a, &(struct tsm_access){.start = thing,
                                                   .size = 1,
                                                   .kind = TSM_ACCESS_REACHABLE,
                                                   .reads = !has_from || has_to,
                                                   .writes = !has_to || has_from,
                                                   .is_object = true});
        else if (field->type == SBT_FIELD_HOSTPTR && !field->role && !c->observed)
            error = add_rest(c, c->record->slots[i], true, true);
    }
    return error;
}

/* Adds one side of many copies in one call. */
static int add_list(const struct command *c, enum sbt_role role, bool is_read)
{
    size_t count, size_count;
    const uint8_t *list = sbt_record_role_list(c->schema, c->record, role, &count),
                  *sizes = sbt_record_role_list(c->schema, c->record, SBT_ROLE_SIZE, &size_count);
    int error = 0;

    for (size_t i = 0; i < count && i < size_count && !error; i++) {
        const uint64_t start = tsm_get_u64(list + i * 8);
        const bool is_known = holder(c->memory, start) || is_variable(c->a, start);

        error = add(c->a, &(struct tsm_access){.start = start,
                                               .size = tsm_get_u64(sizes + i * 8),
                                               .reads = is_read,
                                               .writes = !is_read,
                                               .is_in_call = !is_known});
    }
    return error;
}

static bool is_batch(const struct command *c)
{
    size_t count;

    return sbt_record_role_list(c->schema, c->record, SBT_ROLE_SIZE, &count);
}

static int note_batch(const struct command *c)
{
    const int error = add_list(c, SBT_ROLE_SRC, true);

    return error ? error : add_list(c, SBT_ROLE_DST, false);
}

static int note_ranges(const struct command *c)
{
    int error;

    if (is_batch(c))
        return note_batch(c);
    if (c->observed && has_rows(c->schema)) {
        error = add_observed_rows(c);
    } else {
        error = add_range(c, SBT_ROLE_SRC, true);
        if (!error)
            error = add_range(c, SBT_ROLE_HOST_SRC, true);
        if (!error)
            error = add_range(c, SBT_ROLE_DST, false);
        if (!error)
            error = add_range(c, SBT_ROLE_HOST_DST, false);
    }
    if (!error)
        error = add_observed_arrays(c);
    if (!error)
        error = add_fields(c);
    return error ? error : note_sent(c, role_of(c, SBT_ROLE_DST));
}

/* ---- records --------------------------------------------------------------------------------- */

static int note_command(const struct command *c)
{
    const struct tsm_type_work type = tsm_work_of_type(c->schema);

    if (c->record->flags & (SBT_RECORD_TAINTS | SBT_RECORD_UNFINISHED))
        return be_unknown(c->a);
    switch (type.work) {
    case TSM_WORK_KERNEL:
        return note_kernel(c);
    case TSM_WORK_COPY:
    case TSM_WORK_FILL:
        return note_ranges(c);
    case TSM_WORK_ORDER:
        return 0;
    default:
        /* A copy between arrays has no role but its size. */
        if (role_of(c, SBT_ROLE_SIZE))
            return note_ranges(c);
        return note_observed(c);
    }
}

static void begin(struct tsm_accesses *a)
{
    a->is_unknown = false;
    a->count = 0;
}

int tsm_accesses_begin(struct tsm_accesses *a, struct sbt_reader *reader)
{
    return tsm_observed_collect(&a->observed, reader);
}

int tsm_accesses_note(struct tsm_accesses *a, struct sbt_reader *reader,
                      const struct tsm_call_node *call)
{
    struct command c = {a, reader, call->record, call->schema, call->memory, NULL, 0};
    int error;

    begin(a);
    if (!call->schema || call->record->flags & (SBT_RECORD_FAILED | SBT_RECORD_CAPTURED) ||
        !(tsm_api_traits(call->record->type) & TSM_API_IN_ORDER))
        return 0;
    error = tsm_held_memory_note(&a->held, call->record, call->schema);
    if (error || !call->is_command)
        return error ? error : note_of_module(a, call->record, call->schema);
    c.observed = tsm_observed_find(&a->observed, call->record->stream, call->record->position,
                                   &c.observed_count);
    return note_command(&c);
}

int tsm_accesses_note_core(struct tsm_accesses *a, const struct sbt_record *record)
{
    const struct sbt_schema *schema = sbt_core_schema(SBT_CORE_HOST_WRITE);

    begin(a);
    /* Writes of a function of the program are the command's, which may do anything. */
    if (record->type != SBT_TYPE(SBT_API_CORE, SBT_CORE_HOST_WRITE) ||
        sbt_record_role(schema, record, SBT_ROLE_OF_STREAM, SBT_STREAM_NONE) != SBT_STREAM_NONE)
        return 0;
    return add(a,
               &(struct tsm_access){.start = sbt_record_role(schema, record, SBT_ROLE_HOST_SRC, 0),
                                    .size = sbt_record_role(schema, record, SBT_ROLE_SIZE, 0),
                                    .kind = record->flags & (SBT_RECORD_HELD | SBT_RECORD_DEVICE)
                                                ? TSM_ACCESS_REACHABLE
                                                : TSM_ACCESS_DECLARED,
                                    .writes = true});
}

void tsm_accesses_finish(struct tsm_accesses *a)
{
    tsm_observed_finish(&a->observed);
    tsm_held_memory_finish(&a->held);
    tsm_map_finish(&a->modules);
    free(a->list);
    free(a->variables);
    free(a->stored);
    free(a->bytes);
    *a = (struct tsm_accesses){0};
}
