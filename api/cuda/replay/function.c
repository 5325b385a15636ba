/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions of the program that the GPU called in a stream's order. The functions are not here; one
 * of ours takes their place and writes what the trace says that they wrote.
 */
#include "api/cuda/replay/state.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "format/filter.h"

#define PAGE      4096u        /* what capture tells changes by */
#define FOUND_MAX (1ull << 30) /* size of a record that is compared page by page */

/* One HOST_WRITE of a function, or a part of one that says what the function found. */
struct cuda_function_write {
    uint32_t stream;
    uint64_t position, seq;
    uint64_t address, size; /* of the part; size 0: all of the record */
};

static int compare_writes(const void *a, const void *b)
{
    const struct cuda_function_write *x = a, *y = b;

    if (x->stream != y->stream)
        return x->stream < y->stream ? -1 : 1;
    if (x->position != y->position)
        return x->position < y->position ? -1 : 1;
    return x->seq < y->seq ? -1 : x->seq > y->seq;
}

/* Changes that were seen while functions run is the next records': one for each of them, and one
 * for the program. */
static int note_seen(struct cuda_functions *f, const struct sbt_record *record,
                     const struct sbt_schema *schema, bool is_function)
{
    const uint64_t address = sbt_record_role(schema, record, SBT_ROLE_HOST_SRC, 0);
    const uint64_t hash = tsm_hash64(record->data, record->data_size) ^ address;
    const bool is_same = f->seen.seq + 1 == record->seq && f->seen.hash == hash;

    if (!is_function)
        return is_same && !tsm_map_set(&f->same, record->seq, f->seen.seq_first + 1)
                   ? tsm_fail(TSM_E_MEMORY, "no memory for what host functions wrote")
                   : 0;
    f->seen =
        (struct cuda_function_seen){is_same ? f->seen.seq_first : record->seq, record->seq, hash};
    return 0;
}

static int add_write(struct cuda_functions *f, const struct cuda_function_write *write)
{
    struct cuda_function_write *last = f->count ? &f->writes[f->count - 1] : NULL;

    if (last && write->size && last->size && compare_writes(last, write) == 0 &&
        last->address + last->size == write->address) {
        last->size += write->size;
        return 0;
    }
    return TSM_ARRAY_PUSH(f->writes, f->count, f->capacity, *write)
               ? 0
               : tsm_fail(TSM_E_MEMORY, "no memory for what host functions wrote");
}

/* Commands of the device wrote what a thread of the program was the first to see. A function that
 * writes there next may run before that record has its turn: then what it finds is compared. */
static int note_found(struct cuda_functions *f, const struct sbt_record *record,
                      const struct sbt_schema *schema, const struct cuda_function_write *by)
{
    const uint64_t address = sbt_record_role(schema, record, SBT_ROLE_HOST_SRC, 0);
    const int payload = sbt_schema_role(schema, SBT_ROLE_PAYLOAD);
    const bool is_devices = !by && record->flags & SBT_RECORD_DEVICE &&
                            !tsm_map_find(&f->same, record->seq); /* else a function's says so */
    struct sbt_blob blob;
    uint64_t end, until;
    int error = 0;

    if ((!is_devices && !f->found.count) || payload < 0 ||
        !sbt_record_blob(record, (uint32_t)payload, &blob) || blob.size > FOUND_MAX ||
        address > UINT64_MAX - FOUND_MAX - PAGE)
        return 0;
    end = address + blob.size;
    for (uint64_t at = address; at < end && !error; at = until) {
        uint64_t *seq = tsm_map_find(&f->found, at / PAGE);

        until = (at / PAGE + 1) * PAGE;
        if (is_devices && !tsm_map_set(&f->found, at / PAGE, record->seq + 1))
            error = tsm_fail(TSM_E_MEMORY, "no memory for what host functions found");
        if (is_devices || !seq || !*seq)
            continue;
        if (by && !(record->flags & SBT_RECORD_DEVICE)) /* else it says itself what it found */
            error =
                add_write(f, &(struct cuda_function_write){by->stream, by->position, *seq - 1, at,
                                                           (until < end ? until : end) - at});
        *seq = 0;
    }
    return error;
}

int cuda_functions_plan(struct cuda_functions *f, const struct sbt_record *record,
                        const struct sbt_schema *schema)
{
    uint64_t stream = sbt_record_role(schema, record, SBT_ROLE_OF_STREAM, SBT_STREAM_NONE);
    int error;

    if (record->type != SBT_TYPE(SBT_API_CORE, SBT_CORE_HOST_WRITE))
        return 0;
    const bool is_function = stream < SBT_STREAM_NONE;
    const struct cuda_function_write write = {
        .stream = (uint32_t)stream,
        .position = sbt_record_role(schema, record, SBT_ROLE_OF_POSITION, 0),
        .seq = record->seq};

    error = note_seen(f, record, schema, is_function);
    if (!error)
        error = note_found(f, record, schema, is_function ? &write : NULL);
    return error || !is_function ? error : add_write(f, &write);
}

void cuda_functions_prepare(struct cuda_functions *f)
{
    if (f->count && !f->is_prepared)
        qsort(f->writes, f->count, sizeof(*f->writes), compare_writes);
    f->is_prepared = true;
}

void cuda_functions_finish(struct cuda_functions *f)
{
    sbt_cursor_destroy(f->cursor);
    free(f->writes);
    tsm_map_finish(&f->written);
    tsm_map_finish(&f->same);
    tsm_map_finish(&f->found);
    pthread_mutex_destroy(&f->lock);
    pthread_mutex_destroy(&f->written_lock);
    memset(f, 0, sizeof(*f));
}

/* ---- what one function wrote ---------------------------------------------------------------- */

struct piece {
    uint8_t *to;
    uint64_t size, seq;
    bool is_devices; /* what was there when the function began */
    uint8_t *bytes;
};

/* Bytes of the pieces follow. */
struct written {
    struct cuda_functions *functions;
    uint64_t *told; /* becomes CUDA_REACHED_DONE; NULL: nobody asks */
    size_t count;
    struct piece pieces[];
};

/* The lock is held. `same`: the first record with the same bytes, + 1; 0: there is no other. */
static bool is_newer(struct cuda_functions *f, const uint8_t *page, uint64_t seq, uint64_t same)
{
    bool added;
    uint64_t *last = tsm_map_insert(&f->written, (uintptr_t)page / PAGE + 1, &added);
    bool is_there;

    if (last && *last > seq)
        return false;
    is_there = last && !added && same && *last >= same - 1 && *last < seq;
    if (last)
        *last = seq;
    return !is_there;
}

bool cuda_functions_write(struct cuda_functions *f, uint8_t *to, const uint8_t *bytes,
                          uint64_t size, uint64_t seq)
{
    const uint64_t same = tsm_map_get(&f->same, seq, 0);
    bool has_changed = false;
    uint64_t part;

    pthread_mutex_lock(&f->written_lock);
    for (uint64_t at = 0; at < size; at += part) {
        part = PAGE - (uintptr_t)(to + at) % PAGE;
        if (part > size - at)
            part = size - at;
        if (!is_newer(f, to + at, seq, same))
            continue;
        has_changed |= memcmp(to + at, bytes + at, part) != 0;
        memcpy(to + at, bytes + at, part);
    }
    pthread_mutex_unlock(&f->written_lock);
    return has_changed;
}

void cuda_functions_run(void *user)
{
    const struct written *written = user;

    for (size_t i = 0; i < written->count; i++) {
        const struct piece *piece = &written->pieces[i];
        if (piece->to &&
            cuda_functions_write(written->functions, piece->to, piece->bytes, piece->size,
                                 piece->seq) &&
            piece->is_devices)
            __atomic_fetch_add(&written->functions->taken_count, 1, __ATOMIC_RELAXED);
    }
    if (written->told)
        __atomic_store_n(written->told, CUDA_REACHED_DONE, __ATOMIC_RELEASE);
}

void cuda_functions_tell(void *written, uint64_t *told)
{
    if (told)
        *told = CUDA_REACHED_SENT;
    ((struct written *)written)->told = told;
}

/* The first write of the command, and how many. */
static size_t find_writes(const struct cuda_functions *f, uint32_t stream, uint64_t position,
                          size_t *count)
{
    size_t at;
    const struct cuda_function_write sought = {.stream = stream, .position = position};

    TSM_BISECT(at, f->count, compare_writes(&f->writes[at], &sought) >= 0);
    for (*count = 0; at + *count < f->count; ++*count)
        if (f->writes[at + *count].stream != stream || f->writes[at + *count].position != position)
            break;
    return at;
}

bool cuda_functions_wrote(struct cuda_functions *f, uint32_t stream, uint64_t position)
{
    size_t count;

    cuda_functions_prepare(f);
    find_writes(f, stream, position, &count);
    return count > 0;
}

static int read_record(struct cuda_replay *replay, uint64_t seq, const struct sbt_record **record,
                       struct sbt_blob *blob)
{
    struct cuda_functions *f = &replay->functions;
    const struct sbt_schema *schema = sbt_core_schema(SBT_CORE_HOST_WRITE);
    int error = f->cursor ? 0 : sbt_cursor_create(&f->cursor, replay->reader, NULL, 0);

    if (!error)
        error = sbt_cursor_seek(f->cursor, seq);
    if (error >= 0)
        error = sbt_cursor_next(f->cursor, record);
    if (error < 0)
        return error;
    if (!error || (*record)->seq != seq ||
        !sbt_record_blob(*record, (uint32_t)sbt_schema_role(schema, SBT_ROLE_PAYLOAD), blob))
        return tsm_fail(TSM_E_FORMAT, "record %llu, which it wrote, cannot be read",
                        (unsigned long long)seq);
    return 0;
}

/* A part of a record begins at its page, perhaps before the record does. */
static int read_piece(struct cuda_replay *replay, const struct cuda_function_write *write,
                      struct piece *out)
{
    const struct sbt_schema *schema = sbt_core_schema(SBT_CORE_HOST_WRITE);
    const struct sbt_record *record;
    uint64_t address, from, end;
    struct sbt_blob blob;
    int error = read_record(replay, write->seq, &record, &blob);

    if (error)
        return error;
    address = sbt_record_role(schema, record, SBT_ROLE_HOST_SRC, 0);
    from = address;
    end = address + blob.size;
    if (write->size) {
        from = write->address > from ? write->address : from;
        end = write->address + write->size < end ? write->address + write->size : end;
        end = end > from ? end : from;
    }
    out->size = end - from;
    out->seq = write->seq;
    out->is_devices =
        record->flags & SBT_RECORD_DEVICE && sbt_filter_in_range(&replay->options->filter, record);
    out->to = cuda_program_host(replay, from, out->size); /* NULL: released meanwhile */
    if (out->size)
        error = sbt_reader_blob(replay->reader, &blob, from - address, out->bytes, out->size);
    return error < 0 ? error : 0;
}

static int read_pieces(struct cuda_replay *replay, struct cuda_stream_state *stream, size_t first,
                       size_t count, struct written **out)
{
    const struct cuda_function_write *writes = replay->functions.writes + first;
    uint64_t size = sizeof(**out) + count * sizeof(struct piece);
    const struct sbt_record *record;
    struct sbt_blob blob;
    int error = 0;

    for (size_t i = 0; i < count && !error; i++) {
        error = read_record(replay, writes[i].seq, &record, &blob);
        size += error                                          ? 0
                : writes[i].size && writes[i].size < blob.size ? writes[i].size
                                                               : blob.size;
    }
    if (error)
        return error;
    *out = cuda_stream_send(replay, stream, size);
    if (!*out)
        return tsm_fail(TSM_E_MEMORY, "no memory for what a host function wrote");
    (*out)->functions = &replay->functions;
    (*out)->told = NULL;
    (*out)->count = count;
    uint8_t *bytes = (uint8_t *)&(*out)->pieces[count];
    for (size_t i = 0; i < count && !error; i++) {
        struct piece *piece = &(*out)->pieces[i];
        piece->bytes = bytes;
        error = read_piece(replay, &writes[i], piece);
        bytes += piece->size;
    }
    return error;
}

int cuda_functions_behind(struct cuda_args *args, CUstream stream)
{
    const struct sbt_record *record = args->record;
    size_t count;
    void *written;
    CUresult result;

    find_writes(&args->replay->functions, record->stream, record->position, &count);
    if (!count || args->error || (record->flags & SBT_RECORD_CAPTURED))
        return args->error;
    args->error = cuda_functions_take(args->replay, record->stream, record->position, &written);
    if (args->error)
        return args->error;
    /* The program's launch has it inside. */
    cuda_clock_behind(args->replay, true);
    result = args->driver->cuLaunchHostFunc(stream, cuda_functions_run, written);
    cuda_clock_behind(args->replay, false);
    return cuda_args_end(args, result);
}

int cuda_functions_take(struct cuda_replay *replay, uint32_t number, uint64_t position, void **out)
{
    struct cuda_functions *f = &replay->functions;
    struct cuda_stream_state *stream = cuda_stream_find(replay, number);
    size_t count, first = find_writes(f, number, position, &count);
    struct written *written = NULL;
    int error;

    if (!stream)
        return tsm_fail(TSM_E_MEMORY, "no memory for a stream");
    pthread_mutex_lock(&f->lock);
    error = read_pieces(replay, stream, first, count, &written);
    pthread_mutex_unlock(&f->lock);
    *out = written;
    return error;
}

/* ---- the calls ------------------------------------------------------------------------------ */

int replay_cuLaunchHostFunc(struct cuda_replay *replay, const struct sbt_record *record)
{
    bool captured = (record->flags & SBT_RECORD_CAPTURED) != 0;
    CUhostFn function = captured ? cuda_node_function_run : cuda_functions_run;
    void *written = captured ? cuda_node_function_make(replay) : NULL;
    struct cuda_args args;

    cuda_args_begin(&args, replay, record, 0);
    CUstream stream = cuda_arg_stream(&args);
    if (!args.error && !captured)
        args.error = cuda_functions_take(replay, record->stream, record->position, &written);
    if (!args.error && !written)
        args.error = tsm_fail(TSM_E_MEMORY, "no memory for a host function");
    cuda_args_place(&args);
    if (args.error)
        return args.error;
    return cuda_args_end(&args, args.driver->cuLaunchHostFunc(stream, function, written));
}

int replay_cuStreamAddCallback(struct cuda_replay *replay, const struct sbt_record *record)
{
    return replay_cuLaunchHostFunc(replay, record);
}
