/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes the end of a trace: what was lost, and whether the file reached the disk.
 */
#include "format/write/state.h"

#include "base/hash.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* A number that no string has. From above: capture gives them from below. */
static uint32_t free_string_id(const struct sbt_writer *w)
{
    uint32_t id = UINT32_MAX;

    while (tsm_map_find(&w->strings, id))
        id--;
    return id;
}

static int write_lost(struct sbt_writer *w)
{
    static const char reason[] = "not there any more";
    uint64_t slots[5] = {w->lost_count, w->lost_first_ns, UINT64_MAX, free_string_id(w),
                         UINT64_MAX};
    const struct sbt_record record = {
        .seq = w->next_seq,
        .type = SBT_TYPE(SBT_API_CORE, SBT_CORE_LOST),
        .stream = SBT_STREAM_NONE,
        .slot_count = 5,
        .slots = slots,
    };
    int error = sbt_writer_schema(w, sbt_core_schema(SBT_CORE_LOST));

    if (!error)
        error = sbt_writer_string(w, (uint32_t)slots[3], reason, sizeof(reason) - 1);
    return error ? error : sbt_writer_record(w, &record);
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

int sbt_writer_count_lost(struct sbt_writer *w, const struct sbt_totals *totals)
{
    int error = w->lost_count ? write_lost(w) : 0;

    /* An older trace to which no record can be added has its losses in the totals alone. */
    if (error == TSM_E_ARGUMENT || error == TSM_E_UNSUPPORTED) {
        w->said_lost += w->lost_count;
        error = 0;
    }
    w->totals.lost_count =
        larger(w->totals.lost_count + w->said_lost, totals ? totals->lost_count : 0);
    w->totals.filtered_count =
        larger(w->totals.filtered_count + w->said_filtered, totals ? totals->filtered_count : 0);
    return error;
}

void sbt_writer_lost(struct sbt_writer *w, uint64_t count)
{
    w->lost_count = count;
    w->lost_first_ns = 0;
    w->is_cut = false;
}

void sbt_writer_push(const struct sbt_writer *w)
{
    /* Help only: sbt_writer_close() is what counts. */
    if (w->is_durable)
        sync_file_range(w->queue.fd, 0, 0, SYNC_FILE_RANGE_WRITE);
}

/* Tests whether the file cannot be synchronised at all, or a sandbox forbids it. */
static bool is_unsupported(int error)
{
    return error == EINVAL || error == EROFS || error == ENOSYS || error == EPERM ||
           error == EACCES || error == EOPNOTSUPP;
}

/* Closes the file. An error of an earlier write may be reported only now, over a network for
 * instance. */
int sbt_writer_close(struct sbt_writer *w)
{
    int fd = w->queue.fd, error = 0;

    if (w->is_durable && fdatasync(fd) != 0 && !is_unsupported(errno))
        error =
            tsm_fail(TSM_E_IO, "%s: did not reach the disk: %s", w->queue.path, strerror(errno));
    w->queue.fd = -1;
    if (close(fd) != 0 && errno != EINTR && !error)
        error = tsm_fail(TSM_E_IO, "%s: cannot write: %s", w->queue.path, strerror(errno));
    return error;
}

void sbt_writer_put_back(struct sbt_writer *w)
{
    const uint8_t *at = w->old_end.data;
    size_t left = w->old_end.size;
    uint64_t offset = w->old_end_offset;

    if (!left || ftruncate(w->queue.fd, (off_t)offset) != 0)
        return;
    while (left) {
        ssize_t n = pwrite(w->queue.fd, at, left, (off_t)offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return; /* a repair will do it */
        at += n;
        left -= (size_t)n;
        offset += (uint64_t)n;
    }
}
