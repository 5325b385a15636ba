/* SPDX-License-Identifier: Apache-2.0
 *
 * Sparse arrays: shapes of tiles, maps and unmaps, tails of mipmapped arrays, what is refused.
 */
#include "tests/emu/emu_test.h"

#include <string.h>

enum { TILE = 64 << 10, SIDE = 256, ROW = SIDE * 4 };

static CUmemGenericAllocationHandle pool, plain;
static uint32_t texels[SIDE * SIDE];

static CUmemGenericAllocationHandle make_memory(unsigned usage)
{
    CUmemAllocationProp p = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                             .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE},
                             .allocFlags = {.usage = (unsigned short)usage}};
    CUmemGenericAllocationHandle handle = 0;

    OK(cuMemCreate(&handle, 2 << 20, &p, 0));
    return handle;
}

static CUarray make_array(size_t width, size_t height, size_t depth, unsigned flags)
{
    CUDA_ARRAY3D_DESCRIPTOR d = {
        width, height, depth, CU_AD_FORMAT_UNSIGNED_INT32, 1, flags | CUDA_ARRAY3D_SPARSE};
    CUarray array = NULL;

    OK(cuArray3DCreate_v2(&array, &d));
    return array;
}

static CUarrayMapInfo region(CUarray array, unsigned x, unsigned y, unsigned width, unsigned height,
                             uint64_t offset)
{
    CUarrayMapInfo i = {.resourceType = CU_RESOURCE_TYPE_ARRAY,
                        .resource = {.array = array},
                        .memOperationType = CU_MEM_OPERATION_TYPE_MAP,
                        .memHandle = {.memHandle = pool},
                        .offset = offset,
                        .deviceBitMask = 1};

    i.subresource.sparseLevel.offsetX = x;
    i.subresource.sparseLevel.offsetY = y;
    i.subresource.sparseLevel.extentWidth = width;
    i.subresource.sparseLevel.extentHeight = height;
    i.subresource.sparseLevel.extentDepth = 1;
    return i;
}

static CUarrayMapInfo unmapped(CUarrayMapInfo i)
{
    i.memOperationType = CU_MEM_OPERATION_TYPE_UNMAP;
    i.memHandle.memHandle = 0;
    i.offset = 0;
    return i;
}

/* The whole of one slice of 256 times 256 texels. */
static void copy(CUarray array, size_t layer, bool is_write)
{
    CUDA_MEMCPY3D c = {
        .srcPitch = ROW, .dstPitch = ROW, .WidthInBytes = ROW, .Height = SIDE, .Depth = 1};

    c.srcMemoryType = is_write ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_ARRAY;
    c.dstMemoryType = is_write ? CU_MEMORYTYPE_ARRAY : CU_MEMORYTYPE_HOST;
    c.srcHost = c.dstHost = texels;
    c.srcArray = c.dstArray = array;
    c.srcZ = is_write ? 0 : layer;
    c.dstZ = is_write ? layer : 0;
    OK(cuMemcpy3D_v2(&c));
}

static void fill(uint32_t first)
{
    for (unsigned i = 0; i < SIDE * SIDE; i++)
        texels[i] = first + i;
}

static void map(CUarrayMapInfo i)
{
    OK(cuMemMapArrayAsync(&i, 1, NULL));
}

/* Maps one of the four tiles, and then another one; a tile's bytes stay in its pool. */
static void test_tiles(void)
{
    CUarray array = make_array(SIDE, SIDE, 0, 0);
    CUDA_ARRAY_SPARSE_PROPERTIES p;
    CUarrayMapInfo first = region(array, 0, 0, 128, 128, TILE),
                   last = region(array, 128, 128, 128, 128, TILE), row;

    OK(cuArrayGetSparseProperties(&p, array));
    CHECK(p.tileExtent.width == 128 && p.tileExtent.height == 128 && p.tileExtent.depth == 1);
    CHECK(!p.miptailSize && !p.flags);
    map(first);
    fill(1);
    copy(array, 0, true);
    memset(texels, 7, sizeof(texels));
    copy(array, 0, false);
    CHECK_EQ_INT(texels[0], 1);
    CHECK_EQ_INT(texels[127 * SIDE + 127], 1 + 127 * SIDE + 127);
    CHECK_EQ_INT(texels[128], 0);
    CHECK_EQ_INT(texels[SIDE * SIDE - 1], 0);
    /* The same bytes twice at once, then one after the other. */
    FAILS(cuMemMapArrayAsync(&last, 1, NULL), CUDA_ERROR_NOT_SUPPORTED);
    map(unmapped(first));
    map(last);
    copy(array, 0, false);
    CHECK_EQ_INT(texels[0], 0);
    CHECK_EQ_INT(texels[128 * SIDE + 128], 1);
    CHECK_EQ_INT(texels[SIDE * SIDE - 1], 1 + 127 * SIDE + 127);
    /* Two tiles side by side, from one offset on. */
    row = region(array, 0, 0, SIDE, 128, 4 * TILE);
    map(row);
    fill(9);
    copy(array, 0, true);
    copy(array, 0, false);
    CHECK_EQ_INT(texels[255], 9 + 255);
    CHECK_EQ_INT(texels[128 * SIDE], 0);
    OK(cuArrayDestroy(array));
    array = make_array(SIDE, SIDE, 0, 0);
    map(region(array, 128, 0, 128, 128, 5 * TILE)); /* what the second one of them held */
    copy(array, 0, false);
    CHECK_EQ_INT(texels[128], 9 + 128);
    OK(cuArrayDestroy(array));
}

static void test_layers(void)
{
    CUarray array = make_array(SIDE, SIDE, 3, CUDA_ARRAY3D_LAYERED);
    CUarrayMapInfo i = region(array, 0, 0, SIDE, SIDE, 8 * TILE);

    i.subresource.sparseLevel.layer = 3;
    FAILS(cuMemMapArrayAsync(&i, 1, NULL), CUDA_ERROR_INVALID_VALUE);
    i.subresource.sparseLevel.layer = 2;
    map(i);
    fill(3);
    copy(array, 1, true);
    copy(array, 2, true);
    copy(array, 1, false);
    CHECK_EQ_INT(texels[5], 0);
    copy(array, 2, false);
    CHECK_EQ_INT(texels[5], 8);
    OK(cuArrayDestroy(array));
}

static void test_tail(void)
{
    CUDA_ARRAY3D_DESCRIPTOR d = {
        SIDE, SIDE, 0, CU_AD_FORMAT_UNSIGNED_INT32, 1, CUDA_ARRAY3D_SPARSE};
    CUarrayMapInfo i = {.resourceType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY,
                        .subresourceType = CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_MIPTAIL,
                        .memOperationType = CU_MEM_OPERATION_TYPE_MAP,
                        .memHandle = {.memHandle = pool},
                        .deviceBitMask = 1};
    CUDA_ARRAY_SPARSE_PROPERTIES p;
    uint32_t bytes[2] = {11, 12};
    CUmipmappedArray mipmap;
    CUarray level;
    CUDA_MEMCPY2D c = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                       .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                       .srcHost = bytes,
                       .WidthInBytes = 8,
                       .Height = 1};

    OK(cuMipmappedArrayCreate(&mipmap, &d, 9));
    OK(cuMipmappedArrayGetSparseProperties(&p, mipmap));
    CHECK_EQ_INT(p.miptailFirstLevel, 2); /* 64 */
    CHECK_EQ_INT(p.miptailSize, TILE);
    OK(cuMipmappedArrayGetLevel(&level, mipmap, 4));
    FAILS(cuArrayGetSparseProperties(&p, level), CUDA_ERROR_INVALID_VALUE);
    c.dstArray = level;
    OK(cuMemcpy2D_v2(&c));
    c = (CUDA_MEMCPY2D){.srcMemoryType = CU_MEMORYTYPE_ARRAY,
                        .srcArray = level,
                        .dstMemoryType = CU_MEMORYTYPE_HOST,
                        .dstHost = bytes,
                        .WidthInBytes = 8,
                        .Height = 1};
    OK(cuMemcpy2D_v2(&c));
    CHECK_EQ_INT(bytes[1], 0);
    i.resource.mipmap = mipmap;
    i.subresource.miptail.size = TILE;
    map(i);
    bytes[1] = 12;
    OK(cuMemcpy2D_v2(&(CUDA_MEMCPY2D){.srcMemoryType = CU_MEMORYTYPE_HOST,
                                      .srcHost = bytes,
                                      .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                                      .dstArray = level,
                                      .WidthInBytes = 8,
                                      .Height = 1}));
    bytes[1] = 0;
    OK(cuMemcpy2D_v2(&c));
    CHECK_EQ_INT(bytes[1], 12);
    map(unmapped(i));
    OK(cuMemcpy2D_v2(&c));
    CHECK_EQ_INT(bytes[1], 0);
    map(i);
    OK(cuMemcpy2D_v2(&c));
    CHECK_EQ_INT(bytes[1], 12);
    OK(cuMipmappedArrayDestroy(mipmap));
}

static void test_refused(void)
{
    CUDA_ARRAY3D_DESCRIPTOR d = {64, 0, 0, CU_AD_FORMAT_UNSIGNED_INT32, 1, CUDA_ARRAY3D_SPARSE};
    CUarray array = make_array(300, 300, 0, 0), usual;
    CUDA_ARRAY_SPARSE_PROPERTIES p;
    CUarrayMapInfo i[2] = {region(array, 0, 0, 128, 128, 0), region(array, 0, 0, 100, 128, 0)};
    CUdeviceptr address;

    FAILS(cuArray3DCreate_v2(&usual, &d), CUDA_ERROR_INVALID_VALUE); /* of one dimension */
    d.Flags = 0;
    OK(cuArray3DCreate_v2(&usual, &d));
    FAILS(cuArrayGetSparseProperties(&p, usual), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemMapArrayAsync(i, 2, NULL), CUDA_ERROR_INVALID_VALUE); /* all or nothing */
    i[1] = region(array, 256, 256, 44, 44, 0);                       /* up to the end */
    OK(cuMemMapArrayAsync(&i[1], 1, NULL));
    i[0].deviceBitMask = 2;
    FAILS(cuMemMapArrayAsync(i, 1, NULL), CUDA_ERROR_INVALID_VALUE);
    i[0].deviceBitMask = 1;
    i[0].memHandle.memHandle = plain;
    FAILS(cuMemMapArrayAsync(i, 1, NULL), CUDA_ERROR_INVALID_VALUE);
    i[0].memHandle.memHandle = pool;
    i[0].offset = 100;
    FAILS(cuMemMapArrayAsync(i, 1, NULL), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemAddressReserve(&address, 2 << 20, 0, 0, 0));
    FAILS(cuMemMap(address, 2 << 20, 0, pool, 0), CUDA_ERROR_INVALID_VALUE);
    OK(cuArrayDestroy(usual));
    OK(cuArrayDestroy(array));
}

int main(void)
{
    CUcontext context;

    OK(cuInit(0));
    OK(cuCtxCreate_v2(&context, 0, 0));
    pool = make_memory(CU_MEM_CREATE_USAGE_TILE_POOL);
    plain = make_memory(0);
    test_tiles();
    test_layers();
    test_tail();
    test_refused();
    OK(cuMemRelease(pool));
    OK(cuMemRelease(plain));
    OK(cuCtxDestroy_v2(context));
    return check_result();
}
