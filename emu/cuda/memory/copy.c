/* SPDX-License-Identifier: Apache-2.0 */
#include "emu/cuda/memory/copy.h"

#include <stdlib.h>
#include <string.h>

#include "base/machine.h"
#include "emu/cuda/check/written.h"
#include "emu/cuda/core/emu.h"
#include "emu/cuda/graph/capture.h"
#include "emu/cuda/memory/memory.h"
#include "emu/cuda/stream/accesses.h"
#include "emu/cuda/stream/stream.h"
#include "emu/cuda/texture/array.h"

struct copy {
    struct emu_side to;
    struct emu_side from;
    struct emu_box box;
    enum tsm_device_work_kind kind; /* which way it goes */
    uint8_t *staged;                /* pageable source, read at the call; owned; never in a graph */
    CUDA_MEMCPY3D asked; /* of a graph's node, as the program said it; width 0: of a stream */
};

/* ---- running ---- */

static void copy_box(const struct emu_side *to, const struct emu_side *from, struct emu_box box)
{
    for (size_t z = 0; z < box.depth; z++) {
        for (size_t y = 0; y < box.height; y++) {
            void *d = (void *)(uintptr_t)(to->address + z * to->slice + y * to->pitch);
            const void *s =
                (const void *)(uintptr_t)(from->address + z * from->slice + y * from->pitch);
            memmove(d, s, box.width);
            emu_written_copy((uintptr_t)d, (uintptr_t)s, box.width);
        }
    }
}

/* The memory may have gone since the call, in a program that frees what it still uses. */
static bool is_there(const struct emu_side *side, struct emu_box box)
{
    return side->kind != EMU_SIDE_DEVICE ||
           emu_memory_covers(side->address, emu_side_extent(side, box));
}

static CUresult run(struct emu_command *command)
{
    struct copy *copy = (struct copy *)(void *)command->payload;

    if (!is_there(&copy->to, copy->box) || !is_there(&copy->from, copy->box)) {
        emu_warn("a copy meets memory that was freed after the copy was sent");
        return CUDA_ERROR_ILLEGAL_ADDRESS;
    }
    copy_box(&copy->to, &copy->from, copy->box);
    emu_sparse_scrub(copy->to.address);
    return CUDA_SUCCESS;
}

static void spoil(struct emu_command *command)
{
    const struct copy *copy = (const struct copy *)(const void *)command->payload;

    if (is_there(&copy->to, copy->box))
        *(uint8_t *)(uintptr_t)copy->to.address ^= 0xff;
}

static void finish(struct emu_command *command)
{
    struct copy *copy = (struct copy *)(void *)command->payload;

    free(copy->staged);
}

static CUmemorytype type_of(const struct emu_side *side)
{
    struct emu_memory memory;

    if (side->kind == EMU_SIDE_HOST || !emu_memory_find(&memory, side->address))
        return CU_MEMORYTYPE_HOST;
    return memory.kind == EMU_MEMORY_HOST || memory.kind == EMU_MEMORY_REGISTERED
               ? CU_MEMORYTYPE_HOST
               : CU_MEMORYTYPE_DEVICE;
}

static size_t pitch_of(const struct emu_side *side, struct emu_box box)
{
    return side->pitch ? side->pitch : box.width;
}

static size_t height_of(const struct emu_side *side, struct emu_box box)
{
    return side->slice ? side->slice / pitch_of(side, box) : box.height;
}

/* Describes the copy as the program did; without that, from the copy that became of it. */
static void describe(struct emu_command *command, CUgraphNodeParams *out)
{
    const struct copy *c = (const struct copy *)(const void *)command->payload;
    CUDA_MEMCPY3D *p = &out->memcpy.copyParams;

    if (c->asked.WidthInBytes) {
        *p = c->asked;
        return;
    }
    *p = (CUDA_MEMCPY3D){.srcMemoryType = type_of(&c->from),
                         .srcHost = (const void *)(uintptr_t)c->from.address,
                         .srcDevice = c->from.address,
                         .srcPitch = pitch_of(&c->from, c->box),
                         .srcHeight = height_of(&c->from, c->box),
                         .dstMemoryType = type_of(&c->to),
                         .dstHost = (void *)(uintptr_t)c->to.address,
                         .dstDevice = c->to.address,
                         .dstPitch = pitch_of(&c->to, c->box),
                         .dstHeight = height_of(&c->to, c->box),
                         .WidthInBytes = c->box.width,
                         .Height = c->box.height,
                         .Depth = c->box.depth};
}

static void measure(const struct emu_command *command, struct tsm_device_work *out)
{
    const struct copy *copy = (const struct copy *)(const void *)command->payload;

    out->kind = copy->kind;
    out->bytes = (uint64_t)copy->box.width * copy->box.height * copy->box.depth;
}

static bool add_side(struct emu_accesses *out, const struct emu_side *side, struct emu_box box,
                     uint64_t flags)
{
    bool ok = true;

    flags |= emu_accesses_of_array(side->address);
    for (size_t z = 0; z < box.depth && ok; z++)
        for (size_t y = 0; y < box.height && ok; y++)
            ok = emu_accesses_add(out, side->address + z * side->slice + y * side->pitch, box.width,
                                  flags);
    return ok;
}

static bool accesses(const struct emu_command *command, struct emu_accesses *out)
{
    const struct copy *copy = (const struct copy *)(const void *)command->payload;

    return (copy->staged || add_side(out, &copy->from, copy->box, SBT_ACCESS_READ)) &&
           add_side(out, &copy->to, copy->box, SBT_ACCESS_WRITTEN);
}

static enum tsm_device_work_kind kind_of(bool to_device, bool from_device)
{
    return !from_device ? TSM_DEVICE_TO_DEVICE
           : to_device  ? TSM_DEVICE_ON_DEVICE
                        : TSM_DEVICE_TO_HOST;
}

static const struct emu_command_type copy_type = {.run = run,
                                                  .measure = measure,
                                                  .accesses = accesses,
                                                  .spoil = spoil,
                                                  .finish = finish,
                                                  .node = CU_GRAPH_NODE_TYPE_MEMCPY + 1,
                                                  .describe = describe,
                                                  .runs_anywhere = true};

/* ---- sending ---- */

size_t emu_side_extent(const struct emu_side *side, struct emu_box box)
{
    size_t rows, slices, all;

    if (__builtin_mul_overflow(box.height - 1, side->pitch, &rows) ||
        __builtin_mul_overflow(box.depth - 1, side->slice, &slices) ||
        __builtin_add_overflow(rows, slices, &all) || __builtin_add_overflow(all, box.width, &all))
        return 0;
    return all;
}

/* Find out what the side is: afterwards DEVICE means known to the driver, HOST pageable. */
static CUresult settle(struct emu_side *side, struct emu_box box, bool *on_device)
{
    size_t extent = emu_side_extent(side, box);
    struct emu_memory memory;
    bool is_known = emu_memory_find(&memory, side->address);

    *on_device = is_known && memory.kind != EMU_MEMORY_HOST && memory.kind != EMU_MEMORY_REGISTERED;
    if (!side->address || !extent || (box.height > 1 && side->pitch < box.width))
        return CUDA_ERROR_INVALID_VALUE;
    if (is_known && !emu_memory_covers(side->address, extent)) {
        /* A host buffer may be registered in part. */
        if (side->kind == EMU_SIDE_DEVICE || memory.kind != EMU_MEMORY_REGISTERED)
            return CUDA_ERROR_INVALID_VALUE;
        is_known = false;
    }
    if (!is_known && side->kind == EMU_SIDE_DEVICE)
        return CUDA_ERROR_INVALID_VALUE;
    side->kind = is_known ? EMU_SIDE_DEVICE : EMU_SIDE_HOST;
    return CUDA_SUCCESS;
}

static bool stage(struct copy *copy)
{
    struct emu_side packed = {.pitch = copy->box.width,
                              .slice = copy->box.width * copy->box.height,
                              .kind = EMU_SIDE_HOST};

    copy->staged = malloc(copy->box.width * copy->box.height * copy->box.depth);
    if (!copy->staged)
        return false;
    packed.address = (uintptr_t)copy->staged;
    copy_box(&packed, &copy->from, copy->box);
    copy->from = packed;
    return true;
}

/* Checked, not sent; what it says of the sides is told. */
static CUresult prepare(struct emu_command **out, struct emu_side to, struct emu_side from,
                        struct emu_box box, bool *is_on_device)
{
    bool to_device, from_device;
    CUresult result = settle(&to, box, &to_device);

    if (!result)
        result = settle(&from, box, &from_device);
    if (result)
        return result;
    struct emu_command *command = emu_command_create(&copy_type, sizeof(struct copy));
    if (!command)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *(struct copy *)(void *)command->payload =
        (struct copy){.to = to, .from = from, .box = box, .kind = kind_of(to_device, from_device)};
    *is_on_device = to_device && from_device;
    *out = command;
    return CUDA_SUCCESS;
}

CUresult emu_copy_prepare(struct emu_command **out, struct emu_side to, struct emu_side from,
                          struct emu_box box, const CUDA_MEMCPY3D *asked)
{
    bool is_on_device;
    CUresult result = !box.width || !box.height || !box.depth
                          ? CUDA_ERROR_INVALID_VALUE
                          : prepare(out, to, from, box, &is_on_device);

    if (!result)
        ((struct copy *)(void *)(*out)->payload)->asked = *asked;
    return result;
}

CUresult emu_copy(CUstream stream, struct emu_side to, struct emu_side from, struct emu_box box,
                  bool is_sync)
{
    struct emu_command *command;
    bool is_on_device;
    CUresult result = is_sync ? emu_capture_unsafe() : CUDA_SUCCESS;

    if (result || !box.width || !box.height || !box.depth)
        return result;
    result = prepare(&command, to, from, box, &is_on_device);
    if (result)
        return result;
    if (emu_stream_is_capturing(stream))
        return emu_stream_send(stream, command, is_sync);
    struct copy *copy = (struct copy *)(void *)command->payload;
    bool wait = copy->to.kind == EMU_SIDE_HOST || (is_sync && !is_on_device);
    if (copy->from.kind == EMU_SIDE_HOST && !wait && !stage(copy)) {
        emu_command_unref(command);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    return emu_stream_send(stream, command, wait);
}

CUresult emu_copy_of_batch(CUstream stream, struct emu_side to, struct emu_side from, size_t size,
                           bool *is_awaited)
{
    struct emu_command *command;
    bool is_on_device;
    CUresult result = size
                          ? prepare(&command, to, from, (struct emu_box){size, 1, 1}, &is_on_device)
                          : CUDA_ERROR_INVALID_VALUE;

    if (result)
        return result;
    struct copy *copy = (struct copy *)(void *)command->payload;
    const bool is_captured = emu_stream_is_capturing(stream);
    *is_awaited |= copy->to.kind == EMU_SIDE_HOST && !is_captured;
    if (copy->from.kind == EMU_SIDE_HOST && !is_captured && !stage(copy)) {
        emu_command_unref(command);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    return emu_stream_send(stream, command, false);
}
