/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/schedule/work_order.h"

#include "base/array.h"
#include "base/bytes.h"
#include "tracesmith/error.h"

#include <stdlib.h>

#define COUNT_MAX (UINT32_MAX - 1)

/* Slots of a GPU_ORDER record. */
enum {
    OF_STREAM,
    OF_POSITION,
    NUMBER,
    EVENT,
    ACCESS,
    SIZE,
    ADDRESS,
    VALUE,
    BROUGHT_BY,
    HOST,
    AWAITED
};

struct tsm_work_order {
    uint64_t key; /* of the command */
    uint32_t number;
    uint64_t event; /* id; 0: none */
    struct tsm_value_access access;
    uint64_t brought_by, host_ns;
    size_t first_id, id_count;
};

/* A node of a graph that records an event. */
struct recorded {
    uint64_t event;
    uint32_t command, part;
};

struct settling {
    const struct tsm_work_orders *orders;
    struct tsm_workload *w;
    const struct tsm_map *command_places;
    struct tsm_map parts; /* id -> place + 1 */
    struct tsm_map cells; /* address -> number + 1 */
    struct recorded *recorded;
    size_t recorded_count, recorded_capacity;
    size_t awaited_capacity, value_capacity, event_capacity;
};

static int no_memory(void)
{
    return tsm_fail(TSM_E_MEMORY, "no memory for what commands wait for");
}

/* ---- collecting -------------------------------------------------------------------------------
 */

static bool add_ids(struct tsm_work_orders *orders, struct tsm_work_order *order,
                    const struct sbt_record *record)
{
    const uint8_t *bytes;
    size_t size;

    order->first_id = orders->id_count;
    if (!sbt_record_bytes(record, AWAITED, &bytes, &size))
        return true;
    for (size_t at = 0; at + 8 <= size; at += 8)
        if (!TSM_ARRAY_PUSH(orders->ids, orders->id_count, orders->id_capacity,
                            tsm_get_u64(bytes + at)))
            return false;
    order->id_count = orders->id_count - order->first_id;
    return true;
}

int tsm_work_orders_add(struct tsm_work_orders *orders, const struct sbt_record *record)
{
    const uint64_t *slots = record->slots;
    struct tsm_work_order order;

    if (record->slot_count <= AWAITED || slots[ACCESS] >= SBT_VALUE_COUNT)
        return 0;
    order = (struct tsm_work_order){
        .key = tsm_position_key((uint32_t)slots[OF_STREAM], slots[OF_POSITION]),
        .number = (uint32_t)slots[NUMBER],
        .event = slots[EVENT],
        .access = {.kind = (enum sbt_value_access)slots[ACCESS],
                   .address = slots[ADDRESS],
                   .value = slots[VALUE],
                   .size = slots[SIZE] == 8 ? 8 : 4},
        .brought_by = slots[BROUGHT_BY],
        .host_ns = slots[HOST]};
    if (!add_ids(orders, &order, record) ||
        !TSM_ARRAY_PUSH(orders->list, orders->count, orders->capacity, order))
        return no_memory();
    return 0;
}

void tsm_work_orders_finish(struct tsm_work_orders *orders)
{
    free(orders->list);
    free(orders->ids);
    *orders = (struct tsm_work_orders){0};
}

/* ---- commands ---------------------------------------------------------------------------------
 */

static bool name_parts(struct settling *s)
{
    for (size_t i = 0; i < s->w->part_count; i++)
        if (s->w->parts[i].id && !tsm_map_set(&s->parts, s->w->parts[i].id, i + 1))
            return false;
    return true;
}

/* Returns the place, or TSM_WORKLOAD_NONE. */
static uint32_t part_of(const struct settling *s, const struct tsm_work_order *order)
{
    const uint64_t place = tsm_map_get(s->command_places, order->key, 0);
    const struct tsm_workload_command *c = place ? &s->w->commands[place - 1] : NULL;

    return c && c->has_work && order->number < c->part_count ? c->first_part + order->number
                                                             : TSM_WORKLOAD_NONE;
}

/* A command waits for what its first part does. The trace has it for the launch of the same graph
 * before, and for the last call that recorded an event: here is what it was, if all is known. */
static int replace_events(struct settling *s, struct tsm_workload_command *c,
                          const struct tsm_work_order *order)
{
    struct tsm_workload *w = s->w;
    const size_t first = w->event_count;

    for (size_t i = 0; i < order->id_count; i++) {
        const uint64_t place = tsm_map_get(&s->parts, s->orders->ids[order->first_id + i], 0);

        if (!place) {
            w->event_count = first;
            return 0;
        }
        if (w->parts[place - 1].command == (uint32_t)(c - w->commands))
            continue;
        if (w->event_count >= COUNT_MAX ||
            !TSM_ARRAY_PUSH(
                w->events, w->event_count, s->event_capacity,
                (struct tsm_workload_event){w->parts[place - 1].command, (uint32_t)place - 1}))
            return no_memory();
    }
    c->first_event = (uint32_t)first;
    c->event_count = (uint32_t)(w->event_count - first);
    return 0;
}

static int add_awaited(struct settling *s, uint32_t place, const struct tsm_work_order *order)
{
    struct tsm_workload *w = s->w;
    struct tsm_workload_part *part = &w->parts[place];

    part->first_awaited = (uint32_t)w->awaited_count;
    for (size_t i = 0; i < order->id_count; i++) {
        const uint64_t found = tsm_map_get(&s->parts, s->orders->ids[order->first_id + i], 0);

        if (!found || found - 1 == place)
            continue;
        if (w->awaited_count >= COUNT_MAX ||
            !TSM_ARRAY_PUSH(w->awaited, w->awaited_count, s->awaited_capacity, (uint32_t)found - 1))
            return no_memory();
        part->awaited_count++;
    }
    return 0;
}

/* ---- values -----------------------------------------------------------------------------------
 */

static bool is_wait(const struct tsm_workload_value *v)
{
    return v->access.kind > SBT_VALUE_WRITE;
}

static int add_value(struct settling *s, uint32_t place, const struct tsm_work_order *order)
{
    struct tsm_workload *w = s->w;
    const uint64_t by = tsm_map_get(&s->parts, order->brought_by, 0);
    struct tsm_workload_value value = {.access = order->access,
                                       .part = place,
                                       .brought_by = by && by - 1 != place ? (uint32_t)by - 1
                                                                           : TSM_WORKLOAD_NONE,
                                       .host_ns = order->host_ns,
                                       .host_step = TSM_WORKLOAD_NONE};
    uint64_t *cell;
    bool added;

    if (order->access.kind == SBT_VALUE_NONE && !by && !order->host_ns)
        return 0;
    cell = tsm_map_insert(&s->cells, order->access.address, &added);
    if (!cell || w->value_count >= COUNT_MAX)
        return no_memory();
    if (added)
        *cell = ++w->cell_count;
    value.cell = (uint32_t)(*cell - 1);
    w->parts[place].value = (uint32_t)w->value_count;
    return TSM_ARRAY_PUSH(w->values, w->value_count, s->value_capacity, value) ? 0 : no_memory();
}

static uint64_t end_of(const struct tsm_workload *w, const struct tsm_workload_value *v)
{
    const struct tsm_span *span = &w->commands[w->parts[v->part].command].recorded;

    return span->kind == TSM_TIME_MEASURED && span->end_ns > 0 ? (uint64_t)span->end_ns : 0;
}

struct write {
    uint32_t cell, value;
    uint64_t end_ns;
};

static int by_cell(const void *a, const void *b)
{
    const struct write *x = a, *y = b;

    if (x->cell != y->cell)
        return x->cell < y->cell ? -1 : 1;
    if (x->end_ns != y->end_ns)
        return x->end_ns < y->end_ns ? -1 : 1;
    return x->value < y->value ? -1 : x->value > y->value;
}

/* Finds the last write of a cell that was over when the wait was sent, and ended it. */
static const struct write *find_earlier(const struct tsm_workload *w, const struct write *list,
                                        size_t count, const struct tsm_workload_value *wait)
{
    const uint64_t sent_ns = w->commands[w->parts[wait->part].command].sent_ns;
    size_t at;

    TSM_BISECT(at, count,
               list[at].cell > wait->cell ||
                   (list[at].cell == wait->cell && list[at].end_ns > sent_ns));
    if (!at || list[at - 1].cell != wait->cell ||
        !tsm_value_ends(&wait->access, w->values[list[at - 1].value].access.value))
        return NULL;
    return &list[at - 1];
}

/* Says for each wait which writes can end it: the one that did, and later ones of the recording.
 * Earlier ones may have been overwritten before. */
static void rank_wait(struct tsm_workload *w, const struct write *list, size_t count,
                      struct tsm_workload_value *wait)
{
    const struct tsm_workload_part *by =
        wait->brought_by == TSM_WORKLOAD_NONE ? NULL : &w->parts[wait->brought_by];
    const struct write *earlier;

    wait->rank = TSM_WORKLOAD_NONE;
    if (wait->host_ns)
        return;
    if (by && by->value != TSM_WORKLOAD_NONE && w->values[by->value].cell == wait->cell &&
        w->values[by->value].access.kind == SBT_VALUE_WRITE) {
        wait->rank = w->values[by->value].rank;
        wait->brought_by = TSM_WORKLOAD_NONE;
        return;
    }
    earlier = by ? NULL : find_earlier(w, list, count, wait);
    if (earlier)
        wait->rank = w->values[earlier->value].rank;
}

static int rank_values(struct settling *s)
{
    struct tsm_workload *w = s->w;
    struct write *list = malloc((w->value_count + 1) * sizeof(*list));
    size_t count = 0;

    if (!list)
        return no_memory();
    for (size_t i = 0; i < w->value_count; i++)
        if (w->values[i].access.kind == SBT_VALUE_WRITE)
            list[count++] =
                (struct write){w->values[i].cell, (uint32_t)i, end_of(w, &w->values[i])};
    qsort(list, count, sizeof(*list), by_cell);
    for (size_t i = 0; i < count; i++)
        w->values[list[i].value].rank = (uint32_t)i;
    for (size_t i = 0; i < w->value_count; i++)
        if (is_wait(&w->values[i]))
            rank_wait(w, list, count, &w->values[i]);
    free(list);
    return 0;
}

/* ---- waits of the host ------------------------------------------------------------------------
 */

static int by_command(const void *a, const void *b)
{
    const struct recorded *x = a, *y = b;

    if (x->command != y->command)
        return x->command < y->command ? -1 : 1;
    return x->part < y->part ? -1 : x->part > y->part;
}

/* Has waits of the host for an event that a node recorded last wait for that node. */
static int aim_at_nodes(struct settling *s)
{
    struct tsm_workload *w = s->w;
    struct tsm_map last = {0}; /* event -> place in the list + 1 */
    size_t at = 0;
    bool ok = true;

    qsort(s->recorded, s->recorded_count, sizeof(*s->recorded), by_command);
    for (size_t i = 0; i < w->step_count && ok; i++) {
        struct tsm_workload_step *step = &w->steps[i];
        const struct recorded *by;
        uint64_t found;

        for (; ok && at < s->recorded_count && w->commands[s->recorded[at].command].seq < step->seq;
             at++)
            ok = tsm_map_set(&last, s->recorded[at].event, at + 1);
        found = step->event ? tsm_map_get(&last, step->event, 0) : 0;
        by = found ? &s->recorded[found - 1] : NULL;
        if (!by || (step->target == TSM_TARGET_COMMAND && step->of > by->command))
            continue;
        step->target = TSM_TARGET_COMMAND;
        step->of = by->command;
        step->part = by->part;
    }
    tsm_map_finish(&last);
    return ok ? 0 : no_memory();
}

/* ---- all of it --------------------------------------------------------------------------------
 */

static int settle_order(struct settling *s, const struct tsm_work_order *order)
{
    const uint32_t place = part_of(s, order);
    struct tsm_workload_command *c;
    int error = 0;

    if (place == TSM_WORKLOAD_NONE)
        return 0;
    c = &s->w->commands[s->w->parts[place].command];
    if (order->event &&
        !TSM_ARRAY_PUSH(s->recorded, s->recorded_count, s->recorded_capacity,
                        (struct recorded){order->event, s->w->parts[place].command, place}))
        return no_memory();
    if (order->id_count)
        error = order->number ? add_awaited(s, place, order) : replace_events(s, c, order);
    return error ? error : add_value(s, place, order);
}

int tsm_work_orders_settle(const struct tsm_work_orders *orders, struct tsm_workload *w,
                           const struct tsm_map *command_places)
{
    struct settling s = {.orders = orders,
                         .w = w,
                         .command_places = command_places,
                         .event_capacity = w->event_count};
    int error = 0;

    if (!orders->count)
        return 0;
    if (!name_parts(&s))
        error = no_memory();
    for (size_t i = 0; i < orders->count && !error; i++)
        error = settle_order(&s, &orders->list[i]);
    if (!error)
        error = rank_values(&s);
    if (!error && s.recorded_count)
        error = aim_at_nodes(&s);
    free(s.recorded);
    tsm_map_finish(&s.parts);
    tsm_map_finish(&s.cells);
    return error;
}
