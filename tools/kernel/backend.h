/* SPDX-License-Identifier: Apache-2.0
 *
 * Recorder in the kernel: the module grtrace.ko, or eBPF programs in its place. Both have the same
 * files, as kernel/README.md describes those of the module: `control`, `config`, `stats`,
 * `events_by_type`, `latency_hist`.
 */
#ifndef TOOLS_KERNEL_BACKEND_H
#define TOOLS_KERNEL_BACKEND_H

#include "base/buffer.h"

struct tsm_collect;

struct tsm_kernel_backend {
    const char *name; /* as metadata "kernel.backend" has it */
    /* 0 when it can be used; else an error that says what to do. */
    int (*check)(void);
    /* Write `text` as a whole to a file: it is taken as a whole or refused. */
    int (*write)(const char *file, const char *text);
    /* Append the whole file and a terminating zero, which is not counted. */
    int (*read)(struct tsm_buffer *out, const char *file);
    /* Start a session that does not outlive its recorder. Returns a descriptor to be closed after
     * its end, 0 when there is none, or an error. */
    int (*start)(void);
    /* Works like tsm_collect_begin(). */
    int (*collect_begin)(struct tsm_collect *collect);
    /* Optional: to be called all the while a session is collected, for drivers that come. */
    int (*attend)(void);
};

/* The choices of an option --backend. `auto`: the module where it is loaded. */
#define TSM_KERNEL_BACKENDS "auto|module|bpf"
enum { TSM_KERNEL_AUTO, TSM_KERNEL_MODULE, TSM_KERNEL_BPF };

/* Checked. NULL: an error says why. */
const struct tsm_kernel_backend *tsm_kernel_backend(int choice);

extern const struct tsm_kernel_backend tsm_kernel_module;
extern const struct tsm_kernel_backend tsm_kernel_bpf; /* builds with TSM_BPF */

#endif
