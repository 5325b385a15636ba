/* SPDX-License-Identifier: Apache-2.0
 *
 * Ioctls of NVIDIA's resource manager, by name. Their structs are recorded as raw bytes; what is at
 * the same place in all versions of the driver is shown. Numbers have had several names:
 * api/drm/view/nvidia.controls, .classes and .uvm say in which branches of the driver.
 */
#ifndef API_DRM_VIEW_NVIDIA_H
#define API_DRM_VIEW_NVIDIA_H

#include "tools/text/line.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* NULL: none of theirs, or not known. `is_uvm`: of the file /dev/nvidia-uvm, where requests are plain
 * numbers. */
const char *tsm_nvidia_name(uint32_t request, bool is_uvm);

/* Input and output of one of these ioctls. */
struct tsm_nvidia_call {
    uint32_t request;
    const uint8_t *in, *out;
    size_t in_size, out_size;
};

/* The branch of the driver (580 of "580.65.06") that the call asks for or tells; 0: another call. */
unsigned tsm_nvidia_branch(const struct tsm_nvidia_call *call);

enum tsm_nvidia_what { TSM_NVIDIA_CONTROL, TSM_NVIDIA_CLASS, TSM_NVIDIA_UVM };

/* Its name in that branch. Branch 0, not known: the newest name. `sure`: the number has had no other
 * name, or the branch decides. NULL: not in the table. */
const char *tsm_nvidia_named(enum tsm_nvidia_what what, uint32_t number, unsigned branch,
                             bool *sure);

/* ", client=0x1 ... => status=0x0". False: nothing is known of this one. */
bool tsm_nvidia_put(struct tsm_text_line *line, const struct tsm_nvidia_call *call, unsigned branch);

#endif
