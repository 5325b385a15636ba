/* SPDX-License-Identifier: Apache-2.0
 *
 * Tensor maps: what cuTensorMapEncode* accepts, and its 128 bytes, whose layout is
 * emu/ptx/tensor_map.h's. Interleaved layouts, and im2col along the width alone, are
 * CUDA_ERROR_NOT_SUPPORTED.
 */
#include <string.h>

#include "emu/cuda/core/emu.h"
#include "emu/ptx/tensor_map.h"

static const struct {
    uint8_t type; /* enum ptx_tensor_type */
    uint8_t bits; /* of an element in shared memory */
    bool is_float;
    bool is_padded; /* 16 elements in 16 bytes */
} types[] = {
    [CU_TENSOR_MAP_DATA_TYPE_UINT8] = {PTX_TENSOR_U8, 8, false, false},
    [CU_TENSOR_MAP_DATA_TYPE_UINT16] = {PTX_TENSOR_U16, 16, false, false},
    [CU_TENSOR_MAP_DATA_TYPE_UINT32] = {PTX_TENSOR_U32, 32, false, false},
    [CU_TENSOR_MAP_DATA_TYPE_INT32] = {PTX_TENSOR_S32, 32, false, false},
    [CU_TENSOR_MAP_DATA_TYPE_UINT64] = {PTX_TENSOR_U64, 64, false, false},
    [CU_TENSOR_MAP_DATA_TYPE_INT64] = {PTX_TENSOR_S64, 64, false, false},
    [CU_TENSOR_MAP_DATA_TYPE_FLOAT16] = {PTX_TENSOR_F16, 16, true, false},
    [CU_TENSOR_MAP_DATA_TYPE_FLOAT32] = {PTX_TENSOR_F32, 32, true, false},
    [CU_TENSOR_MAP_DATA_TYPE_FLOAT64] = {PTX_TENSOR_F64, 64, true, false},
    [CU_TENSOR_MAP_DATA_TYPE_BFLOAT16] = {PTX_TENSOR_BF16, 16, true, false},
    [CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ] = {PTX_TENSOR_F32_FTZ, 32, true, false},
    [CU_TENSOR_MAP_DATA_TYPE_TFLOAT32] = {PTX_TENSOR_TF32, 32, true, false},
    [CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ] = {PTX_TENSOR_TF32_FTZ, 32, true, false},
    [CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN8B] = {PTX_TENSOR_B4X16, 4, false, false},
    [CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN16B] = {PTX_TENSOR_B4X16_P64, 8, false, true},
    [CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B] = {PTX_TENSOR_B6X16_P32, 8, false, true},
};

static const struct {
    uint8_t mode, atom;
    uint16_t bytes; /* that a row of a box may have */
} swizzles[] = {
    [CU_TENSOR_MAP_SWIZZLE_NONE] = {PTX_TENSOR_PLAIN, PTX_TENSOR_ATOM_16, UINT16_MAX},
    [CU_TENSOR_MAP_SWIZZLE_32B] = {PTX_TENSOR_32, PTX_TENSOR_ATOM_16, 32},
    [CU_TENSOR_MAP_SWIZZLE_64B] = {PTX_TENSOR_64, PTX_TENSOR_ATOM_16, 64},
    [CU_TENSOR_MAP_SWIZZLE_128B] = {PTX_TENSOR_128, PTX_TENSOR_ATOM_16, 128},
    [CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B] = {PTX_TENSOR_128, PTX_TENSOR_ATOM_32, 128},
    [CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B_FLIP_8B] = {PTX_TENSOR_128, PTX_TENSOR_ATOM_32_FLIP, 128},
    [CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B] = {PTX_TENSOR_128, PTX_TENSOR_ATOM_64, 128},
};

/* Arguments of both kinds of maps. */
struct wish {
    CUtensorMap *out;
    CUtensorMapDataType type;
    cuuint32_t rank;
    void *address;
    const cuuint64_t *size, *strides;
    const cuuint32_t *steps;
    CUtensorMapInterleave interleave;
    CUtensorMapSwizzle swizzle;
    CUtensorMapL2promotion promotion;
    CUtensorMapFloatOOBfill fill;
};

static bool is_enum(int value, size_t count)
{
    return value >= 0 && (size_t)value < count;
}

static uint64_t alignment(const struct wish *x)
{
    return types[x->type].is_padded ? 32 : 16;
}

static bool are_words_right(const struct wish *x)
{
    return is_enum((int)x->type, sizeof(types) / sizeof(types[0])) &&
           is_enum((int)x->swizzle, sizeof(swizzles) / sizeof(swizzles[0])) &&
           is_enum((int)x->interleave, CU_TENSOR_MAP_INTERLEAVE_32B + 1) &&
           is_enum((int)x->promotion, CU_TENSOR_MAP_L2_PROMOTION_L2_256B + 1) &&
           is_enum((int)x->fill, CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA + 1) &&
           (!x->fill || types[x->type].is_float);
}

static bool are_sizes_right(const struct wish *x)
{
    unsigned multiple = types[x->type].is_padded                          ? 128
                        : x->type == CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN8B ? 2
                                                                          : 1;

    for (cuuint32_t d = 0; d < x->rank; d++)
        if (!x->size[d] || x->size[d] > 1ull << 32 || !x->steps[d] || x->steps[d] > 8)
            return false;
    for (cuuint32_t d = 0; d + 1 < x->rank; d++)
        if (x->strides[d] % alignment(x) || x->strides[d] >= 1ull << 40)
            return false;
    return x->size[0] % multiple == 0;
}

static CUresult check(const struct wish *x)
{
    CUcontext context;
    CUresult result = emu_enter(&context);

    if (result)
        return result;
    if (emu_settings.capability < 90)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (!x->out || (uintptr_t)x->out % 64 || !x->rank || x->rank > PTX_TENSOR_RANK_MAX ||
        !x->size || !x->steps || (x->rank > 1 && !x->strides) || !x->address ||
        !are_words_right(x) || (uintptr_t)x->address % alignment(x) || !are_sizes_right(x))
        return CUDA_ERROR_INVALID_VALUE;
    return x->interleave ? CUDA_ERROR_NOT_SUPPORTED : CUDA_SUCCESS;
}

/* `inner`: elements of a row of a box. */
static bool is_row_right(const struct wish *x, cuuint32_t inner)
{
    uint64_t bytes = (uint64_t)inner * types[x->type].bits / 8;

    return inner && inner <= 256 && (!types[x->type].is_padded || inner == 128) &&
           inner * types[x->type].bits % 128 == 0 && bytes <= swizzles[x->swizzle].bytes;
}

static struct ptx_tensor_map map_of(const struct wish *x)
{
    struct ptx_tensor_map m = {.address = (uint64_t)(uintptr_t)x->address,
                               .magic = PTX_TENSOR_MAP_MAGIC,
                               .type = types[x->type].type,
                               .rank = (uint8_t)x->rank,
                               .swizzle = swizzles[x->swizzle].mode,
                               .atom = swizzles[x->swizzle].atom,
                               .fills_nan = x->fill != 0};

    for (cuuint32_t d = 0; d < x->rank; d++) {
        m.size[d] = x->size[d];
        m.step[d] = d ? (uint8_t)x->steps[d] : 1; /* the first one is ignored */
        if (d)
            m.stride[d - 1] = x->strides[d - 1];
    }
    return m;
}

CUresult cuTensorMapEncodeTiled(CUtensorMap *tensorMap, CUtensorMapDataType tensorDataType,
                                cuuint32_t tensorRank, void *globalAddress,
                                const cuuint64_t *globalDim, const cuuint64_t *globalStrides,
                                const cuuint32_t *boxDim, const cuuint32_t *elementStrides,
                                CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                CUtensorMapL2promotion l2Promotion, CUtensorMapFloatOOBfill oobFill)
{
    const struct wish x = {tensorMap, tensorDataType, tensorRank,     globalAddress,
                           globalDim, globalStrides,  elementStrides, interleave,
                           swizzle,   l2Promotion,    oobFill};
    CUresult result = check(&x);

    if (result)
        return result;
    if (!boxDim || !is_row_right(&x, boxDim[0]))
        return CUDA_ERROR_INVALID_VALUE;
    struct ptx_tensor_map m = map_of(&x);
    for (cuuint32_t d = 0; d < tensorRank; d++) {
        if (!boxDim[d] || boxDim[d] > 256)
            return CUDA_ERROR_INVALID_VALUE;
        m.box[d] = (uint16_t)boxDim[d];
    }
    memcpy(tensorMap, &m, sizeof(m));
    return CUDA_SUCCESS;
}

/* The corners have 16 bits in all: 16, 8 or 5 of them for each dimension. */
static bool are_corners_right(const struct wish *x, const int *lower, const int *upper)
{
    static const int ends[] = {32768, 128, 16};

    for (cuuint32_t d = 0; d + 2 < x->rank; d++) {
        int end = ends[x->rank - 3];
        if (lower[d] < -end || lower[d] >= end || upper[d] < -end || upper[d] >= end ||
            (int64_t)x->size[d + 1] + upper[d] <= lower[d])
            return false;
    }
    return true;
}

CUresult cuTensorMapEncodeIm2col(CUtensorMap *tensorMap, CUtensorMapDataType tensorDataType,
                                 cuuint32_t tensorRank, void *globalAddress,
                                 const cuuint64_t *globalDim, const cuuint64_t *globalStrides,
                                 const int *pixelBoxLowerCorner, const int *pixelBoxUpperCorner,
                                 cuuint32_t channelsPerPixel, cuuint32_t pixelsPerColumn,
                                 const cuuint32_t *elementStrides, CUtensorMapInterleave interleave,
                                 CUtensorMapSwizzle swizzle, CUtensorMapL2promotion l2Promotion,
                                 CUtensorMapFloatOOBfill oobFill)
{
    const struct wish x = {tensorMap, tensorDataType, tensorRank,     globalAddress,
                           globalDim, globalStrides,  elementStrides, interleave,
                           swizzle,   l2Promotion,    oobFill};
    CUresult result = check(&x);

    if (result)
        return result;
    if (tensorRank < 3 || !pixelBoxLowerCorner || !pixelBoxUpperCorner || !pixelsPerColumn ||
        pixelsPerColumn > 1024 || !is_row_right(&x, channelsPerPixel) ||
        !are_corners_right(&x, pixelBoxLowerCorner, pixelBoxUpperCorner))
        return CUDA_ERROR_INVALID_VALUE;
    struct ptx_tensor_map m = map_of(&x);
    m.mode = PTX_TENSOR_IM2COL;
    m.im2col.channels = (uint16_t)channelsPerPixel;
    m.im2col.pixels = (uint16_t)pixelsPerColumn;
    for (cuuint32_t d = 0; d + 2 < tensorRank; d++) {
        m.im2col.lower[d] = (int16_t)pixelBoxLowerCorner[d];
        m.im2col.upper[d] = (int16_t)pixelBoxUpperCorner[d];
    }
    memcpy(tensorMap, &m, sizeof(m));
    return CUDA_SUCCESS;
}

CUresult cuTensorMapReplaceAddress(CUtensorMap *tensorMap, void *globalAddress)
{
    struct ptx_tensor_map m;
    CUcontext context;
    CUresult result = emu_enter(&context);

    if (result)
        return result;
    if (!tensorMap || (uintptr_t)tensorMap % 64 || !globalAddress)
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(&m, tensorMap, sizeof(m));
    bool is_padded = m.type == PTX_TENSOR_B4X16_P64 || m.type == PTX_TENSOR_B6X16_P32;
    if (m.magic != PTX_TENSOR_MAP_MAGIC || (uintptr_t)globalAddress % (is_padded ? 32 : 16))
        return CUDA_ERROR_INVALID_VALUE;
    m.address = (uint64_t)(uintptr_t)globalAddress;
    memcpy(tensorMap, &m, sizeof(m));
    return CUDA_SUCCESS;
}
