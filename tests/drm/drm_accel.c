/* SPDX-License-Identifier: Apache-2.0
 *
 * Small programs on drivers of newer kernels (imagination, accelerators), on a device that takes
 * everything.
 */
#include "tests/drm/drm_small.h"

#include <ivpu_accel.h>
#include <pvr_drm.h>
#include <qaic_accel.h>

#define ADDRESS(what) ((uintptr_t)(what))

void run_pvr(int fd)
{
    uint8_t stream[8] = {1, 2, 3};
    struct drm_pvr_sync_op sync = {.handle = 5, .flags = DRM_PVR_SYNC_OP_FLAG_SIGNAL};
    struct drm_pvr_job job = {.type = DRM_PVR_JOB_TYPE_COMPUTE,
                              .context_handle = 2,
                              .cmd_stream_len = sizeof(stream),
                              .cmd_stream = ADDRESS(stream),
                              .sync_ops = DRM_PVR_OBJ_ARRAY(1, &sync)};
    struct drm_pvr_ioctl_submit_jobs_args submit = {.jobs = DRM_PVR_OBJ_ARRAY(1, &job)};

    MUST(fd, DRM_IOCTL_PVR_SUBMIT_JOBS, &submit);
}

void run_ivpu(int fd)
{
    uint32_t buffers[] = {1, 2};
    struct drm_ivpu_submit submit = {.buffers_ptr = ADDRESS(buffers), .buffer_count = 2};

    MUST(fd, DRM_IOCTL_IVPU_SUBMIT, &submit);
    submit.engine = 1;
    MUST(fd, DRM_IOCTL_IVPU_SUBMIT, &submit);
}

void run_qaic(int fd)
{
    struct qaic_execute_entry entries[] = {{.handle = 1, .dir = 1}, {.handle = 2, .dir = 2}};
    struct qaic_execute execute = {.hdr = {.count = 2, .dbc_id = 3}, .data = ADDRESS(entries)};

    MUST(fd, DRM_IOCTL_QAIC_EXECUTE_BO, &execute);
}
