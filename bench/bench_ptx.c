/* SPDX-License-Identifier: Apache-2.0
 *
 * Thread-instructions a second of CPU time of the PTX engine, one line a kernel. The baseline, in
 * the same run, is the engine with the plain instruction handlers: PTX_PLAIN_CPU=1. Then how much
 * longer it takes while somebody notes what of memory it accesses. bench_ptx [fixtures folder]
 */
#include "emu/ptx/check/touched.h"
#include "emu/ptx/check/watch.h"
#include "tests/ptx/ptx_harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Returns thread-instructions a microsecond. */
static double run(struct ptx_module *m, const char *kernel, uint32_t grid, const uint64_t *params,
                  unsigned count, struct ptx_watch *watch)
{
    struct dev_launch l = {.kernel = kernel, .grid = grid, .block = 256, .watch = watch};
    clock_t start = clock();

    if (dev_run(m, &l, params, count) != PTX_OK)
        printf("%s: %s\n", kernel, dev_fault.text);
    return (double)dev_instructions * CLOCKS_PER_SEC / (double)(clock() - start) * 1e-6;
}

static void measure(struct ptx_module *m, const char *kernel, uint32_t grid, const uint64_t *params,
                    unsigned count)
{
    struct ptx_watch watch = {.touched = ptx_touched_create()};
    double speed, watched;

    run(m, kernel, grid, params, count, NULL); /* what is learnt of the code is there now */
    speed = run(m, kernel, grid, params, count, NULL);
    watched = run(m, kernel, grid, params, count, &watch);
    printf("%-8s %7.1f M thread-instructions, %.0f M/s; %.0f M/s with its accesses noted: %.1f "
           "times as long\n",
           kernel, (double)dev_instructions * 1e-6, speed, watched, speed / watched);
    ptx_touched_destroy(watch.touched);
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
