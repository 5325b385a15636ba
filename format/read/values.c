/* SPDX-License-Identifier: Apache-2.0 */
#include "format/read/state.h"

#include <stdlib.h>

int sbt_reader_values_check(const struct sbt_reader *r)
{
    return r->is_refused ? sbt_unpacked_check(r->name, r->values_size, r->size) : 0;
}

/* A few bytes can stand for thousands of values of 32 MiB: the pieces of one blob, named by
 * many records. What is fetched again counts once, so that a tool may read the trace several times.
 */
static int count_value(struct sbt_reader *r, const struct sbt_record *record, uint32_t index,
                       uint64_t size)
{
    uint64_t place = (record->seq << 6 | index) + 1;

    if (place <= r->values_next)
        return 0;
    r->values_next = place;
    r->values_size += size;
    if (sbt_unpacked_check(r->name, r->values_size, r->size) == 0)
        return 0;
    r->is_refused = true;
    return TSM_E_LIMIT;
}

/* Bytes that are lost are no error of the caller's: tools say so and go on. */
static int fetch(struct sbt_reader *r, const struct sbt_blob *blob, struct sbt_value *out)
{
    int error;

    out->size = (size_t)blob->size;
    out->memory = malloc(out->size ? out->size : 1);
    if (!out->memory)
        return tsm_fail(TSM_E_MEMORY, "%s: out of memory for a value", r->name);
    out->data = out->memory;
    error = sbt_reader_blob(r, blob, 0, out->memory, out->size);
    return error >= 0 ? 1
           : error == TSM_E_MEMORY
               ? error
               : tsm_fail(TSM_E_NOT_FOUND, "%s: bytes of a value are missing", r->name);
}

int sbt_reader_value(struct sbt_reader *r, const struct sbt_record *record, uint32_t index,
                     struct sbt_value *out)
{
    struct sbt_blob blob;
    int kept;

    *out = (struct sbt_value){0};
    kept = sbt_record_struct(record, index, &out->data, &out->size, &blob);
    if (kept != 2)
        return kept;
    kept = count_value(r, record, index, blob.size);
    return kept ? kept : fetch(r, &blob, out);
}

void sbt_value_finish(struct sbt_value *value)
{
    free(value->memory);
    *value = (struct sbt_value){0};
}

int sbt_walk_begin(struct sbt_walk *walk, const struct sbt_reader *r, const char *name,
                   const void *data, size_t size)
{
    return sbt_walk_init(walk, &r->structs, name, data, size);
}
