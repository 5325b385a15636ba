# SPDX-License-Identifier: Apache-2.0
"""CuPy: elementwise work, a reduction and a raw kernel, on two streams."""
import cupy

kernel = cupy.RawKernel(r"""
extern "C" __global__ void axpy(int n, float a, const float *x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = a * x[i] + y[i];
}""", "axpy")
for _ in range(2):
    with cupy.cuda.Stream(non_blocking=True) as stream:
        x = cupy.arange(100000, dtype=cupy.float32)
        y = cupy.sqrt(x) + 1
        kernel((391,), (256,), (cupy.int32(x.size), cupy.float32(2), x, y))
        stream.synchronize()
        print(f"cupy: {float(cupy.asnumpy(y).astype('float64').sum()):.3f}")
