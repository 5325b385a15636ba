/* SPDX-License-Identifier: Apache-2.0
 *
 * How many ioctls on DRM files a program made, counted by the kernel where each one enters it: what
 * is recorded can be held against that. The kernel's tracepoint sys_enter_ioctl, through
 * perf_event_open(), which root may use, and others where perf_event_paranoid and tracefs let them.
 */
#ifndef API_DRM_VIEW_CENSUS_H
#define API_DRM_VIEW_CENSUS_H

#include "tools/recorded.h"
#include "tracesmith/reader.h"

#include <stdbool.h>
#include <stdint.h>

struct tsm_ioctl_census {
    int fd;        /* -1: not allowed */
    char why[192]; /* then: the reason */
};

/* Before the program is started, by the thread that starts it: it and all that it starts are
 * counted, from its exec on. */
void tsm_ioctl_census_begin(struct tsm_ioctl_census *census);

/* After it has ended. False: not known, census->why says why. */
bool tsm_ioctl_census_end(struct tsm_ioctl_census *census, uint64_t *count);

/* End it, and put into the trace `path`, of the program itself, how many ioctls were counted, how
 * many of those the recorder has seen, by all traces of `recording`, or why that is not known:
 * metadata drm.ioctls_counted, drm.ioctls_recorded, drm.ioctls_uncounted. Reads all of the traces.
 */
int tsm_ioctl_census_write(struct tsm_ioctl_census *census, const struct tsm_recording *recording,
                           const char *path);

/* Say what such a trace tells of ioctls that went past libc; nothing where there are none. */
void tsm_ioctl_census_note(struct sbt_reader *reader);

#endif
