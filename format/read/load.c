/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads and unpacks chunks of a file, and notes damage: used by all parts of the reader.
 */
#include "tracesmith/reader.h"

#include "base/array.h"
#include "base/bytes.h"
#include "base/hash.h"
#include "base/text.h"
#include "format/limits.h"
#include "format/read/state.h"
#include "format/chunk/source.h"
#include "format/chunk/table.h"

#include <stdlib.h>
#include <string.h>

static char damage_untold[] = "something cannot be read, and there is no memory to say what";

bool sbt_reader_keep(struct sbt_reader *r, void *block)
{
    if (TSM_ARRAY_PUSH(r->kept, r->kept_count, r->kept_capacity, block))
        return true;
    free(block);
    return false;
}

static void say(struct sbt_reader *r, const char *format, va_list ap)
{
    char line[512];
    char *copy = NULL;

    tsm_vformat(line, sizeof(line), format, ap);
    if (!r->damage || r->damage_count == SBT_DAMAGE_LINES_MAX) {
        r->damage_more++;
        return;
    }
    copy = strdup(line);
    if (!copy) /* that there is damage must be known in any case */
        copy = damage_untold;
    r->damage[r->damage_count] = copy;
    __atomic_store_n(&r->damage_count, r->damage_count + 1, __ATOMIC_RELEASE);
}

void sbt_reader_say_locked(struct sbt_reader *r, const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    say(r, format, ap);
    va_end(ap);
}

void sbt_reader_say(struct sbt_reader *r, const char *format, ...)
{
    va_list ap;

    pthread_mutex_lock(&r->lock);
    va_start(ap, format);
    say(r, format, ap);
    va_end(ap);
    pthread_mutex_unlock(&r->lock);
}

void sbt_reader_blame(struct sbt_reader *r, size_t place, const char *wrong, bool locked)
{
    struct sbt_entry *e = &r->entries[place];

    if (!locked)
        pthread_mutex_lock(&r->lock);
    if (!e->damaged) {
        e->damaged = true;
        if (e->head.type == SBT_CHUNK_EVENTS)
            sbt_reader_say_locked(r, "offset %llu: EVENTS chunk %u: %s; records %llu to %llu lost",
                                  (unsigned long long)e->info.offset, e->head.number, wrong,
                                  (unsigned long long)e->head.first_seq,
                                  (unsigned long long)e->head.last_seq);
        else
            sbt_reader_say_locked(r, "offset %llu: %s chunk %u: %s; skipped",
                                  (unsigned long long)e->info.offset,
                                  sbt_chunk_type_name(e->head.type), e->head.number, wrong);
    }
    if (!locked)
        pthread_mutex_unlock(&r->lock);
}

void sbt_reader_forget_damage(struct sbt_reader *r, size_t count)
{
    while (r->damage && r->damage_count > count) {
        char *line = r->damage[--r->damage_count];
        if (line != damage_untold)
            free(line);
    }
}

size_t sbt_reader_damage_count(const struct sbt_reader *r)
{
    return __atomic_load_n(&r->damage_count, __ATOMIC_ACQUIRE);
}

const char *sbt_reader_damage(const struct sbt_reader *r, size_t index)
{
    return index < sbt_reader_damage_count(r) ? r->damage[index] : NULL;
}

int sbt_reader_read(struct sbt_reader *r, uint64_t offset, void *out, size_t size)
{
    uint8_t *at = out;
    size_t left = size;

    while (left) {
        int64_t n = r->source.read_at(r->source.user, offset, at, left);
        if (n < 0)
            return (int)n;
        if (n == 0)
            return tsm_fail(TSM_E_FORMAT, "%s: the file ends at offset %llu, inside a chunk",
                            r->name, (unsigned long long)offset);
        at += n;
        offset += (uint64_t)n;
        left -= (size_t)n;
    }
    __atomic_add_fetch(&r->bytes_read, size, __ATOMIC_RELAXED);
    return 0;
}

int sbt_reader_load(struct sbt_reader *r, struct sbt_packer *packer, size_t place,
                    uint8_t **payload, bool locked)
{
    const struct sbt_entry *e = &r->entries[place];
    size_t size = SBT_CHUNK_HEADER_SIZE + (size_t)e->head.stored_size;
    uint8_t *stored = malloc(size);
    uint8_t *raw = malloc(e->head.raw_size ? e->head.raw_size : 1);
    const char *wrong = NULL;
    int error = 0;

    if (!stored || !raw)
        error = tsm_fail(TSM_E_MEMORY, "%s: out of memory for a chunk", r->name);
    if (!error)
        error = sbt_reader_read(r, e->info.offset, stored, size);
    if (!error && !sbt_chunk_is(&e->head, stored))
        wrong = "its header is not what the index says";
    else if (!error)
        wrong = sbt_chunk_unpack(packer, &e->head, stored + SBT_CHUNK_HEADER_SIZE, raw);
    if (wrong == sbt_no_memory) {
        error = tsm_fail(TSM_E_MEMORY, "%s: out of memory for a chunk", r->name);
        wrong = NULL;
    }
    if (wrong) {
        sbt_reader_blame(r, place, wrong, locked);
        error =
            tsm_fail(TSM_E_CHECKSUM, "%s: offset %llu: %s chunk: %s", r->name,
                     (unsigned long long)e->info.offset, sbt_chunk_type_name(e->head.type), wrong);
    }
    free(stored);
    if (error) {
        free(raw);
        return error;
    }
    __atomic_store_n(&r->entries[place].is_sound, true, __ATOMIC_RELAXED);
    *payload = raw;
    return 0;
}
