/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * mockgpu: a DRM driver without hardware for the tests of grtrace. Rings gfx0 gfx1 comp0 dma0 on the
 * kernel's own GPU scheduler; a timer takes the place of the GPU.
 */
#ifndef MOCKGPU_UAPI_H
#define MOCKGPU_UAPI_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define MOCKGPU_RING_COUNT 4
#define MOCKGPU_TIMEOUT_MS 400 /* of a job that hangs */

#define MOCKGPU_HANG 1u /* the job does not end by itself */
#define MOCKGPU_HIGH 2u /* of high priority: goes before others, also before one that runs */

struct mockgpu_submit {
	__u32 ring;
	__u32 flags;       /* MOCKGPU_* */
	__u32 exec_us;     /* that the ring takes for it */
	__s32 in_fence;    /* sync_file to wait for, -1 none */
	__s32 out_fence;   /* out: sync_file of the job */
	__u32 reserved;
	__u64 ctx;         /* out: the fence that out_fence holds */
	__u64 seqno;
};

#define MOCKGPU_SUBMIT _IOWR('d', 0x40, struct mockgpu_submit)

#endif
