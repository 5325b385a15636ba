/* SPDX-License-Identifier: Apache-2.0 */
#include "format/memory_key.h"

uint64_t tsm_memory_key(const struct sbt_schema *schema, const struct sbt_record *record)
{
    const int role = sbt_schema_role(schema, SBT_ROLE_ADDRESS);
    const uint64_t address = sbt_record_role(schema, record, SBT_ROLE_ADDRESS, 0);

    if (role < 0 || !address)
        return 0;
    return schema->fields[role].type == SBT_FIELD_HOSTPTR ? address | TSM_MEMORY_KEY_HOST : address;
}

uint64_t *tsm_memory_ended(const struct tsm_map *map, const struct sbt_schema *schema,
                           const struct sbt_record *record)
{
    const uint64_t key = tsm_memory_key(schema, record);
    uint64_t *found = key ? tsm_map_find(map, key) : NULL;

    return (found && *found) || !key || key & TSM_MEMORY_KEY_HOST
               ? found
               : tsm_map_find(map, key | TSM_MEMORY_KEY_HOST);
}
