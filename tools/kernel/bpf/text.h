/* SPDX-License-Identifier: Apache-2.0
 *
 * Formats the counts of the eBPF backend as text like that of the module's files.
 */
#ifndef TOOLS_KERNEL_BPF_TEXT_H
#define TOOLS_KERNEL_BPF_TEXT_H

#include "base/buffer.h"

/* Append one of the module's files that can be read, but for `rules` and `control`, and a terminating
 * zero, which is not counted. */
int tsm_bpf_read(struct tsm_buffer *out, const char *file);

#endif
