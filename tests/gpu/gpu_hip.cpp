// SPDX-License-Identifier: Apache-2.0
//
// Kernels by HIP: copies to the GPU, launches on two streams that wait for each other, copies back.
#include <cstdio>
#include <hip/hip_runtime.h>
#include <vector>

#define CHECK(call)                                                                                \
    do {                                                                                           \
        hipError_t error = call;                                                                   \
        if (error != hipSuccess) {                                                                 \
            fprintf(stderr, "%s: %s\n", #call, hipGetErrorString(error));                          \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)

__global__ void scale(float *data, float factor, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < count)
        data[i] *= factor;
}

int main()
{
    const int count = 1 << 16;
    std::vector<float> host(count);
    hipStream_t streams[2];
    hipEvent_t event;
    float *data;
    int bad = 0;

    for (int i = 0; i < count; i++)
        host[i] = static_cast<float>(i % 1000);
    CHECK(hipMalloc(reinterpret_cast<void **>(&data), count * sizeof(float)));
    CHECK(hipStreamCreate(&streams[0]));
    CHECK(hipStreamCreate(&streams[1]));
    CHECK(hipEventCreate(&event));
    CHECK(hipMemcpy(data, host.data(), count * sizeof(float), hipMemcpyHostToDevice));
    for (int round = 0; round < 10; round++) {
        scale<<<count / 256, 256, 0, streams[round % 2]>>>(data, round % 2 ? 0.5f : 2.0f, count);
        CHECK(hipEventRecord(event, streams[round % 2]));
        CHECK(hipStreamWaitEvent(streams[1 - round % 2], event, 0));
    }
    CHECK(hipDeviceSynchronize());
    CHECK(hipMemcpy(host.data(), data, count * sizeof(float), hipMemcpyDeviceToHost));
    for (int i = 0; i < count; i++)
        bad += host[i] != static_cast<float>(i % 1000);
    CHECK(hipFree(data));
    printf(bad ? "wrong\n" : "right\n");
    return bad != 0;
}
