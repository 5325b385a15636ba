/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/dependencies/observed.h"

#include "analysis/model/node.h"
#include "base/array.h"
#include "base/bytes.h"
#include "tracesmith/error.h"
#include "tracesmith/trace.h"

#include <stdlib.h>
#include <string.h>

#define RANGE_MAX  (1u << 24) /* of all commands: those of later ones are not known */
#define RANGE_SIZE 24u        /* in a record: address, size, flags */

enum { OF_STREAM, OF_POSITION, RANGES, SLOTS };

static int no_memory(void)
{
    return tsm_fail(TSM_E_MEMORY, "no memory for observed accesses");
}

static int add_range(struct tsm_observed *o, const uint8_t *bytes)
{
    struct tsm_observed_range range = {tsm_get_u64(bytes), tsm_get_u64(bytes + 8),
                                       (uint32_t)tsm_get_u64(bytes + 16)};

    if (range.size > UINT64_MAX - range.start)
        range.size = UINT64_MAX - range.start;
    return TSM_ARRAY_PUSH(o->ranges, o->range_count, o->range_capacity, range) ? 0 : no_memory();
}

static int add(struct tsm_observed *o, const struct sbt_record *record)
{
    const uint8_t *bytes = NULL;
    size_t size = 0;
    struct tsm_observed_command command = {o->range_count, 0};
    int error = 0;

    if (record->slot_count < SLOTS || !sbt_record_bytes(record, RANGES, &bytes, &size) ||
        size % RANGE_SIZE || size / RANGE_SIZE > RANGE_MAX - o->range_count)
        return 0;
    command.count = size / RANGE_SIZE;
    for (size_t at = 0; at < size && !error; at += RANGE_SIZE)
        error = add_range(o, bytes + at);
    if (error)
        return error;
    return TSM_ARRAY_PUSH(o->commands, o->count, o->capacity, command) &&
                   tsm_map_set(&o->places,
                               tsm_position_key((uint32_t)record->slots[OF_STREAM], record->slots[OF_POSITION]),
                               o->count)
               ? 0
               : no_memory();
}

static bool has_records(const struct sbt_reader *reader)
{
    const char *setting = sbt_reader_metadata_find(reader, "setting.TS_ACCESSES");

    return setting && strcmp(setting, "0") != 0;
}

int tsm_observed_collect(struct tsm_observed *out, struct sbt_reader *reader)
{
    const struct sbt_record *record;
    struct sbt_cursor *cursor = NULL;
    int found = 1, error = 0;

    *out = (struct tsm_observed){0};
    if (!has_records(reader))
        return 0;
    error = sbt_cursor_create(&cursor, reader, NULL, 1);
    while (!error && (found = sbt_cursor_next(cursor, &record)) == 1)
        if (record->type == SBT_TYPE(SBT_API_CORE, SBT_CORE_ACCESSES))
            error = add(out, record);
    sbt_cursor_destroy(cursor);
    return error ? error : found < 0 ? found : 0;
}

void tsm_observed_finish(struct tsm_observed *o)
{
    tsm_map_finish(&o->places);
    free(o->commands);
    free(o->ranges);
    *o = (struct tsm_observed){0};
}

const struct tsm_observed_range *tsm_observed_find(const struct tsm_observed *o, uint32_t stream,
                                                   uint64_t position, size_t *count)
{
    static const struct tsm_observed_range none;
    const uint64_t place = tsm_map_get(&o->places, tsm_position_key(stream, position), 0);

    *count = place ? o->commands[place - 1].count : 0;
    return !place ? NULL : *count ? &o->ranges[o->commands[place - 1].first] : &none;
}
