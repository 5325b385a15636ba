/* SPDX-License-Identifier: Apache-2.0
 *
 * Repairs a trace in its place. What is damaged at its end is cut off, and the index is written
 * again. What is damaged between sound chunks becomes VOID chunks: only the headers are written, the
 * rest of the bytes stays, and later chunks can be found from there on without looking for
 * them.
 */
#include "base/buffer.h"
#include "base/hash.h"
#include "base/text.h"
#include "format/limits.h"
#include "format/read/state.h"
#include "format/events/rows.h"
#include "format/write/state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

/* Bytes that become a VOID chunk. */
struct hole {
    uint64_t offset, end;
    struct sbt_chunk head; /* payload_hash and sizes are found when it is written */
};

/* State of the trace, found before it is opened for writing. */
struct finding {
    enum sbt_end end;
    struct sbt_totals totals;
    uint64_t lost_bytes;
    uint64_t lost_records; /* after the last record that stays */
    bool is_whole, has_metadata;
    bool is_in_place;        /* what is damaged is more than the end, or it is the index */
    bool is_cut;             /* chunks at the end are damaged that are no index */
    struct tsm_buffer holes; /* struct hole[] */
    uint64_t kept_end;       /* where the chunks end that stay */
};

static size_t hole_count(const struct finding *f)
{
    return f->holes.size / sizeof(struct hole);
}

static const struct hole *hole_at(const struct finding *f, size_t i)
{
    return (const struct hole *)(const void *)f->holes.data + i;
}

/* ---- what is damaged ---- */

/* Unpacks a chunk, and decodes its records: damage is said, and noted in the entry. */
static int vet(struct sbt_reader *r, size_t place)
{
    const struct sbt_chunk *head = &r->entries[place].head;
    struct sbt_rows rows;
    uint8_t *payload;
    const char *wrong;
    int error = sbt_reader_load(r, &r->packer, place, &payload, false);

    if (error)
        return error == TSM_E_CHECKSUM ? 0 : error;
    if (head->type != SBT_CHUNK_EVENTS) {
        free(payload);
        return 0;
    }
    wrong = sbt_rows_decode(&rows, head, payload);
    if (!wrong)
        sbt_rows_finish(&rows);
    else if (wrong != sbt_no_memory)
        sbt_reader_blame(r, place, wrong, false);
    return wrong == sbt_no_memory ? tsm_fail(TSM_E_MEMORY, "%s: out of memory", r->name) : 0;
}

/* The next EVENTS chunk that stays, at or after `place`: its first record; UINT64_MAX: there is
 * none. */
static uint64_t next_record(const struct sbt_reader *r, size_t place, size_t end)
{
    for (size_t i = place; i < end; i++)
        if (r->entries[i].head.type == SBT_CHUNK_EVENTS && !r->entries[i].damaged)
            return r->entries[i].head.first_seq;
    return UINT64_MAX;
}

/* The chunks [first, next) go, and what lies around them, between two that stay. `due`: the record
 * that comes next; moved after those that are lost. */
static void add_hole(struct finding *f, const struct sbt_reader *r, size_t first, size_t next,
                     size_t end, uint64_t *due)
{
    const struct sbt_entry *before = &r->entries[first - 1], *behind = &r->entries[next];
    uint64_t record = next_record(r, next, end);
    uint32_t number = sbt_chunk_first_number(&behind->head) - 1, known = 0;
    struct hole hole = {.offset = sbt_entry_end(before), .end = behind->info.offset};

    if (number < before->head.number || number > behind->head.number)
        number = before->head.number; /* after is a VOID that stands for chunks that are there */
    hole.head = (struct sbt_chunk){.type = SBT_CHUNK_VOID,
                                   .number = number,
                                   .session = r->session_word,
                                   .count = number - before->head.number,
                                   .first_seq = *due,
                                   .last_seq = *due};
    for (size_t i = first; i < next; i++)
        known += sbt_chunk_is_index(r->entries[i].head.type);
    if (record != UINT64_MAX && record > *due)
        *due = hole.head.last_seq = record;
    if (hole.head.count > known || hole.head.last_seq > hole.head.first_seq)
        hole.head.flags = SBT_CHUNK_NOTABLE;
    if (hole.end - hole.offset >= SBT_CHUNK_HEADER_SIZE)
        tsm_buffer_add(&f->holes, &hole, sizeof(hole));
}

/* Holes among the first `end` chunks, of which the last is sound and no index. An index in the
 * middle names what is not there any more: it goes, too. */
static void find_holes(struct finding *f, const struct sbt_reader *r, size_t end)
{
    uint64_t due = 0;

    for (size_t i = 1, next; i < end; i = next + 1) {
        const struct sbt_entry *e = &r->entries[i - 1];
        if (e->head.type == SBT_CHUNK_EVENTS)
            due = e->head.last_seq + 1;
        if (e->head.type == SBT_CHUNK_VOID && e->head.last_seq > due)
            due = e->head.last_seq;
        for (next = i; next < end; next++) {
            const struct sbt_entry *n = &r->entries[next];
            bool is_behind = hole_count(f) || next > i || n->info.offset > sbt_entry_end(e);
            if (!n->damaged && !(is_behind && sbt_chunk_is_index(n->head.type)))
                break;
        }
        if (next > i || (next < end && r->entries[next].info.offset > sbt_entry_end(e)))
            add_hole(f, r, i, next, end, &due);
    }
}

/* The number of chunks without the index at the end, and without what is damaged there. */
static size_t body_count(struct finding *f, const struct sbt_reader *r, size_t sound)
{
    while (sound > 1 &&
           (sbt_chunk_is_index(r->entries[sound - 1].head.type) || r->entries[sound - 1].damaged)) {
        const struct sbt_entry *last = &r->entries[--sound];
        f->is_in_place |= last->damaged;
        f->is_cut |= last->damaged && !sbt_chunk_is_index(last->head.type);
    }
    return sound;
}

static uint64_t record_end(const struct sbt_reader *r, size_t count)
{
    while (count > 0 && r->entries[count - 1].head.type != SBT_CHUNK_EVENTS)
        count--;
    return count ? r->entries[count - 1].head.last_seq + 1 : 0;
}

static int look_for_holes(struct finding *f, struct sbt_reader *r, size_t sound)
{
    size_t body;
    uint64_t had = record_end(r, r->entry_count), has;
    int error = 0;

    for (size_t i = 1; i < sound && !error; i++)
        error = vet(r, i);
    if (error)
        return error;
    body = body_count(f, r, sound);
    find_holes(f, r, body);
    if (f->holes.failed)
        return tsm_fail(TSM_E_MEMORY, "%s: out of memory", r->name);
    f->is_in_place |= hole_count(f) > 0;
    f->is_whole = r->has_trailer && sound == r->entry_count && !f->is_in_place;
    f->kept_end = sbt_entry_end(&r->entries[body - 1]);
    has = record_end(r, body);
    had = had > r->said_count ? had : r->said_count;
    f->lost_records = had > has ? had - has : 0;
    return 0;
}

static int inspect(const char *path, struct finding *out)
{
    struct sbt_reader *r;
    size_t sound = 0;
    int error = sbt_reader_open(&r, path);

    if (error)
        return error;
    if (r->more_sessions)
        error = tsm_fail(TSM_E_UNSUPPORTED, "%s: holds several sessions; split it first", path);
    if (!error)
        error = sbt_reader_sound_count(r, &sound);
    if (!error)
        error = look_for_holes(out, r, sound);
    if (!error) {
        uint64_t end = sound < r->entry_count ? sbt_entry_end(&r->entries[sound - 1])
                       : out->is_cut          ? out->kept_end
                                              : r->whole_end;
        out->end = r->totals_known && !out->is_cut ? r->end : SBT_END_CUT;
        out->totals = *sbt_reader_totals(r);
        out->lost_bytes = r->size - end;
    }
    for (size_t i = 0; i < sound; i++)
        out->has_metadata |=
            r->entries[i].head.type == SBT_CHUNK_METADATA && !r->entries[i].damaged;
    sbt_reader_destroy(r);
    return error;
}

/* ---- repair in place ---- */

/* Former content of the file: a repair that fails restores it. */
struct undo {
    struct tsm_buffer headers; /* SBT_CHUNK_HEADER_SIZE bytes for each VOID chunk */
    struct tsm_buffer offsets; /* uint64_t[]: where they were */
    struct tsm_buffer tail;    /* after kept_end; empty: too much */
    bool has_tail;
};

static int read_exactly(int fd, const char *path, uint64_t offset, void *out, size_t size)
{
    uint8_t *at = out;

    while (size) {
        ssize_t n = pread(fd, at, size, (off_t)offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return tsm_fail(TSM_E_IO, "%s: cannot read: %s", path,
                            n ? strerror(errno) : "it became shorter");
        at += n;
        offset += (uint64_t)n;
        size -= (size_t)n;
    }
    return 0;
}

static int write_exactly(int fd, const char *path, uint64_t offset, const void *in, size_t size)
{
    const uint8_t *at = in;

    while (size) {
        ssize_t n = pwrite(fd, at, size, (off_t)offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return tsm_fail(TSM_E_IO, "%s: cannot write: %s", path, strerror(errno));
        at += n;
        offset += (uint64_t)n;
        size -= (size_t)n;
    }
    return 0;
}

static int write_void(int fd, const char *path, struct sbt_chunk *head, uint64_t offset,
                      uint64_t size, struct undo *undo)
{
    uint8_t header[SBT_CHUNK_HEADER_SIZE], *bytes = malloc(size);
    int error = bytes ? read_exactly(fd, path, offset, bytes, size)
                      : tsm_fail(TSM_E_MEMORY, "%s: out of memory", path);

    if (!error) {
        head->raw_size = head->stored_size = (uint32_t)(size - SBT_CHUNK_HEADER_SIZE);
        head->payload_hash = tsm_hash64(bytes + SBT_CHUNK_HEADER_SIZE, head->stored_size);
        sbt_chunk_put(header, head);
        tsm_buffer_add(&undo->headers, bytes, sizeof(header));
        tsm_buffer_add(&undo->offsets, &offset, sizeof(offset));
        error = undo->headers.failed || undo->offsets.failed
                    ? tsm_fail(TSM_E_MEMORY, "%s: out of memory", path)
                    : write_exactly(fd, path, offset, header, sizeof(header));
    }
    free(bytes);
    return error;
}

/* A hole that is larger than a chunk can be becomes several, of which the last one stands for all.
 */
static int fill_hole(int fd, const char *path, const struct hole *hole, struct undo *undo)
{
    const uint64_t most = SBT_CHUNK_HEADER_SIZE + SBT_CHUNK_RAW_MAX;
    uint64_t offset = hole->offset;
    struct sbt_chunk head = hole->head;
    int error = 0;

    head.number -= head.count;
    head.count = head.flags = 0;
    head.last_seq = head.first_seq;
    while (!error && hole->end - offset > most) {
        error = write_void(fd, path, &head, offset, most - SBT_CHUNK_HEADER_SIZE, undo);
        offset += most - SBT_CHUNK_HEADER_SIZE;
    }
    head = hole->head;
    return error ? error : write_void(fd, path, &head, offset, hole->end - offset, undo);
}

static int begin_undo(int fd, const char *path, const struct finding *f, struct undo *undo)
{
    off_t size = lseek(fd, 0, SEEK_END);
    uint64_t left = size < 0 || (uint64_t)size < f->kept_end ? 0 : (uint64_t)size - f->kept_end;
    uint8_t *bytes = left <= SBT_CHUNK_RAW_MAX ? tsm_buffer_reserve(&undo->tail, left) : NULL;

    undo->has_tail = bytes != NULL;
    undo->tail.size = bytes ? left : 0;
    return bytes ? read_exactly(fd, path, f->kept_end, bytes, left) : 0;
}

/* The message of what went wrong stays. */
static void put_back(int fd, const struct finding *f, const struct undo *undo)
{
    const uint64_t *offsets = (const void *)undo->offsets.data;
    size_t count = undo->offsets.size / sizeof(*offsets);
    char message[256];
    bool is_back;

    tsm_format(message, sizeof(message), "%s", tsm_error_message());
    is_back = ftruncate(fd, (off_t)f->kept_end) == 0;
    for (size_t i = count; i-- > 0 && is_back;)
        is_back = write_exactly(fd, "", offsets[i], undo->headers.data + i * SBT_CHUNK_HEADER_SIZE,
                                SBT_CHUNK_HEADER_SIZE) == 0;
    if (is_back && undo->has_tail)
        write_exactly(fd, "", f->kept_end, undo->tail.data, undo->tail.size);
    tsm_fail(TSM_E_IO, "%s", message);
}

static int finish_repair(struct sbt_writer *w, const struct finding *f)
{
    int error = 0;

    if (f->is_in_place) { /* the trailer that said so was cut off */
        if (w->totals.lost_count < f->totals.lost_count)
            w->totals.lost_count = f->totals.lost_count;
        if (w->totals.filtered_count < f->totals.filtered_count)
            w->totals.filtered_count = f->totals.filtered_count;
        sbt_writer_lost(w, f->lost_records);
    }
    if (!f->has_metadata)
        error = sbt_writer_metadata(w, "trace.recovered", "true");
    return error ? error : sbt_writer_finish(w, NULL, f->end);
}

static int repair_end(int fd, const char *path, const struct finding *f)
{
    struct sbt_writer_options options = {.append = true, .durable = true};
    struct sbt_writer *w;
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0), error;

    if (copy < 0)
        return tsm_fail(TSM_E_IO, "%s: cannot write: %s", path, strerror(errno));
    error = sbt_writer_resume(&w, copy, path, &options);
    if (error)
        return error;
    error = finish_repair(w, f);
    sbt_writer_destroy(w);
    return error;
}

static int repair_in_place(int fd, const char *path, const struct finding *f)
{
    struct undo undo = {0};
    int error = begin_undo(fd, path, f, &undo);

    if (!error && ftruncate(fd, (off_t)f->kept_end) != 0)
        error = tsm_fail(TSM_E_IO, "%s: cannot cut off its end: %s", path, strerror(errno));
    for (size_t i = 0; i < hole_count(f) && !error; i++)
        error = fill_hole(fd, path, hole_at(f, i), &undo);
    if (!error)
        error = repair_end(fd, path, f);
    if (error)
        put_back(fd, f, &undo);
    tsm_buffer_finish(&undo.headers);
    tsm_buffer_finish(&undo.offsets);
    tsm_buffer_finish(&undo.tail);
    return error;
}

/* Fails if the lanes file or other parts of the trace have not been salvaged yet: a repair would
 * lose them. */
static int check_alone(const char *path)
{
    char lanes[4200];

    if (tsm_format(lanes, sizeof(lanes), "%s.lanes", path) != strlen(path) + 6 ||
        access(lanes, F_OK) != 0)
        return 0;
    return tsm_fail(
        TSM_E_STATE,
        "%s: holds records that are not in the trace yet; look at the trace with tsview "
        "first",
        lanes);
}

static int open_alone(const char *path)
{
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOCTTY);

    if (fd < 0)
        return tsm_fail(TSM_E_IO, "%s: cannot open: %s", path, strerror(errno));
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
        return fd;
    close(fd);
    return tsm_fail(TSM_E_STATE, "%s: is being written by another process; try again later", path);
}

int sbt_repair(const char *path, uint64_t *lost_bytes)
{
    struct finding found = {0};
    int error = check_alone(path), fd;

    *lost_bytes = 0;
    if (!error)
        error = inspect(path, &found);
    if (!error && !found.is_whole) {
        *lost_bytes = found.lost_bytes;
        fd = open_alone(path);
        error = fd < 0              ? fd
                : found.is_in_place ? repair_in_place(fd, path, &found)
                                    : repair_end(fd, path, &found);
        if (fd >= 0)
            close(fd);
        error = error ? error : 1;
    }
    tsm_buffer_finish(&found.holes);
    return error;
}
