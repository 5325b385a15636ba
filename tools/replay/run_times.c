/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/replay/run_times.h"

#include "base/array.h"
#include "base/output_file.h"
#include "base/text.h"
#include "tracesmith/error.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define BUFFER_COUNT 256u

static int no_memory(void)
{
    return tsm_fail(TSM_E_MEMORY, "no memory for times of commands");
}

static int file_error(void)
{
    return tsm_fail(TSM_E_IO, "the file of --time: %s", tsm_errno_text(errno));
}

void tsm_run_times_init(struct tsm_run_times *t)
{
    *t = (struct tsm_run_times){.fd = -1};
}

void tsm_run_times_finish(struct tsm_run_times *t)
{
    for (size_t i = 0; i < t->chunk_count; i++)
        free(t->chunks[i].buffer);
    free(t->chunks);
    free(t->now);
    if (t->fd >= 0)
        close(t->fd);
    tsm_run_times_init(t);
}

/* ---- writing ------------------------------------------------------------------------------- */

/* Sorts what is inside of a part before it. */
static int by_place(const void *a, const void *b)
{
    const struct tsm_replay_time *x = a, *y = b;

    if (x->seq != y->seq)
        return x->seq < y->seq ? -1 : 1;
    if (x->part != y->part)
        return x->part < y->part ? -1 : 1;
    if (!x->command != !y->command)
        return x->command ? -1 : 1;
    if (x->buffer != y->buffer)
        return x->buffer < y->buffer ? -1 : 1;
    return x->command < y->command ? -1 : x->command > y->command;
}

static int write_now(const struct tsm_run_times *t)
{
    const char *bytes = (const char *)t->now;
    const size_t size = t->now_count * sizeof(*t->now);

    for (size_t done = 0; done < size;) {
        const ssize_t count = pwrite(t->fd, bytes + done, size - done, (off_t)(t->size + done));

        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return file_error();
        done += (size_t)count;
    }
    return 0;
}

int tsm_run_times_end(struct tsm_run_times *t)
{
    const struct tsm_run_chunk chunk = {.offset = t->size, .count = t->now_count};
    int error;

    if (!t->now_count)
        return 0;
    if (t->fd < 0)
        t->fd = tsm_output_file_unnamed();
    if (t->fd < 0)
        return t->fd;
    qsort(t->now, t->now_count, sizeof(*t->now), by_place);
    error = write_now(t);
    if (error)
        return error;
    if (!TSM_ARRAY_PUSH(t->chunks, t->chunk_count, t->chunk_capacity, chunk))
        return no_memory();
    t->size += t->now_count * sizeof(*t->now);
    t->count += t->now_count;
    t->now_count = 0;
    return 0;
}

int tsm_run_times_add(struct tsm_run_times *t, const struct tsm_replay_time *time)
{
    int error = t->now_count && t->now[0].run != time->run ? tsm_run_times_end(t) : 0;

    if (error)
        return error;
    return TSM_ARRAY_PUSH(t->now, t->now_count, t->now_capacity, *time) ? 0 : no_memory();
}

/* ---- reading ------------------------------------------------------------------------------- */

int tsm_run_times_rewind(struct tsm_run_times *t)
{
    int error = tsm_run_times_end(t);

    for (size_t i = 0; i < t->chunk_count; i++)
        t->chunks[i].read = t->chunks[i].at = t->chunks[i].loaded = 0;
    t->next_seq = 0;
    t->next_chunk = 0;
    return error;
}

static int load(const struct tsm_run_times *t, struct tsm_run_chunk *chunk)
{
    const uint64_t left = chunk->count - chunk->read;
    const size_t count = left < BUFFER_COUNT ? (size_t)left : BUFFER_COUNT;
    const size_t size = count * sizeof(*chunk->buffer);
    ssize_t got;

    if (!chunk->buffer)
        chunk->buffer = calloc(BUFFER_COUNT, sizeof(*chunk->buffer));
    if (!chunk->buffer)
        return no_memory();
    do
        got = pread(t->fd, chunk->buffer, size,
                    (off_t)(chunk->offset + chunk->read * sizeof(*chunk->buffer)));
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return file_error();
    if ((size_t)got != size)
        return tsm_fail(TSM_E_IO, "the file of --time is shorter than it was written");
    chunk->read += count;
    chunk->at = 0;
    chunk->loaded = count;
    return 0;
}

/* Goes to the first time of `seq` or a later record. Returns 1 where it is of `seq`. */
static int find_in(const struct tsm_run_times *t, struct tsm_run_chunk *chunk, uint64_t seq)
{
    for (;;) {
        int error;

        while (chunk->at < chunk->loaded && chunk->buffer[chunk->at].seq < seq)
            chunk->at++;
        if (chunk->at < chunk->loaded)
            return chunk->buffer[chunk->at].seq == seq;
        if (chunk->read == chunk->count)
            return 0;
        error = load(t, chunk);
        if (error)
            return error;
    }
}

int tsm_run_times_next(struct tsm_run_times *t, uint64_t seq, struct tsm_replay_time *out)
{
    if (t->next_seq != seq)
        t->next_chunk = 0;
    t->next_seq = seq;
    for (; t->next_chunk < t->chunk_count; t->next_chunk++) {
        struct tsm_run_chunk *chunk = &t->chunks[t->next_chunk];
        const int found = find_in(t, chunk, seq);

        if (found < 0)
            return found;
        if (found) {
            *out = chunk->buffer[chunk->at++];
            return 1;
        }
    }
    return 0;
}

static int next_of_model(void *user, uint64_t seq, struct tsm_command_time *out)
{
    struct tsm_replay_time time;
    const int found = tsm_run_times_next(user, seq, &time);

    if (found != 1)
        return found;
    out->part = time.part;
    out->run = time.run;
    out->inner_ns = time.inner_ns;
    out->buffer = time.buffer;
    out->command = time.command;
    out->type = time.of_type;
    out->object = time.object;
    out->span = tsm_span_of_time(time.start_ns, time.duration_ns, time.flags, time.error_ns);
    return 1;
}

struct tsm_model_times tsm_run_times_model(struct tsm_run_times *t)
{
    return (struct tsm_model_times){.user = t, .next = next_of_model};
}
