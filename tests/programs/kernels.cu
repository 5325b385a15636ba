// SPDX-License-Identifier: Apache-2.0
//
// The GPU functions of the test programs. kernels.ptx beside this file is what Debian's clang makes
// of it; it is checked in so that the suite needs no GPU compiler:
//
//   clang-14 -x cuda --cuda-device-only -nocudainc -nocudalib --cuda-gpu-arch=sm_70 -O2 -S \
//       kernels.cu -o kernels.ptx
#define KERNEL extern "C" __attribute__((global)) void

static inline __attribute__((device)) int thread_index(void)
{
    return __nvvm_read_ptx_sreg_ctaid_x() * __nvvm_read_ptx_sreg_ntid_x() +
           __nvvm_read_ptx_sreg_tid_x();
}

// y = a x + y
KERNEL saxpy(int n, float a, const float *x, float *y)
{
    int i = thread_index();

    if (i < n)
        y[i] = a * x[i] + y[i];
}

KERNEL fill(int n, unsigned value, unsigned *out)
{
    int i = thread_index();

    if (i < n)
        out[i] = value + i;
}

KERNEL copy(int n, const unsigned *in, unsigned *out)
{
    int i = thread_index();

    if (i < n)
        out[i] = in[i];
}

// A linear congruential step per element and round: integer work whose result shows its order.
KERNEL mix(int n, int rounds, unsigned *data)
{
    int i = thread_index();

    if (i < n) {
        unsigned value = data[i];
        for (int k = 0; k < rounds; k++)
            value = value * 1664525u + 1013904223u;
        data[i] = value;
    }
}

struct mix_arguments {
    char tag;
    short scale;
    unsigned *data;
    long long offset;
    int n;
};

// Everything in one struct by value, with holes: argument blocks must keep the device's layout.
KERNEL mix_struct(struct mix_arguments a, unsigned char last)
{
    int i = thread_index();

    if (i < a.n)
        a.data[i] = a.data[i] * (unsigned)a.scale + (unsigned)a.offset + (unsigned)a.tag + last;
}

// A sum whose value depends on the order of the additions: one atomic a thread.
KERNEL sum_atomic(int n, const float *in, float *out)
{
    int i = thread_index();

    if (i < n)
        __nvvm_atom_add_gen_f(out, in[i]);
}

// The same sum in one order always.
KERNEL sum_ordered(int n, const float *in, float *out)
{
    if (thread_index() == 0) {
        float sum = 0;
        for (int i = 0; i < n; i++)
            sum += in[i];
        *out = sum;
    }
}

__attribute__((shared)) unsigned block_sums[256];

// Sum of each block of 256, through shared memory and barriers.
KERNEL sum_blocks(int n, const unsigned *in, unsigned *out)
{
    int i = thread_index();
    int lane = __nvvm_read_ptx_sreg_tid_x();

    block_sums[lane] = i < n ? in[i] : 0;
    __nvvm_bar_sync(0);
    for (int half = 128; half > 0; half /= 2) {
        if (lane < half)
            block_sums[lane] += block_sums[lane + half];
        __nvvm_bar_sync(0);
    }
    if (lane == 0)
        out[__nvvm_read_ptx_sreg_ctaid_x()] = block_sums[0];
}

// Follows a chain of device pointers that lie in device memory, where no replayer can see them.
struct node {
    struct node *next;
    unsigned value;
};

KERNEL sum_list(const struct node *first, unsigned *out)
{
    unsigned sum = 0;

    for (const struct node *at = first; at; at = at->next)
        sum = sum * 31 + at->value;
    *out = sum;
}

__attribute__((device)) unsigned global_table[64];

KERNEL read_global(int n, unsigned *out)
{
    int i = thread_index();

    if (i < n)
        out[i] = global_table[i % 64] + i;
}

KERNEL nothing(void)
{
}

// Writes past the end of its buffer.
KERNEL write_wild(unsigned long long address)
{
    *(volatile unsigned *)address = 1;
}
