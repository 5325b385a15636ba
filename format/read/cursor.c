/* SPDX-License-Identifier: Apache-2.0
 *
 * Cursors. The chunks that may hold what the filter wants are chosen once, from the index; then a
 * window of decoded chunks moves over that list. Chunk k of the list lives in slot k % slot_count,
 * so that neighbours never share a slot.
 */
#include "format/read/progress.h"
#include "format/read/state.h"

#include "base/array.h"
#include "base/text.h"
#include "format/events/rows.h"
#include "format/filter.h"

#include <stdlib.h>
#include <string.h>

#define ALONE_SIZE  (256u << 10) /* raw bytes for which one thread is not worth its start */
#define THREADS_MAX 64u
#define AT_END      SIZE_MAX /* place in a chunk: after its last record */

enum slot_state { SLOT_EMPTY, SLOT_QUEUED, SLOT_BUSY, SLOT_READY, SLOT_DAMAGED, SLOT_FAILED };

struct slot {
    enum slot_state state;
    size_t k;
    struct sbt_rows rows;
    int error;
    char message[256];
};

struct sbt_cursor {
    struct sbt_reader *reader;
    struct sbt_filter filter;
    uint32_t *streams;  /* filter.streams, sorted */
    uint32_t *selected; /* places in reader->entries */
    size_t selected_count;
    /* next() gives record i of chunk k; previous() the one before. */
    size_t k, i;
    const struct sbt_rows *rows; /* of chunk rows_k, from the last look at the slots; NULL: none */
    size_t rows_k;
    size_t near; /* k when the threads were last given work; under lock */

    struct slot *slots;
    size_t slot_count;
    struct sbt_packer packer; /* of the caller's thread */
    pthread_mutex_t lock;
    pthread_cond_t work, done;
    pthread_t threads[THREADS_MAX];
    unsigned thread_count, threads_wanted;
    bool stop;
};

/* ---- filter ---- */

static int compare_u32(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return x < y ? -1 : x > y;
}

static bool wants_chunk(const struct sbt_cursor *c, const struct sbt_chunk *head, uint64_t set)
{
    const struct sbt_filter *f = &c->filter;

    return (!f->streams || (head->stream_set & set)) && head->last_seq >= f->seq_first &&
           (f->seq_end == 0 || head->first_seq < f->seq_end) &&
           head->last_time >= f->time_first_ns &&
           (f->time_end_ns == 0 || head->first_time < f->time_end_ns);
}

static bool wants_record(const struct sbt_cursor *c, const struct sbt_record *r)
{
    const struct sbt_filter *f = &c->filter;

    if (!sbt_filter_in_range(f, r))
        return false;
    return !f->streams || (f->stream_count && bsearch(&r->stream, c->streams, f->stream_count,
                                                      sizeof(*c->streams), compare_u32));
}

static int cursor_select(struct sbt_cursor *c, const struct sbt_filter *filter)
{
    const struct sbt_reader *r = c->reader;
    uint64_t set = ~0ull;

    if (filter)
        c->filter = *filter;
    if (c->filter.streams) {
        c->streams = calloc(c->filter.stream_count + 1, sizeof(*c->streams));
        if (!c->streams)
            return tsm_fail(TSM_E_MEMORY, "%s: out of memory for a cursor", r->name);
        set = 0;
        for (size_t i = 0; i < c->filter.stream_count; i++) {
            c->streams[i] = c->filter.streams[i];
            set |= sbt_stream_bit(c->streams[i]);
        }
        qsort(c->streams, c->filter.stream_count, sizeof(*c->streams), compare_u32);
    }
    c->selected = calloc(r->events_count + 1, sizeof(*c->selected));
    if (!c->selected)
        return tsm_fail(TSM_E_MEMORY, "%s: out of memory for a cursor", r->name);
    for (size_t i = 0; i < r->events_count; i++) {
        if (wants_chunk(c, &r->entries[r->events[i]].head, set))
            c->selected[c->selected_count++] = r->events[i];
    }
    return 0;
}

/* ---- slots ---- */

/* The header says which records a filter can find in the chunk. */
static void compare_span(struct sbt_reader *r, size_t place, const struct sbt_rows *rows)
{
    struct sbt_entry *e = &r->entries[place];
    uint64_t first = UINT64_MAX, last = 0, set = 0;
    uint32_t end = 0;

    for (size_t i = 0; i < rows->count; i++) {
        const struct sbt_record *record = &rows->records[i];
        first = record->time_ns < first ? record->time_ns : first;
        last = record->time_ns > last ? record->time_ns : last;
        set |= sbt_stream_bit(record->stream);
        if (record->stream != SBT_STREAM_NONE && record->stream >= end)
            end = record->stream + 1;
    }
    if (first == e->head.first_time && last == e->head.last_time && set == e->head.stream_set &&
        end == e->head.stream_end)
        return;
    pthread_mutex_lock(&r->lock);
    if (!e->misleads)
        sbt_reader_say_locked(r,
                              "offset %llu: EVENTS chunk %u: its header has other times or streams "
                              "than its records",
                              (unsigned long long)e->info.offset, e->head.number);
    e->misleads = true;
    pthread_mutex_unlock(&r->lock);
}

/* Decode the slot's chunk. Without the lock; the slot is BUSY and so this thread's. */
static enum slot_state slot_decode(struct sbt_cursor *c, struct slot *s, struct sbt_packer *packer)
{
    size_t place = c->selected[s->k];
    const char *wrong;
    uint8_t *payload;

    sbt_rows_finish(&s->rows);
    s->error = sbt_reader_load(c->reader, packer, place, &payload, false);
    if (s->error == TSM_E_CHECKSUM)
        return SLOT_DAMAGED;
    if (s->error) {
        tsm_format(s->message, sizeof(s->message), "%s", tsm_error_message());
        return SLOT_FAILED;
    }
    wrong = sbt_rows_decode(&s->rows, &c->reader->entries[place].head, payload);
    if (!wrong) {
        compare_span(c->reader, place, &s->rows);
        return SLOT_READY;
    }
    if (wrong == sbt_no_memory) {
        tsm_format(s->message, sizeof(s->message), "%s: out of memory for records",
                   c->reader->name);
        s->error = TSM_E_MEMORY;
        return SLOT_FAILED;
    }
    sbt_reader_blame(c->reader, place, wrong, false);
    return SLOT_DAMAGED;
}

/* With the lock held, which it gives up while decoding. */
static void slot_run(struct sbt_cursor *c, struct slot *s, struct sbt_packer *packer)
{
    enum slot_state state;

    s->state = SLOT_BUSY;
    pthread_mutex_unlock(&c->lock);
    state = slot_decode(c, s, packer);
    pthread_mutex_lock(&c->lock);
    s->state = state;
    pthread_cond_broadcast(&c->done);
}

static size_t distance(size_t a, size_t b)
{
    return a > b ? a - b : b - a;
}

/* The queued chunk nearest to where the cursor is. */
static struct slot *slot_next(struct sbt_cursor *c)
{
    struct slot *best = NULL;

    for (size_t i = 0; i < c->slot_count; i++) {
        struct slot *s = &c->slots[i];
        if (s->state == SLOT_QUEUED &&
            (!best || distance(s->k, c->near) < distance(best->k, c->near)))
            best = s;
    }
    return best;
}

static void *cursor_thread(void *user)
{
    struct sbt_cursor *c = user;
    struct sbt_packer packer = {0};

    pthread_mutex_lock(&c->lock);
    while (!c->stop) {
        struct slot *s = slot_next(c);
        if (s)
            slot_run(c, s, &packer);
        else
            pthread_cond_wait(&c->work, &c->lock);
    }
    pthread_mutex_unlock(&c->lock);
    sbt_packer_finish(&packer);
    return NULL;
}

static void slot_queue(struct sbt_cursor *c, size_t k)
{
    struct slot *s = &c->slots[k % c->slot_count];

    if (s->state == SLOT_BUSY || (s->state != SLOT_EMPTY && s->k == k))
        return;
    s->state = SLOT_QUEUED;
    s->k = k;
    pthread_cond_signal(&c->work);
}

static void queue_ahead(struct sbt_cursor *c, bool forward)
{
    c->near = c->k;
    for (size_t n = 1; n <= c->thread_count; n++) {
        if (forward && n < c->selected_count - c->k)
            slot_queue(c, c->k + n);
        else if (!forward && n <= c->k)
            slot_queue(c, c->k - n);
    }
}

/* Rows of chunk c->k, kept in its slot until threads are given work around another one; *out is
 * NULL when it is damaged. */
static int find_rows(struct sbt_cursor *c, bool forward, const struct sbt_rows **out)
{
    struct slot *s = &c->slots[c->k % c->slot_count];
    int error = 0;

    pthread_mutex_lock(&c->lock);
    while (s->state == SLOT_BUSY && s->k != c->k)
        pthread_cond_wait(&c->done, &c->lock);
    if (s->state == SLOT_EMPTY || s->k != c->k) {
        s->k = c->k;
        s->state = SLOT_QUEUED;
    }
    queue_ahead(c, forward);
    if (s->state == SLOT_QUEUED)
        slot_run(c, s, &c->packer);
    while (s->state == SLOT_BUSY)
        pthread_cond_wait(&c->done, &c->lock);
    *out = s->state == SLOT_READY ? &s->rows : NULL;
    if (s->state == SLOT_FAILED) {
        error = tsm_fail(s->error, "%s", s->message);
        s->state = SLOT_EMPTY; /* it may work next time */
    }
    pthread_mutex_unlock(&c->lock);
    return error;
}

static int cursor_rows(struct sbt_cursor *c, bool forward, const struct sbt_rows **out)
{
    int error = 0;

    if (!c->rows || c->rows_k != c->k) {
        error = find_rows(c, forward, &c->rows);
        c->rows_k = c->k;
    }
    *out = c->rows;
    return error;
}

/* ---- the interface ---- */

/* Tests whether decoding takes less time than starting a thread. */
static bool is_small(const struct sbt_cursor *c)
{
    uint64_t size = 0;

    for (size_t i = 0; i < c->selected_count && size < ALONE_SIZE; i++)
        size += c->reader->entries[c->selected[i]].head.raw_size;
    return size < ALONE_SIZE;
}

static int cursor_start(struct sbt_cursor *c, unsigned threads)
{
    if (threads == 1 && is_small(c))
        threads = 0;
    /* The caller decodes one chunk itself. */
    if (threads >= c->selected_count)
        threads = c->selected_count ? (unsigned)c->selected_count - 1 : 0;
    c->slot_count = threads + 2;
    c->slots = calloc(c->slot_count, sizeof(*c->slots));
    if (!c->slots)
        return tsm_fail(TSM_E_MEMORY, "%s: out of memory for a cursor", c->reader->name);
    /* Fewer threads than asked for is slower, not wrong. */
    while (c->thread_count < threads &&
           pthread_create(&c->threads[c->thread_count], NULL, cursor_thread, c) == 0)
        c->thread_count++;
    return 0;
}

int sbt_cursor_create(struct sbt_cursor **out, struct sbt_reader *r,
                      const struct sbt_filter *filter, unsigned threads)
{
    struct sbt_cursor *c = calloc(1, sizeof(*c));
    int error;

    if (!c)
        return tsm_fail(TSM_E_MEMORY, "%s: out of memory for a cursor", r->name);
    c->reader = r;
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->work, NULL);
    pthread_cond_init(&c->done, NULL);
    error = cursor_select(c, filter);
    if (!error)
        error = cursor_start(c, threads < THREADS_MAX ? threads : THREADS_MAX);
    if (error) {
        sbt_cursor_destroy(c);
        return error;
    }
    *out = c;
    return 0;
}

void sbt_cursor_destroy(struct sbt_cursor *c)
{
    if (!c)
        return;
    pthread_mutex_lock(&c->lock);
    c->stop = true;
    pthread_cond_broadcast(&c->work);
    pthread_mutex_unlock(&c->lock);
    for (unsigned i = 0; i < c->thread_count; i++)
        pthread_join(c->threads[i], NULL);
    for (size_t i = 0; c->slots && i < c->slot_count; i++)
        sbt_rows_finish(&c->slots[i].rows);
    free(c->slots);
    free(c->streams);
    free(c->selected);
    sbt_packer_finish(&c->packer);
    pthread_cond_destroy(&c->done);
    pthread_cond_destroy(&c->work);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

int sbt_cursor_next(struct sbt_cursor *c, const struct sbt_record **out)
{
    if (c->reader->is_refused)
        return sbt_reader_values_check(c->reader);
    while (c->k < c->selected_count) {
        const struct sbt_rows *rows;
        int error = cursor_rows(c, true, &rows);
        if (error)
            return error;
        while (rows && c->i < rows->count) {
            const struct sbt_record *record = &rows->records[c->i++];
            if (wants_record(c, record)) {
                *out = record;
                return 1;
            }
        }
        c->k++;
        c->i = 0;
        if (c->reader->progress)
            c->reader->progress(c->reader->progress_user, c->k, c->selected_count);
    }
    return 0;
}

void sbt_reader_show_progress(struct sbt_reader *reader,
                              void (*progress)(void *user, uint64_t done, uint64_t total),
                              void *user)
{
    reader->progress = progress;
    reader->progress_user = user;
}

int sbt_cursor_previous(struct sbt_cursor *c, const struct sbt_record **out)
{
    if (c->reader->is_refused)
        return sbt_reader_values_check(c->reader);
    for (;;) {
        const struct sbt_rows *rows = NULL;
        int error = 0;
        if (c->i > 0 && c->k < c->selected_count)
            error = cursor_rows(c, false, &rows);
        if (error)
            return error;
        if (rows && c->i > rows->count)
            c->i = rows->count;
        while (rows && c->i > 0) {
            const struct sbt_record *record = &rows->records[--c->i];
            if (wants_record(c, record)) {
                *out = record;
                return 1;
            }
        }
        if (c->k == 0) {
            c->i = 0;
            return 0;
        }
        c->k--;
        c->i = AT_END;
    }
}

int sbt_cursor_seek(struct sbt_cursor *c, uint64_t seq)
{
    size_t at;
    const struct sbt_chunk *head;

    TSM_BISECT(at, c->selected_count, c->reader->entries[c->selected[at]].head.last_seq >= seq);
    c->k = at;
    c->i = 0;
    if (at < c->selected_count) {
        head = &c->reader->entries[c->selected[at]].head;
        c->i = seq > head->first_seq ? (size_t)(seq - head->first_seq) : 0;
    }
    return 0;
}
