/* SPDX-License-Identifier: Apache-2.0
 *
 * cuRAND's generators in kernels, against what their authors published and what must hold of them.
 */
#include "check.cuh"

#include <curand_kernel.h>

/* The known answers of Philox4x32-10: no counter and no key, every bit set, and digits of pi. */
KERNEL(philox, 1, 32, 0)
{
    curandStatePhilox4_32_10_t state;
    uint4 v;

    curand_init(0, 0, 0, &state);
    v = curand4(&state);
    CHECK(v.x == 0x6627e8d5 && v.y == 0xe169c58d && v.z == 0xbc57ac4c && v.w == 0x9b00dbd8);
    v = curand_Philox4x32_10(make_uint4(~0u, ~0u, ~0u, ~0u), make_uint2(~0u, ~0u));
    CHECK(v.x == 0x408f276d && v.y == 0x41c83b0e && v.z == 0xa20bc7c6 && v.w == 0x6d5451fd);
    v = curand_Philox4x32_10(make_uint4(0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344),
                             make_uint2(0xa4093822, 0x299f31d0));
    CHECK(v.x == 0xd16cfe09 && v.y == 0x94fdcceb && v.z == 0x5001e420 && v.w == 0x24126ea1);
}

/* What curand_init() calls a sequence of this generator, another function calls a subsequence. */
static inline __device__ void skip_sequences(curandStateMRG32k3a_t *state)
{
    skipahead_subsequence(3, state);
}

template <class State> __device__ void skip_sequences(State *state)
{
    skipahead_sequence(3, state);
}

/* Starting further on is drawing that often. */
template <class State> __device__ void skip(unsigned *counts)
{
    State near, far;
    unsigned offset = 5 + threadIdx.x * 37;

    curand_init(1234, threadIdx.x, 0, &near);
    curand_init(1234, threadIdx.x, offset, &far);
    for (unsigned i = 0; i < offset; i++)
        curand(&near);
    CHECK(curand(&near) == curand(&far));
    curand_init(1234, threadIdx.x + 3, 0, &far);
    curand_init(1234, threadIdx.x, 0, &near);
    skip_sequences(&near);
    CHECK(curand(&near) == curand(&far));
}

KERNEL(skip_philox, 1, 32, 0)
{
    skip<curandStatePhilox4_32_10_t>(counts);
}

KERNEL(skip_xorwow, 1, 8, 0)
{
    skip<curandStateXORWOW_t>(counts);
}

KERNEL(skip_mrg32k3a, 1, 32, 0)
{
    skip<curandStateMRG32k3a_t>(counts);
}

/* Marsaglia's recurrence, followed from any state. */
KERNEL(xorwow, 1, 32, 0)
{
    curandStateXORWOW_t state;
    unsigned x[5], d, t;

    curand_init(99, threadIdx.x, 0, &state);
    for (int i = 0; i < 5; i++)
        x[i] = state.v[i];
    d = state.d;
    for (int i = 0; i < 20; i++) {
        t = x[0] ^ x[0] >> 2;
        for (int k = 0; k < 4; k++)
            x[k] = x[k + 1];
        x[4] = x[4] ^ x[4] << 4 ^ t ^ t << 1;
        d += 362437;
        CHECK(curand(&state) == x[4] + d);
    }
}

/* Bits in reversed order, by Gray code: the first dimension of Sobol's sequence. */
KERNEL(sobol, 1, 64, 0)
{
    curandDirectionVectors32_t vectors;
    curandStateSobol32_t state;

    for (int i = 0; i < 32; i++)
        vectors[i] = 0x80000000u >> i;
    curand_init(vectors, threadIdx.x, &state);
    CHECK(curand(&state) == __brev(threadIdx.x ^ threadIdx.x >> 1));
}

template <class State> __device__ void moments(unsigned *counts)
{
    State state;
    double sum = 0, squares = 0, uniform = 0, poisson = 0;
    const int count = 1000;

    curand_init(7, threadIdx.x, 0, &state);
    for (int i = 0; i < count; i++) {
        float u = curand_uniform(&state);
        double n = i % 2 ? curand_normal(&state) : curand_normal_double(&state);
        CHECK(u > 0 && u <= 1);
        uniform += u;
        sum += n;
        squares += n * n;
        poisson += curand_poisson(&state, 4.5);
        CHECK(curand_log_normal(&state, 0, 1) > 0);
    }
    for (int lanes = 16; lanes; lanes /= 2) {
        sum += __shfl_xor_sync(~0u, sum, lanes);
        squares += __shfl_xor_sync(~0u, squares, lanes);
        uniform += __shfl_xor_sync(~0u, uniform, lanes);
        poisson += __shfl_xor_sync(~0u, poisson, lanes);
    }
    CHECK(fabs(uniform / (32 * count) - 0.5) < 0.01);
    CHECK(fabs(sum / (32 * count)) < 0.03);
    CHECK(fabs(squares / (32 * count) - 1) < 0.05);
    CHECK(fabs(poisson / (32 * count) - 4.5) < 0.06);
}

KERNEL(moments_philox, 1, 32, 0)
{
    moments<curandStatePhilox4_32_10_t>(counts);
}

KERNEL(moments_xorwow, 1, 32, 0)
{
    moments<curandStateXORWOW_t>(counts);
}

KERNEL(moments_mrg32k3a, 1, 32, 0)
{
    moments<curandStateMRG32k3a_t>(counts);
}
