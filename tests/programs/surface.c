/* SPDX-License-Identifier: Apache-2.0 -- a heat map in two arrays that kernels write through
 * surfaces and read through textures, back and forth; the handles change sides at each step. The
 * first map comes from another thread, on a stream of its own: only the array says that the others
 * need it. */
#include "tests/programs/program.h"

#include <pthread.h>

enum { SIZE = 32, STEPS = 6 };

static const char text[] =
    ".version 6.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry step(.param .u64 from, .param .u32 gain, .param .u64 to)\n{\n"
    ".reg .b32 %r<9>; .reg .f32 %f<9>; .reg .b64 %d<3>;\n"
    "ld.param.u64 %d1, [from]; ld.param.u64 %d2, [to]; ld.param.u32 %r6, [gain];\n"
    "mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; shl.b32 %r3, %r1, 2;\n"
    "cvt.rn.f32.u32 %f1, %r1; cvt.rn.f32.u32 %f2, %r2;\n"
    "tex.2d.v4.f32.f32 {%f3, %f4, %f5, %f6}, [%d1, {%f1, %f2}];\n" /* between four texels */
    "cvt.rn.f32.u32 %f7, %r6; add.f32 %f3, %f3, %f7;\n"
    "sust.b.2d.b32.trap [%d2, {%r3, %r2}], {%f3};\nret;\n}\n";

struct side {
    CUarray array;
    CUtexObject texture;
    CUsurfObject surface;
};

static struct side make_side(void)
{
    CUDA_ARRAY3D_DESCRIPTOR d = {SIZE, SIZE, 0, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_SURFACE_LDST};
    CUDA_TEXTURE_DESC t = {.filterMode = CU_TR_FILTER_MODE_LINEAR};
    CUDA_RESOURCE_DESC r = {.resType = CU_RESOURCE_TYPE_ARRAY};
    struct side side;

    CU(cuArray3DCreate_v2(&side.array, &d));
    r.res.array.hArray = side.array;
    CU(cuTexObjectCreate(&side.texture, &r, &t, NULL));
    CU(cuSurfObjectCreate(&side.surface, &r));
    return side;
}

static float map[SIZE * SIZE];

struct upload {
    CUcontext context;
    CUarray array;
};

static void *upload_map(void *user)
{
    const struct upload *u = user;
    CUDA_MEMCPY2D up = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                        .srcHost = map,
                        .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                        .dstArray = u->array,
                        .WidthInBytes = SIZE * 4,
                        .Height = SIZE};
    CUstream stream;

    CU(cuCtxSetCurrent(u->context));
    CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CU(cuMemcpy2DAsync_v2(&up, stream));
    CU(cuStreamSynchronize(stream));
    CU(cuStreamDestroy_v2(stream));
    return NULL;
}

int main(void)
{
    struct side sides[2];
    struct upload upload;
    pthread_t thread;
    CUstream stream;
    CUcontext context;
    CUmodule kernels = program_begin(&context), module;
    CUfunction f;
    CUDA_MEMCPY2D down = {.srcMemoryType = CU_MEMORYTYPE_ARRAY,
                          .dstMemoryType = CU_MEMORYTYPE_HOST,
                          .dstHost = map,
                          .WidthInBytes = SIZE * 4,
                          .Height = SIZE};

    for (int i = 0; i < SIZE * SIZE; i++)
        map[i] = (float)(i % 17 * (i % 5));
    CU(cuModuleLoadData(&module, text));
    f = program_function(module, "step");
    for (int i = 0; i < 2; i++)
        sides[i] = make_side();
    upload = (struct upload){context, sides[0].array};
    if (pthread_create(&thread, NULL, upload_map, &upload) || pthread_join(thread, NULL))
        return 1;
    CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (unsigned i = 0; i < STEPS; i++) {
        struct side *from = &sides[i % 2], *to = &sides[(i + 1) % 2];
        void *arguments[] = {&from->texture, &i, &to->surface};
        CU(cuLaunchKernel(f, SIZE, 1, 1, SIZE, 1, 1, 0, stream, arguments, NULL));
    }
    down.srcArray = sides[STEPS % 2].array;
    CU(cuMemcpy2DAsync_v2(&down, stream));
    CU(cuStreamSynchronize(stream));
    printf("after %d steps: %08x\n", STEPS, program_digest(map, sizeof(map)));
    for (int i = 0; i < 2; i++) {
        CU(cuTexObjectDestroy(sides[i].texture));
        CU(cuSurfObjectDestroy(sides[i].surface));
        CU(cuArrayDestroy(sides[i].array));
    }
    CU(cuStreamDestroy_v2(stream));
    CU(cuModuleUnload(module));
    program_end(kernels, context);
    return 0;
}
