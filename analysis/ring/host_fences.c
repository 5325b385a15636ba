/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/ring/host_fences.h"

#include "base/array.h"
#include "tracesmith/error.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FENCE_MAX (1u << 24)
#define LINE_SIZE 512
#define RATE_MIN  0.1 /* of the guest's clock to the host's; an emulator's is far off at times */

static struct tsm_host_fence *at(const struct tsm_host_fences *fences, size_t index)
{
    return (struct tsm_host_fence *)(void *)fences->list.data + index;
}

static size_t fence_count(const struct tsm_host_fences *fences)
{
    return fences->list.size / sizeof(struct tsm_host_fence);
}

void tsm_host_fences_finish(struct tsm_host_fences *fences)
{
    tsm_buffer_finish(&fences->list);
}

/* ---- the log ------------------------------------------------------------------------------ */

/* PID@SECONDS.MICROSECONDS: before the event's name; 0: not there. */
static uint64_t time_of(const char *line, const char *event)
{
    const char *mark = memchr(line, '@', (size_t)(event - line));
    unsigned long long seconds, micros;

    return mark && sscanf(mark, "@%llu.%6llu:", &seconds, &micros) == 2
               ? seconds * 1000000000u + micros * 1000u
               : 0;
}

/* The host answers in any order, but few commands are under way at once. */
static struct tsm_host_fence *open_fence(struct tsm_host_fences *fences, uint64_t number)
{
    for (size_t i = fence_count(fences); i-- > 0;)
        if (at(fences, i)->fence == number)
            return at(fences, i)->done_ns ? NULL : at(fences, i);
    return NULL;
}

/* Returns whether the line is one of these. */
static bool read_line(struct tsm_host_fences *fences, const char *line)
{
    const char *taken = strstr(line, "virtio_gpu_fence_ctrl ");
    const char *done = strstr(line, "virtio_gpu_fence_resp ");
    struct tsm_host_fence made = {0}, *fence;
    unsigned long long number;
    unsigned type;

    if (taken && sscanf(taken, "%*s fence 0x%llx, type 0x%x", &number, &type) == 2 &&
        fence_count(fences) < FENCE_MAX) {
        made = (struct tsm_host_fence){number, type, time_of(line, taken), 0};
        tsm_buffer_add(&fences->list, &made, sizeof(made));
        return true;
    }
    if (!done || sscanf(done, "%*s fence 0x%llx", &number) != 1)
        return false;
    fence = open_fence(fences, number);
    if (fence)
        fence->done_ns = time_of(line, done);
    return true;
}

int tsm_host_fences_read(struct tsm_host_fences *fences, const char *path)
{
    FILE *file = fopen(path, "r");
    char line[LINE_SIZE];
    bool timed = false;

    if (!file)
        return tsm_fail(TSM_E_IO, "%s: %s", path, strerror(errno));
    while (fgets(line, sizeof(line), file))
        read_line(fences, line);
    fclose(file);
    for (size_t i = 0; i < fence_count(fences); i++)
        timed |= at(fences, i)->taken_ns && at(fences, i)->done_ns;
    if (fences->list.failed)
        return tsm_fail(TSM_E_MEMORY, "out of memory for the host's fences");
    if (!fence_count(fences))
        return tsm_fail(TSM_E_FORMAT,
                        "%s has no fences of virtio-gpu: run QEMU with "
                        "-trace 'virtio_gpu_fence_*' -D FILE",
                        path);
    return timed ? 0
                 : tsm_fail(TSM_E_FORMAT, "%s has no times: run QEMU with -msg timestamp=on", path);
}

/* ---- two clocks --------------------------------------------------------------------------- */

static bool is_fenced(const struct tsm_ring_job *job)
{
    return !(job->seqno & TSM_JOB_SEQNO_COUNTED) && job->submit_ns && job->end_ns;
}

/* Orders fences by number, and those of one number by time: a log goes on when the guest boots
 * again. */
static int by_fence(const void *a, const void *b)
{
    const struct tsm_host_fence *x = a, *y = b;

    if (x->fence != y->fence)
        return x->fence < y->fence ? -1 : 1;
    return x->taken_ns < y->taken_ns ? -1 : x->taken_ns > y->taken_ns;
}

static void keep_newest(struct tsm_host_fences *fences)
{
    size_t kept = 0;

    qsort(fences->list.data, fence_count(fences), sizeof(struct tsm_host_fence), by_fence);
    for (size_t i = 0; i < fence_count(fences); i++) {
        if (i + 1 < fence_count(fences) && at(fences, i)->fence == at(fences, i + 1)->fence)
            continue;
        *at(fences, kept++) = *at(fences, i);
    }
    fences->list.size = kept * sizeof(struct tsm_host_fence);
}

const struct tsm_host_fence *tsm_host_fences_of(const struct tsm_host_fences *fences,
                                                const struct tsm_ring_job *job)
{
    size_t count = fence_count(fences), i;

    TSM_BISECT(i, count, at(fences, i)->fence >= job->seqno);
    return i < count && at(fences, i)->fence == job->seqno ? at(fences, i) : NULL;
}

/* Bounds that one command sets on the difference of the two clocks, in ns since the first command's
 * submit and taking. */
struct bound {
    double submit, taken, done, end;
};

/* Returns the width of the range of possible shifts when the guest's clock runs `rate` times as
 * fast, and its middle in *shift. Negative: a command would have been taken before it was
 * submitted. */
static double room_for(const struct bound *bounds, size_t count, double rate, double *shift)
{
    double least = -INFINITY, most = INFINITY;

    for (size_t i = 0; i < count; i++) {
        double low = bounds[i].submit - rate * bounds[i].taken;
        double high = bounds[i].end - rate * bounds[i].done;
        least = low > least ? low : least;
        most = high < most ? high : most;
    }
    *shift = least + (most - least) / 2;
    return most - least;
}

/* The room is a concave function of the rate. */
static double best_rate(const struct bound *bounds, size_t count)
{
    double low = RATE_MIN, high = 1 / RATE_MIN, shift;

    for (int i = 0; i < 200; i++) {
        double a = low + (high - low) / 3, b = high - (high - low) / 3;
        if (room_for(bounds, count, a, &shift) < room_for(bounds, count, b, &shift))
            low = a;
        else
            high = b;
    }
    return low + (high - low) / 2;
}

static size_t collect(struct bound *bounds, uint64_t first[2], const struct tsm_host_fences *fences,
                      const struct tsm_ring_jobs *jobs)
{
    size_t count = 0;

    for (size_t i = 0; i < tsm_ring_jobs_count(jobs); i++) {
        const struct tsm_ring_job *job = tsm_ring_jobs_at(jobs, i);
        const struct tsm_host_fence *f = is_fenced(job) ? tsm_host_fences_of(fences, job) : NULL;
        if (!f || !f->taken_ns || !f->done_ns)
            continue;
        if (!count) {
            first[0] = job->submit_ns;
            first[1] = f->taken_ns;
        }
        bounds[count++] = (struct bound){
            (double)(int64_t)(job->submit_ns - first[0]), (double)(int64_t)(f->taken_ns - first[1]),
            (double)(int64_t)(f->done_ns - first[1]), (double)(int64_t)(job->end_ns - first[0])};
    }
    return count;
}

static uint64_t moved(uint64_t ns, const uint64_t first[2], double rate, double shift)
{
    double since = rate * (double)(int64_t)(ns - first[1]) + shift;

    return ns ? first[0] + (uint64_t)(int64_t)since : 0;
}

int tsm_host_fences_align(struct tsm_host_fences *fences, const struct tsm_ring_jobs *jobs)
{
    struct bound *bounds = calloc(tsm_ring_jobs_count(jobs) + 1, sizeof(*bounds));
    uint64_t first[2] = {0, 0};
    double shift, room;
    size_t count;

    if (!bounds)
        return tsm_fail(TSM_E_MEMORY, "out of memory for the host's fences");
    keep_newest(fences);
    count = collect(bounds, first, fences, jobs);
    fences->rate = 1;
    room = room_for(bounds, count, fences->rate, &shift);
    if (room < 0) {
        fences->rate = best_rate(bounds, count);
        room = room_for(bounds, count, fences->rate, &shift);
    }
    free(bounds);
    if (!count)
        return tsm_fail(TSM_E_NOT_FOUND, "no command of the trace is in the host's log");
    if (room < 0)
        return tsm_fail(TSM_E_NOT_FOUND,
                        "the host's log is of another run: its times fit no clock");
    fences->used_count = count;
    fences->error_ns = (uint64_t)(room / 2);
    for (size_t i = 0; i < fence_count(fences); i++) {
        at(fences, i)->taken_ns = moved(at(fences, i)->taken_ns, first, fences->rate, shift);
        at(fences, i)->done_ns = moved(at(fences, i)->done_ns, first, fences->rate, shift);
    }
    return 0;
}
