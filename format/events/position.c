/* SPDX-License-Identifier: Apache-2.0 */
#include "format/events/position.h"

void sbt_positions_finish(struct sbt_positions *p)
{
    tsm_map_finish(&p->high);
}

uint64_t *sbt_positions_high(struct sbt_positions *p, uint32_t stream)
{
    bool added;

    return tsm_map_insert(&p->high, stream, &added);
}
