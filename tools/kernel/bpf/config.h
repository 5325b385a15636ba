/* SPDX-License-Identifier: Apache-2.0
 *
 * Settings of the eBPF backend: the same keys and rules as those of the module's file `config`.
 */
#ifndef TOOLS_KERNEL_BPF_CONFIG_H
#define TOOLS_KERNEL_BPF_CONFIG_H

#include "kernel/include/grtrace_inside.h"

#include <stdbool.h>
#include <stdio.h>

/* "KEY=VALUE" or "KEY VALUE" lines into `config`, as a whole or not at all. `running`: keys that
 * cannot change while a session runs are refused. `reset`: out, whether reset_stats was written. */
int tsm_bpf_config_parse(struct grtrace_config *config, const char *text, bool running,
                         bool *reset);

/* All keys, a line "KEY VALUE" each. */
void tsm_bpf_config_show(FILE *out, const struct grtrace_config *config);

/* Call `tell` with "KEY VALUE" of each key that is not as by default. */
int tsm_bpf_config_changes(const struct grtrace_config *config, int (*tell)(const char *text));

#endif
