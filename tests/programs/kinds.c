/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory of each kind that has something of its own about it, made at the beginning and used until
 * the end: from a pool, mapped with and without a handle kept, mapped only now and then, managed, a
 * variable of a module that was linked, arrays behind a texture and a surface. Every round each of
 * them depends on all that came before. Argument: rounds.
 */
#include "tests/programs/program.h"

#define GRAIN ((size_t)2 << 20)
#define HEAD  ".version 6.0\n.target sm_70\n.address_size 64\n"

enum { COUNT = 256, WIDTH = 16, HEIGHT = 16 };
enum { POOLED, POOLED_OWN, MAPPED, MAPPED_APART, MANAGED, KINDS };

/* mix(from, to): to[i] = to[i] * 31 + from[i] + what a function of the other text gives. */
static const char mix[] = HEAD ".extern .func (.param .b32 r) next(.param .b32 x);\n"
                               ".visible .entry mix(.param .u64 from, .param .u64 to)\n{\n"
                               " .reg .b32 %r<6>; .reg .b64 %d<5>;\n"
                               " ld.param.u64 %d1, [from]; ld.param.u64 %d2, [to];\n"
                               " mov.u32 %r1, %tid.x;\n"
                               " mul.wide.u32 %d3, %r1, 4; add.u64 %d1, %d1, %d3;\n"
                               " add.u64 %d2, %d2, %d3;\n"
                               " ld.global.u32 %r2, [%d1]; ld.global.u32 %r3, [%d2];\n"
                               " { .param .b32 a; .param .b32 b;\n"
                               "   st.param.b32 [a], %r2;\n"
                               "   call (b), next, (a);\n"
                               "   ld.param.b32 %r4, [b]; }\n"
                               " mad.lo.u32 %r5, %r3, 31, %r4;\n"
                               " st.global.u32 [%d2], %r5;\n ret;\n}\n";
static const char next[] =
    HEAD ".visible .global .align 4 .u32 salt = 9;\n"
         ".visible .func (.param .b32 r) next(.param .b32 x)\n{\n"
         " .reg .b32 %r<4>;\n"
         " ld.param.b32 %r1, [x]; ld.global.u32 %r2, [salt];\n"
         " add.u32 %r3, %r1, %r2; st.param.b32 [r], %r3;\n ret;\n}\n"
         ".visible .entry turn()\n{\n"
         " .reg .b32 %r<3>;\n"
         " ld.global.u32 %r1, [salt]; mad.lo.u32 %r2, %r1, 5, 3; st.global.u32 [salt], %r2;\n"
         " ret;\n}\n";
/* through(texture, surface, words): the surface's texel is the texture's and a word. */
static const char through[] =
    HEAD ".visible .entry through(.param .u64 t, .param .u64 s, .param .u64 words)\n{\n"
         " .reg .b32 %r<12>; .reg .b64 %d<6>;\n"
         " ld.param.u64 %d1, [t]; ld.param.u64 %d2, [s]; ld.param.u64 %d3, [words];\n"
         " mov.u32 %r1, %tid.x; and.b32 %r2, %r1, 15; shr.u32 %r3, %r1, 4; shl.b32 %r4, %r2, 2;\n"
         " tex.2d.v4.u32.s32 {%r5, %r6, %r7, %r8}, [%d1, {%r2, %r3}];\n"
         " mul.wide.u32 %d4, %r1, 4; add.u64 %d3, %d3, %d4; ld.global.u32 %r9, [%d3];\n"
         " add.u32 %r10, %r9, %r5;\n"
         " sust.b.2d.b32.trap [%d2, {%r4, %r3}], {%r10};\n"
         " st.global.u32 [%d3], %r10;\n ret;\n}\n";

static struct {
    CUmodule linked, module;
    CUfunction mix, turn, through;
    CUstream stream;
    CUdeviceptr kinds[KINDS]; /* buffers of COUNT words */
    CUdeviceptr away;         /* where `apart` is mapped in odd rounds */
    CUmemGenericAllocationHandle apart;
    CUarray arrays[2];
    CUtexObject textures[2];
    CUsurfObject surfaces[2];
} all;

static void link_module(void)
{
    CUlinkState state;
    void *image;
    size_t size;

    CU(cuLinkCreate_v2(0, NULL, NULL, &state));
    CU(cuLinkAddData_v2(state, CU_JIT_INPUT_PTX, (void *)(uintptr_t)mix, sizeof(mix), "mix", 0,
                        NULL, NULL));
    CU(cuLinkAddData_v2(state, CU_JIT_INPUT_PTX, (void *)(uintptr_t)next, sizeof(next), "next", 0,
                        NULL, NULL));
    CU(cuLinkComplete(state, &image, &size));
    CU(cuModuleLoadData(&all.linked, image));
    CU(cuLinkDestroy(state));
    all.mix = program_function(all.linked, "mix");
    all.turn = program_function(all.linked, "turn");
    CU(cuModuleLoadData(&all.module, through));
    all.through = program_function(all.module, "through");
}

static void map(CUdeviceptr at, CUmemGenericAllocationHandle physical)
{
    CUmemAccessDesc access = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0},
                              .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};

    CU(cuMemMap(at, GRAIN, 0, physical, 0));
    CU(cuMemSetAccess(at, GRAIN, &access, 1));
}

static void make_memory(void)
{
    CUmemAllocationProp properties = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                      .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}};
    CUmemPoolProps of_pool = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                              .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}};
    CUmemGenericAllocationHandle forgotten;
    CUmemoryPool pool;
    CUdeviceptr base;

    CU(cuMemPoolCreate(&pool, &of_pool));
    CU(cuMemAllocAsync(&all.kinds[POOLED], COUNT * 4, all.stream));
    CU(cuMemAllocFromPoolAsync(&all.kinds[POOLED_OWN], COUNT * 4, pool, all.stream));
    CU(cuMemAllocManaged(&all.kinds[MANAGED], COUNT * 4, CU_MEM_ATTACH_GLOBAL));
    CU(cuMemAddressReserve(&base, 3 * GRAIN, 0, 0, 0));
    CU(cuMemCreate(&forgotten, GRAIN, &properties, 0));
    map(base, forgotten);
    CU(cuMemRelease(forgotten));
    CU(cuMemCreate(&all.apart, GRAIN, &properties, 0));
    map(base + GRAIN, all.apart);
    all.kinds[MAPPED] = base;
    all.kinds[MAPPED_APART] = base + GRAIN;
    all.away = base + 2 * GRAIN;
    for (unsigned i = 0; i < KINDS; i++)
        CU(cuMemsetD32Async(all.kinds[i], i + 1, COUNT, all.stream));
    CU(cuStreamSynchronize(all.stream));
}

static void make_arrays(void)
{
    CUDA_ARRAY3D_DESCRIPTOR shape = {.Width = WIDTH,
                                     .Height = HEIGHT,
                                     .Format = CU_AD_FORMAT_UNSIGNED_INT32,
                                     .NumChannels = 1,
                                     .Flags = CUDA_ARRAY3D_SURFACE_LDST};
    CUDA_TEXTURE_DESC texture = {.flags = CU_TRSF_READ_AS_INTEGER};
    static const unsigned words[WIDTH * HEIGHT] = {3, 1, 4, 1, 5};

    for (unsigned i = 0; i < 2; i++) {
        CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_ARRAY};
        CUDA_MEMCPY2D copy = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                              .srcHost = words,
                              .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                              .WidthInBytes = WIDTH * 4,
                              .Height = HEIGHT};
        CU(cuArray3DCreate_v2(&all.arrays[i], &shape));
        copy.dstArray = resource.res.array.hArray = all.arrays[i];
        CU(cuMemcpy2D_v2(&copy));
        CU(cuTexObjectCreate(&all.textures[i], &resource, &texture, NULL));
        CU(cuSurfObjectCreate(&all.surfaces[i], &resource));
    }
}

/* A texture of memory that is gone before the rounds begin. */
static void make_short_lived(void)
{
    CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_LINEAR};
    CUDA_TEXTURE_DESC texture = {.flags = CU_TRSF_READ_AS_INTEGER};
    CUtexObject object;
    CUdeviceptr memory;

    CU(cuMemAlloc_v2(&memory, COUNT * 4));
    resource.res.linear.devPtr = memory;
    resource.res.linear.format = CU_AD_FORMAT_UNSIGNED_INT32;
    resource.res.linear.numChannels = 1;
    resource.res.linear.sizeInBytes = COUNT * 4;
    CU(cuTexObjectCreate(&object, &resource, &texture, NULL));
    CU(cuTexObjectDestroy(object));
    CU(cuMemFree_v2(memory));
}

static void launch(CUfunction function, unsigned width, void **arguments)
{
    CU(cuLaunchKernel(function, 1, 1, 1, width, 1, 1, 0, all.stream, arguments, NULL));
}

static unsigned do_round(unsigned round)
{
    static unsigned words[COUNT];
    unsigned *managed = (unsigned *)(uintptr_t)all.kinds[MANAGED];
    CUdeviceptr there = all.kinds[MAPPED_APART];

    launch(all.turn, 1, NULL);
    for (unsigned i = 0; i + 1 < KINDS; i++)
        launch(all.mix, COUNT, (void *[]){&all.kinds[i], &all.kinds[i + 1]});
    CU(cuStreamSynchronize(all.stream)); /* nothing is sent while a kernel writes managed memory */
    launch(all.mix, COUNT, (void *[]){&all.kinds[MANAGED], &all.kinds[POOLED]});
    launch(all.through, COUNT,
           (void *[]){&all.textures[round % 2], &all.surfaces[(round + 1) % 2],
                      &all.kinds[POOLED_OWN]});
    CU(cuMemcpyDtoHAsync_v2(words, all.kinds[round % KINDS], sizeof(words), all.stream));
    CU(cuStreamSynchronize(all.stream));
    managed[round % COUNT] += round; /* by the program, between the kernels */
    CU(cuMemUnmap(there, GRAIN));
    all.kinds[MAPPED_APART] = all.away;
    all.away = there;
    map(all.kinds[MAPPED_APART], all.apart);
    return program_digest(words, sizeof(words));
}

int main(int argc, char **argv)
{
    unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 12, digest = 0;
    CUcontext context;
    CUmodule kernels = program_begin(&context);

    CU(cuStreamCreate(&all.stream, CU_STREAM_NON_BLOCKING));
    link_module();
    make_memory();
    make_arrays();
    make_short_lived();
    CU(cuCtxSynchronize()); /* the copies into the arrays went to another stream */
    for (unsigned round = 0; round < rounds; round++)
        digest = digest * 31 + do_round(round);
    printf("%u rounds: %08x\n", rounds, digest);
    program_end(kernels, context);
    return 0;
}
