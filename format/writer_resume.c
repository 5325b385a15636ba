/* SPDX-License-Identifier: Apache-2.0
 *
 * Continuing a trace that exists: after a crash, to drain what was left in memory, or to repair it.
 */
#include "format/writer_state.h"

#include "base/bytes.h"
#include "base/hash.h"
#include "format/reader_state.h"
#include "format/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
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
        error = sbt_writer_note(w, &w->enums, "value table name",
                                tsm_hash64(table->name, strlen(table->name)),
                                sbt_writer_enum_hash(table), &known);
    }
    for (size_t i = 0; i < sbt_reader_struct_count(r) && !error; i++)
        error = sbt_writer_struct_note(w, sbt_reader_struct_at(r, i), &known);
    return error;
}

static int resume_ids(struct sbt_writer *w, struct sbt_reader *r)
{
    const struct sbt_map *strings = &r->strings.places, *stacks = &r->stacks.places;
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
        if (lister == 0 || lister - 1 >= kept)
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
        if (place->entry < kept && !sbt_keyset_has(&w->pieces, &place->key))
            sbt_keyset_add(&w->pieces, &place->key);
    }
    return error ? error : relist_pieces(w, r, kept);
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
    for (size_t i = 0; i < kept; i++) {
        sbt_index_add(&w->index.chunks, &r->entries[i].head, r->entries[i].info.offset);
        w->has_metadata |= r->entries[i].head.type == SBT_CHUNK_METADATA;
    }
    w->index.leaf_offset = sbt_queue_offset(&w->queue);
    error = resume_schemas(w, r);
    if (!error)
        error = resume_ids(w, r);
    return error ? error : resume_pieces(w, r, kept);
}

static int cut(int fd, const char *path, uint64_t size)
{
    if (ftruncate(fd, (off_t)size) != 0 || lseek(fd, (off_t)size, SEEK_SET) < 0)
        return tsm_fail(TSM_E_IO, "%s: cannot cut off its end: %s", path, strerror(errno));
    return 0;
}

static int open_for_resume(struct sbt_reader **out, int fd, const char *path)
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
    error = sbt_reader_open_source(out, &source, path);
    if (!error && (*out)->more_sessions) {
        sbt_reader_destroy(*out);
        return tsm_fail(TSM_E_UNSUPPORTED, "%s: holds several sessions; split it first", path);
    }
    return error;
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

int sbt_writer_resume(struct sbt_writer **out, int fd, const char *path,
                      const struct sbt_writer_options *options)
{
    struct sbt_writer *w = calloc(1, sizeof(*w));
    struct sbt_checkpoint checkpoint;
    struct sbt_reader *r = NULL;
    bool lacks_chunk = false;
    size_t kept = 0;
    uint64_t end = 0;
    int error;

    if (!w) {
        close(fd);
        return tsm_fail(TSM_E_MEMORY, "%s: out of memory", path);
    }
    error = open_for_resume(&r, fd, path);
    if (!error) {
        kept = keep_count(r);
        end = r->entries[kept - 1].info.offset + SBT_CHUNK_HEADER_SIZE +
              r->entries[kept - 1].head.stored_size;
    }
    w->queue.fd = fd;
    if (!error)
        error = sbt_writer_init(w, fd, path, end, options);
    if (!error)
        error = resume_state(w, r, kept);
    if (!error)
        lacks_chunk = ends_in_checkpoint(r, kept, &checkpoint);
    /* Only now, when nothing but the disk can fail, is the file changed. */
    if (!error)
        error = cut(fd, path, end);
    if (!error && lacks_chunk)
        error = sbt_writer_checkpoint(w, &checkpoint);
    sbt_reader_destroy(r);
    if (error) {
        sbt_writer_destroy(w);
        return error;
    }
    *out = w;
    return 0;
}
