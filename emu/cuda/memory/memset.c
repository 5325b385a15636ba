/* SPDX-License-Identifier: Apache-2.0
 *
 * Filling memory. All forms are rows of elements of one, two or four bytes.
 */
#include "emu/cuda/core/emu.h"

#include <string.h>

#include "base/machine.h"
#include "emu/cuda/check/written.h"
#include "emu/cuda/graph/capture.h"
#include "emu/cuda/memory/copy.h"
#include "emu/cuda/memory/memory.h"
#include "emu/cuda/stream/accesses.h"
#include "emu/cuda/stream/stream.h"

struct fill {
    uint64_t address;
    size_t pitch; /* bytes */
    size_t width; /* elements */
    size_t height;
    unsigned value;
    unsigned element_size;
};

static void fill_row(uint8_t *row, const struct fill *fill)
{
    if (fill->element_size == 1) {
        memset(row, (int)fill->value, fill->width);
        return;
    }
    for (size_t i = 0; i < fill->width; i++)
        memcpy(row + i * fill->element_size, &fill->value, fill->element_size);
}

static CUresult run(struct emu_command *command)
{
    const struct fill *fill = (const struct fill *)(const void *)command->payload;
    size_t row = fill->width * fill->element_size;

    if (!emu_memory_covers(fill->address, (fill->height - 1) * fill->pitch + row)) {
        emu_warn("a fill meets memory that was freed after the fill was sent");
        return CUDA_ERROR_ILLEGAL_ADDRESS;
    }
    for (size_t y = 0; y < fill->height; y++) {
        fill_row((uint8_t *)(uintptr_t)(fill->address + y * fill->pitch), fill);
        emu_written_all(fill->address + y * fill->pitch, row);
    }
    return CUDA_SUCCESS;
}

static void describe(struct emu_command *command, CUgraphNodeParams *out)
{
    const struct fill *fill = (const struct fill *)(const void *)command->payload;

    out->memset = (CUDA_MEMSET_NODE_PARAMS_v2){.dst = fill->address,
                                               .pitch = fill->pitch,
                                               .value = fill->value,
                                               .elementSize = fill->element_size,
                                               .width = fill->width,
                                               .height = fill->height};
}

static void measure(const struct emu_command *command, struct tsm_device_work *out)
{
    const struct fill *fill = (const struct fill *)(const void *)command->payload;

    out->kind = TSM_DEVICE_ON_DEVICE;
    out->bytes = (uint64_t)fill->width * fill->element_size * fill->height;
}

static bool accesses(const struct emu_command *command, struct emu_accesses *out)
{
    const struct fill *fill = (const struct fill *)(const void *)command->payload;
    bool ok = true;

    for (size_t y = 0; y < fill->height && ok; y++)
        ok = emu_accesses_add(out, fill->address + y * fill->pitch,
                              fill->width * fill->element_size, SBT_ACCESS_WRITTEN);
    return ok;
}

static const struct emu_command_type fill_type = {.run = run,
                                                  .accesses = accesses,
                                                  .measure = measure,
                                                  .node = CU_GRAPH_NODE_TYPE_MEMSET + 1,
                                                  .describe = describe,
                                                  .runs_anywhere = true};

/* An extent of 0 is an overflow, or too much for any memory. */
static CUresult check(const struct fill *fill)
{
    struct emu_side side = {.address = fill->address, .pitch = fill->pitch};
    struct emu_box box = {.height = fill->height, .depth = 1};
    size_t extent = 0;

    if (!__builtin_mul_overflow(fill->width, (size_t)fill->element_size, &box.width))
        extent = emu_side_extent(&side, box);
    if (!fill->address || fill->address % fill->element_size || !extent ||
        (fill->height > 1 && (fill->pitch < box.width || fill->pitch % fill->element_size)) ||
        !emu_memory_covers(fill->address, extent))
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

static CUresult prepare(struct emu_command **out, const struct fill *what)
{
    CUresult result = check(what);

    if (result)
        return result;
    *out = emu_command_create(&fill_type, sizeof(*what));
    if (!*out)
        return CUDA_ERROR_OUT_OF_MEMORY;
    memcpy((*out)->payload, what, sizeof(*what));
    return CUDA_SUCCESS;
}

CUresult emu_fill_prepare(struct emu_command **out, const CUDA_MEMSET_NODE_PARAMS_v2 *p)
{
    struct fill what = {p->dst, p->pitch, p->width, p->height, p->value, p->elementSize};

    if (!what.width || !what.height ||
        (what.element_size != 1 && what.element_size != 2 && what.element_size != 4))
        return CUDA_ERROR_INVALID_VALUE;
    return prepare(out, &what);
}

/* Like the driver's, the forms that are not *Async wait only for memory of the host. */
static CUresult fill(struct fill what, CUstream handle, bool per_thread, bool is_sync)
{
    CUstream stream;
    CUresult result = emu_stream_enter(&stream, handle, per_thread);
    struct emu_command *command;
    struct emu_memory memory;

    if (!result && is_sync)
        result = emu_capture_unsafe();
    if (result || !what.width || !what.height)
        return result;
    result = prepare(&command, &what);
    if (result)
        return result;
    bool wait = is_sync && emu_memory_find(&memory, what.address) && memory.kind == EMU_MEMORY_HOST;
    return emu_stream_send(stream, command, wait);
}

/* The forms of one width: linear or with rows, synchronous or not, on either default stream. */
#define FORMS(bits, type)                                                                          \
    CUresult cuMemsetD##bits##_v2(CUdeviceptr at, type v, size_t n)                                \
    {                                                                                              \
        return fill((struct fill){at, 0, n, 1, v, bits / 8}, NULL, false, true);                   \
    }                                                                                              \
    CUresult cuMemsetD##bits##_v2_ptds(CUdeviceptr at, type v, size_t n)                           \
    {                                                                                              \
        return fill((struct fill){at, 0, n, 1, v, bits / 8}, NULL, true, true);                    \
    }                                                                                              \
    CUresult cuMemsetD##bits##Async(CUdeviceptr at, type v, size_t n, CUstream s)                  \
    {                                                                                              \
        return fill((struct fill){at, 0, n, 1, v, bits / 8}, s, false, false);                     \
    }                                                                                              \
    CUresult cuMemsetD##bits##Async_ptsz(CUdeviceptr at, type v, size_t n, CUstream s)             \
    {                                                                                              \
        return fill((struct fill){at, 0, n, 1, v, bits / 8}, s, true, false);                      \
    }                                                                                              \
    CUresult cuMemsetD2D##bits##_v2(CUdeviceptr at, size_t pitch, type v, size_t w, size_t h)      \
    {                                                                                              \
        return fill((struct fill){at, pitch, w, h, v, bits / 8}, NULL, false, true);               \
    }                                                                                              \
    CUresult cuMemsetD2D##bits##_v2_ptds(CUdeviceptr at, size_t pitch, type v, size_t w, size_t h) \
    {                                                                                              \
        return fill((struct fill){at, pitch, w, h, v, bits / 8}, NULL, true, true);                \
    }                                                                                              \
    CUresult cuMemsetD2D##bits##Async(CUdeviceptr at, size_t pitch, type v, size_t w, size_t h,    \
                                      CUstream s)                                                  \
    {                                                                                              \
        return fill((struct fill){at, pitch, w, h, v, bits / 8}, s, false, false);                 \
    }                                                                                              \
    CUresult cuMemsetD2D##bits##Async_ptsz(CUdeviceptr at, size_t pitch, type v, size_t w,         \
                                           size_t h, CUstream s)                                   \
    {                                                                                              \
        return fill((struct fill){at, pitch, w, h, v, bits / 8}, s, true, false);                  \
    }

FORMS(8, unsigned char)
FORMS(16, unsigned short)
FORMS(32, unsigned int)
