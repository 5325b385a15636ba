/* SPDX-License-Identifier: Apache-2.0
 *
 * Many boxes in one call: between pointers and arrays.
 */
#include "tests/emu/emu_test.h"

int main(void)
{
    CUcontext context = test_context();
    CUDA_ARRAY3D_DESCRIPTOR box = {.Width = 4,
                                   .Height = 3,
                                   .Depth = 2,
                                   .Format = CU_AD_FORMAT_UNSIGNED_INT32,
                                   .NumChannels = 1};
    unsigned host[24], back[24] = {0};
    CUdeviceptr p;
    CUstream stream;
    CUarray array;
    size_t failed = 0;

    for (unsigned i = 0; i < 24; i++)
        host[i] = i;
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuArray3DCreate_v2(&array, &box));
    OK(cuMemAlloc_v2(&p, sizeof(host)));
    OK(cuMemcpyHtoD_v2(p, host, sizeof(host)));
    CUDA_MEMCPY3D_BATCH_OP in = {
        .src = {.type = CU_MEMCPY_OPERAND_TYPE_POINTER, .op.ptr = {.ptr = p}},
        .dst = {.type = CU_MEMCPY_OPERAND_TYPE_ARRAY, .op.array = {.array = array}},
        .extent = {4, 3, 2},
        .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM};
    OK(cuMemcpy3DBatchAsync_v2(1, &in, 0, stream));

    /* Two corners of the array, into rows of five elements. */
    CUDA_MEMCPY3D_BATCH_OP out[2] = {{.src = {.type = CU_MEMCPY_OPERAND_TYPE_ARRAY,
                                              .op.array = {.array = array, .offset = {2, 1, 0}}},
                                      .dst = {.type = CU_MEMCPY_OPERAND_TYPE_POINTER,
                                              .op.ptr = {.ptr = (uintptr_t)back, .rowLength = 5}},
                                      .extent = {2, 2, 1},
                                      .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_ANY}};
    out[1] = out[0];
    out[1].src.op.array.offset.z = 1;
    out[1].dst.op.ptr.ptr = (uintptr_t)(back + 12);
    OK(cuMemcpy3DBatchAsync(2, out, &failed, 0, stream));
    OK(cuStreamSynchronize(stream));
    CHECK_EQ_INT(failed, SIZE_MAX);
    CHECK_EQ_INT(back[0], 6);
    CHECK_EQ_INT(back[1], 7);
    CHECK_EQ_INT(back[5], 10);
    CHECK_EQ_INT(back[12], 18);
    CHECK_EQ_INT(back[18], 23);
    CHECK_EQ_INT(back[2], 0);

    out[1].extent.width = 3; /* over the edge */
    FAILS(cuMemcpy3DBatchAsync(2, out, &failed, 0, stream), CUDA_ERROR_INVALID_VALUE);
    CHECK_EQ_INT(failed, 1);
    FAILS(cuMemcpy3DBatchAsync_v2(1, out, 0, NULL), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemcpy3DBatchAsync_v2(0, out, 0, stream), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemcpy3DBatchAsync_v2(1, out, 1, stream), CUDA_ERROR_INVALID_VALUE);
    out[0].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_INVALID;
    FAILS(cuMemcpy3DBatchAsync_v2(1, out, 0, stream), CUDA_ERROR_INVALID_VALUE);
    out[0].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_ANY;
    out[0].dst.op.ptr.rowLength = 1; /* shorter than what is copied */
    FAILS(cuMemcpy3DBatchAsync_v2(1, out, 0, stream), CUDA_ERROR_INVALID_VALUE);
    OK(cuCtxDestroy_v2(context));
    return check_result();
}
