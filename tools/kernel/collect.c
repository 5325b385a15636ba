/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/kernel/collect.h"

#include "base/bytes.h"
#include "base/text.h"
#include "format/kernel_events.h"
#include "tools/kernel/files.h"
#include "tracesmith/error.h"
#include "tracesmith/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHUNK_SIZE (1u << 20)

static bool open_cpu(struct tsm_collect *c, unsigned cpu)
{
    char name[32], path[PATH_MAX];

    tsm_format(name, sizeof(name), "records%u", cpu);
    tsm_kernel_path(path, sizeof(path), name);
    c->fds[cpu] = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (c->fds[cpu] >= 0 && cpu >= c->cpu_count)
        c->cpu_count = cpu + 1;
    return c->fds[cpu] >= 0;
}

static int fill(struct tsm_collect *c);
static void close_all(struct tsm_collect *c);

/* One more than the highest number of a CPU that this machine can have. */
static unsigned possible_cpus(void)
{
    FILE *file = fopen("/sys/devices/system/cpu/possible", "re");
    unsigned last = TSM_COLLECT_CPU_MAX - 1;
    char text[64], *end;

    if (file && fgets(text, sizeof(text), file)) {
        end = strrchr(text, '-');
        last = (unsigned)strtoul(end ? end + 1 : text, NULL, 10);
    }
    if (file)
        fclose(file);
    return last < TSM_COLLECT_CPU_MAX ? last + 1 : TSM_COLLECT_CPU_MAX;
}

/* Opens the files of all CPUs, also of those that came online since, in any order. */
static bool open_cpus(struct tsm_collect *c)
{
    bool any = false;

    for (unsigned cpu = 0, count = possible_cpus(); cpu < count; cpu++)
        any |= c->fds[cpu] >= 0 || open_cpu(c, cpu);
    return any;
}

int tsm_collect_begin(struct tsm_collect *c)
{

    memset(c, 0, sizeof(*c));
    c->fill = fill;
    c->close = close_all;
    memset(c->fds, -1, sizeof(c->fds));
    return open_cpus(c)
               ? 0
               : tsm_fail(TSM_E_NOT_FOUND, "the kernel module has no records: 'grtrace start'");
}

/* Forget what is in order already. */
static void shift(struct tsm_collect *c, unsigned cpu)
{
    struct tsm_buffer *queue = &c->queues[cpu];

    if (!c->taken[cpu])
        return;
    queue->size -= c->taken[cpu];
    memmove(queue->data, queue->data + c->taken[cpu], queue->size);
    c->taken[cpu] = 0;
}

static int read_cpu(struct tsm_collect *c, unsigned cpu)
{
    struct tsm_buffer *queue = &c->queues[cpu];
    ssize_t got = 0;
    uint8_t *room;

    if (c->fds[cpu] < 0)
        return 0;
    while ((room = tsm_buffer_reserve(queue, 65536)) && (got = read(c->fds[cpu], room, 65536)) > 0)
        queue->size += (size_t)got;
    if (!room)
        return tsm_fail(TSM_E_MEMORY, "out of memory for kernel records");
    if (got < 0 && errno != EAGAIN && errno != EINTR && errno != EIO)
        return tsm_fail(TSM_E_IO, "records of CPU %u: %s", cpu, strerror(errno));
    return 0;
}

static int fill(struct tsm_collect *c)
{
    int error = 0;

    if (c->turns % TSM_COLLECT_PATIENCE == 0 || c->is_ending)
        open_cpus(c);
    for (unsigned cpu = 0; cpu < c->cpu_count && !error; cpu++)
        error = read_cpu(c, cpu);
    return error;
}

static void close_all(struct tsm_collect *c)
{
    for (unsigned cpu = 0; cpu < c->cpu_count; cpu++) {
        if (c->fds[cpu] >= 0)
            close(c->fds[cpu]);
    }
}

int tsm_collect_add(struct tsm_collect *c, const void *record, size_t size)
{
    uint64_t gseq = tsm_get_u64((const uint8_t *)record + 16);
    unsigned lane = 0;

    while (lane < c->cpu_count && c->ends[lane] > gseq)
        lane++;
    if (lane == TSM_COLLECT_CPU_MAX)
        return tsm_fail(TSM_E_LIMIT, "kernel records are in no order");
    if (lane == c->cpu_count)
        c->cpu_count++;
    tsm_buffer_add(&c->queues[lane], record, size);
    c->ends[lane] = gseq + 1;
    return c->queues[lane].failed ? tsm_fail(TSM_E_MEMORY, "out of memory for kernel records") : 0;
}

/* Returns the size of the record `at` bytes into a queue; 0: it is not whole, or there is none. */
static size_t record_at(const struct tsm_collect *c, unsigned cpu, size_t at, const uint8_t **out)
{
    const struct tsm_buffer *queue = &c->queues[cpu];

    *out = queue->data + at;
    return sbt_kernel_record_size(*out, queue->size - at);
}

static int write_chunk(struct tsm_collect *c, struct sbt_writer *writer)
{
    int error = c->ordered.failed
                    ? tsm_fail(TSM_E_MEMORY, "out of memory for kernel records")
                    : sbt_writer_kernel_events(writer, c->ordered.data, c->ordered.size);

    tsm_buffer_clear(&c->ordered);
    return error;
}

/* The record that comes next: the lowest, unless one before it may still come. False: none. */
static bool take_next(struct tsm_collect *c)
{
    uint64_t lowest = UINT64_MAX;
    const uint8_t *record, *best = NULL;
    size_t size, best_size = 0;
    unsigned best_cpu = 0;

    for (unsigned cpu = 0; cpu < c->cpu_count && !(best && lowest == c->next_gseq); cpu++) {
        size = record_at(c, cpu, c->taken[cpu], &record);
        if (size && (!best || tsm_get_u64(record + 16) < lowest)) {
            lowest = tsm_get_u64(record + 16);
            best = record;
            best_size = size;
            best_cpu = cpu;
        }
    }
    if (!best || (lowest > c->next_gseq && lowest >= c->settled_gseq && !c->is_ending))
        return false;
    tsm_buffer_add(&c->ordered, best, best_size);
    c->taken[best_cpu] += best_size;
    if (c->next_gseq <= lowest)
        c->next_gseq = lowest + 1;
    c->record_count++;
    return true;
}

/* Settles, every TSM_COLLECT_PATIENCE turns, the numbers that were seen by the last time: a record
 * is there soon after its CPU took the number, so those still missing are lost. */
static void settle_gaps(struct tsm_collect *c)
{
    const uint8_t *record;

    if (c->turns++ % TSM_COLLECT_PATIENCE)
        return;
    c->settled_gseq = c->seen_gseq;
    for (unsigned cpu = 0; cpu < c->cpu_count; cpu++)
        for (size_t at = c->taken[cpu], size; (size = record_at(c, cpu, at, &record)); at += size)
            if (c->seen_gseq <= tsm_get_u64(record + 16))
                c->seen_gseq = tsm_get_u64(record + 16) + 1;
}

int tsm_collect_turn(struct tsm_collect *c, struct sbt_writer *writer)
{
    int error;

    for (unsigned cpu = 0; cpu < c->cpu_count; cpu++)
        shift(c, cpu);
    error = c->fill(c);
    settle_gaps(c);
    while (!error && take_next(c)) {
        if (c->ordered.size >= CHUNK_SIZE)
            error = write_chunk(c, writer);
    }
    return error;
}

int tsm_collect_end(struct tsm_collect *c, struct sbt_writer *writer)
{
    int error;

    c->is_ending = true;
    error = tsm_collect_turn(c, writer);
    return error ? error : write_chunk(c, writer);
}

void tsm_collect_finish(struct tsm_collect *c)
{
    if (c->close)
        c->close(c);
    for (unsigned cpu = 0; cpu < c->cpu_count; cpu++)
        tsm_buffer_finish(&c->queues[cpu]);
    tsm_buffer_finish(&c->ordered);
    c->cpu_count = 0;
}
