/* SPDX-License-Identifier: Apache-2.0
 *
 * Joins the sets of two objects whenever a record names both, at any time: objects of different
 * sets were never used together.
 */
#include "analysis/slice/reachability.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/handles.h"
#include "api/traits.h"
#include "base/array.h"
#include "base/hash.h"

#define NOWHERE SIZE_MAX

struct submit {
    uint64_t seq;
    size_t node;
    bool is_wanted;
};

struct search {
    struct sbt_reader *reader;
    const struct sbt_filter *filter;
    struct tsm_map nodes; /* hash of an object -> its node, + 1 */
    size_t *parents;      /* of nodes; a root is its own */
    size_t node_count, node_capacity;
    struct submit *submits;
    size_t submit_count, submit_capacity;
    struct tsm_map wanted; /* hashes of memory that is */
    size_t joined;         /* node of the record's first object */
    bool all;              /* is connected */
};

/* ---- sets --------------------------------------------------------------------------------- */

static size_t root_of(struct search *s, size_t node)
{
    while (s->parents[node] != node) {
        s->parents[node] = s->parents[s->parents[node]];
        node = s->parents[node];
    }
    return node;
}

static int no_memory(void)
{
    return tsm_fail(TSM_E_MEMORY, "no memory for what is connected");
}

static uint64_t hash_of(const char *type, uint64_t id)
{
    return tsm_hash64(type, strlen(type)) ^ id * 0x9e3779b97f4a7c15u;
}

static int find_node(struct search *s, uint64_t hash, size_t *out)
{
    bool added;
    uint64_t *place = tsm_map_insert(&s->nodes, hash, &added);

    if (!place)
        return no_memory();
    if (*place) {
        *out = *place - 1;
        return 0;
    }
    if (!TSM_ARRAY_RESERVE(s->parents, s->node_capacity, s->node_count + 1))
        return no_memory();
    *out = s->node_count++;
    s->parents[*out] = *out;
    *place = *out + 1;
    return 0;
}

/* ---- records ------------------------------------------------------------------------------ */

static int join(void *user, const struct tsm_handle_name *name)
{
    struct search *s = user;
    size_t node = 0;
    int error;

    if (!(tsm_object_traits(name->type) & TSM_OBJECT_CARRIER))
        return 0;
    error = find_node(s, hash_of(name->type, name->id), &node);
    if (error)
        return error;
    if (s->joined != NOWHERE)
        s->parents[root_of(s, node)] = root_of(s, s->joined);
    s->joined = node;
    return 0;
}

static bool in_streams(const struct search *s, uint64_t stream)
{
    for (size_t i = 0; i < s->filter->stream_count; i++)
        if (s->filter->streams[i] == stream)
            return true;
    return false;
}

static int add_submit(struct search *s, const struct sbt_record *record)
{
    if (s->joined == NOWHERE)
        return 0;
    return TSM_ARRAY_PUSH(s->submits, s->submit_count, s->submit_capacity,
                          (struct submit){record->seq, s->joined, in_streams(s, record->stream)})
               ? 0
               : no_memory();
}

/* docs/FORMAT.md 10: bit 63, the id of the memory from bit 40 on; with bit 62, of an image. */
static int want_memory(struct search *s, const struct sbt_record *record)
{
    const struct sbt_schema *schema = sbt_core_schema(SBT_CORE_CHECKSUM);
    uint64_t place = sbt_record_role(schema, record, SBT_ROLE_SRC, 0);
    const char *type = tsm_object_type_with(place >> 62 & 1 ? TSM_OBJECT_IMAGE : TSM_OBJECT_MEMORY);
    bool added;

    if (!in_streams(s, sbt_record_role(schema, record, SBT_ROLE_OF_STREAM, SBT_STREAM_NONE)))
        return 0;
    return tsm_map_insert(&s->wanted, hash_of(type, place << 2 >> 42), &added) ? 0 : no_memory();
}

static int visit(struct search *s, const struct sbt_record *record)
{
    const struct sbt_schema *schema = sbt_reader_schema(s->reader, record->type);
    uint64_t traits;
    int error;

    if (record->type == SBT_TYPE(SBT_API_CORE, SBT_CORE_CHECKSUM))
        return want_memory(s, record);
    if (!(tsm_api_traits(record->type) & TSM_API_SHOWS_SUBMITS) || !schema)
        return 0;
    traits = tsm_call_traits(schema).traits;
    s->all |= (traits & TSM_TRAIT_EXPOSES) != 0;
    if ((record->flags & SBT_RECORD_FAILED) || (traits & TSM_TRAIT_UNRELATED))
        return 0;
    s->joined = NOWHERE;
    error = tsm_handles_each(s->reader, record, schema, join, s);
    return error || !(traits & TSM_TRAIT_SUBMITS) ? error : add_submit(s, record);
}

/* ---- the pass ----------------------------------------------------------------------------- */

static int read_all(struct search *s)
{
    struct sbt_filter filter = {.seq_end = s->filter->seq_end};
    struct sbt_cursor *cursor = NULL;
    const struct sbt_record *record;
    int error = sbt_cursor_create(&cursor, s->reader, &filter, 1);

    while (error >= 0 && !s->all && (error = sbt_cursor_next(cursor, &record)) == 1) {
        error = visit(s, record);
        if (error)
            break;
    }
    sbt_cursor_destroy(cursor);
    return error < 0 ? error : 0;
}

static int note_apart(struct search *s, struct tsm_reachability *out)
{
    bool *wanted = calloc(s->node_count + 1, sizeof(*wanted)), added;
    int error = wanted ? 0 : no_memory();

    for (size_t i = 0; i < s->nodes.capacity && !error; i++)
        if (s->nodes.slots[i].used && tsm_map_find(&s->wanted, s->nodes.slots[i].key))
            wanted[root_of(s, s->nodes.slots[i].value - 1)] = true;
    for (size_t i = 0; i < s->submit_count && !error; i++)
        if (s->submits[i].is_wanted)
            wanted[root_of(s, s->submits[i].node)] = true;
    for (size_t i = 0; i < s->submit_count && !error; i++)
        if (!wanted[root_of(s, s->submits[i].node)] &&
            !tsm_map_insert(&out->apart, s->submits[i].seq + 1, &added))
            error = no_memory();
    free(wanted);
    return error;
}

int tsm_reachability_find(struct tsm_reachability *out, struct sbt_reader *reader,
                          const struct sbt_filter *filter)
{
    struct search s = {.reader = reader, .filter = filter};
    int error = read_all(&s);

    *out = (struct tsm_reachability){0};
    if (!error && !s.all)
        error = note_apart(&s, out);
    if (error)
        tsm_reachability_finish(out);
    tsm_map_finish(&s.nodes);
    tsm_map_finish(&s.wanted);
    free(s.parents);
    free(s.submits);
    return error;
}

bool tsm_reachability_is_apart(const struct tsm_reachability *connected, uint64_t seq)
{
    return tsm_map_find(&connected->apart, seq + 1) != NULL;
}

void tsm_reachability_finish(struct tsm_reachability *connected)
{
    tsm_map_finish(&connected->apart);
    *connected = (struct tsm_reachability){0};
}
