/* SPDX-License-Identifier: Apache-2.0 */
#include "tracesmith/columns.h"

#include "analysis/model/pass.h"
#include "base/array.h"
#include "base/hash.h"
#include "base/map.h"

#include <stdlib.h>
#include <string.h>

/* One command, until all are known and lie in columns. */
struct row {
    uint64_t seq, position, bytes, call_ns, returned_ns, error_ns;
    int64_t start_ns, end_ns;
    uint32_t type, stream, thread, stack, part, work, kernel, time_kind, time_axis;
};

struct commands {
    struct tsm_commands table;
    char **names;
    size_t name_capacity;
    void *columns; /* one allocation for all */
};

struct reading {
    struct commands *out;
    struct row *rows;
    size_t row_count, row_capacity;
    struct tsm_map places; /* hash of a name -> its place */
    const char *last_name; /* as the model gave it: mostly the next one is the same */
    uint32_t last_place;
};

/* ---- names --------------------------------------------------------------------------------- */

static int add_name(struct commands *c, const char *name, uint32_t *place)
{
    char *copy = strdup(name);

    if (!copy || c->table.name_count >= UINT32_MAX ||
        !TSM_ARRAY_PUSH(c->names, c->table.name_count, c->name_capacity, copy)) {
        free(copy);
        return tsm_fail(TSM_E_MEMORY, "out of memory for names of kernels");
    }
    *place = (uint32_t)(c->table.name_count - 1);
    return 0;
}

/* Names with one hash lie in the slots after it: a trace may have been made for that. */
static int find_name(struct reading *r, const char *name, uint32_t *place)
{
    uint64_t key = tsm_hash64(name, strlen(name));
    bool added;
    uint64_t *known;
    int error;

    while ((known = tsm_map_insert(&r->places, key, &added)) && !added &&
           strcmp(r->out->names[*known], name) != 0)
        key++;
    if (!known)
        return tsm_fail(TSM_E_MEMORY, "out of memory for names of kernels");
    if (!added) {
        *place = (uint32_t)*known;
        return 0;
    }
    error = add_name(r->out, name, place);
    if (!error)
        *known = *place;
    return error;
}

static int name_of(struct reading *r, const char *name, uint32_t *place)
{
    int error = 0;

    *place = 0;
    if (!name || !*name)
        return 0;
    if (name != r->last_name) {
        error = find_name(r, name, &r->last_place);
        r->last_name = error ? NULL : name;
    }
    *place = r->last_place;
    return error;
}

/* ---- rows ---------------------------------------------------------------------------------- */

static int add_command(void *user, const struct tsm_command_node *n)
{
    struct reading *r = user;
    const bool is_timed = n->gpu.kind != TSM_TIME_UNKNOWN;
    struct row row = {.seq = n->seq,
                      .position = n->position,
                      .bytes = n->bytes,
                      .call_ns = n->call_ns,
                      .returned_ns = n->returned_ns,
                      .error_ns = is_timed ? n->gpu.error_ns : 0,
                      .start_ns = is_timed ? n->gpu.start_ns : 0,
                      .end_ns = is_timed ? n->gpu.end_ns : 0,
                      .type = n->schema->type,
                      .stream = n->stream,
                      .thread = n->thread,
                      .stack = n->stack,
                      .part = n->part,
                      .work = n->work,
                      .time_kind = n->gpu.kind,
                      .time_axis = n->gpu.axis};
    int error = name_of(r, n->kernel, &row.kernel);

    if (error)
        return error;
    if (!TSM_ARRAY_PUSH(r->rows, r->row_count, r->row_capacity, row))
        return tsm_fail(TSM_E_MEMORY, "out of memory for a table of commands");
    return 0;
}

static int by_seq(const void *a, const void *b)
{
    const struct row *x = a, *y = b;

    if (x->seq != y->seq)
        return x->seq < y->seq ? -1 : 1;
    return x->part < y->part ? -1 : x->part > y->part;
}

/* ---- columns ------------------------------------------------------------------------------- */

#define COLUMNS_64(C)                                                                              \
    C(uint64_t, seq)                                                                               \
    C(uint64_t, position)                                                                          \
    C(uint64_t, bytes) C(uint64_t, call_ns) C(uint64_t, returned_ns) C(uint64_t, error_ns)         \
        C(int64_t, start_ns) C(int64_t, end_ns)
#define COLUMNS_32(C)                                                                              \
    C(uint32_t, type)                                                                              \
    C(uint32_t, stream)                                                                            \
    C(uint32_t, thread) C(uint32_t, stack) C(uint32_t, part) C(uint32_t, work) C(uint32_t, kernel) \
        C(uint32_t, time_kind) C(uint32_t, time_axis)

/* Takes the next column from `at`, those of 64 bits first, so that each is aligned. */
#define FILL(c_type, name)                                                                         \
    {                                                                                              \
        c_type *column = (c_type *)(void *)at;                                                     \
        for (size_t i = 0; i < count; i++)                                                         \
            column[i] = rows[i].name;                                                              \
        table->name = column;                                                                      \
        at += count * sizeof(c_type);                                                              \
    }

static int make_columns(struct commands *c, const struct row *rows, size_t count)
{
    struct tsm_commands *table = &c->table;
    uint8_t *at;

    c->columns = calloc(count + 1, sizeof(struct row));
    if (!c->columns)
        return tsm_fail(TSM_E_MEMORY, "out of memory for a table of commands");
    at = c->columns;
    COLUMNS_64(FILL)
    COLUMNS_32(FILL)
    table->count = count;
    table->names = (const char *const *)c->names;
    return 0;
}

int tsm_commands_read(struct tsm_commands **out, struct sbt_reader *reader,
                      const struct sbt_filter *filter)
{
    struct reading r = {.out = calloc(1, sizeof(*r.out))};
    const struct tsm_model_visitor visitor = {.user = &r, .command = add_command};
    uint32_t none;
    int error = r.out ? add_name(r.out, "", &none) : tsm_fail(TSM_E_MEMORY, "out of memory");

    if (!error)
        error = tsm_model_pass(NULL, reader, filter, &visitor);
    if (!error && r.row_count)
        qsort(r.rows, r.row_count, sizeof(*r.rows), by_seq);
    if (!error)
        error = make_columns(r.out, r.rows, r.row_count);
    free(r.rows);
    tsm_map_finish(&r.places);
    if (error)
        tsm_commands_destroy(r.out ? &r.out->table : NULL);
    else
        *out = &r.out->table;
    return error;
}

void tsm_commands_destroy(struct tsm_commands *table)
{
    struct commands *c = (struct commands *)(void *)table; /* its first member */

    if (!c)
        return;
    for (size_t i = 0; i < table->name_count; i++)
        free(c->names[i]);
    free(c->names);
    free(c->columns);
    free(c);
}
