/* SPDX-License-Identifier: Apache-2.0
 *
 * Finding any record of a trace, against reading and decoding one chunk, which no reader can avoid.
 * Arguments: a file to make, its number of records.
 */
#include "bench/measure.h"
#include "format/read/state.h"
#include "format/events/rows.h"
#include "tracesmith/writer.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROUNDS = 400 };

static const struct sbt_field fields[BENCH_WORDS] = {
    {"a", SBT_FIELD_UINT, SBT_ROLE_NONE, ""}, {"b", SBT_FIELD_UINT, SBT_ROLE_NONE, ""},
    {"c", SBT_FIELD_UINT, SBT_ROLE_NONE, ""}, {"d", SBT_FIELD_UINT, SBT_ROLE_NONE, ""},
    {"e", SBT_FIELD_UINT, SBT_ROLE_NONE, ""}, {"f", SBT_FIELD_UINT, SBT_ROLE_NONE, ""},
    {"g", SBT_FIELD_UINT, SBT_ROLE_NONE, ""}, {"h", SBT_FIELD_UINT, SBT_ROLE_NONE, ""},
};
static const struct sbt_schema schema = {.type = SBT_TYPE(7, 1),
                                         .name = "call",
                                         .result_enum = "",
                                         .field_count = BENCH_WORDS,
                                         .fields = fields};

static uint64_t random_state = BENCH_SEED;

static int write_records(struct sbt_writer *w, uint64_t count)
{
    static struct bench_events events;
    struct sbt_record r = {.type = schema.type, .thread = 1, .slot_count = BENCH_WORDS};
    int error = 0;

    bench_events_init(&events);
    while (events.count < count && !error) {
        bench_events_fill(&events);
        for (size_t i = 0; i < BENCH_BATCH && !error; i++, r.seq++) {
            r.time_ns += 4000 + bench_random(&random_state) % 3000;
            r.duration_ns = 2500 + bench_random(&random_state) % 800;
            r.stream = r.seq % 2;
            r.position = r.seq / 2 + 1;
            r.slots = events.batch[i];
            error = sbt_writer_record(w, &r);
        }
    }
    return error;
}

static int make(const char *path, uint64_t count)
{
    struct sbt_session session = {.clock = "monotonic"};
    struct sbt_totals totals = {0};
    struct sbt_writer *w = NULL;
    int error = sbt_writer_create(&w, path, &session, NULL);

    if (!error)
        error = sbt_writer_metadata(w, "bench", "seek");
    if (!error)
        error = sbt_writer_schema(w, &schema);
    if (!error)
        error = write_records(w, count);
    if (!error)
        error = sbt_writer_finish(w, &totals, SBT_END_FINISHED);
    sbt_writer_destroy(w);
    return error;
}

static double decode_us(struct sbt_reader *r, struct sbt_packer *packer)
{
    size_t place = r->events[bench_random(&random_state) % r->events_count];
    struct sbt_rows rows = {0};
    uint8_t *payload;
    uint64_t begin = bench_thread_ns();

    if (sbt_reader_load(r, packer, place, &payload, false) != 0 ||
        sbt_rows_decode(&rows, &r->entries[place].head, payload) != NULL)
        exit(1);
    sbt_rows_finish(&rows);
    return (double)(bench_thread_ns() - begin) / 1e3;
}

static double seek_us(struct sbt_cursor *cursor, uint64_t count)
{
    uint64_t seq = bench_random(&random_state) % count, begin = bench_thread_ns();
    const struct sbt_record *record;

    if (sbt_cursor_seek(cursor, seq) != 0 || sbt_cursor_next(cursor, &record) != 1 ||
        record->seq != seq)
        exit(1);
    return (double)(bench_thread_ns() - begin) / 1e3;
}

int main(int argc, char **argv)
{
    static struct bench_samples decode, seek;
    const char *path = argc > 1 ? argv[1] : "seek.sbt";
    uint64_t count = argc > 2 ? strtoull(argv[2], NULL, 10) : 1u << 19;
    struct sbt_packer packer = {0};
    struct sbt_reader *reader;
    struct sbt_cursor *cursor;

    /* Memory that is given back to the system after each chunk would be part of the baseline only.
     */
    mallopt(M_MMAP_THRESHOLD, 1 << 28);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    if (make(path, count) != 0 || sbt_reader_open(&reader, path) != 0 ||
        sbt_cursor_create(&cursor, reader, NULL, 0) != 0) {
        fprintf(stderr, "%s: %s\n", path, tsm_error_message());
        return 1;
    }
    for (int i = 0; i < ROUNDS; i++) {
        bench_add(&decode, decode_us(reader, &packer));
        bench_add(&seek, seek_us(cursor, count));
    }
    bench_print_value("chunk_count", (double)reader->events_count);
    bench_print("decode_us", &decode);
    bench_print("seek_us", &seek);
    sbt_packer_finish(&packer);
    sbt_cursor_destroy(cursor);
    sbt_reader_destroy(reader);
    unlink(path);
    return 0;
}
