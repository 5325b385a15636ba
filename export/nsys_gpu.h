/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows of a CUDA device, by what the trace's metadata say of it.
 */
#ifndef EXPORT_NSYS_GPU_H
#define EXPORT_NSYS_GPU_H

#include "export/events.h"
#include "export/nsys_forms.h"

void nsys_gpu_write(struct tsm_database *d, struct tsm_rows rows[NSYS_TABLE_COUNT],
                    const struct tsm_event_source *source, unsigned device);

#endif
