/* SPDX-License-Identifier: Apache-2.0
 *
 * A large trace, and what opening it reads.
 *   bench_large write PATH GIB    one record and sixteen pieces of random bytes for each MiB
 *   bench_large open PATH         bytes read by opening and by reading the last record
 */
#include "base/hash.h"
#include "bench/measure.h"
#include "tracesmith/reader.h"
#include "tracesmith/writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PIECES 16u

static const struct sbt_field fields[] = {{"bytes", SBT_FIELD_BLOB, SBT_ROLE_PAYLOAD, ""}};
static const struct sbt_schema schema = {.type = SBT_TYPE(7, 1),
                                         .name = "copy",
                                         .result_enum = "",
                                         .kind = SBT_KIND_COMMAND,
                                         .field_count = 1,
                                         .fields = fields};

static int write_records(struct sbt_writer *w, uint64_t count)
{
    static uint64_t bytes[PIECES * SBT_PIECE_SIZE / 8];
    uint8_t reference[SBT_BLOB_ENCODED_SIZE(sizeof(bytes))];
    uint64_t random = BENCH_SEED, slot = sizeof(reference);
    struct sbt_record r = {.type = schema.type,
                           .thread = 1,
                           .slot_count = 1,
                           .slots = &slot,
                           .data = reference,
                           .data_size = sizeof(reference)};
    int error = 0;

    for (; r.seq < count && !error; r.seq++) {
        for (size_t i = 0; i < sizeof(bytes) / 8; i++)
            bytes[i] = bench_random(&random);
        error = sbt_writer_blob(w, bytes, sizeof(bytes), reference);
        r.time_ns += 100000;
        r.position = r.seq + 1;
        if (!error)
            error = sbt_writer_record(w, &r);
    }
    return error;
}

static int make(const char *path, uint64_t gib)
{
    struct sbt_session session = {.clock = "monotonic"};
    struct sbt_writer_options options = {.threads = 1};
    struct sbt_totals totals = {0};
    struct sbt_writer *w = NULL;
    int error = sbt_writer_create(&w, path, &session, &options);

    if (!error)
        error = sbt_writer_metadata(w, "bench", "large");
    if (!error)
        error = sbt_writer_schema(w, &schema);
    if (!error)
        error = write_records(w, gib << 10);
    if (!error)
        error = sbt_writer_finish(w, &totals, SBT_END_FINISHED);
    sbt_writer_destroy(w);
    return error;
}

static int open_it(const char *path)
{
    static uint8_t bytes[PIECES * SBT_PIECE_SIZE];
    uint64_t begin = tsm_monotonic_ns();
    const struct sbt_record *record;
    struct sbt_reader *reader;
    struct sbt_cursor *cursor = NULL;
    struct sbt_blob blob;
    int error = sbt_reader_open(&reader, path);

    if (error)
        return error;
    bench_print_value("open_ms", (double)(tsm_monotonic_ns() - begin) / 1e6);
    bench_print_value("open_bytes", (double)sbt_reader_bytes_read(reader));
    error = sbt_cursor_create(&cursor, reader, NULL, 0);
    if (!error)
        error = sbt_cursor_seek(cursor, sbt_reader_totals(reader)->record_count - 1);
    if (!error && (sbt_cursor_next(cursor, &record) != 1 || !sbt_record_blob(record, 0, &blob)))
        error = TSM_E_FORMAT;
    if (!error)
        error = sbt_reader_blob(reader, &blob, 0, bytes, sizeof(bytes));
    bench_print_value("last_record_ms", (double)(tsm_monotonic_ns() - begin) / 1e6);
    sbt_cursor_destroy(cursor);
    sbt_reader_destroy(reader);
    return error;
}

int main(int argc, char **argv)
{
    int error = TSM_E_ARGUMENT;

    if (argc == 4 && strcmp(argv[1], "write") == 0)
        error = make(argv[2], strtoull(argv[3], NULL, 10));
    else if (argc == 3 && strcmp(argv[1], "open") == 0)
        error = open_it(argv[2]);
    if (error)
        fprintf(stderr, "bench_large: %s\n", tsm_error_message());
    return error ? 1 : 0;
}
