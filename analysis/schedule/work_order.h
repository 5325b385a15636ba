/* SPDX-License-Identifier: Apache-2.0
 *
 * GPU_ORDER records: what the parts of a workload wait for in other commands and in memory, and
 * which events nodes of graphs record. They may come before their commands: they are collected, and
 * settled when the workload has all its parts.
 */
#ifndef ANALYSIS_SCHEDULE_WORK_ORDER_H
#define ANALYSIS_SCHEDULE_WORK_ORDER_H

#include "analysis/schedule/workload.h"
#include "base/map.h"

/* Zeroed: empty. */
struct tsm_work_orders {
    struct tsm_work_order *list;
    uint64_t *ids; /* of the parts that are waited for */
    size_t count, capacity, id_count, id_capacity;
};

/* Notes a GPU_ORDER record. */
int tsm_work_orders_add(struct tsm_work_orders *orders, const struct sbt_record *record);

/* Fills in what the records say. `command_places`: key of stream and position -> place + 1. */
int tsm_work_orders_settle(const struct tsm_work_orders *orders, struct tsm_workload *w,
                           const struct tsm_map *command_places);

void tsm_work_orders_finish(struct tsm_work_orders *orders);

#endif
