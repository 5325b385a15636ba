/* SPDX-License-Identifier: Apache-2.0
 *
 * Which elements of a tensor a copy means.
 *
 * Tiled: dimension d has ceil(box / step) elements from the start on, `step` apart. Im2col: the box
 * says between which corners the base of a filter moves, from the start on, width first; a row is
 * the channels of one pixel, which lies `offset` after the base, and there are as many as the map
 * says, through all images.
 */
#include "emu/ptx/handlers/matrix/tensor_map.h"

#include <string.h>

static const struct ptx_tensor_unit units[PTX_TENSOR_TYPE_COUNT] = {
    [PTX_TENSOR_U8] = {1, 1, 1},          [PTX_TENSOR_U16] = {1, 2, 2},
    [PTX_TENSOR_U32] = {1, 4, 4},         [PTX_TENSOR_S32] = {1, 4, 4},
    [PTX_TENSOR_U64] = {1, 8, 8},         [PTX_TENSOR_S64] = {1, 8, 8},
    [PTX_TENSOR_F16] = {1, 2, 2},         [PTX_TENSOR_F32] = {1, 4, 4},
    [PTX_TENSOR_F32_FTZ] = {1, 4, 4},     [PTX_TENSOR_F64] = {1, 8, 8},
    [PTX_TENSOR_BF16] = {1, 2, 2},        [PTX_TENSOR_TF32] = {1, 4, 4},
    [PTX_TENSOR_TF32_FTZ] = {1, 4, 4},    [PTX_TENSOR_B4X16] = {2, 1, 1},
    [PTX_TENSOR_B4X16_P64] = {16, 8, 16}, [PTX_TENSOR_B6X16_P32] = {16, 12, 16},
};

static bool is_sensible(const struct ptx_tensor_map *m, const struct ptx_tensor_copy *c)
{
    bool is_rows = c->load == PTX_TENSOR_LOAD_ROWS;
    bool is_im2col = c->load == PTX_TENSOR_LOAD_IM2COL;

    if (m->magic != PTX_TENSOR_MAP_MAGIC || m->type >= PTX_TENSOR_TYPE_COUNT || m->interleave ||
        m->rank > PTX_TENSOR_RANK_MAX || m->rank != c->rank ||
        m->swizzle >= PTX_TENSOR_SWIZZLE_COUNT || m->atom >= PTX_TENSOR_ATOM_COUNT ||
        is_im2col != (m->mode == PTX_TENSOR_IM2COL) || (is_im2col && m->rank < 3))
        return false;
    for (unsigned d = 0; d < m->rank; d++)
        if (!m->size[d] || m->size[d] > 1ull << 32 || !m->step[d] ||
            (!is_im2col && (!m->box[d] || m->box[d] > 256)))
            return false;
    return !is_rows || m->box[1] == 1;
}

static uint32_t extent(const struct ptx_tensor_map *m, unsigned d)
{
    return (m->box[d] + m->step[d] - 1u) / m->step[d];
}

bool ptx_tensor_box_init(struct ptx_tensor_box *b, const struct ptx_tensor_map *m,
                         const struct ptx_tensor_copy *c, const int64_t *coordinates,
                         const int64_t *offsets)
{
    if (!is_sensible(m, c))
        return false;
    *b = (struct ptx_tensor_box){.map = m, .unit = units[m->type], .load = c->load};
    memcpy(b->start, coordinates, sizeof(b->start));
    for (unsigned k = 0; k < 3; k++)
        b->offset[k + 1] = offsets[k];
    b->rows = 1;
    if (b->load == PTX_TENSOR_LOAD_ROWS)
        b->rows = 4;
    else if (b->load == PTX_TENSOR_LOAD_IM2COL)
        b->rows = m->im2col.pixels;
    for (unsigned d = 1; d < m->rank && b->load == PTX_TENSOR_LOAD_TILE; d++)
        b->rows *= extent(m, d);
    uint32_t elements = b->load == PTX_TENSOR_LOAD_IM2COL ? m->im2col.channels : m->box[0];
    b->units = elements / b->unit.elements;
    return elements % b->unit.elements == 0 && b->start[0] % b->unit.elements == 0;
}

/* Cuts a row at the tensor's ends. */
static struct ptx_tensor_row cut_row(const struct ptx_tensor_box *b, const int64_t *at)
{
    const struct ptx_tensor_map *m = b->map;
    int64_t first = b->start[0] / b->unit.elements;
    int64_t size = (int64_t)(m->size[0] / b->unit.elements);
    struct ptx_tensor_row row = {.address = m->address, .after = b->units};

    for (unsigned d = 1; d < m->rank; d++) {
        if (at[d] < 0 || (uint64_t)at[d] >= m->size[d])
            return row;
        row.address += (uint64_t)at[d] * m->stride[d - 1];
    }
    int64_t begin = first < 0 ? 0 : first;
    int64_t end = first + b->units < size ? first + b->units : size;
    if (begin >= end)
        return row;
    row.before = (uint32_t)(begin - first);
    row.inside = (uint32_t)(end - begin);
    row.after = b->units - row.before - row.inside;
    row.address += (uint64_t)begin * b->unit.global;
    return row;
}

static void step_base(const struct ptx_tensor_box *b, int64_t *base)
{
    const struct ptx_tensor_map *m = b->map;

    for (unsigned d = 1; d < m->rank - 1u; d++) {
        base[d] += m->step[d];
        if (base[d] < (int64_t)m->size[d] + m->im2col.upper[d - 1])
            return;
        base[d] = m->im2col.lower[d - 1];
    }
    base[m->rank - 1]++;
}

struct ptx_tensor_row ptx_tensor_box_row(const struct ptx_tensor_box *b, uint32_t r,
                                         int64_t kept[PTX_TENSOR_RANK_MAX])
{
    const struct ptx_tensor_map *m = b->map;
    int64_t at[PTX_TENSOR_RANK_MAX] = {0};

    if (b->load == PTX_TENSOR_LOAD_IM2COL) {
        if (r == 0)
            memcpy(kept, b->start, sizeof(at));
        else
            step_base(b, kept);
        for (unsigned d = 1; d < m->rank; d++)
            at[d] = kept[d] + (d < m->rank - 1u ? b->offset[d] : 0);
    } else if (b->load == PTX_TENSOR_LOAD_ROWS) {
        at[1] = b->start[1 + r];
    } else {
        for (unsigned d = 1; d < m->rank; r /= extent(m, d++))
            at[d] = b->start[d] + (int64_t)(r % extent(m, d)) * m->step[d];
    }
    return cut_row(b, at);
}
