/* SPDX-License-Identifier: Apache-2.0 */
#include "format/values/structs.h"

#include "base/array.h"
#include "format/values/names.h"
#include "format/read/state.h"

#include <stdlib.h>
#include <string.h>

void sbt_structs_finish(struct sbt_structs *s)
{
    free(s->list);
    tsm_map_finish(&s->by_name);
    tsm_map_finish(&s->by_id);
    *s = (struct sbt_structs){0};
}

static const char *name_at(const void *list, uint64_t place)
{
    return ((const struct sbt_structs *)list)->list[place].name;
}

enum sbt_structs_added sbt_structs_add(struct sbt_structs *s, const struct sbt_struct *structure)
{
    uint64_t *name, *id;
    bool added;

    if (sbt_structs_find(s, structure->name))
        return SBT_STRUCTS_SAME_NAME;
    if (sbt_structs_by_id(s, structure->id))
        return SBT_STRUCTS_SAME_ID;
    if (!TSM_ARRAY_RESERVE(s->list, s->capacity, s->count + 1))
        return SBT_STRUCTS_NO_MEMORY;
    s->list[s->count] = *structure;
    name = sbt_names_insert(&s->by_name, structure->name, name_at, s, &added);
    if (!name)
        return SBT_STRUCTS_NO_MEMORY;
    *name = s->count;
    id = tsm_map_insert(&s->by_id, structure->id, &added);
    if (id)
        *id = s->count;
    s->count++;
    return id ? SBT_STRUCTS_ADDED : SBT_STRUCTS_NO_MEMORY;
}

const struct sbt_struct *sbt_structs_find(const struct sbt_structs *s, const char *name)
{
    const uint64_t *place = sbt_names_find(&s->by_name, name, name_at, s);

    return place && *place < s->count ? &s->list[*place] : NULL;
}

const struct sbt_struct *sbt_structs_by_id(const struct sbt_structs *s, uint64_t id)
{
    const uint64_t *place = tsm_map_find(&s->by_id, id);

    return place && *place < s->count ? &s->list[*place] : NULL;
}
