/* SPDX-License-Identifier: Apache-2.0
 *
 * In the place of cpu_collect.c, in builds without eBPF.
 */
#include "tools/kernel/cpu_collect.h"

#include "tracesmith/error.h"

int tsm_cpu_collect_begin(struct tsm_cpu_collect **out, const struct tsm_cpu_wanted *wanted,
                          const char *path)
{
    return tsm_fail(TSM_E_UNSUPPORTED,
                    "--cpu: this build has no eBPF; build with clang, libbpf-dev "
                    "and bpftool");
}

int tsm_cpu_collect_end(struct tsm_cpu_collect *collect)
{
    return 0;
}
