/* SPDX-License-Identifier: Apache-2.0
 *
 * Questions that only a real driver can answer, one line each: numbered as in tests/gpu/README.md.
 */
#include "tests/programs/program.h"

#include "base/clock.h"

#include <dlfcn.h>

enum { TRY_COUNT = 64, LAUNCH_COUNT = 20000 };

static const size_t granule = 2u << 20;

/* 1: is what cuGetProcAddress gives an export of the library? */
static void ask_exports(void)
{
    static const char *const names[] = {
#define TSM_CUDA_CALL(id, name, parameters, arguments) #name,
#include "api/cuda/cuda_calls.inc"
#undef TSM_CUDA_CALL
    };
    static const int versions[] = {11030, 12000, 12050, 13000};
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    unsigned asked = 0, exported = 0;
    Dl_info info;

    for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++) {
        for (size_t v = 0; v < sizeof(versions) / sizeof(versions[0]); v++) {
            CUdriverProcAddressQueryResult found;
            void *address = NULL;
            if (cuGetProcAddress_v2(names[n], &address, versions[v], 0, &found) != CUDA_SUCCESS ||
                !address)
                continue;
            asked++;
            exported += dladdr(address, &info) != 0 && info.dli_saddr == address;
        }
    }
    printf("1 exports: %u of %u addresses are exported symbols (library %s)\n", exported, asked,
           library ? "found" : "not found");
}

/* 3: how often is the address asked for given? */
static void ask_reserve(void)
{
    static const CUdeviceptr bases[] = {0x500000000000, 0x153940000000, 0x7f0000000000,
                                        0x200000000000};

    for (size_t b = 0; b < sizeof(bases) / sizeof(bases[0]); b++) {
        unsigned same = 0;
        for (unsigned i = 0; i < TRY_COUNT; i++) {
            CUdeviceptr wanted = bases[b] + i * 64 * granule, got = 0;
            if (cuMemAddressReserve(&got, granule, 0, wanted, 0) != CUDA_SUCCESS)
                continue;
            same += got == wanted;
            CU(cuMemAddressFree(got, granule));
        }
        printf("3 reserve at %#llx: %u of %u\n", (unsigned long long)bases[b], same, TRY_COUNT);
    }
}

static void place(CUdeviceptr address, CUmemGenericAllocationHandle *handle)
{
    CUmemAllocationProp properties = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                      .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}};
    CUmemAccessDesc access = {.location = properties.location,
                              .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};

    CU(cuMemCreate(handle, granule, &properties, 0));
    CU(cuMemMap(address, granule, 0, *handle, 0));
    CU(cuMemSetAccess(address, granule, &access, 1));
}

/* 4: placing memory against cuMemAlloc, microseconds each */
static void ask_placing(void)
{
    CUmemGenericAllocationHandle handles[TRY_COUNT];
    CUdeviceptr base, plain[TRY_COUNT];
    uint64_t begin = tsm_monotonic_ns();

    CU(cuMemAddressReserve(&base, TRY_COUNT * granule, 0, 0, 0));
    for (unsigned i = 0; i < TRY_COUNT; i++)
        place(base + i * granule, &handles[i]);
    printf("4 placing: %.1f us", (double)(tsm_monotonic_ns() - begin) / TRY_COUNT / 1000);
    begin = tsm_monotonic_ns();
    for (unsigned i = 0; i < TRY_COUNT; i++)
        CU(cuMemAlloc_v2(&plain[i], granule));
    printf(", cuMemAlloc: %.1f us\n", (double)(tsm_monotonic_ns() - begin) / TRY_COUNT / 1000);
    for (unsigned i = 0; i < TRY_COUNT; i++) {
        CU(cuMemFree_v2(plain[i]));
        CU(cuMemUnmap(base + i * granule, granule));
        CU(cuMemRelease(handles[i]));
    }
    CU(cuMemAddressFree(base, TRY_COUNT * granule));
}

/* 5 and 6: address of a global, to be compared between runs; cost of a launch */
static void ask_launch(CUmodule module)
{
    CUfunction nothing = program_function(module, "nothing");
    CUdeviceptr table;
    uint64_t begin;
    size_t size;

    CU(cuModuleGetGlobal_v2(&table, &size, module, "global_table"));
    printf("5 global_table at %#llx\n", (unsigned long long)table);
    CU(cuCtxSynchronize());
    begin = tsm_monotonic_ns();
    for (int i = 0; i < LAUNCH_COUNT; i++)
        CU(cuLaunchKernel(nothing, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    CU(cuCtxSynchronize());
    printf("6 launch: %.0f ns\n", (double)(tsm_monotonic_ns() - begin) / LAUNCH_COUNT);
}

int main(void)
{
    CUcontext context;
    CUmodule module = program_begin(&context);

    ask_exports();
    ask_reserve();
    ask_placing();
    ask_launch(module);
    program_end(module, context);
    return 0;
}
