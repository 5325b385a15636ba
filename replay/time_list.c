/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/time_list.h"

#include "base/array.h"
#include "tracesmith/error.h"

#include <stdlib.h>

void tsm_time_list_init(struct tsm_time_list *l)
{
    *l = (struct tsm_time_list){.count = 0};
    pthread_mutex_init(&l->lock, NULL);
}

void tsm_time_list_finish(struct tsm_time_list *l)
{
    free(l->list);
    pthread_mutex_destroy(&l->lock);
}

void tsm_time_list_add(struct tsm_time_list *l, const struct tsm_replay_time *time)
{
    pthread_mutex_lock(&l->lock);
    if (!TSM_ARRAY_PUSH(l->list, l->count, l->capacity, *time))
        l->lacks_memory = true;
    pthread_mutex_unlock(&l->lock);
}

int tsm_time_list_report(struct tsm_time_list *l, tsm_time_user report, void *user)
{
    int error = l->lacks_memory ? tsm_fail(TSM_E_MEMORY, "no memory for times of commands") : 0;

    for (size_t i = 0; i < l->count && !error; i++)
        error = report(user, &l->list[i]);
    l->count = 0;
    return error;
}
