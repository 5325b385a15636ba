/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels that bench/bench_ptx.c times.
 * clang-14 --target=nvptx64-nvidia-cuda -nogpulib -x cl -cl-std=CL2.0 -O2 -S -Xclang -target-cpu \
 *   -Xclang sm_70 speed.cl -o speed.ptx
 */
#define TID()  __nvvm_read_ptx_sreg_tid_x()
#define BID()  __nvvm_read_ptx_sreg_ctaid_x()
#define NTID() __nvvm_read_ptx_sreg_ntid_x()

/* Registers only. */
kernel void poly(global float *x, int n)
{
    uint i = BID() * NTID() + TID();
    float v = x[i], r = 0;
#pragma unroll 4
    for (int k = 0; k < n; k++)
        r = r * v + 0.5f;
    x[i] = r;
}

/* Memory: a row of a matrix product a thread. */
kernel void product(global const float *a, global const float *b, global float *c, int n)
{
    uint i = BID() * NTID() + TID();
    float r = 0;
    for (int k = 0; k < n; k++)
        r += a[(i / n) * n + k] * b[k * n + i % n];
    c[i] = r;
}

/* Shared memory, barriers, a divergent condition. */
kernel void sums(global const int *a, global int *out)
{
    local int s[256];
    uint t = TID();
    s[t] = a[BID() * 256 + t];
    __nvvm_bar_sync(0);
    for (uint k = 128; k > 0; k >>= 1) {
        if (t < k)
            s[t] += s[t + k];
        __nvvm_bar_sync(0);
    }
    if (t == 0)
        out[BID()] = s[0];
}

/* Lanes that run different numbers of turns. */
kernel void collatz(global uint *x)
{
    uint i = BID() * NTID() + TID();
    uint v = x[i], n = 0;
    while (v > 1) {
        v = v & 1 ? 3 * v + 1 : v >> 1;
        n++;
    }
    x[i] = n;
}
