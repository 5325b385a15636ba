/* SPDX-License-Identifier: Apache-2.0 */
#include "emu/emu_copy.h"

#include <stdlib.h>
#include <string.h>

#include "emu/emu.h"
#include "emu/emu_memory.h"
#include "emu/emu_stream.h"

struct copy {
    struct emu_side to;
    struct emu_side from;
    struct emu_box box;
    uint8_t *staged; /* pageable source, read at the call; owned */
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
        emu_report("a copy meets memory that was freed after the copy was sent");
        return CUDA_ERROR_ILLEGAL_ADDRESS;
    }
    copy_box(&copy->to, &copy->from, copy->box);
    return CUDA_SUCCESS;
}

static void finish(struct emu_command *command)
{
    struct copy *copy = (struct copy *)(void *)command->payload;

    free(copy->staged);
}

static const struct emu_command_type copy_type = {
    .run = run, .finish = finish, .runs_anywhere = true};

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

CUresult emu_copy(CUstream stream, struct emu_side to, struct emu_side from, struct emu_box box,
                  bool is_sync)
{
    bool to_device, from_device;
    CUresult result;

    if (!box.width || !box.height || !box.depth)
        return CUDA_SUCCESS;
    result = settle(&to, box, &to_device);
    if (!result)
        result = settle(&from, box, &from_device);
    if (result)
        return result;
    struct emu_command *command = emu_command_create(&copy_type, sizeof(struct copy));
    if (!command)
        return CUDA_ERROR_OUT_OF_MEMORY;
    struct copy *copy = (struct copy *)(void *)command->payload;
    *copy = (struct copy){.to = to, .from = from, .box = box};
    bool wait = to.kind == EMU_SIDE_HOST || (is_sync && !(to_device && from_device));
    if (from.kind == EMU_SIDE_HOST && !wait && !stage(copy)) {
        emu_command_unref(command);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    return emu_stream_send(stream, command, wait);
}
