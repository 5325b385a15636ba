/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of frames for export/sites.h, from symbols, cleaned of control characters.
 */
#ifndef TOOLS_STATS_FRAME_NAMES_H
#define TOOLS_STATS_FRAME_NAMES_H

#include "export/sites.h"
#include "tools/text/symbol.h"

/* The result is valid as long as `symbols`. */
struct tsm_frame_names tsm_frame_names(struct tsm_symbols *symbols);

#endif
