/* SPDX-License-Identifier: Apache-2.0
 *
 * Sparse arrays: tiles that are mapped onto a tile pool, unmapped, and mapped elsewhere with what
 * they hold; a tail of a mipmapped one; a kernel that stores through a surface also where nothing
 * is mapped.
 */
#include "tests/programs/program.h"

#include <stdbool.h>

enum { SIDE = 256, ROW = SIDE * 4, TILE = 64 << 10 };

static const char text[] = ".version 6.0\n.target sm_70\n.address_size 64\n"
                           ".visible .entry paint(.param .u64 to, .param .u32 color)\n{\n"
                           ".reg .b32 %r<9>; .reg .b64 %d<3>;\n"
                           "ld.param.u64 %d1, [to]; ld.param.u32 %r4, [color];\n"
                           "mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; shl.b32 %r3, %r1, 2;\n"
                           "add.u32 %r5, %r4, %r2; mad.lo.u32 %r5, %r1, 1000, %r5;\n"
                           "sust.b.2d.b32.trap [%d1, {%r3, %r2}], {%r5};\nret;\n}\n";

static uint32_t texels[SIDE * SIDE];
static CUmemGenericAllocationHandle pool;
static CUstream stream;

static CUarrayMapInfo tile(CUarray array, unsigned x, unsigned y, uint64_t offset)
{
    CUarrayMapInfo i = {.resourceType = CU_RESOURCE_TYPE_ARRAY,
                        .resource = {.array = array},
                        .memOperationType = CU_MEM_OPERATION_TYPE_MAP,
                        .memHandle = {.memHandle = pool},
                        .offset = offset,
                        .deviceBitMask = 1};

    i.subresource.sparseLevel.offsetX = x;
    i.subresource.sparseLevel.offsetY = y;
    i.subresource.sparseLevel.extentWidth = i.subresource.sparseLevel.extentHeight = 128;
    i.subresource.sparseLevel.extentDepth = 1;
    return i;
}

static CUarrayMapInfo gone(CUarrayMapInfo i)
{
    i.memOperationType = CU_MEM_OPERATION_TYPE_UNMAP;
    i.memHandle.memHandle = i.offset = 0;
    return i;
}

static void show(CUarray array, const char *name)
{
    CUDA_MEMCPY2D c = {.srcMemoryType = CU_MEMORYTYPE_ARRAY,
                       .srcArray = array,
                       .dstMemoryType = CU_MEMORYTYPE_HOST,
                       .dstHost = texels,
                       .dstPitch = ROW,
                       .WidthInBytes = ROW,
                       .Height = SIDE};

    CU(cuMemcpy2DAsync_v2(&c, stream));
    CU(cuStreamSynchronize(stream));
    printf("%s: %08x, corners %u %u %u %u\n", name, program_digest(texels, sizeof(texels)),
           texels[0], texels[SIDE - 1], texels[(SIDE - 1) * SIDE], texels[SIDE * SIDE - 1]);
}

static void paint(CUfunction function, CUsurfObject surface, unsigned color)
{
    CU(cuLaunchKernel(function, SIDE, 1, 1, SIDE, 1, 1, 0, stream, (void *[]){&surface, &color},
                      NULL));
}

static void show_tail(bool is_destroyed)
{
    CUDA_ARRAY3D_DESCRIPTOR d = {
        SIDE, SIDE, 0, CU_AD_FORMAT_UNSIGNED_INT32, 1, CUDA_ARRAY3D_SPARSE};
    CUarrayMapInfo i = {.resourceType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY,
                        .subresourceType = CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_MIPTAIL,
                        .memOperationType = CU_MEM_OPERATION_TYPE_MAP,
                        .memHandle = {.memHandle = pool},
                        .offset = 8 * TILE,
                        .deviceBitMask = 1};
    CUDA_MEMCPY2D c = {.WidthInBytes = 16, .Height = 4, .srcPitch = 16, .dstPitch = 16};
    CUDA_ARRAY_SPARSE_PROPERTIES p;
    CUmipmappedArray mipmap;
    uint32_t bytes[16];

    CU(cuMipmappedArrayCreate(&mipmap, &d, 9));
    CU(cuMipmappedArrayGetSparseProperties(&p, mipmap));
    CU(cuMipmappedArrayGetLevel(&c.dstArray, mipmap, 4));
    c.srcArray = c.dstArray;
    c.srcHost = c.dstHost = bytes;
    i.resource.mipmap = mipmap;
    i.subresource.miptail.size = p.miptailSize;
    CU(cuMemMapArrayAsync(&i, 1, stream));
    CU(cuStreamSynchronize(stream));
    for (unsigned k = 0; k < 16; k++)
        bytes[k] = k * k + 1;
    c.srcMemoryType = CU_MEMORYTYPE_HOST;
    c.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    CU(cuMemcpy2D_v2(&c));
    c.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    c.dstMemoryType = CU_MEMORYTYPE_HOST;
    memset(bytes, 0, sizeof(bytes));
    CU(cuMemcpy2D_v2(&c));
    printf("tail from level %u: %08x\n", p.miptailFirstLevel, program_digest(bytes, sizeof(bytes)));
    if (is_destroyed)
        CU(cuMipmappedArrayDestroy(mipmap));
}

static void move_tiles(CUarray a, CUarray b, CUfunction function, CUsurfObject surface)
{
    CUarrayMapInfo list[3] = {gone(tile(a, 0, 0, 0)), tile(b, 128, 128, 0),
                              tile(a, 128, 128, 5 * TILE)};

    /* One moves on, with its texels, to the other array; the last one is another piece of the pool.
     */
    CU(cuMemMapArrayAsync(list, 3, stream));
    show(a, "two of them, and a new one");
    show(b, "the one that moved");
    paint(function, surface, 77);
    show(a, "painted again");
    /* Back to where it came from. */
    list[0] = gone(list[1]);
    list[1] = tile(a, 0, 0, 0);
    CU(cuMemMapArrayAsync(list, 2, stream));
    show(a, "all four");
}

int main(int argc, char **argv)
{
    const bool keeps = argc > 1;
    CUDA_ARRAY3D_DESCRIPTOR d = {SIDE, SIDE,
                                 0,    CU_AD_FORMAT_UNSIGNED_INT32,
                                 1,    CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_SURFACE_LDST};
    CUmemAllocationProp memory = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                  .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE},
                                  .allocFlags = {.usage = CU_MEM_CREATE_USAGE_TILE_POOL}};
    CUDA_RESOURCE_DESC r = {.resType = CU_RESOURCE_TYPE_ARRAY};
    CUDA_ARRAY_SPARSE_PROPERTIES p;
    CUfunction function;
    CUsurfObject surface;
    CUcontext context;
    CUmodule module;
    CUarray a, b;

    CU(cuInit(0));
    CU(cuCtxCreate_v2(&context, 0, 0));
    CU(cuModuleLoadData(&module, text));
    function = program_function(module, "paint");
    CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CU(cuMemCreate(&pool, 2 << 20, &memory, 0));
    CU(cuArray3DCreate_v2(&a, &d));
    CU(cuArray3DCreate_v2(&b, &d));
    CU(cuArrayGetSparseProperties(&p, a));
    printf("tiles of %u x %u x %u\n", p.tileExtent.width, p.tileExtent.height, p.tileExtent.depth);
    r.res.array.hArray = a;
    CU(cuSurfObjectCreate(&surface, &r));

    /* Three of four tiles, in one call. */
    CUarrayMapInfo list[3] = {tile(a, 0, 0, 0), tile(a, 128, 0, 2 * TILE), tile(a, 0, 128, TILE)};
    CU(cuMemMapArrayAsync(list, 3, stream));
    paint(function, surface, 5);
    show(a, "three tiles");
    if (!keeps)
        move_tiles(a, b, function, surface);
    paint(function, surface, 9);
    show(a, "painted last");
    show_tail(!keeps);
    CU(cuSurfObjectDestroy(surface));
    CU(cuArrayDestroy(a));
    CU(cuArrayDestroy(b));
    CU(cuMemRelease(pool));
    CU(cuStreamDestroy_v2(stream));
    program_end(module, context);
    return 0;
}
