/* SPDX-License-Identifier: Apache-2.0
 *
 * Decompression: a batch of compressed pieces in device memory, each unpacked into device memory by
 * one command.
 */
#include <lz4.h>
#include <stdlib.h>
#include <string.h>

#include "emu/cuda/check/written.h"
#include "emu/cuda/core/device.h"
#include "emu/cuda/core/emu.h"
#include "emu/cuda/graph/capture.h"
#include "emu/cuda/memory/memory.h"
#include "emu/cuda/memory/unpack.h"
#include "emu/cuda/stream/accesses.h"
#include "emu/cuda/stream/stream.h"

/* Payload: the operations are owned. */
struct batch {
    CUmemDecompressParams *list;
    size_t count;
};

static uint64_t address_of(const void *pointer)
{
    return (uintptr_t)pointer;
}

/* Bytes that may be written: as the program says, else up to the end of the allocation. */
static size_t room_of(const CUmemDecompressParams *p)
{
    struct emu_memory memory;

    if (p->dstNumBytes)
        return p->dstNumBytes;
    return emu_memory_find(&memory, address_of(p->dst))
               ? memory.address + memory.size - address_of(p->dst)
               : 0;
}

static bool is_there(const CUmemDecompressParams *p)
{
    return emu_memory_covers(address_of(p->src), p->srcNumBytes) &&
           emu_memory_covers(address_of(p->dst), p->dstNumBytes ? p->dstNumBytes : 1) &&
           emu_memory_covers(address_of(p->dstActBytes), sizeof(*p->dstActBytes));
}

static bool unpack(const CUmemDecompressParams *p, size_t *written)
{
    const size_t room = room_of(p);
    int size;

    switch (p->algo) {
    case CU_MEM_DECOMPRESS_ALGORITHM_DEFLATE:
        return emu_unpack_deflate(p->src, p->srcNumBytes, p->dst, room, written);
    case CU_MEM_DECOMPRESS_ALGORITHM_SNAPPY:
        return emu_unpack_snappy(p->src, p->srcNumBytes, p->dst, room, written);
    default:
        size = LZ4_decompress_safe(p->src, p->dst, (int)p->srcNumBytes,
                                   (int)(room < LZ4_MAX_INPUT_SIZE ? room : LZ4_MAX_INPUT_SIZE));
        *written = size < 0 ? 0 : (size_t)size;
        return size >= 0;
    }
}

static CUresult run(struct emu_command *command)
{
    const struct batch *b = (const struct batch *)(const void *)command->payload;

    for (size_t i = 0; i < b->count; i++) {
        const CUmemDecompressParams *p = &b->list[i];
        size_t written = 0;
        if (!is_there(p)) {
            emu_warn("a decompression meets memory that was freed after it was sent");
            return CUDA_ERROR_ILLEGAL_ADDRESS;
        }
        if (!unpack(p, &written)) {
            emu_warn("decompression %zu of a batch: its bytes are damaged, or need more room", i);
            return CUDA_ERROR_LAUNCH_FAILED;
        }
        *p->dstActBytes = (cuuint32_t)written;
        emu_written_all(address_of(p->dst), written);
        emu_written_all(address_of(p->dstActBytes), sizeof(*p->dstActBytes));
    }
    return CUDA_SUCCESS;
}

static void finish(struct emu_command *command)
{
    free(((struct batch *)(void *)command->payload)->list);
}

static void spoil(struct emu_command *command)
{
    const struct batch *b = (const struct batch *)(const void *)command->payload;

    if (is_there(&b->list[0]))
        *(uint8_t *)b->list[0].dst ^= 0xff;
}

static bool accesses(const struct emu_command *command, struct emu_accesses *out)
{
    const struct batch *b = (const struct batch *)(const void *)command->payload;
    bool ok = true;

    for (size_t i = 0; i < b->count && ok; i++) {
        const CUmemDecompressParams *p = &b->list[i];
        ok = emu_accesses_add(out, address_of(p->src), p->srcNumBytes, SBT_ACCESS_READ) &&
             emu_accesses_add(out, address_of(p->dst), *p->dstActBytes, SBT_ACCESS_WRITTEN) &&
             emu_accesses_add(out, address_of(p->dstActBytes), 4, SBT_ACCESS_WRITTEN);
    }
    return ok;
}

static const struct emu_command_type decompress_type = {
    .run = run, .finish = finish, .spoil = spoil, .accesses = accesses, .runs_anywhere = true};

static bool is_legal(const CUmemDecompressParams *p)
{
    static const CUmemDecompressParams zeros;

    return (p->algo == CU_MEM_DECOMPRESS_ALGORITHM_DEFLATE ||
            p->algo == CU_MEM_DECOMPRESS_ALGORITHM_SNAPPY ||
            p->algo == CU_MEM_DECOMPRESS_ALGORITHM_LZ4) &&
           p->src && p->dst && p->dstActBytes && p->srcNumBytes &&
           p->srcNumBytes <= EMU_DECOMPRESS_MAX && is_there(p) &&
           memcmp(p->padding, zeros.padding, sizeof(p->padding)) == 0;
}

static CUresult check(const CUmemDecompressParams *list, size_t count, unsigned flags,
                      size_t *error_index)
{
    *error_index = SIZE_MAX;
    if (!list || !count || flags)
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; i++)
        if (!is_legal(&list[i])) {
            *error_index = i;
            return CUDA_ERROR_INVALID_VALUE;
        }
    return CUDA_SUCCESS;
}

static CUresult decompress(const CUmemDecompressParams *list, size_t count, unsigned flags,
                           size_t *error_index, CUstream handle, bool per_thread)
{
    struct emu_command *command;
    CUstream stream;
    size_t ignored;
    CUresult result = emu_stream_enter(&stream, handle, per_thread);

    if (!result)
        result = check(list, count, flags, error_index ? error_index : &ignored);
    if (result)
        return result;
    command = emu_command_create(&decompress_type, sizeof(struct batch));
    struct batch *b = command ? (struct batch *)(void *)command->payload : NULL;
    if (b)
        b->list = malloc(count * sizeof(*list));
    if (!b || !b->list) {
        emu_command_unref(command);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    b->count = count;
    memcpy(b->list, list, count * sizeof(*list));
    return emu_stream_send(stream, command, false);
}

CUresult cuMemBatchDecompressAsync(CUmemDecompressParams *paramsArray, size_t count,
                                   unsigned int flags, size_t *errorIndex, CUstream stream)
{
    return decompress(paramsArray, count, flags, errorIndex, stream, false);
}

CUresult cuMemBatchDecompressAsync_ptsz(CUmemDecompressParams *paramsArray, size_t count,
                                        unsigned int flags, size_t *errorIndex, CUstream stream)
{
    return decompress(paramsArray, count, flags, errorIndex, stream, true);
}
