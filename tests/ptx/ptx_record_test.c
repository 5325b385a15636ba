/* SPDX-License-Identifier: Apache-2.0
 *
 * Modules loaded by what is remembered of their text, also when that lies; and texts whose size is
 * meant to hurt.
 */
#include "base/buffer.h"
#include "tests/ptx/ptx_harness.h"
#include "tests/unit/check.h"

#include <stdlib.h>

#define HEAD ".version 7.0\n.target sm_70\n.address_size 64\n"

/* Names that mean one thing here and another there: `late` is a label before it is a variable, %r4
 * a register, `own` belongs to each unit, `s` to each block. */
static const char names[] =
    HEAD ".global .u32 own = 3;\n"
         ".func (.reg .u32 %o) twice(.reg .u32 %i) { add.u32 %o, %i, %i; ret; }\n"
         ".func (.reg .u32 %o) also(.reg .u32 %i);\n"
         ".alias also, twice;\n"
         ".weak .func (.reg .u32 %o) weak(.reg .u32 %i) { add.u32 %o, %i, 1; ret; }\n"
         ".weak .func (.reg .u32 %o) weak(.reg .u32 %i) { add.u32 %o, %i, 2; ret; }\n"
         ".visible .entry first(.param .u64 p) {\n"
         "  .reg .u64 %rd; .reg .u32 %r<9>; .reg .pred %p;\n"
         "  ld.param.u64 %rd, [p];\n"
         "  { .shared .u32 s[4]; st.shared.u32 [s], 5;\n"
         "    { .shared .u32 s[2]; st.shared.u32 [s], 7; ld.shared.u32 %r2, [s]; }\n"
         "    ld.shared.u32 %r1, [s]; }\n"
         "  { .global .u32 own = 100; ld.global.u32 %r3, [own]; }\n"
         "  ld.global.u32 %r4, [own];\n"
         "  setp.eq.u32 %p, %r4, 3;\n"
         "  @%p bra late;\n"
         "  mov.u32 %r4, 999;\n"
         "late:\n"
         "  call (%r5), also, (%r4);\n"
         "  call (%r6), weak, (%r5);\n"
         "  add.u32 %r1, %r1, %r2;\n  add.u32 %r1, %r1, %r3;\n  add.u32 %r1, %r1, %r6;\n"
         "  st.global.u32 [%rd], %r1;\n"
         "  ret;\n}\n"
         ".visible .global .u32 late = 1;\n.global .u32 %r4 = 1;\n" HEAD ".global .u32 own = 40;\n"
         ".extern .global .u32 late;\n"
         ".func (.reg .u32 %o) thrice(.reg .u32 %i) { mul.lo.u32 %o, %i, 3; ret; }\n"
         ".visible .entry second(.param .u64 p) {\n"
         "  .reg .u64 %rd<3>; .reg .u32 %r<9>;\n"
         "  ld.param.u64 %rd0, [p];\n"
         "  mov.u64 %rd1, thrice;\n"
         "  ld.global.u32 %r1, [own];\n  ld.global.u32 %r2, [late];\n"
         "  add.u32 %r1, %r1, %r2;\n"
         "  P: .callprototype (.reg .u32 _) _ (.reg .u32 _);\n"
         "  call (%r3), %rd1, (%r1), P;\n"
         "  st.global.u32 [%rd0], %r3;\n"
         "  ret;\n}\n";

enum { FIRST = 5 + 7 + 100 + 6 + 1, SECOND = 41 * 3 };

static struct tsm_buffer record_of(const char *text)
{
    struct tsm_buffer record = {0};
    struct ptx_module *module;

    CHECK_EQ_INT(ptx_module_create(&module, text, strlen(text), 90, NULL), PTX_OK);
    CHECK_EQ_INT(ptx_module_record(module, &record), PTX_OK);
    ptx_module_destroy(module);
    return record;
}

static void *place(void *user, size_t size)
{
    return dev_alloc(size);
}

/* 0 when the kernel could not be run, else what it wrote. */
static uint32_t result_of(struct ptx_module *module, const char *kernel)
{
    static uint32_t *out;

    if (!out)
        out = dev_alloc(4);
    *out = 0;
    return DEV_RUN(module, kernel, 1, 1, PTR(out)) == PTX_OK ? *out : 0;
}

static void same_meaning(void)
{
    struct tsm_buffer record = record_of(names);
    struct ptx_module *module;

    CHECK_EQ_INT(ptx_module_recall(&module, names, strlen(names), 90, record.data, record.size),
                 PTX_OK);
    CHECK_EQ_INT(ptx_module_place(module, place, NULL), PTX_OK);
    CHECK_EQ_INT(ptx_module_find(module, "first")->shared_size, 24);
    CHECK_EQ_INT(result_of(module, "second"), SECOND);
    CHECK_EQ_INT(result_of(module, "first"), FIRST);
    CHECK_EQ_INT(ptx_module_record(module, &record), PTX_UNSUPPORTED);
    ptx_module_destroy(module);
    tsm_buffer_finish(&record);
}

/* Whatever the record says, a kernel gives its own result or none. */
static void check_liar(const uint8_t *record, size_t size)
{
    struct ptx_module *module;

    if (ptx_module_recall(&module, names, strlen(names), 90, record, size) != PTX_OK)
        return;
    CHECK_EQ_INT(ptx_module_place(module, place, NULL), PTX_OK);
    uint32_t first = result_of(module, "first");
    uint32_t second = result_of(module, "second");
    CHECK(first == 0 || first == FIRST);
    CHECK(second == 0 || second == SECOND);
    ptx_module_destroy(module);
}

static void liars(void)
{
    struct tsm_buffer record = record_of(names);
    static const uint8_t changes[] = {1, 2, 3, 4, 8, 0x10, 0x20, 0x40, 0x80, 0xff};

    for (size_t at = 0; at < record.size; at++)
        for (size_t k = 0; k < sizeof(changes); k++) {
            uint8_t was = record.data[at];
            record.data[at] ^= changes[k];
            check_liar(record.data, record.size);
            record.data[at] = was;
        }
    for (size_t size = 0; size < record.size; size++)
        check_liar(record.data, size);
    tsm_buffer_finish(&record);
}

/* A text that was never checked, with the record of one that is as long: found when it is needed.
 */
static void another_text(void)
{
    static const char good[] = HEAD ".visible .entry k() { ret; }\n"
                                    ".visible .entry j() { bar.sync 0; ret; }\n";
    static const char bad[] = HEAD ".visible .entry k() { ret; }\n"
                                   ".visible .entry j() { wgmmx.no 0; ret; }\n";
    struct tsm_buffer record = record_of(good);
    struct ptx_module *module;
    char text[200] = "";
    struct ptx_log log = {text, sizeof(text), 0};

    if (!CHECK_EQ_INT(
            ptx_module_recall(&module, bad, sizeof(bad) - 1, 90, record.data, record.size), PTX_OK))
        return;
    CHECK_EQ_INT(ptx_module_prepare(module, ptx_module_find(module, "k"), &log), PTX_OK);
    CHECK(ptx_module_prepare(module, ptx_module_find(module, "j"), &log) == PTX_UNSUPPORTED);
    CHECK(strstr(text, "line 5") && strstr(text, "wgmmx.no"));
    CHECK(DEV_RUN(module, "j", 1, 1) != PTX_OK);
    CHECK_EQ_INT(DEV_RUN(module, "k", 1, 1), PTX_OK);
    ptx_module_destroy(module);
    tsm_buffer_finish(&record);
}

/* ---- large ones ---- */

static void add(struct tsm_buffer *out, const char *format, unsigned a, unsigned b)
{
    char line[200];

    tsm_buffer_add(out, line, (size_t)snprintf(line, sizeof(line), format, a, b));
}

static void check_status(struct tsm_buffer *text, int status, const char *said)
{
    tsm_buffer_add(text, "", 1);
    CHECK_EQ_INT(dev_try((const char *)text->data), status);
    if (said)
        CHECK(strstr(dev_log, said) != NULL);
    tsm_buffer_finish(text);
}

static void add_times(struct tsm_buffer *text, const char *before, const char *each, unsigned count,
                      const char *after)
{
    add(text, before, count, 0);
    for (unsigned k = 0; k < count; k++)
        add(text, each, k, k * 7919 % count);
    add(text, after, count - 1, 0);
}

#define ENTRY HEAD ".visible .entry k() {\n .reg .pred %%p; .reg .b32 %%r;\n"

static void large(void)
{
    struct tsm_buffer text = {0};

    /* Quadratic time in any of these would be minutes. */
    add_times(&text, ENTRY "setp.eq.u32 %%p, 1, 2;\n", "@%%p bra L%2$u;\nL%1$u:\n", 100000,
              "ret; }\n");
    check_status(&text, PTX_OK, NULL);
    add_times(&text, ENTRY, "L%1$u:\n", 100000, "setp.eq.u32 %%p, 1, 2;\n");
    add_times(&text, "", "@%%p bra L%1$u;\n", 100000, "ret; }\n");
    check_status(&text, PTX_OK, NULL);
    /* More targets than instructions. */
    add_times(&text, ENTRY "mov.u32 %%r, 0;\nT: .branchtargets L0", ", L%1$u", 100000,
              ";\nbrx.idx %%r, T;\n");
    add_times(&text, "", "L%1$u:\n", 100000, "ret; }\n");
    check_status(&text, PTX_OK, NULL);
}

/* Each function calls the one before: nothing may walk that on the stack. */
static void deep(void)
{
    struct tsm_buffer text = {0};

    add(&text, HEAD ".func f0() { ret; }\n", 0, 0);
    for (unsigned k = 1; k < 50000; k++)
        add(&text, ".func f%u() { call f%u; ret; }\n", k, k - 1);
    add(&text, ".visible .entry k() { call f%u; ret; }\n", 49999, 0);
    check_status(&text, PTX_OK, NULL);
}

static void bounds(void)
{
    struct tsm_buffer text = {0};

    add_times(&text, ENTRY, "{", 1001, "");
    add_times(&text, "", "}", 1001, "ret; }\n");
    check_status(&text, PTX_INVALID, "nest too deeply");
    add_times(&text, ENTRY "mov.b32 %%r, ", "(", 1000, "1");
    add_times(&text, "", ")", 1000, "; ret; }\n");
    check_status(&text, PTX_INVALID, "nests too deeply");
    add_times(&text, ENTRY "mov.u32 %%r, 0;\nT: .branchtargets L", ", L", 3000, ";\n");
    add_times(&text, "", "brx.idx %%r, T;\n", 3000, "L: ret; }\n");
    check_status(&text, PTX_INVALID, "too many branch targets");
    add(&text, HEAD ".visible .entry k() { .shared .b8 s[49153]; ret; }\n", 0, 0);
    check_status(&text, PTX_INVALID, "too much shared or local memory");
    add(&text, HEAD ".visible .entry k() { .shared .b8 s[0x100000000]; ret; }\n", 0, 0);
    check_status(&text, PTX_INVALID, "too much shared or local memory");
    add(&text, HEAD ".visible .entry k() { .shared .b8 s[49152]; ret; }\n", 0, 0);
    check_status(&text, PTX_OK, NULL);
}

/* 2^19 variables of 2^45 bytes: a sum that is 0 in 64 bits. */
static void overflow(void)
{
    struct tsm_buffer text = {0};
    struct ptx_module *module;

    add_times(&text, HEAD, ".global .v4 .b64 a%u[1099511627776];", 1u << 19, "\n");
    tsm_buffer_add(&text, "", 1);
    if (CHECK_EQ_INT(ptx_module_create(&module, (char *)text.data, text.size, 90, NULL), PTX_OK)) {
        CHECK_EQ_INT(ptx_module_place(module, place, NULL), PTX_NO_MEMORY);
        ptx_module_destroy(module);
    }
    tsm_buffer_finish(&text);
}

int main(void)
{
    same_meaning();
    liars();
    another_text();
    large();
    deep();
    bounds();
    overflow();
    return check_result();
}
