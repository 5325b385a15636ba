/* SPDX-License-Identifier: Apache-2.0 */
#include "api/barriers_of.h"

uint32_t tsm_recorded_way(const struct sbt_schema *schema)
{
    return SBT_TYPE_API(schema->type) == SBT_API_VULKAN ? tsm_recorded_way_vulkan(schema) : 0;
}

void tsm_recorded_read(struct tsm_recorded *out, uint32_t way, struct sbt_reader *reader,
                       const struct sbt_record *record, const struct sbt_schema *schema)
{
    out->is_inside = false;
    out->barrier_count = 0;
    tsm_recorded_read_vulkan(out, way, reader, record, schema);
}
