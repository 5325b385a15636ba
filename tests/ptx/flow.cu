/* SPDX-License-Identifier: Apache-2.0
 *
 * Control flow: recursion, pointers to functions, divergence, locks, barriers between blocks.
 * clang-14 -x cuda --cuda-device-only -nocudainc -nocudalib \
 *   --cuda-gpu-arch=sm_70 -Xclang -target-feature -Xclang +ptx64 -O2 -S flow.cu -o flow.ptx
 */
#define __device__ __attribute__((device))
#define DEVICE __attribute__((device)) __attribute__((noinline))
#define KERNEL extern "C" __attribute__((global)) void
#define SHARED __attribute__((shared))

struct S {
    int a;
    float b[3];
    double d;
    short s[5];
};

DEVICE int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
DEVICE int twice(int x) { return 2 * x; }
DEVICE int plus3(int x) { return x + 3; }
typedef int (*fn)(int);
__attribute__((device)) fn table[2] = {twice, plus3};
DEVICE S change(S s, int k)
{
    s.a += k;
    s.b[k % 3] += 1.5f;
    s.s[k % 5]++;
    return s;
}

KERNEL calls(int *o, S s)
{
    int i = __nvvm_read_ptx_sreg_tid_x();
    o[i] = fib(i % 12) + table[i & 1](i);
    S r = change(s, i);
    o[i] += r.a + (int)r.b[i % 3] + r.s[i % 5];
}

KERNEL lanes(int *o)
{
    int i = __nvvm_read_ptx_sreg_tid_x(), l = i & 31;
    int v = i * 3;
    for (int k = 16; k; k >>= 1)
        v += __nvvm_shfl_sync_bfly_i32(~0u, v, k, 31);
    unsigned b = __nvvm_vote_ballot_sync(~0u, l % 3 == 0);
    if (l < 16)
        v += __nvvm_shfl_sync_down_i32(0xffff, i, 1, 0x181f);
    unsigned m = __nvvm_match_any_sync_i32(~0u, l / 5);
    o[i] = v ^ b ^ m;
}

/* Every thread takes the lock: a warp's lanes must not keep each other from going on. */
KERNEL lock(int *mutex, int *count)
{
    while (__nvvm_atom_cas_gen_i(mutex, 0, 1) != 0)
        ;
    __nvvm_membar_gl();
    *(volatile int *)count = *(volatile int *)count + 1;
    __nvvm_membar_gl();
    __nvvm_atom_xchg_gen_i(mutex, 0);
}

KERNEL grid_barrier(int *arrived, int *o)
{
    SHARED static int s[64];
    int t = __nvvm_read_ptx_sreg_tid_x();
    int block = __nvvm_read_ptx_sreg_ctaid_x();
    int blocks = __nvvm_read_ptx_sreg_nctaid_x();
    s[t] = block;
    __syncthreads();
    for (int r = 1; r <= 3; r++) {
        if (t == 0) {
            __nvvm_atom_add_gen_i(arrived, 1);
            while (*(volatile int *)arrived < r * blocks)
                ;
        }
        __syncthreads();
        __nvvm_atom_add_gen_i(&o[(block + r) % blocks], s[(t * 7) % 64] * r);
    }
}

/* Loops with several ways out, inside a switch that falls through. */
KERNEL choices(int *o)
{
    int i = __nvvm_read_ptx_sreg_tid_x();
    int r = 0;
    for (int k = 0; k < i % 7 + 1; k++)
        switch ((i + k) % 9) {
        case 0: r += 1; break;
        case 1: r ^= 55; break;
        case 2: r *= 3;
        case 3: r += 9; break;
        case 4: r -= i; if (i & 4) continue; break;
        case 5: r = ~r; break;
        case 6: r <<= 1; break;
        case 7: r |= 1; if (k > 3) goto out;
        default: r += 1000;
        }
out:
    o[i] = r;
}
