/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/graph_functions.h"

#include <string.h>

#include "api/traits.h"
#include "base/bytes.h"

#define UNSURE    TSM_GRAPH_FUNCTIONS_UNSURE
#define COUNT_MAX TSM_GRAPH_FUNCTIONS_MAX
#define DEPTH_MAX 64 /* graphs within each other */

/* CUgraphNodeType. */
enum {
    NODE_HOST = 3,
    NODE_GRAPH = 4,
    NODE_CONDITIONAL = 13,
};

static int set(struct tsm_map *map, uint64_t key, uint64_t value)
{
    return tsm_map_set(map, key, value) ? 0 : tsm_fail(TSM_E_MEMORY, "no memory for graphs");
}

static uint64_t sum(uint64_t a, uint64_t b)
{
    uint64_t count = (a & ~UNSURE) + (b & ~UNSURE), flag = (a | b) & UNSURE;

    return count > COUNT_MAX ? COUNT_MAX | UNSURE : count | flag;
}

static uint64_t difference(uint64_t a, uint64_t b)
{
    if ((a | b) & UNSURE)
        return a | UNSURE;
    return a > b ? a - b : 0;
}

static uint64_t slot(const struct sbt_record *record, uint32_t index)
{
    return index < record->slot_count ? record->slots[index] : 0;
}

/* Index of the field, or UINT32_MAX. */
static uint32_t field(const struct sbt_schema *schema, const char *name)
{
    for (uint32_t i = 0; schema && i < schema->field_count; i++)
        if (strcmp(schema->fields[i].name, name) == 0)
            return i;
    return UINT32_MAX;
}

/* Adds to a graph and to those that it lies in. A graph that no record creates stays unknown. */
static int change(struct tsm_graph_functions *g, uint64_t graph, uint64_t count, bool is_less)
{
    for (int depth = 0; graph && depth < DEPTH_MAX; depth++) {
        uint64_t old = tsm_map_get(&g->graphs, graph, COUNT_MAX | UNSURE);
        int error = set(&g->graphs, graph, is_less ? difference(old, count) : sum(old, count));
        if (error)
            return error;
        graph = tsm_map_get(&g->parents, graph, 0);
    }
    return 0;
}

static int set_node(struct tsm_graph_functions *g, uint64_t node, uint64_t graph, uint64_t count)
{
    int error = set(&g->nodes, node, graph);

    return error ? error : set(&g->node_counts, node, count);
}

/* The graphs of a conditional node are empty at first; what is added to them is added to this one.
 */
static int add_bodies(struct tsm_graph_functions *g, const struct sbt_record *record,
                      const struct sbt_schema *schema, uint64_t graph)
{
    const uint8_t *bytes = NULL;
    size_t size = 0;
    int error = 0;

    if (!sbt_record_bytes(record, field(schema, "list"), &bytes, &size))
        return 0;
    for (size_t at = 0; at + 4 <= size && !error; at += 4) {
        error = set(&g->graphs, tsm_get_u32(bytes + at), 0);
        if (!error)
            error = set(&g->parents, tsm_get_u32(bytes + at), graph);
    }
    return error;
}

static int add_node(struct tsm_graph_functions *g, const struct sbt_record *record,
                    const struct sbt_schema *schema)
{
    uint64_t type = slot(record, field(schema, "type")), graph = slot(record, 1);
    const uint8_t *bytes = NULL;
    uint64_t count = type == NODE_HOST;
    size_t size = 0;
    int error;

    if (type == NODE_GRAPH) {
        bool is_named =
            sbt_record_bytes(record, field(schema, "objects"), &bytes, &size) && size >= 8;
        count =
            tsm_map_get(&g->graphs, is_named ? tsm_get_u64(bytes) : UINT64_MAX, COUNT_MAX | UNSURE);
    }
    error = set_node(g, slot(record, 0), graph, count);
    if (!error && type == NODE_CONDITIONAL)
        error = add_bodies(g, record, schema, graph);
    return error || !count ? error : change(g, graph, count, false);
}

/* Nodes that a capture or a copy made: id and type of each. */
static int name_nodes(struct tsm_graph_functions *g, struct sbt_reader *reader,
                      const struct sbt_record *record)
{
    uint8_t entry[8];
    struct sbt_blob blob;
    int error = 0;

    if (!sbt_record_blob(record, 1, &blob))
        return 0;
    for (uint64_t at = 0; at + sizeof(entry) <= blob.size && !error; at += sizeof(entry)) {
        error = sbt_reader_blob(reader, &blob, at, entry, sizeof(entry));
        if (error)
            return error == TSM_E_MEMORY ? error : 0;
        uint64_t id = tsm_get_u32(entry), type = tsm_get_u32(entry + 4);
        if (!tsm_map_find(&g->nodes, id))
            error = set_node(g, id, slot(record, 0),
                             type == NODE_GRAPH ? COUNT_MAX | UNSURE : type == NODE_HOST);
    }
    return error;
}

static int name_child(struct tsm_graph_functions *g, uint64_t node, uint64_t graph)
{
    uint64_t parent = tsm_map_get(&g->nodes, node, 0);
    int error = 0;

    if (tsm_map_find(&g->graphs, graph))
        return 0;
    if (parent && parent != graph)
        error = set(&g->parents, graph, parent);
    return error ? error
                 : set(&g->graphs, graph, tsm_map_get(&g->node_counts, node, COUNT_MAX | UNSURE));
}

static int destroy_node(struct tsm_graph_functions *g, uint64_t node)
{
    uint64_t count = tsm_map_get(&g->node_counts, node, 0);
    uint64_t graph = tsm_map_get(&g->nodes, node, 0);

    return count ? change(g, graph, count, true) : 0;
}

/* ---- captures ----------------------------------------------------------------------------- */

static void capture(struct tsm_graph_functions *g, uint64_t count)
{
    g->captured = sum(g->captured, count);
    g->mixed += count && g->open > 1;
}

static int begin(struct tsm_graph_functions *g, uint64_t stream)
{
    int error;

    /* Per-thread streams of several threads have one number. */
    g->mixed += tsm_map_find(&g->begun, stream) != NULL;
    g->open++;
    error = set(&g->begun, stream, g->captured);
    return error ? error : set(&g->begun_mixed, stream, g->mixed);
}

static int end(struct tsm_graph_functions *g, uint64_t stream, uint64_t graph, bool failed)
{
    uint64_t before = tsm_map_get(&g->begun, stream, COUNT_MAX | UNSURE), count;
    bool is_mixed = tsm_map_get(&g->begun_mixed, stream, 0) != g->mixed;
    int error = 0;

    g->open -= g->open > 0;
    tsm_map_remove(&g->begun, stream);
    tsm_map_remove(&g->begun_mixed, stream);
    if (failed || !graph)
        return 0;
    count = (before | g->captured) & UNSURE ? COUNT_MAX | UNSURE : g->captured - before;
    if (!tsm_map_find(&g->graphs, graph))
        error = set(&g->graphs, graph, 0);
    return error ? error : change(g, graph, is_mixed ? count | UNSURE : count, false);
}

/* ---- records ------------------------------------------------------------------------------ */

static int copy(struct tsm_graph_functions *g, struct tsm_map *to, uint64_t id, uint64_t graph)
{
    return set(to, id, tsm_map_get(&g->graphs, graph, COUNT_MAX | UNSURE));
}

#define OF_CAPTURE                                                                                 \
    (TSM_TRAIT_BEGINS_CAPTURE | TSM_TRAIT_ENDS_CAPTURE | TSM_TRAIT_HOST_FUNCTION |                 \
     TSM_TRAIT_LAUNCHES_GRAPH)

static int note_capture(struct tsm_graph_functions *g, const struct sbt_record *record,
                        uint32_t traits)
{
    bool is_captured = record->flags & SBT_RECORD_CAPTURED;
    bool failed = record->flags & SBT_RECORD_FAILED;

    if (traits & TSM_TRAIT_ENDS_CAPTURE)
        return end(g, slot(record, 0), slot(record, 1), failed);
    if (traits & TSM_TRAIT_BEGINS_CAPTURE)
        return failed ? 0 : begin(g, slot(record, 0));
    if (is_captured && !failed)
        capture(g, traits & TSM_TRAIT_HOST_FUNCTION
                       ? 1
                       : tsm_map_get(&g->execs, slot(record, 0), COUNT_MAX | UNSURE));
    return 0;
}

int tsm_graph_functions_note(struct tsm_graph_functions *g, struct sbt_reader *reader,
                             const struct sbt_record *record)
{
    uint32_t traits = tsm_graph_traits(record->type);

    if (traits & OF_CAPTURE)
        return note_capture(g, record, traits);
    if (!traits || record->flags & SBT_RECORD_FAILED)
        return 0;
    if (traits & TSM_TRAIT_CREATES_GRAPH)
        return set(&g->graphs, slot(record, 0), 0);
    if (traits & TSM_TRAIT_ADDS_NODE)
        return add_node(g, record, sbt_reader_schema(reader, record->type));
    if (traits & TSM_TRAIT_NAMES_CHILD)
        return name_child(g, slot(record, 0), slot(record, 1));
    if (traits & TSM_TRAIT_CLONES_GRAPH)
        return copy(g, &g->graphs, slot(record, 0), slot(record, 1));
    if (traits & TSM_TRAIT_NAMES_NODES)
        return name_nodes(g, reader, record);
    if (traits & TSM_TRAIT_DESTROYS_NODE)
        return destroy_node(g, slot(record, 0));
    if (traits & TSM_TRAIT_INSTANTIATES)
        return copy(g, &g->execs, slot(record, 0), slot(record, 1));
    return 0;
}

void tsm_graph_functions_finish(struct tsm_graph_functions *g)
{
    tsm_map_finish(&g->graphs);
    tsm_map_finish(&g->execs);
    tsm_map_finish(&g->parents);
    tsm_map_finish(&g->nodes);
    tsm_map_finish(&g->node_counts);
    tsm_map_finish(&g->begun);
    tsm_map_finish(&g->begun_mixed);
    *g = (struct tsm_graph_functions){0};
}

uint64_t tsm_graph_functions_count(const struct tsm_graph_functions *g,
                                   const struct sbt_record *record)
{
    uint64_t count;

    if (!(tsm_graph_traits(record->type) & TSM_TRAIT_LAUNCHES_GRAPH))
        return 0;
    count = tsm_map_get(&g->execs, slot(record, 0), COUNT_MAX | UNSURE);
    /* A launch that was refused, or never returned, may have given its places back. */
    return record->flags & (SBT_RECORD_FAILED | SBT_RECORD_UNFINISHED) ? count | UNSURE : count;
}
