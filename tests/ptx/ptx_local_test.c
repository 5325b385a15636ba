/* SPDX-License-Identifier: Apache-2.0
 *
 * Local variables of the module, and literals as arguments of calls.
 */
#include "tests/ptx/ptx_harness.h"
#include "tests/unit/check.h"

#define HEAD ".version 7.4\n.target sm_70\n.address_size 64\n"

/* A function and a kernel share `slots`; both have local variables of their own, and the kernel
 * takes some of the stack. */
static const char slots[] =
    HEAD ".local .align 8 .b8 before[12];\n"
         ".local .align 4 .u32 slots[4];\n"
         ".func fill(.reg .u32 %v) {\n"
         "  .local .u32 mine[8];\n"
         "  st.local.u32 [mine], 77; st.local.u32 [mine+28], 77;\n"
         "  st.local.u32 [slots+4], %v;\n"
         "  ret;\n}\n"
         ".visible .entry k(.param .u64 out) {\n"
         "  .local .u32 own[2];\n"
         "  .reg .u64 %rd<9>; .reg .u32 %r<9>;\n"
         "  ld.param.u64 %rd1, [out];\n"
         "  mov.u32 %r1, %tid.x;\n"
         "  st.local.u32 [own], 5; st.local.u32 [own+4], 6;\n"
         "  alloca.u64 %rd5, 16;\n"
         "  st.local.u32 [%rd5], 9; st.local.u32 [%rd5+12], 9;\n"
         "  st.local.u32 [before+8], 3;\n"
         "  call fill, (%r1);\n"
         "  mov.u64 %rd2, slots;\n"
         "  cvta.local.u64 %rd3, %rd2;\n"
         "  ld.u32 %r2, [%rd3+4];\n"
         "  ld.local.u32 %r3, [own]; ld.local.u32 %r4, [own+4]; ld.local.u32 %r5, [before+8];\n"
         "  add.u32 %r2, %r2, %r3; add.u32 %r2, %r2, %r4; add.u32 %r2, %r2, %r5;\n"
         "  mul.wide.u32 %rd4, %r1, 4;\n"
         "  add.u64 %rd1, %rd1, %rd4;\n"
         "  st.global.u32 [%rd1], %r2;\n"
         "  ret;\n}\n";

static void module_local(void)
{
    uint32_t *out = dev_alloc(64 * 4);
    struct ptx_module *m = dev_parse(slots);

    CHECK_EQ_INT(DEV_RUN(m, "k", 2, 32, PTR(out)), PTX_OK);
    for (uint32_t k = 0; k < 32; k++)
        CHECK_EQ_INT(out[k], k + 14);
    CHECK_EQ_INT(ptx_module_find(m, "k")->local_size, 32 + 8);
    ptx_module_destroy(m);
}

static void module_local_bounds(void)
{
    CHECK_EQ_INT(dev_try(HEAD ".local .b8 x[524288];\n.visible .entry k() { ret; }\n"), PTX_OK);
    CHECK_EQ_INT(dev_try(HEAD ".local .b8 x[524289];\n.visible .entry k() { ret; }\n"),
                 PTX_INVALID);
    CHECK(strstr(dev_log, "'x' needs too much") != NULL);
}

/* A literal becomes what the parameter is. */
static const char literals[] =
    HEAD ".func (.reg .f32 %o) single(.reg .f32 %i) { mov.f32 %o, %i; ret; }\n"
         ".func (.param .f64 o) wide(.param .f64 i) {\n"
         "  .reg .f64 %d; ld.param.f64 %d, [i]; st.param.f64 [o], %d; ret;\n}\n"
         ".visible .entry k(.param .u64 out) {\n"
         "  .reg .u64 %rd; .reg .f32 %f<4>; .reg .f64 %d<3>;\n"
         "  ld.param.u64 %rd, [out];\n"
         "  call (%f1), single, (0d3FF8000000000000);\n"
         "  call (%f2), single, (0f40200000);\n"
         "  call (%f3), single, (3.5);\n"
         "  call (%d1), wide, (0f40900000);\n"
         "  call (%d2), wide, (0d4016000000000000);\n"
         "  st.global.f32 [%rd], %f1; st.global.f32 [%rd+4], %f2; st.global.f32 [%rd+8], %f3;\n"
         "  st.global.f64 [%rd+16], %d1; st.global.f64 [%rd+24], %d2;\n"
         "  ret;\n}\n";

static void call_literals(void)
{
    struct {
        float f[4];
        double d[2];
    } *out = dev_alloc(sizeof(*out));
    struct ptx_module *m = dev_parse(literals);

    CHECK_EQ_INT(DEV_RUN(m, "k", 1, 1, PTR(out)), PTX_OK);
    CHECK(out->f[0] == 1.5f);
    CHECK(out->f[1] == 2.5f);
    CHECK(out->f[2] == 3.5f);
    CHECK(out->d[0] == 4.5);
    CHECK(out->d[1] == 5.5);
    ptx_module_destroy(m);
}

/* Through a pointer nothing says how wide the parameter is. */
static void unknown_literal(void)
{
    CHECK_EQ_INT(dev_try(HEAD ".visible .entry k() {\n  .reg .u64 %rd;\n  mov.u64 %rd, 0;\n"
                              "  P: .callprototype _ (.reg .f32 _);\n"
                              "  call %rd, (1.5), P;\n  ret;\n}\n"),
                 PTX_INVALID);
    CHECK(strstr(dev_log, "line 8") && strstr(dev_log, "wrong operands for 'call'"));
}

int main(void)
{
    module_local();
    module_local_bounds();
    call_literals();
    unknown_literal();
    return check_result();
}
