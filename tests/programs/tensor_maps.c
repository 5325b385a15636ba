/* SPDX-License-Identifier: Apache-2.0
 *
 * A box of a tensor is read by one tensor map and written by another, both arguments of the kernel by
 * value: what lies outside of the first one is zero, outside of the second one nothing is written.
 */
#include "tests/programs/program.h"

enum { WIDTH = 32, HEIGHT = 16, COLUMNS = 30, ROWS = 10, BOX_COLUMNS = 16, BOX_ROWS = 8 };

static const char ptx[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .entry move(.param .align 64 .b8 from[128], .param .align 64 .b8 to[128])\n"
    "{\n"
    ".reg .b32 %x, %y, %zero; .reg .b64 %from, %to; .reg .pred %p;\n"
    ".shared .align 128 .b8 box[512]; .shared .align 8 .b64 bar;\n"
    "mov.b64 %from, from; cvta.param.u64 %from, %from;\n"
    "mov.b64 %to, to; cvta.param.u64 %to, %to;\n"
    "mov.b32 %x, 20; mov.b32 %y, -2; mov.b32 %zero, 0;\n"
    "mbarrier.init.shared::cta.b64 [bar], 1;\n"
    "mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 512;\n"
    "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
    " [box], [%from, {%x, %y}], [bar];\n"
    "WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p, [bar], 0;\n"
    "@!%p bra WAIT;\n"
    "fence.proxy.async;\n"
    "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%to, {%zero, %y}], [box];\n"
    "cp.async.bulk.commit_group;\n"
    "cp.async.bulk.wait_group 0;\n"
    "ret;\n"
    "}\n";

static CUtensorMap map_of(CUdeviceptr memory)
{
    static const cuuint64_t size[] = {COLUMNS, ROWS}, pitch[] = {WIDTH * sizeof(uint32_t)};
    static const cuuint32_t box[] = {BOX_COLUMNS, BOX_ROWS}, step[] = {1, 1};
    CUtensorMap map;

    CU(cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_UINT32, 2, (void *)(uintptr_t)memory,
                              size, pitch, box, step, CU_TENSOR_MAP_INTERLEAVE_NONE,
                              CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                              CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
    return map;
}

int main(void)
{
    static uint32_t in[HEIGHT][WIDTH], out[HEIGHT][WIDTH];
    CUdeviceptr from_memory, to_memory;
    CUtensorMap from, to;
    unsigned wrong = 0;
    CUcontext context;
    CUmodule module;
    CUfunction move;

    CU(cuInit(0));
    CU(cuCtxCreate_v2(&context, 0, 0));
    CU(cuModuleLoadData(&module, ptx));
    CU(cuModuleGetFunction(&move, module, "move"));
    for (unsigned y = 0; y < HEIGHT; y++)
        for (unsigned x = 0; x < WIDTH; x++)
            in[y][x] = y * 1000 + x + 1;
    CU(cuMemAlloc_v2(&from_memory, sizeof(in)));
    CU(cuMemAlloc_v2(&to_memory, sizeof(out)));
    CU(cuMemcpyHtoD_v2(from_memory, in, sizeof(in)));
    CU(cuMemsetD8_v2(to_memory, 0xff, sizeof(out)));
    from = map_of(from_memory);
    to = map_of(from_memory);
    CU(cuTensorMapReplaceAddress(&to, (void *)(uintptr_t)to_memory));
    CU(cuLaunchKernel(move, 1, 1, 1, 1, 1, 1, 0, NULL, (void *[]){&from, &to}, NULL));
    CU(cuMemcpyDtoH_v2(out, to_memory, sizeof(out)));
    for (unsigned y = 0; y < HEIGHT; y++) {
        for (unsigned x = 0; x < WIDTH; x++) {
            uint32_t expected = UINT32_MAX;
            if (y + 2 < BOX_ROWS && x < BOX_COLUMNS)
                expected = x + 20 < COLUMNS ? in[y][x + 20] : 0;
            wrong += out[y][x] != expected;
        }
    }
    printf("%u of %u words are wrong\n", wrong, HEIGHT * WIDTH);
    CU(cuMemFree_v2(from_memory));
    CU(cuMemFree_v2(to_memory));
    program_end(module, context);
    return wrong != 0;
}
