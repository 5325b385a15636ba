// SPDX-License-Identifier: GPL-2.0
#include "mock_client.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

struct version {
	int major, minor, patch;
	size_t name_size;
	char *name;
	size_t date_size;
	char *date;
	size_t description_size;
	char *description;
};
#define VERSION _IOWR('d', 0x00, struct version)

static bool is_mock(int fd)
{
	char name[32] = "";
	struct version version = { .name = name, .name_size = sizeof(name) - 1 };

	return ioctl(fd, VERSION, &version) == 0 && !strcmp(name, "mockgpu");
}

int mock_open(void)
{
	char path[64];

	for (int i = 128; i < 144; i++) {
		int fd;

		snprintf(path, sizeof(path), "/dev/dri/renderD%d", i);
		fd = open(path, O_RDWR | O_CLOEXEC);
		if (fd >= 0 && is_mock(fd))
			return fd;
		if (fd >= 0)
			close(fd);
	}
	return -1;
}

int mock_submit(int fd, struct mockgpu_submit *out, unsigned int ring, unsigned int exec_us,
		unsigned int flags, int in_fence)
{
	*out = (struct mockgpu_submit){ .ring = ring, .exec_us = exec_us, .flags = flags,
					.in_fence = in_fence, .out_fence = -1 };
	return ioctl(fd, MOCKGPU_SUBMIT, out) == 0 ? 0 : -errno;
}

bool mock_wait(const struct mockgpu_submit *job, int timeout_ms)
{
	struct pollfd wait = { .fd = job->out_fence, .events = POLLIN };
	bool done = poll(&wait, 1, timeout_ms) == 1;

	close(job->out_fence);
	return done;
}

bool mock_traffic(int fd, unsigned int count, unsigned int exec_us)
{
	struct mockgpu_submit jobs[8];
	bool good = true;

	for (unsigned int i = 0; i < count; i++) {
		if (i >= 8)
			good &= mock_wait(&jobs[i % 8], 20000);
		good &= mock_submit(fd, &jobs[i % 8], i % MOCKGPU_RING_COUNT, exec_us, 0, -1) == 0;
	}
	for (unsigned int i = count < 8 ? 0 : count - 8; i < count; i++)
		good &= mock_wait(&jobs[i % 8], 20000);
	return good;
}
