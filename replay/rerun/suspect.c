/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/rerun/suspect.h"

#include <string.h>

#include "api/traits.h"
#include "base/bytes.h"
#include "tracesmith/analysis.h"

#define ADDRESS_COUNT_MAX 32  /* of one command */
#define COMMAND_COUNT_MAX 256 /* between two synchronisations; the last ones */

/* A command, and what addresses it names. */
struct command {
    uint64_t seq;
    uint32_t stream;
    bool is_graph; /* it may use anything */
    unsigned address_count;
    uint64_t addresses[ADDRESS_COUNT_MAX];
};

struct look {
    struct command commands[COMMAND_COUNT_MAX]; /* latest first */
    unsigned count;
};

static void add_address(struct command *c, uint64_t address)
{
    /* Small numbers are sizes and counts. */
    if (address >= 65536 && c->address_count < ADDRESS_COUNT_MAX)
        c->addresses[c->address_count++] = address;
}

/* Addresses by role, and every aligned word of an argument block: words that are none match no
 * allocation but by chance. */
static void read_command(struct command *c, const struct sbt_record *record,
                         const struct sbt_schema *schema)
{
    int arguments = sbt_schema_role(schema, SBT_ROLE_ARGUMENTS);
    const uint8_t *bytes;
    size_t size;

    c->seq = record->seq;
    c->stream = record->stream;
    c->is_graph = (tsm_graph_traits(record->type) & TSM_TRAIT_LAUNCHES_GRAPH) != 0;
    c->address_count = 0;
    add_address(c, sbt_record_role(schema, record, SBT_ROLE_DST, 0));
    add_address(c, sbt_record_role(schema, record, SBT_ROLE_SRC, 0));
    if (arguments < 0 || !sbt_record_bytes(record, (uint32_t)arguments, &bytes, &size))
        return;
    for (size_t at = 0; at + 8 <= size; at += 8)
        add_address(c, tsm_get_u64(bytes + at));
}

static bool names(const struct command *c, uint64_t start, uint64_t size)
{
    for (unsigned i = 0; i < c->address_count; i++)
        if (c->addresses[i] - start < size)
            return true;
    return c->is_graph;
}

static bool ends_look(const struct sbt_schema *schema)
{
    return schema->kind == SBT_KIND_SYNC ||
           (schema->kind == SBT_KIND_COMMAND && (schema->flags & SBT_SCHEMA_BLOCKS));
}

/* Commands before record `seq`, back to the synchronisation before the one there. */
static int look_back(struct look *look, struct sbt_reader *reader, uint64_t seq)
{
    struct sbt_cursor *cursor = NULL;
    const struct sbt_record *record;
    int error = sbt_cursor_create(&cursor, reader, NULL, 0);

    if (!error)
        error = sbt_cursor_seek(cursor, seq);
    while (error >= 0 && look->count < COMMAND_COUNT_MAX &&
           (error = sbt_cursor_previous(cursor, &record)) == 1) {
        const struct sbt_schema *schema = sbt_reader_schema(reader, record->type);
        if (!schema || (record->flags & (SBT_RECORD_FAILED | SBT_RECORD_CAPTURED)))
            continue;
        if (ends_look(schema) && look->count)
            break;
        if (schema->kind == SBT_KIND_COMMAND && record->stream != SBT_STREAM_NONE)
            read_command(&look->commands[look->count++], record, schema);
    }
    sbt_cursor_destroy(cursor);
    return error < 0 ? error : 0;
}

/* An address that both name; pointers into one buffer are usually the same. */
static uint64_t shared_address(const struct command *a, const struct command *b)
{
    for (unsigned i = 0; i < a->address_count; i++)
        for (unsigned j = 0; j < b->address_count; j++)
            if (a->addresses[i] == b->addresses[j])
                return a->addresses[i];
    return 0;
}

/* Tests whether the order in the trace requires `earlier` to be done before `later`. */
static int is_ordered(struct sbt_reader *reader, const struct command *later,
                      const struct command *earlier, bool *out)
{
    struct sbt_filter filter = {.streams = &later->stream,
                                .stream_count = 1,
                                .seq_first = later->seq,
                                .seq_end = later->seq + 1};
    struct tsm_dependency_slice need;
    int error = tsm_dependency_slice_find(&need, reader, &filter);

    if (error)
        return error;
    *out = earlier->stream < need.stream_count && need.until_seq[earlier->stream] > earlier->seq;
    tsm_dependency_slice_finish(&need);
    return 0;
}

static int find_other(struct tsm_suspect *out, struct sbt_reader *reader, const struct look *look,
                      unsigned first)
{
    const struct command *c = &look->commands[first];
    int error = 0;

    for (unsigned i = 0; i < look->count && !out->has_other && !error; i++) {
        const struct command *other = &look->commands[i];
        uint64_t shared = shared_address(c, other);
        bool ordered = true;
        if (other->stream == c->stream || !shared)
            continue;
        error = is_ordered(reader, other->seq < c->seq ? c : other, other->seq < c->seq ? other : c,
                           &ordered);
        if (error || ordered)
            continue;
        out->has_other = true;
        out->other_seq = other->seq;
        out->shared = shared;
    }
    return error;
}

int tsm_suspect_find(struct tsm_suspect *out, struct sbt_reader *reader,
                     const struct tsm_difference *d)
{
    struct look look;
    int error;

    memset(out, 0, sizeof(*out));
    look.count = 0;
    error = look_back(&look, reader, d->seq);
    for (unsigned i = 0; i < look.count && !error && !out->found; i++) {
        if (!names(&look.commands[i], d->buffer, d->buffer_size))
            continue;
        out->found = true;
        out->seq = look.commands[i].seq;
        error = find_other(out, reader, &look, i);
    }
    return error;
}
