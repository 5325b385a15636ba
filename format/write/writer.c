/* SPDX-License-Identifier: Apache-2.0 */
#include "tracesmith/writer.h"

#include "base/file.h"
#include "base/bytes.h"
#include "base/hash.h"
#include "base/text.h"
#include "format/limits.h"
#include "format/write/state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

static const uint16_t table_types[SBT_TABLE_COUNT] = {
    [SBT_TABLE_METADATA] = SBT_CHUNK_METADATA, [SBT_TABLE_SCHEMA] = SBT_CHUNK_SCHEMA,
    [SBT_TABLE_ENUMS] = SBT_CHUNK_ENUMS,       [SBT_TABLE_STRINGS] = SBT_CHUNK_STRINGS,
    [SBT_TABLE_STACKS] = SBT_CHUNK_STACKS,     [SBT_TABLE_MAPPINGS] = SBT_CHUNK_MAPPINGS,
    [SBT_TABLE_STRUCTS] = SBT_CHUNK_STRUCTS,
};

/* ---- errors ---- */

int sbt_writer_stick(struct sbt_writer *w, int error)
{
    if (error < 0 && !w->error) {
        w->error = error;
        tsm_format(w->message, sizeof(w->message), "%s", tsm_error_message());
    }
    return error;
}

int sbt_writer_check(struct sbt_writer *w)
{
    if (w->error)
        return tsm_fail(w->error, "%s", w->message);
    if (w->finished)
        return tsm_fail(TSM_E_STATE, "%s: the trace is finished", w->queue.path);
    return 0;
}

/* METADATA comes right after STREAM_INFO: whoever writes something else first says "none" once. */
int sbt_writer_check_begun(struct sbt_writer *w)
{
    int error = sbt_writer_check(w);

    if (!error && !w->has_metadata)
        return tsm_fail(TSM_E_STATE, "%s: metadata comes first", w->queue.path);
    return error;
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

int sbt_writer_table_flush(struct sbt_writer *w, enum sbt_writer_table which)
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
    return w->next_number == 1 ? sbt_writer_table_flush(w, SBT_TABLE_METADATA) : 0;
}

int sbt_writer_blobs_flush(struct sbt_writer *w)
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

static void batch_swap(struct sbt_batch *a, struct sbt_batch *b)
{
    struct sbt_batch c = *a;
    *a = *b;
    *b = c;
}

static int batch_flush(struct sbt_writer *w)
{
    struct sbt_job *job;
    int error;

    if (w->batch.count == 0)
        return 0;
    error = writer_take(w, SBT_CHUNK_EVENTS, &job);
    if (error)
        return error;
    job->head.flags |= w->span.flags | SBT_CHUNK_COMPACT;
    job->head.stream_end = w->span.stream_end;
    job->head.stream_set = w->span.stream_set;
    job->head.first_time = w->span.first_time;
    job->head.last_time = w->span.last_time;
    job->head.count = w->batch.count;
    job->head.first_seq = w->next_seq - w->batch.count;
    job->head.last_seq = w->next_seq - 1;
    batch_swap(&job->batch, &w->batch);
    w->span = (struct sbt_chunk){0};
    error = sbt_queue_submit(&w->queue);
    /* Packed already: the next records go where these were, which is still in the cache. */
    if (sbt_queue_is_idle(&w->queue)) {
        batch_swap(&job->batch, &w->batch);
        sbt_batch_clear(&w->batch);
    }
    return error;
}

/* Flushes everything that records name before the records, so that a trace cut anywhere names
 * nothing that is missing. */
int sbt_writer_flush_all(struct sbt_writer *w)
{
    int error = 0;

    for (int i = 0; !error && i < SBT_TABLE_COUNT; i++)
        error = sbt_writer_table_flush(w, (enum sbt_writer_table)i);
    if (!error)
        error = sbt_writer_blobs_flush(w);
    return error ? error : batch_flush(w);
}

int sbt_writer_checkpoint(struct sbt_writer *w, const struct sbt_checkpoint *checkpoint)
{
    struct sbt_job *job;
    int error = sbt_writer_flush_all(w);

    if (!error)
        error = writer_take(w, SBT_CHUNK_CHECKPOINT, &job);
    if (error)
        return error;
    job->head.count = 1;
    sbt_checkpoint_put(&job->raw, checkpoint);
    error = sbt_queue_submit(&w->queue);
    return error ? error : sbt_queue_drain(&w->queue);
}

int sbt_writer_kernel_chunk(struct sbt_writer *w, const void *records, size_t size, uint32_t count)
{
    struct sbt_job *job;
    int error = metadata_first(w);

    if (!error)
        error = writer_take(w, SBT_CHUNK_KERNEL_EVENTS, &job);
    if (error)
        return error;
    job->head.count = count;
    tsm_buffer_add(&job->raw, records, size);
    error = sbt_queue_submit(&w->queue);
    return error ? error : sbt_writer_leaf_if_due(w);
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
    w->index.leaf_number = w->next_number;
    sbt_writer_push(w);
    return error;
}

int sbt_writer_leaf_if_due(struct sbt_writer *w)
{
    if (sbt_queue_offset(&w->queue) - w->index.leaf_offset < SBT_INDEX_INTERVAL &&
        w->next_number - w->index.leaf_number < SBT_INDEX_CHUNKS &&
        w->index.pieces.size < SBT_INDEX_PIECES)
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
    w->is_durable = options && options->durable;
    w->takes_contents = options && options->takes_contents;
    w->queue.level = options ? options->level : 0;
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

int sbt_writer_set_contents(struct sbt_writer *w, uint64_t optional_features)
{
    w->has_no_contents = (optional_features & SBT_OPTIONAL_NO_CONTENTS) != 0;
    if (!w->has_no_contents || !w->takes_contents)
        return 0;
    w->contents = sbt_contents_create();
    return w->contents ? 0 : tsm_fail(TSM_E_MEMORY, "%s: out of memory", w->queue.path);
}

static int header_write(struct sbt_writer *w, const struct sbt_session *session)
{
    struct sbt_file_header h = {
        .major = SBT_VERSION_MAJOR,
        .minor = SBT_VERSION_MINOR,
        .length = SBT_FILE_HEADER_SIZE,
        .required_features = session->required_features | SBT_FEATURE_COMPACT,
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
    tsm_buffer_add_u64(&job->raw, session->required_features | SBT_FEATURE_COMPACT);
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
    /* Nobody else can have it yet; where there are no locks there are none for a repair, either. */
    if (flock(fd, LOCK_EX | LOCK_NB) != 0)
        errno = 0;
    error = sbt_writer_init(w, fd, path, 0, options);
    w->session = tsm_get_u32(session->id);
    w->compact = true;
    if (!error)
        error = sbt_writer_set_contents(w, session->optional_features);
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
    /* A trace holds the program's data: like a core dump, it is its owner's alone. */
    int fd = append ? open(path, O_RDWR | O_CLOEXEC | O_NOCTTY) : tsm_file_create(path), error;

    if (fd < 0)
        return tsm_fail(TSM_E_IO, "%s: cannot create: %s", path, strerror(errno));
    error = writer_begin(out, fd, path, session, options);
    if (error && !append)
        unlink(path); /* ours, and without even a beginning */
    return error;
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
    if (!w->finished)
        sbt_writer_put_back(w);
    sbt_queue_finish(&w->queue);
    tsm_buffer_finish(&w->old_end);
    sbt_batch_finish(&w->batch);
    for (int i = 0; i < SBT_TABLE_COUNT; i++)
        sbt_table_finish(&w->tables[i]);
    tsm_buffer_finish(&w->without);
    tsm_buffer_finish(&w->blob_bytes);
    tsm_buffer_finish(&w->blob_directory);
    tsm_buffer_finish(&w->schemas);
    sbt_keyset_finish(&w->pieces);
    sbt_contents_destroy(w->contents);
    tsm_map_finish(&w->types);
    tsm_map_finish(&w->enums);
    tsm_map_finish(&w->structs);
    tsm_map_finish(&w->struct_ids);
    tsm_map_finish(&w->strings);
    tsm_map_finish(&w->stacks);
    sbt_index_finish(&w->index);
    free(w);
}

int sbt_writer_flush(struct sbt_writer *w)
{
    int error = sbt_writer_check(w);

    if (!error)
        error = sbt_writer_flush_all(w);
    if (!error)
        error = sbt_queue_drain(&w->queue);
    if (!error)
        error = sbt_writer_leaf_if_due(w);
    return sbt_writer_stick(w, error);
}

int sbt_writer_finish(struct sbt_writer *w, const struct sbt_totals *totals, enum sbt_end end)
{
    struct tsm_buffer root = {0};
    int error = sbt_writer_check(w);

    if (error)
        return error;
    if (!w->has_metadata)
        return tsm_fail(TSM_E_STATE, "%s: a trace needs metadata", w->queue.path);
    error = sbt_writer_count_lost(w, totals);
    if (!error)
        error = sbt_writer_flush_all(w);
    if (!error)
        error = leaf_write(w);
    if (!error)
        error = index_write(w, SBT_INDEX_ROOT, &w->index.leaves, &root);
    if (!error && root.failed)
        error = tsm_fail(TSM_E_MEMORY, "%s: out of memory for the index", w->queue.path);
    if (!error)
        error = trailer_write(w, w->is_cut ? SBT_END_CUT : end, &root);
    tsm_buffer_finish(&root);
    w->finished = !error;
    if (!error)
        error = sbt_writer_close(w);
    return sbt_writer_stick(w, error);
}

void sbt_writer_alone(struct sbt_writer *w, bool alone)
{
    w->queue.alone = alone;
}

unsigned sbt_writer_threads(const struct sbt_writer *w)
{
    return w->queue.thread_count;
}

uint64_t sbt_writer_size(const struct sbt_writer *w)
{
    /* Taking the lock changes nothing that a caller can see. */
    return sbt_queue_offset((struct sbt_queue *)&w->queue);
}
