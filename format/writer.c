/* SPDX-License-Identifier: Apache-2.0 */
#include "tracesmith/writer.h"

#include "base/bytes.h"
#include "base/hash.h"
#include "base/text.h"
#include "format/limits.h"
#include "format/writer_state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const uint16_t table_types[SBT_TABLE_COUNT] = {
    [SBT_TABLE_METADATA] = SBT_CHUNK_METADATA, [SBT_TABLE_SCHEMA] = SBT_CHUNK_SCHEMA,
    [SBT_TABLE_ENUMS] = SBT_CHUNK_ENUMS,       [SBT_TABLE_STRINGS] = SBT_CHUNK_STRINGS,
    [SBT_TABLE_STACKS] = SBT_CHUNK_STACKS,     [SBT_TABLE_MAPPINGS] = SBT_CHUNK_MAPPINGS,
};

/* ---- errors ---- */

static int writer_stick(struct sbt_writer *w, int error)
{
    if (error < 0 && !w->error) {
        w->error = error;
        tsm_format(w->message, sizeof(w->message), "%s", tsm_error_message());
    }
    return error;
}

static int writer_check(struct sbt_writer *w)
{
    if (w->error)
        return tsm_fail(w->error, "%s", w->message);
    if (w->finished)
        return tsm_fail(TSM_E_STATE, "%s: the trace is finished", w->queue.path);
    return 0;
}

/* ---- chunks ---- */

static void chunk_written(void *user, const struct sbt_chunk *head, uint64_t offset)
{
    struct sbt_writer *w = user;

    sbt_index_add(&w->index.chunks, head, offset);
}

static int writer_take(struct sbt_writer *w, uint16_t type, struct sbt_job **out)
{
    int error = sbt_queue_take(&w->queue, out);

    if (error)
        return error;
    if (w->next_number > SBT_CHUNK_NUMBER_MAX)
        return tsm_fail(TSM_E_LIMIT, "%s: too many chunks", w->queue.path);
    (*out)->head.type = type;
    (*out)->head.flags = SBT_CHUNK_CRITICAL;
    (*out)->head.session = w->session;
    (*out)->head.number = w->next_number++;
    return 0;
}

static void buffer_swap(struct tsm_buffer *a, struct tsm_buffer *b)
{
    struct tsm_buffer c = *a;
    *a = *b;
    *b = c;
}

/* METADATA is the second chunk, whatever is full first. */
static int metadata_first(struct sbt_writer *w);

static int table_flush(struct sbt_writer *w, enum sbt_writer_table which)
{
    struct sbt_table *t = &w->tables[which];
    struct sbt_job *job;
    int error;

    if (t->count == 0)
        return 0;
    error = which == SBT_TABLE_METADATA ? 0 : metadata_first(w);
    if (error)
        return error;
    error = writer_take(w, table_types[which], &job);
    if (error)
        return error;
    job->head.count = t->count;
    job->head.first_seq = t->first_id;
    job->head.last_seq = t->last_id;
    buffer_swap(&job->raw, &t->payload);
    sbt_table_clear(t);
    return sbt_queue_submit(&w->queue);
}

static int metadata_first(struct sbt_writer *w)
{
    return w->next_number == 1 ? table_flush(w, SBT_TABLE_METADATA) : 0;
}

static int blobs_flush(struct sbt_writer *w)
{
    uint32_t count = (uint32_t)(w->blob_directory.size / SBT_PIECE_ENTRY_SIZE);
    struct sbt_job *job;
    int error;

    if (count == 0)
        return 0;
    error = metadata_first(w);
    if (!error)
        error = writer_take(w, SBT_CHUNK_BLOBS, &job);
    if (error)
        return error;
    job->head.count = count;
    sbt_index_add_pieces(&w->index, job->head.number, count, w->blob_directory.data);
    tsm_buffer_add(&w->blob_bytes, w->blob_directory.data, w->blob_directory.size);
    buffer_swap(&job->raw, &w->blob_bytes);
    tsm_buffer_clear(&w->blob_bytes);
    tsm_buffer_clear(&w->blob_directory);
    return sbt_queue_submit(&w->queue);
}

static int batch_flush(struct sbt_writer *w)
{
    struct sbt_batch empty;
    struct sbt_job *job;
    int error;

    if (w->batch.count == 0)
        return 0;
    error = writer_take(w, SBT_CHUNK_EVENTS, &job);
    if (error)
        return error;
    job->head.flags |= w->span.flags;
    job->head.stream_end = w->span.stream_end;
    job->head.stream_set = w->span.stream_set;
    job->head.first_time = w->span.first_time;
    job->head.last_time = w->span.last_time;
    job->head.count = w->batch.count;
    job->head.first_seq = w->next_seq - w->batch.count;
    job->head.last_seq = w->next_seq - 1;
    empty = job->batch;
    job->batch = w->batch;
    w->batch = empty;
    w->span = (struct sbt_chunk){0};
    return sbt_queue_submit(&w->queue);
}

/* What records name goes before them, so that a trace cut anywhere names nothing that is missing.
 */
static int writer_flush_all(struct sbt_writer *w)
{
    int error = 0;

    for (int i = 0; !error && i < SBT_TABLE_COUNT; i++)
        error = table_flush(w, (enum sbt_writer_table)i);
    if (!error)
        error = blobs_flush(w);
    return error ? error : batch_flush(w);
}

/* ---- index ---- */

static int pieces_flush(struct sbt_writer *w)
{
    struct sbt_job *job;
    int error;

    if (w->index.piece_chunks == 0)
        return 0;
    error = writer_take(w, SBT_CHUNK_PIECES, &job);
    if (error)
        return error;
    job->head.count = w->index.piece_chunks;
    buffer_swap(&job->raw, &w->index.pieces);
    tsm_buffer_clear(&w->index.pieces);
    w->index.piece_chunks = 0;
    return sbt_queue_submit(&w->queue);
}

/* Write an INDEX chunk from `entries` and take its own entry out of the list of chunks: the level
 * above names it. */
static int index_write(struct sbt_writer *w, enum sbt_index_kind kind, struct tsm_buffer *entries,
                       struct tsm_buffer *entry)
{
    struct tsm_buffer *chunks = &w->index.chunks;
    struct sbt_job *job;
    int error = writer_take(w, SBT_CHUNK_INDEX, &job);

    if (error)
        return error;
    job->head.count = sbt_index_put(&job->raw, kind, entries);
    tsm_buffer_clear(entries);
    error = sbt_queue_submit(&w->queue);
    if (!error)
        error = sbt_queue_drain(&w->queue);
    if (error)
        return error;
    if (chunks->failed)
        return tsm_fail(TSM_E_MEMORY, "%s: out of memory for the index", w->queue.path);
    chunks->size -= SBT_INDEX_ENTRY_SIZE;
    tsm_buffer_add(entry, chunks->data + chunks->size, SBT_INDEX_ENTRY_SIZE);
    return 0;
}

static int leaf_write(struct sbt_writer *w)
{
    int error = pieces_flush(w);

    if (!error)
        error = sbt_queue_drain(&w->queue);
    if (!error)
        error = index_write(w, SBT_INDEX_LEAF, &w->index.chunks, &w->index.leaves);
    w->index.leaf_offset = sbt_queue_offset(&w->queue);
    return error;
}

static int leaf_if_due(struct sbt_writer *w)
{
    if (sbt_queue_offset(&w->queue) - w->index.leaf_offset < SBT_INDEX_INTERVAL)
        return 0;
    return leaf_write(w);
}

static int trailer_write(struct sbt_writer *w, enum sbt_end end, const struct tsm_buffer *root)
{
    struct sbt_trailer t = {
        .end = (uint32_t)end,
        .totals = w->totals,
        .root_offset = tsm_get_u64(root->data),
        .root_size = SBT_CHUNK_HEADER_SIZE + tsm_get_u32(root->data + 8 + 24),
    };
    struct sbt_job *job;
    uint8_t *payload;
    int error = writer_take(w, SBT_CHUNK_TRAILER, &job);

    if (error)
        return error;
    t.chunk_count = w->next_number;
    t.session_size = sbt_queue_offset(&w->queue) + SBT_TRAILER_CHUNK_SIZE;
    job->head.count = 1;
    payload = tsm_buffer_reserve(&job->raw, SBT_TRAILER_SIZE);
    if (payload) {
        sbt_trailer_put(payload, &t);
        job->raw.size = SBT_TRAILER_SIZE;
    }
    error = sbt_queue_submit(&w->queue);
    return error ? error : sbt_queue_drain(&w->queue);
}

/* ---- life ---- */

int sbt_writer_init(struct sbt_writer *w, int fd, const char *path, uint64_t offset,
                    const struct sbt_writer_options *options)
{
    unsigned threads = options ? options->threads : 0;

    w->queue.fd = fd;
    w->queue.level = options && options->level ? options->level : 1;
    w->queue.written = chunk_written;
    w->queue.user = w;
    w->chunk_size = options && options->chunk_size ? options->chunk_size : SBT_CHUNK_SIZE;
    if (threads > SBT_QUEUE_THREADS_MAX || w->chunk_size > SBT_CHUNK_RAW_MAX)
        return tsm_fail(TSM_E_ARGUMENT, "%s: over 64 threads or chunks over 64 MiB", path);
    /* Columns can take a little more than rows: half the limit always fits. */
    if (w->chunk_size > SBT_CHUNK_RAW_MAX / 2)
        w->chunk_size = SBT_CHUNK_RAW_MAX / 2;
    return sbt_queue_init(&w->queue, path, offset, threads);
}

static int header_write(struct sbt_writer *w, const struct sbt_session *session)
{
    struct sbt_file_header h = {
        .major = SBT_VERSION_MAJOR,
        .minor = SBT_VERSION_MINOR,
        .length = SBT_FILE_HEADER_SIZE,
        .required_features = session->required_features,
        .optional_features = session->optional_features,
    };
    uint8_t bytes[SBT_FILE_HEADER_SIZE];

    memcpy(h.session, session->id, sizeof(h.session));
    sbt_file_header_put(bytes, &h);
    return sbt_queue_write(&w->queue, bytes, sizeof(bytes));
}

static int stream_info_write(struct sbt_writer *w, const struct sbt_session *session)
{
    const char *clock = session->clock ? session->clock : "monotonic";
    struct sbt_job *job;
    int error = writer_take(w, SBT_CHUNK_STREAM_INFO, &job);

    if (error)
        return error;
    job->head.count = 1;
    tsm_buffer_add_u16(&job->raw, SBT_VERSION_MAJOR);
    tsm_buffer_add_u16(&job->raw, SBT_VERSION_MINOR);
    tsm_buffer_add(&job->raw, session->id, sizeof(session->id));
    tsm_buffer_add_u64(&job->raw, session->required_features);
    tsm_buffer_add_u64(&job->raw, session->optional_features);
    tsm_buffer_add_u64(&job->raw, session->start_monotonic_ns);
    tsm_buffer_add_u64(&job->raw, session->start_realtime_ns);
    tsm_buffer_add_u32(&job->raw, (uint32_t)strlen(clock));
    tsm_buffer_add(&job->raw, clock, strlen(clock) + 1);
    error = sbt_queue_submit(&w->queue);
    return error ? error : sbt_queue_drain(&w->queue);
}

static int writer_begin(struct sbt_writer **out, int fd, const char *path,
                        const struct sbt_session *session, const struct sbt_writer_options *options)
{
    struct sbt_writer *w;
    int error;

    if (options && options->append)
        return sbt_writer_resume(out, fd, path, options);
    w = calloc(1, sizeof(*w));
    if (!w) {
        close(fd);
        return tsm_fail(TSM_E_MEMORY, "out of memory for writing %s", path);
    }
    error = sbt_writer_init(w, fd, path, 0, options);
    w->session = tsm_get_u32(session->id);
    if (!error && session->clock && strlen(session->clock) > SBT_NAME_MAX)
        error = tsm_fail(TSM_E_ARGUMENT, "%s: the clock's name is too long", path);
    if (!error && (session->required_features & ~SBT_FEATURES_KNOWN))
        error = tsm_fail(TSM_E_ARGUMENT, "%s: required features that this writer lacks", path);
    if (!error)
        error = header_write(w, session);
    if (!error)
        error = stream_info_write(w, session);
    if (error) {
        sbt_writer_destroy(w);
        return error;
    }
    *out = w;
    return 0;
}

int sbt_writer_create(struct sbt_writer **out, const char *path, const struct sbt_session *session,
                      const struct sbt_writer_options *options)
{
    bool append = options && options->append;
    int fd = open(path, append ? O_RDWR | O_CLOEXEC : O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);

    if (fd < 0)
        return tsm_fail(TSM_E_IO, "%s: cannot create: %s", path, strerror(errno));
    return writer_begin(out, fd, path, session, options);
}

int sbt_writer_create_fd(struct sbt_writer **out, int fd, const struct sbt_session *session,
                         const struct sbt_writer_options *options)
{
    char path[32];

    tsm_format(path, sizeof(path), "descriptor %d", fd);
    return writer_begin(out, fd, path, session, options);
}

void sbt_writer_destroy(struct sbt_writer *w)
{
    if (!w)
        return;
    sbt_queue_finish(&w->queue);
    sbt_batch_finish(&w->batch);
    for (int i = 0; i < SBT_TABLE_COUNT; i++)
        sbt_table_finish(&w->tables[i]);
    tsm_buffer_finish(&w->blob_bytes);
    tsm_buffer_finish(&w->blob_directory);
    tsm_buffer_finish(&w->schemas);
    sbt_keyset_finish(&w->pieces);
    sbt_map_finish(&w->types);
    sbt_map_finish(&w->enums);
    sbt_map_finish(&w->strings);
    sbt_map_finish(&w->stacks);
    sbt_index_finish(&w->index);
    free(w);
}

int sbt_writer_flush(struct sbt_writer *w)
{
    int error = writer_check(w);

    if (!error)
        error = writer_flush_all(w);
    if (!error)
        error = sbt_queue_drain(&w->queue);
    return writer_stick(w, error);
}

int sbt_writer_finish(struct sbt_writer *w, const struct sbt_totals *totals, enum sbt_end end)
{
    struct tsm_buffer root = {0};
    int error = writer_check(w);

    if (error)
        return error;
    if (!w->has_metadata)
        return tsm_fail(TSM_E_STATE, "%s: a trace needs metadata", w->queue.path);
    w->totals.lost_count = totals ? totals->lost_count : 0;
    w->totals.filtered_count = totals ? totals->filtered_count : 0;
    w->totals.record_count = w->next_seq;
    error = writer_flush_all(w);
    if (!error)
        error = leaf_write(w);
    if (!error)
        error = index_write(w, SBT_INDEX_ROOT, &w->index.leaves, &root);
    if (!error && root.failed)
        error = tsm_fail(TSM_E_MEMORY, "%s: out of memory for the index", w->queue.path);
    if (!error)
        error = trailer_write(w, end, &root);
    tsm_buffer_finish(&root);
    w->finished = !error;
    return writer_stick(w, error);
}

uint64_t sbt_writer_size(const struct sbt_writer *w)
{
    /* Taking the lock changes nothing that a caller can see. */
    return sbt_queue_offset((struct sbt_queue *)&w->queue);
}

/* ---- tables ---- */

static int text_check(const struct sbt_writer *w, const char *what, const char *text, size_t limit)
{
    size_t size = text ? strnlen(text, limit + 1) : 0;

    if (!text)
        return tsm_fail(TSM_E_ARGUMENT, "%s: a %s is missing", w->queue.path, what);
    if (size > limit)
        return tsm_fail(TSM_E_LIMIT, "%s: a %s is longer than %zu bytes", w->queue.path, what,
                        limit);
    return 0;
}

static int table_after_add(struct sbt_writer *w, enum sbt_writer_table which)
{
    if (w->tables[which].payload.size < w->chunk_size)
        return 0;
    return writer_stick(w, table_flush(w, which));
}

int sbt_writer_metadata(struct sbt_writer *w, const char *name, const char *value)
{
    int error = writer_check(w);

    if (!error)
        error = text_check(w, "metadata name", name, SBT_NAME_MAX);
    if (!error)
        error = text_check(w, "metadata value", value, SBT_TEXT_MAX);
    if (error)
        return error;
    sbt_table_metadata(&w->tables[SBT_TABLE_METADATA], name, value);
    w->has_metadata = true;
    return table_after_add(w, SBT_TABLE_METADATA);
}

/* METADATA comes right after STREAM_INFO: whoever writes something else first says "none" once. */
static int writer_check_begun(struct sbt_writer *w)
{
    int error = writer_check(w);

    if (!error && !w->has_metadata)
        return tsm_fail(TSM_E_STATE, "%s: metadata comes first", w->queue.path);
    return error;
}

static int schema_check(struct sbt_writer *w, const struct sbt_schema *s)
{
    int error = text_check(w, "schema name", s->name, SBT_NAME_MAX);

    if (!error && s->result_enum)
        error = text_check(w, "result table name", s->result_enum, SBT_NAME_MAX);
    if (!error && s->field_count > SBT_FIELD_COUNT_MAX)
        error = tsm_fail(TSM_E_LIMIT, "%s: schema %s has over %d fields", w->queue.path, s->name,
                         SBT_FIELD_COUNT_MAX);
    for (uint32_t i = 0; !error && i < s->field_count; i++) {
        error = text_check(w, "field name", s->fields[i].name, SBT_NAME_MAX);
        if (!error && s->fields[i].detail)
            error = text_check(w, "field detail", s->fields[i].detail, SBT_NAME_MAX);
    }
    return error;
}

static struct sbt_writer_schema schema_note(const struct sbt_schema *s, uint64_t hash)
{
    struct sbt_writer_schema note = {
        .type = s->type,
        .flags = s->flags,
        .field_count = s->field_count,
        .hash = hash,
    };

    for (uint32_t i = 0; i < s->field_count; i++) {
        if (s->fields[i].type == SBT_FIELD_BYTES || s->fields[i].type == SBT_FIELD_BLOB)
            note.variable |= 1ull << i;
        if (s->fields[i].type == SBT_FIELD_BLOB)
            note.blobs |= 1ull << i;
    }
    return note;
}

static uint64_t schema_hash(const struct sbt_schema *s)
{
    struct sbt_table alone = {0};
    uint64_t hash;

    sbt_table_schema(&alone, s);
    hash = tsm_hash64(alone.payload.data, alone.payload.size);
    sbt_table_finish(&alone);
    return hash;
}

int sbt_writer_schema_note(struct sbt_writer *w, const struct sbt_schema *s, bool *known)
{
    struct sbt_writer_schema note = schema_note(s, schema_hash(s));
    const struct sbt_writer_schema *before;
    bool added;
    uint64_t *place = sbt_map_insert(&w->types, s->type, &added);

    if (!place)
        return tsm_fail(TSM_E_MEMORY, "%s: out of memory for schemas", w->queue.path);
    *known = !added;
    if (added) {
        *place = w->schemas.size / sizeof(note);
        tsm_buffer_add(&w->schemas, &note, sizeof(note));
        return w->schemas.failed ? tsm_fail(TSM_E_MEMORY, "out of memory for schemas") : 0;
    }
    before = (const struct sbt_writer_schema *)(const void *)w->schemas.data + *place;
    if (before->hash != note.hash)
        return tsm_fail(TSM_E_ARGUMENT, "%s: type %#x already has another schema than this %s",
                        w->queue.path, s->type, s->name);
    return 0;
}

int sbt_writer_schema(struct sbt_writer *w, const struct sbt_schema *schema)
{
    int error = writer_check_begun(w);
    bool known = false;

    if (!error)
        error = schema_check(w, schema);
    if (!error)
        error = sbt_writer_schema_note(w, schema, &known);
    if (error || known)
        return error;
    sbt_table_schema(&w->tables[SBT_TABLE_SCHEMA], schema);
    return table_after_add(w, SBT_TABLE_SCHEMA);
}

/* Whether `key` is new; a repetition must have the same content. */
static int note_once(struct sbt_writer *w, struct sbt_map *map, const char *what, uint64_t key,
                     uint64_t content, bool *added)
{
    uint64_t *place = sbt_map_insert(map, key, added);

    if (!place)
        return tsm_fail(TSM_E_MEMORY, "%s: out of memory for a %s", w->queue.path, what);
    if (*added)
        *place = content;
    else if (*place != content)
        return tsm_fail(TSM_E_ARGUMENT, "%s: %s is already used for another content", w->queue.path,
                        what);
    return 0;
}

static uint64_t enum_hash(const struct sbt_enum *e)
{
    struct sbt_table alone = {0};
    uint64_t hash;

    sbt_table_enum(&alone, e);
    hash = tsm_hash64(alone.payload.data, alone.payload.size);
    sbt_table_finish(&alone);
    return hash;
}

int sbt_writer_enum(struct sbt_writer *w, const struct sbt_enum *table)
{
    int error = writer_check_begun(w);
    bool added = false;

    if (!error)
        error = text_check(w, "value table name", table->name, SBT_NAME_MAX);
    if (!error && table->value_count > SBT_ENUM_VALUES_MAX)
        error = tsm_fail(TSM_E_LIMIT, "%s: value table %s is too long", w->queue.path, table->name);
    for (uint32_t i = 0; !error && i < table->value_count; i++)
        error = text_check(w, "value name", table->values[i].name, SBT_NAME_MAX);
    if (!error)
        error = note_once(w, &w->enums, "value table name",
                          tsm_hash64(table->name, strlen(table->name)), enum_hash(table), &added);
    if (error || !added)
        return error;
    sbt_table_enum(&w->tables[SBT_TABLE_ENUMS], table);
    return table_after_add(w, SBT_TABLE_ENUMS);
}

int sbt_writer_string(struct sbt_writer *w, uint32_t id, const char *text, size_t size)
{
    int error = writer_check_begun(w);
    bool added = false;

    if (error)
        return error;
    if (id == 0 || size > SBT_TEXT_MAX || memchr(text, 0, size))
        return tsm_fail(TSM_E_ARGUMENT, "%s: string %u has no id, is over 1 MiB or has a zero byte",
                        w->queue.path, id);
    error = note_once(w, &w->strings, "string id", id, tsm_hash64(text, size), &added);
    if (error || !added)
        return error;
    sbt_table_string(&w->tables[SBT_TABLE_STRINGS], id, text, size);
    return table_after_add(w, SBT_TABLE_STRINGS);
}

int sbt_writer_stack(struct sbt_writer *w, uint32_t id, const uint64_t *frames, uint32_t count)
{
    int error = writer_check_begun(w);
    bool added = false;

    if (error)
        return error;
    if (id == 0 || count == 0 || count > SBT_STACK_DEPTH_MAX)
        return tsm_fail(TSM_E_ARGUMENT, "%s: stack %u has no id or not 1 to %d frames",
                        w->queue.path, id, SBT_STACK_DEPTH_MAX);
    error = note_once(w, &w->stacks, "stack id", id, tsm_hash64(frames, count * sizeof(*frames)),
                      &added);
    if (error || !added)
        return error;
    sbt_table_stack(&w->tables[SBT_TABLE_STACKS], id, frames, count);
    return table_after_add(w, SBT_TABLE_STACKS);
}

int sbt_writer_mapping(struct sbt_writer *w, const struct sbt_mapping *mapping)
{
    int error = writer_check_begun(w);

    if (!error)
        error = text_check(w, "path of a mapping", mapping->path, SBT_TEXT_MAX);
    if (!error && (mapping->build_id_size > SBT_BUILD_ID_MAX || mapping->end < mapping->start))
        error = tsm_fail(TSM_E_ARGUMENT, "%s: a mapping is malformed", w->queue.path);
    if (error)
        return error;
    sbt_table_mapping(&w->tables[SBT_TABLE_MAPPINGS], mapping);
    return table_after_add(w, SBT_TABLE_MAPPINGS);
}

/* ---- bytes ---- */

static bool all_zero(const uint8_t *p, size_t size)
{
    return size == 0 || (p[0] == 0 && memcmp(p, p + 1, size - 1) == 0);
}

int sbt_writer_piece(struct sbt_writer *w, const struct sbt_key *key, const void *data, size_t size)
{
    uint8_t *entry;
    int error = writer_check_begun(w);

    if (error)
        return error;
    if (size == 0 || size > SBT_PIECE_SIZE)
        return tsm_fail(TSM_E_ARGUMENT, "%s: a piece of %zu bytes", w->queue.path, size);
    if (tsm_key_is_zero(key) || sbt_keyset_has(&w->pieces, key))
        return 0;
    /* A full or failed set only costs duplicates. */
    sbt_keyset_add(&w->pieces, key);
    entry = tsm_buffer_reserve(&w->blob_directory, SBT_PIECE_ENTRY_SIZE);
    tsm_buffer_add(&w->blob_bytes, data, size);
    if (!entry || w->blob_bytes.failed)
        return writer_stick(w,
                            tsm_fail(TSM_E_MEMORY, "%s: out of memory for bytes", w->queue.path));
    memcpy(entry, key->bytes, sizeof(key->bytes));
    tsm_put_u32(entry + 16, (uint32_t)size);
    w->blob_directory.size += SBT_PIECE_ENTRY_SIZE;
    if (w->blob_bytes.size < w->chunk_size)
        return 0;
    error = blobs_flush(w);
    return writer_stick(w, error ? error : leaf_if_due(w));
}

int sbt_writer_blob(struct sbt_writer *w, const void *data, uint64_t size, uint8_t *out)
{
    const uint8_t *at = data;
    uint64_t left = size;
    int error = 0;

    tsm_put_u64(out, size);
    out += 8;
    while (left && !error) {
        size_t piece = left < SBT_PIECE_SIZE ? (size_t)left : SBT_PIECE_SIZE;
        struct sbt_key key = {{0}};
        if (!all_zero(at, piece)) {
            key = tsm_hash_key(at, piece);
            error = sbt_writer_piece(w, &key, at, piece);
        }
        memcpy(out, key.bytes, sizeof(key.bytes));
        out += sizeof(key.bytes);
        at += piece;
        left -= piece;
    }
    return error;
}

/* ---- records ---- */

static int record_check(const struct sbt_writer *w, const struct sbt_writer_schema *schema,
                        const struct sbt_record *r)
{
    if (r->seq != w->next_seq)
        return tsm_fail(TSM_E_ARGUMENT, "%s: record %llu where %llu was due", w->queue.path,
                        (unsigned long long)r->seq, (unsigned long long)w->next_seq);
    if (r->slot_count != schema->field_count)
        return tsm_fail(TSM_E_ARGUMENT, "%s: record of type %#x with %u slots, its schema has %u",
                        w->queue.path, r->type, r->slot_count, schema->field_count);
    if (r->data_size > SBT_RECORD_DATA_MAX)
        return tsm_fail(TSM_E_LIMIT, "%s: a record with %zu bytes of data, over the limit of %u",
                        w->queue.path, r->data_size, SBT_RECORD_DATA_MAX);
    for (uint64_t left = schema->variable; left; left &= left - 1) {
        uint32_t i = (uint32_t)__builtin_ctzll(left);
        const uint8_t *bytes;
        struct sbt_blob blob;
        size_t size;
        if (schema->blobs >> i & 1 ? !sbt_record_blob(r, i, &blob)
                                   : !sbt_record_bytes(r, i, &bytes, &size))
            return tsm_fail(TSM_E_ARGUMENT, "%s: record of type %#x: field %u is malformed",
                            w->queue.path, r->type, i);
    }
    return 0;
}

static void span_add(struct sbt_writer *w, const struct sbt_writer_schema *schema,
                     const struct sbt_record *r)
{
    struct sbt_chunk *span = &w->span;
    bool taints = sbt_record_taints(schema->flags, r->flags);

    if (w->batch.count == 1 || r->time_ns < span->first_time)
        span->first_time = r->time_ns;
    if (r->time_ns > span->last_time)
        span->last_time = r->time_ns;
    span->stream_set |= sbt_stream_bit(r->stream);
    if (r->stream != SBT_STREAM_NONE && r->stream >= span->stream_end)
        span->stream_end = r->stream + 1;
    if (span->stream_end > w->totals.stream_count)
        w->totals.stream_count = span->stream_end;
    if (taints || r->type == SBT_TYPE(SBT_API_CORE, SBT_CORE_LOST) ||
        r->type == SBT_TYPE(SBT_API_CORE, SBT_CORE_FILTERED))
        span->flags |= SBT_CHUNK_NOTABLE;
    w->totals.tainted_count += taints;
}

int sbt_writer_record(struct sbt_writer *w, const struct sbt_record *r)
{
    uint64_t size = SBT_ROW_SIZE(r->slot_count, r->data_size);
    const struct sbt_writer_schema *schema;
    const uint64_t *place;
    int error = writer_check_begun(w);

    if (error)
        return error;
    place = sbt_map_find(&w->types, r->type);
    if (!place)
        return tsm_fail(TSM_E_ARGUMENT, "%s: record of type %#x has no schema", w->queue.path,
                        r->type);
    schema = (const struct sbt_writer_schema *)(const void *)w->schemas.data + *place;
    error = record_check(w, schema, r);
    if (error)
        return error;
    if (w->batch.count && w->batch.row_bytes + size > w->chunk_size) {
        error = writer_flush_all(w);
        if (!error)
            error = leaf_if_due(w);
        if (error)
            return writer_stick(w, error);
    }
    error = sbt_batch_add(&w->batch, (uint32_t)*place, r);
    if (error)
        return writer_stick(w, error);
    w->batch.row_bytes += size;
    w->next_seq++;
    span_add(w, schema, r);
    return 0;
}
