/* SPDX-License-Identifier: Apache-2.0
 *
 * A program that only some machines can run: machine WAY.
 *
 *   plain     a kernel that any of them runs
 *   clusters  code for compute capability 9.0
 *   devices   a context on each device
 *   memory    an allocation of 5 GiB
 */
#include "tests/programs/program.h"

#define LARGE (5ull << 30)

enum { COUNT = 256 };

static const char ptx[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
                          ".visible .entry rank(.param .u64 words)\n"
                          "{\n"
                          "  .reg .u32 %r1, %r2; .reg .u64 %d<4>;\n"
                          "  ld.param.u64 %d1, [words]; mov.u32 %r1, %tid.x;\n"
                          "  mul.wide.u32 %d2, %r1, 4; add.u64 %d3, %d1, %d2;\n"
                          "  mov.u32 %r2, %cluster_nctarank; add.u32 %r2, %r2, %r1;\n"
                          "  st.global.u32 [%d3], %r2;\n"
                          "  ret;\n}\n";

static uint32_t digest;

static void read_back(CUdeviceptr memory)
{
    uint32_t words[COUNT];

    CU(cuMemcpyDtoH_v2(words, memory, sizeof(words)));
    digest = digest * 31 + program_digest(words, sizeof(words));
}

static void use_clusters(CUdeviceptr memory)
{
    CUmodule module;

    CU(cuModuleLoadData(&module, ptx));
    program_launch(program_function(module, "rank"), COUNT, NULL, (void *[]){&memory});
    read_back(memory);
}

static void use_devices(void)
{
    CUdeviceptr memory;
    CUcontext context;
    int count;

    CU(cuDeviceGetCount(&count));
    for (int i = 0; i < count; i++) {
        CU(cuCtxCreate_v2(&context, 0, i));
        CU(cuMemAlloc_v2(&memory, 4 * COUNT));
        CU(cuMemsetD32_v2(memory, 7 + (unsigned)i, COUNT));
        read_back(memory);
    }
}

/* Physical memory, which costs nothing until it is mapped. */
static void use_memory(void)
{
    const CUmemAllocationProp properties = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                            .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    CUmemGenericAllocationHandle handle;

    CU(cuMemCreate(&handle, LARGE, &properties, 0));
    CU(cuMemRelease(handle));
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "plain";
    unsigned count = COUNT, value = 9;
    CUcontext context;
    CUmodule module = program_begin(&context);
    CUdeviceptr memory;

    CU(cuMemAlloc_v2(&memory, 4 * COUNT));
    program_launch(program_function(module, "fill"), COUNT, NULL,
                   (void *[]){&count, &value, &memory});
    read_back(memory);
    if (!strcmp(way, "clusters"))
        use_clusters(memory);
    if (!strcmp(way, "devices"))
        use_devices();
    if (!strcmp(way, "memory"))
        use_memory();
    printf("machine %s: %08x\n", way, digest);
    return 0;
}
