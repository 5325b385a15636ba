/* SPDX-License-Identifier: Apache-2.0
 *
 * Whole small kernels, compiled by clang 14 from tests/ptx/basic.cl.
 */
#include "tests/ptx/ptx_harness.h"
#include "tests/unit/check.h"

static void test_vector_add(struct ptx_module *m, enum ptx_schedule schedule)
{
    enum { N = 1000 };
    float *a = dev_alloc(N * 4);
    float *b = dev_alloc(N * 4);
    float *c = dev_alloc(N * 4 + 4);
    struct dev_launch l = {.kernel = "vadd", .grid = 8, .block = 128, .schedule = schedule};

    for (int i = 0; i < N; i++) {
        a[i] = (float)i * 0.1f;
        b[i] = (float)i * 0.3f;
    }
    CHECK_EQ_INT(dev_run(m, &l, (uint64_t[]){PTR(a), PTR(b), PTR(c), N}, 4), PTX_OK);
    for (int i = 0; i < N; i++)
        if (!CHECK(c[i] == a[i] + b[i]))
            break;
    CHECK(c[N] == 0.0f);
}

static void test_reduction(struct ptx_module *m)
{
    enum { N = 10000 };
    int *a = dev_alloc(N * 4);
    int *out = dev_alloc(4);
    int wanted = 0;

    for (int i = 0; i < N; i++)
        wanted += a[i] = i * 7 - 100;
    CHECK_EQ_INT(DEV_RUN(m, "reduce", 40, 256, PTR(a), PTR(out), N), PTX_OK);
    CHECK_EQ_INT(*out, wanted);
}

static unsigned collatz(unsigned x)
{
    unsigned n = 0;

    while (x != 1) {
        if (x & 1) {
            x = 3 * x + 1;
            if (n > 1000)
                break;
        } else
            x >>= 1;
        n++;
        for (unsigned j = 0; j < (x & 3); j++)
            n += j == 2;
    }
    return n;
}

static void test_divergent_loops(struct ptx_module *m)
{
    enum { N = 512 };
    unsigned *a = dev_alloc(N * 4);
    unsigned *out = dev_alloc(N * 4);

    for (unsigned i = 0; i < N; i++)
        a[i] = i * 37 + 1;
    CHECK_EQ_INT(DEV_RUN(m, "collatz", 4, 128, PTR(a), PTR(out)), PTX_OK);
    for (unsigned i = 0; i < N; i++)
        if (!CHECK_EQ_INT(out[i], collatz(a[i])))
            break;
}

int main(void)
{
    struct ptx_module *m = dev_load("basic.ptx");

    test_vector_add(m, PTX_SCHEDULE_FIFO);
    test_vector_add(m, PTX_SCHEDULE_REVERSE);
    test_vector_add(m, PTX_SCHEDULE_RANDOM);
    test_reduction(m);
    test_divergent_loops(m);
    ptx_module_destroy(m);
    return check_result();
}
