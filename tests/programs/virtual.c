/* SPDX-License-Identifier: Apache-2.0
 *
 * Virtual memory: physical memory mapped into a reservation that grows, mapped to a second place,
 * and mapped again with what it held.
 */
#include "tests/programs/program.h"

#define GRAIN ((size_t)2 << 20)

enum { COUNT = 4096 };

static void map(CUdeviceptr at, CUmemGenericAllocationHandle physical)
{
    CUmemAccessDesc access = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0},
                              .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};

    CU(cuMemMap(at, GRAIN, 0, physical, 0));
    CU(cuMemSetAccess(at, GRAIN, &access, 1));
}

static void print_words(const char *name, CUdeviceptr at)
{
    static unsigned words[COUNT];

    CU(cuMemcpyDtoH_v2(words, at, sizeof(words)));
    printf("%s: %08x\n", name, program_digest(words, sizeof(words)));
}

int main(void)
{
    CUcontext context;
    CUmodule module = program_begin(&context);
    CUfunction copy = program_function(module, "copy");
    CUmemAllocationProp properties = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                      .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}};
    CUmemGenericAllocationHandle first, second;
    CUdeviceptr base, other;
    static unsigned words[COUNT];
    int count = COUNT;

    for (int i = 0; i < COUNT; i++)
        words[i] = (unsigned)i * 7;
    CU(cuMemAddressReserve(&base, 4 * GRAIN, 0, 0, 0));
    CU(cuMemCreate(&first, GRAIN, &properties, 0));
    map(base, first);
    CU(cuMemcpyHtoD_v2(base, words, sizeof(words)));
    CU(cuMemCreate(&second, GRAIN, &properties, 0));
    map(base + GRAIN, second);
    other = base + GRAIN;
    program_launch(copy, COUNT, NULL, (void *[]){&count, &base, &other});
    print_words("copied", other);
    map(base + 2 * GRAIN, second);
    other = base + 2 * GRAIN;
    CU(cuMemsetD32_v2(other, 5, 100));
    print_words("seen at the first place", base + GRAIN);
    CU(cuMemUnmap(base, GRAIN));
    map(base + 3 * GRAIN, first);
    print_words("mapped again", base + 3 * GRAIN);
    CU(cuMemUnmap(base + GRAIN, 3 * GRAIN));
    CU(cuMemRelease(first));
    CU(cuMemRelease(second));
    CU(cuMemAddressFree(base, 4 * GRAIN));
    program_end(module, context);
    return 0;
}
