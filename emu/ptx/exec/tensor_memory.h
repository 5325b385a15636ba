/* SPDX-License-Identifier: Apache-2.0
 *
 * Tensor memory of a block: 128 lanes of 512 columns of 32 bits. An address has the lane in its
 * upper half and the column in its lower one. It is made when it is first allocated from, and
 * belongs to the block's thread, as shared memory does.
 */
#ifndef EMU_PTX_EXEC_TENSOR_MEMORY_H
#define EMU_PTX_EXEC_TENSOR_MEMORY_H

#include "emu/ptx/exec/exec.h"

#define PTX_TENSOR_LANES   128u
#define PTX_TENSOR_COLUMNS 512u

struct ptx_tensor_memory {
    uint16_t taken;    /* a bit for each 32 columns */
    bool is_closed;    /* nothing more may be allocated */
    uint8_t sizes[16]; /* of the allocation that begins there, in 32 columns; 0: none does */
    uint32_t cells[PTX_TENSOR_COLUMNS][PTX_TENSOR_LANES];
};

enum ptx_tensor_result {
    PTX_TENSOR_OK,
    PTX_TENSOR_WAIT,    /* no room now */
    PTX_TENSOR_REFUSED, /* no such number of columns, or no allocation of that size there */
    PTX_TENSOR_NO_MEMORY,
};

/* Columns are a power of two from 32 to 512. *address_out is set when the result is PTX_TENSOR_OK.
 */
enum ptx_tensor_result ptx_tensor_memory_alloc(struct ptx_block *block, uint32_t columns,
                                               uint32_t *address_out);
enum ptx_tensor_result ptx_tensor_memory_free(struct ptx_block *block, uint32_t address,
                                              uint32_t columns);
/* Lanes [0, 128) of `count` columns that are allocated, by column; NULL: not all of them are. */
uint32_t (*ptx_tensor_memory_find(const struct ptx_block *block, uint32_t column,
                                  uint32_t count))[PTX_TENSOR_LANES];
/* Gives back everything: a new block begins. Its bytes stay, as on a GPU. */
void ptx_tensor_memory_reset(struct ptx_block *block);

#endif
