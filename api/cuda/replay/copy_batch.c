/* SPDX-License-Identifier: Apache-2.0
 *
 * Replay of batches of copies. Memory of the program is where nodes of graphs find it, too
 * (graph/host_memory.c): what it sends was written there by records before this one, and what it
 * gets is received from there.
 */
#include "api/cuda/copy_batch.h"

#include <stdlib.h>
#include <string.h>

#include "api/cuda/graph_parts.h"
#include "api/cuda/replay/state.h"

#define AT(name) SLOT_cuMemcpyBatchAsync_v2_##name

/* A record's lists, which have no alignment there: owned. */
struct batch {
    CUdeviceptr *dsts, *srcs;
    size_t *sizes;
    size_t count;
    CUmemcpyAttributes *attributes;
    size_t *attribute_firsts;
    size_t attribute_count;
};

static void finish(struct batch *b)
{
    free(b->dsts);
    free(b->srcs);
    free(b->sizes);
    free(b->attributes);
    free(b->attribute_firsts);
}

/* Returns NULL where the record has not `count` elements there, or there is no memory. */
static void *read_list(const struct sbt_record *record, uint32_t slot, uint64_t count,
                       size_t element_size)
{
    const uint8_t *bytes;
    size_t size;
    void *list;

    if (!sbt_record_bytes(record, slot, &bytes, &size) || size % element_size ||
        size / element_size != count)
        return NULL;
    list = malloc(size + 1);
    if (list && size)
        memcpy(list, bytes, size);
    return list;
}

static int read_batch(const struct sbt_record *record, struct batch *b)
{
    if (record->slot_count <= AT(numAttrs))
        return tsm_fail(TSM_E_FORMAT, "is no batch of copies");
    *b = (struct batch){.count = record->slots[AT(count)],
                        .attribute_count = record->slots[AT(numAttrs)]};
    b->dsts = read_list(record, AT(dsts), b->count, sizeof(*b->dsts));
    b->srcs = read_list(record, AT(srcs), b->count, sizeof(*b->srcs));
    b->sizes = read_list(record, AT(sizes), b->count, sizeof(*b->sizes));
    b->attributes = read_list(record, AT(attrs), b->attribute_count, sizeof(*b->attributes));
    b->attribute_firsts =
        read_list(record, AT(attrsIdxs), b->attribute_count, sizeof(*b->attribute_firsts));
    if (b->dsts && b->srcs && b->sizes && b->attributes && b->attribute_firsts)
        return 0;
    finish(b);
    return tsm_fail(TSM_E_FORMAT, "has not all of its %llu copies",
                    (unsigned long long)record->slots[AT(count)]);
}

static CUDA_MEMCPY3D copy_of(CUdeviceptr dst, CUdeviceptr src, size_t size)
{
    return (CUDA_MEMCPY3D){.srcMemoryType = CU_MEMORYTYPE_UNIFIED,
                           .srcDevice = src,
                           .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
                           .dstDevice = dst,
                           .WidthInBytes = size,
                           .Height = 1,
                           .Depth = 1};
}

bool cuda_is_copy_batch(uint32_t type)
{
    return type == TYPE_cuMemcpyBatchAsync || type == TYPE_cuMemcpyBatchAsync_ptsz ||
           type == TYPE_cuMemcpyBatchAsync_v2 || type == TYPE_cuMemcpyBatchAsync_v2_ptsz;
}

int cuda_copy_batch_plan(struct cuda_memory *memory, const struct sbt_record *record,
                         const struct sbt_schema *schema,
                         int (*plan)(struct cuda_memory *memory, const CUDA_MEMCPY3D *copy))
{
    struct batch b;
    size_t size;
    int error;

    if (schema->fields[AT(dsts)].type != SBT_FIELD_BYTES ||
        record->flags & (SBT_RECORD_TRUNCATED | SBT_RECORD_FAILED))
        return 0; /* recorded before such calls were modelled, or cut: not replayed */
    error = read_batch(record, &b);
    if (error)
        return error;
    for (size_t i = 0; i < b.count && !error; i++) {
        const CUDA_MEMCPY3D copy = copy_of(0, b.srcs[i], b.sizes[i]);
        error = plan(memory, &copy);
    }
    for (size_t i = 0; i < b.count && !error;) {
        const CUdeviceptr start = b.dsts[i];
        i = cuda_copy_batch_next(b.dsts, b.sizes, b.count, i, &size);
        const CUDA_MEMCPY3D copy = copy_of(start, 0, size);
        error = plan(memory, &copy);
    }
    finish(&b);
    return error;
}

/* Finds memory of the program whose copies follow each other as a whole, so that its parts do, too.
 */
static int find_whole(struct cuda_replay *replay, const struct batch *b)
{
    size_t size;
    int error = 0;

    for (size_t i = 0; i < b->count && !error;) {
        const CUdeviceptr start = b->dsts[i];
        i = cuda_copy_batch_next(b->dsts, b->sizes, b->count, i, &size);
        CUDA_MEMCPY3D whole = copy_of(start, 0, size);
        error = cuda_program_copy(replay, &whole);
    }
    return error;
}

/* Puts the addresses of this replay in place of the recorded ones. */
static int place(struct cuda_replay *replay, struct batch *b)
{
    int error = find_whole(replay, b);

    for (size_t i = 0; i < b->count && !error; i++) {
        CUDA_MEMCPY3D copy = copy_of(b->dsts[i], b->srcs[i], b->sizes[i]);
        error = cuda_program_copy(replay, &copy);
        b->dsts[i] = copy.dstDevice;
        b->srcs[i] = copy.srcDevice;
    }
    return error;
}

/* Sends it, to a driver before CUDA 13 as single copies. */
static CUresult send(const struct cuda_real *driver, const struct batch *b, CUstream stream)
{
    CUresult result =
        driver->cuMemcpyBatchAsync_v2(b->dsts, b->srcs, b->sizes, b->count, b->attributes,
                                      b->attribute_firsts, b->attribute_count, stream);

    if (result != CUDA_ERROR_NOT_FOUND)
        return result;
    result = CUDA_SUCCESS;
    for (size_t i = 0; i < b->count && result == CUDA_SUCCESS; i++)
        result = driver->cuMemcpyAsync(b->dsts[i], b->srcs[i], b->sizes[i], stream);
    return result;
}

/* Keeps what the program gets. The lists have the replay's addresses. */
static int receive(struct cuda_args *args, const struct batch *b, CUstream stream)
{
    int error = 0;
    size_t size;

    for (size_t i = 0; i < b->count && !error;) {
        const CUdeviceptr start = b->dsts[i];
        const uint8_t *from = (const uint8_t *)(uintptr_t)start; /* NOLINT: an address */
        i = cuda_copy_batch_next(b->dsts, b->sizes, b->count, i, &size);
        const struct cuda_host_box box = {from, size, 1, 1, size, size};
        if (cuda_copy_is_host(args->driver, CU_MEMORYTYPE_UNIFIED, start))
            error = cuda_stream_take(args->replay, args->record, stream,
                                     cuda_program_recorded(args->replay, from), &box);
    }
    return error;
}

int replay_cuMemcpyBatchAsync_v2(struct cuda_replay *replay, const struct sbt_record *record)
{
    struct cuda_args args;
    CUresult result = CUDA_SUCCESS;
    struct batch b;

    cuda_args_begin(&args, replay, record, AT(numAttrs) + 1);
    CUstream stream = cuda_arg_stream(&args);
    if (args.error || (args.error = read_batch(record, &b)))
        return args.error;
    args.error = place(replay, &b);
    if (!args.error) {
        cuda_args_send(&args);
        result = send(args.driver, &b, stream);
        cuda_args_sent(&args);
    }
    if (!args.error && result == CUDA_SUCCESS && !(record->flags & SBT_RECORD_CAPTURED)) {
        cuda_clock_behind(replay, true);
        args.error = receive(&args, &b, stream);
        cuda_clock_behind(replay, false);
    }
    finish(&b);
    return args.error ? args.error : cuda_args_end(&args, result);
}

/* ---- decompression ------------------------------------------------------------------------ */

#define PIECE(name) SLOT_cuMemBatchDecompressAsync_##name

static void *pointer_arg(struct cuda_args *args, uint32_t slot)
{
    return (void *)(uintptr_t)cuda_arg_address(args, slot); /* NOLINT: an address */
}

/* A piece of a batch, which is one of its records. */
int replay_cuMemBatchDecompressAsync(struct cuda_replay *replay, const struct sbt_record *record)
{
    struct cuda_args args;

    cuda_args_begin(&args, replay, record, PIECE(algo) + 1);
    CUstream stream = cuda_arg_stream(&args);
    CUmemDecompressParams p = {.srcNumBytes = cuda_arg(&args, PIECE(srcNumBytes)),
                               .dstNumBytes = cuda_arg(&args, PIECE(dstNumBytes)),
                               .dstActBytes = pointer_arg(&args, PIECE(dstActBytes)),
                               .src = pointer_arg(&args, PIECE(src)),
                               .dst = pointer_arg(&args, PIECE(dst)),
                               .algo = (CUmemDecompressAlgorithm)cuda_arg(&args, PIECE(algo))};
    if (args.error)
        return args.error;
    cuda_args_send(&args);
    return cuda_args_end(&args, args.driver->cuMemBatchDecompressAsync(
                                    &p, 1, (unsigned)cuda_arg(&args, PIECE(flags)), NULL, stream));
}
