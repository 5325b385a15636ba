/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/left_out.h"

#include <string.h>

#include "api/traits.h"
#include "base/text.h"
#include "replay/backend.h"

#define NAME_COUNT_MAX                                                                             \
    (sizeof(((struct tsm_left_out *)0)->names) / sizeof(struct tsm_left_out_name))

/* ---- which records count ------------------------------------------------------------------ */

static const struct tsm_call_description *search_call(const struct tsm_api_description *api,
                                                      uint32_t type)
{
    for (size_t i = 0; i < api->call_count; i++)
        if (api->calls[i].schema->type == type)
            return &api->calls[i];
    return NULL;
}

/* Descriptions list calls in order of their numbers; only gaps in them need the search. */
static const struct tsm_call_description *find_call(const struct tsm_api_description *api,
                                                    uint32_t type)
{
    uint32_t call = SBT_TYPE_CALL(type);

    for (uint32_t back = 0; back <= 1 && back <= call; back++)
        if (call - back < api->call_count && api->calls[call - back].schema->type == type)
            return &api->calls[call - back];
    return search_call(api, type);
}

/* Returns the description that the record is judged by, where `api` stands for several. */
static const struct tsm_api_description *own_part(const struct tsm_api_description *api,
                                                  uint32_t type)
{
    for (size_t i = 0; api->parts && api->parts[i]; i++)
        if ((uint32_t)api->parts[i]->api == SBT_TYPE_API(type))
            return api->parts[i];
    return api;
}

/* APIs that share nothing have a pass each. */
static bool is_others(const struct tsm_api_description *api, uint32_t type)
{
    if (tsm_api_traits(type) & TSM_API_NESTS)
        return true; /* says where HSA's records come from */
    for (size_t i = 0; SBT_TYPE_API(type) != (uint32_t)api->api && tsm_backends[i]; i++)
        if (SBT_TYPE_API(type) == (uint32_t)tsm_backends[i]->description->api)
            return true;
    return false;
}

/* Tests whether an older version, which did not model the call, recorded only addresses where this
 * one needs the bytes, or other fields. */
static bool lacks_bytes(const struct sbt_schema *recorded, const struct sbt_schema *ours)
{
    if ((recorded->flags & ~ours->flags) & SBT_SCHEMA_TAINTS)
        return true;
    for (uint32_t i = 0; i < recorded->field_count && i < ours->field_count; i++)
        if (recorded->fields[i].type == SBT_FIELD_HOSTPTR &&
            (ours->fields[i].type == SBT_FIELD_BYTES || ours->fields[i].type == SBT_FIELD_BLOB))
            return true;
    return false;
}

enum tsm_treatment tsm_plan_treatment(const struct tsm_api_description *api,
                                      const struct sbt_record *record,
                                      const struct sbt_schema *schema)
{
    const struct tsm_call_description *call;

    api = own_part(api, record->type);
    if (SBT_TYPE_API(record->type) == SBT_API_CORE) {
        if (SBT_TYPE_CALL(record->type) == SBT_CORE_UNMODELLED)
            return TSM_TREAT_UNMODELLED;
        return sbt_core_schema(SBT_TYPE_CALL(record->type)) ? TSM_TREAT_REPLAY
                                                            : TSM_TREAT_UNMODELLED;
    }
    if (schema && is_others(api, record->type))
        return TSM_TREAT_OTHER;
    if (record->flags & SBT_RECORD_FAILED)
        return TSM_TREAT_SKIP;
    if (record->flags & (SBT_RECORD_TRUNCATED | SBT_RECORD_UNFINISHED))
        return TSM_TREAT_UNMODELLED;
    if (!schema || SBT_TYPE_API(record->type) != (uint32_t)api->api)
        return TSM_TREAT_UNMODELLED;
    call = find_call(api, record->type);
    if (!call || call->status == TSM_CALL_UNMODELLED || lacks_bytes(schema, call->schema))
        return TSM_TREAT_UNMODELLED;
    return TSM_TREAT_REPLAY;
}

/* ---- what leaving them out can do --------------------------------------------------------- */

static bool only_asks(const struct sbt_schema *schema)
{
    return schema->kind == SBT_KIND_QUERY || schema->kind == SBT_KIND_SYNC ||
           schema->kind == SBT_KIND_META;
}

/* The comparison knows of incomplete records of results. */
static enum tsm_harm core_harm(const struct sbt_record *record)
{
    uint32_t call = SBT_TYPE_CALL(record->type);
    bool is_cut = record->flags & (SBT_RECORD_TRUNCATED | SBT_RECORD_UNFINISHED);

    if (!sbt_core_schema(call))
        return TSM_HARM_TAINTS;
    return is_cut &&
                   (call == SBT_CORE_HOST_WRITE || call == SBT_CORE_HOST_RUNS ||
                    call == SBT_CORE_MEMORY || call == SBT_CORE_STATE || call == SBT_CORE_COMPLETE)
               ? TSM_HARM_TAINTS
               : TSM_HARM_NONE;
}

enum tsm_harm tsm_left_out_harm(const struct tsm_api_description *api,
                                const struct sbt_record *record, const struct sbt_schema *schema,
                                enum tsm_treatment treatment)
{
    const struct tsm_call_description *call;

    api = own_part(api, record->type);
    if (record->flags & SBT_RECORD_TAINTS)
        return TSM_HARM_TAINTS;
    if (SBT_TYPE_API(record->type) == SBT_API_CORE)
        return core_harm(record);
    if (treatment != TSM_TREAT_UNMODELLED)
        return TSM_HARM_NONE;
    if (!schema || (record->flags & SBT_RECORD_TRUNCATED))
        return TSM_HARM_TAINTS;
    call = find_call(api, record->type);
    if ((schema->flags | (call ? call->schema->flags : 0)) & SBT_SCHEMA_TAINTS)
        return record->flags & SBT_RECORD_UNFINISHED ? TSM_HARM_LATER : TSM_HARM_TAINTS;
    if (!call) /* of a newer version: also a wait that is not made may matter */
        return schema->kind == SBT_KIND_QUERY ? TSM_HARM_NONE : TSM_HARM_TAINTS;
    if (only_asks(schema))
        return TSM_HARM_NONE;
    /* Else it is described as not modelled, and as harmless. */
    return record->flags & SBT_RECORD_UNFINISHED ? TSM_HARM_LATER : TSM_HARM_POSSIBLE;
}

/* ---- their names -------------------------------------------------------------------------- */

static const char *name_of(struct sbt_reader *reader, const struct sbt_record *record,
                           const struct sbt_schema *schema)
{
    uint64_t id = schema && SBT_TYPE_API(record->type) == SBT_API_CORE
                      ? sbt_record_role(schema, record, SBT_ROLE_NAME, 0)
                      : 0;
    const char *name = id ? sbt_reader_string(reader, (uint32_t)id) : NULL;

    return name ? name : schema ? schema->name : "a call of an unknown type";
}

void tsm_left_out_add(struct tsm_left_out *list, struct sbt_reader *reader,
                      const struct sbt_record *record, const struct sbt_schema *schema)
{
    if (!list->count++)
        list->first_seq = record->seq;
    if (list->name_count == NAME_COUNT_MAX)
        return;
    const char *name = name_of(reader, record, schema);
    for (unsigned i = 0; i < list->name_count; i++)
        if (!strcmp(list->names[i].text, name))
            return;
    list->names[list->name_count++] = (struct tsm_left_out_name){record->seq, name};
}

void tsm_left_out_names(const struct tsm_left_out *list, uint64_t before_seq, char *out,
                        size_t size)
{
    size_t used = 0;
    unsigned i = 0;

    out[0] = '\0';
    for (; i < list->name_count && list->names[i].seq < before_seq && used < size; i++)
        used += tsm_format(out + used, size - used, "%s%s", i ? ", " : "", list->names[i].text);
    if (i == NAME_COUNT_MAX && used < size)
        tsm_format(out + used, size - used, ", ...");
}
