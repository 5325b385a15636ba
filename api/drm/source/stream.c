/* SPDX-License-Identifier: Apache-2.0
 *
 * Which stream a submit goes to: its file, and what the driver calls context, ring, queue or
 * channel.
 */
#include "api/drm/source/source.h"

#include "capture/lock.h"

#include <stdatomic.h>
#include <string.h>

#define STREAM_MAX 1024u /* a power of two */

static struct entry {
    _Atomic(struct tsm_stream *) stream; /* set last */
    uint64_t key;
} entries[STREAM_MAX];
static struct tsm_lock lock;

static uint64_t mix(uint64_t key, uint64_t value)
{
    key ^= value + 0x9e3779b97f4a7c15u + (key << 6) + (key >> 2);
    key *= 0xff51afd7ed558ccdu;
    return key ^ key >> 33;
}

/* ---- hooks ------------------------------------------------------------------------------------
 */

/* amdgpu's and radeon's submits have an array of addresses of chunks. */
struct chunk {
    uint32_t id, length_dw;
    uint64_t data;
};

#define CHUNK_MAX 32u

/* The first `size` bytes of the first chunk of kind `id`. */
static bool read_chunk(uint64_t chunks, uint32_t count, uint32_t id, void *out, size_t size)
{
    struct chunk chunk;
    uint64_t address;

    for (uint32_t i = 0; i < count && i < CHUNK_MAX; i++) {
        if (!tsm_memory_read(&address, chunks + 8 * i, 8) ||
            !tsm_memory_read(&chunk, address, sizeof(chunk)))
            break;
        if (chunk.id == id && 4ull * chunk.length_dw >= size)
            return tsm_memory_read(out, chunk.data, size);
    }
    return false;
}

/* struct drm_amdgpu_cs_in: the ring is in the first chunk of kind IB. */
struct amdgpu_cs {
    uint32_t ctx_id, bo_list_handle, chunk_count, flags;
    uint64_t chunks;
};

struct amdgpu_ib {
    uint32_t pad, flags;
    uint64_t va_start;
    uint32_t ib_bytes, ip_type, ip_instance, ring;
};

#define AMDGPU_CHUNK_IB 1u

static uint64_t key_amdgpu(uint64_t key, const void *in)
{
    struct amdgpu_cs cs;
    struct amdgpu_ib ib;

    memcpy(&cs, in, sizeof(cs));
    key = mix(key, cs.ctx_id);
    return read_chunk(cs.chunks, cs.chunk_count, AMDGPU_CHUNK_IB, &ib, sizeof(ib))
               ? mix(mix(mix(key, ib.ip_type), ib.ip_instance), ib.ring)
               : key;
}

/* struct drm_radeon_cs: the second word of the chunk of flags is the ring, else it is the first. */
struct radeon_cs {
    uint32_t chunk_count, cs_id;
    uint64_t chunks;
};

#define RADEON_CHUNK_FLAGS 3u

static uint64_t key_radeon(uint64_t key, const void *in)
{
    struct radeon_cs cs;
    uint32_t words[2] = {0};

    memcpy(&cs, in, sizeof(cs));
    return read_chunk(cs.chunks, cs.chunk_count, RADEON_CHUNK_FLAGS, words, sizeof(words))
               ? mix(key, words[1])
               : mix(key, 0);
}

/* ---- the table ----------------------------------------------------------------------------------
 */

static uint64_t key_of(const struct drm_ioctl *row, uint32_t file, const void *in)
{
    uint64_t key = mix(file, 0);

    for (uint32_t i = 0; i < row->term_count; i++) {
        const struct drm_term *t = &row->terms[i];
        uint64_t value = t->mask;
        if (t->place.size)
            value &= drm_load((const uint8_t *)in + t->place.offset, t->place.size);
        key = mix(key, value);
    }
    if (row->hook == DRM_HOOK_AMDGPU)
        key = key_amdgpu(key, in);
    else if (row->hook == DRM_HOOK_RADEON)
        key = key_radeon(key, in);
    return key ? key : 1;
}

/* NULL: not there. *place: where it would be. */
static struct tsm_stream *find(uint64_t key, uint32_t *place)
{
    for (uint32_t i = 0; i < STREAM_MAX; i++) {
        struct entry *e = &entries[(key + i) % STREAM_MAX];
        struct tsm_stream *stream = atomic_load_explicit(&e->stream, memory_order_acquire);
        *place = (uint32_t)((key + i) % STREAM_MAX);
        if (!stream || e->key == key)
            return stream;
    }
    *place = STREAM_MAX;
    return NULL;
}

struct tsm_stream *drm_stream_of(const struct drm_ioctl *row, uint32_t file, const void *in)
{
    uint64_t key = key_of(row, file, in);
    uint32_t place;
    struct tsm_stream *stream = find(key, &place);

    if (stream)
        return stream;
    tsm_lock_take(&lock);
    stream = find(key, &place);
    if (!stream && place < STREAM_MAX) {
        stream = tsm_stream_create(SBT_API_DRM);
        entries[place].key = key;
        atomic_store_explicit(&entries[place].stream, stream, memory_order_release);
    }
    tsm_lock_give(&lock);
    if (!stream)
        tsm_session_unmodelled("more than 1024 streams of DRM", true);
    return stream;
}

void drm_streams_forked(void)
{
    lock = (struct tsm_lock){0, 0};
    memset(entries, 0, sizeof(entries));
}
