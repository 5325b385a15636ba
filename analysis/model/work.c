/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/model/work.h"

#include "api/traits.h"
#include "base/bytes.h"

const char *tsm_work_name(enum tsm_work work)
{
    static const char *const names[TSM_WORK_COUNT] = {"other", "kernel",        "copy",   "fill",
                                                      "graph", "host_function", "submit", "order"};

    return (unsigned)work < TSM_WORK_COUNT ? names[work] : NULL;
}

const char *tsm_place_name(enum tsm_place place)
{
    static const char *const names[TSM_PLACE_COUNT] = {"unknown", "host", "device", "array"};

    return names[place];
}

const char *tsm_time_kind_name(enum tsm_time_kind kind)
{
    return kind == TSM_TIME_MEASURED  ? "measured"
           : kind == TSM_TIME_DERIVED ? "derived"
                                      : "unknown";
}

const char *tsm_time_axis_name(enum tsm_time_axis axis)
{
    return axis == TSM_AXIS_HOST ? "host" : axis == TSM_AXIS_VIRTUAL ? "virtual" : "device";
}

/* ---- types --------------------------------------------------------------------------------- */

static bool has_role(const struct sbt_schema *schema, enum sbt_role role)
{
    return sbt_schema_role(schema, role) >= 0;
}

static bool has_source(const struct sbt_schema *schema)
{
    return has_role(schema, SBT_ROLE_SRC) || has_role(schema, SBT_ROLE_HOST_SRC);
}

static bool has_destination(const struct sbt_schema *schema)
{
    return has_role(schema, SBT_ROLE_DST) || has_role(schema, SBT_ROLE_HOST_DST);
}

static enum tsm_work work_of(const struct sbt_schema *schema)
{
    const uint32_t graph = tsm_graph_traits(schema->type);

    if (schema->kind != SBT_KIND_COMMAND)
        return TSM_WORK_ORDER;
    if (graph & TSM_TRAIT_LAUNCHES_GRAPH)
        return TSM_WORK_GRAPH;
    if (graph & TSM_TRAIT_HOST_FUNCTION)
        return TSM_WORK_HOST_FUNCTION;
    if (tsm_call_traits(schema).traits & (TSM_TRAIT_SUBMITS | TSM_TRAIT_HOST_FUNCTION))
        return TSM_WORK_SUBMIT;
    if (has_role(schema, SBT_ROLE_FUNCTION) || has_role(schema, SBT_ROLE_FUNCTION_NAME))
        return TSM_WORK_KERNEL;
    if (has_source(schema) && has_destination(schema))
        return TSM_WORK_COPY;
    if (has_destination(schema))
        return TSM_WORK_FILL;
    return tsm_api_traits(schema->type) & TSM_API_KERNEL ? TSM_WORK_SUBMIT : TSM_WORK_OTHER;
}

struct tsm_type_work tsm_work_of_type(const struct sbt_schema *schema)
{
    struct tsm_type_work type = {.schema = schema, .device = tsm_type_device_of(schema)};

    if (!schema)
        return type;
    type.is_command = schema->kind == SBT_KIND_COMMAND || schema->kind == SBT_KIND_SIGNAL ||
                      schema->kind == SBT_KIND_WAIT;
    type.is_wait = schema->kind == SBT_KIND_SYNC || schema->flags & SBT_SCHEMA_BLOCKS;
    type.gives_names = tsm_call_traits(schema).traits & TSM_TRAIT_NAMES;
    type.work = type.is_command ? work_of(schema) : TSM_WORK_OTHER;
    return type;
}

bool tsm_work_returns_early(const struct sbt_schema *schema)
{
    return has_role(schema, SBT_ROLE_PAYLOAD);
}

bool tsm_work_waits_for_all(const struct tsm_call_node *call)
{
    const struct sbt_schema *schema = call->schema;

    if (!call->owner || call->record->stream != SBT_STREAM_NONE)
        return false;
    for (uint32_t i = 0; i < schema->field_count; i++)
        if (schema->fields[i].type != SBT_FIELD_HANDLE ||
            !(tsm_object_traits(schema->fields[i].detail) & TSM_OBJECT_GROUND))
            return false;
    return true;
}

enum tsm_work tsm_work_inside(const struct sbt_schema *schema)
{
    const uint64_t traits = tsm_call_traits(schema).traits;

    return traits & TSM_TRAIT_RUNS     ? TSM_WORK_KERNEL
           : traits & TSM_TRAIT_COPIES ? TSM_WORK_COPY
           : traits & TSM_TRAIT_FILLS  ? TSM_WORK_FILL
                                       : TSM_WORK_OTHER;
}

/* ---- one command --------------------------------------------------------------------------- */

static uint64_t role_of(const struct tsm_type_work *type, const struct sbt_record *record,
                        enum sbt_role role)
{
    return sbt_record_role(type->schema, record, role, 0);
}

static bool carries_bytes(const struct tsm_type_work *type, const struct sbt_record *record)
{
    const int slot = sbt_schema_role(type->schema, SBT_ROLE_PAYLOAD);
    struct sbt_blob blob;

    return slot >= 0 && sbt_record_blob(record, (uint32_t)slot, &blob) && blob.size;
}

/* Returns the address of the host before that of the device, as copies of rows have both, and
 * behind them an array. Returns 0 if the operand is not there. */
static uint64_t host_of_rows(const struct tsm_type_work *type, const struct sbt_record *record,
                             enum sbt_role device_role)
{
    const int slot = sbt_schema_role(type->schema, device_role);
    const struct sbt_field *fields = type->schema->fields;

    return slot > 0 && (uint32_t)slot + 1 < type->schema->field_count &&
                   (uint32_t)slot + 1 < record->slot_count &&
                   fields[slot - 1].type == SBT_FIELD_HOSTPTR &&
                   fields[slot + 1].type == SBT_FIELD_HANDLE && !record->slots[slot + 1]
               ? record->slots[slot - 1]
               : 0;
}

/* Returns the place of an operand that has two roles, one for each kind of address. */
static enum tsm_place place_of(const struct tsm_type_work *type, const struct sbt_record *record,
                               const struct tsm_memory *memory, enum sbt_role device_role,
                               enum sbt_role host_role)
{
    const uint64_t device = role_of(type, record, device_role),
                   host = role_of(type, record, host_role)
                              ? role_of(type, record, host_role)
                              : host_of_rows(type, record, device_role);
    const bool is_sent = device_role == SBT_ROLE_SRC && carries_bytes(type, record);

    if (device)
        return tsm_memory_place(memory, device, is_sent ? TSM_PLACE_UNKNOWN : TSM_PLACE_DEVICE);
    return host ? tsm_memory_place(memory, host, TSM_PLACE_UNKNOWN) : TSM_PLACE_ARRAY;
}

static void describe_kernel(struct tsm_command_node *node, struct sbt_reader *reader,
                            const struct sbt_record *record, const struct tsm_type_work *type)
{
    const uint64_t name = role_of(type, record, SBT_ROLE_FUNCTION_NAME);

    node->kernel = name ? sbt_reader_string(reader, (uint32_t)name) : NULL;
    for (unsigned i = 0; i < 3; i++) {
        node->grid[i] = (uint32_t)role_of(type, record, (enum sbt_role)(SBT_ROLE_GRID_X + i));
        node->block[i] = (uint32_t)role_of(type, record, (enum sbt_role)(SBT_ROLE_BLOCK_X + i));
    }
    node->shared_size = role_of(type, record, SBT_ROLE_SHARED_SIZE);
}

/* Returns the place of the first one that a list names; UNKNOWN if that of any of them is. */
static enum tsm_place place_of_list(const struct tsm_type_work *type,
                                    const struct sbt_record *record,
                                    const struct tsm_memory *memory, enum sbt_role role)
{
    size_t count;
    const uint8_t *list = sbt_record_role_list(type->schema, record, role, &count);
    enum tsm_place place = TSM_PLACE_UNKNOWN;

    for (size_t i = count; i-- > 0;) {
        place = tsm_memory_place(memory, tsm_get_u64(list + i * 8), TSM_PLACE_UNKNOWN);
        if (place == TSM_PLACE_UNKNOWN)
            break;
    }
    return place;
}

/* Describes many copies in one call. Returns false for one copy. */
static bool describe_batch(struct tsm_command_node *node, const struct sbt_record *record,
                           const struct tsm_type_work *type, const struct tsm_memory *memory)
{
    size_t count;
    const uint8_t *sizes = sbt_record_role_list(type->schema, record, SBT_ROLE_SIZE, &count);

    for (size_t i = 0; i < count; i++)
        node->bytes += tsm_get_u64(sizes + i * 8);
    node->to = place_of_list(type, record, memory, SBT_ROLE_DST);
    node->from = place_of_list(type, record, memory, SBT_ROLE_SRC);
    return count > 0;
}

void tsm_work_describe(struct tsm_command_node *node, struct sbt_reader *reader,
                       const struct sbt_record *record, const struct tsm_type_work *type,
                       const struct tsm_memory *memory)
{
    node->work = type->work;
    node->object = role_of(type, record, SBT_ROLE_OBJECT);
    if (type->work == TSM_WORK_KERNEL)
        describe_kernel(node, reader, record, type);
    if (type->work != TSM_WORK_COPY && type->work != TSM_WORK_FILL)
        return;
    if (describe_batch(node, record, type, memory))
        return;
    node->bytes = role_of(type, record, SBT_ROLE_SIZE);
    node->to = place_of(type, record, memory, SBT_ROLE_DST, SBT_ROLE_HOST_DST);
    if (type->work == TSM_WORK_COPY)
        node->from = place_of(type, record, memory, SBT_ROLE_SRC, SBT_ROLE_HOST_SRC);
}
