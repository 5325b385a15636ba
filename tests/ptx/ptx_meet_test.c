/* SPDX-License-Identifier: Apache-2.0
 *
 * Instructions that lanes of a warp execute together, which some lanes come to in one place of the
 * code and others in another: they match by their kind and members. Each gives what it gives in
 * one place. And lanes that wait where paths meet again let others run.
 */
#include "tests/ptx/ptx_harness.h"
#include "tests/unit/check.h"

#include <stdio.h>
#include <string.h>

enum { LANES = 32 };

/* Each thread: value = 64 bits made of its lane, %r2 its lane, %p1 whether the lane's bit of 0x5af0
 * is set; results in %r10, %r11 (or %p2 as 0 or 1). */
#define HEAD                                                                                       \
    ".version 8.0\n.target sm_90\n.address_size 64\n"                                              \
    ".func (.param .b32 o) second(.param .b32 v) {\n .reg .b32 %x<4>;\n"                           \
    " ld.param.b32 %x1, [v]; shfl.sync.bfly.b32 %x2, %x1, 5, 31, -1; st.param.b32 [o], %x2;\n"     \
    " ret;\n}\n"                                                                                   \
    ".visible .entry k(.param .u64 out)\n{\n"                                                      \
    " .reg .pred %p<9>; .reg .b32 %r<24>; .reg .b64 %d<9>; .reg .f32 %f<4>;\n"                     \
    " ld.param.u64 %d1, [out]; mov.u32 %r2, %tid.x; mul.wide.u32 %d2, %r2, 8;\n"                   \
    " add.u64 %d1, %d1, %d2; mul.lo.u32 %r3, %r2, 7; and.b32 %r3, %r3, 12; cvt.u64.u32 %d3, "      \
    "%r3;\n"                                                                                       \
    " shl.b64 %d3, %d3, 33; shr.u32 %r4, 0x5af0, %r2; and.b32 %r4, %r4, 1;\n"                      \
    " setp.ne.u32 %p1, %r4, 0; mov.u32 %r10, 0; mov.u32 %r11, 0; setp.ne.u32 %p2, %r2, %r2;\n"     \
    " mad.lo.u32 %r5, %r2, 3, 100; mov.b32 %r6, -1;\n"
#define TAIL                                                                                       \
    " selp.u32 %r12, 2, 0, %p2; add.u32 %r11, %r11, %r12;\n"                                       \
    " st.global.v2.u32 [%d1], {%r10, %r11};\n ret;\n}\n"

/* The lanes that go the other way: %p3 of that. */
static const char *const ways[] = {
    " setp.lt.u32 %p3, %r2, 16;\n",
    " and.b32 %r7, %r2, 1; setp.eq.u32 %p3, %r7, 0;\n",
    " setp.eq.u32 %p3, %r2, 31;\n",
    " setp.ne.u32 %p3, %r2, 3;\n",
};

/* The instruction as it stands in one place, and with other registers in the other. */
static const struct {
    const char *one, *other;
} collectives[] = {
    {"shfl.sync.idx.b32 %r10|%p2, %r5, 5, 31, -1;",
     "mov.u32 %r13, %r5; mov.u32 %r14, 5; shfl.sync.idx.b32 %r15|%p4, %r13, %r14, 31, %r6;"
     " mov.u32 %r10, %r15; mov.pred %p2, %p4;"},
    {"shfl.sync.up.b32 %r10|%p2, %r5, 1, 0, -1;", "shfl.sync.up.b32 %r10|%p2, %r5, 1, 0, -1;"},
    {"shfl.sync.down.b32 %r10, %r5, 9, 31, -1;",
     "mov.u32 %r13, 9; shfl.sync.down.b32 %r10, %r5, %r13, 31, -1;"},
    {"vote.sync.ballot.b32 %r10, %p1, -1;",
     "not.pred %p5, %p1; vote.sync.ballot.b32 %r16, !%p5, -1; mov.u32 %r10, %r16;"},
    {"vote.sync.any.pred %p2, %p1, -1;", "vote.sync.any.pred %p6, %p1, -1; mov.pred %p2, %p6;"},
    {"vote.sync.uni.pred %p2, %p1, %r6;", "vote.sync.uni.pred %p2, %p1, -1;"},
    {"match.any.sync.b32 %r10, %r3, -1;",
     "mov.u32 %r17, %r3; match.any.sync.b32 %r18, %r17, -1; mov.u32 %r10, %r18;"},
    {"match.any.sync.b64 %r10, %d3, -1;",
     "mov.u64 %d4, %d3; match.any.sync.b64 %r18, %d4, -1; mov.u32 %r10, %r18;"},
    {"match.all.sync.b32 %r10|%p2, 7, -1;",
     "mov.u32 %r17, 7; match.all.sync.b32 %r10|%p2, %r17, -1;"},
    {"redux.sync.add.s32 %r10, %r5, -1;",
     "mov.u32 %r17, %r5; redux.sync.add.s32 %r18, %r17, -1; mov.u32 %r10, %r18;"},
    {"redux.sync.min.u32 %r10, %r5, -1;", "redux.sync.min.u32 %r10, %r5, -1;"},
    {"elect.sync _|%p2, -1;", "elect.sync %r18|%p7, -1; mov.pred %p2, %p7;"},
    {"bar.warp.sync -1;", "bar.warp.sync -1;"},
    /* In another call of a function, and where one of them is guarded. */
    {"shfl.sync.bfly.b32 %r10, %r5, 5, 31, -1;",
     "{ .param .b32 v; .param .b32 o; st.param.b32 [v], %r5; call.uni (o), second, (v);"
     " ld.param.b32 %r10, [o]; }"},
    {"@%p8 shfl.sync.idx.b32 %r10, %r5, 2, 31, -1;", "shfl.sync.idx.b32 %r10, %r5, 2, 31, -1;"},
};

static bool run(uint32_t (*out)[2], const char *text)
{
    struct ptx_module *m = dev_parse(text);
    uint32_t(*there)[2] = dev_alloc(LANES * sizeof(*there));
    const int status = DEV_RUN(m, "k", 1, LANES, PTR(there));

    if (status != PTX_OK)
        fprintf(stderr, "%s\n", dev_fault.text);
    memcpy(out, there, LANES * sizeof(*there));
    ptx_module_destroy(m);
    return status == PTX_OK;
}

/* Puts the pieces of a kernel together, up to a NULL. */
static const char *kernel(const char *const *pieces)
{
    static char text[8192];

    strcpy(text, HEAD " setp.eq.u32 %p8, %r2, %r2;\n");
    for (; *pieces; pieces++)
        strcat(text, *pieces);
    return strcat(text, "\n" TAIL);
}

#define TEXT(...) kernel((const char *const[]){__VA_ARGS__, NULL})

static void test_two_places(void)
{
    uint32_t one[LANES][2], two[LANES][2];

    for (size_t k = 0; k < sizeof(collectives) / sizeof(collectives[0]); k++) {
        const char *first = collectives[k].one, *other = collectives[k].other;

        CHECK(run(one, TEXT(first)));
        for (size_t way = 0; way < sizeof(ways) / sizeof(ways[0]); way++) {
            CHECK(
                run(two, TEXT(ways[way], " @%p3 bra A;\n", first, "\nbra B;\nA: ", other, "\nB:")));
            if (memcmp(one, two, sizeof(one)) != 0)
                fprintf(stderr, "way %zu: %s\n", way, first);
            CHECK_EQ_MEM(two, one, sizeof(one));
        }
    }
}

/* Three places, one of which only some lanes of a group come to. */
static void test_three_places(void)
{
    uint32_t one[LANES][2], two[LANES][2];

    CHECK(run(one, HEAD " shfl.sync.down.b32 %r10, %r5, 3, 31, -1;\n" TAIL));
    CHECK(run(two, HEAD " setp.lt.u32 %p3, %r2, 9; setp.gt.u32 %p4, %r2, 20;\n"
                        " @%p3 bra A; @%p4 bra B;\n"
                        " shfl.sync.down.b32 %r10, %r5, 3, 31, -1; bra C;\n"
                        "A: mov.u32 %r13, %r5; shfl.sync.down.b32 %r10, %r13, 3, 31, -1; bra C;\n"
                        "B: mov.u32 %r13, %r5; shfl.sync.down.b32 %r14, %r13, 3, 31, -1;\n"
                        " mov.u32 %r10, %r14;\nC:\n" TAIL));
    CHECK_EQ_MEM(two, one, sizeof(one));
}

/* The others have to come past the place where the paths meet. */
static void test_behind_the_join(void)
{
    uint32_t one[LANES][2], two[LANES][2];

    CHECK(run(one, HEAD " shfl.sync.bfly.b32 %r10, %r5, 16, 31, -1;\n" TAIL));
    CHECK(run(two, HEAD " setp.lt.u32 %p3, %r2, 16; @!%p3 bra A;\n"
                        " shfl.sync.bfly.b32 %r10, %r5, 16, 31, -1;\n"
                        "A: add.u32 %r5, %r5, 0; @%p3 bra B;\n"
                        " shfl.sync.bfly.b32 %r10, %r5, 16, 31, -1;\nB:\n" TAIL));
    CHECK_EQ_MEM(two, one, sizeof(one));
}

/* Other members, another kind: they do not match, and nobody comes. */
static void test_others(void)
{
    static const char *const kinds[] = {
        "vote.sync.any.pred %p2, %p1, -1;",
        "shfl.sync.up.b32 %r10, %r5, 1, 0, -1;",
        "shfl.sync.idx.b32 %r10, %r5, 1, 31, 0x0000ffff;",
    };

    for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
        struct ptx_module *m =
            dev_parse(TEXT(" setp.lt.u32 %p3, %r2, 16; @%p3 bra A;\n"
                           " shfl.sync.idx.b32 %r10, %r5, 1, 31, -1; bra B;\nA: ",
                           kinds[k], "\n bar.sync 0;\nB:"));
        CHECK(DEV_RUN(m, "k", 1, LANES, PTR(dev_alloc(LANES * 8))) != PTX_OK);
        CHECK_EQ_INT(dev_fault.kind, PTX_FAULT_HANG);
        ptx_module_destroy(m);
    }
}

int main(void)
{
    test_two_places();
    test_three_places();
    test_behind_the_join();
    test_others();
    return check_result();
}
