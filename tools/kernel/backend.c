/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/kernel/backend.h"

#include "base/text.h"
#include "tools/kernel/collect.h"
#include "tools/kernel/files.h"
#include "tracesmith/error.h"

#include <stdlib.h>

const struct tsm_kernel_backend tsm_kernel_module = {
    .name = "module",
    .check = tsm_kernel_check,
    .write = tsm_kernel_write,
    .read = tsm_kernel_read,
    .start = tsm_kernel_start,
    .collect_begin = tsm_collect_begin,
};

static int check_bpf(void)
{
#ifdef TSM_BPF
    return tsm_kernel_bpf.check();
#else
    return tsm_fail(TSM_E_UNSUPPORTED,
                    "this build has no eBPF: it needs clang, libbpf-dev and bpftool");
#endif
}

static const struct tsm_kernel_backend *bpf(void)
{
#ifdef TSM_BPF
    return &tsm_kernel_bpf;
#else
    return NULL;
#endif
}

const struct tsm_kernel_backend *tsm_kernel_backend(int choice)
{
    const char *folder =
        getenv("TS_GRTRACE_FOLDER"); /* whoever says where the module is means it */
    char why[512], why_not_bpf[512];

    if (choice == TSM_KERNEL_BPF)
        return check_bpf() ? NULL : bpf();
    if (tsm_kernel_check() == 0)
        return &tsm_kernel_module;
    if (choice == TSM_KERNEL_MODULE || (folder && *folder))
        return NULL;
    tsm_format(why, sizeof(why), "%s", tsm_error_message());
    if (check_bpf() == 0)
        return bpf();
    tsm_format(why_not_bpf, sizeof(why_not_bpf), "%s", tsm_error_message());
    tsm_fail(TSM_E_NOT_FOUND, "%s; and eBPF cannot take its place: %s", why, why_not_bpf);
    return NULL;
}
