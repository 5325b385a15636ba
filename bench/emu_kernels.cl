/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels that bench/bench_opencl.c runs on the software GPU and, from the same text, on another
 * OpenCL implementation. Blocks have 256 threads; tiles are 16 by 16.
 */
#ifdef __NVPTX__
#define TID(d)       (d ? __nvvm_read_ptx_sreg_tid_y() : __nvvm_read_ptx_sreg_tid_x())
#define BID(d)       (d ? __nvvm_read_ptx_sreg_ctaid_y() : __nvvm_read_ptx_sreg_ctaid_x())
#define SIZE(d)      (d ? __nvvm_read_ptx_sreg_ntid_y() : __nvvm_read_ptx_sreg_ntid_x())
#define BARRIER()    __nvvm_bar_sync(0)
#define RSQRT(x)     __nvvm_rsqrt_approx_f(x)
#define COUNT(where) __nvvm_atom_add_gen_i((int *)(where), 1)
#define TOTAL(where, n) __nvvm_atom_add_gen_i((int *)(where), n)
#define FMA(a, b, c) __builtin_fmaf(a, b, c)
#else
#define TID(d)          get_local_id(d)
#define BID(d)          get_group_id(d)
#define SIZE(d)         get_local_size(d)
#define BARRIER()       barrier(CLK_LOCAL_MEM_FENCE)
#define RSQRT(x)        rsqrt(x)
#define COUNT(where)    atomic_add(where, 1)
#define TOTAL(where, n) atomic_add(where, n)
#define FMA(a, b, c)    fma(a, b, c)
#endif
#define INDEX(d) (BID(d) * SIZE(d) + TID(d))
#define TILE     16

kernel void saxpy(global const float *x, global float *y, float a)
{
    uint i = INDEX(0);
    y[i] = FMA(a, x[i], y[i]);
}

kernel void reduction(global const int *x, global int *sums, int each)
{
    local int s[256];
    uint t = TID(0);
    int sum = 0;
    for (int k = 0; k < each; k++)
        sum += x[(BID(0) * each + k) * 256 + t];
    s[t] = sum;
    BARRIER();
    for (uint k = 128; k > 0; k >>= 1) {
        if (t < k)
            s[t] += s[t + k];
        BARRIER();
    }
    if (t == 0)
        sums[BID(0)] = s[0];
}

kernel void sgemm_naive(global const float *a, global const float *b, global float *c, int n)
{
    uint x = INDEX(0), y = INDEX(1);
    float r = 0;
    for (int k = 0; k < n; k++)
        r = FMA(a[y * n + k], b[k * n + x], r);
    c[y * n + x] = r;
}

kernel void sgemm_tiled(global const float *a, global const float *b, global float *c, int n)
{
    local float ta[TILE][TILE], tb[TILE][TILE];
    uint tx = TID(0), ty = TID(1), x = INDEX(0), y = INDEX(1);
    float r = 0;
    for (int tile = 0; tile < n; tile += TILE) {
        ta[ty][tx] = a[y * n + tile + tx];
        tb[ty][tx] = b[(tile + ty) * n + x];
        BARRIER();
        for (int k = 0; k < TILE; k++)
            r = FMA(ta[ty][k], tb[k][tx], r);
        BARRIER();
    }
    c[y * n + x] = r;
}

/* Borders keep what they had. */
kernel void stencil(global const float *in, global float *out, int n)
{
    uint x = INDEX(0), y = INDEX(1), at = y * n + x;
    if (x > 0 && y > 0 && x + 1 < n && y + 1 < n)
        out[at] = 0.5f * in[at] + 0.125f * (in[at - 1] + in[at + 1] + in[at - n] + in[at + n]);
}

kernel void histogram(global const uint *x, global int *bins, int each)
{
    local int h[256];
    uint t = TID(0);
    h[t] = 0;
    BARRIER();
    for (int k = 0; k < each; k++)
        COUNT(&h[x[(BID(0) * each + k) * 256 + t] & 255]);
    BARRIER();
    TOTAL(&bins[t], h[t]);
}

kernel void nbody(global const float4 *bodies, global float4 *force, int n)
{
    uint i = INDEX(0);
    float4 me = bodies[i];
    float fx = 0, fy = 0, fz = 0;
    for (int k = 0; k < n; k++) {
        float4 other = bodies[k];
        float dx = other.x - me.x, dy = other.y - me.y, dz = other.z - me.z;
        float inverse = RSQRT(FMA(dx, dx, FMA(dy, dy, FMA(dz, dz, 0.01f))));
        float pull = other.w * inverse * inverse * inverse;
        fx = FMA(dx, pull, fx);
        fy = FMA(dy, pull, fy);
        fz = FMA(dz, pull, fz);
    }
    force[i] = (float4)(fx, fy, fz, 0);
}

#define ROTATE(v, n) ((v) >> (n) | (v) << (32 - (n)))

/* One block of sixteen words a thread; `k` holds the round constants. */
kernel void sha256(global const uint *in, global uint *out, constant uint *k)
{
    uint i = INDEX(0), w[16];
    uint s[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    for (int j = 0; j < 16; j++)
        w[j] = in[i * 16 + j];
    uint a = s[0], b = s[1], c = s[2], d = s[3], e = s[4], f = s[5], g = s[6], h = s[7];
    for (int r = 0; r < 64; r += 16) {
#pragma unroll
        for (int j = 0; j < 16; j++) {
            if (r) {
                uint x = w[(j + 1) & 15], y = w[(j + 14) & 15];
                w[j] += (ROTATE(x, 7) ^ ROTATE(x, 18) ^ x >> 3) + w[(j + 9) & 15] +
                        (ROTATE(y, 17) ^ ROTATE(y, 19) ^ y >> 10);
            }
            uint t1 = h + (ROTATE(e, 6) ^ ROTATE(e, 11) ^ ROTATE(e, 25)) + ((e & f) ^ (~e & g)) +
                      k[r + j] + w[j];
            uint t2 = (ROTATE(a, 2) ^ ROTATE(a, 13) ^ ROTATE(a, 22)) +
                      ((a & b) ^ (a & c) ^ (b & c));
            h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
        }
    }
    uint last[8] = {a, b, c, d, e, f, g, h};
#pragma unroll
    for (int j = 0; j < 8; j++)
        out[i * 8 + j] = s[j] + last[j];
}

/* 512 points a block, in local memory; `turn` holds the 256 roots of unity. */
kernel void fft(global const float2 *in, global float2 *out, global const float2 *turn)
{
    local float2 v[2][512];
    uint t = TID(0), from = 0;
    v[0][t] = in[BID(0) * 512 + t];
    v[0][t + 256] = in[BID(0) * 512 + t + 256];
    BARRIER();
    for (uint reach = 1; reach < 512; reach *= 2) {
        uint k = t & (reach - 1), at = (t - k) * 2 + k;
        float2 r = turn[k * (256 / reach)], a = v[from][t], b = v[from][t + 256];
        float2 c = (float2)(FMA(r.x, b.x, -(r.y * b.y)), FMA(r.x, b.y, r.y * b.x));
        v[1 - from][at] = a + c;
        v[1 - from][at + reach] = a - c;
        from = 1 - from;
        BARRIER();
    }
    out[BID(0) * 512 + t] = v[from][t];
    out[BID(0) * 512 + t + 256] = v[from][t + 256];
}
