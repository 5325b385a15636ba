/* SPDX-License-Identifier: Apache-2.0
 *
 * What the eBPF backend counts, as text like that of the module's files.
 */
#ifndef TOOLS_KERNEL_BPF_TEXT_H
#define TOOLS_KERNEL_BPF_TEXT_H

#include "base/buffer.h"

/* Append `stats`, `events_by_type`, `latency_hist`, `pc_stats`, `pc_cseq` or `config`, and a
 * terminating zero, which is not counted. */
int tsm_bpf_read(struct tsm_buffer *out, const char *file);

#endif
