/* SPDX-License-Identifier: Apache-2.0
 *
 * Which programs of kernel/bpf/grtrace.bpf.c fit the running kernel: its types (BTF) say which
 * tracepoints there are, in which module, with which parameters.
 */
#ifndef TOOLS_KERNEL_BPF_PROBES_H
#define TOOLS_KERNEL_BPF_PROBES_H

#include <stdbool.h>
#include <stddef.h>

enum tsm_probe_state {
    TSM_PROBE_ABSENT,  /* the kernel has no such tracepoint, or its module is not loaded */
    TSM_PROBE_FITS,    /* parameters are as expected */
    TSM_PROBE_DIFFERS, /* they are others: `found` has them */
    TSM_PROBE_REFUSED, /* the kernel's verifier or attaching: `found` says why */
};

struct tsm_bpf_probe {
    const char *program;
    const char *point;     /* the tracepoint; the function, where `prototype` is NULL */
    const char *prototype; /* "struct drm_sched_job *,u32"; NULL: a function, nothing is compared */
    unsigned level;        /* from which setting `level` on */

    /* Out of tsm_bpf_probes_survey(): */
    enum tsm_probe_state state;
    char owner[32]; /* module, or "vmlinux" */
    char found[128];
};

extern struct tsm_bpf_probe tsm_bpf_probes[];
extern const size_t tsm_bpf_probe_count;

/* Modules whose tracepoints are looked for; ends with NULL. */
extern const char *const tsm_bpf_modules[];
bool tsm_bpf_module_loaded(const char *name);

/* Fill in what there is now. An error when the kernel has no types. */
int tsm_bpf_probes_survey(void);

/* Returns the word for the state in `stats`: "verified", "differs", ... */
const char *tsm_bpf_probe_word(enum tsm_probe_state state);

#endif
