/* SPDX-License-Identifier: Apache-2.0
 *
 * Tests failures: wild addresses, hangs, traps at run time; bad text at parse time.
 */
#include "tests/ptx/ptx_harness.h"
#include "tests/unit/check.h"

#include <stdlib.h>

#define HEAD ".version 6.0\n.target sm_60\n.address_size 64\n"
#define KERNEL(body)                                                                               \
    HEAD ".visible .entry k(.param .u64 out) {\n"                                                  \
         ".reg .pred %p; .reg .b32 %r<8>; .reg .b64 %d<4>; .reg .f32 %f<4>; .shared .u32 s[4];\n"  \
         "ld.param.u64 %d1, [out]; mov.u32 %r1, %tid.x;\n" body "ret;\n}\n"

static void expect_fault(const char *text, enum ptx_fault_kind kind, unsigned thread, unsigned line)
{
    struct ptx_module *m = dev_parse(text);
    uint32_t *out = dev_alloc(1024);

    CHECK(DEV_RUN(m, "k", 2, 64, PTR(out)) != PTX_OK);
    CHECK_EQ_INT(dev_fault.kind, kind);
    CHECK_EQ_INT(dev_fault.thread[0], thread);
    CHECK_EQ_INT(dev_fault.line, line);
    CHECK(strstr(dev_fault.text, "kernel k") != NULL);
    ptx_module_destroy(m);
}

static void test_run_time(void)
{
    expect_fault(
        KERNEL("setp.ne.u32 %p, %r1, 37; @%p ret;\nst.global.u32 [%d1+0x7fffffff0000], %r1;\n"),
        PTX_FAULT_ADDRESS, 37, 8);
    expect_fault(KERNEL("st.global.u32 [%d1+2], %r1;\n"), PTX_FAULT_MISALIGNED, 0, 7);
    expect_fault(KERNEL("mov.u32 %r2, 16;\nld.shared.u32 %r3, [%r2];\n"), PTX_FAULT_ADDRESS, 0, 8);
    expect_fault(KERNEL("mov.u64 %d2, 0;\natom.global.add.u32 %r2, [%d2], 1;\n"), PTX_FAULT_ADDRESS,
                 0, 8);
    expect_fault(KERNEL("setp.lt.u32 %p, %r1, 40;\n@%p bra A;\ntrap;\nA:\n"), PTX_FAULT_TRAP, 40,
                 9);
    expect_fault(KERNEL("setp.lt.u32 %p, %r1, 40;\n@%p bra A;\nbar.sync 0;\nA: bar.sync 1;\n"),
                 PTX_FAULT_HANG, 0, 10);
    expect_fault(KERNEL("{ .reg .b64 %x; mov.u64 %x, 0x1000000000000000;\nst.u32 [%x+8], %r1;\n"
                        "st.u32 [%x+16], %r1; }\n"),
                 PTX_FAULT_ADDRESS, 0, 9);
}

static void refuse(const char *text, int status, const char *log)
{
    CHECK_EQ_INT(dev_try(text), status);
    if (!CHECK(strstr(dev_log, log) != NULL))
        fprintf(stderr, "the log of\n%s\nis: %s", text, dev_log);
}

static void test_text(void)
{
    refuse("", PTX_INVALID, "line 1");
    refuse("hello", PTX_INVALID, "missing .version");
    refuse(".version 6.0\n.target sm_99\n", PTX_VERSION, "sm_99");
    refuse(KERNEL("add.u32 %r1, %r2;\n"), PTX_INVALID, "line 7; error: wrong operands for 'add'");
    refuse(KERNEL("add.u32 %r1, %r2, %r9;\n"), PTX_INVALID, "unknown register '%r9'");
    refuse(KERNEL("add.u32 %r1, %r2, %d1;\n"), PTX_INVALID, "wrong size");
    refuse(KERNEL("frob.u32 %r1, %r2;\n"), PTX_UNSUPPORTED,
           "line 7; error: unsupported instruction 'frob.u32'");
    refuse(KERNEL("add.frob.u32 %r1, %r2, %r3;\n"), PTX_UNSUPPORTED, "'add.frob.u32'");
    refuse(KERNEL("add.rn.u32 %r1, %r2, %r3;\n"), PTX_UNSUPPORTED, "'add.rn.u32'");
    refuse(KERNEL("mad.lo.cc.f32 %f1, %f2, %f3, %f1;\n"), PTX_UNSUPPORTED, "mad");
    refuse(KERNEL("bra NOWHERE;\n"), PTX_INVALID, "unknown label 'NOWHERE'");
    refuse(KERNEL("L: L: bra L;\n"), PTX_INVALID, "duplicate label");
    refuse(KERNEL("@%r1 bra L;\nL:\n"), PTX_INVALID, "not a predicate");
    refuse(KERNEL("call nothing;\n"), PTX_INVALID, "unknown function 'nothing'");
    refuse(KERNEL(".reg .b32 %r<8>;\n"), PTX_INVALID, "duplicate definition of '%r'");
    refuse(KERNEL("ld.param.u64 %d1, [out+8];\n"), PTX_INVALID, "outside the parameters");
    refuse(HEAD ".visible .entry k() {\n ret;\n", PTX_INVALID, "end of the text");
    refuse(HEAD ".global .u32 x[2] = {1, 2, 3};\n", PTX_INVALID, "too many initial values");
    refuse(HEAD ".global .u32 x = y;\n", PTX_INVALID, "unknown symbol 'y'");
    refuse(HEAD ".func f();\n.entry k() { call f; ret; }\n", PTX_INVALID, "undefined function 'f'");
}

/* Any prefix, and any byte changed, must be refused or accepted, never more. */
static void test_mutations(void)
{
    static const char text[] = KERNEL("setp.eq.u32 %p, %r1, 0x10; @!%p bra L;\n"
                                      "mov.b64 {%r2, %r3}, %d1; st.shared.v2.u32 [s], {%r2, %r3};\n"
                                      "L: fma.rn.f32 %f1, %f2, 0f3F800000, %f3;\n");
    char copy[sizeof(text)];

    for (size_t k = 0; k < sizeof(text); k++) {
        memcpy(copy, text, sizeof(text));
        copy[k] = 0;
        dev_try(copy);
        for (const char *c = "{};,.[]%x9"; *c && k + 1 < sizeof(text); c++) {
            memcpy(copy, text, sizeof(text));
            copy[k] = *c;
            dev_try(copy);
        }
    }
}

int main(void)
{
    test_run_time();
    test_text();
    test_mutations();
    return check_result();
}
