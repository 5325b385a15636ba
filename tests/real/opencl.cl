/* SPDX-License-Identifier: Apache-2.0
 *
 * OpenCL C with libclc's functions, as Debian's clang compiles it for nvptx64: kernels that check
 * themselves, as check.cuh has it.
 */
#pragma OPENCL EXTENSION cl_khr_fp64 : enable

#define CHECK(condition) (atomic_inc(&counts[1]), (condition) ? 0u : atomic_inc(&counts[0]))
#define KERNEL(name, grid, block, shared)                                                          \
    kernel void check_##name##__##grid##_##block##_##shared(global volatile uint *counts,          \
                                                            global char *scratch)

KERNEL(places, 3, 64, 0)
{
    CHECK(get_global_id(0) == get_group_id(0) * 64 + get_local_id(0));
    CHECK(get_global_size(0) == 192 && get_local_size(0) == 64 && get_num_groups(0) == 3);
    CHECK(get_global_id(1) == 0 && get_local_size(2) == 1);
}

KERNEL(vectors, 1, 64, 0)
{
    int t = (int)get_local_id(0);
    global int *words = (global int *)scratch;
    int4 a = (int4)(t, t + 1, t + 2, t + 3), b = a.wzyx;
    float8 f = convert_float8((int8)(a, b));
    uchar4 c = convert_uchar4_sat(a * 9 - 100);
    int4 r = convert_int4_rte(convert_float4(a) * 0.5f);

    CHECK(all(a + b == 2 * t + 3) && any(a != b));
    CHECK(f.s7 == t && f.s0 == t && f.odd.x == t + 1 && dot(f.lo, (float4)(1)) == 4 * t + 6);
    CHECK(c.x == clamp(t * 9 - 100, 0, 255) && c.w == clamp(t * 9 - 73, 0, 255));
    CHECK(r.x == (int)rint(t * 0.5f) && r.y == (int)rint((t + 1) * 0.5f));
    vstore4(a, t, words);
    vstore3(b.xyz, t, words + 1024);
    barrier(CLK_GLOBAL_MEM_FENCE);
    CHECK(all(vload4((t + 5) % 64, words) == (int4)((t + 5) % 64) + (int4)(0, 1, 2, 3)));
    CHECK(words[1024 + 3 * ((t + 7) % 64) + 1] == (t + 7) % 64 + 2);
    CHECK(as_float(0x3f800000 + (t << 23)) == ldexp(1.0f, t) && as_int2(1.0).y == 0x3ff00000);
    CHECK(select(a, b, (int4)(t % 2 ? -1 : 0)).x == (t % 2 ? t + 3 : t));
    CHECK(shuffle(a, (uint4)(3, 3, 0, 1)).y == t + 3);
}

KERNEL(integers, 1, 64, 0)
{
    int t = (int)get_local_id(0), x = (t - 32) * 70000001;
    uint u = (uint)x * 2654435761u;
    ulong wide = (ulong)u << 31 | (uint)x;

    CHECK(mul_hi(x, x) == (int)(((long)x * x) >> 32) && mad24(t, t, 5) == t * t + 5);
    CHECK(mul_hi(wide, (ulong)1 << 63) == wide >> 1);
    CHECK(add_sat(x, x) == (int)clamp(2 * (long)x, (long)INT_MIN, (long)INT_MAX));
    CHECK(sub_sat(u, 0x80000000u) == (u > 0x80000000u ? u - 0x80000000u : 0));
    CHECK(hadd(u, 7u) == (uint)(((ulong)u + 7) >> 1) && rhadd(u, 7u) == (uint)(((ulong)u + 8) >> 1));
    CHECK(abs_diff(x, -x) == (uint)abs((long)2 * x) && rotate(u, 8u) == (u << 8 | u >> 24));
    CHECK(clz(u | 1) == clz((ulong)(u | 1)) - 32 && upsample(u, 9u) == ((ulong)u << 32 | 9));
    CHECK(popcount(u) + popcount(~u) == 32);
    CHECK(convert_short_sat(x) == clamp(x, -32768, 32767) && convert_uint_sat(-1.5f) == 0);
}

KERNEL(functions, 1, 256, 0)
{
    float x = (get_local_id(0) + 1) / 16.0f;
    double d = x;

    CHECK(fabs(sin(d) * sin(d) + cos(d) * cos(d) - 1) < 1e-14);
    CHECK(fabs(exp(log(d)) - d) < 1e-13 * d);
    CHECK(fabs(pow(x, 2.5f) - x * x * sqrt(x)) <= 2e-6f * x * x * sqrt(x));
    CHECK(fabs(rsqrt(d) * rsqrt(d) * d - 1) < 1e-15 && fabs(cbrt(d) * cbrt(d) * cbrt(d) - d) < 1e-14 * d);
    CHECK(fma(x, 16.0f, -1.0f) == get_local_id(0) && mix(1.0f, 3.0f, 0.25f) == 1.5f);
    CHECK(fabs(length((float3)(x, 2 * x, 2 * x)) - 3 * x) < 1e-5f * x);
    CHECK(fabs(atan2(x, x) - M_PI_4_F) < 3e-7f && fabs(tanh(x) - (1 - 2 / (exp(2 * x) + 1))) < 1e-6f);
    CHECK(fabs(erf(d) + erfc(d) - 1) < 1e-14 && fmod(x, 1.0f) == x - floor(x));
    int e;
    CHECK(ldexp(frexp(x, &e), e) == x && isnan(nan(1u)) && signbit(-x) && nextafter(x, 99.0f) > x);
    CHECK(smoothstep(0.0f, 16.0f, x) <= 1 && sign(-x) == -1 && step(2.0f, x) == (x >= 2));
}

KERNEL(local_memory, 4, 128, 0)
{
    local uint sums[128], ticket;
    uint t = get_local_id(0);

    sums[t] = t;
    if (t == 0)
        ticket = 0;
    for (uint step = 64; step; step /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (t < step)
            sums[t] += sums[t + step];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    CHECK(sums[0] == 127 * 64);
    atomic_add(&ticket, t);
    uint old = atomic_max((global volatile uint *)scratch, t);
    barrier(CLK_LOCAL_MEM_FENCE);
    CHECK(ticket == 127 * 64 && old <= 127);
    event_t event = async_work_group_copy(sums, (global uint *)scratch + 64, 32, 0);
    wait_group_events(1, &event);
    CHECK(sums[t % 32] == 0);
}

constant float table[4] = {0.5f, 1.5f, 2.5f, 3.5f};

static int fold(const int *list, int count)
{
    int sum = 0;
    for (int i = 0; i < count; i++)
        sum = sum * 3 + list[i];
    return sum;
}

KERNEL(memory, 1, 64, 0)
{
    int t = (int)get_local_id(0), list[16], sum = 0;

    for (int i = 0; i < 16; i++) {
        list[(i * 5 + t) % 16] = i;
        sum += table[i % 4] * 2;
    }
    CHECK(sum == 64 && fold(list, 16) == fold(list, 15) * 3 + list[15]);
    vstore_half(t * 0.5f, t, (global half *)scratch);
    barrier(CLK_GLOBAL_MEM_FENCE);
    CHECK(vload_half((t + 1) % 64, (global half *)scratch) == (t + 1) % 64 * 0.5f);
}
