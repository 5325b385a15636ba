/* SPDX-License-Identifier: Apache-2.0
 *
 * Ioctls of NVIDIA's resource manager, by name. Their structs are recorded as raw bytes; what is at
 * the same place in all versions of the driver is shown.
 */
#ifndef TOOLS_IOCTL_NVIDIA_H
#define TOOLS_IOCTL_NVIDIA_H

#include "tools/line.h"

#include <stddef.h>
#include <stdint.h>

/* NULL: none of theirs, or not known. */
const char *tsm_nvidia_name(uint32_t request);

/* ", client=0x1 ... => status=0x0" of what went in and came out. False: nothing is known of this
 * one. */
bool tsm_nvidia_put(struct tsm_line *line, uint32_t request, const uint8_t *in, size_t in_size,
                    const uint8_t *out, size_t out_size);

#endif
