/* SPDX-License-Identifier: Apache-2.0
 *
 * Parts of api/barriers.c, one for each API: tsm_recorded_way() and tsm_recorded_read() of it.
 */
#ifndef API_BARRIERS_OF_H
#define API_BARRIERS_OF_H

#include "api/barriers.h"

uint32_t tsm_recorded_way_vulkan(const struct sbt_schema *schema);

/* `out` has no barriers, and is not inside. */
void tsm_recorded_read_vulkan(struct tsm_recorded *out, uint32_t way, struct sbt_reader *reader,
                              const struct sbt_record *record, const struct sbt_schema *schema);

#endif
