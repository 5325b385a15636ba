/* SPDX-License-Identifier: Apache-2.0
 *
 * A multicast object over two devices (TS_EMU_DEVICES=2, TS_EMU_CC=9.0; of one device over that):
 * its first half is physical memory of each, its second half memory that is mapped. Kernels of
 * either device store, add and sum through its address; then one half is bound elsewhere.
 */
#include "tests/programs/program.h"

enum { DEVICES = 2, WORDS = 128, HALF = 2 << 20 };

static const char text[] = ".version 8.1\n.target sm_90\n.address_size 64\n"
#define HEAD(name)                                                                                 \
    ".visible .entry " name "(.param .u64 to, .param .u64 out)\n{\n"                               \
    ".reg .b32 %r<9>; .reg .b64 %d<5>;\n"                                                          \
    "ld.param.u64 %d1, [to]; ld.param.u64 %d2, [out]; mov.u32 %r1, %tid.x;\n"                      \
    "mul.wide.u32 %d3, %r1, 4; add.u64 %d1, %d1, %d3; add.u64 %d2, %d2, %d3;\n"
    HEAD("put") "mad.lo.u32 %r2, %r1, 3, 7; multimem.st.weak.global.u32 [%d1], "
                "%r2;\nret;\n}\n" HEAD("add") "multimem.red.relaxed.sys.global.add.u32 [%d1], "
                                              "%r1;\nret;\n}\n" HEAD(
                                                  "sum") "multimem.ld_reduce.relaxed.sys.global."
                                                         "add.u32 %r2, [%d1];\n"
                                                         "st.global.u32 [%d2], %r2;\nret;\n}\n";

struct member {
    CUcontext context;
    CUmodule module;
    CUmemGenericAllocationHandle memory[2];
    CUdeviceptr first, second, out; /* the memory under addresses of its own */
};

static struct member members[DEVICES];
static CUmemGenericAllocationHandle object;
static CUdeviceptr address;
static int count;

static CUdeviceptr map(CUmemGenericAllocationHandle handle, size_t size)
{
    CUmemAccessDesc access[DEVICES];
    CUdeviceptr at;

    for (int i = 0; i < count; i++)
        access[i] =
            (CUmemAccessDesc){{CU_MEM_LOCATION_TYPE_DEVICE, i}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CU(cuMemAddressReserve(&at, size, 0, 0, 0));
    CU(cuMemMap(at, size, 0, handle, 0));
    CU(cuMemSetAccess(at, size, access, (size_t)count));
    return at;
}

static void join(int device)
{
    CUmemAllocationProp p = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                             .location = {CU_MEM_LOCATION_TYPE_DEVICE, device}};
    struct member *m = &members[device];

    CU(cuCtxCreate_v2(&m->context, 0, device));
    CU(cuModuleLoadData(&m->module, text));
    for (unsigned i = 0; i < 2; i++)
        CU(cuMemCreate(&m->memory[i], HALF, &p, 0));
    m->first = map(m->memory[0], HALF);
    m->second = map(m->memory[1], HALF);
    CU(cuMemAlloc_v2(&m->out, WORDS * 4));
    CU(cuMemsetD32_v2(m->first, 100 + (unsigned)device, WORDS));
    CU(cuMemsetD32_v2(m->second, 1000 + (unsigned)device, WORDS));
    CU(cuCtxSynchronize());
    CU(cuMulticastAddDevice(object, device));
}

static void run(int device, const char *name, CUdeviceptr to)
{
    struct member *m = &members[device % count];

    CU(cuCtxSetCurrent(m->context));
    CU(cuLaunchKernel(program_function(m->module, name), 1, 1, 1, WORDS, 1, 1, 0, NULL,
                      (void *[]){&to, &m->out}, NULL));
    CU(cuCtxSynchronize());
}

static void show(const char *name, CUdeviceptr from, int device)
{
    uint32_t words[WORDS];

    CU(cuCtxSetCurrent(members[device % count].context));
    CU(cuMemcpyDtoH_v2(words, from, sizeof(words)));
    printf("%s of %d: %u, %u, ... %08x\n", name, device % count, words[0], words[1],
           program_digest(words, sizeof(words)));
}

int main(void)
{
    CUmulticastObjectProp p = {.size = 2 * HALF};
    int is_supported = 0;

    CU(cuInit(0));
    CU(cuDeviceGetAttribute(&is_supported, CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, 0));
    if (!is_supported) {
        printf("no multicast\n");
        return 0;
    }
    CU(cuDeviceGetCount(&count));
    count = count < DEVICES ? count : DEVICES;
    p.numDevices = (unsigned)count;
    CU(cuMulticastCreate(&object, &p));
    for (int i = 0; i < count; i++)
        join(i);
    for (int i = 0; i < count; i++) {
        CU(cuMulticastBindMem(object, 0, members[i].memory[0], 0, HALF, 0));
        CU(cuMulticastBindAddr(object, HALF, members[i].second, HALF, 0));
    }
    address = map(object, 2 * HALF);

    run(0, "sum", address);
    show("first sums", members[0].out, 0);
    run(1, "add", address);
    run(0, "put", address + HALF);
    for (int i = 0; i < count; i++) {
        show("added", members[i].first, i);
        show("put", members[i].second, i);
    }
    run(1, "sum", address + HALF);
    show("second sums", members[1 % count].out, 1);
    /* The last device's first half becomes its second one, too. */
    CU(cuMulticastUnbind(object, count - 1, 0, HALF));
    CU(cuMulticastBindMem(object, 0, members[count - 1].memory[1], 0, HALF, 0));
    run(0, "add", address);
    for (int i = 0; i < count; i++) {
        show("first", members[i].first, i);
        show("second", members[i].second, i);
    }
    CU(cuMemUnmap(address, 2 * HALF));
    CU(cuMemRelease(object));
    for (int i = 0; i < count; i++) {
        CU(cuCtxSetCurrent(members[i].context));
        CU(cuMemFree_v2(members[i].out));
        CU(cuCtxDestroy_v2(members[i].context));
    }
    return 0;
}
