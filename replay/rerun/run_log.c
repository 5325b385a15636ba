/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/rerun/run_log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/output_file.h"
#include "base/text.h"
#include "analysis/diff/difference.h"

#define HEAD_SIZE       44 /* kind, stream (u32 each), seq, position, address, size (u64), padding */
#define PIECE_HEAD_SIZE 20 /* key, size (u32) */

/* ---- files -------------------------------------------------------------------------------- */

int tsm_run_log_init(struct tsm_run_log *log)
{
    log->pieces_fd = -1;
    log->list_fd = tsm_output_file_unnamed();
    if (log->list_fd < 0)
        return log->list_fd;
    log->pieces_fd = tsm_output_file_unnamed();
    return log->pieces_fd < 0 ? log->pieces_fd : 0;
}

void tsm_run_log_finish(struct tsm_run_log *log)
{
    if (log->list_fd >= 0)
        close(log->list_fd);
    if (log->pieces_fd >= 0)
        close(log->pieces_fd);
    log->list_fd = log->pieces_fd = -1;
}

int tsm_run_log_clear(struct tsm_run_log *log)
{
    if (ftruncate(log->list_fd, 0) || ftruncate(log->pieces_fd, 0))
        return tsm_fail(TSM_E_IO, "a file of a run: %s", strerror(errno));
    return 0;
}

/* A place in the file of its own: forked processes share the descriptor's. */
static FILE *open_again(int fd, const char *mode)
{
    char path[64];

    tsm_format(path, sizeof(path), "/proc/self/fd/%d", fd);
    return fopen(path, mode); /* output: a descriptor of our own */
}

static int open_both(const struct tsm_run_log *log, const char *mode, FILE **list, FILE **pieces)
{
    *list = open_again(log->list_fd, mode);
    *pieces = open_again(log->pieces_fd, mode);
    if (!*list || !*pieces)
        return tsm_fail(TSM_E_IO, "a file of a run: %s", strerror(errno));
    return 0;
}

static int close_file(FILE *f)
{
    bool failed = !f || ferror(f);

    if (f && fclose(f))
        failed = true;
    return failed ? tsm_fail(TSM_E_IO, "a file of a run: %s", strerror(errno)) : 0;
}

/* ---- writing ------------------------------------------------------------------------------ */

static void put_head(uint8_t head[HEAD_SIZE], const struct tsm_observation *o)
{
    memset(head, 0, HEAD_SIZE);
    tsm_put_u32(head, (uint32_t)o->kind);
    tsm_put_u32(head + 4, o->stream);
    tsm_put_u64(head + 8, o->seq);
    tsm_put_u64(head + 16, o->position);
    tsm_put_u64(head + 24, o->address);
    tsm_put_u64(head + 32, o->size);
}

static int write_begin(void *user, const struct tsm_observation *o)
{
    struct tsm_run_writer *w = user;
    uint8_t head[HEAD_SIZE];

    put_head(head, o);
    fwrite(head, 1, sizeof(head), w->list);
    w->count++;
    return 0;
}

static int write_piece(void *user, const struct sbt_key *key, const uint8_t *bytes, size_t size)
{
    struct tsm_run_writer *w = user;
    uint8_t head[PIECE_HEAD_SIZE];

    fwrite(key, 1, sizeof(*key), w->list);
    if (w->stored_size + size > w->stored_max || sbt_keyset_has(&w->stored, key) ||
        !sbt_keyset_add(&w->stored, key))
        return 0;
    memcpy(head, key, sizeof(*key));
    tsm_put_u32(head + sizeof(*key), (uint32_t)size);
    fwrite(head, 1, sizeof(head), w->pieces);
    fwrite(bytes, 1, size, w->pieces);
    w->stored_size += size;
    return 0;
}

int tsm_run_writer_init(struct tsm_run_writer *w, const struct tsm_run_log *log)
{
    memset(w, 0, sizeof(*w));
    w->stored_max = TSM_RUN_LOG_BYTES_MAX;
    return open_both(log, "r+", &w->list, &w->pieces);
}

int tsm_run_writer_finish(struct tsm_run_writer *w)
{
    int error = close_file(w->list), error2 = close_file(w->pieces);

    sbt_keyset_finish(&w->stored);
    return error ? error : error2;
}

struct tsm_observer tsm_run_writer_observer(struct tsm_run_writer *w)
{
    return (struct tsm_observer){write_begin, write_piece, w};
}

/* ---- comparing ---------------------------------------------------------------------------- */

static uint64_t half_key(const struct sbt_key *key)
{
    return tsm_get_u64(key->bytes);
}

static int make_index(struct tsm_run_reader *r)
{
    uint8_t head[PIECE_HEAD_SIZE];
    struct sbt_key key;
    bool added;

    r->has_index = true;
    rewind(r->pieces);
    for (;;) {
        uint64_t at = (uint64_t)ftello(r->pieces);
        if (fread(head, 1, sizeof(head), r->pieces) != sizeof(head))
            break;
        memcpy(&key, head, sizeof(key));
        uint64_t *place = tsm_map_insert(&r->index, half_key(&key), &added);
        if (!place)
            return tsm_fail(TSM_E_MEMORY, "no memory to compare runs");
        *place = at + 1;
        if (fseeko(r->pieces, tsm_get_u32(head + sizeof(key)), SEEK_CUR))
            break;
    }
    return 0;
}

/* The bytes of the first run's piece; false when they were not kept. */
static bool find_piece(struct tsm_run_reader *r, const struct sbt_key *key, uint8_t *out,
                       size_t size)
{
    const uint64_t *place;
    uint8_t head[PIECE_HEAD_SIZE];

    if (!r->has_index && make_index(r) < 0)
        return false;
    place = tsm_map_find(&r->index, half_key(key));
    return place && !fseeko(r->pieces, (off_t)(*place - 1), SEEK_SET) &&
           fread(head, 1, sizeof(head), r->pieces) == sizeof(head) &&
           !memcmp(head, key, sizeof(*key)) && fread(out, 1, size, r->pieces) == size;
}

/* Tests whether fresh memory holds other bytes in this run than in the logged one. Such bytes are a
 * difference if the program read them back: it has read bytes that were never written. */
static bool may_be_fresh(const struct tsm_run_reader *r)
{
    return r->fresh_then != r->fresh_now && r->now.kind == TSM_OBSERVED_REGION;
}

/* Memory that nobody has written since it was fresh is no difference. */
static void forgive_fresh(const struct tsm_run_reader *r, uint8_t *then, const uint8_t *now,
                          size_t size)
{
    for (size_t i = 0; i < size && may_be_fresh(r); i++)
        if (then[i] == r->fresh_then && now[i] == r->fresh_now)
            then[i] = now[i];
}

#define SCRATCH_RANGES_MAX 512u /* of one piece */

/* Writes the ranges of bytes that differ. Returns their number, or more than SCRATCH_RANGES_MAX. */
static size_t list_ranges(struct tsm_scratch_memory_range *out, uint64_t address,
                          const uint8_t *then, const uint8_t *now, size_t size,
                          uint64_t *byte_count)
{
    size_t count = 0;

    for (size_t i = 0; i < size && count <= SCRATCH_RANGES_MAX; i++) {
        if (then[i] == now[i])
            continue;
        ++*byte_count;
        if (count && out[count - 1].end == address + i)
            out[count - 1].end++;
        else if (count++ < SCRATCH_RANGES_MAX)
            out[count - 1] = (struct tsm_scratch_memory_range){address + i, address + i + 1};
    }
    return count;
}

/* Tests whether all bytes that differ are scratch memory, and counts them. Returns 1 if so. */
static int is_scratch(struct tsm_run_reader *r, uint64_t base, const uint8_t *then,
                      const uint8_t *now, size_t size)
{
    struct tsm_scratch_memory_range ranges[SCRATCH_RANGES_MAX];
    uint64_t byte_count = 0;
    size_t count;
    int error = 0;

    if (!r->trace || r->now.kind != TSM_OBSERVED_REGION)
        return 0;
    if (!r->has_scratch)
        error = tsm_scratch_memory_collect(&r->scratch, r->trace);
    r->has_scratch = true;
    count = list_ranges(ranges, r->now.address + base, then, now, size, &byte_count);
    if (error || count > SCRATCH_RANGES_MAX ||
        !tsm_scratch_memory_has(&r->scratch, r->now.seq, ranges, count))
        return error;
    r->scratch_byte_count += byte_count;
    return 1;
}

static int found(struct tsm_run_reader *r)
{
    struct tsm_difference *d = &r->difference;

    d->seq = r->now.seq;
    d->stream = r->now.stream;
    d->position = r->now.position;
    d->buffer = r->now.address;
    d->buffer_size = r->now.size;
    r->differs = true;
    return tsm_fail(TSM_E_DIFFERENT, "two runs differ");
}

static void take_head(struct tsm_observation *o, const uint8_t head[HEAD_SIZE])
{
    o->kind = (enum tsm_observation_kind)tsm_get_u32(head);
    o->stream = tsm_get_u32(head + 4);
    o->seq = tsm_get_u64(head + 8);
    o->position = tsm_get_u64(head + 16);
    o->address = tsm_get_u64(head + 24);
    o->size = tsm_get_u64(head + 32);
}

void tsm_run_reader_end(struct tsm_run_reader *r)
{
    uint8_t head[HEAD_SIZE];

    if (r->differs || fread(head, 1, 1, r->list) != 1)
        return;
    if (fread(head + 1, 1, sizeof(head) - 1, r->list) == sizeof(head) - 1)
        take_head(&r->now, head);
    found(r);
}

int tsm_run_reader_next(struct tsm_run_reader *r, struct tsm_observation *out, struct sbt_key *hash)
{
    struct tsm_hasher_storage storage;
    struct tsm_hasher *hasher = tsm_hasher_init(&storage);
    uint8_t head[HEAD_SIZE];
    struct sbt_key key;

    if (fread(head, 1, 1, r->list) != 1)
        return 0;
    if (fread(head + 1, 1, sizeof(head) - 1, r->list) != sizeof(head) - 1)
        return tsm_fail(TSM_E_IO, "a file of a run is cut");
    take_head(out, head);
    for (uint64_t done = 0; done < out->size; done += SBT_PIECE_SIZE) {
        if (fread(&key, 1, sizeof(key), r->list) != sizeof(key))
            return tsm_fail(TSM_E_IO, "a file of a run is cut");
        tsm_hasher_add(hasher, &key, sizeof(key));
    }
    *hash = tsm_hasher_key(hasher);
    return 1;
}

static int compare_begin(void *user, const struct tsm_observation *o)
{
    struct tsm_run_reader *r = user;
    uint8_t now[HEAD_SIZE], then[HEAD_SIZE];

    r->now = *o;
    r->offset = 0;
    put_head(now, o);
    if (fread(then, 1, sizeof(then), r->list) != sizeof(then) || memcmp(now, then, sizeof(now)))
        return found(r); /* not the same memory or commands: nothing later can be compared */
    return 0;
}

static int compare_piece(void *user, const struct sbt_key *key, const uint8_t *bytes, size_t size)
{
    struct tsm_run_reader *r = user;
    struct sbt_key then_key;
    uint8_t *then;
    bool differs = true;
    int scratch = 0;

    uint64_t base = r->offset;
    r->offset += size;
    if (fread(&then_key, 1, sizeof(then_key), r->list) != sizeof(then_key))
        return found(r);
    if (tsm_key_equal(key, &then_key))
        return 0;
    then = malloc(SBT_PIECE_SIZE);
    if (!then)
        return tsm_fail(TSM_E_MEMORY, "no memory to compare runs");
    r->difference.offset = base;
    if (find_piece(r, &then_key, then, size)) {
        forgive_fresh(r, then, bytes, size);
        scratch = is_scratch(r, base, then, bytes, size);
        differs = !scratch && tsm_difference_bytes(&r->difference, base, then, bytes, size);
    } else if (may_be_fresh(r)) {
        r->unknown_count++;
        differs = false;
    }
    free(then);
    if (scratch < 0)
        return scratch;
    return differs ? found(r) : 0;
}

int tsm_run_reader_init(struct tsm_run_reader *r, const struct tsm_run_log *log)
{
    memset(r, 0, sizeof(*r));
    return open_both(log, "r", &r->list, &r->pieces);
}

void tsm_run_reader_finish(struct tsm_run_reader *r)
{
    if (r->list)
        fclose(r->list);
    if (r->pieces)
        fclose(r->pieces);
    tsm_map_finish(&r->index);
    tsm_scratch_memory_finish(&r->scratch);
}

struct tsm_observer tsm_run_reader_observer(struct tsm_run_reader *r)
{
    return (struct tsm_observer){compare_begin, compare_piece, r};
}
