/* SPDX-License-Identifier: Apache-2.0
 *
 * Another order in which threads could send the same commands. What the device has to do in which
 * order stays as it was: commands of one stream, those of a default stream and of streams that join
 * it, an event's record and what waits for it. So does the order of commands that access the same
 * memory on streams that do not wait for each other, and of those that carry bytes of the program
 * which it had in one place. An order in which commands that access the same memory would run in
 * another order is not taken, though nothing that is known puts them into one. Nothing passes a
 * call that waits or may wait, one that frees, destroys or changes something, another thread's
 * call, nor a command of which it is not known what it accesses.
 */
#ifndef ANALYSIS_SCHEDULE_ORDER_H
#define ANALYSIS_SCHEDULE_ORDER_H

#include "analysis/dependencies/command_accesses.h"
#include "analysis/schedule/simulate.h"

struct tsm_order_search {
    size_t moved_count;   /* calls that are made in another place; 0: no order was better */
    size_t free_count;    /* calls that could have changed places at all */
    size_t tried_count;   /* orders that were simulated */
    size_t refused_count; /* of these, better ones in which commands without order change places */
};

/* Searches: calls with the longest path behind them first, and then single calls moved ahead as far
 * as they may; a few hundred orders at most, fewer of a large workload. Leaves the workload in the
 * best order that was found, if all ends earlier with it, else as it was. */
int tsm_order_search(struct tsm_order_search *out, struct tsm_workload *w,
                     const struct tsm_command_accesses *accesses);

#endif
