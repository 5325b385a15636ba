/* SPDX-License-Identifier: Apache-2.0
 *
 * How many bytes of records a second go into a trace without loss, against one thread that does
 * nothing but compress the same bytes with zstd 1 in chunks of 1 MiB. Both in CPU time: the trace's
 * rate is that of its busiest thread, so it is what a machine with free cores would show. The wall
 * time is printed, too. Argument: number of records.
 */
#include "base/buffer.h"
#include "bench/null_api.h"
#include "capture/lane/lane.h"
#include "tracesmith/reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <zstd.h>

#define CHUNK       (1u << 20)
#define RECORD_SIZE (sizeof(struct tsm_record_entry) + BENCH_WORDS * 8)

static struct bench_events events;

static void produce(uint64_t count)
{
    struct tsm_stream *stream = null_stream();
    uint64_t begin = tsm_monotonic_ns(), cpu = bench_thread_ns(), producer, busiest;
    double bytes = (double)count * RECORD_SIZE;

    bench_events_init(&events);
    while (events.count < count) {
        bench_events_fill(&events);
        for (size_t i = 0; i < BENCH_BATCH; i++)
            null_command(stream, events.batch[i]);
    }
    producer = bench_thread_ns() - cpu;
    tsm_session_flush();
    busiest = bench_busiest_other_ns();
    printf("sustain_wall_bytes_s %.0f\n", bytes * 1e9 / (double)(tsm_monotonic_ns() - begin));
    printf("sustain_bytes_s %.0f\n",
           bytes * 1e9 / (double)(busiest > producer ? busiest : producer));
    bench_print_value("sustain_producer_ns", (double)producer / (double)count);
    bench_print_value("sustain_busiest_drain_ns", (double)busiest / (double)count);
    bench_print_value("sustain_all_drain_ns",
                      (double)bench_named_threads_ns("ts-") / (double)count);
    tsm_session_finish();
}

/* The record as it lay in its lane. */
static void add_record(struct tsm_buffer *out, const struct sbt_record *r)
{
    struct tsm_record_entry e = {.entry = {RECORD_SIZE, TSM_ENTRY_RECORD, 0},
                                 .begin = r->time_ns,
                                 .end = r->time_ns + r->duration_ns,
                                 .type = r->type,
                                 .thread = r->thread,
                                 .stream = r->stream,
                                 .position = r->position,
                                 .slot_count = BENCH_WORDS};

    tsm_buffer_add(out, &e, sizeof(e));
    tsm_buffer_add(out, r->slots, BENCH_WORDS * 8);
}

struct compression {
    ZSTD_CCtx *context;
    struct tsm_buffer raw, packed;
    uint64_t ns, bytes, stored;
};

static void compress(struct compression *c)
{
    size_t bound = ZSTD_compressBound(c->raw.size);
    uint8_t *out = tsm_buffer_reserve(&c->packed, bound);
    uint64_t begin = bench_thread_ns();

    c->stored += ZSTD_compress2(c->context, out, bound, c->raw.data, c->raw.size);
    c->ns += bench_thread_ns() - begin;
    c->bytes += c->raw.size;
    tsm_buffer_clear(&c->raw);
}

static int compress_again(const char *path)
{
    struct compression c = {.context = ZSTD_createCCtx()};
    struct sbt_reader *reader;
    struct sbt_cursor *cursor;
    const struct sbt_record *r;

    ZSTD_CCtx_setParameter(c.context, ZSTD_c_compressionLevel, 1);
    if (sbt_reader_open(&reader, path) != 0 || sbt_cursor_create(&cursor, reader, NULL, 0) != 0)
        return 1;
    while (sbt_cursor_next(cursor, &r) == 1) {
        if (r->slot_count == BENCH_WORDS)
            add_record(&c.raw, r);
        if (c.raw.size >= CHUNK)
            compress(&c);
    }
    printf("zstd_bytes_s %.0f\n", (double)c.bytes * 1e9 / (double)c.ns);
    bench_print_value("zstd_stored_bytes", (double)c.stored * RECORD_SIZE / (double)c.bytes);
    sbt_cursor_destroy(cursor);
    sbt_reader_destroy(reader);
    return 0;
}

int main(int argc, char **argv)
{
    produce(argc > 1 ? strtoull(argv[1], NULL, 10) : 1u << 20);
    return compress_again(getenv("TS_OUTPUT"));
}
