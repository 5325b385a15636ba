/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/schedule/failures.h"

#include "analysis/model/work.h"
#include "api/traits.h"
#include "base/array.h"
#include "tracesmith/error.h"

#include <stdlib.h>

static int no_memory(void)
{
    return tsm_fail(TSM_E_MEMORY, "no memory for the outcomes of commands");
}

static int add_failure(struct tsm_failures *f, const struct tsm_call_node *call, const char *result)
{
    const struct sbt_record *record = call->record;
    bool added;
    uint64_t *place = tsm_map_insert(&f->places, call->owner, &added);

    if (!place)
        return no_memory();
    if (!added)
        return 0;
    if (!TSM_ARRAY_PUSH(f->list, f->count, f->capacity,
                        (struct tsm_failure){.owner = call->owner,
                                             .seq = record->seq,
                                             .call_ns = record->time_ns,
                                             .told_ns = record->time_ns + record->duration_ns,
                                             .schema = call->schema,
                                             .result = result,
                                             .number = record->result}))
        return no_memory();
    *place = f->count;
    return 0;
}

int tsm_failures_note(struct tsm_failures *f, struct sbt_reader *reader,
                      const struct tsm_call_node *call)
{
    const struct sbt_record *record = call->record;
    const char *result = sbt_reader_enum_name(reader, call->schema->result_enum, record->result);

    if (result && call->owner && tsm_result_says_failure(record->type, result)) {
        const int error = add_failure(f, call, result);

        if (error)
            return error;
    }
    if (!tsm_work_of_type(call->schema).is_command || record->stream == SBT_STREAM_NONE)
        return 0;
    return TSM_ARRAY_PUSH(f->rejected, f->rejected_count, f->rejected_capacity,
                          (struct tsm_rejected){.seq = record->seq,
                                                .call_ns = record->time_ns,
                                                .schema = call->schema,
                                                .result = result,
                                                .number = record->result,
                                                .stream = record->stream})
               ? 0
               : no_memory();
}

struct tsm_failure *tsm_failures_find(const struct tsm_failures *f, uint64_t owner)
{
    const uint64_t place = tsm_map_get(&f->places, owner, 0);

    return place ? &f->list[place - 1] : NULL;
}

void tsm_failures_finish(struct tsm_failures *f)
{
    free(f->list);
    free(f->rejected);
    tsm_map_finish(&f->places);
    *f = (struct tsm_failures){0};
}
