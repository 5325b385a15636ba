/* SPDX-License-Identifier: Apache-2.0
 *
 * Descriptors that become ready when work of a GPU is done: sync files that a driver gave to the
 * program. A source has them followed; whoever sees the program's system calls (api/drm) reports
 * what becomes of them. Any thread, errno preserved.
 */
#ifndef CAPTURE_CALL_SYNC_FD_H
#define CAPTURE_CALL_SYNC_FD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct tsm_stream;

/* A place on a stream, in the source's own units. */
struct tsm_sync_point {
    struct tsm_stream *stream;
    uint64_t point;
};

/* Points on streams that a descriptor stands for. More than one point: several were merged. */
#define TSM_SYNC_POINTS 8u
struct tsm_sync_points {
    struct tsm_sync_point all[TSM_SYNC_POINTS];
    uint32_t count;
};

/* The program has found a descriptor ready: all of the points are complete. */
typedef void tsm_sync_ready(const struct tsm_sync_points *points);

extern _Atomic uint32_t tsm_sync_fd_count;

/* Is any followed? */
static inline bool tsm_sync_fds_any(void)
{
    return atomic_load_explicit(&tsm_sync_fd_count, memory_order_relaxed) != 0;
}

/* From now on `fd` is such a descriptor. `points` may be empty: it is not known for what it stands.
 */
void tsm_sync_fd_follow(int fd, tsm_sync_ready *ready, const struct tsm_sync_points *points);
/* Returns whether `fd` is followed, and for what it stands. `out` may be NULL. */
bool tsm_sync_fd_find(int fd, struct tsm_sync_points *out);

/* Follows what the program did with a descriptor. */
void tsm_sync_fd_duplicated(int from, int to);
void tsm_sync_fd_merged(int first, int second, int to);
void tsm_sync_fds_closed(unsigned first, unsigned last);
/* Returns whether it is followed; then ready() was called. */
bool tsm_sync_fd_found_ready(int fd);

/* In the child of a fork. */
void tsm_sync_fds_forget(void);

#endif
