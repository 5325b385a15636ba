/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes a trace of launches that the host waits for, with times on a clock of the device's own:
 * make_clocks PATH COUNT OFFSET PPB BITS EVENT. The clock is OFFSET ns ahead at the session's
 * start, fast by so many parts per billion, and its counter of nanoseconds has BITS bits (0:
 * enough). EVENT comes at half of the time: none, suspend (the host's clock stands still for a
 * minute), reset (the counter begins at 0).
 */
#include "tracesmith/writer.h"

#include "tracesmith/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define API       7
#define PERIOD    1000000u
#define SUSPENDED 60000000000u

struct made {
    struct sbt_writer *writer;
    uint64_t seq, count;
    int64_t offset, ppb;
    unsigned bits;
    const char *event;
};

static void must(int error)
{
    if (error >= 0)
        return;
    fprintf(stderr, "make_clocks: %s\n", tsm_error_message());
    exit(1);
}

static void put(struct made *m, struct sbt_record record)
{
    record.seq = m->seq++;
    record.thread = 1;
    must(sbt_writer_record(m->writer, &record));
}

/* Returns what the device's counter says at a time of the host. */
static uint64_t counter(const struct made *m, uint64_t host_ns)
{
    const uint64_t half = m->count / 2 * PERIOD;
    uint64_t real = host_ns, now;

    if (strcmp(m->event, "reset") == 0 && host_ns >= half)
        return host_ns - half;
    if (strcmp(m->event, "suspend") == 0 && host_ns >= half)
        real += SUSPENDED;
    now = (uint64_t)m->offset + real + (uint64_t)((__int128)real * m->ppb / 1000000000);
    return m->bits ? now & (((uint64_t)1 << m->bits) - 1) : now;
}

/* A launch, a wait for it, and then its time. */
static void put_command(struct made *m, uint64_t n)
{
    const uint64_t call = n * PERIOD, start = call + 20000 + n % 7 * 1000, end = start + 100000;
    const uint64_t from = counter(m, start);
    const uint64_t time[13] = {0, n + 1, 0, from, counter(m, end) - from, 0, 0, 0};

    put(m, (struct sbt_record){
               .type = SBT_TYPE(API, 1), .time_ns = call, .duration_ns = 5000, .position = n + 1});
    put(m, (struct sbt_record){.type = SBT_TYPE(API, 2),
                               .time_ns = call + 10000,
                               .duration_ns = end - call - 10000 + 15000 + n % 5 * 1000});
    put(m, (struct sbt_record){.type = SBT_TYPE(SBT_API_CORE, SBT_CORE_GPU_TIME),
                               .time_ns = end + 40000,
                               .stream = SBT_STREAM_NONE,
                               .slots = time,
                               .slot_count = 13});
}

int main(int argc, char **argv)
{
    const struct sbt_session session = {
        .id = {1, 2, 3, 4, 5, 6, 0x47, 8, 0x89}, .start_monotonic_ns = 1000, .clock = "monotonic"};
    const struct sbt_schema launch = {
        .type = SBT_TYPE(API, 1), .name = "launch", .kind = SBT_KIND_COMMAND, .result_enum = ""};
    const struct sbt_schema wait = {
        .type = SBT_TYPE(API, 2), .name = "wait", .kind = SBT_KIND_SYNC, .result_enum = ""};
    const struct sbt_totals none = {0};
    struct made m = {0};

    if (argc != 7)
        return 2;
    m.count = strtoull(argv[2], NULL, 10);
    m.offset = strtoll(argv[3], NULL, 10);
    m.ppb = strtoll(argv[4], NULL, 10);
    m.bits = (unsigned)strtoul(argv[5], NULL, 10);
    m.event = argv[6];
    must(sbt_writer_create(&m.writer, argv[1], &session, NULL));
    must(sbt_writer_metadata(m.writer, "process.pid", "1"));
    must(sbt_writer_schema(m.writer, &launch));
    must(sbt_writer_schema(m.writer, &wait));
    must(sbt_writer_schema(m.writer, sbt_core_schema(SBT_CORE_GPU_TIME)));
    for (uint64_t n = 0; n < m.count; n++)
        put_command(&m, n);
    must(sbt_writer_finish(m.writer, &none, SBT_END_FINISHED));
    sbt_writer_destroy(m.writer);
    return 0;
}
