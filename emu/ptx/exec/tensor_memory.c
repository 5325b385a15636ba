/* SPDX-License-Identifier: Apache-2.0 */
#include "emu/ptx/exec/tensor_memory.h"

#include <stdlib.h>

#define UNIT 32u /* columns */

/* A mask of `units` units from `first` on; all of them exist. */
static uint16_t mask_of(unsigned first, unsigned units)
{
    return (uint16_t)(((1u << units) - 1) << first);
}

static bool is_size(uint32_t columns)
{
    return columns >= UNIT && columns <= PTX_TENSOR_COLUMNS && !(columns & (columns - 1));
}

enum ptx_tensor_result ptx_tensor_memory_alloc(struct ptx_block *block, uint32_t columns,
                                               uint32_t *address_out)
{
    unsigned units = columns / UNIT;

    if (!is_size(columns))
        return PTX_TENSOR_REFUSED;
    if (!block->tensor_memory)
        block->tensor_memory = calloc(1, sizeof(*block->tensor_memory));
    struct ptx_tensor_memory *m = block->tensor_memory;
    if (!m)
        return PTX_TENSOR_NO_MEMORY;
    if (m->is_closed)
        return PTX_TENSOR_REFUSED;
    for (unsigned first = 0; first + units <= PTX_TENSOR_COLUMNS / UNIT; first++) {
        if (m->taken & mask_of(first, units))
            continue;
        m->taken = (uint16_t)(m->taken | mask_of(first, units));
        m->sizes[first] = (uint8_t)units;
        *address_out = first * UNIT;
        return PTX_TENSOR_OK;
    }
    return PTX_TENSOR_WAIT;
}

enum ptx_tensor_result ptx_tensor_memory_free(struct ptx_block *block, uint32_t address,
                                              uint32_t columns)
{
    struct ptx_tensor_memory *m = block->tensor_memory;
    unsigned first = address / UNIT;

    if (!m || !is_size(columns) || address >= PTX_TENSOR_COLUMNS || address % UNIT ||
        m->sizes[first] != columns / UNIT)
        return PTX_TENSOR_REFUSED;
    m->taken = (uint16_t)(m->taken & ~mask_of(first, columns / UNIT));
    m->sizes[first] = 0;
    return PTX_TENSOR_OK;
}

uint32_t (*ptx_tensor_memory_find(const struct ptx_block *block, uint32_t column,
                                  uint32_t count))[PTX_TENSOR_LANES]
{
    struct ptx_tensor_memory *m = block->tensor_memory;

    if (!m || !count || column >= PTX_TENSOR_COLUMNS || count > PTX_TENSOR_COLUMNS - column)
        return NULL;
    for (unsigned unit = column / UNIT; unit <= (column + count - 1) / UNIT; unit++)
        if (!(m->taken >> unit & 1))
            return NULL;
    return &m->cells[column];
}

void ptx_tensor_memory_reset(struct ptx_block *block)
{
    struct ptx_tensor_memory *m = block->tensor_memory;

    if (!m)
        return;
    m->taken = 0;
    m->is_closed = false;
    for (unsigned k = 0; k < PTX_TENSOR_COLUMNS / UNIT; k++)
        m->sizes[k] = 0;
}
