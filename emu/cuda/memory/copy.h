/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies: every one of the driver's is a box of bytes from one pitched place to another.
 */
#ifndef EMU_COPY_H
#define EMU_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emu/cuda/core/abi.h"

enum emu_side_kind {
    EMU_SIDE_DEVICE,  /* must be known to the driver */
    EMU_SIDE_HOST,    /* the program's; pinned if the driver knows it */
    EMU_SIDE_UNIFIED, /* whichever it is */
};

/* One end of a copy. Bytes. */
struct emu_side {
    uint64_t address; /* of the first byte to copy */
    size_t pitch;     /* from row to row; not looked at for one row */
    size_t slice;     /* from slice to slice; not looked at for one slice */
    enum emu_side_kind kind;
};

struct emu_box {
    size_t width; /* bytes */
    size_t height;
    size_t depth;
};

/* Check, then send to the stream. Pageable host memory is read at the call, and written before the
 * call returns. is_sync: the caller's function is not an *Async one, so it returns when the copy is
 * done, unless both ends are on the device. */
CUresult emu_copy(CUstream stream, struct emu_side to, struct emu_side from, struct emu_box box,
                  bool is_sync);

/* Sends one of many copies of a call, between addresses of either kind. *is_awaited: set where the
 * call waits for its stream when it has sent all, as pageable memory is written. */
CUresult emu_copy_of_batch(CUstream stream, struct emu_side to, struct emu_side from, size_t size,
                           bool *is_awaited);

/* A copy of a graph's memcpy node, checked, not sent: host memory is read when it runs. */
struct emu_command;
CUresult emu_copy_prepare(struct emu_command **out, struct emu_side to, struct emu_side from,
                          struct emu_box box, const CUDA_MEMCPY3D *asked);
CUresult emu_copy_prepare_3d(struct emu_command **out, const CUDA_MEMCPY3D *copy);

/* The same for a memset node. */
CUresult emu_fill_prepare(struct emu_command **out, const CUDA_MEMSET_NODE_PARAMS_v2 *fill);

/* The bytes from one end of a side to the other, 0 when that overflows. */
size_t emu_side_extent(const struct emu_side *side, struct emu_box box);

#endif
