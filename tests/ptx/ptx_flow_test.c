/* SPDX-License-Identifier: Apache-2.0
 *
 * Control flow of tests/ptx/flow.cu against the same computation here.
 */
#include "tests/ptx/ptx_harness.h"
#include "tests/unit/check.h"

struct s {
    int a;
    float b[3];
    double d;
    short s[5];
};

static int fib(int n)
{
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

static void test_calls(struct ptx_module *m)
{
    int *o = dev_alloc(400);
    struct s s = {7, {1, 2, 3}, 4, {1, 2, 3, 4, 5}};
    struct {
        uint64_t o;
        struct s s;
    } params = {PTR(o), s};
    struct ptx_launch l = {.module = m,
                           .function = ptx_module_find(m, "calls"),
                           .grid = {1, 1, 1},
                           .block = {100, 1, 1},
                           .params = &params};

    CHECK_EQ_INT(ptx_run(&l, &dev_fault, NULL), PTX_OK);
    for (int i = 0; i < 100; i++) {
        struct s r = s;
        r.a += i;
        r.b[i % 3] += 1.5f;
        r.s[i % 5]++;
        int wanted = fib(i % 12) + (i & 1 ? i + 3 : 2 * i) + r.a + (int)r.b[i % 3] + r.s[i % 5];
        if (!CHECK_EQ_INT(o[i], wanted))
            break;
    }
}

static void test_lanes(struct ptx_module *m)
{
    unsigned *o = dev_alloc(256);

    CHECK_EQ_INT(DEV_RUN(m, "lanes", 1, 64, PTR(o)), PTX_OK);
    for (unsigned i = 0; i < 64; i++) {
        unsigned l = i & 31;
        unsigned v = 0;
        unsigned ballot = 0;
        unsigned match = 0;
        for (unsigned k = 0; k < 32; k++) {
            v += ((i & ~31u) + k) * 3;
            ballot |= (unsigned)(k % 3 == 0) << k;
            match |= (unsigned)(k / 5 == l / 5) << k;
        }
        if (l < 16)
            v += l % 8 == 7 ? i : i + 1;
        if (!CHECK_EQ_INT(o[i], v ^ ballot ^ match))
            break;
    }
}

static void test_lock(struct ptx_module *m, enum ptx_schedule schedule)
{
    int *o = dev_alloc(8);
    struct dev_launch l = {.kernel = "lock", .grid = 4, .block = 64, .schedule = schedule};

    CHECK_EQ_INT(dev_run(m, &l, (uint64_t[]){PTR(o), PTR(o + 1)}, 2), PTX_OK);
    CHECK_EQ_INT(o[1], 256);
}

static void test_grid_barrier(struct ptx_module *m, enum ptx_schedule schedule)
{
    enum { BLOCKS = 24 };
    int *o = dev_alloc((1 + BLOCKS) * 4);
    struct dev_launch l = {.kernel = "grid_barrier",
                           .grid = BLOCKS,
                           .block = 64,
                           .schedule = schedule,
                           .cooperative = true};

    CHECK_EQ_INT(dev_run(m, &l, (uint64_t[]){PTR(o), PTR(o + 1)}, 2), PTX_OK);
    for (int b = 0; b < BLOCKS; b++) {
        int wanted = 0;
        for (int r = 1; r <= 3; r++)
            wanted += 64 * ((b - r + BLOCKS) % BLOCKS) * r;
        CHECK_EQ_INT(o[1 + b], wanted);
    }
}

static int choose(int i)
{
    int r = 0;

    for (int k = 0; k < i % 7 + 1; k++) {
        int c = (i + k) % 9;
        if (c == 0)
            r += 1;
        else if (c == 1)
            r ^= 55;
        else if (c == 2)
            r = r * 3 + 9;
        else if (c == 3)
            r += 9;
        else if (c == 4)
            r -= i;
        else if (c == 5)
            r = ~r;
        else if (c == 6)
            r *= 2;
        else if (c == 7) {
            r |= 1;
            if (k > 3)
                break;
            r += 1000;
        } else
            r += 1000;
    }
    return r;
}

static void test_choices(struct ptx_module *m)
{
    int *o = dev_alloc(1024);

    CHECK_EQ_INT(DEV_RUN(m, "choices", 1, 256, PTR(o)), PTX_OK);
    for (int i = 0; i < 256; i++)
        if (!CHECK_EQ_INT(o[i], choose(i)))
            break;
}

/* Lanes that leave a loop at different times meet before the vote that follows it. */
static void test_reconvergence(void)
{
    static const char text[] =
        ".version 6.0\n.target sm_60\n.address_size 64\n"
        ".visible .entry k(.param .u64 out) {\n"
        ".reg .pred %p, %q; .reg .b32 %r<8>; .reg .b64 %d<4>;\n"
        "mov.u32 %r1, %tid.x;\nmov.u32 %r2, 0;\n"
        "LOOP: setp.ge.u32 %p, %r2, %r1;\n@%p bra DONE;\n"
        "and.b32 %r4, %r2, 3; setp.eq.u32 %q, %r4, 3;\n@%q bra SKIP;\n"
        "add.u32 %r5, %r5, 1;\nSKIP: add.u32 %r2, %r2, 1;\nbra LOOP;\n"
        "DONE: setp.ne.u32 %q, %r1, 99;\nvote.ballot.b32 %r3, %q;\n"
        "ld.param.u64 %d1, [out]; mad.wide.u32 %d1, %r1, 4, %d1;\nst.global.u32 [%d1], %r3;\n"
        "ret;\n}\n";
    struct ptx_module *m = dev_parse(text);
    unsigned *o = dev_alloc(128);

    CHECK_EQ_INT(DEV_RUN(m, "k", 1, 32, PTR(o)), PTX_OK);
    for (int i = 0; i < 32; i++)
        CHECK_EQ_INT(o[i], 0xffffffffu);
    ptx_module_destroy(m);
}

/* Two halves of a block hand data over through named barriers with counts. */
static void test_named_barriers(void)
{
    static const char text[] =
        ".version 7.0\n.target sm_70\n.address_size 64\n"
        ".visible .entry k(.param .u64 out) {\n"
        ".reg .pred %p; .reg .b32 %r<8>; .reg .b64 %d<4>; .shared .u32 s[32];\n"
        "mov.u32 %r1, %tid.x; ld.param.u64 %d1, [out];\n"
        "and.b32 %r2, %r1, 31; mov.u32 %r3, s; mad.lo.u32 %r3, %r2, 4, %r3;\n"
        "setp.lt.u32 %p, %r1, 32;\n@%p bra CONSUME;\n"
        "mul.lo.u32 %r4, %r2, %r2; st.shared.u32 [%r3], %r4;\nbar.arrive 1, 64;\nbra END;\n"
        "CONSUME: bar.sync 1, 64;\nld.shared.u32 %r4, [%r3];\n"
        "mad.wide.u32 %d1, %r1, 4, %d1; st.global.u32 [%d1], %r4;\n"
        "END: bar.red.popc.u32 %r5, 0, !%p;\nsetp.ne.u32 %p, %r1, 0;\n@%p ret;\n"
        "ld.param.u64 %d1, [out]; st.global.u32 [%d1+128], %r5;\nret;\n}\n";
    struct ptx_module *m = dev_parse(text);
    unsigned *o = dev_alloc(256);

    CHECK_EQ_INT(DEV_RUN(m, "k", 1, 64, PTR(o)), PTX_OK);
    for (unsigned i = 0; i < 32; i++)
        CHECK_EQ_INT(o[i], i * i);
    CHECK_EQ_INT(o[32], 32);
    ptx_module_destroy(m);
}

int main(void)
{
    struct ptx_module *m = dev_load("flow.ptx");

    test_calls(m);
    test_lanes(m);
    for (int s = PTX_SCHEDULE_FIFO; s <= PTX_SCHEDULE_RANDOM; s++) {
        test_lock(m, (enum ptx_schedule)s);
        test_grid_barrier(m, (enum ptx_schedule)s);
    }
    test_choices(m);
    test_reconvergence();
    test_named_barriers();
    ptx_module_destroy(m);
    return check_result();
}
