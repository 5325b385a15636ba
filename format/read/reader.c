/* SPDX-License-Identifier: Apache-2.0 */
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

static int header_refuse(const struct sbt_reader *r, const uint8_t *h, uint64_t size)
{
    static const uint8_t mangled[] = {0x89, 'S', 'B', 'T', '\n', 0x1a};

    if (size == 0)
        return tsm_fail(TSM_E_FORMAT, "%s: the file is empty; record again", r->name);
    if (size >= sizeof(mangled) && memcmp(h, mangled, sizeof(mangled)) == 0)
        return tsm_fail(
            TSM_E_FORMAT,
            "%s: offset 4: its line ends were converted; transfer traces as binary files", r->name);
    if (size < SBT_FILE_HEADER_SIZE && memcmp(h, sbt_file_magic, size < 8 ? size : 8) == 0)
        return tsm_fail(
            TSM_E_FORMAT,
            "%s: offset %llu: cut off inside the file header; copy it again, or record again",
            r->name, (unsigned long long)size);
    return tsm_fail(TSM_E_FORMAT, "%s: offset 0: not a TraceSmith trace; 'tsrecord' makes one",
                    r->name);
}

static int version_check(const struct sbt_reader *r, unsigned major, unsigned minor,
                         uint64_t features)
{
    if (major != SBT_VERSION_MAJOR)
        return tsm_fail(
            TSM_E_VERSION,
            "%s: offset 8: format version %u.%u, this build reads %u.x; use a newer TraceSmith",
            r->name, major, minor, SBT_VERSION_MAJOR);
    if (features & ~SBT_FEATURES_KNOWN)
        return tsm_fail(TSM_E_VERSION,
                        "%s: offset 16: needs features %#llx that this build does not know; use a "
                        "newer TraceSmith",
                        r->name, (unsigned long long)(features & ~SBT_FEATURES_KNOWN));
    return 0;
}

static int read_header(struct sbt_reader *r)
{
    uint8_t h[SBT_HEADER_LENGTH_MAX] = {0};
    uint64_t have = r->size < SBT_FILE_HEADER_SIZE ? r->size : SBT_FILE_HEADER_SIZE;
    struct sbt_file_header header;
    int error = sbt_reader_read(r, 0, h, (size_t)have);

    if (error)
        return error;
    if (have < SBT_FILE_HEADER_SIZE || memcmp(h, sbt_file_magic, sizeof(sbt_file_magic)) != 0)
        return header_refuse(r, h, have);
    sbt_file_header_get(&header, h);
    r->header_length = SBT_FILE_HEADER_SIZE;
    if (header.length > SBT_FILE_HEADER_SIZE && header.length <= SBT_HEADER_LENGTH_MAX &&
        header.length <= r->size) {
        r->header_length = header.length;
        error = sbt_reader_read(r, 0, h, r->header_length);
        if (error)
            return error;
    }
    if (header.length != r->header_length ||
        tsm_get_u64(h + r->header_length - 8) != tsm_hash64(h, r->header_length - 8)) {
        /* STREAM_INFO repeats everything that is in it. */
        sbt_reader_say(r, "offset 0: the file header does not match its checksum; ignored");
        r->header_length = SBT_FILE_HEADER_SIZE;
        return 0;
    }
    if (header.minor == 0 && tsm_get_u64(h + 48) != 0)
        sbt_reader_say(r, "reserved bytes of the file header are not zero");
    r->header = header;
    r->has_header = true;
    return version_check(r, header.major, header.minor, header.required_features);
}

/* The file header repeats what STREAM_INFO says. */
static void compare_with_header(struct sbt_reader *r)
{
    const struct sbt_file_header *h = &r->header;
    const struct sbt_session *s = &r->session;

    if (r->has_header &&
        (h->major != r->major || h->minor != r->minor || memcmp(h->session, s->id, 16) != 0 ||
         h->required_features != s->required_features ||
         h->optional_features != s->optional_features))
        sbt_reader_say(r, "STREAM_INFO and the file header differ");
}

static int parse_stream_info(struct sbt_reader *r, uint8_t *payload, size_t size)
{
    struct tsm_view v = tsm_view_init(payload, size);
    const uint8_t *id;
    struct sbt_session *s = &r->session;

    r->major = tsm_view_u16(&v);
    r->minor = tsm_view_u16(&v);
    id = tsm_view_take(&v, sizeof(s->id));
    s->required_features = tsm_view_u64(&v);
    s->optional_features = tsm_view_u64(&v);
    s->start_monotonic_ns = tsm_view_u64(&v);
    s->start_realtime_ns = tsm_view_u64(&v);
    s->clock = sbt_view_text(&v, SBT_NAME_MAX);
    if (v.failed)
        return tsm_fail(
            TSM_E_FORMAT,
            "%s: offset 64: the STREAM_INFO chunk is malformed; copy it again, or record again",
            r->name);
    memcpy(s->id, id, sizeof(s->id));
    if (tsm_get_u32(id) != r->session_word)
        return tsm_fail(
            TSM_E_FORMAT,
            "%s: offset 64: the STREAM_INFO chunk is not of its own session; record again",
            r->name);
    compare_with_header(r);
    return version_check(r, r->major, r->minor, s->required_features);
}

/* The first chunk stands where the header ends and is the only one that nothing can do without. */
static int read_stream_info(struct sbt_reader *r)
{
    struct sbt_entry first = {.info = {.offset = r->header_length}};
    uint8_t header[SBT_CHUNK_HEADER_SIZE];
    uint8_t *payload = NULL;
    int error;

    if (r->size < r->header_length + (uint64_t)SBT_CHUNK_HEADER_SIZE)
        return tsm_fail(
            TSM_E_FORMAT,
            "%s: offset %llu: cut off inside STREAM_INFO; copy it again, or record again", r->name,
            (unsigned long long)r->size);
    error = sbt_reader_read(r, r->header_length, header, sizeof(header));
    if (error)
        return error;
    if (!sbt_chunk_get(&first.head, header) || first.head.type != SBT_CHUNK_STREAM_INFO ||
        first.head.number != 0)
        return tsm_fail(
            TSM_E_FORMAT,
            "%s: offset 64: no intact STREAM_INFO chunk; copy it again, or record again", r->name);
    if (first.head.stored_size > r->size - r->header_length - SBT_CHUNK_HEADER_SIZE)
        return tsm_fail(
            TSM_E_FORMAT,
            "%s: offset %llu: cut off inside STREAM_INFO; copy it again, or record again", r->name,
            (unsigned long long)r->size);
    r->session_word = first.head.session;
    /* Entries are filled by the index; this one is borrowed until then. */
    r->entries = &first;
    error = sbt_reader_load(r, &r->packer, 0, &payload, false);
    r->entries = NULL;
    if (error)
        return error;
    if (!sbt_reader_keep(r, payload))
        return tsm_fail(TSM_E_MEMORY, "%s: out of memory", r->name);
    return parse_stream_info(r, payload, first.head.raw_size);
}

static int check_unpacked(const struct sbt_reader *r)
{
    struct sbt_unpacked_sum sum = {0};
    int error = 0;

    for (size_t i = 0; i < r->entry_count && !error; i++)
        error = sbt_unpacked_add(&sum, r->name, &r->entries[i].head, r->size);
    return error;
}

static int reader_begin(struct sbt_reader *r, const char *name)
{
    int error;

    r->size = r->source.size(r->source.user);
    r->name = strdup(name);
    r->damage = calloc(SBT_DAMAGE_LINES_MAX, sizeof(*r->damage));
    if (!r->name || !r->damage)
        return tsm_fail(TSM_E_MEMORY, "%s: out of memory", name);
    error = read_header(r);
    if (!error)
        error = read_stream_info(r);
    if (!error)
        error = sbt_reader_index(r);
    if (!error)
        error = check_unpacked(r);
    if (!error)
        error = sbt_reader_tables(r);
    if (!error && !r->totals_known)
        sbt_reader_count_notable(r, &r->totals);
    return error;
}

int sbt_reader_open_source(struct sbt_reader **out, const struct sbt_source *source,
                           const char *name)
{
    struct sbt_reader *r = calloc(1, sizeof(*r));
    int error;

    if (!r) {
        if (source->close)
            source->close(source->user);
        return tsm_fail(TSM_E_MEMORY, "%s: out of memory", name);
    }
    r->source = *source;
    pthread_mutex_init(&r->lock, NULL);
    pthread_cond_init(&r->blob_moved, NULL);
    error = reader_begin(r, name);
    if (error) {
        sbt_reader_destroy(r);
        return error;
    }
    *out = r;
    return 0;
}

int sbt_reader_open(struct sbt_reader **out, const char *path)
{
    struct sbt_source source;
    int error = sbt_source_file(&source, path);

    return error ? error : sbt_reader_open_source(out, &source, path);
}

/* Readers that are left; leak checkers find them here. */
static struct sbt_reader *left;
static pthread_mutex_t left_lock = PTHREAD_MUTEX_INITIALIZER;

void sbt_reader_leave(struct sbt_reader *r)
{
    pthread_mutex_lock(&left_lock);
    if (!r->left_count++) {
        r->next_left = left;
        left = r;
    }
    pthread_mutex_unlock(&left_lock);
}

void sbt_reader_take_back(struct sbt_reader *r)
{
    struct sbt_reader **at = &left;
    bool is_given_up;

    pthread_mutex_lock(&left_lock);
    if (!--r->left_count) {
        while (*at != r)
            at = &(*at)->next_left;
        *at = r->next_left;
    }
    is_given_up = r->is_given_up && !r->left_count;
    pthread_mutex_unlock(&left_lock);
    if (is_given_up)
        sbt_reader_destroy(r);
}

/* Returns true if somebody still uses the reader, who destroys it in its owner's place. */
static bool give_up(struct sbt_reader *r)
{
    bool is_used;

    pthread_mutex_lock(&left_lock);
    is_used = r->left_count > 0;
    r->is_given_up = is_used;
    pthread_mutex_unlock(&left_lock);
    return is_used;
}

void sbt_reader_destroy(struct sbt_reader *r)
{
    if (!r || give_up(r))
        return;
    sbt_reader_tables_finish(r);
    sbt_reader_blobs_finish(r);
    for (size_t i = 0; i < r->kept_count; i++)
        free(r->kept[i]);
    free(r->kept);
    sbt_reader_forget_damage(r, 0);
    free(r->damage);
    free(r->entries);
    free(r->events);
    free(r->name);
    sbt_packer_finish(&r->packer);
    pthread_cond_destroy(&r->blob_moved);
    pthread_mutex_destroy(&r->lock);
    if (r->source.close)
        r->source.close(r->source.user);
    free(r);
}

/* ---- what is known once open ---- */

const char *sbt_reader_name(const struct sbt_reader *r)
{
    return r->name;
}

const struct sbt_session *sbt_reader_session(const struct sbt_reader *r)
{
    return &r->session;
}

const struct sbt_totals *sbt_reader_totals(const struct sbt_reader *r)
{
    return &r->totals;
}

enum sbt_end sbt_reader_end(const struct sbt_reader *r)
{
    return r->end;
}

size_t sbt_reader_chunk_count(const struct sbt_reader *r)
{
    return r->entry_count;
}

const struct sbt_chunk_info *sbt_reader_chunk(const struct sbt_reader *r, size_t index)
{
    return index < r->entry_count ? &r->entries[index].info : NULL;
}

size_t sbt_reader_unknown_count(const struct sbt_reader *r)
{
    return r->unknown_count;
}

uint64_t sbt_reader_bytes_read(const struct sbt_reader *r)
{
    return __atomic_load_n(&r->bytes_read, __ATOMIC_RELAXED);
}
