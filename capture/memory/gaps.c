/* SPDX-License-Identifier: Apache-2.0
 *
 * Ranges of memory into which the device may be writing.
 */
#include "capture/session.h"
#include "capture/memory/gaps.h"

void tsm_gaps_sort(struct tsm_gap *gaps, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        for (uint32_t k = i; k > 0 && gaps[k].start < gaps[k - 1].start; k--) {
            struct tsm_gap swapped = gaps[k];
            gaps[k] = gaps[k - 1];
            gaps[k - 1] = swapped;
        }
    }
}
