/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/call/sync_fd.h"

#include "capture/capture.h"
#include "capture/lock.h"

#include <sys/types.h>
#include <unistd.h>

#define FD_COUNT 4096 /* descriptors beyond that are not followed, which is said */

/* By number. */
static struct followed {
    tsm_sync_ready *ready; /* NULL: none */
    struct tsm_sync_points points;
} table[FD_COUNT];
static struct tsm_lock lock;
static _Atomic pid_t owner; /* whose descriptors the table has: a child of vfork() has its own */

_Atomic uint32_t tsm_sync_fd_count;

/* A signal handler that finds this thread here passes its calls through. */
static void enter(void)
{
    tsm_inside_enter();
    tsm_lock_take(&lock);
}

static void leave(void)
{
    tsm_lock_give(&lock);
    tsm_inside_leave();
}

void tsm_sync_fds_forget(void)
{
    lock = (struct tsm_lock){0};
    for (int fd = 0; tsm_sync_fds_any() && fd < FD_COUNT; fd++)
        if (table[fd].ready) /* an untouched page stays so */
            table[fd].ready = NULL;
    atomic_store(&tsm_sync_fd_count, 0);
}

/* The lock is held. */
static void put(int fd, const struct followed *f)
{
    atomic_fetch_add_explicit(&tsm_sync_fd_count, !table[fd].ready, memory_order_relaxed);
    table[fd] = *f;
}

static bool is_kept(int fd)
{
    return fd >= 0 && fd < FD_COUNT;
}

static void note_unkept(int fd)
{
    if (fd >= FD_COUNT)
        tsm_session_unmodelled("a sync file with a number of 4096 or more: what the program learns "
                               "by it is not known",
                               true);
}

void tsm_sync_fd_follow(int fd, tsm_sync_ready *ready, const struct tsm_sync_points *points)
{
    struct followed f = {.ready = ready, .points = *points};

    if (!is_kept(fd)) {
        note_unkept(fd);
        return;
    }
    atomic_store(&owner, getpid());
    enter();
    put(fd, &f);
    leave();
}

/* Are any descriptors of this process followed? */
static bool has_any(void)
{
    return tsm_sync_fds_any() && (tsm_sandboxed() || atomic_load(&owner) == getpid());
}

static bool find(int fd, struct followed *out)
{
    if (!has_any() || !is_kept(fd))
        return false;
    enter();
    *out = table[fd];
    leave();
    return out->ready != NULL;
}

bool tsm_sync_fd_find(int fd, struct tsm_sync_points *out)
{
    struct followed f;

    if (!find(fd, &f))
        return false;
    if (out)
        *out = f.points;
    return true;
}

void tsm_sync_fd_duplicated(int from, int to)
{
    struct followed f;

    if (to < 0 || tsm_inside_own() || !find(from, &f))
        return;
    if (!is_kept(to)) {
        note_unkept(to);
        return;
    }
    enter();
    put(to, &f);
    leave();
}

/* Points that there is no room for are not learnt. */
static void add_points(struct tsm_sync_points *to, const struct tsm_sync_points *from)
{
    for (uint32_t i = 0; i < from->count; i++) {
        struct tsm_sync_point *at = to->all;
        while (at < to->all + to->count && at->stream != from->all[i].stream)
            at++;
        if (at == to->all + TSM_SYNC_POINTS)
            continue;
        if (at == to->all + to->count) {
            *at = from->all[i];
            to->count++;
        } else if (at->point < from->all[i].point) {
            at->point = from->all[i].point;
        }
    }
}

void tsm_sync_fd_merged(int first, int second, int to)
{
    struct followed a, b;
    bool has_a = find(first, &a), has_b = find(second, &b);

    if (!has_a && !has_b)
        return;
    if (!has_a) {
        a = b;
    } else if (has_b) {
        add_points(&a.points, &b.points);
    }
    tsm_sync_fd_follow(to, a.ready, &a.points);
}

void tsm_sync_fds_closed(unsigned first, unsigned last)
{
    if (tsm_inside_own() || !has_any())
        return; /* the drain thread's numbers are other files than the program's */
    enter();
    for (unsigned fd = first; fd <= last && fd < FD_COUNT; fd++)
        if (table[fd].ready) {
            table[fd].ready = NULL;
            atomic_fetch_sub_explicit(&tsm_sync_fd_count, 1, memory_order_relaxed);
        }
    leave();
}

bool tsm_sync_fd_found_ready(int fd)
{
    struct followed f;

    if (!find(fd, &f))
        return false;
    f.ready(&f.points);
    return true;
}
