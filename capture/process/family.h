/* SPDX-License-Identifier: Apache-2.0
 *
 * The processes of one recording: this one, and its ancestors as far up as they run with this library
 * (LD_PRELOAD or LD_AUDIT in their environment). Read from /proc, so that nothing needs to be added to
 * the program's environment; where /proc cannot be read, or a parent has ended, the family is smaller.
 */
#ifndef CAPTURE_PROCESS_FAMILY_H
#define CAPTURE_PROCESS_FAMILY_H

#include <stdbool.h>
#include <stdint.h>

struct tsm_family {
    bool is_child;     /* there is such an ancestor */
    uint64_t start_ns; /* CLOCK_REALTIME, within 10 ms: when the oldest of them began. 0: unknown */
};

void tsm_family_find(struct tsm_family *out);

#endif
