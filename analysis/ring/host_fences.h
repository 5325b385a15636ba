/* SPDX-License-Identifier: Apache-2.0
 *
 * The host's side of a virtual machine's GPU: when QEMU took a fenced command of virtio-gpu, and when
 * it answered. From QEMU's log of its own trace events:
 *
 *     -trace 'virtio_gpu_fence_*' -msg timestamp=on -D FILE
 *
 * whose lines are PID@SECONDS:virtio_gpu_fence_ctrl fence 0x17, type 0x207 and
 * PID@SECONDS:virtio_gpu_fence_resp fence 0x17.
 */
#ifndef ANALYSIS_RING_HOST_FENCES_H
#define ANALYSIS_RING_HOST_FENCES_H

#include "analysis/ring/jobs.h"

/* Times are of the guest's CLOCK_MONOTONIC, in ns, once aligned; 0: not in the log. */
struct tsm_host_fence {
    uint64_t fence;
    uint32_t type; /* of the command, VIRTIO_GPU_CMD_* */
    uint64_t taken_ns, done_ns;
};

struct tsm_host_fences {
    struct tsm_buffer list; /* struct tsm_host_fence; by fence once aligned */
    double rate;            /* of the guest's clock to the host's: 1, unless that cannot be */
    uint64_t error_ns;      /* times are right to this */
    size_t used_count;      /* commands that told the clocks' relation */
};

/* `fences` is zeroed. TSM_E_IO, or TSM_E_FORMAT when there is no such line, or without times. */
int tsm_host_fences_read(struct tsm_host_fences *fences, const char *path);

/* Bring the host's times to the guest's clock: a command is submitted before the host takes it, and
 * ends after the host has answered. A log may hold more than the guest's trace, also another run of the
 * guest before it. TSM_E_NOT_FOUND: nothing fits. */
int tsm_host_fences_align(struct tsm_host_fences *fences, const struct tsm_ring_jobs *jobs);
void tsm_host_fences_finish(struct tsm_host_fences *fences);

/* Returns the host's fence of the job; NULL if it has none. */
const struct tsm_host_fence *tsm_host_fences_of(const struct tsm_host_fences *fences,
                                                const struct tsm_ring_job *job);

#endif
