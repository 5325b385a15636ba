/* SPDX-License-Identifier: Apache-2.0
 *
 * Feeds bytes to salvage as the lanes file of a process that died: it must end, with a trace that
 * can be read or with an error, and what it made must need no second salvage.
 *
 * An input stands for a lanes file of three lanes with rings of 4096 bytes, without its zeros: the
 * first 240 bytes of the file's header, then for each lane the first 416 bytes of its header, a u16
 * n and n bytes of its ring; what is missing is zero. What the right values of are no secret, the
 * magic, the version, the session and the sizes, is put in when its first byte is not 0xff.
 */
#include "base/bytes.h"
#include "capture/lane/lane.h"
#include "capture/lane/salvage.h"
#include "format/events/rows.h"
#include "tracesmith/reader.h"
#include "tracesmith/writer.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RING_SIZE   4096u
#define LANE_COUNT  3u
#define LANE_STRIDE (TSM_LANE_HEADER_SIZE + RING_SIZE)
#define FILE_SIZE   (TSM_LANES_HEADER_SIZE + LANE_COUNT * LANE_STRIDE)
#define HEADER_PART 240u
#define LANE_PART   416u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char folder[32];
static char trace_path[64], lanes_path[80];
static const uint8_t session_id[16] = {1, 2, 3, 4, 5, 6, 0x47, 8, 0x89, 10, 11, 12, 13, 14, 15, 16};

static void check(bool ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "%s: %s\n", what, tsm_error_message());
    abort();
}

static void make_folder(void)
{
    /* In memory: salvage waits for the disk. */
    strcpy(folder,
           access("/dev/shm", W_OK) == 0 ? "/dev/shm/fuzz_lanes.XXXXXX" : "/tmp/fuzz_lanes.XXXXXX");
    check(mkdtemp(folder) != NULL, folder);
    snprintf(trace_path, sizeof(trace_path), "%s/t.sbt", folder);
    snprintf(lanes_path, sizeof(lanes_path), "%s.lanes", trace_path);
}

static void remove_folder(void)
{
    unlink(trace_path);
    unlink(lanes_path);
    rmdir(folder);
}

/* The beginning of a trace, as the process had written it. */
static void begin_trace(void)
{
    static const struct sbt_field fields[] = {
        {.name = "value", .type = SBT_FIELD_UINT, .detail = ""},
        {.name = "name", .type = SBT_FIELD_STRING, .detail = ""},
        {.name = "some", .type = SBT_FIELD_BYTES, .detail = ""},
        {.name = "more", .type = SBT_FIELD_BLOB, .detail = ""},
    };
    static const struct sbt_schema schema = {.type = SBT_TYPE(7, 1),
                                             .name = "call",
                                             .kind = SBT_KIND_COMMAND,
                                             .result_enum = "",
                                             .field_count = 4,
                                             .fields = fields};
    struct sbt_writer_options options = {.threads = 0};
    struct sbt_session session = {.clock = "monotonic", .start_monotonic_ns = 1000};
    struct sbt_writer *w;

    memcpy(session.id, session_id, sizeof(session.id));
    unlink(trace_path);
    check(sbt_writer_create(&w, trace_path, &session, &options) == 0, "create");
    check(sbt_writer_metadata(w, "process.pid", "1") == 0, "metadata");
    for (uint32_t i = 0; i <= SBT_CORE_FILTERED; i++) {
        if (sbt_core_schema(i))
            check(sbt_writer_schema(w, sbt_core_schema(i)) == 0, "schema");
    }
    check(sbt_writer_schema(w, &schema) == 0 && sbt_writer_flush(w) == 0, "schema");
    sbt_writer_destroy(w);
}

/* The same each time: made once. */
static void write_trace(void)
{
    static uint8_t bytes[1 << 16];
    static ssize_t size;
    int fd;

    if (!size) {
        begin_trace();
        fd = open(trace_path, O_RDONLY | O_CLOEXEC);
        size = read(fd, bytes, sizeof(bytes));
        check(size > 0 && size < (ssize_t)sizeof(bytes), trace_path);
        close(fd);
        return;
    }
    unlink(trace_path);
    fd = open(trace_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    check(fd >= 0 && write(fd, bytes, (size_t)size) == size, trace_path);
    close(fd);
}

static size_t take(struct tsm_view *in, uint8_t *out, size_t size)
{
    size_t n = tsm_view_left(in) < size ? (size_t)tsm_view_left(in) : size;

    if (n)
        memcpy(out, tsm_view_take(in, n), n);
    return n;
}

static void set_known(struct tsm_lanes_header *h)
{
    memcpy(h->magic, TSM_LANES_MAGIC, sizeof(h->magic));
    h->version = TSM_LANES_VERSION;
    h->first_lane_size = h->lane_size = RING_SIZE;
    memcpy(h->session_id, session_id, sizeof(h->session_id));
    h->lane_count = LANE_COUNT;
    h->clock[0].ns_per_tick = h->clock[1].ns_per_tick = 0.5;
}

static void write_lanes(const uint8_t *data, size_t size)
{
    static uint8_t file[FILE_SIZE] __attribute__((aligned(64)));
    struct tsm_view in = tsm_view_init(data, size);
    int fd = open(lanes_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    memset(file, 0, sizeof(file));
    take(&in, file, HEADER_PART);
    for (uint32_t i = 0; i < LANE_COUNT; i++) {
        uint8_t *lane = file + TSM_LANES_HEADER_SIZE + (size_t)i * LANE_STRIDE;
        uint8_t length[2] = {0};

        take(&in, lane, LANE_PART);
        take(&in, length, 2);
        take(&in, lane + TSM_LANE_HEADER_SIZE, tsm_get_u16(length) % (RING_SIZE + 1));
    }
    if (file[0] != 0xff)
        set_known((struct tsm_lanes_header *)(void *)file);
    check(fd >= 0 && write(fd, file, sizeof(file)) == (ssize_t)sizeof(file), lanes_path);
    close(fd);
}

static void read_all(void)
{
    const struct sbt_record *record;
    struct sbt_reader *reader;
    struct sbt_cursor *cursor;
    uint64_t count = 0;

    check(sbt_reader_open(&reader, trace_path) == 0, "open");
    check(sbt_reader_end(reader) == SBT_END_RECOVERED, "end");
    check(sbt_cursor_create(&cursor, reader, NULL, 0) == 0, "cursor");
    while (sbt_cursor_next(cursor, &record) == 1)
        check(record->seq == count++, "order");
    check(count == sbt_reader_totals(reader)->record_count, "all records");
    sbt_cursor_destroy(cursor);
    sbt_reader_destroy(reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tsm_salvage_result result;
    int done;

    if (!trace_path[0]) {
        make_folder();
        atexit(remove_folder);
    }
    write_trace();
    write_lanes(data, size);
    done = tsm_salvage(trace_path, &result);
    if (done == 1) {
        check(access(lanes_path, F_OK) != 0, "the lanes are still there");
        read_all();
    } else {
        check(done < 0 || result.unbegun, "nothing done");
    }
    return 0;
}
