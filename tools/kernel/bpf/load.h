/* SPDX-License-Identifier: Apache-2.0
 *
 * The programs of kernel/bpf/grtrace.bpf.c on their way into the kernel.
 */
#ifndef TOOLS_KERNEL_BPF_LOAD_H
#define TOOLS_KERNEL_BPF_LOAD_H

#include "tools/kernel/bpf/probes.h"

#include <stdint.h>

struct grtrace_bpf; /* the loaded programs, as bpftool's header has them */

/* Keep what libbpf and the kernel's verifier say, for tsm_bpf_refusal(). Once. */
void tsm_bpf_listen(void);

/* Why the last program was refused. */
const char *tsm_bpf_refusal(void);

/* Load what fits the kernel, is wanted at `level` and not attached yet: of `only`, or of all probes when
 * it is NULL; and the one that tells, if `teller`. Maps that have names in the session's folder are
 * shared, `ring_size` (0: as it is) is of a new buffer. NULL when the kernel refuses one of them. */
struct grtrace_bpf *tsm_bpf_load(uint64_t level, const struct tsm_bpf_probe *only, bool teller,
                                 uint32_t ring_size);
void tsm_bpf_unload(struct grtrace_bpf *programs); /* attachments stay; NULL is taken */

/* Give the maps their names, and the program that tells. */
int tsm_bpf_pin_maps(struct grtrace_bpf *programs);

/* Attach what was loaded, and call `attached` with each one's tracepoint. `programs` NULL: all
 * together were refused, so each gets its own try, that one does not spoil the others. */
void tsm_bpf_attach(struct grtrace_bpf *programs, uint64_t level, void (*attached)(const char *));

/* Counts how often an attached program was not run because it was running on that CPU already. */
uint64_t tsm_bpf_missed(void);

/* Instructions that the verifier went through for the program that is attached and took it the most; a
 * kernel gives up at 1,000,000. */
uint32_t tsm_bpf_verified(void);

#endif
