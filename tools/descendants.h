/* SPDX-License-Identifier: Apache-2.0
 *
 * Processes that a process has started, from /proc.
 */
#ifndef TOOLS_DESCENDANTS_H
#define TOOLS_DESCENDANTS_H

#include <stddef.h>

/* Fills `out` with `root` and its children, their children and so on, parents before children: at
 * most `max` process ids. Returns how many; 0 if /proc cannot be read. A process that begins or
 * ends meanwhile may be missing. */
size_t tsm_descendants(unsigned *out, size_t max, unsigned root);

#endif
