/* SPDX-License-Identifier: Apache-2.0
 *
 * A thread's records reach the trace in the order in which they lie in its lane. Those that did
 * after the last recorded flush are the first ones there, thread by thread, and are skipped. So a
 * salvage that was cut off itself is simply done again, and a damaged lane shifts no other's
 * records.
 */
#include "capture/lane/salvage.h"

#include "base/file.h"
#include "base/text.h"
#include "capture/call/declare.h"
#include "capture/lane/merge.h"
#include "format/chunk/chunk.h"
#include "format/values/descriptions.h"
#include "tracesmith/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define ALONE_SIZE (1u << 20) /* of lanes, whose records take less time than to start a thread */

struct salvage {
    const char *trace_path;
    char lanes_path[4200], new_path[4200], types_path[4200];
    int fd;
    const uint8_t *memory;
    uint64_t size;
    const struct tsm_lanes_header *header;
    struct tsm_merge merge;
    uint64_t present; /* records in the trace before */
    struct tsm_salvage_result result;
};

/* Offset of a lane's header. */
static uint64_t lane_at(const struct tsm_lanes_header *h, uint32_t index)
{
    uint64_t first = TSM_LANES_HEADER_SIZE;

    if (index == 0)
        return first;
    return first + TSM_LANE_HEADER_SIZE + h->first_lane_size +
           (index - 1) * (TSM_LANE_HEADER_SIZE + h->lane_size);
}

static const struct tsm_lane_header *lane_header(const struct salvage *s, uint32_t index)
{
    return (const struct tsm_lane_header *)(const void *)(s->memory + lane_at(s->header, index));
}

static bool size_is_sound(uint64_t size)
{
    return size >= 4096 && size <= TSM_LANE_SIZE_MAX && (size & (size - 1)) == 0;
}

/* A lanes file that somebody else may have written is not brought into a trace of ours, and not
 * removed. */
static int open_own(struct salvage *s, struct stat *st)
{
    const char *why;

    s->fd = tsm_file_open_own(s->lanes_path, O_RDWR, st, &why);
    if (s->fd >= 0)
        return 1;
    if (errno == ENOENT)
        return 0;
    return tsm_fail(TSM_E_IO,
                    "%s: what a recording left there is used only by the user who recorded, and if "
                    "no other user can have written it: it %s",
                    s->lanes_path, why);
}

/* 1: the lanes file is open and locked, and so the names beside it are ours. */
static int lock_lanes(struct salvage *s, struct stat *st)
{
    for (;;) {
        int result = open_own(s, st);
        if (result <= 0)
            return result;
        if (flock(s->fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
            s->result.running = true;
            return 0;
        }
        /* Another salvager may have been done with it meanwhile, and a new recording may have taken
         * the name. */
        if (tsm_file_is_named(s->fd, s->lanes_path) && fstat(s->fd, st) == 0)
            return 1;
        close(s->fd);
        s->fd = -1;
    }
}

/* Removes what a recording left beside the trace, and nothing that somebody else may have put
 * there. */
static void remove_own(const char *path)
{
    const char *why;
    struct stat st;
    int fd = tsm_file_open_own(path, O_RDONLY, &st, &why);

    if (fd >= 0 && sbt_file_is_trace(fd))
        tsm_file_remove(AT_FDCWD, path, fd);
    if (fd >= 0)
        close(fd);
}

/* 1 when there is something to salvage. */
static int open_lanes(struct salvage *s)
{
    struct stat st;
    int result = lock_lanes(s, &st);

    if (result <= 0)
        return result;
    s->size = (uint64_t)st.st_size;
    if (s->size < TSM_LANES_HEADER_SIZE)
        return 1;
    s->memory = mmap(NULL, s->size, PROT_READ, MAP_SHARED, s->fd, 0);
    if (s->memory == MAP_FAILED) {
        s->memory = NULL;
        return tsm_fail(TSM_E_IO, "%s: cannot map: %s", s->lanes_path, tsm_errno_text(errno));
    }
    s->header = (const struct tsm_lanes_header *)(const void *)s->memory;
    return 1;
}

/* The trace gets its name, and the lanes their magic, only when the first call may be recorded: see
 * capture/process/output.c. A trace under its name that lacks the magic is an older one. */
static bool is_unbegun(const struct salvage *s)
{
    return s->size == 0 || s->header->magic[0] == '\0' ||
           (access(s->trace_path, F_OK) != 0 && access(s->new_path, F_OK) == 0);
}

static int check_header(const struct salvage *s)
{
    const struct tsm_lanes_header *h = s->header;
    double rate;

    if (h->version != TSM_LANES_VERSION)
        return tsm_fail(TSM_E_VERSION, "%s: lanes of version %u, this build reads %u",
                        s->lanes_path, h->version, TSM_LANES_VERSION);
    rate = h->clock[h->clock_epoch & 1].ns_per_tick;
    if (!(rate >= 0 && rate < 1e6))
        return tsm_fail(TSM_E_FORMAT, "%s: damaged", s->lanes_path);
    if (!size_is_sound(h->first_lane_size) || !size_is_sound(h->lane_size) || h->lane_count == 0 ||
        h->lane_count > TSM_LANE_COUNT_MAX || lane_at(h, h->lane_count) > s->size)
        return tsm_fail(TSM_E_FORMAT, "%s: damaged", s->lanes_path);
    return 0;
}

/* 1: the recorder wrote the trace's end, after all that was in the lanes; 0: somebody else did, who
 * may not have known of them, or nobody, or
 * the disk refused it later. */
static int check_trace(const struct salvage *s)
{
    struct sbt_reader *reader;
    int result = sbt_reader_open(&reader, s->trace_path);

    if (result)
        return result;
    if (memcmp(sbt_reader_session(reader)->id, s->header->session_id, 16) != 0)
        result =
            tsm_fail(TSM_E_FORMAT, "%s: of another session than %s", s->lanes_path, s->trace_path);
    else
        result = sbt_reader_end(reader) == SBT_END_FINISHED && !s->header->stopped[0];
    sbt_reader_destroy(reader);
    return result;
}

static int add_lane(struct salvage *s, uint32_t index)
{
    const struct tsm_lane_header *h = lane_header(s, index);
    const uint8_t *ring = (const uint8_t *)h + TSM_LANE_HEADER_SIZE;
    uint64_t size = index == 0 ? s->header->first_lane_size : s->header->lane_size;
    struct tsm_merge_lane *lane;
    int error = tsm_merge_add_lane(&s->merge, ring, size);

    if (error)
        return error;
    lane = &s->merge.lanes[index];
    lane->read = lane->scanned = h->flushed[s->header->flush_epoch & 1];
    lane->limit = h->head;
    if (lane->limit < lane->read || lane->limit - lane->read > size) {
        lane->limit = lane->read;
        lane->torn = true;
    }
    return 0;
}

/* Whose records are in the trace from `seq` on. */
static int note_there(struct salvage *s, uint64_t seq)
{
    struct sbt_reader *reader = NULL;
    struct sbt_cursor *cursor = NULL;
    const struct sbt_record *record;
    int error = sbt_reader_open(&reader, s->trace_path);

    if (!error)
        error = sbt_cursor_create(&cursor, reader, NULL, 0);
    if (!error)
        error = sbt_cursor_seek(cursor, seq);
    while (error >= 0 && (error = sbt_cursor_next(cursor, &record)) > 0) {
        bool added;
        uint64_t *count = tsm_map_insert(&s->merge.there, record->thread, &added);
        if (!count)
            error = tsm_fail(TSM_E_MEMORY, "out of memory");
        else
            ++*count;
    }
    sbt_cursor_destroy(cursor);
    sbt_reader_destroy(reader);
    return error;
}

/* Describes the record types that may be in the lanes and are not described in the trace yet: see
 * capture/call/declare.h. */
static int describe(struct salvage *s)
{
    struct sbt_reader *reader = NULL;
    char path[32];
    const char *why;
    struct stat st;
    int error, fd = tsm_file_open_own(s->types_path, O_RDONLY, &st, &why);

    if (fd < 0)
        return 0; /* what another user wrote describes nothing here */
    tsm_format(path, sizeof(path), "/proc/self/fd/%d", fd);
    error = sbt_reader_open(&reader, path);
    close(fd);
    /* Cut off while it was written, so that no record needed it yet; or lost with the system's
     * memory: records that need it are written as unknown ones. */
    if (error == TSM_E_FORMAT || error == TSM_E_CHECKSUM)
        return 0;
    if (!error && memcmp(sbt_reader_session(reader)->id, s->header->session_id, 16) == 0)
        error = sbt_descriptions_copy(s->merge.writer, reader);
    sbt_reader_destroy(reader);
    return error;
}

static int set_up_merge(struct salvage *s)
{
    const struct tsm_lanes_header *h = s->header;
    struct sbt_writer_options options = {
        .append = true, .durable = true, .takes_contents = true, .threads = s->size > ALONE_SIZE};
    struct tsm_merge *m = &s->merge;
    uint64_t flushed = h->flushed[h->flush_epoch & 1];
    int error = sbt_writer_create(&m->writer, s->trace_path, NULL, &options);

    if (error)
        return error;
    s->present = sbt_writer_record_count(m->writer);
    /* Records that were cut off are in the lanes, except those that the lanes had given up
     * already. */
    sbt_writer_lost(m->writer, flushed > s->present ? flushed - s->present : 0);
    s->result.lost_count = flushed > s->present ? flushed - s->present : 0;
    m->record_count = s->present;
    error = describe(s);
    if (!error)
        error = note_there(s, flushed);
    m->cut = h->cut;
    m->kept_out = h->kept_out;
    m->clock = h->clock[h->clock_epoch & 1];
    m->start_ns = h->start_monotonic_ns;
    for (uint32_t i = 0; i < h->lane_count && !error; i++)
        error = add_lane(s, i);
    return error;
}

static int merge_all(struct salvage *s)
{
    struct tsm_merge *m = &s->merge;
    int error = tsm_merge_definitions(m, m->lanes[0].limit);

    for (uint32_t i = 1; i < m->lane_count && !error; i++)
        error = tsm_merge_pieces(m, &m->lanes[i], m->lanes[i].limit);
    if (!error)
        error = tsm_merge_records(m, UINT64_MAX);
    return error;
}

/* Say what is lost. */
static void count_torn(struct salvage *s, struct tsm_merge_ending *ending)
{
    struct tsm_merge *m = &s->merge;

    for (uint32_t i = 0; i < m->lane_count; i++) {
        if (!m->lanes[i].torn)
            continue;
        s->result.torn_count++;
        tsm_merge_ending_torn(ending, m, &m->lanes[i]);
    }
}

static int write_rest(struct salvage *s)
{
    struct tsm_merge *m = &s->merge;
    struct tsm_merge_ending ending = {0};
    uint64_t before;
    int error = merge_all(s);

    before = m->record_count;
    for (uint32_t i = 1; i < m->lane_count && !error; i++) {
        error = tsm_merge_unfinished(m, lane_header(s, i), 0);
        tsm_merge_ending_add(&ending, lane_header(s, i));
    }
    s->result.unfinished_count = m->record_count - before;
    count_torn(s, &ending);
    if (!error)
        error = tsm_merge_end(m, &ending, s->header, SBT_END_RECOVERED);
    s->result.record_count = m->record_count - s->present;
    return error;
}

static int salvage(struct salvage *s)
{
    int result = open_lanes(s), done = 0;

    if (result <= 0)
        return result;
    if (!tsm_lanes_are_ours(s->header, s->size))
        return tsm_fail(TSM_E_FORMAT, "%s: not a lanes file", s->lanes_path);
    if (is_unbegun(s)) {
        s->result.unbegun = true;
        remove_own(s->new_path);
        remove_own(s->types_path);
        tsm_file_remove(AT_FDCWD, s->lanes_path, s->fd);
        return 0;
    }
    result = check_header(s);
    if (result)
        return result;
    s->result.pid = s->header->pid;
    tsm_format(s->result.stopped, sizeof(s->result.stopped), "%.*s",
               (int)strnlen(s->header->stopped, sizeof(s->header->stopped)), s->header->stopped);
    result = check_trace(s);
    if (result == 0) {
        result = set_up_merge(s);
        if (!result)
            result = write_rest(s);
        if (!result)
            done = 1;
    }
    if (result >= 0) {
        remove_own(s->types_path);
        tsm_file_remove(AT_FDCWD, s->lanes_path, s->fd);
    }
    return result < 0 ? result : done;
}

int tsm_salvage(const char *trace_path, struct tsm_salvage_result *result)
{
    struct salvage s = {.trace_path = trace_path, .fd = -1};
    int done;

    if (tsm_format(s.lanes_path, sizeof(s.lanes_path), "%s.lanes", trace_path) !=
        strlen(trace_path) + 6)
        return tsm_fail(TSM_E_ARGUMENT, "%s: the path is too long", trace_path);
    tsm_format(s.types_path, sizeof(s.types_path), "%s" TSM_DECLARE_SUFFIX, trace_path);
    tsm_format(s.new_path, sizeof(s.new_path), "%s.new", trace_path);
    done = salvage(&s);
    sbt_writer_destroy(s.merge.writer);
    tsm_merge_finish(&s.merge);
    if (s.memory)
        munmap((void *)(uintptr_t)s.memory, s.size);
    if (s.fd >= 0)
        close(s.fd);
    if (result)
        *result = s.result;
    return done;
}
