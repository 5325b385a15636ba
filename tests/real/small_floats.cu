/* SPDX-License-Identifier: Apache-2.0
 *
 * Floats of 8, 6 and 4 bits: every code, and what lies between two of them, against the definition. Below
 * sm_89 (8 bits) and sm_100 the headers compute what is an instruction there.
 */
#include "check.cuh"

#include <cuda_fp4.h>
#include <cuda_fp6.h>
#include <cuda_fp8.h>

/* A sign, exponent bits, mantissa bits. `last` is the largest finite code. */
struct format {
    int exponent, mantissa, last;
};

static __device__ double decode(format f, int code)
{
    int bits = f.exponent + f.mantissa, size = code & ((1 << bits) - 1);
    int exponent = size >> f.mantissa, fraction = size & ((1 << f.mantissa) - 1);
    int bias = (1 << (f.exponent - 1)) - 1;
    double value = exponent ? ldexp(1.0 + ldexp((double)fraction, -f.mantissa), exponent - bias)
                            : ldexp((double)fraction, 1 - bias - f.mantissa);

    return code >> bits & 1 ? -value : value;
}

/* The nearest finite code, the even one of two: an exact search. */
static __device__ int encode(format f, double x)
{
    double size = fabs(x);
    int code = 0;

    for (int k = 1; k <= f.last; k++) {
        double far = fabs(decode(f, k) - size), near = fabs(decode(f, code) - size);
        if (far < near || (far == near && k % 2 == 0))
            code = k;
    }
    return code | (signbit(x) ? 1 << (f.exponent + f.mantissa) : 0);
}

/* Around every code: itself, between it and the next, and a little beside that. */
static __device__ double sample(format f, int k)
{
    int code = k % (f.last + 1), way = k / (f.last + 1) % 8;
    double here = decode(f, code), next = code < f.last ? decode(f, code + 1) : here * 1.5;
    double half = (here + next) / 2, beside = ldexp(next - here, -5);
    double x = way % 4 == 0 ? here : way % 4 == 1 ? half : way % 4 == 2 ? half + beside : half - beside;

    return way < 4 ? x : -x;
}

#define EACH(f, k) for (int k = (int)threadIdx.x; k < 8 * (f.last + 1); k += 64)

KERNEL(e4m3, 1, 64, 0)
{
    format f = {4, 3, 0x7e};

    EACH (f, k) {
        double x = sample(f, k);
        int code = encode(f, x);
        CHECK(__nv_cvt_float_to_fp8((float)x, __NV_SATFINITE, __NV_E4M3) == code);
        CHECK(__nv_cvt_double_to_fp8(x, __NV_SATFINITE, __NV_E4M3) == code);
        __nv_fp8x2_e4m3 pair(make_float2((float)x, -1.0f));
        CHECK(pair.__x == (0xb8 << 8 | code));
        __nv_fp8_e4m3 one;
        one.__x = code;
        CHECK((float)one == decode(f, code));
        CHECK(__half2float((__half)one) == decode(f, code));
    }
    CHECK(__nv_cvt_float_to_fp8(1e9f, __NV_SATFINITE, __NV_E4M3) == 0x7e);
    CHECK((__nv_cvt_float_to_fp8(nanf(""), __NV_SATFINITE, __NV_E4M3) & 0x7f) == 0x7f);
    CHECK((__nv_cvt_float_to_fp8(1e9f, __NV_NOSAT, __NV_E4M3) & 0x7f) == 0x7f);
}

KERNEL(e5m2, 1, 64, 0)
{
    format f = {5, 2, 0x7b};

    EACH (f, k) {
        double x = sample(f, k);
        int code = encode(f, x);
        CHECK(__nv_cvt_float_to_fp8((float)x, __NV_SATFINITE, __NV_E5M2) == code);
        __nv_fp8x4_e5m2 four(make_float4((float)x, 1.0f, -2.0f, 0.0f));
        CHECK(four.__x == (0xc03c00u | (unsigned)code));
        __nv_fp8_e5m2 one;
        one.__x = code;
        CHECK((float)one == decode(f, code));
        CHECK((double)one == decode(f, code));
    }
    CHECK(__nv_cvt_float_to_fp8(INFINITY, __NV_SATFINITE, __NV_E5M2) == 0x7b);
    CHECK(__nv_cvt_float_to_fp8(-INFINITY, __NV_NOSAT, __NV_E5M2) == 0xfc);
}

/* A half that is made from two is the nearest to the half, not to the number. */
KERNEL(from_halves, 1, 64, 0)
{
    format f = {4, 3, 0x7e}, g = {5, 2, 0x7b};

    for (int bits = (int)threadIdx.x; bits < 0x7c00; bits += 64 * 7) {
        __half_raw raw = __half_raw(__ushort_as_half((unsigned short)bits));
        double x = __half2float(__half(raw));
        CHECK(__nv_cvt_halfraw_to_fp8(raw, __NV_SATFINITE, __NV_E4M3) == encode(f, x));
        CHECK(__nv_cvt_halfraw_to_fp8(raw, __NV_SATFINITE, __NV_E5M2) == encode(g, x));
    }
}

KERNEL(e3m2, 1, 64, 0)
{
    format f = {3, 2, 0x1f};

    EACH (f, k) {
        double x = sample(f, k);
        int code = encode(f, x);
        CHECK(__nv_cvt_float_to_fp6((float)x, __NV_E3M2, cudaRoundNearest) == code);
        __nv_fp6_e3m2 one;
        one.__x = code;
        CHECK((float)one == decode(f, code));
    }
}

KERNEL(e2m3, 1, 64, 0)
{
    format f = {2, 3, 0x1f};

    EACH (f, k) {
        double x = sample(f, k);
        int code = encode(f, x);
        CHECK(__nv_cvt_float_to_fp6((float)x, __NV_E2M3, cudaRoundNearest) == code);
        __nv_fp6_e2m3 one;
        one.__x = code;
        CHECK((float)one == decode(f, code));
    }
}

KERNEL(e2m1, 1, 64, 0)
{
    format f = {2, 1, 0x7};

    EACH (f, k) {
        double x = sample(f, k);
        int code = encode(f, x);
        CHECK(__nv_cvt_float_to_fp4((float)x, __NV_E2M1, cudaRoundNearest) == code);
        __nv_fp4x2_e2m1 pair(make_float2((float)x, 3.0f));
        CHECK(pair.__x == (5 << 4 | code));
        __nv_fp4_e2m1 one;
        one.__x = code;
        CHECK((float)one == decode(f, code));
    }
}

/* Only scales: powers of two. */
KERNEL(e8m0, 1, 64, 0)
{
    for (int code = (int)threadIdx.x; code < 255; code += 64) {
        float x = ldexpf(1, code - 127);
        __nv_fp8_e8m0 one;
        one.__x = code;
        CHECK((float)one == x);
        CHECK(__nv_cvt_float_to_e8m0(x, __NV_SATFINITE, cudaRoundZero) == code);
        CHECK(__nv_cvt_float_to_e8m0(x * 1.5f, __NV_SATFINITE, cudaRoundPosInf) == min(code + 1, 254));
    }
}
