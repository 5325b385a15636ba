/* SPDX-License-Identifier: Apache-2.0 */
#include "format/reader_state.h"

#include <stdlib.h>

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
    return kept == 2 ? fetch(r, &blob, out) : kept;
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
