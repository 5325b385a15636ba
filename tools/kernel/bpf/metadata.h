/* SPDX-License-Identifier: Apache-2.0
 *
 * Records that the tool itself puts into a session of the eBPF backend: its description, the end of
 * it, and what `emit` injects.
 */
#ifndef TOOLS_KERNEL_BPF_METADATA_H
#define TOOLS_KERNEL_BPF_METADATA_H

#include "kernel/include/grtrace_inside.h"

#include <stdint.h>

#define TSM_BPF_METADATA_PIN "tell_record" /* the program that writes them */

/* Writes the begin of a session: STREAM_INFO, and METADATA of kernel, backend and settings. */
int tsm_bpf_metadata_begin(const struct grtrace_config *config, uint64_t start_ns);

/* One METADATA record. */
int tsm_bpf_metadata_text(enum grtrace_metadata_kind kind, const char *text);

/* Emits an event like the module's file `emit`, without bodies: "type=12 ring=1 ctx=2 seqno=3
 * count=10". */
int tsm_bpf_metadata_emit(const char *text);

#endif
