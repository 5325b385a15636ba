// SPDX-License-Identifier: Apache-2.0 -- a CUDA runtime program: two streams, managed by cudart.
#include <cstdio>

__global__ void square(float *data, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < count)
        data[i] = data[i] * data[i] + 1;
}

int main()
{
    const int count = 1 << 16;
    static float host[count];
    float *device[2], sum = 0;
    cudaStream_t streams[2];

    for (int s = 0; s < 2; s++) {
        cudaStreamCreate(&streams[s]);
        cudaMalloc(&device[s], sizeof(host));
        for (int i = 0; i < count; i++)
            host[i] = (float)(i % 100 + s);
        cudaMemcpyAsync(device[s], host, sizeof(host), cudaMemcpyHostToDevice, streams[s]);
        square<<<count / 256, 256, 0, streams[s]>>>(device[s], count);
        cudaMemcpyAsync(host, device[s], sizeof(host), cudaMemcpyDeviceToHost, streams[s]);
        cudaStreamSynchronize(streams[s]);
        for (int i = 0; i < count; i++)
            sum += host[i];
        cudaFree(device[s]);
        cudaStreamDestroy(streams[s]);
    }
    std::printf("cudart: %.0f %s\n", sum, cudaGetErrorString(cudaGetLastError()));
    return cudaGetLastError() != cudaSuccess;
}
