/* SPDX-License-Identifier: Apache-2.0
 *
 * The live CUDA arrays: TS_CHECKSUM hashes them like device memory, checkpoints save them. A level
 * of a mipmapped array, and a plane, counts from when the program asks for it.
 */
#include "api/cuda/source/source.h"

#include "api/cuda/array_bytes.h"
#include "api/cuda/cuda_hooks.h"
#include "api/cuda/cuda_wrappers.h"
#include "api/cuda/source/encode.h"
#include "base/clock.h"
#include "base/hash.h"

#include <stdatomic.h>

#define ARRAY_MAX 16384u

/* Free when `raw` is NULL. Taken and given as allocations are: checksum.c. */
struct slot {
    _Atomic(CUarray) raw;
    _Atomic(void *) whole; /* it is a level or plane of, or NULL */
    _Atomic(const struct cuda_context *) context;
    _Atomic(uint64_t) made; /* time stamp: a call that began before does not speak of it */
};

static _Atomic(struct slot *) table;
static atomic_uint used;
static atomic_bool too_many;

static bool wanted(void)
{
    return tsm_session_settings()->checksum != TSM_CHECKSUM_OFF || tsm_checkpoint_possible();
}

static struct slot *slots(void)
{
    struct slot *there = atomic_load(&table), *made;

    if (there)
        return there;
    made = cuda_keep(ARRAY_MAX * sizeof(*made));
    return !made || atomic_compare_exchange_strong(&table, &there, made) ? made : there;
}

static void fill(struct slot *slot, void *whole)
{
    atomic_store(&slot->whole, whole);
    atomic_store(&slot->context, cuda_context_current());
    atomic_store(&slot->made, tsm_ticks());
}

static void add(CUarray raw, void *whole)
{
    struct slot *list = slots();
    unsigned count = atomic_load(&used);

    for (unsigned i = 0; list && i < count && i < ARRAY_MAX; i++)
        if (atomic_load(&list[i].raw) == raw) {
            fill(&list[i], whole); /* the same again, or its value was given out again */
            return;
        }
    for (unsigned i = 0; list && i < ARRAY_MAX; i++) {
        CUarray none = NULL;
        if (i >= count)
            atomic_store(&used, count = i + 1);
        if (!atomic_compare_exchange_strong(&list[i].raw, &none, raw))
            continue;
        fill(&list[i], whole);
        return;
    }
    atomic_store(&too_many, true);
}

void cuda_after_array(struct tsm_call *call, bool ok, const CUarray *array)
{
    if (ok && wanted())
        add(*array, NULL);
}

void cuda_after_level(struct tsm_call *call, bool ok, const CUarray *array, CUmipmappedArray mipmap)
{
    if (ok && wanted())
        add(*array, mipmap);
}

void cuda_after_plane(struct tsm_call *call, bool ok, const CUarray *array, CUarray whole)
{
    if (ok && wanted())
        add(*array, whole);
}

/* An array, or all that are parts of one. */
static void drop(const struct tsm_call *call, CUarray raw, void *whole)
{
    struct slot *list = atomic_load(&table);

    for (unsigned i = 0; list && i < atomic_load(&used) && i < ARRAY_MAX; i++) {
        CUarray there = atomic_load(&list[i].raw);
        if (there && (there == raw || (whole && atomic_load(&list[i].whole) == whole)) &&
            atomic_load(&list[i].made) <= tsm_call_began(call)) {
            atomic_store(&list[i].whole, NULL);
            atomic_compare_exchange_strong(&list[i].raw, &there, NULL);
        }
    }
}

void cuda_arrays_destroyed(const struct cuda_context *context)
{
    struct slot *list = atomic_load(&table);

    for (unsigned i = 0; list && i < atomic_load(&used) && i < ARRAY_MAX; i++)
        if (atomic_load(&list[i].raw) && atomic_load(&list[i].context) == context)
            atomic_store(&list[i].raw, NULL);
}

void cuda_after_array_destroyed(struct tsm_call *call, bool ok, CUarray array)
{
    if (ok && array)
        cuda_tiles_destroyed(CUDA_OBJECT_ARRAY, array);
    if (ok && array)
        drop(call, array, array);
}

void cuda_after_mipmap_destroyed(struct tsm_call *call, bool ok, CUmipmappedArray mipmap)
{
    if (ok && mipmap)
        cuda_tiles_destroyed(CUDA_OBJECT_MIPMAP, mipmap);
    if (ok && mipmap)
        drop(call, NULL, mipmap);
}

unsigned cuda_array_count(void)
{
    return atomic_load(&table) ? atomic_load(&used) : 0;
}

bool cuda_arrays_each(bool (*visit)(CUarray raw, uint32_t id, const struct cuda_context *context))
{
    struct slot *list = atomic_load(&table);

    for (unsigned i = 0; i < cuda_array_count() && i < ARRAY_MAX; i++) {
        CUarray raw = atomic_load(&list[i].raw);
        uint64_t id = raw ? cuda_id_if_known(CUDA_OBJECT_ARRAY, CUDA_SLOT(raw)) : 0;

        if (id && !visit(raw, (uint32_t)id, atomic_load(&list[i].context)))
            return false;
    }
    return !atomic_load(&too_many);
}

bool cuda_array_hash(unsigned at, void *buffer, size_t room, uint64_t *place, uint64_t *size,
                     struct sbt_key *key)
{
    struct slot *list = atomic_load(&table);
    CUarray raw = list && at < ARRAY_MAX ? atomic_load(&list[at].raw) : NULL;
    uint64_t id = raw ? cuda_id_if_known(CUDA_OBJECT_ARRAY, CUDA_SLOT(raw)) : 0;
    struct tsm_hasher_storage storage;
    struct tsm_hasher *hasher = tsm_hasher_init(&storage);
    CUDA_ARRAY3D_DESCRIPTOR description;
    struct cuda_array_shape shape;

    if (!id || real.cuArray3DGetDescriptor_v2(&description, raw) != CUDA_SUCCESS ||
        !cuda_array_shape(&shape, &description))
        return false;
    *place = CUDA_ARRAY_PLACE(id);
    *size = cuda_array_size(&shape);
    for (uint64_t done = 0; done < *size; done += room) {
        uint64_t part = *size - done < room ? *size - done : room;

        if (cuda_array_bytes(real.cuMemcpy3D_v2, raw, &shape, done, buffer, part, false) !=
            CUDA_SUCCESS)
            return false;
        tsm_hasher_add(hasher, buffer, part);
    }
    *key = tsm_hasher_key(hasher);
    return true;
}

void cuda_arrays_forked(void)
{
    atomic_store(&used, 0);
    atomic_store(&too_many, false);
    atomic_store(&table, NULL);
}
