/* SPDX-License-Identifier: Apache-2.0
 *
 * Continuing a trace that exists: after a crash, to drain what was left in memory, or to repair it.
 */
#include "format/write/state.h"

#include "base/bytes.h"
#include "base/hash.h"
#include "format/read/state.h"
#include "format/limits.h"
#include "format/values/names.h"
#include "format/chunk/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

/* Chunks that stay: all but index and trailer at the end. */
static size_t keep_count(const struct sbt_reader *r)
{
    size_t n = r->entry_count;

    while (n > 0 && sbt_chunk_is_index(r->entries[n - 1].head.type))
        n--;
    return n;
}

static int resume_schemas(struct sbt_writer *w, const struct sbt_reader *r)
{
    bool known;
    int error = 0;

    for (size_t i = 0; i < sbt_reader_schema_count(r) && !error; i++)
        error = sbt_writer_schema_note(w, sbt_reader_schema_at(r, i), &known);
    for (size_t i = 0; i < r->enum_count && !error; i++) {
        const struct sbt_enum *table = &r->enums[i].table;
        error = sbt_writer_note(w, &w->enums, "value table name", sbt_name_hash(table->name),
                                sbt_writer_enum_hash(table), &known);
    }
    for (size_t i = 0; i < sbt_reader_struct_count(r) && !error; i++)
        error = sbt_writer_struct_note(w, sbt_reader_struct_at(r, i), &known);
    return error;
}

static int resume_ids(struct sbt_writer *w, struct sbt_reader *r)
{
    const struct tsm_map *strings = &r->strings.places, *stacks = &r->stacks.places;
    bool added;
    int error = sbt_reader_load_ids(r);

    for (size_t i = 0; i < strings->capacity && !error; i++) {
        const char *text = (const char *)(uintptr_t)strings->slots[i].value;
        if (strings->slots[i].used)
            error = sbt_writer_note(w, &w->strings, "string id", strings->slots[i].key,
                                    tsm_hash64(text, strlen(text)), &added);
    }
    for (size_t i = 0; i < stacks->capacity && !error; i++) {
        const uint64_t *frames;
        int count;
        if (!stacks->slots[i].used)
            continue;
        count = sbt_reader_stack(r, (uint32_t)stacks->slots[i].key, &frames);
        error = count < 0 ? count
                          : sbt_writer_note(w, &w->stacks, "stack id", stacks->slots[i].key,
                                            tsm_hash64(frames, (size_t)count * 8), &added);
    }
    return error;
}

static int compare_places(const void *a, const void *b)
{
    const struct sbt_piece_place *x = a, *y = b;

    if (x->entry != y->entry)
        return x->entry < y->entry ? -1 : 1;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* The index has to list the pieces that no remaining PIECES chunk lists. */
static int relist_pieces(struct sbt_writer *w, const struct sbt_reader *r, size_t kept)
{
    struct sbt_piece_place *places = calloc(r->piece_count + 1, sizeof(*places));
    struct tsm_buffer entries = {0};
    size_t count = 0;

    if (!places)
        return tsm_fail(TSM_E_MEMORY, "%s: out of memory", r->name);
    for (size_t i = 0; i < r->piece_count; i++) {
        uint32_t lister = r->listed_by[r->pieces[i].entry];
        if ((lister == 0 || lister - 1 >= kept) && !r->entries[r->pieces[i].entry].damaged)
            places[count++] = r->pieces[i];
    }
    qsort(places, count, sizeof(*places), compare_places);
    for (size_t i = 0; i < count; i++) {
        bool last = i + 1 == count || places[i + 1].entry != places[i].entry;
        tsm_buffer_add(&entries, places[i].key.bytes, sizeof(places[i].key.bytes));
        tsm_buffer_add_u32(&entries, places[i].size);
        if (last && !entries.failed) {
            const struct sbt_chunk *head = &r->entries[places[i].entry].head;
            sbt_index_add_pieces(&w->index, head->number,
                                 (uint32_t)(entries.size / SBT_PIECE_ENTRY_SIZE), entries.data);
            tsm_buffer_clear(&entries);
        }
    }
    w->index.pieces.failed |= entries.failed;
    tsm_buffer_finish(&entries);
    free(places);
    return w->index.pieces.failed ? tsm_fail(TSM_E_MEMORY, "%s: out of memory", r->name) : 0;
}

static int resume_pieces(struct sbt_writer *w, struct sbt_reader *r, size_t kept)
{
    int error;

    pthread_mutex_lock(&r->lock);
    error = sbt_reader_pieces(r);
    pthread_mutex_unlock(&r->lock);
    for (size_t i = 0; i < r->piece_count && !error; i++) {
        const struct sbt_piece_place *place = &r->pieces[i];
        if (place->entry < kept && !r->entries[place->entry].damaged &&
            !sbt_keyset_has(&w->pieces, &place->key))
            sbt_keyset_add(&w->pieces, &place->key);
    }
    return error ? error : relist_pieces(w, r, kept);
}

/* ---- the index that is there ---- */

/* Tests whether this leaf names exactly the chunks that no leaf named yet. */
static bool is_our_leaf(struct sbt_writer *w, struct sbt_reader *r, size_t place)
{
    const struct sbt_chunk *head = &r->entries[place].head;
    const struct tsm_buffer *chunks = &w->index.chunks;
    struct tsm_buffer expected = {0};
    uint8_t *payload;
    bool is;

    if (head->type != SBT_CHUNK_INDEX ||
        head->raw_size != SBT_INDEX_HEAD_SIZE + (uint64_t)chunks->size ||
        sbt_reader_load(r, &r->packer, place, &payload, false) < 0)
        return false;
    sbt_index_put(&expected, SBT_INDEX_LEAF, chunks);
    is = !expected.failed && memcmp(expected.data, payload, expected.size) == 0;
    tsm_buffer_finish(&expected);
    free(payload);
    return is;
}

/* Leaves that are in the file are named again, so that a leaf need not hold more chunks than it
 * can. */
static void resume_index(struct sbt_writer *w, struct sbt_reader *r, size_t kept)
{
    for (size_t i = 0; i < kept; i++) {
        bool is_leaf = is_our_leaf(w, r, i);
        if (is_leaf)
            tsm_buffer_clear(&w->index.chunks);
        sbt_index_add(is_leaf ? &w->index.leaves : &w->index.chunks, &r->entries[i].head,
                      r->entries[i].info.offset);
        w->has_metadata |= r->entries[i].head.type == SBT_CHUNK_METADATA;
    }
    w->index.leaf_offset = sbt_queue_offset(&w->queue);
}

static int resume_state(struct sbt_writer *w, struct sbt_reader *r, size_t kept)
{
    int error;

    w->session = r->session_word;
    w->compact = (r->session.required_features & SBT_FEATURE_COMPACT) != 0;
    w->totals = *sbt_reader_totals(r);
    w->next_number = r->entries[kept - 1].head.number + 1;
    if (r->events_count)
        w->next_seq = r->entries[r->events[r->events_count - 1]].head.last_seq + 1;
    resume_index(w, r, kept);
    error = sbt_writer_set_contents(w, r->session.optional_features);
    if (!error)
        error = resume_schemas(w, r);
    if (!error)
        error = resume_ids(w, r);
    return error ? error : resume_pieces(w, r, kept);
}

/* ---- what stays of the file ---- */

struct remains {
    struct sbt_reader *reader;
    size_t kept;   /* chunks that stay */
    uint64_t end;  /* where the last of them ends */
    uint64_t lost; /* records that the trace had, after the last one that stays */
    bool is_cut;   /* chunks go that no index is: nobody knows of which there were more */
};

static int read_part(struct sbt_reader **out, int fd, const char *path, uint64_t size)
{
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    struct sbt_source source;
    int error;

    if (copy < 0)
        return tsm_fail(TSM_E_IO, "%s: cannot read: %s", path, strerror(errno));
    error = sbt_source_fd(&source, copy, path);
    if (error) {
        close(copy);
        return error;
    }
    sbt_source_cut(&source, size);
    return sbt_reader_open_source(out, &source, path);
}

static uint64_t record_end(const struct sbt_reader *r)
{
    return r->events_count ? r->entries[r->events[r->events_count - 1]].head.last_seq + 1 : 0;
}

/* Returns a time after which new records begin, but for calls that took long in parallel. */
static uint64_t last_time(const struct sbt_reader *r)
{
    return r->entries[r->events[r->events_count - 1]].head.last_time;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* The trailer's counts hold for all records that existed. */
static void count_again(struct sbt_reader *r)
{
    struct sbt_totals said = r->totals;

    sbt_reader_recount(r);
    if (!r->totals_known || r->totals.record_count == said.record_count)
        return;
    r->totals.lost_count = r->totals.filtered_count = r->totals.tainted_count = 0;
    sbt_reader_count_notable(r, &r->totals);
    r->totals.lost_count = larger(r->totals.lost_count, said.lost_count);
    r->totals.filtered_count = larger(r->totals.filtered_count, said.filtered_count);
}

/* Chunks after the sound ones described what is not there any more: only what comes before is
 * read. */
static int read_again(struct remains *m, int fd, const char *path)
{
    struct sbt_totals said = m->reader->totals;
    bool is_known = m->reader->totals_known;

    sbt_reader_destroy(m->reader);
    m->reader = NULL;
    int error = read_part(&m->reader, fd, path, m->end);
    if (error)
        return error;
    m->kept = keep_count(m->reader);
    if (is_known) {
        m->reader->totals.lost_count = larger(m->reader->totals.lost_count, said.lost_count);
        m->reader->totals.filtered_count =
            larger(m->reader->totals.filtered_count, said.filtered_count);
    }
    if (!m->kept)
        return tsm_fail(TSM_E_FORMAT, "%s: nothing of it is whole", path);
    m->end = sbt_entry_end(&m->reader->entries[m->kept - 1]);
    return 0;
}

static int find_remains(struct remains *m, int fd, const char *path)
{
    bool is_torn = false;
    uint64_t due;
    size_t sound;
    int error = read_part(&m->reader, fd, path, UINT64_MAX);

    if (!error && m->reader->more_sessions)
        error = tsm_fail(TSM_E_UNSUPPORTED, "%s: holds several sessions; split it first", path);
    if (!error)
        error = sbt_reader_sound_count(m->reader, &sound);
    if (error)
        return error;
    due = larger(m->reader->said_count, record_end(m->reader));
    m->kept = keep_count(m->reader);
    is_torn = sound < m->kept;
    m->is_cut = !m->reader->totals_known || is_torn;
    if (is_torn) {
        m->reader->entry_count = sound;
        m->kept = keep_count(m->reader);
    }
    if (!m->kept || m->reader->entries[0].head.number)
        return tsm_fail(TSM_E_FORMAT, "%s: nothing of it is whole", path);
    m->end = sbt_entry_end(&m->reader->entries[m->kept - 1]);
    if (is_torn)
        error = read_again(m, fd, path);
    else
        count_again(m->reader);
    if (!error && due > record_end(m->reader))
        m->lost = due - record_end(m->reader);
    return error;
}

/* Locks the trace, which two writers would ruin. File systems without locks get none. */
static int lock(int fd, const char *path)
{
    if (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        return tsm_fail(TSM_E_STATE, "%s: is being written by another process; try again later",
                        path);
    return 0;
}

/* Saves the index and the trailer, which a failure restores. */
static int keep_old_end(struct sbt_writer *w, const struct remains *m)
{
    uint64_t size = m->reader->size - m->end;
    uint8_t *bytes;

    if (!m->reader->has_trailer || m->is_cut)
        return 0;
    bytes = size < SBT_CHUNK_RAW_MAX ? tsm_buffer_reserve(&w->old_end, (size_t)size) : NULL;
    if (!bytes)
        return 0; /* a repair makes it again */
    w->old_end.size = (size_t)size;
    w->old_end_offset = m->end;
    return sbt_reader_read(m->reader, m->end, bytes, (size_t)size);
}

static int cut(int fd, const char *path, uint64_t size)
{
    if (ftruncate(fd, (off_t)size) != 0 || lseek(fd, (off_t)size, SEEK_SET) < 0)
        return tsm_fail(TSM_E_IO, "%s: cannot cut off its end: %s", path, strerror(errno));
    return 0;
}

/* The writer was cut off between the end of a checkpoint and the chunk that speaks of it. */
static bool ends_in_checkpoint(struct sbt_reader *r, size_t kept, struct sbt_checkpoint *out)
{
    const struct sbt_record *record;
    struct sbt_cursor *cursor = NULL;
    bool ends = false;

    if (r->entries[kept - 1].head.type == SBT_CHUNK_EVENTS &&
        sbt_cursor_create(&cursor, r, NULL, 0) == 0 && sbt_cursor_seek(cursor, UINT64_MAX) == 0 &&
        sbt_cursor_previous(cursor, &record) == 1)
        ends = sbt_checkpoint_of(record, out);
    sbt_cursor_destroy(cursor);
    return ends;
}

static int resume(struct sbt_writer *w, struct remains *m, int fd, const char *path,
                  const struct sbt_writer_options *options)
{
    struct sbt_checkpoint checkpoint;
    bool lacks_chunk = false;
    int error = lock(fd, path);

    if (!error)
        error = find_remains(m, fd, path);
    if (!error)
        error = sbt_writer_init(w, fd, path, m->end, options);
    if (!error)
        error = resume_state(w, m->reader, m->kept);
    if (!error)
        lacks_chunk = ends_in_checkpoint(m->reader, m->kept, &checkpoint);
    w->lost_count = m->lost;
    w->lost_first_ns = error || !m->reader->events_count ? 0 : last_time(m->reader);
    w->is_cut = m->is_cut;
    if (!error)
        error = keep_old_end(w, m);
    /* Only now, when nothing but the disk can fail, is the file changed. */
    if (!error)
        error = cut(fd, path, m->end);
    if (!error && lacks_chunk)
        error = sbt_writer_checkpoint(w, &checkpoint);
    return error;
}

int sbt_writer_resume(struct sbt_writer **out, int fd, const char *path,
                      const struct sbt_writer_options *options)
{
    struct sbt_writer *w = calloc(1, sizeof(*w));
    struct remains m = {0};
    int error;

    if (!w) {
        close(fd);
        return tsm_fail(TSM_E_MEMORY, "%s: out of memory", path);
    }
    w->queue.fd = fd;
    error = resume(w, &m, fd, path, options);
    sbt_reader_destroy(m.reader);
    if (error) {
        sbt_writer_destroy(w);
        return error;
    }
    *out = w;
    return 0;
}
