/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/model/memory.h"

#include "base/array.h"
#include "tracesmith/error.h"

#include <stdlib.h>

/* Returns the index of the first allocation that ends behind the address. */
static size_t find(const struct tsm_memory *m, uint64_t address)
{
    size_t at;

    TSM_BISECT(at, m->count, m->list[at].start + m->list[at].size > address);
    return at;
}

/* Tests whether [start, start + size) is registered within one allocation, which it is a part of.
 */
static bool is_part(const struct tsm_memory *m, size_t at, const struct tsm_memory_node *node,
                    bool is_host)
{
    const struct tsm_allocation *there = at < m->count ? &m->list[at] : NULL;

    return is_host && there && !there->is_host && there->start <= node->address &&
           node->size <= there->size - (node->address - there->start);
}

/* The new allocation takes the place of what the trace does not know to be freed. */
static int add(struct tsm_memory *m, const struct tsm_memory_node *node, bool is_host)
{
    size_t at = find(m, node->address);

    if (is_part(m, at, node, is_host))
        return 0;
    while (at < m->count && m->list[at].start < node->address + node->size)
        TSM_ARRAY_REMOVE(m->list, m->count, at);
    if (!TSM_ARRAY_INSERT(m->list, m->count, m->capacity, at,
                          (struct tsm_allocation){node->address, node->size, node->place, is_host}))
        return tsm_fail(TSM_E_MEMORY, "out of memory for allocations");
    return 1;
}

static int take(struct tsm_memory *m, struct tsm_memory_node *node, bool is_host)
{
    const size_t at = find(m, node->address);

    if (at == m->count || m->list[at].start != node->address || (is_host && !m->list[at].is_host))
        return 0;
    node->size = m->list[at].size;
    node->place = m->list[at].place;
    TSM_ARRAY_REMOVE(m->list, m->count, at);
    return 1;
}

int tsm_memory_note(struct tsm_memory *m, const struct sbt_record *record,
                    const struct sbt_schema *schema, struct tsm_memory_node *out)
{
    const int role = sbt_schema_role(schema, SBT_ROLE_ADDRESS);
    const bool is_host = role >= 0 && schema->fields[role].type == SBT_FIELD_HOSTPTR;

    if (role < 0 || record->flags & SBT_RECORD_FAILED ||
        (schema->kind != SBT_KIND_CREATE && schema->kind != SBT_KIND_DESTROY))
        return 0;
    *out = (struct tsm_memory_node){
        .seq = record->seq,
        .time_ns = record->time_ns,
        .place = is_host ? TSM_PLACE_HOST : TSM_PLACE_DEVICE,
        .address = sbt_record_role(schema, record, SBT_ROLE_ADDRESS, 0),
        .size = sbt_record_role(schema, record, SBT_ROLE_SIZE, 0),
        .stack = record->stack,
        .is_free = schema->kind == SBT_KIND_DESTROY,
    };
    if (!out->address || out->size > UINT64_MAX - out->address)
        return 0;
    if (out->is_free)
        return take(m, out, is_host);
    return out->size ? add(m, out, is_host) : 0;
}

const struct tsm_allocation *tsm_memory_find(const struct tsm_memory *m, uint64_t address)
{
    const size_t at = find(m, address);

    return at < m->count ? &m->list[at] : NULL;
}

enum tsm_place tsm_memory_place(const struct tsm_memory *m, uint64_t address, enum tsm_place absent)
{
    const size_t at = find(m, address);

    return at < m->count && m->list[at].start <= address ? m->list[at].place : absent;
}

void tsm_memory_finish(struct tsm_memory *m)
{
    free(m->list);
    *m = (struct tsm_memory){0};
}
