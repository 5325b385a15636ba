/* SPDX-License-Identifier: Apache-2.0
 *
 * Records of the kernel, with whatever in them, on their way into a trace, and out of it again:
 * none is lost on the way, whatever their numbers are, and those who read a trace for them take
 * them or say that they are damaged. An input is a list of a turn's number of bytes (u16) and so
 * many bytes: records.
 */
#include "base/bytes.h"
#include "analysis/cpu/events.h"
#include "analysis/ring/jobs.h"
#include "format/kernel_events.h"
#include "tools/kernel/collect.h"
#include "tracesmith/reader.h"
#include "tracesmith/writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct tsm_view turn; /* what this turn finds */
static uint64_t added;

static void check(bool ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "%s: %s\n", what, tsm_error_message());
    abort();
}

static int fill(struct tsm_collect *c)
{
    while (turn.at < turn.end) {
        size_t left = (size_t)(turn.end - turn.at), size = sbt_kernel_record_size(turn.at, left);
        if (!size)
            break;
        check(tsm_collect_add(c, turn.at, size) == 0, "add");
        tsm_view_take(&turn, size);
        added++;
    }
    return 0;
}

static void read_again(int fd)
{
    struct tsm_ring_jobs jobs = {0};
    struct tsm_cpu_events events = {0};
    struct sbt_reader *reader = NULL;
    uint8_t *records = NULL;
    size_t size = 0;
    char path[64];

    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    check(sbt_reader_open(&reader, path) == 0, "open");
    check(sbt_reader_kernel_events(reader, 0, &records, &size) == 0, "records");
    check(sbt_kernel_record_count(records, size) == (int64_t)added, "all records");
    /* Takes over the records, also on failure. */
    if (tsm_ring_jobs_add(&jobs, records, size) == 0 && tsm_ring_jobs_build(&jobs) == 0)
        tsm_cpu_events_take(&events, &jobs);
    tsm_cpu_events_finish(&events);
    tsm_ring_jobs_finish(&jobs);
    sbt_reader_destroy(reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct tsm_collect c;
    const struct sbt_session session = {.id = {1, 2, 3, 4, 5, 6, 0x47, 8, 0x89},
                                        .clock = "monotonic"};
    struct sbt_writer_options options = {.level = -5};
    const struct sbt_totals none = {0};
    struct tsm_view in = tsm_view_init(data, size);
    struct sbt_writer *writer = NULL;
    int fd;

    if (!size)
        return 0;
    memset(&c, 0, sizeof(c));
    memset(c.fds, 0xff, sizeof(c.fds));
    c.fill = fill;
    added = 0;
    fd = memfd_create("collect", MFD_CLOEXEC);
    check(fd >= 0 && sbt_writer_create_fd(&writer, dup(fd), &session, &options) == 0, "create");
    check(sbt_writer_metadata(writer, "kernel.backend", "fuzz") == 0, "metadata");
    while (in.at < in.end && !in.failed) {
        size_t bytes = tsm_view_u16(&in), left = (size_t)(in.end - in.at);
        turn = tsm_view_init(in.at, bytes < left ? bytes : left);
        tsm_view_take(&in, bytes < left ? bytes : left);
        check(tsm_collect_turn(&c, writer) == 0, "turn");
    }
    turn = tsm_view_init(data, 0);
    check(tsm_collect_end(&c, writer) == 0, "end");
    check(sbt_writer_finish(writer, &none, SBT_END_FINISHED) == 0, "finish");
    sbt_writer_destroy(writer);
    tsm_collect_finish(&c);
    if (added)
        read_again(fd);
    close(fd);
    return 0;
}
