/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/kernel/bpf/probes.h"

#include "base/text.h"
#include "tracesmith/error.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#define PREFIX "btf_trace_" /* of the type that the kernel declares for each tracepoint */

const char *const tsm_bpf_modules[] = {"gpu_sched", "virtio_gpu", "amdgpu", "i915",
                                       "xe",        "nvidia",     NULL};

#define JOB   "struct drm_sched_job *"
#define DONE  "struct drm_sched_fence *"
#define FENCE "struct dma_fence *"
#define I915  "struct i915_request *"
#define GPU   "struct virtqueue *,struct virtio_gpu_ctrl_hdr *"

#define POINT(name, prototype_, level_)                                                            \
    {                                                                                              \
        .program = name, .point = name, .prototype = prototype_, .level = level_                   \
    }

#define FUNCTION(program_, name)                                                                   \
    {                                                                                              \
        .program = program_, .point = name, .level = 1                                             \
    }

/* Several rows of a tracepoint: kernels differ, one of them fits. */
struct tsm_bpf_probe tsm_bpf_probes[] = {
    POINT("drm_sched_job", JOB ",struct drm_sched_entity *", 1),
    POINT("drm_run_job", JOB ",struct drm_sched_entity *", 1),
    POINT("drm_sched_process_job", DONE, 1),
    POINT("drm_sched_job_wait_dep", JOB "," FENCE, 2),
    POINT("drm_sched_job_queue", JOB ",struct drm_sched_entity *", 1),
    POINT("drm_sched_job_run", JOB ",struct drm_sched_entity *", 1),
    POINT("drm_sched_job_done", DONE, 1),
    POINT("drm_sched_job_add_dep", JOB "," FENCE, 2),
    FUNCTION("drm_sched_job_timedout", "drm_sched_job_timedout"),
    POINT("dma_fence_init", FENCE, 1),
    POINT("dma_fence_emit", FENCE, 3),
    POINT("dma_fence_enable_signal", FENCE, 3),
    POINT("dma_fence_signaled", FENCE, 1),
    POINT("dma_fence_wait_start", FENCE, 2),
    POINT("dma_fence_wait_end", FENCE, 2),
    {.program = "virtio_queue", .point = "virtio_gpu_cmd_queue", .prototype = GPU, .level = 1},
    {.program = "virtio_response",
     .point = "virtio_gpu_cmd_response",
     .prototype = GPU,
     .level = 1},
    {.program = "virtio_queue_seq",
     .point = "virtio_gpu_cmd_queue",
     .prototype = GPU ",u32",
     .level = 1},
    {.program = "virtio_resp_seq",
     .point = "virtio_gpu_cmd_response",
     .prototype = GPU ",u32",
     .level = 1},
    POINT("amdgpu_cs_ioctl", "struct amdgpu_job *", 1),
    POINT("amdgpu_iv", "unsigned int,struct amdgpu_iv_entry *", 3),
    POINT("i915_request_add", I915, 1),
    POINT("i915_request_retire", I915, 1),
    POINT("i915_request_wait_begin", I915 ",unsigned int", 2),
    POINT("i915_request_wait_end", I915, 2),
    POINT("xe_sched_job_timedout", "struct xe_sched_job *", 1),
    POINT("xe_exec_queue_reset", "struct xe_exec_queue *", 1),
    POINT("module_free", "struct module *", 1),
    FUNCTION("nvidia_init", "kchangrpInit_IMPL"),
    FUNCTION("nvidia_init_done", "kchangrpInit_IMPL"),
    FUNCTION("nvidia_destroy", "kchangrpDestroy_IMPL"),
    FUNCTION("nvidia_schedule", "kchangrpapiCtrlCmdGpFifoSchedule_IMPL"),
    FUNCTION("nvidia_token", "kchannelNotifyWorkSubmitToken_IMPL"),
    FUNCTION("nvidia_interleave", "kchangrpSetInterleaveLevel_IMPL"),
    FUNCTION("nvidia_timeslice", "kchangrpapiCtrlCmdSetTimeslice_IMPL"),
};
const size_t tsm_bpf_probe_count = sizeof(tsm_bpf_probes) / sizeof(tsm_bpf_probes[0]);

const char *tsm_bpf_probe_word(enum tsm_probe_state state)
{
    static const char *const words[] = {"absent", "verified", "differs", "refused"};

    return words[state];
}

bool tsm_bpf_module_loaded(const char *name)
{
    char path[PATH_MAX];

    tsm_format(path, sizeof(path), "/sys/module/%s/refcnt", name);
    return access(path, R_OK) == 0;
}

/* ---- types as text ---- */

/* "struct dma_fence *", "u32", "unsigned int"; "?" for what no tracepoint of ours has. */
static void type_text(char *out, size_t size, const struct btf *btf, __u32 id)
{
    const struct btf_type *type = btf__type_by_id(btf, id);
    const char *pointer = "", *kind = "";

    if (type && btf_is_ptr(type)) {
        pointer = " *";
        type = btf__type_by_id(btf, type->type);
    }
    while (type && btf_is_mod(type))
        type = btf__type_by_id(btf, type->type);
    if (!type || !type->name_off) {
        tsm_format(out, size, "?%s", pointer);
        return;
    }
    if (btf_is_struct(type) || (btf_is_fwd(type) && !btf_kflag(type)))
        kind = "struct ";
    tsm_format(out, size, "%s%s%s", kind, btf__name_by_offset(btf, type->name_off), pointer);
}

/* Parameters of a tracepoint's functions, without the first, which is the caller's own. */
static void prototype_text(char *out, size_t size, const struct btf *btf,
                           const struct btf_type *point)
{
    const struct btf_type *type = btf__type_by_id(btf, point->type);
    const struct btf_param *params;
    size_t used = 0;

    out[0] = 0;
    if (type && btf_is_ptr(type))
        type = btf__type_by_id(btf, type->type);
    if (!type || !btf_is_func_proto(type))
        return;
    params = btf_params(type);
    for (unsigned i = 1; i < btf_vlen(type) && used < size; i++) {
        char one[64];

        type_text(one, sizeof(one), btf, params[i].type);
        used += tsm_format(out + used, size - used, "%s%s", i > 1 ? "," : "", one);
    }
}

/* ---- the survey ---- */

static void compare(const char *owner, const char *point, const char *prototype)
{
    for (size_t i = 0; i < tsm_bpf_probe_count; i++) {
        struct tsm_bpf_probe *probe = &tsm_bpf_probes[i];
        bool same;

        if (!probe->prototype || strcmp(probe->point, point) != 0)
            continue;
        same = strcmp(probe->prototype, prototype) == 0;
        probe->state = same ? TSM_PROBE_FITS : TSM_PROBE_DIFFERS;
        tsm_format(probe->found, sizeof(probe->found), "%s", same ? "" : prototype);
        tsm_format(probe->owner, sizeof(probe->owner), "%s", owner);
    }
}

/* Tracepoints among the types from `first` on. */
static void survey(const struct btf *btf, __u32 first, const char *owner)
{
    for (__u32 id = first; id < btf__type_cnt(btf); id++) {
        const struct btf_type *type = btf__type_by_id(btf, id);
        const char *name;
        char prototype[128];

        if (!btf_is_typedef(type))
            continue;
        name = btf__name_by_offset(btf, type->name_off);
        if (strncmp(name, PREFIX, strlen(PREFIX)) == 0) {
            prototype_text(prototype, sizeof(prototype), btf, type);
            compare(owner, name + strlen(PREFIX), prototype);
        }
    }
}

/* Functions for kprobes: whether they are there shows when they are attached to. */
static void survey_functions(void)
{
    bool scheduler = false; /* also where it is part of the kernel itself */

    for (size_t i = 0; i < tsm_bpf_probe_count; i++)
        scheduler |= tsm_bpf_probes[i].state == TSM_PROBE_FITS &&
                     strncmp(tsm_bpf_probes[i].point, "drm_", 4) == 0;
    for (size_t i = 0; i < tsm_bpf_probe_count; i++) {
        struct tsm_bpf_probe *probe = &tsm_bpf_probes[i];
        bool nvidia = strncmp(probe->program, "nvidia_", 7) == 0;

        if (probe->prototype || !(nvidia ? tsm_bpf_module_loaded("nvidia") : scheduler))
            continue;
        probe->state = TSM_PROBE_FITS;
        tsm_format(probe->owner, sizeof(probe->owner), nvidia ? "nvidia" : "gpu_sched");
    }
}

/* Drops the other rows of a tracepoint when one row fits: they are for other kernels. */
static void forget_others(void)
{
    for (size_t i = 0; i < tsm_bpf_probe_count; i++) {
        for (size_t k = 0; k < tsm_bpf_probe_count; k++) {
            if (tsm_bpf_probes[i].state == TSM_PROBE_DIFFERS &&
                tsm_bpf_probes[k].state == TSM_PROBE_FITS &&
                strcmp(tsm_bpf_probes[i].point, tsm_bpf_probes[k].point) == 0)
                tsm_bpf_probes[i].state = TSM_PROBE_ABSENT;
        }
    }
}

int tsm_bpf_probes_survey(void)
{
    struct btf *kernel = btf__load_vmlinux_btf();

    if (!kernel)
        return tsm_fail(TSM_E_UNSUPPORTED,
                        "the kernel does not describe its types (/sys/kernel/btf/vmlinux, "
                        "CONFIG_DEBUG_INFO_BTF): eBPF needs that; use the module");
    for (size_t i = 0; i < tsm_bpf_probe_count; i++)
        tsm_bpf_probes[i].state = TSM_PROBE_ABSENT;
    survey(kernel, 1, "vmlinux");
    for (size_t i = 0; tsm_bpf_modules[i]; i++) {
        struct btf *btf = tsm_bpf_module_loaded(tsm_bpf_modules[i])
                              ? btf__load_module_btf(tsm_bpf_modules[i], kernel)
                              : NULL;

        if (btf)
            survey(btf, btf__type_cnt(kernel), tsm_bpf_modules[i]);
        btf__free(btf);
    }
    survey_functions();
    forget_others();
    btf__free(kernel);
    return 0;
}
