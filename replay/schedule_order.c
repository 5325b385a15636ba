/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/schedule_order.h"

#include <stdlib.h>
#include <string.h>

#include "tracesmith/error.h"

static int fail_twice(const struct tsm_schedule_order *order, const struct tsm_schedule_item *item,
                      const struct tsm_schedule_item *first)
{
    return tsm_fail(TSM_E_FORMAT,
                    "%s:%llu: names record %llu, which line %llu has already; take one of them out",
                    order->schedule->name, (unsigned long long)item->line,
                    (unsigned long long)item->seq, (unsigned long long)first->line);
}

int tsm_schedule_order_init(struct tsm_schedule_order *order, const struct tsm_schedule *schedule)
{
    *order = (struct tsm_schedule_order){
        .schedule = schedule,
        .turns = calloc(schedule->count + 1, sizeof(*order->turns)),
        .left = calloc(schedule->count + 1, sizeof(*order->left)),
    };
    if (!order->turns || !order->left)
        return tsm_fail(TSM_E_MEMORY, "%s: no memory for a schedule", schedule->name);
    for (size_t i = 0; i < schedule->count; i++) {
        const struct tsm_schedule_item *item = &schedule->items[i];
        bool added;
        uint64_t *index = tsm_map_insert(&order->by_seq, item->seq + 1, &added);

        if (!index)
            return tsm_fail(TSM_E_MEMORY, "%s: no memory for a schedule", schedule->name);
        if (!added)
            return fail_twice(order, item, &schedule->items[*index - 1]);
        *index = i + 1;
    }
    return 0;
}

void tsm_schedule_order_finish(struct tsm_schedule_order *order)
{
    tsm_map_finish(&order->by_seq);
    free(order->turns);
    free(order->left);
    *order = (struct tsm_schedule_order){0};
}

void tsm_schedule_order_rewind(struct tsm_schedule_order *order)
{
    memset(order->turns, 0, order->schedule->count * sizeof(*order->turns));
    memset(order->first_left, 0, sizeof(order->first_left));
    order->next = order->left_count = 0;
}

const struct tsm_schedule_item *tsm_schedule_order_find(const struct tsm_schedule_order *order,
                                                        uint64_t seq)
{
    const uint64_t *index = seq < UINT64_MAX ? tsm_map_find(&order->by_seq, seq + 1) : NULL;

    return index ? &order->schedule->items[*index - 1] : NULL;
}

static size_t index_of(const struct tsm_schedule_order *order, const struct tsm_schedule_item *item)
{
    return (size_t)(item - order->schedule->items);
}

struct tsm_schedule_turn *tsm_schedule_order_turn_of(const struct tsm_schedule_order *order,
                                                     const struct tsm_schedule_item *item)
{
    return &order->turns[index_of(order, item)];
}

const struct tsm_schedule_item *tsm_schedule_order_next(struct tsm_schedule_order *order)
{
    const struct tsm_schedule *s = order->schedule;

    while (order->next < s->count && s->items[order->next].kind == TSM_SCHEDULE_DROP)
        order->next++;
    return order->next < s->count ? &s->items[order->next] : NULL;
}

const struct tsm_schedule_item *tsm_schedule_order_take(struct tsm_schedule_order *order,
                                                        uint64_t seq)
{
    const struct tsm_schedule_item *item = tsm_schedule_order_next(order);

    if (!item || item->seq >= seq)
        return NULL;
    order->next++;
    order->turns[index_of(order, item)].is_left = false;
    return item;
}

enum tsm_turn tsm_schedule_order_meet(struct tsm_schedule_order *order,
                                      const struct tsm_schedule_item *item, enum tsm_host_use use)
{
    const size_t index = index_of(order, item);
    struct tsm_schedule_turn *turn = &order->turns[index];

    if (turn->is_met) /* two records of one number: the trace is damaged */
        return TSM_TURN_NEVER;
    turn->is_met = true;
    turn->use = use;
    if (item->kind == TSM_SCHEDULE_DROP)
        return TSM_TURN_NEVER;
    if (tsm_schedule_order_next(order) == item) {
        order->next++;
        return TSM_TURN_NOW;
    }
    turn->is_left = true;
    order->left[order->left_count++] = index;
    return TSM_TURN_LATER;
}

#define LOOK_MAX 4096u

const struct tsm_schedule_item *tsm_schedule_order_left_in(struct tsm_schedule_order *order,
                                                           const struct tsm_host_span *span)
{
    size_t looked = 0;

    if (!tsm_schedule_order_left(order, TSM_HOST_USED))
        return NULL;
    for (size_t i = order->first_left[TSM_HOST_USED]; i < order->left_count; i++) {
        const struct tsm_schedule_turn *turn = &order->turns[order->left[i]];
        if (turn->is_left && turn->use >= TSM_HOST_USED &&
            (++looked > LOOK_MAX || (turn->span.first < span->end && span->first < turn->span.end)))
            return &order->schedule->items[order->left[i]];
    }
    return NULL;
}

const struct tsm_schedule_item *tsm_schedule_order_left(struct tsm_schedule_order *order,
                                                        enum tsm_host_use use)
{
    size_t *first = &order->first_left[use];

    for (; *first < order->left_count; ++*first) {
        const size_t index = order->left[*first];
        if (order->turns[index].is_left && order->turns[index].use >= use)
            return &order->schedule->items[index];
    }
    return NULL;
}
