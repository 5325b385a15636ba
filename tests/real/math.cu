/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels float_NAME and double_NAME for each function of math_list.h, element by element.
 */
static __device__ float dividef(float x, float y)
{
    return x / y;
}

static __device__ double divide(double x, double y)
{
    return x / y;
}

#define KERNEL(type, name, call)                                                                   \
    extern "C" __global__ void type##_##name(const type *in, const type *second, type *out)        \
    {                                                                                              \
        unsigned i = blockIdx.x * blockDim.x + threadIdx.x;                                        \
        type x = in[i];                                                                            \
        out[i] = call;                                                                             \
    }
#define ONE(name, ...) KERNEL(float, name, name##f(x)) KERNEL(double, name, name(x))
#define TWO(name, ...) KERNEL(float, name, name##f(x, second[i])) KERNEL(double, name, name(x, second[i]))
#include "math_list.h"
