/* SPDX-License-Identifier: Apache-2.0
 *
 * Thread-instructions a second of CPU time of the PTX engine, one line a kernel. The baseline, in
 * the same run, is the engine with the plain instruction handlers: PTX_PLAIN_CPU=1. bench_ptx
 * [fixtures folder]
 */
#include "tests/ptx/ptx_harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void measure(struct ptx_module *m, const char *kernel, uint32_t grid, const uint64_t *params,
                    unsigned count)
{
    clock_t start = clock();
    struct dev_launch l = {.kernel = kernel, .grid = grid, .block = 256};
    int status = dev_run(m, &l, params, count);
    double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;

    if (status != PTX_OK)
        printf("%s: %s\n", kernel, dev_fault.text);
    else
        printf("%-8s %7.1f M thread-instructions in %.3f s: %.0f M/s\n", kernel,
               (double)dev_instructions * 1e-6, seconds, (double)dev_instructions * 1e-6 / seconds);
}

int main(int argc, char **argv)
{
    enum { N = 256 };
    float *x = dev_alloc(N * N * 4);
    float *y = dev_alloc(N * N * 4);
    float *z = dev_alloc(N * N * 4);

    if (argc > 1)
        setenv("PTX_FIXTURES", argv[1], 1);
    struct ptx_module *m = dev_load("speed.ptx");
    for (uint32_t k = 0; k < N * N; k++)
        ((uint32_t *)(void *)z)[k] = k + 1;
    measure(m, "collatz", N, (uint64_t[]){(uintptr_t)z}, 1);
    measure(m, "poly", N, (uint64_t[]){(uintptr_t)x, 500}, 2);
    measure(m, "product", N, (uint64_t[]){(uintptr_t)x, (uintptr_t)y, (uintptr_t)z, N}, 4);
    measure(m, "sums", N, (uint64_t[]){(uintptr_t)x, (uintptr_t)y}, 2);
    ptx_module_destroy(m);
    return 0;
}
