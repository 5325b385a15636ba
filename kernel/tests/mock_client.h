/* SPDX-License-Identifier: GPL-2.0 */
/* A program that sends jobs to the mock driver. */
#ifndef GRTRACE_TESTS_MOCK_CLIENT_H
#define GRTRACE_TESTS_MOCK_CLIENT_H

#include <stdbool.h>

#include "mockgpu/mockgpu_uapi.h"

/* Its render node; -1: there is none. Each descriptor has contexts of its own. */
int mock_open(void);
/* Returns 0 or -errno; out->out_fence is then open. `in_fence` -1: none. */
int mock_submit(int fd, struct mockgpu_submit *out, unsigned int ring, unsigned int exec_us,
		unsigned int flags, int in_fence);
/* Wait until the fence has signalled, and close it. */
bool mock_wait(const struct mockgpu_submit *job, int timeout_ms);
/* `count` jobs, one after the other on all rings, up to eight under way. */
bool mock_traffic(int fd, unsigned int count, unsigned int exec_us);

#endif
